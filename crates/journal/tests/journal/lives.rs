//! The lives of the processes that own one journal, one after another, and a model of the records
//! that its file must hold.
//!
//! The tests choose each step at random, and the fuzz target `journal` by the bytes of its input.

use super::simulated::{Crash, Fault, SimulatedDisk, SimulatedFile};
use journal::{Journal, Kind, OpenError, Record, Storage, SyncJob, Unreadable, repair};
use std::path::{Path, PathBuf};

const KIND: Kind = Kind(7);
/// The length of a file's header, in which a flipped bit concerns no record.
const HEADER: usize = 128;

/// The journal of successive processes.
pub(crate) struct Lives {
    disk: SimulatedDisk,
    process: Option<Process>,
    /// The lists that the file may hold, the newest last. There are several only after an
    /// interrupted replacement, or one whose name may not be on the medium.
    lists: Vec<List>,
    /// The record whose append was interrupted by the end of the process.
    pending: Option<u64>,
    next: u64,
    replacements: u64,
    /// Whether a sync has failed since the last loss of power. Some sectors are then not on the
    /// medium, and no later sync writes them.
    has_holes: bool,
    counts: Counts,
}

/// A process that owns the journal.
struct Process {
    journal: Journal<SimulatedDisk>,
    sync: Option<Syncing>,
    /// Whether the journal accepts no more records.
    is_closed: bool,
}

/// A sync that has begun.
struct Syncing {
    job: SyncJob<SimulatedFile>,
    records: usize,
    /// The number of replacements when it began.
    list: u64,
}

#[derive(Clone, Debug, Default)]
struct List {
    /// The numbers of the records whose append was answered.
    records: Vec<u64>,
    /// The number of records that are certainly on the medium.
    synced: usize,
}

/// The numbers of events in all lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) appended: u64,
    pub(crate) refused: u64,
    pub(crate) syncs: u64,
    pub(crate) failed_syncs: u64,
    pub(crate) replaced: u64,
    pub(crate) not_replaced: u64,
    pub(crate) restarts: u64,
    pub(crate) refused_starts: u64,
    pub(crate) torn: u64,
    pub(crate) repaired: u64,
    /// The number of answered records that losses of power took away.
    pub(crate) lost_with_power: u64,
}

/// The end of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The owner closes the journal.
    Close,
    Crash(Crash),
    /// The owner closes the journal, and then a bit of its records changes.
    Flip {
        place: u64,
    },
}

/// The outcome of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// The answered records that are lost.
    pub(crate) lost: Vec<u64>,
    pub(crate) is_torn: bool,
    pub(crate) is_repaired: bool,
}

/// The records of a file, and whether a torn remainder was moved out of it.
struct Opened {
    journal: Journal<SimulatedDisk>,
    found: Vec<u64>,
    is_torn: bool,
}

impl Lives {
    /// Begins the first life. The calls of the disk are subject to `fault`.
    pub(crate) fn begin(seed: u64, fault: Option<Fault>) -> Self {
        let disk = SimulatedDisk::new(seed);
        disk.set_fault(fault);
        let mut lives = Self {
            disk,
            process: None,
            lists: vec![List::default()],
            pending: None,
            next: 0,
            replacements: 0,
            has_holes: false,
            counts: Counts::default(),
        };
        lives.process = lives.open(&path()).ok().map(Process::of);
        lives
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns whether no process runs, because the last one ended or could not start.
    pub(crate) fn has_ended(&self) -> bool {
        self.process.is_none() || self.disk.has_crashed()
    }

    /// Returns the number of calls of the disk during `act`.
    pub(crate) fn count_calls(&mut self, act: impl FnOnce(&mut Self)) -> u64 {
        self.disk.set_fault(None);
        act(self);
        self.disk.calls()
    }

    pub(crate) fn set_fault(&self, fault: Option<Fault>) {
        self.disk.set_fault(fault);
    }

    /// Lets writes fail once the files have grown by this many bytes.
    pub(crate) fn fill_disk(&self, room: usize) {
        self.disk.set_fault(Some(Fault::Full(self.disk.used() + room)));
    }

    pub(crate) fn is_long(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.journal.is_long())
    }

