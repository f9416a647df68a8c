//! Type references (§7).

use super::{Expression, Path, TypeId};
use crate::source::Span;

/// A type where it is used.
#[derive(Debug, Clone)]
pub struct Type {
    /// Its number.
    pub id: TypeId,
    /// Where it stands.
    pub span: Span,
    /// Which type.
    pub kind: TypeKind,
}

/// Which type.
#[derive(Debug, Clone)]
pub enum TypeKind {
    /// `bool`.
    Boolean,
    /// `error`.
    Error,
    /// `match_kind`.
    MatchKind,
    /// `string`.
    String,
    /// `void`, as a return type or a type argument.
    Void,
    /// `bit<W>`; `bit` alone has no width here and means `bit<1>`.
    Bit(Option<Box<Expression>>),
    /// `int<W>`; `int` alone has no width here and is the type of integers without bound.
    Int(Option<Box<Expression>>),
    /// `varbit<W>`.
    Varbit(Box<Expression>),
    /// A name: a declared type or a type parameter.
    Named(Path),
    /// `Name<T, ...>`.
    Specialized {
        /// The generic type.
        base: Path,
        /// Its arguments, at least one.
        arguments: Vec<Type>,
    },
    /// `T[N]`.
    Stack {
        /// What the stack holds.
        element: Box<Type>,
        /// How many.
        size: Box<Expression>,
    },
    /// `tuple<T, ...>`.
    Tuple(Vec<Type>),
    /// `list<T>`.
    List(Box<Type>),
    /// `_` as a type argument: to be inferred.
    Infer,
}

/// Direction of a parameter (§6.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// None written: bound at compile time, or by the control plane.
    #[default]
    None,
    /// `in`.
    In,
    /// `out`.
    Out,
    /// `inout`.
    InOut,
}

impl Direction {
    /// As it is written; empty for [`Direction::None`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::In => "in",
            Self::Out => "out",
            Self::InOut => "inout",
        }
    }
}
