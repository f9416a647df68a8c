//! Checks that are postponed until the whole program is known.

use std::sync::Arc;

use super::Type;
use crate::ast::DeclarationId;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// The calls and errors that are checked when the whole program is known.
#[derive(Debug, Default)]
pub(super) struct Postponed {
    /// The calls of PNA's `add_entry`, which name actions of a table.
    pub(super) add_entry_calls: Vec<AddEntryCall>,
    /// The calls of direct counters and meters, which belong to a table.
    pub(super) direct_calls: Vec<DirectCall>,
    /// Errors that are reported only if the architecture is known, since it defines the meaning of
    /// match kinds.
    pub(super) misfit_entries: Vec<Diagnostic>,
}
/// A call of `add_entry` in an action.
#[derive(Debug)]
pub(super) struct AddEntryCall {
    /// The enclosing action.
    pub(super) action: DeclarationId,
    pub(super) span: Span,
    /// The location of the argument with the name of the entry's action, and the name if it is
    /// known.
    pub(super) name: Option<(Span, Option<Arc<str>>)>,
    /// The type of the values for that action's parameters.
    pub(super) given: Type,
}

/// A call of a method of a direct extern.
#[derive(Debug)]
pub(super) struct DirectCall {
    pub(super) object: DeclarationId,
    /// The enclosing action, if there is one.
    pub(super) action: Option<DeclarationId>,
    pub(super) span: Span,
}
