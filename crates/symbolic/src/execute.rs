//! Executes a program symbolically: with terms in place of values.
//!
//! A parser forks by the layout of the packet, that is, by the position in the packet and the next
//! indexes of header stacks. Everywhere else, paths join again, and the value of a variable becomes
//! a choice between its values on the paths. A part of the program that cannot be executed in this
//! way is a [`Cut`]: the packets that reach it are not followed further.

mod ageing;
mod blocks;
mod boundary;
mod call;
mod copies;
mod ends;
mod expression;
mod externs;
mod glue;
mod hash;
mod header;
mod layouts;
mod parser;
mod place;
mod pna;
mod portable;
mod psa;
mod room;
mod statement;
mod table;
mod v1model;
mod written;

pub(crate) use ageing::Times;
pub(crate) use boundary::Boundary;
pub(crate) use ends::{Copied, End, Entrance, Event, Fate, Member};
pub(crate) use hash::Hashed;
pub(crate) use room::{Room, keys_with_entries, limit_of, several_keys};
pub(crate) use table::{Configured, DefaultChoice, Lookup, may_be_entry};
pub(crate) use written::has_exact_keys;

use crate::ends::Ends;
use crate::goals::Goals;
use crate::packet::{self, Packet};
use crate::query::{Context, Settings};
use crate::shape::{Leaf, Shapes};
use crate::state::{Special, State};
use crate::term::{Origin, Term, Terms};
use boundary::Boundaries;
use ir::{Architecture, ExternId, ExternType, FunctionId, Location, Program, TableId, TypeId};
use std::collections::BTreeMap;

/// A construct that symbolic execution does not follow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is not executed symbolically")]
pub struct Unsupported {
    what: String,
}

/// The reason why a program is not executed to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unexecuted {
    /// The program has a construct that prevents its execution.
    Unsupported(Unsupported),
    /// The execution was abandoned ([`Bounds::ends`]).
    Abandoned,
}

impl From<Unsupported> for Unexecuted {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}

impl Unsupported {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }

    /// Returns a description of the construct.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

/// The reason why the evaluation of an expression or a place stopped without a value.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// The parser rejects the packet with an error of the core language.
    Reject(CoreError),
    /// The construct is not supported.
    Unsupported(Unsupported),
}

impl From<Unsupported> for Stop {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}

/// Returns the reason to stop at a construct that is not supported.
pub(crate) fn unsupported(what: impl Into<String>) -> Stop {
    Stop::Unsupported(Unsupported::new(what))
}

/// An error that parsers raise by themselves, as declared in `core.p4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoreError {
    NoError,
    PacketTooShort,
    NoMatch,
    StackOutOfBounds,
    HeaderTooShort,
    ParserInvalidArgument,
}

impl CoreError {
    fn name(self) -> &'static str {
        match self {
            Self::NoError => "NoError",
            Self::PacketTooShort => "PacketTooShort",
            Self::NoMatch => "NoMatch",
            Self::StackOutOfBounds => "StackOutOfBounds",
            Self::HeaderTooShort => "HeaderTooShort",
            Self::ParserInvalidArgument => "ParserInvalidArgument",
        }
    }
}

/// A point at which the execution stops following packets.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// The condition under which packets reach this point.
    pub(crate) guard: Term,
    /// The reason why packets are not followed further, such as
    /// `a value set is not executed symbolically`.
    pub(crate) reason: String,
    /// The place in the source, if it is known.
    pub(crate) location: Option<Location>,
    /// Whether the packets were followed to the end of a pass through the program, and only their
    /// next pass is not.
    pub(crate) is_between_passes: bool,
    /// Whether packets are followed nevertheless. What a test says of them is right, since it holds
    /// for the entries of the test. But with entries that no test has, packets may do something
    /// else, so that nothing is proved.
    pub(crate) is_followed: bool,
}

/// A condition that all tests satisfy, although a control plane may write what does not satisfy it.
/// What packets do without it is known, but nothing that needs that gets a test.
#[derive(Clone, Debug)]
pub(crate) struct Narrowing {
    pub(crate) holds: Term,
    /// A description of the configuration that the condition excludes from tests, such as `more
    /// than 64 entries of I.t`.
    pub(crate) without: String,
}

/// Bits that a deparser emits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emitted {
    /// The condition under which the bits are emitted.
    pub(crate) on: Term,
    pub(crate) value: Term,
    /// The number of low bits of `value` that are emitted; `None` for all of them.
    pub(crate) length: Option<Term>,
}

