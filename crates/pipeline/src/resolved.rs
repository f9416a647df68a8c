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
//!   the call.
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
use ir::{ActionId, Direction, ExternId, FunctionId, Location, TableId, TypeId};
use moves::{Move, Step};
use shape::{Scalar, Shape, Shapes};
pub(crate) use statement::mask;
use std::collections::HashMap;
use std::sync::Arc;

/// An offset in the frame, in bytes.
pub(crate) type Offset = u32;

/// The location of a value in the frame: a fixed offset, or the element of a header stack that the
/// stack's next index selects at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) offset: Offset,
    pub(crate) element: Option<Element>,
}

/// The element `next` or `last` of the stack whose elements begin at the address. Only parsers use
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// The offset of the stack's next index.
    pub(crate) next: Offset,
    pub(crate) stride: u32,
    pub(crate) size: u32,
    /// Whether this is `last`, the element before the next index, rather than `next`.
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

/// A number of at most 64 bits in the frame.
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
    /// A table key in a header: the value if the header is valid, otherwise zero.
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
    /// `left ++ right`, where `right` has `right_width` bits.
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
    /// A conversion to another width, sign-extending if `signed`.
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
    /// `lastIndex` of the stack whose next index has this offset.
    LastIndex(Offset),
    PacketLength,
}

/// Statements in the order of their execution.
pub(crate) type Block = Vec<Statement>;

/// A statement of the resolved program.
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
    /// The assignment of P4: a header that becomes invalid keeps the values of its fields.
    Assign {
        to: Address,
        from: Address,
        shape: Shape,
    },
    /// A copy of `bytes` bytes, including the fields of invalid headers.
    Move {
        to: Offset,
        from: Address,
        bytes: u32,
    },
    /// Stores the fields of a struct, or of a header, which becomes valid. All values are computed
    /// before the first one is stored.
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
    /// Charges the packet this number of units of work, and stops the packet if it exceeds its
    /// limit.
    Charge(u32),
    Break,
    Continue,
    /// A call. `after` runs unless the callee ends with a fault, `result` only if the callee
    /// returns normally.
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
    /// Copies `bytes` bytes of the packet to a header, or skips them, and increments the stack's
    /// index `next`.
    Extract {
        header: Option<Address>,
        bytes: u32,
        next: Option<Offset>,
    },
    /// Like [`Statement::Extract`], followed by a varbit of `width` bits, which may be at most
    /// `most`.
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
    /// Emits a header, and up to `tail` bytes of the varbit that follows its fields.
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
        /// Whether a varbit follows the fields of the header.
        tail: bool,
        valid: bool,
    },
    /// `truncate` to this number of bytes.
    Truncate(Expression),
    /// Ends the packet with fault number `fault` unless the condition holds.
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
    /// Computes the packet's colour with one element of an indexed meter. If the index is out of
    /// range, `to` keeps its value if `stays` is set, and otherwise becomes the colour from before.
    Meter {
        meter: Metered,
        index: Expression,
        stays: bool,
    },
    /// Counts the packet in the counter of the entry whose action runs.
    CountEntry {
        counter: u32,
        table: u32,
        entry: Field,
        bytes: Option<Expression>,
    },
    /// Computes the packet's colour with the meter of the entry whose action runs.
    MeterEntry {
        meter: Metered,
        entry: Field,
    },
    /// Stores the colour that the entry's meter returned at the lookup. `color` holds that colour
    /// plus one, or zero if there is none, and then nothing is stored.
    Color {
        meter: u32,
        color: Field,
        to: Field,
    },
    /// Computes the checksum over the data of a gather, and stores it in `field` or compares it
    /// with `field`.
    Checksum {
        gather: u32,
        field: Field,
        updates: bool,
    },
    /// Stores `base + hash % most`, or `base` if `most` is zero. Without `most`, it stores `base +
    /// hash`.
    Hash {
        gather: u32,
        base: Expression,
        most: Option<Expression>,
        to: Field,
    },
    /// Adds the words of a gather to a one's complement sum, or subtracts them from it (RFC 1624).
    Sum {
        gather: u32,
        sum: Field,
        subtracts: bool,
    },
    Return,
    Exit,
    /// PNA: sends the packet to a port, or drops it if there is none.
    SendTo(Option<Expression>),
    /// PNA: adds an entry for the lookup that the packet missed.
    AddEntry(Box<Added>),
    /// PNA: restarts the timer of the entry whose action runs, with the timeout of a profile if one
    /// is named.
    RestartTimer(Option<Expression>),
    /// A step that the interpreter runs. It emits at most `emits` bytes.
    Interpret {
        step: u32,
        emits: u32,
    },
}

