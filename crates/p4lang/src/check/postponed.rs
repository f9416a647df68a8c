//! What is looked at when the whole program is known.

use std::sync::Arc;

use super::Type;
use crate::ast::DeclarationId;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// What is looked at when the whole program is known.
#[derive(Debug, Default)]
pub(super) struct Postponed {
    /// Calls of PNA's `add_entry`, which name actions of a table.
    pub(super) add_entry_calls: Vec<AddEntryCall>,
    /// Calls of direct counters and meters, which belong to a table.
    pub(super) direct_calls: Vec<DirectCall>,
    /// Errors only where a known architecture gives match kinds their meaning.
    pub(super) misfit_entries: Vec<Diagnostic>,
}
/// A call of `add_entry` in an action.
#[derive(Debug)]
pub(super) struct AddEntryCall {
    /// The action around it.
    pub(super) action: DeclarationId,
    pub(super) span: Span,
    /// Where the name of the entry's action stands, and the name if it is known.
    pub(super) name: Option<(Span, Option<Arc<str>>)>,
    /// The type of what is given for that action's parameters.
    pub(super) given: Type,
}

/// A call of a method of a direct extern.
#[derive(Debug)]
pub(super) struct DirectCall {
    pub(super) object: DeclarationId,
    /// The action around it.
    pub(super) action: Option<DeclarationId>,
    pub(super) span: Span,
}
