//! The rules for updates of the cells of counters, meters and registers, of value sets and of
//! digests (9.3, 9.4, 9.6 to 9.8). All of these except digests always exist, so they can only be
//! modified.

use protos::v1::{self, entity::Entity as Kind, p4_data, update::Type};
use tonic::Code;

use super::Model;
use super::answer::{BAD_VALUE, Faults, INVALID};
use super::values::{is_value, matches};
use crate::bench::REFUSED;
use crate::fuzz::normal::{normal, normal_fields};
use crate::fuzz::scope::Scope;
use crate::subject::{Marker, Subject};

const UNIMPLEMENTED: &[Code] = &[Code::Unimplemented];

/// Checks an update of a cell of a counter (9.3.2).
pub(super) fn counter(subject: &Subject, kind: Type, cell: &v1::CounterEntry, faults: &mut Faults) {
    let found = subject.counters.iter().find(|counter| counter.id == cell.counter_id);
    let Some(counter) = found else { return faults.add(true, REFUSED) };
    modified_only(kind, faults);
    index(cell.index, counter.size, faults);
}

/// Checks an update of a cell of a meter (9.4.2).
pub(super) fn meter(subject: &Subject, kind: Type, cell: &v1::MeterEntry, faults: &mut Faults) {
    let found = subject.meters.iter().find(|meter| meter.id == cell.meter_id);
    let Some(meter) = found else { return faults.add(true, REFUSED) };
    modified_only(kind, faults);
    index(cell.index, meter.size, faults);
    meter_config(Some(meter.form), cell.config.as_ref(), faults);
    meter_counters(cell.counter_data.as_ref(), faults);
}

/// Checks an update of a cell of a register (9.7).
pub(super) fn register(
    subject: &Subject,
    kind: Type,
    cell: &v1::RegisterEntry,
    faults: &mut Faults,
) {
    let found = subject.registers.iter().find(|register| register.id == cell.register_id);
    let Some(register) = found else { return faults.add(true, REFUSED) };
    // The section does not say what INSERT and DELETE of a cell mean.
    faults.may(kind != Type::Modify, REFUSED);
    index(cell.index, register.size, faults);
    let data = cell.data.as_ref().and_then(|data| data.data.as_ref());
    match (register.form, data) {
        (Some(bits), Some(p4_data::Data::Bitstring(value))) => {
            faults.add(!is_value(value, bits), BAD_VALUE);
        }
        (Some(_), _) => faults.add(true, INVALID),
        // Values that are no numbers are not modelled.
        (None, _) => faults.may(true, REFUSED),
    }
}

