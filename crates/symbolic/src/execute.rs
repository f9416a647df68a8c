//! The execution of a program with terms in place of values.
//!
//! A parser forks by the packet's layout: the position in the packet and the next indexes of
//! stacks. Everywhere else, paths join again, and values become choices between the values of the
//! paths. A part of the program that cannot be executed so is a [`Cut`]: the packets that reach it
//! are not followed further.

mod blocks;
mod call;
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
mod statement;
mod table;
mod v1model;
mod written;

pub(crate) use ends::{Copied, End, Event, Fate, Members};
pub(crate) use table::{DefaultChoice, Lookup};

use crate::goals::Goals;
use crate::packet::{self, Packet};
use crate::query::{Context, Settings};
use crate::shape::{Leaf, Shapes};
use crate::state::{Special, State};
use crate::term::{Origin, Term, Terms};
use ir::{Architecture, ExternId, ExternType, FunctionId, Location, Program, TableId, TypeId};
use std::collections::BTreeMap;

/// A construct that symbolic execution does not follow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is not executed symbolically")]
pub struct Unsupported {
    what: String,
}

impl Unsupported {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }

    /// Returns the construct, in words.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

/// The reason why an expression or a place has no value.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// The parser rejects the packet with an error of the core language.
    Reject(CoreError),
    /// The construct is not executed.
    Unsupported(Unsupported),
}

impl From<Unsupported> for Stop {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}

/// Returns the stop for a construct that is not executed.
pub(crate) fn unsupported(what: impl Into<String>) -> Stop {
    Stop::Unsupported(Unsupported::new(what))
}

/// An error that parsers raise themselves (`core.p4`).
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

/// Packets that are not followed further.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// The condition under which packets reach the cut.
    pub(crate) guard: Term,
    /// The reason, such as `a value set is not executed symbolically`.
    pub(crate) reason: String,
    /// The place in the source, if it is known.
    pub(crate) location: Option<Location>,
}

/// Bits that a deparser emits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emitted {
    /// The condition under which the bits are emitted.
    pub(crate) on: Term,
    pub(crate) value: Term,
    /// The number of low bits of the value that are emitted; `None` for all of them.
    pub(crate) length: Option<Term>,
}

/// The initial contents of a cell of a register that packets may read.
#[derive(Clone, Debug)]
pub(crate) struct InitialCell {
    /// The condition under which the cell is read before packets have written it.
    pub(crate) on: Term,
    pub(crate) register: ExternId,
    pub(crate) index: Term,
    pub(crate) value: Term,
    /// The contents of a cell that nothing has written.
    pub(crate) unwritten: Term,
}

/// A write of a register by a packet.
#[derive(Clone, Debug)]
struct Write {
    on: Term,
    index: Term,
    value: Term,
}

/// The result of a program's execution.
pub(crate) struct Execution {
    pub(crate) terms: Terms,
    pub(crate) goals: Goals,
    /// The packets before the last one, in the order in which they are received.
    pub(crate) earlier: Vec<Arrival>,
    pub(crate) last: Arrival,
    pub(crate) lookups: Vec<Lookup>,
    pub(crate) defaults: BTreeMap<TableId, DefaultChoice>,
    pub(crate) cells: Vec<InitialCell>,
    pub(crate) cuts: Vec<Cut>,
    /// The copies that packets request.
    pub(crate) copies: Vec<Copied>,
    /// The events of the last packet, such as clones, each with the condition under which it happens.
    pub(crate) events: Vec<(Event, Term)>,
    /// The conditions under which parsers of the last packet end, each with the error.
    pub(crate) errors: Vec<(Term, Term)>,
    /// The conditions under which parsers reject packets.
    pub(crate) rejections: Vec<Term>,
    pub(crate) sessions: Option<Members>,
    pub(crate) groups: Option<Members>,
    /// Conditions that hold for every packet and every configuration that is considered.
    pub(crate) assumptions: Vec<Term>,
    /// Conditions that hold for tests if they can, so that tests have small port numbers.
    pub(crate) preferences: Vec<Term>,
    /// Whether packets may leave a state in which no control plane can put the switch.
    pub(crate) exceeds_configurations: bool,
    /// Whether packets may write registers, or add entries.
    pub(crate) leaves_state: bool,
}

impl Execution {
    /// Returns all packets, in the order in which they are received.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = &Arrival> {
        self.earlier.iter().chain(std::iter::once(&self.last))
    }
}

/// A received packet with its ends.
pub(crate) struct Arrival {
    /// The port on which the packet is received.
    pub(crate) port: Term,
    /// The length of the received packet in bytes.
    pub(crate) length: Term,
    /// The bits of the received packet, extended to the length of the longest packet.
    pub(crate) packet: Term,
    pub(crate) ends: Vec<End>,
}

/// The limits up to which packets are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The number of packets, one after the other.
    pub(crate) packets: u32,
    /// The number of passes of each packet.
    pub(crate) passes: u32,
}

/// Executes a program for v1model, PSA or PNA on packets, each of which finds the registers and
/// entries that the packets before it have written.
///
/// # Errors
///
/// Returns an error if the program cannot be executed at all.
pub(crate) fn execute(program: &Program, bounds: Bounds) -> Result<Execution, Unsupported> {
    execute_beside(program, bounds, Terms::new(), 0)
}

