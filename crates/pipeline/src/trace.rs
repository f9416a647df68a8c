//! The events of a packet's processing, in the order in which they happen.

use crate::table::TableEntry;
use ir::bits::Bits;
use ir::{Location, TableId};
use std::fmt;

/// A receiver of the events in the processing of a packet.
pub trait Trace {
    /// Receives an event in the processing of a packet.
    fn event(&mut self, event: Event);

    /// Reports a lookup in a table. The keys are the patterns with which entries are compared, in
    /// the order of [`ir::Table::keys`].
    fn lookup(&mut self, _table: TableId, _keys: &[Bits], _hit: bool) {}

    /// Reports which side of a branch was taken: 0 is `else`, the `default` of a `switch`, or the
    /// end of a loop; 1 is `then`, or a turn of a loop; the cases of a `switch` count from 1.
    fn branch(&mut self, _at: Location, _side: usize) {}

    /// Reports the case of a `select` that matched, counted from 0, or `None` if no case did.
    fn selected(&mut self, _parser: &str, _state: &str, _case: Option<usize>) {}

    /// Returns whether [`Self::event`] should be called. Events contain text, whose formatting
    /// takes longer than all other processing of a packet.
    fn wants_events(&self) -> bool {
        true
    }
}

impl Trace for Vec<Event> {
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}

/// An event in the processing of a packet. Names are those of the program, and values are formatted
/// for people, with the names of fields, errors and members.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A packet starts a pass through a pipeline: `ingress`, `egress` and so on.
    Pass {
        /// The name of the pipeline.
        pipeline: &'static str,
        /// The port on which the packet was received, or in egress its output port.
        port: u32,
        /// The length of the packet in bytes.
        length: usize,
        /// The path by which the packet came to the pipeline, such as `normal` or `recirculated`.
        path: &'static str,
    },
    /// A parser or control of the package starts.
    Block {
        /// The name of the block that starts.
        name: String,
    },
    /// A parser enters a state.
    State {
        /// The name of the parser that enters the state.
        parser: String,
        /// The name of the state that the parser enters.
        state: String,
    },
    /// A header was extracted.
    Extract {
        /// The variable or field of the header. If the bytes were skipped, the header's type.
        header: String,
        /// The values of the header's fields.
        value: String,
    },
    /// A parser rejected the packet.
    Rejected {
        /// The name of the error with which the parser ended.
        error: String,
    },
    /// A table is looked up.
    Table {
        /// The name of the table that is looked up.
        table: String,
        /// The name and value of each key.
        keys: Vec<(String, String)>,
    },
    /// A lookup found an entry.
    Hit {
        /// The name of the table that is looked up.
        table: String,
        /// The entry that the lookup found.
        entry: TableEntry,
    },
    /// A lookup found no entry.
    Miss {
        /// The name of the table that is looked up.
        table: String,
    },
    /// An action runs.
    Action {
        /// The name of the action that runs.
        name: String,
        /// The name and value of each parameter.
        arguments: Vec<(String, String)>,
    },
    /// A value was stored in a variable or field.
    Assign {
        /// The variable or field, in the notation of P4.
        place: String,
        /// The value that was stored.
        value: String,
    },
    /// An extern function or method was called.
    Extern {
        /// The name of the function, or of the instance and method.
        name: String,
        /// The values of the arguments that the call reads.
        arguments: Vec<String>,
    },
    /// The packet added an entry to a table.
    Added {
        /// The name of the table to which the entry was added.
        table: String,
        /// The entry that was added.
        entry: TableEntry,
    },
    /// A deparser emitted a header or another value.
    Emit {
        /// The value that was emitted.
        value: String,
    },
    /// The program logged a message with `log_msg`.
    Log {
        /// The text of the message, with its values inserted.
        text: String,
    },
    /// The packet was dropped.
    Drop {
        /// The reason why the packet was dropped.
        reason: &'static str,
    },
    /// The packet was copied, resubmitted or recirculated.
    Copy {
        /// The kind of the copy, such as a clone or a recirculation.
        kind: &'static str,
    },
    /// A packet is handed over to a queue of its output port.
    Wait {
        /// The output port.
        port: u32,
        /// The number of the queue.
        queue: u64,
        /// The length of the packet in bytes.
        length: u64,
    },
    /// A packet is transmitted.
    Output {
        /// The port through which the packet is transmitted.
        port: u32,
        /// The length of the packet in bytes.
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
            Self::Wait { port, queue, length } => {
                write!(f, "queue {queue} of port {port}: {length} bytes")
            }
            Self::Output { port, length } => write!(f, "output: port {port}, {length} bytes"),
        }
    }
}
