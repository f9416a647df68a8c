//! How a table is stored, kept consistent and updated; which combinations make sense; what a program may ask.
//!
//! The choice is plain data. [`Design::check`] is the one place that knows which designs can honour which
//! [`Requirements`], and every refusal names a design that would.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

/// How an entry is found and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Storage {
    /// Hash to index, index to pointer array, pointer to a 64 B aligned entry (paper, Fig. 3 black, eq. 1).
    Original,
    /// Hash to pointer to a 64 B aligned entry that is allocated on insertion (paper, Fig. 3 red, eq. 2 and 3).
    Dynamic,
    /// Hash to index into one array of 16 B aligned entries (paper, Fig. 7, eq. 4 and 5).
    Static,
    /// Key, action and parameters in the bucket: one cache line for a lookup where key and parameters take at most
    /// 16 and 32 bytes. Wider ones lie, key beside parameters, in a record that the bucket points to: one line more.
    Inline,
}

impl Storage {
    /// All of them, in the order of the paper, ours last.
    pub const ALL: [Self; 4] = [Self::Original, Self::Dynamic, Self::Static, Self::Inline];

    /// As flags, `@tableconfig` and results call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Dynamic => "dynamic",
            Self::Static => "static",
            Self::Inline => "inline",
        }
    }

    /// The storage that is called so.
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

/// How a writer of a double-buffered table waits until nobody reads the replica that has become passive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Wait {
    /// For a fixed time. It guarantees nothing when a reader is held up for longer (paper, Section 3).
    Fixed(Duration),
    /// Until every worker has passed a point at which it holds no entry.
    Quiescent,
}

impl Wait {
    /// The wait of the paper's base system: 200 us.
    pub const PAPER: Self = Self::Fixed(Duration::from_micros(200));
}

/// How threads that read and write one table at the same time are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Synchronisation {
    /// Two replicas: write to the passive one, swap, wait, write to the other ("t4p4s" in the paper).
    DoubleBuffer {
        /// What the writer waits for.
        wait: Wait,
    },
    /// One replica; readers take no lock, check a version and read again if it moved ("DPDK" in the paper).
    Optimistic,
    /// A table per worker, which only the worker's packets read and write, and which has all entries of the control plane;
    /// nothing is locked. What packets write stays in the worker's table while the worker is there. So packets that
    /// write one entry must stay with one worker, as those of a flow do.
    Sharded {
        /// The number of workers.
        shards: usize,
    },
}

impl Synchronisation {
    /// Returns one table per core.
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

/// Whether an action holds its entry alone from its start to its end (paper, Section 6.1, "synced").
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub enum EntryLock {
    /// It does not. Entries are never seen half written, but of two actions at once on one entry, one may be lost.
    #[default]
    None,
    /// A spin lock in each entry, taken when its action starts and released when it ends.
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

/// How a packet's action changes the entry that it matched (paper, Section 5).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub enum UpdateMethod {
    /// In place.
    #[default]
    Pointer,
    /// By a second lookup and a modification as the control plane makes it.
    Change,
    /// By a message to a controller, which modifies the entry.
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

/// How a table is built. See [`Design::check`] for what goes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Design {
    /// How an entry is found and where it lies.
    pub storage: Storage,
    /// How threads are kept apart.
    pub synchronisation: Synchronisation,
    /// Whether an action holds its entry alone.
    pub entry_lock: EntryLock,
    /// How an action changes its entry.
    pub update: UpdateMethod,
}

/// What a program asks of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Requirements {
    /// An action parameter is a reference into the entry (`@__ref`): what the action writes, the next packet reads.
    pub reference_parameters: bool,
    /// Packets of flows on different cores write the same entry, and no write may be lost.
    pub shared_entries: bool,
    /// The data plane adds entries on a miss (PNA 0.7, `add_on_miss`).
    pub add_on_miss: bool,
}

impl Design {
    /// The fastest: inline storage, one table per core.
    pub fn sharded(shards: usize) -> Self {
        Self {
            storage: Storage::Inline,
            synchronisation: Synchronisation::sharded(shards),
            entry_lock: EntryLock::None,
            update: UpdateMethod::Pointer,
        }
    }

