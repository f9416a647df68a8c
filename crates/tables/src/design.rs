//! The design of a table: how it is stored, kept consistent and updated. A
//! [`PackedTable`](crate::PackedTable) is created with a design that [`Design::check`] accepts.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

/// The data structure that stores a table's entries. It determines how an entry is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Storage {
    /// A hash leads to an index, the index to an array of pointers, and the pointer to a 64 B
    /// aligned entry (the black path in Fig. 3 of the paper, and its eq. 1).
    Original,
    /// A hash leads to a pointer to a 64 B aligned entry that is allocated on insertion (the red
    /// path in Fig. 3 of the paper, and its eq. 2 and 3).
    Dynamic,
    /// A hash leads to an index into one array of 16 B aligned entries (Fig. 7 of the paper, and
    /// its eq. 4 and 5).
    Static,
    /// Key, action and parameters lie in the bucket. A lookup usually reads one cache line. This is
    /// why keys are limited to 16 bytes and parameters to 32, in tables of all storages.
    Inline,
}

impl Storage {
    /// All storages, in the order of the paper; `Inline`, which is not in the paper, is last.
    pub const ALL: [Self; 4] = [Self::Original, Self::Dynamic, Self::Static, Self::Inline];

    /// Returns the name of the storage in flags, in `@tableconfig` and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Dynamic => "dynamic",
            Self::Static => "static",
            Self::Inline => "inline",
        }
    }

    /// Returns the storage with this name, or `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|storage| storage.name() == name)
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The method by which a writer of a table with two replicas waits until no reader uses the replica
/// that has become passive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Wait {
    /// The writer waits for a fixed time. This guarantees nothing if a reader is delayed for longer
    /// (paper, Section 3).
    Fixed(Duration),
    /// The writer waits until every worker has passed a point at which it holds no entry.
    Quiescent,
}

impl Wait {
    /// The wait of the paper's base system: 200 us.
    pub const PAPER: Self = Self::Fixed(Duration::from_micros(200));
}

/// The method that keeps apart the threads that read and write one table at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Synchronisation {
    /// The table has two replicas, of which readers use the active one. To change an entry, a
    /// writer changes it in the passive replica, makes that replica the active one, waits for
    /// readers of the other replica, and then changes the entry there as well. The paper that the
    /// crate's documentation cites calls this "t4p4s".
    DoubleBuffer {
        /// The method by which the writer waits after the swap.
        wait: Wait,
    },
    /// There is one replica. Readers take no lock. They check a version, and read again if it has
    /// changed ("DPDK" in the paper).
    Optimistic,
    /// Each worker has a table of its own. It contains all entries of the control plane, and only
    /// the packets of this worker read and write it. No lock is taken. Values that packets write
    /// stay in the worker's table as long as the worker exists, so all packets that write one entry
    /// must be processed by one worker, such as the packets of one flow.
    Sharded {
        /// The number of workers for which memory is predicted. A table makes a shard for each
        /// worker that joins, whatever this number is.
        shards: usize,
    },
}

impl Synchronisation {
    /// Returns the synchronisation in which each of `shards` workers has a table of its own.
    pub fn sharded(shards: usize) -> Self {
        Self::Sharded { shards }
    }
}

impl fmt::Display for Synchronisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoubleBuffer { wait: Wait::Fixed(time) } => {
                write!(f, "double-buffer, {} us", time.as_micros())
            }
            Self::DoubleBuffer { wait: Wait::Quiescent } => f.pad("double-buffer, quiescent"),
            Self::Optimistic => f.pad("optimistic"),
            Self::Sharded { shards } => write!(f, "sharded by {shards}"),
        }
    }
}

/// Whether an action has exclusive use of its entry from its start to its end (paper, Section 6.1,
/// "synced").
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub enum EntryLock {
    /// The entry is not locked. No thread sees a partially written entry, but if two actions write
    /// one entry at the same time, one of the writes may be lost.
    #[default]
    None,
    /// Each entry (in inline storage, each bucket) has a spin lock, which is taken when an action
    /// that writes the entry starts, and released when the action ends.
    PerEntry,
}

