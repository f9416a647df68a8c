//! The parts of a loaded program that workers, the control plane and its readers share.

use super::binding::{Binding, BoundTable};
use super::changes::ChangeCounter;
use super::digests::Digests;
use super::values;
use crate::switch::Core;
use crate::table::Ageing;
use crate::translated::Translated;
use entities::schema::{self, ActionProfileId, MatchKind, Schema, ValueSetId};
use entities::{
    CloneSession, CloneSessionId, EntryKey, Group, GroupId, MulticastGroup, MulticastGroupId,
    Nanos, Port, ProfileUsage, TableEntry, ValueSet, Watch,
};
use ir::TableImplementation;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tables::Gate;

/// The parts of a loaded program that workers, the control plane and its readers share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The time on the control plane's clock that counts as zero for packets.
    pub(super) origin: Nanos,
    /// The limit on the entries of tables without exact keys, which
    /// [`super::InterpreterTarget::with_searched_entries`] sets.
    pub(super) searched_entries: u64,
    pub(super) schema: Arc<Schema>,
    pub(super) binding: Binding,
    pub(super) core: Core,
    pub(super) configuration: Mutex<Configuration>,
    pub(super) changes: ChangeCounter,
    pub(super) gate: Gate,
    pub(super) digests: Digests,
    pub(super) translated: Arc<Translated>,
}

/// A function that undoes a change of the control plane.
pub(super) type Undo = Box<dyn FnOnce(&Shared, &mut Configuration) + Send>;

impl Shared {
    /// Returns the maximum number of entries of a table: the size that it declares, or the limit of
    /// the switch if that is smaller. `None` means that there is no maximum.
    pub(super) fn size(&self, table: &schema::Table) -> Option<u64> {
        let is_searched = table.match_fields.iter().any(|field| {
            matches!(field.kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
        });
        match table.size {
            _ if !is_searched => table.size,
            Some(size) => Some(size.min(self.searched_entries)),
            None => Some(self.searched_entries),
        }
    }

    /// Returns how many members, groups and one-shot groups an action profile has, and the total
    /// size of the groups.
    pub(super) fn usage(
        &self,
        configuration: &Configuration,
        profile: ActionProfileId,
        instance: ir::ExternId,
    ) -> ProfileUsage {
        let members = self.core.profile(instance).map_or(0, |profile| profile.members().len());
        let profile_groups = configuration.profiles.get(&profile);
        let tables = self.core.program().tables.iter().zip(&self.core.state.tables);
        let tables = tables.filter(|(table, _)| {
            matches!(
                table.implementation,
                Some(TableImplementation::ActionProfile(id) | TableImplementation::ActionSelector(id))
                    if id == instance
            )
        });
        let (mut one_shots, mut size) =
            (0, profile_groups.map_or(0, |profile_groups| profile_groups.total_size));
        for (_, state) in tables {
            let of_table = state.one_shots();
            one_shots += of_table.count;
            size = size.saturating_add(of_table.size);
        }
        ProfileUsage {
            members: members as u64,
            groups: profile_groups.map_or(0, |profile_groups| profile_groups.groups.len() as u64),
            one_shots,
            total_size: size,
        }
    }

    /// Converts a time of the control plane's clock to the time that packets see.
    pub(super) fn time(&self, now: Nanos) -> Duration {
        Duration::from_nanos(now.0.saturating_sub(self.origin.0))
    }

    pub(super) fn ageing(&self, bound: &BoundTable) -> Ageing {
        let state = self.core.state.tables.get(bound.id.index());
        state.map_or(Ageing::None, |state| state.ageing)
    }

    /// Appends to `expired` the entries of a table that have timed out. An entry that stays idle is
    /// reported again after each further timeout. Returns the time of the next report, or `None` if
    /// no entry has a timeout.
    pub(super) fn tell_idle(
        &self,
        table: &schema::Table,
        bound: &BoundTable,
        now: Duration,
        expired: &mut Vec<TableEntry>,
    ) -> Option<Duration> {
        let state = self.core.state.tables.get(bound.id.index())?;
        let mut next = None::<Duration>;
        for stored in state.iter() {
            let timer = stored.timer();
            let Some(timeout) = timer.timeout() else { continue };
            let mut quiet_since = timer.restarted().max(timer.notified().unwrap_or_default());
            if quiet_since.saturating_add(timeout) <= now {
                let fields = &table.match_fields;
                let key = values::match_key(
                    &self.translated.translations,
                    fields,
                    bound,
                    &stored.matches,
                    stored.priority,
                );
                let Some(key) = key else { continue };
                quiet_since = now;
                timer.set_notified(now);
                let note = stored.state().note.as_deref().cloned().unwrap_or_default();
                expired.push(TableEntry {
                    controller_metadata: note.controller_metadata,
                    metadata: note.metadata,
                    idle_timeout_ns: u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX),
                    ..TableEntry::new(table.id, EntryKey::Match(key))
                });
            }
            let deadline = quiet_since.saturating_add(timeout);
            next = Some(next.map_or(deadline, |next| next.min(deadline)));
        }
        next
    }

    /// Returns the number of a port as a controller wrote it, or `None` if that is no port.
    pub(super) fn port(&self, port: &Port) -> Option<u32> {
        match (port, self.translated.port) {
            (Port::Bytes(text), Some(of)) => {
                u32::try_from(self.translated.translations.number(of, text)?).ok()
            }
            (Port::Bytes(_), None) | (Port::Number(_), _) => port.number(),
        }
    }

    /// Returns the number of the port that a member watches.
    pub(super) fn watched(&self, watch: &Watch) -> Option<u32> {
        match watch {
            Watch::Nothing => None,
            Watch::Number(number) => u32::try_from(*number).ok(),
            Watch::Port(port) => self.port(&Port::Bytes(port.clone())),
        }
    }
}

/// Data that the control plane has written and that packets do not need. Data of this kind about a
/// table entry are stored with the entry instead.
#[derive(Debug, Default)]
pub(super) struct Configuration {
    pub(super) defaults: BTreeMap<schema::TableId, crate::table::Note>,
    pub(super) profiles: BTreeMap<ActionProfileId, ProfileGroups>,
    pub(super) multicast_groups: BTreeMap<MulticastGroupId, MulticastGroup>,
    pub(super) clone_sessions: BTreeMap<CloneSessionId, CloneSession>,
    pub(super) value_sets: BTreeMap<ValueSetId, ValueSet>,
}

/// The data that the control plane has written about an action profile.
#[derive(Debug, Default)]
pub(super) struct ProfileGroups {
    pub(super) groups: BTreeMap<GroupId, Group>,
    /// The total size of all groups of the profile.
    pub(super) total_size: u64,
}

impl Configuration {
    pub(super) fn put_group(
        &mut self,
        profile: ActionProfileId,
        id: GroupId,
        group: Option<Group>,
    ) -> Option<Group> {
        let profile_groups = self.profiles.entry(profile).or_default();
        let size = |group: &Option<Group>| group.as_ref().map_or(0, |group| group.size);
        profile_groups.total_size = profile_groups.total_size.saturating_add(size(&group));
        let previous = replace(&mut profile_groups.groups, id, group);
        profile_groups.total_size = profile_groups.total_size.saturating_sub(size(&previous));
        previous
    }
}

/// Sets the value of a key in a map, or removes the key if `value` is `None`. Returns the value
/// that the key had before.
pub(super) fn replace<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    }
}
