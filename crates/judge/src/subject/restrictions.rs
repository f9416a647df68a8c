//! The constraints that a program states on table entries and on action calls, with the annotations
//! `@entry_restriction` and `@action_restriction` in its P4Info.
//!
//! Annotations, keys and entries are parsed here, independently of the code that serves our own
//! switch. Expressions are evaluated by the crate `constraints`, which the switch uses too. The
//! tests of that crate compare it with an evaluator that follows the language's specification word
//! by word, so another evaluator here would only repeat that one.

use bytes::Bytes;
use constraints::{
    ACTION_RESTRICTION, Constraint, ENTRY_RESTRICTION, Entry, Goal, Key, KeyType, Kind, Match,
    Solution, Text, Wishes,
};
use protos::config;
use protos::v1::{self, field_match, field_match::FieldMatchType};

use super::subject_kind;
use super::translation::{Translated, translated};

/// The constraint on the entries of a table, or on the arguments of an action.
#[derive(Clone, Debug)]
pub(crate) struct Restriction {
    /// The table or action that has the constraint, with its kind and name as messages show them.
    pub(crate) owner: String,
    constraint: Constraint,
    /// The identifiers of the match fields or parameters, in the order of the constraint's keys.
    ids: Vec<u32>,
}

/// A violation of a constraint by an entry or an action call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) owner: String,
    /// The positions of the constraint's parts that are violated.
    pub(crate) parts: Vec<usize>,
    /// The first part that is violated, with the values that violate it.
    pub(crate) why: String,
}

impl Restriction {
    /// Returns the constraint on a table's entries, or `None` if there is none.
    ///
    /// # Errors
    /// Returns a description of the fault if the constraint cannot be parsed.
    pub(super) fn of_table(
        p4info: &config::P4Info,
        table: &config::Table,
    ) -> Result<Option<Self>, String> {
        let keys = table.match_fields.iter().filter_map(|field| {
            let kind = constraint_kind(subject_kind(field)?);
            let form = translated(p4info, field.type_name.as_ref());
            Some((field.id, key(&field.name, kind, field.bitwidth, form)))
        });
        let (ids, keys): (Vec<u32>, Vec<Key>) = keys.unzip();
        Self::new(table.preamble.as_ref(), ids, constraints::Subject::Table(&keys))
    }

    /// Returns the constraint on an action's arguments, or `None` if there is none.
    ///
    /// # Errors
    /// Returns a description of the fault if the constraint cannot be parsed.
    pub(super) fn of_action(
        p4info: &config::P4Info,
        action: &config::Action,
    ) -> Result<Option<Self>, String> {
        let keys = action.params.iter().map(|param| {
            let form = translated(p4info, param.type_name.as_ref());
            (param.id, key(&param.name, Kind::Exact, param.bitwidth, form))
        });
        let (ids, keys): (Vec<u32>, Vec<Key>) = keys.unzip();
        Self::new(action.preamble.as_ref(), ids, constraints::Subject::Action(&keys))
    }

    fn new(
        preamble: Option<&config::Preamble>,
        ids: Vec<u32>,
        subject: constraints::Subject<'_>,
    ) -> Result<Option<Self>, String> {
        let Some(preamble) = preamble else { return Ok(None) };
        let (what, annotation) = match subject {
            constraints::Subject::Table(_) => ("table", ENTRY_RESTRICTION),
            constraints::Subject::Action(_) => ("action", ACTION_RESTRICTION),
        };
        let texts = Text::of_annotations(&preamble.annotations, annotation);
        if texts.is_empty() {
            return Ok(None);
        }
        let texts: Option<Vec<String>> = texts.into_iter().collect();
        let texts = texts.ok_or_else(|| format!("@{annotation} does not consist of strings"))?;
        match Constraint::all_of(&texts, subject) {
            Ok(constraint) => {
                Ok(Some(Self { owner: format!("{what} {}", preamble.name), constraint, ids }))
            }
            Err((_, problem)) => Err(format!("@{annotation} cannot be read: {problem}")),
        }
    }

    /// Returns the texts of the constraint's parts, all of which must hold. A part is identified by
    /// its position in this list.
    pub(crate) fn parts(&self) -> Vec<String> {
        let numbers = 0..self.constraint.conjuncts();
        numbers.filter_map(|number| self.constraint.conjunct(number)).collect()
    }

    /// Returns the parts of the constraint that an entry violates, or `None` if it satisfies the
    /// constraint.
    pub(crate) fn breach_of_entry(&self, entry: &v1::TableEntry) -> Option<Breach> {
        self.breach(&self.matches(entry), entry.priority.into())
    }

    /// Returns the parts of the constraint that a call violates, or `None` if it satisfies the
    /// constraint.
    pub(crate) fn breach_of_call(&self, call: &v1::Action) -> Option<Breach> {
        self.breach(&self.arguments(call), 0)
    }

