//! Members and groups of action profiles, multicast groups, clone sessions, digests and value sets.

use entities::names::find;
use entities::schema::{ActionProfile, Digest, Schema, ValueSet};
use entities::{
    CloneSession, CloneSessionId, DigestConfig, Entity, Group, GroupId, GroupMember, Member,
    MemberId, MulticastGroup, MulticastGroupId, Port, Replica, Selection, Watch,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Switch;
use super::tables::{GivenCall, update, update_type};
use super::values::{self, entry_fault, name_fault};
use crate::errors::Fault;

/// A member of an action profile: its number, and the name and arguments of its action.
type ShownMember<'py> = (u32, Option<(String, Bound<'py, PyDict>)>);

/// A group: its number, and the number and weight of each member.
type ShownGroup = (u32, Vec<(u32, u32)>);

/// A replica: its port and its instance.
type GivenReplica = (u32, u32);

fn profile<'s>(schema: &'s Schema, name: &str) -> Result<&'s ActionProfile, Fault> {
    find("action profile", name, schema.action_profiles().iter())
        .map_err(|error| name_fault(&error))
}

fn digest<'s>(schema: &'s Schema, name: &str) -> Result<&'s Digest, Fault> {
    find("digest", name, schema.digests().iter()).map_err(|error| name_fault(&error))
}

fn value_set<'s>(schema: &'s Schema, name: &str) -> Result<&'s ValueSet, Fault> {
    find("value set", name, schema.value_sets().iter()).map_err(|error| name_fault(&error))
}

fn replicas(given: &[GivenReplica]) -> Box<[Replica]> {
    let replica = |(port, instance): &GivenReplica| Replica {
        port: Some(Port::Bytes(entities::value::encode((*port).into())[..].into())),
        instance: *instance,
        backups: Box::default(),
    };
    given.iter().map(replica).collect()
}

fn shown_replicas(replicas: &[Replica]) -> Vec<GivenReplica> {
    let port = |replica: &Replica| replica.port.as_ref().and_then(Port::number).unwrap_or(0);
    replicas.iter().map(|replica| (port(replica), replica.instance)).collect()
}

#[pymethods]
impl Switch {
    /// Returns the full name of an action profile.
    fn profile_name(&self, name: &str) -> PyResult<String> {
        self.schema(|schema| Ok(profile(schema, name)?.name.clone()))
    }

    /// Writes a member of an action profile. A deletion needs no action.
    fn write_member(
        &self,
        py: Python<'_>,
        kind: &str,
        name: &str,
        member: u32,
        action: Option<GivenCall<'_>>,
    ) -> PyResult<()> {
        let kind = update_type(kind)?;
        let update = self.schema(|schema| {
            let profile = profile(schema, name)?;
            let action = action.map(|call| call.call(schema, &profile.actions)).transpose()?;
            let member = Member { profile: profile.id, id: MemberId(member), action };
            Ok(update(kind, &Entity::Member(member)))
        })?;
        self.write(py, &[update], &|_| format!("profile {name}, member {member}"))
    }

    /// Writes a group of an action selector, whose members are given by number and weight.
    fn write_group(
        &self,
        py: Python<'_>,
        kind: &str,
        name: &str,
        group: u32,
        members: Vec<(u32, u32)>,
    ) -> PyResult<()> {
        let kind = update_type(kind)?;
        let update = self.schema(|schema| {
            let member = |(member, weight)| GroupMember {
                member: MemberId(member),
                weight,
                watch: Watch::Nothing,
            };
            let group = Group {
                profile: profile(schema, name)?.id,
                id: GroupId(group),
                members: members.into_iter().map(member).collect(),
                max_size: 0,
                size: 0,
            };
            Ok(update(kind, &Entity::Group(group)))
        })?;
        self.write(py, &[update], &|_| format!("profile {name}, group {group}"))
    }

