//! The state itself and the application of planned changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Nanos;
use super::change::{CellsChange, Change};
use crate::p4info::*;
use crate::proto::v1;

/// All that a switch keeps. Maps are ordered, so that reads are deterministic.
///
/// What may be large is shared: to clone the whole is how a Read keeps its view while it is being
/// sent, and a write then copies the one object that it changes.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) tables: BTreeMap<TableId, Arc<TableState>>,
    pub(super) profiles: BTreeMap<ActionProfileId, Arc<ProfileState>>,
    /// By group; each an encoded `MulticastGroupEntry`.
    pub(super) multicast_groups: Arc<BTreeMap<u32, Box<[u8]>>>,
    /// By session; each an encoded `CloneSessionEntry`.
    pub(super) clone_sessions: Arc<BTreeMap<u32, Box<[u8]>>>,
    pub(super) counters: BTreeMap<CounterId, Arc<Cells<v1::CounterData>>>,
    /// `None` is the configuration that lets everything pass as green.
    pub(super) meters: BTreeMap<MeterId, Arc<Cells<Option<v1::MeterConfig>>>>,
    /// Each cell an encoded `P4Data`.
    pub(super) registers: BTreeMap<RegisterId, Arc<Cells<Box<[u8]>>>>,
    /// Those with members; each an encoded `ValueSetEntry`.
    pub(super) value_sets: BTreeMap<ValueSetId, Arc<[u8]>>,
    /// Those that are enabled.
    pub(super) digests: BTreeMap<DigestId, Option<v1::digest_entry::Config>>,
    /// No entry expires before this time; it may be too early, never too late.
    next_expiry: Option<Nanos>,
}

/// The entries of one table.
#[derive(Debug, Clone, Default)]
pub(super) struct TableState {
    pub(super) entries: BTreeMap<Key, Entry>,
    /// `None` while the default entry is as the program has it.
    pub(super) default: Option<Box<Entry>>,
}

/// What identifies an entry within its table: match fields and priority, canonical, encoded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub(super) Box<[u8]>);

impl Key {
    /// The key as a table entry with nothing else set.
    pub(super) fn decode(&self) -> v1::TableEntry {
        decode(&self.0)
    }
}

/// What a table keeps of an entry beside its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) target: Target,
    pub(super) controller_metadata: u64,
    pub(super) metadata: Box<[u8]>,
    /// Present where the table supports idle timeouts.
    pub(super) idle: Option<Box<Idle>>,
    /// Present once a direct resource is not in its initial state.
    pub(super) direct: Option<Box<Direct>>,
    pub(super) is_const: bool,
}

impl Entry {
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            controller_metadata: 0,
            metadata: Box::default(),
            idle: None,
            direct: None,
            is_const: false,
        }
    }

    pub(super) fn direct(&self) -> Direct {
        self.direct.as_deref().copied().unwrap_or_default()
    }

    pub(super) fn set_direct(&mut self, direct: Direct) {
        self.direct = (direct != Direct::default()).then(|| Box::new(direct));
    }
}

/// What an entry does on a hit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Target {
    /// Nothing that P4Info names: the default of a table without `NoAction`.
    Nothing,
    /// An encoded `Action`.
    Action(Box<[u8]>),
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action selector.
    Group(u32),
    /// A group written with the entry.
    OneShot(Box<OneShot>),
}

/// A group written with an entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OneShot {
    /// An encoded `ActionProfileActionSet`.
    pub(super) set: Box<[u8]>,
    /// Its size, in what the selector counts.
    pub(super) size: u64,
}

/// The idle timer of an entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Idle {
    /// 0 never expires.
    pub(super) timeout_ns: u64,
    pub(super) last_hit: Nanos,
    /// The last hit, or the last notification after it.
    pub(super) quiet_since: Nanos,
}

impl Idle {
    fn deadline(&self) -> Option<Nanos> {
        (self.timeout_ns > 0).then(|| self.quiet_since.after(self.timeout_ns))
    }
}

/// The direct resources of an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Direct {
    pub(super) counter: v1::CounterData,
    pub(super) meter: Option<v1::MeterConfig>,
}

/// Members and groups of one action profile, and who uses them.
#[derive(Debug, Clone, Default)]
pub(super) struct ProfileState {
    pub(super) members: BTreeMap<u32, Member>,
    pub(super) groups: BTreeMap<u32, Group>,
    /// Entries that bring their own group.
    pub(super) one_shots: u64,
    /// The sizes of all groups, one-shot groups included, in what the selector counts.
    pub(super) total_size: u64,
}

