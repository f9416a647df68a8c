//! The number that identifies an entry of a measurement.

/// The number by which an [`EntryMaker`](crate::EntryMaker) or a `FlowMaker` identifies an entry:
/// equal numbers always stand for equal entries. The flows of a user's file are numbered by
/// [`OwnFlows`](crate::OwnFlows).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryNumber(pub u64);

/// The choice between the two sets of action parameters that an entry can have. The match and the
/// priority are the same in both variants, so a modification from one to the other keeps the
/// entry's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The parameters with which entries are inserted.
    First,
    /// The parameters to which entries are modified.
    Second,
}
