//! The constraints that `@entry_restriction` and `@action_restriction` state, and their check on
//! every write.
//!
//! The language is that of p4-constraints (crate `constraints`). A write that breaks a constraint is
//! refused before the data plane sees it, so nothing changes. Entries of a table meet the
//! constraint of the table; every call of an action meets that of the action: in an entry, a
//! default entry, a member, or a one-shot group.

use std::collections::HashMap;

use constraints::{
    ACTION_RESTRICTION, Constraint, ENTRY_RESTRICTION, Entry, Key, KeyType, Kind, Match, Subject,
    Text, given_strings,
};
use entities::schema::{ActionId, MatchFieldId, MatchKind, ParamId, Schema, TableId};
use entities::{
    ActionCall, Entity, EntityError, EntryKey, MatchKey, Matching, TableAction, TableEntry, Update,
    UpdateKind, ValueType,
};

use super::SchemaError;
use crate::proto::config::{self, P4Info};

/// The constraints of a program on table entries and action calls.
#[derive(Debug, Default)]
pub struct Restrictions {
    tables: HashMap<TableId, Restriction<MatchFieldId>>,
    actions: HashMap<ActionId, Restriction<ParamId>>,
}

/// The constraints on one table or action.
#[derive(Debug)]
struct Restriction<I> {
    /// The identifiers of the keys or parameters, in the order in which the constraints have them.
    ids: Box<[I]>,
    constraints: Box<[Constraint]>,
}

impl Restrictions {
    /// Compiles the constraints of a P4Info whose objects have been checked.
    ///
    /// # Errors
    /// Returns the first error in a constraint.
    pub(super) fn new(p4info: &P4Info, objects: &Schema) -> Result<Self, SchemaError> {
        let mut restrictions = Self::default();
        for message in &p4info.tables {
            let Some(preamble) = &message.preamble else { continue };
            let texts = texts("table", preamble, ENTRY_RESTRICTION)?;
            let Some(table) = objects.tables().get(TableId(preamble.id)) else { continue };
            if texts.is_empty() {
                continue;
            }
            let given = |id: MatchFieldId| {
                let field = message.match_fields.iter().find(|field| field.id == id.0);
                strings(p4info, field.and_then(|field| field.type_name.as_ref()))
            };
            let fields = table.match_fields.iter().filter_map(|field| {
                let ty = key_type(field.value, || given(field.id));
                let name = plain_name(&field.name);
                Some((field.id, Key { name, kind: kind(&field.kind)?, ty }))
            });
            let (ids, keys): (Vec<_>, Vec<_>) = fields.unzip();
            let object = format!("table '{}'", table.name);
            let constraints = compiled(&object, ENTRY_RESTRICTION, &texts, Subject::Table(&keys))?;
            restrictions.tables.insert(table.id, Restriction { ids: ids.into(), constraints });
        }
        for message in &p4info.actions {
            let Some(preamble) = &message.preamble else { continue };
            let texts = texts("action", preamble, ACTION_RESTRICTION)?;
            let Some(action) = objects.actions().get(ActionId(preamble.id)) else { continue };
            if texts.is_empty() {
                continue;
            }
            let given = |id: ParamId| {
                let param = message.params.iter().find(|param| param.id == id.0);
                strings(p4info, param.and_then(|param| param.type_name.as_ref()))
            };
            let params = action.params.iter().map(|param| {
                let ty = key_type(param.value, || given(param.id));
                (param.id, Key { name: plain_name(&param.name), kind: Kind::Exact, ty })
            });
            let (ids, keys): (Vec<_>, Vec<_>) = params.unzip();
            let object = format!("action '{}'", action.name);
            let constraints =
                compiled(&object, ACTION_RESTRICTION, &texts, Subject::Action(&keys))?;
            restrictions.actions.insert(action.id, Restriction { ids: ids.into(), constraints });
        }
        Ok(restrictions)
    }

    /// Returns the constraints on the entries of a table, and the match field that each of their
    /// keys stands for, in the same order.
    #[must_use]
    pub fn of_table(&self, table: TableId) -> (&[Constraint], &[MatchFieldId]) {
        self.tables.get(&table).map_or((&[], &[]), |one| (&one.constraints, &one.ids))
    }

    /// Returns the constraints on the arguments of an action, and the parameter that each of their
    /// keys stands for, in the same order.
    #[must_use]
    pub fn of_action(&self, action: ActionId) -> (&[Constraint], &[ParamId]) {
        self.actions.get(&action).map_or((&[], &[]), |one| (&one.constraints, &one.ids))
    }

    /// Refuses an update that breaks a constraint. A deletion breaks none.
    ///
    /// # Errors
    /// Returns INVALID_ARGUMENT with the smallest failing part of the constraint and its values.
    pub fn check(&self, schema: &Schema, update: &Update) -> Result<(), EntityError> {
        match update.kind {
            UpdateKind::Delete => return Ok(()),
            UpdateKind::Insert | UpdateKind::Modify => {}
        }
        match &update.entity {
            Entity::Entry(entry) => self.check_entry(schema, entry).map_err(|error| {
                let table = schema.tables().get(entry.table);
                error.within(format_args!("table '{}'", table.map_or("", |table| &table.name)))
            }),
            Entity::Member(member) => {
                member.action.iter().try_for_each(|call| self.check_call(schema, call))
            }
            Entity::DirectCounter(..)
            | Entity::DirectMeter(..)
            | Entity::Group(_)
            | Entity::Counter(_)
            | Entity::Meter(_)
            | Entity::Register(_)
            | Entity::MulticastGroup(_)
            | Entity::CloneSession(_)
            | Entity::ValueSet(_)
            | Entity::Digest(..) => Ok(()),
        }
    }

