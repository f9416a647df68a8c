//! The resolved form of a program, from which the code generator makes machine code.
//!
//! One pass over the IR assigns every variable an offset in one flat frame of bytes and turns every
//! name, path and type into an offset, a width and a sign, so that nothing is looked up by name
//! while a packet is processed. The design choices:
//!
//! * **Headers have the layout of the packet.** A validity flag is followed by the fields in
//!   network order, without padding, so that `extract` and `emit` are copies and a field is a load
//!   of big-endian bytes, shifted and masked. All other values (metadata, locals, parameters) are
//!   native words of 1, 2, 4 or 8 bytes, aligned. See [`shape`].
//! * **Parameters of the package's blocks share their storage.** The architecture passes the same
//!   headers and metadata from block to block, so the parameters that stand for them have the same
//!   offset in all blocks, and nothing is copied between blocks.
//! * **Calls are copies.** The copies of a call's arguments, in and out, are explicit stores around
//!   the call. Only a control that is called once has its parameters where the arguments are
//!   (`shared`).
//! * **Values have 64 bits.** A number of up to 64 bits is its bit pattern with zeros above its
//!   width, signed or not. Wider numbers are moved as bytes, or part by part (`wide`).
//! * **Rare operations are left to the interpreter.** A statement that this form cannot express, or
//!   an expression whose value is not a number of at most 64 bits, becomes a step of the
//!   interpreter, with a list of the places that the step touches: see [`moves`].
//! * **Programs are refused rather than approximated.** A construct that neither code nor the
//!   interpreter's steps can express ends the pass with [`CompileError::Unsupported`] and its place
//!   in the source.

mod block;
mod bodies;
mod emitted;
mod expression;
pub(crate) mod gather;
mod members;
pub(crate) mod moves;
mod place;
pub(crate) mod shape;
mod shared;
mod statement;
mod table;
mod unrolled;
mod wide;

pub(crate) use bodies::Bodies;

pub(crate) use crate::callee::Callee;
use crate::error::CompileError;
use crate::externs::FlatArray;
use crate::layout::{CoreError, Layout, MetadataField};
use crate::table::EntryLayout;
use gather::Gather;
use ir::{ActionId, Direction, ExternId, FunctionId, Location, TableId, TypeId, VariableId};
use moves::{Move, Step};
use shape::{Scalar, Shape, Shapes};
pub(crate) use statement::mask;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// An offset in bytes in the frame, the working memory of a packet.
pub(crate) type Offset = u32;

/// The location of a value in the frame (the packet's working memory). It is a fixed offset, except
/// for an element of a header stack that the stack's `nextIndex` selects at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) offset: Offset,
    pub(crate) element: Option<Element>,
}

/// The element `next` or `last` of a header stack, which the stack's `nextIndex` selects at run
/// time. Only parsers use such elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// The offset of the stack's `nextIndex` in the frame (the packet's working memory).
    pub(crate) next: Offset,
    pub(crate) stride: u32,
    pub(crate) size: u32,
    /// Whether this is the stack's `last`, the element before `nextIndex`, rather than its `next`.
    pub(crate) is_last: bool,
}

impl Address {
    pub(crate) fn fixed(offset: Offset) -> Self {
        Self { offset, element: None }
    }

    pub(crate) fn plus(self, bytes: u32) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }
}

/// A number in the frame (the packet's working memory), with its location and representation. It
/// has at most 64 bits, or 128 if it is a parameter that a table's entries set
/// ([`TableAction::data`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) address: Address,
    pub(crate) scalar: Scalar,
}

/// An expression without side effects whose value is a bit pattern of at most 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expression {
    Constant(u64),
    Load(Field),
    /// A header field as a table key: its value if the header is valid, otherwise zero.
    LoadIfValid {
        header: Address,
        value: Box<Expression>,
    },
    Not(Box<Expression>),
    Negate {
        operand: Box<Expression>,
        width: u32,
    },
    Complement {
        operand: Box<Expression>,
        width: u32,
    },
    Binary {
        operator: ir::BinaryOperator,
        width: u32,
        signed: bool,
        left: Box<Expression>,
        right: Box<Expression>,
    },
    /// The concatenation `left ++ right`, where `right` has `right_width` bits.
    Concatenate {
        left: Box<Expression>,
        right: Box<Expression>,
        right_width: u32,
    },
    Slice {
        operand: Box<Expression>,
        low: u32,
        width: u32,
    },
    /// The conversion of a number to another width. If the number is signed, it is sign-extended.
    Resize {
        operand: Box<Expression>,
        from: u32,
        to: u32,
        signed: bool,
    },
    Conditional {
        condition: Box<Expression>,
        then: Box<Expression>,
        otherwise: Box<Expression>,
    },
    IsValid(Address),
    /// The `lastIndex` of a header stack, computed from the stack's `nextIndex`. The latter is at
    /// this offset in the frame, the packet's working memory.
    LastIndex(Offset),
    PacketLength,
}

