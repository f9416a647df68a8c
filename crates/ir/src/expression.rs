//! Expressions, which have no side effects, and places (l-values), which can be read and written.

use super::{Program, Type, TypeId, VariableId};
use crate::bits::Bits;
use num_bigint::BigInt;
use serde::{Deserialize, Serialize};

/// A typed expression without side effects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expression {
    /// The type of the result.
    pub type_id: TypeId,
    /// The operation that computes the result.
    pub kind: ExpressionKind,
}

/// The operation of an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpressionKind {
    /// A constant.
    Constant(Value),
    /// Reads the value at a place. The value of a field of an invalid header, or of an element
    /// beyond the end of its stack, is unspecified (P4_16 specification, sections 8.18 and 8.25).
    /// The reference interpreter, like BMv2, returns zero for an element beyond the end. For a
    /// field it returns the value that was last stored, or zero if none was stored since the header
    /// became valid.
    Read(Place),
    /// A unary operation.
    Unary(UnaryOperator, Box<Expression>),
    /// A binary operation. Both operands are evaluated, since operands with side effects were moved
    /// to statements. `And` and `Or` of `bool` may skip the second operand.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// `operand[high:low]`: the bits from `low` up to and including `high`.
    Slice {
        /// The expression that is sliced.
        operand: Box<Expression>,
        /// The most significant bit.
        high: u32,
        /// The least significant bit.
        low: u32,
    },
    /// A cast to the type of the expression: between `bit` and `int` of the same width, to another
    /// width (truncation, zero extension or sign extension), or between `bool` and `bit<1>`.
    Cast(Box<Expression>),
    /// `condition ? then : otherwise`.
    Conditional {
        /// The condition, of type `bool`.
        condition: Box<Expression>,
        /// The result if the condition is true.
        then: Box<Expression>,
        /// The result if the condition is false.
        otherwise: Box<Expression>,
    },
    /// Whether a header or header union is valid.
    IsValid(Place),
    /// `stack.lastIndex`, of type `bit<32>`.
    LastIndex(Place),
    /// Builds a struct, a tuple or a valid header from the values of its fields.
    Composite(Vec<Expression>),
    /// Builds a header stack from its elements. The next index of the stack is the number of
    /// elements.
    Stack(Vec<Expression>),
    /// An invalid header or header union (`{#}`).
    Invalid,
    /// `packet.length()`: the length of the packet in bytes, of type `bit<32>`.
    PacketLength,
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A value of type `bit<W>` or `int<W>`, or the value of an `action_run` as a `bit<32>`.
    Bits(Bits),
    /// A value of type `bool`.
    Bool(bool),
    /// A value of type `error`: the position of the error in `Program::errors`.
    Error(u32),
    /// A value of an enumeration without an underlying type: the position of the member in the
    /// enumeration.
    Enum(u32),
    /// A value of type `string`.
    String(String),
    /// A value of type `int`.
    Integer(BigInt),
    /// A struct, tuple or header: the values of its fields. It occurs where the IR demands a
    /// constant, such as in constructor arguments.
    Composite(Vec<Value>),
}

/// A unary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnaryOperator {
    /// `-`, modulo 2^W.
    Negate,
    /// `~`, which inverts each bit.
    Complement,
    /// `!`, the negation of a `bool`.
    Not,
}

/// A binary operator. The operands have the same type, except for shifts and concatenation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BinaryOperator {
    /// `+`, modulo 2^W.
    Add,
    /// `-`, modulo 2^W.
    Subtract,
    /// `*`, modulo 2^W.
    Multiply,
    /// `/`. Standard P4 allows it only for constants.
    Divide,
    /// `%`. Standard P4 allows it only for constants.
    Modulo,
    /// `|+|`, an addition whose result is clamped to the range of the type.
    SaturatingAdd,
    /// `|-|`, a subtraction whose result is clamped to the range of the type.
    SaturatingSubtract,
    /// `&`, the conjunction of each pair of bits.
    BitAnd,
    /// `|`, the disjunction of each pair of bits.
    BitOr,
    /// `^`, the exclusive or of each pair of bits.
    BitXor,
    /// `<<`. The right operand is unsigned or a constant.
    ShiftLeft,
    /// `>>`. The shift is arithmetic if the left operand is signed.
    ShiftRight,
    /// `++`, with the left operand in the high bits of the result.
    Concatenate,
    /// `==`, for any type. Headers are equal if both are invalid, or if both are valid and have
    /// equal fields.
    Equal,
    /// `!=`, the negation of `==`.
    NotEqual,
    /// `<`. The comparison is signed if the operands are.
    Less,
    /// `<=`. The comparison is signed if the operands are.
    LessOrEqual,
    /// `>`. The comparison is signed if the operands are.
    Greater,
    /// `>=`. The comparison is signed if the operands are.
    GreaterOrEqual,
    /// `&&`, the conjunction of two operands of type `bool`.
    And,
    /// `||`, the disjunction of two operands of type `bool`.
    Or,
}

/// A storage location that can be read and written: a variable or a part of one (an l-value).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The variable that is the location or contains it.
    pub variable: VariableId,
    /// The steps that lead from the variable to the part, outermost first.
    pub path: Vec<Projection>,
}

/// A step from a value to one of its parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Projection {
    /// A field of a composite, by position.
    Field(u32),
    /// An element of a stack, by index.
    Element(Box<Expression>),
    /// `stack.next`. In a parser, a full stack causes the error `StackOutOfBounds`.
    Next,
    /// `stack.last`. In a parser, an empty stack causes the error `StackOutOfBounds`.
    Last,
    /// A range of bits of a `bit<W>` or `int<W>`, inclusive at both ends. It occurs only as the
    /// last step of a place that is written.
    Slice {
        /// The most significant bit.
        high: u32,
        /// The least significant bit.
        low: u32,
    },
}

impl Place {
    /// Returns the place of a whole variable.
    #[must_use]
    pub fn variable(variable: VariableId) -> Self {
        Self { variable, path: Vec::new() }
    }

    /// Returns the place of the field at `position` in the value at this place.
    #[must_use]
    pub fn field(mut self, position: u32) -> Self {
        self.path.push(Projection::Field(position));
        self
    }
}

impl Program {
    /// Returns the type of the value at a place. Returns `None` if the program has no such place.
    /// Also returns `None` for a slice, since the program's list of types may lack the type of the
    /// slice.
    #[must_use]
    pub fn place_type(&self, place: &Place) -> Option<TypeId> {
        let mut current = self.variables.get(place.variable.index())?.type_id;
        for step in &place.path {
            current = match (step, self.types.find(current)?) {
                (Projection::Field(position), Type::Composite(id)) => {
                    let composite = self.types.composites.get(id.index())?;
                    composite.fields.get(*position as usize)?.type_id
                }
                (
                    Projection::Element(_) | Projection::Next | Projection::Last,
                    Type::Stack { element, .. },
                ) => element,
                _ => return None,
            };
        }
        Some(current)
    }
}
