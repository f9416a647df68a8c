//! Translation of the expressions of BMv2 JSON to the IR. Arbitrary-precision integers become
//! `bit<W>` of a sufficient width.
//!
//! An expression is translated in one of two ways. If it is assigned to a target of W bits,
//! [`Loader::truncated`] returns the low W bits of its value. Sums, products, bitwise operations
//! and left shifts need only the low W bits of their operands for this. Comparisons, right shifts
//! and saturation need the exact values of their operands. For these, [`Loader::range`] computes
//! how many bits the value may take and whether it may be negative, and the operands are computed
//! with that width. Negative values are in two's complement.

use num_bigint::BigInt;
use serde_json::Value as Json;

use super::headers::{FieldKind, FieldPlace, HeaderPlace};
use super::{Loader, Outcome};
use ir::bits::Bits;
use ir::{
    BinaryOperator, Expression, ExpressionKind, ExternCallee, Place, StatementKind, Type,
    UnaryOperator, Value,
};

/// The largest width in bits of the intermediate values of an expression.
pub(super) const WIDTH_LIMIT: u32 = 1 << 16;
/// The number of bits by which a left shift is assumed to widen its operand at most, if the shift
/// amount is not constant.
const SHIFT_LIMIT: u32 = 1024;

/// A range that contains all values of an expression: the range of `bit<width>` or `int<width>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) width: u32,
    pub(super) signed: bool,
}

impl Range {
    fn unsigned(width: u32) -> Self {
        Self { width: width.clamp(1, WIDTH_LIMIT), signed: false }
    }

    fn signed(width: u32) -> Self {
        Self { width: width.clamp(2, WIDTH_LIMIT), signed: true }
    }

    /// Returns the width in bits of the smallest signed type that contains the range.
    fn as_signed(self) -> u32 {
        if self.signed { self.width } else { self.width + 1 }
    }

    fn union(self, other: Self) -> Self {
        if self.signed || other.signed {
            Self::signed(self.as_signed().max(other.as_signed()))
        } else {
            Self::unsigned(self.width.max(other.width))
        }
    }
}