impl fmt::Display for EntryLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "unlocked",
            Self::PerEntry => "locked",
        })
    }
}

/// The method by which a packet's action changes the entry that it matched (paper, Section 5).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub enum UpdateMethod {
    /// The action writes to the entry itself, through a pointer.
    #[default]
    Pointer,
    /// The action writes a copy of the entry's parameters. Afterwards, the entry is looked up again
    /// and replaced, as the control plane would do it.
    Change,
    /// The action sends a message to a controller, which modifies the entry.
    Digest,
}

impl fmt::Display for UpdateMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pointer => "pointer",
            Self::Change => "change",
            Self::Digest => "digest",
        })
    }
}

/// The design of a table. See [`Design::check`] for the valid combinations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Design {
    /// The storage of the entries.
    pub storage: Storage,
    /// The method that keeps threads apart.
    pub synchronisation: Synchronisation,
    /// Whether an action has exclusive use of its entry.
    pub entry_lock: EntryLock,
    /// The method by which an action changes its entry.
    pub update: UpdateMethod,
}

/// The properties that a program requires of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Requirements {
    /// Whether an action parameter is a reference into the entry (`@__ref`): the next packet reads
    /// the value that the action wrote.
    pub reference_parameters: bool,
    /// Whether packets on different cores write the same entry and no write may be lost.
    pub shared_entries: bool,
    /// Whether the data plane adds entries on a miss (PNA 0.7, `add_on_miss`). Every design allows
    /// it.
    pub add_on_miss: bool,
}

impl Design {
    /// Returns the fastest design: inline storage, with a table of its own for each of `shards`
    /// workers.
    pub fn sharded(shards: usize) -> Self {
        Self {
            storage: Storage::Inline,
            synchronisation: Synchronisation::sharded(shards),
            entry_lock: EntryLock::None,
            update: UpdateMethod::Pointer,
        }
    }

    /// Returns the design of one table that all workers share, updated in place under entry locks.
    pub fn shared(storage: Storage) -> Self {
        Self {
            storage,
            synchronisation: Synchronisation::Optimistic,
            entry_lock: EntryLock::PerEntry,
            update: UpdateMethod::Pointer,
        }
    }

    /// Returns the design of one table that all workers share, updated in place without entry
    /// locks.
    pub fn unlocked(storage: Storage) -> Self {
        Self { entry_lock: EntryLock::None, ..Self::shared(storage) }
    }

    /// Returns the design of the paper's base system: two replicas, and a writer that waits after
    /// it has swapped them.
    pub fn double_buffer(storage: Storage, wait: Wait) -> Self {
        Self {
            storage,
            synchronisation: Synchronisation::DoubleBuffer { wait },
            entry_lock: EntryLock::None,
            update: UpdateMethod::Change,
        }
    }

    /// Returns this design for a table whose entries packets only read: no entry is locked, and
    /// only the control plane changes entries.
    #[must_use]
    pub fn without_writers(self) -> Self {
        let update = match self.synchronisation {
            Synchronisation::DoubleBuffer { .. } => UpdateMethod::Change,
            Synchronisation::Optimistic | Synchronisation::Sharded { .. } => UpdateMethod::Pointer,
        };
        Self { entry_lock: EntryLock::None, update, ..self }
    }

