//! The equivalence of two programs: whether they transmit the same packets for all packets and
//! configurations, or a packet and a configuration for which they do not.
//!
//! Both programs are executed on the same packet, or on the same sequence of packets. What a control
//! plane writes into tables, registers and sessions of the same name is the same for both (module
//! `pairing`). The solver then looks for a packet and a configuration, which have a layout: the ends that the packet comes to in both
//! programs, the headers that are emitted there and their lengths. Under a layout, the outputs are
//! two lists of terms. If they cannot differ, the layout is excluded, and the next one is examined
//! until there are none.
//!
//! Bits that are undefined in one of the programs are no difference.

mod layout;
mod pairing;

use crate::evaluate::{Evaluation, KnownBits, Model};
use crate::execute::{Bounds, Execution, execute, execute_beside};
use crate::expected;
use crate::generated::{Exchange, Output, Test};
use crate::query::{Answer, Context, Fill, Settings};
use crate::realise::{Unrealised, Written, realise};
use crate::restriction::Restrictions;
use crate::search::{Options, SearchError};
use crate::term::{Operation, Source, Term, Terms};
use ir::Program;
use layout::Layout;

/// The number of layouts after which the comparison is given up.
const LAYOUTS: usize = 4_096;

/// The largest width of the number of a clone session or multicast group.
const NUMBER: u32 = 32;

/// The first number of the inputs of the second program.
const SECOND: u64 = 1 << 32;

/// Whether two programs are equivalent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Equivalence {
    /// The programs transmit the same packets.
    Equal {
        /// The number of layouts that were compared.
        layouts: usize,
    },
    /// The programs transmit different packets.
    Different(Box<Difference>),
    /// Neither was found, for this reason.
    Undecided(String),
}

/// A packet and a configuration for which two programs transmit different packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The test of the first program, with its outputs.
    pub first: Test,
    /// The test of the second program, with the same packet and its own outputs.
    pub second: Test,
}

/// Compares two programs on sequences of up to `options.packets` packets, which pass the program
/// `options.passes` times at most.
///
/// # Errors
///
/// Returns an error if a program cannot be executed symbolically, or if the solver's answer is
/// wrong.
pub fn equivalent(
    first: &Program,
    second: &Program,
    options: &Options,
) -> Result<Equivalence, SearchError> {
    let bounds = Bounds { packets: options.packets, passes: options.passes };
    let mut left = execute(first, bounds)?;
    let terms = std::mem::take(&mut left.terms);
    let mut right = execute_beside(second, bounds, terms, SECOND)?;
    let mut terms = std::mem::take(&mut right.terms);
    let paired = pairing::assumptions(&mut terms, [(first, &left), (second, &right)]);
    left.terms = terms;
    let paired = match paired {
        Ok(paired) => paired,
        Err(reason) => return Ok(Equivalence::Undecided(reason)),
    };
    let settings = Settings {
        conflicts: options.conflicts,
        fill: Fill::Random(options.seed),
        ..Settings::default()
    };
    let mut context = Context::new(settings);
    for condition in left.assumptions.iter().chain(&right.assumptions).chain(&paired) {
        context.assert(&left.terms, *condition);
    }
    let comparison = Comparison {
        programs: [first, second],
        restrictions: [Restrictions::new(first), Restrictions::new(second)],
        executions: [left, right],
        context,
        undecided: None,
    };
    comparison.run()
}

struct Comparison<'p> {
    programs: [&'p Program; 2],
    restrictions: [Restrictions; 2],
    /// The executions. The first one has the terms of both.
    executions: [Execution; 2],
    context: Context,
    /// The reason why a layout was not decided.
    undecided: Option<String>,
}