/// A read of a register cell that may return the cell's initial contents.
#[derive(Clone, Debug)]
pub(crate) struct InitialCell {
    /// The condition under which the cell is read before any packet has written it.
    pub(crate) on: Term,
    pub(crate) register: ExternId,
    pub(crate) index: Term,
    pub(crate) value: Term,
    /// The contents of the cell if neither the control plane nor a packet has written it.
    pub(crate) unwritten: Term,
}

/// A write to a register by a packet.
#[derive(Clone, Debug)]
struct Write {
    on: Term,
    index: Term,
    value: Term,
}

/// The result of executing a program symbolically. A "condition" is a term of one bit over the
/// inputs.
pub(crate) struct Execution {
    pub(crate) terms: Terms,
    pub(crate) goals: Goals,
    /// The boundaries of comparisons; empty if they were not requested.
    pub(crate) boundaries: Vec<Boundary>,
    /// The packets before the last one, in the order of their arrival.
    pub(crate) earlier: Vec<Arrival>,
    pub(crate) last: Arrival,
    pub(crate) lookups: Vec<Lookup>,
    pub(crate) defaults: BTreeMap<TableId, DefaultChoice>,
    pub(crate) cells: Vec<InitialCell>,
    /// The hashes that packets compute, with the hashed data.
    pub(crate) hashes: Vec<Hashed>,
    pub(crate) cuts: Vec<Cut>,
    /// The copies of packets that the program requests.
    pub(crate) copies: Vec<Copied>,
    /// The events of the last packet, such as clones, each with the condition under which it
    /// occurs.
    pub(crate) events: Vec<(Event, Term)>,
    /// The errors with which parsers of the last packet end, each after the condition for it.
    pub(crate) errors: Vec<(Term, Term)>,
    /// The conditions under which a transition to `reject`, or an error of the core language, makes
    /// a parser reject a packet. Rejections by `verify` are not included.
    pub(crate) rejections: Vec<Term>,
    /// The conditions under which a parser rejects a packet with an error of the core language that
    /// it raises by itself, such as `PacketTooShort`.
    pub(crate) failures: Vec<Term>,
    /// The conditions under which `verify` rejects a packet, with any error.
    pub(crate) refusals: Vec<Term>,
    /// The inputs that stand for table entries and default actions of the control plane.
    pub(crate) configured: Configured,
    /// Conditions that hold for every packet and every configuration that is considered.
    pub(crate) assumptions: Vec<Term>,
    /// Conditions that hold for every test, but not for every configuration.
    pub(crate) narrowings: Vec<Narrowing>,
    /// The occupancy of each table to which packets add entries.
    pub(crate) rooms: BTreeMap<TableId, Room>,
    /// Conditions that a test should satisfy if it can, so that it has small port numbers.
    pub(crate) preferences: Vec<Term>,
    /// Whether packets may put tables into a state that no control plane can configure.
    pub(crate) exceeds_configurations: bool,
    /// Whether packets may write registers or add entries, so that later packets find another
    /// state.
    pub(crate) leaves_state: bool,
    /// Whether packets may write registers, add entries or change their arguments, so that later
    /// passes of the same packet find another state.
    pub(crate) changes_state: bool,
    /// The inputs that decide when entries expire.
    pub(crate) times: Times,
}

impl Execution {
    /// Returns all received packets, in the order of their arrival.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = &Arrival> {
        self.earlier.iter().chain(std::iter::once(&self.last))
    }
}

/// A received packet, with all that may become of it.
pub(crate) struct Arrival {
    /// The port on which the packet is received.
    pub(crate) port: Term,
    /// The length of the received packet in bytes.
    pub(crate) length: Term,
    /// The bits of the received packet. The term is as wide as the longest packet that is
    /// considered.
    pub(crate) packet: Term,
    /// The time of arrival, in seconds since the first packet.
    pub(crate) at: Term,
    pub(crate) ends: Vec<End>,
}

/// The number of undefined inputs that are reserved for each block of a package.
const PART: u64 = 1 << 32;

/// The high bits that mark the numbers of undefined inputs which two compared programs do not
/// share: those of the first program, and those of the second.
const NOT_SHARED: [u64; 2] = [1 << 63, 3 << 62];

