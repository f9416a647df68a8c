//! Lowering of statements.

use super::expression::binary_operator;
use super::{Entity, Lowering};
use crate::ast::{
    self, BinaryOperator, DeclarationKind, ExpressionKind, Statement, StatementKind, SwitchLabel,
    UnaryOperator,
};
use crate::check::{Builtin, Constant, Resolution, Type};
use crate::source::Span;
use ir::bits::Bits;
use ir::{self, Expression, Place, Projection, Value};

/// The largest number of conditions in a chain of `else if`. A longer chain is split.
const LONGEST_ALTERNATIVES: usize = 32;

/// The nesting depth of operators up to which [`Lowering::known_condition`] examines a condition.
const DEEPEST_CONDITION: usize = 50;

impl<'a> Lowering<'a> {
    pub(super) fn statements(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            self.statement(statement);
            // The statements after `return` never run, and their tables may not have been lowered
            // (`usage.rs`). The statements after `exit` do not run either, but p4c keeps them, so
            // their tables are visible to the control plane.
            if matches!(statement.kind, StatementKind::Return(_)) {
                return;
            }
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        ir::meter::count(1);
        if self.is_exhausted() {
            return;
        }
        let span = statement.span;
        self.at = span;
        match &statement.kind {
            StatementKind::Empty => {}
            StatementKind::Declaration(declaration) => self.local_declaration(declaration),
            StatementKind::Block(block) => {
                let mut annotations = block.annotations.iter();
                self.program.atomic |= annotations.any(|one| &*one.name.text == "atomic");
                self.statements(&block.statements);
            }
            StatementKind::Assign { target, operator, value } => {
                self.assignment(span, target, *operator, value);
            }
            StatementKind::Call(call) => {
                // Of a statement such as `t.apply().hit;`, only the side effect matters.
                match &call.kind {
                    ExpressionKind::Call { .. } => {
                        self.call(call, false);
                    }
                    _ => {
                        self.expression(call);
                    }
                }
            }
            StatementKind::DirectApplication { target, arguments } => {
                self.direct_application(span, target, arguments);
            }
            StatementKind::If { .. } => self.alternatives(statement),
            StatementKind::Switch { subject, cases } => self.switch(span, subject, cases),
            StatementKind::Return(value) => {
                let value = value.as_ref().map(|value| self.expression(value));
                self.emit(span, ir::StatementKind::Return(value));
            }
            StatementKind::Exit => self.emit(span, ir::StatementKind::Exit),
            StatementKind::Break => self.emit(span, ir::StatementKind::Break),
            StatementKind::Continue => self.emit(span, ir::StatementKind::Continue),
            StatementKind::For { initial, condition, update, body } => {
                self.statements(initial);
                let mut test = None;
                let before_condition = self.collect(|lowering| {
                    test = Some(lowering.expression(condition));
                });
                let Some(condition) = test else { return };
                let body = self.collect(|lowering| lowering.statement(body));
                let update = self.collect(|lowering| lowering.statements(update));
                self.emit(
                    span,
                    ir::StatementKind::For { before_condition, condition, update, body },
                );
            }
            StatementKind::ForIn { variable, collection, body } => {
                self.for_in(span, variable, collection, body);
            }
        }
    }

