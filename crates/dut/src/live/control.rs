//! The control channel of a measurement with packets: one request at a time, which is polled
//! between packets.

mod openflow;
mod p4runtime;

use crate::effects::{Moment, Span};
use crate::error::DutError;
use crate::window::{BatchAtomicity, Operation};

pub(crate) use openflow::OpenFlowControl;
pub(crate) use p4runtime::P4RuntimeControl;

/// The moments of a request. Each of them is `None` until it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moments {
    /// The moment at which the request was handed to the connection.
    pub(crate) request: Option<Span>,
    /// The moment at which its answer arrived.
    pub(crate) answer: Option<Span>,
}

/// A control channel. It knows which entries the switch has because of the measurement.
pub(crate) trait Control {
    /// An entry of a table of the switch.
    type Entry: Clone;

    /// Makes updates, and waits for their answer. Inserted entries stay until they are deleted or
    /// the switch is restored.
    async fn carry_out(
        &mut self,
        operation: Operation,
        entries: &[Self::Entry],
    ) -> Result<(), DutError>;

    /// Prepares a request, which the first turn sends. OpenFlow has no atomicity of requests.
    fn prepare(
        &mut self,
        operation: Operation,
        atomicity: BatchAtomicity,
        entries: &[&Self::Entry],
    ) -> Result<(), DutError>;

    /// Makes one step of the prepared request without waiting: the first call sends it, and each
    /// call checks whether its answer has arrived.
    async fn turn(&mut self, now: &dyn Fn() -> Moment) -> Result<(), DutError>;

    /// Returns the moments of the request that was prepared last.
    fn moments(&self) -> Moments;

    /// Deletes the entries of the measurement. Returns the number of entries by which the switch
    /// then differs from its state before the measurement.
    async fn restore(&mut self) -> Result<usize, DutError>;
}
