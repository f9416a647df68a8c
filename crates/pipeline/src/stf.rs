//! STF: p4c's scripts of packets, entries and expectations.
//!
//! A script is read ([`Script::parse`]), then run against a [`crate::Switch`] ([`run`]). What passes with
//! p4c's runner over BMv2 passes here: outputs are compared port by port, in order, at the end;
//! ports that the script does not name are not looked at, and what the switch refuses is a note.
//! What p4c's runner skips (counters, `wait`, `remove`, `no_packet`) is done here. [`run_network`] runs a script against
//! several switches.

mod books;
mod compare;
mod network;
mod number;
mod observe;
mod parse;
mod report;
mod resolve;
mod run;
mod script;
#[cfg(test)]
mod tests;
mod ways;

pub use network::{Covered, End, Network, run_network, run_network_covered};
pub use number::Number;
pub use parse::SyntaxError;
pub use run::{Options, Report, run, run_covered};
pub use script::{
    Call, Cell, Comparison, Condition, Indirect, MatchText, Pattern, Rate, Script, Statement,
    StatementKind, Unit,
};
pub use ways::{Disagreement, Ran, disagreements};

use crate::{ControlError, RunError};

/// A script that does not fit the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StfError {
    /// No such thing in the program.
    #[error("no {kind} {name}; there is {known}")]
    Unknown {
        /// Table, action and so on.
        kind: &'static str,
        /// As the script has it.
        name: String,
        /// What could have been meant.
        known: String,
    },
    /// The end of several names.
    #[error("{kind} {name} may be {first} or {second}: write more of the name")]
    Ambiguous {
        /// Table, action and so on.
        kind: &'static str,
        /// As the script has it.
        name: String,
        /// One of them.
        first: String,
        /// Another.
        second: String,
    },
    /// A name that BMv2's command line does not take.
    #[error(
        "BMv2's command line takes no {kind} {name}: it needs the whole name, or an end of it after a \
         dot that no other has"
    )]
    NotUnique {
        /// Table or action.
        kind: &'static str,
        /// As the script has it.
        name: String,
    },
    /// An action without one of its arguments.
    #[error("action {action} needs a value for parameter {parameter}")]
    Missing {
        /// Its name.
        action: String,
        /// Which parameter.
        parameter: String,
    },
    /// A value that does not fit its key.
    #[error("key {key} has {width} bits, {value} does not fit")]
    Width {
        /// Its name.
        key: String,
        /// In bits.
        width: u32,
        /// As the script has it.
        value: String,
    },
    /// A match of a form that its key does not have.
    #[error("key {key} is matched {kind}: it cannot match {form}")]
    Form {
        /// Its name.
        key: String,
        /// Of the table.
        kind: &'static str,
        /// What was given.
        form: &'static str,
    },
    /// A handle, node or group that was not made before.
    #[error("no {kind} {name} was made before")]
    NotMade {
        /// What it is.
        kind: &'static str,
        /// As the script has it.
        name: String,
    },
    /// Rates that a meter of BMv2 does not take.
    #[error(
        "a meter has two rates, the committed and the peak rate, and the second is not the smaller"
    )]
    Rates,
    /// A line that begins with no statement.
    #[error("`{0}` is no statement (add, packet, expect, ...)")]
    NoStatement(String),
    /// A packet with an odd number of digits.
    #[error("the packet has half a byte: the number of digits is odd")]
    HalfByte,
    /// A statement for one switch, in a network of several.
    #[error(
        "a network has packet, expect, no_packet and wait; what its switches hold is in their runtime files"
    )]
    NotInNetwork,
    /// The switch refuses.
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// What did not come as the script says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// Another packet than expected.
    Different {
        /// Line of the expectation.
        line: usize,
        /// Where it left.
        port: u32,
        /// What it must begin with.
        expected: Pattern,
        /// The packet.
        got: Vec<u8>,
        /// Line of the packet that it came of.
        cause: usize,
    },
    /// Nothing came.
    Missing {
        /// Line of the expectation.
        line: usize,
        /// Where it should have left.
        port: u32,
        /// What it must begin with.
        expected: Option<Pattern>,
    },
    /// Nothing was expected.
    Unexpected {
        /// Where it left.
        port: u32,
        /// The packet.
        got: Vec<u8>,
        /// Line of the packet that it came of.
        cause: usize,
    },
    /// A counter has another value.
    Counter {
        /// Line of the check.
        line: usize,
        /// Its name.
        counter: String,
        /// What must hold.
        condition: Condition,
        /// The value.
        got: u64,
    },
    /// The program stopped at a packet.
    Run {
        /// Line of the packet.
        line: usize,
        /// Why.
        error: RunError,
    },
    /// Two ways of running the program give different results.
    Ways(Disagreement),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.write(f, &|port| format!("port {port}"))
    }
}

impl Failure {
    /// In words; `name` says what a port is called.
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
                writeln!(f, "line {line}: no packet came on {}", name(*port))?;
                match expected {
                    Some(expected) => writeln!(f, "        expected {expected}"),
                    None => Ok(()),
                }
            }
            Self::Unexpected { port, got, cause } => {
                writeln!(
                    f,
                    "line {cause}: this packet gave one on {} that nothing expects",
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
            Self::Run { line, error } => writeln!(f, "line {line}: {error}"),
            Self::Ways(disagreement) => write!(f, "{disagreement}"),
        }
    }
}