    /// Checks that the parts of the design are compatible with each other and provide the
    /// properties that the program requires.
    pub fn check(&self, asks: Requirements) -> Result<(), DesignError> {
        match self.synchronisation {
            Synchronisation::DoubleBuffer { .. } => {
                if asks.reference_parameters && self.update == UpdateMethod::Pointer {
                    return Err(DesignError::ReferenceNeedsOneReplica);
                }
                if self.update == UpdateMethod::Pointer {
                    return Err(DesignError::PointerNeedsOneReplica);
                }
                if self.entry_lock == EntryLock::PerEntry {
                    return Err(DesignError::LockNeedsOneReplica);
                }
                if asks.shared_entries {
                    return Err(DesignError::SharedEntriesNeedOneReplica);
                }
            }
            Synchronisation::Sharded { shards } => {
                if shards == 0 || shards > MAX_WORKERS {
                    return Err(DesignError::Shards { shards });
                }
                if asks.shared_entries {
                    return Err(DesignError::ShardsShareNothing);
                }
                if self.entry_lock == EntryLock::PerEntry {
                    return Err(DesignError::ShardsNeedNoLock);
                }
                if self.update != UpdateMethod::Pointer {
                    return Err(DesignError::ShardsNeedPointer { update: self.update });
                }
            }
            Synchronisation::Optimistic => {
                if asks.shared_entries && self.entry_lock == EntryLock::None {
                    return Err(DesignError::SharedEntriesNeedLock);
                }
            }
        }
        if asks.reference_parameters && self.update == UpdateMethod::Digest {
            return Err(DesignError::ReferenceIsLate);
        }
        if asks.shared_entries && self.update != UpdateMethod::Pointer {
            return Err(DesignError::SharedEntriesNeedPointer { update: self.update });
        }
        if self.entry_lock == EntryLock::PerEntry && self.update != UpdateMethod::Pointer {
            return Err(DesignError::LockNeedsPointer { update: self.update });
        }
        Ok(())
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.storage, self.synchronisation, self.entry_lock, self.update)
    }
}

/// The largest number of shards that a design may name, and of workers in a domain of epochs.
pub(crate) const MAX_WORKERS: usize = 256;

