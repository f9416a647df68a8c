//! A model of a device: the answer to an update that the specification demands, and the entities
//! that the device has afterwards.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use protos::v1::{
    self, action_profile_group::Member, entity::Entity as Kind,
    field_match::FieldMatchType as Match, packet_replication_engine_entry::Type as Replication,
    table_action, update::Type,
};
use tonic::Code;

use super::scope::Scope;
use crate::bench::REFUSED;
use crate::channel::name;
use crate::subject::{self, Action, Key, Param, Profile, Subject, Table};

/// The answer to an update that the specification demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// It has to accept the update.
    Accepted,
    /// It has to refuse the update with one of these codes, or with any if there are none.
    Refused(Vec<Code>),
}

impl Expected {
    /// Returns whether an answer is as expected.
    pub(super) fn admits(&self, code: Code) -> bool {
        match self {
            Self::Accepted => code == Code::Ok,
            Self::Refused(codes) if codes.is_empty() => code != Code::Ok,
            Self::Refused(codes) => codes.contains(&code),
        }
    }

    /// Returns the expectation in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Accepted => "OK".to_owned(),
            Self::Refused(codes) if codes.is_empty() => "a refusal".to_owned(),
            Self::Refused(codes) => {
                codes.iter().map(|code| name(*code)).collect::<Vec<_>>().join(" or ")
            }
        }
    }
}

/// The key of an entry: the ID of its table, its match fields in ascending order of their IDs with
/// values in the shortest form, and its priority.
type EntryKey = (u32, Vec<(u32, Vec<u8>)>, i32);
/// The identity of a member or a group: its profile and its number.
type ProfileKey = (u32, u32);

/// The entities that a device has to have, beside those that it had before.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    entries: BTreeMap<EntryKey, v1::TableEntry>,
    /// The default entries that were modified, by table.
    defaults: BTreeMap<u32, v1::TableEntry>,
    members: BTreeMap<ProfileKey, v1::ActionProfileMember>,
    groups: BTreeMap<ProfileKey, v1::ActionProfileGroup>,
    multicast_groups: BTreeMap<u32, v1::MulticastGroupEntry>,
    clone_sessions: BTreeMap<u32, v1::CloneSessionEntry>,
    /// The keys of the entries that the device had before, of which no updates are made.
    taken: BTreeSet<EntryKey>,
}

