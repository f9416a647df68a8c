//! Flow entries come and go: OpenFlow 1.0.0, 5.3.3 and 5.4.3.

use super::{Action, Match, PortNo};
use crate::BufferId;
pub use crate::wire::FlowModCommand;

bit_set! {
    /// What a flow-mod asks for beside its command (`ofp_flow_mod_flags`).
    pub FlowModFlags: u16 {
        /// Send a flow-removed when the entry goes.
        SEND_FLOW_REM = 1 << 0,
        /// Refuse an entry that overlaps another of the same priority.
        CHECK_OVERLAP = 1 << 1,
        /// The entry is for times without a controller.
        EMERG = 1 << 2,
    }
}

structure! {
    /// Adds, changes or removes flow entries (`ofp_flow_mod`).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FlowMod = "ofp_flow_mod" {
        /// The packets meant.
        pub match_fields: Match,
        /// The controller's name for the entry.
        pub cookie: u64,
        /// What to do.
        pub command: FlowModCommand,
        /// Seconds without a packet after which the entry goes; 0 for never.
        pub idle_timeout: u16,
        /// Seconds after which the entry goes; 0 for never.
        pub hard_timeout: u16,
        /// The entry's priority; higher wins, and an exact match beats all.
        pub priority: u16,
        /// The buffered packet to which a new entry is applied.
        pub buffer_id: BufferId,
        /// Restricts a removal to entries that send to this port; [`PortNo::NONE`] for no restriction.
        pub out_port: PortNo,
        /// What else is asked for.
        pub flags: FlowModFlags,
        /// What to do with the packets; nothing drops them.
        pub actions: Vec<Action>,
    }
}

impl Default for FlowMod {
    /// Adds an entry for every packet, at the default priority 0x8000, that drops them.
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
    /// Why a flow entry went (`ofp_flow_removed_reason`).
    pub FlowRemovedReason: u8 {
        /// No packet for as long as the idle timeout.
        IDLE_TIMEOUT = 0,
        /// The hard timeout passed.
        HARD_TIMEOUT = 1,
        /// A flow-mod removed it.
        DELETE = 2,
    }
}

structure! {
    /// A flow entry is gone (`ofp_flow_removed`).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FlowRemoved = "ofp_flow_removed" {
        /// The entry's packets.
        pub match_fields: Match,
        /// The controller's name for the entry.
        pub cookie: u64,
        /// The entry's priority.
        pub priority: u16,
        /// Why it went.
        pub reason: FlowRemovedReason; pad 1,
        /// Whole seconds that it lived.
        pub duration_sec: u32,
        /// Nanoseconds that it lived beyond `duration_sec`.
        pub duration_nsec: u32,
        /// The idle timeout that it had, in seconds.
        pub idle_timeout: u16; pad 2,
        /// Packets that it matched.
        pub packet_count: u64,
        /// Bytes in these packets.
        pub byte_count: u64,
    }
}
