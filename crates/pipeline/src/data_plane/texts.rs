//! The strings of translated types (those that controllers see as strings) in entities.

use super::shared::Shared;
use entities::schema::TranslatedTypeId;
use entities::{ActionCall, Data, DataType, Entity, EntryKey, Matching, Port, TableAction, Watch};

/// A visitor of the strings of translated types in entities.
pub(super) struct Texts<'v> {
    pub(super) shared: &'v Shared,
    pub(super) visit: &'v mut dyn FnMut(TranslatedTypeId, &[u8]),
}

impl Texts<'_> {
    pub(super) fn of_entity(&mut self, entity: &Entity) {
        let schema = &self.shared.schema;
        match entity {
            Entity::Entry(entry) => {
                let table = schema.tables().get(entry.table);
                if let (Some(table), EntryKey::Match(key)) = (table, &entry.key) {
                    self.of_fields(&table.match_fields, &key.fields);
                }
                match &entry.action {
                    Some(TableAction::Call(call)) => self.of_call(call),
                    Some(TableAction::OneShot(one_shot)) => self.of_one_shot(one_shot),
                    Some(TableAction::Member(_) | TableAction::Group(_)) | None => {}
                }
            }
            Entity::Member(member) => member.action.iter().for_each(|call| self.of_call(call)),
            Entity::Group(group) => {
                group.members.iter().for_each(|member| self.of_watch(&member.watch));
            }
            Entity::MulticastGroup(group) => self.of_replicas(&group.replicas),
            Entity::CloneSession(session) => self.of_replicas(&session.replicas),
            Entity::ValueSet(set) => {
                let Some(declared) = schema.value_sets().get(set.id) else { return };
                for member in &set.members {
                    self.of_fields(&declared.match_fields, member);
                }
            }
            Entity::Register(cell) => {
                if let Some(declared) = schema.registers().get(cell.id) {
                    self.of_data(&declared.data, &cell.data);
                }
            }
            Entity::DirectCounter(..)
            | Entity::DirectMeter(..)
            | Entity::Counter(_)
            | Entity::Meter(_)
            | Entity::Digest(..) => {}
        }
    }

    fn of_fields(
        &mut self,
        declared: &[entities::schema::MatchField],
        fields: &[entities::FieldMatch],
    ) {
        for field in fields {
            let of = declared.iter().find(|declared| declared.id == field.field);
            let Some(of) = of.and_then(|declared| declared.translated) else { continue };
            match &field.matching {
                Matching::Exact(value) | Matching::Optional(value) => {
                    (self.visit)(of, value.bytes());
                }
                // The form of the update was checked: strings have no prefixes, masks or order.
                Matching::Lpm { .. } | Matching::Ternary { .. } | Matching::Range { .. } => {}
            }
        }
    }

    fn of_call(&mut self, call: &ActionCall) {
        let Some(action) = self.shared.schema.actions().get(call.action) else { return };
        for argument in &call.arguments {
            let param = action.param(argument.param);
            if let Some(of) = param.and_then(|param| param.translated) {
                (self.visit)(of, argument.value.bytes());
            }
        }
    }

    pub(super) fn of_one_shot(&mut self, one_shot: &entities::OneShot) {
        for member in &one_shot.members {
            self.of_call(&member.action);
            self.of_watch(&member.watch);
        }
    }

    pub(super) fn of_watch(&mut self, watch: &Watch) {
        if let (Watch::Port(port), Some(of)) = (watch, self.shared.translated.port) {
            (self.visit)(of, port);
        }
    }

    pub(super) fn of_replicas(&mut self, replicas: &[entities::Replica]) {
        let Some(of) = self.shared.translated.port else { return };
        for replica in replicas {
            if let Some(Port::Bytes(port)) = &replica.port {
                (self.visit)(of, port);
            }
            replica.backups.iter().for_each(|backup| (self.visit)(of, &backup.port));
        }
    }

    fn of_data(&mut self, of: &DataType, data: &Data) {
        match (of, data) {
            (DataType::Text(Some(of)), Data::Bits(text)) => (self.visit)(*of, text),
            (DataType::Struct(types), Data::Struct(values))
            | (DataType::Tuple(types), Data::Tuple(values)) => {
                types.iter().zip(values).for_each(|(of, value)| self.of_data(of, value));
            }
            _ => {}
        }
    }
}
