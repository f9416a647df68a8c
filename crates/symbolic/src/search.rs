//! The search for tests. For each goal that no test has reached yet, it finds a packet and a
//! configuration of tables that reach the goal, or a proof that there are none. If a single packet
//! does not suffice, sequences of packets are tried.

mod boundaries;
mod each;
mod find;
mod lanes;
mod paths;
mod sequences;
mod worst;

pub use each::{Answer as WishAnswer, Taker, Wants, Wishes, find_each};
pub use find::{FindError, NoSuchPart, find};
pub use paths::{Feasibility, PathSearch};
pub use worst::{
    Costliest, Costly, CostlyWish, Shortage, ShortageReason, costliest, costliest_of_each,
};

use crate::ends::Ends;
use crate::evaluate::{Evaluation, KnownBits, Model};
use crate::execute::{Bounds, Cut, Execution, Narrowing, Room, Unexecuted, Unsupported};
use crate::expected;
use crate::generated::Test;
use crate::goals::{Goal, place};
use crate::packet::LENGTH_BITS;
use crate::query::{Answer, Context, Fill, QueryError, Settings};
use crate::realise::{Losing, Unrealised, Written, realise};
use crate::restriction::Restrictions;
use crate::term::{InputId, Operation, Term, Terms};
use ir::bits::Bits;
use ir::{Program, TableId};
use std::collections::BTreeMap;

/// The largest length of a packet, in bytes, in tests that do not need a longer one.
const SHORT: u128 = 128;

/// The largest number of seconds of a timeout, and between two packets, in tests that do not need a
/// larger one.
const SHORT_TIME: u128 = 10;

/// The settings of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The seed from which values that a goal leaves open are generated.
    pub seed: u64,
    /// The largest number of passes through the program for which a packet is followed.
    pub passes: u32,
    /// The largest number of packets in a test.
    pub packets: u32,
    /// Whether tests leave registers, and tables to which packets add entries (PNA), in their
    /// initial state. They then contain only what the program and its packets write.
    pub starts_fresh: bool,
    /// Whether tables have no entries and default actions but those in the source, and those that
    /// packets write. Tests then add none.
    pub only_source_entries: bool,
    /// The largest number of entries that the control plane writes into each table; `None` for no
    /// limit but the sizes of tables. Proofs hold for configurations within this limit.
    pub entries: Option<u32>,
    /// Whether to generate tests that reveal more faults: additional tests at the boundaries of
    /// comparisons, packets that preferably leave the switch and hit entries, and entries that must
    /// lose against others or that only lookups hit which packets skip.
    pub boundaries: bool,
    /// The number of tests after which the search ends; `None` for no limit.
    pub tests: Option<usize>,
    /// The coverage at which the search ends: the percentage of goals that are reached, among those
    /// that are not proved unreachable.
    pub coverage: f64,
    /// The number of conflicts after which the solver ends a query without an answer.
    pub conflicts: u64,
    /// The number of threads. The resulting tests do not depend on it.
    pub threads: usize,
    /// When the search ends early.
    pub ends: Ends,
}

impl std::default::Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            passes: 3,
            packets: 1,
            starts_fresh: false,
            only_source_entries: false,
            entries: None,
            boundaries: false,
            tests: None,
            coverage: 100.0,
            conflicts: 20_000,
            threads: 1,
            ends: Ends::default(),
        }
    }
}

impl Options {
    /// Returns the limits of an execution on this number of packets.
    pub(crate) fn bounds(&self, packets: u32) -> Bounds {
        Bounds {
            packets,
            passes: self.passes,
            only_source_entries: self.only_source_entries,
            entries: self.entries.map(u64::from),
            is_compared: false,
            ends: self.ends,
            entrance: None,
        }
    }
}

