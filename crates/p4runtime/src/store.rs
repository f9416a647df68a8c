//! The entities of one switch under one pipeline, in the form of P4Runtime messages.
//!
//! A [`Store`] belongs to one committed pipeline: updates, requests and the time go in, entities
//! and errors come out. It checks and converts messages (`conversion`) and passes the result to a
//! data plane, which holds the state. The default is the data plane of an emulated switch.

mod reading;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;

pub use entities::Nanos;
use entities::{
    Atomicity, Cells, Cursor, DataPlane, DigestConfig, Entity, EntityError, Keep, Reader,
    Selection, Translations,
};

pub use self::reading::Reading;
use crate::conversion;
pub use crate::conversion::{Found, MAX_WILDCARD_CELLS, object_id};
use crate::emulated::Emulated;
use crate::p4info::{DigestId, Schema, SchemaError};
use crate::proto::v1;
use crate::references::{Checked, References};

/// The entities of one switch under one pipeline.
#[derive(Debug)]
pub struct Store<P: DataPlane = Emulated> {
    schema: Arc<Schema>,
    plane: P,
    /// The references between entities, if they are checked.
    references: Option<Box<References>>,
}

impl Store {
    /// Creates an emulated switch in which every table has its default entry and nothing else.
    pub fn new(schema: Arc<Schema>) -> Self {
        let plane = Emulated::new(Arc::clone(schema.objects()));
        Self { schema, plane, references: None }
    }

    /// Installs an entry that the program declares, when the pipeline is committed.
    ///
    /// Unlike [`Self::write`], it accepts constant tables and entries marked `is_const`, which
    /// controllers cannot change.
    pub fn install_initial(
        &mut self,
        entry: &v1::TableEntry,
        now: Nanos,
    ) -> Result<(), EntityError> {
        self.plane.install(conversion::initial_entry(&self.schema, entry)?, now)
    }

    /// Records that a packet of `bytes` bytes hit a table entry. `key` identifies the entry by
    /// table, match fields and priority, or as the default entry. The entry's counters increase and
    /// its idle time restarts.
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
    /// Creates a store whose entities are in a data plane that was created for this pipeline.
    pub fn over(schema: Arc<Schema>, plane: P) -> Self {
        Self { schema, plane, references: None }
    }

    /// Makes this store check references between entities (`@refers_to`) from now on: the target of
    /// a reference must exist, and an entity to which others refer cannot be deleted. The
    /// references of entities that are already present count, too.
    ///
    /// # Errors
    /// Returns an error if an annotation names no possible target, or if references form a cycle.
    pub fn check_references(&mut self, now: Nanos) -> Result<(), SchemaError> {
        let reader = self.plane.reader(now);
        let references = References::new(self.schema.p4info(), &self.schema, &*reader)?;
        self.references = references.map(Box::new);
        Ok(())
    }

    /// Returns the pipeline that the entities belong to.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the data plane that holds the entities.
    pub(crate) fn plane_mut(&mut self) -> &mut P {
        &mut self.plane
    }

    /// Returns the strings of the program's translated types with their numbers, or `None` if the
    /// data plane runs no program.
    pub fn translations(&self) -> Option<Arc<Translations>> {
        self.plane.translations()
    }

    /// Applies one update, or refuses it and changes nothing.
    pub fn write(&mut self, update: &v1::Update, now: Nanos) -> Result<(), EntityError> {
        let atomicity = v1::write_request::Atomicity::ContinueOnError;
        let outcomes = self.write_batch(std::slice::from_ref(update), atomicity, now);
        outcomes.into_iter().collect()
    }

    /// Applies a batch in order and returns the outcome of each update.
    ///
    /// With `ContinueOnError`, every update is tried. With `RollbackOnError` and `DataplaneAtomic`,
    /// the first refusal undoes the updates before it: the refused update has its own error, and
    /// all others are ABORTED.
    pub fn write_batch(
        &mut self,
        updates: &[v1::Update],
        atomicity: v1::write_request::Atomicity,
        now: Nanos,
    ) -> Vec<Result<(), EntityError>> {
        let each = updates.iter().map(Ok);
        self.write_kept(each, atomicity, now, &mut |_| Ok(()))
    }

    /// Applies a batch like [`Self::write_batch`]. Some updates may have been refused before this
    /// call. `keep` records the accepted updates before they take effect; see [`entities::write`].
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
        let Self { schema, plane, references } = self;
        let updates = updates.map(|update| {
            let update = conversion::update(schema, update?)?;
            update.iter().try_for_each(|update| schema.restrictions().check(schema, update))?;
            Ok(update)
        });
        match references {
            None => entities::write(plane, updates, atomicity, now, keep),
            Some(references) => {
                let mut checked = Checked { plane, references, schema };
                entities::write(&mut checked, updates, atomicity, now, keep)
            }
        }
    }

    /// Starts a Read, in which the entities that the requests select are visited in several steps.
    /// Their order depends only on the contents of the data plane. Whether the Read includes later
    /// writes is unspecified.
    pub fn reading(&self, requests: Vec<v1::Entity>, now: Nanos) -> Reading {
        Reading::new(Arc::clone(&self.schema), self.plane.reader(now), requests)
    }

    /// Returns a reader of the entities in the form of the data plane.
    pub(crate) fn reader(&self, now: Nanos) -> Box<dyn Reader> {
        self.plane.reader(now)
    }

    /// Calls `visit` with every entity that `request` selects; see [`Store::reading`].
    ///
    /// An error is returned before any entity is visited.
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

    /// Calls `visit` with every cell of counters, meters and registers that was written, in the
    /// form of a MODIFY that restores the cell. If a whole array was set to a value, this value is
    /// visited before the cells, without an index.
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
                    // The counts of a meter cannot be restored.
                    if let Entity::Meter(cell) = &mut found {
                        cell.counters = None;
                    }
                    visit(conversion::message(&found));
                }
                ControlFlow::Continue(())
            });
        }
    }

    /// Returns the configuration of a digest, if a controller has enabled it.
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

    /// Returns the table entries whose idle timeout has passed since they were last hit or last
    /// returned by this method, in the form of an `IdleTimeoutNotification`.
    pub fn expire(&mut self, now: Nanos) -> Vec<v1::TableEntry> {
        self.plane.expire(now).iter().map(conversion::idle_message).collect()
    }

    /// Returns a time before which no entry expires: the time to call [`Self::expire`] next.
    /// Returns `None` if no entry has an idle timeout.
    pub fn next_expiry(&self) -> Option<Nanos> {
        self.plane.next_expiry()
    }
}
