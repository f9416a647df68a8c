//! The identity of an entry of a measurement.

/// The number by which an [`EntryMaker`](crate::EntryMaker) or a `FlowMaker` identifies an entry: an equal number
/// makes an equal entry. Numbers of flows of a file are those of [`OwnFlows`](crate::OwnFlows).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryNumber(pub u64);

/// The choice between two sets of parameters for an entry's action. The match and the priority do
/// not depend on it, so the entry of an [`EntryNumber`] has the same key in both variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The parameters with which entries are inserted.
    First,
    /// The parameters to which entries are modified.
    Second,
}