    /// Appends a record with a body of about this length.
    pub(crate) fn append(&mut self, length: usize) {
        let Some(process) = &mut self.process else { return };
        let number = self.next;
        self.next += 1;
        if process.journal.append(KIND, &body(number, length)).is_ok() {
            self.counts.appended += 1;
            self.last().records.push(number);
        } else if self.disk.has_crashed() {
            self.pending = self.pending.or(Some(number));
        } else {
            self.counts.refused += 1;
        }
    }

    /// Returns whether the journal accepts no more records, because a sync has failed.
    pub(crate) fn is_closed(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.is_closed)
    }

    /// Begins a sync of the records so far, unless one is under way. Returns whether the disk
    /// allowed it.
    pub(crate) fn begin_sync(&mut self) -> bool {
        let (records, list) = (self.last().records.len(), self.replacements);
        let Some(process) = &mut self.process else { return false };
        if process.sync.is_some() {
            return true;
        }
        let begun = process.journal.begin_sync();
        let is_allowed = begun.is_ok();
        process.sync = begun.ok().flatten().map(|job| Syncing { job, records, list });
        is_allowed
    }

    /// Ends the sync that is under way.
    pub(crate) fn end_sync(&mut self) {
        let Some(process) = &mut self.process else { return };
        let Some(Syncing { job, records, list }) = process.sync.take() else { return };
        let outcome = job.run();
        if process.journal.end_sync(&job, outcome).is_err() {
            self.counts.failed_syncs += 1;
            // If only the mark of the sync could not be written, the journal stays open.
            let is_closed = matches!(process.journal.begin_sync(), Ok(None));
            self.has_holes |= is_closed;
            process.is_closed |= is_closed;
            return;
        }
        self.counts.syncs += 1;
        if list == self.replacements {
            let last = self.last();
            last.synced = last.synced.max(records);
        }
    }

    /// Replaces the list by every second one of its records.
    pub(crate) fn replace(&mut self) {
        let records: Vec<u64> = self.last().records.iter().step_by(2).copied().collect();
        let Some(process) = &mut self.process else { return };
        let journal = &mut process.journal;
        let replaced = journal.replace(|append| {
            records.iter().try_for_each(|number| append(KIND, &body(*number, 30)))
        });
        let list = List { synced: records.len(), records };
        match replaced {
            Ok(()) => {
                self.counts.replaced += 1;
                self.replacements += 1;
                // A journal whose directory could not be synced is closed, and a loss of power may
                // bring the earlier list back.
                if journal.sync().is_ok() {
                    self.lists.clear();
                } else {
                    process.is_closed = true;
                }
                self.lists.push(list);
            }
            Err(_) => {
                self.counts.not_replaced += 1;
                if self.disk.has_crashed() {
                    self.lists.insert(self.lists.len() - 1, list);
                }
            }
        }
    }

    /// Ends the process, starts another one, and checks the records that it reads. The calls of the
    /// start are subject to `fault`; a start that fails is repeated without it.
    pub(crate) fn restart(&mut self, end: End, fault: Option<Fault>) -> Start {
        let has_crashed = self.disk.has_crashed();
        match end {
            End::Crash(crash) => self.disk.reboot(crash),
            End::Close | End::Flip { .. } if has_crashed => self.disk.reboot(Crash::Kill),
            End::Close | End::Flip { .. } => {}
        }
        self.process = None;
        self.disk.set_fault(None);
        if let End::Flip { place } = end {
            self.flip(place);
        }
        self.counts.restarts += 1;
        self.disk.set_fault(fault);
        let mut opened = self.open(&path());
        if matches!(opened, Err(OpenError::Io { .. })) && fault.is_some() {
            self.counts.refused_starts += 1;
            if self.disk.has_crashed() {
                self.disk.reboot(Crash::Kill);
            }
            self.disk.set_fault(None);
            opened = self.open(&path());
        }
        if self.disk.has_crashed() {
            // The process ended in a call whose failure does not prevent the start.
            drop(opened);
            self.disk.reboot(Crash::Kill);
            opened = self.open(&path());
        }
        self.disk.set_fault(None);
        let start = match opened {
            Ok(opened) => self.opened(end, opened),
            Err(OpenError::Damaged { sequence, .. }) if self.may_damage(end) => {
                self.repaired(end, sequence.0 as usize)
            }
            Err(error) => panic!("{end:?}: {error}"),
        };
        self.pending = None;
        self.has_holes &= !is_loss_of_power(end);
        start
    }

    /// Returns whether an end can leave a file that is refused as damaged.
    fn may_damage(&self, end: End) -> bool {
        match end {
            End::Flip { .. } => true,
            // A medium that writes out of order leaves holes in the unsynced part.
            End::Crash(Crash::Power) => true,
            End::Crash(Crash::PowerInOrder) => self.has_holes,
            End::Close | End::Crash(Crash::Kill) => false,
        }
    }

    /// Flips a bit of the records.
    fn flip(&self, place: u64) {
        let Some(mut bytes) = self.disk.read(&path()) else { return };
        let bits = 8 * bytes.len().saturating_sub(HEADER) as u64;
        if bits > 0 {
            let place = place % bits;
            bytes[HEADER + (place / 8) as usize] ^= 1 << (place % 8);
            // The whole file is then on the medium.
            self.disk.write(&path(), bytes);
        }
    }

    /// Checks the records that an opened journal holds, and continues with them.
    fn opened(&mut self, end: End, opened: Opened) -> Start {
        let Opened { journal, found, is_torn } = opened;
        let list = match end {
            End::Crash(Crash::Power | Crash::PowerInOrder) => self.after_loss_of_power(&found),
            // A flipped bit in an unsynced record can look like an interrupted write.
            End::Flip { .. } if is_torn => self.after_loss_of_power(&found),
            End::Close | End::Crash(Crash::Kill) | End::Flip { .. } => self.unharmed(&found),
        };
        let list = list.unwrap_or_else(|| self.is_wrong(end, &found));
        let known = &self.lists[list].records;
        let lost: Vec<u64> = known.get(found.len()..).unwrap_or_default().to_vec();
        let synced = match end {
            End::Close | End::Crash(Crash::Kill) => self.lists[list].synced,
            // The start has synced all of them, but may have failed to mark them as synced.
            End::Flip { .. } | End::Crash(_) => journal.marked().0 as usize,
        };
        self.lists = vec![List { synced: synced.min(found.len()), records: found }];
        self.counts.torn += u64::from(is_torn);
        self.counts.lost_with_power += lost.len() as u64;
        self.process = Some(Process::of_journal(journal));
        self.remove_others();
        Start { lost, is_torn, is_repaired: false }
    }

    /// Repairs the damaged journal, checks the copy, and continues with it.
    fn repaired(&mut self, end: End, damaged: usize) -> Start {
        // A loss of power can bring a removed copy back.
        let copy = PathBuf::from(format!("/state/repaired-{}", self.counts.repaired));
        repair(&self.disk, &path(), &copy).expect("a damaged file is repaired");
        let Opened { journal, found, .. } = self.open(&copy).expect("the copy is intact");
        drop(journal);
        let before = &found[..(damaged - 1).min(found.len())];
        let list = if let End::Flip { .. } = end {
            let lacks_one = |list: &List| {
                lacks_one(&list.records, &found) || lacks_one(&self.known(list), &found)
            };
            self.lists.iter().rposition(lacks_one)
        } else {
            self.after_loss_of_power(before)
                .filter(|list| is_subsequence(&found, &self.known(&self.lists[*list])))
        };
        let list = list.unwrap_or_else(|| self.is_wrong(end, &found));
        let is_lost = |number: &u64| found.binary_search(number).is_err();
        let lost: Vec<u64> = self.lists[list].records.iter().copied().filter(is_lost).collect();
        if is_loss_of_power(end) {
            self.counts.lost_with_power += lost.len() as u64;
        }
        self.disk.write(&path(), self.disk.read(&copy).expect("it was read"));
        self.disk.remove(&copy).expect("it is there");
        self.counts.repaired += 1;
        let journal = self.open(&path()).expect("the copy is intact");
        self.lists = vec![List { synced: found.len(), records: found }];
        self.process = Some(Process::of(journal));
        self.remove_others();
        Start { lost, is_torn: false, is_repaired: true }
    }

    /// Returns the list that `found` is, possibly with the pending record.
    fn unharmed(&self, found: &[u64]) -> Option<usize> {
        let is_whole = |list: &List| found == list.records || found == self.known(list);
        self.lists.iter().rposition(is_whole)
    }

    /// Returns a list of which `found` is the beginning, with all synced records.
    fn after_loss_of_power(&self, found: &[u64]) -> Option<usize> {
        let has_synced =
            |list: &List| found.len() >= list.synced && self.known(list).starts_with(found);
        self.lists.iter().rposition(has_synced)
    }

    /// Returns the records of a list, and the pending one.
    fn known(&self, list: &List) -> Vec<u64> {
        list.records.iter().copied().chain(self.pending).collect()
    }

    fn is_wrong(&self, end: End, found: &[u64]) -> usize {
        let lists: Vec<_> =
            self.lists.iter().map(|list| (list.records.len(), list.synced)).collect();
        let known = &self.lists.last().expect("there is always a list").records;
        let same = known.iter().zip(found).take_while(|(one, other)| one == other).count();
        panic!(
            "after {end:?}, {} records are there, the first {same} as in the last list; records and \
             synced ones of the lists: {lists:?}; pending: {:?}; {:?}",
            found.len(),
            self.pending,
            self.counts
        )
    }

    fn last(&mut self) -> &mut List {
        self.lists.last_mut().expect("there is always a list")
    }

    fn open(&self, path: &Path) -> Result<Opened, OpenError> {
        let mut found = Vec::new();
        let mut visit = |record: Record<'_>| {
            found.push(number(record.body).ok_or(Unreadable::Body)?);
            Ok(())
        };
        let (journal, torn) = Journal::open(self.disk.clone(), path, &mut visit)?;
        Ok(Opened { journal, found, is_torn: torn.is_some() })
    }

    /// Removes the files beside the journal, as its user does after having read them.
    fn remove_others(&self) {
        for other in self.disk.paths().iter().filter(|other| **other != path()) {
            self.disk.remove(other).expect("it is there");
        }
        self.disk.forget_removed();
    }
}

