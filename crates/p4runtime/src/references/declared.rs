//! The references that the annotations of a P4Info declare.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use entities::ValueType;
use entities::schema::{ActionId, MatchFieldId, ParamId, Schema, TableId};

use crate::p4info::SchemaError;
use crate::proto::config::P4Info;

/// The kinds of objects to which references can refer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Object {
    /// Table entries, which are found by the values of these fields.
    Table(TableId, Box<[MatchFieldId]>),
    /// Multicast groups, by identifier.
    MulticastGroup,
    /// Clone sessions, by identifier.
    CloneSession,
}

/// An object to which references can refer, with the fields that identify its entities.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) object: Object,
    /// The name in error messages.
    pub(super) name: String,
    pub(super) fields: Vec<TargetField>,
}

/// A field of a target, whose value is compared with that in a reference.
#[derive(Debug, Clone)]
pub(super) struct TargetField {
    pub(super) name: String,
    /// Whether the values are strings.
    pub(super) is_text: bool,
}

/// The references that one key or action declares. Each has the number of its target, and the key
/// fields or parameters whose values identify the entity, in the order of the target's fields.
type Of<I> = Vec<(usize, Vec<I>)>;

/// All references that a program declares.
#[derive(Debug, Default)]
pub(super) struct Declared {
    pub(super) targets: Vec<Target>,
    pub(super) of_keys: HashMap<TableId, Of<MatchFieldId>>,
    pub(super) of_actions: HashMap<ActionId, Of<ParamId>>,
}

/// One annotation `@refers_to`: the field or parameter that has it, and the names of the target and
/// of the target's field.
struct Annotated<I> {
    on: I,
    target: String,
    field: String,
}

impl Declared {
    pub(super) fn new(p4info: &P4Info, schema: &Schema) -> Result<Self, SchemaError> {
        let mut declared = Self::default();
        for table in &p4info.tables {
            let Some(preamble) = &table.preamble else { continue };
            let fields = table.match_fields.iter();
            let found =
                fields.flat_map(|field| annotated(MatchFieldId(field.id), &field.annotations));
            let place = format!("table '{}'", preamble.name);
            let of = declared.group(schema, found.collect(), &place)?;
            if !of.is_empty() {
                declared.of_keys.insert(TableId(preamble.id), of);
            }
        }
        for action in &p4info.actions {
            let Some(preamble) = &action.preamble else { continue };
            let params = action.params.iter();
            let found = params.flat_map(|param| annotated(ParamId(param.id), &param.annotations));
            let place = format!("action '{}'", preamble.name);
            let of = declared.group(schema, found.collect(), &place)?;
            if !of.is_empty() {
                declared.of_actions.insert(ActionId(preamble.id), of);
            }
        }
        declared.check_cycles(schema)?;
        Ok(declared)
    }

