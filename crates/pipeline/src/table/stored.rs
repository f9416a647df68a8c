//! The parts of a table that packets share: its entries, and the actions that entries run.
//!
//! A packet that has found an entry continues to use it, even if the table changes in the meantime.
//! The action, counters and meters of an entry are behind one small lock that is held for a single
//! step: the packets and bytes of a counter are updated together. The idle timer has no lock (see
//! [`Timer`]).
//!
//! The action itself is in an [`ActionCell`]. Entries refer to members and groups, and groups to
//! members, by their cells and not by their numbers. A packet can therefore run what it found even
//! if the number has been reused since. A change of an entry's action replaces the cell. If the
//! previous action still runs and changes its reference parameters (`@__ref`), it writes them to
//! the cell that it found, and never to arguments that the control plane has set in the meantime.

use super::entry::{ActionCall, EntryAction, FieldMatch, Group, TableEntry, WeightedAction};
use super::packed::CompiledTable;
use super::shape::EntryHandle;
use super::timer::Timer;
use crate::externs::meter::Meter;
use crate::sync::lock;
use crate::value::Value;
use entities::{CounterData, OneShot};
use ir::{ActionId, ExternId};
use std::collections::BTreeSet;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tables::{Kept, Slab};

/// An action with its arguments. Entries that run it share the cell, and packets may change the
/// arguments.
#[derive(Debug)]
pub(crate) struct ActionCell {
    call: Mutex<Call>,
    /// The lock that an action holds while it runs, if no other action may run for the entry at the
    /// same time (`synced` of `@tableconfig`).
    turn: Mutex<()>,
}

/// The storage of a cell's action and arguments.
#[derive(Debug)]
enum Call {
    Here(Arc<ActionCall>),
    /// The action and arguments are in the packed entry with this key. This is so while the entry
    /// is in a table that machine code uses.
    Packed(Arc<CompiledTable>, u128),
}

impl ActionCell {
    pub(crate) fn new(call: ActionCall) -> Arc<Self> {
        Arc::new(Self { call: Mutex::new(Call::Here(Arc::new(call))), turn: Mutex::new(()) })
    }

    pub(crate) fn call(&self) -> Arc<ActionCall> {
        match &*lock(&self.call) {
            Call::Here(call) => Arc::clone(call),
            Call::Packed(table, key) => Arc::new(found(table.read(*key))),
        }
    }

    /// Calls `look` with the cell's action and arguments.
    pub(crate) fn with_call<R>(&self, look: impl FnOnce(&ActionCall) -> R) -> R {
        match &*lock(&self.call) {
            Call::Here(call) => look(call),
            Call::Packed(table, key) => look(&found(table.read(*key))),
        }
    }

    /// Replaces the cell's action and arguments. Returns the previous ones.
    pub(crate) fn replace(&self, call: Arc<ActionCall>) -> Arc<ActionCall> {
        match &mut *lock(&self.call) {
            Call::Here(known) => std::mem::replace(known, call),
            Call::Packed(table, key) => Arc::new(found(table.replace(*key, &call))),
        }
    }

    /// Moves the action and its arguments into the packed form of an entry. Returns `false` if the
    /// packed table has no space for the entry.
    pub(super) fn pack(&self, table: &Arc<CompiledTable>, entry: &Arc<Stored>) -> bool {
        let mut call = lock(&self.call);
        if let Call::Here(known) = &*call {
            let Some(key) = table.insert(entry, known) else { return false };
            *call = Call::Packed(Arc::clone(table), key);
        }
        true
    }

    /// Moves the action and its arguments from the packed entry back into the cell.
    pub(super) fn unpack(&self) {
        let mut call = lock(&self.call);
        if let Call::Packed(table, key) = &*call {
            *call = Call::Here(Arc::new(found(table.take(*key))));
        }
    }

    /// Moves the action of `other` into the packed table, where it replaces this cell's action. The
    /// latter moves back into this cell. Packets see either the old or the new action.
    pub(super) fn give_way(&self, other: &Self) {
        let mut call = lock(&self.call);
        let mut instead = lock(&other.call);
        if let (Call::Packed(table, key), Call::Here(next)) = (&*call, &*instead) {
            let before = Call::Here(Arc::new(found(table.replace(*key, next))));
            *instead = std::mem::replace(&mut *call, before);
        }
    }

