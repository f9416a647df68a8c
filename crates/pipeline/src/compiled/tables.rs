//! A worker's way into the tables that machine code uses natively.
//!
//! Code gets one [`TableAccess`] for each such table, in the order in which the bound form counts them. It calls the
//! functions that the access points to, and finds the default action beside it.

use super::context::NO_ACTION;
use crate::bound::Bound;
use crate::error::RunError;
use crate::state::State;
use crate::table::{ActionCall, EntryLayout, NativeTable};
use std::sync::Arc;
use tables::{Access, Lookups, Reached, Searcher, Worker};

/// The default action writes its entry: it is fetched and left by call-outs.
pub(super) const BY_CALL_OUT: u64 = 1 << 33;

/// In place of the default action there is an entry, for packets that do not look for theirs.
pub(super) const SAMPLE: u64 = 1 << 34;

/// One table as code finds it.
#[derive(Debug)]
#[repr(C)]
pub(super) struct TableAccess {
    pub(super) access: Access,
    /// Finds the key of the best entry where keys are not matched exactly.
    pub(super) searcher: Searcher,
    /// Position of the action that runs on a miss, or [`NO_ACTION`], or [`BY_CALL_OUT`]; or that of an entry with [`SAMPLE`].
    pub(super) default_action: u64,
    /// Its packed parameters.
    pub(super) default: [u64; 4],
    /// Where code puts what an action made of its references, if entries are not written in place.
    pub(super) made: [u64; 4],
}

/// A worker that has joined those of a switch's state.
#[derive(Debug)]
pub(super) struct Joined {
    worker: Worker,
    tables: Vec<JoinedTable>,
    made: Made,
    /// As in the bound form.
    samples: bool,
}

/// A table that a worker uses.
#[derive(Debug)]
struct JoinedTable {
    /// Where it is in the state.
    position: usize,
    native: Arc<NativeTable>,
    lookups: Arc<Lookups>,
}

/// The accesses that a worker uses again and again.
#[derive(Debug, Default)]
struct Made {
    /// The version of the group when they were made.
    version: Option<u64>,
    accesses: Vec<TableAccess>,
    /// 1 if no other worker was there then, or 0.
    is_alone: u64,
    /// 1 if tables may have changed since buckets were told, or 0.
    has_left: u64,
    /// How each of the tables was reached then.
    reached: Vec<Reached>,
}

impl Made {
    /// The access of a table in the place of that before, with what that counted, or behind all others.
    fn put(&mut self, position: usize, reached: Reached, mut new: TableAccess) {
        match (self.accesses.get_mut(position), self.reached.get_mut(position)) {
            (Some(old), Some(known)) => {
                (new.access.hits, new.access.misses) = (old.access.hits, old.access.misses);
                (*old, *known) = (new, reached);
            }
            _ => {
                self.accesses.push(new);
                self.reached.push(reached);
            }
        }
    }
}

/// What a worker has while it is inside of the gate.
#[derive(Debug)]
pub(super) struct Inside<'j> {
    worker: &'j Worker,
    tables: &'j [JoinedTable],
    made: &'j mut Made,
    samples: bool,
}

impl Inside<'_> {
    pub(super) fn accesses(&mut self) -> &mut [TableAccess] {
        &mut self.made.accesses
    }

    /// Where it stands whether no other worker is there.
    pub(super) fn is_alone(&self) -> *const u64 {
        &raw const self.made.is_alone
    }

    /// Where it stands whether it was outside of the gate since [`Inside::tells`].
    pub(super) fn has_left(&self) -> *const u64 {
        &raw const self.made.has_left
    }

    /// Buckets are told from now on.
    pub(super) fn tells(&mut self) {
        self.made.has_left = 0;
    }

    /// Lets go of what an action that did not end holds.
    pub(super) fn abandon(&mut self) {
        self.accesses().iter_mut().for_each(|table| table.access.abandon());
    }

    /// Makes the accesses of tables that have changed anew where they are: code that runs has their address.
    fn look_again(&mut self, state: &State) {
        let now = self.worker.group().version();
        if self.made.version == Some(now) {
            return;
        }
        for (position, table) in self.tables.iter().enumerate() {
            let reached = table.native.reached();
            match self.made.reached.get(position) {
                Some(known) if *known == reached => {}
                _ => self.made.put(position, reached, self.table_access(table, state)),
            }
        }
        self.made.is_alone = u64::from(self.worker.group().has_one_worker());
        self.made.version = Some(now);
    }

    fn table_access(&self, table: &JoinedTable, state: &State) -> TableAccess {
        let sample = self.samples.then(|| table.native.any()).flatten();
        let (default_action, default) = match sample {
            Some((action, values)) => (SAMPLE | u64::from(action), words(&values)),
            None => default_of(table.position, &table.native, state),
        };
        let (access, searcher) = table.native.access(self.worker);
        TableAccess { access, searcher, default_action, default, made: [0; 4] }
    }

    /// Changes tables for the packet at hand; who wants to change others may have their turn. The packet holds no
    /// entry.
    pub(super) fn outside<R>(&mut self, state: &State, work: impl FnOnce() -> R) -> R {
        let result = self.worker.outside(work);
        self.made.has_left = 1;
        self.look_again(state);
        result
    }
}

