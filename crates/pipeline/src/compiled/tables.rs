//! A worker's access to the packed tables of a program.
//!
//! Generated code receives one [`TableAccess`] for each packed table, in the order of
//! [`ResolvedProgram::packed`]. It calls the functions that the access points to, and finds the
//! table's default action in it.

use crate::error::RunError;
use crate::resolved::ResolvedProgram;
use crate::state::State;
use crate::table::{ActionCall, CompiledTable, EntryLayout, NO_ACTION, PackedAction};
use std::sync::Arc;
use tables::{Access, Lookups, Reached, Searcher, Worker};

/// The value of [`TableAccess::default_action`] if the default action changes its own parameters.
/// Such an action starts and ends with a host call.
pub(super) const BY_HOST_CALL: u64 = 1 << 33;

/// The bit of [`TableAccess::default_action`] that is set in programs compiled without lookups. In
/// those, the action of a sample entry runs instead of the default action.
pub(super) const SAMPLE: u64 = 1 << 34;

/// A packed table as generated code accesses it: its buckets, its functions and its default action.
#[derive(Debug)]
#[repr(C)]
pub(super) struct TableAccess {
    pub(super) access: Access,
    /// The function that searches for the best matching entry. Used in tables whose keys are not
    /// matched exactly.
    pub(super) searcher: Searcher,
    /// The position of the default action in the table's list, or [`NO_ACTION`], or
    /// [`BY_HOST_CALL`]. In a program compiled without lookups, the position of a sample entry's
    /// action, with bit [`SAMPLE`] set.
    pub(super) default_action: u64,
    /// The packed parameters of the default action, or of the sample entry's action.
    pub(super) default: [u64; 4],
    /// The buffer in which an action stores the parameters that it has changed. Used in tables
    /// whose entries generated code does not write itself.
    pub(super) made: [u64; 4],
    /// 1 if the table has no entries, and 0 otherwise.
    pub(super) is_empty: u64,
    /// The parameters of the default action if `default` holds their address, which is the case if
    /// entries hold addresses.
    kept: Option<Arc<[u8]>>,
}

impl TableAccess {
    /// Sets the parameters of the default action.
    pub(super) fn set_parameters(&mut self, default: DefaultAction) {
        let DefaultAction { action: _, words, kept } = default;
        (self.default, self.kept) = (words, kept);
    }
}

/// A default action, or the action of a sample entry, as generated code reads it.
#[derive(Debug)]
pub(super) struct DefaultAction {
    /// The position of the action, as in [`TableAccess::default_action`].
    pub(super) action: u64,
    /// The packed parameters of the action, or the address of parameters that are too long.
    words: [u64; 4],
    /// The parameters if `words` holds their address.
    kept: Option<Arc<[u8]>>,
}

impl DefaultAction {
    const fn without_parameters(action: u64) -> Self {
        Self { action, words: [0; 4], kept: None }
    }

    fn of(packed: PackedAction) -> Self {
        let PackedAction { position, bytes, data } = packed;
        Self { action: position.into(), words: words(&bytes), kept: data }
    }
}

/// A worker's membership in the group of workers that use a state's packed tables.
#[derive(Debug)]
pub(super) struct Joined {
    worker: Worker,
    tables: Vec<JoinedTable>,
    made: Made,
    /// Whether the program is compiled without table lookups, to measure what they cost
    /// (`ResolvedProgram::samples`).
    samples: bool,
}

/// A packed table, and this worker's counts of the hits and misses in it.
#[derive(Debug)]
struct JoinedTable {
    /// The position of the table among the tables of the switch's state.
    position: usize,
    packed: Arc<CompiledTable>,
    lookups: Arc<Lookups>,
}

/// The means by which a worker accesses packed tables. They are kept from batch to batch, and
/// renewed when a table changes.
#[derive(Debug, Default)]
struct Made {
    /// The version of the group of workers when the accesses were last renewed, or `None` before
    /// the first time. The version changes whenever the way to access a table changes.
    version: Option<u64>,
    accesses: Vec<TableAccess>,
    /// 1 if there was no other worker when the accesses were renewed, and 0 otherwise.
    is_alone: u64,
    /// 1 if other threads may have changed tables since bucket addresses were precomputed, and 0
    /// otherwise.
    has_left: u64,
    /// The state of each table's storage when its access was made. If the state has changed since,
    /// the access must be made again.
    reached: Vec<Reached>,
}

impl Made {
    /// Stores the access to the table at a position, or appends it. A new access takes over the
    /// counts of hits and misses from the one that it replaces.
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

/// The state of a worker while it is inside the gate of the tables, so that no other thread moves
/// their entries.
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

    /// Returns the address of the word that is 1 while there is no other worker, and 0 otherwise.
    pub(super) fn is_alone(&self) -> *const u64 {
        &raw const self.made.is_alone
    }

    /// Returns the address of the word that is 1 if other threads may have changed tables since the
    /// last call of [`Inside::tells`], and 0 otherwise.
    pub(super) fn has_left(&self) -> *const u64 {
        &raw const self.made.has_left
    }

    /// Clears the word at [`Inside::has_left`], which is set when the worker next leaves the gate
    /// of the tables. Must be called before bucket addresses are precomputed, because they are
    /// valid only while the word is zero.
    pub(super) fn tells(&mut self) {
        self.made.has_left = 0;
    }

    /// Releases the locks on entries whose actions were interrupted.
    pub(super) fn abandon(&mut self) {
        self.accesses().iter_mut().for_each(|table| table.access.abandon());
    }

    /// Renews the accesses to tables that have changed. The accesses stay at the same addresses,
    /// because running code has these.
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
        let default = match sample {
            Some(sample) => {
                let sample = DefaultAction::of(sample);
                DefaultAction { action: SAMPLE | sample.action, ..sample }
            }
            None => default_of(table.position, &table.packed, state),
        };
        let (access, searcher) = table.packed.access(self.worker);
        let is_empty = u64::from(table.packed.is_empty());
        let DefaultAction { action: default_action, words: default, kept } = default;
        TableAccess { access, searcher, default_action, default, made: [0; 4], is_empty, kept }
    }

    /// Calls `work`, which changes tables for the current packet. During the call the worker is
    /// outside the gate of the tables, so that other threads can change tables too. The packet must
    /// hold no lock on an entry.
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
    /// Joins the group of workers that use the packed tables of a state.
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

    /// Returns the worker's membership in the group of workers that use the packed tables of this
    /// state. If `joined` does not hold it yet, joins the group first.
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

    /// Calls `run` inside the gate of the tables, where no other thread moves their entries and
    /// generated code may use the accesses. Then adds the hits and misses to the tables' counts.
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

fn default_of(position: usize, table: &CompiledTable, state: &State) -> DefaultAction {
    // The host call fails for a table or an action that is not there, and reports that.
    let by_host_call = DefaultAction::without_parameters(BY_HOST_CALL);
    let Some(of) = state.tables.get(position) else { return by_host_call };
    let call = {
        let default = of.default();
        if default.is_left_out && table.layout.skips_default {
            return DefaultAction::without_parameters(NO_ACTION);
        }
        default.cell.call()
    };
    match pack(&table.layout, &call) {
        Some(default) if table.layout.writing() >> default.action & 1 == 1 => by_host_call,
        Some(default) => default,
        None => by_host_call,
    }
}

/// Returns a default action as generated code reads it.
pub(super) fn pack(layout: &EntryLayout, call: &ActionCall) -> Option<DefaultAction> {
    layout.pack(call).map(DefaultAction::of)
}

fn words(bytes: &[u8; 32]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    words
}
