//! The language of STF scripts.
//!
//! STF is p4c's "simple test format", with one statement on each line. The statements are those of
//! p4c's runner for BMv2, and some forms of BMv2's command line are accepted as well
//! (`value&&&mask`, `low->high`). Quoted strings are values of translated types. A line that does
//! not start with a keyword continues the previous statement, if that one is incomplete. A `packet`
//! or `expect` never continues on the next line.

use super::StfError;
use super::checks::Check;
use super::number::Number;
use queues::Configuration;
use std::fmt;
use std::time::Duration;

/// The arrival times of the packet of the next `packet` statement, which may arrive several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// The time of the first arrival, from the start of the script.
    pub first: Duration,
    /// The time from one arrival to the next.
    pub every: Duration,
    /// The number of arrivals.
    pub times: u32,
}

/// A value of a key or parameter in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A number such as `0x12`.
    Number(Number),
    /// A string such as `"vrf-80"`, which controllers use instead of a number if the type is
    /// translated.
    Text(String),
}

/// A port in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortOperand {
    /// The number of the port.
    Number(u32),
    /// The string that controllers use instead of the port's number, such as `"Ethernet0"`.
    Text(String),
}

impl PortOperand {
    /// Returns the number of a port in a script for a network. Strings are refused, since ports of
    /// a network have none.
    pub(super) fn number(&self) -> Result<u32, StfError> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Text(text) => {
                Err(StfError::NoText { what: "port".to_owned(), text: text.clone() })
            }
        }
    }
}

/// A parsed script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The statements, in the order in which they run.
    pub statements: Vec<Statement>,
}

/// A statement and its line in the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// The statement itself.
    pub kind: StatementKind,
}