/// The faults of an update: the codes for each, of which none may be named.
#[derive(Debug, Default)]
struct Faults(Vec<&'static [Code]>);

impl Faults {
    fn add(&mut self, is_fault: bool, codes: &'static [Code]) {
        if is_fault {
            self.0.push(codes);
        }
    }

    fn expected(self) -> Expected {
        match self.0.as_slice() {
            [] => Expected::Accepted,
            faults if faults.iter().any(|codes| codes.is_empty()) => Expected::Refused(Vec::new()),
            faults => Expected::Refused(faults.concat()),
        }
    }
}

const INVALID: &[Code] = &[Code::InvalidArgument];
/// Sections 8.3 and 9.1.1 name different codes for a byte string that is no value.
const BAD_VALUE: &[Code] = &[Code::OutOfRange, Code::InvalidArgument];

impl Model {
    /// Returns what a device has to answer to an update.
    pub(super) fn expected(&self, subject: &Subject, update: &v1::Update) -> Expected {
        let mut faults = Faults::default();
        let kind = Type::try_from(update.r#type).unwrap_or(Type::Unspecified);
        match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
            Some(Kind::TableEntry(entry)) if entry.is_default_action => {
                default_entry(subject, kind, entry, &mut faults);
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
            _ => faults.add(true, REFUSED),
        }
        faults.expected()
    }

    /// Changes the model as an accepted update changes the device.
    pub(super) fn apply(&mut self, update: &v1::Update) {
        let kind = Type::try_from(update.r#type).unwrap_or(Type::Unspecified);
        match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
            Some(Kind::TableEntry(entry)) if entry.is_default_action => match entry.action {
                Some(_) => drop(self.defaults.insert(entry.table_id, normal_entry(entry.clone()))),
                None => drop(self.defaults.remove(&entry.table_id)),
            },
            Some(Kind::TableEntry(entry)) => {
                let key = key_of(entry);
                if kind == Type::Delete {
                    self.entries.remove(&key);
                    return;
                }
                // A MODIFY without an action changes nothing but direct resources (9.1.2).
                if entry.action.is_some() {
                    self.entries.insert(key, normal_entry(entry.clone()));
                }
            }
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
            _ => {}
        }
    }

    /// Returns a model of a device that has these entries already.
    pub(super) fn beside(entries: &[v1::TableEntry]) -> Self {
        let entries = entries.iter().filter(|entry| !entry.is_default_action);
        Self { taken: entries.map(key_of).collect(), ..Self::default() }
    }

    /// Returns whether an update is about an entry that the device had before.
    pub(super) fn is_taken(&self, update: &v1::Update) -> bool {
        match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
            Some(Kind::TableEntry(entry)) => {
                !entry.is_default_action && self.taken.contains(&key_of(entry))
            }
            _ => false,
        }
    }

    /// Returns the entities of a part of the state. A default entry that was not modified is not
    /// among them.
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

    fn entry(&self, subject: &Subject, kind: Type, entry: &v1::TableEntry, faults: &mut Faults) {
        let found = subject.tables.iter().find(|table| table.id == entry.table_id);
        let Some(table) = found else { return faults.add(true, REFUSED) };
        matches(table, entry, faults);
        // Section 9.1 names no code for a wrong priority.
        faults.add((entry.priority != 0) != table.has_priority(), REFUSED);
        if !faults.0.is_empty() {
            return;
        }
        let is_there = self.entries.contains_key(&key_of(entry));
        match kind {
            Type::Insert => faults.add(is_there, &[Code::AlreadyExists]),
            Type::Modify => faults.add(!is_there, &[Code::NotFound]),
            // Only the key of a deletion is looked at.
            Type::Delete => return faults.add(!is_there, &[Code::NotFound]),
            Type::Unspecified => return faults.add(true, REFUSED),
        }
        match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
            None => faults.add(kind == Type::Insert, REFUSED),
            Some(action) => self.table_action(subject, table, action, faults),
        }
    }

    /// Checks the action of an entry (9.1.2).
    fn table_action(
        &self,
        subject: &Subject,
        table: &Table,
        action: &table_action::Type,
        faults: &mut Faults,
    ) {
        let profile = subject.profiles.iter().find(|profile| Some(profile.id) == table.profile);
        match (action, profile) {
            (table_action::Type::Action(action), None) => {
                plain_action(table, action, |known| known.in_entries, faults);
            }
            (table_action::Type::ActionProfileMemberId(id), Some(profile)) => {
                faults.add(!self.members.contains_key(&(profile.id, *id)), &[Code::NotFound]);
            }
            (table_action::Type::ActionProfileGroupId(id), Some(profile))
                if profile.is_selector =>
            {
                faults.add(!self.groups.contains_key(&(profile.id, *id)), &[Code::NotFound]);
            }
            _ => faults.add(true, INVALID),
        }
    }

    fn member(
        &self,
        subject: &Subject,
        kind: Type,
        member: &v1::ActionProfileMember,
        faults: &mut Faults,
    ) {
        let Some(table) = subject.member_table(member.action_profile_id) else {
            return faults.add(true, REFUSED);
        };
        let key = (member.action_profile_id, member.member_id);
        let is_there = self.members.contains_key(&key);
        match kind {
            Type::Insert => faults.add(is_there, &[Code::AlreadyExists]),
            Type::Modify => faults.add(!is_there, &[Code::NotFound]),
            Type::Delete => {
                faults.add(!is_there, &[Code::NotFound]);
                return faults.add(self.refers_to_member(table, key), &[Code::FailedPrecondition]);
            }
            Type::Unspecified => return faults.add(true, REFUSED),
        }
        match &member.action {
            None => faults.add(true, INVALID),
            Some(action) => plain_action(table, action, |known| known.in_entries, faults),
        }
    }

    fn refers_to_member(&self, table: &Table, key: ProfileKey) -> bool {
        let in_group = self
            .groups(key.0)
            .any(|group| group.members.iter().any(|member| member.member_id == key.1));
        in_group || self.refers(table, &table_action::Type::ActionProfileMemberId(key.1))
    }

    fn refers(&self, table: &Table, to: &table_action::Type) -> bool {
        self.entries(table.id).any(|entry| {
            entry.action.as_ref().and_then(|action| action.r#type.as_ref()) == Some(to)
        })
    }

    fn group(
        &self,
        subject: &Subject,
        kind: Type,
        group: &v1::ActionProfileGroup,
        faults: &mut Faults,
    ) {
        let of_group = |profile: &&Profile| profile.id == group.action_profile_id;
        let profile = subject.profiles.iter().filter(|profile| profile.is_selector).find(of_group);
        let table = subject.member_table(group.action_profile_id);
        let (Some(_), Some(table)) = (profile, table) else { return faults.add(true, REFUSED) };
        let old = self.groups.get(&(group.action_profile_id, group.group_id));
        match kind {
            Type::Insert => faults.add(old.is_some(), &[Code::AlreadyExists]),
            Type::Modify => faults.add(old.is_none(), &[Code::NotFound]),
            Type::Delete => {
                let reference = table_action::Type::ActionProfileGroupId(group.group_id);
                faults.add(old.is_none(), &[Code::NotFound]);
                return faults.add(self.refers(table, &reference), &[Code::FailedPrecondition]);
            }
            Type::Unspecified => return faults.add(true, REFUSED),
        }
        let is_resized =
            kind == Type::Modify && old.is_some_and(|old| old.max_size != group.max_size);
        faults.add(is_resized, INVALID);
        faults.add(group.members.iter().any(|member| member.weight <= 0), INVALID);
        let is_unknown = |member: &Member| {
            !self.members.contains_key(&(group.action_profile_id, member.member_id))
        };
        faults.add(group.members.iter().any(is_unknown), &[Code::NotFound]);
    }
}

/// Checks the match of an entry (9.1.1).
fn matches(table: &Table, entry: &v1::TableEntry, faults: &mut Faults) {
    let mut seen = Vec::new();
    for field in &entry.r#match {
        faults.add(seen.contains(&field.field_id), REFUSED);
        seen.push(field.field_id);
        match table.keys.iter().find(|key| key.id == field.field_id) {
            None => faults.add(true, REFUSED),
            Some(key) => field_match(key, field.field_match_type.as_ref(), faults),
        }
    }
    let is_missing = |key: &Key| key.kind == subject::Kind::Exact && !seen.contains(&key.id);
    faults.add(table.keys.iter().any(is_missing), REFUSED);
}

