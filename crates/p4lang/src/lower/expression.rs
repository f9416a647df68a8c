//! Lowering of expressions. Side effects become statements, and the result is an expression without
//! side effects.

use super::{Entity, Lowering};
use crate::ast::{self, ExpressionKind, walk};
use crate::check::{Builtin, Constant, Resolution, Type};
use crate::diagnostic::Diagnostic;
use ir::bits::Bits;
use ir::{self, BinaryOperator, Expression, Place, UnaryOperator, Value};

impl<'a> Lowering<'a> {
    /// Lowers an expression, and converts its value to the type that its context requires.
    pub(super) fn expression(&mut self, expression: &'a ast::Expression) -> Expression {
        ir::meter::count(1);
        self.count_elements(1);
        let own = self.concrete(self.checked.type_of(expression.id));
        let wanted = self.checked.conversion(expression.id).map(|ty| self.concrete(ty));
        let target = wanted.unwrap_or_else(|| own.clone());
        if let Some(constant) = self.evaluate(expression) {
            return self.constant_expression(&constant, &target);
        }
        let value = self.unconverted(expression, &own, &target);
        let type_id = self.type_id(&target);
        self.coerced(value, type_id)
    }

    /// Lowers several operands in the order in which they are evaluated. If a later operand has
    /// side effects, the value of an operand is saved in a temporary variable.
    pub(super) fn operands(&mut self, list: &[&'a ast::Expression]) -> Vec<Expression> {
        let last_effect = list.iter().rposition(|operand| self.has_effects(operand));
        list.iter()
            .enumerate()
            .map(|(position, operand)| {
                let value = self.expression(operand);
                if last_effect.is_some_and(|last| position < last) {
                    self.saved(value)
                } else {
                    value
                }
            })
            .collect()
    }

    /// Returns whether evaluating the expression has side effects.
    pub(super) fn has_effects(&mut self, expression: &'a ast::Expression) -> bool {
        if let Some(known) = self.analyses.effects.get(&expression.id) {
            return *known;
        }
        ir::meter::count(1);
        let mut found = self.is_call_with_effects(expression);
        walk::parts(expression, &mut |part| found = found || self.has_effects(part));
        self.analyses.effects.insert(expression.id, found);
        found
    }

    fn is_call_with_effects(&self, expression: &'a ast::Expression) -> bool {
        let is_call = matches!(expression.kind, ExpressionKind::Call { .. });
        let is_pure = |facts: &crate::check::Call| match &facts.callee {
            crate::check::Callee::Builtin { builtin, .. } => matches!(
                builtin,
                Builtin::IsValid
                    | Builtin::MinSizeInBits
                    | Builtin::MinSizeInBytes
                    | Builtin::MaxSizeInBits
                    | Builtin::MaxSizeInBytes
            ),
            crate::check::Callee::Method { method, object } => {
                self.is_packet(object) && &*self.checked.name(*method) == "length"
            }
            _ => false,
        };
        is_call
            && self.checked.constant(expression.id).is_none()
            && !self.checked.call(expression.id).is_some_and(is_pure)
    }

    /// Lowers an expression to a value of its own type, before the conversion to the type that its
    /// context requires.
    fn unconverted(
        &mut self,
        expression: &'a ast::Expression,
        own: &Type,
        target: &Type,
    ) -> Expression {
        match &expression.kind {
            ExpressionKind::List { elements, .. } => self.list(elements, target),
            ExpressionKind::Record { fields, .. } => self.record(fields, target),
            ExpressionKind::InvalidHeader => {
                Expression { type_id: self.type_id(target), kind: ir::ExpressionKind::Invalid }
            }
            ExpressionKind::DefaultValue | ExpressionKind::DontCare => self.default_value(target),
            ExpressionKind::Path(_) => match self.place(expression) {
                Some(place) => self.read(place, own),
                None => self.declared_constant(expression, own),
            },
            ExpressionKind::Member { base, .. } => self.member(expression, base, own),
            ExpressionKind::Index { base, index } => match self.place(expression) {
                Some(place) => self.read(place, own),
                None => self.part_of_value(expression, base, index, own),
            },
            ExpressionKind::Slice { base, high, low } => {
                let operand = self.expression(base);
                if self.is_open_integer(base) {
                    return self.unexpected_integer(base, own);
                }
                let (Some(high), Some(low)) = (self.evaluate_u32(high), self.evaluate_u32(low))
                else {
                    return self.unexpected(expression, own);
                };
                self.slice(operand, high, low)
            }
            ExpressionKind::PartSelect { base, low, width } => {
                self.part_select(expression, base, low, width, own)
            }
            ExpressionKind::Call { .. } => match self.call(expression, true) {
                Some(value) => value,
                None => self.unexpected(expression, own),
            },
            ExpressionKind::Cast { operand, .. } => {
                let value = self.expression(operand);
                let type_id = self.type_id(own);
                self.coerced(value, type_id)
            }
            ExpressionKind::Unary { operand, .. } if self.is_open_integer(operand) => {
                self.unexpected_integer(operand, own)
            }
            ExpressionKind::Unary { operator, operand } => {
                let value = self.expression(operand);
                let operator = match operator {
                    ast::UnaryOperator::Not => UnaryOperator::Not,
                    ast::UnaryOperator::Complement => UnaryOperator::Complement,
                    ast::UnaryOperator::Negate => UnaryOperator::Negate,
                    ast::UnaryOperator::Plus => return value,
                };
                Expression {
                    type_id: value.type_id,
                    kind: ir::ExpressionKind::Unary(operator, Box::new(value)),
                }
            }
            ExpressionKind::Binary { operator, left, right } => {
                self.binary(expression, *operator, left, right, own)
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                self.conditional(condition, then, otherwise, target)
            }
            ExpressionKind::Boolean(value) => Expression {
                type_id: self.bool_type(),
                kind: ir::ExpressionKind::Constant(Value::Bool(*value)),
            },
            ExpressionKind::Integer(_)
            | ExpressionKind::String(_)
            | ExpressionKind::This
            | ExpressionKind::Type(_)
            | ExpressionKind::TupleKeyset(_)
            | ExpressionKind::DefaultKeyset => self.unexpected(expression, own),
        }
    }

    /// Lowers `base[index]` if `base` is not an l-value but, for example, the result of a call or a
    /// constant.
    fn part_of_value(
        &mut self,
        expression: &'a ast::Expression,
        base: &'a ast::Expression,
        index: &'a ast::Expression,
        own: &Type,
    ) -> Expression {
        if !matches!(self.concrete(self.checked.type_of(base.id)), Type::Stack { .. }) {
            let value = self.expression(base);
            let Some(position) = self.evaluate_u32(index) else {
                return self.unexpected(expression, own);
            };
            if let ir::ExpressionKind::Composite(mut parts) = value.kind {
                // The side effects of the other parts were lowered to statements before.
                return match parts.get(position as usize) {
                    Some(_) => parts.swap_remove(position as usize),
                    None => self.unexpected(expression, own),
                };
            }
            let place = self.placed(value);
            return self.read(place.field(position), own);
        }
        let value = self.expression(base);
        let value = if self.has_effects(index) { self.saved(value) } else { value };
        let mut place = self.placed(value);
        let index = self.index(index);
        place.path.push(ir::Projection::Element(Box::new(index)));
        self.read(place, own)
    }

    /// Returns whether an expression of type `int` has no compile-time value. Such an expression
    /// cannot be computed at run time, because its width is not known.
    pub(super) fn is_open_integer(&mut self, expression: &'a ast::Expression) -> bool {
        let ty = self.concrete(self.checked.converted_type_of(expression.id));
        ty == Type::Integer && self.evaluate(expression).is_none()
    }

    pub(super) fn unexpected_integer(
        &mut self,
        expression: &'a ast::Expression,
        own: &Type,
    ) -> Expression {
        self.problems.push(
            Diagnostic::error(
                "not-constant",
                expression.span,
                "an `int` to compute with must be known at compile time",
            )
            .note("cast to `bit<W>` or `int<W>`: packets contain only numbers with widths"),
        );
        self.default_value(own)
    }

    /// Lowers a use of a constant whose value the checker could not compute. The expression in the
    /// constant's declaration is lowered in its place.
    fn declared_constant(&mut self, expression: &'a ast::Expression, own: &Type) -> Expression {
        let declared = match self.checked.resolution(expression.id) {
            Some(Resolution::Declaration(id)) => self.declaration(*id),
            _ => None,
        };
        match declared.map(|declaration| &declaration.kind) {
            Some(ast::DeclarationKind::Constant { value, .. }) => {
                let value = self.expression(value);
                let type_id = self.type_id(own);
                self.coerced(value, type_id)
            }
            _ => self.unexpected(expression, own),
        }
    }

    fn unexpected(&mut self, expression: &'a ast::Expression, own: &Type) -> Expression {
        self.problem(expression.span, "this has no value that a packet could be processed with");
        match own {
            Type::Bool | Type::Bits { .. } => self.default_value(own),
            _ => self.default_value(&Type::Bool),
        }
    }

    pub(super) fn read(&mut self, place: Place, ty: &Type) -> Expression {
        Expression { type_id: self.type_id(ty), kind: ir::ExpressionKind::Read(place) }
    }

    fn member(
        &mut self,
        expression: &'a ast::Expression,
        base: &'a ast::Expression,
        own: &Type,
    ) -> Expression {
        if let Some(place) = self.place(expression) {
            return self.read(place, own);
        }
        match self.checked.resolution(expression.id) {
            Some(Resolution::Field { position, .. }) => {
                let position = *position as u32;
                let value = self.expression(base);
                let place = self.placed(value);
                self.read(place.field(position), own)
            }
            Some(Resolution::Builtin(Builtin::LastIndex)) => match self.place(base) {
                Some(stack) => Expression {
                    type_id: self.bit_type(32),
                    kind: ir::ExpressionKind::LastIndex(stack),
                },
                None => self.unexpected(expression, own),
            },
            Some(Resolution::Builtin(Builtin::Hit)) => {
                self.apply_table(base, Builtin::Hit).unwrap_or_else(|| self.default_value(own))
            }
            Some(Resolution::Builtin(Builtin::Miss)) => {
                self.apply_table(base, Builtin::Miss).unwrap_or_else(|| self.default_value(own))
            }
            Some(Resolution::Builtin(Builtin::ActionRun)) => {
                match self.apply_table(base, Builtin::ActionRun) {
                    Some(value) => value,
                    None => self.unexpected(expression, own),
                }
            }
            _ => self.unexpected(expression, own),
        }
    }

    /// Lowers `table.apply()`. Returns an expression for the part of the result that the source
    /// uses: `hit`, `miss` or `action_run`.
    pub(super) fn apply_table(
        &mut self,
        call: &'a ast::Expression,
        part: Builtin,
    ) -> Option<Expression> {
        let ExpressionKind::Call { callee, .. } = &call.kind else {
            self.problem(call.span, "only a table that is applied has a result");
            return None;
        };
        let ExpressionKind::Member { base, .. } = &callee.kind else { return None };
        let Some(Resolution::Declaration(id)) = self.checked.resolution(base.id) else {
            return None;
        };
        let Some(Entity::Table(table)) = self.entity(*id) else {
            self.problem(call.span, "this table does not exist here");
            return None;
        };
        let (mut hit, mut action_run) = (None, None);
        let result = if part == Builtin::ActionRun {
            let type_id = self.program.types.intern(ir::Type::ActionRun(table));
            let place = Place::variable(self.temporary(type_id));
            action_run = Some(place.clone());
            Expression { type_id, kind: ir::ExpressionKind::Read(place) }
        } else {
            let type_id = self.bool_type();
            let place = Place::variable(self.temporary(type_id));
            hit = Some(place.clone());
            let read = Expression { type_id, kind: ir::ExpressionKind::Read(place) };
            if part == Builtin::Miss { self.negated(read) } else { read }
        };
        self.emit(call.span, ir::StatementKind::ApplyTable { table, hit, action_run });
        Some(result)
    }

    pub(super) fn negated(&mut self, condition: Expression) -> Expression {
        Expression {
            type_id: condition.type_id,
            kind: ir::ExpressionKind::Unary(UnaryOperator::Not, Box::new(condition)),
        }
    }

    pub(super) fn slice(&mut self, operand: Expression, high: u32, low: u32) -> Expression {
        let width = high.saturating_sub(low).saturating_add(1);
        Expression {
            type_id: self.bit_type(width),
            kind: ir::ExpressionKind::Slice { operand: Box::new(operand), high, low },
        }
    }

    /// Lowers `base[low +: width]` to a right shift and a slice.
    fn part_select(
        &mut self,
        expression: &'a ast::Expression,
        base: &'a ast::Expression,
        low: &'a ast::Expression,
        width: &'a ast::Expression,
        own: &Type,
    ) -> Expression {
        let Some(width) = self.evaluate_u32(width) else {
            return self.unexpected(expression, own);
        };
        let mut values = self.operands(&[base, low]).into_iter();
        let (Some(value), Some(amount)) = (values.next(), values.next()) else {
            return self.unexpected(expression, own);
        };
        if width == 0 {
            return Expression {
                type_id: self.bit_type(0),
                kind: ir::ExpressionKind::Constant(Value::Bits(Bits::zero(0, false))),
            };
        }
        let amount = self.sized(amount, 32);
        let shifted = Expression {
            type_id: value.type_id,
            kind: ir::ExpressionKind::Binary(
                BinaryOperator::ShiftRight,
                Box::new(value),
                Box::new(amount),
            ),
        };
        self.slice(shifted, width - 1, 0)
    }

    fn binary(
        &mut self,
        expression: &'a ast::Expression,
        operator: ast::BinaryOperator,
        left: &'a ast::Expression,
        right: &'a ast::Expression,
        own: &Type,
    ) -> Expression {
        let Some(operator) = binary_operator(operator) else {
            return self.unexpected(expression, own);
        };
        for operand in [left, right] {
            if self.is_open_integer(operand) {
                return self.unexpected_integer(operand, own);
            }
        }
        if matches!(operator, BinaryOperator::And | BinaryOperator::Or) && self.has_effects(right) {
            return self.short_circuit(expression, operator, left, right);
        }
        let mut values = self.operands(&[left, right]).into_iter();
        let (Some(left), Some(right)) = (values.next(), values.next()) else {
            return self.unexpected(expression, own);
        };
        // Code that reads the IR recurses over expressions, and not all of it runs on a large
        // stack.
        let left = if is_long_chain(&left) { self.saved(left) } else { left };
        self.binary_of(operator, left, right, own)
    }

    pub(super) fn binary_of(
        &mut self,
        operator: BinaryOperator,
        left: Expression,
        right: Expression,
        ty: &Type,
    ) -> Expression {
        let type_id = self.type_id(ty);
        let right = match operator {
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => self.sized(right, 32),
            _ => right,
        };
        let kind = ir::ExpressionKind::Binary(operator, Box::new(left), Box::new(right));
        Expression { type_id, kind }
    }

    /// Lowers `&&` or `||` if the right operand has side effects. The effects occur only if the
    /// right operand is evaluated.
    fn short_circuit(
        &mut self,
        expression: &'a ast::Expression,
        operator: BinaryOperator,
        left: &'a ast::Expression,
        right: &'a ast::Expression,
    ) -> Expression {
        let left = self.expression(left);
        let type_id = left.type_id;
        let result = Place::variable(self.temporary(type_id));
        self.assign(expression.span, result.clone(), left);
        let second = self.collect(|lowering| {
            let value = lowering.expression(right);
            lowering.assign(right.span, result.clone(), value);
        });
        let read = Expression { type_id, kind: ir::ExpressionKind::Read(result) };
        let condition =
            if operator == BinaryOperator::And { read.clone() } else { self.negated(read.clone()) };
        self.emit(
            expression.span,
            ir::StatementKind::If { condition, then: second, otherwise: Vec::new() },
        );
        read
    }

    /// Lowers `condition ? then : otherwise`. If one of the two values has side effects, the
    /// expression becomes an `if` statement, so that only the selected value is evaluated.
    fn conditional(
        &mut self,
        condition: &'a ast::Expression,
        then: &'a ast::Expression,
        otherwise: &'a ast::Expression,
        target: &Type,
    ) -> Expression {
        if let Some(Constant::Bool(chosen)) = self.evaluate(condition) {
            return self.expression(if chosen { then } else { otherwise });
        }
        let type_id = self.type_id(target);
        let condition_value = self.expression(condition);
        if !self.has_effects(then) && !self.has_effects(otherwise) {
            let then = self.expression(then);
            let otherwise = self.expression(otherwise);
            let (then, otherwise) = (self.coerced(then, type_id), self.coerced(otherwise, type_id));
            return Expression {
                type_id,
                kind: ir::ExpressionKind::Conditional {
                    condition: Box::new(condition_value),
                    then: Box::new(then),
                    otherwise: Box::new(otherwise),
                },
            };
        }
        let result = Place::variable(self.temporary(type_id));
        let branch = |lowering: &mut Self, value: &'a ast::Expression| {
            lowering.collect(|lowering| {
                let of = lowering.expression(value);
                let of = lowering.coerced(of, type_id);
                lowering.assign(value.span, result.clone(), of);
            })
        };
        let (then, otherwise) = (branch(self, then), branch(self, otherwise));
        self.emit(
            condition.span,
            ir::StatementKind::If { condition: condition_value, then, otherwise },
        );
        Expression { type_id, kind: ir::ExpressionKind::Read(result) }
    }