    fn breach(&self, matches: &[Match<'_>], priority: i64) -> Option<Breach> {
        let entry = Entry { matches, priority };
        let violation = self.constraint.check(&entry).err()?;
        Some(Breach {
            owner: self.owner.clone(),
            parts: self.constraint.broken(&entry),
            why: violation.to_string(),
        })
    }

    /// Returns an entry whose match and priority satisfy or violate the constraint as `goal` says.
    /// Otherwise, they equal those of `like` as far as possible. Returns `None` if none was found.
    pub(crate) fn entry(
        &self,
        goal: Goal,
        like: &v1::TableEntry,
        seed: u64,
    ) -> Option<v1::TableEntry> {
        let preferred = self.matches(like);
        let wishes = Wishes { accepts: &[], preferred: &preferred };
        let Solution { matches, priority } = self.constraint.solve(goal, wishes, seed)?;
        let found = self.ids.iter().zip(self.constraint.keys()).zip(&matches);
        let fields = found.filter_map(|((id, key), found)| field(*id, key.kind, found));
        let entry = v1::TableEntry {
            r#match: fields.collect(),
            priority: i32::try_from(priority).ok()?,
            ..like.clone()
        };
        // The solver cannot prefer a priority, so an entry with the priority of `like` is tried
        // afterwards.
        let wished = v1::TableEntry { priority: like.priority, ..entry.clone() };
        let reaches = |entry: &v1::TableEntry| {
            let breach = self.breach_of_entry(entry);
            let parts = breach.map(|breach| breach.parts).unwrap_or_default();
            match goal {
                Goal::Satisfy => parts.is_empty(),
                Goal::Break(number) => parts == [number],
            }
        };
        let has_priority = (like.priority != 0) == (entry.priority != 0);
        Some(if has_priority && reaches(&wished) { wished } else { entry })
    }

    /// Returns an action call whose arguments satisfy or violate the constraint as `goal` says.
    /// Otherwise, they equal those of `like` as far as possible. Returns `None` if none was found.
    pub(crate) fn call(&self, goal: Goal, like: &v1::Action, seed: u64) -> Option<v1::Action> {
        let preferred = self.arguments(like);
        let wishes = Wishes { accepts: &[], preferred: &preferred };
        let solution = self.constraint.solve(goal, wishes, seed)?;
        let params = self
            .ids
            .iter()
            .zip(&solution.matches)
            .map(|(id, found)| v1::action::Param { param_id: *id, value: value_of(found) });
        Some(v1::Action { action_id: like.action_id, params: params.collect() })
    }

    /// Returns the match of an entry for each key of the constraint.
    fn matches<'e>(&self, entry: &'e v1::TableEntry) -> Vec<Match<'e>> {
        let matches = self.ids.iter().map(|id| {
            let field = entry.r#match.iter().find(|field| field.field_id == *id);
            match field.and_then(|field| field.field_match_type.as_ref()) {
                Some(FieldMatchType::Exact(exact)) => Match::exact(&exact.value),
                Some(FieldMatchType::Optional(optional)) => Match::exact(&optional.value),
                Some(FieldMatchType::Lpm(prefix)) => {
                    Match::lpm(&prefix.value, u32::try_from(prefix.prefix_len).unwrap_or(0))
                }
                Some(FieldMatchType::Ternary(ternary)) => {
                    Match::ternary(&ternary.value, &ternary.mask)
                }
                Some(FieldMatchType::Range(range)) => Match::range(&range.low, &range.high),
                Some(FieldMatchType::Other(_)) | None => Match::Any,
            }
        });
        matches.collect()
    }

    /// Returns the argument of an action call for each key of the constraint.
    fn arguments<'c>(&self, call: &'c v1::Action) -> Vec<Match<'c>> {
        let arguments = self.ids.iter().map(|id| {
            let param = call.params.iter().find(|param| param.param_id == *id);
            param.map_or(Match::Any, |param| Match::exact(&param.value))
        });
        arguments.collect()
    }
}

/// Returns a key of a constraint. `name` is the name in the P4Info. Its leading dot, which marks an
/// absolute name, is removed.
fn key(name: &str, kind: Kind, bits: i32, form: Option<Translated>) -> Key {
    let name = name.strip_prefix('.').unwrap_or(name).to_owned();
    let ty = match form {
        Some(form) if form.is_text => KeyType::Text(form.given),
        Some(_) | None => KeyType::Bits(super::width(bits)),
    };
    Key { name, kind, ty }
}

fn constraint_kind(kind: super::Kind) -> Kind {
    match kind {
        super::Kind::Exact => Kind::Exact,
        super::Kind::Lpm => Kind::Lpm,
        super::Kind::Ternary => Kind::Ternary,
        super::Kind::Range => Kind::Range,
        super::Kind::Optional => Kind::Optional,
    }
}

/// Returns the message for a match of a field, or `None` if the field is left out.
fn field(field_id: u32, kind: Kind, found: &Match<'_>) -> Option<v1::FieldMatch> {
    let bytes = |value: &[u8]| Bytes::copy_from_slice(value);
    let matched = match found {
        Match::Any => return None,
        Match::Exact(value) if kind == Kind::Optional => {
            FieldMatchType::Optional(field_match::Optional { value: bytes(value) })
        }
        Match::Exact(value) => FieldMatchType::Exact(field_match::Exact { value: bytes(value) }),
        Match::Ternary { value, mask } => {
            FieldMatchType::Ternary(field_match::Ternary { value: bytes(value), mask: bytes(mask) })
        }
        Match::Lpm { value, prefix_length } => FieldMatchType::Lpm(field_match::Lpm {
            value: bytes(value),
            prefix_len: prefix_length.cast_signed(),
        }),
        Match::Range { low, high } => {
            FieldMatchType::Range(field_match::Range { low: bytes(low), high: bytes(high) })
        }
    };
    Some(v1::FieldMatch { field_id, field_match_type: Some(matched) })
}

/// Returns the value of an argument, which is an exact match.
fn value_of(argument: &Match<'_>) -> Bytes {
    match argument {
        Match::Exact(value) => Bytes::copy_from_slice(value),
        Match::Any | Match::Ternary { .. } | Match::Lpm { .. } | Match::Range { .. } => {
            Bytes::from_static(&[0])
        }
    }
}
