//! Warnings about the entries that a program declares for a table: entries beyond the table's size,
//! and entries that can never match.

use num_bigint::BigInt;

use super::checker::Checker;
use super::{Constant, Environment, TableFacts};
use crate::ast::{
    BinaryOperator, Declaration, Entry, Expression, ExpressionKind, Table, TablePropertyKind,
};
use crate::diagnostic::Diagnostic;

/// The values that a table entry matches for one key of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeySet {
    Any,
    Value(Constant),
    Number(BigInt),
    /// A value and a mask. Bits of the value outside the mask are zero.
    Mask(BigInt, BigInt),
    Range(BigInt, BigInt),
}

impl Checker<'_, '_> {
    /// Warns of entries beyond the size of the table, and of entries that have the same keys as an
    /// earlier entry. The language permits both, but a switch refuses to add such entries
    /// (P4Runtime 1.5, §9.1: `RESOURCE_EXHAUSTED`, `ALREADY_EXISTS`), so loading the program may
    /// fail.
    pub(super) fn entry_list(
        &mut self,
        declaration: &Declaration,
        table: &Table,
        facts: &TableFacts,
    ) {
        for property in &table.properties {
            if let TablePropertyKind::Entries(entries) = &property.kind {
                if let Some(size) = facts.size.filter(|&size| size > 0)
                    && let Some(beyond) =
                        usize::try_from(size).ok().and_then(|size| entries.get(size))
                {
                    let message = format!(
                        "table `{}` has room for {size} entries and {} are written",
                        declaration.name,
                        entries.len()
                    );
                    self.warn(
                        Diagnostic::warning("entries", beyond.span, message)
                            .note("many switches refuse such a program: make `size` larger"),
                    );
                }
                self.repeated(entries, facts);
            }
        }
    }

    /// Warns of entries that have the same keys as an earlier entry.
    fn repeated(&mut self, entries: &[Entry], facts: &TableFacts) {
        // Entries that have priorities are the same only if their priorities are equal too.
        if entries.iter().any(|entry| entry.priority.is_some()) {
            return;
        }
        let mut seen = std::collections::HashMap::new();
        for entry in entries {
            let parts = entry.keyset.key_sets(facts.keys.len());
            let Some(sets) =
                parts.iter().map(|part| self.key_set_of(part)).collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            let shown = format!("{sets:?}");
            if let Some(first) = seen.get(&shown) {
                self.warn(
                    Diagnostic::warning(
                        "entries",
                        entry.keyset.span,
                        "a second entry with this key: no packet matches it",
                    )
                    .secondary(*first, "the first one")
                    .note("many switches do not load such a program"),
                );
            } else {
                seen.insert(shown, entry.keyset.span);
            }
        }
    }

    /// Evaluates the key set of an entry for one key. Returns `None` if a value in it is unknown or
    /// has an error.
    fn key_set_of(&self, part: &Expression) -> Option<KeySet> {
        let number =
            |end: &Expression| self.out.evaluate(end, &Environment::default())?.to_integer();
        Some(match &part.kind {
            ExpressionKind::DontCare | ExpressionKind::DefaultKeyset => KeySet::Any,
            ExpressionKind::Binary { operator: BinaryOperator::Mask, left, right } => {
                let (value, mask) = (number(left)?, number(right)?);
                KeySet::Mask(value & &mask, mask)
            }
            ExpressionKind::Binary { operator: BinaryOperator::Range, left, right } => {
                KeySet::Range(number(left)?, number(right)?)
            }
            _ => {
                let value = self.out.evaluate(part, &Environment::default())?;
                match value.to_integer() {
                    Some(number) => KeySet::Number(number),
                    None => KeySet::Value(value),
                }
            }
        })
    }
}