/// An error from [`Design::check`]. Each message names a design that would be valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DesignError {
    /// The program has actions that write through a reference into the entry (`@__ref`), but the
    /// table has two replicas, and such a write would change only one of them.
    #[error(
        "a reference parameter is written in place with update method pointer, and double-buffer must not change the replica that is read: use update method change, or synchronisation optimistic or sharded"
    )]
    ReferenceNeedsOneReplica,
    /// The update method writes entries in place, but the table has two replicas, and such a write
    /// would change only one of them.
    #[error(
        "update method pointer writes in place, and double-buffer must not change the replica that is read: use update method change or digest, or synchronisation optimistic or sharded"
    )]
    PointerNeedsOneReplica,
    /// The design has entry locks, but each entry exists in two replicas, which one lock cannot
    /// guard together.
    #[error(
        "an entry lock cannot guard an entry that exists in two replicas: use synchronisation optimistic with entry lock per-entry"
    )]
    LockNeedsOneReplica,
    /// Packets on several cores write the same entries, but the table has two replicas, in which
    /// such writes may be lost.
    #[error(
        "entries that packets on several cores write lose updates in double-buffer, where the action ends before its change begins: use synchronisation optimistic with entry lock per-entry and update method pointer"
    )]
    SharedEntriesNeedOneReplica,
    /// Packets on several cores write the same entry, but the table is sharded, so that each core
    /// would write its own copy of the entry.
    #[error(
        "entries that packets on several cores write cannot be sharded, as each core has its own: use synchronisation optimistic with entry lock per-entry"
    )]
    ShardsShareNothing,
    /// Packets on several cores write the same entries, but the design has no entry locks, so that
    /// writes may be lost.
    #[error(
        "entries that packets on several cores write lose updates without a lock: use entry lock per-entry"
    )]
    SharedEntriesNeedLock,
    /// Packets on several cores write the same entries, but the update method does not write in
    /// place, so that writes may be lost.
    #[error(
        "entries that packets on several cores write lose updates with update method {update}, where the lock does not last until the change: use update method pointer"
    )]
    SharedEntriesNeedPointer {
        /// The requested update method.
        update: UpdateMethod,
    },
    /// The design has entry locks, but each shard has only one worker, which needs no lock.
    #[error(
        "a shard has one worker and needs no entry lock: use entry lock none, or synchronisation optimistic if packets on several cores write the same entry"
    )]
    ShardsNeedNoLock,
    /// The table is sharded, but the update method changes an entry for all workers, and not only
    /// for the worker whose packet asks for it.
    #[error(
        "each worker has entries of its own, and update method {update} would change the entries of all workers: use \
         synchronisation optimistic or double-buffer, or update method pointer"
    )]
    ShardsNeedPointer {
        /// The requested update method.
        update: UpdateMethod,
    },
    /// The design has entry locks, but the update method changes the entry only after the action
    /// has ended and its lock is released.
    #[error(
        "the lock of an entry ends with the action, before update method {update} changes the entry: use entry lock none, or update method pointer"
    )]
    LockNeedsPointer {
        /// The requested update method.
        update: UpdateMethod,
    },
    /// The program has actions that write through a reference into the entry (`@__ref`), so the
    /// next packet must see the written value. The update method changes the entry only later.
    #[error(
        "the next packet reads what is written to a reference parameter, but update method digest updates the entry \
         only when the controller has answered: use update method pointer or change"
    )]
    ReferenceIsLate,
    /// The number of shards is zero, or larger than the largest number of workers.
    #[error(
        "a table has between 1 and {MAX_WORKERS} shards, not {shards}: use one per core that runs packets"
    )]
    Shards {
        /// The requested number of shards.
        shards: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_parameter_on_two_replicas_is_refused_and_the_message_says_what_would_do() {
        let asks = Requirements { reference_parameters: true, ..Requirements::default() };
        let double = Design::double_buffer(Storage::Static, Wait::PAPER);
        assert_eq!(double.check(asks), Ok(()));
        let error = Design { update: UpdateMethod::Pointer, ..double }.check(asks).unwrap_err();
        assert_eq!(error, DesignError::ReferenceNeedsOneReplica);
        assert!(error.to_string().contains("optimistic or sharded"));
        let one = Design { entry_lock: EntryLock::None, ..Design::shared(Storage::Static) };
        let change = Design { update: UpdateMethod::Change, ..one };
        let digest = Design { update: UpdateMethod::Digest, ..change };
        assert_eq!(change.check(asks), Ok(()));
        assert_eq!(digest.check(asks), Err(DesignError::ReferenceIsLate));
        assert_eq!(Design::shared(Storage::Static).check(asks), Ok(()));
        assert_eq!(Design::sharded(2).check(asks), Ok(()));
    }

    #[test]
    fn parts_that_do_not_go_together_are_refused() {
        let none = Requirements::default();
        let double = Design::double_buffer(Storage::Dynamic, Wait::Quiescent);
        assert_eq!(double.check(none), Ok(()));
        assert_eq!(
            Design { update: UpdateMethod::Pointer, ..double }.check(none),
            Err(DesignError::PointerNeedsOneReplica)
        );
        assert_eq!(
            Design { entry_lock: EntryLock::PerEntry, ..double }.check(none),
            Err(DesignError::LockNeedsOneReplica)
        );
        assert_eq!(Design::sharded(0).check(none), Err(DesignError::Shards { shards: 0 }));
        assert_eq!(
            Design { entry_lock: EntryLock::PerEntry, ..Design::sharded(2) }.check(none),
            Err(DesignError::ShardsNeedNoLock)
        );
        for update in [UpdateMethod::Change, UpdateMethod::Digest] {
            assert_eq!(
                Design { update, ..Design::sharded(2) }.check(none),
                Err(DesignError::ShardsNeedPointer { update })
            );
            assert_eq!(
                Design { update, ..Design::shared(Storage::Inline) }.check(none),
                Err(DesignError::LockNeedsPointer { update })
            );
        }
    }

    #[test]
    fn entries_that_cores_share_need_a_lock_and_one_table() {
        let asks = Requirements { shared_entries: true, ..Requirements::default() };
        assert_eq!(Design::shared(Storage::Inline).check(asks), Ok(()));
        let unlocked = Design { entry_lock: EntryLock::None, ..Design::shared(Storage::Inline) };
        assert_eq!(unlocked.check(asks), Err(DesignError::SharedEntriesNeedLock));
        assert_eq!(Design::sharded(2).check(asks), Err(DesignError::ShardsShareNothing));
        let change = Design { update: UpdateMethod::Change, ..Design::shared(Storage::Inline) };
        assert_eq!(
            change.check(asks),
            Err(DesignError::SharedEntriesNeedPointer { update: UpdateMethod::Change })
        );
    }
}
