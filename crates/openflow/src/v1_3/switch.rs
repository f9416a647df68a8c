//! The switch as a whole: its features, its configuration, and the roles of its controllers
//! (specification 1.3.5, sections 7.3.1, 7.3.2, 7.3.9 and 7.3.10).

use super::codec::{Wire, put_u32};
use super::flows::FlowRemovedReason;
use super::packets::PacketInReason;
use super::ports::PortReason;
use crate::DatapathId;
use crate::cursor::Reader;
use crate::error::{DecodeError, EncodeError};

bit_set! {
    /// The capabilities of a switch, `ofp_capabilities`.
    pub Capabilities: u32 {
        /// The switch keeps statistics of flow entries.
        FLOW_STATS = 1 << 0,
        /// The switch keeps statistics of tables.
        TABLE_STATS = 1 << 1,
        /// The switch keeps statistics of ports.
        PORT_STATS = 1 << 2,
        /// The switch keeps statistics of groups.
        GROUP_STATS = 1 << 3,
        /// The switch can reassemble IP fragments.
        IP_REASM = 1 << 5,
        /// The switch keeps statistics of queues.
        QUEUE_STATS = 1 << 6,
        /// The switch blocks ports that would create loops.
        PORT_BLOCKED = 1 << 8,
    }
}

structure! {
    /// The features of a switch, `ofp_switch_features`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct SwitchFeatures = "ofp_switch_features" {
        /// The datapath id of the switch.
        pub datapath_id: DatapathId,
        /// The number of packets that the switch can buffer.
        pub n_buffers: u32,
        /// The number of flow tables.
        pub n_tables: u8,
        /// The id of the auxiliary connection, or 0 on the main connection.
        pub auxiliary_id: u8; pad 2,
        /// The capabilities of the switch.
        pub capabilities: Capabilities,
        /// A field without meaning, which decoding preserves.
        pub reserved: u32,
    }
}

impl SwitchFeatures {
    /// Returns the features of a switch without buffers that keeps statistics of flows, tables and
    /// ports, on its main connection.
    pub fn new(datapath_id: DatapathId, n_tables: u8) -> Self {
        Self {
            datapath_id,
            n_buffers: 0,
            n_tables,
            auxiliary_id: 0,
            capabilities: Capabilities::FLOW_STATS
                | Capabilities::TABLE_STATS
                | Capabilities::PORT_STATS,
            reserved: 0,
        }
    }
}

open_enum! {
    /// The treatment of IP fragments, `ofp_config_flags`.
    pub ConfigFlags: u16 {
        /// Processes fragments like other packets.
        FRAG_NORMAL = 0,
        /// Drops fragments.
        FRAG_DROP = 1,
        /// Reassembles fragments.
        FRAG_REASM = 2,
    }
}

structure! {
    /// The configuration of a switch, `ofp_switch_config`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct SwitchConfig = "ofp_switch_config" {
        /// The treatment of IP fragments.
        pub flags: ConfigFlags,
        /// The number of bytes of a buffered packet that a packet-in contains if no action sets
        /// another limit.
        pub miss_send_len: u16,
    }
}

impl SwitchConfig {
    /// The value of `miss_send_len` with which packet-ins contain the whole packet and the switch
    /// buffers none, `OFPCML_NO_BUFFER`.
    pub const NO_BUFFER: u16 = 0xffff;
}

impl Default for SwitchConfig {
    /// Returns the initial configuration of a switch (section 7.3.2): a packet-in contains the
    /// first 128 bytes of a buffered packet.
    fn default() -> Self {
        Self { flags: ConfigFlags::FRAG_NORMAL, miss_send_len: 128 }
    }
}

open_enum! {
    /// The role of a controller, `ofp_controller_role`.
    pub ControllerRole: u32 {
        /// Queries the role without changing it.
        NO_CHANGE = 0,
        /// Full access, shared with all other controllers of this role.
        EQUAL = 1,
        /// Full access, which at most one controller has.
        MASTER = 2,
        /// Read-only access.
        SLAVE = 3,
    }
}

structure! {
    /// A request for a role, or the confirmation of a role (`ofp_role_request`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct RoleMessage = "ofp_role_request" {
        /// The role that the controller requests or has.
        pub role: ControllerRole; pad 4,
        /// The generation of the election of a master, by which the switch recognises outdated
        /// requests.
        pub generation_id: u64,
    }
}

