//! The properties of a measured table that reports show.

use crate::key_kind::KeyKind;

/// The table of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedTable {
    /// The fully qualified name of the table.
    pub name: String,
    /// The kind of its key; `None` for OpenFlow.
    pub kind: Option<KeyKind>,
    /// The number of entries that the program declares, or the switch reports; `None` if there is
    /// none.
    pub size: Option<u64>,
}
