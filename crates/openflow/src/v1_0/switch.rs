//! The features and the configuration of the switch: OpenFlow 1.0.0, 5.3.1 and 5.3.2.

use super::PhyPort;
use crate::DatapathId;

bit_set! {
    /// The capabilities of a switch (`ofp_capabilities`).
    pub Capabilities: u32 {
        /// The switch counts the packets of flow entries.
        FLOW_STATS = 1 << 0,
        /// The switch counts the packets of tables.
        TABLE_STATS = 1 << 1,
        /// The switch counts the packets of ports.
        PORT_STATS = 1 << 2,
        /// The switch speaks the spanning tree protocol.
        STP = 1 << 3,
        /// A reserved bit, which must be zero.
        RESERVED = 1 << 4,
        /// The switch can reassemble IP fragments.
        IP_REASM = 1 << 5,
        /// The switch counts the packets of queues.
        QUEUE_STATS = 1 << 6,
        /// The switch can match the IP addresses in ARP packets.
        ARP_MATCH_IP = 1 << 7,
    }
}

bit_set! {
    /// The actions that the switch supports. Bit `n` stands for the action of type `n`.
    pub ActionTypes: u32 {
        /// Sends out of a port.
        OUTPUT = 1 << 0,
        /// Sets the VLAN id.
        SET_VLAN_VID = 1 << 1,
        /// Sets the VLAN priority.
        SET_VLAN_PCP = 1 << 2,
        /// Removes the VLAN tag.
        STRIP_VLAN = 1 << 3,
        /// Sets the Ethernet source.
        SET_DL_SRC = 1 << 4,
        /// Sets the Ethernet destination.
        SET_DL_DST = 1 << 5,
        /// Sets the IPv4 source.
        SET_NW_SRC = 1 << 6,
        /// Sets the IPv4 destination.
        SET_NW_DST = 1 << 7,
        /// Sets the IP type of service.
        SET_NW_TOS = 1 << 8,
        /// Sets the TCP or UDP source port.
        SET_TP_SRC = 1 << 9,
        /// Sets the TCP or UDP destination port.
        SET_TP_DST = 1 << 10,
        /// Sends through a queue.
        ENQUEUE = 1 << 11,
        /// Every action that the specification defines.
        ALL = (1 << 12) - 1,
    }
}

structure! {
    /// The features of a switch (`ofp_switch_features`).
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct FeaturesReply = "ofp_switch_features" {
        /// The datapath id of the switch.
        pub datapath_id: DatapathId,
        /// The number of packets that the switch can buffer.
        pub n_buffers: u32,
        /// The number of tables of the switch.
        pub n_tables: u8; pad 3,
        /// The capabilities of the switch.
        pub capabilities: Capabilities,
        /// The actions that the switch supports.
        pub actions: ActionTypes,
        /// The ports of the switch.
        pub ports: Vec<PhyPort>,
    }
}

open_enum! {
    /// The treatment of IP fragments (`ofp_config_flags`, in which no other bits are defined).
    pub FragmentHandling: u16 {
        /// Processes fragments like other packets.
        NORMAL = 0,
        /// Drops fragments.
        DROP = 1,
        /// Reassembles fragments, if the switch can.
        REASM = 2,
        /// The mask of all bits that the specification defines.
        MASK = 3,
    }
}

structure! {
    /// The switch's configuration (`ofp_switch_config`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SwitchConfig = "ofp_switch_config" {
        /// The treatment of IP fragments.
        pub flags: FragmentHandling,
        /// The number of bytes of a packet that are sent to the controller if no flow entry matches
        /// the packet.
        pub miss_send_len: u16,
    }
}

impl Default for SwitchConfig {
    /// Returns the initial configuration of a switch, which sends the first 128 bytes of a packet
    /// (`OFP_DEFAULT_MISS_SEND_LEN`).
    fn default() -> Self {
        Self { flags: FragmentHandling::NORMAL, miss_send_len: 128 }
    }
}
