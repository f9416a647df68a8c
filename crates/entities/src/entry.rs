//! Table entries and parser value sets.

use crate::action::TableAction;
use crate::array::{CounterData, MeterConfig, MeterCounters};
use crate::scalar::Value;
use crate::schema::{MatchFieldId, TableId, ValueSetId};

/// The condition that a table entry sets on one field of the key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldMatch {
    /// The identifier of the field.
    pub field: MatchFieldId,
    /// The condition on the field.
    pub matching: Matching,
}

/// A condition on a field. A condition that every value satisfies is represented by its absence
/// from the key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Matching {
    /// The field must equal the value.
    Exact(Value),
    /// The first bits of the field must equal those of the value. The remaining bits of the value
    /// are zero.
    Lpm {
        /// The value to compare with.
        value: Value,
        /// The number of leading bits that are compared, at least one.
        prefix_len: u32,
    },
    /// The field must equal the value in the bits that are set in the mask. Bits of the value
    /// outside the mask are zero.
    Ternary {
        /// The value to compare with.
        value: Value,
        /// The mask, which is not zero.
        mask: Value,
    },
    /// The field must lie within a range, which includes both ends.
    Range {
        /// The lower end of the range.
        low: Value,
        /// The upper end of the range.
        high: Value,
    },
    /// The field must equal the value.
    Optional(Value),
}

/// The key that identifies an entry within its table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MatchKey {
    /// The conditions on fields, in the order of declaration.
    pub fields: Box<[FieldMatch]>,
    /// The priority of the entry. Larger values take precedence. It is 0 in tables without
    /// priorities.
    pub priority: u32,
}

/// The identity of an entry in its table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKey {
    /// The default entry, whose action runs for packets that match no other entry.
    Default,
    /// An entry with a key.
    Match(MatchKey),
}

/// A table entry, as it is written and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    /// The identifier of the table.
    pub table: TableId,
    /// The identity of the entry in its table.
    pub key: EntryKey,
    /// The action that a packet which matches the entry runs. If a modification contains no action,
    /// an entry keeps its action, and the default entry returns to the program's default action. In
    /// a read, a default entry has no action if the program defines none.
    pub action: Option<TableAction>,
    /// A number that the controller chooses freely. The switch only stores and returns it.
    pub controller_metadata: u64,
    /// Bytes that the controller chooses freely. The switch only stores and returns them.
    pub metadata: Box<[u8]>,
    /// The time without a matching packet after which the control plane is notified, in
    /// nanoseconds, or 0 for never.
    pub idle_timeout_ns: u64,
    /// The nanoseconds since a packet last matched the entry or, if none did, since the entry was
    /// inserted. It is present only in reads, and only in tables with idle timeouts.
    pub since_last_hit_ns: Option<u64>,
    /// The value of the direct counter. A write without a value leaves the counter unchanged. A
    /// read contains the value if the table has a direct counter.
    pub counter: Option<CounterData>,
    /// The configuration of the direct meter. Without one, the meter marks all packets green.
    pub meter: Option<MeterConfig>,
    /// The packets that the direct meter has marked. They are present only in reads, and only in
    /// tables with a direct meter.
    pub meter_counters: Option<MeterCounters>,
    /// Whether the entry cannot be changed: the program declares it constant, or it is the default
    /// entry of an indirect table.
    pub is_const: bool,
}

impl TableEntry {
    /// Creates an entry with this key and without an action or other data.
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
    /// The identifier of the value set.
    pub id: ValueSetId,
    /// The members, all different, each as a list of conditions on its fields.
    pub members: Box<[Box<[FieldMatch]>]>,
}
