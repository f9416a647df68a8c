//! The constraints on table entries and action calls that a program states in the annotations
//! `@entry_restriction` and `@action_restriction`, and their check on every write.
//!
//! The language is that of p4-constraints (crate `constraints`). A write that breaks a constraint
//! is refused before the data plane sees it, so nothing changes. The entries of a table must
//! satisfy the constraint of the table. Every call of an action must satisfy the constraint of the
//! action, whether the call is in an entry, a default entry, a member, or a one-shot group.

use std::collections::HashMap;

use constraints::{
    ACTION_RESTRICTION, Constraint, ENTRY_RESTRICTION, Entry, Key, KeyType, Kind, Match,
    NamedNumber, Subject, Text,
};
use entities::schema::{ActionId, MatchFieldId, MatchKind, ParamId, Schema, TableId};
use entities::{
    ActionCall, Entity, EntityError, EntryKey, MatchKey, Matching, TableAction, TableEntry, Update,
    UpdateKind, ValueType,
};

use super::{SchemaError, translation_mappings};
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
    /// The identifiers of the match fields or parameters that the keys of the constraint stand for,
    /// in the order of the keys.
    ids: Box<[I]>,
    constraint: Constraint,
}

/// A table or action with constraints, as a P4Info states them.
#[derive(Debug, Clone)]
pub struct Restricted {
    /// The table or action.
    pub owner: Owner,
    /// The name of the table or action.
    pub name: String,
    /// The match fields or parameters that the constraints may name.
    pub keys: Vec<Key>,
    /// The texts of the constraints, one for each annotation. `None` stands for an annotation that
    /// does not consist of strings.
    pub texts: Vec<Option<String>>,
}

/// The kind of object that has constraints, with the identifiers of its match fields or parameters.
#[derive(Debug, Clone)]
pub enum Owner {
    /// A table.
    Table(TableId, Vec<MatchFieldId>),
    /// An action.
    Action(ActionId, Vec<ParamId>),
}

impl Restricted {
    /// Returns the kind of object to which the constraints apply.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        match self.owner {
            Owner::Table(..) => Subject::Table(&self.keys),
            Owner::Action(..) => Subject::Action(&self.keys),
        }
    }

    /// Returns the name of the annotation in which the constraints are written.
    #[must_use]
    pub fn annotation(&self) -> &'static str {
        match self.owner {
            Owner::Table(..) => ENTRY_RESTRICTION,
            Owner::Action(..) => ACTION_RESTRICTION,
        }
    }

    /// Compiles the constraints into one that requires all of them.
    ///
    /// # Errors
    /// Returns the first error in them.
    pub fn compile(&self) -> Result<Constraint, SchemaError> {
        let error = |(line, column), message| SchemaError::Restriction {
            object: match self.owner {
                Owner::Table(..) => format!("table '{}'", self.name),
                Owner::Action(..) => format!("action '{}'", self.name),
            },
            annotation: self.annotation(),
            line,
            column,
            message,
        };
        let texts: Option<Vec<&String>> = self.texts.iter().map(Option::as_ref).collect();
        let texts =
            texts.ok_or_else(|| error((1, 1), "the annotation takes one string".to_owned()))?;
        Constraint::all_of(&texts, self.subject()).map_err(|(position, problem)| {
            let text = texts.get(position).map_or("", |text| text.as_str());
            error(problem.place(text), problem.message)
        })
    }
}

/// Returns the tables, and then the actions, that have constraints, in the order of the P4Info.
///
/// # Errors
/// Returns an error if the P4Info is inconsistent. The constraints themselves are not checked.
pub fn restricted(p4info: &P4Info) -> Result<Vec<Restricted>, SchemaError> {
    Ok(restricted_of(p4info, &super::build::schema(p4info)?))
}

