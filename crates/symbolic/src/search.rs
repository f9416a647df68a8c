//! The search for tests: for each goal that no test has reached, a packet and a configuration of
//! tables that reach it, or a proof that there are none. Sequences of packets are tried for what no
//! single packet reaches.

mod find;
mod lanes;
mod sequences;
mod worst;

pub use find::{FindError, NoSuchPart, find};
pub use worst::{Costly, CostlyWish, costliest, costliest_of_each};

use crate::evaluate::{KnownBits, Model};
use crate::execute::{Cut, Execution, Unsupported};
use crate::expected;
use crate::generated::Test;
use crate::goals::{Goal, place};
use crate::packet::LENGTH_BITS;
use crate::query::{Answer, Context, Fill, QueryError, Settings};
use crate::realise::{Unrealised, Written, realise};
use crate::restriction::Restrictions;
use crate::term::{InputId, Operation, Term};
use ir::Program;
use ir::bits::Bits;

/// The length in bytes that packets have at most if that suffices.
const SHORT: u128 = 128;

/// The settings of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The seed of all values that a goal leaves open.
    pub seed: u64,
    /// The number of passes of a packet that are followed.
    pub passes: u32,
    /// The number of packets of a test at most.
    pub packets: u32,
    /// Whether tests write no registers, and no entries of tables to which packets add (PNA), so that
    /// these contain what the program and its packets write.
    pub starts_fresh: bool,
    /// The number of tests after which the search ends; `None` for no limit.
    pub tests: Option<usize>,
    /// The share of goals, in percent of those that are not proved unreachable, at which the search
    /// ends.
    pub coverage: f64,
    /// The number of conflicts after which a query is given up.
    pub conflicts: u64,
    /// The number of threads. The tests do not depend on it.
    pub threads: usize,
}

impl std::default::Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            passes: 3,
            packets: 1,
            starts_fresh: false,
            tests: None,
            coverage: 100.0,
            conflicts: 20_000,
            threads: 1,
        }
    }
}

/// The verdict on a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The test with this number, counted from 1, is the first that reaches the goal.
    Covered(usize),
    /// No packet reaches the goal, whatever tables and registers contain.
    Unreachable,
    /// No sequence of up to this many packets reaches the goal. Longer ones may, since packets write
    /// what a test cannot.
    NotWithin(u32),
    /// Neither was found, for this reason.
    GivenUp(String),
    /// The search ended before the goal's turn.
    Open,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The tests, in the order in which they were found.
    pub tests: Vec<Test>,
    /// The positions in `goals` of what each test reaches.
    pub reached: Vec<Vec<usize>>,
    /// The goals with their verdicts, in the order of the program.
    pub goals: Vec<(Goal, Verdict)>,
    /// The reasons why packets were not followed to their end, each with its place.
    pub cuts: Vec<String>,
}

/// A reason why a search has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The program has a construct without which it cannot be executed.
    #[error("{0}")]
    Unsupported(#[from] Unsupported),
    /// A query has no answer.
    #[error("{0}")]
    Query(#[from] QueryError),
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(String),
}

/// The progress of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of goals that have a verdict.
    pub decided: usize,
    /// The number of goals.
    pub goals: usize,
    /// The number of tests.
    pub tests: usize,
}

/// Searches for tests of a program for v1model, PSA or PNA. The search ends early when `goes_on`
/// returns false, which is called before each goal.
///
/// # Errors
///
/// Returns an error if the program cannot be executed symbolically, or if the solver's answer is
/// wrong.
pub fn search(
    program: &Program,
    options: &Options,
    goes_on: &mut dyn FnMut(Progress) -> bool,
) -> Result<Report, SearchError> {
    lanes::run(program, options, goes_on)
}

/// A test with the goals that its packets reach.
struct Found {
    test: Test,
    reached: Vec<usize>,
}

struct Search<'p> {
    program: &'p Program,
    execution: Execution,
    /// The conditions under which packets reach each goal.
    conditions: Vec<Term>,
    /// The conditions under which the last packet reaches each goal.
    of_last: Vec<Term>,
    context: Context,
    options: Options,
    /// Conditions that make a test simpler, most of all at first; each list is tried in turn.
    wishes: Vec<Vec<Term>>,
    /// Whether a packet is followed to its end.
    followed: Term,
    /// The cuts that packets reach, with whether that is known.
    cuts: Vec<Cut>,
    chosen: Vec<InputId>,
    restrictions: Restrictions,
    /// Conditions under which the program's constraints permit the entries of a test.
    permitted: Vec<Term>,
    /// The tables and actions whose constraints have excluded an outcome.
    excluding: Vec<String>,
}