    /// Acquires the lock that an action holds while it runs, if no other action may run for the
    /// entry at the same time.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// Writes an action's changed parameters to the cell. Does nothing if the cell holds another
    /// action by now.
    pub(crate) fn leave(&self, action: ActionId, values: Vec<(usize, Value)>) {
        let mut call = lock(&self.call);
        let call = match &mut *call {
            Call::Here(call) => call,
            Call::Packed(table, key) => return table.leave(*key, action, &values),
        };
        if call.action != action {
            return;
        }
        let call = Arc::make_mut(call);
        for (position, value) in values {
            if let Some(argument) = call.arguments.get_mut(position) {
                *argument = value;
            }
        }
    }
}

/// Returns the action call of a packed entry. The entry exists as long as a cell refers to it, so
/// `call` is never `None`. If it is nevertheless, a release build returns an action that is in no
/// table.
fn found(call: Option<ActionCall>) -> ActionCall {
    debug_assert!(call.is_some(), "an entry that machine code uses is not there");
    call.unwrap_or(ActionCall { action: ActionId(u32::MAX), arguments: Vec::new() })
}

/// A group of an action selector. Entries that run the group share the cell.
#[derive(Debug)]
pub(crate) struct GroupCell {
    group: Mutex<Arc<Choice>>,
}

/// The members of a group. The group may also be a one-shot group, which belongs to a single entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// The group as the control plane has written it. Empty for a one-shot group.
    pub(crate) group: Group,
    /// The members of the group. A hash chooses a position in this list.
    pub(crate) members: Vec<Weighted>,
}

/// A member of a group, with its weight.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    pub(crate) cell: Arc<ActionCell>,
    pub(crate) weight: u32,
    pub(crate) watch_port: Option<u32>,
}

impl Choice {
    fn has(&self, cell: &Arc<ActionCell>) -> bool {
        self.members.iter().any(|one| Arc::ptr_eq(&one.cell, cell))
    }

    fn watches(&self, ports: &BTreeSet<u32>) -> bool {
        self.members.iter().any(|one| one.watch_port.is_some_and(|port| ports.contains(&port)))
    }
}

impl GroupCell {
    pub(crate) fn new(choice: Choice) -> Arc<Self> {
        Arc::new(Self { group: Mutex::new(Arc::new(choice)) })
    }

    pub(crate) fn choice(&self) -> Arc<Choice> {
        Arc::clone(&lock(&self.group))
    }

    pub(crate) fn replace(&self, choice: Arc<Choice>) -> Arc<Choice> {
        std::mem::replace(&mut *lock(&self.group), choice)
    }
}

/// The action, member or group that an entry runs.
#[derive(Clone, Debug)]
pub(crate) enum Runs {
    Action(Arc<ActionCell>),
    Member(u32, Arc<ActionCell>),
    Group(u32, Arc<GroupCell>),
    OneShot(Arc<Choice>),
}

impl Runs {
    /// Creates a one-shot group, which belongs to one entry.
    pub(crate) fn one_shot(members: &[WeightedAction]) -> Self {
        let members = members.iter().map(|member| Weighted {
            cell: ActionCell::new(member.action.clone()),
            weight: member.weight,
            watch_port: member.watch_port,
        });
        Self::OneShot(Arc::new(Choice { members: members.collect(), group: Group::default() }))
    }

    /// Returns the action, member or group that the entry runs, in the form in which the control
    /// plane wrote it. However, the arguments of actions have their current values, which packets
    /// may have changed.
    pub(crate) fn shown(&self) -> EntryAction {
        match self {
            Self::Action(cell) => EntryAction::Action((*cell.call()).clone()),
            Self::Member(id, _) => EntryAction::Member(*id),
            Self::Group(id, _) => EntryAction::Group(*id),
            Self::OneShot(choice) => {
                let members = choice.members.iter().map(|member| WeightedAction {
                    action: (*member.cell.call()).clone(),
                    weight: member.weight,
                    watch_port: member.watch_port,
                });
                EntryAction::OneShot(members.collect())
            }
        }
    }

    /// Returns the cell of the entry's own action, or `None` if the entry runs a member or a group.
    pub(super) fn cell(&self) -> Option<&Arc<ActionCell>> {
        match self {
            Self::Action(cell) => Some(cell),
            _ => None,
        }
    }

