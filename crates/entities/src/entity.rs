//! Everything that can be written and read, and what a write and a read say.

use crate::action::{Group, GroupId, Member, MemberId};
use crate::array::{CounterCell, CounterData, MeterCell, MeterConfig, RegisterCell};
use crate::entry::{EntryKey, FieldMatch, TableEntry, ValueSet};
use crate::replication::{CloneSession, CloneSessionId, MulticastGroup, MulticastGroupId};
use crate::schema::*;

/// One thing that a control plane writes or reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entity {
    /// A table entry.
    Entry(TableEntry),
    /// The direct counter of an entry. `None` writes nothing.
    DirectCounter(TableId, EntryKey, Option<CounterData>),
    /// The direct meter of an entry.
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
    /// That a digest is sent, and how.
    Digest(DigestId, Option<DigestConfig>),
}

/// How digests are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DigestConfig {
    /// How long a message may wait for others, in nanoseconds; 0 not at all.
    pub max_timeout_ns: u64,
    /// The most messages of a list; 0 leaves it to the switch.
    pub max_list_size: u32,
    /// How long a message is not repeated that was not acknowledged, in nanoseconds.
    pub ack_timeout_ns: u64,
}

/// What an update does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpdateKind {
    /// It must not be there.
    Insert,
    /// It must be there.
    Modify,
    /// It must be there, and nothing may refer to it. Only what identifies it counts.
    Delete,
}

/// One change that a control plane asks for. Its form is right: identifiers are of the program,
/// values fit and are canonical. Whether it suits what is there is for the data plane to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// What it does.
    pub kind: UpdateKind,
    /// To what.
    pub entity: Entity,
}

/// What a read asks for of one object of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Entries of a table.
    Entries(EntrySelection),
    /// A member of an action profile, or all.
    Members(ActionProfileId, Option<MemberId>),
    /// A group of an action selector, or all.
    Groups(ActionProfileId, Option<GroupId>),
    /// Cells of a counter array.
    Counters(CounterId, Cells),
    /// Cells of a meter array.
    Meters(MeterId, Cells),
    /// Cells of a register array.
    Registers(RegisterId, Cells),
    /// A multicast group, or all.
    MulticastGroups(Option<MulticastGroupId>),
    /// A clone session, or all.
    CloneSessions(Option<CloneSessionId>),
    /// The members of a value set.
    ValueSet(ValueSetId),
    /// A digest, if it is sent.
    Digest(DigestId),
}

/// Which cells of an array are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cells {
    /// All of them; of an array without a size those that are not as they started.
    All,
    /// This one.
    One(u64),
    /// Those that may not be as they started, after what the array as a whole was set to (a cell
    /// without index): what restores the array, however large it is.
    Written,
}

/// Which entries of a table are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntrySelection {
    /// The table.
    pub table: TableId,
    /// The default entry, instead of others.
    pub is_default: bool,
    /// Those with exactly these fields, whatever their priority.
    pub fields: Option<Box<[FieldMatch]>>,
    /// Those of this priority.
    pub priority: Option<u32>,
    /// Those that call this action themselves.
    pub action: Option<ActionId>,
    /// Those with this metadata, unless it is 0.
    pub controller_metadata: u64,
    /// Those with this metadata, unless it is empty.
    pub metadata: Box<[u8]>,
}

impl EntrySelection {
    /// All entries of a table but the default one.
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

    /// Whether the entry with this key is selected, as far as the key says.
    #[must_use]
    pub fn selects_key(&self, key: &crate::entry::MatchKey) -> bool {
        !self.is_default
            && self.fields.as_ref().is_none_or(|fields| *fields == key.fields)
            && self.priority.is_none_or(|priority| priority == key.priority)
    }

    /// Whether an entry is selected, as far as all but its key says. `action` is what it calls
    /// itself.
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
