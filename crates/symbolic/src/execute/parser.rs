//! Executes parsers. Packets are followed from state to state. Those that reach the same state with
//! the same position in the packet and the same next indexes of header stacks are joined.

use super::header::MAXIMUM_POSITIONS;
use super::{CoreError, Executor, Stop, unsupported};
use crate::goals::Key;
use crate::state::{Outcomes, Special, State, join_any};
use crate::term::Term;
use ir::bits::Bits;
use ir::{
    Architecture, Expression, KeySet, Parser, ParserId, SelectCase, StateId, Target, Transition,
    Value,
};
use std::collections::BTreeMap;

/// The largest number of times that packets may visit a state without advancing in the packet.
const MAXIMUM_VISITS: u32 = 32;
/// The largest number of parser states that are executed in one run of a parser.
const MAXIMUM_STEPS: u32 = 20_000;

/// A point of a parser at which packets are joined. Points are executed in ascending order, which
/// follows the position in the packet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    cursor: u64,
    /// The number of parser states that the packets have visited at their present position.
    visits: u32,
    state: StateId,
    /// The next index of each header stack; all ones for an index that is not a constant.
    next: Vec<u32>,
}

impl Executor<'_> {
    /// Executes a parser whose parameters have been set. The packets that it accepts are in `next`
    /// of the outcomes.
    pub(crate) fn parse(&mut self, state: State, id: ParserId) -> Outcomes {
        let program = self.program;
        let Some(parser) = program.parsers.get(id.index()) else {
            self.cut(state.guard, unsupported_text("a parser"), None);
            return Outcomes::default();
        };
        let mut outcomes = Outcomes::default();
        let prologue = self.block(state, &parser.prologue);
        let Some(state) = outcomes.absorb(&mut self.terms, prologue) else { return outcomes };
        let mut waiting: BTreeMap<Point, State> = BTreeMap::new();
        let mut steps = 0;
        self.arrive(&mut waiting, state, parser.start, None);
        while let Some((point, state)) = waiting.pop_first() {
            if self.is_late() {
                break;
            }
            steps += 1;
            if point.visits > MAXIMUM_VISITS || steps > MAXIMUM_STEPS {
                let location = parser.states.get(point.state.index()).and_then(|at| at.location);
                self.cut(state.guard, "a loop of the parser without an end in sight", location);
                continue;
            }
            let after = self.parser_state(id, parser, &point, state, &mut waiting);
            outcomes.add(&mut self.terms, after);
        }
        outcomes
    }

    /// Adds packets to those that wait for a parser state. `from` is the point that the packets
    /// have left.
    fn arrive(
        &mut self,
        waiting: &mut BTreeMap<Point, State>,
        state: State,
        target: StateId,
        from: Option<&Point>,
    ) {
        let cursor = state.special(Special::Cursor);
        let Some(positions) = self.cases(cursor, MAXIMUM_POSITIONS) else {
            self.cut(state.guard, unsupported_text("a position in the packet"), None);
            return;
        };
        let next: Vec<u32> = self
            .next_indexes
            .iter()
            .map(|at| {
                let index = self.terms.constant_of(state.leaf(*at)).and_then(Bits::to_u64);
                index.and_then(|index| u32::try_from(index).ok()).unwrap_or(u32::MAX)
            })
            .collect();
        for (condition, position) in positions {
            let Some(mut here) = state.when(&mut self.terms, condition) else { continue };
            let constant = self.terms.number(32, position.into());
            here.set_special(Special::Cursor, constant);
            let visits = match from {
                Some(from) if from.cursor == position => from.visits + 1,
                Some(_) | None => 0,
            };
            let point = Point { cursor: position, visits, state: target, next: next.clone() };
            let known = waiting.remove(&point);
            if let Some(joined) = join_any(&mut self.terms, known, Some(here)) {
                waiting.insert(point, joined);
            }
        }
    }

    /// Executes the statements of a parser state, and its transition.
    fn parser_state(
        &mut self,
        id: ParserId,
        parser: &Parser,
        point: &Point,
        state: State,
        waiting: &mut BTreeMap<Point, State>,
    ) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let Some(here) = parser.states.get(point.state.index()) else {
            self.cut(state.guard, unsupported_text("a parser state"), None);
            return outcomes;
        };
        self.goals.reach(&Key::State(id, point.state), state.guard);
        let mut body = self.block(state, &here.body);
        let returned = body.returns.take();
        let next = outcomes.absorb(&mut self.terms, body);
        let Some(state) = join_any(&mut self.terms, next, returned) else { return outcomes };
        match &here.transition {
            Transition::Direct(target) => {
                self.go(&mut outcomes, waiting, state, *target, point);
            }
            Transition::Select { subjects, cases } => {
                let before = state.guard;
                self.boundaries_at(here.location);
                match self.select(&state, subjects, cases) {
                    Ok(conditions) => {
                        let mut left = Some(state);
                        for (number, (case, condition)) in cases.iter().zip(conditions).enumerate()
                        {
                            let Some(all) = left.take() else { break };
                            if let Some(taken) = all.when(&mut self.terms, condition) {
                                let key = Key::Case(id, point.state, number);
                                self.goals.reach(&key, taken.guard);
                                self.go(&mut outcomes, waiting, taken, case.target, point);
                            }
                            let not = self.terms.not(condition);
                            left = all.when(&mut self.terms, not);
                        }
                        // In BMv2, the parser then ends without an error.
                        if let Some(state) = left {
                            let key = Key::Case(id, point.state, cases.len());
                            self.goals.reach(&key, state.guard);
                            let error = match self.program.architecture {
                                Architecture::V1model => CoreError::NoError,
                                Architecture::Psa | Architecture::Pna | Architecture::Other(_) => {
                                    CoreError::NoMatch
                                }
                            };
                            let rejects = Some(self.rejected(state, error));
                            let rejected = Outcomes { rejects, ..Outcomes::default() };
                            outcomes.add(&mut self.terms, rejected);
                        }
                    }
                    Err(Stop::Reject(error)) => {
                        let rejects = Some(self.rejected(state, error));
                        outcomes.add(&mut self.terms, Outcomes { rejects, ..Outcomes::default() });
                    }
                    Err(Stop::Unsupported(unsupported)) => {
                        self.cut(before, unsupported.to_string(), here.location);
                    }
                }
            }
        }
        outcomes
    }

    fn go(
        &mut self,
        outcomes: &mut Outcomes,
        waiting: &mut BTreeMap<Point, State>,
        state: State,
        target: Target,
        from: &Point,
    ) {
        match target {
            Target::State(next) => self.arrive(waiting, state, next, Some(from)),
            Target::Accept => outcomes.add(&mut self.terms, Outcomes::next(state)),
            Target::Reject => {
                let rejects = Some(self.rejected(state, CoreError::NoError));
                outcomes.add(&mut self.terms, Outcomes { rejects, ..Outcomes::default() });
            }
        }
    }

    /// Returns, for each case of a `select`, the condition under which it matches.
    fn select(
        &mut self,
        state: &State,
        subjects: &[Expression],
        cases: &[SelectCase],
    ) -> Result<Vec<Term>, Stop> {
        let mut values = Vec::with_capacity(subjects.len());
        for subject in subjects {
            values.push(self.value(state, subject)?);
        }
        let mut conditions = Vec::with_capacity(cases.len());
        for case in cases {
            let mut all = self.terms.truth(true);
            match case.key_sets.as_slice() {
                [KeySet::Any] => {}
                [KeySet::ValueSet(_)] => all = self.in_value_set(state),
                key_sets => {
                    for ((subject, value), set) in subjects.iter().zip(&values).zip(key_sets) {
                        let matches = self.in_key_set(state, subject, value, set)?;
                        all = self.terms.and(all, matches);
                    }
                }
            }
            conditions.push(all);
        }
        Ok(conditions)
    }

    /// Returns whether a value is in a value set. Value sets are empty, because no test fills them.
    fn in_value_set(&mut self, state: &State) -> Term {
        self.cut(state.guard, "a parser value set, which scripts cannot fill", None);
        self.terms.truth(false)
    }

    fn in_key_set(
        &mut self,
        state: &State,
        subject: &Expression,
        value: &[Term],
        set: &KeySet<Expression>,
    ) -> Result<Term, Stop> {
        let number = || match value {
            [only] => Ok(*only),
            _ => Err(unsupported("a `select` on a value of this type")),
        };
        Ok(match set {
            KeySet::Any => self.terms.truth(true),
            KeySet::ValueSet(_) => self.in_value_set(state),
            KeySet::Exact(wanted) => {
                let wanted = self.bound(state, subject, wanted)?;
                self.equal_values(subject.type_id, value, &wanted)
            }
            KeySet::Mask { value: wanted, mask } => {
                let wanted = self.bound(state, subject, wanted)?;
                let mask = self.bound(state, subject, mask)?;
                match (wanted.as_slice(), mask.as_slice()) {
                    ([wanted], [mask]) => {
                        let number = number()?;
                        self.terms.matches_under(number, *wanted, *mask)
                    }
                    _ => return Err(unsupported("a mask of this type")),
                }
            }
            KeySet::Range { low, high } => {
                let bounds = [low, high];
                let low = self.bound(state, subject, low)?;
                let high = self.bound(state, subject, high)?;
                let ([low], [high]) = (low.as_slice(), high.as_slice()) else {
                    return Err(unsupported("a range of this type"));
                };
                let number = number()?;
                for (bound, at) in bounds.into_iter().zip([*low, *high]) {
                    self.ordered_at(state, bound, (number, at));
                }
                let ty = self.program.types.get(subject.type_id);
                let signed = matches!(ty, ir::Type::Bits { signed: true, .. });
                let (above, below) = if signed {
                    let above = self.terms.less_or_equal_signed(*low, number);
                    (above, self.terms.less_or_equal_signed(number, *high))
                } else {
                    let above = self.terms.less_or_equal(*low, number);
                    (above, self.terms.less_or_equal(number, *high))
                };
                self.terms.and(above, below)
            }
        })
    }

    /// Returns a bound of a case's range, or a similar value, converted to the type of the `select`
    /// subject.
    fn bound(
        &mut self,
        state: &State,
        subject: &Expression,
        bound: &Expression,
    ) -> Result<Vec<Term>, Stop> {
        match &bound.kind {
            ir::ExpressionKind::Constant(constant @ Value::Integer(_)) => {
                self.constant(subject.type_id, constant)
            }
            _ => self.value(state, bound),
        }
    }
}

fn unsupported_text(what: &str) -> String {
    match unsupported(what) {
        Stop::Unsupported(unsupported) => unsupported.to_string(),
        Stop::Reject(_) => String::new(),
    }
}
