//! The seam to a data plane: what a switch has to do for its control plane.
//!
//! Above the seam is a protocol: it checks the form of what arrives, says who may, and knows about
//! atomicity, messages and statuses. Below it is whoever processes packets: it alone knows what is
//! there, because packets may write too, and so it alone says that an entry exists already or
//! that a table is full. Neither side knows of messages of a protocol.
//!
//! * Changes are prepared one by one in the order in which they were accepted, each in the light
//!   of those before it, and are then committed or rolled back together ([`write`]).
//! * Reads go through to the data plane in portions ([`Reader`]): a million entries take the
//!   memory of one.
//! * A pipeline is loaded beside the one that runs ([`Target`]); one that cannot run is refused
//!   there, before anything that runs was touched.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::entity::{Entity, Selection, Update};
use crate::entry::{MatchKey, TableEntry};
use crate::error::{Code, EntityError};
use crate::schema::Schema;
use crate::time::Nanos;

/// The state of a pipeline that packets run on, as the control plane sees it.
pub trait DataPlane: Debug + Send {
    /// Lets packets run on it from now on, instead of on what its target ran before. What can go
    /// wrong has gone wrong when it was loaded.
    fn activate(&mut self);

    /// Begins a batch. `visibility` says what packets may see of it.
    ///
    /// # Errors
    /// If packets would see more than that.
    fn begin(&mut self, visibility: Visibility) -> Result<(), EntityError>;

    /// Takes in a change, or refuses it and is as it was.
    ///
    /// # Errors
    /// Why it cannot be, with the code and the message that the client gets.
    fn prepare(&mut self, update: Update, now: Nanos) -> Result<(), EntityError>;

    /// Ends a batch: what was prepared holds, and packets see it from now on.
    fn commit(&mut self);

    /// Ends a batch: what was prepared is undone.
    fn roll_back(&mut self);

    /// Something to read from, at `now`. What is committed later is not seen, or not all of it:
    /// reads and writes are not to mix (specification of P4Runtime 1.5, "Parallelism of Read and
    /// Write Requests").
    fn reader(&self, now: Nanos) -> Box<dyn Reader>;

    /// Entries whose idle timeout has passed since their last hit, or since they were last
    /// returned from here.
    fn expire(&mut self, now: Nanos) -> Vec<TableEntry>;

    /// No entry expires before this time: when to call [`Self::expire`] next. `None` if no entry
    /// has an idle timeout.
    fn next_expiry(&self) -> Option<Nanos>;

    /// Returns the widths in bits of the fields of a controller header (`packet_in`, `packet_out`)
    /// as packets have it, by its name and those of its fields. P4Info has the widths that
    /// controllers see, which translated types have beside those in the program. `None` if the
    /// data plane has no such header.
    fn controller_header(&self, _name: &str, _fields: &[&str]) -> Option<Vec<u32>> {
        None
    }
}

/// What packets may see of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Each change for itself, in order, from when it was prepared or later.
    Single,
    /// All or nothing: no packet is processed between two changes of the batch, nor sees one that
    /// is rolled back.
    Batch,
}

/// Reads entities in portions.
pub trait Reader: Debug + Send {
    /// Visits what is selected, from the place where `cursor` stands, until `visit` breaks it off;
    /// the end is reached otherwise. `cursor` then stands after what was visited last.
    ///
    /// `visit` hears of every entity that was looked at, `None` if it was not selected, so that it
    /// can bound the work and not only the answer.
    fn read(
        &self,
        selection: &Selection,
        cursor: &mut Cursor,
        visit: &mut dyn FnMut(Option<Entity>) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Returns why an entity that was selected since the last call was not visited, if the data
    /// plane has one that it cannot show.
    fn take_left_out(&self) -> Option<EntityError> {
        None
    }
}

/// How far a selection was read. What it says is between a reader and itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cursor {
    /// Nothing was visited.
    #[default]
    Start,
    /// What has this number, or the next one that there is, comes next.
    Number(u64),
    /// What comes after this key is next.
    After(MatchKey),
}

impl Cursor {
    /// The number that comes next.
    #[must_use]
    pub fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Start | Self::After(_) => 0,
        }
    }

    /// Visits what there is one of, unless it was visited.
    pub fn once(&mut self, visit: impl FnOnce() -> ControlFlow<()>) -> ControlFlow<()> {
        if *self != Self::Start {
            return ControlFlow::Continue(());
        }
        *self = Self::Number(1);
        visit()
    }
}

/// A switch that pipelines are loaded into.
pub trait Target: Debug + Send + Sync {
    /// Makes a pipeline ready to run, with the entries that the program has, while the one that
    /// runs goes on. It starts a thread of its own if it needs more stack than a thread has.
    ///
    /// # Errors
    /// If it cannot run.
    fn load(
        &self,
        schema: &Arc<Schema>,
        device_config: &[u8],
    ) -> Result<Box<dyn DataPlane>, EntityError>;

    /// Whether [`Target::load`] may take long. A thread that serves clients does not call it then.
    fn is_slow(&self) -> bool {
        false
    }
}

/// What a batch has to guarantee (specification of P4Runtime 1.5, "Batching and Ordering of
/// Updates").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomicity {
    /// Every update is tried.
    ContinueOnError,
    /// The first refusal undoes the updates before it.
    RollbackOnError,
    /// As [`Self::RollbackOnError`], and no packet sees a part of the batch.
    DataplaneAtomic,
}

/// Writes a batch and returns the outcome of each update, in their order. An update may be refused
/// for its form already, or say nothing.
///
/// Unless every update is tried, the first that is refused has its own error and all others are
/// ABORTED.
///
/// `keep` is called with the outcomes after everything was tried and before anything is committed,
/// for owners that record what was accepted. If it fails, the batch is undone and every outcome is
/// its error. It is not called for a batch of which nothing would be left.
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

/// Records what was accepted of a batch, given the outcome of each update.
pub type Keep<'a> = &'a mut dyn FnMut(&[Result<(), EntityError>]) -> Result<(), EntityError>;

/// Commits a batch if what was accepted of it can be recorded, and rolls it back otherwise.
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
}
