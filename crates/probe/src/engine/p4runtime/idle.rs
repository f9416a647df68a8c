//! Table entries that switches report as idle instead of sending packet-ins, if the load consists
//! of idle timeouts.
//!
//! At each due time, a switch inserts an entry, as if a packet had added it earlier, and notifies
//! the controller that the entry is idle. A controller then removes the entry, or sets it again to
//! keep it. The first update of a Write with the key of the entry counts as the answer. The key
//! contains the sequence number of the entry. If the key has more bits, they contain a mark of the
//! trial, which distinguishes these entries from the controller's own and from those of earlier
//! trials.

use entities::schema::{ActionScope, MatchKind, Table, TableId};
use entities::value::ValueType;
use p4runtime::proto::v1::{self, field_match::FieldMatchType, update};
use p4runtime::session::Pipeline;

use crate::traffic::RunKey;

/// The number of bits of a key that contain the sequence number of the entry.
const NUMBER_BITS: u32 = 32;
/// The idle timeout of the entries in nanoseconds. It is a day, so that the emulated device itself
/// never reports them as idle.
const IDLE_TIMEOUT: i64 = 24 * 3600 * 1_000_000_000;
/// The table size that is assumed if a table declares none. It also limits the number of entries of
/// any table that are reported as idle at a time.
const ROOM: u64 = 65_536;
/// The priority of entries in tables that require one. Any value other than 0 would do.
const PRIORITY: i32 = 1;

/// A table whose entries are reported as idle, and the form of these entries.
#[derive(Clone, Debug)]
pub(super) struct IdleForm {
    pub(super) table: TableId,
    fields: Vec<Field>,
    action: v1::Action,
    needs_priority: bool,
    /// The maximum number of entries of this trial in the table at a time. The rest of the table is
    /// left to the controller.
    room: u64,
    /// The mark that identifies entries of this trial, in those bits of the key that the sequence
    /// number does not use.
    mark: u128,
}

/// A match field of the table.
#[derive(Clone, Debug)]
struct Field {
    id: u32,
    kind: MatchKind,
    bits: u32,
}

/// The reason why a pipeline has no table whose entries can be reported as idle, or not the
/// configured one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoTable {
    #[error(
        "the pipeline declares no table with idle time-outs whose entries have an action and a key of 32 bits or more, \
         and traffic.load is idle-timeout; push one whose program has such a table (support_timeout = true), or leave \
         traffic.load at packet-in"
    )]
    None,
    #[error(
        "the pipeline declares no table \"{wanted}\" whose entries can be idle (p4runtime.idle-table); it declares \
         {declared}"
    )]
    Unknown { wanted: String, declared: String },
}

impl IdleForm {
    /// Returns the table of the pipeline with the name `wanted`, or its first table with idle
    /// timeouts if `wanted` is empty.
    pub(super) fn of(pipeline: &Pipeline, wanted: &str, key: RunKey) -> Result<Self, NoTable> {
        let tables = pipeline.schema().tables();
        let mut usable =
            tables.iter().filter_map(|table| Some((table, Self::of_table(pipeline, table, key)?)));
        let found = usable.find(|(table, _)| {
            wanted.is_empty() || [&table.name, &table.alias].contains(&&wanted.to_owned())
        });
        if let Some((_, form)) = found {
            return Ok(form);
        }
        let declared: Vec<&str> = tables
            .iter()
            .filter(|table| Self::of_table(pipeline, table, key).is_some())
            .map(|table| table.name.as_str())
            .collect();
        Err(match declared.as_slice() {
            [] => NoTable::None,
            _ => NoTable::Unknown { wanted: wanted.to_owned(), declared: declared.join(", ") },
        })
    }

