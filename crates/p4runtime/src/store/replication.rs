//! The packet replication engine: multicast groups and clone sessions (specification 1.5,
//! "PacketReplicationEngineEntry").
//!
//! Ports are kept in the form in which they came, the number of P4Runtime before 1.4 or the byte
//! string since, so that a controller reads what it wrote; they are compared by value. A port
//! that is unset is the number 0, which the old form leaves out on the wire. Which ports exist is
//! not known here.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use bytes::Bytes;

use super::change::Change;
use super::reading::{Place, Visit, numbers};
use super::state::{State, decode, encode};
use crate::proto::v1;
use crate::proto::v1::entity::Entity;
use crate::proto::v1::packet_replication_engine_entry::Type;
use crate::proto::v1::replica::PortKind;
use crate::proto::v1::update::Type as UpdateType;
use crate::status::EntityError;
use crate::value;

pub(super) fn plan(
    state: &State,
    kind: UpdateType,
    entry: &v1::PacketReplicationEngineEntry,
) -> Result<Change, EntityError> {
    match &entry.r#type {
        None => Err(unset()),
        Some(Type::MulticastGroupEntry(group)) => {
            plan_multicast(state, kind, group).map_err(|error| {
                error.within(format_args!("multicast group {}", group.multicast_group_id))
            })
        }
        Some(Type::CloneSessionEntry(session)) => plan_clone(state, kind, session)
            .map_err(|error| error.within(format_args!("clone session {}", session.session_id))),
    }
}

fn plan_multicast(
    state: &State,
    kind: UpdateType,
    group: &v1::MulticastGroupEntry,
) -> Result<Change, EntityError> {
    let id = group.multicast_group_id;
    let value = if kind == UpdateType::Delete {
        None
    } else {
        let replicas = canonical_replicas(&group.replicas)?;
        unique_replicas(&replicas)?;
        Some(encode(&v1::MulticastGroupEntry { replicas, ..group.clone() }))
    };
    check_id(&state.multicast_groups, kind, id)?;
    Ok(Change::MulticastGroup { id, value })
}

fn plan_clone(
    state: &State,
    kind: UpdateType,
    session: &v1::CloneSessionEntry,
) -> Result<Change, EntityError> {
    let id = session.session_id;
    let value = if kind == UpdateType::Delete {
        None
    } else {
        if session.packet_length_bytes < 0 {
            return Err(EntityError::invalid(format!(
                "packet_length_bytes is {}, which is negative",
                session.packet_length_bytes
            )));
        }
        let replicas = canonical_replicas(&session.replicas)?;
        Some(encode(&v1::CloneSessionEntry { replicas, ..session.clone() }))
    };
    check_id(&state.clone_sessions, kind, id)?;
    Ok(Change::CloneSession { id, value })
}

/// Checks that the entity with this identifier exists, or does not, as the update needs it.
fn check_id(
    entities: &BTreeMap<u32, Box<[u8]>>,
    kind: UpdateType,
    id: u32,
) -> Result<(), EntityError> {
    if id == 0 {
        return Err(EntityError::invalid("the id must not be 0, which stands for all in a read"));
    }
    match (kind, entities.contains_key(&id)) {
        (UpdateType::Insert, true) => Err(EntityError::exists("it exists already")),
        (UpdateType::Insert, false) | (_, true) => Ok(()),
        (_, false) => Err(EntityError::not_found("it does not exist")),
    }
}

fn canonical_replicas(replicas: &[v1::Replica]) -> Result<Vec<v1::Replica>, EntityError> {
    let mut canonical = replicas.to_vec();
    for replica in &mut canonical {
        if let Some(PortKind::Port(port)) = &mut replica.port_kind {
            *port = canonical_port(port);
            if port.is_empty() {
                return Err(value::ValueError::Empty.into());
            }
        }
        for backup in &mut replica.backup_replicas {
            backup.port = canonical_port(&backup.port);
            if backup.port.is_empty() {
                return Err(value::ValueError::Empty.into());
            }
        }
    }
    Ok(canonical)
}

/// A port without leading zeros. Its width is not in P4Info; where ports are translated to
/// strings, there are no zeros to strip.
pub(super) fn canonical_port(port: &Bytes) -> Bytes {
    value::unsigned(port, u32::MAX)
        .map_or_else(|_| port.clone(), |canonical| port.slice_ref(canonical))
}

/// All pairs of port and instance of a multicast group differ, and a backup has another port than
/// what it stands in for.
fn unique_replicas(replicas: &[v1::Replica]) -> Result<(), EntityError> {
    let mut pairs = HashSet::new();
    for replica in replicas {
        let port = port_of(replica);
        if replica.backup_replicas.iter().any(|backup| *backup.port == *port) {
            return Err(EntityError::invalid(format!(
                "a backup of the replica at port {port:02x?} has the same port"
            )));
        }
        let backups = replica
            .backup_replicas
            .iter()
            .map(|backup| (Cow::Borrowed(&backup.port[..]), backup.instance));
        for (port, instance) in std::iter::once((port.clone(), replica.instance)).chain(backups) {
            if !pairs.insert((port.clone(), instance)) {
                return Err(EntityError::invalid(format!(
                    "two replicas have port {port:02x?} and instance {instance}"
                )));
            }
        }
    }
    Ok(())
}

/// The port of a canonical replica as a byte string.
fn port_of(replica: &v1::Replica) -> Cow<'_, [u8]> {
    match &replica.port_kind {
        Some(PortKind::Port(port)) => Cow::Borrowed(port),
        Some(PortKind::EgressPort(port)) => Cow::Owned(value::encode(u128::from(*port)).to_vec()),
        None => Cow::Borrowed(&[0]),
    }
}

/// The groups or the sessions that a request selects; the identifier 0 stands for all.
#[derive(Debug)]
pub(super) struct Selected {
    sessions: bool,
    id: u32,
}

impl Selected {
    pub(super) fn new(request: &v1::PacketReplicationEngineEntry) -> Result<Self, EntityError> {
        match &request.r#type {
            None => Err(unset()),
            Some(Type::MulticastGroupEntry(group)) => {
                Ok(Self { sessions: false, id: group.multicast_group_id })
            }
            Some(Type::CloneSessionEntry(session)) => {
                Ok(Self { sessions: true, id: session.session_id })
            }
        }
    }

    pub(super) fn visit(
        &self,
        state: &State,
        place: &mut Place,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let entities = if self.sessions { &state.clone_sessions } else { &state.multicast_groups };
        let found = entities
            .range(numbers(self.id, place.number(0)))
            .map(|(id, entity)| (u64::from(*id), entity));
        place.walk(0, found, |entity| {
            let found = if self.sessions {
                Type::CloneSessionEntry(decode(entity))
            } else {
                Type::MulticastGroupEntry(decode(entity))
            };
            let entry = v1::PacketReplicationEngineEntry { r#type: Some(found) };
            visit(Some(Entity::PacketReplicationEngineEntry(entry)))
        })
    }
}

fn unset() -> EntityError {
    EntityError::invalid("neither a multicast group nor a clone session is set")
}
