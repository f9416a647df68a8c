//! The parts of a device's state that are read and compared as a whole.

use protos::v1::{
    self, entity::Entity as Kind, packet_replication_engine_entry::Type as Replication,
};

use crate::subject::Subject;

/// The largest number of cells of an array that is read and written as a whole.
const SMALL: i64 = 256;

/// A part of a device's state. Parts are deleted in the order of these variants, so that an entity
/// is deleted before those to which it refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// The entries of the table with this identifier, without the default entry.
    Entries(u32),
    /// The default entry of the table with this identifier.
    DefaultEntry(u32),
    /// The groups of the action profile with this identifier.
    Groups(u32),
    /// The members of the action profile with this identifier.
    Members(u32),
    MulticastGroups,
    CloneSessions,
    /// The cells of the counter with this identifier.
    Counter(u32),
    /// The cells of the meter with this identifier.
    Meter(u32),
    /// The cells of the register with this identifier.
    Register(u32),
    /// The members of the value set with this identifier.
    ValueSet(u32),
    /// The configuration of the digest with this identifier.
    Digest(u32),
}

impl Scope {
    /// Returns the part of the state to which an entity belongs, or `None` for a kind of entity
    /// that is never written.
    pub(super) fn of(entity: &v1::Entity) -> Option<Self> {
        Some(match entity.entity.as_ref()? {
            Kind::TableEntry(entry) if entry.is_default_action => {
                Self::DefaultEntry(entry.table_id)
            }
            Kind::TableEntry(_) | Kind::DirectCounterEntry(_) | Kind::DirectMeterEntry(_) => {
                Self::Entries(entry_of(entity)?.table_id)
            }
            Kind::ActionProfileGroup(group) => Self::Groups(group.action_profile_id),
            Kind::ActionProfileMember(member) => Self::Members(member.action_profile_id),
            Kind::PacketReplicationEngineEntry(entry) => match entry.r#type.as_ref()? {
                Replication::MulticastGroupEntry(_) => Self::MulticastGroups,
                Replication::CloneSessionEntry(_) => Self::CloneSessions,
            },
            Kind::CounterEntry(cell) => Self::Counter(cell.counter_id),
            Kind::MeterEntry(cell) => Self::Meter(cell.meter_id),
            Kind::RegisterEntry(cell) => Self::Register(cell.register_id),
            Kind::ValueSetEntry(set) => Self::ValueSet(set.value_set_id),
            Kind::DigestEntry(entry) => Self::Digest(entry.digest_id),
            Kind::ExternEntry(_) => return None,
        })
    }

    /// Returns the entities that, in a Read request, select the whole part.
    pub(super) fn selection(self, subject: &Subject) -> Vec<v1::Entity> {
        let replication = |kind| v1::PacketReplicationEngineEntry { r#type: Some(kind) }.into();
        vec![match self {
            Self::Entries(table_id) => {
                let table = subject.tables.iter().find(|table| table.id == table_id);
                let counts = table.and_then(|table| subject.counts(table));
                let marker = table.and_then(|table| subject.marker(table));
                // Direct resources are returned only if the Read asks for them (9.1.7).
                let counter_data = counts.map(|_| v1::CounterData::default());
                let meter_config = marker.map(|_| v1::MeterConfig::default());
                v1::TableEntry { table_id, counter_data, meter_config, ..Default::default() }.into()
            }
            Self::DefaultEntry(table_id) => {
                v1::TableEntry { table_id, is_default_action: true, ..Default::default() }.into()
            }
            Self::Groups(action_profile_id) => {
                v1::ActionProfileGroup { action_profile_id, ..Default::default() }.into()
            }
            Self::Members(action_profile_id) => {
                v1::ActionProfileMember { action_profile_id, ..Default::default() }.into()
            }
            Self::MulticastGroups => {
                replication(Replication::MulticastGroupEntry(Default::default()))
            }
            Self::CloneSessions => replication(Replication::CloneSessionEntry(Default::default())),
            Self::Counter(_) | Self::Meter(_) | Self::Register(_) => {
                let Some(indices) = self.cells(subject) else { return vec![self.cell(None)] };
                return indices.into_iter().map(|index| self.cell(Some(index))).collect();
            }
            Self::ValueSet(value_set_id) => {
                v1::ValueSetEntry { value_set_id, ..Default::default() }.into()
            }
            Self::Digest(digest_id) => v1::DigestEntry { digest_id, config: None }.into(),
        }]
    }

    /// Returns the entity that, in a Read request, selects one cell of an array, or all cells if
    /// there is no index.
    fn cell(self, index: Option<i64>) -> v1::Entity {
        let index = index.map(|index| v1::Index { index });
        match self {
            Self::Counter(counter_id) => {
                v1::CounterEntry { counter_id, index, ..Default::default() }.into()
            }
            Self::Meter(meter_id) => {
                v1::MeterEntry { meter_id, index, ..Default::default() }.into()
            }
            Self::Register(register_id) => {
                v1::RegisterEntry { register_id, index, ..Default::default() }.into()
            }
            Self::Entries(_)
            | Self::DefaultEntry(_)
            | Self::Groups(_)
            | Self::Members(_)
            | Self::MulticastGroups
            | Self::CloneSessions
            | Self::ValueSet(_)
            | Self::Digest(_) => v1::Entity::default(),
        }
    }

    /// Returns the number of cells if the part is an array; 0 for other parts.
    fn size(self, subject: &Subject) -> i64 {
        let size = match self {
            Self::Counter(id) => {
                subject.counters.iter().find(|one| one.id == id).map(|one| one.size)
            }
            Self::Meter(id) => subject.meters.iter().find(|one| one.id == id).map(|one| one.size),
            Self::Register(id) => {
                subject.registers.iter().find(|one| one.id == id).map(|one| one.size)
            }
            Self::Entries(_)
            | Self::DefaultEntry(_)
            | Self::Groups(_)
            | Self::Members(_)
            | Self::MulticastGroups
            | Self::CloneSessions
            | Self::ValueSet(_)
            | Self::Digest(_) => None,
        };
        size.unwrap_or(0)
    }

    /// Returns the indices of those cells of a large array that are written and read; `None` for a
    /// small array, of which all cells are.
    pub(super) fn cells(self, subject: &Subject) -> Option<Vec<i64>> {
        let size = self.size(subject);
        (size > SMALL).then(|| vec![0, 1, size / 2, size - 1])
    }

    /// Returns the number of cells of an array that are written and read.
    pub(super) fn count(self, subject: &Subject) -> u64 {
        let cells = self.cells(subject).map(|cells| cells.len() as u64);
        cells.unwrap_or_else(|| self.size(subject).try_into().unwrap_or(0))
    }

    /// Returns whether the part is an array of cells.
    pub(super) fn is_array(self) -> bool {
        matches!(self, Self::Counter(_) | Self::Meter(_) | Self::Register(_))
    }

    /// Returns whether the entities of the part always exist. They cannot be deleted, and are
    /// restored by a `MODIFY`.
    pub(super) fn is_fixed(self) -> bool {
        self.is_array() || matches!(self, Self::DefaultEntry(_) | Self::ValueSet(_))
    }

    /// Returns the name for an entity of the part.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Entries(_) => "entry",
            Self::DefaultEntry(_) => "default entry",
            Self::Groups(_) => "group",
            Self::Members(_) => "member",
            Self::MulticastGroups => "multicast group",
            Self::CloneSessions => "clone session",
            Self::Counter(_) => "counter cell",
            Self::Meter(_) => "meter cell",
            Self::Register(_) => "register cell",
            Self::ValueSet(_) => "value set",
            Self::Digest(_) => "digest",
        }
    }
}