    fn of_table(pipeline: &Pipeline, table: &Table, key: RunKey) -> Option<Self> {
        if !table.idle_timeout || table.is_const || table.implementation.is_some() {
            return None;
        }
        let field = |field: &entities::schema::MatchField| {
            let is_known = !matches!(field.kind, MatchKind::Other(_));
            let bits = field.value.bits().filter(|_| is_known)?;
            Some(Field { id: field.id.0, kind: field.kind.clone(), bits })
        };
        let fields: Vec<Field> = table.match_fields.iter().map(field).collect::<Option<_>>()?;
        if fields.iter().map(|field| field.bits).sum::<u32>() < NUMBER_BITS {
            return None;
        }
        let scopes = [ActionScope::TableAndDefault, ActionScope::TableOnly];
        let action = table.actions.iter().find(|action| scopes.contains(&action.scope))?.id;
        let params = &pipeline.schema().actions().get(action)?.params;
        let param = |param: &entities::schema::Param| v1::action::Param {
            param_id: param.id.0,
            value: match param.value {
                ValueType::Bits(_) => vec![0].into(),
                ValueType::Text | ValueType::TextOrEmpty => vec![b'0'].into(),
            },
        };
        let params = params.iter().map(param).collect();
        Some(Self {
            table: table.id,
            fields,
            action: v1::Action { action_id: action.0, params },
            needs_priority: table.needs_priority,
            room: (table.size.unwrap_or(ROOM) / 2).clamp(1, ROOM),
            mark: key.mark() << NUMBER_BITS,
        })
    }

    /// Returns the entry with a given sequence number, in the form in which a notification contains
    /// it.
    pub(super) fn entry(&self, sequence: u64) -> v1::TableEntry {
        let mut rest = self.mark | u128::from(sequence as u32);
        let mut matches = Vec::with_capacity(self.fields.len());
        for field in self.fields.iter().rev() {
            matches.push(field.matching(rest & field.all()));
            rest = rest.checked_shr(field.bits).unwrap_or_default();
        }
        matches.reverse();
        v1::TableEntry {
            table_id: self.table.0,
            r#match: matches,
            priority: if self.needs_priority { PRIORITY } else { 0 },
            idle_timeout_ns: IDLE_TIMEOUT,
            ..Default::default()
        }
    }

    /// Returns the sequence number of an entry if this trial has created the entry, and `None` for
    /// other entries.
    pub(super) fn sequence_of(&self, entry: &v1::TableEntry) -> Option<u64> {
        if entry.table_id != self.table.0 {
            return None;
        }
        let (mut key, mut known, mut at) = (0_u128, 0_u128, 0);
        for field in self.fields.iter().rev() {
            let held = entry.r#match.iter().find(|held| held.field_id == field.id)?;
            let value = number(field.value(held.field_match_type.as_ref()?)?)?;
            key |= value.checked_shl(at).unwrap_or_default();
            known |= field.all().checked_shl(at).unwrap_or_default();
            at += field.bits;
        }
        let number = key as u32;
        let expected = (self.mark | u128::from(number)) & known;
        (key == expected).then_some(number.into())
    }