/// The result of the search for one goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A test reaches the goal. The number, counted from 1, is that of the first such test.
    Covered(usize),
    /// No packet reaches the goal, whatever tables and registers contain.
    Unreachable,
    /// No sequence of up to this many packets reaches the goal. Longer ones may, since packets can
    /// write state that the control plane of a test cannot.
    NotWithin(u32),
    /// The search found neither a test nor a proof, for this reason.
    GivenUp(String),
    /// The search ended before it tried the goal.
    Open,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The tests, in the order in which they were found.
    pub tests: Vec<Test>,
    /// The positions in `goals` of the goals that each test reaches.
    pub reached: Vec<Vec<usize>>,
    /// The number of times that each test reaches the goals in `reached`, in the same order.
    pub times: Vec<Vec<u32>>,
    /// The goals with their verdicts, in the order in which the program has them.
    pub goals: Vec<(Goal, Verdict)>,
    /// The reasons why some packets were not followed to their end, each with its position in the
    /// source.
    pub cuts: Vec<String>,
}

/// The error that ends a search without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The program contains a construct that prevents its symbolic execution.
    #[error("{0}")]
    Unsupported(Unsupported),
    /// The search had to end before the program had been executed.
    #[error("the search ended before the program had been executed, so it has found nothing")]
    Ended,
    /// The solver could not answer a query.
    #[error("{0}")]
    Query(#[from] QueryError),
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(String),
}

impl From<Unexecuted> for SearchError {
    fn from(reason: Unexecuted) -> Self {
        match reason {
            Unexecuted::Unsupported(unsupported) => Self::Unsupported(unsupported),
            Unexecuted::Abandoned => Self::Ended,
        }
    }
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

/// Searches for tests of a program for v1model, PSA or PNA. Before each goal, `goes_on` is called;
/// the search ends early if it returns false.
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

/// A test, with the goals that its packets reach.
struct Found {
    test: Test,
    reached: Vec<usize>,
    /// The number of times that the packets reach each of the goals in `reached`.
    times: Vec<u32>,
}

struct Search<'p> {
    program: &'p Program,
    execution: Execution,
    /// The condition under which packets of a test reach each goal.
    conditions: Vec<Term>,
    /// The condition under which the last packet of a test reaches each goal.
    of_last: Vec<Term>,
    /// The conditions of the single visits of packets to each goal. Empty if only the conditions in
    /// `conditions` are known.
    passages: Vec<Vec<Term>>,
    context: Context,
    options: Options,
    /// Lists of conditions that make a test simpler, beginning with the strongest list. Each is
    /// tried in turn.
    wishes: Vec<Vec<Term>>,
    /// Conditions that make a test reveal more of the program's behaviour. Those that are
    /// incompatible with a goal are left out.
    showing: Vec<Term>,
    /// Conditions that what the control plane configures is not zero. They yield to `showing`.
    nonzero: Vec<Term>,
    /// The boundaries for which tests are made. In `conditions`, theirs follow those of the goals.
    boundaries: Vec<boundaries::Wanted>,
    /// Whether the packet is followed to its end, with a configuration that a test may have.
    followed: Term,
    /// The cuts that packets may reach.
    cuts: Vec<Cut>,
    chosen: Vec<InputId>,
    restrictions: Restrictions,
    /// Conditions on lookup outcomes, under which the constraints of the program permit the entries
    /// of a test.
    permitted: Vec<Term>,
    /// The tables and actions whose constraints have excluded an outcome.
    excluding: Vec<String>,
    /// The time after which no further query is passed to the solver; `None` for no limit.
    ends: Ends,
}

/// Returns the conditions under which a test leaves the state that packets can write as it is
/// initially: registers, and entries of tables to which packets add.
fn fresh(program: &Program, execution: &mut Execution) -> Vec<Term> {
    let Execution { terms, cells, lookups, rooms, .. } = execution;
    let mut conditions = Vec::new();
    for cell in cells.iter() {
        conditions.push(terms.equal(cell.value, cell.unwritten));
    }
    for (id, room) in rooms.iter() {
        if program.tables.get(id.index()).is_some_and(|table| table.entries.is_empty()) {
            let none = terms.zero(terms.width_of(room.written));
            conditions.push(terms.equal(room.written, none));
        }
    }
    for lookup in lookups.iter() {
        let table = program.tables.get(lookup.table.index());
        if table.is_some_and(|table| table.add_on_miss && table.entries.is_empty()) {
            conditions.push(terms.not(lookup.hit));
        }
    }
    conditions
}

