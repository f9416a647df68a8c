//! Direct encoding of table entries, without intermediate messages.
//!
//! The answer to a Read may have a million entries. Building messages would take a dozen
//! allocations per entry, and protobuf would compute the length of each part once for every
//! enclosing part. This module encodes an entry directly: each nested part reserves a byte for its
//! length and fills it in afterwards. The output is byte for byte that of the message, which a test
//! checks.

use entities::{ActionCall, EntryKey, FieldMatch, Matching, TableAction, TableEntry, Value};
use prost::Message;
use prost::encoding::{
    WireType, encode_key, encode_varint, encoded_len_varint, int32, message, uint32,
};

use super::entry::{action_message, message_beside};

/// Appends a nested message as the field `tag`. `fill` appends the content of the nested message.
pub(super) fn nested(tag: u32, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    encode_key(tag, WireType::LengthDelimited, out);
    let room = out.len();
    out.push(0);
    let start = out.len();
    fill(out);
    let length = out.len() - start;
    let more = encoded_len_varint(length as u64) - 1;
    if more > 0 {
        out.resize(out.len() + more, 0);
        out.copy_within(start..start + length, start + more);
    }
    encode_varint(length as u64, &mut &mut out[room..start + more]);
}

/// Appends the encoded content of a `TableEntry` message.
pub(super) fn entry(entry: &TableEntry, out: &mut Vec<u8>) {
    uint32_unless_zero(1, entry.table.0, out);
    if let EntryKey::Match(key) = &entry.key {
        key.fields.iter().for_each(|field| nested(2, out, |out| field_match(field, out)));
    }
    match &entry.action {
        Some(TableAction::Call(called)) => {
            nested(3, out, |out| nested(1, out, |out| call(called, out)));
        }
        Some(other) => message::encode(3, &action_message(other), out),
        None => {}
    }
    // The remaining fields have higher numbers than those above, so the order stays canonical.
    message_beside(entry).encode_raw(out);
}

fn field_match(field: &FieldMatch, out: &mut Vec<u8>) {
    uint32_unless_zero(1, field.field.0, out);
    match &field.matching {
        Matching::Exact(value) => nested(2, out, |out| bytes(1, value, out)),
        Matching::Ternary { value, mask } => nested(3, out, |out| {
            bytes(1, value, out);
            bytes(2, mask, out);
        }),
        Matching::Lpm { value, prefix_len } => nested(4, out, |out| {
            bytes(1, value, out);
            let prefix_len = i32::try_from(*prefix_len).unwrap_or(i32::MAX);
            if prefix_len != 0 {
                int32::encode(2, &prefix_len, out);
            }
        }),
        Matching::Range { low, high } => nested(6, out, |out| {
            bytes(1, low, out);
            bytes(2, high, out);
        }),
        Matching::Optional(value) => nested(7, out, |out| bytes(1, value, out)),
    }
}

fn call(call: &ActionCall, out: &mut Vec<u8>) {
    uint32_unless_zero(1, call.action.0, out);
    for argument in &call.arguments {
        nested(4, out, |out| {
            uint32_unless_zero(2, argument.param.0, out);
            bytes(3, &argument.value, out);
        });
    }
}

