//! Table entries: what an update may do to them (specification 1.5, "TableEntry").

use super::action::{self, Usage};
use super::cells::{check_counter, check_meter, check_meter_counters};
use super::change::Change;
use super::state::{Direct, Entry, Idle, Key, State, TableState, Target, encode};
use super::{Nanos, matching, modify_only, profile};
use crate::p4info::{Implementation, Schema, Table, TableId};
use crate::proto::v1;
use crate::proto::v1::table_action::Type as ActionType;
use crate::proto::v1::update::Type as UpdateType;
use crate::status::EntityError;

/// Plans the write of an entry.
pub(super) fn plan(
    schema: &Schema,
    state: &State,
    kind: UpdateType,
    entry: &v1::TableEntry,
    now: Nanos,
) -> Result<Change, EntityError> {
    let planner = Planner { schema, state, table: find(schema, entry.table_id)?, now };
    let planned = match kind {
        _ if entry.is_const => {
            Err(EntityError::invalid("is_const is set; a controller cannot write constant entries"))
        }
        _ if entry.is_default_action => planner.default_entry(kind, entry),
        UpdateType::Modify => planner.modify(entry),
        _ if planner.table.is_const => {
            Err(EntityError::denied("the entries of the table are constant"))
        }
        UpdateType::Delete => planner.delete(entry),
        _ => planner.insert(entry, false),
    };
    planned.map_err(|error| planner.within(error))
}

/// Plans the insertion of an entry that the program declares.
pub(super) fn plan_initial(
    schema: &Schema,
    state: &State,
    entry: &v1::TableEntry,
    now: Nanos,
) -> Result<Change, EntityError> {
    let planner = Planner { schema, state, table: find(schema, entry.table_id)?, now };
    let is_const = entry.is_const || planner.table.is_const;
    planner.insert(entry, is_const).map_err(|error| planner.within(error))
}

/// Plans the write of a direct counter.
pub(super) fn plan_counter(
    schema: &Schema,
    state: &State,
    kind: UpdateType,
    entry: &v1::DirectCounterEntry,
) -> Result<Change, EntityError> {
    modify_only(kind, "a direct counter")?;
    let key = key_of(entry.table_entry.as_ref())?;
    let planner =
        Planner { schema, state, table: find(schema, key.table_id)?, now: Nanos::default() };
    planner.change_direct(key, |direct| {
        planner.require_counter()?;
        if let Some(data) = entry.data {
            check_counter(&data)?;
            direct.counter = data;
        }
        Ok(())
    })
}

/// Plans the write of a direct meter.
pub(super) fn plan_meter(
    schema: &Schema,
    state: &State,
    kind: UpdateType,
    entry: &v1::DirectMeterEntry,
) -> Result<Change, EntityError> {
    modify_only(kind, "a direct meter")?;
    let key = key_of(entry.table_entry.as_ref())?;
    let planner =
        Planner { schema, state, table: find(schema, key.table_id)?, now: Nanos::default() };
    planner.change_direct(key, |direct| {
        planner.check_meter(entry.config.as_ref())?;
        check_meter_counters(entry.counter_data.as_ref())?;
        direct.meter = entry.config;
        Ok(())
    })
}

/// Plans the effect of a packet of `bytes` bytes that hits an entry.
pub(super) fn plan_hit(
    schema: &Schema,
    state: &State,
    key: &v1::TableEntry,
    bytes: u64,
    now: Nanos,
) -> Result<Change, EntityError> {
    let planner = Planner { schema, state, table: find(schema, key.table_id)?, now };
    let (place, mut entry) = planner.existing(key).map_err(|error| planner.within(error))?;
    if planner.table.direct_counter.is_some() {
        let mut direct = entry.direct();
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        direct.counter.byte_count = direct.counter.byte_count.saturating_add(bytes);
        direct.counter.packet_count = direct.counter.packet_count.saturating_add(1);
        entry.set_direct(direct);
    }
    if let Some(idle) = &mut entry.idle {
        idle.last_hit = now;
        idle.quiet_since = now;
    }
    Ok(planner.put(place, entry))
}

/// The table with this identifier.
pub(super) fn find(schema: &Schema, id: u32) -> Result<&Table, EntityError> {
    let id = TableId(id);
    schema.tables().get(id).ok_or_else(|| EntityError::invalid(format!("P4Info has no table {id}")))
}

