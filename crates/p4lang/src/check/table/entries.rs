//! The entries that a program declares for a table (P4_16 §14.2.1.4): keys, priorities and actions.

use super::TablePart;
use crate::ast::{
    BinaryOperator, Declaration, Entry, Expression, ExpressionKind, Table, TableProperty,
    TablePropertyKind,
};
use crate::check::Environment;
use crate::check::checker::Checker;
use crate::check::{ActionCallFacts, Constant, EntryFacts, TableFacts, Type};
use crate::diagnostic::Diagnostic;
use ir::bits::Bits;
use num_bigint::BigInt;

impl<'program> Checker<'program, '_> {
    /// Checks the entries that a program declares for a table: their keys, priorities and actions.
    pub(super) fn entries(
        &mut self,
        declaration: &Declaration,
        table: &'program Table,
        property: &TableProperty,
        entries: &'program [Entry],
        facts: &mut TableFacts,
    ) {
        if facts.keys.is_empty() && !entries.is_empty() {
            self.error(
                "no-key",
                property.name.span,
                format!("table `{}` has no key: it cannot have entries", declaration.name),
            );
            return;
        }
        self.priorities_are_wanted(property, entries, facts);
        let types: Vec<Type> = facts.keys.iter().map(|key| key.ty.clone()).collect();
        for entry in entries {
            self.annotations(&entry.annotations);
            self.key_set(&entry.keyset, &types, true);
            self.fits_match_kinds(entry, facts);
            let priority = entry.priority.as_ref().and_then(|priority| self.priority(priority));
            let arguments = entry.action.arguments.as_deref().unwrap_or(&[]);
            let Some((action, bound)) = self.action_call(
                &entry.action.action,
                arguments,
                entry.action.span,
                TablePart::Entry,
            ) else {
                continue;
            };
            let listed = self.listed(table, facts, action, arguments, &bound, entry.action.span);
            let Some((position, reference)) = listed else { continue };
            if let Some(annotation) =
                reference.annotations.iter().find(|a| a.name.as_str() == "defaultonly")
            {
                self.report(
                    Diagnostic::error(
                        "not-listed",
                        entry.action.span,
                        "this action is for misses only",
                    )
                    .secondary(annotation.span, "marked here"),
                );
            }
            facts.entries.push(EntryFacts {
                action: ActionCallFacts { position, arguments: bound },
                priority,
            });
        }
        self.priorities_fit(table, entries);
    }

    /// Checks that implicit priorities stay in range. An entry that states no priority has the
    /// priority of the previous entry plus or minus `priority_delta` (§14.2.1.4).
    fn priorities_fit(&mut self, table: &Table, entries: &[Entry]) {
        let property = |name: &str| match table.property(name).map(|property| &property.kind) {
            Some(TablePropertyKind::Value(value)) => self.out.evaluate_own(value),
            _ => None,
        };
        let delta = property("priority_delta")
            .and_then(|delta| delta.to_integer())
            .unwrap_or_else(|| BigInt::from(1));
        let smallest_wins = property("largest_priority_wins") == Some(Constant::Bool(false));
        let mut next: Option<BigInt> = None;
        for entry in entries {
            let given =
                entry.priority.as_ref().and_then(|priority| self.out.evaluate_own(priority));
            let Some(current) = given.and_then(|given| given.to_integer()).or(next) else { return };
            let after = if smallest_wins { current + &delta } else { current - &delta };
            if u64::try_from(&after).is_err() {
                self.error(
                    "out-of-range",
                    entry.span,
                    format!("the priority after this one would be {after}"),
                );
                return;
            }
            next = Some(after);
        }
    }

    /// Checks that entries state priorities only if the list of entries is not `const` and entries
    /// may overlap, and that in this case the first entry states one (§14.2.1.4).
    fn priorities_are_wanted(
        &mut self,
        property: &TableProperty,
        entries: &[Entry],
        facts: &TableFacts,
    ) {
        let Some(priority) = entries.iter().find_map(|entry| entry.priority.as_ref()) else {
            return;
        };
        let without = entries.first().filter(|first| first.priority.is_none());
        let (span, message) = if property.is_const {
            (priority.span, "entries of a `const` list have no priorities: their order decides")
        } else if facts.keys.iter().all(|key| matches!(&*key.match_kind, "exact" | "lpm")) {
            (priority.span, "keys that match `exact` or `lpm` need no priorities")
        } else if let Some(first) = without {
            (first.span, "if any entry has a priority, the first one must have one")
        } else {
            return;
        };
        self.error("priority", span, message);
    }

    fn priority(&mut self, priority: &Expression) -> Option<u32> {
        let info = self.expression(priority);
        if info.ty.is_unknown() {
            return None;
        }
        let number: Option<BigInt> =
            self.out.evaluate_own(priority).as_ref().and_then(Constant::to_integer);
        match number.as_ref().map(u32::try_from) {
            Some(Ok(number)) => Some(number),
            _ => {
                self.report(
                    Diagnostic::error(
                        "not-constant",
                        priority.span,
                        "a priority must be a number known at compile time",
                    )
                    .label("a number from 0 to 4294967295 was expected"),
                );
                None
            }
        }
    }

    /// Checks that the key sets of an entry have forms that the match kinds of the keys permit.
    fn fits_match_kinds(&mut self, entry: &Entry, facts: &TableFacts) {
        let parts = entry.keyset.key_sets(facts.keys.len());
        for (part, key) in parts.iter().zip(&facts.keys) {
            let kind = &*key.match_kind;
            let (shape, allowed) = match &part.kind {
                ExpressionKind::DontCare | ExpressionKind::DefaultKeyset => {
                    // The specification has an example of such an entry (§14.2.1.4), but p4c's back
                    // ends refuse it.
                    if kind == "exact" {
                        self.warn(Diagnostic::warning(
                            "match-kind",
                            part.span,
                            "an entry for any value of a key that matches `exact`: many targets refuse it",
                        ));
                    }
                    continue;
                }
                ExpressionKind::Binary { operator: BinaryOperator::Mask, .. } => {
                    ("a mask", !matches!(kind, "exact" | "range" | "optional"))
                }
                ExpressionKind::Binary { operator: BinaryOperator::Range, .. } => {
                    ("a range", !matches!(kind, "exact" | "lpm" | "ternary" | "optional"))
                }
                _ => ("a value", true),
            };
            if !allowed {
                self.postponed.misfit_entries.push(Diagnostic::error(
                    "match-kind",
                    part.span,
                    format!("a key that matches `{kind}` cannot match {shape}"),
                ));
            } else if let ExpressionKind::Binary { operator: BinaryOperator::Range, left, right } =
                &part.kind
                && let (Some(low), Some(high)) = (self.bound(left), self.bound(right))
                && low > high
            {
                // The language defines this range as the empty set (§8.15.4), but no control plane
                // can add such an entry.
                self.postponed.misfit_entries.push(Diagnostic::error(
                    "match-kind",
                    part.span,
                    format!("no value is from {low} to {high}: the entry could never match"),
                ));
            } else if let (
                "lpm",
                ExpressionKind::Binary { operator: BinaryOperator::Mask, right, .. },
            ) = (kind, &part.kind)
                && let Some(Constant::Bits(mask)) =
                    self.out.evaluate(right, &Environment::default())
                && !is_prefix(&mask)
            {
                self.postponed.misfit_entries.push(
                    Diagnostic::error(
                        "match-kind",
                        right.span,
                        "the mask of an `lpm` key must be a prefix",
                    )
                    .label("ones, then zeros"),
                );
            }
        }
    }
}

impl Checker<'_, '_> {
    /// Evaluates a bound of a range in a key set, as a value of the key's type.
    fn bound(&self, end: &Expression) -> Option<BigInt> {
        self.out.evaluate(end, &Environment::default())?.to_integer()
    }
}

/// Returns whether the ones of a mask are all above its zeros, so that it is a prefix mask.
fn is_prefix(mask: &Bits) -> bool {
    let mut zero_seen = false;
    for position in (0..mask.width()).rev() {
        if mask.bit(position) {
            if zero_seen {
                return false;
            }
        } else {
            zero_seen = true;
        }
    }
    true
}