/// Statements in the order of their execution.
pub(crate) type Block = Vec<Statement>;

/// A statement of the resolved program, with offsets in the frame (the packet's working memory)
/// instead of names.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Store {
        field: Field,
        value: Expression,
    },
    StoreSlice {
        field: Field,
        low: u32,
        width: u32,
        value: Expression,
    },
    /// An assignment of the P4 program. A header that it makes invalid keeps the values of its
    /// fields.
    Assign {
        to: Address,
        from: Address,
        shape: Shape,
    },
    /// A copy of `bytes` bytes from one offset to another, including the fields of invalid headers.
    Move {
        to: Offset,
        from: Address,
        bytes: u32,
    },
    /// Stores new values to the fields of a struct or header. A header becomes valid. All values
    /// are computed before the first one is stored.
    Build {
        header: Option<Address>,
        fields: Vec<(Field, Expression)>,
    },
    Clear {
        at: Address,
        bytes: u32,
    },
    If {
        condition: Expression,
        then: Block,
        otherwise: Block,
    },
    Switch {
        subject: Expression,
        cases: Vec<(Vec<u64>, Block)>,
        default: Block,
    },
    Loop {
        before: Block,
        condition: Expression,
        update: Block,
        body: Block,
    },
    /// Charges the packet this many units of work. Ends its processing if it exceeds its limit.
    Charge(u32),
    Break,
    Continue,
    /// A call of an action, function, parser or control. The statements in `after` run unless the
    /// callee ends with a fault, and those in `result` only if it returns normally.
    Call {
        callee: Callee,
        after: Block,
        result: Block,
    },
    Apply {
        table: u32,
        hit: Option<Field>,
        action_run: Option<Field>,
    },
    /// Extracts a header of `bytes` bytes from the packet, or skips these bytes. If the header is
    /// an element of a stack, increments the stack's `nextIndex` at `next`.
    Extract {
        header: Option<Address>,
        bytes: u32,
        next: Option<Offset>,
    },
    /// Extracts a header like [`Statement::Extract`], and then the varbit at its end, which has
    /// `width` bits. The packet is rejected if that is more than `most`.
    ExtractWithTail {
        header: Address,
        bytes: u32,
        most: u32,
        width: Expression,
    },
    /// Copies a header from the packet without moving the parser's cursor.
    LookaheadHeader {
        header: Address,
        bytes: u32,
    },
    Lookahead {
        field: Field,
    },
    /// Moves the parser's cursor by this number of bits.
    Advance(Expression),
    /// Emits a header if it is valid, with the varbit that follows its fields.
    Emit {
        header: Address,
        bytes: u32,
        tail: u32,
    },
    Verify {
        condition: Expression,
        error: Expression,
    },
    SetValidity {
        header: Address,
        bytes: u32,
        bits: u32,
        /// Whether the header ends with a varbit, which is emitted too.
        tail: bool,
        valid: bool,
    },
    /// Limits the length of the transmitted packet to this many bytes (v1model's `truncate`).
    Truncate(Expression),
    /// Ends the processing of the packet with the fault of this number unless the condition holds
    /// (`assert` and `assume`).
    Assert {
        condition: Expression,
        fault: u32,
    },
    ReadRegister {
        register: u32,
        array: Option<FlatArray>,
        index: Expression,
        to: Field,
    },
    WriteRegister {
        register: u32,
        array: Option<FlatArray>,
        index: Expression,
        value: Expression,
    },
    Count {
        counter: u32,
        array: Option<FlatArray>,
        index: Expression,
    },
    /// Computes the packet's colour with one element of an indexed meter, and stores it in `to`. If
    /// the index is out of range, `to` keeps its value if `stays` is set. Otherwise it receives the
    /// colour that the packet had before the meter.
    Meter {
        meter: Metered,
        index: Expression,
        stays: bool,
    },
    /// Counts the packet in the direct counter of the entry whose action runs.
    CountEntry {
        counter: u32,
        table: u32,
        entry: Field,
        bytes: Option<Expression>,
    },
    /// Computes the packet's colour with the direct meter of the entry whose action runs.
    MeterEntry {
        meter: Metered,
        entry: Field,
    },
    /// Stores in `to` the colour that the entry's direct meter computed when the packet was looked
    /// up. The field `color` holds that colour plus one. If `color` is zero, there is no colour,
    /// and nothing is stored.
    Color {
        meter: u32,
        color: Field,
        to: Field,
    },
    /// Computes the checksum over the fields of a gather (a list of inputs), and stores it in
    /// `field` or compares it with `field`.
    Checksum {
        gather: u32,
        field: Field,
        updates: bool,
    },
    /// Computes the hash of the fields of a gather (a list of inputs), and stores `base + hash %
    /// most` in the target, or `base` if `most` is zero. If there is no `most`, stores `base +
    /// hash`.
    Hash {
        gather: u32,
        base: Expression,
        most: Option<Expression>,
        to: Field,
    },
    /// Adds the 16-bit words of a gather's fields (a list of inputs) to a one's complement sum, or
    /// subtracts them from it (RFC 1624).
    Sum {
        gather: u32,
        sum: Field,
        subtracts: bool,
    },
    Return,
    Exit,
    /// PNA: sets the output port of the packet. `None` drops the packet.
    SendTo(Option<Expression>),
    /// v1model: requests copies of the packet or another pass.
    Request(Requested),
    /// PNA: adds a table entry for the key with which the packet missed.
    AddEntry(Box<Added>),
    /// PNA: restarts the timer of the entry whose action runs. If a profile is given, the entry
    /// also gets that profile's timeout.
    RestartTimer(Option<Expression>),
    /// Runs a statement or expression that generated code leaves to the interpreter, given by its
    /// number. It emits at most `emits` bytes of headers.
    Interpret {
        step: u32,
        emits: u32,
    },
}

