//! The equivalence of two programs: whether they transmit the same packets, for all received
//! packets and all configurations. Otherwise, a packet and a configuration for which they differ.
//!
//! Both programs are executed on the same packet, or on the same sequence of packets. The control
//! plane writes the same contents into tables that are paired (module `tables`), and into registers
//! and sessions that have the same name in both (module `pairing`). The solver then looks for any
//! packet and configuration. They have a layout: the ways in which both programs dispose of the
//! packet, the headers that they emit, and the lengths of these. With the layout fixed, the outputs
//! of each program are a list of terms. If these lists cannot differ, the layout is excluded and
//! another one is examined, until there is none left.
//!
//! Bits that are undefined in one of the programs do not count as a difference.
//!
//! Packets may enter a program again any number of times, in particular on the recirculation port,
//! which any table may choose. If there are such packets, single passes are compared instead (module
//! `induction`). If that fails, packets are followed up to a number of passes.
//!
//! A difference is shown by tests, which are made of fewer configurations than a control plane may
//! write: they have an entry for each key, groups of one member, and no full table unless the
//! packets of the sequence fill it. A layout is excluded only if the programs do not differ with
//! any configuration. If they differ with one that no test has, the comparison is given up.

mod induction;
mod layout;
mod pairing;
mod tables;

pub use tables::{PairError, TablePairs};

use crate::evaluate::{Evaluation, KnownBits, Model};
use crate::execute::{Bounds, Entrance, Execution, Hashed, Narrowing, execute, execute_beside};
use crate::expected;
use crate::generated::{self, Exchange, Output, Test};
use crate::query::{Answer, Context, Fill, Settings};
use crate::realise::{Losing, Realised, Unrealised, Written, realise, translated, translated_call};
use crate::restriction::Restrictions;
use crate::search::{Options, SearchError, beyond_tests};
use crate::term::{Operation, Source, Term, Terms};
use ir::bits::Bits;
use ir::{Program, TableId};
use layout::{Layout, Sent};
use pairing::Paired;

/// The largest number of packet layouts that are compared. The comparison of programs with more
/// layouts ends without a result.
const LAYOUTS: usize = 4_096;

/// The largest number of pairs of hashes for which a clause states that equal data have equal
/// hashes.
const HASHES: usize = 256;

/// The number at which the inputs of the second program begin.
const SECOND: u64 = 1 << 32;

/// The result of comparing two programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Equivalence {
    /// The programs transmit the same packets in all cases within the bounds of the options.
    Equal {
        /// The number of layouts that were compared.
        layouts: usize,
        /// The configurations that the proof leaves out, in words, because the control plane cannot
        /// write them in both programs, or because they are not compared.
        without: Vec<String>,
        /// Whether a packet may make any number of passes through the programs. Otherwise, no
        /// packet makes more passes than the options permit.
        any_passes: bool,
    },
    /// The programs transmit different packets.
    Different(Box<Difference>),
    /// The comparison found neither a proof nor a difference, for this reason.
    Undecided(String),
}

/// A packet and a configuration for which two programs transmit different packets, as a test of
/// each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The test for the first program, with the outputs expected of it.
    pub first: Test,
    /// The test for the second program: the same packet, with the outputs expected of this program.
    pub second: Test,
}

/// Compares two programs on sequences of up to `options.packets` packets. If packets may pass
/// through a program more than `options.passes` times, they are called equal only if each single
/// pass is equal, and a difference is only searched in that many passes. Tables of the same name
/// have the same entries, at most `options.entries` each.
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
    equivalent_with(first, second, &TablePairs::by_name(first, second), options)
}

/// Compares two programs like [`equivalent`], but paired tables have the same entries, whatever
/// their names are.
///
/// # Errors
///
/// Returns an error if a program cannot be executed symbolically, or if the solver's answer is
/// wrong.
pub fn equivalent_with(
    first: &Program,
    second: &Program,
    tables: &TablePairs,
    options: &Options,
) -> Result<Equivalence, SearchError> {
    let programs = [first, second];
    let comparison = match Comparison::new(programs, tables, options, None)? {
        Ok(comparison) => comparison,
        Err(reason) => return Ok(Equivalence::Undecided(reason)),
    };
    if comparison.is_cut_between_passes()
        && let Some(proof) = induction::prove(programs, tables, options)?
    {
        let induction::Proof { layouts, without } = proof;
        return Ok(Equivalence::Equal { layouts, without, any_passes: true });
    }
    comparison.run()
}

