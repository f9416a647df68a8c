//! The properties of a measured table that are reported.

use crate::key_kind::KeyKind;

/// The table that is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedTable {
    /// The fully qualified name of the table.
    pub name: String,
    /// The kind of the table's key; `None` for OpenFlow.
    pub kind: Option<KeyKind>,
    /// The number of entries that the table can hold, as the program declares or the switch reports
    /// it; `None` if neither does.
    pub size: Option<u64>,
}
