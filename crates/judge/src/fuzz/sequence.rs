//! The requests and packets of a sequence that is sent to a device, and its answers.

use bytes::Bytes;
use protos::v1;

/// A packet that is injected.
#[derive(Clone, Debug, PartialEq)]
pub enum Packet {
    /// A packet-out of the primary controller.
    Out(v1::PacketOut),
    /// A packet that enters the device by a port.
    On {
        /// The number of the port.
        port: u32,
        /// The packet, from its Ethernet header on.
        bytes: Bytes,
    },
}

/// A Write, and the packets that are injected before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The packets.
    pub packets: Vec<Packet>,
    /// The updates of the Write; without any, there is no Write.
    pub updates: Vec<v1::Update>,
}

impl Request {
    /// Returns whether nothing is sent.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.updates.is_empty()
    }
}

/// A request of a sequence.
#[derive(Clone, Debug)]
pub struct Step {
    /// The updates, and the packets before them.
    pub request: Request,
    /// The demanded answer to each update, in words.
    pub expected: Vec<String>,
    /// The answer to each update.
    pub answered: Vec<String>,
}
