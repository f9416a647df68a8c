//! Expressions (P4_16 §8), including the key sets of `select` and of table entries (§8.16,
//! §14.2.1.4).

use std::sync::Arc;

use num_bigint::BigUint;

use super::{ExpressionId, Name, Path, Type};
use crate::source::Span;

/// An expression.
#[derive(Debug, Clone)]
pub struct Expression {
    /// The id of the expression, which is unique in its program.
    pub id: ExpressionId,
    /// The location of the expression, without parentheses around it.
    pub span: Span,
    /// The kind of expression.
    pub kind: ExpressionKind,
}

impl Expression {
    /// Returns the key sets in this expression, for a table or `select` with `keys` keys. The
    /// elements of `(a, b)` are separate key sets, and so are those of `{a, b}` if their number is
    /// `keys`. Any other expression is a single key set.
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

/// The kind of an expression.
#[derive(Debug, Clone)]
pub enum ExpressionKind {
    /// `true` or `false`.
    Boolean(bool),
    /// An integer literal.
    Integer(IntegerLiteral),
    /// A string literal, with escapes resolved.
    String(Arc<str>),
    /// `this`, inside the methods of an initializer block.
    This,
    /// The name of a value, a type (`E` in `E.A`), a function or an action.
    Path(Path),
    /// A type that is not a plain name, before a dot or as the callee of a call, such as `error` in
    /// `error.NoMatch`.
    Type(Box<Type>),
    /// `base.member`.
    Member {
        /// The expression whose member is selected.
        base: Box<Expression>,
        /// The name of the member.
        member: Name,
    },
    /// `base[index]`.
    Index {
        /// The header stack or tuple.
        base: Box<Expression>,
        /// The index of the element.
        index: Box<Expression>,
    },
    /// `base[high:low]`, inclusive at both ends.
    Slice {
        /// The expression that is sliced.
        base: Box<Expression>,
        /// The most significant bit.
        high: Box<Expression>,
        /// The least significant bit.
        low: Box<Expression>,
    },
    /// `base[low +: width]`: a slice whose low bit need not be constant.
    PartSelect {
        /// The expression that is sliced.
        base: Box<Expression>,
        /// The least significant bit.
        low: Box<Expression>,
        /// The number of bits.
        width: Box<Expression>,
    },
    /// A call of a function, method or action, the application of a table, parser or control, or
    /// the construction of an instance. The type of the callee distinguishes these.
    Call {
        /// The callee: a path, a member or a type.
        callee: Box<Expression>,
        /// The explicit type arguments.
        type_arguments: Vec<Type>,
        /// The arguments of the call.
        arguments: Vec<Argument>,
    },
    /// `(type) operand`.
    Cast {
        /// The target type.
        target: Box<Type>,
        /// The expression that is cast.
        operand: Box<Expression>,
    },
    /// A unary operation.
    Unary {
        /// The operator of the operation.
        operator: UnaryOperator,
        /// The operand.
        operand: Box<Expression>,
    },
    /// A binary operation.
    Binary {
        /// The operator of the operation.
        operator: BinaryOperator,
        /// The left operand.
        left: Box<Expression>,
        /// The right operand.
        right: Box<Expression>,
    },
    /// `condition ? then : otherwise`.
    Conditional {
        /// The condition.
        condition: Box<Expression>,
        /// The value if the condition is true.
        then: Box<Expression>,
        /// The value if the condition is false.
        otherwise: Box<Expression>,
    },
    /// `{a, b}`, or `{a, ...}`, where the remaining elements have their default values.
    List {
        /// The elements.
        elements: Vec<Expression>,
        /// The location of a trailing `...`.
        default_rest: Option<Span>,
    },
    /// `{x = a, y = b}`, or `{x = a, ...}`, where the remaining fields have their default values.
    Record {
        /// The fields.
        fields: Vec<NamedExpression>,
        /// The location of a trailing `...`.
        default_rest: Option<Span>,
    },
    /// `(a, b)` as a key set. `(a)` is represented by this variant only if its element is not an
    /// ordinary expression, as in `(a &&& b)` or `(_)`.
    TupleKeyset(Vec<Expression>),
    /// `{#}`: an invalid header or header union.
    InvalidHeader,
    /// `...`: the default value of the expected type.
    DefaultValue,
    /// `default` as a key set.
    DefaultKeyset,
    /// `_`: as a key set, it matches every value; as an argument, it ignores the value of an `out`
    /// parameter.
    DontCare,
}

/// An integer literal (§6.4.3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegerLiteral {
    /// The number that the digits denote. The checker reports a number that exceeds the width.
    pub value: BigUint,
    /// The width prefix, or `None` for an arbitrary-precision `int`.
    pub width: Option<IntegerWidth>,
    /// The base of the notation: 2, 8, 10 or 16.
    pub base: u8,
}

/// The width prefix of an integer literal, such as `8w` (for `bit<8>`) or `8s` (for `int<8>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntegerWidth {
    /// The number of bits.
    pub bits: u32,
    /// Whether the letter is `s` (signed) instead of `w`.
    pub signed: bool,
}

/// A field `name = value` in a record expression.
#[derive(Debug, Clone)]
pub struct NamedExpression {
    /// The name of the field.
    pub name: Name,
    /// The value of the field.
    pub value: Expression,
}

/// An argument of a call.
#[derive(Debug, Clone)]
pub struct Argument {
    /// The name of the parameter, or `None` if the position of the argument determines the
    /// parameter.
    pub name: Option<Name>,
    /// The value, which is [`ExpressionKind::DontCare`] for `_`.
    pub value: Expression,
}

impl Argument {
    /// Returns the location of the argument, from the name (if it has one) to the end of the value.
    pub fn span(&self) -> Span {
        self.name.as_ref().map_or(self.value.span, |name| name.span.to(self.value.span))
    }
}

/// A unary operator.
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
    /// Returns the operator as written in source.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Not => "!",
            Self::Complement => "~",
            Self::Negate => "-",
            Self::Plus => "+",
        }
    }
}

/// A binary operator.
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
    /// Returns the operator as written in source.
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
