//! The parts of a program that statements call.

use ir::{ActionId, ControlId, FunctionId, ParserId};

/// A part of a program that can be called: a parser, control, action or function. Machine code has
/// a function for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Callee {
    Parser(ParserId),
    Control(ControlId),
    Action(ActionId),
    Function(FunctionId),
}
