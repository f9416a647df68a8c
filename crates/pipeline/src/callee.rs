//! The parts of a program that statements call.

use ir::{ActionId, ControlId, FunctionId, ParserId};

/// A parser, control, action or function of a program. Machine code has a generated function for
/// each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Callee {
    Parser(ParserId),
    Control(ControlId),
    Action(ActionId),
    Function(FunctionId),
}