fn field_match(key: &Key, matched: Option<&Match>, faults: &mut Faults) {
    let is_value = |value: &Bytes| !value.is_empty() && fits(value, key.bits);
    match (key.kind, matched) {
        (subject::Kind::Exact, Some(Match::Exact(exact))) => {
            faults.add(!is_value(&exact.value), BAD_VALUE);
        }
        (subject::Kind::Optional, Some(Match::Optional(optional))) => {
            faults.add(!is_value(&optional.value), BAD_VALUE);
        }
        (subject::Kind::Lpm, Some(Match::Lpm(prefix))) => {
            faults.add(!is_value(&prefix.value), BAD_VALUE);
            faults.add(prefix.prefix_len <= 0, INVALID);
            let length = u32::try_from(prefix.prefix_len).unwrap_or(0);
            // The section does not name a code for a prefix that is longer than the field.
            faults.add(length > key.bits, REFUSED);
            let behind = key.bits.saturating_sub(length);
            faults.add(length > 0 && has_low_bits(&prefix.value, behind), INVALID);
        }
        (subject::Kind::Ternary, Some(Match::Ternary(ternary))) => {
            faults.add(!is_value(&ternary.value) || !is_value(&ternary.mask), BAD_VALUE);
            let (value, mask) = (shortest(&ternary.value), shortest(&ternary.mask));
            faults.add(mask.iter().all(|byte| *byte == 0), INVALID);
            faults.add(!is_within(&value, &mask), INVALID);
        }
        (subject::Kind::Range, Some(Match::Range(range))) => {
            faults.add(!is_value(&range.low) || !is_value(&range.high), BAD_VALUE);
            let (low, high) = (shortest(&range.low), shortest(&range.high));
            faults.add((low.len(), &low) > (high.len(), &high), INVALID);
            let is_all = low.iter().all(|byte| *byte == 0)
                && high[..] == crate::entities::all_ones(key.bits)[..];
            faults.add(is_all, INVALID);
        }
        _ => faults.add(true, REFUSED),
    }
}

