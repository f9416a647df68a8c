//! The rules for references between entities (`@refers_to`), and for values of translated types
//! (18). P4Runtime does not specify whether a device checks references, nor which strings it
//! translates.

use bytes::Bytes;
use protos::v1::{
    self, entity::Entity as Kind, packet_replication_engine_entry::Type as Replication,
    table_action, update::Type,
};

use super::Model;
use super::answer::Faults;
use crate::bench::{REFUSED, value_of};
use crate::fuzz::normal::shortest;
use crate::subject::{Action, Reference, Subject, Table, Target};

impl Model {
    /// Records that a device may refuse an entity that refers to a nonexistent entity, and the
    /// deletion of an entity to which another one refers.
    pub(super) fn references(
        &self,
        subject: &Subject,
        kind: Type,
        entity: &v1::Entity,
        faults: &mut Faults,
    ) {
        match kind {
            Type::Insert | Type::Modify => {
                faults.may(!self.has_targets(subject, entity), REFUSED);
            }
            Type::Delete => faults.may(self.is_referred_to(subject, entity), REFUSED),
            Type::Unspecified => {}
        }
    }

    fn has_targets(&self, subject: &Subject, entity: &v1::Entity) -> bool {
        let leads = |references: &[Reference], value: &dyn Fn(u32) -> Option<Bytes>| {
            references.iter().all(|reference| self.leads_to_something(reference, value))
        };
        let of_key = match &entity.entity {
            Some(Kind::TableEntry(entry)) => {
                let table = subject.tables.iter().find(|table| table.id == entry.table_id);
                table.is_none_or(|table| {
                    leads(&table.references, &|id| value_of(&entry.r#match, id))
                })
            }
            _ => true,
        };
        let mut of_calls =
            calls(entity).into_iter().filter_map(|call| Some((call, action(subject, call)?)));
        of_key && of_calls.all(|(call, action)| leads(&action.references, &|id| argument(call, id)))
    }

    /// Returns whether the entity to which a reference refers exists.
    fn leads_to_something(
        &self,
        reference: &Reference,
        value: &dyn Fn(u32) -> Option<Bytes>,
    ) -> bool {
        let wanted = reference.pairs.iter().map(|pair| Some((pair.field, value(pair.own)?)));
        let Some(wanted) = wanted.collect::<Option<Vec<(u32, Bytes)>>>() else {
            // A reference whose fields are all left out refers to nothing, which is permitted. If
            // only some are left out, the reference leads to no entity.
            return reference.pairs.iter().all(|pair| value(pair.own).is_none());
        };
        match reference.target {
            Target::Table(id) => self.entries(id).any(|entry| has_values(entry, &wanted)),
            Target::MulticastGroups => {
                self.multicast_groups.keys().any(|id| is_number(*id, &wanted))
            }
            Target::CloneSessions => self.clone_sessions.keys().any(|id| is_number(*id, &wanted)),
        }
    }

    /// Returns whether any entity of the model refers to this one.
    fn is_referred_to(&self, subject: &Subject, entity: &v1::Entity) -> bool {
        let refers = |references: &[Reference], value: &dyn Fn(u32) -> Option<Bytes>| {
            references.iter().any(|reference| is_target(reference, entity, value))
        };
        let by_key = subject.tables.iter().any(|table| {
            self.entries(table.id)
                .any(|entry| refers(&table.references, &|id| value_of(&entry.r#match, id)))
        });
        let entries = self.entries.values().chain(self.defaults.values());
        let entries = entries.flat_map(calls_of_entry);
        let members = self.members.values().filter_map(|member| member.action.as_ref());
        by_key
            || entries.chain(members).any(|call| {
                action(subject, call)
                    .is_some_and(|action| refers(&action.references, &|id| argument(call, id)))
            })
    }

    /// Records that a device may refuse values of translated types that it has not accepted before.
    pub(super) fn translations(&self, subject: &Subject, entity: &v1::Entity, faults: &mut Faults) {
        let is_new = |value: &(String, Bytes)| !self.known.contains(value);
        faults.may(translated(subject, entity).iter().any(is_new), REFUSED);
    }

    /// Records that the device has accepted an entity's values of translated types.
    pub(in crate::fuzz) fn learn(&mut self, subject: &Subject, update: &v1::Update) {
        if let Some(entity) = &update.entity
            && update.r#type() != Type::Delete
        {
            self.known.extend(translated(subject, entity));
        }
    }
}

/// Returns the values of translated types that an entity contains, each with the name of the type.
fn translated(subject: &Subject, entity: &v1::Entity) -> Vec<(String, Bytes)> {
    let mut found = Vec::new();
    if let Some(entry) = crate::fuzz::scope::entry_of(entity)
        && let Some(table) = subject.tables.iter().find(|table| table.id == entry.table_id)
    {
        for key in &table.keys {
            if let (Some(form), Some(value)) = (&key.translated, value_of(&entry.r#match, key.id)) {
                found.push((form.name.clone(), shortest(&value)));
            }
        }
    }
    for call in calls(entity) {
        let params = action(subject, call).map(|action| action.params.as_slice());
        for param in params.unwrap_or_default() {
            if let (Some(form), Some(value)) = (&param.translated, argument(call, param.id)) {
                found.push((form.name.clone(), shortest(&value)));
            }
        }
    }
    found
}

/// Returns whether a reference, whose values `value` returns, refers to this entity.
fn is_target(
    reference: &Reference,
    entity: &v1::Entity,
    value: &dyn Fn(u32) -> Option<Bytes>,
) -> bool {
    let wanted = reference.pairs.iter().map(|pair| Some((pair.field, value(pair.own)?)));
    let Some(wanted) = wanted.collect::<Option<Vec<(u32, Bytes)>>>() else { return false };
    match (reference.target, &entity.entity) {
        (Target::Table(id), Some(Kind::TableEntry(entry))) => {
            entry.table_id == id && has_values(entry, &wanted)
        }
        (Target::MulticastGroups, Some(Kind::PacketReplicationEngineEntry(entry))) => {
            matches!(&entry.r#type, Some(Replication::MulticastGroupEntry(group))
                if is_number(group.multicast_group_id, &wanted))
        }
        (Target::CloneSessions, Some(Kind::PacketReplicationEngineEntry(entry))) => {
            matches!(&entry.r#type, Some(Replication::CloneSessionEntry(session))
                if is_number(session.session_id, &wanted))
        }
        (Target::Table(_) | Target::MulticastGroups | Target::CloneSessions, _) => false,
    }
}

fn has_values(entry: &v1::TableEntry, wanted: &[(u32, Bytes)]) -> bool {
    wanted.iter().all(|(field, value)| {
        value_of(&entry.r#match, *field).is_some_and(|found| shortest(&found) == shortest(value))
    })
}

fn is_number(id: u32, wanted: &[(u32, Bytes)]) -> bool {
    let id = crate::entities::bytes(id.into());
    wanted.iter().all(|(_, value)| shortest(value) == id)
}

fn action<'s>(subject: &'s Subject, call: &v1::Action) -> Option<&'s Action> {
    let mut actions = subject.tables.iter().flat_map(Table::all_actions);
    actions.find(|action| action.id == call.action_id)
}

fn argument(call: &v1::Action, id: u32) -> Option<Bytes> {
    let param = call.params.iter().find(|param| param.param_id == id);
    param.map(|param| param.value.clone())
}

/// Returns the action calls that an entity contains.
fn calls(entity: &v1::Entity) -> Vec<&v1::Action> {
    match &entity.entity {
        Some(Kind::TableEntry(entry)) => calls_of_entry(entry),
        Some(Kind::ActionProfileMember(member)) => member.action.iter().collect(),
        _ => Vec::new(),
    }
}

fn calls_of_entry(entry: &v1::TableEntry) -> Vec<&v1::Action> {
    match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        Some(table_action::Type::Action(action)) => vec![action],
        Some(table_action::Type::ActionProfileActionSet(set)) => {
            set.action_profile_actions.iter().filter_map(|one| one.action.as_ref()).collect()
        }
        Some(
            table_action::Type::ActionProfileMemberId(_)
            | table_action::Type::ActionProfileGroupId(_),
        )
        | None => Vec::new(),
    }
}
