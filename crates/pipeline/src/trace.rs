//! What happened to a packet, in the order in which it happened.

use crate::table::TableEntry;
use ir::bits::Bits;
use ir::{Location, TableId};
use std::fmt;

/// Takes events as they happen.
pub trait Trace {
    /// Something happened.
    fn event(&mut self, event: Event);

    /// A table was looked up; keys are the patterns that entries are compared with, in the order of
    /// [`ir::Table::keys`].
    fn lookup(&mut self, _table: TableId, _keys: &[Bits], _hit: bool) {}

    /// A branch was decided: 0 is `else`, `default` of a `switch` and the end of a loop; 1 is `then` and a turn of a loop;
    /// cases of a `switch` are counted from 1.
    fn branch(&mut self, _at: Location, _side: usize) {}

    /// A `select` was decided: the case of the state that fits, from 0.
    fn selected(&mut self, _parser: &str, _state: &str, _case: Option<usize>) {}

    /// Whether [`Self::event`] is of use. Events hold text, and to make it takes longer than all else that is
    /// done for a packet.
    fn wants_events(&self) -> bool {
        true
    }
}

impl Trace for Vec<Event> {
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}

/// Something that happened. Names are those of the program; values are as people read them, with the
/// names of fields, errors and members.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A packet enters a pipeline: `ingress`, `egress` and so on.
    Pass {
        /// Which one.
        pipeline: &'static str,
        /// The port it came from, or goes to.
        port: u32,
        /// Length in bytes.
        length: usize,
        /// How it got here, such as `normal` or `recirculated`.
        path: &'static str,
    },
    /// A parser or control of the package starts.
    Block {
        /// Its name.
        name: String,
    },
    /// A parser enters a state.
    State {
        /// Name of the parser.
        parser: String,
        /// Name of the state.
        state: String,
    },
    /// A header was extracted.
    Extract {
        /// Where it went, or the header's type if it was skipped.
        header: String,
        /// Its fields.
        value: String,
    },
    /// A parser rejected the packet.
    Rejected {
        /// Name of the error.
        error: String,
    },
    /// A table is looked up.
    Table {
        /// Name of the table.
        table: String,
        /// Name and value of each key.
        keys: Vec<(String, String)>,
    },
    /// An entry matched.
    Hit {
        /// Name of the table.
        table: String,
        /// What matched.
        entry: TableEntry,
    },
    /// No entry matched.
    Miss {
        /// Name of the table.
        table: String,
    },
    /// An action runs.
    Action {
        /// Its name.
        name: String,
        /// Name and value of each parameter.
        arguments: Vec<(String, String)>,
    },
    /// A value was stored.
    Assign {
        /// Where.
        place: String,
        /// What.
        value: String,
    },
    /// An extern ran.
    Extern {
        /// Function, or instance and method.
        name: String,
        /// Values of the arguments that it reads.
        arguments: Vec<String>,
    },
    /// An entry was added by the packet.
    Added {
        /// Name of the table.
        table: String,
        /// What was added.
        entry: TableEntry,
    },
    /// Something that a deparser was given to emit.
    Emit {
        /// Its value.
        value: String,
    },
    /// Text of `log_msg`.
    Log {
        /// With its values put in.
        text: String,
    },
    /// The packet ends here.
    Drop {
        /// Why.
        reason: &'static str,
    },
    /// A copy, resubmission or recirculation was made.
    Copy {
        /// Which.
        kind: &'static str,
    },
    /// A packet leaves.
    Output {
        /// Port.
        port: u32,
        /// Length in bytes.
        length: usize,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |f: &mut fmt::Formatter<'_>, values: &[(String, String)]| {
            for (position, (name, value)) in values.iter().enumerate() {
                let separator = if position > 0 { ", " } else { "" };
                write!(f, "{separator}{name} = {value}")?;
            }
            Ok(())
        };
        match self {
            Self::Pass { pipeline, port, length, path } => {
                write!(f, "{pipeline}: port {port}, {length} bytes, {path}")
            }
            Self::Block { name } => write!(f, "  {name}"),
            Self::State { parser, state } => write!(f, "    state {parser}.{state}"),
            Self::Extract { header, value } => write!(f, "      extract {header} = {value}"),
            Self::Rejected { error } => write!(f, "    reject: {error}"),
            Self::Table { table, keys } => {
                write!(f, "    table {table}: ")?;
                named(f, keys)
            }
            Self::Hit { table, entry } => {
                let matches: Vec<String> = entry.matches.iter().map(ToString::to_string).collect();
                write!(f, "    hit {table}: {}", matches.join(", "))?;
                if entry.priority > 0 {
                    write!(f, ", priority {}", entry.priority)?;
                }
                Ok(())
            }
            Self::Miss { table } => write!(f, "    miss {table}"),
            Self::Action { name, arguments } => {
                write!(f, "    action {name}(")?;
                named(f, arguments)?;
                f.write_str(")")
            }
            Self::Assign { place, value } => write!(f, "      {place} = {value}"),
            Self::Extern { name, arguments } => {
                write!(f, "      {name}({})", arguments.join(", "))
            }
            Self::Added { table, entry } => {
                let matches: Vec<String> = entry.matches.iter().map(ToString::to_string).collect();
                write!(f, "      add to {table}: {}", matches.join(", "))
            }
            Self::Emit { value } => write!(f, "      emit {value}"),
            Self::Log { text } => write!(f, "      log: {text}"),
            Self::Drop { reason } => write!(f, "  drop: {reason}"),
            Self::Copy { kind } => write!(f, "  {kind}"),
            Self::Output { port, length } => write!(f, "output: port {port}, {length} bytes"),
        }
    }
}
