//! The normal form of entities, in which two messages that describe the same entity are equal. Byte
//! strings are as short as possible, and repeated fields whose order has no meaning are sorted.

use bytes::Bytes;
use protos::v1::{
    self, entity::Entity as Kind, field_match::FieldMatchType as Match, p4_data, table_action,
};

/// The key that identifies an entry: the identifier of its table, its match fields in ascending
/// order of their identifiers with values in the shortest form, and its priority.
pub(super) type EntryKey = (u32, Vec<(u32, Vec<u8>)>, i32);

/// Returns the key that identifies an entry.
pub(super) fn key_of(entry: &v1::TableEntry) -> EntryKey {
    let fields = normal_fields(entry.r#match.clone());
    let fields = fields.iter();
    let fields = fields.map(|field| (field.field_id, prost::Message::encode_to_vec(field)));
    (entry.table_id, fields.collect(), entry.priority)
}

/// Returns an entry that contains only the fields that identify it.
pub(super) fn only_key(entry: &v1::TableEntry) -> v1::TableEntry {
    v1::TableEntry {
        table_id: entry.table_id,
        r#match: normal_fields(entry.r#match.clone()),
        priority: entry.priority,
        ..Default::default()
    }
}

/// Returns an entity in its normal form.
pub(super) fn normal(entity: v1::Entity) -> v1::Entity {
    let kind = entity.entity.map(|kind| match kind {
        Kind::TableEntry(entry) => Kind::TableEntry(normal_entry(entry)),
        Kind::ActionProfileMember(member) => Kind::ActionProfileMember(normal_member(member)),
        Kind::ActionProfileGroup(group) => Kind::ActionProfileGroup(normal_group(group)),
        Kind::CounterEntry(cell) => {
            // Counts of 0 and no counts are the same number.
            let data = Some(cell.data.unwrap_or_default());
            Kind::CounterEntry(v1::CounterEntry { data, ..cell })
        }
        Kind::DirectCounterEntry(counter) => Kind::DirectCounterEntry(v1::DirectCounterEntry {
            table_entry: counter.table_entry.as_ref().map(only_key),
            data: Some(counter.data.unwrap_or_default()),
        }),
        Kind::DirectMeterEntry(meter) => {
            let table_entry = meter.table_entry.as_ref().map(only_key);
            Kind::DirectMeterEntry(v1::DirectMeterEntry { table_entry, ..meter })
        }
        Kind::RegisterEntry(cell) => {
            let data = cell.data.map(normal_data);
            Kind::RegisterEntry(v1::RegisterEntry { data, ..cell })
        }
        Kind::ValueSetEntry(set) => Kind::ValueSetEntry(normal_set(set)),
        kind @ (Kind::ExternEntry(_)
        | Kind::MeterEntry(_)
        | Kind::PacketReplicationEngineEntry(_)
        | Kind::DigestEntry(_)) => kind,
    });
    v1::Entity { entity: kind }
}

/// Returns an entry in its normal form.
pub(super) fn normal_entry(mut entry: v1::TableEntry) -> v1::TableEntry {
    entry.r#match = normal_fields(entry.r#match);
    match entry.action.as_mut().and_then(|action| action.r#type.as_mut()) {
        Some(table_action::Type::Action(action)) => *action = normal_action(std::mem::take(action)),
        Some(table_action::Type::ActionProfileActionSet(set)) => {
            for one in &mut set.action_profile_actions {
                one.action = one.action.take().map(normal_action);
            }
            set.action_profile_actions.sort_by_key(prost::Message::encode_to_vec);
        }
        Some(
            table_action::Type::ActionProfileMemberId(_)
            | table_action::Type::ActionProfileGroupId(_),
        )
        | None => {}
    }
    // Counts of 0 and no counts are the same number.
    entry.counter_data = entry.counter_data.filter(|counts| *counts != v1::CounterData::default());
    entry
}

/// Returns the fields of a match in their normal form.
pub(super) fn normal_fields(mut fields: Vec<v1::FieldMatch>) -> Vec<v1::FieldMatch> {
    fields.sort_by_key(|field| field.field_id);
    for field in &mut fields {
        match &mut field.field_match_type {
            Some(Match::Exact(exact)) => exact.value = shortest(&exact.value),
            Some(Match::Optional(optional)) => optional.value = shortest(&optional.value),
            Some(Match::Lpm(prefix)) => prefix.value = shortest(&prefix.value),
            Some(Match::Ternary(ternary)) => {
                ternary.value = shortest(&ternary.value);
                ternary.mask = shortest(&ternary.mask);
            }
            Some(Match::Range(range)) => {
                range.low = shortest(&range.low);
                range.high = shortest(&range.high);
            }
            Some(Match::Other(_)) | None => {}
        }
    }
    fields
}

fn normal_action(mut action: v1::Action) -> v1::Action {
    action.params.sort_by_key(|param| param.param_id);
    for param in &mut action.params {
        param.value = shortest(&param.value);
    }
    action
}

/// Returns a member with its values in the shortest form.
pub(super) fn normal_member(member: v1::ActionProfileMember) -> v1::ActionProfileMember {
    v1::ActionProfileMember { action: member.action.map(normal_action), ..member }
}

/// Returns a group with its members sorted.
pub(super) fn normal_group(mut group: v1::ActionProfileGroup) -> v1::ActionProfileGroup {
    group.members.sort_by_key(|member| (member.member_id, member.weight));
    group
}

/// Returns a value set with its members sorted.
fn normal_set(mut set: v1::ValueSetEntry) -> v1::ValueSetEntry {
    for member in &mut set.members {
        member.r#match = normal_fields(std::mem::take(&mut member.r#match));
    }
    set.members.sort_by_key(prost::Message::encode_to_vec);
    set
}

fn normal_data(data: v1::P4Data) -> v1::P4Data {
    match data.data {
        Some(p4_data::Data::Bitstring(value)) => {
            v1::P4Data { data: Some(p4_data::Data::Bitstring(shortest(&value))) }
        }
        data => v1::P4Data { data },
    }
}

/// Returns a byte string without its leading zeros. At least one byte remains.
pub(super) fn shortest(value: &Bytes) -> Bytes {
    let zeros = value.iter().take_while(|byte| **byte == 0).count();
    value.slice(zeros.min(value.len().saturating_sub(1))..)
}

/// Removes the counts and register values from an entity, which packets may change.
pub(super) fn without_counts(entity: v1::Entity) -> v1::Entity {
    match entity.entity {
        Some(Kind::TableEntry(entry)) => v1::TableEntry { counter_data: None, ..entry }.into(),
        Some(Kind::CounterEntry(cell)) => v1::CounterEntry { data: None, ..cell }.into(),
        Some(Kind::RegisterEntry(cell)) => v1::RegisterEntry { data: None, ..cell }.into(),
        entity => v1::Entity { entity },
    }
}
