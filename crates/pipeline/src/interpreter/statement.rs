//! Runs statements. Only statements have side effects.

use super::place::Resolved;
use super::{Flow, Interpreter, Stop, deeper, internal};
use crate::callee::Callee;
use crate::trace::{Detail, Event};
use crate::value::Value;
use ir::{
    Action, ActionId, Argument, Block, ControlId, Direction, Expression, ExpressionKind,
    FunctionId, Parameter, ParserId, Place, Statement, StatementKind, SwitchCase, TableId, TypeId,
    VariableId,
};

/// A parameter of a parser, control, action or function that is called, as distinct from the
/// argument.
pub(super) struct Formal {
    pub(super) variable: VariableId,
    pub(super) direction: Direction,
    pub(super) type_id: TypeId,
}

impl From<&Parameter> for Formal {
    fn from(parameter: &Parameter) -> Self {
        let Parameter { variable, direction, type_id, .. } = parameter;
        Self { variable: *variable, direction: *direction, type_id: *type_id }
    }
}

/// Returns the parameters of an action. Those that the control plane sets count as read-only.
pub(super) fn action_formals(action: &Action) -> impl Iterator<Item = Formal> + '_ {
    action.parameters.iter().map(|parameter| Formal {
        variable: parameter.variable,
        direction: parameter.direction.unwrap_or(Direction::In),
        type_id: parameter.type_id,
    })
}

