//! The interface of a data plane: the operations that a switch performs for its control plane.
//!
//! Above the interface is a protocol layer, which checks the form of requests and the permissions
//! of clients, and which handles atomicity, messages and statuses. Below the interface is the
//! component that processes packets. Only this component knows the present state, because packets
//! may write too, so only it can report that an entry exists or that a table is full. Neither layer
//! depends on the messages of a protocol.
//!
//! * Updates are prepared one by one in the order of the batch, each in view of the earlier ones,
//!   and are then committed or rolled back together ([`write`]).
//! * Reads proceed in portions ([`Reader`]), so that reading a million entries needs the memory of
//!   only a few.
//! * A pipeline is loaded next to the running one ([`Target`]). A pipeline that cannot run is
//!   refused before the running one is affected.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::entity::{Entity, Selection, Update};
use crate::entry::{MatchKey, TableEntry};
use crate::error::{Code, EntityError};
use crate::schema::Schema;
use crate::time::Nanos;
use crate::translation::Translations;

/// The tables and other state of a loaded pipeline, as the control plane sees them.
pub trait DataPlane: Debug + Send {
    /// Directs packets to this pipeline instead of the previous one. This cannot fail: all possible
    /// errors are found when the pipeline is loaded.
    fn activate(&mut self);

    /// Begins a batch of updates. `visibility` states which parts of the batch packets may see.
    ///
    /// # Errors
    /// Returns an error if the data plane cannot guarantee this visibility.
    fn begin(&mut self, visibility: Visibility) -> Result<(), EntityError>;

    /// Prepares an update of the batch. If the update is refused, the state is unchanged.
    ///
    /// # Errors
    /// Returns the code and the message for the client.
    fn prepare(&mut self, update: Update, now: Nanos) -> Result<(), EntityError>;

    /// Ends the batch: makes its prepared updates effective and visible to packets.
    fn commit(&mut self);

    /// Ends the batch and undoes its prepared updates.
    fn roll_back(&mut self);

    /// Returns a reader of the state at `now`. Later commits may be visible to it in part or not at
    /// all: clients must not mix reads and writes (specification of P4Runtime 1.5, "Parallelism of
    /// Read and Write Requests").
    fn reader(&self, now: Nanos) -> Box<dyn Reader>;

    /// Returns the entries of which the control plane must be notified: their idle timeout has
    /// passed since their last hit, or since this method last returned them. If the program itself
    /// makes entries expire, these entries are deleted instead of being returned.
    fn expire(&mut self, now: Nanos) -> Vec<TableEntry>;

    /// Returns the time at which [`Self::expire`] should next be called. No entry expires before
    /// it. Returns `None` if no entry has an idle timeout.
    fn next_expiry(&self) -> Option<Nanos>;

    /// Returns the widths, in bits, that the fields of a controller header (`packet_in`,
    /// `packet_out`) have in packets. P4Info has the widths that controllers see, which differ for
    /// translated types. Returns `None` if the data plane has no header with this name and these
    /// fields.
    fn controller_header(&self, _name: &str, _fields: &[&str]) -> Option<Vec<u32>> {
        None
    }

    /// Returns the strings and numbers of the program's translated types. Returns `None` if the
    /// data plane has no program, so that strings need no numbers.
    fn translations(&self) -> Option<Arc<Translations>> {
        None
    }
}

/// The parts of a batch of updates that packets may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Packets may see each update of the batch separately, in order, at any time after the update
    /// was prepared.
    Single,
    /// Packets may see all updates of the batch or none: no packet is processed between two
    /// updates, and no packet sees an update that is rolled back.
    Batch,
}

/// A reader of entities, in portions.
pub trait Reader: Debug + Send {
    /// Visits the selected entities, starting at the position of `cursor`, until `visit` breaks or
    /// no entity is left. Returns `Break` if `visit` broke. Afterwards `cursor` is at the position
    /// after the last visited entity.
    ///
    /// `visit` is also called with `None` for every examined entity that is not selected, so that
    /// it can bound the work and not only the size of the answer.
    fn read(
        &self,
        selection: &Selection,
        cursor: &mut Cursor,
        visit: &mut dyn FnMut(Option<Entity>) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Returns the reason why a selected entity was skipped since the last call, or `None` if none
    /// was. An entity is skipped if the data plane cannot represent it.
    fn take_left_out(&self) -> Option<EntityError> {
        None
    }
}

/// The position that a reader has reached in a selection. Its meaning is private to the reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cursor {
    /// The position before the first entity.
    #[default]
    Start,
    /// The position before the entity with this number or, if there is none, the next larger one.
    Number(u64),
    /// The position after the entry with this key.
    After(MatchKey),
}

impl Cursor {
    /// Returns the number of the next entity, or 0 at the start.
    #[must_use]
    pub fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Start | Self::After(_) => 0,
        }
    }

    /// Visits the only entity of a selection, unless it has been visited already.
    pub fn once(&mut self, visit: impl FnOnce() -> ControlFlow<()>) -> ControlFlow<()> {
        if *self != Self::Start {
            return ControlFlow::Continue(());
        }
        *self = Self::Number(1);
        visit()
    }
}