    fn list(&mut self, elements: &'a [ast::Expression], target: &Type) -> Expression {
        if let Type::List(element) = target {
            return self.list(elements, &super::constant::list_type(element, elements.len()));
        }
        let type_id = self.type_id(target);
        let list: Vec<&ast::Expression> = elements.iter().collect();
        let values = self.operands(&list);
        let wanted = match target {
            Type::Tuple(types) => types.len(),
            Type::Stack { size, .. } => *size as usize,
            _ => self.field_types(target).len(),
        };
        let types = self.part_types(target, wanted);
        let mut values = values.into_iter();
        let mut parts = Vec::with_capacity(wanted);
        for ty in types {
            let part = match values.next() {
                Some(value) => {
                    let part_type = self.type_id(&ty);
                    self.coerced(value, part_type)
                }
                None => self.default_value(&ty),
            };
            parts.push(part);
        }
        self.composed(type_id, parts)
    }

    fn composed(&mut self, type_id: ir::TypeId, parts: Vec<Expression>) -> Expression {
        let kind = match self.program.types.get(type_id) {
            ir::Type::Stack { .. } => ir::ExpressionKind::Stack(parts),
            _ => ir::ExpressionKind::Composite(parts),
        };
        Expression { type_id, kind }
    }

    fn record(&mut self, fields: &'a [ast::NamedExpression], target: &Type) -> Expression {
        let type_id = self.type_id(target);
        let list: Vec<&ast::Expression> = fields.iter().map(|field| &field.value).collect();
        let mut values: Vec<Option<Expression>> =
            self.operands(&list).into_iter().map(Some).collect();
        let mut parts = Vec::new();
        for (name, ty) in self.field_types(target) {
            let given = fields
                .iter()
                .position(|field| field.name.text == name)
                .and_then(|position| values.get_mut(position)?.take());
            let part = match given {
                Some(value) => {
                    let part_type = self.type_id(&ty);
                    self.coerced(value, part_type)
                }
                None => self.default_value(&ty),
            };
            parts.push(part);
        }
        self.composed(type_id, parts)
    }