    /// Lowers a chain `if ... else if ... else`. Code that reads the IR recurses over the chain,
    /// and not all of it runs on a large stack. A long chain is therefore split into several short
    /// ones. Each of these runs only if no branch of the previous ones has run.
    fn alternatives(&mut self, first: &'a Statement) {
        let mut chain = Vec::new();
        let mut rest = Some(first);
        while let Some(statement) = rest
            && let StatementKind::If { condition, then, otherwise } = &statement.kind
        {
            let known = self.known_condition(condition, DEEPEST_CONDITION);
            rest = match known {
                Some(true) => Some(&**then),
                _ => otherwise.as_deref(),
            };
            if known.is_none() {
                chain.push((statement.span, condition, &**then));
            } else if known == Some(true) {
                break;
            }
        }
        if chain.len() <= LONGEST_ALTERNATIVES {
            self.alternative(&chain, &mut |lowering| {
                if let Some(rest) = rest {
                    lowering.statement(rest);
                }
            });
            return;
        }
        let span = first.span;
        let type_id = self.bool_type();
        let pending = Place::variable(self.temporary(type_id));
        let constant =
            |value| Expression { type_id, kind: ir::ExpressionKind::Constant(Value::Bool(value)) };
        self.assign(span, pending.clone(), constant(true));
        for part in chain.chunks(LONGEST_ALTERNATIVES) {
            let then = self.collect(|lowering| {
                lowering.assign(span, pending.clone(), constant(false));
                lowering.alternative(part, &mut |lowering| {
                    lowering.assign(span, pending.clone(), constant(true));
                });
            });
            let condition = Expression { type_id, kind: ir::ExpressionKind::Read(pending.clone()) };
            self.emit(span, ir::StatementKind::If { condition, then, otherwise: Vec::new() });
        }
        if let Some(rest) = rest {
            let then = self.collect(|lowering| lowering.statement(rest));
            let condition = Expression { type_id, kind: ir::ExpressionKind::Read(pending) };
            self.emit(span, ir::StatementKind::If { condition, then, otherwise: Vec::new() });
        }
    }

    /// If p4c recognises that a condition is always true or always false, returns its value.
    /// Returns `None` otherwise. An operand without side effects is ignored if the other operand
    /// determines the result.
    fn known_condition(&mut self, condition: &'a ast::Expression, depth: usize) -> Option<bool> {
        if let Some(Constant::Bool(value)) = self.evaluate(condition) {
            return Some(value);
        }
        let depth = depth.checked_sub(1)?;
        match &condition.kind {
            ExpressionKind::Binary { operator, left, right } => {
                let decides = match operator {
                    BinaryOperator::And => false,
                    BinaryOperator::Or => true,
                    _ => return None,
                };
                let first = self.known_condition(left, depth);
                if first == Some(decides) {
                    return first;
                }
                let second = self.known_condition(right, depth);
                let counts = second == Some(decides) && !self.has_effects(left);
                (counts || first == Some(!decides)).then_some(second).flatten()
            }
            ExpressionKind::Unary { operator: UnaryOperator::Not, operand } => {
                self.known_condition(operand, depth).map(|known| !known)
            }
            _ => None,
        }
    }

    fn alternative(
        &mut self,
        chain: &[(Span, &'a ast::Expression, &'a Statement)],
        last: &mut dyn FnMut(&mut Self),
    ) {
        let Some(((span, condition, then), rest)) = chain.split_first() else {
            last(self);
            return;
        };
        let condition = self.expression(condition);
        let then = self.collect(|lowering| lowering.statement(then));
        let otherwise = self.collect(|lowering| lowering.alternative(rest, last));
        self.emit(*span, ir::StatementKind::If { condition, then, otherwise });
    }

    /// Lowers the declaration of a local variable, constant or instance.
    pub(super) fn local_declaration(&mut self, declaration: &'a ast::Declaration) {
        match &declaration.kind {
            DeclarationKind::Variable { initial, .. } => {
                let ty = self.concrete(self.checked.declared_type(declaration.id));
                let type_id = self.type_id(&ty);
                let value = initial.as_ref().map(|initial| {
                    let value = self.expression(initial);
                    self.coerced(value, type_id)
                });
                let variable = self.variable(declaration.name.as_str(), type_id);
                self.bind(declaration.id, Entity::Variable(variable));
                let place = Place::variable(variable);
                match value {
                    Some(value) => self.assign(declaration.span, place, value),
                    None => self.emit(declaration.span, ir::StatementKind::Reset(place)),
                }
            }
            DeclarationKind::Constant { value, .. } => {
                if self.checked.constant(value.id).is_none()
                    && let Some(value) = self.checked.evaluate(value, &self.scope.environment)
                {
                    self.scope.environment.values.insert(declaration.id, value);
                }
            }
            DeclarationKind::Instantiation(_) => self.local_instance(declaration),
            _ => self.problem(declaration.span, "this cannot be declared here"),
        }
    }

