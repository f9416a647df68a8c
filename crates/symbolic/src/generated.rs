//! Generated tests: packets, what the control plane configures before them, and the packets that
//! must leave the switch.

use ir::bits::Bits;
use serde::Serialize;
use std::fmt::Write as _;

/// The version of the JSON format of tests.
pub const SCHEMA: u32 = 3;

/// A test of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Test {
    /// The number of the test, counted from 1.
    pub number: usize,
    /// The goal for which the test was made: a part of the program, or a wish of the user.
    pub goal: String,
    /// The timeouts that the control plane sets for expire-time profiles (PNA).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expire_times: Vec<ExpireTime>,
    /// The entries that the control plane adds.
    pub entries: Vec<Entry>,
    /// The default actions that the control plane sets.
    pub defaults: Vec<Default>,
    /// The cells of registers that the control plane writes.
    pub registers: Vec<Cell>,
    /// The clone sessions that the control plane creates.
    pub sessions: Vec<Session>,
    /// The multicast groups that the control plane creates.
    pub groups: Vec<Group>,
    /// The packets that the switch receives before the last one, in order. Most tests have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Exchange>,
    /// The time from the arrival of the first packet to that of the last one, in seconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub seconds: u32,
    /// The port on which the last packet arrives.
    pub port: u32,
    /// The bytes of the last packet, in hexadecimal digits.
    pub packet: String,
    /// The packets that leave the switch because of the last packet.
    pub outputs: Vec<Output>,
}

/// A packet that the switch receives, with the packets that leave the switch because of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// The time from the arrival of the test's first packet to that of this one, in seconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub seconds: u32,
    /// The port on which the packet arrives.
    pub port: u32,
    /// The bytes of the packet, in hexadecimal digits.
    pub packet: String,
    /// The packets that leave the switch because of this packet.
    pub outputs: Vec<Output>,
}

/// The timeout of the entries that have an expire-time profile (PNA).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExpireTime {
    /// The number of the expire-time profile.
    pub profile: u32,
    /// The timeout in seconds.
    pub seconds: u32,
}

/// A table entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The name of the table.
    pub table: String,
    /// The priority; entries with a larger number win. `None` for tables without priorities.
    pub priority: Option<u32>,
    /// The matches, in the order of the keys.
    pub matches: Vec<Match>,
    /// The action that the entry runs, with its arguments.
    pub action: Call,
    /// The member of an action profile that holds the action; `None` if the entry itself holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<Member>,
}

/// A member of an action profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The name of the action profile.
    pub profile: String,
    /// The number of the member.
    pub member: u32,
}

/// The match of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The name of the key.
    pub key: String,
    /// The values that match, in the notation of STF scripts.
    pub value: String,
    /// The position of the key among all keys of the table.
    #[serde(skip)]
    pub position: usize,
    /// The values that match, as numbers of the key's width.
    #[serde(skip)]
    pub matched: Matched,
}

/// The values of a key that an entry matches. If the key is a slice of a field, these are values of
/// the slice, while an STF script has values of the whole field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matched {
    /// One value.
    Exact(Bits),
    /// All values that equal `value` in the bits of `mask`.
    Ternary {
        /// The value.
        value: Bits,
        /// The bits that are compared.
        mask: Bits,
    },
    /// All values that have the same first bits as `value`.
    Lpm {
        /// The value.
        value: Bits,
        /// The number of leading bits that are compared.
        prefix: u32,
    },
    /// All values from `low` to `high`, both included.
    Range {
        /// The least value.
        low: Bits,
        /// The largest value.
        high: Bits,
    },
}

/// An action with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The name of the action.
    pub name: String,
    /// The arguments, each after the name of its parameter, in the order of the parameters.
    pub arguments: Vec<(String, String)>,
}

/// The default action of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Default {
    /// The name of the table.
    pub table: String,
    /// The action, with its arguments.
    pub action: Call,
}

/// The contents of one cell of a register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The name of the register.
    pub register: String,
    /// The index of the cell.
    pub index: u64,
    /// The contents of the cell.
    pub value: String,
}

/// A clone session with one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Session {
    /// The number of the session.
    pub session: u32,
    /// The port to which the clones go.
    pub port: u32,
}

/// A multicast group with one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The number of the group.
    pub group: u32,
    /// The port to which the copies go.
    pub port: u32,
    /// The replication identifier of the copies.
    pub instance: u32,
}