    /// Groups the annotations of one key or action into references. Annotations that name different
    /// fields of the same target form one reference.
    fn group<I: Copy>(
        &mut self,
        schema: &Schema,
        mut found: Vec<Annotated<I>>,
        place: &str,
    ) -> Result<Of<I>, SchemaError> {
        let mut of = Vec::new();
        while let Some(first) = found.first() {
            let target = first.target.clone();
            let (same, others): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|one| one.target == target);
            found = others;
            let names: HashSet<&str> = same.iter().map(|one| one.field.as_str()).collect();
            if names.len() == same.len() {
                of.push(self.reference(schema, same, place)?);
            } else {
                for one in same {
                    of.push(self.reference(schema, vec![one], place)?);
                }
            }
        }
        Ok(of)
    }

    fn reference<I: Copy>(
        &mut self,
        schema: &Schema,
        mut same: Vec<Annotated<I>>,
        place: &str,
    ) -> Result<(usize, Vec<I>), SchemaError> {
        let error = |one: &Annotated<I>| SchemaError::Type {
            object: place.to_owned(),
            message: format!(
                "@refers_to({}, {}) names nothing that can be referred to",
                one.target, one.field
            ),
        };
        same.sort_by(|left, right| left.field.cmp(&right.field));
        let builtin = |object: Object, name: &str, field: &str| match same.as_slice() {
            [one] if one.field == field => Ok((
                object,
                name.to_owned(),
                vec![TargetField { name: field.to_owned(), is_text: false }],
            )),
            others => Err(others
                .first()
                .map_or_else(|| SchemaError::NoId { object: place.to_owned() }, &error)),
        };
        let name = same.first().map_or("", |one| one.target.as_str());
        let (object, name, fields) = match name {
            "builtin::multicast_group_table" => {
                builtin(Object::MulticastGroup, "a multicast group", "multicast_group_id")?
            }
            "builtin::clone_session_table" => {
                builtin(Object::CloneSession, "a clone session", "clone_session_id")?
            }
            name => {
                let mut ids = Vec::with_capacity(same.len());
                let mut fields = Vec::with_capacity(same.len());
                let table = schema.tables().by_name(name);
                for one in &same {
                    let field = table.and_then(|table| {
                        table.match_fields.iter().find(|field| field.name == one.field)
                    });
                    let field = field.ok_or_else(|| error(one))?;
                    ids.push(field.id);
                    let is_text = matches!(field.value, ValueType::Text | ValueType::TextOrEmpty);
                    fields.push(TargetField { name: field.name.clone(), is_text });
                }
                let (id, name) =
                    table.map_or((TableId(0), ""), |table| (table.id, table.name.as_str()));
                let name = format!("an entry of table '{name}'");
                (Object::Table(id, ids.into()), name, fields)
            }
        };
        let known = self.targets.iter().position(|target| target.object == object);
        let target = known.unwrap_or_else(|| {
            self.targets.push(Target { object, name, fields });
            self.targets.len() - 1
        });
        Ok((target, same.into_iter().map(|one| one.on).collect()))
    }

    /// Refuses tables whose entries refer to each other in a circle, since none could be inserted
    /// first.
    fn check_cycles(&self, schema: &Schema) -> Result<(), SchemaError> {
        let targets_of = |table: TableId| {
            let actions = schema.tables().get(table).map_or(&[][..], |table| &table.actions);
            let of_actions = actions.iter().filter_map(|action| self.of_actions.get(&action.id));
            let of_actions = of_actions.flatten().map(|(target, _)| *target);
            let of_key = self.of_keys.get(&table).into_iter().flatten().map(|(target, _)| *target);
            of_key.chain(of_actions).collect::<Vec<usize>>()
        };
        for table in schema.tables().iter() {
            let mut seen = HashSet::new();
            let mut open = targets_of(table.id);
            while let Some(target) = open.pop() {
                let object = self.targets.get(target).map(|target| &target.object);
                let Some(Object::Table(next, _)) = object else { continue };
                if *next == table.id {
                    return Err(SchemaError::Type {
                        object: format!("table '{}'", table.name),
                        message: "references (@refers_to) lead from its entries back to them"
                            .to_owned(),
                    });
                }
                if seen.insert(*next) {
                    open.extend(targets_of(*next));
                }
            }
        }
        Ok(())
    }
}

/// Returns the `@refers_to` annotations among the annotations of a field or parameter.
fn annotated<I: Copy>(on: I, annotations: &[String]) -> impl Iterator<Item = Annotated<I>> {
    annotations.iter().filter_map(move |annotation| {
        // p4c puts blanks between tokens.
        let text: String = annotation.chars().filter(|c| !c.is_whitespace()).collect();
        let inner = text.strip_prefix("@refers_to(")?.strip_suffix(')')?.replace('"', "");
        let (target, field) = inner.split_once(',')?;
        Some(Annotated { on, target: target.to_owned(), field: field.to_owned() })
    })
}