/// Stores the entries of all tables that machine code reads itself where machine code finds them.
/// From then on, a change of an entry is made there before the change returns.
///
/// # Errors
/// If memory does not suffice.
pub(super) fn activate(bound: &Bound, state: &State) -> Result<(), RunError> {
    for position in &bound.natives {
        let table = state.tables.get(*position).ok_or(RunError::Malformed("a table"))?;
        table.activate(&state.group, &state.ports_down)?;
    }
    Ok(())
}

impl Joined {
    /// Nothing where the program has no tables that code uses natively.
    fn new(bound: &Bound, state: &State) -> Result<Self, RunError> {
        // Nothing is left to do if the program was compiled for this state.
        activate(bound, state)?;
        let worker = state.group.join();
        let tables = Vec::with_capacity(bound.natives.len());
        let (made, samples) = (Made::default(), bound.samples);
        let mut joined = Self { worker, tables, made, samples };
        for position in &bound.natives {
            let table = state.tables.get(*position);
            let table = table.ok_or(RunError::Malformed("a table"))?;
            let native = table.native().ok_or(RunError::Malformed("a table without entries"))?;
            let lookups = native.join(&joined.worker);
            let lookups = lookups.map_err(|_| {
                RunError::Malformed("entries of a worker that memory does not suffice for")
            })?;
            joined.tables.push(JoinedTable { position: *position, native, lookups });
        }
        Ok(joined)
    }

    /// The worker's place among those of this state; it joins where it has none.
    pub(super) fn of<'j>(
        joined: &'j mut Option<Self>,
        bound: &Bound,
        state: &State,
    ) -> Result<&'j mut Self, RunError> {
        let is_here = joined.as_ref().is_some_and(|known| {
            Arc::ptr_eq(known.worker.group(), &state.group) && known.samples == bound.samples
        });
        if !is_here {
            *joined = None;
            *joined = Some(Self::new(bound, state)?);
        }
        joined.as_mut().ok_or(RunError::Malformed("a worker without tables"))
    }

    /// Runs packets inside of the gate, where code may use the accesses.
    pub(super) fn inside<R>(&mut self, state: &State, run: impl FnOnce(&mut Inside<'_>) -> R) -> R {
        let Self { worker, tables, made, samples } = self;
        let _inside = worker.enter();
        let mut inside = Inside { worker, tables, made, samples: *samples };
        inside.look_again(state);
        let outcome = run(&mut inside);
        for (table, TableAccess { access, .. }) in tables.iter().zip(&mut made.accesses) {
            // What an action that failed holds.
            access.abandon();
            let (hits, misses) =
                (std::mem::take(&mut access.hits), std::mem::take(&mut access.misses));
            table.lookups.count(hits, misses);
        }
        outcome
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        for table in &self.tables {
            table.native.leave(&self.worker);
        }
    }
}

fn default_of(position: usize, table: &NativeTable, state: &State) -> (u64, [u64; 4]) {
    let none = (NO_ACTION, [0; 4]);
    let Some(of) = state.tables.get(position) else { return none };
    let call = {
        let default = of.default();
        if default.is_left_out && table.layout.skips_default {
            return none;
        }
        default.cell.call()
    };
    match pack(&table.layout, &call) {
        Some((position, _)) if table.layout.writing() >> position & 1 == 1 => (BY_CALL_OUT, [0; 4]),
        Some((position, words)) => (u64::from(position), words),
        None => none,
    }
}

/// An action as code reads it.
pub(super) fn pack(layout: &EntryLayout, call: &ActionCall) -> Option<(u16, [u64; 4])> {
    let (position, bytes) = layout.pack(call)?;
    Some((position, words(&bytes)))
}

fn words(bytes: &[u8; 32]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    words
}