/// The limits of a symbolic execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The number of packets that the program receives, one after the other.
    pub(crate) packets: u32,
    /// The largest number of passes of each packet through the program.
    pub(crate) passes: u32,
    /// Whether tables have no entries and default actions but those in the source, and those that
    /// packets write.
    pub(crate) only_source_entries: bool,
    /// The largest number of entries of the control plane in each table; `None` for no limit but
    /// the sizes of tables.
    pub(crate) entries: Option<u64>,
    /// Whether the program is compared with another. The comparison itself takes into account that
    /// groups of action selectors may have several members, and leaves out meters of v1model.
    pub(crate) is_compared: bool,
    /// When the execution is abandoned.
    pub(crate) ends: Ends,
    /// The point at which the packet enters the program if only one pass is executed, which begins
    /// with any bytes, port and metadata and ends where the packet enters the program again. `None`
    /// if received packets are followed through several passes.
    pub(crate) entrance: Option<Entrance>,
}

/// Executes a program for v1model, PSA or PNA on one or more packets. Each packet finds the
/// registers and entries that earlier packets have written.
///
/// # Errors
///
/// Returns an error if the program cannot be executed at all, or if the time ends.
pub(crate) fn execute(program: &Program, bounds: Bounds) -> Result<Execution, Unexecuted> {
    run(Executor::new(program, Terms::new(), 0)?, bounds)
}

/// Executes a program like [`execute`], and also records the boundaries of comparisons.
///
/// # Errors
///
/// Returns an error if the program cannot be executed at all, or if the time ends.
pub(crate) fn execute_with_boundaries(
    program: &Program,
    bounds: Bounds,
) -> Result<Execution, Unexecuted> {
    let mut executor = Executor::new(program, Terms::new(), 0)?;
    executor.boundaries = Some(Boundaries::default());
    run(executor, bounds)
}

/// Executes a second program on the same packets as another execution, and takes over the terms of
/// that one. A lookup with the same keys has the same outcome in paired tables, and thus the same
/// inputs: `paired` has the name of the other program's table for the tables of this program. The
/// other inputs that a test chooses are numbered from `first` on.
///
/// Inputs that the language leaves undefined are numbered in the same way in both executions, which
/// therefore share them. This does not hide differences: if the programs transmit the same packets
/// for each value of the shared inputs, then each program can transmit the same set of packets.
/// This argument requires that each of these inputs can have any value. Therefore, random numbers,
/// and hashes whose value is not known, are not shared.
///
/// # Errors
///
/// Returns an error if the program cannot be executed at all, or if the time ends.
pub(crate) fn execute_beside(
    program: &Program,
    bounds: Bounds,
    other: &mut Execution,
    first: u64,
    paired: BTreeMap<String, String>,
) -> Result<Execution, Unexecuted> {
    let terms = std::mem::take(&mut other.terms);
    let mut executor = Executor::new(program, terms, first)?;
    executor.configured = std::mem::take(&mut other.configured);
    executor.is_second = true;
    executor.paired = paired;
    run(executor, bounds)
}

/// Executes the program of an executor.
fn run(mut executor: Executor<'_>, bounds: Bounds) -> Result<Execution, Unexecuted> {
    executor.ends = bounds.ends;
    executor.feasibility = Context::new(Settings { ends: bounds.ends, ..Settings::default() });
    executor.only_source_entries = bounds.only_source_entries;
    executor.is_compared = bounds.is_compared;
    executor.entrance = bounds.entrance;
    executor.start_clock(bounds.packets);
    let mut earlier = Vec::new();
    let mut last = executor.receive(0, bounds.passes)?;
    for number in 1..bounds.packets {
        earlier.push(last);
        last = executor.receive(number, bounds.passes)?;
    }
    executor.limit_entries(bounds.entries);
    if executor.is_late() {
        return Err(Unexecuted::Abandoned);
    }
    executor.terms.check().map_err(|fault| Unsupported::new(format!("the program ({fault})")))?;
    Ok(Execution {
        exceeds_configurations: executor.exceeds_configurations(),
        leaves_state: !executor.writes.is_empty() || executor.adds_entries(),
        changes_state: !executor.writes.is_empty() || !executor.written.is_empty(),
        terms: executor.terms,
        goals: executor.goals,
        boundaries: executor.boundaries.map(|boundaries| boundaries.all).unwrap_or_default(),
        earlier,
        last,
        lookups: executor.lookups,
        defaults: executor.defaults,
        cells: executor.cells,
        hashes: executor.hashes,
        cuts: executor.cuts,
        copies: executor.copies,
        events: executor.events,
        errors: executor.errors,
        rejections: executor.rejections,
        failures: executor.failures,
        refusals: executor.refusals,
        configured: executor.configured,
        assumptions: executor.assumptions,
        narrowings: executor.narrowings,
        rooms: executor.rooms,
        preferences: executor.preferences,
        times: executor.clock.into_times(),
    })
}