fn restricted_of(p4info: &P4Info, objects: &Schema) -> Vec<Restricted> {
    let tables = p4info.tables.iter().filter_map(|message| {
        let preamble = message.preamble.as_ref()?;
        let texts = Text::of_annotations(&preamble.annotations, ENTRY_RESTRICTION);
        let table = objects.tables().get(TableId(preamble.id)).filter(|_| !texts.is_empty())?;
        let given = |id: MatchFieldId| {
            let field = message.match_fields.iter().find(|field| field.id == id.0);
            strings(p4info, field.and_then(|field| field.type_name.as_ref()))
        };
        let fields = table.match_fields.iter().filter_map(|field| {
            let ty = key_type(field.value, || given(field.id));
            Some((field.id, Key { name: plain_name(&field.name), kind: kind(&field.kind)?, ty }))
        });
        let (ids, keys) = fields.unzip();
        Some(Restricted {
            owner: Owner::Table(table.id, ids),
            name: table.name.clone(),
            keys,
            texts,
        })
    });
    let actions = p4info.actions.iter().filter_map(|message| {
        let preamble = message.preamble.as_ref()?;
        let texts = Text::of_annotations(&preamble.annotations, ACTION_RESTRICTION);
        let action = objects.actions().get(ActionId(preamble.id)).filter(|_| !texts.is_empty())?;
        let given = |id: ParamId| {
            let param = message.params.iter().find(|param| param.id == id.0);
            strings(p4info, param.and_then(|param| param.type_name.as_ref()))
        };
        let params = action.params.iter().map(|param| {
            let ty = key_type(param.value, || given(param.id));
            (param.id, Key { name: plain_name(&param.name), kind: Kind::Exact, ty })
        });
        let (ids, keys) = params.unzip();
        let owner = Owner::Action(action.id, ids);
        Some(Restricted { owner, name: action.name.clone(), keys, texts })
    });
    tables.chain(actions).collect()
}

impl Restrictions {
    /// Compiles the constraints of a P4Info whose objects have been checked.
    ///
    /// # Errors
    /// Returns the first error in a constraint.
    pub(super) fn new(p4info: &P4Info, objects: &Schema) -> Result<Self, SchemaError> {
        let mut restrictions = Self::default();
        for restricted in restricted_of(p4info, objects) {
            let constraint = restricted.compile()?;
            match restricted.owner {
                Owner::Table(id, ids) => {
                    restrictions.tables.insert(id, Restriction { ids: ids.into(), constraint });
                }
                Owner::Action(id, ids) => {
                    restrictions.actions.insert(id, Restriction { ids: ids.into(), constraint });
                }
            }
        }
        Ok(restrictions)
    }

    /// Returns the constraint on the entries of a table, and the match fields that its keys stand
    /// for, in the order of the keys. Returns `None` if the table has no constraint.
    #[must_use]
    pub fn of_table(&self, table: TableId) -> Option<(&Constraint, &[MatchFieldId])> {
        self.tables.get(&table).map(|one| (&one.constraint, &*one.ids))
    }

    /// Returns the constraint on the arguments of an action, and the parameters that its keys stand
    /// for, in the order of the keys. Returns `None` if the action has no constraint.
    #[must_use]
    pub fn of_action(&self, action: ActionId) -> Option<(&Constraint, &[ParamId])> {
        self.actions.get(&action).map(|one| (&one.constraint, &*one.ids))
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

    /// Refuses a table entry that the program declares if it breaks a constraint.
    pub(crate) fn check_entry(
        &self,
        schema: &Schema,
        entry: &TableEntry,
    ) -> Result<(), EntityError> {
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

    /// Refuses a call that breaks the constraint of its action.
    ///
    /// # Errors
    /// Returns INVALID_ARGUMENT with the smallest failing part of the constraint and its values.
    pub fn check_call(&self, schema: &Schema, call: &ActionCall) -> Result<(), EntityError> {
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
        let checked = self.constraint.check(entry);
        checked.map_err(|violation| EntityError::invalid(format!("the constraint {violation}")))
    }
}

/// Returns a name without the leading dot that marks it as absolute.
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

fn key_type(value: ValueType, given: impl FnOnce() -> Vec<NamedNumber>) -> KeyType {
    match value {
        ValueType::Bits(bits) => KeyType::Bits(bits.get()),
        ValueType::Text | ValueType::TextOrEmpty => KeyType::Text(given()),
    }
}

/// Returns the numbers of a translated type to which annotations assign strings, with these
/// strings.
fn strings(p4info: &P4Info, named: Option<&config::P4NamedType>) -> Vec<NamedNumber> {
    let types = p4info.type_info.as_ref();
    let found = named.and_then(|named| types?.new_types.get(&named.name));
    // A schema is not made if its mappings are invalid.
    let pairs = found.and_then(|found| translation_mappings(found).ok()).unwrap_or_default();
    pairs.into_iter().map(|(text, number)| (number.to_be_bytes().into(), text)).collect()
}

fn matching(matching: &Matching) -> Match<'_> {
    match matching {
        Matching::Exact(value) | Matching::Optional(value) => Match::exact(value.bytes()),
        Matching::Lpm { value, prefix_len } => Match::lpm(value.bytes(), *prefix_len),
        Matching::Ternary { value, mask } => Match::ternary(value.bytes(), mask.bytes()),
        Matching::Range { low, high } => Match::range(low.bytes(), high.bytes()),
    }
}