impl Process {
    fn of(opened: Opened) -> Self {
        Self::of_journal(opened.journal)
    }

    fn of_journal(journal: Journal<SimulatedDisk>) -> Self {
        Self { journal, sync: None, is_closed: false }
    }
}

fn path() -> PathBuf {
    PathBuf::from("/state/switch")
}

fn is_loss_of_power(end: End) -> bool {
    matches!(end, End::Crash(Crash::Power | Crash::PowerInOrder))
}

/// Returns the body of a record: its number, and bytes of which many are zero, as in real entries.
fn body(number: u64, length: usize) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.resize(8 + length, 0);
    for (place, byte) in body.iter_mut().enumerate().skip(8).step_by(7) {
        *byte = (number as usize + place) as u8;
    }
    body
}

/// Returns the number of a record, if its body is intact.
fn number(found: &[u8]) -> Option<u64> {
    let number = u64::from_le_bytes(found.get(..8)?.try_into().ok()?);
    (found == body(number, found.len() - 8)).then_some(number)
}

fn is_subsequence(found: &[u64], known: &[u64]) -> bool {
    let mut known = known.iter();
    found.iter().all(|number| known.any(|one| one == number))
}

/// Returns whether `found` is `known` without at most one record.
fn lacks_one(known: &[u64], found: &[u64]) -> bool {
    found.len() + 1 >= known.len() && is_subsequence(found, known)
}
