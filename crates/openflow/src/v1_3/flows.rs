//! Flow entries: the messages that change them, report their removal, and query them (specification
//! 1.3.5, sections 7.3.4.1, 7.3.5.2, 7.3.5.3 and 7.4.2).

use super::groups::GroupId;
use super::instructions::Instruction;
use super::matches::{Match, MatchKey};
use super::tables::TableId;
use crate::BufferId;
use crate::PortNumber;

/// The default priority of entries, `OFP_DEFAULT_PRIORITY`.
pub const DEFAULT_PRIORITY: u16 = 0x8000;

open_enum! {
    /// The command of a flow-mod, `ofp_flow_mod_command`.
    pub FlowModCommand: u8 {
        /// Adds an entry.
        ADD = 0,
        /// Changes the instructions of all entries that the match covers.
        MODIFY = 1,
        /// Changes the instructions of the entry with exactly this match and priority.
        MODIFY_STRICT = 2,
        /// Deletes all entries that the match covers.
        DELETE = 3,
        /// Deletes the entry with exactly this match and priority.
        DELETE_STRICT = 4,
    }
}

bit_set! {
    /// The flags of a flow entry, `ofp_flow_mod_flags`.
    pub FlowModFlags: u16 {
        /// Sends a flow-removed message when the entry expires or is deleted.
        SEND_FLOW_REM = 1 << 0,
        /// Rejects the entry if it overlaps one of equal priority.
        CHECK_OVERLAP = 1 << 1,
        /// Resets the counters of an entry that the flow-mod changes.
        RESET_COUNTS = 1 << 2,
        /// Permits the switch not to count the packets of the entry.
        NO_PKT_COUNTS = 1 << 3,
        /// Permits the switch not to count the bytes of the entry.
        NO_BYT_COUNTS = 1 << 4,
    }
}

/// The identity of a flow entry within a switch (section 6.4: two entries in one table must differ
/// in match or priority).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// The table that contains the entry.
    pub table_id: TableId,
    /// The priority of the entry.
    pub priority: u16,
    /// The match of the entry, in a form that is equal for all matches with the same meaning.
    pub match_key: MatchKey,
}

structure! {
    /// A change of a flow table, `ofp_flow_mod`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct FlowMod = "ofp_flow_mod" {
        /// The controller's cookie for the entry.
        pub cookie: u64,
        /// The bits of the cookie that are compared: an entry is changed or deleted only if its
        /// cookie equals `cookie` in these bits. 0 means that any cookie is accepted.
        pub cookie_mask: u64,
        /// The table to change. With [`TableId::ALL`], a deletion applies to all tables.
        pub table_id: TableId,
        /// The change that the flow-mod makes.
        pub command: FlowModCommand,
        /// The time in seconds without a packet after which the entry expires, or 0 for never.
        pub idle_timeout: u16,
        /// The time in seconds after which the entry expires, or 0 for never.
        pub hard_timeout: u16,
        /// The priority of the entry. Among the entries that match a packet, the one with the
        /// highest priority applies.
        pub priority: u16,
        /// The buffered packet to which the switch also applies the new entry.
        pub buffer_id: BufferId,
        /// The port to which a deletion is restricted: only entries that output to it are deleted.
        /// [`PortNumber::ANY`] means no restriction.
        pub out_port: PortNumber,
        /// The group to which a deletion is restricted: only entries that refer to it are deleted.
        /// [`GroupId::ANY`] means no restriction.
        pub out_group: GroupId,
        /// The flags of the entry.
        pub flags: FlowModFlags; pad 2,
        /// The packets to which the entry applies.
        pub match_fields: Match,
        /// The instructions for the packets that the entry matches. Without instructions, the
        /// action set of a packet is executed. The packet is dropped if the set is empty.
        pub instructions: Vec<Instruction>,
    }
}

impl FlowMod {
    /// Returns a flow-mod that adds an entry to table 0 with the default priority, without timeouts
    /// or flags.
    pub const fn add(match_fields: Match, instructions: Vec<Instruction>) -> Self {
        Self {
            cookie: 0,
            cookie_mask: 0,
            table_id: TableId(0),
            command: FlowModCommand::ADD,
            idle_timeout: 0,
            hard_timeout: 0,
            priority: DEFAULT_PRIORITY,
            buffer_id: BufferId::NO_BUFFER,
            out_port: PortNumber::ANY,
            out_group: GroupId::ANY,
            flags: FlowModFlags::NONE,
            match_fields,
            instructions,
        }
    }

    /// Returns a flow-mod that deletes all entries that the match covers, from all tables.
    pub fn delete(match_fields: Match) -> Self {
        Self {
            command: FlowModCommand::DELETE,
            table_id: TableId::ALL,
            ..Self::add(match_fields, Vec::new())
        }
    }

    /// Returns the identity of the entry that this flow-mod adds, or that a strict command selects.
    pub fn key(&self) -> FlowKey {
        FlowKey {
            table_id: self.table_id,
            priority: self.priority,
            match_key: self.match_fields.key(),
        }
    }
}

open_enum! {
    /// The reason why a flow entry was removed, `ofp_flow_removed_reason`.
    pub FlowRemovedReason: u8 {
        /// No packet matched for the duration of the idle timeout.
        IDLE_TIMEOUT = 0,
        /// The hard timeout of the entry passed.
        HARD_TIMEOUT = 1,
        /// A flow-mod deleted the entry.
        DELETE = 2,
        /// The group to which the entry sends packets was deleted.
        GROUP_DELETE = 3,
    }
}