/// Returns the conditions under which a test leaves to packets what they can write: registers, and
/// entries of tables to which packets add.
fn fresh(program: &Program, execution: &mut Execution) -> Vec<Term> {
    let Execution { terms, cells, lookups, .. } = execution;
    let mut conditions = Vec::new();
    for cell in cells.iter() {
        conditions.push(terms.equal(cell.value, cell.unwritten));
    }
    for lookup in lookups.iter() {
        let table = program.tables.get(lookup.table.index());
        if table.is_some_and(|table| table.add_on_miss && table.entries.is_empty()) {
            conditions.push(terms.not(lookup.hit));
        }
    }
    conditions
}

/// The number of times that a model may break the constraints of the program.
const MAXIMUM_EXCLUDED: usize = 64;

impl<'p> Search<'p> {
    fn new(
        program: &'p Program,
        mut execution: Execution,
        conditions: Vec<Term>,
        options: &Options,
    ) -> Self {
        let settings = Settings {
            conflicts: options.conflicts,
            fill: Fill::Random(options.seed),
            ..Settings::default()
        };
        let mut context = Context::new(settings);
        for condition in &execution.assumptions {
            context.assert(&execution.terms, *condition);
        }
        if options.starts_fresh {
            for condition in fresh(program, &mut execution) {
                context.assert(&execution.terms, condition);
            }
        }
        let lengths: Vec<Term> = execution.arrivals().map(|arrival| arrival.length).collect();
        let ports: Vec<Term> = execution.arrivals().map(|arrival| arrival.port).collect();
        let terms = &mut execution.terms;
        let longest = terms.number(LENGTH_BITS, SHORT);
        let mut short = Vec::new();
        for length in lengths {
            short.push(terms.less_or_equal(length, longest));
        }
        short.extend(&execution.preferences);
        let mut unchanged = Vec::new();
        for choice in execution.defaults.values() {
            unchanged.push(terms.not(choice.changed));
        }
        let mut empty = Vec::new();
        for cell in &execution.cells {
            empty.push(terms.equal(cell.value, cell.unwritten));
        }
        let simple = [&short[..], &unchanged, &empty].concat();
        // A packet that the parser refuses shows little of what a program does.
        let accepted: Vec<Term> =
            execution.rejections.iter().map(|rejected| terms.not(*rejected)).collect();
        let accepted = [&simple[..], &accepted].concat();
        // Port 0 would hide that a program uses a port where it should not: ports are 0 at first.
        let mut usual = accepted.clone();
        for port in ports {
            if let Operation::Input(id) = terms.operation(port) {
                let usual_port = terms.constant(&settings.fill.value(terms, id));
                usual.push(terms.equal(port, usual_port));
            }
        }
        let with_entries = [&short[..], &unchanged].concat();
        let wishes = vec![usual, accepted, simple, with_entries, short, Vec::new()];
        let reached: Vec<Term> = execution.cuts.iter().map(|cut| cut.guard).collect();
        let cut = terms.any(&reached);
        let followed = terms.not(cut);
        let chosen = execution.terms.chosen_inputs().collect();
        let cuts = execution.cuts.clone();
        Self {
            program,
            execution,
            of_last: conditions.clone(),
            conditions,
            context,
            options: *options,
            wishes,
            followed,
            cuts,
            chosen,
            restrictions: Restrictions::new(program),
            permitted: Vec::new(),
            excluding: Vec::new(),
        }
    }

    /// Returns whether packets may leave a state with which no test begins, so that a sequence may
    /// reach what no single packet does.
    fn may_gain_from_sequences(&self) -> bool {
        self.execution.exceeds_configurations
            || (self.options.starts_fresh && self.execution.leaves_state)
    }

    /// Removes the cuts that no packet reaches.
    fn drop_unreached_cuts(&mut self) -> Result<(), SearchError> {
        let mut reached = Vec::new();
        for cut in std::mem::take(&mut self.cuts) {
            let answer = self.context.solve(&self.execution.terms, &[cut.guard])?;
            if !matches!(answer, Answer::Unsat(_)) {
                reached.push(cut);
            }
        }
        self.cuts = reached;
        let guards: Vec<Term> = self.cuts.iter().map(|cut| cut.guard).collect();
        let cut = self.execution.terms.any(&guards);
        self.followed = self.execution.terms.not(cut);
        Ok(())
    }

    fn cuts_in_words(&self) -> Vec<String> {
        let cuts = self.cuts.iter().map(|cut| self.in_words(cut));
        let mut cuts: Vec<String> = cuts.collect();
        cuts.sort();
        cuts.dedup();
        cuts
    }

    fn in_words(&self, cut: &Cut) -> String {
        match cut.location {
            Some(location) => format!("{}: {}", place(self.program, location), cut.reason),
            None => cut.reason.clone(),
        }
    }

