//! Executes statements. Each statement turns the state before it into the states in which packets
//! leave it.

use super::call::Formal;
use super::{Executor, Fill, Stop, unsupported};
use crate::goals::Key;
use crate::state::{Outcomes, Special, State, join, join_any};
use crate::term::Term;
use ir::{
    ActionId, Argument, Block, Direction, Expression, FunctionId, Location, Place, Statement,
    StatementKind, SwitchCase, Value,
};

/// The largest number of iterations of a loop that are followed.
const MAXIMUM_TURNS: usize = 64;

impl Executor<'_> {
    /// Executes statements in order.
    pub(crate) fn block(&mut self, state: State, block: &Block) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let mut current = Some(state);
        for statement in block {
            let Some(state) = current.take() else { break };
            let after = self.statement(state, statement);
            current = outcomes.absorb(&mut self.terms, after);
        }
        outcomes.next = current;
        outcomes
    }

    fn statement(&mut self, state: State, statement: &Statement) -> Outcomes {
        if self.is_late() {
            return Outcomes::default();
        }
        let location = statement.location;
        if let Some(location) = location {
            self.goals.reach(&Key::Statement(location), state.guard);
        }
        self.boundaries_at(location);
        let before = state.clone();
        match self.execute(state, statement) {
            Ok(outcomes) => outcomes,
            Err(Stop::Reject(error)) => {
                let rejects = Some(self.rejected(before, error));
                Outcomes { rejects, ..Outcomes::default() }
            }
            Err(Stop::Unsupported(unsupported)) => {
                self.cut(before.guard, unsupported.to_string(), location);
                Outcomes::default()
            }
        }
    }

    fn execute(&mut self, mut state: State, statement: &Statement) -> Result<Outcomes, Stop> {
        let location = statement.location;
        match &statement.kind {
            StatementKind::If { condition, then, otherwise } => {
                let condition = self.scalar(&state, condition)?;
                let sides = [(condition, then, 1)];
                Ok(self.branch(&state, location, &sides, otherwise, 0))
            }
            StatementKind::Switch { subject, cases, default } => {
                self.switch(&state, location, subject, cases, default)
            }
            StatementKind::For { before_condition, condition, update, body } => {
                self.repeat(state, location, (before_condition, condition, update, body))
            }
            StatementKind::ApplyTable { table, hit, action_run } => {
                self.apply_table(state, *table, hit.as_ref(), action_run.as_ref())
            }
            StatementKind::CallAction { action, arguments } => {
                let outcomes = self.call_action(state, *action, arguments)?;
                Ok(self.after_call(outcomes))
            }
            StatementKind::CallFunction { function, arguments, result } => {
                self.call_function(state, *function, arguments, result.as_ref())
            }
            StatementKind::CallControl { control, arguments } => {
                let program = self.program;
                let control = program.controls.get(control.index());
                let control = control.ok_or_else(|| unsupported("a control"))?;
                let formals: Vec<Formal> = control.parameters.iter().map(Formal::from).collect();
                let outcomes = self.call(state, &formals, arguments, |executor, state| {
                    Ok(executor.block(state, &control.body))
                })?;
                Ok(self.after_call(outcomes))
            }
            StatementKind::CallParser { parser, arguments } => {
                let program = self.program;
                let called = program.parsers.get(parser.index());
                let called = called.ok_or_else(|| unsupported("a parser"))?;
                let formals: Vec<Formal> = called.parameters.iter().map(Formal::from).collect();
                let outcomes = self.call(state, &formals, arguments, |executor, state| {
                    Ok(executor.parse(state, *parser))
                })?;
                Ok(self.after_call(outcomes))
            }
            StatementKind::Extract { header, header_type, varbit_width } => {
                self.extract(state, header.as_ref(), *header_type, varbit_width.as_ref())
            }
            StatementKind::Lookahead { result, type_id } => self.lookahead(state, result, *type_id),
            StatementKind::Advance(bits) => self.advance(state, bits),
            StatementKind::Verify { condition, error } => {
                let condition = self.scalar(&state, condition)?;
                let error = self.scalar(&state, error)?;
                let not = self.terms.not(condition);
                let mut rejects = state.when(&mut self.terms, not);
                if let Some(rejected) = &mut rejects {
                    self.refusals.push(rejected.guard);
                    rejected.set_special(Special::ParserError, error);
                }
                let next = state.when(&mut self.terms, condition);
                Ok(Outcomes { next, rejects, ..Outcomes::default() })
            }
            StatementKind::Break => Ok(Outcomes { breaks: Some(state), ..Outcomes::default() }),
            StatementKind::Continue => {
                Ok(Outcomes { continues: Some(state), ..Outcomes::default() })
            }
            StatementKind::Exit => Ok(Outcomes { exits: Some(state), ..Outcomes::default() }),
            StatementKind::Return(value) => {
                if let Some(value) = value {
                    let value = self.value(&state, value)?;
                    let function = self.functions.last().map(|function| function.index());
                    let result = function.and_then(|function| self.results.get(function));
                    if let Some(result) = result {
                        state.set_range(*result, &value);
                    }
                }
                Ok(Outcomes { returns: Some(state), ..Outcomes::default() })
            }
            StatementKind::Assign { place, value } => {
                let place = self.locate(&state, place)?;
                let value = self.value(&state, value)?;
                self.write(&mut state, &place, &value);
                Ok(Outcomes::next(state))
            }
            StatementKind::Reset(place) => {
                let place = self.locate(&state, place)?;
                let value = self.initial(place.type_id, Fill::Undefined);
                self.write(&mut state, &place, &value);
                Ok(Outcomes::next(state))
            }
            StatementKind::CallExtern { callee, arguments, result, .. } => {
                let call = super::externs::Call { callee, arguments, result: result.as_ref() };
                self.call_extern(state, &call, location)
            }
            StatementKind::Emit(expression) => {
                self.emit(&state, expression)?;
                Ok(Outcomes::next(state))
            }
            StatementKind::SetValidity { header, valid } => {
                self.set_validity(&mut state, header, *valid)?;
                Ok(Outcomes::next(state))
            }
            StatementKind::PushFront { stack, count } => {
                self.shift(&mut state, stack, i64::from(*count))?;
                Ok(Outcomes::next(state))
            }
            StatementKind::PopFront { stack, count } => {
                self.shift(&mut state, stack, -i64::from(*count))?;
                Ok(Outcomes::next(state))
            }
        }
    }

    /// Executes a branch with several sides, of which each packet takes the first whose condition
    /// holds, and joins the results. A side is given by its condition, its statements and its
    /// number in the branch.
    fn branch(
        &mut self,
        state: &State,
        location: Option<Location>,
        sides: &[(Term, &Block, usize)],
        otherwise: &Block,
        number: usize,
    ) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let mut left = Some(state.clone());
        let mut joined: Vec<(Term, Option<State>)> = Vec::new();
        // Whether all packets reach the end of their side, so that the guard after the branch is
        // the one before it.
        let mut all_continue = true;
        for (condition, block, number) in sides {
            let Some(state) = left.take() else { break };
            let not = self.terms.not(*condition);
            if let Some(taken) = state.when(&mut self.terms, *condition) {
                let guard = taken.guard;
                let next = self.side(&mut outcomes, taken, block, location, *number);
                all_continue &= next.as_ref().is_some_and(|next| next.guard == guard);
                joined.push((*condition, next));
            }
            left = state.when(&mut self.terms, not);
        }
        let mut next = match left {
            Some(state) => {
                let guard = state.guard;
                let next = self.side(&mut outcomes, state, otherwise, location, number);
                all_continue &= next.as_ref().is_some_and(|next| next.guard == guard);
                next
            }
            None => None,
        };
        for (condition, side) in joined.into_iter().rev() {
            next = match (side, next) {
                (Some(side), Some(next)) => Some(join(&mut self.terms, condition, side, &next)),
                (side, next) => side.or(next),
            };
        }
        if all_continue && let Some(next) = &mut next {
            next.guard = state.guard;
        }
        outcomes.next = next;
        outcomes
    }

    fn side(
        &mut self,
        outcomes: &mut Outcomes,
        state: State,
        block: &Block,
        location: Option<Location>,
        number: usize,
    ) -> Option<State> {
        if let Some(location) = location {
            self.goals.reach(&Key::Side(location, number), state.guard);
        }
        let after = self.block(state, block);
        outcomes.absorb(&mut self.terms, after)
    }

    fn switch(
        &mut self,
        state: &State,
        location: Option<Location>,
        subject: &Expression,
        cases: &[SwitchCase],
        default: &Block,
    ) -> Result<Outcomes, Stop> {
        let found = self.value(state, subject)?;
        let mut sides = Vec::with_capacity(cases.len());
        for (position, case) in cases.iter().enumerate() {
            let mut any = self.terms.truth(false);
            for value in &case.values {
                let wanted = self.label(subject, value)?;
                let equal = self.equal_values(subject.type_id, &found, &wanted);
                any = self.terms.or(any, equal);
            }
            sides.push((any, &case.body, position + 1));
        }
        Ok(self.branch(state, location, &sides, default, 0))
    }

    fn label(&mut self, subject: &Expression, value: &Value) -> Result<Vec<Term>, Stop> {
        self.constant(subject.type_id, value)
    }

    fn repeat(
        &mut self,
        state: State,
        location: Option<Location>,
        (before_condition, condition, update, body): (&Block, &Expression, &Block, &Block),
    ) -> Result<Outcomes, Stop> {
        let mut outcomes = Outcomes::default();
        let mut done: Option<State> = None;
        let mut current = Some(state);
        for _ in 0..MAXIMUM_TURNS {
            let Some(state) = current.take() else { break };
            let before = self.block(state, before_condition);
            let Some(state) = outcomes.absorb(&mut self.terms, before) else { break };
            let goes_on = self.scalar(&state, condition)?;
            let ends = self.terms.not(goes_on);
            if let Some(end) = state.when(&mut self.terms, ends) {
                if let Some(location) = location {
                    self.goals.reach(&Key::Side(location, 0), end.guard);
                }
                done = join_any(&mut self.terms, done, Some(end));
            }
            let Some(turn) = state.when(&mut self.terms, goes_on) else { break };
            if let Some(location) = location {
                self.goals.reach(&Key::Side(location, 1), turn.guard);
            }
            let mut after = self.block(turn, body);
            done = join_any(&mut self.terms, done, after.breaks.take());
            let continued = after.continues.take();
            let next = outcomes.absorb(&mut self.terms, after);
            let Some(next) = join_any(&mut self.terms, next, continued) else { break };
            let after = self.block(next, update);
            current = outcomes.absorb(&mut self.terms, after);
        }
        if let Some(state) = current {
            let reason = format!("a loop of more than {MAXIMUM_TURNS} turns");
            self.cut(state.guard, reason, location);
        }
        outcomes.next = done;
        Ok(outcomes)
    }

    /// Executes an action, with arguments for all of its parameters.
    pub(crate) fn call_action(
        &mut self,
        state: State,
        id: ActionId,
        arguments: &[Argument],
    ) -> Result<Outcomes, Stop> {
        let program = self.program;
        let action = program.actions.get(id.index()).ok_or_else(|| unsupported("an action"))?;
        let formals = action.parameters.iter().map(|parameter| Formal {
            variable: parameter.variable,
            direction: parameter.direction.unwrap_or(Direction::In),
            type_id: parameter.type_id,
        });
        let formals: Vec<Formal> = formals.collect();
        self.call(state, &formals, arguments, |executor, state| {
            Ok(executor.block(state, &action.body))
        })
    }

    fn call_function(
        &mut self,
        state: State,
        id: FunctionId,
        arguments: &[Argument],
        result: Option<&Place>,
    ) -> Result<Outcomes, Stop> {
        let program = self.program;
        let function =
            program.functions.get(id.index()).ok_or_else(|| unsupported("a function"))?;
        let result = result.map(|place| self.locate(&state, place)).transpose()?;
        let formals: Vec<Formal> = function.parameters.iter().map(Formal::from).collect();
        self.functions.push(id);
        let outcomes = self.call(state, &formals, arguments, |executor, state| {
            Ok(executor.block(state, &function.body))
        });
        self.functions.pop();
        let mut outcomes = self.after_call(outcomes?);
        if let (Some(place), Some(type_id), Some(state), Some(at)) =
            (result, function.return_type, &mut outcomes.next, self.results.get(id.index()))
        {
            let value = state.range(*at, self.shapes.size(type_id));
            self.write(state, &place, &value);
        }
        Ok(outcomes)
    }

    /// Converts the outcomes of a callee to those of the call: packets that return continue after
    /// the call.
    pub(crate) fn after_call(&mut self, mut outcomes: Outcomes) -> Outcomes {
        for other in [outcomes.returns.take(), outcomes.breaks.take(), outcomes.continues.take()] {
            outcomes.next = join_any(&mut self.terms, outcomes.next.take(), other);
        }
        outcomes
    }
}
