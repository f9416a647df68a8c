//! The rules for updates of the direct counters and meters of entries (9.3.1, 9.4.1).

use protos::v1::{self, update::Type};
use tonic::Code;

use super::Model;
use super::answer::{Faults, INVALID};
use super::cells::{meter_config, meter_counters};
use super::values::matches;
use crate::bench::REFUSED;
use crate::fuzz::normal::key_of;
use crate::subject::{Subject, Table};

impl Model {
    /// Checks an update of the direct counter of an entry.
    pub(super) fn direct_counter(
        &self,
        subject: &Subject,
        kind: Type,
        counter: &v1::DirectCounterEntry,
        faults: &mut Faults,
    ) {
        let has_one = |table: &Table| subject.counts(table).is_some();
        self.direct(subject, kind, counter.table_entry.as_ref(), has_one, faults);
    }

    /// Checks an update of the direct meter of an entry.
    pub(super) fn direct_meter(
        &self,
        subject: &Subject,
        kind: Type,
        meter: &v1::DirectMeterEntry,
        faults: &mut Faults,
    ) {
        let has_one = |table: &Table| subject.marker(table).is_some();
        let table = self.direct(subject, kind, meter.table_entry.as_ref(), has_one, faults);
        let marker = table.and_then(|table| subject.marker(table));
        meter_config(marker, meter.config.as_ref(), faults);
        meter_counters(meter.counter_data.as_ref(), faults);
    }

    /// Checks the entry to which a direct counter or meter belongs. Returns the entry's table, if
    /// that has such a resource.
    fn direct<'a>(
        &self,
        subject: &'a Subject,
        kind: Type,
        entry: Option<&v1::TableEntry>,
        has_one: impl Fn(&Table) -> bool,
        faults: &mut Faults,
    ) -> Option<&'a Table> {
        match kind {
            Type::Modify => {}
            Type::Insert | Type::Delete => faults.add(true, INVALID),
            Type::Unspecified => faults.add(true, REFUSED),
        }
        let of_entry = |table: &&Table| entry.is_some_and(|entry| entry.table_id == table.id);
        let (Some(entry), Some(table)) = (entry, subject.tables.iter().find(of_entry)) else {
            faults.add(true, REFUSED);
            return None;
        };
        faults.add(!has_one(table), REFUSED);
        // Default entries and those that the device had before are not modelled here.
        let key = key_of(entry);
        if entry.is_default_action || self.taken.contains(&key) {
            faults.may(true, REFUSED);
            return Some(table);
        }
        matches(&table.keys, &entry.r#match, faults);
        faults.add((entry.priority != 0) != table.has_priority(), REFUSED);
        faults.add(!self.entries.contains_key(&key), &[Code::NotFound]);
        // The P4Info does not say which actions use the counter or meter.
        faults.may(true, INVALID);
        Some(table)
    }

    /// Sets the counts of an entry's direct counter in the model.
    pub(super) fn apply_direct_counter(&mut self, counter: &v1::DirectCounterEntry) {
        let key = counter.table_entry.as_ref().map(key_of);
        let entry = key.and_then(|key| self.entries.get_mut(&key));
        // Without data, the counts stay (9.3.1).
        if let (Some(entry), Some(data)) = (entry, counter.data) {
            entry.counter_data = Some(data).filter(|data| *data != v1::CounterData::default());
        }
    }

    /// Configures the direct meter of an entry in the model, or resets its configuration (9.4.1).
    pub(super) fn apply_direct_meter(&mut self, meter: &v1::DirectMeterEntry) {
        let key = meter.table_entry.as_ref().map(key_of);
        if let Some(entry) = key.and_then(|key| self.entries.get_mut(&key)) {
            entry.meter_config = meter.config;
        }
    }
}
