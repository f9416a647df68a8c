//! The language of STF scripts.
//!
//! STF is p4c's "simple test format": a line is a statement. What p4c's runner for BMv2 reads is
//! read here, and some of what its command line for BMv2 takes (`value&&&mask`, `low->high`). A
//! line that starts with no keyword goes on with the statement before it.

use super::number::Number;
use std::fmt;

/// A script, statement by statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// In the order in which they run.
    pub statements: Vec<Statement>,
}

/// A statement and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Counted from 1.
    pub line: usize,
    /// What it says.
    pub kind: StatementKind,
}

/// What a statement says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementKind {
    /// `packet 1 0102 03`: a packet arrives.
    Packet {
        /// By this port.
        port: u32,
        /// All of it.
        data: Vec<u8>,
    },
    /// `expect 1 01** $`: a packet leaves. Without data, any number of packets.
    Expect {
        /// By this port.
        port: u32,
        /// What it must begin with.
        pattern: Option<Pattern>,
    },
    /// `no_packet`: the packet before it left by no port.
    NoPacket,
    /// A line whose first word is no statement, which p4c's runner passes over.
    Unknown {
        /// The first word.
        word: String,
    },
    /// `packet` with an odd number of digits, which p4c's runner does not send.
    HalfByte,
    /// `add table 10 key:0x1 action(parameter:2) = handle`.
    Add {
        /// Name or suffix.
        table: String,
        /// The larger number wins.
        priority: Option<u32>,
        /// Name or suffix of each key, and what it matches.
        matches: Vec<(String, MatchText)>,
        /// What runs.
        action: Call,
        /// Names the entry for later statements.
        handle: Option<String>,
    },
    /// `table_indirect_add table key:0x1 member` and `table_indirect_add_with_group`.
    AddIndirect {
        /// Name or suffix.
        table: String,
        /// The larger number wins.
        priority: Option<u32>,
        /// Name or suffix of each key, and what it matches.
        matches: Vec<(String, MatchText)>,
        /// Of the table's action profile.
        target: Indirect,
    },
    /// `act_prof_create_member profile 1 action(parameter:2)`.
    MemberCreate {
        /// Name or suffix.
        profile: String,
        /// Its number.
        member: u32,
        /// What it runs.
        action: Call,
    },
    /// `act_prof_create_group selector 1`.
    SelectorGroupCreate {
        /// Name or suffix.
        profile: String,
        /// Its number.
        group: u32,
    },
    /// `act_prof_add_member_to_group selector member group`.
    GroupAdd {
        /// Name or suffix.
        profile: String,
        /// Which member.
        member: u32,
        /// Which group.
        group: u32,
    },
    /// `act_prof_remove_member_from_group selector member group`.
    GroupRemove {
        /// Name or suffix.
        profile: String,
        /// Which member.
        member: u32,
        /// Which group.
        group: u32,
    },
    /// `setdefault table action(parameter:2)`.
    SetDefault {
        /// Name or suffix.
        table: String,
        /// What runs on a miss.
        action: Call,
    },
    /// `remove all`: no table has entries any more.
    RemoveAll,
    /// `remove handle`.
    Remove {
        /// Given with `= handle`.
        handle: String,
    },
    /// `check_counter name(2) packets == 1`.
    CheckCounter {
        /// Name or suffix.
        counter: String,
        /// An index, or the handle of an entry for direct counters.
        cell: Cell,
        /// What must hold; without it, only that there is such a counter.
        condition: Option<Condition>,
    },
    /// `wait`: a second passes.
    Wait,
    /// `mirroring_add session port`.
    MirroringAdd {
        /// Clone session.
        session: u32,
        /// Where copies go.
        port: u32,
    },
    /// `mirroring_add_mc session group`.
    MirroringAddGroup {
        /// Clone session.
        session: u32,
        /// Multicast group that copies go to.
        group: u32,
    },
    /// `mirroring_delete session`.
    MirroringDelete {
        /// Clone session.
        session: u32,
    },
    /// `mirroring_get session`: printed.
    MirroringGet {
        /// Clone session.
        session: u32,
    },
    /// `mc_mgrp_create group`.
    GroupCreate {
        /// Multicast group.
        group: u32,
    },
    /// `mc_node_create replication_id port... [| lag...]`; nodes are numbered from 0.
    NodeCreate {
        /// The packet's `egress_rid`.
        replication_id: u32,
        /// One copy for each.
        ports: Vec<u32>,
        /// One copy for each, through its first port.
        lags: Vec<u32>,
    },
    /// `mc_node_update node port...`.
    NodeUpdate {
        /// Number of the node.
        node: u32,
        /// One copy for each.
        ports: Vec<u32>,
        /// One copy for each, through its first port.
        lags: Vec<u32>,
    },
    /// `mc_set_lag_membership lag port...`.
    LagMembers {
        /// Link aggregation group.
        lag: u32,
        /// Its ports.
        ports: Vec<u32>,
    },
    /// `mc_node_associate group node`.
    NodeAssociate {
        /// Multicast group.
        group: u32,
        /// Number of the node.
        node: u32,
    },
    /// `counter_read name index`: printed.
    CounterRead {
        /// Name or suffix.
        counter: String,
        /// Position.
        index: u64,
    },
    /// `counter_write name index packets bytes`.
    CounterWrite {
        /// Name or suffix.
        counter: String,
        /// Position.
        index: u64,
        /// New value.
        packets: u64,
        /// New value.
        bytes: u64,
    },
    /// `register_read name index`: printed.
    RegisterRead {
        /// Name or suffix.
        register: String,
        /// Position.
        index: u64,
    },
    /// `register_write name index value`.
    RegisterWrite {
        /// Name or suffix.
        register: String,
        /// Position.
        index: u64,
        /// New value.
        value: Number,
    },
    /// `register_reset name`: all zero.
    RegisterReset {
        /// Name or suffix.
        register: String,
    },
    /// `meter_get_rates name index`: printed.
    MeterGetRates {
        /// Name or suffix.
        meter: String,
        /// Position.
        index: u64,
    },
    /// `meter_set_rates name index rate:burst rate:burst`, and `meter_array_set_rates` without
    /// an index.
    MeterSetRates {
        /// Name or suffix.
        meter: String,
        /// Position; `None` for all.
        index: Option<u64>,
        /// Committed, then peak: units per microsecond and units, as BMv2 has them.
        rates: Vec<Rate>,
    },
}