/// The execution of a program. See the [module](self).
pub(crate) struct Executor<'p> {
    program: &'p Program,
    /// The time after which no packet is followed further, because the execution is abandoned.
    ends: Ends,
    /// Whether tables have no entries and default actions but those in the source, and those that
    /// packets write.
    only_source_entries: bool,
    /// Whether the program is compared with another.
    is_compared: bool,
    /// The point at which the packet enters the program if only one pass is executed.
    entrance: Option<Entrance>,
    terms: Terms,
    shapes: Shapes<'p>,
    goals: Goals,
    boundaries: Option<Boundaries>,
    lookups: Vec<Lookup>,
    defaults: BTreeMap<TableId, DefaultChoice>,
    cells: Vec<InitialCell>,
    hashes: Vec<Hashed>,
    writes: BTreeMap<ExternId, Vec<Write>>,
    cuts: Vec<Cut>,
    assumptions: Vec<Term>,
    narrowings: Vec<Narrowing>,
    rooms: BTreeMap<TableId, Room>,
    preferences: Vec<Term>,
    /// The entries that packets have added, and the arguments that they have changed, in this
    /// order.
    written: Vec<written::EntryWrite>,
    /// The virtual time, with the timers of expiring entries.
    clock: ageing::Clock,
    /// The lookup whose action is being executed.
    current: Option<written::CurrentLookup>,
    /// The position of the leaf that holds the sum of each `InternetChecksum` object.
    sums: BTreeMap<ExternId, usize>,
    /// Whether the packet comes from a port of the host (PNA); `None` if that was not asked for.
    from_host: Option<Term>,
    /// The solver that decides whether a packet can have a layout.
    feasibility: Context,
    /// The bits that the deparser has emitted in the current pass.
    emitted: Vec<Emitted>,
    /// The position in the sequence of the packet that is being executed.
    arrival: u32,
    /// The packet that the parser reads at present.
    packet: Packet,
    in_parser: bool,
    /// The functions that are being executed, the innermost last.
    functions: Vec<FunctionId>,
    /// The position of the first leaf for the result of each function.
    results: Vec<usize>,
    next_indexes: Vec<usize>,
    /// The number of blocks, and of intervals between blocks, whose undefined inputs have been
    /// numbered.
    parts: u64,
    /// The number of the undefined input that was created last.
    undefined: u64,
    chosen: u64,
    /// The variables that hold the standard metadata of all blocks. The oldest form of
    /// `mark_to_drop`, which has no argument, changes them.
    standard: Vec<ir::VariableId>,
    drop_port: u64,
    /// The widths of the two properties of a member of a clone session or multicast group: its port
    /// and its instance number.
    member_widths: [u32; 2],
    configured: Configured,
    /// Whether the program is the second one of a comparison.
    is_second: bool,
    /// The name of the first program's table that has the same entries, for each table of the
    /// second program of a comparison that has such a table.
    paired: BTreeMap<String, String>,
    copies: Vec<Copied>,
    events: Vec<(Event, Term)>,
    errors: Vec<(Term, Term)>,
    rejections: Vec<Term>,
    failures: Vec<Term>,
    refusals: Vec<Term>,
}

/// The contents of a variable that has not been assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Numbers are undefined.
    Undefined,
    /// Numbers are zero.
    Zero,
}