/// Extends the lists of conditions that make a test simpler by conditions about time. First, no
/// time passes between packets. Next, only a short time passes, and entries are looked up when
/// their timeouts end or a second earlier.
fn with_times(execution: &mut Execution, ordinary: Vec<Vec<Term>>) -> Vec<Vec<Term>> {
    let Execution { terms, times, .. } = execution;
    if times.gaps.is_empty() {
        return ordinary;
    }
    let (mut still, mut edges) = (Vec::new(), times.edges.clone());
    for time in times.inputs() {
        let width = terms.width_of(time);
        let (zero, short) = (terms.zero(width), terms.number(width, SHORT_TIME));
        still.push(terms.equal(time, zero));
        edges.push(terms.less_or_equal(time, short));
    }
    let with = |more: &[Term]| -> Vec<Vec<Term>> {
        ordinary.iter().map(|conditions| [conditions.as_slice(), more].concat()).collect()
    };
    let mut all = with(&still);
    all.extend(with(&edges));
    // The last list has the fewest conditions.
    all.extend(ordinary.last().cloned());
    all
}

/// Returns the conditions under which no packet finds a table full.
fn roomy(terms: &mut Terms, rooms: &BTreeMap<TableId, Room>) -> Vec<Term> {
    let refused = rooms.values().flat_map(|room| &room.refused);
    refused.map(|refused| terms.not(*refused)).collect()
}

/// Records that the search is incomplete where the control plane may set timeouts of single
/// entries.
fn doubt_idle_entries(execution: &mut Execution) {
    for guard in std::mem::take(&mut execution.times.idle) {
        execution.cuts.push(Cut {
            guard,
            reason: "an entry to which the control plane may give a timeout".to_owned(),
            location: None,
            is_between_passes: false,
            is_followed: true,
        });
    }
}

/// Returns the condition under which all packets are followed to their end.
fn followed(terms: &mut Terms, cuts: &[Cut]) -> Term {
    let guards = cuts.iter().filter(|cut| !cut.is_followed).map(|cut| cut.guard);
    let guards: Vec<Term> = guards.collect();
    let cut = terms.any(&guards);
    terms.not(cut)
}

/// Returns the condition under which all packets are followed to their end, with a configuration
/// that a test may have.
fn tested(terms: &mut Terms, cuts: &[Cut], narrowings: &[Narrowing]) -> Term {
    let mut all = vec![followed(terms, cuts)];
    all.extend(narrowings.iter().map(|narrowing| narrowing.holds));
    terms.all(&all)
}

/// Returns in words what a model has and no test has.
pub(crate) fn beyond_tests<'n>(
    terms: &Terms,
    narrowings: impl Iterator<Item = &'n Narrowing>,
    model: Model,
) -> Option<String> {
    let mut evaluation = Evaluation::new(model);
    let mut without: Vec<String> = narrowings
        .filter(|narrowing| !evaluation.holds(terms, narrowing.holds))
        .map(|narrowing| narrowing.without.clone())
        .collect();
    without.sort();
    without.dedup();
    (!without.is_empty()).then(|| without.join(" and "))
}

