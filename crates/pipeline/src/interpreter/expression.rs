//! Evaluates expressions, which have no side effects.

use super::{Interpreter, Stop, deeper, internal};
use crate::value::Value;
use ir::bits::Bits;
use ir::{BinaryOperator, Expression, ExpressionKind, Type, TypeId, UnaryOperator};
use num_bigint::BigInt;
use std::cmp::Ordering;

impl Interpreter<'_> {
    /// Evaluates an expression. In parsers, it can fail with [`Stop::Reject`], for `next` and
    /// `last` of a header stack.
    pub(crate) fn evaluate(&self, expression: &Expression) -> Result<Value, Stop> {
        match &expression.kind {
            ExpressionKind::Constant(constant) => {
                let value = self.layout.constant(expression.type_id, constant);
                let value = value.ok_or_else(|| internal("constant"))?;
                Ok(value)
            }
            ExpressionKind::Read(place) => {
                if let Some(value) = self.peek_fields(place) {
                    return Ok(value.clone());
                }
                let place = self.resolve(place)?;
                self.read(&place, expression.type_id)
            }
            _ => deeper(|| self.evaluate_operation(expression)),
        }
    }

    /// Dispatches to a function for each kind of operation. Separate functions keep the stack
    /// frames small, because expressions may nest deeply.
    fn evaluate_operation(&self, expression: &Expression) -> Result<Value, Stop> {
        match &expression.kind {
            ExpressionKind::Constant(_) | ExpressionKind::Read(_) => self.evaluate(expression),
            ExpressionKind::Unary(operator, operand) => self.evaluate_unary(*operator, operand),
            ExpressionKind::Binary(operator, left, right) => {
                self.evaluate_binary(*operator, left, right)
            }
            ExpressionKind::Slice { operand, high, low } => {
                self.evaluate_slice(operand, *high, *low)
            }
            ExpressionKind::Cast(operand) => self.evaluate_cast(operand, expression.type_id),
            ExpressionKind::Conditional { condition, then, otherwise } => {
                let holds = self.condition(condition)?;
                self.evaluate(if holds { then } else { otherwise })
            }
            ExpressionKind::Composite(fields) => {
                self.evaluate_composite(fields, expression.type_id)
            }
            ExpressionKind::Stack(elements) => self.evaluate_stack(elements),
            _ => self.evaluate_property(expression),
        }
    }

    fn evaluate_unary(&self, operator: UnaryOperator, operand: &Expression) -> Result<Value, Stop> {
        let operand = self.evaluate(operand)?;
        unary(operator, operand).ok_or_else(|| internal("operand"))
    }

    fn evaluate_binary(
        &self,
        operator: BinaryOperator,
        left: &Expression,
        right: &Expression,
    ) -> Result<Value, Stop> {
        let left = self.evaluate(left)?;
        let right = self.evaluate(right)?;
        binary(operator, &left, &right).ok_or_else(|| internal("operands"))
    }

    fn evaluate_slice(&self, operand: &Expression, high: u32, low: u32) -> Result<Value, Stop> {
        match self.evaluate(operand)? {
            Value::Bits(bits) => Ok(Value::Bits(bits.slice(high, low))),
            _ => Err(internal("slice of what is not a number")),
        }
    }

    fn evaluate_cast(&self, operand: &Expression, type_id: TypeId) -> Result<Value, Stop> {
        let value = self.evaluate(operand)?;
        let ty = self.layout.get(type_id).ok_or_else(|| internal("type"))?;
        Ok(cast(value, ty))
    }

    fn evaluate_composite(&self, fields: &[Expression], type_id: TypeId) -> Result<Value, Stop> {
        let fields = self.evaluate_all(fields)?;
        let composite = self.layout.composite(type_id);
        let kind = composite.ok_or_else(|| internal("composite type"))?.kind;
        Ok(Value::composite(kind, true, fields))
    }

    fn evaluate_stack(&self, elements: &[Expression]) -> Result<Value, Stop> {
        let elements = self.evaluate_all(elements)?;
        let next = u32::try_from(elements.len()).unwrap_or(u32::MAX);
        Ok(Value::Stack { elements, next })
    }

    /// Evaluates an expression that queries a property, such as the validity of a header or the
    /// length of the packet.
    fn evaluate_property(&self, expression: &Expression) -> Result<Value, Stop> {
        match &expression.kind {
            ExpressionKind::IsValid(place) => {
                let place = self.resolve(place)?;
                Ok(Value::Bool(self.peek(&place).is_some_and(Value::is_valid)))
            }
            ExpressionKind::LastIndex(place) => {
                let place = self.resolve(place)?;
                match self.peek(&place) {
                    Some(Value::Stack { next, .. }) => {
                        Ok(Value::Bits(Bits::unsigned(32, u128::from(next.wrapping_sub(1)))))
                    }
                    _ => Err(internal("header stack")),
                }
            }
            ExpressionKind::Invalid => Ok(self.initial(expression.type_id)?),
            ExpressionKind::PacketLength => {
                Ok(Value::Bits(Bits::unsigned(32, self.scratch.packet.len() as u128)))
            }
            _ => Err(internal("expression")),
        }
    }

    fn evaluate_all(&self, expressions: &[Expression]) -> Result<Vec<Value>, Stop> {
        expressions.iter().map(|expression| self.evaluate(expression)).collect()
    }

    /// Evaluates a `bool` expression.
    pub(crate) fn condition(&self, expression: &Expression) -> Result<bool, Stop> {
        match self.evaluate(expression)? {
            Value::Bool(value) => Ok(value),
            _ => Err(internal("condition")),
        }
    }
}

