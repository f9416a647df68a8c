//! The search for tests: for each goal that no test has reached, a packet and a configuration of
//! tables that reach it, or a proof that there are none.

mod find;

pub use find::{FindError, NoSuchPart, find};

use crate::evaluate::{KnownBits, Model};
use crate::execute::{Cut, Execution, Unsupported, execute};
use crate::expected::{self, Received, Unknown};
use crate::generated::Test;
use crate::goals::{Goal, place};
use crate::packet::LENGTH_BITS;
use crate::query::{Answer, Context, Fill, QueryError, Settings};
use crate::realise::{Unrealised, Written, realise};
use crate::restriction::Restrictions;
use crate::term::{InputId, Operation, Source, Term};
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
    /// The number of tests after which the search ends; `None` for no limit.
    pub tests: Option<usize>,
    /// The share of goals, in percent of those that are not proved unreachable, at which the search
    /// ends.
    pub coverage: f64,
    /// The number of conflicts after which a query is given up.
    pub conflicts: u64,
}

impl std::default::Default for Options {
    fn default() -> Self {
        Self { seed: 1, passes: 3, tests: None, coverage: 100.0, conflicts: 20_000 }
    }
}

/// The verdict on a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The test with this number, counted from 1, is the first that reaches the goal.
    Covered(usize),
    /// No packet reaches the goal, whatever tables and registers contain.
    Unreachable,
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

/// Searches for tests of a program for v1model. The search ends early when `goes_on` returns false,
/// which is called before each goal.
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
    let mut execution = execute(program, options.passes)?;
    let goals = execution.goals.all().to_vec();
    let conditions = execution.goals.conditions(&mut execution.terms);
    let search = Search::new(program, execution, conditions, options);
    search.run(&goals, goes_on)
}

/// A test with the goals that its packet reaches.
struct Found {
    test: Test,
    reached: Vec<usize>,
}

struct Search<'p> {
    program: &'p Program,
    execution: Execution,
    conditions: Vec<Term>,
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
        let terms = &mut execution.terms;
        let longest = terms.number(LENGTH_BITS, SHORT);
        let short = terms.less_or_equal(execution.length, longest);
        let mut unchanged = Vec::new();
        for choice in execution.defaults.values() {
            unchanged.push(terms.not(choice.changed));
        }
        let mut empty = Vec::new();
        for cell in &execution.cells {
            let zero = terms.zero(terms.width_of(cell.value));
            empty.push(terms.equal(cell.value, zero));
        }
        let simple = [&[short][..], &unchanged, &empty].concat();
        let wishes = vec![simple, [&[short][..], &unchanged].concat(), vec![short], Vec::new()];
        let reached: Vec<Term> = execution.cuts.iter().map(|cut| cut.guard).collect();
        let cut = terms.any(&reached);
        let followed = terms.not(cut);
        let inputs = execution.terms.inputs().iter();
        let chosen = inputs.filter(|input| input.origin.source == Source::Chosen);
        let chosen = chosen.filter_map(|input| match execution.terms.operation(input.term) {
            Operation::Input(id) => Some(id),
            _ => None,
        });
        let chosen = chosen.collect();
        let cuts = execution.cuts.clone();
        let options = *options;
        Self {
            program,
            execution,
            conditions,
            context,
            options,
            wishes,
            followed,
            cuts,
            chosen,
            restrictions: Restrictions::new(program),
            permitted: Vec::new(),
            excluding: Vec::new(),
        }
    }

    fn run(
        mut self,
        goals: &[Goal],
        goes_on: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Report, SearchError> {
        self.drop_unreached_cuts()?;
        let mut verdicts = vec![Verdict::Open; goals.len()];
        let mut tests: Vec<Test> = Vec::new();
        for (position, goal) in goals.iter().enumerate() {
            let decided = verdicts.iter().filter(|verdict| **verdict != Verdict::Open).count();
            let progress = Progress { decided, goals: goals.len(), tests: tests.len() };
            let is_full = self.options.tests.is_some_and(|most| tests.len() >= most);
            if !goes_on(progress) || is_full || self.is_covered(&verdicts) {
                break;
            }
            if verdicts.get(position) != Some(&Verdict::Open) {
                continue;
            }
            let condition = self.conditions.get(position).copied();
            let Some(condition) = condition else { continue };
            let verdict = match self.attempt(condition, goal, tests.len() + 1)? {
                Ok(found) => {
                    let number = found.test.number;
                    for reached in found.reached {
                        if let Some(verdict @ (Verdict::Open | Verdict::GivenUp(_))) =
                            verdicts.get_mut(reached)
                        {
                            *verdict = Verdict::Covered(number);
                        }
                    }
                    tests.push(found.test);
                    continue;
                }
                Err(verdict) => verdict,
            };
            if let Some(place) = verdicts.get_mut(position) {
                *place = verdict;
            }
        }
        let cuts = self.cuts_in_words();
        Ok(Report { tests, goals: goals.iter().cloned().zip(verdicts).collect(), cuts })
    }

    /// Returns whether the coverage is reached at which the search ends.
    fn is_covered(&self, verdicts: &[Verdict]) -> bool {
        if self.options.coverage >= 100.0 {
            return false;
        }
        let covered = verdicts.iter().filter(|one| matches!(one, Verdict::Covered(_))).count();
        let reachable = verdicts.iter().filter(|one| **one != Verdict::Unreachable).count();
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        number(covered) >= self.options.coverage / 100.0 * number(reachable)
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
        let length = expected::number(terms, &mut known, self.execution.length)?;
        let port = expected::number(terms, &mut known, self.execution.port)?;
        let packet = known.of(terms, self.execution.packet);
        let packet: &Bits = packet.complete().ok_or(Unknown)?;
        let received = Received::new(packet, length);
        let outputs = expected::outputs(terms, &mut known, &self.execution.ends, &received)?;
        let mut reached = Vec::new();
        for (position, condition) in self.conditions.iter().enumerate() {
            if known.of(terms, *condition).truth() == Some(true) {
                reached.push(position);
            }
        }
        let Written { entries, defaults, registers, sessions, groups } = written;
        let digits = received.bytes.iter().map(|byte| format!("{byte:02x}"));
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
            port: u32::try_from(port).map_err(|_| Unknown)?,
            packet: digits.collect(),
            outputs,
        };
        Ok(Some(Found { test, reached }))
    }
}
