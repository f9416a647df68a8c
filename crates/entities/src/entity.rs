//! The entities that a control plane writes and reads, and the requests that name them.

use crate::action::{Group, GroupId, Member, MemberId};
use crate::array::{CounterCell, CounterData, MeterCell, MeterConfig, RegisterCell};
use crate::entry::{EntryKey, FieldMatch, TableEntry, ValueSet};
use crate::replication::{CloneSession, CloneSessionId, MulticastGroup, MulticastGroupId};
use crate::schema::*;

/// An entity of a switch that a control plane writes or reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entity {
    /// A table entry.
    Entry(TableEntry),
    /// The direct counter of a table entry. A write with `None` changes nothing.
    DirectCounter(TableId, EntryKey, Option<CounterData>),
    /// The direct meter of a table entry. `None` stands for the default configuration.
    DirectMeter(TableId, EntryKey, Option<MeterConfig>),
    /// A member of an action profile.
    Member(Member),
    /// A group of an action selector.
    Group(Group),
    /// A cell of a counter array.
    Counter(CounterCell),
    /// A cell of a meter array.
    Meter(MeterCell),
    /// A cell of a register array.
    Register(RegisterCell),
    /// A multicast group.
    MulticastGroup(MulticastGroup),
    /// A clone session.
    CloneSession(CloneSession),
    /// The members of a parser value set.
    ValueSet(ValueSet),
    /// The configuration of a digest, or `None` if the digest is not sent.
    Digest(DigestId, Option<DigestConfig>),
}

/// The configuration that controls when messages of a digest are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DigestConfig {
    /// The longest time in nanoseconds for which a digest message waits to be grouped with others,
    /// or 0 for no delay.
    pub max_timeout_ns: u64,
    /// The largest number of messages in a list, or 0 to leave the number to the switch.
    pub max_list_size: u32,
    /// The time in nanoseconds after which a message that was not acknowledged may be sent again,
    /// or 0 if no acknowledgement is awaited.
    pub ack_timeout_ns: u64,
}

/// The kind of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpdateKind {
    /// The insertion of an entity that must not exist.
    Insert,
    /// The change of an entity that must exist.
    Modify,
    /// The deletion of an entity that must exist and must not be in use. Only the fields that
    /// identify the entity are considered.
    Delete,
}

/// A change that a control plane requests. Its form has been checked: identifiers belong to the
/// program, and values fit and are canonical. The data plane then decides whether the change is
/// consistent with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The kind of change that is requested.
    pub kind: UpdateKind,
    /// The entity to change.
    pub entity: Entity,
}

/// The entities that a read request selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Entries of a table.
    Entries(EntrySelection),
    /// A member of an action profile, or all of its members.
    Members(ActionProfileId, Option<MemberId>),
    /// A group of an action selector, or all of its groups.
    Groups(ActionProfileId, Option<GroupId>),
    /// Cells of a counter array.
    Counters(CounterId, Cells),
    /// Cells of a meter array.
    Meters(MeterId, Cells),
    /// Cells of a register array.
    Registers(RegisterId, Cells),
    /// A multicast group, or all multicast groups.
    MulticastGroups(Option<MulticastGroupId>),
    /// A clone session, or all clone sessions.
    CloneSessions(Option<CloneSessionId>),
    /// The members of a value set.
    ValueSet(ValueSetId),
    /// The configuration of a digest, if the digest is enabled.
    Digest(DigestId),
}

/// The cells of an array that a read request selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cells {
    /// All cells. In an array of unknown size, only those cells that differ from their initial
    /// state.
    All,
    /// The cell with this index.
    One(u64),
    /// The cells that may differ from their initial state, which suffice to restore the array. If
    /// the array as a whole was set to a value, this value precedes the cells, in a cell without
    /// index. The selection is therefore short even if the array is large.
    Written,
}

/// The criteria by which a read request selects entries of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntrySelection {
    /// The identifier of the table.
    pub table: TableId,
    /// Whether the table's default entry is selected, instead of the other entries.
    pub is_default: bool,
    /// The match fields that entries must have, regardless of their priority. `None` selects
    /// entries with any match fields.
    pub fields: Option<Box<[FieldMatch]>>,
    /// The priority that entries must have, or `None` for any priority.
    pub priority: Option<u32>,
    /// The action that entries must call directly, or `None` for any action.
    pub action: Option<ActionId>,
    /// The controller metadata that entries must have, or 0 for any.
    pub controller_metadata: u64,
    /// The metadata that entries must have, or an empty string for any.
    pub metadata: Box<[u8]>,
}

impl EntrySelection {
    /// Returns the selection of all entries of a table except the default entry.
    #[must_use]
    pub fn all(table: TableId) -> Self {
        Self {
            table,
            is_default: false,
            fields: None,
            priority: None,
            action: None,
            controller_metadata: 0,
            metadata: Box::default(),
        }
    }

    /// Returns whether the selection includes entries with this key.
    /// [`selects_rest`](Self::selects_rest) checks the other criteria.
    #[must_use]
    pub fn selects_key(&self, key: &crate::entry::MatchKey) -> bool {
        !self.is_default
            && self.fields.as_ref().is_none_or(|fields| *fields == key.fields)
            && self.priority.is_none_or(|priority| priority == key.priority)
    }

    /// Returns whether the selection includes entries with these properties; `action` is the action
    /// that the entry calls directly. [`selects_key`](Self::selects_key) checks the key.
    #[must_use]
    pub fn selects_rest(
        &self,
        action: Option<ActionId>,
        controller_metadata: u64,
        metadata: &[u8],
    ) -> bool {
        (self.action.is_none() || self.action == action)
            && (self.controller_metadata == 0 || self.controller_metadata == controller_metadata)
            && (self.metadata.is_empty() || *self.metadata == *metadata)
    }
}