/// Executes a program on the packets of another execution, whose terms are `terms`. The other inputs
/// are numbered from `first` on.
///
/// # Errors
///
/// Returns an error if the program cannot be executed at all.
pub(crate) fn execute_beside(
    program: &Program,
    bounds: Bounds,
    terms: Terms,
    first: u64,
) -> Result<Execution, Unsupported> {
    let mut executor = Executor::new(program, terms, first)?;
    let mut earlier = Vec::new();
    let mut last = executor.receive(0, bounds.passes)?;
    for number in 1..bounds.packets {
        earlier.push(last);
        last = executor.receive(number, bounds.passes)?;
    }
    executor.terms.check().map_err(|fault| Unsupported::new(format!("the program ({fault})")))?;
    Ok(Execution {
        exceeds_configurations: executor.exceeds_configurations(),
        leaves_state: !executor.writes.is_empty() || executor.adds_entries(),
        terms: executor.terms,
        goals: executor.goals,
        earlier,
        last,
        lookups: executor.lookups,
        defaults: executor.defaults,
        cells: executor.cells,
        cuts: executor.cuts,
        copies: executor.copies,
        events: executor.events,
        errors: executor.errors,
        rejections: executor.rejections,
        sessions: executor.sessions,
        groups: executor.groups,
        assumptions: executor.assumptions,
        preferences: executor.preferences,
    })
}

/// The execution of a program. See the [module](self).
pub(crate) struct Executor<'p> {
    program: &'p Program,
    terms: Terms,
    shapes: Shapes<'p>,
    goals: Goals,
    lookups: Vec<Lookup>,
    defaults: BTreeMap<TableId, DefaultChoice>,
    cells: Vec<InitialCell>,
    writes: BTreeMap<ExternId, Vec<Write>>,
    cuts: Vec<Cut>,
    assumptions: Vec<Term>,
    preferences: Vec<Term>,
    /// The entries and default actions that packets have added and changed, in this order.
    written: Vec<written::EntryWrite>,
    /// The lookup whose action is being executed.
    current: Option<written::CurrentLookup>,
    /// The position of the leaf with the sum of each unit for Internet checksums.
    sums: BTreeMap<ExternId, usize>,
    /// Whether the packet comes from a port of the host (PNA).
    from_host: Option<Term>,
    /// The solver for conditions of layouts.
    feasibility: Context,
    /// The bits that the deparser of the current pass has emitted.
    emitted: Vec<Emitted>,
    /// The number of the received packet that is being executed.
    arrival: u32,
    /// The packet that the parser reads.
    packet: Packet,
    in_parser: bool,
    /// The functions that are being executed, the innermost last.
    functions: Vec<FunctionId>,
    /// The position of the first leaf of each function's result.
    results: Vec<usize>,
    next_indexes: Vec<usize>,
    undefined: u64,
    chosen: u64,
    /// The metadata that the oldest form of `mark_to_drop` marks: the standard metadata of all
    /// blocks.
    standard: Vec<ir::VariableId>,
    drop_port: u64,
    /// The member of all clone sessions.
    sessions: Option<Members>,
    /// The member of all multicast groups.
    groups: Option<Members>,
    copies: Vec<Copied>,
    events: Vec<(Event, Term)>,
    errors: Vec<(Term, Term)>,
    rejections: Vec<Term>,
}

/// The contents of a leaf that has not been assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Numbers are unknown.
    Undefined,
    /// Numbers are zero.
    Zero,
}

impl<'p> Executor<'p> {
    fn new(program: &'p Program, mut terms: Terms, first: u64) -> Result<Self, Unsupported> {
        let shapes = Shapes::new(program)?;
        let packet = Packet::received(&mut terms, 0);
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
            terms,
            goals: Goals::new(program),
            shapes,
            lookups: Vec::new(),
            defaults: BTreeMap::new(),
            cells: Vec::new(),
            writes: BTreeMap::new(),
            cuts: Vec::new(),
            assumptions: Vec::new(),
            preferences: Vec::new(),
            written: Vec::new(),
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
            undefined: first,
            chosen: first,
            standard: Vec::new(),
            drop_port: architectures::DROP_PORT.into(),
            sessions: None,
            groups: None,
            copies: Vec::new(),
            events: Vec::new(),
            errors: Vec::new(),
            rejections: Vec::new(),
        })
    }

    /// Executes the program on the next received packet. Registers and entries are as the packets
    /// before it have left them.
    fn receive(&mut self, number: u32, passes: u32) -> Result<Arrival, Unsupported> {
        self.arrival = number;
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
        Ok(Arrival { port, length, packet, ends })
    }

    /// Returns an input whose value no test knows.
    fn undefined(&mut self, width: u32) -> Term {
        self.undefined += 1;
        self.terms.input(Origin::undefined(self.undefined), width)
    }

    /// Returns an input whose value a test chooses.
    fn chosen(&mut self, width: u32) -> Term {
        self.chosen += 1;
        self.terms.input(packet::other(self.chosen), width)
    }

    /// Returns the initial leaves of a type.
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
        State { guard, leaves }
    }

    /// Returns the number of an error, or that of `NoError` if the program does not declare it.
    fn error_number(&mut self, error: CoreError) -> Term {
        let position = self.program.errors.iter().position(|name| name == error.name());
        self.terms.number(32, position.unwrap_or(0) as u128)
    }

    /// Returns the state of packets that the parser rejects.
    fn rejected(&mut self, mut state: State, error: CoreError) -> State {
        self.rejections.push(state.guard);
        let number = self.error_number(error);
        state.set_special(Special::ParserError, number);
        state
    }

    /// Records that packets are not followed further.
    fn cut(&mut self, guard: Term, reason: impl Into<String>, location: Option<Location>) {
        if self.terms.truth_of(guard) != Some(false) {
            self.cuts.push(Cut { guard, reason: reason.into(), location });
        }
    }

    /// Returns the constants that a term may be, each with its condition. Returns `None` if the
    /// term is no choice between constants, or one of too many.
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