    fn assignment(
        &mut self,
        span: Span,
        target: &'a ast::Expression,
        operator: Option<BinaryOperator>,
        value: &'a ast::Expression,
    ) {
        if let ExpressionKind::PartSelect { base, low, width } = &target.kind
            && self.evaluate(low).is_none()
        {
            self.assign_part(span, base, low, width, operator, value);
            return;
        }
        let Some(mut place) = self.target(target) else { return };
        if operator.is_some() || self.has_effects(value) {
            place = self.with_saved_indices(place);
        }
        let ty = self.concrete(self.checked.type_of(target.id));
        let type_id = self.type_id(&ty);
        let value = match operator {
            None => self.expression(value),
            Some(operator) => {
                let Some(operator) = binary_operator(operator) else { return };
                let old = self.read_target(&place, type_id);
                if matches!(operator, ir::BinaryOperator::And | ir::BinaryOperator::Or) {
                    let effects = self.has_effects(value);
                    if effects {
                        self.assign_short_circuit(span, place, old, operator, value);
                        return;
                    }
                }
                let old = if self.has_effects(value) { self.saved(old) } else { old };
                let mut right = self.expression(value);
                if !matches!(
                    operator,
                    ir::BinaryOperator::ShiftLeft | ir::BinaryOperator::ShiftRight
                ) {
                    right = self.coerced(right, type_id);
                }
                self.binary_of(operator, old, right, &ty)
            }
        };
        let value = self.coerced(value, type_id);
        self.assign(span, place, value);
    }

    /// Lowers `x &&= f()` or `x ||= f()`. The call runs only if its result is needed.
    fn assign_short_circuit(
        &mut self,
        span: Span,
        place: Place,
        old: Expression,
        operator: ir::BinaryOperator,
        value: &'a ast::Expression,
    ) {
        let then = self.collect(|lowering| {
            let value = lowering.expression(value);
            lowering.assign(span, place, value);
        });
        let condition = if operator == ir::BinaryOperator::And { old } else { self.negated(old) };
        self.emit(span, ir::StatementKind::If { condition, then, otherwise: Vec::new() });
    }

    /// Returns an expression of type `type_id` that reads a place, which may be a slice.
    fn read_target(&mut self, place: &Place, type_id: ir::TypeId) -> Expression {
        let mut whole = place.clone();
        if let Some(Projection::Slice { high, low }) = whole.path.last().cloned() {
            whole.path.pop();
            let whole_type = self.program.place_type(&whole).unwrap_or(type_id);
            let operand = Expression { type_id: whole_type, kind: ir::ExpressionKind::Read(whole) };
            self.slice(operand, high, low)
        } else {
            Expression { type_id, kind: ir::ExpressionKind::Read(whole) }
        }
    }

