//! The requests and packets of a sequence that is sent to a device, and the device's answers.

use bytes::Bytes;
use protos::v1;

/// A packet that is injected into the device.
#[derive(Clone, Debug, PartialEq)]
pub enum Packet {
    /// A packet-out of the primary controller.
    Out(v1::PacketOut),
    /// A packet that enters the device by one of its ports.
    On {
        /// The number of the port.
        port: u32,
        /// The packet, beginning with its Ethernet header.
        bytes: Bytes,
    },
}

/// A Write request, and the packets that are injected before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The packets that are injected before the Write request.
    pub packets: Vec<Packet>,
    /// The updates of the Write request. If there are none, no request is sent.
    pub updates: Vec<v1::Update>,
}

impl Request {
    /// Returns whether the request has neither packets nor updates.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.updates.is_empty()
    }
}

/// A request of a sequence, with the answers of the device.
#[derive(Clone, Debug)]
pub struct Step {
    /// The request that was sent.
    pub request: Request,
    /// For each update, the answer that the specification demands, as text.
    pub expected: Vec<String>,
    /// For each update, the answer that the device gave, as text.
    pub answered: Vec<String>,
}
