//! The syntax tree: what the source text says, before names are resolved and types are known.
//!
//! It covers P4_16 1.2.4 and what p4c accepts beyond it (loops, compound assignment, `+:` slices). The tree stays
//! close to the text: nothing is desugared but the parentheses of expressions and a type that is declared inside a
//! `typedef`. Every expression, type reference and declaration carries a dense number ([`ExpressionId`],
//! [`TypeId`], [`DeclarationId`]) so that later passes keep what they learn in vectors beside the tree instead of
//! in it. Every node has a [`Span`]. How deep a tree is nested is bounded by the parser, so recursive walks are
//! safe.
//!
//! References such as "§8.9" are sections of the P4_16 language specification, version 1.2.4.

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
            /// The id with this number.
            pub fn new(index: u32) -> Self {
                Self(index)
            }

            /// The number, for use as an index into a side table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

dense_id! {
    /// Numbers the expressions of a [`Program`] from 0 without gaps.
    ExpressionId
}
dense_id! {
    /// Numbers the type references of a [`Program`] from 0 without gaps.
    TypeId
}
dense_id! {
    /// Numbers everything in a [`Program`] that declares a name, from 0 without gaps: declarations, parameters, type
    /// parameters, fields, enum members, methods, parser states.
    DeclarationId
}

/// An identifier where it stands. Two names are equal if their text is.
#[derive(Clone, Eq)]
pub struct Name {
    /// The identifier.
    pub text: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

impl Name {
    /// The identifier.
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

/// A use of a name: `name`, or `.name` to look it up at the top level only (§6.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Whether a dot stands before the name.
    pub absolute: bool,
    /// The name.
    pub name: Name,
}

impl Path {
    /// Where the path stands; the dot is not part of it.
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

/// A whole program, the files that it includes among it, in source order.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The declarations of the top level.
    pub declarations: Vec<Declaration>,
    /// One more than the largest [`ExpressionId`].
    pub expression_count: u32,
    /// One more than the largest [`TypeId`].
    pub type_count: u32,
    /// One more than the largest [`DeclarationId`].
    pub declaration_count: u32,
}
