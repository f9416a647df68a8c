//! Generated entries that satisfy the constraints of their tables and actions
//! (`@entry_restriction`, `@action_restriction`).
//!
//! An entry that violates a constraint is replaced by one that the solver of the crate
//! `constraints` finds. It matches the same packet, and keeps as many of the original matches as
//! the constraint allows. Constraints refer to the values that controllers write. For keys with
//! translation, these are here the numbers that the program uses.

use constraints::{
    ACTION_RESTRICTION, Constraint, ENTRY_RESTRICTION, Entry, Goal, Key, KeyType, Kind, Match,
    Subject, Text, Wishes,
};
use ir::bits::Bits;
use ir::{ActionId, Annotation, AnnotationBody, MatchKind, Program, TableId, TypeId};
use pipeline::{FieldMatch, TableEntry};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The constraints on the table entries and the action arguments of a program.
#[derive(Debug, Default)]
pub(super) struct Constrained {
    /// The constraint on each table, with the positions of those keys of the table that the
    /// constraint can refer to.
    tables: BTreeMap<TableId, (Constraint, Vec<usize>)>,
    actions: BTreeMap<ActionId, Constraint>,
}

impl Constrained {
    /// Collects the constraints of a program. An invalid constraint has no effect here, because the
    /// compiler refuses sources with one.
    pub(super) fn new(program: &Program) -> Self {
        let mut constrained = Self::default();
        for (number, table) in (0..).zip(&program.tables) {
            let texts = texts(&table.annotations, ENTRY_RESTRICTION);
            if texts.is_empty() {
                continue;
            }
            let keys = table.keys.iter().enumerate().filter_map(|(position, key)| {
                let kind = kind(&key.match_kind)?;
                let name = name(&key.annotations, &key.name);
                Some((position, of(program, name, kind, key.expression.type_id)))
            });
            let (positions, keys): (Vec<_>, Vec<_>) = keys.unzip();
            if let Ok(constraint) = Constraint::all_of(&texts, Subject::Table(&keys)) {
                constrained.tables.insert(TableId(number), (constraint, positions));
            }
        }
        for (number, action) in (0..).zip(&program.actions) {
            let texts = texts(&action.annotations, ACTION_RESTRICTION);
            if texts.is_empty() {
                continue;
            }
            let parameters = action.control_plane_parameters().map(|parameter| {
                let name = name(&parameter.annotations, &parameter.name);
                of(program, name, Kind::Exact, parameter.type_id)
            });
            let keys: Vec<Key> = parameters.collect();
            if let Ok(constraint) = Constraint::all_of(&texts, Subject::Action(&keys)) {
                constrained.actions.insert(ActionId(number), constraint);
            }
        }
        constrained
    }

    /// Returns an entry that matches the looked-up keys and satisfies the constraint of its table:
    /// `entry` itself, if it does, and otherwise the solver's replacement.
    pub(super) fn entry(
        &self,
        table: TableId,
        entry: TableEntry,
        keys: &[Bits],
        seed: u64,
    ) -> Result<TableEntry, String> {
        let Some((constraint, positions)) = self.tables.get(&table) else { return Ok(entry) };
        let found = positions.iter().filter_map(|position| entry.matches.get(*position));
        let preferred: Vec<Match<'static>> = found.map(matched).collect();
        let given = Entry { matches: &preferred, priority: entry.priority.into() };
        if constraint.is_satisfied(&given) {
            return Ok(entry);
        }
        let bytes = |position: &usize| Some(keys.get(*position)?.to_be_bytes().into());
        let accepts: Vec<Option<Box<[u8]>>> = positions.iter().map(bytes).collect();
        let wishes = Wishes { accepts: &accepts, preferred: &preferred };
        let solution = constraint.solve(Goal::Satisfy, wishes, seed);
        let solution = solution
            .ok_or_else(|| format!("no entry for a packet satisfies {}", shown(constraint)))?;
        let mut entry = TableEntry { priority: solution.priority, ..entry };
        for (position, made) in positions.iter().zip(&solution.matches) {
            if let (Some(to), Some(key)) = (entry.matches.get_mut(*position), keys.get(*position)) {
                *to = field_match(made, key);
            }
        }
        Ok(entry)
    }