/// Returns the table entry that an entity is or belongs to: the entry itself, or that of a direct
/// counter or direct meter.
pub(super) fn entry_of(entity: &v1::Entity) -> Option<&v1::TableEntry> {
    match entity.entity.as_ref()? {
        Kind::TableEntry(entry) => Some(entry),
        Kind::DirectCounterEntry(counter) => counter.table_entry.as_ref(),
        Kind::DirectMeterEntry(meter) => meter.table_entry.as_ref(),
        Kind::ExternEntry(_)
        | Kind::ActionProfileMember(_)
        | Kind::ActionProfileGroup(_)
        | Kind::MeterEntry(_)
        | Kind::CounterEntry(_)
        | Kind::PacketReplicationEngineEntry(_)
        | Kind::ValueSetEntry(_)
        | Kind::RegisterEntry(_)
        | Kind::DigestEntry(_) => None,
    }
}

/// Returns the index of a cell; `None` if an entity stands for all cells of an array, or is not a
/// cell.
pub(super) fn index(entity: &v1::Entity) -> Option<i64> {
    let index = match entity.entity.as_ref()? {
        Kind::CounterEntry(cell) => cell.index,
        Kind::MeterEntry(cell) => cell.index,
        Kind::RegisterEntry(cell) => cell.index,
        Kind::ExternEntry(_)
        | Kind::TableEntry(_)
        | Kind::ActionProfileMember(_)
        | Kind::ActionProfileGroup(_)
        | Kind::DirectMeterEntry(_)
        | Kind::DirectCounterEntry(_)
        | Kind::PacketReplicationEngineEntry(_)
        | Kind::ValueSetEntry(_)
        | Kind::DigestEntry(_) => None,
    };
    index.map(|index| index.index)
}
