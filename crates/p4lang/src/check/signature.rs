//! What a call is held against, and the constructors whose arguments are being looked at.

use super::{Callee, Type};
use crate::ast::{ExpressionId, Parameter, TypeParameter};
use crate::source::Span;

/// What can be called.
pub(super) struct Signature<'program> {
    pub(super) callee: Callee,
    pub(super) name: String,
    pub(super) type_parameters: &'program [TypeParameter],
    pub(super) parameters: Vec<Formal<'program>>,
    pub(super) return_type: Type,
    pub(super) style: Style,
}

/// A parameter with its type in this use.
#[derive(Clone)]
pub(super) struct Formal<'program> {
    pub(super) parameter: &'program Parameter,
    pub(super) ty: Type,
}

/// Rules for arguments differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Functions, methods, `apply`: no direction means known at compile time.
    Function,
    /// Actions: no direction means `in`.
    Action,
    /// Constructors: everything is known at compile time.
    Constructor,
}

/// Constructors whose arguments are being looked at.
#[derive(Default)]
pub(super) struct Constructing<'program> {
    /// How many stand around the current place.
    pub(super) depth: u32,
    /// Nameless instances whose type arguments may follow from what they are arguments of.
    pub(super) open: Vec<Open<'program>>,
}

/// A nameless instance whose type arguments are not known yet.
pub(super) struct Open<'program> {
    pub(super) expression: ExpressionId,
    pub(super) signature: Signature<'program>,
    pub(super) span: Span,
}
