//! The results of passing one packet through the tables of an emulated switch.

use openflow::PortNumber;

use super::flow_key::FlowKey;

/// The numbers of the reasons for packet-ins, which are equal in OpenFlow 1.0 and 1.3
/// (`ofp_packet_in_reason`).
pub(super) const NO_MATCH: u8 = 0;
pub(super) const ACTION: u8 = 1;

/// The maximum number of actions that are executed for one packet, including those of group
/// buckets. Without a limit, a controller could chain groups such that a packet multiplies without
/// bound.
pub(super) const MAX_ACTIONS: u32 = 4096;

/// The results of passing one packet through the tables of a switch: what was sent where.
#[derive(Debug)]
pub(super) struct Passage {
    /// The packets for the controller, in the order in which they are sent.
    pub(super) to_controller: Vec<ToController>,
    /// Whether the packet was sent out of a port.
    pub(super) forwarded: bool,
    /// The ports to which the packet was sent, each with the length of the packet at that moment.
    /// As in rules, a port may be a reserved number, such as that for flooding.
    pub(super) outputs: Vec<(PortNumber, usize)>,
    /// Whether the packets that are sent to ports are stored in `left`.
    pub(super) keeps: bool,
    /// The packets that were sent to ports, each with its port, which may be a reserved number as
    /// in rules.
    pub(super) left: Vec<(PortNumber, Vec<u8>)>,
    /// The number of actions that may still be executed for the packet, including actions in
    /// further passes through the tables that a packet-out requests.
    pub(super) actions_left: u32,
}

impl Default for Passage {
    fn default() -> Self {
        Self {
            to_controller: Vec::new(),
            forwarded: false,
            outputs: Vec::new(),
            keeps: false,
            left: Vec::new(),
            actions_left: MAX_ACTIONS,
        }
    }
}

/// A packet on its way to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToController {
    pub(super) reason: u8,
    pub(super) table_id: u8,
    /// The priority of the entry that sent the packet to the controller, or 0 if there was none.
    pub(super) priority: u32,
    /// The cookie of the entry that sent the packet to the controller, or all ones if no single
    /// entry did.
    pub(super) cookie: u64,
    /// The number of bytes of the packet that are sent to the controller if the packet is buffered.
    pub(super) max_len: u16,
    /// Whether the packet may be buffered.
    pub(super) may_buffer: bool,
    pub(super) metadata: u64,
    /// The fields of the packet when it was looked up in the table that sent it to the controller.
    pub(super) key: FlowKey,
    pub(super) bytes: Vec<u8>,
}

impl Passage {
    pub(super) fn clear(&mut self) {
        self.to_controller.clear();
        self.forwarded = false;
        self.outputs.clear();
        self.left.clear();
        self.actions_left = MAX_ACTIONS;
    }

    /// Creates empty results for another packet, which store packets in `left` if `self` does.
    pub(super) fn alike(&self) -> Self {
        Self { keeps: self.keeps, ..Self::default() }
    }

    /// Counts an action that is about to be executed. Returns whether it may be executed.
    pub(super) fn spend_action(&mut self) -> bool {
        let left = self.actions_left.checked_sub(1);
        self.actions_left = left.unwrap_or(0);
        left.is_some()
    }

    /// Records that a packet is sent to a port.
    pub(super) fn output(&mut self, port: PortNumber, bytes: &[u8]) {
        self.outputs.push((port, bytes.len()));
        if self.keeps {
            self.left.push((port, bytes.to_vec()));
        }
    }
}
