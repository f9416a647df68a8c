//! Generates updates of the cells of counters, meters and registers, of value sets and digests, and
//! of direct counters and meters of entries.

use bytes::Bytes;
use protos::v1::{self, digest_entry, p4_data};

use super::{Generator, Subjects};
use crate::entities::{delete, insert, modify, too_large};
use crate::fuzz::model::Model;
use crate::fuzz::normal::only_key;
use crate::fuzz::scope::Scope;
use crate::subject::{Array, Counts, Marker, Subject, Table, ValueSet, Width};

/// The shortest idle timeout of generated entries, in nanoseconds. It is so long that no entry
/// expires during a run.
const LONG_NS: i64 = 12_345_678_901_234;
/// The largest number of members of a generated value set.
const MOST_MEMBERS: i64 = 6;

/// Returns what can be updated in these parts of the state: arrays, value sets, digests, and tables
/// with direct counters or meters.
pub(super) fn subjects<'a>(subject: &'a Subject, scopes: &[Scope]) -> Vec<Subjects<'a>> {
    let has_resource =
        |table: &Table| subject.counts(table).is_some() || subject.marker(table).is_some();
    let found = scopes.iter().filter_map(|scope| match *scope {
        Scope::Counter(id) => {
            subject.counters.iter().find(|one| one.id == id).map(Subjects::Counter)
        }
        Scope::Meter(id) => subject.meters.iter().find(|one| one.id == id).map(Subjects::Meter),
        Scope::Register(id) => {
            subject.registers.iter().find(|one| one.id == id).map(Subjects::Register)
        }
        Scope::ValueSet(id) => {
            subject.value_sets.iter().find(|one| one.id == id).map(Subjects::ValueSet)
        }
        Scope::Digest(id) => Some(Subjects::Digest(id)),
        Scope::Entries(id) => {
            let table = subject.tables.iter().find(|table| table.id == id);
            table.filter(|table| has_resource(table)).map(Subjects::Direct)
        }
        Scope::DefaultEntry(_)
        | Scope::Groups(_)
        | Scope::Members(_)
        | Scope::MulticastGroups
        | Scope::CloneSessions => None,
    });
    found.collect()
}

