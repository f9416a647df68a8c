//! STF, the format of p4c's test scripts, which contain packets, table entries and expected
//! outputs.
//!
//! A script is parsed ([`Script::parse`]) and then run on a [`pipeline::Switch`] ([`run`]). A
//! script that passes with p4c's test runner for BMv2 also passes here, unless the [`Options`] are
//! stricter. As in that runner, outputs are compared port by port, in order, when the script ends,
//! ports that the script does not name are ignored, and an operation that the switch refuses only
//! causes a note. Statements that p4c's runner skips (counters, `wait`, `remove`, `no_packet`) are
//! executed here. [`run_network`] runs a script on several switches, whose ports may have queues,
//! in virtual time.

mod checks;
mod compare;
mod network;
mod number;
mod observe;
mod outcome;
mod parse;
mod record;
mod report;
mod resolve;
mod run;
mod script;
mod strings;
#[cfg(test)]
mod tests;
mod ways;

pub use checks::{Check, Requirement, Share, Statistic};
pub use network::{Covered, Network, run_network, run_network_covered};
pub use number::Number;
pub use outcome::{Crossing, End, Options, QueueRecord, Report};
pub use parse::SyntaxError;
pub use run::{run, run_covered};
pub use script::{
    Arrivals, Call, Cell, Comparison, Condition, Indirect, MatchText, Operand, Pattern,
    PortOperand, Rate, Script, Statement, StatementKind, Unit,
};
pub use strings::port_before;
pub use ways::{Disagreement, Ran, disagreements};

use entities::EntityError;
use pipeline::{ControlError, RunError};
use std::time::Duration;

/// An error for a statement of a script that cannot be carried out on the program or network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StfError {
    /// The program has no object of this kind with this name.
    #[error("no {kind} {name}; there is {known}")]
    Unknown {
        /// The kind of object: a table, an action and so on.
        kind: &'static str,
        /// The name of the object in the script.
        name: String,
        /// The names of the program's objects of this kind, for the error message.
        known: String,
    },
    /// Several objects have full names that end with the name in the script.
    #[error("{kind} {name} is ambiguous, {first} or {second}: write more of the name")]
    Ambiguous {
        /// The kind of object: a table, an action and so on.
        kind: &'static str,
        /// The name of the object in the script.
        name: String,
        /// The full name of an object that the name in the script may mean.
        first: String,
        /// The full name of another object that the name in the script may mean.
        second: String,
    },
    /// BMv2's command line would not accept the name of a table or action in the script, because it
    /// is not unique.
    #[error(
        "BMv2's command line takes no {kind} {name}: it needs the whole name, or an end of it after a \
         dot that no other has"
    )]
    NotUnique {
        /// The kind of object: a table or an action.
        kind: &'static str,
        /// The name of the object in the script.
        name: String,
    },
    /// A call of an action in the script lacks an argument.
    #[error("action {action} needs a value for parameter {parameter}")]
    Missing {
        /// The name of the action that is called.
        action: String,
        /// The name of the parameter without an argument.
        parameter: String,
    },
    /// A value in the script is too wide for its key.
    #[error("key {key} has {width} bits, {value} does not fit")]
    Width {
        /// The name of the key in the table.
        key: String,
        /// The width of the key in bits.
        width: u32,
        /// The value in the script.
        value: String,
    },
    /// A match in the script has a form (such as a prefix or a range) that does not fit the match
    /// kind of its key.
    #[error("key {key} is matched {kind}: it cannot match {form}")]
    Form {
        /// The name of the key in the table.
        key: String,
        /// The match kind of the key.
        kind: &'static str,
        /// The form that the match has in the script.
        form: &'static str,
    },
    /// A statement refers to an entry handle, multicast node or group that no earlier statement has
    /// created.
    #[error("no {kind} {name} was created before")]
    NotMade {
        /// The kind of object: an entry handle, a multicast node or a group.
        kind: &'static str,
        /// The name of the object in the script.
        name: String,
    },
    /// BMv2 would not accept the rates in a statement for a meter.
    #[error(
        "a meter has two rates, the committed and the peak rate, and the second is not the smaller"
    )]
    Rates,
    /// A statement sets the timeout of an expire time profile, which only programs for PNA have.
    #[error("only programs for PNA have expire time profiles")]
    NoExpireTimes,
    /// A line does not begin with the keyword of a statement. The string is its first word.
    #[error("`{0}` is not a statement (add, packet, expect, ...)")]
    NoStatement(String),
    /// The time of an `at` statement is before the time that the script has reached.
    #[error("a packet or change at {at:?} cannot follow one at {now:?}: sort them by time")]
    BackInTime {
        /// The time of the statement.
        at: Duration,
        /// The time that the script has reached.
        now: Duration,
    },
    /// A packet in the script has an odd number of hexadecimal digits.
    #[error("the packet has half a byte: the number of digits is odd")]
    HalfByte,
    /// A statement that configures a switch is in a script for a network, where it must name a
    /// switch (`on`).
    #[error(
        "a statement for one switch of a network begins with `on` and its name, such as `on s1 add ...`; the network \
         itself has packet, expect, no_packet, source, sender, check_delay, check_packets, at and wait"
    )]
    NotInNetwork,
    /// A statement about queues is in a script for a single switch, where no time passes in queues.
    #[error("queues need virtual time: run the script with --topology")]
    QueuesWithoutNetwork,
    /// A statement for a network of switches is in a script for a single switch.
    #[error("source, sender, on, check_delay and check_packets need a network (--topology)")]
    OnlyInNetwork,
    /// A `sender` statement starts too many senders, because of the number of times in the `at`
    /// before it.
    #[error("an `at` starts at most {most} senders, not {times}")]
    ManySenders {
        /// The number of senders in the script.
        times: u32,
        /// The largest number of senders that is accepted.
        most: u32,
    },
    /// The statement after `on` depends on other statements or on packets, so it cannot be run by
    /// itself.
    #[error(
        "`on` takes statements about tables, counters, registers, meters and clone sessions that need no other \
         statement; multicast groups are in runtime files"
    )]
    NotOnSwitch,
    /// A statement names a switch that the network does not have.
    #[error("the network has no switch {name}; there is {known}")]
    NoSwitch {
        /// The name of the switch in the script.
        name: String,
        /// The names of the network's switches.
        known: String,
    },
    /// A statement names a port that the network does not have.
    #[error("the network has no port {0} to the outside")]
    NoPort(u32),
    /// The script has a string for a value whose type is not translated to strings, so a number is
    /// required.
    #[error("the {what} takes no string, so \"{text}\" has no number; write a number")]
    NoText {
        /// The key, parameter or port for which the script has a string.
        what: String,
        /// The string in the script.
        text: String,
    },
    /// A string cannot be translated to a number.
    #[error(transparent)]
    Text(#[from] EntityError),
    /// The switch refuses an operation that a statement requests.
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// A difference between what a script expects and what the switch did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A packet that the switch sent differs from the expected one.
    Different {
        /// The line of the `expect` statement.
        line: usize,
        /// The port through which the packet was sent.
        port: u32,
        /// The pattern with which the packet must begin.
        expected: Pattern,
        /// The packet that the switch sent.
        got: Vec<u8>,
        /// The line of the `packet` statement that caused the packet.
        cause: usize,
    },
    /// The switch did not send an expected packet.
    Missing {
        /// The line of the `expect` statement.
        line: usize,
        /// The port on which the packet was expected.
        port: u32,
        /// The pattern with which the packet must begin, if the script has one.
        expected: Option<Pattern>,
    },
    /// The switch sent a packet that the script does not expect.
    Unexpected {
        /// The port through which the packet was sent.
        port: u32,
        /// The packet that the switch sent.
        got: Vec<u8>,
        /// The line of the `packet` statement that caused the packet.
        cause: usize,
    },
    /// A counter has another value than the script expects.
    Counter {
        /// The line of the statement that checks the counter.
        line: usize,
        /// The name of the counter.
        counter: String,
        /// The condition on the counter's value that the script states.
        condition: Condition,
        /// The value that the counter has.
        got: u64,
    },
    /// The packets that crossed a network do not meet a condition.
    Check {
        /// The line of the statement.
        line: usize,
        /// The measured value, as text.
        found: String,
        /// The condition that the value must meet, as text.
        expected: String,
    },
    /// The program could not process a packet.
    Run {
        /// The line of the `packet` statement.
        line: usize,
        /// The error with which the processing of the packet ended.
        error: RunError,
    },
    /// The program has different results when it is run in two different ways, such as interpreted
    /// and compiled.
    Ways(Disagreement),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.write(f, &|port| format!("port {port}"))
    }
}

