//! Unrolls parsers that fill header stacks: a state is copied for each combination of `nextIndex`
//! values with which packets reach it.
//!
//! A loop that fills a stack becomes a chain of states in which every element has a fixed offset.
//! Unrolling requires that the indexes depend only on the path through the states. Therefore, the
//! stacks must belong to an `out` parameter, so that they begin empty, and only extraction may
//! change their indexes. A loop that fills no stack stays a loop.

use super::shape::{Scalar, Shape, Storage};
use super::{
    Address, Block, Case, Expression, Field, Offset, Outcome, Parser, Resolver, State, Statement,
    Target,
};
use ir::{Direction, Projection};
use std::collections::{BTreeMap, HashMap};

/// The maximum number of states of an unrolled parser.
const MAX_STATES: usize = crate::layout::UNROLLED as usize;

/// The `nextIndex` of each header stack, by the offset of the stack in the frame (the packet's
/// working memory).
pub(super) type NextIndexes = BTreeMap<Offset, u32>;

/// The states of an unrolled parser. Each is a state of the program together with the `nextIndex`
/// that each stack has there.
#[derive(Default)]
struct Ways {
    ways: Vec<(u32, NextIndexes)>,
    numbers: HashMap<(u32, NextIndexes), u32>,
}

impl Ways {
    /// Returns the number of the unrolled state for a state of the program and the `nextIndex` of
    /// each stack. Adds the unrolled state if it is new.
    fn number(&mut self, state: u32, next: &NextIndexes) -> u32 {
        ir::meter::count(next.len());
        let Self { ways, numbers } = self;
        *numbers.entry((state, next.clone())).or_insert_with(|| {
            ways.push((state, next.clone()));
            (ways.len() - 1) as u32
        })
    }
}

/// Returns whether the statements of a parser permit unrolling. They do not if they contain a call
/// or a loop, which may change a stack's `nextIndex`. Without this check, such a parser would be
/// resolved twice, and its subparsers twice at each level of nesting.
pub(super) fn can_unroll(parser: &ir::Parser) -> bool {
    use ir::StatementKind as Kind;
    let mut blocks = vec![&parser.prologue];
    let mut seen = vec![false; parser.states.len()];
    let mut open = vec![parser.start];
    while let Some(id) = open.pop() {
        let Some(seen) = seen.get_mut(id.index()).filter(|seen| !**seen) else { continue };
        *seen = true;
        let Some(state) = parser.states.get(id.index()) else { continue };
        blocks.push(&state.body);
        open.extend(state.transition.next_states());
    }
    let mut can = true;
    crate::layout::each_statement_in(blocks, &mut |statement| {
        can &= !matches!(
            statement.kind,
            Kind::CallParser { .. }
                | Kind::CallControl { .. }
                | Kind::CallAction { .. }
                | Kind::CallFunction { .. }
                | Kind::ApplyTable { .. }
                | Kind::For { .. }
        );
    });
    can
}

