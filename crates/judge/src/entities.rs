//! Builds entities whose values a device must accept.

use bytes::Bytes;
use constraints::Goal;
use protos::v1::{
    self, field_match, packet_replication_engine_entry::Type as Replication, replica::PortKind,
    table_action, update::Type,
};

use crate::subject::{self, Action, Key, Table};

/// The priority of generated entries in tables with priorities, unless the requirement is about
/// priorities.
pub(crate) const PRIORITY: i32 = 10;

/// Returns a number in the canonical form of P4Runtime (8.3): the shortest big-endian byte string,
/// which has at least one byte and no other leading zeros.
pub(crate) fn bytes(value: u128) -> Bytes {
    let all = value.to_be_bytes();
    let first = all.iter().position(|byte| *byte != 0).unwrap_or(all.len() - 1);
    Bytes::copy_from_slice(&all[first..])
}

/// Returns a number as a string of decimal digits. Many switches name their ports like this, so a
/// device that translates strings probably knows such a string.
pub(crate) fn text(value: u128) -> Bytes {
    value.to_string().into()
}

/// Returns the largest unsigned integer of `bits` bits, or `u128::MAX` for widths above 128.
pub(crate) fn largest(bits: u32) -> u128 {
    match bits {
        0 => 0,
        1..128 => (1 << bits) - 1,
        128.. => u128::MAX,
    }
}

/// Returns the shortest byte string of a value that needs more than `bits` bits.
pub(crate) fn too_large(bits: u32) -> Bytes {
    let mut value = vec![0; bits as usize / 8 + 1];
    value[0] = 1 << (bits % 8);
    value.into()
}

/// Returns an entry of a table that is identified by a number: entries with different numbers have
/// different keys. Key fields that could match several values match a single one.
pub(crate) fn entry(table: &Table, number: u128) -> v1::TableEntry {
    let mut rest = number;
    let fields = table.keys.iter().map(|key| {
        let value = rest & largest(key.room());
        rest = rest.checked_shr(key.room()).unwrap_or(0);
        field(key, value)
    });
    let r#match = fields.collect();
    v1::TableEntry {
        table_id: table.id,
        r#match,
        action: table.any_action().map(|action| call(action, 1)),
        priority: if table.has_priority() { PRIORITY } else { 0 },
        ..Default::default()
    }
}

/// Returns a match of a key field that accepts exactly one value.
pub(crate) fn field(key: &Key, value: u128) -> v1::FieldMatch {
    use field_match::FieldMatchType as Match;
    let value = if key.is_text() { text(value) } else { bytes(value) };
    let matched = match key.kind {
        subject::Kind::Exact => Match::Exact(field_match::Exact { value }),
        subject::Kind::Lpm => {
            Match::Lpm(field_match::Lpm { value, prefix_len: key.bits.cast_signed() })
        }
        subject::Kind::Ternary => {
            Match::Ternary(field_match::Ternary { value, mask: all_ones(key.bits) })
        }
        subject::Kind::Range => {
            Match::Range(field_match::Range { low: value.clone(), high: value })
        }
        subject::Kind::Optional => Match::Optional(field_match::Optional { value }),
    };
    v1::FieldMatch { field_id: key.id, field_match_type: Some(matched) }
}

/// Returns the shortest byte string of the largest `bits`-bit number.
pub(crate) fn all_ones(bits: u32) -> Bytes {
    let mut value = vec![0xff; bits.div_ceil(8) as usize];
    if let (Some(first), 1..) = (value.first_mut(), bits % 8) {
        *first = 0xff >> (8 - bits % 8);
    }
    value.into()
}

/// Returns a call of an action. All arguments have the same value, truncated to the width of their
/// parameter.
pub(crate) fn call(action: &Action, value: u128) -> v1::TableAction {
    v1::TableAction { r#type: Some(table_action::Type::Action(bare_call(action, value))) }
}

/// Returns a call of an action as a member of an action profile contains it. If the action has a
/// constraint, the call satisfies it.
pub(crate) fn bare_call(action: &Action, value: u128) -> v1::Action {
    let params = action.params.iter().map(|param| {
        let value = value & largest(param.room());
        let value = if param.is_text() { text(value) } else { bytes(value) };
        v1::action::Param { param_id: param.id, value }
    });
    let call = v1::Action { action_id: action.id, params: params.collect() };
    match &action.restriction {
        Some(restriction) => restriction.call(Goal::Satisfy, &call, 0).unwrap_or(call),
        None => call,
    }
}

/// Returns a member of an action profile. Its action is one that `table`, which uses the profile,
/// permits.
pub(crate) fn member(
    action_profile_id: u32,
    table: &Table,
    member_id: u32,
    value: u128,
) -> v1::Entity {
    let action = table.any_action().map(|action| bare_call(action, value));
    v1::ActionProfileMember { action_profile_id, member_id, action }.into()
}

/// Returns replicas that send copies of a packet to port 1, with these instance numbers.
pub(crate) fn replicas(instances: impl IntoIterator<Item = u32>) -> Vec<v1::Replica> {
    let replicas = instances.into_iter().map(|instance| v1::Replica {
        instance,
        port_kind: Some(PortKind::Port(bytes(1))),
        ..Default::default()
    });
    replicas.collect()
}

/// Returns a multicast group.
pub(crate) fn multicast_group(multicast_group_id: u32, replicas: Vec<v1::Replica>) -> v1::Entity {
    let group = v1::MulticastGroupEntry { multicast_group_id, replicas, ..Default::default() };
    let kind = Replication::MulticastGroupEntry(group);
    v1::PacketReplicationEngineEntry { r#type: Some(kind) }.into()
}

/// Returns a clone session that truncates its copies to `packet_length_bytes`, or leaves them as
/// they are if that is 0.
pub(crate) fn clone_session(
    session_id: u32,
    replicas: Vec<v1::Replica>,
    packet_length_bytes: i32,
) -> v1::Entity {
    let session =
        v1::CloneSessionEntry { session_id, replicas, packet_length_bytes, ..Default::default() };
    let kind = Replication::CloneSessionEntry(session);
    v1::PacketReplicationEngineEntry { r#type: Some(kind) }.into()
}

/// Returns a copy of `entry` with another action.
pub(crate) fn with_action(entry: &v1::TableEntry, action: v1::Action) -> v1::TableEntry {
    let action = Some(v1::TableAction { r#type: Some(table_action::Type::Action(action)) });
    v1::TableEntry { action, ..entry.clone() }
}

/// Returns a table entry as an entity.
pub(crate) fn of_entry(entry: &v1::TableEntry) -> v1::Entity {
    v1::Entity::from(entry.clone())
}

pub(crate) fn insert(entity: v1::Entity) -> v1::Update {
    v1::Update { r#type: Type::Insert as i32, entity: Some(entity) }
}

pub(crate) fn modify(entity: v1::Entity) -> v1::Update {
    v1::Update { r#type: Type::Modify as i32, entity: Some(entity) }
}

pub(crate) fn delete(entity: v1::Entity) -> v1::Update {
    v1::Update { r#type: Type::Delete as i32, entity: Some(entity) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_strings_are_the_shortest() {
        assert_eq!(bytes(0)[..], [0]);
        assert_eq!(bytes(0x100)[..], [1, 0]);
        assert_eq!(all_ones(9)[..], [1, 0xff]);
        assert_eq!(all_ones(8)[..], [0xff]);
        assert_eq!(too_large(8)[..], [1, 0]);
        assert_eq!(too_large(9)[..], [2, 0]);
        assert_eq!((largest(1), largest(9), largest(128)), (1, 511, u128::MAX));
    }
}
