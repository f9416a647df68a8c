//! A program in resolved form: what machine code is made from.
//!
//! One pass over the IR puts every variable into one flat frame of bytes and turns every name, path and type into an
//! offset, a width and a sign; nothing is sought for a packet. The choices:
//!
//! * **Headers lie as in the packet.** A flag for validity, then the fields in network order, bit behind bit, so that
//!   `extract` and `emit` are copies and a field is a load of big-endian bytes, shifted and masked. All else
//!   (metadata, locals, parameters) is native words of 1, 2, 4 or 8 bytes, aligned. See [`shape`].
//! * **Parameters of the package's blocks are one place.** The architecture hands the same headers and metadata from
//!   block to block, so the parameters of all blocks that stand for them have one offset, and nothing is copied between
//!   blocks.
//! * **Calls are copies.** What a call copies in and out is written out as stores around it.
//! * **Values are 64 bits.** A number of up to 64 bits is the pattern with zeros above its width, signed or not.
//!   Wider ones are moved as bytes, or part by part (`wide`).
//! * **What is rare is the interpreter's.** A statement that this form does not have, and an expression that is no number
//!   of 64 bits, is left to the interpreter with the places that it touches: see [`moves`].
//! * **Refused, never different.** What cannot be expressed that way either ends the pass with
//!   [`CompileError::Unsupported`] and the place in the source.

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

/// Offset in the frame, in bytes.
pub(crate) type Offset = u32;

/// Where something is: a fixed place, or an element of a header stack that its next index chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) offset: Offset,
    pub(crate) element: Option<Element>,
}

/// `next` or `last` of the stack that begins in front of the address; only in parsers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Of the stack's next index.
    pub(crate) next: Offset,
    pub(crate) stride: u32,
    pub(crate) size: u32,
    /// `last`, the element before.
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

/// A number somewhere in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) address: Address,
    pub(crate) scalar: Scalar,
}

/// A pattern of at most 64 bits; no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expression {
    Constant(u64),
    Load(Field),
    /// A key in a header: zero if that is invalid.
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
    /// `left ++ right`, the right one of this width.
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
    /// To another width; with the sign if `signed`.
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
    /// Of the stack with this next index.
    LastIndex(Offset),
    PacketLength,
}

/// Statements in order.
pub(crate) type Block = Vec<Statement>;

/// One step.
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
    /// Assignment: headers that become invalid keep their fields.
    Assign {
        to: Address,
        from: Address,
        shape: Shape,
    },
    /// All of it, as it is.
    Move {
        to: Offset,
        from: Address,
        bytes: u32,
    },
    /// Fields of a struct or of a header, which becomes valid; all are computed before one is stored.
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
    /// The packet is charged these units of work, and stopped if it may not take them.
    Charge(u32),
    Break,
    Continue,
    /// `after` runs unless the callee ends with a fault; `result` only if it ends as usual.
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
    /// From the packet to a header of so many bytes; `next` is counted up.
    Extract {
        header: Option<Address>,
        bytes: u32,
        next: Option<Offset>,
    },
    /// As [`Statement::Extract`] with a varbit behind the bytes: of `width` bits, of `most` at most.
    ExtractWithTail {
        header: Address,
        bytes: u32,
        most: u32,
        width: Expression,
    },
    /// A header from the packet; the cursor stays.
    LookaheadHeader {
        header: Address,
        bytes: u32,
    },
    Lookahead {
        field: Field,
    },
    /// In bits.
    Advance(Expression),
    /// And what the varbit behind the bytes holds, up to `tail` bytes.
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
        /// There is a varbit behind the bytes.
        tail: bool,
        valid: bool,
    },
    /// `truncate`, in bytes.
    Truncate(Expression),
    /// The fault of this number unless the condition holds.
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
    /// The colour of a packet by an element of a meter. Beyond its end it is that of before, or `to` stays.
    Meter {
        meter: Metered,
        index: Expression,
        stays: bool,
    },
    /// The entry of a table whose action runs counts the packet.
    CountEntry {
        counter: u32,
        table: u32,
        entry: Field,
        bytes: Option<Expression>,
    },
    /// The colour of a packet by the meter of the entry whose action runs.
    MeterEntry {
        meter: Metered,
        entry: Field,
    },
    /// The colour that the meter gave when the entry was found, and one more; nothing where none was.
    Color {
        meter: u32,
        color: Field,
        to: Field,
    },
    /// The checksum over what a gather names; it is stored, or compared.
    Checksum {
        gather: u32,
        field: Field,
        updates: bool,
    },
    /// `base + hash % most`, or `base` if that is zero; without it, `base + hash`.
    Hash {
        gather: u32,
        base: Expression,
        most: Option<Expression>,
        to: Field,
    },
    /// The words that a gather names are added to a one's complement sum, or taken out of it (RFC 1624).
    Sum {
        gather: u32,
        sum: Field,
        subtracts: bool,
    },
    Return,
    Exit,
    /// PNA: the packet goes to a port, or nowhere.
    SendTo(Option<Expression>),
    /// PNA: the entry is added that the packet missed.
    AddEntry(Box<Added>),
    /// PNA: the timer of the entry whose action runs starts again, with the timeout of a profile if there is one.
    RestartTimer(Option<Expression>),
    /// A step that the interpreter does; it emits so many bytes at most.
    Interpret {
        step: u32,
        emits: u32,
    },
}

