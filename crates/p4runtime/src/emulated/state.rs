//! The state of an emulated switch. A [`Change`] is validated before it reaches this module, so
//! applying it cannot fail; it returns the change that undoes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use entities::schema::*;
use entities::{
    ActionCall, CloneSession, CloneSessionId, CounterData, Data, DigestConfig, EntryKey, Group,
    GroupId, MatchKey, MemberId, MeterConfig, MulticastGroup, MulticastGroupId, Nanos, TableAction,
    TableEntry, ValueSet,
};

use super::change::{CellsChange, Change};

/// The complete state of a switch. Maps are ordered, so that reads are deterministic.
///
/// Objects that may be large are shared: a read clones the whole state cheaply and keeps that
/// snapshot while it is sent, and a later write copies the one object that it changes.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) tables: BTreeMap<TableId, Arc<TableState>>,
    pub(super) profiles: BTreeMap<ActionProfileId, Arc<ProfileState>>,
    pub(super) multicast_groups: Arc<BTreeMap<MulticastGroupId, MulticastGroup>>,
    pub(super) clone_sessions: Arc<BTreeMap<CloneSessionId, CloneSession>>,
    pub(super) counters: BTreeMap<CounterId, Arc<Cells<CounterData>>>,
    /// The cells of meters that a controller wrote. `None` is the default configuration, which
    /// marks every packet green.
    pub(super) meters: BTreeMap<MeterId, Arc<Cells<Option<MeterConfig>>>>,
    pub(super) registers: BTreeMap<RegisterId, Arc<Cells<Data>>>,
    /// The value sets that have members.
    pub(super) value_sets: BTreeMap<ValueSetId, Arc<ValueSet>>,
    /// The digests that a controller has enabled, with their configuration.
    pub(super) digests: BTreeMap<DigestId, Option<DigestConfig>>,
    /// A time before which no table entry expires. It may be too early, but never too late.
    next_expiry: Option<Nanos>,
}

/// The entries of one table.
#[derive(Debug, Clone, Default)]
pub(super) struct TableState {
    pub(super) entries: BTreeMap<MatchKey, Entry>,
    /// The default entry if a controller wrote it, or `None` while the program's default entry
    /// applies.
    pub(super) default: Option<Box<Entry>>,
}

/// A table entry without its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// The action. `None` stands for the default action of a table whose default action P4Info does
    /// not name and which has no action `NoAction`.
    pub(super) action: Option<TableAction>,
    pub(super) controller_metadata: u64,
    pub(super) metadata: Box<[u8]>,
    /// The idle timer, if the table supports idle timeouts.
    pub(super) idle: Option<Box<Idle>>,
    /// The direct counter and meter. `None` until one of them leaves its initial state.
    pub(super) direct: Option<Box<Direct>>,
    pub(super) is_const: bool,
}

impl Entry {
    pub(super) fn new(action: Option<TableAction>) -> Self {
        Self {
            action,
            controller_metadata: 0,
            metadata: Box::default(),
            idle: None,
            direct: None,
            is_const: false,
        }
    }

    /// Returns the default entry that the program declares for a table.
    pub(super) fn initial_default(table: &Table) -> Self {
        Self::new(table.default_action.clone().map(TableAction::Call))
    }

    pub(super) fn direct(&self) -> Direct {
        self.direct.as_deref().copied().unwrap_or_default()
    }

    pub(super) fn set_direct(&mut self, direct: Direct) {
        self.direct = (direct != Direct::default()).then(|| Box::new(direct));
    }
}

/// The idle timer of a table entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Idle {
    /// The idle timeout in nanoseconds. An entry with timeout 0 never expires.
    pub(super) timeout_ns: u64,
    pub(super) last_hit: Nanos,
    /// The start of the present idle period: the time of the last hit, or of the last notification
    /// if that was later.
    pub(super) quiet_since: Nanos,
}

impl Idle {
    fn deadline(&self) -> Option<Nanos> {
        (self.timeout_ns > 0).then(|| self.quiet_since.after(self.timeout_ns))
    }
}

/// The direct counter and meter of a table entry.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Direct {
    pub(super) counter: CounterData,
    pub(super) meter: Option<MeterConfig>,
}

/// The members and groups of one action profile, with counts of references to them.
#[derive(Debug, Clone, Default)]
pub(super) struct ProfileState {
    pub(super) members: BTreeMap<MemberId, MemberState>,
    pub(super) groups: BTreeMap<GroupId, GroupState>,
    /// The number of entries with a one-shot group.
    pub(super) one_shots: u64,
    /// The total size of all groups of the profile, including one-shot groups. Depending on the
    /// profile's selector, the size of a group is the number of its members or the sum of their
    /// weights.
    pub(super) total_size: u64,
}

/// A member of an action profile.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MemberState {
    pub(super) action: ActionCall,
    /// The number of groups that contain the member.
    pub(super) groups: u32,
    /// The number of entries that refer to the member.
    pub(super) entries: u32,
}

/// A group of an action profile.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GroupState {
    pub(super) group: Group,
    /// The number of entries that refer to the group.
    pub(super) entries: u32,
}

/// The values of a counter, meter or register array, for the cells that were written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cells<T> {
    /// The value that the whole array was set to, or `None` if it never was.
    all: Option<T>,
    /// The values of single cells that were set after the whole array was.
    cells: BTreeMap<u64, T>,
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Self { all: None, cells: BTreeMap::new() }
    }
}

