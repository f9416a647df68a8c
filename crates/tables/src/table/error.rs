//! Why a table, a worker or an entry is not to be had.

use thiserror::Error;

use crate::bucket::Full;
use crate::design::DesignError;

/// Why a table was not made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The design does not honour what is asked.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The table does not fit.
    #[error(
        "the table needs {needs} bytes and {available} are available: make it smaller or choose a storage design with smaller entries"
    )]
    Memory {
        /// Bytes for a full table.
        needs: usize,
        /// Bytes that the system has.
        available: usize,
    },
    /// No place for the control plane.
    #[error("the table has no place left for a worker")]
    Workers,
}

/// Why a thread got no worker.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// All places are taken.
    #[error("the table has as many workers as it can; drop one first")]
    TooMany,
    /// The table has fewer shards.
    #[error("there is no shard {shard}: the table has {shards}, counted from 0")]
    NoSuchShard {
        /// The shard asked for.
        shard: usize,
        /// How many there are.
        shards: usize,
    },
    /// Digests would go nowhere.
    #[error("update method digest needs a controller; start one for the table first")]
    NoController,
}

/// Why an entry was not inserted, modified or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntryError {
    /// Inserting what is there.
    #[error("an entry with this key exists; modify it instead")]
    Exists,
    /// Inserting into a full table.
    #[error("the table is full with {size} entries; delete one first or declare a larger size")]
    Full {
        /// The declared size.
        size: usize,
    },
    /// Changing or deleting what is not there.
    #[error("no entry has this key; insert it first")]
    NotFound,
    /// A key of another length.
    #[error("the key has {given} bytes and the table's keys have {expected}")]
    KeyBytes {
        /// Length of the key.
        given: usize,
        /// Length of the table's keys.
        expected: usize,
    },
    /// A key with bits beyond its width.
    #[error("the key does not fit {bits} bits; the bits in front must be zero")]
    KeyBits {
        /// Width of the table's keys.
        bits: u32,
    },
    /// An action that the table does not have.
    #[error("there is no action {action}: the table has {actions}, counted from 0")]
    Action {
        /// The action given.
        action: u16,
        /// How many there are.
        actions: u16,
    },
    /// Parameters that do not fit.
    #[error("{given} bytes of parameters are more than the table's {most}")]
    Parameters {
        /// Bytes given.
        given: usize,
        /// Bytes that fit.
        most: usize,
    },
}

impl EntryError {
    pub(crate) fn from_full(full: Full, size: usize) -> Self {
        match full {
            Full::Exists => Self::Exists,
            Full::Full => Self::Full { size },
        }
    }
}