/// A member.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    /// An encoded `Action`.
    pub(super) action: Box<[u8]>,
    /// Groups that contain it.
    pub(super) groups: u32,
    /// Entries that refer to it.
    pub(super) entries: u32,
}

/// A group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// An encoded `ActionProfileGroup`.
    pub(super) group: Box<[u8]>,
    /// Its size, in what the selector counts.
    pub(super) size: u64,
    /// Entries that refer to it.
    pub(super) entries: u32,
}

/// The cells of an array that were written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cells<T> {
    /// What the whole array was set to, `None` while it is as it started.
    all: Option<T>,
    /// What single cells were set to after that.
    cells: BTreeMap<u64, T>,
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Self { all: None, cells: BTreeMap::new() }
    }
}

impl<T> Cells<T> {
    /// An array of which every cell is `value`.
    pub(super) fn all(value: T) -> Self {
        Self { all: Some(value), cells: BTreeMap::new() }
    }

    /// The cell at `index`, `None` while it is as it started.
    pub(super) fn get(&self, index: u64) -> Option<&T> {
        self.cells.get(&index).or(self.all.as_ref())
    }

    /// What the whole array was set to, if it was.
    pub(super) fn whole(&self) -> Option<&T> {
        self.all.as_ref()
    }

    /// The cells that were written one by one, from this index on.
    pub(super) fn written(&self, from: u64) -> impl Iterator<Item = (u64, &T)> {
        self.cells.range(from..).map(|(index, value)| (*index, value))
    }

    fn apply(&mut self, change: CellsChange<T>) -> CellsChange<T> {
        match change {
            CellsChange::One { index, value } => {
                let previous = match value {
                    Some(value) => self.cells.insert(index, value),
                    None => self.cells.remove(&index),
                };
                CellsChange::One { index, value: previous }
            }
            CellsChange::All(cells) => CellsChange::All(std::mem::replace(self, cells)),
        }
    }
}

impl State {
    /// Applies a planned change and returns the change that undoes it.
    pub(super) fn apply(&mut self, schema: &Schema, change: Change) -> Change {
        match change {
            Change::Nothing => Change::Nothing,
            Change::Entry { table, key, value } => {
                self.expect_expiry(value.as_ref());
                if let Some(entry) = &value {
                    self.refer(schema, table, &entry.target, 1);
                }
                let previous = replace(&mut self.table(table).entries, key.clone(), value);
                if let Some(entry) = &previous {
                    self.refer(schema, table, &entry.target, -1);
                }
                Change::Entry { table, key, value: previous }
            }
            Change::DefaultEntry { table, value } => {
                let default = &mut self.table(table).default;
                Change::DefaultEntry { table, value: std::mem::replace(default, value) }
            }
            Change::Member { profile, id, action } => {
                let members = &mut self.profile(profile).members;
                let action = match (members.get_mut(&id), action) {
                    (Some(member), Some(action)) => {
                        Some(std::mem::replace(&mut member.action, action))
                    }
                    (None, Some(action)) => {
                        members.insert(id, Member { action, groups: 0, entries: 0 });
                        None
                    }
                    (_, None) => members.remove(&id).map(|member| member.action),
                };
                Change::Member { profile, id, action }
            }
            Change::Group { profile, id, value } => self.apply_group(profile, id, value),
            Change::MulticastGroup { id, value } => Change::MulticastGroup {
                id,
                value: replace(Arc::make_mut(&mut self.multicast_groups), id, value),
            },
            Change::CloneSession { id, value } => Change::CloneSession {
                id,
                value: replace(Arc::make_mut(&mut self.clone_sessions), id, value),
            },
            Change::Counter { id, cells } => Change::Counter {
                id,
                cells: Arc::make_mut(self.counters.entry(id).or_default()).apply(cells),
            },
            Change::Meter { id, cells } => Change::Meter {
                id,
                cells: Arc::make_mut(self.meters.entry(id).or_default()).apply(cells),
            },
            Change::Register { id, cells } => Change::Register {
                id,
                cells: Arc::make_mut(self.registers.entry(id).or_default()).apply(cells),
            },
            Change::ValueSet { id, value } => {
                Change::ValueSet { id, value: replace(&mut self.value_sets, id, value) }
            }
            Change::Digest { id, value } => {
                Change::Digest { id, value: replace(&mut self.digests, id, value) }
            }
        }
    }

