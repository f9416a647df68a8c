//! Parser value sets (specification 1.5, "ValueSetEntry").

use std::collections::HashSet;
use std::ops::ControlFlow;

use prost::Message as _;

use super::change::Change;
use super::reading::{Place, Visit};
use super::state::{State, decode, encode};
use super::{matching, modify_only};
use crate::p4info::{Schema, ValueSet, ValueSetId};
use crate::proto::v1;
use crate::proto::v1::entity::Entity;
use crate::proto::v1::update::Type as UpdateType;
use crate::status::EntityError;

pub(super) fn plan(
    schema: &Schema,
    kind: UpdateType,
    entry: &v1::ValueSetEntry,
) -> Result<Change, EntityError> {
    let set = find(schema, entry.value_set_id)?;
    let place = || format!("value set '{}'", set.name);
    modify_only(kind, "a value set")?;
    let count = entry.members.len() as u64;
    if let Some(size) = set.size
        && count > size
    {
        return Err(EntityError::exhausted(format!(
            "{}: {count} members are more than {size}",
            place()
        )));
    }
    if entry.members.is_empty() {
        return Ok(Change::ValueSet { id: set.id, value: None });
    }
    let mut seen = HashSet::new();
    let mut members = Vec::with_capacity(entry.members.len());
    for (position, member) in entry.members.iter().enumerate() {
        let fields = matching::canonical_fields(&set.match_fields, &member.r#match)
            .map_err(|error| error.within(format_args!("{}, member {position}", place())))?;
        let member = v1::ValueSetMember { r#match: fields };
        if !seen.insert(member.encode_to_vec()) {
            return Err(EntityError::exists(format!(
                "{}: member {position} is there twice",
                place()
            )));
        }
        members.push(member);
    }
    let entry = v1::ValueSetEntry { value_set_id: entry.value_set_id, members };
    Ok(Change::ValueSet { id: set.id, value: Some(encode(&entry).into()) })
}

/// The value sets that a request selects, all of them for the identifier 0.
#[derive(Debug)]
pub(super) struct Selected(Option<ValueSetId>);

impl Selected {
    pub(super) fn new(schema: &Schema, request: &v1::ValueSetEntry) -> Result<Self, EntityError> {
        match request.value_set_id {
            0 => Ok(Self(None)),
            id => Ok(Self(Some(find(schema, id)?.id))),
        }
    }

    /// A value set always exists; one that was not written has no members.
    pub(super) fn visit(
        &self,
        schema: &Schema,
        state: &State,
        place: &mut Place,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        for set in schema.value_sets().iter().filter(|set| self.0.is_none_or(|id| id == set.id)) {
            if place.enter(set.id.0) {
                place.pass(set.id.0);
                visit(Some(Entity::ValueSetEntry(match state.value_sets.get(&set.id) {
                    Some(entry) => decode(entry),
                    None => v1::ValueSetEntry { value_set_id: set.id.0, members: Vec::new() },
                })))?;
            }
        }
        ControlFlow::Continue(())
    }
}

fn find(schema: &Schema, id: u32) -> Result<&ValueSet, EntityError> {
    let id = ValueSetId(id);
    schema
        .value_sets()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no value set {id}")))
}