struct Comparison<'p> {
    programs: [&'p Program; 2],
    restrictions: [Restrictions; 2],
    /// The executions of the two programs. The first one holds the terms of both.
    executions: [Execution; 2],
    tables: &'p TablePairs,
    /// The conditions under which the programs select members of action selectors by different
    /// values.
    selected_apart: Vec<Term>,
    /// Conditions on the configuration of both programs that all tests satisfy.
    narrowings: Vec<Narrowing>,
    /// The configurations that are left out of the comparison, in words.
    without: Vec<String>,
    context: Context,
    /// The first reason why the comparison may not report that the programs are equal.
    undecided: Option<String>,
}

/// The outputs of both programs in a layout.
struct Compared {
    layout: Layout,
    /// The outputs for each received packet.
    outputs: Vec<[Vec<Sent>; 2]>,
    /// The condition under which they differ, or the reason why they cannot be compared.
    differs: Result<Term, String>,
}

impl<'p> Comparison<'p> {
    /// Executes both programs on the same packets with the same configuration: on whole packets, or
    /// on a single pass that begins at `entrance`. Returns a reason if their configurations cannot
    /// be paired.
    fn new(
        [first, second]: [&'p Program; 2],
        tables: &'p TablePairs,
        options: &Options,
        entrance: Option<Entrance>,
    ) -> Result<Result<Self, String>, SearchError> {
        let bounds = Bounds { is_compared: true, entrance, ..options.bounds(options.packets) };
        let mut left = execute(first, bounds)?;
        let names = tables.names([first, second]);
        let mut right = execute_beside(second, bounds, &mut left, SECOND, names)?;
        let mut terms = std::mem::take(&mut right.terms);
        let sides = [(first, &left), (second, &right)];
        let paired = pairing::pair(&mut terms, sides, tables, bounds.entries);
        let mut without = pairing::left_out(sides, tables);
        let lemmas = equal_hashes(&mut terms, [&left.hashes, &right.hashes]);
        left.terms = terms;
        let Paired { assumed, selected_apart, narrowings, doubts } = match paired {
            Ok(paired) => paired,
            Err(reason) => return Ok(Err(reason)),
        };
        let settings = Settings {
            conflicts: options.conflicts,
            fill: Fill::Random(options.seed),
            ends: options.ends,
            ..Settings::default()
        };
        let mut context = Context::new(settings);
        for condition in
            left.assumptions.iter().chain(&right.assumptions).chain(&assumed).chain(&lemmas)
        {
            context.assert(&left.terms, *condition);
        }
        without.sort();
        without.dedup();
        Ok(Ok(Self {
            programs: [first, second],
            restrictions: [Restrictions::new(first), Restrictions::new(second)],
            executions: [left, right],
            tables,
            selected_apart,
            narrowings,
            without,
            context,
            undecided: doubts.into_iter().next(),
        }))
    }

    /// Returns whether packets may enter a program again after the last pass that is executed.
    fn is_cut_between_passes(&self) -> bool {
        let mut cuts = self.executions.iter().flat_map(|execution| &execution.cuts);
        cuts.any(|cut| cut.is_between_passes)
    }
}

impl Comparison<'_> {
    fn run(mut self) -> Result<Equivalence, SearchError> {
        let cut = self.not_followed()?;
        let followed = self.terms().not(cut);
        let mut layouts = 0;
        while layouts < LAYOUTS {
            let model = match self.solve(&[followed])? {
                Answer::Model(model) => model,
                Answer::Unsat(_) => {
                    return Ok(match self.undecided {
                        None => {
                            let without = self.without;
                            Equivalence::Equal { layouts, without, any_passes: false }
                        }
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

    /// Returns the condition under which the execution stops following a packet. If there are such
    /// packets, records the reason.
    fn not_followed(&mut self) -> Result<Term, SearchError> {
        let cuts = self.executions.iter().flat_map(|one| &one.cuts);
        let cuts: Vec<(Term, String, bool)> = cuts
            .map(|cut| {
                let what = if cut.is_followed {
                    "packets are not followed for all entries"
                } else {
                    "packets are not followed to their end"
                };
                (cut.guard, format!("{what} ({})", cut.reason), cut.is_followed)
            })
            .collect();
        let mut reached = Vec::new();
        for (guard, reason, is_followed) in cuts {
            if !matches!(self.solve(&[guard])?, Answer::Unsat(_)) {
                self.give_up(reason);
                if !is_followed {
                    reached.push(guard);
                }
            }
        }
        Ok(self.terms().any(&reached))
    }

    /// Records the reason why the comparison may not report that the programs are equal, unless
    /// there is one already.
    fn give_up(&mut self, reason: String) {
        self.undecided.get_or_insert(reason);
    }

    fn terms(&mut self) -> &mut Terms {
        &mut self.executions[0].terms
    }

    fn solve(&mut self, conditions: &[Term]) -> Result<Answer, SearchError> {
        Ok(self.context.solve(&self.executions[0].terms, conditions)?)
    }

    /// Compares the programs for all packets and configurations with the same layout as `model`,
    /// and excludes the layout afterwards. Returns a difference, if there is one.
    ///
    /// Only packets that are followed to their end are compared. For others, such as those that a
    /// meter does not mark green, no output is known.
    fn layout(&mut self, model: Model, followed: Term) -> Result<Option<Difference>, SearchError> {
        let Compared { layout, outputs: all_outputs, differs } = self.compared(model);
        let differs = match differs {
            Ok(differs) => differs,
            Err(reason) => {
                self.give_up(reason);
                self.exclude(&layout.conditions);
                return Ok(None);
            }
        };
        let wanted = [layout.conditions.as_slice(), &[differs, followed]].concat();
        let together = self.as_in_tests();
        match self.solve(&[wanted.as_slice(), &[together]].concat())? {
            Answer::Unsat(_) => {
                self.compare_beyond_tests(&wanted, together)?;
                self.exclude(&layout.conditions);
            }
            Answer::OutOfBudget(limit) => {
                self.give_up(limit.to_string());
                self.exclude(&layout.conditions);
            }
            Answer::Model(model) => match self.difference(model.clone()) {
                Ok(Some(difference)) => return Ok(Some(difference)),
                Ok(None) | Err(Unrealised::Unknown) => {
                    let conditions = [layout.conditions.as_slice(), &[followed, together]].concat();
                    let found = self.difference_in_known(model, &all_outputs, &conditions)?;
                    if found.is_some() {
                        return Ok(found);
                    }
                    let reason = "outputs that differ depend on undefined values";
                    self.give_up(reason.to_owned());
                    self.exclude(&layout.conditions);
                }
                // The layout is examined again without what the constraints do not permit.
                Err(Unrealised::Excluded { condition, of }) => {
                    // The solver of constraints may overlook an entry.
                    self.give_up(format!(
                        "the programs would differ with an entry that the constraints of {of} \
                         seem to forbid"
                    ));
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

    /// Returns the outputs of both programs in the layout of a model.
    fn compared(&mut self, model: Model) -> Compared {
        let mut evaluation = Evaluation::new(model);
        let mut layout = Layout::default();
        let mut terms = std::mem::take(self.terms());
        let [left, right] = &self.executions;
        let mut differs = Ok(terms.truth(false));
        let mut all_outputs = Vec::new();
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
            all_outputs.push(outputs);
        }
        *self.terms() = terms;
        Compared { layout, outputs: all_outputs, differs }
    }

    /// Returns what no test has in the configurations of both programs.
    fn all_narrowings(&self) -> impl Iterator<Item = &Narrowing> {
        let of_each = self.executions.iter().flat_map(|execution| &execution.narrowings);
        of_each.chain(&self.narrowings)
    }

    /// Returns the condition under which the configuration is one that a test may have. Lookups
    /// that hit the same entry then also select the same member of its group.
    fn as_in_tests(&mut self) -> Term {
        let apart = self.selected_apart.clone();
        let mut all: Vec<Term> = self.all_narrowings().map(|narrowing| narrowing.holds).collect();
        let terms = self.terms();
        let any = terms.any(&apart);
        all.push(terms.not(any));
        terms.all(&all)
    }

    /// Ends the comparison without a result if the outputs differ under the conditions `wanted`,
    /// which they do only if `as_in_tests` does not hold. If that is because lookups select
    /// different members of a group, a hash might select the same member for them.
    fn compare_beyond_tests(
        &mut self,
        wanted: &[Term],
        as_in_tests: Term,
    ) -> Result<(), SearchError> {
        if self.terms().truth_of(as_in_tests) == Some(true) {
            return Ok(());
        }
        match self.solve(wanted)? {
            Answer::Unsat(_) => {}
            Answer::OutOfBudget(limit) => self.give_up(limit.to_string()),
            Answer::Model(model) => {
                let terms = &self.executions[0].terms;
                let reason = match beyond_tests(terms, self.all_narrowings(), model) {
                    Some(without) => format!("outputs differ only with {without}"),
                    None => "outputs differ only for members of action selectors that are \
                             selected by different values"
                        .to_owned(),
                };
                self.give_up(reason);
            }
        }
        Ok(())
    }

    /// Asserts that not all of these conditions hold together.
    fn exclude(&mut self, conditions: &[Term]) {
        let all = self.terms().all(conditions);
        let not = self.terms().not(all);
        self.context.assert(&self.executions[0].terms, not);
    }

    /// Looks for another difference in the layout of `model`: one in bits that do not depend on
    /// undefined values.
    fn difference_in_known(
        &mut self,
        model: Model,
        outputs: &[[Vec<Sent>; 2]],
        conditions: &[Term],
    ) -> Result<Option<Difference>, SearchError> {
        let mut known = self.known_bits(model);
        let terms = self.terms();
        let mut differs = terms.truth(false);
        for outputs in outputs {
            let here = layout::differ_in_known(terms, &mut known, outputs);
            differs = terms.or(differs, here);
        }
        match self.solve(&[conditions, &[differs]].concat())? {
            Answer::Model(model) => Ok(self.difference(model).ok().flatten()),
            Answer::Unsat(_) | Answer::OutOfBudget(_) => Ok(None),
        }
    }

    /// Chooses a value for each input that a model leaves open.
    fn complete(&self, model: &mut Model) {
        let terms = &self.executions[0].terms;
        // No time passes where that makes no difference.
        for time in self.executions.iter().flat_map(|execution| execution.times.inputs()) {
            if let Operation::Input(id) = terms.operation(time)
                && !model.contains(id)
            {
                model.set(terms, id, &Bits::zero(terms.width_of(time), false));
            }
        }
        for input in terms.inputs() {
            if let (Source::Chosen, Operation::Input(id)) =
                (input.origin.source, terms.operation(input.term))
            {
                self.context.complete(terms, model, id);
            }
        }
    }

    /// Returns the evaluation of known bits under a model, after choosing a value for each input
    /// that a test can choose.
    fn known_bits(&self, mut model: Model) -> KnownBits {
        self.complete(&mut model);
        KnownBits::new(model)
    }

    /// Makes a test of a model for each program. Returns them if the expected outputs of the
    /// programs really differ.
    fn difference(&mut self, model: Model) -> Result<Option<Difference>, Unrealised> {
        let mut known = self.known_bits(model);
        let terms = &self.executions[0].terms;
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
        // Time passes for both, even if the entries of only one program expire.
        for (left, right) in first.iter_mut().zip(second.iter_mut()) {
            let seconds = left.seconds.max(right.seconds);
            (left.seconds, right.seconds) = (seconds, seconds);
        }
        // The packets after the first difference show nothing.
        first.truncate(at + 1);
        second.truncate(at + 1);
        let (Some(last_of_first), Some(last_of_second)) = (first.pop(), second.pop()) else {
            return Ok(None);
        };
        let realised = [self.realised(0, &mut known)?, self.realised(1, &mut known)?];
        let of = |side: usize, earlier: &[Exchange], last: &Exchange| {
            let written = self.configuration(side, &realised)?;
            let Written { expire_times, entries, defaults, registers, sessions, groups } = written;
            Some(Test {
                number: 1,
                goal: "the programs differ".to_owned(),
                expire_times,
                entries,
                defaults,
                registers,
                sessions,
                groups,
                earlier: earlier.to_vec(),
                seconds: last.seconds,
                port: last.port,
                packet: last.packet.clone(),
                outputs: last.outputs.clone(),
            })
        };
        // A configuration of both may change what one of them does, if an entry that was made for
        // the other one matches its keys.
        let tests = (of(0, first, &last_of_first), of(1, second, &last_of_second));
        let (Some(first), Some(second)) = tests else { return Err(Unrealised::Unknown) };
        Ok(Some(Difference { first, second }))
    }

    /// Returns what the control plane writes for the program `side` of the two: what realises the
    /// model in this program, and what realises it in the other one, in this program's names.
    /// Returns `None` if the latter changes what packets find in this program.
    fn configuration(&self, side: usize, realised: &[Realised; 2]) -> Option<Written> {
        let program = self.programs[side];
        let mut all = Written {
            expire_times: Vec::new(),
            entries: Vec::new(),
            defaults: Vec::new(),
            registers: Vec::new(),
            sessions: Vec::new(),
            groups: Vec::new(),
        };
        for (from, Realised { written, .. }) in realised.iter().enumerate() {
            for entry in &written.entries {
                let mut entry = entry.clone();
                if from != side {
                    let found = self.counterpart(side, &entry.table, &entry.action.name);
                    let Some((id, position)) = found else { continue };
                    let table = program.tables.get(id.index())?;
                    // A table with other keys is one that this program does not look up.
                    let other = translated(program, table, position, &entry);
                    let Some(other) = other else { continue };
                    if realised[side].is_changed_by(id.index(), &other) {
                        return None;
                    }
                    entry = other;
                }
                if !all.entries.iter().any(|known| known.is_equal_but_for_member(&entry)) {
                    all.entries.push(entry);
                }
            }
            for default in &written.defaults {
                let mut default = default.clone();
                if from != side {
                    let found = self.counterpart(side, &default.table, &default.action.name);
                    let Some((id, position)) = found else { continue };
                    let table = program.tables.get(id.index())?;
                    let action = translated_call(program, table, position, &default.action)?;
                    default = generated::Default { table: table.name.clone(), action };
                }
                add_missing(&mut all.defaults, vec![default]);
            }
            add_missing(&mut all.expire_times, written.expire_times.clone());
            add_missing(&mut all.registers, written.registers.clone());
            add_missing(&mut all.sessions, written.sessions.clone());
            add_missing(&mut all.groups, written.groups.clone());
        }
        all.registers.retain(|cell| program.externs.iter().any(|one| one.name == cell.register));
        let members = all.entries.iter_mut().filter_map(|entry| entry.member.as_mut());
        for (number, member) in (1..).zip(members) {
            member.member = number;
        }
        Some(all)
    }

    /// Returns the table of the program `side` that has the same entries as a table of the other
    /// program, with the position there of an action of the other program. Returns `None` if there
    /// is no such table or action. If both programs look up the table, the action is one that both
    /// tables have, since that is assumed.
    fn counterpart(&self, side: usize, table: &str, action: &str) -> Option<(TableId, usize)> {
        let from = 1 - side;
        let program = self.programs[from];
        let mut tables = (0_u32..).map(TableId).zip(&program.tables);
        let (id, table) = tables.find(|(_, one)| one.name == table)?;
        let pair = self.tables.of(from, id)?;
        let position = table.actions.iter().position(|reference| {
            let found = program.actions.get(reference.action.index());
            found.is_some_and(|found| found.name == action)
        })?;
        let actions = pair.actions(self.programs).into_iter();
        let mut positions = actions.map(|(first, second)| [first, second]);
        let found = positions.find(|positions| positions[from] == position)?;
        Some((pair.tables[side], found[side]))
    }

    /// Returns what the control plane writes for the program `side` of the two.
    fn realised(&mut self, side: usize, known: &mut KnownBits) -> Result<Realised, Unrealised> {
        let [left, right] = &mut self.executions;
        let [first, second] = &self.restrictions;
        if side == 0 {
            return realise(self.programs[0], first, left, known, Losing::Absent);
        }
        // An execution is realised with its terms, which are those of both.
        std::mem::swap(&mut left.terms, &mut right.terms);
        let written = realise(self.programs[1], second, right, known, Losing::Absent);
        std::mem::swap(&mut left.terms, &mut right.terms);
        written
    }
}

/// Returns the conditions that hashes of equal data are equal. They always hold, but the solver
/// does not find this out by itself from two long circuits.
fn equal_hashes(terms: &mut Terms, [left, right]: [&[Hashed]; 2]) -> Vec<Term> {
    let mut lemmas = Vec::new();
    for one in left {
        for other in right {
            let is_alike = one.algorithm == other.algorithm
                && terms.width_of(one.data) == terms.width_of(other.data);
            if !is_alike || one.hash == other.hash || lemmas.len() >= HASHES {
                continue;
            }
            let same_data = terms.equal(one.data, other.data);
            let same_hash = terms.equal(one.hash, other.hash);
            let lemma = terms.implies(same_data, same_hash);
            if terms.truth_of(lemma) != Some(true) {
                lemmas.push(lemma);
            }
        }
    }
    lemmas
}

/// Appends those elements of `more` that `all` does not contain.
fn add_missing<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

/// Returns whether the outputs of two programs contradict each other in their defined bits, in
/// whichever order they are transmitted.
fn contradict(first: &[Output], second: &[Output]) -> bool {
    let second: Vec<&Output> = second.iter().collect();
    first.len() != second.len() || !can_be_same(first, &second)
}

/// Returns whether the outputs of one program can be matched one to one with equal outputs of the
/// other.
fn can_be_same(first: &[Output], second: &[&Output]) -> bool {
    let Some((one, rest)) = first.split_first() else { return true };
    second.iter().enumerate().any(|(position, other)| {
        let digits = || one.digits.chars().zip(other.digits.chars());
        let is_same = one.port == other.port
            && one.digits.len() == other.digits.len()
            && digits().all(|(one, other)| one == other || one == '*' || other == '*');
        let mut left = second.to_vec();
        left.remove(position);
        is_same && can_be_same(rest, &left)
    })
}
