//! Translates expressions to terms. The meaning of each operation is that of `ir::bits`.

use super::{Executor, Fill, Stop, unsupported};
use crate::packet::LENGTH_BITS;
use crate::shape::INDEX;
use crate::state::State;
use crate::term::Term;
use ir::bits::Bits;
use ir::{
    BinaryOperator, CompositeKind, Expression, ExpressionKind, Type, TypeId, UnaryOperator, Value,
};

impl Executor<'_> {
    /// Evaluates an expression, and returns the leaves of its value: the numbers and validity bits
    /// of which it consists.
    pub(crate) fn value(
        &mut self,
        state: &State,
        expression: &Expression,
    ) -> Result<Vec<Term>, Stop> {
        let type_id = expression.type_id;
        match &expression.kind {
            ExpressionKind::Constant(constant) => self.constant(type_id, constant),
            ExpressionKind::Read(place) => {
                let place = self.locate(state, place)?;
                Ok(self.read(state, &place))
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                let condition = self.scalar(state, condition)?;
                match self.terms.truth_of(condition) {
                    Some(true) => self.value(state, then),
                    Some(false) => self.value(state, otherwise),
                    None => {
                        let then = self.value(state, then)?;
                        let otherwise = self.value(state, otherwise)?;
                        Ok(self.choose(condition, &then, &otherwise))
                    }
                }
            }
            ExpressionKind::Composite(fields) => {
                let mut leaves = Vec::new();
                if self.shapes.kind(type_id) == Some(CompositeKind::Header) {
                    leaves.push(self.terms.truth(true));
                }
                let parts = self.shapes.fields(type_id);
                for (field, part) in fields.iter().zip(parts) {
                    leaves.extend(self.value_as(state, field, part.type_id)?);
                }
                Ok(leaves)
            }
            ExpressionKind::Stack(elements) => {
                let count = u128::try_from(elements.len()).unwrap_or(u128::MAX);
                let mut leaves = vec![self.terms.number(INDEX, count)];
                for element in elements {
                    leaves.extend(self.value(state, element)?);
                }
                Ok(leaves)
            }
            ExpressionKind::Invalid => Ok(self.initial(type_id, Fill::Undefined)),
            ExpressionKind::Cast(operand) if self.shapes.kind(type_id).is_some() => {
                self.value(state, operand)
            }
            ExpressionKind::Unary(..)
            | ExpressionKind::Binary(..)
            | ExpressionKind::Slice { .. }
            | ExpressionKind::Cast(_)
            | ExpressionKind::IsValid(_)
            | ExpressionKind::LastIndex(_)
            | ExpressionKind::PacketLength => Ok(vec![self.scalar(state, expression)?]),
        }
    }

    /// Evaluates an expression as a value of a type, and returns its leaves. A constant of type
    /// `int` takes the given type.
    fn value_as(
        &mut self,
        state: &State,
        expression: &Expression,
        type_id: TypeId,
    ) -> Result<Vec<Term>, Stop> {
        match &expression.kind {
            ExpressionKind::Constant(constant) => self.constant(type_id, constant),
            _ => self.value(state, expression),
        }
    }

    /// Evaluates an expression whose value has a single leaf: a number or a condition. Returns the
    /// leaf.
    pub(crate) fn scalar(&mut self, state: &State, expression: &Expression) -> Result<Term, Stop> {
        match &expression.kind {
            ExpressionKind::Constant(_)
            | ExpressionKind::Read(_)
            | ExpressionKind::Conditional { .. }
            | ExpressionKind::Composite(_)
            | ExpressionKind::Stack(_)
            | ExpressionKind::Invalid => {
                let value = self.value(state, expression)?;
                match value.as_slice() {
                    [only] => Ok(*only),
                    _ => Err(unsupported("a value of this type as a number")),
                }
            }
            ExpressionKind::Unary(operator, operand) => {
                let operand = self.scalar(state, operand)?;
                Ok(match operator {
                    UnaryOperator::Negate => self.terms.negate(operand),
                    UnaryOperator::Complement | UnaryOperator::Not => self.terms.not(operand),
                })
            }
            ExpressionKind::Binary(operator, left, right) => {
                self.binary(state, expression, *operator, left, right)
            }
            ExpressionKind::Slice { operand, high, low } => {
                let operand = self.scalar(state, operand)?;
                Ok(self.terms.extract(operand, *high, *low))
            }
            ExpressionKind::Cast(operand) => self.cast(state, operand, expression.type_id),
            ExpressionKind::IsValid(place) => {
                let place = self.locate(state, place)?;
                let value = self.read(state, &place);
                Ok(self.is_valid(place.type_id, &value))
            }
            ExpressionKind::LastIndex(place) => {
                let place = self.locate(state, place)?;
                let value = self.read(state, &place);
                let next = value.first().copied();
                let next = next.ok_or_else(|| unsupported("the last index of this value"))?;
                let one = self.terms.number(INDEX, 1);
                Ok(self.terms.subtract(next, one))
            }
            ExpressionKind::PacketLength => {
                const { assert!(LENGTH_BITS < 32) };
                let length = self.packet.length;
                Ok(self.terms.zero_extend(length, 32))
            }
        }
    }

    /// Returns whether a header, or any member of a header union, is valid.
    fn is_valid(&mut self, type_id: TypeId, value: &[Term]) -> Term {
        match self.shapes.kind(type_id) {
            Some(CompositeKind::Header) => {
                value.first().copied().unwrap_or_else(|| self.terms.truth(false))
            }
            Some(CompositeKind::HeaderUnion) => {
                let mut any = self.terms.truth(false);
                for member in self.shapes.fields(type_id) {
                    if let Some(valid) = value.get(member.offset) {
                        any = self.terms.or(any, *valid);
                    }
                }
                any
            }
            Some(CompositeKind::Struct | CompositeKind::Tuple) | None => self.terms.truth(false),
        }
    }

    /// Returns the leaves of a constant that has this type.
    pub(crate) fn constant(&mut self, type_id: TypeId, value: &Value) -> Result<Vec<Term>, Stop> {
        let ty = self.program.types.get(type_id);
        Ok(match (value, ty) {
            (Value::Bits(bits), _) => vec![self.terms.constant(bits)],
            (Value::Bool(value), _) => vec![self.terms.truth(*value)],
            (Value::Error(position) | Value::Enum(position), _) => {
                vec![self.terms.number(32, u128::from(*position))]
            }
            (Value::Integer(number), Type::Bits { width, signed }) => {
                let bits = Bits::from_bigint(width, signed, number);
                vec![self.terms.constant(&bits)]
            }
            // Extern functions take 64 bits of numbers without a width.
            (Value::Integer(number), _) => {
                let bits = Bits::from_bigint(64, false, number);
                vec![self.terms.constant(&bits)]
            }
            (Value::String(_), _) => Vec::new(),
            (Value::Composite(fields), _) => {
                let mut leaves = Vec::new();
                if self.shapes.kind(type_id) == Some(CompositeKind::Header) {
                    leaves.push(self.terms.truth(true));
                }
                let parts = self.shapes.fields(type_id);
                for (field, part) in fields.iter().zip(parts) {
                    leaves.extend(self.constant(part.type_id, field)?);
                }
                leaves
            }
        })
    }

    fn is_integer(&self, expression: &Expression) -> bool {
        matches!(self.program.types.get(expression.type_id), Type::Integer)
    }

    fn is_signed(&self, expression: &Expression) -> bool {
        matches!(self.program.types.get(expression.type_id), Type::Bits { signed: true, .. })
    }

    /// Evaluates both operands as numbers of one type. An operand of type `int` takes the type of
    /// the other operand.
    fn operands(
        &mut self,
        state: &State,
        left: &Expression,
        right: &Expression,
    ) -> Result<[Vec<Term>; 2], Stop> {
        let (left_type, right_type) = match (self.is_integer(left), self.is_integer(right)) {
            (true, false) => (right.type_id, right.type_id),
            (false, true) => (left.type_id, left.type_id),
            (true, true) | (false, false) => (left.type_id, right.type_id),
        };
        let left = self.value_as(state, left, left_type)?;
        Ok([left, self.value_as(state, right, right_type)?])
    }

    fn binary(
        &mut self,
        state: &State,
        expression: &Expression,
        operator: BinaryOperator,
        left: &Expression,
        right: &Expression,
    ) -> Result<Term, Stop> {
        use BinaryOperator as Op;
        let signed = self.is_signed(left) || self.is_integer(left) && self.is_signed(right);
        if matches!(operator, Op::And | Op::Or) {
            return self.joined(state, expression, operator, left, right);
        }
        if matches!(operator, Op::Equal | Op::NotEqual) {
            let type_id = if self.is_integer(left) { right.type_id } else { left.type_id };
            let [left, right] = self.operands(state, left, right)?;
            let equal = self.equal_values(type_id, &left, &right);
            self.equal_at(state, expression, equal);
            return Ok(if operator == Op::Equal { equal } else { self.terms.not(equal) });
        }
        if matches!(operator, Op::ShiftLeft | Op::ShiftRight) {
            let left = self.scalar(state, left)?;
            let amount = self.scalar(state, right)?;
            return Ok(match (operator, signed) {
                (Op::ShiftLeft, _) => self.terms.shift_left(left, amount),
                (_, true) => self.terms.shift_right_signed(left, amount),
                (_, false) => self.terms.shift_right(left, amount),
            });
        }
        let [left, right] = self.operands(state, left, right)?;
        let ([left], [right]) = (left.as_slice(), right.as_slice()) else {
            return Err(unsupported("an operation on values of this type"));
        };
        let (left, right) = (*left, *right);
        if Self::orders(operator) {
            self.ordered_at(state, expression, (left, right));
        }
        let terms = &mut self.terms;
        let result = match operator {
            Op::Add => terms.add(left, right),
            Op::Subtract => terms.subtract(left, right),
            Op::Multiply => terms.multiply(left, right),
            Op::Divide | Op::Modulo => {
                let result = match (operator, signed) {
                    (Op::Divide, true) => terms.divide_signed(left, right),
                    (Op::Divide, false) => terms.divide(left, right),
                    (_, true) => terms.remainder_signed(left, right),
                    (_, false) => terms.remainder(left, right),
                };
                let zero = terms.zero(terms.width_of(right));
                let by_zero = terms.equal(right, zero);
                let nothing = terms.zero(terms.width_of(result));
                terms.if_then_else(by_zero, nothing, result)
            }
            Op::SaturatingAdd => terms.saturating_add(left, right, signed),
            Op::SaturatingSubtract => terms.saturating_subtract(left, right, signed),
            Op::BitAnd | Op::And => terms.and(left, right),
            Op::BitOr | Op::Or => terms.or(left, right),
            Op::BitXor => terms.xor(left, right),
            Op::Concatenate => terms.concatenate(left, right),
            Op::ShiftLeft => terms.shift_left(left, right),
            Op::ShiftRight => terms.shift_right(left, right),
            Op::Equal => terms.equal(left, right),
            Op::NotEqual => terms.not_equal(left, right),
            Op::Less => {
                if signed {
                    terms.less_signed(left, right)
                } else {
                    terms.less(left, right)
                }
            }
            Op::LessOrEqual if signed => terms.less_or_equal_signed(left, right),
            Op::LessOrEqual => terms.less_or_equal(left, right),
            Op::Greater if signed => terms.less_signed(right, left),
            Op::Greater => terms.less(right, left),
            Op::GreaterOrEqual if signed => terms.less_or_equal_signed(right, left),
            Op::GreaterOrEqual => terms.less_or_equal(right, left),
        };
        let terms = &mut self.terms;
        let wrapped = match operator {
            Op::SaturatingAdd => terms.add(left, right),
            Op::SaturatingSubtract => terms.subtract(left, right),
            _ => return Ok(result),
        };
        self.saturated_at(state, expression, result, wrapped);
        Ok(result)
    }

    /// Evaluates `&&` or `||`. The second operand is not evaluated for packets for which the first
    /// one decides the result, so it cannot make the parser reject them.
    fn joined(
        &mut self,
        state: &State,
        expression: &Expression,
        operator: BinaryOperator,
        left: &Expression,
        right: &Expression,
    ) -> Result<Term, Stop> {
        let is_or = operator == BinaryOperator::Or;
        let before = self.boundaries_met();
        let left = self.scalar(state, left)?;
        let of_left = before..self.boundaries_met();
        if self.terms.truth_of(left) == Some(is_or) {
            return Ok(left);
        }
        // A boundary in one operand shows nothing if the other one decides alone.
        let is_evaluated = if is_or { self.terms.not(left) } else { left };
        self.evaluate_if(is_evaluated);
        let right = self.scalar(state, right);
        self.evaluated();
        let right = right?;
        let leaves_open = if is_or { self.terms.not(right) } else { right };
        self.boundaries_matter_if(of_left, leaves_open);
        self.joined_at(state, expression, (left, right));
        Ok(if is_or { self.terms.or(left, right) } else { self.terms.and(left, right) })
    }

    /// Returns whether two values of a type are equal by the language's `==`: headers are equal if
    /// both are invalid, or if both are valid and have equal fields (P4_16 specification, section
    /// 8.17). The next index of a stack is ignored.
    pub(crate) fn equal_values(&mut self, type_id: TypeId, left: &[Term], right: &[Term]) -> Term {
        if let Some(elements) = self.shapes.elements(type_id) {
            let mut all = self.terms.truth(true);
            for index in 0..elements.count {
                let at = elements.offset(index);
                let range = at..at + elements.stride;
                let (Some(left), Some(right)) = (left.get(range.clone()), right.get(range)) else {
                    continue;
                };
                let equal = self.equal_values(elements.type_id, left, right);
                all = self.terms.and(all, equal);
            }
            return all;
        }
        let Some(kind) = self.shapes.kind(type_id) else {
            // A number has one leaf, and a `varbit` has its bits and its length.
            let mut all = self.terms.truth(true);
            for (left, right) in left.iter().zip(right) {
                let equal = self.terms.equal(*left, *right);
                all = self.terms.and(all, equal);
            }
            return all;
        };
        let mut fields = self.terms.truth(true);
        for part in self.shapes.fields(type_id) {
            let range = part.offset..part.offset + self.shapes.size(part.type_id);
            let (Some(left), Some(right)) = (left.get(range.clone()), right.get(range)) else {
                continue;
            };
            let equal = self.equal_values(part.type_id, left, right);
            fields = self.terms.and(fields, equal);
        }
        match (kind, left.first(), right.first()) {
            (CompositeKind::Header, Some(left), Some(right)) => {
                let same = self.terms.equal(*left, *right);
                let when_valid = self.terms.implies(*left, fields);
                self.terms.and(same, when_valid)
            }
            (
                CompositeKind::Header
                | CompositeKind::Struct
                | CompositeKind::Tuple
                | CompositeKind::HeaderUnion,
                ..,
            ) => fields,
        }
    }

    fn cast(&mut self, state: &State, operand: &Expression, to: TypeId) -> Result<Term, Stop> {
        let to = self.program.types.get(to);
        let signed = self.is_signed(operand);
        if let (ExpressionKind::Constant(constant), Type::Bits { .. }, true) =
            (&operand.kind, to, self.is_integer(operand))
            && let Value::Integer(number) = constant
            && let Type::Bits { width, signed } = to
        {
            let bits = Bits::from_bigint(width, signed, number);
            return Ok(self.terms.constant(&bits));
        }
        let value = self.scalar(state, operand)?;
        Ok(match to {
            Type::Bits { width, .. } => self.terms.cast(value, signed, width),
            Type::Bool => {
                let zero = self.terms.zero(self.terms.width_of(value));
                self.terms.not_equal(value, zero)
            }
            Type::Varbits { .. }
            | Type::Integer
            | Type::Error
            | Type::Enum(_)
            | Type::String
            | Type::Composite(_)
            | Type::Stack { .. }
            | Type::ActionRun(_) => value,
        })
    }
}