impl Comparison<'_> {
    fn run(mut self) -> Result<Equivalence, SearchError> {
        let cuts: Vec<Term> =
            self.executions.iter().flat_map(|one| &one.cuts).map(|cut| cut.guard).collect();
        let mut cut = self.terms().any(&cuts);
        if !matches!(self.solve(&[cut])?, Answer::Unsat(_)) {
            let reasons = self.executions.iter().flat_map(|one| &one.cuts);
            let reason = reasons.map(|cut| cut.reason.as_str()).next().unwrap_or_default();
            self.undecided = Some(format!("packets are not followed to their end ({reason})"));
        }
        let apart = self.copied_apart();
        if !matches!(self.solve(&[apart])?, Answer::Unsat(_)) {
            let reason = "copies to different clone sessions or multicast groups are not compared";
            self.undecided = Some(reason.to_owned());
            cut = self.terms().or(cut, apart);
        }
        let followed = self.terms().not(cut);
        let mut layouts = 0;
        while layouts < LAYOUTS {
            let model = match self.solve(&[followed])? {
                Answer::Model(model) => model,
                Answer::Unsat(_) => {
                    return Ok(match self.undecided {
                        None => Equivalence::Equal { layouts },
                        Some(reason) => Equivalence::Undecided(reason),
                    });
                }
                Answer::OutOfBudget(limit) => return Ok(Equivalence::Undecided(limit.to_string())),
            };
            layouts += 1;
            if let Some(difference) = self.layout(model, followed)? {
                return Ok(Equivalence::Different(Box::new(difference)));
            }
        }
        let reason = format!("the programs have more than {LAYOUTS} layouts of packets");
        Ok(Equivalence::Undecided(reason))
    }

    /// Returns the condition under which the programs copy to different clone sessions, or to
    /// different multicast groups. In an execution, all sessions have the same member, and so have
    /// all groups, so the outputs do not show that a control plane may give them different ones.
    fn copied_apart(&mut self) -> Term {
        let [left, right] = &mut self.executions;
        let Execution { terms, copies, .. } = left;
        let mut apart = terms.truth(false);
        for one in copies.iter() {
            for other in right.copies.iter().filter(|other| other.is_group == one.is_group) {
                let both = terms.and(one.on, other.on);
                let (number, other) =
                    (terms.resize(one.number, NUMBER), terms.resize(other.number, NUMBER));
                let differ = terms.not_equal(number, other);
                let here = terms.and(both, differ);
                apart = terms.or(apart, here);
            }
        }
        apart
    }

    fn terms(&mut self) -> &mut Terms {
        &mut self.executions[0].terms
    }

    fn solve(&mut self, conditions: &[Term]) -> Result<Answer, SearchError> {
        Ok(self.context.solve(&self.executions[0].terms, conditions)?)
    }

    /// Compares the programs for packets and configurations with the layout of a model, and excludes
    /// the layout afterwards. Returns a difference if there is one among the packets that are
    /// followed to their end: of the others, such as those that a meter does not mark green, no
    /// output is known.
    fn layout(&mut self, model: Model, followed: Term) -> Result<Option<Difference>, SearchError> {
        let mut evaluation = Evaluation::new(model);
        let mut layout = Layout::default();
        let mut terms = std::mem::take(self.terms());
        let [left, right] = &self.executions;
        let mut differs = Ok(terms.truth(false));
        for (first, second) in left.arrivals().zip(right.arrivals()) {
            let outputs = [
                layout.outputs(&mut terms, &mut evaluation, &first.ends, first.length),
                layout.outputs(&mut terms, &mut evaluation, &second.ends, first.length),
            ];
            let here = layout::differ(&mut terms, &outputs);
            differs = match (differs, here) {
                (Ok(before), Ok(here)) => Ok(terms.or(before, here)),
                (Err(reason), _) | (_, Err(reason)) => Err(reason),
            };
        }
        *self.terms() = terms;
        let differs = match differs {
            Ok(differs) => differs,
            Err(reason) => {
                self.undecided = Some(reason);
                self.exclude(&layout.conditions);
                return Ok(None);
            }
        };
        let wanted = [layout.conditions.as_slice(), &[differs, followed]].concat();
        match self.solve(&wanted)? {
            Answer::Unsat(_) => self.exclude(&layout.conditions),
            Answer::OutOfBudget(limit) => {
                self.undecided = Some(limit.to_string());
                self.exclude(&layout.conditions);
            }
            Answer::Model(model) => match self.difference(model) {
                Ok(Some(difference)) => return Ok(Some(difference)),
                Ok(None) | Err(Unrealised::Unknown) => {
                    let reason = "outputs that differ depend on undefined values";
                    self.undecided = Some(reason.to_owned());
                    self.exclude(&layout.conditions);
                }
                // The layout is examined again without what the constraints do not permit.
                Err(Unrealised::Excluded { condition, of: _ }) => {
                    let terms = self.terms();
                    let mut equal = Vec::with_capacity(condition.len());
                    for (term, value) in condition {
                        let value = terms.constant(&value);
                        equal.push(terms.equal(term, value));
                    }
                    self.exclude(&equal);
                }
            },
        }
        Ok(None)
    }

    /// Asserts that conditions do not all hold.
    fn exclude(&mut self, conditions: &[Term]) {
        let all = self.terms().all(conditions);
        let not = self.terms().not(all);
        self.context.assert(&self.executions[0].terms, not);
    }

    /// Returns the tests of a model if the outputs that are expected of both programs differ.
    fn difference(&mut self, mut model: Model) -> Result<Option<Difference>, Unrealised> {
        let terms = &self.executions[0].terms;
        for input in terms.inputs() {
            if let (Source::Chosen, Operation::Input(id)) =
                (input.origin.source, terms.operation(input.term))
            {
                self.context.complete(terms, &mut model, id);
            }
        }
        let mut known = KnownBits::new(model);
        let mut sides = Vec::new();
        for execution in &self.executions {
            let mut exchanges = Vec::new();
            for arrival in execution.arrivals() {
                let mut exchange = expected::exchange(terms, &mut known, arrival)?;
                exchange.outputs.sort_by_key(|output| output.port);
                exchanges.push(exchange);
            }
            sides.push(exchanges);
        }
        let [first, second] = sides.as_mut_slice() else { return Ok(None) };
        let differ =
            |(left, right): (&Exchange, &Exchange)| contradict(&left.outputs, &right.outputs);
        let Some(at) = first.iter().zip(second.iter()).position(differ) else { return Ok(None) };
        // The packets after the first difference show nothing.
        first.truncate(at + 1);
        second.truncate(at + 1);
        let (Some(last_of_first), Some(last_of_second)) = (first.pop(), second.pop()) else {
            return Ok(None);
        };
        let written = [self.realised(0, &mut known)?, self.realised(1, &mut known)?];
        let mut test = Test {
            number: 1,
            goal: "the programs differ".to_owned(),
            entries: Vec::new(),
            defaults: Vec::new(),
            registers: Vec::new(),
            sessions: Vec::new(),
            groups: Vec::new(),
            earlier: Vec::new(),
            port: last_of_first.port,
            packet: last_of_first.packet,
            outputs: Vec::new(),
        };
        for Written { entries, defaults, registers, sessions, groups } in written {
            add_missing(&mut test.entries, entries);
            add_missing(&mut test.defaults, defaults);
            add_missing(&mut test.registers, registers);
            add_missing(&mut test.sessions, sessions);
            add_missing(&mut test.groups, groups);
        }
        let of = |side: usize, earlier: &[Exchange], outputs: Vec<Output>| {
            let program = self.programs[side];
            let has_table = |name: &str| program.tables.iter().any(|table| table.name == name);
            let has_extern = |name: &str| program.externs.iter().any(|one| one.name == name);
            let mut test = Test { earlier: earlier.to_vec(), outputs, ..test.clone() };
            test.entries.retain(|entry| has_table(&entry.table));
            test.defaults.retain(|default| has_table(&default.table));
            test.registers.retain(|cell| has_extern(&cell.register));
            test
        };
        Ok(Some(Difference {
            first: of(0, first, last_of_first.outputs),
            second: of(1, second, last_of_second.outputs),
        }))
    }

    /// Returns what the control plane writes for one of the programs.
    fn realised(&mut self, side: usize, known: &mut KnownBits) -> Result<Written, Unrealised> {
        let [left, right] = &mut self.executions;
        let [first, second] = &self.restrictions;
        if side == 0 {
            return realise(self.programs[0], first, left, known);
        }
        // An execution is realised with its terms, which are those of both.
        std::mem::swap(&mut left.terms, &mut right.terms);
        let written = realise(self.programs[1], second, right, known);
        std::mem::swap(&mut left.terms, &mut right.terms);
        written
    }
}

/// Adds what a list lacks.
fn add_missing<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

/// Returns whether outputs, which are sorted by port, differ in what is defined.
fn contradict(first: &[Output], second: &[Output]) -> bool {
    let differ = |(left, right): (&Output, &Output)| {
        let digits = || left.digits.chars().zip(right.digits.chars());
        left.port != right.port
            || left.digits.len() != right.digits.len()
            || digits().any(|(left, right)| left != right && left != '*' && right != '*')
    };
    first.len() != second.len() || first.iter().zip(second).any(differ)
}