/// A statement of a script, with its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementKind {
    /// `packet 1 0102 03`: a packet arrives.
    Packet {
        /// The port on which the packet arrives.
        port: PortOperand,
        /// The bytes of the packet.
        data: Vec<u8>,
    },
    /// `expect 1 01** $`: a packet leaves the switch by this port. Without data, the switch may
    /// send any number of packets by this port.
    Expect {
        /// The port on which the packet leaves.
        port: PortOperand,
        /// The pattern that the packet must match, or `None` if the statement has no data.
        pattern: Option<Pattern>,
    },
    /// `at 5us` or `at 1ms every 800ns times 1000`: sets the arrival times of the next packet.
    At(Arrivals),
    /// `at 5ms queue s1 port=2 rate=20Mbps; port=2 queue=1 rate=1Mbps`: changes the queues of the
    /// ports that are listed, at the given time.
    Queues {
        /// The time of the change, from the start of the script.
        at: Duration,
        /// The name of the switch in the network.
        switch: String,
        /// The new queues of each port that is listed.
        queues: Configuration,
    },
    /// `source 1 length 1500 0102 03`: packets arrive in a network while later statements run, at
    /// the times that the preceding `at` has set.
    Source {
        /// The port on which the packets arrive.
        port: PortOperand,
        /// The bytes of each packet.
        data: Vec<u8>,
    },
    /// `sender 1 2 until 20s back 40ms length 1250 0102`: sends packets with a congestion window,
    /// as TCP does, from the time that the preceding `at` has set. The window grows with each
    /// packet that arrives, and shrinks if a packet is lost or arrives with an ECN mark.
    Sender {
        /// The port at which the packets enter the network.
        from: PortOperand,
        /// The port at which the packets leave the network and are acknowledged.
        to: PortOperand,
        /// The bytes of each packet.
        data: Vec<u8>,
        /// The time between the departure of a packet from the network and the arrival of its
        /// acknowledgement at the sender.
        back: Duration,
        /// The time at which the sender stops.
        until: Duration,
    },
    /// `on s1 register_read name 0`: executes a statement on one switch of a network, at the time
    /// that the script has reached.
    On {
        /// The name of the switch.
        switch: String,
        /// The statement that is executed on the switch.
        statement: Box<StatementKind>,
    },
    /// `check_delay 1 2 max <= 5ms` or `check_packets 1 2 == 100`: a check of the packets that
    /// cross a network.
    Check(Check),
    /// `no_packet`: the previous packet must not leave the switch.
    NoPacket,
    /// A line whose first word is not a statement. p4c's runner skips such a line.
    Unknown {
        /// The first word of the line.
        word: String,
    },
    /// A `packet` with an odd number of hexadecimal digits. p4c's runner does not send such a
    /// packet.
    HalfByte,
    /// `add table 10 key:0x1 action(parameter:2) = handle`: adds an entry to a table.
    Add {
        /// The full name of the table, or the end of it.
        table: String,
        /// The priority of the entry. If several entries match, the one with the largest number
        /// wins.
        priority: Option<u32>,
        /// The matches of the entry: for each, the name of the key or the end of it, and the values
        /// that match.
        matches: Vec<(String, MatchText)>,
        /// The action of the entry and its arguments.
        action: Call,
        /// The name by which later statements refer to the entry.
        handle: Option<String>,
    },
    /// `table_indirect_add table key:0x1 member` and `table_indirect_add_with_group`: adds an entry
    /// that refers to a member or group of an action profile.
    AddIndirect {
        /// The full name of the table, or the end of it.
        table: String,
        /// The priority of the entry. If several entries match, the one with the largest number
        /// wins.
        priority: Option<u32>,
        /// The matches of the entry: for each, the name of the key or the end of it, and the values
        /// that match.
        matches: Vec<(String, MatchText)>,
        /// The member or group of the table's action profile.
        target: Indirect,
    },
    /// `act_prof_create_member profile 1 action(parameter:2)`: creates a member of an action
    /// profile.
    MemberCreate {
        /// The full name of the action profile or selector, or the end of it.
        profile: String,
        /// The number of the member in its action profile.
        member: u32,
        /// The action of the member and its arguments.
        action: Call,
    },
    /// `act_prof_create_group selector 1`: creates an empty group of an action selector.
    SelectorGroupCreate {
        /// The full name of the action selector, or the end of it.
        profile: String,
        /// The number of the group in its action selector.
        group: u32,
    },
    /// `act_prof_add_member_to_group selector member group`: adds a member to a group.
    GroupAdd {
        /// The full name of the action selector, or the end of it.
        profile: String,
        /// The number of the member in its action profile.
        member: u32,
        /// The number of the group in its action selector.
        group: u32,
    },
    /// `act_prof_remove_member_from_group selector member group`: removes a member from a group.
    GroupRemove {
        /// The full name of the action selector, or the end of it.
        profile: String,
        /// The number of the member in its action profile.
        member: u32,
        /// The number of the group in its action selector.
        group: u32,
    },
    /// `setdefault table action(parameter:2)`: sets the action that the table runs on a miss.
    SetDefault {
        /// The full name of the table, or the end of it.
        table: String,
        /// The action that runs on a miss, and its arguments.
        action: Call,
    },
    /// `remove all`: removes the entries of all tables.
    RemoveAll,
    /// `remove handle`: removes one entry.
    Remove {
        /// The name that the `add` statement has assigned to the entry by `= handle`.
        handle: String,
    },
    /// `check_counter name(2) packets == 1`: checks the value of a counter.
    CheckCounter {
        /// The full name of the counter, or the end of it.
        counter: String,
        /// The element of a counter array, or the entry to which a direct counter belongs.
        cell: Cell,
        /// The condition that the counter's value must meet. Without one, only the existence of the
        /// counter is checked.
        condition: Option<Condition>,
    },
    /// `wait`: advances the time by one second.
    Wait,
    /// `expire_time 1 5s`: sets the timeout of the entries that have this expire time profile
    /// (PNA).
    ExpireTime {
        /// The number of the profile.
        profile: u64,
        /// The timeout.
        time: Duration,
    },
    /// `mirroring_add session port`: sets the port of a clone session.
    MirroringAdd {
        /// The number of the clone session.
        session: u32,
        /// The port to which copies are sent.
        port: PortOperand,
    },
    /// `mirroring_add_mc session group`: sets the multicast group of a clone session.
    MirroringAddGroup {
        /// The number of the clone session.
        session: u32,
        /// The multicast group to which copies are sent.
        group: u32,
    },
    /// `mirroring_delete session`: deletes a clone session.
    MirroringDelete {
        /// The number of the clone session.
        session: u32,
    },
    /// `mirroring_get session`: reports the ports of the session.
    MirroringGet {
        /// The number of the clone session.
        session: u32,
    },
    /// `mc_mgrp_create group`: creates a multicast group.
    GroupCreate {
        /// The number of the multicast group.
        group: u32,
    },
    /// `mc_node_create replication_id port... [| lag...]`: creates a multicast node. Nodes are
    /// numbered from 0.
    NodeCreate {
        /// The replication id, which the copies have as `egress_rid`.
        replication_id: u32,
        /// The ports, each of which receives one copy.
        ports: Vec<PortOperand>,
        /// The link aggregation groups. Each receives one copy, through its first port.
        lags: Vec<u32>,
    },
    /// `mc_node_update node port...`: replaces the ports of a multicast node.
    NodeUpdate {
        /// The number of the multicast node.
        node: u32,
        /// The ports, each of which receives one copy.
        ports: Vec<PortOperand>,
        /// The link aggregation groups. Each receives one copy, through its first port.
        lags: Vec<u32>,
    },
    /// `mc_set_lag_membership lag port...`: sets the ports of a link aggregation group.
    LagMembers {
        /// The number of the link aggregation group.
        lag: u32,
        /// The ports of the link aggregation group.
        ports: Vec<PortOperand>,
    },
    /// `mc_node_associate group node`: adds a node to a multicast group.
    NodeAssociate {
        /// The number of the multicast group.
        group: u32,
        /// The number of the multicast node.
        node: u32,
    },
    /// `counter_read name index`: reports the value of an element of a counter array.
    CounterRead {
        /// The full name of the counter, or the end of it.
        counter: String,
        /// The index of the element in the array.
        index: u64,
    },
    /// `counter_write name index packets bytes`: sets an element of a counter array.
    CounterWrite {
        /// The full name of the counter, or the end of it.
        counter: String,
        /// The index of the element in the array.
        index: u64,
        /// The number of packets to which the counter is set.
        packets: u64,
        /// The number of bytes to which the counter is set.
        bytes: u64,
    },
    /// `register_read name index`: reports the value of an element of a register array.
    RegisterRead {
        /// The full name of the register, or the end of it.
        register: String,
        /// The index of the element in the array.
        index: u64,
    },
    /// `register_write name index value`: sets an element of a register array.
    RegisterWrite {
        /// The full name of the register, or the end of it.
        register: String,
        /// The index of the element in the array.
        index: u64,
        /// The value to which the element is set.
        value: Number,
    },
    /// `register_reset name`: sets all elements to their initial value.
    RegisterReset {
        /// The full name of the register, or the end of it.
        register: String,
    },
    /// `meter_get_rates name index`: reports the rates of an element of a meter array.
    MeterGetRates {
        /// The full name of the meter, or the end of it.
        meter: String,
        /// The index of the element in the array.
        index: u64,
    },
    /// `meter_set_rates name index rate:burst rate:burst` sets the rates of one element of a meter
    /// array. `meter_array_set_rates name rate:burst rate:burst` sets those of all elements.
    MeterSetRates {
        /// The full name of the meter, or the end of it.
        meter: String,
        /// The index of the element in the array, or `None` for all elements.
        index: Option<u64>,
        /// The committed rate, then the peak rate.
        rates: Vec<Rate>,
    },
}

