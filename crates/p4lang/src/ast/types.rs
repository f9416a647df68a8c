//! Type references (P4_16 §7).

use super::{Expression, Path, TypeId};
use crate::source::Span;

/// A reference to a type.
#[derive(Debug, Clone)]
pub struct Type {
    /// The id of the type reference, which is unique in its program.
    pub id: TypeId,
    /// The location of the type reference.
    pub span: Span,
    /// The kind of type.
    pub kind: TypeKind,
}

/// The kind of a type reference.
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
    /// `bit<W>`. The width is absent for plain `bit`, which means `bit<1>`.
    Bit(Option<Box<Expression>>),
    /// `int<W>`. The width is absent for plain `int`, the type of arbitrary-precision integers.
    Int(Option<Box<Expression>>),
    /// `varbit<W>`.
    Varbit(Box<Expression>),
    /// The name of a declared type or of a type parameter.
    Named(Path),
    /// A specialised generic type, `Name<T, ...>`.
    Specialized {
        /// The generic type.
        base: Path,
        /// The type arguments, of which there is at least one.
        arguments: Vec<Type>,
    },
    /// `T[N]`.
    Stack {
        /// The type of an element.
        element: Box<Type>,
        /// The number of elements.
        size: Box<Expression>,
    },
    /// `tuple<T, ...>`.
    Tuple(Vec<Type>),
    /// `list<T>`.
    List(Box<Type>),
    /// `_` as a type argument, which is inferred.
    Infer,
}

/// The direction of a parameter (§6.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// No direction: the argument is known at compile time, or the control plane sets it.
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
    /// Returns the keyword of the direction, or an empty string for [`Direction::None`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::In => "in",
            Self::Out => "out",
            Self::InOut => "inout",
        }
    }
}