    /// Returns the updates that insert the entry with a given sequence number into the table.
    /// Before that, they delete the entry that was inserted `room` entries earlier, because the
    /// controller may have kept it.
    pub(super) fn appears(&self, sequence: u64) -> impl Iterator<Item = v1::Update> {
        let update = |kind: update::Type, entry| v1::Update {
            r#type: kind.into(),
            entity: Some(v1::Entity { entity: Some(v1::entity::Entity::TableEntry(entry)) }),
        };
        let left = sequence.checked_sub(self.room).map(|sequence| self.entry(sequence));
        let action = v1::table_action::Type::Action(self.action.clone());
        let added = v1::TableEntry {
            action: Some(v1::TableAction { r#type: Some(action) }),
            ..self.entry(sequence)
        };
        let left = left.map(|entry| update(update::Type::Delete, entry));
        left.into_iter().chain([update(update::Type::Insert, added)])
    }
}

impl Field {
    /// Returns a value of the field with all bits set.
    fn all(&self) -> u128 {
        1_u128.checked_shl(self.bits).unwrap_or_default().wrapping_sub(1)
    }

    /// Returns a match on exactly this value of the field.
    fn matching(&self, value: u128) -> v1::FieldMatch {
        let (value, all) = (bytes(value), self.mask());
        let matching = match self.kind {
            MatchKind::Lpm => FieldMatchType::Lpm(v1::field_match::Lpm {
                value,
                prefix_len: i32::try_from(self.bits).unwrap_or(i32::MAX),
            }),
            MatchKind::Ternary => {
                FieldMatchType::Ternary(v1::field_match::Ternary { value, mask: all })
            }
            MatchKind::Range => {
                FieldMatchType::Range(v1::field_match::Range { low: value.clone(), high: value })
            }
            MatchKind::Optional => FieldMatchType::Optional(v1::field_match::Optional { value }),
            MatchKind::Exact | MatchKind::Other(_) => {
                FieldMatchType::Exact(v1::field_match::Exact { value })
            }
        };
        v1::FieldMatch { field_id: self.id, field_match_type: Some(matching) }
    }

    /// Returns a mask of all ones that is as wide as the field. The mask consists of bytes, since a
    /// field may be wider than any integer type.
    fn mask(&self) -> bytes::Bytes {
        let mut mask = vec![0xff; self.bits.div_ceil(8) as usize];
        if let (Some(first), rest @ 1..) = (mask.first_mut(), self.bits % 8) {
            *first = (1 << rest) - 1;
        }
        mask.into()
    }

    fn value<'a>(&self, matching: &'a FieldMatchType) -> Option<&'a [u8]> {
        match (&self.kind, matching) {
            (MatchKind::Exact, FieldMatchType::Exact(held)) => Some(&held.value),
            (MatchKind::Lpm, FieldMatchType::Lpm(held)) => Some(&held.value),
            (MatchKind::Ternary, FieldMatchType::Ternary(held)) => Some(&held.value),
            (MatchKind::Range, FieldMatchType::Range(held)) => Some(&held.low),
            (MatchKind::Optional, FieldMatchType::Optional(held)) => Some(&held.value),
            _ => None,
        }
    }
}

/// Returns the shortest big-endian encoding of a number, which P4Runtime requires.
fn bytes(value: u128) -> bytes::Bytes {
    let bytes = value.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(bytes.len() - 1);
    bytes[zeros..].to_vec().into()
}

