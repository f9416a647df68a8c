//! Expressions (§8), among them the key sets of `select` and of table entries (§8.16, §14.2.1.4).

use std::sync::Arc;

use num_bigint::BigUint;

use super::{ExpressionId, Name, Path, Type};
use crate::source::Span;

/// An expression.
#[derive(Debug, Clone)]
pub struct Expression {
    /// Its number.
    pub id: ExpressionId,
    /// Where it stands, without parentheses around it.
    pub span: Span,
    /// Which expression.
    pub kind: ExpressionKind,
}

impl Expression {
    /// The key sets for so many keys: the parts of `(a, b)` and, if it has as many, of `{a, b}`; else the expression.
    pub fn key_sets(&self, keys: usize) -> &[Expression] {
        match &self.kind {
            ExpressionKind::TupleKeyset(parts) => parts,
            ExpressionKind::List { elements, default_rest: None } if elements.len() == keys => {
                elements
            }
            _ => std::slice::from_ref(self),
        }
    }
}

/// Which expression.
#[derive(Debug, Clone)]
pub enum ExpressionKind {
    /// `true` or `false`.
    Boolean(bool),
    /// An integer.
    Integer(IntegerLiteral),
    /// A string, escapes resolved.
    String(Arc<str>),
    /// `this`, inside the methods of an instantiation's block.
    This,
    /// A name of a value, a type (`E` in `E.A`), a function, an action.
    Path(Path),
    /// A type that is not a mere name, before a dot or as a callee: `error` in `error.NoMatch`.
    Type(Box<Type>),
    /// `base.member`.
    Member {
        /// What is looked into.
        base: Box<Expression>,
        /// Which part of it.
        member: Name,
    },
    /// `base[index]`.
    Index {
        /// The stack or tuple.
        base: Box<Expression>,
        /// Which element.
        index: Box<Expression>,
    },
    /// `base[high:low]`, both ends included.
    Slice {
        /// What is cut.
        base: Box<Expression>,
        /// The most significant bit.
        high: Box<Expression>,
        /// The least significant bit.
        low: Box<Expression>,
    },
    /// `base[low +: width]`, a slice whose start need not be constant.
    PartSelect {
        /// What is cut.
        base: Box<Expression>,
        /// The least significant bit.
        low: Box<Expression>,
        /// How many bits.
        width: Box<Expression>,
    },
    /// A call of a function, method or action, a direct or table application, or the construction of an instance:
    /// which of these, the callee's type says.
    Call {
        /// What is called: a path, a member or a type.
        callee: Box<Expression>,
        /// Type arguments that were written.
        type_arguments: Vec<Type>,
        /// Arguments.
        arguments: Vec<Argument>,
    },
    /// `(type) operand`.
    Cast {
        /// To which type.
        target: Box<Type>,
        /// What.
        operand: Box<Expression>,
    },
    /// An operator before its operand.
    Unary {
        /// Which.
        operator: UnaryOperator,
        /// Its operand.
        operand: Box<Expression>,
    },
    /// An operator between its operands.
    Binary {
        /// Which.
        operator: BinaryOperator,
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
    },
    /// `condition ? then : otherwise`.
    Conditional {
        /// The condition.
        condition: Box<Expression>,
        /// If it holds.
        then: Box<Expression>,
        /// If not.
        otherwise: Box<Expression>,
    },
    /// `{a, b}`, and `{a, ...}` with the rest defaulted.
    List {
        /// The elements.
        elements: Vec<Expression>,
        /// Span of a trailing `...`.
        default_rest: Option<Span>,
    },
    /// `{x = a, y = b}`, and `{x = a, ...}` with the rest defaulted.
    Record {
        /// The fields.
        fields: Vec<NamedExpression>,
        /// Span of a trailing `...`.
        default_rest: Option<Span>,
    },
    /// `(a, b)` as a key set. One element stands alone only if it is no expression: `(a &&& b)`, `(_)`.
    TupleKeyset(Vec<Expression>),
    /// `{#}`: an invalid header or header union.
    InvalidHeader,
    /// `...`: the default value of the type that is expected.
    DefaultValue,
    /// `default` as a key set.
    DefaultKeyset,
    /// `_`: as a key set anything, as an argument an `out` that is not wanted.
    DontCare,
}

/// An integer literal (§6.4.3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegerLiteral {
    /// The digits' value. It may exceed the width; the checker says so.
    pub value: BigUint,
    /// The width prefix, `None` for an integer without bound.
    pub width: Option<IntegerWidth>,
    /// 2, 8, 10 or 16: as it was written.
    pub base: u8,
}

/// `8w` or `8s` before the digits of an integer literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntegerWidth {
    /// How many bits.
    pub bits: u32,
    /// `s` instead of `w`.
    pub signed: bool,
}

/// `name = value` in a record expression.
#[derive(Debug, Clone)]
pub struct NamedExpression {
    /// The field.
    pub name: Name,
    /// Its value.
    pub value: Expression,
}

/// An argument of a call.
#[derive(Debug, Clone)]
pub struct Argument {
    /// The parameter that it is for, if written.
    pub name: Option<Name>,
    /// The value; [`ExpressionKind::DontCare`] for `_`.
    pub value: Expression,
}

impl Argument {
    /// From the name, or the value where there is none, to the end of the value.
    pub fn span(&self) -> Span {
        self.name.as_ref().map_or(self.value.span, |name| name.span.to(self.value.span))
    }
}

/// An operator with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    /// `!`.
    Not,
    /// `~`.
    Complement,
    /// `-`.
    Negate,
    /// `+`.
    Plus,
}

impl UnaryOperator {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Not => "!",
            Self::Complement => "~",
            Self::Negate => "-",
            Self::Plus => "+",
        }
    }
}

/// An operator with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Modulo,
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `|+|`.
    AddSaturating,
    /// `|-|`.
    SubtractSaturating,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `&`.
    BitAnd,
    /// `^`.
    BitXor,
    /// `|`.
    BitOr,
    /// `++`.
    Concatenate,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `&&&`, in key sets.
    Mask,
    /// `..`, in key sets and loops.
    Range,
}

impl BinaryOperator {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::AddSaturating => "|+|",
            Self::SubtractSaturating => "|-|",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::BitAnd => "&",
            Self::BitXor => "^",
            Self::BitOr => "|",
            Self::Concatenate => "++",
            Self::And => "&&",
            Self::Or => "||",
            Self::Mask => "&&&",
            Self::Range => "..",
        }
    }
}