/// Appends a value as a `bytes` field. Values have at least one byte, so the field is never
/// omitted.
fn bytes(tag: u32, value: &Value, out: &mut Vec<u8>) {
    let value = value.bytes();
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn uint32_unless_zero(tag: u32, value: u32, out: &mut Vec<u8>) {
    if value != 0 {
        uint32::encode(tag, &value, out);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use entities::schema::{ActionId, MatchFieldId, ParamId, TableId};
    use entities::{
        Argument, CounterData, GroupId, MatchKey, MemberId, MeterConfig, OneShot, OneShotMember,
        SelectionMode, SizeCounts, ValueType, Watch,
    };
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let bits = NonZeroU32::new(3000).map_or(ValueType::Text, ValueType::Bits);
        // The longest values have a length that takes two bytes.
        let short = prop::collection::vec(any::<u8>(), 1..8);
        let bytes = prop_oneof![4 => short, 1 => prop::collection::vec(any::<u8>(), 1..300)];
        bytes.prop_map(move |bytes| Value::new(bits, &bytes).expect("it fits"))
    }

    fn matching() -> impl Strategy<Value = Matching> {
        prop_oneof![
            value().prop_map(Matching::Exact),
            value().prop_map(Matching::Optional),
            (value(), any::<u32>())
                .prop_map(|(value, prefix_len)| Matching::Lpm { value, prefix_len }),
            (value(), value()).prop_map(|(value, mask)| Matching::Ternary { value, mask }),
            (value(), value()).prop_map(|(low, high)| Matching::Range { low, high }),
        ]
    }

    /// Generates identifiers: some with the large values that P4Info uses, and some that are
    /// encoded in one byte or omitted.
    fn id() -> impl Strategy<Value = u32> {
        prop_oneof![0_u32..300, any::<u32>()]
    }

    fn call() -> impl Strategy<Value = ActionCall> {
        let argument =
            (id(), value()).prop_map(|(param, value)| Argument { param: ParamId(param), value });
        (id(), prop::collection::vec(argument, 0..4)).prop_map(|(action, arguments)| ActionCall {
            action: ActionId(action),
            arguments: arguments.into(),
        })
    }

    fn action() -> impl Strategy<Value = TableAction> {
        prop_oneof![
            4 => call().prop_map(TableAction::Call),
            1 => id().prop_map(|id| TableAction::Member(MemberId(id))),
            1 => id().prop_map(|id| TableAction::Group(GroupId(id))),
            1 => call().prop_map(|action| {
                let member = OneShotMember { action, weight: 3, watch: Watch::Number(7) };
                TableAction::OneShot(Box::new(OneShot {
                    members: vec![member],
                    group_action: None,
                    mode: SelectionMode::Hash,
                    counts: SizeCounts::Weights,
                    size: 3,
                }))
            }),
        ]
    }

    fn key() -> impl Strategy<Value = EntryKey> {
        let field = (id(), matching())
            .prop_map(|(field, matching)| FieldMatch { field: MatchFieldId(field), matching });
        let fields = prop::collection::vec(field, 0..4);
        prop_oneof![
            1 => Just(EntryKey::Default),
            4 => (fields, any::<u32>()).prop_map(|(fields, priority)| {
                EntryKey::Match(MatchKey { fields: fields.into(), priority })
            }),
        ]
    }

    fn whole() -> impl Strategy<Value = TableEntry> {
        let parts = (id(), key(), prop::option::of(action()));
        let rest = (any::<u64>(), prop::collection::vec(any::<u8>(), 0..4), any::<bool>());
        let direct = (any::<u64>(), prop::option::of(any::<u64>()), any::<bool>(), any::<bool>());
        (parts, rest, direct).prop_map(|((table, key, action), rest, direct)| {
            let (controller_metadata, metadata, is_const) = rest;
            let (idle_timeout_ns, since_last_hit_ns, counts, meters) = direct;
            TableEntry {
                action,
                controller_metadata,
                metadata: metadata.into(),
                idle_timeout_ns,
                since_last_hit_ns,
                counter: counts.then_some(CounterData { packets: 7, bytes: 300 }),
                meter: meters.then_some(MeterConfig { peak_rate: 5, ..MeterConfig::default() }),
                is_const,
                ..TableEntry::new(TableId(table), key)
            }
        })
    }

    proptest! {
        #[test]
        fn an_entry_is_written_as_its_message_would_be(entry in whole()) {
            let mut out = vec![1, 2, 3];
            nested(1, &mut out, |out| super::entry(&entry, out));
            let message = super::super::entry::message(&entry);
            let mut expected = vec![1, 2, 3];
            message::encode(1, &message, &mut expected);
            prop_assert_eq!(&out, &expected);
        }
    }
}
