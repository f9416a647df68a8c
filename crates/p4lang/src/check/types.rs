//! The representation of types in the checker.
//!
//! A [`Type`] is cheap to clone, and two types are equal if P4_16 considers them the same. A
//! declared type is identified by its declaration and its type arguments. A `typedef` is replaced
//! by the type for which it stands, while `type` declares a distinct type. Inside the body of a
//! generic declaration, a type parameter is a [`Type::Variable`]. For one use of the declaration,
//! [`Type::substitute`] replaces it with the type that [`Bindings`] contains for it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::DeclarationId;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// The type of an erroneous expression. It fits every context, so that an error is reported
    /// only once. It does not occur in a program without errors.
    Unknown,
    /// The return type of a function without a result.
    Void,
    /// `bool`.
    Bool,
    /// `error`.
    Error,
    /// `match_kind`.
    MatchKind,
    /// `string`.
    String,
    /// `int`, the type of arbitrary-precision integers, which are known at compile time.
    Integer,
    /// `bit<W>`, or `int<W>` if `signed` is true.
    Bits {
        /// The width `W` in bits.
        width: u32,
        /// Whether the type is `int<W>`.
        signed: bool,
    },
    /// `varbit<W>`.
    Varbit {
        /// The largest width `W` in bits.
        max_width: u32,
    },
    /// `tuple<T, ...>`, or the type of a list expression `{a, b}` before its conversion. A type
    /// parameter has the latter type if its argument is such an expression.
    Tuple(Arc<[Type]>),
    /// The type of a record expression `{x = a, y = b}` before its conversion: a struct without a
    /// name. A type parameter has this type if its argument is such an expression.
    Record(Arc<[(Arc<str>, Type)]>),
    /// `list<T>`.
    List(Arc<Type>),
    /// An array `T[N]`, which is a header stack if `T` is a header or header union.
    Stack {
        /// The type `T` of an element.
        element: Arc<Type>,
        /// The number `N` of elements.
        size: u32,
    },
    /// A struct.
    Struct(Named),
    /// A header.
    Header(Named),
    /// A header union.
    HeaderUnion(Named),
    /// An enumeration without an underlying type.
    Enum(DeclarationId),
    /// A serializable enumeration. [`super::Checked::underlying`] returns its underlying type.
    SerializableEnum(DeclarationId),
    /// A new type, `type T name`. [`super::Checked::underlying`] returns `T`.
    NewType(DeclarationId),
    /// A type parameter inside its generic declaration.
    Variable(DeclarationId),
    /// An extern object.
    Extern(Named),
    /// A parser or a parser type.
    Parser(Named),
    /// A control or a control type.
    Control(Named),
    /// A package.
    Package(Named),
    /// A table.
    Table(DeclarationId),
    /// The result of `table.apply()`, with the members `hit`, `miss` and `action_run`.
    ApplyResult(DeclarationId),
    /// The type of `table.apply().action_run`: an enumeration of the table's actions.
    ActionRun(DeclarationId),
    /// The type of an expression that names an action, function, method or constructor.
    Callable,
    /// The type of an expression that names a parser state.
    State,
    /// A set of values of this type (P4_16 §8.16): a mask, a range or a value set.
    Set(Arc<Type>),
    /// The type of `{#}`, `...` or `_` before conversion, and of `default` and `_` as key sets.
    Any,
    /// The type of an expression that names a type, such as `E` in `E.A` or `H` in
    /// `H.minSizeInBits()`.
    Name(Arc<Type>),
    /// The `...` at the end of a list or record expression, which is its last element or field.
    /// Used only within the checker.
    DefaultRest,
    /// An inference variable. Used only within the checker, and never part of its results.
    Inferred(u32),
}

/// A declared type with its type arguments. A type that is not generic has none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Named {
    /// The declaration of the type.
    pub declaration: DeclarationId,
    /// The type arguments, in the order of the type parameters.
    pub arguments: Arc<[Type]>,
}

impl Named {
    /// Creates a type without type arguments.
    pub fn plain(declaration: DeclarationId) -> Self {
        Self { declaration, arguments: Arc::from([]) }
    }
}

/// The largest number of parts of a type; see [`Type::is_huge`].
const LARGEST: u32 = 4096;

impl Type {
    /// Returns the type `bit<width>`.
    pub fn bit(width: u32) -> Self {
        Self::Bits { width, signed: false }
    }

    /// Returns the type `int<width>`.
    pub fn int(width: u32) -> Self {
        Self::Bits { width, signed: true }
    }

    /// Returns whether the type is `bit<W>` or `int<W>`.
    pub fn is_bits(&self) -> bool {
        matches!(self, Self::Bits { .. })
    }

    /// Returns whether the type is `bit<W>`, `int<W>` or `int`.
    pub fn is_numeric(&self) -> bool {
        matches!(self, Self::Bits { .. } | Self::Integer)
    }

    /// Returns whether the type is [`Type::Unknown`], the type of an erroneous expression.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// Returns whether the type, written out, has more parts than any reasonable program needs.
    /// Types can grow exponentially with the program. A huge type is refused as soon as it arises,
    /// so that every traversal of a type is fast.
    pub(super) fn is_huge(&self) -> bool {
        let mut parts = 0_u32;
        self.any(&mut |_| {
            parts += 1;
            parts > LARGEST
        })
    }

    /// Returns the number of parts of the type after `bindings` is substituted for its type
    /// parameters, or `None` if that is more than any reasonable program needs.
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

    /// Returns whether an expression of this type is data or an object. It is neither if it is, for
    /// example, a table, a function or the name of a type.
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

    /// Returns the declaration and the type arguments of a struct, header, header union, extern,
    /// parser, control or package, and `None` for any other type.
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

    /// Returns the type with type parameters replaced by the types in `bindings`. A parameter
    /// without a binding remains.
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

    /// Returns the type with some of its parts replaced. `replace` is called for each part. If it
    /// returns a type, this type replaces the part, and the parts inside it are not examined.
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

    /// Returns whether `test` holds for the type or for any type argument, element or field inside
    /// it. The fields of declared types are not examined.
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

/// The types for which the type parameters of a generic declaration stand in one use of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bindings(HashMap<DeclarationId, Type>);

impl Bindings {
    /// Creates an empty set of bindings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds a type parameter to a type. An earlier binding of the parameter is replaced.
    pub fn bind(&mut self, parameter: DeclarationId, ty: Type) {
        self.0.insert(parameter, ty);
    }

    /// Returns the type to which a type parameter is bound, or `None` if it is not bound.
    pub fn get(&self, parameter: DeclarationId) -> Option<&Type> {
        self.0.get(&parameter)
    }

    /// Returns whether no type parameter is bound.
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