/// The inputs and the target of a meter that computes a packet's colour.
#[derive(Clone, Debug)]
pub(crate) struct Metered {
    pub(crate) meter: u32,
    /// The colour of the packet before the meter, as the number that the program uses for it.
    pub(crate) before: Expression,
    /// The packet's length in bytes for the meter. `None` stands for the length that was received.
    pub(crate) length: Option<Expression>,
    pub(crate) to: Option<Field>,
}

/// A request of v1model for copies of the packet or for another pass, which the architecture
/// carries out at the end of ingress or egress. The last request of each kind counts.
#[derive(Clone, Debug)]
pub(crate) struct Requested {
    pub(crate) kind: RequestKind,
    /// The number of the field list whose fields are preserved. `None` if no fields are.
    pub(crate) list: Option<Expression>,
}

/// The kind of a [`Requested`].
#[derive(Clone, Debug)]
pub(crate) enum RequestKind {
    /// Copies of the packet. The expression is the number of the clone session.
    Clone(Expression),
    Resubmit,
    Recirculate,
}

impl Requested {
    /// Returns the expressions that the request evaluates.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Expression> {
        let session = match &self.kind {
            RequestKind::Clone(session) => Some(session),
            RequestKind::Resubmit | RequestKind::Recirculate => None,
        };
        session.into_iter().chain(&self.list)
    }
}

/// A table entry that a packet adds with `add_entry`.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) missed: Missed,
    pub(crate) action: u32,
    /// The parameters of the entry's action: the value of each, its offset in the packed
    /// parameters, and its size in bytes.
    pub(crate) values: Vec<(Expression, Offset, u32)>,
    /// The number of the expiry profile that sets the entry's timeout, if the program names one.
    pub(crate) profile: Option<Expression>,
    /// The field that receives whether the entry was added, and the numbers that the program uses
    /// for "no" and "yes".
    pub(crate) status: Option<(Field, u64, u64)>,
}

/// The fields that record a miss, for an action that adds an entry with the missed key: the number
/// of the table plus one, and the two halves of the packed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) table: Field,
    pub(crate) low: Field,
    pub(crate) high: Field,
}

/// The resolved body of a parser, control, action or function.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Block(Block),
    Parser(Parser),
}