/// Checks an update of a value set (9.6).
pub(super) fn value_set(
    subject: &Subject,
    kind: Type,
    entry: &v1::ValueSetEntry,
    faults: &mut Faults,
) {
    let found = subject.value_sets.iter().find(|set| set.id == entry.value_set_id);
    let Some(set) = found else { return faults.add(true, REFUSED) };
    modified_only(kind, faults);
    let is_full = i64::try_from(entry.members.len()).is_ok_and(|count| count > set.size);
    faults.add(is_full, &[Code::ResourceExhausted]);
    let mut seen = Vec::new();
    for member in &entry.members {
        matches(&set.keys, &member.r#match, faults);
        let fields = normal_fields(member.r#match.clone());
        faults.add(seen.contains(&fields), &[Code::AlreadyExists]);
        seen.push(fields);
    }
}

/// Checks the configuration of a meter (9.4). The specification only recommends the status codes.
pub(super) fn meter_config(
    marker: Option<Marker>,
    config: Option<&v1::MeterConfig>,
    faults: &mut Faults,
) {
    let (Some(marker), Some(config)) = (marker, config) else { return };
    let has_two_rates = (config.pir, config.pburst) != (config.cir, config.cburst);
    let has_excess = config.eburst != 0;
    let is_wrong = match marker {
        Marker::TwoRateThree => has_excess,
        Marker::SingleRateThree => has_two_rates,
        Marker::SingleRateTwo => has_two_rates || has_excess,
    };
    faults.add(is_wrong, REFUSED);
}

/// Checks the counts of a meter's colours (9.4). A controller can only reset them to zero, and a
/// device need not have them.
pub(super) fn meter_counters(counts: Option<&v1::MeterCounterData>, faults: &mut Faults) {
    let Some(counts) = counts else { return };
    let colours = [counts.green, counts.yellow, counts.red];
    let is_set = colours.into_iter().flatten().any(|one| one != v1::CounterData::default());
    faults.add(is_set, INVALID);
    faults.may(true, UNIMPLEMENTED);
}

fn modified_only(kind: Type, faults: &mut Faults) {
    match kind {
        Type::Modify => {}
        Type::Insert | Type::Delete => faults.add(true, INVALID),
        Type::Unspecified => faults.add(true, REFUSED),
    }
}

/// Checks the index of a cell. An update without an index changes all cells.
fn index(index: Option<v1::Index>, size: i64, faults: &mut Faults) {
    let Some(v1::Index { index }) = index else { return };
    faults.add(index < 0, INVALID);
    faults.add(index >= size, &[Code::OutOfRange]);
}

impl Model {
    /// Checks an update of a digest (9.8). The section names no status codes for a refusal.
    pub(super) fn digest(
        &self,
        subject: &Subject,
        kind: Type,
        entry: &v1::DigestEntry,
        faults: &mut Faults,
    ) {
        faults.add(!subject.digests.contains(&entry.digest_id), REFUSED);
        let is_there = self.cells.contains_key(&(Scope::Digest(entry.digest_id), 0));
        match kind {
            Type::Insert => faults.add(is_there, REFUSED),
            Type::Modify | Type::Delete => faults.add(!is_there, REFUSED),
            Type::Unspecified => faults.add(true, REFUSED),
        }
        // The section does not say what a digest without configuration means.
        faults.may(kind != Type::Delete && entry.config.is_none(), REFUSED);
    }

    /// Applies an accepted update of a cell, a value set or a digest to the model.
    pub(super) fn apply_cell(&mut self, kind: Type, entity: &Kind) {
        match entity {
            // Without data, the counts stay (9.3.2).
            Kind::CounterEntry(cell) if cell.data.is_some() => {
                self.set_cells(Scope::Counter(cell.counter_id), cell.index, |index| {
                    v1::CounterEntry { index, ..*cell }.into()
                });
            }
            Kind::CounterEntry(_) => {}
            Kind::MeterEntry(cell) => {
                self.set_cells(Scope::Meter(cell.meter_id), cell.index, |index| {
                    v1::MeterEntry { index, counter_data: None, ..*cell }.into()
                });
            }
            Kind::RegisterEntry(cell) => {
                self.set_cells(Scope::Register(cell.register_id), cell.index, |index| {
                    v1::RegisterEntry { index, ..cell.clone() }.into()
                });
            }
            Kind::ValueSetEntry(set) => {
                let key = (Scope::ValueSet(set.value_set_id), 0);
                self.cells.insert(key, normal(set.clone().into()));
            }
            Kind::DigestEntry(entry) => {
                let key = (Scope::Digest(entry.digest_id), 0);
                match kind {
                    Type::Delete => drop(self.cells.remove(&key)),
                    Type::Insert | Type::Modify | Type::Unspecified => {
                        self.cells.insert(key, (*entry).into());
                    }
                }
            }
            Kind::ExternEntry(_)
            | Kind::TableEntry(_)
            | Kind::ActionProfileMember(_)
            | Kind::ActionProfileGroup(_)
            | Kind::DirectCounterEntry(_)
            | Kind::DirectMeterEntry(_)
            | Kind::PacketReplicationEngineEntry(_) => {}
        }
    }

    /// Sets one cell of an array, or all cells if there is no index.
    fn set_cells(
        &mut self,
        array: Scope,
        index: Option<v1::Index>,
        cell: impl Fn(Option<v1::Index>) -> v1::Entity,
    ) {
        let indices: Vec<i64> = match index {
            Some(v1::Index { index }) => vec![index],
            None => {
                self.cells.keys().filter(|(other, _)| *other == array).map(|key| key.1).collect()
            }
        };
        for index in indices {
            self.cells.insert((array, index), normal(cell(Some(v1::Index { index }))));
        }
    }
}
