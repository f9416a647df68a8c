//! Types as the rules of the language see them.
//!
//! A [`Type`] is a value: cheap to clone, equal where P4_16 says that two types are the same. Declared types are
//! named by their declaration and their type arguments; `typedef` is gone, `type` stays a type of its own. Inside
//! the body of a generic declaration a type parameter is [`Type::Variable`]; [`Type::substitute`] with the
//! [`Bindings`] of one use makes the type concrete.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::DeclarationId;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// The type of something that is in error: fits everywhere, so that one mistake is reported once. It does not
    /// occur in a program without errors.
    Unknown,
    /// What a function without result returns.
    Void,
    /// `bool`.
    Bool,
    /// `error`.
    Error,
    /// `match_kind`.
    MatchKind,
    /// `string`.
    String,
    /// `int`: integers without bound, known at compile time.
    Integer,
    /// `bit<W>`, or `int<W>` where `signed`.
    Bits {
        /// W.
        width: u32,
        /// Two's complement?
        signed: bool,
    },
    /// `varbit<W>`.
    Varbit {
        /// W, the most bits that a value may have.
        max_width: u32,
    },
    /// `tuple<T, ...>`. Also what a list expression `{a, b}` has by itself, and what a type parameter is bound to
    /// when the argument is one.
    Tuple(Arc<[Type]>),
    /// What a record expression `{x = a, y = b}` has by itself, and what a type parameter is bound to when the
    /// argument is one: a struct without name.
    Record(Arc<[(Arc<str>, Type)]>),
    /// `list<T>`.
    List(Arc<Type>),
    /// `T[N]`.
    Stack {
        /// T.
        element: Arc<Type>,
        /// N.
        size: u32,
    },
    /// A struct.
    Struct(Named),
    /// A header.
    Header(Named),
    /// A header union.
    HeaderUnion(Named),
    /// An enum without representation.
    Enum(DeclarationId),
    /// An enum with a representation; [`super::Checked::underlying`] tells it.
    SerializableEnum(DeclarationId),
    /// `type T name`; [`super::Checked::underlying`] tells T.
    NewType(DeclarationId),
    /// A type parameter, inside the generic declaration.
    Variable(DeclarationId),
    /// An extern object.
    Extern(Named),
    /// A parser, by its declaration or by a parser type.
    Parser(Named),
    /// A control, by its declaration or by a control type.
    Control(Named),
    /// A package.
    Package(Named),
    /// A table.
    Table(DeclarationId),
    /// What `table.apply()` gives: a struct of `hit`, `miss` and `action_run`.
    ApplyResult(DeclarationId),
    /// What `table.apply().action_run` is, by the table: an enumeration of its actions.
    ActionRun(DeclarationId),
    /// An action, function, method or constructor where it is named.
    Callable,
    /// A parser state where it is named.
    State,
    /// A key set of values of this type (§8.16): a mask, a range, a value set.
    Set(Arc<Type>),
    /// `{#}`, `...` or `_` before the context gives it a type; `default` and `_` as a key set.
    Any,
    /// An expression that names this type: `E` in `E.A`, `H` in `H.minSizeInBits()`.
    Name(Arc<Type>),
    /// The `...` at the end of a list or record expression, as its last element or field; internal to the checker.
    DefaultRest,
    /// To be inferred; internal to the checker, does not occur in what it returns.
    Inferred(u32),
}

/// A declared type with its type arguments, which are empty for a type that is not generic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Named {
    /// The declaration.
    pub declaration: DeclarationId,
    /// The arguments, in the order of the type parameters.
    pub arguments: Arc<[Type]>,
}

impl Named {
    /// A type without type parameters.
    pub fn plain(declaration: DeclarationId) -> Self {
        Self { declaration, arguments: Arc::from([]) }
    }
}

/// See [`Type::is_huge`].
const LARGEST: u32 = 4096;

impl Type {
    /// `bit<width>`.
    pub fn bit(width: u32) -> Self {
        Self::Bits { width, signed: false }
    }

    /// `int<width>`.
    pub fn int(width: u32) -> Self {
        Self::Bits { width, signed: true }
    }

    /// `bit<W>` or `int<W>`.
    pub fn is_bits(&self) -> bool {
        matches!(self, Self::Bits { .. })
    }

    /// `bit<W>`, `int<W>` or `int`.
    pub fn is_numeric(&self) -> bool {
        matches!(self, Self::Bits { .. } | Self::Integer)
    }

    /// Whether it is [`Type::Unknown`].
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// Whether the type, written out, has more parts than any program means. Types of types grow exponentially with
    /// the program; they are refused where they arise, so that every walk over a type is short.
    pub(super) fn is_huge(&self) -> bool {
        let mut parts = 0_u32;
        self.any(&mut |_| {
            parts += 1;
            parts > LARGEST
        })
    }