/// A packet that a meter colours.
#[derive(Clone, Debug)]
pub(crate) struct Metered {
    pub(crate) meter: u32,
    /// The colour of before, as the program has colours.
    pub(crate) before: Expression,
    /// In bytes, if not as the packet was received.
    pub(crate) length: Option<Expression>,
    pub(crate) to: Option<Field>,
}

/// An entry that a packet adds.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) missed: Missed,
    pub(crate) action: u32,
    /// Its data: the offset of each where it is packed, and its bytes.
    pub(crate) values: Vec<(Expression, Offset, u32)>,
    /// Of timeouts.
    pub(crate) profile: Option<Expression>,
    /// Where it is told whether that was done, and what stands for not done and for done.
    pub(crate) status: Option<(Field, u64, u64)>,
}

/// The lookup whose action runs, if it found nothing and packets add entries to its table: the number of the table, counted
/// from one, and the packed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) table: Field,
    pub(crate) low: Field,
    pub(crate) high: Field,
}

/// A block that can be called.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Block(Block),
    Parser(Parser),
}

/// States of a parser.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    pub(crate) prologue: Block,
    pub(crate) states: Vec<State>,
    pub(crate) start: u32,
}

impl Parser {
    /// Whether a packet can come to a state twice.
    pub(crate) fn has_loop(&self) -> bool {
        self.order().is_none()
    }

    /// The states, each before those that it leads to; nothing if one leads to itself, also over others.
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
    /// If no case fits: there, or the rejection with this error.
    pub(crate) otherwise: Result<Target, u32>,
}

impl State {
    /// The states that it leads to, as often as it does.
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

/// One set per subject.
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
    /// A parser value set, of one subject.
    Members(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    State(u32),
    Accept,
    Reject,
}

/// A table as code applies it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) before_keys: Block,
    /// Stored for the lookup, byte-aligned and big-endian one behind the other.
    pub(crate) keys: Vec<Key>,
    pub(crate) actions: Vec<TableAction>,
    /// How code has the entries without a call-out, and the table's number among those of which it does.
    pub(crate) native: Option<(u32, Arc<EntryLayout>)>,
    /// If entries of which code has the table run members of an action profile, or groups of a selector.
    pub(crate) members: Option<Members>,
    /// If the interpreter looks it up: keys are then no concern of code, nor are the fields of action data.
    pub(crate) general: Option<General>,
    /// If entries have counters and meters of which code has the entries.
    pub(crate) directs: Option<Directs>,
}

/// How a member is chosen where a group has several.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    /// What finds the hash, and where that is; nothing where there are no groups.
    pub(crate) hash: Option<(Block, Field)>,
}

