//! The data plane of an emulated switch: it keeps what it is told and processes no packets.
//!
//! Three choices shape it. An update is first *planned* (everything that can be wrong with it is
//! found without touching anything) and then *applied* as one change whose inverse comes back; so
//! a batch rolls back by applying inverses in reverse order, and nothing has to be copied
//! beforehand. What may be large is shared with the reads that are being answered: a read keeps
//! its view, and a write then copies the one object that it changes. And everything is made when
//! it is first written: a fresh one is a few empty maps, whatever the program, which is what lets
//! ten thousand switches live in one process.

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

/// The state of an emulated switch under one pipeline.
#[derive(Debug)]
pub struct Emulated {
    schema: Arc<Schema>,
    /// Shared with the reads that are being answered.
    state: Arc<State>,
    /// What undoes the changes of the batch, in their order.
    inverses: Vec<Change>,
}

impl Emulated {
    /// Every table has its default entry and nothing else.
    #[must_use]
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { schema, state: Arc::default(), inverses: Vec::new() }
    }

    /// Installs an entry that the program itself declares, when the pipeline is loaded. It may be
    /// constant; no controller can then change it.
    ///
    /// # Errors
    /// As an insertion by a controller.
    pub fn install(&mut self, entry: TableEntry, now: Nanos) -> Result<(), EntityError> {
        let change = self.planner(now).insert(entry)?;
        self.apply(change);
        Ok(())
    }

    /// Records that a packet of `bytes` bytes hit the entry with this key: it counts, and the
    /// entry is not idle.
    ///
    /// # Errors
    /// If there is no such entry.
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

    /// Nothing can look at an emulated switch while it is being written.
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

/// Emulated switches: every pipeline can run on them, whatever its device configuration.
#[derive(Debug, Default, Clone, Copy)]
pub struct EmulatedTarget;

impl Target for EmulatedTarget {
    fn load(&self, schema: &Arc<Schema>, _: &[u8]) -> Result<Box<dyn DataPlane>, EntityError> {
        Ok(Box::new(Emulated::new(Arc::clone(schema))))
    }
}