/// The operands of a meter that colours a packet.
#[derive(Clone, Debug)]
pub(crate) struct Metered {
    pub(crate) meter: u32,
    /// The packet's colour before the meter, in the encoding of the program.
    pub(crate) before: Expression,
    /// The packet's length in bytes, if it differs from the length received.
    pub(crate) length: Option<Expression>,
    pub(crate) to: Option<Field>,
}

/// A table entry that a packet adds.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) missed: Missed,
    pub(crate) action: u32,
    /// The action data: for each value, its offset in the packed data and its size in bytes.
    pub(crate) values: Vec<(Expression, Offset, u32)>,
    /// The expression that selects the timeout profile.
    pub(crate) profile: Option<Expression>,
    /// The field that receives the outcome, and the values that stand for "not done" and "done".
    pub(crate) status: Option<(Field, u64, u64)>,
}

/// The lookup whose action runs, if it was a miss in a table to which packets add entries: the
/// table's number plus one, and the two halves of the packed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) table: Field,
    pub(crate) low: Field,
    pub(crate) high: Field,
}

/// The body of a callee.
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
    /// Whether a packet can visit a state more than once.
    pub(crate) fn has_loop(&self) -> bool {
        self.order().is_none()
    }

    /// Returns the states in topological order, each before its successors, or `None` if the states
    /// have a cycle.
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

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) body: Block,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) cases: Vec<Case>,
    /// The target if no case matches, or the error with which the parser rejects the packet.
    pub(crate) otherwise: Result<Target, u32>,
}

impl State {
    /// Returns the successors of this state, once for each case that leads to them.
    pub(crate) fn next(&self) -> impl Iterator<Item = usize> + '_ {
        let targets = self.cases.iter().map(|case| case.target).chain(self.otherwise.ok());
        targets.filter_map(|target| match target {
            Target::State(state) => Some(state as usize),
            Target::Accept | Target::Reject => None,
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) value: Expression,
    pub(crate) width: u32,
    pub(crate) signed: bool,
}

/// A case of a `select`, with one set for each subject.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) sets: Vec<Set>,
    pub(crate) target: Target,
}

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
    /// A parser value set, for a `select` with one subject.
    Members(u32),
}

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
    /// The keys, which code stores for the lookup: byte-aligned, big-endian and contiguous.
    pub(crate) keys: Vec<Key>,
    pub(crate) actions: Vec<TableAction>,
    /// The number among the packed tables, and the layout of the entries, for a packed table, whose
    /// entries code reads without a host call.
    pub(crate) packed: Option<(u32, Arc<EntryLayout>)>,
    /// The choice of a member, for a packed table with an action profile or an action selector.
    pub(crate) members: Option<Members>,
    /// The places that a lookup by the interpreter uses. `keys` and the fields of action data are
    /// then empty.
    pub(crate) general: Option<General>,
    /// The direct counters and meters, for a packed table that has any.
    pub(crate) directs: Option<Directs>,
}

/// The choice of the member of a group.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    /// The block that computes the hash, and the field that holds it. `None` if the table has no
    /// groups.
    pub(crate) hash: Option<(Block, Field)>,
}