    /// Lowers `x[low +: width] = value` where `low` is not constant. The other bits of `x` keep
    /// their values.
    fn assign_part(
        &mut self,
        span: Span,
        base: &'a ast::Expression,
        low: &'a ast::Expression,
        width: &'a ast::Expression,
        operator: Option<BinaryOperator>,
        value: &'a ast::Expression,
    ) {
        let Some(place) = self.target(base) else { return };
        let place = self.with_saved_indices(place);
        let Some(part_width) = self.evaluate_u32(width) else { return };
        let ty = self.concrete(self.checked.type_of(base.id));
        let type_id = self.type_id(&ty);
        let ir::Type::Bits { width: whole_width, signed } = self.program.types.get(type_id) else {
            self.problem(span, "only a value of bits can be sliced");
            return;
        };
        let amount = self.expression(low);
        let amount = self.sized(amount, 32);
        let amount = self.saved(amount);
        let old = Expression { type_id, kind: ir::ExpressionKind::Read(place.clone()) };
        let old = if self.has_effects(value) { self.saved(old) } else { old };
        let part_type = self.bit_type(part_width);
        let new = self.expression(value);
        let mut new = self.coerced(new, part_type);
        let shifted = |operator, operand: Expression, amount: &Expression| Expression {
            type_id,
            kind: ir::ExpressionKind::Binary(operator, Box::new(operand), Box::new(amount.clone())),
        };
        if let Some(operator) = operator.and_then(binary_operator) {
            let down = shifted(ir::BinaryOperator::ShiftRight, old.clone(), &amount);
            let before = self.slice(down, part_width.saturating_sub(1), 0);
            new = Expression {
                type_id: part_type,
                kind: ir::ExpressionKind::Binary(operator, Box::new(before), Box::new(new)),
            };
        }
        let ones = Bits::ones(part_width, false).cast(whole_width, false).cast(whole_width, signed);
        let mask = Expression { type_id, kind: ir::ExpressionKind::Constant(Value::Bits(ones)) };
        let mask = shifted(ir::BinaryOperator::ShiftLeft, mask, &amount);
        let keep = Expression {
            type_id,
            kind: ir::ExpressionKind::Unary(ir::UnaryOperator::Complement, Box::new(mask)),
        };
        let kept = Expression {
            type_id,
            kind: ir::ExpressionKind::Binary(
                ir::BinaryOperator::BitAnd,
                Box::new(old),
                Box::new(keep),
            ),
        };
        let unsigned = self.bit_type(whole_width);
        let wide = self.coerced(new, unsigned);
        let wide = self.coerced(wide, type_id);
        let put = shifted(ir::BinaryOperator::ShiftLeft, wide, &amount);
        let value = Expression {
            type_id,
            kind: ir::ExpressionKind::Binary(
                ir::BinaryOperator::BitOr,
                Box::new(kept),
                Box::new(put),
            ),
        };
        self.assign(span, place, value);
    }

    /// Lowers a `switch`. If the subject is known at compile time, only the case that it selects is
    /// lowered.
    fn switch(&mut self, span: Span, subject: &'a ast::Expression, cases: &'a [ast::SwitchCase]) {
        let on_table = self.checked.switch_table(subject.id);
        if on_table.is_none()
            && let Some(known) = self.evaluate(subject)
        {
            let body = self.known_case(&known, subject, cases);
            self.statements(body.map_or(&[], |block| &block.statements));
            return;
        }
        if self.is_open_integer(subject) {
            let ty = self.checked.type_of(subject.id).clone();
            self.unexpected_integer(subject, &ty);
            return;
        }
        let value = match (on_table, &subject.kind) {
            (Some(_), ExpressionKind::Member { base, .. }) => {
                self.apply_table(base, Builtin::ActionRun)
            }
            _ => Some(self.expression(subject)),
        };
        let Some(value) = value else { return };
        let ty = self.concrete(self.checked.converted_type_of(subject.id));
        let value = match value.kind {
            ir::ExpressionKind::Constant(ir::Value::Integer(_)) => self.sized(value, 32),
            _ => value,
        };
        let mut list = Vec::new();
        let mut default = Vec::new();
        let mut labels: Vec<Value> = Vec::new();
        let mut is_default = false;
        for case in cases {
            match &case.label {
                SwitchLabel::Default => is_default = true,
                SwitchLabel::Expression(label) => {
                    let label_value = match on_table {
                        Some(table) => self.action_label(table, label),
                        None => self.evaluate(label).map(|constant| self.value(&constant, &ty)),
                    };
                    match label_value {
                        Some(value) => labels.push(value),
                        None => self.problem(label.span, "a label must be known at compile time"),
                    }
                }
            }
            let Some(body) = &case.body else { continue };
            let body = self.collect(|lowering| lowering.statements(&body.statements));
            if is_default {
                default.clone_from(&body);
            }
            if !labels.is_empty() {
                list.push(ir::SwitchCase { values: std::mem::take(&mut labels), body });
            }
            is_default = false;
        }
        // Labels without a block at the end of the `switch` do nothing, except that they prevent
        // the default from running.
        if !labels.is_empty() {
            list.push(ir::SwitchCase { values: labels, body: Vec::new() });
        }
        self.emit(span, ir::StatementKind::Switch { subject: value, cases: list, default });
    }

