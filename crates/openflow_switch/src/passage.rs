//! What the tables of an emulated switch made of one packet.

use openflow::PortNumber;

use super::flow_key::FlowKey;

/// Reasons of packet-ins; both versions number them so (`ofp_packet_in_reason`).
pub(super) const NO_MATCH: u8 = 0;
pub(super) const ACTION: u8 = 1;

/// Actions that one packet may cost, buckets included. A controller can chain groups so that a
/// packet multiplies without bound.
pub(super) const MOST_ACTIONS: u32 = 4096;

/// What became of a packet in the tables.
#[derive(Debug, Default)]
pub(super) struct Passage {
    /// In the order in which they are sent.
    pub(super) to_controller: Vec<ToController>,
    /// Whether it left by a port.
    pub(super) forwarded: bool,
    /// Ports that it was sent to, as rules name them, with its length there.
    pub(super) outputs: Vec<(PortNumber, usize)>,
    /// Whether the packets themselves are kept in `left`.
    pub(super) keeps: bool,
    /// What was sent to ports, as rules name them.
    pub(super) left: Vec<(PortNumber, Vec<u8>)>,
}

/// A packet on its way to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToController {
    pub(super) reason: u8,
    pub(super) table_id: u8,
    /// Of the entry that acted last; 0 if there was none.
    pub(super) priority: u32,
    /// All ones if no single entry sent it.
    pub(super) cookie: u64,
    /// Bytes to send of a buffered packet.
    pub(super) max_len: u16,
    /// Whether the packet may be buffered.
    pub(super) may_buffer: bool,
    pub(super) metadata: u64,
    /// The fields that the table saw.
    pub(super) key: FlowKey,
    pub(super) bytes: Vec<u8>,
}

impl Passage {
    pub(super) fn clear(&mut self) {
        self.to_controller.clear();
        self.forwarded = false;
        self.outputs.clear();
        self.left.clear();
    }

    /// One that keeps packets where `self` does.
    pub(super) fn alike(&self) -> Self {
        Self { keeps: self.keeps, ..Self::default() }
    }

    /// A packet is sent to a port.
    pub(super) fn output(&mut self, port: PortNumber, bytes: &[u8]) {
        self.outputs.push((port, bytes.len()));
        if self.keeps {
            self.left.push((port, bytes.to_vec()));
        }
    }
}