/// The direct counters and meters of a packed table.
#[derive(Clone, Debug)]
pub(crate) struct Directs {
    /// The entry whose action runs: its address, [`DEFAULT_ENTRY`], or zero.
    pub(crate) entry: Field,
    /// Whether each hit is counted.
    pub(crate) counts_hits: bool,
    /// Whether the default entry has counters and meters too.
    pub(crate) has_default: bool,
    /// The meters that run on each hit: the number of each, the field that holds its colour plus
    /// one while the action runs, and the field where the program reads the result.
    pub(crate) meters: Vec<(u32, Field, Option<Field>)>,
}

/// The value that stands for the default entry where the address of an entry is expected.
pub(crate) const DEFAULT_ENTRY: u64 = 1;

/// A table that the interpreter looks up, with the places that the lookup reads and writes (the
/// colours of meters).
#[derive(Clone, Debug, Default)]
pub(crate) struct General {
    pub(crate) loads: Vec<Move>,
    pub(crate) stores: Vec<Move>,
    /// The places of the control plane's parameters, for each action.
    pub(crate) data: Vec<Vec<(Offset, Shape)>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// The lowest 64 bits of the key.
    pub(crate) value: Expression,
    /// The bits above the lowest 64. Only packed tables have keys as wide as that.
    pub(crate) high: Option<Expression>,
    pub(crate) width: u32,
    pub(crate) signed: bool,
    /// The offset of this key in the packed key.
    pub(crate) offset: Offset,
}

/// An action of a table: the places of an entry's values, and the copies around the action.
#[derive(Clone, Debug)]
pub(crate) struct TableAction {
    pub(crate) action: ActionId,
    /// Whether the control plane must not add entries with this action.
    pub(crate) is_default_only: bool,
    /// The fields that receive the control plane's parameters.
    pub(crate) data: Vec<Field>,
    /// The positions in `data` of the values that are written back to the entry.
    pub(crate) references: Vec<usize>,
    pub(crate) before: Block,
    pub(crate) after: Block,
    /// Whether the action calls externs of the interpreter that read the lookup.
    pub(crate) reads_lookup: bool,
    /// The lookup for which the action may add an entry, if it may.
    pub(crate) adds: Option<Missed>,
}

/// A resolved program. See the [module](self) for its design.
#[derive(Debug)]
pub(crate) struct ResolvedProgram {
    /// The size of the frame in bytes.
    pub(crate) frame: u32,
    /// The offset at which the locals begin, which are cleared at the start of each pass. The
    /// parameters of the package's blocks precede them.
    pub(crate) locals: u32,
    /// Whether the blocks charge for units of work.
    pub(crate) counts: bool,
    /// The maximum number of units of work for one packet.
    pub(crate) packet_work: u32,
    /// The maximum number of bytes that a deparser emits.
    pub(crate) emitted: u32,
    /// The types of the parameters of the package's blocks.
    types: Vec<ParameterType>,
    /// The steps that are left to the interpreter.
    pub(crate) steps: Vec<Step>,
    /// The inputs of checksums and hashes.
    pub(crate) gathers: Vec<Gather>,
    /// Whether packets add entries and code, not the interpreter, does so.
    pub(crate) adds_entries: bool,
    /// The values that the messages of v1model's `digest` read.
    pub(crate) messages: Vec<Move>,
    pub(crate) bodies: Bodies,
    pub(crate) tables: Vec<Table>,
    /// The positions of the packed tables, by their numbers.
    pub(crate) packed: Vec<usize>,
    /// Whether every lookup in a packed table returns one particular entry, whatever its key.
    pub(crate) samples: bool,
    /// The faults of `assert` and `assume`: the place in the source and the name of the function.
    pub(crate) faults: Vec<(String, String)>,
    pub(crate) errors: CoreErrors,
    /// The blocks of the package, in its order.
    pub(crate) blocks: Vec<PackageBlock>,
}

