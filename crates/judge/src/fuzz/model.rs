//! A model of a device: which answers to updates the specification demands, and which entities the
//! device then has.

mod answer;
mod cells;
mod direct;
mod profiles;
mod references;
mod tables;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use protos::v1::{
    self, entity::Entity as Kind, packet_replication_engine_entry::Type as Replication,
    update::Type,
};
use tonic::Code;

pub(super) use self::answer::Expected;
use self::answer::{Faults, INVALID};
use super::normal::{EntryKey, key_of, normal, normal_entry, normal_group, normal_member};
use super::scope::{self, Scope};
use super::settings::ConstraintDuty;
use crate::bench::REFUSED;
use crate::subject::Subject;

/// The identity of a member or a group: the identifier of its profile and its own number.
type ProfileKey = (u32, u32);

/// The entities that a device must have, in addition to those that it had before the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    entries: BTreeMap<EntryKey, v1::TableEntry>,
    /// The default entries that were modified, by the identifier of their table.
    defaults: BTreeMap<u32, v1::TableEntry>,
    members: BTreeMap<ProfileKey, v1::ActionProfileMember>,
    groups: BTreeMap<ProfileKey, v1::ActionProfileGroup>,
    multicast_groups: BTreeMap<u32, v1::MulticastGroupEntry>,
    clone_sessions: BTreeMap<u32, v1::CloneSessionEntry>,
    /// The cells of arrays by their index; value sets and digests have the index 0. Cells and value
    /// sets are included even if they were never written, but digests are not.
    cells: BTreeMap<(Scope, i64), v1::Entity>,
    /// The keys of the entries that were in the device before the run. No updates of these entries
    /// are generated.
    taken: BTreeSet<EntryKey>,
    /// The values of translated types that the device has accepted, each with the name of the type.
    known: BTreeSet<(String, Bytes)>,
}