/// A switch into which pipelines are loaded.
pub trait Target: Debug + Send + Sync {
    /// Loads a pipeline, with the entries that the program defines, while the present one keeps
    /// running. An implementation starts its own thread if it needs a large stack.
    ///
    /// # Errors
    /// Returns an error if the pipeline cannot run.
    fn load(
        &self,
        schema: &Arc<Schema>,
        device_config: &[u8],
    ) -> Result<Box<dyn DataPlane>, EntityError>;

    /// Returns whether [`Target::load`] may take long. If so, threads that serve clients must not
    /// call it.
    fn is_slow(&self) -> bool {
        false
    }
}

/// The guarantee that a client requests for a batch of updates (specification of P4Runtime 1.5,
/// "Batching and Ordering of Updates").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomicity {
    /// Every update of the batch is attempted, even after one was refused.
    ContinueOnError,
    /// The first refused update ends the batch, and the updates before it are undone.
    RollbackOnError,
    /// Like [`Self::RollbackOnError`]; in addition, no packet sees a part of the batch.
    DataplaneAtomic,
}

/// Applies a batch and returns the outcome of each update, in order. An item of `updates` may be an
/// error, if its form was already refused, or `None`, if it changes nothing.
///
/// If a refused update ends the batch, the outcome of this update is its own error, and the outcome
/// of all others is ABORTED.
///
/// `keep` receives the outcomes after all updates were attempted and before anything is committed,
/// so that the caller can record the accepted updates. If `keep` fails, the batch is rolled back
/// and every outcome is the error of `keep`. If no update was accepted, `keep` is not called.
pub fn write<P: DataPlane + ?Sized>(
    plane: &mut P,
    updates: impl ExactSizeIterator<Item = Result<Option<Update>, EntityError>>,
    atomicity: Atomicity,
    now: Nanos,
    keep: Keep<'_>,
) -> Vec<Result<(), EntityError>> {
    let count = updates.len();
    let visibility = match atomicity {
        Atomicity::ContinueOnError | Atomicity::RollbackOnError => Visibility::Single,
        Atomicity::DataplaneAtomic => Visibility::Batch,
    };
    if let Err(error) = plane.begin(visibility) {
        return vec![Err(error); count];
    }
    let mut prepared =
        updates.map(|update| update?.map_or(Ok(()), |update| plane.prepare(update, now)));
    if atomicity == Atomicity::ContinueOnError {
        let outcomes = prepared.collect();
        return commit(plane, outcomes, keep);
    }
    let refused = prepared
        .by_ref()
        .enumerate()
        .find_map(|(position, outcome)| outcome.err().map(|error| (position, error)));
    drop(prepared);
    let Some((position, error)) = refused else {
        return commit(plane, vec![Ok(()); count], keep);
    };
    plane.roll_back();
    let message = format!("rolled back, because update {position} of the batch failed");
    let mut outcomes = vec![Err(EntityError::new(Code::Aborted, message)); count];
    if let Some(outcome) = outcomes.get_mut(position) {
        *outcome = Err(error);
    }
    outcomes
}

/// A callback that records the accepted updates of a batch, given the outcome of each update.
pub type Keep<'a> = &'a mut dyn FnMut(&[Result<(), EntityError>]) -> Result<(), EntityError>;

/// Commits a batch if its accepted updates can be recorded, and rolls it back otherwise.
fn commit<P: DataPlane + ?Sized>(
    plane: &mut P,
    outcomes: Vec<Result<(), EntityError>>,
    keep: Keep<'_>,
) -> Vec<Result<(), EntityError>> {
    let accepts_any = outcomes.iter().any(Result::is_ok);
    match if accepts_any { keep(&outcomes) } else { Ok(()) } {
        Ok(()) => {
            plane.commit();
            outcomes
        }
        Err(error) => {
            plane.roll_back();
            vec![Err(error); outcomes.len()]
        }
    }
}

impl<P: DataPlane + ?Sized> DataPlane for Box<P> {
    fn activate(&mut self) {
        (**self).activate();
    }

    fn begin(&mut self, visibility: Visibility) -> Result<(), EntityError> {
        (**self).begin(visibility)
    }

    fn prepare(&mut self, update: Update, now: Nanos) -> Result<(), EntityError> {
        (**self).prepare(update, now)
    }

    fn commit(&mut self) {
        (**self).commit();
    }

    fn roll_back(&mut self) {
        (**self).roll_back();
    }

    fn reader(&self, now: Nanos) -> Box<dyn Reader> {
        (**self).reader(now)
    }

    fn expire(&mut self, now: Nanos) -> Vec<TableEntry> {
        (**self).expire(now)
    }

    fn next_expiry(&self) -> Option<Nanos> {
        (**self).next_expiry()
    }

    fn controller_header(&self, name: &str, fields: &[&str]) -> Option<Vec<u32>> {
        (**self).controller_header(name, fields)
    }

    fn translations(&self) -> Option<Arc<Translations>> {
        (**self).translations()
    }
}