impl Loader<'_> {
    pub(super) fn constant_bits(&mut self, width: u32, value: &BigInt) -> Expression {
        Expression {
            type_id: self.bit_type(width),
            kind: ExpressionKind::Constant(Value::Bits(Bits::from_bigint(width, false, value))),
        }
    }

    pub(super) fn hex(&self, text: &str) -> Outcome<BigInt> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let digits = digits.strip_prefix("0x").or(digits.strip_prefix("0X")).unwrap_or(digits);
        match BigInt::parse_bytes(digits.as_bytes(), 16) {
            Some(value) if digits.len() < 1 << 16 => Ok(if negative { -value } else { value }),
            _ => self.fail(format!("`{text}` is not a hexadecimal number")),
        }
    }

    /// Returns the type and the value of a JSON object of the form `{"type": ..., "value": ...}`.
    pub(super) fn typed<'j>(&self, value: &'j Json) -> Outcome<(&'j str, &'j Json)> {
        match (value.get("type").and_then(Json::as_str), value.get("value")) {
            (Some("expression"), Some(inner)) if inner.get("type").is_some() => self.typed(inner),
            (Some(kind), Some(inner)) => Ok((kind, inner)),
            _ => self.fail("an operand has no type or no value"),
        }
    }

    /// Returns the operator, the left operand and the right operand of an expression in the JSON.
    pub(super) fn operation<'j>(&self, value: &'j Json) -> Outcome<(&'j str, &'j Json, &'j Json)> {
        const NOTHING: &Json = &Json::Null;
        match value.get("op").and_then(Json::as_str) {
            Some(operator) => Ok((
                operator,
                value.get("left").unwrap_or(NOTHING),
                value.get("right").unwrap_or(NOTHING),
            )),
            None => self.fail("an expression has no operator"),
        }
    }

    /// Returns the operand of a unary operator. The JSON has two places for operands, and only one
    /// of them is used: in the output of most compilers the right one, and of a few the left one.
    fn single<'j>(left: &'j Json, right: &'j Json) -> &'j Json {
        if right.is_null() { left } else { right }
    }

    pub(super) fn is_boolean(&self, value: &Json) -> bool {
        match self.typed(value) {
            Ok(("bool", _)) => true,
            Ok(("expression", inner)) => match self.operation(inner) {
                Ok((operator, left, _)) => match operator {
                    "==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or" | "not" | "valid"
                    | "valid_union" | "d2b" => true,
                    "?" => self.is_boolean(left),
                    _ => false,
                },
                Err(_) => false,
            },
            _ => false,
        }
    }

    /// Returns a range that contains all values that an expression may have.
    pub(super) fn range(&mut self, value: &Json) -> Outcome<Range> {
        let (kind, inner) = self.typed(value)?;
        match kind {
            "hexstr" => {
                let number = self.hex(inner.as_str().unwrap_or(""))?;
                Ok(if number.sign() == num_bigint::Sign::Minus {
                    Range::signed(number.bits() as u32 + 1)
                } else {
                    Range::unsigned(number.bits() as u32)
                })
            }
            "bool" => Ok(Range::unsigned(1)),
            "local" | "runtime_data" => {
                let (_, width) = self.runtime(inner)?;
                Ok(Range::unsigned(width))
            }
            "register" => {
                let (register, _) = self.register(inner)?;
                let width = self.register_width(register);
                Ok(Range::unsigned(width))
            }
            "lookahead" => {
                let (_, width) = self.lookahead_of(inner)?;
                Ok(Range::unsigned(width))
            }
            "expression" => {
                let (operator, left, right) = self.operation(inner)?;
                self.operation_range(inner, operator, left, right)
            }
            _ => {
                if is_valid_field(value) {
                    return Ok(Range::unsigned(1));
                }
                Ok(match self.field(value)?.kind {
                    FieldKind::Bits { width, signed: false } => Range::unsigned(width),
                    FieldKind::Bits { width, signed: true } => Range::signed(width),
                    FieldKind::Error => Range::unsigned(32),
                    FieldKind::Varbits => {
                        return self.fail(
                            "an expression uses a varbit field, which is not \
                         supported",
                        );
                    }
                })
            }
        }
    }

    /// Returns a range that contains all results of an operation.
    fn operation_range(
        &mut self,
        inner: &Json,
        operator: &str,
        left: &Json,
        right: &Json,
    ) -> Outcome<Range> {
        Ok(match operator {
            "+" if left.is_null() => self.range(right)?,
            "+" => {
                let union = self.range(left)?.union(self.range(right)?);
                if union.signed {
                    Range::signed(union.width + 1)
                } else {
                    Range::unsigned(union.width + 1)
                }
            }
            "-" if left.is_null() => Range::signed(self.range(right)?.as_signed() + 1),
            "-" => {
                let (left, right) = (self.range(left)?, self.range(right)?);
                Range::signed(left.as_signed().max(right.as_signed()) + 1)
            }
            "*" => {
                let (left, right) = (self.range(left)?, self.range(right)?);
                let width = left.width.saturating_add(right.width);
                if left.signed || right.signed {
                    Range::signed(width.saturating_add(1))
                } else {
                    Range::unsigned(width)
                }
            }
            "/" | "%" => {
                let (left, right) = (self.range(left)?, self.range(right)?);
                left.union(right)
            }
            "&" => {
                let (left, right) = (self.range(left)?, self.range(right)?);
                match (left.signed, right.signed) {
                    (false, false) => Range::unsigned(left.width.min(right.width)),
                    (false, true) => left,
                    (true, false) => right,
                    (true, true) => left.union(right),
                }
            }
            "|" | "^" => self.range(left)?.union(self.range(right)?),
            "~" => Range::signed(self.range(Self::single(left, right))?.as_signed()),
            "<<" => {
                let range = self.range(left)?;
                let by = match self.constant(right) {
                    Some(amount) => u32::try_from(&amount).unwrap_or(u32::MAX).min(WIDTH_LIMIT),
                    None => {
                        let width = self.range(right)?.width;
                        (1_u32.checked_shl(width).unwrap_or(u32::MAX) - 1).min(SHIFT_LIMIT)
                    }
                };
                let width = range.width.saturating_add(by);
                if range.signed { Range::signed(width) } else { Range::unsigned(width) }
            }
            ">>" => self.range(left)?,
            "two_comp_mod" | "sat_cast" => Range::signed(self.width_operand(right)?),
            "usat_cast" => Range::unsigned(self.width_operand(right)?),
            "?" => {
                let _ = inner;
                self.range(left)?.union(self.range(right)?)
            }
            "b2d" => Range::unsigned(1),
            "last_stack_index" | "size_stack" => Range::unsigned(32),
            "access_field" => match self.accessed_field(left, right)?.kind {
                FieldKind::Bits { width, signed: false } => Range::unsigned(width),
                FieldKind::Bits { width, signed: true } => Range::signed(width),
                FieldKind::Error => Range::unsigned(32),
                FieldKind::Varbits => {
                    return self.fail("an expression uses a varbit field, which is not supported");
                }
            },
            _ if self.is_operator_boolean(operator) => Range::unsigned(1),
            _ => return self.fail(format!("the operator `{operator}` is not known")),
        })
    }

    fn is_operator_boolean(&self, operator: &str) -> bool {
        matches!(
            operator,
            "==" | "!="
                | "<"
                | "<="
                | ">"
                | ">="
                | "and"
                | "or"
                | "not"
                | "valid"
                | "valid_union"
                | "d2b"
        )
    }

    fn constant(&self, value: &Json) -> Option<BigInt> {
        match self.typed(value).ok()? {
            ("hexstr", inner) => self.hex(inner.as_str()?).ok(),
            _ => None,
        }
    }

    fn width_operand(&self, value: &Json) -> Outcome<u32> {
        match self.constant(value).and_then(|width| u32::try_from(width).ok()) {
            Some(width) if (1..=WIDTH_LIMIT).contains(&width) => Ok(width),
            _ => self.fail("a width is not a constant"),
        }
    }

    /// Translates an expression to the low `width` bits of its value, as `bit<width>`.
    pub(super) fn truncated(&mut self, value: &Json, width: u32) -> Outcome<Expression> {
        let (kind, inner) = self.typed(value)?;
        if self.is_boolean(value) {
            let condition = self.boolean(value)?;
            let bit = self.bit_type(1);
            let bit = cast(condition, bit);
            return Ok(self.resized(bit, Range::unsigned(1), width));
        }
        match kind {
            "hexstr" => {
                let number = self.hex(inner.as_str().unwrap_or(""))?;
                Ok(self.constant_bits(width, &number))
            }
            "local" | "runtime_data" => {
                let (variable, own) = self.runtime(inner)?;
                let type_id = self.bit_type(own);
                let read =
                    Expression { type_id, kind: ExpressionKind::Read(Place::variable(variable)) };
                Ok(self.resized(read, Range::unsigned(own), width))
            }
            "register" => {
                let (register, index) = self.register(inner)?;
                let own = self.register_width(register);
                let type_id = self.bit_type(own);
                let variable = self.variable("tmp", type_id);
                let index = self.truncated(&index, 32)?;
                self.push(StatementKind::CallExtern {
                    callee: ExternCallee::Method {
                        instance: register,
                        method: ir::ExternMethod::Read,
                    },
                    type_arguments: Vec::new(),
                    arguments: vec![
                        ir::Argument::Out(Place::variable(variable)),
                        ir::Argument::In(index),
                    ],
                    result: None,
                });
                let read =
                    Expression { type_id, kind: ExpressionKind::Read(Place::variable(variable)) };
                Ok(self.resized(read, Range::unsigned(own), width))
            }
            "lookahead" => {
                let read = self.lookahead(inner)?;
                let (_, own) = self.lookahead_of(inner)?;
                Ok(self.resized(read, Range::unsigned(own), width))
            }
            "expression" => {
                let (operator, left, right) = self.operation(inner)?;
                self.truncated_operation(inner, operator, left, right, width)
            }
            _ => {
                if let Some(header) = valid_field(value) {
                    let Some(known) = self.layout.headers.get(header).cloned() else {
                        return self.fail(format!("there is no header `{header}`"));
                    };
                    let valid = self.is_valid(known.place);
                    let bit = self.bit_type(1);
                    return Ok(self.resized(cast(valid, bit), Range::unsigned(1), width));
                }
                let field = self.field(value)?;
                self.field_value(field, width)
            }
        }
    }

    fn field_value(&mut self, field: FieldPlace, width: u32) -> Outcome<Expression> {
        match field.kind {
            FieldKind::Bits { width: own, signed } => {
                let type_id = self.program.types.intern(Type::Bits { width: own, signed });
                let read = Expression { type_id, kind: ExpressionKind::Read(field.place) };
                let range = Range { width: own, signed };
                Ok(self.resized(read, range, width))
            }
            FieldKind::Error => Ok(self.error_number(&field.place, width)),
            FieldKind::Varbits => {
                self.fail("an expression uses a varbit field, which is not supported")
            }
        }
    }

    /// Returns an expression for the number that the JSON assigns to the parser error stored at
    /// `place`.
    fn error_number(&mut self, place: &Place, width: u32) -> Expression {
        let error_type = self.program.types.intern(Type::Error);
        let bool_type = self.program.types.intern(Type::Bool);
        let codes = self.layout.error_codes.clone();
        let mut result = self.constant_bits(width, &0.into());
        for (position, code) in codes.iter().enumerate().rev() {
            let constant = Expression {
                type_id: error_type,
                kind: ExpressionKind::Constant(Value::Error(position as u32)),
            };
            let read =
                Expression { type_id: error_type, kind: ExpressionKind::Read(place.clone()) };
            let condition = Expression {
                type_id: bool_type,
                kind: ExpressionKind::Binary(
                    BinaryOperator::Equal,
                    Box::new(read),
                    Box::new(constant),
                ),
            };
            let then = self.constant_bits(width, &(*code).into());
            result = Expression {
                type_id: result.type_id,
                kind: ExpressionKind::Conditional {
                    condition: Box::new(condition),
                    then: Box::new(then),
                    otherwise: Box::new(result),
                },
            };
        }
        result
    }

    /// Converts a value within `range` to `bit<width>`, by truncation, zero extension or sign
    /// extension.
    fn resized(&mut self, value: Expression, range: Range, width: u32) -> Expression {
        let wanted = self.bit_type(width);
        if value.type_id == wanted {
            return value;
        }
        let mut value = value;
        let own =
            self.program.types.intern(Type::Bits { width: range.width, signed: range.signed });
        value = cast(value, own);
        if range.width != width {
            let same = self.program.types.intern(Type::Bits { width, signed: range.signed });
            value = cast(value, same);
        }
        cast(value, wanted)
    }

    /// Translates an operation to the low `width` bits of its result.
    fn truncated_operation(
        &mut self,
        inner: &Json,
        operator: &str,
        left: &Json,
        right: &Json,
        width: u32,
    ) -> Outcome<Expression> {
        let type_id = self.bit_type(width);
        let binary = |operator, left: Expression, right: Expression| Expression {
            type_id,
            kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)),
        };
        let plain = match operator {
            "+" => Some(BinaryOperator::Add),
            "-" => Some(BinaryOperator::Subtract),
            "*" => Some(BinaryOperator::Multiply),
            "&" => Some(BinaryOperator::BitAnd),
            "|" => Some(BinaryOperator::BitOr),
            "^" => Some(BinaryOperator::BitXor),
            _ => None,
        };
        if let Some(plain) = plain {
            if left.is_null() {
                let operand = self.truncated(right, width)?;
                return Ok(match plain {
                    BinaryOperator::Subtract => Expression {
                        type_id,
                        kind: ExpressionKind::Unary(UnaryOperator::Negate, Box::new(operand)),
                    },
                    _ => operand,
                });
            }
            // `&` with a mask of ones in the low bits truncates its operand, so translating the
            // operand with a narrower width has the same effect.
            if plain == BinaryOperator::BitAnd
                && let Some(ones) = self.constant(right).as_ref().and_then(ones)
            {
                if ones >= width {
                    return self.truncated(left, width);
                }
                let narrow = self.truncated(left, ones)?;
                return Ok(self.resized(narrow, Range::unsigned(ones), width));
            }
            let left = self.truncated(left, width)?;
            let right = self.truncated(right, width)?;
            return Ok(binary(plain, left, right));
        }
        match operator {
            "~" => {
                let operand = self.truncated(Self::single(left, right), width)?;
                Ok(Expression {
                    type_id,
                    kind: ExpressionKind::Unary(UnaryOperator::Complement, Box::new(operand)),
                })
            }
            "<<" => {
                let operand = self.truncated(left, width)?;
                let amount = self.amount(right)?;
                Ok(binary(BinaryOperator::ShiftLeft, operand, amount))
            }
            ">>" => {
                let range = self.range(left)?;
                let operand = self.exact(left, range)?;
                let amount = self.amount(right)?;
                let shifted = Expression {
                    type_id: operand.type_id,
                    kind: ExpressionKind::Binary(
                        BinaryOperator::ShiftRight,
                        Box::new(operand),
                        Box::new(amount),
                    ),
                };
                Ok(self.resized(shifted, range, width))
            }
            "/" | "%" => {
                let range = self.range(left)?.union(self.range(right)?);
                let left = self.exact(left, range)?;
                let right = self.exact(right, range)?;
                let operator =
                    if operator == "/" { BinaryOperator::Divide } else { BinaryOperator::Modulo };
                let result = Expression {
                    type_id: left.type_id,
                    kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)),
                };
                Ok(self.resized(result, range, width))
            }
            "two_comp_mod" => {
                let own = self.width_operand(right)?;
                if own >= width {
                    return self.truncated(left, width);
                }
                let narrow = self.truncated(left, own)?;
                Ok(self.resized(narrow, Range::signed(own.max(2)), width))
            }
            "sat_cast" | "usat_cast" => self.saturated(operator, left, right, width),
            "?" => {
                let condition = match inner.get("cond") {
                    Some(condition) => self.boolean(condition)?,
                    None => return self.fail("`?` without a condition"),
                };
                let then = self.truncated(left, width)?;
                let otherwise = self.truncated(right, width)?;
                Ok(Expression {
                    type_id,
                    kind: ExpressionKind::Conditional {
                        condition: Box::new(condition),
                        then: Box::new(then),
                        otherwise: Box::new(otherwise),
                    },
                })
            }
            "b2d" => {
                let condition = self.boolean(Self::single(left, right))?;
                let bit = self.bit_type(1);
                let bit = cast(condition, bit);
                Ok(self.resized(bit, Range::unsigned(1), width))
            }
            "last_stack_index" => {
                let stack = self.stack(Self::single(left, right))?;
                let index = self.bit_type(32);
                let read =
                    Expression { type_id: index, kind: ExpressionKind::LastIndex(stack.place) };
                Ok(self.resized(read, Range::unsigned(32), width))
            }
            "size_stack" => {
                // The number of elements is one more than the last index.
                let stack = self.stack(Self::single(left, right))?;
                let index = self.bit_type(32);
                let last =
                    Expression { type_id: index, kind: ExpressionKind::LastIndex(stack.place) };
                let one = self.constant_bits(32, &1.into());
                let count = Expression {
                    type_id: index,
                    kind: ExpressionKind::Binary(
                        BinaryOperator::Add,
                        Box::new(last),
                        Box::new(one),
                    ),
                };
                Ok(self.resized(count, Range::unsigned(32), width))
            }
            "access_field" => {
                let field = self.accessed_field(left, right)?;
                self.field_value(field, width)
            }
            _ => self.fail(format!("the operator `{operator}` is not known")),
        }
    }

    /// Translates a saturating cast to the low `width` bits of its result.
    fn saturated(
        &mut self,
        operator: &str,
        left: &Json,
        right: &Json,
        width: u32,
    ) -> Outcome<Expression> {
        let own = self.width_operand(right)?;
        let signed = operator == "sat_cast";
        let target = Range { width: own, signed };
        let wide = self.range(left)?.union(target);
        // With one additional bit, both limits of the saturation are values of the wide type.
        let wide = Range::signed(wide.as_signed() + 1);
        let wide_type = self.program.types.intern(Type::Bits { width: wide.width, signed: true });
        let bool_type = self.program.types.intern(Type::Bool);
        let value = self.exact(left, wide)?;
        let value = self.spilled(value);
        let limit = |bits: Bits| Expression {
            type_id: wide_type,
            kind: ExpressionKind::Constant(Value::Bits(Bits::from_bigint(
                wide.width,
                true,
                &bits.to_bigint(),
            ))),
        };
        let clamp = |operator, value: Expression, limit: Expression| Expression {
            type_id: wide_type,
            kind: ExpressionKind::Conditional {
                condition: Box::new(Expression {
                    type_id: bool_type,
                    kind: ExpressionKind::Binary(
                        operator,
                        Box::new(value.clone()),
                        Box::new(limit.clone()),
                    ),
                }),
                then: Box::new(limit),
                otherwise: Box::new(value),
            },
        };
        let value = clamp(BinaryOperator::Greater, value, limit(Bits::maximum(own, signed)));
        let value = self.spilled(value);
        let value = clamp(BinaryOperator::Less, value, limit(Bits::minimum(own, signed)));
        Ok(self.resized(value, wide, width))
    }

    /// Saves a value that is used more than once in a temporary variable, and returns an expression
    /// that reads the variable.
    fn spilled(&mut self, value: Expression) -> Expression {
        let place = Place::variable(self.variable("tmp", value.type_id));
        let type_id = value.type_id;
        self.push(StatementKind::Assign { place: place.clone(), value });
        Expression { type_id, kind: ExpressionKind::Read(place) }
    }

    /// Translates the right operand of a shift, the shift amount.
    fn amount(&mut self, value: &Json) -> Outcome<Expression> {
        let range = self.range(value)?;
        if range.signed {
            return self.fail("the amount of a shift may be negative");
        }
        self.truncated(value, range.width)
    }

    /// Translates an expression to its exact value, not truncated. The result has the type that
    /// `range` describes, and `range` must contain the value.
    fn exact(&mut self, value: &Json, range: Range) -> Outcome<Expression> {
        let bits = self.truncated(value, range.width)?;
        let type_id =
            self.program.types.intern(Type::Bits { width: range.width, signed: range.signed });
        Ok(cast(bits, type_id))
    }

    /// Translates an expression that is used as an index, a size or a similar number to
    /// `bit<width>`.
    pub(super) fn number(&mut self, value: &Json, width: u32) -> Outcome<Expression> {
        self.truncated(value, width)
    }

    /// Translates a condition to an expression of type `bool`.
    pub(super) fn boolean(&mut self, value: &Json) -> Outcome<Expression> {
        let type_id = self.program.types.intern(Type::Bool);
        let (kind, inner) = self.typed(value)?;
        match kind {
            "bool" => Ok(Expression {
                type_id,
                kind: ExpressionKind::Constant(Value::Bool(inner.as_bool().unwrap_or(false))),
            }),
            "expression" => {
                let (operator, left, right) = self.operation(inner)?;
                let binary = |operator, left: Expression, right: Expression| Expression {
                    type_id,
                    kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)),
                };
                match operator {
                    "and" | "or" => {
                        let left = self.boolean(left)?;
                        let right = self.boolean(right)?;
                        let operator = if operator == "and" {
                            BinaryOperator::And
                        } else {
                            BinaryOperator::Or
                        };
                        Ok(binary(operator, left, right))
                    }
                    "not" => {
                        let operand = self.boolean(Self::single(left, right))?;
                        Ok(Expression {
                            type_id,
                            kind: ExpressionKind::Unary(UnaryOperator::Not, Box::new(operand)),
                        })
                    }
                    "valid" | "valid_union" => {
                        let header = self.header(Self::single(left, right))?;
                        Ok(self.is_valid(header.place))
                    }
                    "d2b" => {
                        let operand = Self::single(left, right);
                        let range = self.range(operand)?;
                        let bits = self.truncated(operand, range.width)?;
                        let zero = self.constant_bits(range.width, &0.into());
                        Ok(binary(BinaryOperator::NotEqual, bits, zero))
                    }
                    "?" => {
                        let condition = match inner.get("cond") {
                            Some(condition) => self.boolean(condition)?,
                            None => return self.fail("`?` without a condition"),
                        };
                        let then = self.boolean(left)?;
                        let otherwise = self.boolean(right)?;
                        Ok(Expression {
                            type_id,
                            kind: ExpressionKind::Conditional {
                                condition: Box::new(condition),
                                then: Box::new(then),
                                otherwise: Box::new(otherwise),
                            },
                        })
                    }
                    _ => {
                        let operator = match operator {
                            "==" => BinaryOperator::Equal,
                            "!=" => BinaryOperator::NotEqual,
                            "<" => BinaryOperator::Less,
                            "<=" => BinaryOperator::LessOrEqual,
                            ">" => BinaryOperator::Greater,
                            ">=" => BinaryOperator::GreaterOrEqual,
                            _ => {
                                return self.fail(format!(
                                    "`{operator}` stands where a condition is expected"
                                ));
                            }
                        };
                        let (left, right) = self.compared(left, right)?;
                        Ok(binary(operator, left, right))
                    }
                }
            }
            // The operand is a number that is used as a condition, so it is compared with zero.
            _ => {
                let range = self.range(value)?;
                let bits = self.truncated(value, range.width)?;
                let zero = self.constant_bits(range.width, &0.into());
                Ok(Expression {
                    type_id,
                    kind: ExpressionKind::Binary(
                        BinaryOperator::NotEqual,
                        Box::new(bits),
                        Box::new(zero),
                    ),
                })
            }
        }
    }

    /// Translates the operands of a comparison to two expressions of the same type.
    fn compared(&mut self, left: &Json, right: &Json) -> Outcome<(Expression, Expression)> {
        if self.is_boolean(left) && self.is_boolean(right) {
            return Ok((self.boolean(left)?, self.boolean(right)?));
        }
        let is_header = |loader: &Self, value: &Json| {
            matches!(
                loader.typed(value),
                Ok(("header" | "header_stack" | "header_union" | "header_union_stack", _))
            )
        };
        if is_header(self, left) && is_header(self, right) {
            let (left, right) = (self.whole(left)?, self.whole(right)?);
            return Ok((read(left), read(right)));
        }
        let range = self.range(left)?.union(self.range(right)?);
        Ok((self.exact(left, range)?, self.exact(right, range)?))
    }

    pub(super) fn is_valid(&mut self, place: Place) -> Expression {
        Expression {
            type_id: self.program.types.intern(Type::Bool),
            kind: ExpressionKind::IsValid(place),
        }
    }

    /// Does the same as `typed`, for other modules of the translation.
    pub(super) fn kind<'j>(&self, value: &'j Json) -> Outcome<(&'j str, &'j Json)> {
        self.typed(value)
    }
}

/// If `value` is the validity of a header, `[header, "$valid$"]`, returns the name of the header.
/// Returns `None` otherwise.
fn valid_field(value: &Json) -> Option<&str> {
    let list = value.get("value")?.as_array()?;
    match (list.first()?.as_str(), list.get(1)?.as_str()) {
        (Some(header), Some("$valid$")) => Some(header),
        _ => None,
    }
}

fn is_valid_field(value: &Json) -> bool {
    valid_field(value).is_some()
}

/// Returns the number of ones in a mask whose ones are all in the lowest bits. Returns `None` for
/// any other mask.
fn ones(mask: &BigInt) -> Option<u32> {
    let width = u32::try_from(mask.bits()).ok()?;
    let all: BigInt = (BigInt::from(1) << width) - 1;
    (width > 0 && *mask == all).then_some(width)
}

pub(super) fn cast(value: Expression, type_id: ir::TypeId) -> Expression {
    if value.type_id == type_id {
        return value;
    }
    Expression { type_id, kind: ExpressionKind::Cast(Box::new(value)) }
}

pub(super) fn read(header: HeaderPlace) -> Expression {
    Expression { type_id: header.type_id, kind: ExpressionKind::Read(header.place) }
}