impl Interpreter<'_> {
    /// Runs a statement. Only statements that can nest are handled here, each in a function of its
    /// own with a small stack frame, because programs may nest deeply.
    pub(super) fn statement(&mut self, statement: &Statement) -> Result<Flow, Stop> {
        match &statement.kind {
            StatementKind::If { condition, then, otherwise } => {
                let holds = self.condition(condition)?;
                self.decided(statement, usize::from(holds));
                self.block(if holds { then } else { otherwise })
            }
            StatementKind::Switch { subject, cases, default } => {
                let chosen = self.chosen_case(subject, cases)?;
                self.decided(statement, chosen.map_or(0, |position| position + 1));
                let case = chosen.and_then(|position| cases.get(position));
                self.block(case.map_or(default, |case| &case.body))
            }
            StatementKind::For { before_condition, condition, update, body } => {
                let side = |interpreter: &mut Self, side| interpreter.decided(statement, side);
                let turn = self.layout.costs.of_turn(&statement.kind).map_or(1, u64::from);
                self.repeat((before_condition, condition, update, body), turn, &side)
            }
            StatementKind::ApplyTable { table, hit, action_run } => {
                self.apply_table(*table, hit.as_ref(), action_run.as_ref())
            }
            StatementKind::CallAction { action, arguments } => self.call_action(*action, arguments),
            StatementKind::CallFunction { function, arguments, result } => {
                self.call_function_of_program(*function, arguments, result.as_ref())
            }
            StatementKind::CallControl { control, arguments } => {
                self.call_control(*control, arguments)
            }
            StatementKind::CallParser { parser, arguments } => self.call_parser(*parser, arguments),
            _ => self.simple_statement(statement),
        }
    }

    /// Runs a statement that contains no statements.
    fn simple_statement(&mut self, statement: &Statement) -> Result<Flow, Stop> {
        match &statement.kind {
            StatementKind::Assign { place, value }
                if !self.is_traced(Detail::Values) && self.fields_mut(place).is_some() =>
            {
                let value = self.evaluate(value)?;
                if let Some(target) = self.fields_mut(place) {
                    target.assign(&value);
                }
            }
            StatementKind::Assign { place, value } => {
                let place = self.resolve(place)?;
                let value = self.evaluate(value)?;
                self.write(&place, value)?;
            }
            StatementKind::Reset(place) => {
                let place = self.resolve(place)?;
                self.update(&place, Value::clear)?;
            }
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::Return(value) => {
                let value = value.as_ref().map(|value| self.evaluate(value)).transpose()?;
                return Ok(Flow::Return(value));
            }
            StatementKind::Exit => return Ok(Flow::Exit),
            StatementKind::CallExtern { callee, arguments, result, .. } => {
                let (location, place) = (statement.location, result.as_ref());
                let call = super::externs::Call { callee, arguments, location, result: place };
                let result = place.map(|place| self.resolve(place)).transpose()?;
                let value = self.call_extern(&call)?;
                if let (Some(place), Some(value)) = (result, value) {
                    self.write_as(&place, value)?;
                }
            }
            StatementKind::Extract { header, header_type, varbit_width } => {
                self.extract(header.as_ref(), *header_type, varbit_width.as_ref())?;
            }
            StatementKind::Lookahead { result, type_id } => self.lookahead(result, *type_id)?,
            StatementKind::Advance(bits) => self.advance(bits)?,
            StatementKind::Emit(expression) => self.emit(expression)?,
            StatementKind::Verify { condition, error } => {
                if !self.condition(condition)? {
                    let Value::Error(error) = self.evaluate(error)? else {
                        return Err(internal("error"));
                    };
                    return Err(Stop::Reject(error));
                }
            }
            StatementKind::SetValidity { header, valid } => self.set_validity(header, *valid)?,
            StatementKind::PushFront { stack, count } => {
                let stack = self.resolve(stack)?;
                self.update(&stack, |stack| push_front(stack, *count))?;
            }
            StatementKind::PopFront { stack, count } => {
                let stack = self.resolve(stack)?;
                self.update(&stack, |stack| pop_front(stack, *count))?;
            }
            _ => return Err(internal("statement")),
        }
        Ok(Flow::Next)
    }

    fn emit(&mut self, expression: &Expression) -> Result<(), Stop> {
        let mut emitted = std::mem::take(&mut self.scratch.emitted);
        let mut used = self.emitted_used;
        let place = match &expression.kind {
            ExpressionKind::Read(place) if !self.is_traced(Detail::Values) => {
                self.peek_fields(place)
            }
            _ => None,
        };
        match place {
            Some(value) => {
                value.emit(&mut emitted, &mut used);
            }
            None => {
                let value = self.evaluate(expression)?;
                self.event_of(Detail::Values, |interpreter| Event::Emit {
                    place: interpreter.emitted_place(expression),
                    value: value.clone(),
                    type_id: expression.type_id,
                });
                value.emit(&mut emitted, &mut used);
            }
        }
        (self.scratch.emitted, self.emitted_used) = (emitted, used);
        Ok(())
    }

    /// Returns the variable or field that is emitted, as text for the trace.
    fn emitted_place(&self, expression: &Expression) -> Option<String> {
        let ExpressionKind::Read(place) = &expression.kind else { return None };
        let place = self.resolve(place).ok()?;
        Some(self.describe(&place).0)
    }

    fn set_validity(&mut self, header: &Place, valid: bool) -> Result<(), Stop> {
        let header = self.resolve(header)?;
        let mut change = 0;
        self.update(&header, |header| {
            if header.is_valid() != valid {
                let bytes = i64::try_from(header.width_in_bits() / 8).unwrap_or(0);
                change = if valid { bytes } else { -bytes };
            }
            header.set_validity(valid);
        })?;
        self.length_change = self.length_change.saturating_add(change);
        Ok(())
    }

    fn call_action(&mut self, id: ActionId, arguments: &[Argument]) -> Result<Flow, Stop> {
        let layout = self.layout;
        let action = layout.program.actions.get(id.index()).ok_or_else(|| internal("action"))?;
        let flow = self.call(&mut action_formals(action), arguments, &mut |interpreter| {
            interpreter.run_action(id, action, None)
        })?;
        Ok(after_call(flow).0)
    }

    /// Runs the body of an action after its parameters were set, and reports its beginning and end
    /// to the trace.
    pub(super) fn run_action(
        &mut self,
        id: ActionId,
        action: &Action,
        table: Option<TableId>,
    ) -> Result<Flow, Stop> {
        self.event(|interpreter| Event::Action {
            action: id,
            table,
            arguments: interpreter.action_arguments(action),
        });
        self.enter(Callee::Action(id))?;
        let flow = self.block(&action.body)?;
        self.event(|_| Event::ActionEnd);
        Ok(flow)
    }

    fn call_function_of_program(
        &mut self,
        id: FunctionId,
        arguments: &[Argument],
        result: Option<&Place>,
    ) -> Result<Flow, Stop> {
        let layout = self.layout;
        let function =
            layout.program.functions.get(id.index()).ok_or_else(|| internal("function"))?;
        let result = result.map(|place| self.resolve(place)).transpose()?;
        let mut formals = function.parameters.iter().map(Formal::from);
        let flow = self.call(&mut formals, arguments, &mut |interpreter| {
            interpreter.enter(Callee::Function(id))?;
            interpreter.block(&function.body)
        })?;
        let (flow, value) = after_call(flow);
        if let (Some(place), Some(value)) = (result, value) {
            self.write(&place, value)?;
        }
        Ok(flow)
    }

    fn call_control(&mut self, id: ControlId, arguments: &[Argument]) -> Result<Flow, Stop> {
        let layout = self.layout;
        let control = layout.program.controls.get(id.index()).ok_or_else(|| internal("control"))?;
        let mut formals = control.parameters.iter().map(Formal::from);
        let flow = self.call(&mut formals, arguments, &mut |interpreter| {
            interpreter.enter(Callee::Control(id))?;
            interpreter.block(&control.body)
        })?;
        Ok(after_call(flow).0)
    }

    fn call_parser(&mut self, id: ParserId, arguments: &[Argument]) -> Result<Flow, Stop> {
        let layout = self.layout;
        let parser = layout.program.parsers.get(id.index()).ok_or_else(|| internal("parser"))?;
        let mut formals = parser.parameters.iter().map(Formal::from);
        let flow = self.call(&mut formals, arguments, &mut |interpreter| {
            interpreter.enter(Callee::Parser(id))?;
            interpreter.parse(id, parser)
        })?;
        Ok(after_call(flow).0)
    }

    /// Stores a value at a place (a variable or a part of one), converted to the place's type.
    pub(crate) fn write_as(&mut self, place: &Resolved, value: Value) -> Result<(), Stop> {
        let value = match (self.peek(place), value) {
            (Some(like), Value::Bits(bits)) => Value::from_pattern(like, &bits),
            (_, value) => value,
        };
        self.write(place, value)
    }

    /// Reports to the trace which side of a branch was taken.
    pub(super) fn decided(&mut self, statement: &Statement, side: usize) {
        if let (Some(trace), Some(at)) = (&mut self.trace, statement.location) {
            trace.branch(at, side);
        }
    }

    fn chosen_case(
        &self,
        subject: &Expression,
        cases: &[SwitchCase],
    ) -> Result<Option<usize>, Stop> {
        let found = self.evaluate(subject)?;
        for (position, case) in cases.iter().enumerate() {
            for value in &case.values {
                let wanted = self.layout.constant(subject.type_id, value);
                if wanted.ok_or_else(|| internal("case"))?.language_equal(&found) {
                    return Ok(Some(position));
                }
            }
        }
        Ok(None)
    }

    fn repeat(
        &mut self,
        (before_condition, condition, update, body): (&Block, &Expression, &Block, &Block),
        turn: u64,
        decided: &dyn Fn(&mut Self, usize),
    ) -> Result<Flow, Stop> {
        loop {
            self.charge(turn)?;
            match self.block(before_condition)? {
                Flow::Next => {}
                other => return Ok(other),
            }
            let goes_on = self.condition(condition)?;
            decided(self, usize::from(goes_on));
            if !goes_on {
                return Ok(Flow::Next);
            }
            match self.block(body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                other => return Ok(other),
            }
            match self.block(update)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
    }

    /// Calls a parser, control, action or function. `body` runs its statements. Arguments are read
    /// from left to right before the call. Unless `body` ends with a fault, results are written to
    /// the arguments after it, in the order in which the call names them (section 6.8).
    pub(super) fn call(
        &mut self,
        formals: &mut dyn Iterator<Item = Formal>,
        arguments: &[Argument],
        body: &mut dyn FnMut(&mut Self) -> Result<Flow, Stop>,
    ) -> Result<Flow, Stop> {
        let outputs = self.copy_arguments_in(formals, arguments)?;
        let flow = deeper(|| body(self));
        if !matches!(flow, Err(Stop::Fault(_))) {
            self.copy_arguments_out(outputs)?;
        }
        flow
    }

    /// Copies the arguments of a call to the parameters. Returns the copies back to the arguments
    /// that must be made after the call.
    fn copy_arguments_in(
        &mut self,
        formals: &mut dyn Iterator<Item = Formal>,
        arguments: &[Argument],
    ) -> Result<Vec<CopyOut>, Stop> {
        let mut inputs = Vec::with_capacity(arguments.len());
        let mut outputs = Vec::new();
        for (position, (formal, argument)) in formals.zip(arguments).enumerate() {
            let rank = argument.rank(position);
            let value = match argument.unordered() {
                // The parameter is not read before the call, and keeps its memory.
                Argument::In(expression) if self.copy_in_place(&formal, expression)? => continue,
                Argument::In(expression) => self.evaluate(expression)?,
                Argument::InOut(place) => {
                    let place = self.resolve(place)?;
                    // The parameter is not read before the call, and keeps its memory.
                    let is_copied = formal.direction != Direction::Out
                        && self.copy_to_variable(formal.variable, &place);
                    let value = match is_copied {
                        true => None,
                        false => Some(self.read(&place, formal.type_id)?),
                    };
                    outputs.push(CopyOut { rank, variable: formal.variable, place });
                    let Some(value) = value else { continue };
                    value
                }
                Argument::Saved { place, value } => {
                    let place = self.resolve(place)?;
                    outputs.push(CopyOut { rank, variable: formal.variable, place });
                    self.evaluate(value)?
                }
                Argument::Out(place) => {
                    let place = self.resolve(place)?;
                    outputs.push(CopyOut { rank, variable: formal.variable, place });
                    self.initial(formal.type_id)?
                }
                Argument::Extern(_)
                | Argument::Action(_)
                | Argument::Ordered { .. }
                | Argument::Absent => self.initial(formal.type_id)?,
            };
            let value = if formal.direction == Direction::Out {
                self.initial(formal.type_id)?
            } else {
                value
            };
            inputs.push((formal.variable, value));
        }
        for (variable, value) in inputs {
            self.set_variable(variable, value)?;
        }
        outputs.sort_by_key(|output| output.rank);
        Ok(outputs)
    }

    /// Copies the value of an expression to a parameter that is only read, reusing the memory of
    /// the parameter's previous value. Returns false, and copies nothing, unless the expression is
    /// a variable or a part of one that needs no index to be computed.
    fn copy_in_place(&mut self, formal: &Formal, expression: &Expression) -> Result<bool, Stop> {
        match &expression.kind {
            ExpressionKind::Read(place) if formal.direction == Direction::In => {
                let place = self.resolve(place)?;
                Ok(self.copy_to_variable(formal.variable, &place))
            }
            _ => Ok(false),
        }
    }

    fn copy_arguments_out(&mut self, outputs: Vec<CopyOut>) -> Result<(), Stop> {
        for CopyOut { variable, place, .. } in outputs {
            if !self.is_traced(Detail::Values) && self.copy_from_variable(&place, variable) {
                continue;
            }
            let value = self.variable(variable)?.clone();
            self.write(&place, value)?;
        }
        Ok(())
    }

    /// Returns the values of an action's parameters, for the trace.
    fn action_arguments(&self, action: &Action) -> Vec<Value> {
        let parameters = action.parameters.iter();
        parameters.filter_map(|one| self.variable(one.variable).ok().cloned()).collect()
    }
}

