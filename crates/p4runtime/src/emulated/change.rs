//! Planned changes of the state: already validated, cheap to apply and to undo.

use entities::schema::*;
use entities::{
    ActionCall, CloneSession, CloneSessionId, CounterData, Data, DigestConfig, Group, GroupId,
    MatchKey, MemberId, MeterConfig, MulticastGroup, MulticastGroupId, ValueSet,
};

use super::state::{Cells, Entry};

/// One validated change of an emulated switch's state. A value of `None` removes the object.
#[derive(Debug)]
pub(super) enum Change {
    Entry { table: TableId, key: MatchKey, value: Option<Entry> },
    DefaultEntry { table: TableId, value: Option<Box<Entry>> },
    Member { profile: ActionProfileId, id: MemberId, action: Option<ActionCall> },
    Group { profile: ActionProfileId, id: GroupId, value: Option<Group> },
    MulticastGroup { id: MulticastGroupId, value: Option<MulticastGroup> },
    CloneSession { id: CloneSessionId, value: Option<CloneSession> },
    Counter { id: CounterId, cells: CellsChange<CounterData> },
    Meter { id: MeterId, cells: CellsChange<Option<MeterConfig>> },
    Register { id: RegisterId, cells: CellsChange<Data> },
    ValueSet { id: ValueSetId, value: Option<ValueSet> },
    Digest { id: DigestId, value: Option<Option<DigestConfig>> },
}

/// A change of a counter, meter or register array.
#[derive(Debug)]
pub(super) enum CellsChange<T> {
    /// A change of one cell. With `None`, the cell returns to the value of the whole array.
    One { index: u64, value: Option<T> },
    /// A change of the whole array.
    All(Cells<T>),
}

impl<T> CellsChange<T> {
    /// Returns the change that sets the cell at `index`, or all cells if there is no index.
    pub(super) fn new(index: Option<u64>, value: T) -> Self {
        match index {
            Some(index) => Self::One { index, value: Some(value) },
            None => Self::All(Cells::all(value)),
        }
    }
}
