//! The small values that name and age an entry.

/// Which action an entry runs, smaller than [`Layout::actions`](crate::Layout::actions).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ActionId(pub u16);

/// Where an entry lies while it exists: an index for what is kept beside the table (counters, meters, expiry), below
/// [`Table::positions`](crate::Table::positions). Another entry may have it after this one is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub u32);

/// A point in time, in ticks of the table's clock. Time is handed in, once per batch; its unit is the caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Tick(pub u32);

/// One of a table's expiry times (PNA 0.7, `ExpireTimeProfileId_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ExpiryProfile(pub u8);

/// What became of an entry that the data plane asked for (PNA 0.7, `add_entry`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AddStatus {
    /// The entry is there: the next packet that applies the table matches it (`ADD_ENTRY_SUCCESS`).
    Added = 0,
    /// The table is full, or the request does not fit its layout (`ADD_ENTRY_NOT_DONE`).
    NotDone = 1,
}
