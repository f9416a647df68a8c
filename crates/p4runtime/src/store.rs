//! The entities of one switch under one pipeline, as messages.
//!
//! A [`Store`] belongs to one committed pipeline: updates, requests and the time go in, entities
//! and errors come out. It checks the form of messages (`conversion`) and hands what they say to
//! a data plane, which keeps it; that of an emulated switch unless another is given.

mod reading;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;

pub use entities::Nanos;
use entities::{
    Atomicity, Cells, Cursor, DataPlane, DigestConfig, Entity, EntityError, Keep, Selection,
};

pub use self::reading::Reading;
use crate::conversion;
pub use crate::conversion::{Found, MAX_WILDCARD_CELLS, object_id};
use crate::emulated::Emulated;
use crate::p4info::{DigestId, Schema};
use crate::proto::v1;

/// The entities of one switch under one pipeline.
#[derive(Debug)]
pub struct Store<P: DataPlane = Emulated> {
    schema: Arc<Schema>,
    plane: P,
}

impl Store {
    /// An emulated switch as it starts: every table has its default entry and nothing else.
    pub fn new(schema: Arc<Schema>) -> Self {
        let plane = Emulated::new(Arc::clone(schema.objects()));
        Self { schema, plane }
    }

    /// Installs an entry that the program itself declares, when the pipeline is committed.
    ///
    /// Other than [`Self::write`] it serves constant tables and entries marked `is_const`, both of
    /// which no controller can change afterwards.
    pub fn install_initial(
        &mut self,
        entry: &v1::TableEntry,
        now: Nanos,
    ) -> Result<(), EntityError> {
        self.plane.install(conversion::initial_entry(&self.schema, entry)?, now)
    }

    /// Records that a packet of `bytes` bytes hit the entry with the key (table, match fields and
    /// priority, or the default entry) of `key`: it counts, and the entry is not idle.
    pub fn record_hit(
        &mut self,
        key: &v1::TableEntry,
        bytes: u64,
        now: Nanos,
    ) -> Result<(), EntityError> {
        let (table, key) = conversion::entry_key(&self.schema, key)?;
        self.plane.record_hit(table, key, bytes, now)
    }
}

impl<P: DataPlane> Store<P> {
    /// The entities that a data plane has, which was made for this pipeline.
    pub fn over(schema: Arc<Schema>, plane: P) -> Self {
        Self { schema, plane }
    }

    /// The pipeline that the entities belong to.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The data plane.
    pub(crate) fn plane_mut(&mut self) -> &mut P {
        &mut self.plane
    }

    /// Applies one update, or refuses it and changes nothing.
    pub fn write(&mut self, update: &v1::Update, now: Nanos) -> Result<(), EntityError> {
        let atomicity = v1::write_request::Atomicity::ContinueOnError;
        let outcomes = self.write_batch(std::slice::from_ref(update), atomicity, now);
        outcomes.into_iter().collect()
    }

    /// Applies a batch in order and returns the outcome of each update.
    ///
    /// With `ContinueOnError` every update is tried. With `RollbackOnError` and
    /// `DataplaneAtomic` the first refusal undoes the updates before it: that update has its own
    /// error, all others are ABORTED.
    pub fn write_batch(
        &mut self,
        updates: &[v1::Update],
        atomicity: v1::write_request::Atomicity,
        now: Nanos,
    ) -> Vec<Result<(), EntityError>> {
        let each = updates.iter().map(Ok);
        self.write_kept(each, atomicity, now, &mut |_| Ok(()))
    }

    /// As [`Self::write_batch`]. Updates may be refused beforehand, and `keep` records what was
    /// accepted before it holds; see [`entities::write`].
    pub fn write_kept<'a>(
        &mut self,
        updates: impl ExactSizeIterator<Item = Result<&'a v1::Update, EntityError>>,
        atomicity: v1::write_request::Atomicity,
        now: Nanos,
        keep: Keep<'_>,
    ) -> Vec<Result<(), EntityError>> {
        use v1::write_request::Atomicity as Asked;

        let atomicity = match atomicity {
            Asked::ContinueOnError => Atomicity::ContinueOnError,
            Asked::RollbackOnError => Atomicity::RollbackOnError,
            Asked::DataplaneAtomic => Atomicity::DataplaneAtomic,
        };
        let Self { schema, plane } = self;
        let updates = updates.map(|update| conversion::update(schema, update?));
        entities::write(plane, updates, atomicity, now, keep)
    }

    /// Reads what the requests select, piece by piece, in an order that depends on the content of
    /// the data plane alone. What is written from now on is not to be relied on.
    pub fn reading(&self, requests: Vec<v1::Entity>, now: Nanos) -> Reading {
        Reading::new(Arc::clone(&self.schema), self.plane.reader(now), requests)
    }

    /// Calls `visit` with every entity that `request` selects; see [`Store::reading`].
    ///
    /// An error comes before any entity.
    pub fn read(
        &self,
        request: &v1::Entity,
        now: Nanos,
        visit: &mut dyn FnMut(v1::Entity),
    ) -> Result<(), EntityError> {
        let mut reading = self.reading(vec![request.clone()], now);
        let _ = reading.advance(&mut |found| {
            found.iter().map(Found::message).for_each(&mut *visit);
            ControlFlow::Continue(())
        });
        reading.take_outcomes().into_iter().collect()
    }

    /// Calls `visit` with the cells of counters, meters and registers that were written, as a
    /// MODIFY restores them. What an array was set to as a whole comes first and has no index.
    pub(crate) fn written_cells(&self, visit: &mut dyn FnMut(v1::Entity)) {
        let written = Cells::Written;
        let meters = self.schema.meters().iter().map(|one| Selection::Meters(one.id, written));
        let counters =
            self.schema.counters().iter().map(|one| Selection::Counters(one.id, written));
        let registers =
            self.schema.registers().iter().map(|one| Selection::Registers(one.id, written));
        let reader = self.plane.reader(Nanos::default());
        for selection in meters.chain(counters).chain(registers) {
            let _ = reader.read(&selection, &mut Cursor::Start, &mut |found| {
                if let Some(mut found) = found {
                    // What a meter counted cannot be restored.
                    if let Entity::Meter(cell) = &mut found {
                        cell.counters = None;
                    }
                    visit(conversion::message(&found));
                }
                ControlFlow::Continue(())
            });
        }
    }

    /// How a controller wants a digest to be sent, if it wants it.
    pub(crate) fn digest(&self, id: DigestId) -> Option<DigestConfig> {
        let mut config = None;
        let reader = self.plane.reader(Nanos::default());
        let _ = reader.read(&Selection::Digest(id), &mut Cursor::Start, &mut |found| {
            if let Some(Entity::Digest(_, found)) = found {
                config = Some(found.unwrap_or_default());
            }
            ControlFlow::Continue(())
        });
        config
    }

    /// The table entries whose idle timeout has passed since they were hit, or since they were
    /// last returned from here, as an `IdleTimeoutNotification` carries them.
    pub fn expire(&mut self, now: Nanos) -> Vec<v1::TableEntry> {
        self.plane.expire(now).iter().map(conversion::idle_message).collect()
    }

    /// No entry expires before this time: when to call [`Self::expire`] next. `None` if no entry
    /// has an idle timeout.
    pub fn next_expiry(&self) -> Option<Nanos> {
        self.plane.next_expiry()
    }
}
