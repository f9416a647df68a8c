//! Translates expressions whose value is a number of at most 64 bits to the resolved form.

use super::shape::Shape;
use super::{Expression, Field, Outcome, Resolver};
use ir::bits::Bits;
use ir::{BinaryOperator, ExpressionKind, Type, TypeId, UnaryOperator, Value};

impl Resolver<'_> {
    /// Returns the width of the numbers of a type, and whether they are signed.
    pub(super) fn number(&mut self, type_id: TypeId) -> Outcome<(u32, bool)> {
        match self.shape(type_id) {
            Shape::Scalar(scalar) => Ok((scalar.width, scalar.signed)),
            Shape::None(what) => self.refuse(what),
            _ => self.refuse("a composite value where a number is expected"),
        }
    }

    /// Returns the bit pattern of a constant that has the given type.
    pub(super) fn constant(&mut self, type_id: TypeId, value: &Value) -> Outcome<u64> {
        let pattern = match (value, self.layout.get(type_id)) {
            // This includes small constants of a wide type: their users work in the wide width.
            (Value::Bits(bits), _) if bits.width() <= 64 => bits.to_u64(),
            (Value::Bool(value), _) => Some(u64::from(*value)),
            (Value::Error(position) | Value::Enum(position), _) => Some(u64::from(*position)),
            (Value::Integer(number), Some(Type::Bits { width, signed })) => {
                let bits = Bits::from_bigint(width, signed, number);
                bits.to_u64().filter(|_| bits.to_bigint() == *number)
            }
            _ => None,
        };
        match pattern {
            Some(pattern) => Ok(pattern),
            None => {
                self.refuse("a constant that does not fit its type, or is of more than 64 bits")
            }
        }
    }

    pub(super) fn expression(&mut self, expression: &ir::Expression) -> Outcome<Expression> {
        ir::meter::count(1);
        match &expression.kind {
            ExpressionKind::Constant(value) => {
                self.constant(expression.type_id, value).map(Expression::Constant)
            }
            ExpressionKind::Read(place) => {
                if let Some((whole, high, low)) = self.sliced_wide(place) {
                    return self.wide_slice(&whole, high, low).map(Expression::Load);
                }
                let found = self.resolve(place)?;
                let Shape::Scalar(scalar) = found.shape else {
                    return self.refuse("a composite value where a number is expected");
                };
                let whole = Expression::Load(Field { address: found.address, scalar });
                Ok(match found.slice {
                    Some((high, low)) => {
                        Expression::Slice { operand: Box::new(whole), low, width: high - low + 1 }
                    }
                    None => whole,
                })
            }
            ExpressionKind::Unary(operator, operand) => {
                let (width, _) = self.number(expression.type_id)?;
                let operand = Box::new(self.expression(operand)?);
                Ok(match operator {
                    UnaryOperator::Not => Expression::Not(operand),
                    UnaryOperator::Negate => Expression::Negate { operand, width },
                    UnaryOperator::Complement => Expression::Complement { operand, width },
                })
            }
            ExpressionKind::Binary(operator, left, right) => self.binary(*operator, left, right),
            ExpressionKind::Slice { operand, high, low } => {
                if let Some(part) = self.part_of_wide(operand, *high, *low)? {
                    return Ok(part);
                }
                self.number(operand.type_id)?;
                let operand = Box::new(self.expression(operand)?);
                Ok(Expression::Slice { operand, low: *low, width: high - low + 1 })
            }
            ExpressionKind::Cast(operand) => {
                if let Shape::Scalar(scalar) = self.shape(expression.type_id)
                    && let Some(part) = self.part_of_wide(operand, scalar.width - 1, 0)?
                {
                    return Ok(part);
                }
                let (from, signed) = self.number(operand.type_id)?;
                let (to, _) = self.number(expression.type_id)?;
                let operand = Box::new(self.expression(operand)?);
                Ok(Expression::Resize { operand, from, to, signed })
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                self.number(expression.type_id)?;
                let condition = Box::new(self.expression(condition)?);
                let then = Box::new(self.expression(then)?);
                let otherwise = Box::new(self.expression(otherwise)?);
                if then.can_reject() || otherwise.can_reject() {
                    return self.refuse("next or last in one branch of an expression");
                }
                Ok(Expression::Conditional { condition, then, otherwise })
            }
            ExpressionKind::IsValid(place) => {
                let found = self.resolve(place)?;
                match found.shape {
                    Shape::Header(_) | Shape::Loose(..) => Ok(Expression::IsValid(found.address)),
                    _ => self.refuse("the validity of something that is not a header"),
                }
            }
            ExpressionKind::LastIndex(place) => {
                let found = self.resolve(place)?;
                match (found.shape, found.address.element) {
                    (Shape::Stack { .. }, None) => {
                        let stack = found.address.offset;
                        let known = self.next_index(stack).map(|next| next.wrapping_sub(1));
                        let constant = known.map(|last| Expression::Constant(u64::from(last)));
                        Ok(constant.unwrap_or(Expression::LastIndex(stack)))
                    }
                    _ => self.refuse("lastIndex of something that is not a stack"),
                }
            }
            ExpressionKind::PacketLength => Ok(Expression::PacketLength),
            ExpressionKind::Composite(_) | ExpressionKind::Stack(_) | ExpressionKind::Invalid => {
                self.refuse("a composite value inside an expression")
            }
        }
    }

    /// Returns an expression for the bits `high` to `low` of a number of more than 64 bits. Returns
    /// `None` if the operand is not such a number in a variable or header.
    fn part_of_wide(
        &mut self,
        operand: &ir::Expression,
        high: u32,
        low: u32,
    ) -> Outcome<Option<Expression>> {
        match (&operand.kind, self.shape(operand.type_id)) {
            (ExpressionKind::Read(place), Shape::Wide { width: 65.., .. }) => {
                self.wide_slice(place, high, low).map(|field| Some(Expression::Load(field)))
            }
            _ => Ok(None),
        }
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: &ir::Expression,
        right: &ir::Expression,
    ) -> Outcome<Expression> {
        use BinaryOperator as Of;
        let is_unsized =
            |one: &ir::Expression| matches!(one.kind, ExpressionKind::Constant(Value::Integer(_)));
        if matches!(operator, Of::ShiftLeft | Of::ShiftRight) && is_unsized(right) {
            let ExpressionKind::Constant(Value::Integer(amount)) = &right.kind else {
                return self.refuse("a shift");
            };
            let (width, signed) = self.number(left.type_id)?;
            let left = Box::new(self.expression(left)?);
            let amount = u64::try_from(amount.clone()).unwrap_or(u64::MAX);
            let right = Box::new(Expression::Constant(amount));
            return Ok(Expression::Binary { operator, width, signed, left, right });
        }
        if let Some(compared) = self.compare_wide(operator, left, right)? {
            return Ok(compared);
        }
        let (width, signed) = self.number(left.type_id)?;
        let (right_width, _) = self.number(right.type_id)?;
        let left = Box::new(self.expression(left)?);
        let right = Box::new(self.expression(right)?);
        match operator {
            Of::Concatenate if width + right_width > 64 => {
                self.refuse("a number of more than 64 bits")
            }
            Of::Concatenate => Ok(Expression::Concatenate { left, right, right_width }),
            Of::Divide | Of::Modulo if signed => self.refuse("division of signed numbers"),
            Of::SaturatingAdd | Of::SaturatingSubtract if signed && width == 64 => {
                self.refuse("saturation of signed numbers of 64 bits")
            }
            _ => Ok(Expression::Binary { operator, width, signed, left, right }),
        }
    }
}

impl Expression {
    /// Returns whether evaluating the expression can end a parser with an error, which is so if it
    /// reads `next` or `last` of a header stack.
    pub(crate) fn can_reject(&self) -> bool {
        match self {
            Self::Constant(_) | Self::LastIndex(_) | Self::PacketLength => false,
            Self::Load(field) => field.address.element.is_some(),
            Self::IsValid(address) => address.element.is_some(),
            Self::LoadIfValid { header, value } => header.element.is_some() || value.can_reject(),
            Self::Not(operand)
            | Self::Negate { operand, .. }
            | Self::Complement { operand, .. }
            | Self::Slice { operand, .. }
            | Self::Resize { operand, .. } => operand.can_reject(),
            Self::Binary { left, right, .. } | Self::Concatenate { left, right, .. } => {
                left.can_reject() || right.can_reject()
            }
            Self::Conditional { condition, then, otherwise } => {
                condition.can_reject() || then.can_reject() || otherwise.can_reject()
            }
        }
    }
}
