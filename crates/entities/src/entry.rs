//! Table entries and parser value sets.

use crate::action::TableAction;
use crate::array::{CounterData, MeterConfig, MeterCounters};
use crate::scalar::Value;
use crate::schema::{MatchFieldId, TableId, ValueSetId};

/// What one field of a key has to be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldMatch {
    /// The field.
    pub field: MatchFieldId,
    /// What it is compared with.
    pub matching: Matching,
}

/// How one field is compared. What accepts every value is left out of a key instead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Matching {
    /// Equal.
    Exact(Value),
    /// The first bits are equal; the others of the value are zero.
    Lpm {
        /// The value.
        value: Value,
        /// How many bits, at least one.
        prefix_len: u32,
    },
    /// Equal under a mask; bits of the value outside of it are zero.
    Ternary {
        /// The value.
        value: Value,
        /// The mask, not zero.
        mask: Value,
    },
    /// From low to high, both included.
    Range {
        /// The least.
        low: Value,
        /// The greatest.
        high: Value,
    },
    /// Equal.
    Optional(Value),
}

/// What identifies an entry within its table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MatchKey {
    /// The fields that matter, in the order of declaration.
    pub fields: Box<[FieldMatch]>,
    /// The larger wins; 0 in tables that have no priorities.
    pub priority: u32,
}

/// Where in a table an entry stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKey {
    /// What a packet hits that finds nothing else.
    Default,
    /// An entry with a key.
    Match(MatchKey),
}

/// A table entry, as it is written and as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    /// The table.
    pub table: TableId,
    /// Where in the table.
    pub key: EntryKey,
    /// What a hit does. Without one, an entry that is modified keeps the action that it has, and
    /// the default entry returns to that of the program; a default entry that is read has none if
    /// the program names none.
    pub action: Option<TableAction>,
    /// Opaque to the switch, which returns it.
    pub controller_metadata: u64,
    /// Opaque to the switch, which returns it.
    pub metadata: Box<[u8]>,
    /// How long it may stay without a hit before the control plane is told, in nanoseconds; 0 for
    /// ever.
    pub idle_timeout_ns: u64,
    /// In a read: nanoseconds since the last hit, where the table has idle timeouts.
    pub since_last_hit_ns: Option<u64>,
    /// In a write: what the direct counter is set to; without, it stays. In a read: where the
    /// table has one.
    pub counter: Option<CounterData>,
    /// The configuration of the direct meter; without, the meter lets everything pass as green.
    pub meter: Option<MeterConfig>,
    /// In a read: what the direct meter counted, where the table has one.
    pub meter_counters: Option<MeterCounters>,
    /// The program says that it does not change.
    pub is_const: bool,
}

impl TableEntry {
    /// An entry with nothing but a key.
    #[must_use]
    pub fn new(table: TableId, key: EntryKey) -> Self {
        Self {
            table,
            key,
            action: None,
            controller_metadata: 0,
            metadata: Box::default(),
            idle_timeout_ns: 0,
            since_last_hit_ns: None,
            counter: None,
            meter: None,
            meter_counters: None,
            is_const: false,
        }
    }
}

/// The members of a parser value set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSet {
    /// The value set.
    pub id: ValueSetId,
    /// One list of fields for each, all different.
    pub members: Box<[Box<[FieldMatch]>]>,
}