impl<'p> Executor<'p> {
    fn new(program: &'p Program, mut terms: Terms, first: u64) -> Result<Self, Unsupported> {
        let shapes = Shapes::new(program)?;
        let packet = Packet::received(&mut terms, 0);
        let clock = ageing::Clock::new(&mut terms);
        let mut end = shapes.total();
        let mut results = Vec::with_capacity(program.functions.len());
        for function in &program.functions {
            results.push(end);
            end += function.return_type.map_or(0, |type_id| shapes.size(type_id));
        }
        let mut sums = BTreeMap::new();
        for (id, instance) in (0_u32..).map(ExternId).zip(&program.externs) {
            if instance.extern_type == ExternType::InternetChecksum {
                sums.insert(id, end);
                end += 1;
            }
        }
        let next_indexes = shapes.next_indexes();
        Ok(Self {
            program,
            ends: Ends::default(),
            only_source_entries: false,
            is_compared: false,
            entrance: None,
            terms,
            goals: Goals::new(program),
            boundaries: None,
            shapes,
            lookups: Vec::new(),
            defaults: BTreeMap::new(),
            cells: Vec::new(),
            hashes: Vec::new(),
            writes: BTreeMap::new(),
            cuts: Vec::new(),
            assumptions: Vec::new(),
            narrowings: Vec::new(),
            rooms: BTreeMap::new(),
            preferences: Vec::new(),
            written: Vec::new(),
            clock,
            current: None,
            sums,
            from_host: None,
            feasibility: Context::new(Settings::default()),
            emitted: Vec::new(),
            arrival: 0,
            packet,
            in_parser: false,
            functions: Vec::new(),
            results,
            next_indexes,
            parts: 0,
            undefined: 0,
            chosen: first,
            standard: Vec::new(),
            drop_port: architectures::DROP_PORT.into(),
            member_widths: [32, 16],
            configured: Configured::default(),
            is_second: false,
            paired: BTreeMap::new(),
            copies: Vec::new(),
            events: Vec::new(),
            errors: Vec::new(),
            rejections: Vec::new(),
            failures: Vec::new(),
            refusals: Vec::new(),
        })
    }

    /// Executes the program on the next received packet. Registers and entries are as earlier
    /// packets have left them.
    fn receive(&mut self, number: u32, passes: u32) -> Result<Arrival, Unsupported> {
        self.arrival = number;
        self.pass_time(number);
        self.current = None;
        self.goals.next_packet();
        self.events.clear();
        self.errors.clear();
        let program = self.program;
        let (ends, port) = match &program.architecture {
            Architecture::V1model => self.v1model(passes)?,
            Architecture::Psa => self.psa(passes)?,
            Architecture::Pna => self.pna(passes)?,
            Architecture::Other(package) => {
                return Err(Unsupported::new(format!("a program with the package `{package}`")));
            }
        };
        let length = packet::length(&mut self.terms, number);
        let packet = packet::whole(&mut self.terms, number);
        let longest = self.terms.number(packet::LENGTH_BITS, packet::MAXIMUM_LENGTH.into());
        let fits = self.terms.less_or_equal(length, longest);
        self.assumptions.push(fits);
        Ok(Arrival { port, length, packet, at: self.clock.now(), ends })
    }

    /// Numbers the following undefined inputs from the next multiple of [`PART`] on. If two
    /// programs are compared, a block may have a different number of undefined inputs in each, and
    /// the inputs of later blocks must still have the same numbers.
    fn begin_part(&mut self) {
        self.parts += 1;
        self.undefined = self.parts * PART;
    }

    /// Returns a new input whose value is undefined.
    fn undefined(&mut self, width: u32) -> Term {
        self.undefined += 1;
        self.terms.input(Origin::undefined(self.undefined), width)
    }

    /// Returns a new input for a number that a switch computes or draws in a way that is not
    /// modelled, such as a random number. It is not shared by two programs that are compared. In
    /// contrast to a value that the language leaves undefined, it may be restricted to certain
    /// numbers, and each program may get another one.
    fn unknown(&mut self, width: u32) -> Term {
        self.undefined += 1;
        let [first, second] = NOT_SHARED;
        let mark = if self.is_second { second } else { first };
        self.terms.input(Origin::undefined(self.undefined | mark), width)
    }

    /// Returns a new input whose value a test chooses.
    fn chosen(&mut self, width: u32) -> Term {
        self.chosen += 1;
        self.terms.input(packet::other(self.chosen), width)
    }

    /// Returns the metadata of a type that an earlier pass may have left, with any value. Two
    /// programs that are compared get the same inputs for leaves of the same width.
    fn carried(&mut self, type_id: TypeId) -> Result<Vec<Term>, Unsupported> {
        let leaves = self.shapes.leaves(type_id).to_vec();
        let mut values = Vec::with_capacity(leaves.len());
        for (position, leaf) in (0_u32..).zip(leaves) {
            match leaf {
                Leaf::Number(_) | Leaf::Validity => {
                    values.push(packet::carried(&mut self.terms, position, leaf.width()));
                }
                // Not every number is a possible index or length.
                Leaf::Next | Leaf::Varbits(_) | Leaf::Length => {
                    return Err(Unsupported::new(
                        "a pass that gets a header stack or a `varbit` from any earlier pass",
                    ));
                }
            }
        }
        Ok(values)
    }