    /// Converts a value to the type `type_id`: a number or `bool` to another width or sign, a
    /// constant `int` to a number with a width, and a composite to a stack or to another composite
    /// with equally many fields. A value of any other type is returned unchanged.
    pub(super) fn coerced(&mut self, value: Expression, type_id: ir::TypeId) -> Expression {
        if value.type_id == type_id {
            return value;
        }
        let types = &self.program.types;
        match (types.get(value.type_id), types.get(type_id)) {
            (ir::Type::Bits { .. } | ir::Type::Bool, ir::Type::Bits { .. } | ir::Type::Bool) => {
                Expression { type_id, kind: ir::ExpressionKind::Cast(Box::new(value)) }
            }
            (ir::Type::Integer, ir::Type::Bits { width, signed }) => match &value.kind {
                ir::ExpressionKind::Constant(Value::Integer(number)) => Expression {
                    type_id,
                    kind: ir::ExpressionKind::Constant(Value::Bits(Bits::from_bigint(
                        width, signed, number,
                    ))),
                },
                _ => value,
            },
            (ir::Type::Composite(from), ir::Type::Composite(to)) => {
                let fields = |id: ir::CompositeId| -> Vec<ir::TypeId> {
                    types
                        .composites
                        .get(id.index())
                        .map(|composite| {
                            composite.fields.iter().map(|field| field.type_id).collect()
                        })
                        .unwrap_or_default()
                };
                let (from, to) = (fields(from), fields(to));
                if from.len() != to.len() {
                    return value;
                }
                let parts = match value.kind {
                    ir::ExpressionKind::Composite(parts) => parts,
                    kind => {
                        let whole = Expression { type_id: value.type_id, kind };
                        let place = self.placed(whole);
                        from.iter()
                            .zip(0..)
                            .map(|(field, position)| Expression {
                                type_id: *field,
                                kind: ir::ExpressionKind::Read(place.clone().field(position)),
                            })
                            .collect()
                    }
                };
                let parts = parts
                    .into_iter()
                    .zip(to)
                    .map(|(part, field)| self.coerced(part, field))
                    .collect();
                Expression { type_id, kind: ir::ExpressionKind::Composite(parts) }
            }
            (ir::Type::Composite(_), ir::Type::Stack { element, .. }) => match value.kind {
                ir::ExpressionKind::Composite(parts) => {
                    let parts = parts.into_iter().map(|part| self.coerced(part, element)).collect();
                    Expression { type_id, kind: ir::ExpressionKind::Stack(parts) }
                }
                _ => value,
            },
            _ => value,
        }
    }
}

