//! The ends of packets, and their copies.

use super::Emitted;
use crate::packet::Packet;
use crate::term::Term;

/// A packet that leaves the program, or ends in it.
pub(crate) struct End {
    /// The condition under which packets end so.
    pub(crate) guard: Term,
    pub(crate) fate: Fate,
}

/// The fate of a packet.
pub(crate) enum Fate {
    /// The packet is dropped.
    Dropped,
    /// The packet is transmitted.
    Sent {
        port: Term,
        /// The bits that the deparser emitted, in order.
        emitted: Vec<Emitted>,
        /// The packet that the parser read, whose rest follows.
        packet: Packet,
        /// The position in that packet at which the rest begins, in bits.
        cursor: Term,
        /// The number of bytes to which the packet is truncated, all ones for no limit.
        truncate: Term,
    },
}

/// An event in the processing of a packet, besides its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The packet is cloned, if the control plane has configured the session.
    Clone,
    /// The packet enters ingress again, as it leaves the switch.
    Recirculate,
    /// The packet enters ingress again, as it was received.
    Resubmit,
}

/// A copy that is made if the control plane has configured where it goes.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    /// The condition under which packets are copied there.
    pub(crate) on: Term,
    /// Whether this is a multicast group, rather than a clone session.
    pub(crate) is_group: bool,
    /// The number of the group or session.
    pub(crate) number: Term,
}

/// The only member of all clone sessions, or of all multicast groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members {
    /// Whether there are sessions or groups.
    pub(crate) exist: Term,
    pub(crate) port: Term,
    pub(crate) instance: Term,
}
