//! Inserts the entities to which other entities refer, which must exist first.

use bytes::Bytes;
use constraints::Goal;
use protos::v1::{
    self, entity::Entity as Kind, field_match::FieldMatchType as Match, table_action,
};

use super::Bench;
use crate::demands::Fault;
use crate::entities::{insert, multicast_group, of_entry, replicas};
use crate::subject::{Reference, Table, Target};

/// The length of a chain of references after which it counts as a cycle and is not followed
/// further.
const LONGEST: usize = 16;

impl Bench {
    /// Inserts the entities to which a table entry or a member of an action profile refers. The
    /// device may refuse one of them, and may then refuse the referring entity too.
    pub(super) fn insert_targets(&mut self, entity: &v1::Entity) -> Result<(), Fault> {
        self.insert_chain(entity, LONGEST)
    }

    fn insert_chain(&mut self, entity: &v1::Entity, longest: usize) -> Result<(), Fault> {
        let Some(longest) = longest.checked_sub(1) else { return Ok(()) };
        for (target, values) in wanted(&self.subject.tables, entity) {
            let Some(target) = self.target(target, &values) else { continue };
            if self.is_inserted(&target) {
                continue;
            }
            self.insert_chain(&target, longest)?;
            let request = self.write_request(vec![insert(target)]);
            self.write(request)?;
        }
        Ok(())
    }

    /// Returns an entity to which a reference with these values refers, or `None` if none can be
    /// generated.
    fn target(&mut self, target: Target, values: &[(u32, Bytes)]) -> Option<v1::Entity> {
        match target {
            Target::Table(id) => {
                let table = self.subject.tables.iter().find(|table| table.id == id)?.clone();
                let mut entry = self.entry(&table);
                for (field, value) in values {
                    set(&mut entry, *field, value);
                }
                let satisfied = match &table.restriction {
                    Some(restriction) if restriction.breach_of_entry(&entry).is_some() => {
                        let found = restriction.entry(Goal::Satisfy, &entry, 0)?;
                        let has = |(field, value): &(u32, Bytes)| {
                            value_of(&found.r#match, *field).as_ref() == Some(value)
                        };
                        values.iter().all(has).then_some(found)?
                    }
                    Some(_) | None => entry,
                };
                Some(of_entry(&satisfied))
            }
            Target::MulticastGroups => Some(multicast_group(number(values)?, replicas([1]))),
            Target::CloneSessions => {
                let session = crate::entities::clone_session(number(values)?, replicas([1]), 0);
                Some(session)
            }
        }
    }

    /// Returns whether the bench has inserted an entity with the same key as `entity`.
    fn is_inserted(&self, entity: &v1::Entity) -> bool {
        self.inserted.iter().any(|other| match (&other.entity, &entity.entity) {
            (Some(Kind::TableEntry(one)), Some(Kind::TableEntry(other))) => {
                (one.table_id, &one.r#match, one.priority)
                    == (other.table_id, &other.r#match, other.priority)
            }
            (one, other) => one == other,
        })
    }
}

/// Returns the entities to which an entity refers, each with the values that it must have.
fn wanted(tables: &[Table], entity: &v1::Entity) -> Vec<(Target, Vec<(u32, Bytes)>)> {
    let mut found = Vec::new();
    let mut follow = |references: &[Reference], value: &dyn Fn(u32) -> Option<Bytes>| {
        for reference in references {
            let values = reference.pairs.iter().map(|pair| Some((pair.field, value(pair.own)?)));
            let values: Option<Vec<(u32, Bytes)>> = values.collect();
            found.extend(values.map(|values| (reference.target, values)));
        }
    };
    let mut calls = Vec::new();
    match &entity.entity {
        Some(Kind::TableEntry(entry)) => {
            if let Some(table) = tables.iter().find(|table| table.id == entry.table_id) {
                follow(&table.references, &|id| value_of(&entry.r#match, id));
            }
            let action = entry.action.as_ref().and_then(|action| action.r#type.as_ref());
            if let Some(table_action::Type::Action(action)) = action {
                calls.push(action);
            }
        }
        Some(Kind::ActionProfileMember(member)) => calls.extend(&member.action),
        _ => {}
    }
    for call in calls {
        let mut actions = tables.iter().flat_map(Table::all_actions);
        if let Some(action) = actions.find(|action| action.id == call.action_id) {
            let argument = |id| {
                let param = call.params.iter().find(|param| param.param_id == id);
                param.map(|param| param.value.clone())
            };
            follow(&action.references, &argument);
        }
    }
    found
}

/// Returns the value that the match of a field consists of; `None` if the field matches more than a
/// single value.
pub(crate) fn value_of(fields: &[v1::FieldMatch], id: u32) -> Option<Bytes> {
    let field = fields.iter().find(|field| field.field_id == id)?;
    match field.field_match_type.as_ref()? {
        Match::Exact(exact) => Some(exact.value.clone()),
        Match::Optional(optional) => Some(optional.value.clone()),
        Match::Lpm(_) | Match::Ternary(_) | Match::Range(_) | Match::Other(_) => None,
    }
}

/// Sets the value of a field of an entry, which matches this value only.
fn set(entry: &mut v1::TableEntry, id: u32, value: &Bytes) {
    for field in entry.r#match.iter_mut().filter(|field| field.field_id == id) {
        match &mut field.field_match_type {
            Some(Match::Exact(exact)) => exact.value = value.clone(),
            Some(Match::Optional(optional)) => optional.value = value.clone(),
            Some(Match::Lpm(_) | Match::Ternary(_) | Match::Range(_) | Match::Other(_)) | None => {}
        }
    }
}

/// Returns the number of the multicast group or clone session that these values refer to.
fn number(values: &[(u32, Bytes)]) -> Option<u32> {
    let (_, value) = values.first()?;
    let value = value
        .iter()
        .try_fold(0_u32, |sum, byte| sum.checked_mul(256).map(|sum| sum + u32::from(*byte)));
    value.filter(|value| *value != 0)
}