/// What belongs to a table whose entries have counters or meters.
#[derive(Clone, Debug)]
pub(crate) struct Directs {
    /// The entry whose action runs: its address, or [`DEFAULT_ENTRY`], or zero.
    pub(crate) entry: Field,
    /// Each hit is counted.
    pub(crate) counts_hits: bool,
    /// An action that runs on a miss has counters and meters too.
    pub(crate) has_default: bool,
    /// Meters that run on each hit: the colour and one more, as long as the action runs, and where the program reads it.
    pub(crate) meters: Vec<(u32, Field, Option<Field>)>,
}

/// What stands for the default entry where an entry's address is expected.
pub(crate) const DEFAULT_ENTRY: u64 = 1;

/// A table that the interpreter looks up, with what that reads, and writes (colours of meters).
#[derive(Clone, Debug, Default)]
pub(crate) struct General {
    pub(crate) loads: Vec<Move>,
    pub(crate) stores: Vec<Move>,
    /// Of each action: where the control plane's parameters are.
    pub(crate) data: Vec<Vec<(Offset, Shape)>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// Its lowest 64 bits.
    pub(crate) value: Expression,
    /// The others, of a wider one; only tables that code has natively have such.
    pub(crate) high: Option<Expression>,
    pub(crate) width: u32,
    pub(crate) signed: bool,
    /// In the packed key.
    pub(crate) offset: Offset,
}

/// An action of a table: where an entry's values go, and what runs around the action.
#[derive(Clone, Debug)]
pub(crate) struct TableAction {
    pub(crate) action: ActionId,
    /// The control plane is refused entries with it.
    pub(crate) is_default_only: bool,
    /// Where the control plane's parameters are.
    pub(crate) data: Vec<Field>,
    /// Positions in `data` that are written back.
    pub(crate) references: Vec<usize>,
    pub(crate) before: Block,
    pub(crate) after: Block,
    /// It has externs of the interpreter's that want to know what was looked up.
    pub(crate) asks_for_lookup: bool,
    /// It may add an entry.
    pub(crate) adds: Option<Missed>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Bytes of the frame.
    pub(crate) frame: u32,
    /// What is cleared when a pass begins; before it are the parameters of the package's blocks.
    pub(crate) locals: u32,
    /// Whether blocks have charges.
    pub(crate) counts: bool,
    /// The units of work that one packet may take.
    pub(crate) packet_work: u32,
    /// Most bytes that a deparser emits.
    pub(crate) emitted: u32,
    /// Types of the parameters of the package's blocks.
    types: Vec<ParameterType>,
    /// Left to the interpreter.
    pub(crate) steps: Vec<Step>,
    /// What is hashed.
    pub(crate) gathers: Vec<Gather>,
    /// Packets add entries, and code does it.
    pub(crate) adds_entries: bool,
    /// What messages of v1model's `digest` read.
    pub(crate) messages: Vec<Move>,
    pub(crate) bodies: Bodies,
    pub(crate) tables: Vec<Table>,
    /// Positions of the tables that code has natively, by their numbers.
    pub(crate) natives: Vec<usize>,
    /// Packets get one entry of each of those tables, whatever their keys.
    pub(crate) samples: bool,
    /// Of `assert` and `assume`: place and function.
    pub(crate) faults: Vec<(String, String)>,
    pub(crate) errors: CoreErrors,
    /// Those of the package, in its order.
    pub(crate) blocks: Vec<PackageBlock>,
}

/// A parser or control of the package.
#[derive(Clone, Debug)]
pub(crate) struct PackageBlock {
    pub(crate) callee: Callee,
    pub(crate) parameters: Vec<BlockParameter>,
    /// It may emit headers.
    pub(crate) emits: bool,
}

/// Where a parameter of a block is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockParameter {
    pub(crate) offset: Offset,
    pub(crate) size: u32,
    pub(crate) direction: Direction,
}

/// How values of a type that the architecture hands to blocks lie in memory.
#[derive(Debug)]
pub(crate) struct ParameterType {
    type_id: TypeId,
    pub(crate) shape: Shape,
    /// By the number of the field.
    fields: Vec<Option<Field>>,
}

/// Positions of the errors that parsers make by themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreErrors {
    pub(crate) none: u32,
    pub(crate) too_short: u32,
    /// A varbit does not fit its header.
    pub(crate) header_too_short: u32,
    pub(crate) out_of_bounds: u32,
    pub(crate) timeout: u32,
    pub(crate) invalid_argument: u32,
}