impl Model {
    /// Returns the answer to an update that the specification demands or permits. `duty` says
    /// whether the device must check constraints.
    pub(super) fn expected(
        &self,
        subject: &Subject,
        update: &v1::Update,
        duty: ConstraintDuty,
    ) -> Expected {
        let mut faults = Faults::default();
        let kind = Type::try_from(update.r#type).unwrap_or(Type::Unspecified);
        match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
            Some(Kind::TableEntry(entry)) if entry.is_default_action => {
                tables::default_entry(subject, kind, entry, &mut faults);
            }
            Some(Kind::TableEntry(entry)) => self.entry(subject, kind, entry, &mut faults),
            Some(Kind::ActionProfileMember(member)) => {
                self.member(subject, kind, member, &mut faults);
            }
            Some(Kind::ActionProfileGroup(group)) => self.group(subject, kind, group, &mut faults),
            Some(Kind::PacketReplicationEngineEntry(entry)) => match &entry.r#type {
                Some(Replication::MulticastGroupEntry(group)) => {
                    let is_there = self.multicast_groups.contains_key(&group.multicast_group_id);
                    let id = group.multicast_group_id;
                    replication(kind, id, &group.replicas, is_there, &mut faults);
                }
                Some(Replication::CloneSessionEntry(session)) => {
                    let is_there = self.clone_sessions.contains_key(&session.session_id);
                    replication(kind, session.session_id, &session.replicas, is_there, &mut faults);
                }
                None => faults.add(true, REFUSED),
            },
            Some(Kind::CounterEntry(cell)) => cells::counter(subject, kind, cell, &mut faults),
            Some(Kind::MeterEntry(cell)) => cells::meter(subject, kind, cell, &mut faults),
            Some(Kind::RegisterEntry(cell)) => cells::register(subject, kind, cell, &mut faults),
            Some(Kind::ValueSetEntry(set)) => cells::value_set(subject, kind, set, &mut faults),
            Some(Kind::DigestEntry(entry)) => self.digest(subject, kind, entry, &mut faults),
            Some(Kind::DirectCounterEntry(counter)) => {
                self.direct_counter(subject, kind, counter, &mut faults);
            }
            Some(Kind::DirectMeterEntry(meter)) => {
                self.direct_meter(subject, kind, meter, &mut faults);
            }
            Some(Kind::ExternEntry(_)) | None => faults.add(true, REFUSED),
        }
        if let Some(entity) = &update.entity {
            self.references(subject, kind, entity, &mut faults);
            self.translations(subject, entity, &mut faults);
        }
        faults.expected(duty)
    }

    /// Applies an accepted update to the model.
    pub(super) fn apply(&mut self, update: &v1::Update) {
        let kind = Type::try_from(update.r#type).unwrap_or(Type::Unspecified);
        match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
            Some(Kind::TableEntry(entry)) if entry.is_default_action => match entry.action {
                Some(_) => drop(self.defaults.insert(entry.table_id, normal_entry(entry.clone()))),
                None => drop(self.defaults.remove(&entry.table_id)),
            },
            Some(Kind::TableEntry(entry)) => self.apply_entry(kind, entry),
            Some(Kind::ActionProfileMember(member)) => {
                let key = (member.action_profile_id, member.member_id);
                match kind {
                    Type::Delete => drop(self.members.remove(&key)),
                    _ => drop(self.members.insert(key, normal_member(member.clone()))),
                }
            }
            Some(Kind::ActionProfileGroup(group)) => {
                let key = (group.action_profile_id, group.group_id);
                match kind {
                    Type::Delete => drop(self.groups.remove(&key)),
                    _ => drop(self.groups.insert(key, normal_group(group.clone()))),
                }
            }
            Some(Kind::PacketReplicationEngineEntry(entry)) => match &entry.r#type {
                Some(Replication::MulticastGroupEntry(group)) => {
                    let key = group.multicast_group_id;
                    match kind {
                        Type::Delete => drop(self.multicast_groups.remove(&key)),
                        _ => drop(self.multicast_groups.insert(key, group.clone())),
                    }
                }
                Some(Replication::CloneSessionEntry(session)) => {
                    let key = session.session_id;
                    match kind {
                        Type::Delete => drop(self.clone_sessions.remove(&key)),
                        _ => drop(self.clone_sessions.insert(key, session.clone())),
                    }
                }
                None => {}
            },
            Some(Kind::DirectCounterEntry(counter)) => self.apply_direct_counter(counter),
            Some(Kind::DirectMeterEntry(meter)) => self.apply_direct_meter(meter),
            Some(entity) => self.apply_cell(kind, entity),
            None => {}
        }
    }

    /// Returns a model of a device in which these entities exist before the run.
    pub(super) fn beside(present: &[v1::Entity]) -> Self {
        let mut model = Self::default();
        for entity in present {
            match (Scope::of(entity), &entity.entity) {
                (Some(Scope::Entries(_)), Some(Kind::TableEntry(entry))) => {
                    model.taken.insert(key_of(entry));
                }
                (Some(scope), _) if scope.is_array() || matches!(scope, Scope::ValueSet(_)) => {
                    let index = scope::index(entity).unwrap_or(0);
                    model.cells.insert((scope, index), normal(entity.clone()));
                }
                _ => {}
            }
        }
        model
    }

    /// Returns whether an update changes an entry that was in the device before the run.
    pub(super) fn is_taken(&self, update: &v1::Update) -> bool {
        let entity = update.entity.as_ref();
        let entry = entity.and_then(scope::entry_of);
        entry.is_some_and(|entry| !entry.is_default_action && self.taken.contains(&key_of(entry)))
    }

    /// Returns whether an entry with this key was in the device before the run.
    pub(super) fn had(&self, entry: &v1::TableEntry) -> bool {
        self.taken.contains(&key_of(entry))
    }

    /// Returns the entry of the model that has the same key as `entry`.
    pub(super) fn entry_like(&self, entry: &v1::TableEntry) -> Option<&v1::TableEntry> {
        self.entries.get(&key_of(entry))
    }

    /// Returns the entities that a part of the device's state must contain. Default entries that
    /// were not modified are left out.
    pub(super) fn entities(&self, scope: Scope) -> Vec<v1::Entity> {
        let replication = |kind| v1::PacketReplicationEngineEntry { r#type: Some(kind) }.into();
        match scope {
            Scope::Entries(table) => self.entries(table).cloned().map(Into::into).collect(),
            Scope::DefaultEntry(table) => {
                self.defaults.get(&table).cloned().map(Into::into).into_iter().collect()
            }
            Scope::Groups(profile) => self.groups(profile).cloned().map(Into::into).collect(),
            Scope::Members(profile) => self.members(profile).cloned().map(Into::into).collect(),
            Scope::MulticastGroups => {
                let groups = self.multicast_groups.values().cloned();
                groups.map(|group| replication(Replication::MulticastGroupEntry(group))).collect()
            }
            Scope::CloneSessions => {
                let sessions = self.clone_sessions.values().cloned();
                sessions.map(|one| replication(Replication::CloneSessionEntry(one))).collect()
            }
            Scope::Counter(_)
            | Scope::Meter(_)
            | Scope::Register(_)
            | Scope::ValueSet(_)
            | Scope::Digest(_) => {
                let cells = self.cells.range((scope, i64::MIN)..=(scope, i64::MAX));
                cells.map(|(_, cell)| cell.clone()).collect()
            }
        }
    }

    /// Returns the entries of a table.
    pub(super) fn entries(&self, table_id: u32) -> impl Iterator<Item = &v1::TableEntry> {
        self.entries.values().filter(move |entry| entry.table_id == table_id)
    }

    /// Returns the members of a profile.
    pub(super) fn members(&self, profile: u32) -> impl Iterator<Item = &v1::ActionProfileMember> {
        self.members.values().filter(move |member| member.action_profile_id == profile)
    }

    /// Returns the groups of a profile.
    pub(super) fn groups(&self, profile: u32) -> impl Iterator<Item = &v1::ActionProfileGroup> {
        self.groups.values().filter(move |group| group.action_profile_id == profile)
    }
}

/// Checks an update of a multicast group or a clone session, and adds its faults to `faults` (9.5).
fn replication(kind: Type, id: u32, replicas: &[v1::Replica], is_there: bool, faults: &mut Faults) {
    match kind {
        Type::Insert => faults.add(is_there, &[Code::AlreadyExists]),
        // Section 9.5.1 names a code for the identifier 0 in INSERT and MODIFY only.
        Type::Modify | Type::Delete if id == 0 => {}
        Type::Modify | Type::Delete => faults.add(!is_there, &[Code::NotFound]),
        Type::Unspecified => return faults.add(true, REFUSED),
    }
    faults.add(id == 0, if kind == Type::Delete { REFUSED } else { INVALID });
    let is_twice = |(place, replica): (usize, &v1::Replica)| {
        let same = |other: &v1::Replica| {
            (&other.port_kind, other.instance) == (&replica.port_kind, replica.instance)
        };
        replicas.iter().take(place).any(same)
    };
    faults.add(kind != Type::Delete && replicas.iter().enumerate().any(is_twice), INVALID);
}
