//! Expressions, which have no effect, and the places that can be read and written.

use super::{Program, Type, TypeId, VariableId};
use crate::bits::Bits;
use num_bigint::BigInt;
use serde::{Deserialize, Serialize};

/// A typed expression without effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expression {
    /// Type of the result.
    pub type_id: TypeId,
    /// What is computed.
    pub kind: ExpressionKind,
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpressionKind {
    /// A constant.
    Constant(Value),
    /// The value at a place. Reading a field of an invalid header, or an element beyond its
    /// stack, gives an unspecified value (P4_16 specification, sections 8.18 and 8.25). The
    /// reference gives zero beyond a stack, and for a field what was last stored there (zero at
    /// first, and again when the header becomes valid), as BMv2 does.
    Read(Place),
    /// One operand.
    Unary(UnaryOperator, Box<Expression>),
    /// Two operands, evaluated both (effects and short circuit were written out), except that
    /// `And` and `Or` of `bool` need not look at the second.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// `operand[high:low]`, both inclusive.
    Slice {
        /// What is cut.
        operand: Box<Expression>,
        /// Most significant bit.
        high: u32,
        /// Least significant bit.
        low: u32,
    },
    /// A cast to the expression's type: between `bit` and `int` of one width, to another width
    /// (truncation, zero or sign extension), `bool` from and to `bit<1>`.
    Cast(Box<Expression>),
    /// `condition ? then : otherwise`.
    Conditional {
        /// Of type `bool`.
        condition: Box<Expression>,
        /// If true.
        then: Box<Expression>,
        /// If false.
        otherwise: Box<Expression>,
    },
    /// Whether a header or header union is valid.
    IsValid(Place),
    /// `stack.lastIndex`, a `bit<32>`.
    LastIndex(Place),
    /// A struct or tuple of these fields, or a valid header of them.
    Composite(Vec<Expression>),
    /// All elements of a header stack; the next index becomes their number.
    Stack(Vec<Expression>),
    /// An invalid header or header union (`{#}`).
    Invalid,
    /// `packet.length()`, in bytes, a `bit<32>`.
    PacketLength,
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// `bit<W>` or `int<W>`; `ActionRun` as `bit<32>`.
    Bits(Bits),
    /// `bool`.
    Bool(bool),
    /// Position in `Program::errors`.
    Error(u32),
    /// Position in the members of the enumeration.
    Enum(u32),
    /// `string`.
    String(String),
    /// `int`.
    Integer(BigInt),
    /// Struct, tuple or header; for constructor arguments and control-plane initial values.
    Composite(Vec<Value>),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnaryOperator {
    /// `-`, modulo 2^W.
    Negate,
    /// `~`.
    Complement,
    /// `!`.
    Not,
}

/// Operators with two operands. Operands have the same type except for shifts and concatenation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BinaryOperator {
    /// `+`, modulo 2^W.
    Add,
    /// `-`, modulo 2^W.
    Subtract,
    /// `*`, modulo 2^W.
    Multiply,
    /// `/`; only constants in standard P4.
    Divide,
    /// `%`; only constants in standard P4.
    Modulo,
    /// `|+|`.
    SaturatingAdd,
    /// `|-|`.
    SaturatingSubtract,
    /// `&`.
    BitAnd,
    /// `|`.
    BitOr,
    /// `^`.
    BitXor,
    /// `<<`; the right operand is unsigned or a constant.
    ShiftLeft,
    /// `>>`; arithmetic if the left operand is signed.
    ShiftRight,
    /// `++`.
    Concatenate,
    /// `==`, on any type; headers are equal if both are invalid or both valid with equal fields.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`, signed if the operands are.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
    /// `&&`.
    And,
    /// `||`.
    Or,
}

/// What can be read and written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The variable.
    pub variable: VariableId,
    /// Steps into it, outermost first.
    pub path: Vec<Projection>,
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Projection {
    /// Field of a composite by position.
    Field(u32),
    /// Element of a stack by index.
    Element(Box<Expression>),
    /// `stack.next`: error `StackOutOfBounds` in a parser if the stack is full.
    Next,
    /// `stack.last`: error `StackOutOfBounds` in a parser if the stack is empty.
    Last,
    /// Bits of a `bit<W>` or `int<W>`, both inclusive; only as the last step of a place that is
    /// written.
    Slice {
        /// Most significant bit.
        high: u32,
        /// Least significant bit.
        low: u32,
    },
}

impl Place {
    /// A whole variable.
    #[must_use]
    pub fn variable(variable: VariableId) -> Self {
        Self { variable, path: Vec::new() }
    }

    /// One field further in.
    #[must_use]
    pub fn field(mut self, position: u32) -> Self {
        self.path.push(Projection::Field(position));
        self
    }
}

impl Program {
    /// The type of what is at a place; `None` for a slice, whose type need not be in the program,
    /// and for a place that does not exist.
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
