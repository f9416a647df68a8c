//! Planned changes: validated, and cheap to apply and to undo.

use std::sync::Arc;

use super::state::{Cells, Entry, Key};
use crate::p4info::*;
use crate::proto::v1;

/// One change of the state. `None` removes.
#[derive(Debug)]
pub(super) enum Change {
    /// A valid update without effect.
    Nothing,
    Entry {
        table: TableId,
        key: Key,
        value: Option<Entry>,
    },
    DefaultEntry {
        table: TableId,
        value: Option<Box<Entry>>,
    },
    /// The encoded action of a member.
    Member {
        profile: ActionProfileId,
        id: u32,
        action: Option<Box<[u8]>>,
    },
    /// The encoded group and its size.
    Group {
        profile: ActionProfileId,
        id: u32,
        value: Option<(Box<[u8]>, u64)>,
    },
    MulticastGroup {
        id: u32,
        value: Option<Box<[u8]>>,
    },
    CloneSession {
        id: u32,
        value: Option<Box<[u8]>>,
    },
    Counter {
        id: CounterId,
        cells: CellsChange<v1::CounterData>,
    },
    Meter {
        id: MeterId,
        cells: CellsChange<Option<v1::MeterConfig>>,
    },
    Register {
        id: RegisterId,
        cells: CellsChange<Box<[u8]>>,
    },
    ValueSet {
        id: ValueSetId,
        value: Option<Arc<[u8]>>,
    },
    Digest {
        id: DigestId,
        value: Option<Option<v1::digest_entry::Config>>,
    },
}

/// A change of an array.
#[derive(Debug)]
pub(super) enum CellsChange<T> {
    /// One cell; `None` makes it follow the rest of the array again.
    One { index: u64, value: Option<T> },
    /// The whole array.
    All(Cells<T>),
}
