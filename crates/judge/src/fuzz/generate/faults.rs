//! Generates invalid updates of entries.

use bytes::Bytes;
use protos::v1::{
    self, entity::Entity as Kind, field_match, field_match::FieldMatchType as Match, table_action,
};

use super::Generator;
use crate::entities::too_large;
use crate::subject::{Key, Table};

impl Generator<'_> {
    /// Makes an update invalid by introducing one fault. The kinds of faults are those that
    /// revealed most defects of switches in SwitchV (SIGCOMM 2022).
    pub(super) fn damaged(&mut self, table: &Table, mut update: v1::Update) -> v1::Update {
        let Some(v1::Entity { entity: Some(Kind::TableEntry(entry)) }) = &mut update.entity else {
            return update;
        };
        match self.random.u8(..13) {
            0 => entry.table_id = self.subject.unused_id(table.id),
            1 => entry.table_id = 0,
            2 => entry.priority = if table.has_priority() { 0 } else { 1 },
            3 => drop(entry.r#match.pop()),
            4 => {
                let again = self.random.choice(&entry.r#match).cloned();
                entry.r#match.extend(again);
            }
            5 => entry.r#match.push(v1::FieldMatch {
                field_id: 0x7fff_fff0,
                field_match_type: Some(Match::Exact(field_match::Exact {
                    value: Bytes::from_static(&[1]),
                })),
            }),
            6 | 7 => {
                let place = self.random.usize(..entry.r#match.len().max(1));
                if let Some(field) = entry.r#match.get_mut(place) {
                    self.damage_field(&table.keys, field);
                }
            }
            8 | 9 => self.damage_resources(table, entry),
            _ => {
                if let Some(v1::TableAction { r#type: Some(table_action::Type::Action(action)) }) =
                    &mut entry.action
                {
                    self.damage_action(table, action);
                }
            }
        }
        update
    }

    /// Adds something invalid to an entry: a direct counter or meter that the table does not have
    /// or whose value is invalid, or an idle timeout that the table does not support.
    fn damage_resources(&mut self, table: &Table, entry: &mut v1::TableEntry) {
        match (self.random.u8(..3), self.subject.marker(table)) {
            (0, _) if self.subject.counts(table).is_none() => {
                entry.counter_data = Some(v1::CounterData { byte_count: 1, packet_count: 1 });
            }
            (1, marker) => {
                let config = self.wrong_meter_config(marker);
                entry.meter_config = Some(config);
            }
            _ if !table.notifies_idle_entries => entry.idle_timeout_ns = 1_000_000_000,
            _ => {}
        }
    }

    pub(super) fn damage_field(&mut self, keys: &[Key], field: &mut v1::FieldMatch) {
        let key = keys.iter().find(|key| key.id == field.field_id);
        let bits = key.map_or(8, |key| key.bits);
        let large = too_large(bits);
        match &mut field.field_match_type {
            Some(Match::Exact(exact)) => {
                exact.value = if self.random.bool() { large } else { Bytes::new() };
            }
            Some(Match::Optional(optional)) => {
                optional.value = if self.random.bool() { large } else { Bytes::new() };
            }
            Some(Match::Lpm(prefix)) => match self.random.u8(..3) {
                0 => prefix.value = large,
                1 => prefix.prefix_len = -prefix.prefix_len,
                _ => prefix.prefix_len = 0,
            },
            Some(Match::Ternary(ternary)) => match self.random.u8(..3) {
                0 => ternary.value = large,
                1 => ternary.mask = Bytes::from_static(&[0]),
                _ => ternary.mask = large,
            },
            Some(Match::Range(range)) => match self.random.u8(..2) {
                0 => range.high = large,
                _ => std::mem::swap(&mut range.low, &mut range.high),
            },
            Some(Match::Other(_)) | None => {}
        }
    }

    pub(super) fn damage_action(&mut self, table: &Table, action: &mut v1::Action) {
        match self.random.u8(..6) {
            0 => action.action_id = self.subject.unused_id(action.action_id),
            1 => action.action_id = 0,
            2 => drop(action.params.pop()),
            3 => action
                .params
                .push(v1::action::Param { param_id: 0x7fff_fff0, value: Bytes::from_static(&[1]) }),
            4 => {
                let again = action.params.first().cloned();
                action.params.extend(again);
            }
            _ => {
                let known = table.all_actions().find(|known| known.id == action.action_id);
                let bits = known.and_then(|known| known.params.first()).map_or(8, |one| one.bits);
                if let Some(param) = action.params.first_mut() {
                    param.value = if self.random.bool() { too_large(bits) } else { Bytes::new() };
                }
            }
        }
    }
}