impl Failure {
    /// Writes the failure as text. `name` returns the name of a port.
    fn write(
        &self,
        f: &mut std::fmt::Formatter<'_>,
        name: &dyn Fn(u32) -> String,
    ) -> std::fmt::Result {
        match self {
            Self::Different { line, port, expected, got, cause } => {
                writeln!(
                    f,
                    "line {line}: the packet on {} (sent at line {cause}) differs",
                    name(*port)
                )?;
                f.write_str(&report::beside(expected, got))
            }
            Self::Missing { line, port, expected } => {
                writeln!(f, "line {line}: no packet left by {}", name(*port))?;
                match expected {
                    Some(expected) => writeln!(f, "        expected {expected}"),
                    None => Ok(()),
                }
            }
            Self::Unexpected { port, got, cause } => {
                writeln!(
                    f,
                    "line {cause}: this packet left by {}, where nothing expects it",
                    name(*port)
                )?;
                writeln!(f, "        got      {}", report::hex(got))
            }
            Self::Counter { line, counter, condition, got } => {
                let Condition { unit, operator, value } = condition;
                let unit = match unit {
                    Unit::Packets => "packets",
                    Unit::Bytes => "bytes",
                };
                writeln!(
                    f,
                    "line {line}: counter {counter}: expected {unit} {operator} {value}, got {got}"
                )
            }
            Self::Check { line, found, expected } => {
                writeln!(f, "line {line}: {found}; expected {expected}")
            }
            Self::Run { line, error } => writeln!(f, "line {line}: {error}"),
            Self::Ways(disagreement) => write!(f, "{disagreement}"),
        }
    }
}