structure! {
    /// A notification that an entry was removed, `ofp_flow_removed`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct FlowRemoved = "ofp_flow_removed" {
        /// The controller's cookie for the entry.
        pub cookie: u64,
        /// The entry's priority.
        pub priority: u16,
        /// The reason for the removal.
        pub reason: FlowRemovedReason,
        /// The table that contained the entry.
        pub table_id: TableId,
        /// The whole seconds for which the entry existed.
        pub duration_sec: u32,
        /// The nanoseconds beyond `duration_sec` for which the entry existed.
        pub duration_nsec: u32,
        /// The entry's idle timeout in seconds.
        pub idle_timeout: u16,
        /// The entry's hard timeout in seconds.
        pub hard_timeout: u16,
        /// The number of packets that the entry matched.
        pub packet_count: u64,
        /// The number of bytes in the packets that the entry matched.
        pub byte_count: u64,
        /// The packets to which the entry applied.
        pub match_fields: Match,
    }
}

structure! {
    /// A selection of the flow entries whose counters are reported, individually
    /// (`ofp_flow_stats_request`) or as sums (`ofp_aggregate_stats_request`).
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct FlowStatsRequest = "ofp_flow_stats_request" {
        /// The table whose entries are selected, or [`TableId::ALL`] for all tables.
        pub table_id: TableId; pad 3,
        /// The port to which selected entries must output, or [`PortNumber::ANY`] for all entries.
        pub out_port: PortNumber,
        /// The group to which selected entries must refer, or [`GroupId::ANY`] for all entries.
        pub out_group: GroupId; pad 4,
        /// The cookie that selected entries must have in the bits of `cookie_mask`.
        pub cookie: u64,
        /// The bits of the cookie that are compared, or 0 for any cookie.
        pub cookie_mask: u64,
        /// The match that must cover the selected entries.
        pub match_fields: Match,
    }
}

impl FlowStatsRequest {
    /// Returns a request for all entries of all tables.
    pub const fn all() -> Self {
        Self {
            table_id: TableId::ALL,
            out_port: PortNumber::ANY,
            out_group: GroupId::ANY,
            cookie: 0,
            cookie_mask: 0,
            match_fields: Match::any(),
        }
    }
}

structure! {
    /// An entry and its counters, `ofp_flow_stats`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct FlowStats = "ofp_flow_stats" {
        counts length >= 56;
        /// The table that holds the entry.
        pub table_id: TableId; pad 1,
        /// The whole seconds for which the entry has existed.
        pub duration_sec: u32,
        /// The nanoseconds beyond `duration_sec` for which the entry has existed.
        pub duration_nsec: u32,
        /// The entry's priority.
        pub priority: u16,
        /// The entry's idle timeout in seconds.
        pub idle_timeout: u16,
        /// The entry's hard timeout in seconds.
        pub hard_timeout: u16,
        /// The flags of the entry.
        pub flags: FlowModFlags; pad 4,
        /// The controller's cookie for the entry.
        pub cookie: u64,
        /// The number of packets that the entry matched.
        pub packet_count: u64,
        /// The number of bytes in the packets that the entry matched.
        pub byte_count: u64,
        /// The packets to which the entry applies.
        pub match_fields: Match,
        /// The instructions for the packets that the entry matches.
        pub instructions: Vec<Instruction>,
    }
}

structure! {
    /// The sums of the counters of many entries (`ofp_aggregate_stats_reply`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AggregateStats = "ofp_aggregate_stats_reply" {
        /// The number of packets that the selected entries matched.
        pub packet_count: u64,
        /// The number of bytes in the packets that the selected entries matched.
        pub byte_count: u64,
        /// The number of flow entries that the request selected.
        pub flow_count: u32; pad 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Reader;
    use crate::structure::Wire;
    use crate::v1_3::actions::Action;

    #[test]
    fn an_entry_survives_the_wire() {
        let instructions = vec![Instruction::ApplyActions(vec![Action::output(PortNumber(2))])];
        let flow_mod = FlowMod::add(Match::any().with_in_port(PortNumber(1)), instructions);
        let mut out = Vec::new();
        flow_mod.encode(&mut out).unwrap();
        assert_eq!(out.len(), 40 + 16 + 8 + 16);
        assert_eq!(FlowMod::decode(&mut Reader::new(&out)), Ok(flow_mod));
    }

    #[test]
    fn the_key_of_an_entry_is_table_priority_and_match() {
        let by_port = |port| FlowMod::add(Match::any().with_in_port(PortNumber(port)), vec![]);
        let mut again = by_port(1);
        again.cookie = 9;
        again.idle_timeout = 5;
        again.instructions.push(Instruction::ClearActions);
        assert_eq!(by_port(1).key(), again.key());
        assert_ne!(by_port(1).key(), by_port(2).key());
        again.priority = 1;
        assert_ne!(by_port(1).key(), again.key());
    }

    #[test]
    fn a_match_may_not_reach_beyond_its_flow_statistics() {
        let mut bytes = [0; 64];
        bytes[1] = 56;
        bytes[49] = 1;
        bytes[51] = 9;
        let error = FlowStats::decode(&mut Reader::new(&bytes)).unwrap_err();
        assert_eq!((error.offset, error.field), (50, "ofp_match.length"));
    }
}
