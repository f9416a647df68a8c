//! What a switch keeps of what it is told: entities, validated and read back.
//!
//! A [`Store`] belongs to one committed pipeline. It is a plain data structure: updates, requests
//! and the time go in, entities and errors come out. Emulated switches live on it alone; a
//! software switch keeps it beside its data plane.
//!
//! Three choices shape it. An update is first *planned* (everything that can be wrong with it is
//! found without touching anything) and then *applied* as one change whose inverse comes back;
//! so a batch rolls back by applying inverses in reverse order, and nothing has to be copied
//! beforehand. What is stored is encoded and owned: a table entry takes its key and its action as
//! two small buffers, and never keeps the frame alive in which it was received. And everything is
//! made when it is first written: a fresh store is a few empty maps, whatever the program, which
//! is what lets ten thousand switches live in one process.

use std::sync::Arc;

use crate::p4info::Schema;
use crate::proto::v1;
use crate::status::EntityError;

/// A point in time, in nanoseconds since an epoch of the caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

/// The entities of one switch under one pipeline.
#[derive(Debug)]
pub struct Store {
    schema: Arc<Schema>,
}

impl Store {
    /// An empty store: every table has its default entry and nothing else.
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { schema }
    }

    /// The pipeline that the entities belong to.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Applies one update, or refuses it and changes nothing.
    pub fn write(&mut self, update: &v1::Update, now: Nanos) -> Result<(), EntityError> {
        let _ = (update, now);
        Err(EntityError::unimplemented("the entity store does not take updates yet"))
    }

    /// Applies a batch in order and returns the outcome of each update.
    ///
    /// With `ContinueOnError` every update is tried. With `RollbackOnError` and
    /// `DataplaneAtomic` the first refusal undoes the updates before it: that update has its own
    /// error, all others are ABORTED. Both are the same here, because nothing can look at a store
    /// while it is being written.
    pub fn write_batch(
        &mut self,
        updates: &[v1::Update],
        atomicity: v1::write_request::Atomicity,
        now: Nanos,
    ) -> Vec<Result<(), EntityError>> {
        let _ = atomicity;
        updates.iter().map(|update| self.write(update, now)).collect()
    }

    /// Calls `visit` with every entity that `request` selects, in an order that depends on the
    /// content of the store alone.
    ///
    /// An error comes before any entity.
    pub fn read(
        &self,
        request: &v1::Entity,
        now: Nanos,
        visit: &mut dyn FnMut(v1::Entity),
    ) -> Result<(), EntityError> {
        let _ = (request, now, visit);
        Err(EntityError::unimplemented("the entity store does not answer reads yet"))
    }

    /// The table entries whose idle timeout has passed since they were hit, or since they were
    /// last returned from here, as an `IdleTimeoutNotification` carries them.
    pub fn expire(&mut self, now: Nanos) -> Vec<v1::TableEntry> {
        let _ = now;
        Vec::new()
    }

    /// No entry expires before this time: when to call [`Self::expire`] next. `None` if no entry
    /// has an idle timeout.
    pub fn next_expiry(&self) -> Option<Nanos> {
        None
    }
}