/// The default entry while it is as the program has it.
pub(super) fn initial_default(table: &Table) -> Entry {
    Entry::new(
        table
            .default_action
            .as_ref()
            .map_or(Target::Nothing, |action| Target::Action(encode(action))),
    )
}

fn key_of(entry: Option<&v1::TableEntry>) -> Result<&v1::TableEntry, EntityError> {
    entry.ok_or_else(|| EntityError::invalid("the table entry is unset"))
}

/// Where in a table an entry stands.
enum Place {
    Default,
    Key(Key),
}

/// Plans changes of one table.
struct Planner<'a> {
    schema: &'a Schema,
    state: &'a State,
    table: &'a Table,
    now: Nanos,
}

impl Planner<'_> {
    fn within(&self, error: EntityError) -> EntityError {
        error.within(format_args!("table '{}'", self.table.name))
    }

    fn insert(&self, entry: &v1::TableEntry, is_const: bool) -> Result<Change, EntityError> {
        if self.table.match_fields.is_empty() {
            return Err(EntityError::invalid("the table has no key and takes no entries"));
        }
        let key = matching::key(self.table, &entry.r#match, entry.priority)?;
        let action =
            entry.action.as_ref().ok_or_else(|| EntityError::invalid("the action is unset"))?;
        let mut inserted = Entry::new(self.target(action, 0)?);
        inserted.controller_metadata = entry.controller_metadata;
        inserted.metadata = Box::from(&*entry.metadata);
        inserted.idle = self.idle(entry, None)?;
        inserted.set_direct(self.direct(entry, Direct::default())?);
        inserted.is_const = is_const;

        let current = self.current();
        if current.is_some_and(|current| current.entries.contains_key(&key)) {
            return Err(EntityError::exists(
                "an entry with these match fields and this priority exists already",
            ));
        }
        let entries = current.map_or(0, |current| current.entries.len() as u64);
        if self.table.size.is_some_and(|size| entries >= size) {
            return Err(EntityError::exhausted(format!(
                "the table is full with {entries} entries"
            )));
        }
        Ok(Change::Entry { table: self.table.id, key, value: Some(inserted) })
    }

    fn modify(&self, entry: &v1::TableEntry) -> Result<Change, EntityError> {
        let key = matching::key(self.table, &entry.r#match, entry.priority)?;
        let existing = self.current().and_then(|current| current.entries.get(&key));
        let is_const = existing.map_or(self.table.is_const, |existing| existing.is_const);
        if is_const && entry.action.is_some() {
            return Err(EntityError::denied("the action of a constant entry cannot be set"));
        }
        let replaced = match existing.map(|existing| &existing.target) {
            Some(Target::OneShot(one_shot)) => one_shot.size,
            _ => 0,
        };
        let target =
            entry.action.as_ref().map(|action| self.target(action, replaced)).transpose()?;
        let idle = self.idle(entry, existing.and_then(|existing| existing.idle.as_deref()))?;
        let direct = self.direct(entry, existing.map(Entry::direct).unwrap_or_default())?;

        let mut modified = existing.cloned().ok_or_else(no_entry)?;
        // Without action, the rest of the entry stays as it is too: the specification calls such
        // an update a no-op but for direct resources.
        if let Some(target) = target {
            modified.target = target;
            modified.controller_metadata = entry.controller_metadata;
            modified.metadata = Box::from(&*entry.metadata);
            modified.idle = idle;
        }
        modified.set_direct(direct);
        Ok(Change::Entry { table: self.table.id, key, value: Some(modified) })
    }

    fn delete(&self, entry: &v1::TableEntry) -> Result<Change, EntityError> {
        let key = matching::key(self.table, &entry.r#match, entry.priority)?;
        let existing =
            self.current().and_then(|current| current.entries.get(&key)).ok_or_else(no_entry)?;
        if existing.is_const {
            return Err(EntityError::denied("the entry is constant"));
        }
        Ok(Change::Entry { table: self.table.id, key, value: None })
    }

    fn default_entry(
        &self,
        kind: UpdateType,
        entry: &v1::TableEntry,
    ) -> Result<Change, EntityError> {
        check_default_key(entry)?;
        modify_only(kind, "the default entry")?;
        check_default_idle(entry)?;
        if self.table.default_is_const {
            return Err(EntityError::denied("the default entry is constant"));
        }
        let current = self.default();
        let direct = self.direct(entry, current.direct())?;
        let value = match &entry.action {
            None => None,
            Some(v1::TableAction { r#type: Some(ActionType::Action(action)) }) => {
                let action =
                    action::canonical(self.schema, &self.table.actions, Usage::Default, action)?;
                let mut modified = Entry::new(Target::Action(encode(&action)));
                modified.controller_metadata = entry.controller_metadata;
                modified.metadata = Box::from(&*entry.metadata);
                modified.set_direct(direct);
                Some(Box::new(modified))
            }
            Some(action) => return Err(wrong_action(action)),
        };
        Ok(Change::DefaultEntry { table: self.table.id, value })
    }

    /// Plans a change of the direct resources of the entry with this key.
    fn change_direct(
        &self,
        key: &v1::TableEntry,
        change: impl Fn(&mut Direct) -> Result<(), EntityError>,
    ) -> Result<Change, EntityError> {
        let planned = || {
            // What is wrong with the resource is wrong whether or not the entry exists.
            change(&mut Direct::default())?;
            let (place, mut entry) = self.existing(key)?;
            let mut direct = entry.direct();
            change(&mut direct)?;
            entry.set_direct(direct);
            Ok(self.put(place, entry))
        };
        planned().map_err(|error| self.within(error))
    }

    fn existing(&self, key: &v1::TableEntry) -> Result<(Place, Entry), EntityError> {
        if key.is_default_action {
            check_default_key(key)?;
            return Ok((Place::Default, self.default()));
        }
        let key = matching::key(self.table, &key.r#match, key.priority)?;
        let entry =
            self.current().and_then(|current| current.entries.get(&key)).ok_or_else(no_entry)?;
        Ok((Place::Key(key), entry.clone()))
    }

    fn put(&self, place: Place, entry: Entry) -> Change {
        let table = self.table.id;
        match place {
            Place::Default => Change::DefaultEntry { table, value: Some(Box::new(entry)) },
            Place::Key(key) => Change::Entry { table, key, value: Some(entry) },
        }
    }

    fn current(&self) -> Option<&TableState> {
        self.state.tables.get(&self.table.id).map(|current| &**current)
    }

    fn default(&self) -> Entry {
        let written = self.current().and_then(|current| current.default.as_deref());
        written.cloned().unwrap_or_else(|| initial_default(self.table))
    }

    /// What the entry does on a hit. `replaced` is the size of its one-shot group so far.
    fn target(&self, action: &v1::TableAction, replaced: u64) -> Result<Target, EntityError> {
        let profile = match self.table.implementation {
            None => {
                return match &action.r#type {
                    Some(ActionType::Action(action)) => {
                        let action = action::canonical(
                            self.schema,
                            &self.table.actions,
                            Usage::Entry,
                            action,
                        )?;
                        Ok(Target::Action(encode(&action)))
                    }
                    _ => Err(wrong_action(action)),
                };
            }
            Some(Implementation::ActionProfile(id)) => self.schema.action_profiles().get(id),
            Some(Implementation::Extern(_)) => None,
        };
        let Some(profile) = profile else {
            return Err(EntityError::unimplemented(
                "the table is implemented by an extern of the architecture, which is not supported",
            ));
        };
        let current = self.state.profiles.get(&profile.id).map(|current| &**current);
        match &action.r#type {
            Some(ActionType::ActionProfileMemberId(id)) => {
                let id = nonzero(*id, "member")?;
                if current.is_some_and(|current| current.members.contains_key(&id)) {
                    return Ok(Target::Member(id));
                }
                Err(EntityError::not_found(format!(
                    "action profile '{}' has no member {id}",
                    profile.name
                )))
            }
            Some(ActionType::ActionProfileGroupId(id)) if profile.with_selector => {
                let id = nonzero(*id, "group")?;
                if current.is_some_and(|current| current.groups.contains_key(&id)) {
                    return Ok(Target::Group(id));
                }
                Err(EntityError::not_found(format!(
                    "action selector '{}' has no group {id}",
                    profile.name
                )))
            }
            Some(ActionType::ActionProfileActionSet(set)) if profile.with_selector => {
                let one_shot =
                    profile::one_shot(self.schema, self.state, self.table, profile, set, replaced)?;
                Ok(Target::OneShot(Box::new(one_shot)))
            }
            _ => Err(wrong_action(action)),
        }
    }

    fn idle(
        &self,
        entry: &v1::TableEntry,
        previous: Option<&Idle>,
    ) -> Result<Option<Box<Idle>>, EntityError> {
        if entry.time_since_last_hit.is_some() {
            return Err(EntityError::invalid("time_since_last_hit is set in a write"));
        }
        let timeout_ns = u64::try_from(entry.idle_timeout_ns).map_err(|_| {
            EntityError::invalid(format!("idle_timeout_ns {} is negative", entry.idle_timeout_ns))
        })?;
        if !self.table.idle_timeout {
            if timeout_ns != 0 {
                return Err(EntityError::invalid(
                    "idle_timeout_ns is set, but the table has no idle timeouts",
                ));
            }
            return Ok(None);
        }
        let idle = match previous {
            Some(previous) => Idle { timeout_ns, ..*previous },
            None => Idle { timeout_ns, last_hit: self.now, quiet_since: self.now },
        };
        Ok(Some(Box::new(idle)))
    }

    /// The direct resources after a write: a meter that is unset is reset, a counter is kept.
    fn direct(&self, entry: &v1::TableEntry, previous: Direct) -> Result<Direct, EntityError> {
        if let Some(counter) = &entry.counter_data {
            self.require_counter()?;
            check_counter(counter)?;
        }
        if entry.meter_config.is_some() || entry.meter_counter_data.is_some() {
            self.check_meter(entry.meter_config.as_ref())?;
            check_meter_counters(entry.meter_counter_data.as_ref())?;
        }
        Ok(Direct {
            counter: entry.counter_data.unwrap_or(previous.counter),
            meter: entry.meter_config,
        })
    }

    fn require_counter(&self) -> Result<(), EntityError> {
        match self.table.direct_counter {
            Some(_) => Ok(()),
            None => Err(EntityError::invalid("the table has no direct counter")),
        }
    }

    fn check_meter(&self, config: Option<&v1::MeterConfig>) -> Result<(), EntityError> {
        let meter = self.table.direct_meter.and_then(|id| self.schema.direct_meters().get(id));
        let meter = meter.ok_or_else(|| EntityError::invalid("the table has no direct meter"))?;
        check_meter(meter.algorithm, config)
    }
}

/// The default entry has no key.
pub(super) fn check_default_key(entry: &v1::TableEntry) -> Result<(), EntityError> {
    if entry.r#match.is_empty() && entry.priority == 0 {
        return Ok(());
    }
    Err(EntityError::invalid("the default entry has no match fields and no priority"))
}

/// The default entry has no idle timeout, in writes and reads (specification 1.5,
/// "Idle-timeout").
pub(super) fn check_default_idle(entry: &v1::TableEntry) -> Result<(), EntityError> {
    let asked = entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some();
    if entry.is_default_action && asked {
        return Err(EntityError::invalid("the default entry has no idle timeout"));
    }
    Ok(())
}

fn nonzero(id: u32, what: &str) -> Result<u32, EntityError> {
    if id == 0 {
        return Err(EntityError::invalid(format!("the {what} id must not be 0")));
    }
    Ok(id)
}

fn no_entry() -> EntityError {
    EntityError::not_found("there is no entry with these match fields and this priority")
}

fn wrong_action(action: &v1::TableAction) -> EntityError {
    EntityError::invalid(match action.r#type {
        None => "the action is unset",
        Some(ActionType::Action(_)) => {
            "the table is indirect and takes a member or group, not an action"
        }
        Some(ActionType::ActionProfileMemberId(_)) => {
            "the table has no action profile and takes no member"
        }
        Some(ActionType::ActionProfileGroupId(_)) => {
            "the table has no action selector and takes no group"
        }
        Some(ActionType::ActionProfileActionSet(_)) => {
            "the table has no action selector and takes no action set"
        }
    })
}