/// The number of models of one goal that may violate the constraints of the program before the goal
/// is given up.
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
            ends: options.ends,
            ..Settings::default()
        };
        doubt_idle_entries(&mut execution);
        let mut context = Context::new(settings);
        for condition in &execution.assumptions {
            context.assert(&execution.terms, *condition);
        }
        if options.starts_fresh {
            for condition in fresh(program, &mut execution) {
                context.assert(&execution.terms, condition);
            }
        }
        let showing =
            if options.boundaries { boundaries::showing(&mut execution) } else { Vec::new() };
        let nonzero =
            if options.boundaries { boundaries::nonzero(&mut execution) } else { Vec::new() };
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
        let mut empty = roomy(terms, &execution.rooms);
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
        let ordinary = vec![usual, accepted, simple, with_entries, short];
        let followed = tested(terms, &execution.cuts, &execution.narrowings);
        let mut wishes = with_times(&mut execution, ordinary);
        wishes.push(Vec::new());
        let chosen = execution.terms.chosen_inputs().collect();
        let cuts = execution.cuts.clone();
        Self {
            program,
            execution,
            of_last: conditions.clone(),
            passages: Vec::new(),
            conditions,
            context,
            options: *options,
            wishes,
            showing,
            nonzero,
            boundaries: Vec::new(),
            followed,
            cuts,
            chosen,
            restrictions: Restrictions::new(program),
            permitted: Vec::new(),
            excluding: Vec::new(),
            ends: options.ends,
        }
    }

    /// Returns whether packets may leave state that no configuration of a test contains. Only then
    /// can a sequence reach more than a single packet.
    fn may_gain_from_sequences(&self) -> bool {
        self.execution.exceeds_configurations
            || (self.options.starts_fresh && self.execution.leaves_state)
    }

    /// Returns whether the search must end.
    fn is_late(&self) -> bool {
        self.ends.are_reached()
    }

    /// Removes the cuts that no packet can reach.
    fn drop_unreached_cuts(&mut self) -> Result<(), SearchError> {
        let mut reached = Vec::new();
        for cut in std::mem::take(&mut self.cuts) {
            if self.is_late() {
                reached.push(cut);
                continue;
            }
            let answer = self.context.solve(&self.execution.terms, &[cut.guard])?;
            if !matches!(answer, Answer::Unsat(_)) {
                reached.push(cut);
            }
        }
        self.cuts = reached;
        let Execution { terms, narrowings, .. } = &mut self.execution;
        self.followed = tested(terms, &self.cuts, narrowings);
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

    /// Tries to find a test that reaches a goal, which it does if `condition` holds. If there is
    /// none, returns the verdict on the goal; it is `Open` if the time has ended.
    fn attempt(
        &mut self,
        condition: Term,
        goal: &Goal,
        number: usize,
    ) -> Result<Result<Found, Verdict>, SearchError> {
        let found = self.tried(condition, goal, number)?;
        // A query that had to end is not one that the solver has given up.
        let has_ended = self.is_late() && matches!(found, Err(Verdict::GivenUp(_)));
        Ok(if has_ended { Err(Verdict::Open) } else { found })
    }

    /// Tries to find a test that reaches a goal, as [`Self::attempt`] does. The verdict is also
    /// `GivenUp` if the time ended during a query.
    fn tried(
        &mut self,
        condition: Term,
        goal: &Goal,
        number: usize,
    ) -> Result<Result<Found, Verdict>, SearchError> {
        // The last list has no wishes, so that its reason is that of the goal itself.
        let mut reason = None;
        for (position, wishes) in self.wishes.clone().into_iter().enumerate() {
            reason = None;
            for _ in 0..MAXIMUM_EXCLUDED {
                if self.is_late() {
                    return Ok(Err(Verdict::Open));
                }
                let mut conditions = vec![condition, self.followed];
                conditions.extend(&wishes);
                conditions.extend(&self.permitted);
                if position == 0 {
                    let showing = self.compatible(&conditions)?;
                    conditions.extend(showing);
                }
                let model = match self.context.solve(&self.execution.terms, &conditions)? {
                    Answer::Model(model) => self.settled(model, &conditions),
                    Answer::Unsat(_) => break,
                    Answer::OutOfBudget(limit) => {
                        reason = Some(format!("the solver reached a limit ({limit})"));
                        break;
                    }
                };
                match self.test(model, goal, condition, number) {
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
        let followed = [condition, self.followed];
        if !self.permitted.is_empty()
            && !matches!(self.context.solve(terms, &followed)?, Answer::Unsat(_))
        {
            let reason =
                format!("the constraints of {} permit no entry", self.excluding.join(", "));
            return Ok(Err(Verdict::GivenUp(reason)));
        }
        if let Some(reason) = self.needs_more_than_tests(condition)? {
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

    /// Returns the reason why a packet may satisfy a condition that it satisfies in no test: it may
    /// with a configuration that no test has. Returns `None` if it does not with any configuration.
    fn needs_more_than_tests(&mut self, condition: Term) -> Result<Option<String>, SearchError> {
        if self.execution.narrowings.is_empty() {
            return Ok(None);
        }
        let followed = followed(&mut self.execution.terms, &self.cuts);
        let Execution { terms, narrowings, .. } = &self.execution;
        Ok(match self.context.solve(terms, &[condition, followed])? {
            Answer::Unsat(_) => None,
            Answer::OutOfBudget(limit) => Some(format!("the solver reached a limit ({limit})")),
            Answer::Model(model) => Some(match beyond_tests(terms, narrowings.iter(), model) {
                Some(without) => format!("no test has {without}"),
                None => "no test has the configuration that it needs".to_owned(),
            }),
        })
    }

    /// Excludes an outcome of lookups that the constraints of the program do not permit. In that
    /// outcome, the terms have the given values.
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

    /// Returns a model that has a value for each input on which the conditions depend. Inputs to
    /// which the solver assigned no value are zero.
    fn settled(&self, mut model: Model, conditions: &[Term]) -> Model {
        let terms = &self.execution.terms;
        for input in terms.inputs_below(conditions) {
            if !model.contains(input) {
                model.set(terms, input, &Bits::zero(terms.input_of(input).width, false));
            }
        }
        model
    }

    /// Makes the test of a model, and returns it with the goals that it reaches. Returns `None` if
    /// the condition for which the model was made depends on undefined values.
    fn test(
        &self,
        mut model: Model,
        goal: &Goal,
        condition: Term,
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
        // Losing entries would be more than the caller permits.
        let has_losing = self.options.boundaries && self.options.entries.is_none();
        let losing = if has_losing { Losing::Present } else { Losing::Absent };
        let realised = realise(self.program, restrictions, &self.execution, &mut known, losing)?;
        let fillers = realised.fillers(self.program, restrictions, &self.execution, &mut known)?;
        let mut earlier = Vec::new();
        for arrival in &self.execution.earlier {
            earlier.push(expected::exchange(terms, &mut known, arrival)?);
        }
        let last = expected::exchange(terms, &mut known, &self.execution.last)?;
        let (mut reached, mut times) = (Vec::new(), Vec::new());
        for (position, condition) in self.conditions.iter().enumerate() {
            if known.of(terms, *condition).truth() == Some(true) {
                reached.push(position);
                times.push(self.times(&mut known, position));
            }
        }
        let Written { expire_times, mut entries, defaults, registers, sessions, groups } =
            realised.written;
        entries.extend(fillers);
        let test = Test {
            number,
            goal: match &goal.place {
                Some(place) if *place != goal.name => format!("{} ({place})", goal.name),
                _ => goal.name.clone(),
            },
            expire_times,
            entries,
            defaults,
            registers,
            sessions,
            groups,
            earlier,
            seconds: last.seconds,
            port: last.port,
            packet: last.packet,
            outputs: last.outputs,
        };
        Ok(Some(Found { test, reached, times }))
    }

    /// Returns how often packets reach the goal at this position. It is at least 1.
    fn times(&self, known: &mut KnownBits, position: usize) -> u32 {
        let passages = self.passages.get(position).map_or(&[][..], Vec::as_slice);
        let mut count: u32 = 0;
        for passage in passages {
            if known.of(&self.execution.terms, *passage).truth() == Some(true) {
                count = count.saturating_add(1);
            }
        }
        count.max(1)
    }
}
