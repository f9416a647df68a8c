//! Flow entries come and go: OpenFlow 1.0.0, 5.3.3 and 5.4.3.

use super::{Action, Match, PortNo};
use crate::BufferId;
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, EncodeError};
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

/// Adds, changes or removes flow entries (`ofp_flow_mod`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowMod {
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

impl FlowMod {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            match_fields: Match::decode(reader)?,
            cookie: reader.u64("ofp_flow_mod.cookie")?,
            command: FlowModCommand(reader.u16("ofp_flow_mod.command")?),
            idle_timeout: reader.u16("ofp_flow_mod.idle_timeout")?,
            hard_timeout: reader.u16("ofp_flow_mod.hard_timeout")?,
            priority: reader.u16("ofp_flow_mod.priority")?,
            buffer_id: BufferId(reader.u32("ofp_flow_mod.buffer_id")?),
            out_port: PortNo(reader.u16("ofp_flow_mod.out_port")?),
            flags: FlowModFlags(reader.u16("ofp_flow_mod.flags")?),
            actions: Action::decode_list(reader.sub(reader.remaining(), "ofp_flow_mod.actions")?)?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.match_fields.encode(out);
        out.extend_from_slice(&self.cookie.to_be_bytes());
        for field in [self.command.0, self.idle_timeout, self.hard_timeout, self.priority] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        out.extend_from_slice(&self.buffer_id.0.to_be_bytes());
        out.extend_from_slice(&self.out_port.0.to_be_bytes());
        out.extend_from_slice(&self.flags.0.to_be_bytes());
        Action::encode_list(&self.actions, out)
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

/// A flow entry is gone (`ofp_flow_removed`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRemoved {
    /// The entry's packets.
    pub match_fields: Match,
    /// The controller's name for the entry.
    pub cookie: u64,
    /// The entry's priority.
    pub priority: u16,
    /// Why it went.
    pub reason: FlowRemovedReason,
    /// Whole seconds that it lived.
    pub duration_sec: u32,
    /// Nanoseconds that it lived beyond `duration_sec`.
    pub duration_nsec: u32,
    /// The idle timeout that it had, in seconds.
    pub idle_timeout: u16,
    /// Packets that it matched.
    pub packet_count: u64,
    /// Bytes in these packets.
    pub byte_count: u64,
}

impl FlowRemoved {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let match_fields = Match::decode(reader)?;
        let cookie = reader.u64("ofp_flow_removed.cookie")?;
        let priority = reader.u16("ofp_flow_removed.priority")?;
        let reason = FlowRemovedReason(reader.u8("ofp_flow_removed.reason")?);
        reader.skip(1, "ofp_flow_removed.pad")?;
        let duration_sec = reader.u32("ofp_flow_removed.duration_sec")?;
        let duration_nsec = reader.u32("ofp_flow_removed.duration_nsec")?;
        let idle_timeout = reader.u16("ofp_flow_removed.idle_timeout")?;
        reader.skip(2, "ofp_flow_removed.pad2")?;
        Ok(Self {
            match_fields,
            cookie,
            priority,
            reason,
            duration_sec,
            duration_nsec,
            idle_timeout,
            packet_count: reader.u64("ofp_flow_removed.packet_count")?,
            byte_count: reader.u64("ofp_flow_removed.byte_count")?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        self.match_fields.encode(out);
        out.extend_from_slice(&self.cookie.to_be_bytes());
        out.extend_from_slice(&self.priority.to_be_bytes());
        out.push(self.reason.0);
        pad(out, 1);
        out.extend_from_slice(&self.duration_sec.to_be_bytes());
        out.extend_from_slice(&self.duration_nsec.to_be_bytes());
        out.extend_from_slice(&self.idle_timeout.to_be_bytes());
        pad(out, 2);
        out.extend_from_slice(&self.packet_count.to_be_bytes());
        out.extend_from_slice(&self.byte_count.to_be_bytes());
    }
}