    /// Returns whether the entry may run the action in this cell.
    pub(crate) fn may_run(&self, cell: &Arc<ActionCell>) -> bool {
        match self {
            Self::Action(known) | Self::Member(_, known) => Arc::ptr_eq(known, cell),
            Self::Group(_, group) => group.choice().has(cell),
            Self::OneShot(choice) => choice.has(cell),
        }
    }

    /// Returns whether the entry runs this group.
    pub(crate) fn is_group(&self, cell: &Arc<GroupCell>) -> bool {
        matches!(self, Self::Group(_, known) if Arc::ptr_eq(known, cell))
    }

    /// Returns whether a member of the entry's group can only be chosen while one of these ports is
    /// up.
    pub(crate) fn watches(&self, ports: &BTreeSet<u32>) -> bool {
        match self {
            Self::Action(_) | Self::Member(..) => false,
            Self::Group(_, group) => group.choice().watches(ports),
            Self::OneShot(choice) => choice.watches(ports),
        }
    }

    /// Returns whether the entry refers to this member or group directly. The members of the
    /// entry's group do not count.
    pub(crate) fn uses(&self, used: &EntryAction) -> bool {
        match (self, used) {
            (Self::Member(id, _), EntryAction::Member(used))
            | (Self::Group(id, _), EntryAction::Group(used)) => id == used,
            _ => false,
        }
    }
}

/// A direct counter or meter of an entry.
#[derive(Debug)]
pub(crate) enum Direct {
    Counter(CounterData),
    Meter(Arc<MeterCell>),
    Other,
}

impl Clone for Direct {
    /// Returns a copy of the counter or meter for another entry. A copied meter has the present
    /// state of this one.
    fn clone(&self) -> Self {
        match self {
            Self::Counter(value) => Self::Counter(*value),
            Self::Meter(cell) => Self::Meter(cell.copied()),
            Self::Other => Self::Other,
        }
    }
}

/// The direct meter of an entry. Machine code uses it while other threads wait to change tables, so
/// a thread that holds the meter's lock must not wait for anything else.
#[derive(Debug)]
pub(crate) struct MeterCell(Kept<Mutex<Meter>>);

impl MeterCell {
    /// Creates a meter without a configuration.
    pub(super) fn new(meters: &Arc<Slab<Mutex<Meter>>>) -> Arc<Self> {
        Arc::new(Self(meters.keep(Mutex::default())))
    }

    /// Returns a new meter with the current state of this one.
    fn copied(&self) -> Arc<Self> {
        let meter = *self.hold();
        Arc::new(Self(self.0.slab().keep(Mutex::new(meter))))
    }

    pub(crate) fn hold(&self) -> MutexGuard<'_, Meter> {
        lock(&self.0)
    }
}

/// The part of an entry that machine code accesses besides its action: the timer, and the address
/// of the entry. Accounts have memory of their own. If they were mixed with the data of the control
/// plane, each packet would miss the cache and the TLB. See also [`DirectAccount`].
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Account {
    pub(crate) timer: Timer,
    entry: AtomicPtr<Stored>,
}

impl Account {
    /// The offset in an account of the time of the last hit, for generated code.
    pub(crate) const RESTARTED: usize = offset_of!(Self, timer) + offset_of!(Timer, restarted);
    /// The offset in an account of the idle timeout, for generated code.
    pub(crate) const TIMEOUT: usize = offset_of!(Self, timer) + offset_of!(Timer, timeout);
    /// The offset in an account of the time at which the entry was last reported as idle, for
    /// generated code.
    pub(crate) const NOTIFIED: usize = offset_of!(Self, timer) + offset_of!(Timer, notified);

    fn new(timer: Timer) -> Self {
        Self { timer, entry: AtomicPtr::default() }
    }

    /// Returns the address of the entry to which this account belongs. The address is valid as long
    /// as the account exists.
    pub(crate) fn entry(&self) -> *const Stored {
        self.entry.load(Ordering::Relaxed)
    }
}

/// The account of an entry with direct counters or meters. For entries without them, the smaller
/// [`Account`] is used, so that two accounts fit in a cache line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct DirectAccount {
    account: Account,
    /// The packets and bytes that machine code has counted and that have not been added to the
    /// entry's counters yet.
    tally: Tally,
    /// The address of the entry's meter if it has exactly one, otherwise null.
    meter: AtomicPtr<Mutex<Meter>>,
}