/// A rate of a meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Units per microsecond, a decimal number.
    pub units_per_microsecond: String,
    /// Units.
    pub burst: u64,
}

/// What an entry of a table with an action profile refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indirect {
    /// A member.
    Member(u32),
    /// A group.
    Group(u32),
}

/// An action and its arguments by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Name or suffix.
    pub action: String,
    /// In any order.
    pub arguments: Vec<(String, Number)>,
}

/// What a key of an entry matches, before the key's kind is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchText {
    /// `0x12`, `0x1*`.
    Value(Number),
    /// `0x12/8`.
    Prefix(Number, u32),
    /// `0x12&&&0xff`.
    Mask(Number, Number),
    /// `1->5` or `1..5`.
    Range(Number, Number),
    /// `*`.
    Any,
}

/// Which counter of an array, or of which entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Position in an array.
    Index(u64),
    /// An entry by its handle.
    Handle(String),
}

/// A comparison with a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `packets` or `bytes`.
    pub unit: Unit,
    /// How they compare.
    pub operator: Comparison,
    /// With what.
    pub value: u64,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `packets`.
    Packets,
    /// `bytes`.
    Bytes,
}

/// How numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<=`.
    LessOrEqual,
    /// `<`.
    Less,
    /// `>=`.
    GreaterOrEqual,
    /// `>`.
    Greater,
}

impl Comparison {
    /// Whether `left` compares so with `right`.
    #[must_use]
    pub fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::LessOrEqual => left <= right,
            Self::Less => left < right,
            Self::GreaterOrEqual => left >= right,
            Self::Greater => left > right,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::LessOrEqual => "<=",
            Self::Less => "<",
            Self::GreaterOrEqual => ">=",
            Self::Greater => ">",
        })
    }
}

/// What a packet must begin with, digit by digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Hexadecimal digits; `None` is `*`.
    pub digits: Vec<Option<u8>>,
    /// `$`: the packet ends there.
    pub exact_length: bool,
}

impl Pattern {
    /// Whether a packet has this form.
    #[must_use]
    pub fn matches(&self, packet: &[u8]) -> bool {
        let length = packet.len() * 2;
        length >= self.digits.len()
            && !(self.exact_length && length > self.digits.len())
            && self
                .digits
                .iter()
                .zip(digits_of(packet))
                .all(|(expected, got)| expected.is_none_or(|expected| expected == got))
    }
}

/// Hexadecimal digits, two for each byte.
pub(super) fn digits_of(packet: &[u8]) -> impl Iterator<Item = u8> + '_ {
    packet.iter().flat_map(|byte| [byte >> 4, byte & 0xf])
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for digit in &self.digits {
            match digit {
                Some(digit) => write!(f, "{digit:x}")?,
                None => f.write_str("*")?,
            }
        }
        if self.exact_length { f.write_str("$") } else { Ok(()) }
    }
}