    /// See [`super::Store::expire`].
    pub(super) fn expire(&mut self, now: Nanos) -> Vec<v1::TableEntry> {
        if self.next_expiry.is_none_or(|expiry| expiry > now) {
            return Vec::new();
        }
        let mut expired = Vec::new();
        let mut next: Option<Nanos> = None;
        for (id, table) in &mut self.tables {
            if !table.entries.values().any(|entry| entry.idle.is_some()) {
                continue;
            }
            for (key, entry) in &mut Arc::make_mut(table).entries {
                let Some(idle) = &mut entry.idle else { continue };
                if idle.deadline().is_some_and(|deadline| deadline <= now) {
                    idle.quiet_since = now;
                    expired.push(v1::TableEntry {
                        table_id: id.0,
                        controller_metadata: entry.controller_metadata,
                        metadata: bytes::Bytes::copy_from_slice(&entry.metadata),
                        idle_timeout_ns: i64::try_from(idle.timeout_ns).unwrap_or(i64::MAX),
                        ..key.decode()
                    });
                }
                if let Some(deadline) = idle.deadline() {
                    next = Some(next.map_or(deadline, |next| next.min(deadline)));
                }
            }
        }
        self.next_expiry = next;
        expired
    }

    /// See [`super::Store::next_expiry`].
    pub(super) fn next_expiry(&self) -> Option<Nanos> {
        self.next_expiry
    }

    fn table(&mut self, id: TableId) -> &mut TableState {
        Arc::make_mut(self.tables.entry(id).or_default())
    }

    fn profile(&mut self, id: ActionProfileId) -> &mut ProfileState {
        Arc::make_mut(self.profiles.entry(id).or_default())
    }

    fn expect_expiry(&mut self, entry: Option<&Entry>) {
        let deadline = entry.and_then(|entry| entry.idle.as_ref()?.deadline());
        if let Some(deadline) = deadline {
            self.next_expiry = Some(self.next_expiry.map_or(deadline, |next| next.min(deadline)));
        }
    }

    /// Counts a reference from an entry of `table` to a member or group, or takes it back.
    fn refer(&mut self, schema: &Schema, table: TableId, target: &Target, by: i32) {
        let implementation = schema.tables().get(table).and_then(|table| table.implementation);
        let Some(Implementation::ActionProfile(id)) = implementation else { return };
        let profile = self.profile(id);
        match target {
            Target::Nothing | Target::Action(_) => {}
            Target::Member(id) => {
                if let Some(member) = profile.members.get_mut(id) {
                    member.entries = member.entries.saturating_add_signed(by);
                }
            }
            Target::Group(id) => {
                if let Some(group) = profile.groups.get_mut(id) {
                    group.entries = group.entries.saturating_add_signed(by);
                }
            }
            Target::OneShot(one_shot) if by > 0 => {
                profile.one_shots += 1;
                profile.total_size = profile.total_size.saturating_add(one_shot.size);
            }
            Target::OneShot(one_shot) => {
                profile.one_shots = profile.one_shots.saturating_sub(1);
                profile.total_size = profile.total_size.saturating_sub(one_shot.size);
            }
        }
    }

    /// Sets the content of a group; the entries that refer to it go on doing so.
    fn apply_group(
        &mut self,
        profile: ActionProfileId,
        id: u32,
        value: Option<(Box<[u8]>, u64)>,
    ) -> Change {
        let state = self.profile(profile);
        let entries = state.groups.get(&id).map_or(0, |group| group.entries);
        let value = value.map(|(group, size)| Group { group, size, entries });
        if let Some(group) = &value {
            state.total_size = state.total_size.saturating_add(group.size);
            state.refer_members(group, 1);
        }
        let previous = replace(&mut state.groups, id, value);
        if let Some(group) = &previous {
            state.total_size = state.total_size.saturating_sub(group.size);
            state.refer_members(group, -1);
        }
        Change::Group { profile, id, value: previous.map(|group| (group.group, group.size)) }
    }
}

impl ProfileState {
    fn refer_members(&mut self, group: &Group, by: i32) {
        for member in decode::<v1::ActionProfileGroup>(&group.group).members {
            if let Some(member) = self.members.get_mut(&member.member_id) {
                member.groups = member.groups.saturating_add_signed(by);
            }
        }
    }
}

fn replace<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    }
}

/// Encodes a message for storage.
pub(super) fn encode<M: prost::Message>(message: &M) -> Box<[u8]> {
    message.encode_to_vec().into_boxed_slice()
}

/// Decodes what [`encode`] made. It cannot fail on that; a default stands for what cannot be.
pub(super) fn decode<M: prost::Message + Default>(bytes: &[u8]) -> M {
    let message = M::decode(bytes);
    debug_assert!(message.is_ok(), "stored messages were encoded by this module");
    message.unwrap_or_default()
}