impl<T> Cells<T> {
    /// Creates an array in which every cell is `value`.
    pub(super) fn all(value: T) -> Self {
        Self { all: Some(value), cells: BTreeMap::new() }
    }

    /// Returns the cell at `index`, or `None` while it has its initial value.
    pub(super) fn get(&self, index: u64) -> Option<&T> {
        self.cells.get(&index).or(self.all.as_ref())
    }

    /// Returns the value that the whole array was set to, if it was.
    pub(super) fn whole(&self) -> Option<&T> {
        self.all.as_ref()
    }

    /// Returns the cells that were written individually, starting with this index.
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
            Change::Entry { table, key, value } => {
                self.expect_expiry(value.as_ref());
                if let Some(entry) = &value {
                    self.refer(schema, table, entry.action.as_ref(), 1);
                }
                let previous = replace(&mut self.table(table).entries, key.clone(), value);
                if let Some(entry) = &previous {
                    self.refer(schema, table, entry.action.as_ref(), -1);
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
                        members.insert(id, MemberState { action, groups: 0, entries: 0 });
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
                let previous = replace(&mut self.value_sets, id, value.map(Arc::new));
                Change::ValueSet { id, value: previous.map(Arc::unwrap_or_clone) }
            }
            Change::Digest { id, value } => {
                Change::Digest { id, value: replace(&mut self.digests, id, value) }
            }
        }
    }

    /// Implements [`entities::DataPlane::expire`].
    pub(super) fn expire(&mut self, now: Nanos) -> Vec<TableEntry> {
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
                    expired.push(TableEntry {
                        controller_metadata: entry.controller_metadata,
                        metadata: entry.metadata.clone(),
                        idle_timeout_ns: idle.timeout_ns,
                        ..TableEntry::new(*id, EntryKey::Match(key.clone()))
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

    /// Implements [`entities::DataPlane::next_expiry`].
    pub(super) fn next_expiry(&self) -> Option<Nanos> {
        self.next_expiry
    }

    fn table(&mut self, id: TableId) -> &mut TableState {
        Arc::make_mut(self.tables.entry(id).or_default())
    }

    fn profile(&mut self, id: ActionProfileId) -> &mut ProfileState {
        Arc::make_mut(self.profiles.entry(id).or_default())
    }

    /// Updates the time of the next expiry for an entry that is about to be written.
    fn expect_expiry(&mut self, entry: Option<&Entry>) {
        let deadline = entry.and_then(|entry| entry.idle.as_ref()?.deadline());
        if let Some(deadline) = deadline {
            self.next_expiry = Some(self.next_expiry.map_or(deadline, |next| next.min(deadline)));
        }
    }

    /// Adds `by` to the number of table entries that refer to the member or group in `action`,
    /// which belongs to an entry of `table`. If `action` contains a one-shot group, adds this group
    /// to the counts of the profile or, if `by` is negative, removes it from them.
    fn refer(&mut self, schema: &Schema, table: TableId, action: Option<&TableAction>, by: i32) {
        let implementation = schema.tables().get(table).and_then(|table| table.implementation);
        let Some(Implementation::ActionProfile(id)) = implementation else { return };
        let profile = self.profile(id);
        match action {
            None | Some(TableAction::Call(_)) => {}
            Some(TableAction::Member(id)) => {
                if let Some(member) = profile.members.get_mut(id) {
                    member.entries = member.entries.saturating_add_signed(by);
                }
            }
            Some(TableAction::Group(id)) => {
                if let Some(group) = profile.groups.get_mut(id) {
                    group.entries = group.entries.saturating_add_signed(by);
                }
            }
            Some(TableAction::OneShot(one_shot)) if by > 0 => {
                profile.one_shots += 1;
                profile.total_size = profile.total_size.saturating_add(one_shot.size);
            }
            Some(TableAction::OneShot(one_shot)) => {
                profile.one_shots = profile.one_shots.saturating_sub(1);
                profile.total_size = profile.total_size.saturating_sub(one_shot.size);
            }
        }
    }

    /// Sets or removes the content of a group. References of table entries to the group are kept.
    fn apply_group(
        &mut self,
        profile: ActionProfileId,
        id: GroupId,
        value: Option<Group>,
    ) -> Change {
        let state = self.profile(profile);
        let entries = state.groups.get(&id).map_or(0, |group| group.entries);
        let value = value.map(|group| GroupState { group, entries });
        if let Some(GroupState { group, .. }) = &value {
            state.total_size = state.total_size.saturating_add(group.size);
            state.refer_members(group, 1);
        }
        let previous = replace(&mut state.groups, id, value);
        if let Some(GroupState { group, .. }) = &previous {
            state.total_size = state.total_size.saturating_sub(group.size);
            state.refer_members(group, -1);
        }
        Change::Group { profile, id, value: previous.map(|previous| previous.group) }
    }
}

impl ProfileState {
    /// Adds `by` to the number of groups that contain each member of a group.
    fn refer_members(&mut self, group: &Group, by: i32) {
        for member in &group.members {
            if let Some(member) = self.members.get_mut(&member.member) {
                member.groups = member.groups.saturating_add_signed(by);
            }
        }
    }
}

/// Inserts a value, or removes it if it is `None`. Returns the previous value.
fn replace<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    }
}
