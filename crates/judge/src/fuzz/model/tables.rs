//! The rules for updates of table entries and default entries (9.1).

use protos::v1::{self, table_action, update::Type};
use tonic::Code;

use super::Model;
use super::answer::{BAD_VALUE, Faults, INVALID};
use super::cells::{meter_config, meter_counters};
use super::profiles::action_set;
use super::values::{is_value, matches};
use crate::bench::REFUSED;
use crate::fuzz::normal::{key_of, normal_entry};
use crate::subject::{Action, Param, Subject, Table};

impl Model {
    /// Checks an update of a table entry (9.1).
    pub(super) fn entry(
        &self,
        subject: &Subject,
        kind: Type,
        entry: &v1::TableEntry,
        faults: &mut Faults,
    ) {
        let found = subject.tables.iter().find(|table| table.id == entry.table_id);
        let Some(table) = found else { return faults.add(true, REFUSED) };
        matches(&table.keys, &entry.r#match, faults);
        // Section 9.1 names no code for a wrong priority.
        faults.add((entry.priority != 0) != table.has_priority(), REFUSED);
        if !faults.is_empty() {
            return;
        }
        let is_there = self.entries.contains_key(&key_of(entry));
        let breach = table.restriction.as_ref().and_then(|one| one.breach_of_entry(entry));
        match kind {
            Type::Insert => faults.add(is_there, &[Code::AlreadyExists]),
            Type::Modify => faults.add(!is_there, &[Code::NotFound]),
            // Only the key of a deletion is looked at.
            Type::Delete => {
                faults.may(breach.is_some(), INVALID);
                return faults.add(!is_there, &[Code::NotFound]);
            }
            Type::Unspecified => return faults.add(true, REFUSED),
        }
        faults.breaks(breach);
        match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
            None => faults.add(kind == Type::Insert, REFUSED),
            Some(action) => self.table_action(subject, table, entry, action, faults),
        }
        resources(subject, table, entry, faults);
    }

    /// Checks the action of an entry (9.1.2).
    fn table_action(
        &self,
        subject: &Subject,
        table: &Table,
        entry: &v1::TableEntry,
        action: &table_action::Type,
        faults: &mut Faults,
    ) {
        let profile = subject.profiles.iter().find(|profile| Some(profile.id) == table.profile);
        match (action, profile) {
            (table_action::Type::Action(action), None) => {
                plain_action(table, action, |known| known.in_entries, faults);
            }
            (table_action::Type::ActionProfileMemberId(id), Some(profile)) => {
                faults.add(!self.members.contains_key(&(profile.id, *id)), &[Code::NotFound]);
                faults.add(self.has_sets(profile, Some(entry)), INVALID);
            }
            (table_action::Type::ActionProfileGroupId(id), Some(profile))
                if profile.is_selector =>
            {
                faults.add(!self.groups.contains_key(&(profile.id, *id)), &[Code::NotFound]);
                faults.add(self.has_sets(profile, Some(entry)), INVALID);
            }
            (table_action::Type::ActionProfileActionSet(set), Some(profile))
                if profile.is_selector =>
            {
                action_set(table, profile, set, faults);
                self.beside_members(profile, entry, faults);
            }
            _ => faults.add(true, INVALID),
        }
    }

    /// Applies an accepted update of an entry to the model.
    pub(super) fn apply_entry(&mut self, kind: Type, entry: &v1::TableEntry) {
        let key = key_of(entry);
        if kind == Type::Delete {
            self.entries.remove(&key);
            return;
        }
        let old = self.entries.get(&key);
        let kept = old.and_then(|old| old.counter_data);
        let next = match (&entry.action, old) {
            // A MODIFY without an action changes nothing but direct resources (9.1.2).
            (None, Some(old)) => old.clone(),
            (None, None) | (Some(_), _) => entry.clone(),
        };
        let next = v1::TableEntry {
            // Without data, the counts stay, but the meter is reset (9.1.7).
            counter_data: entry.counter_data.or(kept),
            meter_config: entry.meter_config,
            meter_counter_data: None,
            ..next
        };
        self.entries.insert(key, normal_entry(next));
    }
}

/// Checks the direct counter and meter (9.1.7) and the idle timeout (9.1.8) of an entry.
fn resources(subject: &Subject, table: &Table, entry: &v1::TableEntry, faults: &mut Faults) {
    // The P4Info does not say which actions use a direct resource. A device has to refuse it with
    // others.
    let counts = subject.counts(table);
    faults.add(entry.counter_data.is_some() && counts.is_none(), INVALID);
    faults.may(entry.counter_data.is_some(), INVALID);
    let marker = subject.marker(table);
    let has_meter = entry.meter_config.is_some() || entry.meter_counter_data.is_some();
    faults.add(has_meter && marker.is_none(), INVALID);
    faults.may(has_meter, INVALID);
    meter_config(marker, entry.meter_config.as_ref(), faults);
    meter_counters(entry.meter_counter_data.as_ref(), faults);
    let has_idle_time = entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some();
    faults.add(has_idle_time && !table.notifies_idle_entries, INVALID);
    // The section names no answer to a time that a controller cannot know.
    faults.may(entry.time_since_last_hit.is_some(), REFUSED);
}

/// Checks an update of a default entry (9.1.3).
pub(super) fn default_entry(
    subject: &Subject,
    kind: Type,
    entry: &v1::TableEntry,
    faults: &mut Faults,
) {
    let found = subject.tables.iter().find(|table| table.id == entry.table_id);
    let Some(table) = found else { return faults.add(true, REFUSED) };
    faults.add(kind != Type::Modify, INVALID);
    faults.add(!entry.r#match.is_empty() || entry.priority != 0, INVALID);
    let has_idle_time = entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some();
    faults.add(has_idle_time, INVALID);
    match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        Some(table_action::Type::Action(action)) => {
            plain_action(table, action, |known| known.in_default, faults);
        }
        Some(_) => faults.add(true, INVALID),
        // Without an action, the default action that the program declares is restored.
        None => {}
    }
}

/// Checks a call of an action in an entry or a member (9.1.2). `is_for` returns whether an action
/// is permitted there.
pub(super) fn plain_action(
    table: &Table,
    action: &v1::Action,
    is_for: fn(&Action) -> bool,
    faults: &mut Faults,
) {
    let of_id = |known: &&Action| known.id == action.action_id;
    let Some(known) = table.all_actions().find(of_id) else { return faults.add(true, INVALID) };
    faults.add(!is_for(known), &[Code::PermissionDenied]);
    let mut ids: Vec<u32> = action.params.iter().map(|param| param.param_id).collect();
    let mut wanted: Vec<u32> = known.params.iter().map(|param| param.id).collect();
    ids.sort_unstable();
    wanted.sort_unstable();
    faults.add(ids != wanted, INVALID);
    let mut are_values = true;
    for param in &action.params {
        let of_id = |known: &&Param| known.id == param.param_id;
        if let Some(known) = known.params.iter().find(of_id) {
            let is_value = known.is_text() || is_value(&param.value, known.bits);
            faults.add(!is_value, BAD_VALUE);
            are_values &= is_value;
        }
    }
    // A constraint applies only to calls that have exactly the parameters of the action, with valid
    // values.
    if ids == wanted && are_values {
        faults.breaks(known.restriction.as_ref().and_then(|one| one.breach_of_call(action)));
    }
}