/// Most bytes of a frame; all offsets fit the 31 bits that instructions have for them.
const MAXIMUM_FRAME: u32 = 1 << 24;

/// Most bytes that a deparser may emit: more than the longest packet has.
const MAXIMUM_EMITTED: u64 = 1 << 20;

/// What the pass knows while it works.
pub(crate) struct Binder<'p> {
    layout: &'p Layout,
    shapes: Shapes,
    /// By variable.
    places: Vec<Option<Offset>>,
    frame: u32,
    here: Option<Location>,
    in_parser: bool,
    /// Or in a function.
    in_action: bool,
    bodies: Bodies,
    tables: Vec<Option<Table>>,
    natives: Vec<usize>,
    faults: Vec<(String, String)>,
    /// Where functions leave their values.
    returned: HashMap<FunctionId, (Offset, Shape)>,
    /// Where the function at hand leaves its value.
    returns: Option<(Offset, Shape)>,
    steps: Vec<Step>,
    gathers: Vec<Gather>,
    /// Where the lookup is for which packets add entries, if code does that.
    missed: Option<Option<Missed>>,
    /// Of tables whose entries have counters or meters, if code can have the entries.
    directs: HashMap<TableId, Option<Directs>>,
    /// Where the sums of instances of `InternetChecksum` are that code has.
    sums: HashMap<ExternId, Option<Field>>,
    messages: Vec<Move>,
    /// Next indexes of stacks, while a parser is bound for which they are known.
    next: Option<unrolled::NextIndexes>,
    /// The last refusal is one that the interpreter cannot help with.
    is_final: std::cell::Cell<bool>,
}

type Outcome<T = ()> = Result<T, CompileError>;

impl Bound {
    /// Binds a program.
    pub(crate) fn new(layout: &Layout) -> Outcome<Self> {
        let program = &layout.program;
        let mut binder = Binder {
            layout,
            shapes: Shapes::default(),
            places: vec![None; program.variables.len()],
            frame: 0,
            here: None,
            in_parser: false,
            in_action: false,
            bodies: Bodies::default(),
            tables: program.tables.iter().map(|_| None).collect(),
            natives: Vec::new(),
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
        let package = binder.package()?;
        let (mut blocks, types) = binder.parameters_of_blocks(&package)?;
        let locals = binder.frame;
        for block in &blocks {
            binder.callee(block.callee)?;
        }
        binder.begin_sums(&blocks);
        let emitted = emitted::Emitted::of(&binder.bodies);
        let emits: Vec<u64> = blocks.iter().map(|block| emitted.most(block.callee)).collect();
        let emitted = emits.iter().max().copied().unwrap_or(0);
        for (block, most) in blocks.iter_mut().zip(&emits) {
            block.emits = *most > 0;
        }
        if emitted > MAXIMUM_EMITTED {
            return binder.refuse("a deparser that emits so much, or in a loop");
        }
        let error = |error| layout.names.error(error);
        Ok(Self {
            frame: binder.frame,
            locals,
            counts: layout.costs.has_charges(),
            packet_work: layout.packet_work,
            emitted: emitted as u32,
            types,
            tables: binder.tables.into_iter().map(Option::unwrap_or_default).collect(),
            natives: binder.natives,
            samples: false,
            bodies: binder.bodies,
            faults: binder.faults,
            steps: binder.steps,
            gathers: binder.gathers,
            adds_entries: binder.missed.flatten().is_some(),
            messages: binder.messages,
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

    /// Of a type that blocks have a parameter of.
    pub(crate) fn parameter_type(&self, type_id: TypeId) -> Option<&ParameterType> {
        self.types.iter().find(|known| known.type_id == type_id)
    }
}

impl ParameterType {
    /// A field that the architecture knows, at its distance from the beginning of the value.
    pub(crate) fn field(&self, field: MetadataField) -> Option<Field> {
        self.fields.get(field as usize).copied().flatten()
    }

    /// All of them, by their numbers.
    pub(crate) fn fields(&self) -> &[Option<Field>] {
        &self.fields
    }
}
