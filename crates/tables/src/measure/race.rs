//! Counts the lost updates of the paper's data race: two or more threads add one to the same
//! entries.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use thiserror::Error;

use crate::apply::{Hit, TableWorker, WorkerError};
use crate::design::{Design, EntryLock, Storage};
use crate::entry::ActionId;
use crate::layout::{Layout, LayoutError};
use crate::machine;
use crate::packed::{Match, TableError};

use super::Operation;
use super::keys::Random;
use super::lane::next_value;
use super::subject::{sum, table};

/// The number of updates after which a thread checks whether it was interrupted.
const BURST: u64 = 1 << 16;
/// The number of keys with which a table is called at once.
const CALL: usize = 32;

/// The number of updates that threads made to a table of one design, and the number of updates that
/// were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Race {
    /// The storage of the table.
    pub storage: Storage,
    /// The lock of each entry, or none.
    pub lock: EntryLock,
    /// The number of updates that were made.
    pub updates: u64,
    /// The number of lost updates: updates that threads made but that a later sum of all entries
    /// lacks.
    pub lost: u64,
}

/// The reason why [`race`] could not count lost updates.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RaceError {
    /// The updates would overflow an entry, which holds a number of 32 bits.
    #[error("{updates} updates are more than an entry can count; ask for at most 4,294,967,295")]
    TooMany {
        /// The requested number of updates.
        updates: u64,
    },
    /// Fewer than two threads were requested.
    #[error("a race needs at least two threads, not {threads}")]
    TooFew {
        /// The requested number of threads.
        threads: usize,
    },
    /// The layout of the table is invalid.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The table could not be created.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A worker could not be created.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

/// Counts the updates that a table loses. One thread per core updates a table of `entries` entries.
/// The threads make `updates` updates in total, at least half of them to one entry. If `interrupt`
/// is set, the threads stop early, and the updates made so far are counted.
///
/// # Errors
/// Returns an error if there are too many updates or too few threads, or if the table or a worker
/// cannot be created.
pub fn race(
    storage: Storage,
    lock: EntryLock,
    entries: u32,
    updates: u64,
    seed: u64,
    cores: &[usize],
    interrupt: &AtomicBool,
) -> Result<Race, RaceError> {
    if u32::try_from(updates).is_err() {
        return Err(RaceError::TooMany { updates });
    }
    if cores.len() < 2 {
        return Err(RaceError::TooFew { threads: cores.len() });
    }
    let design = Design { entry_lock: lock, ..Design::shared(storage) };
    let layout = Layout::new(32, 4, entries.max(1) as usize)?;
    let table = table(&layout, design, Operation::Update)?;
    for number in 0..entries.max(1) {
        table.insert(Match::Exact(number.into()), ActionId(0), &[])?;
    }
    let workers: Result<Vec<_>, _> = cores.iter().map(|_| TableWorker::new(&table)).collect();
    let workers = workers?;
    let made = AtomicU64::new(0);
    let start = Barrier::new(cores.len());
    thread::scope(|scope| {
        for (thread, (&core, mut worker)) in cores.iter().zip(workers).enumerate() {
            let share = updates / cores.len() as u64
                + u64::from((thread as u64) < updates % cores.len() as u64);
            let (made, start) = (&made, &start);
            scope.spawn(move || {
                let _ = machine::pin_to(core);
                start.wait();
                let mut random = Random::new(seed, thread as u64);
                let mut keys = [[0; 2]; CALL];
                let mut left = share;
                while left > 0 && !interrupt.load(Ordering::Relaxed) {
                    let burst = left.min(BURST);
                    let mut todo = burst;
                    while todo > 0 {
                        let call = todo.min(CALL as u64) as usize;
                        for key in &mut keys[..call] {
                            let drawn = random.below(2 * entries.max(1));
                            *key = [if drawn < entries { drawn.into() } else { 0 }, 0];
                        }
                        let mut act = |_: usize, hit: &mut Hit<'_>| next_value(hit);
                        worker.apply(&keys[..call], &mut act);
                        todo -= call as u64;
                    }
                    left -= burst;
                }
                made.fetch_add(share - left, Ordering::Relaxed);
            });
        }
    });
    let updates = made.load(Ordering::Relaxed);
    let arrived = sum(&table, entries.max(1), None).unwrap_or(0);
    Ok(Race { storage, lock, updates, lost: updates.saturating_sub(arrived) })
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    fn cores() -> Vec<usize> {
        let mut cores = machine::cores().unwrap();
        // Two threads on one core race too, by preemption.
        if cores.len() == 1 {
            cores.push(cores[0]);
        }
        cores.truncate(2);
        cores
    }

    #[test]
    fn with_locks_every_update_arrives() {
        let never = AtomicBool::new(false);
        for storage in Storage::ALL {
            let race = race(storage, EntryLock::PerEntry, 4, 20_001, 1, &cores(), &never).unwrap();
            assert_eq!(race, Race { storage, lock: EntryLock::PerEntry, updates: 20_001, lost: 0 });
        }
    }

    #[test]
    fn the_counts_of_an_interrupted_race_add_up() {
        let race = race(
            Storage::Inline,
            EntryLock::PerEntry,
            4,
            1 << 30,
            1,
            &cores(),
            &AtomicBool::new(true),
        )
        .unwrap();
        assert_eq!((race.updates, race.lost), (0, 0));
    }

    #[test]
    fn races_that_cannot_be_counted_are_refused() {
        let never = AtomicBool::new(false);
        let one = |updates, cores: &[usize]| {
            race(Storage::Inline, EntryLock::None, 1, updates, 1, cores, &never).unwrap_err()
        };
        assert!(matches!(one(1 << 32, &[0, 1]), RaceError::TooMany { .. }));
        assert!(matches!(one(1, &[0]), RaceError::TooFew { threads: 1 }));
    }
}