    /// Returns arguments that satisfy the constraint of an action: `arguments` themselves, if they
    /// do, and otherwise the solver's replacement.
    pub(super) fn arguments(
        &self,
        action: ActionId,
        arguments: Vec<Bits>,
        seed: u64,
    ) -> Result<Vec<Bits>, String> {
        let Some(constraint) = self.actions.get(&action) else { return Ok(arguments) };
        let preferred: Vec<Match<'static>> =
            arguments.iter().map(|value| Match::Exact(value.to_be_bytes().into())).collect();
        if constraint.is_satisfied(&Entry { matches: &preferred, priority: 0 }) {
            return Ok(arguments);
        }
        let wishes = Wishes { accepts: &[], preferred: &preferred };
        let solution = constraint.solve(Goal::Satisfy, wishes, seed);
        let solution =
            solution.ok_or_else(|| format!("no arguments satisfy {}", shown(constraint)))?;
        let made = arguments.iter().zip(&solution.matches);
        Ok(made.map(|(given, made)| number(exact(made), given)).collect())
    }
}

/// Returns the texts of all annotations that have the given name.
fn texts(annotations: &[Annotation], name: &str) -> Vec<String> {
    let named = annotations.iter().filter(|annotation| annotation.name == name);
    let texts = named.filter_map(|annotation| match &annotation.body {
        AnnotationBody::Tokens(tokens) => Text::from_literals(&tokens.join(" ")),
        AnnotationBody::Empty | AnnotationBody::Expressions(_) | AnnotationBody::KeyValues(_) => {
            None
        }
    });
    texts.map(|text| text.text().to_owned()).collect()
}

/// Returns the name by which the control plane refers to a key or parameter.
fn name<'p>(annotations: &'p [Annotation], declared: &'p str) -> &'p str {
    let mut all = annotations.iter().rev();
    let annotation = all.find(|annotation| annotation.name == "name");
    let name = annotation.and_then(Annotation::single_string).unwrap_or(declared);
    name.strip_prefix('.').unwrap_or(name)
}

fn of(program: &Program, name: &str, kind: Kind, type_id: TypeId) -> Key {
    let width = program.types.width_in_bits(type_id).unwrap_or(0);
    let width = u32::try_from(width).unwrap_or(u32::MAX);
    Key { name: name.to_owned(), kind, ty: KeyType::Bits(width) }
}

fn kind(kind: &MatchKind) -> Option<Kind> {
    match kind {
        MatchKind::Exact => Some(Kind::Exact),
        MatchKind::Lpm => Some(Kind::Lpm),
        MatchKind::Ternary => Some(Kind::Ternary),
        MatchKind::Range => Some(Kind::Range),
        MatchKind::Optional => Some(Kind::Optional),
        MatchKind::Selector | MatchKind::Other(_) => None,
    }
}

fn matched(of: &FieldMatch) -> Match<'static> {
    let bytes = |value: &Bits| Cow::Owned(value.to_be_bytes());
    match of {
        FieldMatch::Any => Match::Any,
        FieldMatch::Exact(value) => Match::Exact(bytes(value)),
        FieldMatch::Ternary { value, mask } => {
            Match::Ternary { value: bytes(value), mask: bytes(mask) }
        }
        FieldMatch::Lpm { value, prefix_length } => {
            Match::Lpm { value: bytes(value), prefix_length: *prefix_length }
        }
        FieldMatch::Range { low, high } => Match::Range { low: bytes(low), high: bytes(high) },
    }
}

/// Converts a match to one of a table entry. `key` is a value of the match's key, which determines
/// its width.
fn field_match(of: &Match<'_>, key: &Bits) -> FieldMatch {
    match of {
        Match::Any => FieldMatch::Any,
        Match::Exact(value) => FieldMatch::Exact(number(value, key)),
        Match::Ternary { value, mask } => {
            FieldMatch::Ternary { value: number(value, key), mask: number(mask, key) }
        }
        Match::Lpm { value, prefix_length } => {
            FieldMatch::Lpm { value: number(value, key), prefix_length: *prefix_length }
        }
        Match::Range { low, high } => {
            FieldMatch::Range { low: number(low, key), high: number(high, key) }
        }
    }
}

/// Returns the value of an exact match. Action arguments are represented as exact matches.
fn exact<'m>(of: &'m Match<'_>) -> &'m [u8] {
    match of {
        Match::Exact(value) => value,
        Match::Any | Match::Ternary { .. } | Match::Lpm { .. } | Match::Range { .. } => &[],
    }
}

/// Returns the number that the bytes represent, with the width and signedness of `like`.
fn number(bytes: &[u8], like: &Bits) -> Bits {
    Bits::from_be_bytes(like.width(), like.is_signed(), bytes)
}

fn shown(constraint: &Constraint) -> String {
    let parts = (0..constraint.conjuncts()).filter_map(|number| constraint.conjunct(number));
    format!("the constraint `{}`", parts.collect::<Vec<_>>().join("; "))
}
