//! The control channel of a measurement with packets. It handles one request at a time and is
//! polled between packets.

mod openflow;
mod p4runtime;

use crate::effects::{Moment, Span};
use crate::error::DutError;
use crate::window::{BatchAtomicity, Operation};

pub(crate) use openflow::OpenFlowControl;
pub(crate) use p4runtime::P4RuntimeControl;

/// The times at which a request was sent and answered. Each is `None` until that has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moments {
    /// The time at which the request was handed to the connection.
    pub(crate) request: Option<Span>,
    /// The time at which the answer to the request arrived.
    pub(crate) answer: Option<Span>,
}

/// A control channel to the switch. It keeps track of the entries that the measurement has
/// inserted.
pub(crate) trait Control {
    /// An entry of a table of the switch.
    type Entry: Clone;

    /// Updates entries, and waits for the answer. Inserted entries stay until they are deleted, or
    /// until `restore` is called.
    async fn carry_out(
        &mut self,
        operation: Operation,
        entries: &[Self::Entry],
    ) -> Result<(), DutError>;

    /// Prepares a request, which the first call of `turn` sends. OpenFlow ignores `atomicity`.
    fn prepare(
        &mut self,
        operation: Operation,
        atomicity: BatchAtomicity,
        entries: &[&Self::Entry],
    ) -> Result<(), DutError>;

    /// Advances the prepared request without waiting: the first call sends it, and each call checks
    /// whether its answer has arrived.
    async fn turn(&mut self, now: &dyn Fn() -> Moment) -> Result<(), DutError>;

    /// Returns when the request that was prepared last was sent and answered.
    fn moments(&self) -> Moments;

    /// Deletes the entries of the measurement. Returns the number of entries by which the switch
    /// still differs from its state before the measurement.
    async fn restore(&mut self) -> Result<usize, DutError>;
}
