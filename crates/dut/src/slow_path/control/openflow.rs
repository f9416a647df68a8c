//! The control channel over OpenFlow: an update is a flow-mod and a barrier request.

use controllers::openflow::SwitchConnection;
use openflow::Xid;

use super::Control;
use crate::error::DutError;
use crate::flows::{FlowEntry, Output};
use crate::session::{OpenFlowChannel, Reply, refused};
use crate::tag::Tag;
use crate::window::Operation;

/// The number of unsent bytes above which no further packet-out is made.
const BACKLOG: usize = 1 << 20;

/// The control channel to an OpenFlow switch in a measurement of the slow path.
pub(in crate::slow_path) struct OpenFlowControl<'a> {
    channel: &'a mut OpenFlowChannel,
    /// The port by which the controller makes the switch send packets.
    egress: u32,
    /// The transaction id of the first message of this measurement. An error about it, or about a
    /// later message, ends the measurement.
    first: Xid,
    /// The transaction id of the barrier request that follows the update sent last.
    barrier: Option<Xid>,
    is_answered: bool,
}

impl<'a> OpenFlowControl<'a> {
    pub(in crate::slow_path) fn new(channel: &'a mut OpenFlowChannel, egress: u32) -> Self {
        let first = Xid(SwitchConnection::FIRST_XID);
        Self { channel, egress, first, barrier: None, is_answered: false }
    }
}

impl Control for OpenFlowControl<'_> {
    type Entry = FlowEntry;

    async fn begin(&mut self, operation: Operation, entry: &FlowEntry) -> Result<(), DutError> {
        let first = self.channel.make_request(operation, [*entry])?;
        self.channel.hand_over()?;
        self.first = Xid(first);
        self.barrier = Some(Xid(first + 1));
        self.is_answered = false;
        Ok(())
    }

    async fn look(&mut self, take: &mut dyn FnMut(Tag)) -> Result<bool, DutError> {
        let Self { channel, first, barrier, is_answered, .. } = self;
        let mut failure = None;
        channel.look(&mut |reply| match reply {
            Reply::PacketIn(tag) => take(tag),
            Reply::Barrier(xid) => *is_answered |= *barrier == Some(xid),
            Reply::Error(xid, refusal) if xid >= *first => {
                failure.get_or_insert(refused("message", &refusal));
            }
            Reply::FlowRemoved { .. } | Reply::Error(..) => {}
        })?;
        failure.map_or(Ok(self.is_answered), Err)
    }

    fn packet_out(&mut self, packet: &[u8]) -> Result<bool, DutError> {
        if self.channel.backlog() >= BACKLOG {
            return Ok(false);
        }
        self.channel.make_packet_out(Output::Port(self.egress), packet)?;
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), DutError> {
        self.channel.flush()
    }
}