fn unary(operator: UnaryOperator, operand: Value) -> Option<Value> {
    Some(match (operator, operand) {
        (UnaryOperator::Negate, Value::Bits(bits)) => Value::Bits(bits.wrapping_neg()),
        (UnaryOperator::Negate, Value::Integer(number)) => Value::Integer(-number),
        (UnaryOperator::Complement, Value::Bits(bits)) => Value::Bits(bits.complement()),
        (UnaryOperator::Not, Value::Bool(value)) => Value::Bool(!value),
        _ => return None,
    })
}

fn binary(operator: BinaryOperator, left: &Value, right: &Value) -> Option<Value> {
    use BinaryOperator as Op;
    match operator {
        Op::Equal => return Some(Value::Bool(left.language_equal(right))),
        Op::NotEqual => return Some(Value::Bool(!left.language_equal(right))),
        Op::And | Op::Or => {
            let (Value::Bool(left), Value::Bool(right)) = (left, right) else { return None };
            return Some(Value::Bool(if operator == Op::And {
                *left && *right
            } else {
                *left || *right
            }));
        }
        Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual => {
            let order = match (left, right) {
                (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
                _ => number_pair(left, right)?.0.compare(&number_pair(left, right)?.1),
            };
            return Some(Value::Bool(match operator {
                Op::Less => order == Ordering::Less,
                Op::LessOrEqual => order != Ordering::Greater,
                Op::Greater => order == Ordering::Greater,
                _ => order != Ordering::Less,
            }));
        }
        Op::ShiftLeft | Op::ShiftRight => {
            let Value::Bits(bits) = left else { return None };
            let amount = match right {
                Value::Bits(amount) => amount.shift_amount(),
                Value::Integer(amount) => u64::try_from(amount.clone()).unwrap_or(u64::MAX),
                _ => return None,
            };
            return Some(Value::Bits(if operator == Op::ShiftLeft {
                bits.shift_left(amount)
            } else {
                bits.shift_right(amount)
            }));
        }
        _ => {}
    }
    let (left, right) = number_pair(left, right)?;
    let zero = || Bits::zero(left.width(), left.is_signed());
    Some(Value::Bits(match operator {
        Op::Add => left.wrapping_add(&right),
        Op::Subtract => left.wrapping_sub(&right),
        Op::Multiply => left.wrapping_mul(&right),
        // Standard P4 divides only constants. Here, division by zero returns zero.
        Op::Divide => left.checked_div(&right).unwrap_or_else(zero),
        Op::Modulo => left.checked_rem(&right).unwrap_or_else(zero),
        Op::SaturatingAdd => left.saturating_add(&right),
        Op::SaturatingSubtract => left.saturating_sub(&right),
        Op::BitAnd => left.bit_and(&right),
        Op::BitOr => left.bit_or(&right),
        Op::BitXor => left.bit_xor(&right),
        Op::Concatenate => left.concatenate(&right),
        _ => return None,
    }))
}

/// Returns both operands as numbers of one type. An operand of type `int` takes the type of the
/// other operand.
fn number_pair(left: &Value, right: &Value) -> Option<(Bits, Bits)> {
    let of_type =
        |number: &BigInt, like: &Bits| Bits::from_bigint(like.width(), like.is_signed(), number);
    Some(match (left, right) {
        (Value::Bits(left), Value::Bits(right)) => (left.clone(), right.clone()),
        (Value::Bits(left), Value::Integer(right)) => (left.clone(), of_type(right, left)),
        (Value::Integer(left), Value::Bits(right)) => (of_type(left, right), right.clone()),
        _ => return None,
    })
}

/// Converts a value to a type. A value that already has the type is returned unchanged.
fn cast(value: Value, ty: Type) -> Value {
    match (value, ty) {
        (Value::Bits(bits), Type::Bits { width, signed }) => Value::Bits(bits.cast(width, signed)),
        (Value::Bits(bits), Type::Bool) => Value::Bool(!bits.is_zero()),
        (Value::Bool(value), Type::Bits { width, signed }) => {
            Value::Bits(Bits::from_bool(value).cast(width, signed))
        }
        (Value::Integer(number), Type::Bits { width, signed }) => {
            Value::Bits(Bits::from_bigint(width, signed, &number))
        }
        (Value::Bits(bits), Type::Integer) => Value::Integer(bits.to_bigint()),
        (value, _) => value,
    }
}