/// Returns whether the left operands of an expression form a chain of more than `LONGEST`
/// operators. The value of such an expression should be saved in a variable, to limit the depth of
/// expressions.
fn is_long_chain(value: &Expression) -> bool {
    const LONGEST: usize = 64;
    let mut left = value;
    for _ in 0..LONGEST {
        match &left.kind {
            ir::ExpressionKind::Binary(_, operand, _) => left = operand,
            _ => return false,
        }
    }
    true
}

pub(super) fn binary_operator(operator: ast::BinaryOperator) -> Option<BinaryOperator> {
    Some(match operator {
        ast::BinaryOperator::Multiply => BinaryOperator::Multiply,
        ast::BinaryOperator::Divide => BinaryOperator::Divide,
        ast::BinaryOperator::Modulo => BinaryOperator::Modulo,
        ast::BinaryOperator::Add => BinaryOperator::Add,
        ast::BinaryOperator::Subtract => BinaryOperator::Subtract,
        ast::BinaryOperator::AddSaturating => BinaryOperator::SaturatingAdd,
        ast::BinaryOperator::SubtractSaturating => BinaryOperator::SaturatingSubtract,
        ast::BinaryOperator::ShiftLeft => BinaryOperator::ShiftLeft,
        ast::BinaryOperator::ShiftRight => BinaryOperator::ShiftRight,
        ast::BinaryOperator::Less => BinaryOperator::Less,
        ast::BinaryOperator::LessOrEqual => BinaryOperator::LessOrEqual,
        ast::BinaryOperator::Greater => BinaryOperator::Greater,
        ast::BinaryOperator::GreaterOrEqual => BinaryOperator::GreaterOrEqual,
        ast::BinaryOperator::Equal => BinaryOperator::Equal,
        ast::BinaryOperator::NotEqual => BinaryOperator::NotEqual,
        ast::BinaryOperator::BitAnd => BinaryOperator::BitAnd,
        ast::BinaryOperator::BitXor => BinaryOperator::BitXor,
        ast::BinaryOperator::BitOr => BinaryOperator::BitOr,
        ast::BinaryOperator::Concatenate => BinaryOperator::Concatenate,
        ast::BinaryOperator::And => BinaryOperator::And,
        ast::BinaryOperator::Or => BinaryOperator::Or,
        ast::BinaryOperator::Mask | ast::BinaryOperator::Range => return None,
    })
}
