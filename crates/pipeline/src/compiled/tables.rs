//! A worker's access to the packed tables of a program.
//!
//! Generated code receives one [`TableAccess`] for each packed table, in the order of
//! [`ResolvedProgram::packed`]. It calls the functions that the access points to, and finds the
//! table's default action in it.

use crate::error::RunError;
use crate::resolved::ResolvedProgram;
use crate::state::State;
use crate::table::{ActionCall, CompiledTable, EntryLayout, NO_ACTION};
use std::sync::Arc;
use tables::{Access, Lookups, Reached, Searcher, Worker};

/// The default action writes its parameters, so it is fetched and written back by host calls.
pub(super) const BY_HOST_CALL: u64 = 1 << 33;

/// The default action is replaced by a sample entry, for programs compiled without lookups.
pub(super) const SAMPLE: u64 = 1 << 34;

/// A packed table as generated code accesses it.
#[derive(Debug)]
#[repr(C)]
pub(super) struct TableAccess {
    pub(super) access: Access,
    /// The search for the key of the best matching entry, in tables whose keys are not matched
    /// exactly.
    pub(super) searcher: Searcher,
    /// The position of the action that runs on a miss, or [`NO_ACTION`], or [`BY_HOST_CALL`]. In a
    /// program compiled without lookups, the position of a sample entry's action with the bit
    /// [`SAMPLE`].
    pub(super) default_action: u64,
    /// The packed parameters of the default action or of the sample entry.
    pub(super) default: [u64; 4],
    /// The buffer for parameters that an action has changed, in tables whose entries are not
    /// written in place.
    pub(super) made: [u64; 4],
}

/// A worker that has joined the group of workers of a switch's state.
#[derive(Debug)]
pub(super) struct Joined {
    worker: Worker,
    tables: Vec<JoinedTable>,
    made: Made,
    /// Whether the program is compiled without lookups (`ResolvedProgram::samples`).
    samples: bool,
}

/// A packed table that a worker uses.
#[derive(Debug)]
struct JoinedTable {
    /// The position of the table in the state.
    position: usize,
    packed: Arc<CompiledTable>,
    lookups: Arc<Lookups>,
}

/// The accesses that a worker reuses until tables change.
#[derive(Debug, Default)]
struct Made {
    /// The version of the group when the accesses were made, or `None` before that.
    version: Option<u64>,
    accesses: Vec<TableAccess>,
    /// 1 if the group had no other worker when the accesses were made, and 0 otherwise.
    is_alone: u64,
    /// 1 if tables may have changed since bucket addresses were last computed ahead, and 0
    /// otherwise.
    has_left: u64,
    /// The state of each table's storage when its access was made. An unequal value means that the
    /// access must be made again.
    reached: Vec<Reached>,
}

impl Made {
    /// Stores the access of a table at its position, or appends it. An access that is replaced
    /// passes its counts of hits and misses to its successor.
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

/// The state of a worker while it is inside the gate.
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

    /// Returns the address of the word that is 1 if no other worker is in the group.
    pub(super) fn is_alone(&self) -> *const u64 {
        &raw const self.made.is_alone
    }

    /// Returns the address of the word that is 1 if the worker has left the gate since
    /// [`Inside::tells`].
    pub(super) fn has_left(&self) -> *const u64 {
        &raw const self.made.has_left
    }

    /// Marks bucket addresses that are computed from now on as valid until the worker leaves the
    /// gate.
    pub(super) fn tells(&mut self) {
        self.made.has_left = 0;
    }

    /// Releases the locks of actions that did not end.
    pub(super) fn abandon(&mut self) {
        self.accesses().iter_mut().for_each(|table| table.access.abandon());
    }

    /// Updates the accesses of tables that have changed. They keep their addresses, which running
    /// code holds.
    fn look_again(&mut self, state: &State) {
        let now = self.worker.group().version();
        if self.made.version == Some(now) {
            return;
        }
        for (position, table) in self.tables.iter().enumerate() {
            let reached = table.packed.reached();
            match self.made.reached.get(position) {
                Some(known) if *known == reached => {}
                _ => self.made.put(position, reached, self.table_access(table, state)),
            }
        }
        self.made.is_alone = u64::from(self.worker.group().has_one_worker());
        self.made.version = Some(now);
    }

