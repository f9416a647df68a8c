//! The control channel of a measurement of the slow path: packets of the switch, packets to it, and
//! one update at a time.

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

    /// Hands an update to the connection, without waiting for its answer.
    async fn begin(&mut self, operation: Operation, entry: &Self::Entry) -> Result<(), DutError>;

    /// Looks once for messages of the switch, without waiting, and passes the tags of packets that
    /// it sent to the controller to `take`. Returns whether the update that was begun last is
    /// answered.
    async fn look(&mut self, take: &mut dyn FnMut(Tag)) -> Result<bool, DutError>;

    /// Makes the switch send a packet. Returns whether the connection had room for it.
    fn packet_out(&mut self, packet: &[u8]) -> Result<bool, DutError>;

    /// Sends what waits to be sent, as far as the connection accepts it.
    fn flush(&mut self) -> Result<(), DutError>;
}
