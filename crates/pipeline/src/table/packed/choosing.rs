//! Entries that run members of an action profile or groups of an action selector, in the form that
//! machine code reads.
//!
//! Such an entry holds the address of a [`Chooser`] in place of parameters. Code takes a [`Member`]
//! from the chooser, with its action and parameters. Entries that run the same member or group
//! share a chooser, which keeps its address as long as an entry uses it. When a member or group
//! changes, or a watched port goes up or down, the chooser is rebuilt in place, so that entries
//! need not be visited. Meanwhile, the gate of the [`tables::WorkerGroup`] keeps workers out. The
//! packed members are copies: the actions remain in their cells, because this code only reads them.

use super::CompiledTable;
use crate::sync::{lock, read};
use crate::table::packing::EntryLayout;
use crate::table::shape::EntryHandle;
use crate::table::stored::{ActionCell, Runs, Stored, Weighted};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::offset_of;
use std::sync::{Arc, Mutex, RwLock};

/// The number that stands for "no action" instead of an action's position.
pub(crate) const NO_ACTION: u64 = u32::MAX as u64;

/// The list of members from which machine code chooses one for a packet.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Chooser {
    /// The sum of the weights of all members, at least 1.
    total: u64,
    /// The number of members, at least 1.
    count: u64,
    /// The address of the first member. The others follow it in memory.
    first: u64,
    members: Vec<Member>,
}

/// A member of an action profile: an action with its parameters, in the form that machine code
/// reads.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Member {
    /// The position of the action in the table's list, or [`NO_ACTION`].
    position: u64,
    /// The sum of the weights of this member and all members before it in the list.
    up_to: u64,
    values: [u8; 32],
}

impl Chooser {
    pub(crate) const TOTAL: usize = offset_of!(Self, total);
    pub(crate) const COUNT: usize = offset_of!(Self, count);
    pub(crate) const FIRST: usize = offset_of!(Self, first);

    fn new(members: Vec<Member>) -> Self {
        let total = members.last().map_or(1, |last| last.up_to);
        let (count, first) = (members.len() as u64, members.as_ptr().expose_provenance() as u64);
        Self { total, count, first, members }
    }
}

impl Member {
    pub(crate) const POSITION: usize = offset_of!(Self, position);
    pub(crate) const UP_TO: usize = offset_of!(Self, up_to);
    pub(crate) const VALUES: usize = offset_of!(Self, values);
}

/// The choosers of a table whose entries run members of an action profile or groups of an action
/// selector.
#[derive(Debug)]
pub(crate) struct Choosing {
    /// The action that runs for an entry if none of its members can be used.
    empty: Option<Arc<ActionCell>>,
    ports_down: Arc<RwLock<BTreeSet<u32>>>,
    choosers: Mutex<Choosers>,
}

/// The choosers that exist, and the entries that use them.
#[derive(Debug, Default)]
struct Choosers {
    /// The choosers, each by the address of the object from which it was made: a member's cell, or
    /// a group.
    made: HashMap<usize, Made>,
    /// The key under which each entry is stored, and the address that identifies its chooser in
    /// `made`.
    entries: BTreeMap<EntryHandle, (u128, usize)>,
}

/// A chooser, and the member or group from which it was made.
#[derive(Debug)]
struct Made {
    /// The chooser, in an allocation of its own because entries hold its address.
    chooser: Box<Chooser>,
    /// The member or group from which the chooser was made. It is kept alive so that its address,
    /// which identifies the chooser, is not reused.
    runs: Runs,
    /// The number of entries that run this member or group.
    users: usize,
}

impl Choosing {
    pub(crate) fn new(
        empty: Option<Arc<ActionCell>>,
        ports_down: Arc<RwLock<BTreeSet<u32>>>,
    ) -> Self {
        Self { empty, ports_down, choosers: Mutex::default() }
    }

    /// Returns the members of a group that can be chosen: those whose watched ports are up and
    /// whose weights are not zero. If there are none, returns the action for empty groups. For an
    /// entry that runs a single action or member, returns only that one.
    fn members(&self, layout: &EntryLayout, runs: &Runs) -> Vec<Member> {
        let mut up_to = 0;
        let mut member = |cell: Option<&Arc<ActionCell>>, weight: u32| {
            up_to += u64::from(weight);
            let packed = cell.and_then(|cell| layout.pack(&cell.call()));
            let (position, values) = packed
                .map_or((NO_ACTION, [0; 32]), |packed| (packed.position.into(), packed.bytes));
            Member { position, up_to, values }
        };
        let choice = match runs {
            Runs::Action(cell) | Runs::Member(_, cell) => return vec![member(Some(cell), 1)],
            Runs::Group(_, group) => group.choice(),
            Runs::OneShot(choice) => Arc::clone(choice),
        };
        let down = read(&self.ports_down);
        let is_up = |one: &&Weighted| one.watch_port.is_none_or(|port| !down.contains(&port));
        let usable = choice.members.iter().filter(is_up).filter(|one| one.weight > 0);
        let members: Vec<Member> = usable.map(|one| member(Some(&one.cell), one.weight)).collect();
        if members.is_empty() { vec![member(self.empty.as_ref(), 1)] } else { members }
    }
}