    /// Returns the block that a `switch` runs if the subject has the value `known`, or `None` if it
    /// runs none.
    fn known_case(
        &mut self,
        known: &Constant,
        subject: &'a ast::Expression,
        cases: &'a [ast::SwitchCase],
    ) -> Option<&'a ast::Block> {
        let ty = self.concrete(self.checked.converted_type_of(subject.id));
        let wanted = self.value(known, &ty);
        let mut fits = |case: &'a ast::SwitchCase| match &case.label {
            SwitchLabel::Default => false,
            SwitchLabel::Expression(label) => self
                .evaluate(label)
                .map(|constant| self.value(&constant, &ty))
                .is_some_and(|value| value == wanted),
        };
        let fitting = cases.iter().position(&mut fits);
        let otherwise = || cases.iter().position(|case| matches!(case.label, SwitchLabel::Default));
        let position = fitting.or_else(otherwise)?;
        cases.iter().skip(position).find_map(|case| case.body.as_ref())
    }

    fn action_label(&self, table: ast::DeclarationId, label: &'a ast::Expression) -> Option<Value> {
        let Some(Resolution::Declaration(action)) = self.checked.resolution(label.id) else {
            return None;
        };
        let facts = self.checked.table(table)?;
        let position = facts.actions.iter().position(|known| known.action == *action)?;
        Some(Value::Bits(Bits::unsigned(32, position as u128)))
    }

    fn direct_application(
        &mut self,
        span: Span,
        target: &'a ast::Type,
        arguments: &'a [ast::Argument],
    ) {
        let checked = self.checked;
        let Some(facts) = checked.direct_application(target.id) else {
            self.problem(span, "this `apply` cannot be lowered");
            return;
        };
        let known = self.scope.direct_instances.get(&target.id).copied();
        let entity = known.or_else(|| self.direct_instance(&facts.instance));
        self.apply(span, entity, &facts.apply, arguments);
    }

    /// Lowers `for (x in collection)`, where the collection is a range, a stack or a list, to a
    /// loop with a counter.
    fn for_in(
        &mut self,
        span: Span,
        variable: &'a ast::Declaration,
        collection: &'a ast::Expression,
        body: &'a Statement,
    ) {
        let ty = self.concrete(self.checked.declared_type(variable.id));
        let type_id = self.type_id(&ty);
        let bool_type = self.bool_type();
        let declared = self.variable(variable.name.as_str(), type_id);
        self.bind(variable.id, Entity::Variable(declared));
        let place = Place::variable(declared);
        if let ExpressionKind::Binary { operator: BinaryOperator::Range, left, right } =
            &collection.kind
        {
            let mut ends = self.operands(&[left, right]).into_iter();
            let (Some(low), Some(high)) = (ends.next(), ends.next()) else { return };
            let (low, high) = (self.coerced(low, type_id), self.coerced(high, type_id));
            let counter = self.spilled(low);
            self.temporaries.remove(&counter.variable);
            let high = self.saved(high);
            let read = |place: &Place, type_id| Expression {
                type_id,
                kind: ir::ExpressionKind::Read(place.clone()),
            };
            // The loop tests a flag and not the counter, because the counter cannot exceed the
            // largest value of its type.
            let more = Place::variable(self.variable("more", bool_type));
            let compare = |operator, left: Expression, right: Expression| Expression {
                type_id: bool_type,
                kind: ir::ExpressionKind::Binary(operator, Box::new(left), Box::new(right)),
            };
            let first =
                compare(ir::BinaryOperator::LessOrEqual, read(&counter, type_id), high.clone());
            self.assign(span, more.clone(), first);
            let inner = self.collect(|lowering| {
                lowering.assign(span, place.clone(), read(&counter, type_id));
                lowering.statement(body);
            });
            let one = match self.program.types.get(type_id) {
                ir::Type::Bits { width, signed } => Expression {
                    type_id,
                    kind: ir::ExpressionKind::Constant(Value::Bits(
                        Bits::unsigned(width, 1).cast(width, signed),
                    )),
                },
                _ => {
                    self.problem(span, "a range must be one of bit or int values");
                    return;
                }
            };
            let update = self.collect(|lowering| {
                let goes_on =
                    compare(ir::BinaryOperator::Less, read(&counter, type_id), high.clone());
                lowering.assign(span, more.clone(), goes_on);
                let next = Expression {
                    type_id,
                    kind: ir::ExpressionKind::Binary(
                        ir::BinaryOperator::Add,
                        Box::new(read(&counter, type_id)),
                        Box::new(one),
                    ),
                };
                lowering.assign(span, counter.clone(), next);
            });
            let condition = read(&more, bool_type);
            self.emit(
                span,
                ir::StatementKind::For {
                    before_condition: Vec::new(),
                    condition,
                    update,
                    body: inner,
                },
            );
            return;
        }
        self.for_in_elements(span, &place, type_id, collection, body);
    }

    /// Lowers a loop over the elements of a header stack or list to a loop with an index. The
    /// elements of a list may have different types, so the cases of a `switch` on the index read
    /// them.
    fn for_in_elements(
        &mut self,
        span: Span,
        place: &Place,
        type_id: ir::TypeId,
        collection: &'a ast::Expression,
        body: &'a Statement,
    ) {
        let bool_type = self.bool_type();
        let index_type = self.bit_type(32);
        let value = self.expression(collection);
        let whole_type = value.type_id;
        let whole = self.spilled(value);
        let index = Place::variable(self.variable("index", index_type));
        let number = |value: u128| super::constant::bits_constant(index_type, 32, value);
        let read =
            Expression { type_id: index_type, kind: ir::ExpressionKind::Read(index.clone()) };
        self.assign(span, index.clone(), number(0));
        let (count, is_stack) = match self.program.types.get(whole_type) {
            ir::Type::Stack { size, .. } => (size, true),
            ir::Type::Composite(id) => {
                let fields = self.program.types.composites.get(id.index());
                (fields.map_or(0, |composite| composite.fields.len() as u32), false)
            }
            _ => {
                self.problem(collection.span, "this has no elements to go over");
                return;
            }
        };
        let inner = self.collect(|lowering| {
            if is_stack {
                let mut element = whole.clone();
                element.path.push(Projection::Element(Box::new(read.clone())));
                let value = Expression { type_id, kind: ir::ExpressionKind::Read(element) };
                lowering.assign(span, place.clone(), value);
            } else {
                let cases = (0..count)
                    .map(|position| {
                        let part = whole.clone().field(position);
                        let part_type = lowering.program.place_type(&part).unwrap_or(type_id);
                        let value =
                            Expression { type_id: part_type, kind: ir::ExpressionKind::Read(part) };
                        let body = lowering.collect(|lowering| {
                            let value = lowering.coerced(value, type_id);
                            lowering.assign(span, place.clone(), value);
                        });
                        ir::SwitchCase {
                            values: vec![Value::Bits(Bits::unsigned(32, position.into()))],
                            body,
                        }
                    })
                    .collect();
                lowering.emit(
                    span,
                    ir::StatementKind::Switch { subject: read.clone(), cases, default: Vec::new() },
                );
            }
            lowering.statement(body);
        });
        let update = self.collect(|lowering| {
            let next = Expression {
                type_id: index_type,
                kind: ir::ExpressionKind::Binary(
                    ir::BinaryOperator::Add,
                    Box::new(read.clone()),
                    Box::new(number(1)),
                ),
            };
            lowering.assign(span, index.clone(), next);
        });
        let condition = Expression {
            type_id: bool_type,
            kind: ir::ExpressionKind::Binary(
                ir::BinaryOperator::Less,
                Box::new(read),
                Box::new(number(count.into())),
            ),
        };
        self.emit(
            span,
            ir::StatementKind::For { before_condition: Vec::new(), condition, update, body: inner },
        );
    }

    /// Returns the type of the subject of a `switch` or `select`, to which the labels of its cases
    /// are converted.
    pub(super) fn subject_type(&self, subject: &'a ast::Expression) -> Type {
        self.concrete(self.checked.converted_type_of(subject.id))
    }
}
