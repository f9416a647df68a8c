//! Generates random requests, some of whose updates are invalid.

mod cells;
mod faults;
mod near_misses;
mod packets;
mod profiles;
mod references;

use bytes::Bytes;
use constraints::Goal;
use fastrand::Rng;
use protos::v1::{
    self, entity::Entity as Kind, field_match, field_match::FieldMatchType as Match,
    packet_replication_engine_entry::Type as Replication, table_action,
};

pub(super) use self::packets::Inlets;
use self::profiles::Programmed;
use super::model::Model;
use super::normal::{key_of, shortest};
use super::scope::{self, Scope};
use super::settings::{ConstraintDuty, Settings};
use crate::entities::{
    all_ones, clone_session, delete, insert, modify, multicast_group, of_entry, replicas,
};
use crate::subject::{self, Action, Array, Counts, Key, Marker, Subject, Table, ValueSet, Width};

/// The largest number of updates in a request.
const LARGEST_REQUEST: usize = 12;
/// The largest number of entries in a table, and of members and groups in a profile. It is so small
/// that no device becomes full.
const MOST_ENTRIES: usize = 48;
const MOST_GROUPS: u32 = 3;

/// The number of requests after which the way to program action selectors changes: from members and
/// groups to action sets, or back.
const PHASE: u64 = 150;

/// The smallest identifier of generated multicast groups and clone sessions.
pub(super) const FIRST_REPLICATED: u32 = 431;