/// The states of a parser.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    pub(crate) prologue: Block,
    pub(crate) states: Vec<State>,
    pub(crate) start: u32,
}

impl Parser {
    /// Returns whether a packet can visit a state of the parser more than once.
    pub(crate) fn has_loop(&self) -> bool {
        self.order().is_none()
    }

    /// Returns the states of the parser in topological order, each before its successors. Returns
    /// `None` if the states have a cycle.
    pub(crate) fn order(&self) -> Option<Vec<usize>> {
        let count = self.states.len();
        let mut before = vec![0_usize; count];
        for to in self.states.iter().flat_map(State::next) {
            before.get_mut(to).into_iter().for_each(|before| *before += 1);
        }
        let mut order: Vec<usize> = (0..count).filter(|state| before[*state] == 0).collect();
        let mut done = 0;
        while let Some(state) = order.get(done).copied() {
            done += 1;
            for to in self.states[state].next() {
                ir::meter::count(1);
                if let Some(before) = before.get_mut(to) {
                    *before -= 1;
                    if *before == 0 {
                        order.push(to);
                    }
                }
            }
        }
        (done == count).then_some(order)
    }
}

/// A state of a parser: its statements and its `select`.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) body: Block,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) cases: Vec<Case>,
    /// The next state if no case matches. As an error, the number of the parser error with which
    /// the packet is rejected instead.
    pub(crate) otherwise: Result<Target, u32>,
}

impl State {
    /// Returns the states that can follow this state. A state occurs once for each case that leads
    /// to it.
    pub(crate) fn next(&self) -> impl Iterator<Item = usize> + '_ {
        let targets = self.cases.iter().map(|case| case.target).chain(self.otherwise.ok());
        targets.filter_map(|target| match target {
            Target::State(state) => Some(state as usize),
            Target::Accept | Target::Reject => None,
        })
    }
}

/// A key expression of a `select`.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) value: Expression,
    pub(crate) width: u32,
    pub(crate) signed: bool,
}

/// A case of a `select`: for each subject, the set of values that matches, and the next state.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) sets: Vec<Set>,
    pub(crate) target: Target,
}

/// A set of values in a case of a `select`.
#[derive(Clone, Debug)]
pub(crate) enum Set {
    Any,
    Exact(Expression),
    Mask {
        value: Expression,
        mask: Expression,
    },
    Range {
        low: Expression,
        high: Expression,
    },
    /// The members of a parser value set, given by its number. In this case, the `select` has one
    /// subject.
    Members(u32),
}

/// The target of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    State(u32),
    Accept,
    Reject,
}

/// A table as generated code applies it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) before_keys: Block,
    /// The fields of the key. To look up a packet by a host call, generated code stores them one
    /// after another, each in whole bytes in big-endian order.
    pub(crate) keys: Vec<Key>,
    pub(crate) actions: Vec<TableAction>,
    /// The table's number among the packed tables, and the layout of its entries. `None` if the
    /// table is not packed, so that a lookup in it is a host call.
    pub(crate) packed: Option<(u32, Arc<EntryLayout>)>,
    /// The choice of a member, for a packed table with an action profile or an action selector.
    pub(crate) members: Option<Members>,
    /// The values that the lookup uses, for a table in which the interpreter looks up packets. In
    /// this case, `keys` and the fields of action parameters are empty.
    pub(crate) general: Option<General>,
    /// The direct counters and meters of the entries, for a packed table that has any.
    pub(crate) directs: Option<Directs>,
    /// The source position of a table in which the interpreter looks up packets, and a description
    /// with the reason for it. `None` for other tables.
    pub(crate) interpreted: Option<(String, String)>,
}

/// The way in which an action selector chooses a member of a group for a packet.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    /// The statements that compute the hash by which a member is chosen, and the field that holds
    /// it. `None` if the table has no groups.
    pub(crate) hash: Option<(Block, Field)>,
}