impl Choosers {
    /// Returns the address of the chooser for a member or group, as entries store it. Makes the
    /// chooser if there is none, and records that one more entry uses it.
    fn take(&mut self, runs: &Runs, choosing: &Choosing, layout: &EntryLayout) -> [u8; 8] {
        let made = self.made.entry(identity(runs)).or_insert_with(|| {
            let chooser = Box::new(Chooser::new(choosing.members(layout, runs)));
            Made { chooser, runs: runs.clone(), users: 0 }
        });
        made.users += 1;
        std::ptr::from_ref(&*made.chooser).expose_provenance().to_ne_bytes()
    }

    /// Records that one entry less uses a chooser, and drops the chooser if no entry uses it any
    /// more.
    fn release(&mut self, identity: usize) {
        if let Some(made) = self.made.get_mut(&identity) {
            made.users = made.users.saturating_sub(1);
            if made.users == 0 {
                self.made.remove(&identity);
            }
        }
    }
}

/// Returns the address that identifies a member or group as long as it is alive.
fn identity(runs: &Runs) -> usize {
    match runs {
        Runs::Action(cell) | Runs::Member(_, cell) => Arc::as_ptr(cell).addr(),
        Runs::Group(_, group) => Arc::as_ptr(group).addr(),
        Runs::OneShot(choice) => Arc::as_ptr(choice).addr(),
    }
}

impl CompiledTable {
    /// Inserts an entry that runs a member or a group. Returns `false` if there is no space.
    pub(in crate::table) fn link(&self, entry: &Arc<Stored>, runs: &Runs) -> bool {
        let Some(choosing) = &self.choosing else { return false };
        let mut choosers = lock(&choosing.choosers);
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&choosers.take(runs, choosing, &self.layout));
        let key = self.put_in(entry, 0, bytes);
        match key {
            Some(key) => {
                choosers.entries.insert(entry.handle, (key, identity(runs)));
            }
            None => choosers.release(identity(runs)),
        }
        key.is_some()
    }

    /// Removes an entry that runs a member or a group.
    pub(in crate::table) fn unlink(&self, handle: EntryHandle) {
        let Some(choosing) = &self.choosing else { return };
        let mut choosers = lock(&choosing.choosers);
        if let Some((key, identity)) = choosers.entries.remove(&handle) {
            self.entries.take(key);
            choosers.release(identity);
        }
    }

    /// Changes the member or group that an entry runs. Packets see either the old or the new one.
    pub(in crate::table) fn relink(&self, handle: EntryHandle, runs: &Runs) {
        let Some(choosing) = &self.choosing else { return };
        let mut choosers = lock(&choosing.choosers);
        let Some((key, before)) = choosers.entries.get(&handle).copied() else { return };
        if before == identity(runs) {
            return;
        }
        let address = choosers.take(runs, choosing, &self.layout);
        self.entries.change(key, |position, bytes| {
            let mut bytes = bytes.to_vec();
            let place = bytes.get_mut(..address.len())?;
            place.copy_from_slice(&address);
            Some((position, bytes))
        });
        choosers.entries.insert(handle, (key, identity(runs)));
        choosers.release(before);
    }

    /// Rebuilds the choosers of those members and groups for which `has_changed` returns true.
    pub(crate) fn refresh(&self, has_changed: &dyn Fn(&Runs) -> bool) {
        let Some(choosing) = &self.choosing else { return };
        let mut choosers = lock(&choosing.choosers);
        let mut changed: Vec<&mut Made> =
            choosers.made.values_mut().filter(|made| has_changed(&made.runs)).collect();
        if changed.is_empty() {
            return;
        }
        let members = |made: &mut &mut Made| choosing.members(&self.layout, &made.runs);
        let members: Vec<Vec<Member>> = changed.iter_mut().map(members).collect();
        self.group().alone(|| {
            for (made, members) in changed.into_iter().zip(members) {
                *made.chooser = Chooser::new(members);
            }
        });
    }
}