/// A packet that leaves the switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Output {
    /// The port by which the packet leaves.
    pub port: u32,
    /// The hexadecimal digits of the packet, with `*` for digits that are undefined.
    pub digits: String,
}

/// Returns whether a number is zero, so that it is left out of JSON.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Returns a number as hexadecimal digits with `0x`.
pub(crate) fn hexadecimal(bits: &Bits) -> String {
    format!("{:#x}", bits.cast(bits.width(), false))
}

impl Entry {
    /// Returns whether two entries are equal, whatever the numbers of their members are.
    pub(crate) fn is_equal_but_for_member(&self, other: &Self) -> bool {
        let Self { table, priority, matches, action, member } = self;
        *table == other.table
            && *priority == other.priority
            && *matches == other.matches
            && *action == other.action
            && member.is_some() == other.member.is_some()
    }
}

impl Call {
    fn stf(&self) -> String {
        let arguments = self.arguments.iter().map(|(name, value)| format!("{name}:{value}"));
        format!("{}({})", self.name, arguments.collect::<Vec<_>>().join(", "))
    }
}

impl Test {
    /// Returns the test as an STF script.
    #[must_use]
    pub fn stf(&self) -> String {
        let mut text = format!("# {}\n", self.goal);
        let mut line = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        self.configuration().into_iter().for_each(&mut line);
        let has_times = self.passes_time();
        for Exchange { seconds, port, packet, outputs } in &self.exchanges() {
            if has_times {
                line(format!("at {seconds}s"));
            }
            line(format!("packet {port} {packet}"));
            for Output { port, digits } in outputs {
                line(format!("expect {port} {digits} $"));
            }
            if outputs.is_empty() {
                line("no_packet".to_owned());
            }
        }
        text
    }

    /// Returns all packets that the switch receives, in order.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        let Self { seconds, port, packet, outputs, .. } = self;
        let (packet, outputs) = (packet.clone(), outputs.clone());
        let last = Exchange { seconds: *seconds, port: *port, packet, outputs };
        self.earlier.iter().cloned().chain(std::iter::once(last)).collect()
    }

    /// Returns whether time passes between packets, so that each must be sent at its time.
    #[must_use]
    pub fn passes_time(&self) -> bool {
        // The times of packets do not decrease.
        self.seconds > 0
    }

    /// Returns the lines of the STF script that configure the switch before the packets.
    #[must_use]
    pub fn configuration(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for ExpireTime { profile, seconds } in &self.expire_times {
            lines.push(format!("expire_time {profile} {seconds}s"));
        }
        for Cell { register, index, value } in &self.registers {
            lines.push(format!("register_write {register} {index} {value}"));
        }
        for Default { table, action } in &self.defaults {
            lines.push(format!("setdefault {table} {}", action.stf()));
        }
        for entry in &self.entries {
            let mut head = entry.table.clone();
            if let Some(priority) = entry.priority {
                let _ = write!(head, " {priority}");
            }
            for Match { key, value, .. } in &entry.matches {
                let _ = write!(head, " {key}:{value}");
            }
            match &entry.member {
                None => lines.push(format!("add {head} {}", entry.action.stf())),
                Some(Member { profile, member }) => {
                    let action = entry.action.stf();
                    lines.push(format!("act_prof_create_member {profile} {member} {action}"));
                    lines.push(format!("table_indirect_add {head} {member}"));
                }
            }
        }
        for Session { session, port } in &self.sessions {
            lines.push(format!("mirroring_add {session} {port}"));
        }
        for (node, Group { group, port, instance }) in self.groups.iter().enumerate() {
            lines.push(format!("mc_mgrp_create {group}"));
            lines.push(format!("mc_node_create {instance} {port}"));
            lines.push(format!("mc_node_associate {group} {node}"));
        }
        lines
    }

    /// Returns the number of digits in all outputs, and how many of these are undefined.
    #[must_use]
    pub fn masked(&self) -> (usize, usize) {
        let earlier = self.earlier.iter().flat_map(|exchange| &exchange.outputs);
        let (mut all, mut masked) = (0, 0);
        for output in earlier.chain(&self.outputs) {
            all += output.digits.len();
            masked += output.digits.matches('*').count();
        }
        (all, masked)
    }
}