/// The direct counters and meters of a packed table's entries, and the fields in which generated
/// code keeps the data for them.
#[derive(Clone, Debug)]
pub(crate) struct Directs {
    /// The field that records whose action runs. It holds the address of an entry's counters and
    /// meters, [`DEFAULT_ENTRY`], or zero if the entry is not known.
    pub(crate) entry: Field,
    /// Whether every hit is counted, as in BMv2. Otherwise, only actions that call `count` count.
    pub(crate) counts_hits: bool,
    /// Whether the default entry has direct counters and meters too, as in PSA and PNA.
    pub(crate) has_default: bool,
    /// The meters that run on each hit, as in BMv2. For each: its number, the field that holds the
    /// resulting colour plus one while the action runs, and the field where the program reads the
    /// result.
    pub(crate) meters: Vec<(u32, Field, Option<Field>)>,
}

/// The value in [`Directs::entry`] that stands for the default entry, instead of an address.
pub(crate) const DEFAULT_ENTRY: u64 = 1;

/// A table in which the interpreter looks up packets, with the values that the lookup reads, and
/// those that it writes (the colours of meters).
#[derive(Clone, Debug, Default)]
pub(crate) struct General {
    pub(crate) loads: Vec<Move>,
    pub(crate) stores: Vec<Move>,
    /// The parameters that the control plane sets for each action. A parameter is given by its
    /// offset in the frame (the packet's working memory) and its shape.
    pub(crate) data: Vec<Vec<(Offset, Shape)>>,
}

/// A field of a table's key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// The parts of the key field, the least significant one first. There is only one if the field
    /// has at most 64 bits, as all keys have in tables that are not packed.
    pub(crate) parts: Vec<KeyPart>,
    pub(crate) width: u32,
    pub(crate) signed: bool,
    /// The offset of this field in the packed key, in bytes.
    pub(crate) offset: Offset,
}

/// Up to 64 neighbouring bits of a table's key field.
#[derive(Clone, Debug)]
pub(crate) struct KeyPart {
    pub(crate) value: Expression,
    pub(crate) width: u32,
    /// The number of bits of the key field to the right of this part.
    pub(crate) above: u32,
}

impl Key {
    /// Returns the values of all parts.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().map(|part| &part.value)
    }
}

/// An action of a table: the fields that receive its parameters, and the statements around its
/// call.
#[derive(Clone, Debug)]
pub(crate) struct TableAction {
    pub(crate) action: ActionId,
    /// Whether only the default entry may run the action, so that the control plane must not add
    /// other entries with it.
    pub(crate) is_default_only: bool,
    /// The fields that receive the parameters that the control plane sets. Parameters of more than
    /// 64 bits have [`shape::Storage::Wide`].
    pub(crate) data: Vec<Field>,
    /// The positions in `data` of those parameters that the action changes. They are written back
    /// to its entry.
    pub(crate) references: Vec<usize>,
    pub(crate) before: Block,
    pub(crate) after: Block,
    /// Whether the action calls externs that run in the interpreter and depend on the lookup that
    /// selected the action.
    pub(crate) reads_lookup: bool,
    /// The fields that record the missed lookup, if the action may add an entry for it.
    pub(crate) adds: Option<Missed>,
}

impl TableAction {
    /// Returns whether the action needs the key of the lookup that selected it.
    pub(crate) fn needs_key(&self) -> bool {
        self.reads_lookup || self.adds.is_some()
    }
}

/// A resolved program. See the [module](self) for its design.
#[derive(Debug)]
pub(crate) struct ResolvedProgram {
    /// The size in bytes of a packet's frame: its working memory, which holds its headers, metadata
    /// and variables.
    pub(crate) frame: u32,
    /// The offset in the frame (the packet's working memory) at which local variables begin. They
    /// are cleared whenever a packet starts ingress or egress. The parameters of the package's
    /// blocks precede them.
    pub(crate) locals: u32,
    /// Whether packets are charged for their work while generated code runs, not only before it.
    pub(crate) counts: bool,
    /// The maximum number of units of work that one packet may take.
    pub(crate) packet_work: u32,
    /// The maximum number of bytes that a deparser of the program emits.
    pub(crate) emitted: u32,
    /// The types of the parameters of the package's blocks.
    types: Vec<ParameterType>,
    /// The statements and expressions that generated code leaves to the interpreter.
    pub(crate) steps: Vec<Step>,
    /// The inputs of checksums and hashes. Statements refer to them by their positions in this
    /// list.
    pub(crate) gathers: Vec<Gather>,
    /// Whether generated code, not the interpreter, adds the table entries that packets request.
    pub(crate) adds_entries: bool,
    /// Whether the program contains a [`Statement::Request`].
    pub(crate) requests: bool,
    /// The values in messages of v1model's `digest`, which are copied to the interpreter.
    pub(crate) messages: Vec<Move>,
    pub(crate) bodies: Bodies,
    pub(crate) tables: Vec<Table>,
    /// The position of each packed table among all tables, by the table's number among the packed
    /// tables.
    pub(crate) packed: Vec<usize>,
    /// Whether tables are not searched: a lookup in a packed table always returns the same sample
    /// entry. This serves to measure what lookups cost.
    pub(crate) samples: bool,
    /// The calls of `assert` and `assume`, by the number of the fault with which a failed call ends
    /// the packet. For each, its place in the source, and the name of the function.
    pub(crate) faults: Vec<(String, String)>,
    pub(crate) errors: CoreErrors,
    /// The parsers and controls of the package, in the order of its arguments.
    pub(crate) blocks: Vec<PackageBlock>,
}