impl Generator<'_> {
    pub(super) fn counter_update(&mut self, counter: &Array<Counts>) -> v1::Update {
        let data = (self.random.u8(..8) > 0).then(|| self.counts(counter.form));
        let counter_id = self.id(counter.id);
        let index = self.index(Scope::Counter(counter.id), counter.size);
        self.modification(v1::CounterEntry { counter_id, index, data }.into())
    }

    pub(super) fn meter_update(&mut self, meter: &Array<Marker>) -> v1::Update {
        let config = match self.random.u8(..8) {
            0 | 1 => None,
            2 => Some(self.wrong_meter_config(Some(meter.form))),
            _ => Some(self.meter_config(meter.form)),
        };
        // Counts of colours can be reset, but not set.
        let counter_data = match self.random.u8(..12) {
            0 => Some(v1::MeterCounterData::default()),
            1 => Some(v1::MeterCounterData {
                green: Some(v1::CounterData { byte_count: 1, packet_count: 1 }),
                ..Default::default()
            }),
            _ => None,
        };
        let meter_id = self.id(meter.id);
        let index = self.index(Scope::Meter(meter.id), meter.size);
        self.modification(v1::MeterEntry { meter_id, index, config, counter_data }.into())
    }

    pub(super) fn register_update(&mut self, register: &Array<Width>) -> v1::Update {
        let bits = register.form.unwrap_or(1);
        let data = match self.random.u8(..24) {
            0 => None,
            1 => Some(p4_data::Data::Bitstring(too_large(bits))),
            2 => Some(p4_data::Data::Bitstring(Bytes::new())),
            3 => Some(p4_data::Data::Tuple(v1::P4StructLike::default())),
            _ => Some(p4_data::Data::Bitstring(self.value(bits))),
        };
        let data = data.map(|data| v1::P4Data { data: Some(data) });
        let register_id = self.id(register.id);
        let index = self.index(Scope::Register(register.id), register.size);
        modify(v1::RegisterEntry { register_id, index, data }.into())
    }

    pub(super) fn value_set_update(&mut self, set: &ValueSet) -> v1::Update {
        let count = self.random.i64(0..=set.size.min(MOST_MEMBERS));
        let mut members: Vec<v1::ValueSetMember> = Vec::new();
        for _ in 0..count {
            let fields = set.keys.iter().filter_map(|key| self.field(key)).collect();
            let member = v1::ValueSetMember { r#match: fields };
            if !members.contains(&member) {
                members.push(member);
            }
        }
        match self.random.u8(..10) {
            0 => {
                let again = self.random.choice(&members).cloned();
                members.extend(again);
            }
            1 | 2 => {
                let place = self.random.usize(..members.len().max(1));
                let field = members.get_mut(place).and_then(|member| member.r#match.first_mut());
                if let Some(field) = field {
                    self.damage_field(&set.keys, field);
                }
            }
            3 if set.size <= MOST_MEMBERS => {
                // More members than the set has room for.
                while i64::try_from(members.len()).is_ok_and(|count| count <= set.size) {
                    let fields = set.keys.iter().filter_map(|key| self.field(key)).collect();
                    members.push(v1::ValueSetMember { r#match: fields });
                }
            }
            _ => {}
        }
        let value_set_id = self.id(set.id);
        self.modification(v1::ValueSetEntry { value_set_id, members }.into())
    }

    pub(super) fn digest_update(&mut self, digest_id: u32, model: &Model) -> v1::Update {
        let is_there = !model.entities(Scope::Digest(digest_id)).is_empty();
        let config = digest_entry::Config {
            max_timeout_ns: i64::from(self.random.u8(1..4)) * 1_000_000,
            max_list_size: i32::from(self.random.u8(1..4)),
            ack_timeout_ns: i64::from(self.random.u8(1..4)) * 1_000_000_000,
        };
        let digest_id = self.id(digest_id);
        self.any_type(is_there)(v1::DigestEntry { digest_id, config: Some(config) }.into())
    }

    /// Generates an update of the direct counter or the direct meter of an entry, which need not
    /// exist.
    pub(super) fn direct_update(&mut self, table: &Table, model: &Model) -> v1::Update {
        let key = self.key(table, model);
        let mut entry = only_key(&key);
        if self.random.u8(..12) == 0 {
            let place = self.random.usize(..entry.r#match.len().max(1));
            if let Some(field) = entry.r#match.get_mut(place) {
                self.damage_field(&table.keys, field);
            }
        }
        let (counts, marker) = (self.subject.counts(table), self.subject.marker(table));
        // One of sixteen updates is of a direct counter or meter that the table may lack.
        let is_wrong = self.random.u8(..16) == 0;
        let is_of_meter = match (counts, marker) {
            (Some(_), Some(_)) => self.random.bool(),
            (_, marker) => marker.is_some() != is_wrong,
        };
        let table_entry = Some(entry);
        let entity = match is_of_meter {
            true => {
                let marker = marker.unwrap_or(Marker::TwoRateThree);
                let config = match self.random.u8(..6) {
                    0 => None,
                    1 => Some(self.wrong_meter_config(Some(marker))),
                    _ => Some(self.meter_config(marker)),
                };
                v1::DirectMeterEntry { table_entry, config, counter_data: None }.into()
            }
            false => {
                let counts = counts.unwrap_or(Counts { packets: true, bytes: true });
                let data = (self.random.u8(..8) > 0).then(|| self.counts(counts));
                v1::DirectCounterEntry { table_entry, data }.into()
            }
        };
        self.modification(entity)
    }

    /// Adds counts, a meter configuration and an idle timeout to an entry, each at random if the
    /// table supports it.
    pub(super) fn add_resources(&mut self, table: &Table, entry: &mut v1::TableEntry) {
        if let Some(counts) = self.subject.counts(table)
            && self.random.u8(..3) == 0
        {
            entry.counter_data = Some(self.counts(counts));
        }
        if let Some(marker) = self.subject.marker(table)
            && self.random.u8(..3) == 0
        {
            entry.meter_config = Some(self.meter_config(marker));
        }
        if table.notifies_idle_entries && self.random.u8(..3) == 0 {
            entry.idle_timeout_ns = LONG_NS + i64::from(self.random.u8(..4));
        }
    }

    /// Generates a configuration that a meter with this algorithm must accept.
    pub(super) fn meter_config(&mut self, marker: Marker) -> v1::MeterConfig {
        let cir = 1000 * i64::from(self.random.u8(1..4));
        let cburst = 2000 * i64::from(self.random.u8(1..4));
        let has_excess = marker == Marker::SingleRateThree;
        let (pir, pburst) = match marker {
            Marker::TwoRateThree => (cir + 1000 * i64::from(self.random.u8(..3)), cburst + 500),
            Marker::SingleRateThree | Marker::SingleRateTwo => (cir, cburst),
        };
        v1::MeterConfig { cir, cburst, pir, pburst, eburst: if has_excess { 500 } else { 0 } }
    }

    /// Generates a configuration that a meter with this algorithm must refuse.
    pub(super) fn wrong_meter_config(&mut self, marker: Option<Marker>) -> v1::MeterConfig {
        let marker = marker.unwrap_or(Marker::TwoRateThree);
        let config = self.meter_config(marker);
        match marker {
            Marker::TwoRateThree => v1::MeterConfig { eburst: 500, ..config },
            Marker::SingleRateThree | Marker::SingleRateTwo => {
                v1::MeterConfig { pir: config.cir + 1, ..config }
            }
        }
    }

    /// Generates counts of the units that a counter counts.
    fn counts(&mut self, counts: Counts) -> v1::CounterData {
        let packets = i64::from(self.random.u8(..5));
        v1::CounterData {
            packet_count: if counts.packets { packets } else { 0 },
            byte_count: if counts.bytes { packets * 100 } else { 0 },
        }
    }

    /// Returns the identifier `id`, or in one of 24 cases an identifier that no object has.
    fn id(&mut self, id: u32) -> u32 {
        if self.random.u8(..24) == 0 { self.subject.unused_id(id) } else { id }
    }

    /// Generates the index of a cell, `None` for all cells, or an index that is outside the array.
    fn index(&mut self, array: Scope, size: i64) -> Option<v1::Index> {
        let cells = array.cells(self.subject);
        let index = match (self.random.u8(..16), cells) {
            (0, _) => -1,
            (1, _) => size.saturating_add(1),
            (2 | 3, None) => return None,
            (_, None) => self.random.i64(0..size.min(4)),
            (_, Some(cells)) => self.random.choice(&cells).copied().unwrap_or(0),
        };
        Some(v1::Index { index })
    }

    /// Generates an update of an entity that always exists. In eight of ten cases its type is
    /// `MODIFY`, the only valid one.
    fn modification(&mut self, entity: v1::Entity) -> v1::Update {
        match self.random.u8(..10) {
            0 => insert(entity),
            1 => delete(entity),
            _ => modify(entity),
        }
    }
}