impl DirectAccount {
    /// Returns the address of the entry's meter, which is valid as long as the entry exists.
    /// Returns null if the entry does not have exactly one meter.
    pub(crate) fn meter(&self) -> *const Mutex<Meter> {
        self.meter.load(Ordering::Relaxed)
    }
}

/// The memory for the accounts of a table's entries, which hold their timers, counters and meters.
#[derive(Debug)]
pub(super) enum Accounts {
    Plain(Arc<Slab<Account>>),
    Direct(Arc<Slab<DirectAccount>>),
}

impl Accounts {
    /// Creates the memory for the accounts of a table's entries. `has_directs` says whether entries
    /// have counters or meters.
    pub(super) fn new(has_directs: bool) -> Self {
        if has_directs { Self::Direct(Slab::new()) } else { Self::Plain(Slab::new()) }
    }

    /// Returns the size of this memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Plain(slab) => slab.bytes(),
            Self::Direct(slab) => slab.bytes(),
        }
    }

    pub(super) fn open(&self, timer: Timer) -> KeptAccount {
        let account = Account::new(timer);
        match self {
            Self::Plain(slab) => KeptAccount::Plain(slab.keep(account)),
            Self::Direct(slab) => {
                let (tally, meter) = Default::default();
                KeptAccount::Direct(slab.keep(DirectAccount { account, tally, meter }))
            }
        }
    }
}

/// The account (timer, counters and meter) of one entry, in the memory for its table's accounts.
#[derive(Debug)]
pub(super) enum KeptAccount {
    Plain(Kept<Account>),
    Direct(Kept<DirectAccount>),
}

impl KeptAccount {
    fn account(&self) -> &Account {
        match self {
            Self::Plain(account) => account,
            Self::Direct(direct) => &direct.account,
        }
    }

    fn direct(&self) -> Option<&DirectAccount> {
        match self {
            Self::Plain(_) => None,
            Self::Direct(direct) => Some(direct),
        }
    }
}

/// The packets and bytes that machine code has counted for an entry and that have not been added to
/// its counters yet. Machine code adds to them inside the gate of its [`tables::WorkerGroup`]. A
/// thread that moves them to the counters has closed the gate, so no machine code runs meanwhile.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Tally {
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    pub(crate) const PACKETS: usize = offset_of!(DirectAccount, tally) + offset_of!(Self, packets);
    pub(crate) const BYTES: usize = offset_of!(DirectAccount, tally) + offset_of!(Self, bytes);

    pub(super) fn is_empty(&self) -> bool {
        self.packets.load(Ordering::Relaxed) == 0 && self.bytes.load(Ordering::Relaxed) == 0
    }

    /// Moves the packets and bytes that machine code has counted to the counters of the entry.
    pub(super) fn settle(&self, directs: &mut Directs) {
        let packets = self.packets.swap(0, Ordering::Relaxed);
        let bytes = self.bytes.swap(0, Ordering::Relaxed);
        for (_, direct) in directs {
            if let Direct::Counter(value) = direct {
                value.packets = value.packets.wrapping_add(packets);
                value.bytes = value.bytes.wrapping_add(bytes);
            }
        }
    }
}

/// The direct counters and meters of an entry, each with the extern instance to which it belongs.
pub(crate) type Directs = Vec<(ExternId, Direct)>;

pub(crate) fn counter_in(directs: &mut Directs, instance: ExternId) -> Option<&mut CounterData> {
    directs.iter_mut().find_map(|(id, direct)| match direct {
        Direct::Counter(value) if *id == instance => Some(value),
        _ => None,
    })
}

pub(crate) fn meter_in(directs: &Directs, instance: ExternId) -> Option<MutexGuard<'_, Meter>> {
    directs.iter().find_map(|(id, direct)| match direct {
        Direct::Meter(cell) if *id == instance => Some(cell.hold()),
        _ => None,
    })
}

/// Data that the control plane stores with an entry and that packets do not need.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Note {
    pub(crate) controller_metadata: u64,
    pub(crate) metadata: Box<[u8]>,
    pub(crate) one_shot: Option<Box<OneShot>>,
}

/// An entry in a table, which packets and the control plane share.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) handle: EntryHandle,
    pub(crate) matches: Vec<FieldMatch>,
    pub(crate) priority: u32,
    pub(crate) is_const: bool,
    account: KeptAccount,
    /// The direct meters of the entry. They are also in its state, but machine code must not wait
    /// for the lock of the state.
    meters: Box<[(ExternId, Arc<MeterCell>)]>,
    state: Mutex<EntryState>,
}