/// A parser or control of the package.
#[derive(Clone, Debug)]
pub(crate) struct PackageBlock {
    pub(crate) callee: Callee,
    pub(crate) parameters: Vec<BlockParameter>,
    /// Whether the block may emit headers, as a deparser does.
    pub(crate) emits: bool,
}

/// The offset and layout of a block's parameter in the frame (the packet's working memory).
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockParameter {
    pub(crate) offset: Offset,
    pub(crate) size: u32,
    pub(crate) direction: Direction,
}

/// The layout of a type whose values the architecture passes to blocks, such as metadata.
#[derive(Debug)]
pub(crate) struct ParameterType {
    type_id: TypeId,
    pub(crate) shape: Shape,
    /// Those fields of the type that the architecture knows, indexed by the field's number. `None`
    /// for a field that the type lacks or that no code reads.
    fields: Vec<Option<Field>>,
}

/// The numbers of the parser errors that parsers raise by themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreErrors {
    pub(crate) none: u32,
    pub(crate) too_short: u32,
    /// The error for a varbit that is too long for its header.
    pub(crate) header_too_short: u32,
    pub(crate) out_of_bounds: u32,
    pub(crate) timeout: u32,
    pub(crate) invalid_argument: u32,
}

/// The maximum size in bytes of a frame, the working memory of a packet. It ensures that offsets
/// fit the 31 bits that instructions have for them.
const MAX_FRAME: u32 = 1 << 24;

/// The maximum number of bytes that a deparser may emit, which exceeds the longest packet.
const MAX_EMITTED: u64 = 1 << 20;

/// The state of the pass that translates a program to its resolved form, in which offsets replace
/// names.
pub(crate) struct Resolver<'p> {
    layout: &'p Layout,
    shapes: Shapes,
    /// The offset in the frame (the packet's working memory) of each variable, by the variable's
    /// number. `None` for a variable that has not been used yet.
    places: Vec<Option<Offset>>,
    /// The number of bytes that are allocated so far in the frame, the working memory of a packet.
    frame: u32,
    /// The location in the source of the construct that is being resolved.
    here: Option<Location>,
    in_parser: bool,
    /// Whether the statements that are being resolved are those of an action or a function.
    in_action: bool,
    bodies: Bodies,
    /// The tables that have been translated to the resolved form so far, by number.
    tables: Vec<Option<Table>>,
    /// The tables that can be packed, by their number among all tables.
    packed: Vec<usize>,
    /// The place in the source and the function of each `assert` and `assume`.
    faults: Vec<(String, String)>,
    /// The offset in the frame (the packet's working memory) and the shape of the value that each
    /// function returns.
    returned: HashMap<FunctionId, (Offset, Shape)>,
    /// The offset in the frame (the packet's working memory) and the shape of the return value of
    /// the function that is being resolved, if there is such a value.
    returns: Option<(Offset, Shape)>,
    steps: Vec<Step>,
    gathers: Vec<Gather>,
    /// The fields that record missed lookups for which packets add entries. `Some(None)` if
    /// generated code adds no entries, and `None` before the fields are first needed.
    missed: Option<Option<Missed>>,
    /// The direct counters and meters of each table resolved so far. `None` for a table that has
    /// none or cannot be packed.
    directs: HashMap<TableId, Option<Directs>>,
    /// The field that holds the sum of each instance of `InternetChecksum`, or `None` if generated
    /// code does not implement the instance.
    sums: HashMap<ExternId, Option<Field>>,
    /// The values in messages of v1model's `digest`, which are copied to the interpreter.
    messages: Vec<Move>,
    /// Whether a [`Statement::Request`] was resolved.
    requests: bool,
    calls: shared::Calls,
    /// The parameters of controls that share the storage of their arguments.
    shared: HashSet<VariableId>,
    /// While a parser is being unrolled, the `nextIndex` of each header stack in the current state.
    next: Option<unrolled::NextIndexes>,
    /// Whether neither generated code nor the interpreter can run the construct that was refused
    /// last.
    is_final: std::cell::Cell<bool>,
}

