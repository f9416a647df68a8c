//! The control channel of a measurement of the slow path. It carries packets from and to the
//! switch, and one update at a time.

mod openflow;
mod p4runtime;

use crate::error::DutError;
use crate::tag::Tag;
use crate::window::Operation;

pub(super) use openflow::OpenFlowControl;
pub(super) use p4runtime::{DefaultEntry, P4RuntimeControl};

/// A control channel that is polled between packets.
pub(super) trait Control {
    /// An entry of a table of the switch.
    type Entry;

    /// Hands the update of an entry to the connection, without waiting for the answer.
    async fn begin(&mut self, operation: Operation, entry: &Self::Entry) -> Result<(), DutError>;

    /// Checks once for messages of the switch, without waiting. Passes the tags of the packets that
    /// the switch sent to the controller to `take`. Returns whether the update that was sent last
    /// is answered.
    async fn look(&mut self, take: &mut dyn FnMut(Tag)) -> Result<bool, DutError>;

    /// Makes the switch send a packet out of a port. Returns whether the connection had room for
    /// the request.
    fn packet_out(&mut self, packet: &[u8]) -> Result<bool, DutError>;

    /// Sends what is still unsent, as far as the connection accepts it.
    fn flush(&mut self) -> Result<(), DutError>;
}
