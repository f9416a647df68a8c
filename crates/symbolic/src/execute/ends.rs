//! The outcomes of packets: how a packet leaves the program, and which copies of it are made.

use super::Emitted;
use crate::packet::Packet;
use crate::term::{Term, Terms};

/// One way in which a packet leaves the program, or is dropped.
pub(crate) struct End {
    /// The condition under which the packet ends in this way.
    pub(crate) guard: Term,
    pub(crate) fate: Fate,
}

/// The outcome of a packet.
pub(crate) enum Fate {
    /// The packet is dropped.
    Dropped,
    /// The packet is transmitted.
    Sent {
        port: Term,
        /// The bits that the deparser has emitted, in order.
        emitted: Vec<Emitted>,
        /// The packet that the parser has read. Its unparsed rest follows the emitted bits.
        packet: Packet,
        /// The position in bits of the unparsed rest within the packet that the parser has read.
        cursor: Term,
        /// The number of bytes to which the transmitted packet is truncated; all ones for no limit.
        truncate: Term,
    },
    /// The packet enters the program again. Only an execution of single passes ends there.
    Enters {
        entrance: Entrance,
        /// The port with which the next pass begins.
        port: Term,
        /// The metadata that this pass leaves for the next one.
        carried: Vec<Term>,
        /// The bits that precede the unparsed rest of `packet`, as in a packet that is sent.
        emitted: Vec<Emitted>,
        packet: Packet,
        cursor: Term,
    },
}

/// A point at which packets enter a program for PSA. It determines the packet path that the program
/// reads, and which metadata of an earlier pass are defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entrance {
    /// A packet from a port enters ingress.
    Received,
    /// A packet enters ingress in the form in which the previous pass read it.
    Resubmitted,
    /// A packet that egress has written enters ingress.
    Recirculated,
    /// A clone that ingress requested enters egress in the form in which ingress read it.
    ClonedAtIngress,
    /// A clone that egress requested enters egress in the form in which egress wrote it.
    ClonedAtEgress,
}

/// An event in the processing of a packet, other than its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The packet is cloned, if the control plane has configured the session.
    Clone,
    /// The packet enters ingress again in the form in which it would leave the switch.
    Recirculate,
    /// The packet enters ingress again in the form in which it was received.
    Resubmit,
}

/// A request to copy packets. A copy is made only if the control plane has configured the session
/// or group.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    /// The condition under which packets are copied.
    pub(crate) on: Term,
    /// Whether the copies are for a multicast group rather than a clone session.
    pub(crate) is_group: bool,
    /// The number of the multicast group or clone session.
    pub(crate) number: Term,
    pub(crate) member: Member,
}

/// The only member of a clone session or multicast group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// Whether the control plane has created the session or group.
    pub(crate) exists: Term,
    pub(crate) port: Term,
    /// The instance number of the copy.
    pub(crate) instance: Term,
}

impl Member {
    /// Returns the condition under which two members are equal. Both must have the same widths.
    pub(crate) fn equal(&self, terms: &mut Terms, other: &Self) -> Term {
        let exist = terms.equal(self.exists, other.exists);
        let ports = terms.equal(self.port, other.port);
        let instances = terms.equal(self.instance, other.instance);
        terms.all(&[exist, ports, instances])
    }

    /// Returns the widths of the port and of the instance number.
    pub(crate) fn widths(&self, terms: &Terms) -> [u32; 2] {
        [terms.width_of(self.port), terms.width_of(self.instance)]
    }
}