/// A rate of a meter and its burst size, in the units of BMv2's command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The rate in packets or bytes per microsecond, as a decimal number.
    pub units_per_microsecond: String,
    /// The burst size in packets or bytes.
    pub burst: u64,
}

/// The member or group of an action profile to which a table entry refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indirect {
    /// The member with this number.
    Member(u32),
    /// The group with this number.
    Group(u32),
}

/// A call of an action in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The full name of the action, or the end of it.
    pub action: String,
    /// The name and value of each argument, in any order.
    pub arguments: Vec<(String, Operand)>,
}

/// A match for one key, as the script writes it. Its form need not fit the key, whose match kind is
/// not known when the script is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchText {
    /// A value such as `0x12`. It may contain digits `*`, which match any digit, such as `0x1*`.
    Value(Number),
    /// A string such as `"vrf-80"`, which controllers use instead of a number if the type is
    /// translated.
    Text(String),
    /// A value and a prefix length, such as `0x12/8`.
    Prefix(Number, u32),
    /// A value and a mask, such as `0x12&&&0xff`.
    Mask(Number, Number),
    /// The smallest and the largest matching value, such as `1->5` or `1..5`.
    Range(Number, Number),
    /// `*`, which matches any value.
    Any,
}

/// The counter that a statement checks: an element of a counter array, or the direct counter of an
/// entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The index of the element in the array.
    Index(u64),
    /// The direct counter of the entry with this handle.
    Handle(String),
}

/// A condition that a counter's value must meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The part of the value that is compared: packets or bytes.
    pub unit: Unit,
    /// The comparison that must hold.
    pub operator: Comparison,
    /// The number with which the value is compared.
    pub value: u64,
}

/// The part of a counter's value that a statement checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The number of packets, written `packets`.
    Packets,
    /// The number of bytes, written `bytes`.
    Bytes,
}

/// A comparison operator.
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
    /// Returns whether `left` and `right` are in the relation that this operator expresses.
    #[must_use]
    pub fn holds<T: PartialOrd>(self, left: T, right: T) -> bool {
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

/// A pattern for packets: the digits with which a packet must begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The hexadecimal digits. `None` stands for `*`, which matches any digit.
    pub digits: Vec<Option<u8>>,
    /// Whether the packet must end after these digits, which a script writes as `$`.
    pub exact_length: bool,
}

impl Pattern {
    /// Returns whether a packet matches the pattern.
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

/// Returns the hexadecimal digits of a packet, two for each byte.
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
