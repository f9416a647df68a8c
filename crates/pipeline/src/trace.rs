//! The events of a packet's processing, in the order in which they happen.
//!
//! An event refers to parts of the program by their numbers, and holds values instead of text. To
//! enumerate the possible outcomes of a packet, it is processed many times with a trace, and
//! formatting would take most of that time. [`crate::Core::render`] formats values, and the crate
//! `traces` formats whole packets.

use crate::table::{ActionCall, EntryHandle, TableEntry};
use crate::value::Value;
use ir::bits::Bits;
use ir::{ActionId, ExternCallee, Location, ParserId, StateId, TableId, TypeId};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A receiver of the events in the processing of a packet.
pub trait Trace {
    /// Receives an event in the processing of a packet.
    fn event(&mut self, event: Event);

    /// Reports a lookup in a table. The keys are the patterns with which entries are compared, in
    /// the order of [`ir::Table::keys`].
    fn lookup(&mut self, _table: TableId, _keys: &[Bits], _hit: bool) {}

    /// Reports which side of a branch was taken. 0 stands for `else`, the `default` of a `switch`,
    /// or the end of a loop; 1 for `then`, or an iteration of a loop. The cases of a `switch` count
    /// from 1.
    fn branch(&mut self, _at: Location, _side: usize) {}

    /// Reports the case of a `select` that matched, counted from 0, or `None` if no case did.
    fn selected(&mut self, _parser: &str, _state: &str, _case: Option<usize>) {}

    /// Chooses the member of a group that runs for the packet, and returns its position in the
    /// selection. The result must be [`Selection::by_hash`], unless the packet is processed without
    /// lasting effects ([`crate::Switch::try_process`]).
    fn choose(&mut self, selection: &Selection<'_>) -> usize {
        selection.by_hash
    }

    /// Returns whether [`Self::checkpoint`] should receive checkpoints.
    fn wants_checkpoints(&self) -> bool {
        false
    }

    /// Receives the state of a packet without lasting effects, before a statement in which the
    /// packet may choose a member of a group. Some of these statements have no checkpoint. A packet
    /// that is resumed from a checkpoint makes the same choices as the original packet made after
    /// it.
    fn checkpoint(&mut self, _checkpoint: Checkpoint) {}

    /// Returns which events [`Self::event`] should receive from now on.
    fn detail(&self) -> Detail {
        Detail::Values
    }
}

impl Trace for Vec<Event> {
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}

/// The state of a packet that was processed without lasting effects. The packet can be resumed from
/// it ([`crate::Switch::try_again`]).
#[derive(Clone)]
pub struct Checkpoint(pub(crate) Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint").finish_non_exhaustive()
    }
}

/// The level of detail of a trace: which events it receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// No events.
    Nothing,
    /// Only the passes of the packet through pipelines.
    Passes,
    /// The passes of the packet, and also parser states, headers, tables, actions, externs, and
    /// what happens to the packet.
    #[default]
    Steps,
    /// All events, including assignments and the contents of emitted headers.
    Values,
}

/// A choice of one member from a group of an action selector, or from a group that belongs to a
/// single entry.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'s> {
    /// The table whose entry runs the group.
    pub table: TableId,
    /// The number of the group. `None` if the group belongs to the entry alone (one-shot).
    pub group: Option<u32>,
    /// The members that can be chosen. Those that watch a port that is down are missing.
    pub members: &'s [Candidate],
    /// The position of the member that the packet's hash chooses.
    pub by_hash: usize,
}

/// A member of a group that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The number of the member. `None` in a group that belongs to the entry alone (one-shot).
    pub member: Option<u32>,
    /// The weight of the member.
    pub weight: u32,
    /// The action that the member runs.
    pub call: Arc<ActionCall>,
}

/// An argument of an extern that the call reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternArgument {
    /// A value and its type.
    Value(Value, TypeId),
    /// An action, which the call names.
    Action(ActionId),
}

