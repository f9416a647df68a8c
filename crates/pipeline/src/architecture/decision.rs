//! What the traffic manager is told of a packet when its ingress, or its egress, is done.
//!
//! The drivers make one of these from what the blocks left, whoever ran the blocks, and carry it out in the order that
//! the architecture prescribes: copies first, then what becomes of the packet itself.

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Clone sessions (mirror sessions of PNA) that copy the packet; v1model and PSA have one at most.
    pub(crate) copies: Vec<u32>,
    /// What becomes of the packet.
    pub(crate) fate: Fate,
}

/// What becomes of a packet that is not a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It ends here.
    Drop,
    /// It goes to ingress again, as it was received.
    Resubmit,
    /// It goes to ingress again, as it would leave.
    Recirculate,
    /// It goes to one port: from ingress to the egress of that port, from egress out.
    Unicast {
        /// Which port.
        port: u32,
    },
    /// It goes to the egress of each port of a group.
    Multicast {
        /// Which group.
        group: u32,
    },
}