/// A parser or control of the package.
#[derive(Clone, Debug)]
pub(crate) struct PackageBlock {
    pub(crate) callee: Callee,
    pub(crate) parameters: Vec<BlockParameter>,
    /// Whether the block may emit headers.
    pub(crate) emits: bool,
}

/// The storage of a block's parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockParameter {
    pub(crate) offset: Offset,
    pub(crate) size: u32,
    pub(crate) direction: Direction,
}

/// The layout in memory of a type that the architecture passes to blocks.
#[derive(Debug)]
pub(crate) struct ParameterType {
    type_id: TypeId,
    pub(crate) shape: Shape,
    /// The fields that the architecture knows and that something reads, by the number of the field.
    fields: Vec<Option<Field>>,
}

/// The numbers of the errors that parsers raise themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreErrors {
    pub(crate) none: u32,
    pub(crate) too_short: u32,
    /// The error for a varbit that does not fit its header.
    pub(crate) header_too_short: u32,
    pub(crate) out_of_bounds: u32,
    pub(crate) timeout: u32,
    pub(crate) invalid_argument: u32,
}

/// The maximum size of a frame in bytes. Offsets must fit the 31 bits that instructions have for
/// them.
const MAXIMUM_FRAME: u32 = 1 << 24;

/// The maximum number of bytes that a deparser may emit, which exceeds the longest packet.
const MAXIMUM_EMITTED: u64 = 1 << 20;

/// The state of the pass that resolves a program.
pub(crate) struct Resolver<'p> {
    layout: &'p Layout,
    shapes: Shapes,
    /// The offset of each variable that has one.
    places: Vec<Option<Offset>>,
    frame: u32,
    here: Option<Location>,
    in_parser: bool,
    /// Whether the pass is in an action or a function.
    in_action: bool,
    bodies: Bodies,
    tables: Vec<Option<Table>>,
    packed: Vec<usize>,
    faults: Vec<(String, String)>,
    /// The places in which functions leave their return values.
    returned: HashMap<FunctionId, (Offset, Shape)>,
    /// The place for the return value of the current function.
    returns: Option<(Offset, Shape)>,
    steps: Vec<Step>,
    gathers: Vec<Gather>,
    /// The lookup for which packets add entries, if code adds them; `None` until it is first
    /// needed.
    missed: Option<Option<Missed>>,
    /// The direct counters and meters of tables, or `None` for a table that cannot be packed.
    directs: HashMap<TableId, Option<Directs>>,
    /// The sums of the instances of `InternetChecksum` that code computes.
    sums: HashMap<ExternId, Option<Field>>,
    messages: Vec<Move>,
    /// The next indexes of stacks, while a parser is being unrolled.
    next: Option<unrolled::NextIndexes>,
    /// Whether the last refusal was for a construct that the interpreter cannot run either.
    is_final: std::cell::Cell<bool>,
}

type Outcome<T = ()> = Result<T, CompileError>;

impl ResolvedProgram {
    /// Resolves a program.
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
        if emitted > MAXIMUM_EMITTED {
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

    /// Returns the layout of a type, if a block has a parameter of that type.
    /// Returns the types of the parameters of the package's blocks.
    pub(crate) fn parameter_types(&self) -> &[ParameterType] {
        &self.types
    }

    pub(crate) fn parameter_type(&self, type_id: TypeId) -> Option<&ParameterType> {
        self.types.iter().find(|known| known.type_id == type_id)
    }
}

impl ParameterType {
    /// Returns a field that the architecture knows and that something reads, with its offset from
    /// the beginning of the value.
    pub(crate) fn field(&self, field: MetadataField) -> Option<Field> {
        self.fields.get(field as usize).copied().flatten()
    }

    /// Returns the fields that the architecture knows and that something reads, by their numbers.
    pub(crate) fn fields(&self) -> &[Option<Field>] {
        &self.fields
    }
}