/// Parses a big-endian number from bytes of any length. Returns `None` if it does not fit into 128
/// bits.
fn number(bytes: &[u8]) -> Option<u128> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = bytes.get(zeros..)?;
    let fits = bytes.len() <= size_of::<u128>();
    fits.then(|| bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use p4runtime::packet_io::ByteString;
    use p4runtime::session::PipelineRegistry;

    use super::*;

    /// Returns the P4Info of a table with idle timeouts and with fields of the given kinds and
    /// widths.
    fn table(name: &str, number: u32, fields: &[(&str, u32)], more: &str) -> String {
        let field = |(at, (kind, bits)): (usize, &(&str, u32))| {
            let id = at + 1;
            format!("match_fields {{ id: {id} name: 'f{id}' bitwidth: {bits} match_type: {kind} }}")
        };
        let fields: String = fields.iter().enumerate().map(field).collect();
        format!(
            "tables {{ preamble {{ id: {} name: 'ingress.{name}' alias: '{name}' }} {fields} action_refs {{ id: \
             0x01000001 }} idle_timeout_behavior: NOTIFY_CONTROL {more} }}",
            0x0200_0000 + number
        )
    }

    fn pipeline(tables: &str) -> Arc<Pipeline> {
        let text = format!(
            "{tables} actions {{ preamble {{ id: 0x01000001 name: 'a' alias: 'a' }} params {{ id: 1 name: 'p' \
             bitwidth: 9 }} }}"
        );
        let p4info = p4runtime::p4info::text::parse(&text).expect("a P4Info");
        let registry = PipelineRegistry::new();
        registry.intern(p4info, &Bytes::new(), ByteString::Canonical).expect("a pipeline")
    }

    const KEY: RunKey = RunKey::new(7);

    #[test]
    fn the_key_holds_the_number_and_a_mark_of_the_trial() {
        let kinds: [&[(&str, u32)]; 6] = [
            &[("EXACT", 48)],
            &[("LPM", 32)],
            &[("EXACT", 9), ("TERNARY", 20), ("RANGE", 7)],
            &[("OPTIONAL", 128)],
            &[("EXACT", 48), ("EXACT", 48), ("EXACT", 48)],
            &[("TERNARY", 333), ("EXACT", 16), ("EXACT", 16)],
        ];
        for fields in kinds {
            let pipeline = pipeline(&table("t", 1, fields, "size: 10"));
            let form = IdleForm::of(&pipeline, "", KEY).expect("a table");
            let other = IdleForm::of(&pipeline, "t", RunKey::new(8)).expect("a table");
            let has_mark = fields.iter().map(|(_, bits)| bits).sum::<u32>() > 34;
            for sequence in [0, 1, 255, 65_536, 0xffff_ffff] {
                let entry = form.entry(sequence);
                assert_eq!(form.sequence_of(&entry), Some(sequence), "{fields:?}");
                assert_eq!(other.sequence_of(&entry).is_none(), has_mark, "{fields:?}");
                let elsewhere = v1::TableEntry { table_id: 5, ..entry.clone() };
                assert_eq!(form.sequence_of(&elsewhere), None);
                let wildcard = v1::TableEntry { r#match: Vec::new(), ..entry };
                assert_eq!(form.sequence_of(&wildcard), None);
            }
        }
    }

    #[test]
    fn entries_that_appear_are_valid_and_take_the_place_of_those_that_were_left() {
        use p4runtime::session::{Device, DeviceOptions};

        let p4info = table("t", 1, &[("EXACT", 9), ("TERNARY", 48), ("LPM", 32)], "size: 10");
        let pipeline = pipeline(&p4info);
        let form = IdleForm::of(&pipeline, "t", KEY).expect("a table");
        let mut device = Device::new(1, DeviceOptions::default(), Arc::default());
        let config = v1::ForwardingPipelineConfig {
            p4info: Some(pipeline.p4info().clone()),
            ..Default::default()
        };
        device.preload(config).expect("valid");
        for sequence in 0..25 {
            let updates: Vec<_> = form.appears(sequence).collect();
            let outcomes = device.write_from_data_plane(&updates, entities::Nanos(0));
            assert_eq!(outcomes.len(), if sequence < 5 { 1 } else { 2 });
            assert!(outcomes.iter().all(Result::is_ok), "{sequence}: {outcomes:?}");
        }
    }

    #[test]
    fn a_table_that_is_missing_is_named_with_those_that_are_there() {
        let of = |tables: &str, wanted| IdleForm::of(&pipeline(tables), wanted, KEY);
        assert_eq!(of("", "").expect_err("none"), NoTable::None);
        let short = table("short", 1, &[("EXACT", 31)], "");
        let constant = table("constant", 2, &[("EXACT", 48)], "is_const_table: true");
        let useless = format!("{short}{constant}");
        assert_eq!(of(&useless, "short").expect_err("too short"), NoTable::None);
        let hosts = table("hosts", 3, &[("EXACT", 48)], "");
        let error = of(&format!("{useless}{hosts}"), "short").expect_err("too short");
        assert_eq!(
            error.to_string(),
            "the pipeline declares no table \"short\" whose entries can be idle (p4runtime.idle-table); it declares \
             ingress.hosts"
        );
        for name in ["", "hosts", "ingress.hosts"] {
            assert_eq!(of(&format!("{useless}{hosts}"), name).expect("there").table.0, 0x0200_0003);
        }
    }
}