/// Checks an update of a default entry (9.1.3).
fn default_entry(subject: &Subject, kind: Type, entry: &v1::TableEntry, faults: &mut Faults) {
    let found = subject.tables.iter().find(|table| table.id == entry.table_id);
    let Some(table) = found else { return faults.add(true, REFUSED) };
    faults.add(kind != Type::Modify, INVALID);
    faults.add(!entry.r#match.is_empty() || entry.priority != 0, INVALID);
    match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        Some(table_action::Type::Action(action)) => {
            plain_action(table, action, |known| known.in_default, faults);
        }
        Some(_) => faults.add(true, INVALID),
        // Without an action, that of the program returns.
        None => {}
    }
}

/// Checks an update of a multicast group or a clone session (9.5).
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

/// Checks a call of an action in an entry or a member (9.1.2). `is_for` says whether the action may
/// be used there.
fn plain_action(
    table: &Table,
    action: &v1::Action,
    is_for: fn(&Action) -> bool,
    faults: &mut Faults,
) {
    let of_id = |known: &&Action| known.id == action.action_id;
    let Some(known) = table.actions.iter().find(of_id) else { return faults.add(true, INVALID) };
    faults.add(!is_for(known), &[Code::PermissionDenied]);
    let mut ids: Vec<u32> = action.params.iter().map(|param| param.param_id).collect();
    let mut wanted: Vec<u32> = known.params.iter().map(|param| param.id).collect();
    ids.sort_unstable();
    wanted.sort_unstable();
    faults.add(ids != wanted, INVALID);
    for param in &action.params {
        let of_id = |known: &&Param| known.id == param.param_id;
        if let Some(known) = known.params.iter().find(of_id) {
            let is_value = !param.value.is_empty() && fits(&param.value, known.bits);
            faults.add(!is_value, BAD_VALUE);
        }
    }
}

/// Returns a byte string without zeros in front, but at least one byte.
pub(super) fn shortest(value: &Bytes) -> Bytes {
    let zeros = value.iter().take_while(|byte| **byte == 0).count();
    value.slice(zeros.min(value.len().saturating_sub(1))..)
}

/// Returns whether a value has at most `bits` bits.
fn fits(value: &Bytes, bits: u32) -> bool {
    let value = shortest(value);
    let first = value.first().copied().unwrap_or(0);
    let used = (value.len().saturating_sub(1) as u32) * 8 + (8 - first.leading_zeros());
    used <= bits
}