impl Resolver<'_> {
    /// Unrolls a parser. Returns `None` if it has no header stacks, or if their `nextIndex` values
    /// do not depend only on the path through the states.
    pub(super) fn unrolled(&mut self, parser: &ir::Parser) -> Outcome<Option<Parser>> {
        let mut next = NextIndexes::new();
        for parameter in parser.parameters.iter().filter(|one| one.direction == Direction::Out) {
            let (offset, shape) = self.variable(parameter.variable)?;
            stacks_in(offset, &shape, &mut next);
        }
        if next.is_empty() {
            return Ok(None);
        }
        let (steps, gathers) = (self.steps.len(), self.gathers.len());
        let bodies = self.bodies.len();
        let found = self.all_ways(parser, next);
        self.next = None;
        if !matches!(found, Ok(Some(_))) {
            self.is_final.set(false);
            self.steps.truncate(steps);
            self.gathers.truncate(gathers);
            // Functions that were resolved in the meantime may refer to the steps and gathers
            // removed above.
            self.bodies.truncate(bodies);
        }
        found
    }

    /// Translates a parser to the resolved form, with a copy of each state for each combination of
    /// `nextIndex` values of its header stacks. Returns `None` if there are too many.
    fn all_ways(&mut self, parser: &ir::Parser, next: NextIndexes) -> Outcome<Option<Parser>> {
        let (steps, gathers) = (self.steps.len(), self.gathers.len());
        self.next = Some(next.clone());
        let prologue = self.block(&parser.prologue)?;
        let mut ways = Ways::default();
        let start = ways.number(parser.start.0, &next);
        let mut states = Vec::new();
        while let Some((state, next)) = ways.ways.get(states.len()).cloned() {
            let Some(of) = parser.states.get(state as usize) else { return Ok(None) };
            if ways.ways.len() > MAX_STATES {
                return Ok(None);
            }
            self.here = of.location.or(self.here);
            self.next = Some(next.clone());
            let body = self.state_body(of)?;
            self.here = of.location.or(self.here);
            let resolved = self.transition(body, &of.transition)?;
            let Some(after) = self.next.clone() else { return Ok(None) };
            if resolved.body.iter().any(|statement| moves_otherwise(statement, &next)) {
                return Ok(None);
            }
            let mut lead = |target: Target| match target {
                Target::State(state) => Target::State(ways.number(state, &after)),
                other => other,
            };
            // A packet that finds its stack full does not reach the end of the state.
            let ends = resolved.body.iter().any(|statement| {
                matches!(statement, Statement::Verify { condition: Expression::Constant(0), .. })
            });
            let resolved = match ends {
                true => State {
                    subjects: Vec::new(),
                    cases: Vec::new(),
                    otherwise: Ok(Target::Reject),
                    ..resolved
                },
                false => resolved,
            };
            let State { body, subjects, cases, otherwise } = resolved;
            let cases =
                cases.into_iter().map(|Case { sets, target }| Case { sets, target: lead(target) });
            let cases = cases.collect();
            let otherwise = otherwise.map(&mut lead);
            states.push(State { body, subjects, cases, otherwise });
        }
        let is_plain = self.steps.len() == steps && self.gathers.len() == gathers;
        let stays = !prologue.iter().any(|statement| moves_otherwise(statement, &next));
        Ok((is_plain && stays).then_some(Parser { prologue, states, start }))
    }

    /// Returns the `nextIndex` of a header stack in the current state of the parser that is being
    /// unrolled. Returns `None` if no parser is being unrolled, or if the index is not known.
    pub(super) fn next_index(&self, stack: Offset) -> Option<u32> {
        self.next.as_ref()?.get(&stack).copied()
    }

    /// Returns whether a place is `next` of a header stack that is known to be full in the current
    /// state.
    pub(super) fn is_full(&mut self, place: &ir::Place) -> Outcome<bool> {
        let mut stack = place.clone();
        if self.next.is_none() || !matches!(stack.path.pop(), Some(Projection::Next)) {
            return Ok(false);
        }
        let found = self.resolve(&stack)?;
        let index = self.next_index(found.address.offset);
        Ok(match found.shape {
            Shape::Stack { size, .. } => index.is_some_and(|index| index >= size),
            _ => false,
        })
    }

    /// Increments the known `nextIndex` of a header stack when the parser that is being unrolled
    /// extracts the stack's next element. Returns the statement that stores the new index, a
    /// constant, in the frame. Returns `None` if no parser is being unrolled, or if the index of
    /// the stack is not known.
    pub(super) fn counted_up(&mut self, stack: Offset) -> Option<Statement> {
        let index = self.next.as_mut()?.get_mut(&stack)?;
        *index += 1;
        let value = Expression::Constant(u64::from(*index));
        let field = Field { address: Address::fixed(stack), scalar: NEXT };
        Some(Statement::Store { field, value })
    }
}

/// The layout of a stack's `nextIndex` in the frame (the packet's working memory).
const NEXT: Scalar = Scalar { width: 32, signed: false, storage: Storage::Native { bytes: 4 } };

/// Adds all header stacks in a value to `next`, as empty stacks.
fn stacks_in(offset: Offset, shape: &Shape, next: &mut NextIndexes) {
    match shape {
        Shape::Stack { .. } => {
            next.insert(offset, 0);
        }
        Shape::Struct(parts, _) => {
            parts.iter().for_each(|(at, part)| stacks_in(offset + at, part, next));
        }
        _ => {}
    }
}

/// Returns whether a statement may change the `nextIndex` of a stack in `next` other than by
/// extraction.
fn moves_otherwise(statement: &Statement, next: &NextIndexes) -> bool {
    let within =
        |start: Offset, bytes: u32| next.range(start..start.saturating_add(bytes)).count() > 0;
    let inside = |block: &Block| {
        block.iter().any(|inner| {
            let fills = matches!(inner, Statement::Store { field, .. } if next.contains_key(&field.address.offset));
            fills || moves_otherwise(inner, next)
        })
    };
    match statement {
        Statement::Assign { to, shape, .. } => within(to.offset, shape.size()),
        Statement::Move { to, bytes, .. } => within(*to, *bytes),
        Statement::Clear { at, bytes } => within(at.offset, *bytes),
        Statement::Call { .. } | Statement::Interpret { .. } | Statement::Loop { .. } => true,
        Statement::If { then, otherwise, .. } => inside(then) || inside(otherwise),
        Statement::Switch { cases, default, .. } => {
            cases.iter().any(|(_, block)| inside(block)) || inside(default)
        }
        _ => false,
    }
}