    fn check_entry(&self, schema: &Schema, entry: &TableEntry) -> Result<(), EntityError> {
        match &entry.key {
            EntryKey::Match(key) => self.check_key(entry.table, key)?,
            EntryKey::Default => {}
        }
        match &entry.action {
            Some(TableAction::Call(call)) => self.check_call(schema, call),
            Some(TableAction::OneShot(set)) => {
                let calls = set.members.iter().map(|member| &member.action);
                calls.chain(&set.group_action).try_for_each(|call| self.check_call(schema, call))
            }
            Some(TableAction::Member(_) | TableAction::Group(_)) | None => Ok(()),
        }
    }

    fn check_key(&self, table: TableId, key: &MatchKey) -> Result<(), EntityError> {
        let Some(restriction) = self.tables.get(&table) else { return Ok(()) };
        // Match fields are in the order of declaration, and so are the identifiers.
        let mut fields = key.fields.iter().peekable();
        let matches: Vec<Match<'_>> = restriction
            .ids
            .iter()
            .map(|id| match fields.next_if(|field| field.field == *id) {
                Some(field) => matching(&field.matching),
                None => Match::Any,
            })
            .collect();
        restriction.check(&Entry { matches: &matches, priority: key.priority.into() })
    }

    fn check_call(&self, schema: &Schema, call: &ActionCall) -> Result<(), EntityError> {
        let Some(restriction) = self.actions.get(&call.action) else { return Ok(()) };
        let matches: Vec<Match<'_>> =
            call.arguments.iter().map(|argument| Match::exact(argument.value.bytes())).collect();
        restriction.check(&Entry { matches: &matches, priority: 0 }).map_err(|error| {
            let action = schema.actions().get(call.action);
            error.within(format_args!("action '{}'", action.map_or("", |action| &action.name)))
        })
    }
}

impl<I> Restriction<I> {
    fn check(&self, entry: &Entry<'_>) -> Result<(), EntityError> {
        let checked = self.constraints.iter().try_for_each(|one| one.check(entry));
        checked.map_err(|violation| EntityError::invalid(format!("the constraint {violation}")))
    }
}

/// Returns the texts of all annotations with a name.
fn texts(
    kind: &str,
    preamble: &config::Preamble,
    annotation: &'static str,
) -> Result<Vec<String>, SchemaError> {
    let mut texts = Vec::new();
    let found = preamble.annotations.iter();
    for found in found.filter_map(|text| Text::from_annotation(text, annotation)) {
        let Some(text) = found else {
            return Err(SchemaError::Restriction {
                object: format!("{kind} '{}'", preamble.name),
                annotation,
                line: 1,
                column: 1,
                message: "the annotation takes one string".to_owned(),
            });
        };
        texts.push(text.text().to_owned());
    }
    Ok(texts)
}

fn compiled(
    object: &str,
    annotation: &'static str,
    texts: &[String],
    subject: Subject<'_>,
) -> Result<Box<[Constraint]>, SchemaError> {
    let one = |text: &String| match Constraint::compile(text, subject) {
        Ok(compiled) => Ok(compiled.constraint),
        Err(problem) => {
            let (line, column) = problem.place(text);
            let (object, message) = (object.to_owned(), problem.message);
            Err(SchemaError::Restriction { object, annotation, line, column, message })
        }
    };
    texts.iter().map(one).collect()
}

/// Returns a name without the dot that marks it as absolute.
fn plain_name(name: &str) -> String {
    name.strip_prefix('.').unwrap_or(name).to_owned()
}

fn kind(kind: &MatchKind) -> Option<Kind> {
    match kind {
        MatchKind::Exact => Some(Kind::Exact),
        MatchKind::Lpm => Some(Kind::Lpm),
        MatchKind::Ternary => Some(Kind::Ternary),
        MatchKind::Range => Some(Kind::Range),
        MatchKind::Optional => Some(Kind::Optional),
        MatchKind::Other(_) => None,
    }
}

/// A number of the program and the string that controllers write instead.
type Given = (Box<[u8]>, Box<[u8]>);

fn key_type(value: ValueType, given: impl FnOnce() -> Vec<Given>) -> KeyType {
    match value {
        ValueType::Bits(bits) => KeyType::Bits(bits.get()),
        ValueType::Text => KeyType::Text(given()),
    }
}

/// Returns the strings that the annotations of a translated type give to numbers.
fn strings(p4info: &P4Info, named: Option<&config::P4NamedType>) -> Vec<Given> {
    let types = p4info.type_info.as_ref();
    let found = named.and_then(|named| types?.new_types.get(&named.name));
    let annotations = found.map_or(&[][..], |found| &found.annotations);
    annotations.iter().flat_map(|annotation| given_strings(annotation)).collect()
}

fn matching(matching: &Matching) -> Match<'_> {
    match matching {
        Matching::Exact(value) | Matching::Optional(value) => Match::exact(value.bytes()),
        Matching::Lpm { value, prefix_len } => Match::lpm(value.bytes(), *prefix_len),
        Matching::Ternary { value, mask } => Match::ternary(value.bytes(), mask.bytes()),
        Matching::Range { low, high } => Match::range(low.bytes(), high.bytes()),
    }
}
