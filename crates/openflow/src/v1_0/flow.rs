//! Messages about flow entries: OpenFlow 1.0.0, 5.3.3 and 5.4.2.

use super::{Action, Match, PortNo};
use crate::BufferId;
pub use crate::wire::FlowModCommand;

bit_set! {
    /// The flags of a flow-mod (`ofp_flow_mod_flags`).
    pub FlowModFlags: u16 {
        /// Sends a flow-removed message when the entry is removed.
        SEND_FLOW_REM = 1 << 0,
        /// Rejects an entry that overlaps one of equal priority.
        CHECK_OVERLAP = 1 << 1,
        /// Makes the entry an emergency entry, which is used only while no controller is connected.
        EMERG = 1 << 2,
    }
}

structure! {
    /// Adds, changes or removes flow entries (`ofp_flow_mod`).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FlowMod = "ofp_flow_mod" {
        /// The packets to which the entry applies.
        pub match_fields: Match,
        /// The controller's cookie for the entry.
        pub cookie: u64,
        /// The change that the flow-mod makes.
        pub command: FlowModCommand,
        /// The time in seconds without a packet after which the entry is removed, or 0 for never.
        pub idle_timeout: u16,
        /// The time in seconds after which the entry is removed, or 0 for never.
        pub hard_timeout: u16,
        /// The entry's priority. Among entries that match a packet, the one with the highest
        /// priority applies, and an entry without wildcards precedes all others.
        pub priority: u16,
        /// The buffered packet to which the switch also applies the new entry.
        pub buffer_id: BufferId,
        /// The port to which a removal is restricted: only entries that output to it are removed.
        /// [`PortNo::NONE`] means no restriction.
        pub out_port: PortNo,
        /// The flags of the flow-mod.
        pub flags: FlowModFlags,
        /// The actions on the packets. Without actions, the packets are dropped.
        pub actions: Vec<Action>,
    }
}

impl Default for FlowMod {
    /// Returns a flow-mod that adds an entry for every packet, at the default priority 0x8000, and
    /// drops the packets.
    fn default() -> Self {
        Self {
            match_fields: Match::any(),
            cookie: 0,
            command: FlowModCommand::ADD,
            idle_timeout: 0,
            hard_timeout: 0,
            priority: 0x8000,
            buffer_id: BufferId::NO_BUFFER,
            out_port: PortNo::NONE,
            flags: FlowModFlags::NONE,
            actions: Vec::new(),
        }
    }
}

open_enum! {
    /// The reason why a flow entry was removed (`ofp_flow_removed_reason`).
    pub FlowRemovedReason: u8 {
        /// No packet matched for the duration of the idle timeout.
        IDLE_TIMEOUT = 0,
        /// The hard timeout of the entry passed.
        HARD_TIMEOUT = 1,
        /// A flow-mod removed the entry.
        DELETE = 2,
    }
}

structure! {
    /// A notification that a flow entry was removed (`ofp_flow_removed`).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FlowRemoved = "ofp_flow_removed" {
        /// The packets to which the entry applied.
        pub match_fields: Match,
        /// The controller's cookie for the entry.
        pub cookie: u64,
        /// The priority of the removed entry.
        pub priority: u16,
        /// The reason for the removal.
        pub reason: FlowRemovedReason; pad 1,
        /// The whole seconds for which the entry existed.
        pub duration_sec: u32,
        /// The nanoseconds beyond `duration_sec` for which the entry existed.
        pub duration_nsec: u32,
        /// The entry's idle timeout in seconds.
        pub idle_timeout: u16; pad 2,
        /// The number of packets that the entry matched.
        pub packet_count: u64,
        /// The number of bytes in the packets that the entry matched.
        pub byte_count: u64,
    }
}