/// Returns whether any of the lowest `count` bits of a value is set.
fn has_low_bits(value: &Bytes, count: u32) -> bool {
    value.iter().rev().zip(0_u32..).any(|(byte, place)| {
        let bits = count.saturating_sub(place * 8).min(8);
        u16::from(*byte) & ((1 << bits) - 1) != 0
    })
}

/// Returns whether all bits of a value are in a mask.
fn is_within(value: &Bytes, mask: &Bytes) -> bool {
    let masks = mask.iter().rev().copied().chain(std::iter::repeat(0));
    value.iter().rev().zip(masks).all(|(value, mask)| value & !mask == 0)
}

/// Returns what identifies an entry.
fn key_of(entry: &v1::TableEntry) -> EntryKey {
    let entry = normal_entry(entry.clone());
    let fields = entry.r#match.iter();
    let fields = fields.map(|field| (field.field_id, prost::Message::encode_to_vec(field)));
    (entry.table_id, fields.collect(), entry.priority)
}

/// Returns an entry with its values in the shortest form and its repeated fields in one order.
pub(super) fn normal_entry(mut entry: v1::TableEntry) -> v1::TableEntry {
    entry.r#match.sort_by_key(|field| field.field_id);
    for field in &mut entry.r#match {
        match &mut field.field_match_type {
            Some(Match::Exact(exact)) => exact.value = shortest(&exact.value),
            Some(Match::Optional(optional)) => optional.value = shortest(&optional.value),
            Some(Match::Lpm(prefix)) => prefix.value = shortest(&prefix.value),
            Some(Match::Ternary(ternary)) => {
                ternary.value = shortest(&ternary.value);
                ternary.mask = shortest(&ternary.mask);
            }
            Some(Match::Range(range)) => {
                range.low = shortest(&range.low);
                range.high = shortest(&range.high);
            }
            Some(Match::Other(_)) | None => {}
        }
    }
    if let Some(v1::TableAction { r#type: Some(table_action::Type::Action(action)) }) =
        &mut entry.action
    {
        *action = normal_action(std::mem::take(action));
    }
    entry
}

fn normal_action(mut action: v1::Action) -> v1::Action {
    action.params.sort_by_key(|param| param.param_id);
    for param in &mut action.params {
        param.value = shortest(&param.value);
    }
    action
}

/// Returns an entity with its values in the shortest form and its repeated fields in one order.
pub(super) fn normal(entity: v1::Entity) -> v1::Entity {
    let kind = entity.entity.map(|kind| match kind {
        Kind::TableEntry(entry) => Kind::TableEntry(normal_entry(entry)),
        Kind::ActionProfileMember(member) => Kind::ActionProfileMember(normal_member(member)),
        Kind::ActionProfileGroup(group) => Kind::ActionProfileGroup(normal_group(group)),
        other => other,
    });
    v1::Entity { entity: kind }
}

/// Returns a member with its values in the shortest form.
fn normal_member(member: v1::ActionProfileMember) -> v1::ActionProfileMember {
    v1::ActionProfileMember { action: member.action.map(normal_action), ..member }
}

/// Returns a group with its members in one order.
fn normal_group(mut group: v1::ActionProfileGroup) -> v1::ActionProfileGroup {
    group.members.sort_by_key(|member| (member.member_id, member.weight));
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_byte_strings() {
        let bytes = |value: &'static [u8]| Bytes::from_static(value);
        assert!(fits(&bytes(&[1, 0xff]), 9) && !fits(&bytes(&[2, 0]), 9));
        assert!(fits(&bytes(&[0, 0, 1]), 1) && fits(&bytes(&[0]), 1));
        assert!(has_low_bits(&bytes(&[1, 0]), 9) && !has_low_bits(&bytes(&[1, 0]), 8));
        assert!(!has_low_bits(&bytes(&[10, 0]), 0));
        assert!(
            is_within(&bytes(&[2]), &bytes(&[1, 3])) && !is_within(&bytes(&[1, 2]), &bytes(&[3]))
        );
    }
}