    /// Returns the initial contents of a variable of a type, as leaves.
    fn initial(&mut self, type_id: TypeId, fill: Fill) -> Vec<Term> {
        let leaves = self.shapes.leaves(type_id).to_vec();
        leaves.into_iter().map(|leaf| self.initial_leaf(leaf, fill)).collect()
    }

    fn initial_leaf(&mut self, leaf: Leaf, fill: Fill) -> Term {
        match (leaf, fill) {
            (Leaf::Number(width), Fill::Undefined) => self.undefined(width),
            (Leaf::Number(_), Fill::Zero)
            | (Leaf::Validity | Leaf::Next | Leaf::Varbits(_) | Leaf::Length, _) => {
                self.terms.zero(leaf.width())
            }
        }
    }

    /// Returns a state in which no variable has been assigned.
    fn initial_state(&mut self, guard: Term) -> State {
        self.begin_part();
        let mut leaves = Vec::new();
        for variable in &self.program.variables {
            leaves.extend(self.initial(variable.type_id, Fill::Undefined));
        }
        for function in &self.program.functions {
            if let Some(type_id) = function.return_type {
                leaves.extend(self.initial(type_id, Fill::Undefined));
            }
        }
        for _ in &self.sums {
            leaves.push(self.terms.zero(portable::SUM_BITS));
        }
        for special in Special::ALL {
            leaves.push(special.initial(&mut self.terms));
        }
        self.begin_part();
        State { guard, leaves }
    }

    /// Returns the number of an error, or that of `NoError` if the program does not declare the
    /// error.
    fn error_number(&mut self, error: CoreError) -> Term {
        let position = self.program.errors.iter().position(|name| name == error.name());
        self.terms.number(32, position.unwrap_or(0) as u128)
    }

    /// Returns the state of packets that the parser rejects with this error.
    fn rejected(&mut self, mut state: State, error: CoreError) -> State {
        self.rejections.push(state.guard);
        if error != CoreError::NoError {
            self.failures.push(state.guard);
        }
        let number = self.error_number(error);
        state.set_special(Special::ParserError, number);
        state
    }

    /// Returns whether the execution is abandoned.
    fn is_late(&self) -> bool {
        self.ends.are_reached()
    }

    /// Records that packets are not followed further, and why.
    fn cut(&mut self, guard: Term, reason: impl Into<String>, location: Option<Location>) {
        if self.terms.truth_of(guard) != Some(false) {
            let reason = reason.into();
            let (is_between_passes, is_followed) = (false, false);
            self.cuts.push(Cut { guard, reason, location, is_between_passes, is_followed });
        }
    }

    /// Records that packets are not followed further because they have made the largest number of
    /// passes.
    fn cut_pass(&mut self, guard: Term, passes: u32) {
        if self.terms.truth_of(guard) != Some(false) {
            let reason = match passes {
                1 => "a packet that enters the program again, or a copy of it".to_owned(),
                more => format!("more than {more} passes of a packet"),
            };
            self.cuts.push(Cut {
                guard,
                reason,
                location: None,
                is_between_passes: true,
                is_followed: false,
            });
        }
    }

    /// Returns the constants that a term may be equal to, each with its condition. Returns `None`
    /// if the term is not a choice between constants, or between more than `most`.
    fn cases(&mut self, term: Term, most: usize) -> Option<Vec<(Term, u64)>> {
        use crate::term::Operation;
        let mut open = vec![(self.terms.truth(true), term)];
        let mut found: BTreeMap<u64, Term> = BTreeMap::new();
        let mut steps = 0;
        while let Some((condition, term)) = open.pop() {
            steps += 1;
            if steps > 64 * most {
                return None;
            }
            if let Some(value) = self.terms.constant_of(term) {
                let value = value.to_u64()?;
                let known = found.get(&value).copied();
                let any = known.map_or(condition, |known| self.terms.or(known, condition));
                found.insert(value, any);
                if found.len() > most {
                    return None;
                }
                continue;
            }
            let Operation::IfThenElse { condition: by, then, otherwise } =
                self.terms.operation(term)
            else {
                return None;
            };
            let not = self.terms.not(by);
            let (when, unless) = (self.terms.and(condition, by), self.terms.and(condition, not));
            for (condition, term) in [(when, then), (unless, otherwise)] {
                if self.terms.truth_of(condition) != Some(false) {
                    open.push((condition, term));
                }
            }
        }
        Some(found.into_iter().map(|(value, condition)| (condition, value)).collect())
    }
}