type Outcome<T = ()> = Result<T, CompileError>;

impl ResolvedProgram {
    /// Translates a program to its resolved form, in which offsets replace names. Returns the
    /// construct and its place in the source as an error if machine code does not support the
    /// program.
    pub(crate) fn new(layout: &Layout) -> Outcome<Self> {
        let program = &layout.program;
        let mut resolver = Resolver {
            layout,
            shapes: Shapes::default(),
            places: vec![None; program.variables.len()],
            frame: 0,
            here: None,
            in_parser: false,
            in_action: false,
            bodies: Bodies::default(),
            tables: program.tables.iter().map(|_| None).collect(),
            packed: Vec::new(),
            faults: Vec::new(),
            returned: HashMap::new(),
            returns: None,
            steps: Vec::new(),
            gathers: Vec::new(),
            sums: HashMap::new(),
            missed: None,
            directs: HashMap::new(),
            messages: Vec::new(),
            requests: false,
            calls: shared::Calls::of(program),
            shared: HashSet::new(),
            next: None,
            is_final: std::cell::Cell::new(false),
        };
        let package = resolver.package()?;
        let (mut blocks, types) = resolver.parameters_of_blocks(&package)?;
        let locals = resolver.frame;
        for block in &blocks {
            resolver.callee(block.callee)?;
        }
        resolver.begin_sums(&blocks);
        let emitted = emitted::Emitted::of(&resolver.bodies);
        let emits: Vec<u64> = blocks.iter().map(|block| emitted.most(block.callee)).collect();
        let emitted = emits.iter().max().copied().unwrap_or(0);
        for (block, most) in blocks.iter_mut().zip(&emits) {
            block.emits = *most > 0;
        }
        if emitted > MAX_EMITTED {
            return resolver.refuse("a deparser that emits this much, or emits in a loop");
        }
        let error = |error| layout.names.error(error);
        Ok(Self {
            frame: resolver.frame,
            locals,
            counts: layout.costs.has_charges(),
            packet_work: layout.packet_work,
            emitted: emitted as u32,
            types,
            tables: resolver.tables.into_iter().map(Option::unwrap_or_default).collect(),
            packed: resolver.packed,
            samples: false,
            bodies: resolver.bodies,
            faults: resolver.faults,
            steps: resolver.steps,
            gathers: resolver.gathers,
            adds_entries: resolver.missed.flatten().is_some(),
            requests: resolver.requests,
            messages: resolver.messages,
            errors: CoreErrors {
                none: error(CoreError::NoError),
                too_short: error(CoreError::PacketTooShort),
                header_too_short: error(CoreError::HeaderTooShort),
                out_of_bounds: error(CoreError::StackOutOfBounds),
                timeout: error(CoreError::ParserTimeout),
                invalid_argument: error(CoreError::ParserInvalidArgument),
            },
            blocks,
        })
    }

    /// Returns the types of the parameters of the package's blocks, with their layouts.
    pub(crate) fn parameter_types(&self) -> &[ParameterType] {
        &self.types
    }

    pub(crate) fn parameter_type(&self, type_id: TypeId) -> Option<&ParameterType> {
        self.types.iter().find(|known| known.type_id == type_id)
    }
}

impl ParameterType {
    /// Returns a field of this type that the architecture knows, with its offset from the beginning
    /// of the value. Returns `None` if the type lacks the field or no code reads it.
    pub(crate) fn field(&self, field: MetadataField) -> Option<Field> {
        self.fields.get(field as usize).copied().flatten()
    }

    /// Returns the fields of this type that the architecture knows, indexed by the field's number.
    /// `None` stands for a field that the type lacks or that no code reads.
    pub(crate) fn fields(&self) -> &[Option<Field>] {
        &self.fields
    }
}
