//! Signatures of callees, and the state of checking nested constructor calls.

use super::{Callee, Type};
use crate::ast::{ExpressionId, Parameter, TypeParameter};
use crate::source::Span;

/// The signature of a callee, against which the arguments of a call are checked.
pub(super) struct Signature<'program> {
    pub(super) callee: Callee,
    pub(super) name: String,
    pub(super) type_parameters: &'program [TypeParameter],
    pub(super) parameters: Vec<Formal<'program>>,
    pub(super) return_type: Type,
    pub(super) style: Style,
}

/// A parameter of a callee, with the type that it has in the current call.
#[derive(Clone)]
pub(super) struct Formal<'program> {
    pub(super) parameter: &'program Parameter,
    pub(super) ty: Type,
}

/// The kind of a call, which determines the rules for its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// A call of a function, a method or `apply`. An argument for a parameter without a direction
    /// must be known at compile time.
    Function,
    /// A call of an action. A parameter without a direction is treated as `in`.
    Action,
    /// A call of a constructor. All arguments must be known at compile time.
    Constructor,
}

/// The state of checking nested constructor calls.
#[derive(Default)]
pub(super) struct Constructing<'program> {
    /// The number of constructor calls whose arguments are currently being checked.
    pub(super) depth: u32,
    /// The anonymous instances among the arguments of these constructor calls. Their type arguments
    /// may still be inferred from the parameters to which the instances are passed.
    pub(super) open: Vec<Open<'program>>,
}

/// An anonymous instance whose type arguments may not be known yet.
pub(super) struct Open<'program> {
    pub(super) expression: ExpressionId,
    pub(super) signature: Signature<'program>,
    pub(super) span: Span,
}