/// A copy of a parameter to its argument, which is made after a call.
struct CopyOut {
    /// The position of this copy in the order in which the call's copies are made.
    rank: usize,
    variable: VariableId,
    /// The variable, or part of one, that is the argument and receives the value.
    place: Resolved,
}

/// Returns where the caller continues after a call, and the value that the callee returned, if any.
fn after_call(flow: Flow) -> (Flow, Option<Value>) {
    match flow {
        Flow::Exit => (Flow::Exit, None),
        Flow::Return(value) => (Flow::Next, value),
        Flow::Next | Flow::Break | Flow::Continue => (Flow::Next, None),
    }
}

/// Moves the elements of a stack up by `count`. The first `count` elements become invalid (section
/// 8.18).
fn push_front(stack: &mut Value, count: u32) {
    let Value::Stack { elements, next } = stack else { return };
    let size = elements.len();
    let count_here = (count as usize).min(size);
    elements.rotate_right(count_here);
    elements.iter_mut().take(count_here).for_each(Value::clear);
    *next = next.saturating_add(count).min(u32::try_from(size).unwrap_or(u32::MAX));
}

/// Moves the elements of a stack down by `count`. The last `count` elements become invalid.
fn pop_front(stack: &mut Value, count: u32) {
    let Value::Stack { elements, next } = stack else { return };
    let size = elements.len();
    let count_here = (count as usize).min(size);
    elements.rotate_left(count_here);
    elements.iter_mut().skip(size - count_here).for_each(Value::clear);
    *next = next.saturating_sub(count);
}