#[cfg(test)]
thread_local! {
    /// The number of entries that the current thread has dropped, for tests.
    pub(crate) static DROPPED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
impl Drop for Stored {
    fn drop(&mut self) {
        let _ = DROPPED.try_with(|dropped| dropped.set(dropped.get() + 1));
    }
}

/// The part of an entry that can change: its action, member or group, and its counters and meters.
#[derive(Debug)]
pub(crate) struct EntryState {
    pub(crate) runs: Runs,
    pub(crate) directs: Directs,
    pub(crate) note: Option<Box<Note>>,
}

impl Stored {
    pub(super) fn new(
        handle: EntryHandle,
        (matches, priority): (Vec<FieldMatch>, u32),
        is_const: bool,
        account: KeptAccount,
        state: EntryState,
    ) -> Arc<Self> {
        let meters = state.directs.iter().filter_map(|(id, direct)| match direct {
            Direct::Meter(cell) => Some((*id, Arc::clone(cell))),
            Direct::Counter(_) | Direct::Other => None,
        });
        let (meters, state) = (meters.collect(), Mutex::new(state));
        let stored = Arc::new(Self { handle, matches, priority, is_const, account, meters, state });
        let entry = Arc::as_ptr(&stored).cast_mut();
        stored.account.account().entry.store(entry, Ordering::Relaxed);
        if let ([(_, only)], Some(direct)) = (&*stored.meters, stored.account.direct()) {
            direct.meter.store(ptr::from_ref(&*only.0).cast_mut(), Ordering::Relaxed);
        }
        stored
    }

    /// Returns the address of the entry's account. Machine code restarts the timer there, and
    /// counts packets if the table has counters.
    pub(super) fn account_address(&self) -> usize {
        match &self.account {
            KeptAccount::Plain(account) => ptr::from_ref(&**account).expose_provenance(),
            KeptAccount::Direct(account) => ptr::from_ref(&**account).expose_provenance(),
        }
    }

    /// Returns the packets and bytes that machine code has counted and that have not been added to
    /// the entry's counters yet. Returns `None` if entries of the table have no counters or meters.
    pub(super) fn tally(&self) -> Option<&Tally> {
        self.account.direct().map(|direct| &direct.tally)
    }

    pub(crate) fn timer(&self) -> &Timer {
        &self.account.account().timer
    }

    /// Locks a direct meter of the entry, for the interpreter or for machine code.
    pub(crate) fn meter(&self, instance: ExternId) -> Option<MutexGuard<'_, Meter>> {
        let mut meters = self.meters.iter();
        meters.find(|(id, _)| *id == instance).map(|(_, cell)| cell.hold())
    }

    /// Locks the state of the entry. Its counters may lack packets that machine code has counted;
    /// see [`super::TableState::settled`].
    pub(crate) fn state(&self) -> MutexGuard<'_, EntryState> {
        lock(&self.state)
    }

    /// Adds the packets that machine code has counted to the entry's counters if the table is
    /// packed. Then locks and returns the state of the entry.
    pub(crate) fn settled(&self, packed: Option<&CompiledTable>) -> MutexGuard<'_, EntryState> {
        let mut state = self.state();
        if let Some(packed) = packed {
            packed.settle(self, &mut state);
        }
        state
    }

    /// Restarts the idle timer of the entry. If `timeout` is given, it becomes the entry's timeout;
    /// an inner `None` stands for no timeout.
    pub(crate) fn restart_timer(&self, now: Duration, timeout: Option<Option<Duration>>) {
        self.timer().restart(now);
        if let Some(timeout) = timeout {
            self.timer().set_timeout(timeout);
        }
    }

    pub(crate) fn shown(&self) -> TableEntry {
        let runs = self.state().runs.clone();
        TableEntry {
            matches: self.matches.clone(),
            priority: self.priority,
            action: runs.shown(),
            idle_timeout: self.timer().timeout(),
        }
    }
}

impl EntryState {
    /// Returns the size of the group that belongs to this entry alone (one-shot), if it has one.
    pub(crate) fn one_shot_size(&self) -> Option<u64> {
        Some(self.note.as_ref()?.one_shot.as_ref()?.size)
    }
}