    /// Returns the members of an action profile.
    fn read_members<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<ShownMember<'py>>> {
        self.schema(|schema| {
            let profile = profile(schema, name)?;
            let mut members = Vec::new();
            for entity in self.read(&Selection::Members(profile.id, None))? {
                if let Entity::Member(member) = entity {
                    let call = member.action.as_ref();
                    let call = call.map(|call| values::call(py, schema, call)).transpose()?;
                    members.push((member.id.0, call));
                }
            }
            Ok(members)
        })
    }

    /// Returns the groups of an action selector.
    fn read_groups(&self, name: &str) -> PyResult<Vec<ShownGroup>> {
        self.schema(|schema| {
            let profile = profile(schema, name)?;
            let mut groups = Vec::new();
            for entity in self.read(&Selection::Groups(profile.id, None))? {
                if let Entity::Group(group) = entity {
                    let members = group.members.iter();
                    let members = members.map(|one| (one.member.0, one.weight)).collect();
                    groups.push((group.id.0, members));
                }
            }
            Ok(groups)
        })
    }

    /// Writes a multicast group, whose replicas are given by port and instance.
    fn write_multicast_group(
        &self,
        py: Python<'_>,
        kind: &str,
        group: u32,
        ports: Vec<GivenReplica>,
    ) -> PyResult<()> {
        let id = MulticastGroupId(group);
        let group = MulticastGroup { id, replicas: replicas(&ports), metadata: Box::default() };
        let update = update(update_type(kind)?, &Entity::MulticastGroup(group));
        self.write(py, &[update], &|_| format!("multicast group {}", id.0))
    }

    /// Returns the multicast groups, each with its replicas.
    fn read_multicast_groups(&self) -> PyResult<Vec<(u32, Vec<GivenReplica>)>> {
        let mut groups = Vec::new();
        for entity in self.read(&Selection::MulticastGroups(None))? {
            if let Entity::MulticastGroup(group) = entity {
                groups.push((group.id.0, shown_replicas(&group.replicas)));
            }
        }
        Ok(groups)
    }

    /// Writes a clone session. Copies are cut to `length` bytes; 0 leaves them whole.
    fn write_clone_session(
        &self,
        py: Python<'_>,
        kind: &str,
        session: u32,
        ports: Vec<GivenReplica>,
        length: u32,
    ) -> PyResult<()> {
        let id = CloneSessionId(session);
        let session = CloneSession {
            id,
            replicas: replicas(&ports),
            class_of_service: 0,
            packet_length_bytes: length,
        };
        let update = update(update_type(kind)?, &Entity::CloneSession(session));
        self.write(py, &[update], &|_| format!("clone session {}", id.0))
    }

    /// Returns the clone sessions, each with its replicas.
    fn read_clone_sessions(&self) -> PyResult<Vec<(u32, Vec<GivenReplica>)>> {
        let mut sessions = Vec::new();
        for entity in self.read(&Selection::CloneSessions(None))? {
            if let Entity::CloneSession(session) = entity {
                sessions.push((session.id.0, shown_replicas(&session.replicas)));
            }
        }
        Ok(sessions)
    }

    /// Returns the full name of a digest.
    fn digest_name(&self, name: &str) -> PyResult<String> {
        self.schema(|schema| Ok(digest(schema, name)?.name.clone()))
    }

    /// Enables or disables a digest.
    fn enable_digest(&self, py: Python<'_>, name: &str, enabled: bool) -> PyResult<()> {
        let (update, is_done) = self.schema(|schema| {
            let digest = digest(schema, name)?;
            let is_enabled = !self.read(&Selection::Digest(digest.id))?.is_empty();
            let kind = update_type(if enabled { "insert" } else { "delete" })?;
            // Every digest is an event of its own. Controllers receive them in lists of one.
            let config = DigestConfig { max_list_size: 1, ..DigestConfig::default() };
            let config = enabled.then_some(config);
            Ok((update(kind, &Entity::Digest(digest.id, config)), is_enabled == enabled))
        })?;
        if is_done {
            return Ok(());
        }
        self.write(py, &[update], &|_| format!("digest {name}"))
    }

    /// Sets the members of a value set, each given by its fields.
    fn write_value_set(
        &self,
        py: Python<'_>,
        name: &str,
        members: Vec<Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let update = self.schema(|schema| {
            let set = value_set(schema, name)?;
            let member = |given: &Bound<'_, PyDict>| -> PyResult<_> {
                let fields = values::key(given)?;
                let fields = fields.iter().map(|(name, plain)| (name.as_str(), plain.clone()));
                let fields = entities::plain::key(&set.match_fields, fields);
                Ok(fields
                    .map_err(|error| entry_fault(&error).at(format!("value set {name}")))?
                    .into())
            };
            let members = members.iter().map(member).collect::<PyResult<_>>()?;
            let set = entities::ValueSet { id: set.id, members };
            Ok(update(update_type("modify")?, &Entity::ValueSet(set)))
        })?;
        self.write(py, &[update], &|_| format!("value set {name}"))
    }

    /// Returns the members of a value set, each by its fields.
    fn read_value_set<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.schema(|schema| {
            let set = value_set(schema, name)?;
            let mut members = Vec::new();
            for entity in self.read(&Selection::ValueSet(set.id))? {
                let Entity::ValueSet(found) = entity else { continue };
                for fields in &found.members {
                    let dict = PyDict::new(py);
                    for one in fields {
                        let is_it = |field: &&entities::schema::MatchField| field.id == one.field;
                        let field = set.match_fields.iter().find(is_it);
                        let field = field.ok_or_else(|| values::absent("a match field"))?;
                        let value = values::matching(py, schema, None, field, &one.matching)?;
                        dict.set_item(values::short_name(&set.match_fields, field), value)?;
                    }
                    members.push(dict);
                }
            }
            Ok(members)
        })
    }
}