/// The entities that the updates of a request change.
#[derive(Clone, Copy)]
enum Subjects<'a> {
    /// Entries of a table that contain their action themselves.
    Entries(&'a Table),
    Defaults,
    Members(Programmed<'a>),
    Groups(Programmed<'a>),
    /// Entries of a table that refer to members or groups of a profile.
    References(Programmed<'a>),
    /// Entries of a table that contain action sets.
    ActionSets(Programmed<'a>),
    /// Entities that are left from the previous way to program the profile, and must be deleted:
    /// members and groups if the profile is now programmed with action sets, or else entries with
    /// action sets.
    Cleared(Programmed<'a>, bool),
    Replication,
    Counter(&'a Array<Counts>),
    Meter(&'a Array<Marker>),
    Register(&'a Array<Width>),
    ValueSet(&'a ValueSet),
    Digest(u32),
    /// The direct counters and meters of a table's entries.
    Direct(&'a Table),
}

/// A generator of requests.
pub(super) struct Generator<'a> {
    subject: &'a Subject,
    /// The tables whose entries contain their action themselves.
    tables: Vec<&'a Table>,
    profiles: Vec<Programmed<'a>>,
    /// The tables whose default entries can be modified.
    defaults: Vec<&'a Table>,
    /// The arrays, value sets, digests, and tables with direct counters or meters.
    others: Vec<Subjects<'a>>,
    replicates: bool,
    /// Whether to generate entries and action calls that violate exactly one part of a constraint.
    near_misses: bool,
    /// The number of requests generated so far.
    made: u64,
    random: Rng,
}

impl<'a> Generator<'a> {
    /// Returns a generator of requests for the parts of the state in `scopes`.
    pub(super) fn new(subject: &'a Subject, scopes: &[Scope], settings: &Settings) -> Self {
        let mut random = Rng::with_seed(settings.seed);
        let has = |scope| scopes.contains(&scope);
        let is_direct = |table: &&Table| table.profile.is_none() && has(Scope::Entries(table.id));
        let tables = subject.tables.iter().filter(is_direct);
        let defaults = subject.tables.iter().filter(|table| has(Scope::DefaultEntry(table.id)));
        let profiles = subject.profiles.iter();
        let profiles =
            profiles.filter_map(|profile| Programmed::new(subject, profile, scopes, &mut random));
        Self {
            subject,
            others: cells::subjects(subject, scopes),
            tables: tables.collect(),
            profiles: profiles.collect(),
            defaults: defaults.collect(),
            replicates: has(Scope::MulticastGroups),
            near_misses: settings.constraints == ConstraintDuty::Checked,
            made: 0,
            random,
        }
    }

    /// Returns whether no requests can be generated.
    pub(super) fn is_empty(&self) -> bool {
        self.kinds(&Model::default()).is_empty()
    }

    /// Generates the updates of a request. No update refers to the entity of another, and no two
    /// have the same key, because a device may execute the updates of a request in any order
    /// (12.1).
    pub(super) fn request(&mut self, model: &Model) -> Vec<v1::Update> {
        let kinds = self.kinds(model);
        self.made += 1;
        let Some(kind) = self.random.choice(&kinds).copied() else { return Vec::new() };
        let kind = match kind {
            // Members may not be beside action sets (9.2.3).
            Subjects::ActionSets(programmed)
                if programmed.has_members
                    && model.has_sets(programmed.profile, None)
                    && self.random.u8(..12) == 0 =>
            {
                Subjects::Members(programmed)
            }
            kind => kind,
        };
        let count = self.random.usize(1..=LARGEST_REQUEST);
        let mut updates: Vec<v1::Update> = Vec::new();
        for _ in 0..count {
            let update = match kind {
                Subjects::Entries(table) => self.entry_update(table, model),
                Subjects::Defaults => self.default_update(model),
                Subjects::Members(programmed) => self.member_update(programmed, model),
                Subjects::Groups(programmed) => self.group_update(programmed.profile, model),
                Subjects::References(programmed) => self.reference_update(programmed, model),
                Subjects::ActionSets(programmed) => self.set_update(programmed, model),
                Subjects::Cleared(programmed, by_sets) => {
                    return self.cleared(programmed, by_sets, model);
                }
                Subjects::Replication => self.replication_update(model),
                Subjects::Counter(counter) => self.counter_update(counter),
                Subjects::Meter(meter) => self.meter_update(meter),
                Subjects::Register(register) => self.register_update(register),
                Subjects::ValueSet(set) => self.value_set_update(set),
                Subjects::Digest(digest) => self.digest_update(digest, model),
                Subjects::Direct(table) => self.direct_update(table, model),
            };
            if model.is_taken(&update) {
                continue;
            }
            if !updates.iter().any(|other| has_same_key(other, &update)) {
                updates.push(update);
            }
        }
        updates
    }

    /// Returns what the updates of a request can change at present.
    fn kinds(&self, model: &Model) -> Vec<Subjects<'a>> {
        let mut kinds: Vec<_> = self.tables.iter().map(|table| Subjects::Entries(table)).collect();
        let by_sets = self.made / PHASE % 2 == 1;
        for programmed in &self.profiles {
            kinds.extend(programmed.kinds(by_sets, model));
        }
        if !self.defaults.is_empty() {
            kinds.push(Subjects::Defaults);
        }
        if self.replicates {
            kinds.push(Subjects::Replication);
        }
        kinds.extend(&self.others);
        kinds
    }

    /// Generates an update of the default entry of a table.
    fn default_update(&mut self, model: &Model) -> v1::Update {
        let table = self.random.usize(..self.defaults.len());
        let table = self.defaults[table];
        let actions: Vec<&Action> = table.all_actions().collect();
        let action = self.random.choice(&actions).map(|action| match self.random.u8(..4) {
            0 => self.near_call(action, model).unwrap_or_else(|| self.call(action, model)),
            _ => self.call(action, model),
        });
        let action = action
            .map(|action| v1::TableAction { r#type: Some(table_action::Type::Action(action)) });
        let mut entry = v1::TableEntry {
            table_id: table.id,
            action,
            is_default_action: true,
            ..Default::default()
        };
        match self.random.u8(..11) {
            0 => return insert(of_entry(&entry)),
            1 => return delete(of_entry(&entry)),
            2 => entry.priority = 1,
            10 => entry.idle_timeout_ns = 1_000_000_000,
            3 | 4 => entry.action = None,
            5 => {
                if let Some(v1::TableAction { r#type: Some(table_action::Type::Action(action)) }) =
                    &mut entry.action
                {
                    self.damage_action(table, action);
                }
            }
            _ => {}
        }
        modify(of_entry(&entry))
    }

    /// Generates an update of a multicast group or a clone session, all of whose replicas leave by
    /// port 1.
    fn replication_update(&mut self, model: &Model) -> v1::Update {
        let id = match self.random.u8(..12) {
            0 => 0,
            _ => FIRST_REPLICATED + self.random.u32(..MOST_GROUPS),
        };
        let count = self.random.u32(1..=3);
        let mut copies = replicas((0..count).map(|_| self.random.u32(..8)));
        let (entity, scope) = match self.random.bool() {
            true => (multicast_group(id, copies), Scope::MulticastGroups),
            false => {
                // For sessions, the specification does not say that replicas must differ.
                copies.sort_by_key(|replica| replica.instance);
                copies.dedup_by_key(|replica| replica.instance);
                let length = i32::from(self.random.u8(..3)) * 64;
                (clone_session(id, copies, length), Scope::CloneSessions)
            }
        };
        let is_there = model.entities(scope).iter().any(|other| id_of(other) == id);
        self.any_type(is_there)(entity)
    }

    /// Generates an update of an entry that contains its action itself.
    fn entry_update(&mut self, table: &Table, model: &Model) -> v1::Update {
        let action = self
            .any_action(table, model)
            .map(|action| v1::TableAction { r#type: Some(table_action::Type::Action(action)) });
        let entry = v1::TableEntry { action, ..self.key(table, model) };
        let update = self.update_of(table, entry, model);
        match self.random.u8(..6) {
            0 | 1 => self.damaged(table, update),
            2 | 3 => self.near_miss(table, &update, model).unwrap_or(update),
            _ => update,
        }
    }

    /// Generates an entry without an action. In two of three cases, its key is that of an existing
    /// entry.
    fn key(&mut self, table: &Table, model: &Model) -> v1::TableEntry {
        let present: Vec<&v1::TableEntry> = model.entries(table.id).collect();
        let (r#match, priority) = match self.random.choice(&present) {
            Some(entry) if self.random.u8(..3) > 0 => (entry.r#match.clone(), entry.priority),
            _ => {
                let fields = table.keys.iter().filter_map(|key| self.field(key));
                let mut fields: Vec<v1::FieldMatch> = fields.collect();
                self.refer_from_key(table, &mut fields, model);
                let priority = if table.has_priority() { self.random.i32(1..=3) } else { 0 };
                (fields, priority)
            }
        };
        let entry = v1::TableEntry { table_id: table.id, r#match, priority, ..Default::default() };
        match &table.restriction {
            Some(restriction) if restriction.breach_of_entry(&entry).is_some() => {
                let seed = self.random.u64(..);
                restriction.entry(Goal::Satisfy, &entry, seed).unwrap_or(entry)
            }
            Some(_) | None => entry,
        }
    }

    fn update_of(&mut self, table: &Table, mut entry: v1::TableEntry, model: &Model) -> v1::Update {
        if self.random.u8(..4) == 0 {
            entry.metadata = Bytes::from(vec![self.random.u8(..); 3]);
        }
        self.add_resources(table, &mut entry);
        let is_full = model.entries(table.id).count() >= MOST_ENTRIES;
        match self.random.u8(..8) {
            0..4 if !is_full => insert(of_entry(&entry)),
            0..6 => {
                if self.random.u8(..4) == 0 {
                    entry.action = None;
                    // Whether the meter is reset by an update without action and configuration is
                    // not certain (9.1.2, 9.1.7).
                    let marker = self.subject.marker(table);
                    entry.meter_config =
                        entry.meter_config.or(marker.map(|marker| self.meter_config(marker)));
                }
                modify(of_entry(&entry))
            }
            _ => delete(of_entry(&entry)),
        }
    }

    /// Generates a match of a key field; `None` leaves the field out.
    fn field(&mut self, key: &Key) -> Option<v1::FieldMatch> {
        if key.kind != subject::Kind::Exact && self.random.u8(..5) == 0 {
            return None;
        }
        let value = if key.is_text() { self.text() } else { self.value(key.bits) };
        let matched = match key.kind {
            subject::Kind::Exact => Match::Exact(field_match::Exact { value }),
            subject::Kind::Optional => Match::Optional(field_match::Optional { value }),
            subject::Kind::Lpm => {
                let length = self.random.u32(1..=key.bits);
                let value = masked(&value, &prefix(key.bits, length));
                Match::Lpm(field_match::Lpm { value, prefix_len: length.cast_signed() })
            }
            subject::Kind::Ternary => {
                let mask = self.value(key.bits);
                let mask = if mask[..] == [0] { all_ones(key.bits) } else { mask };
                Match::Ternary(field_match::Ternary { value: masked(&value, &mask), mask })
            }
            subject::Kind::Range => {
                let other = self.value(key.bits);
                let is_less = (value.len(), &value) <= (other.len(), &other);
                let (low, high) = if is_less { (value, other) } else { (other, value) };
                let is_all = low[..] == [0] && high == all_ones(key.bits);
                // A range of all values must be left out.
                if is_all {
                    return None;
                }
                Match::Range(field_match::Range { low, high })
            }
        };
        Some(v1::FieldMatch { field_id: key.id, field_match_type: Some(matched) })
    }

    /// Generates a value of `bits` bits. In half of the cases it is small, so that keys repeat.
    fn value(&mut self, bits: u32) -> Bytes {
        let mut value: Vec<u8> = match self.random.bool() {
            true => vec![self.random.u8(..4)],
            false => (0..bits.div_ceil(8)).map(|_| self.random.u8(..)).collect(),
        };
        let ones = all_ones(bits);
        if value.len() >= ones.len() {
            value = masked(&value.into(), &ones).to_vec();
        }
        shortest(&value.into())
    }

    /// Generates a call of an action that the table permits in entries.
    fn any_action(&mut self, table: &Table, model: &Model) -> Option<v1::Action> {
        let usable: Vec<&Action> = table.all_actions().filter(|action| action.in_entries).collect();
        let action = *self.random.choice(&usable)?;
        Some(self.call(action, model))
    }

    /// Generates a call whose arguments satisfy the constraint of its action. Arguments that are
    /// references mostly refer to existing entities.
    fn call(&mut self, action: &Action, model: &Model) -> v1::Action {
        let params = action.params.iter().map(|param| {
            let value = if param.is_text() { self.text() } else { self.value(param.bits) };
            v1::action::Param { param_id: param.id, value }
        });
        let mut call = v1::Action { action_id: action.id, params: params.collect() };
        self.refer_from_call(action, &mut call, model);
        match &action.restriction {
            Some(restriction) if restriction.breach_of_call(&call).is_some() => {
                let seed = self.random.u64(..);
                restriction.call(Goal::Satisfy, &call, seed).unwrap_or(call)
            }
            Some(_) | None => call,
        }
    }

    /// Chooses the type of an update. It is mostly valid: `INSERT` for an entity that does not
    /// exist, `MODIFY` or `DELETE` for one that does.
    fn any_type(&mut self, is_there: bool) -> fn(v1::Entity) -> v1::Update {
        match (is_there, self.random.u8(..8)) {
            (true, 0) | (false, 0..6) => insert,
            (true, 1..5) | (false, 6) => modify,
            _ => delete,
        }
    }
}

/// Returns whether two updates change the same entity.
fn has_same_key(one: &v1::Update, other: &v1::Update) -> bool {
    let (Some(one), Some(other)) = (&one.entity, &other.entity) else { return false };
    if Scope::of(one) != Scope::of(other) {
        return false;
    }
    match (&one.entity, &other.entity) {
        (Some(Kind::ActionProfileMember(one)), Some(Kind::ActionProfileMember(other))) => {
            one.member_id == other.member_id
        }
        (Some(Kind::ActionProfileGroup(one)), Some(Kind::ActionProfileGroup(other))) => {
            one.group_id == other.group_id
        }
        (
            Some(Kind::PacketReplicationEngineEntry(_)),
            Some(Kind::PacketReplicationEngineEntry(_)),
        ) => id_of(one) == id_of(other),
        _ => match (scope::entry_of(one), scope::entry_of(other)) {
            (Some(one), Some(other)) => one.is_default_action || key_of(one) == key_of(other),
            // Without an index, all cells are written.
            _ => match (scope::index(one), scope::index(other)) {
                (Some(one), Some(other)) => one == other,
                (None, _) | (_, None) => true,
            },
        },
    }
}

/// Returns the identifier of a multicast group or a clone session, or 0 for other entities.
pub(super) fn id_of(entity: &v1::Entity) -> u32 {
    match &entity.entity {
        Some(Kind::PacketReplicationEngineEntry(entry)) => match &entry.r#type {
            Some(Replication::MulticastGroupEntry(group)) => group.multicast_group_id,
            Some(Replication::CloneSessionEntry(session)) => session.session_id,
            None => 0,
        },
        _ => 0,
    }
}

/// Returns a mask of `bits` bits whose first `length` bits are set.
fn prefix(bits: u32, length: u32) -> Bytes {
    let mut mask = vec![0; bits.div_ceil(8) as usize];
    // The first bit of the field is not the first of its first byte if the width is no multiple of
    // eight.
    let skipped = bits.div_ceil(8) * 8 - bits;
    for bit in skipped..skipped + length {
        mask[bit as usize / 8] |= 0x80 >> (bit % 8);
    }
    mask.into()
}

/// Returns the shortest form of a value whose bits outside of a mask are cleared.
fn masked(value: &Bytes, mask: &Bytes) -> Bytes {
    let masks = mask.iter().rev().copied().chain(std::iter::repeat(0));
    let mut bytes: Vec<u8> =
        value.iter().rev().zip(masks).map(|(value, mask)| value & mask).collect();
    bytes.reverse();
    shortest(&bytes.into())
}
