//! A worker's way into the tables that machine code uses natively.
//!
//! Code gets one [`TableAccess`] for each such table, in the order in which the bound form counts them. It calls the
//! functions that the access points to, and finds the default action beside it.

use super::context::NO_ACTION;
use crate::bound::Bound;
use crate::error::RunError;
use crate::state::State;
use crate::table::{ActionCall, EntryLayout, NativeTable, Natives};
use std::sync::Arc;
use tables::{Access, Lane, Searcher};

/// The default action writes its entry: it is fetched and left by call-outs.
pub(super) const BY_CALL_OUT: u64 = 1 << 33;

/// One table as code finds it.
#[derive(Debug)]
#[repr(C)]
pub(super) struct TableAccess {
    pub(super) access: Access,
    /// Finds the key of the best entry where keys are not matched exactly.
    pub(super) searcher: Searcher,
    /// Position of the action that runs on a miss, or [`NO_ACTION`], or [`BY_CALL_OUT`].
    pub(super) default_action: u64,
    /// Its packed parameters.
    pub(super) default: [u64; 4],
}

/// A worker that has joined those of a switch's state.
#[derive(Debug)]
pub(super) struct Joined {
    natives: Arc<Natives>,
    lane: Arc<Lane>,
    /// Where a table is in the state, and its entries.
    tables: Vec<(usize, Arc<NativeTable>)>,
    /// Of the natives, when the accesses were made.
    version: Option<u64>,
    accesses: Vec<TableAccess>,
}

impl Joined {
    /// Nothing where the program has no tables that code uses natively.
    fn new(bound: &Bound, state: &State) -> Result<Self, RunError> {
        let mut tables = Vec::with_capacity(bound.natives.len());
        for position in &bound.natives {
            let table = state.tables.get(*position);
            let table = table.ok_or(RunError::Malformed("a table"))?;
            table.activate(&state.natives)?;
            let native = table.native().ok_or(RunError::Malformed("a table without entries"))?;
            tables.push((*position, native));
        }
        let natives = Arc::clone(&state.natives);
        let lane = natives.join();
        Ok(Self { natives, lane, tables, version: None, accesses: Vec::new() })
    }

    /// The worker's place among those of this state; it joins where it has none.
    pub(super) fn of<'j>(
        joined: &'j mut Option<Self>,
        bound: &Bound,
        state: &State,
    ) -> Result<&'j mut Self, RunError> {
        let is_here =
            joined.as_ref().is_some_and(|known| Arc::ptr_eq(&known.natives, &state.natives));
        if !is_here {
            *joined = None;
            *joined = Some(Self::new(bound, state)?);
        }
        joined.as_mut().ok_or(RunError::Malformed("a worker without tables"))
    }

    /// Runs packets inside of the gate, where code may use the accesses.
    pub(super) fn inside<R>(
        &mut self,
        state: &State,
        run: impl FnOnce(&mut [TableAccess]) -> R,
    ) -> R {
        let Self { natives, lane, tables, version, accesses } = self;
        let _inside = natives.gate().enter(lane);
        let now = natives.version();
        if *version != Some(now) {
            accesses.clear();
            accesses.extend(tables.iter().map(|(position, table)| {
                let (default_action, default) = default_of(*position, table, state);
                let (access, searcher) = table.access();
                TableAccess { access, searcher, default_action, default }
            }));
            *version = Some(now);
        }
        let outcome = run(accesses);
        for ((position, _), TableAccess { access, .. }) in tables.iter().zip(accesses) {
            // What an action that failed holds.
            access.abandon();
            let (hits, misses) =
                (std::mem::take(&mut access.hits), std::mem::take(&mut access.misses));
            if let Some(table) = state.tables.get(*position) {
                table.count_lookups(hits, misses);
            }
        }
        outcome
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.natives.leave(&self.lane);
    }
}

fn default_of(position: usize, table: &NativeTable, state: &State) -> (u64, [u64; 4]) {
    let none = (NO_ACTION, [0; 4]);
    let Some(of) = state.tables.get(position) else { return none };
    let call = of.default().cell.call();
    match pack(&table.layout, &call) {
        Some((position, _)) if table.layout.writing() >> position & 1 == 1 => (BY_CALL_OUT, [0; 4]),
        Some((position, words)) => (u64::from(position), words),
        None => none,
    }
}

/// An action as code reads it.
pub(super) fn pack(layout: &EntryLayout, call: &ActionCall) -> Option<(u16, [u64; 4])> {
    let (position, bytes) = layout.pack(call)?;
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    Some((position, words))
}