    /// How many parts the type has once type parameters are replaced; `None` if it is then huge.
    pub(crate) fn parts_with(&self, bindings: &Bindings) -> Option<u32> {
        let mut parts = 0_u32;
        let huge = self.any(&mut |ty| {
            parts += 1;
            if let Self::Variable(parameter) = ty
                && let Some(bound) = bindings.get(*parameter)
            {
                bound.any(&mut |_| {
                    parts += 1;
                    parts > LARGEST
                });
            }
            parts > LARGEST
        });
        (!huge).then_some(parts)
    }

    /// Whether an expression of this type is data or an object, not a table, a function or a type.
    pub(super) fn is_value(&self) -> bool {
        !matches!(
            self,
            Self::Table(_)
                | Self::Callable
                | Self::State
                | Self::Name(_)
                | Self::ApplyResult(_)
                | Self::ActionRun(_)
        )
    }

    /// The declaration and type arguments of a declared struct-like or object type.
    pub fn named(&self) -> Option<&Named> {
        match self {
            Self::Struct(named)
            | Self::Header(named)
            | Self::HeaderUnion(named)
            | Self::Extern(named)
            | Self::Parser(named)
            | Self::Control(named)
            | Self::Package(named) => Some(named),
            _ => None,
        }
    }

    /// Puts types in the place of type parameters. A parameter without binding stays.
    #[must_use]
    pub fn substitute(&self, bindings: &Bindings) -> Self {
        if bindings.is_empty() {
            return self.clone();
        }
        self.map(&mut |ty| match ty {
            Self::Variable(parameter) => bindings.get(*parameter).cloned(),
            _ => None,
        })
    }

    /// Rebuilds the type; where `replace` gives a type, that one is put in and not looked into.
    pub(crate) fn map(&self, replace: &mut dyn FnMut(&Self) -> Option<Self>) -> Self {
        if let Some(replaced) = replace(self) {
            return replaced;
        }
        let mut named = |named: &Named| Named {
            declaration: named.declaration,
            arguments: if named.arguments.is_empty() {
                named.arguments.clone()
            } else {
                named.arguments.iter().map(|argument| argument.map(replace)).collect()
            },
        };
        match self {
            Self::Struct(inner) => Self::Struct(named(inner)),
            Self::Header(inner) => Self::Header(named(inner)),
            Self::HeaderUnion(inner) => Self::HeaderUnion(named(inner)),
            Self::Extern(inner) => Self::Extern(named(inner)),
            Self::Parser(inner) => Self::Parser(named(inner)),
            Self::Control(inner) => Self::Control(named(inner)),
            Self::Package(inner) => Self::Package(named(inner)),
            Self::Tuple(elements) => {
                Self::Tuple(elements.iter().map(|element| element.map(replace)).collect())
            }
            Self::Record(fields) => Self::Record(
                fields.iter().map(|(name, ty)| (name.clone(), ty.map(replace))).collect(),
            ),
            Self::List(element) => Self::List(Arc::new(element.map(replace))),
            Self::Set(element) => Self::Set(Arc::new(element.map(replace))),
            Self::Name(inner) => Self::Name(Arc::new(inner.map(replace))),
            Self::Stack { element, size } => {
                Self::Stack { element: Arc::new(element.map(replace)), size: *size }
            }
            _ => self.clone(),
        }
    }

    /// Whether `test` holds for the type or a type argument, element or field inside it. Declared types are not
    /// looked into.
    pub(crate) fn any(&self, test: &mut dyn FnMut(&Self) -> bool) -> bool {
        if test(self) {
            return true;
        }
        match self {
            Self::Tuple(elements) => elements.iter().any(|element| element.any(test)),
            Self::Record(fields) => fields.iter().any(|(_, ty)| ty.any(test)),
            Self::List(element) | Self::Set(element) | Self::Name(element) => element.any(test),
            Self::Stack { element, .. } => element.any(test),
            _ => self
                .named()
                .is_some_and(|named| named.arguments.iter().any(|argument| argument.any(test))),
        }
    }
}

/// What the type parameters of a generic declaration stand for in one use of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bindings(HashMap<DeclarationId, Type>);

impl Bindings {
    /// No type parameter bound.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds a type parameter; the last binding counts.
    pub fn bind(&mut self, parameter: DeclarationId, ty: Type) {
        self.0.insert(parameter, ty);
    }

    /// What a type parameter is bound to.
    pub fn get(&self, parameter: DeclarationId) -> Option<&Type> {
        self.0.get(&parameter)
    }

    /// Whether nothing is bound.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(DeclarationId, Type)> for Bindings {
    fn from_iter<I: IntoIterator<Item = (DeclarationId, Type)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl Extend<(DeclarationId, Type)> for Bindings {
    fn extend<I: IntoIterator<Item = (DeclarationId, Type)>>(&mut self, pairs: I) {
        self.0.extend(pairs);
    }
}