    fn table_access(&self, table: &JoinedTable, state: &State) -> TableAccess {
        let sample = self.samples.then(|| table.packed.any()).flatten();
        let (default_action, default) = match sample {
            Some((action, values)) => (SAMPLE | u64::from(action), words(&values)),
            None => default_of(table.position, &table.packed, state),
        };
        let (access, searcher) = table.packed.access(self.worker);
        TableAccess { access, searcher, default_action, default, made: [0; 4] }
    }

    /// Calls `work`, which changes tables for the current packet, outside the gate, so that other
    /// threads can close the gate. The packet must hold no lock on an entry.
    pub(super) fn outside<R>(&mut self, state: &State, work: impl FnOnce() -> R) -> R {
        let result = self.worker.outside(work);
        self.made.has_left = 1;
        self.look_again(state);
        result
    }
}

/// Creates the packed storage of all tables of a program that can be packed, with their present
/// entries. From then on, a change of an entry is made in the packed storage before the change
/// returns.
///
/// # Errors
/// Returns an error if memory does not suffice.
pub(super) fn activate(resolved: &ResolvedProgram, state: &State) -> Result<(), RunError> {
    for position in &resolved.packed {
        let table = state.tables.get(*position).ok_or_else(|| RunError::internal("a table"))?;
        table.activate(&state.group, &state.ports_down)?;
    }
    Ok(())
}

impl Joined {
    /// Joins the group of workers of a state.
    fn new(resolved: &ResolvedProgram, state: &State) -> Result<Self, RunError> {
        // This does nothing if the program was compiled for this state.
        activate(resolved, state)?;
        let worker = state.group.join();
        let tables = Vec::with_capacity(resolved.packed.len());
        let (made, samples) = (Made::default(), resolved.samples);
        let mut joined = Self { worker, tables, made, samples };
        for position in &resolved.packed {
            let table = state.tables.get(*position);
            let table = table.ok_or_else(|| RunError::internal("a table"))?;
            let packed =
                table.packed().ok_or_else(|| RunError::internal("a table without entries"))?;
            let lookups = packed.join(&joined.worker);
            let lookups = lookups.map_err(|_| RunError::Memory)?;
            joined.tables.push(JoinedTable { position: *position, packed, lookups });
        }
        Ok(joined)
    }

    /// Returns the worker that has joined the group of this state, and joins the group first if
    /// necessary.
    pub(super) fn of<'j>(
        joined: &'j mut Option<Self>,
        resolved: &ResolvedProgram,
        state: &State,
    ) -> Result<&'j mut Self, RunError> {
        let is_here = joined.as_ref().is_some_and(|known| {
            Arc::ptr_eq(known.worker.group(), &state.group) && known.samples == resolved.samples
        });
        if !is_here {
            *joined = None;
            *joined = Some(Self::new(resolved, state)?);
        }
        joined.as_mut().ok_or_else(|| RunError::internal("a worker without tables"))
    }

    /// Calls `run` inside the gate, where generated code may use the accesses. Afterwards adds the
    /// hits and misses to the tables' counts.
    pub(super) fn inside<R>(&mut self, state: &State, run: impl FnOnce(&mut Inside<'_>) -> R) -> R {
        let Self { worker, tables, made, samples } = self;
        let _inside = worker.enter();
        let mut inside = Inside { worker, tables, made, samples: *samples };
        inside.look_again(state);
        let outcome = run(&mut inside);
        for (table, TableAccess { access, .. }) in tables.iter().zip(&mut made.accesses) {
            // An action that failed may still hold the lock on its entry.
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
            table.packed.leave(&self.worker);
        }
    }
}

fn default_of(position: usize, table: &CompiledTable, state: &State) -> (u64, [u64; 4]) {
    // The host call fails for a table or an action that is not there, and reports that.
    let by_host_call = (BY_HOST_CALL, [0; 4]);
    let Some(of) = state.tables.get(position) else { return by_host_call };
    let call = {
        let default = of.default();
        if default.is_left_out && table.layout.skips_default {
            return (NO_ACTION, [0; 4]);
        }
        default.cell.call()
    };
    match pack(&table.layout, &call) {
        Some((position, _)) if table.layout.writing() >> position & 1 == 1 => by_host_call,
        Some((position, words)) => (u64::from(position), words),
        None => by_host_call,
    }
}

/// Packs an action as generated code reads it: its position and its parameters.
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