    /// Tries to reach a goal. Returns the verdict on it if there is no test.
    fn attempt(
        &mut self,
        condition: Term,
        goal: &Goal,
        number: usize,
    ) -> Result<Result<Found, Verdict>, SearchError> {
        let mut reason = None;
        for wishes in self.wishes.clone() {
            for _ in 0..MAXIMUM_EXCLUDED {
                let mut conditions = vec![condition, self.followed];
                conditions.extend(&wishes);
                conditions.extend(&self.permitted);
                let model = match self.context.solve(&self.execution.terms, &conditions)? {
                    Answer::Model(model) => self.settled(model, &conditions),
                    Answer::Unsat(_) => break,
                    Answer::OutOfBudget(limit) => {
                        reason = Some(format!("the solver reached a limit ({limit})"));
                        break;
                    }
                };
                match self.test(model, (goal, condition), number) {
                    Ok(Some(found)) => return Ok(Ok(found)),
                    Err(Unrealised::Excluded { condition, of }) => {
                        self.exclude(&condition, of);
                        reason = None;
                    }
                    Ok(None) | Err(Unrealised::Unknown) => {
                        reason = Some("the outcome depends on undefined values".to_owned());
                        break;
                    }
                }
            }
        }
        if let Some(reason) = reason {
            return Ok(Err(Verdict::GivenUp(reason)));
        }
        // No packet that is followed to its end reaches the goal with entries that are permitted.
        let terms = &self.execution.terms;
        if !self.permitted.is_empty()
            && !matches!(self.context.solve(terms, &[condition])?, Answer::Unsat(_))
        {
            let reason =
                format!("the constraints of {} permit no entry", self.excluding.join(", "));
            return Ok(Err(Verdict::GivenUp(reason)));
        }
        Ok(Err(match self.cuts.first() {
            None => Verdict::Unreachable,
            Some(cut) => Verdict::GivenUp(match self.cuts.len() {
                1 => self.in_words(cut),
                more => format!("{}, and {} more places", self.in_words(cut), more - 1),
            }),
        }))
    }

    /// Excludes an outcome that the constraints of the program do not permit.
    fn exclude(&mut self, condition: &[(Term, Bits)], of: String) {
        let terms = &mut self.execution.terms;
        let mut all = terms.truth(true);
        for (term, value) in condition {
            let value = terms.constant(value);
            let equal = terms.equal(*term, value);
            all = terms.and(all, equal);
        }
        let not = terms.not(all);
        self.permitted.push(not);
        if !self.excluding.contains(&of) {
            self.excluding.push(of);
        }
    }

    /// Returns a model with a value for each input on which conditions depend. The conditions hold
    /// if those that the solver has not mentioned are zero.
    fn settled(&self, mut model: Model, conditions: &[Term]) -> Model {
        let terms = &self.execution.terms;
        for input in terms.inputs_below(conditions) {
            if !model.contains(input) {
                model.set(terms, input, &Bits::zero(terms.input_of(input).width, false));
            }
        }
        model
    }

    /// Returns the test of a model, with the goals that it reaches. Returns `None` if the condition
    /// for which the model was made depends on undefined values.
    fn test(
        &self,
        mut model: Model,
        (goal, condition): (&Goal, Term),
        number: usize,
    ) -> Result<Option<Found>, Unrealised> {
        let terms = &self.execution.terms;
        for input in &self.chosen {
            self.context.complete(terms, &mut model, *input);
        }
        let mut known = KnownBits::new(model);
        if known.of(terms, condition).truth() != Some(true) {
            return Ok(None);
        }
        let restrictions = &self.restrictions;
        let written = realise(self.program, restrictions, &self.execution, &mut known)?;
        let mut earlier = Vec::new();
        for arrival in &self.execution.earlier {
            earlier.push(expected::exchange(terms, &mut known, arrival)?);
        }
        let last = expected::exchange(terms, &mut known, &self.execution.last)?;
        let mut reached = Vec::new();
        for (position, condition) in self.conditions.iter().enumerate() {
            if known.of(terms, *condition).truth() == Some(true) {
                reached.push(position);
            }
        }
        let Written { entries, defaults, registers, sessions, groups } = written;
        let test = Test {
            number,
            goal: match &goal.place {
                Some(place) if *place != goal.name => format!("{} ({place})", goal.name),
                _ => goal.name.clone(),
            },
            entries,
            defaults,
            registers,
            sessions,
            groups,
            earlier,
            port: last.port,
            packet: last.packet,
            outputs: last.outputs,
        };
        Ok(Some(Found { test, reached }))
    }
}