/// An event in the processing of a packet.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A packet starts a pass through a pipeline: `ingress`, `egress` and so on.
    Pass {
        /// The number of the pass. It is 0 for the first pass, and otherwise the number in the
        /// [`Event::Further`] that announced the pass.
        number: u32,
        /// The name of the pipeline.
        pipeline: &'static str,
        /// The port on which the packet was received, or in egress its output port.
        port: u32,
        /// The length of the packet in bytes.
        length: usize,
        /// The path by which the packet came to the pipeline, such as `normal` or `recirculated`.
        path: &'static str,
    },
    /// The current pass causes a further one, which starts later.
    Further {
        /// The number of the further pass.
        number: u32,
        /// The path by which the packet comes to the further pass.
        path: &'static str,
    },
    /// A parser or control of the package starts.
    Block {
        /// The name of the block that starts.
        name: String,
        /// Whether the block is a parser.
        is_parser: bool,
    },
    /// A parser enters a state.
    State {
        /// The parser that enters the state.
        parser: ParserId,
        /// The state that the parser enters.
        state: StateId,
    },
    /// A header was extracted.
    Extract {
        /// The variable or field that received the header. If the bytes were skipped, the header's
        /// type.
        header: String,
        /// The extracted header.
        value: Value,
        /// The type of the header.
        type_id: TypeId,
    },
    /// A parser rejected the packet.
    Rejected {
        /// The name of the error with which the parser ended.
        error: String,
    },
    /// A packet is looked up in a table.
    Table {
        /// The table in which the packet is looked up.
        table: TableId,
        /// The value of each key.
        keys: Vec<Value>,
    },
    /// A lookup found an entry.
    Hit {
        /// The table in which the packet was looked up.
        table: TableId,
        /// The number of the entry.
        handle: EntryHandle,
        /// The entry that the lookup found.
        entry: TableEntry,
    },
    /// A lookup found no entry.
    Miss {
        /// The table in which the packet was looked up.
        table: TableId,
    },
    /// A member of the group that an entry runs was chosen.
    Chosen {
        /// The table whose entry runs the group.
        table: TableId,
        /// The number of the group. `None` if the group belongs to the entry alone (one-shot).
        group: Option<u32>,
        /// The number of the member. `None` in a group that belongs to the entry alone.
        member: Option<u32>,
        /// The weight of the member.
        weight: u32,
        /// The sum of the weights of all members that could have been chosen.
        total: u64,
    },
    /// An action runs. All events up to the corresponding [`Event::ActionEnd`] happen in the
    /// action.
    Action {
        /// The action that runs.
        action: ActionId,
        /// The table that runs it. `None` if a statement calls it.
        table: Option<TableId>,
        /// The value of each parameter.
        arguments: Vec<Value>,
    },
    /// An action ends.
    ActionEnd,
    /// A value was stored in a variable or field.
    Assign {
        /// The variable or field, in the notation of P4.
        place: String,
        /// The value that was stored, formatted.
        value: String,
    },
    /// An extern function or method was called.
    Extern {
        /// The function, or the instance and method.
        callee: ExternCallee,
        /// The arguments that the call reads.
        arguments: Vec<ExternArgument>,
        /// The place of the call in the source.
        location: Option<Location>,
    },
    /// The packet added an entry to a table.
    Added {
        /// The table to which the entry was added.
        table: TableId,
        /// The entry that was added.
        entry: TableEntry,
    },
    /// A deparser emitted a header or another value.
    Emit {
        /// The variable or field that was emitted. `None` if it is the value of an expression.
        place: Option<String>,
        /// The value that was emitted.
        value: Value,
        /// The type of the value.
        type_id: TypeId,
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
        /// The bytes of the packet.
        packet: Vec<u8>,
    },
}

impl Event {
    /// Returns the lowest level of detail at which a trace receives this event.
    #[must_use]
    pub fn detail(&self) -> Detail {
        match self {
            Self::Pass { .. } | Self::Further { .. } => Detail::Passes,
            Self::Block { .. }
            | Self::State { .. }
            | Self::Extract { .. }
            | Self::Rejected { .. }
            | Self::Table { .. }
            | Self::Hit { .. }
            | Self::Miss { .. }
            | Self::Chosen { .. }
            | Self::Action { .. }
            | Self::ActionEnd
            | Self::Extern { .. }
            | Self::Added { .. }
            | Self::Log { .. }
            | Self::Drop { .. }
            | Self::Copy { .. }
            | Self::Wait { .. }
            | Self::Output { .. } => Detail::Steps,
            Self::Assign { .. } | Self::Emit { .. } => Detail::Values,
        }
    }
}