/// The reasons for which a controller receives one kind of asynchronous message: a mask for each
/// role. Bit `1 << reason` of a mask is set if a controller of the role receives messages with this
/// reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AsyncMasks {
    /// The mask for controllers of role equal or master.
    pub master: u32,
    /// The mask for controllers of role slave.
    pub slave: u32,
}

impl AsyncMasks {
    /// Returns the mask of reasons for a role.
    pub const fn for_role(self, role: ControllerRole) -> u32 {
        match role {
            ControllerRole::SLAVE => self.slave,
            _ => self.master,
        }
    }
}

/// The asynchronous messages that a controller receives, `ofp_async_config`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AsyncConfig {
    /// The masks of packet-ins, by [`PacketInReason`].
    pub packet_in: AsyncMasks,
    /// The masks of port-status messages, by [`PortReason`].
    pub port_status: AsyncMasks,
    /// The masks of flow-removed messages, by [`FlowRemovedReason`].
    pub flow_removed: AsyncMasks,
}

impl AsyncConfig {
    /// Returns whether a controller of this role receives packet-ins for this reason.
    pub const fn sends_packet_in(&self, role: ControllerRole, reason: PacketInReason) -> bool {
        has_bit(self.packet_in.for_role(role), reason.0)
    }

    /// Returns whether a controller of this role receives port-status messages for this reason.
    pub const fn sends_port_status(&self, role: ControllerRole, reason: PortReason) -> bool {
        has_bit(self.port_status.for_role(role), reason.0)
    }

    /// Returns whether a controller of this role receives flow-removed messages for this reason.
    pub const fn sends_flow_removed(
        &self,
        role: ControllerRole,
        reason: FlowRemovedReason,
    ) -> bool {
        has_bit(self.flow_removed.for_role(role), reason.0)
    }
}

/// Returns whether bit number `bit` of a mask is set. Numbers from 32 on have no bit.
const fn has_bit(mask: u32, bit: u8) -> bool {
    bit < 32 && mask & (1 << bit) != 0
}

impl Default for AsyncConfig {
    /// Returns the initial configuration of a switch. A controller of role master or equal receives
    /// all messages except packet-ins for an invalid TTL. A slave receives only port-status
    /// messages. Open vSwitch also uses these values.
    fn default() -> Self {
        Self {
            packet_in: AsyncMasks { master: 0b011, slave: 0 },
            port_status: AsyncMasks { master: 0b111, slave: 0b111 },
            flow_removed: AsyncMasks { master: 0b1111, slave: 0 },
        }
    }
}

impl Wire for AsyncConfig {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut masks = |field| {
            let master = reader.u32(field)?;
            Ok(AsyncMasks { master, slave: reader.u32(field)? })
        };
        Ok(Self {
            packet_in: masks("ofp_async_config.packet_in_mask")?,
            port_status: masks("ofp_async_config.port_status_mask")?,
            flow_removed: masks("ofp_async_config.flow_removed_mask")?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        for masks in [self.packet_in, self.port_status, self.flow_removed] {
            put_u32(out, masks.master);
            put_u32(out, masks.slave);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slave_gets_port_status_only() {
        let config = AsyncConfig::default();
        for role in [ControllerRole::EQUAL, ControllerRole::MASTER] {
            assert!(config.sends_packet_in(role, PacketInReason::NO_MATCH));
            assert!(config.sends_packet_in(role, PacketInReason::ACTION));
            assert!(!config.sends_packet_in(role, PacketInReason::INVALID_TTL));
            assert!(config.sends_flow_removed(role, FlowRemovedReason::GROUP_DELETE));
        }
        let slave = ControllerRole::SLAVE;
        assert!(config.sends_port_status(slave, PortReason::MODIFY));
        assert!(!config.sends_packet_in(slave, PacketInReason::ACTION));
        assert!(!config.sends_flow_removed(slave, FlowRemovedReason::DELETE));
        assert!(!config.sends_packet_in(ControllerRole::EQUAL, PacketInReason(200)));
    }

    #[test]
    fn async_masks_alternate_between_master_and_slave() {
        let mut out = Vec::new();
        let masks = |master, slave| AsyncMasks { master, slave };
        let config = AsyncConfig {
            packet_in: masks(1, 2),
            port_status: masks(3, 4),
            flow_removed: masks(5, 6),
        };
        config.encode(&mut out).unwrap();
        let words: Vec<u8> = out.chunks(4).map(|word| word[3]).collect();
        assert_eq!(words, [1, 2, 3, 4, 5, 6]);
        assert_eq!(AsyncConfig::decode(&mut Reader::new(&out)), Ok(config));
    }
}