    /// One table that all workers share, updated in place under entry locks.
    pub fn shared(storage: Storage) -> Self {
        Self {
            storage,
            synchronisation: Synchronisation::Optimistic,
            entry_lock: EntryLock::PerEntry,
            update: UpdateMethod::Pointer,
        }
    }

    /// One table that all workers share, updated in place without entry locks.
    pub fn unlocked(storage: Storage) -> Self {
        Self { entry_lock: EntryLock::None, ..Self::shared(storage) }
    }

    /// The paper's base system: two replicas and a wait.
    pub fn double_buffer(storage: Storage, wait: Wait) -> Self {
        Self {
            storage,
            synchronisation: Synchronisation::DoubleBuffer { wait },
            entry_lock: EntryLock::None,
            update: UpdateMethod::Change,
        }
    }

    /// Returns the design for a table whose entries packets only read: no entry is locked, and only the control plane
    /// changes entries.
    #[must_use]
    pub fn without_writers(self) -> Self {
        let update = match self.synchronisation {
            Synchronisation::DoubleBuffer { .. } => UpdateMethod::Change,
            Synchronisation::Optimistic | Synchronisation::Sharded { .. } => UpdateMethod::Pointer,
        };
        Self { entry_lock: EntryLock::None, update, ..self }
    }

    /// Whether the parts of the design go together and honour what the program asks.
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

/// The largest number of workers (and so of shards) of one table.
pub(crate) const MAX_WORKERS: usize = 256;

/// Why a design does not do what is asked of it. Each message names one that does.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DesignError {
    /// A reference parameter on a table with two replicas.
    #[error(
        "a reference parameter is written in place with update method pointer, and double-buffer must not change the replica that is read: use update method change, or synchronisation optimistic or sharded"
    )]
    ReferenceNeedsOneReplica,
    /// Writing in place on a table with two replicas.
    #[error(
        "update method pointer writes in place, and double-buffer must not change the replica that is read: use update method change or digest, or synchronisation optimistic or sharded"
    )]
    PointerNeedsOneReplica,
    /// A lock in an entry that exists twice.
    #[error(
        "an entry lock cannot guard an entry that exists in two replicas: use synchronisation optimistic with entry lock per-entry"
    )]
    LockNeedsOneReplica,
    /// Entries that several cores write, in two replicas.
    #[error(
        "entries that packets on several cores write lose updates in double-buffer, where the action ends before its change begins: use synchronisation optimistic with entry lock per-entry and update method pointer"
    )]
    SharedEntriesNeedOneReplica,
    /// Entries that several cores write, in shards.
    #[error(
        "entries that packets on several cores write cannot be sharded, as each core has its own: use synchronisation optimistic with entry lock per-entry"
    )]
    ShardsShareNothing,
    /// Entries that several cores write, without a lock.
    #[error(
        "entries that packets on several cores write lose updates without a lock: use entry lock per-entry"
    )]
    SharedEntriesNeedLock,
    /// Entries that several cores write, but not in place.
    #[error(
        "entries that packets on several cores write lose updates with update method {update}, where the lock does not last until the change: use update method pointer"
    )]
    SharedEntriesNeedPointer {
        /// The method asked for.
        update: UpdateMethod,
    },
    /// A lock that nobody contends.
    #[error(
        "a shard has one worker and needs no entry lock: use entry lock none, or synchronisation optimistic if packets on several cores write the same entry"
    )]
    ShardsNeedNoLock,
    /// Entries of which each worker has its own, changed for all workers.
    #[error(
        "each worker has entries of its own, and update method {update} would change those of all: use synchronisation optimistic or double-buffer, or update method pointer"
    )]
    ShardsNeedPointer {
        /// The method asked for.
        update: UpdateMethod,
    },
    /// A lock that ends before the entry is changed.
    #[error(
        "the lock of an entry ends with the action, before update method {update} changes the entry: use entry lock none, or update method pointer"
    )]
    LockNeedsPointer {
        /// The method asked for.
        update: UpdateMethod,
    },
    /// A reference parameter with a method that changes its entry after the next packets.
    #[error(
        "what is written to a reference parameter is read by the next packet, and update method digest changes the entry when a message has come back: use update method pointer or change"
    )]
    ReferenceIsLate,
    /// No shards, or more than workers can exist.
    #[error(
        "a table has between 1 and {MAX_WORKERS} shards, not {shards}: use one per core that runs packets"
    )]
    Shards {
        /// The number asked for.
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
