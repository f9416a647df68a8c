//! What statements call.

use ir::{ActionId, ControlId, FunctionId, ParserId};

/// A part of a program that can be called. Each is one function of machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Callee {
    Parser(ParserId),
    Control(ControlId),
    Action(ActionId),
    Function(FunctionId),
}
