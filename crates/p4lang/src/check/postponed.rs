//! Checks that are postponed until the whole program is known.

use std::sync::Arc;

use super::Type;
use crate::ast::DeclarationId;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// The checks and errors that are postponed until the whole program is known.
#[derive(Debug, Default)]
pub(super) struct Postponed {
    /// The calls of PNA's `add_entry`, which name actions of tables that may be declared later.
    pub(super) add_entry_calls: Vec<AddEntryCall>,
    /// The calls of direct counters and meters, whose tables may be declared later.
    pub(super) direct_calls: Vec<DirectCall>,
    /// Errors about table entries whose key sets do not fit the match kinds of their keys. For an
    /// architecture that is not built in, they become warnings, since it may define its match kinds
    /// differently.
    pub(super) misfit_entries: Vec<Diagnostic>,
}
/// A call of PNA's `add_entry` in an action.
#[derive(Debug)]
pub(super) struct AddEntryCall {
    /// The action that contains the call.
    pub(super) action: DeclarationId,
    pub(super) span: Span,
    /// The argument that names the action of the new entry: its location, and the name if it is
    /// known.
    pub(super) name: Option<(Span, Option<Arc<str>>)>,
    /// The type of the value that the call passes as the data for the new entry's action.
    pub(super) given: Type,
}

/// A call of a method of a direct counter or meter.
#[derive(Debug)]
pub(super) struct DirectCall {
    pub(super) object: DeclarationId,
    /// The action that contains the call, or `None` if it is outside actions.
    pub(super) action: Option<DeclarationId>,
    pub(super) span: Span,
}
