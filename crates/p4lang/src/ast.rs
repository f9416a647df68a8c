//! The syntax tree, which represents the source text before names are resolved and types are known.
//! The parser builds it, and the checker and the lowering read it.
//!
//! It covers P4_16 1.2.5 and extensions that p4c accepts (compound assignment, `+:` slices).
//! The tree is close to the text: parentheses around expressions are dropped, and a type that is
//! declared inside a `typedef` becomes a declaration of its own, but nothing else is desugared.
//! Expressions, type references and declarations are numbered consecutively ([`ExpressionId`],
//! [`TypeId`], [`DeclarationId`]), so that later passes can store their results in vectors that are
//! indexed by these numbers. Every node has a [`Span`]. The parser limits the nesting depth of the
//! tree, so recursive traversal is safe.
//!
//! References such as "§8.9" are to sections of the P4_16 language specification, version 1.2.4.

mod annotation;
mod declaration;
mod expression;
mod statement;
mod types;
pub(crate) mod walk;

use std::fmt;
use std::sync::Arc;

pub use annotation::{Annotation, AnnotationBody, AnnotationToken, HOLDS_EXPRESSIONS, KeyValue};
pub use declaration::{
    ActionReference, Entry, KeyElement, Table, TableProperty, TablePropertyKind,
};
pub use declaration::{
    Constructor, Control, ControlType, Declaration, DeclarationKind, EnumMember, ExternObject,
    FunctionPrototype, Instantiation, Method, Package, Parameter, ParserDeclaration, ParserType,
    StructField, TypeParameter, ValueSet,
};
pub use expression::{
    Argument, BinaryOperator, Expression, ExpressionKind, IntegerLiteral, IntegerWidth,
    NamedExpression, UnaryOperator,
};
pub use statement::{
    Block, ParserState, SelectCase, Statement, StatementKind, SwitchCase, SwitchLabel, Transition,
    TransitionKind,
};
pub use types::{Direction, Type, TypeKind};

use crate::source::Span;

macro_rules! dense_id {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// Creates an id from its number.
            pub fn new(index: u32) -> Self {
                Self(index)
            }

            /// Returns the number of this id. Compiler passes use it as an index into vectors of
            /// their results.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

dense_id! {
    /// The number of an expression. The expressions of a [`Program`] are numbered consecutively
    /// from 0.
    ExpressionId
}
dense_id! {
    /// The number of a type reference. The type references of a [`Program`] are numbered
    /// consecutively from 0.
    TypeId
}
dense_id! {
    /// The number of an item that declares a name: a declaration, parameter, type parameter, field,
    /// enum member, method or parser state. These items of a [`Program`] are numbered consecutively
    /// from 0.
    DeclarationId
}

/// An identifier and its location. Two names are equal if their texts are, regardless of location.
#[derive(Clone, Eq)]
pub struct Name {
    /// The text of the identifier.
    pub text: Arc<str>,
    /// The location of the identifier.
    pub span: Span,
}

impl Name {
    /// Returns the text of the identifier.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl std::hash::Hash for Name {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, formatter)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// A reference to a name: `name`, or `.name`, which is looked up only among the declarations at top
/// level (§6.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Whether a dot precedes the name.
    pub absolute: bool,
    /// The name.
    pub name: Name,
}

impl Path {
    /// Returns the location of the name, without the dot.
    pub fn span(&self) -> Span {
        self.name.span
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.absolute {
            formatter.write_str(".")?;
        }
        formatter.write_str(&self.name.text)
    }
}

/// A whole program, including the files that it includes, in source order.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The declarations at top level.
    pub declarations: Vec<Declaration>,
    /// The number of [`ExpressionId`]s in use.
    pub expression_count: u32,
    /// The number of [`TypeId`]s in use.
    pub type_count: u32,
    /// The number of [`DeclarationId`]s in use.
    pub declaration_count: u32,
}
