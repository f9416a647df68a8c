//! The data plane of an emulated switch, which keeps its entities and processes no packets.
//!
//! Its design rests on three choices. First, an update is *planned*, which finds every error
//! without changing anything, and then *applied* as one change that returns its inverse. A batch is
//! rolled back by applying the inverses in reverse order, so nothing is copied beforehand. Second,
//! large objects are shared with reads in progress: a read keeps its snapshot, and a write copies
//! only the object that it changes. Third, every object is created when it is first written: a new
//! switch is a few empty maps, regardless of its program, so that ten thousand switches fit in one
//! process.

mod change;
mod plan;
mod profile;
mod read;
mod state;

use std::sync::Arc;

use entities::schema::{Schema, TableId};
use entities::{
    DataPlane, EntityError, EntryKey, Nanos, Reader, TableEntry, Target, Update, Visibility,
};

use self::change::Change;
use self::plan::Planner;
use self::read::View;
use self::state::State;

/// The entities of an emulated switch under one pipeline.
#[derive(Debug)]
pub struct Emulated {
    schema: Arc<Schema>,
    /// The current state, which reads in progress share.
    state: Arc<State>,
    /// The inverses of the changes of the current batch, in the order of the changes.
    inverses: Vec<Change>,
}

impl Emulated {
    /// Creates a switch in which every table has its default entry and nothing else.
    #[must_use]
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { schema, state: Arc::default(), inverses: Vec::new() }
    }

    /// Installs an entry that the program declares, when the pipeline is loaded. The entry may be
    /// constant; controllers cannot change a constant entry.
    ///
    /// # Errors
    ///
    /// Returns the error that an insertion by a controller would return.
    pub fn install(&mut self, entry: TableEntry, now: Nanos) -> Result<(), EntityError> {
        let change = self.planner(now).insert(entry)?;
        self.apply(change);
        Ok(())
    }

    /// Records that a packet of `bytes` bytes hit the entry with this key. The entry's counters
    /// increase and its idle time restarts.
    ///
    /// # Errors
    ///
    /// Returns an error if no such entry exists.
    pub fn record_hit(
        &mut self,
        table: TableId,
        key: EntryKey,
        bytes: u64,
        now: Nanos,
    ) -> Result<(), EntityError> {
        let change = self.planner(now).hit(table, key, bytes)?;
        self.apply(change);
        Ok(())
    }

    fn planner(&self, now: Nanos) -> Planner<'_> {
        Planner { schema: &self.schema, state: &self.state, now }
    }

    fn apply(&mut self, change: Change) -> Change {
        Arc::make_mut(&mut self.state).apply(&self.schema, change)
    }
}

impl DataPlane for Emulated {
    fn activate(&mut self) {}

    /// Begins a batch, regardless of its visibility: an emulated switch has no packets that could
    /// observe a partial write.
    fn begin(&mut self, _: Visibility) -> Result<(), EntityError> {
        self.inverses.clear();
        Ok(())
    }

    fn prepare(&mut self, update: Update, now: Nanos) -> Result<(), EntityError> {
        let change = self.planner(now).plan(update)?;
        let inverse = self.apply(change);
        self.inverses.push(inverse);
        Ok(())
    }

    fn commit(&mut self) {
        self.inverses = Vec::new();
    }

    fn roll_back(&mut self) {
        for inverse in std::mem::take(&mut self.inverses).into_iter().rev() {
            self.apply(inverse);
        }
    }

    fn reader(&self, now: Nanos) -> Box<dyn Reader> {
        let (schema, state) = (Arc::clone(&self.schema), Arc::clone(&self.state));
        Box::new(View { schema, state, now })
    }

    fn expire(&mut self, now: Nanos) -> Vec<TableEntry> {
        if self.state.next_expiry().is_none_or(|expiry| expiry > now) {
            return Vec::new();
        }
        Arc::make_mut(&mut self.state).expire(now)
    }

    fn next_expiry(&self) -> Option<Nanos> {
        self.state.next_expiry()
    }
}

/// A target for emulated switches. Every pipeline can run on it, regardless of its device
/// configuration.
#[derive(Debug, Default, Clone, Copy)]
pub struct EmulatedTarget;

impl Target for EmulatedTarget {
    fn load(&self, schema: &Arc<Schema>, _: &[u8]) -> Result<Box<dyn DataPlane>, EntityError> {
        Ok(Box::new(Emulated::new(Arc::clone(schema))))
    }
}
