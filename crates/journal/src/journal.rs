//! An open journal, to which records are appended, and which can be replaced and synced.

use crate::error::{AppendError, OpenError, Unreadable};
use crate::files::{Draft, locked, remove_leftovers, set_aside, write_again};
use crate::format::{Kind, Mark, Number, Sequence};
use crate::list::{List, Tip};
use crate::scan::{self, Record, Rest};
use crate::storage::{Storage, StoredFile, write_full};
use std::io;
use std::path::{Path, PathBuf};

/// The length in bytes up to which a journal file is too short to be worth replacing.
const SMALL: u64 = 16 << 20;

/// An open journal, whose file is locked against other processes.
#[derive(Debug)]
pub struct Journal<S: Storage> {
    storage: S,
    path: PathBuf,
    list: List<S::File>,
    /// The length of the file in bytes after it was last replaced. If the replacement failed, this
    /// is the length when it was attempted. It is 0 if no replacement was attempted since the
    /// journal was opened.
    replaced: u64,
    /// The reason why the journal accepts no more records, or `None` if it accepts them.
    closed: Option<String>,
}

/// The remainder of an interrupted write, which was moved out of the journal when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The offset in the journal file at which the remainder began.
    pub offset: u64,
    /// The length of the remainder in bytes.
    pub length: u64,
    /// The path of the file to which the remainder was moved.
    pub kept_in: PathBuf,
}

impl<S: Storage> Journal<S> {
    /// Opens the journal file at a path, or creates it, and calls `visit` with each record. Returns
    /// the journal, and the remainder of an interrupted write if there was one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be used. Its records are then unchanged.
    pub fn open(
        storage: S,
        path: &Path,
        visit: &mut dyn FnMut(Record<'_>) -> Result<(), Unreadable>,
    ) -> Result<(Self, Option<Torn>), OpenError> {
        let failed = |cause| OpenError::Io { path: path.to_owned(), cause };
        let path = &storage.resolve(path).map_err(failed)?;
        let file = locked(&storage, path)?;
        remove_leftovers(&storage, path);
        if file.length().map_err(failed)? == 0 {
            let draft = Draft::create(&storage, path).map_err(failed)?;
            let list = draft.put(&storage, path).map_err(failed)?;
            storage.sync_directory(path).map_err(failed)?;
            return Ok((Self::new(storage, path, list), None));
        }
        let (number, mark) = scan::header(&file).map_err(failed)?.current(path)?;
        let mut checked = |record: Record<'_>| {
            let Record { offset, kind, sequence, .. } = record;
            visit(record).map_err(|unreadable| match unreadable {
                Unreadable::Kind => OpenError::Newer { path: path.clone(), offset, kind },
                Unreadable::Body => {
                    OpenError::damaged(path, offset, sequence, "its content cannot be decoded")
                }
            })
        };
        let end = scan::records(&file, number, mark, &mut checked).map_err(failed)??;
        let torn = match end.rest {
            Rest::Nothing => None,
            Rest::Torn => Some(set_aside(&storage, path, &file, end.offset).map_err(failed)?),
            Rest::Damaged(fault) => {
                return Err(OpenError::damaged(path, end.offset, end.sequence.next(), fault));
            }
        };
        // An earlier process may have ended before it synced its records, or because the medium
        // failed.
        if end.durable < end.sequence {
            write_again(&file, mark.length..end.offset).map_err(failed)?;
        }
        // A remainder may have been cut off at this start or at an interrupted one. Without this
        // sync, its sectors could reappear between later records after a loss of power.
        file.sync().map_err(failed)?;
        storage.sync_directory(path).map_err(failed)?;
        let tip = Tip { length: end.offset, sequence: end.sequence, chain: end.chain };
        let mut list =
            List { file, number, tip, durable: end.sequence, marked: mark.durable, marks: 0 };
        if end.durable < end.sequence {
            // If it cannot be written, the next sync writes it.
            let _ = list.mark(Mark { durable: tip.sequence, length: tip.length });
        }
        Ok((Self::new(storage, path, list), torn))
    }

    fn new(storage: S, path: &Path, list: List<S::File>) -> Self {
        Self { storage, path: path.to_owned(), list, replaced: 0, closed: None }
    }

    /// Appends a record. The record survives the end of the process immediately, and a loss of
    /// power after the next sync.
    ///
    /// # Errors
    ///
    /// Returns an error if the record could not be written. The file then does not contain the
    /// record.
    pub fn append(&mut self, kind: Kind, body: &[u8]) -> Result<Sequence, AppendError> {
        self.check_open()?;
        let mut bytes = Vec::new();
        let List { file, number, tip, durable, .. } = &mut self.list;
        let next = tip.append(*number, *durable, kind, body, &mut bytes)?;
        if let Err(cause) = write_full(file, tip.length, &bytes) {
            // A partial record would look like damage if another record followed it.
            if let Err(error) = file.set_length(tip.length) {
                self.close(format!("a record that was written in part cannot be removed: {error}"));
            }
            return Err(self.io(cause));
        }
        *tip = next;
        Ok(next.sequence)
    }

    /// Returns whether the list of records is worth replacing, because its file is more than four
    /// times as long as after the last replacement. A file of up to 16 MiB is never worth
    /// replacing.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.list.tip.length > SMALL.max(4 * self.replaced)
    }

    /// Replaces all records of the journal by those that `write` appends. If this fails, the old
    /// records remain. The new records are synced when this returns. If syncing the directory
    /// fails, the new file may not survive a loss of power, so the journal accepts no more records.
    ///
    /// # Errors
    ///
    /// Returns an error if the records were not replaced.
    pub fn replace(
        &mut self,
        write: impl FnOnce(
            &mut dyn FnMut(Kind, &[u8]) -> Result<(), AppendError>,
        ) -> Result<(), AppendError>,
    ) -> Result<(), AppendError> {
        self.check_open()?;
        // After a failure, the next attempt waits until the list has grown further.
        self.replaced = self.list.tip.length;
        let mut draft = Draft::create(&self.storage, &self.path).map_err(|cause| self.io(cause))?;
        if let Err(error) = draft.fill(&self.path, write) {
            draft.discard(&self.storage);
            return Err(error);
        }
        self.list = draft.put(&self.storage, &self.path).map_err(|cause| self.io(cause))?;
        self.replaced = self.list.tip.length;
        // The rename has taken effect. Only a loss of power could restore the old list.
        if let Err(error) = self.storage.sync_directory(&self.path) {
            self.close(format!("the directory cannot be synced: {error}"));
        }
        Ok(())
    }

    /// Prepares a sync of the appended records to the storage medium. Returns `None` if all records
    /// are synced, or if the journal accepts no more records. To sync, call [`SyncJob::run`]
    /// without holding a lock, and then [`Journal::end_sync`].
    ///
    /// # Errors
    ///
    /// Returns an error if the file handle cannot be duplicated.
    pub fn begin_sync(&self) -> io::Result<Option<SyncJob<S::File>>> {
        let List { file, number, tip, marked, .. } = &self.list;
        if tip.sequence == *marked || self.closed.is_some() {
            return Ok(None);
        }
        let mark = Mark { durable: tip.sequence, length: tip.length };
        Ok(Some(SyncJob { file: file.handle()?, number: *number, mark }))
    }

    /// Records the outcome of a sync. After a success, a mark in the file states which records were
    /// synced: without it, a damaged record that was synced could be mistaken for an interrupted
    /// write. If only the mark cannot be written, the next sync tries again. If the medium failed,
    /// it is unknown which records are on it, so the journal accepts no more records.
    ///
    /// # Errors
    ///
    /// Returns an error if the sync failed, or if its mark could not be written.
    pub fn end_sync(
        &mut self,
        job: &SyncJob<S::File>,
        outcome: io::Result<()>,
    ) -> Result<(), AppendError> {
        if let Err(cause) = outcome {
            self.close(format!("the medium failed: {cause}"));
            return Err(self.io(cause));
        }
        // A list that has replaced this one in the meantime was synced as a whole.
        if job.number == self.list.number && job.mark.durable > self.list.marked {
            self.list.durable = self.list.durable.max(job.mark.durable);
            self.list.mark(job.mark).map_err(|cause| self.io(cause))?;
        }
        Ok(())
    }

    /// Waits until all appended records are on the storage medium.
    ///
    /// # Errors
    ///
    /// Returns an error if the sync fails, as [`Journal::end_sync`] describes.
    pub fn sync(&mut self) -> Result<(), AppendError> {
        self.check_open()?;
        let Some(job) = self.begin_sync().map_err(|cause| self.io(cause))? else { return Ok(()) };
        let outcome = job.run();
        self.end_sync(&job, outcome)
    }

    /// Returns the sequence number of the last record that the file marks as synced.
    #[must_use]
    pub fn marked(&self) -> Sequence {
        self.list.marked
    }

    /// Returns the sequence number of the last record in the journal.
    #[must_use]
    pub fn last(&self) -> Sequence {
        self.list.tip.sequence
    }

    /// Returns the path of the journal file, with all links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check_open(&self) -> Result<(), AppendError> {
        match &self.closed {
            None => Ok(()),
            Some(reason) => {
                Err(AppendError::Closed { path: self.path.clone(), reason: reason.clone() })
            }
        }
    }

    fn close(&mut self, reason: String) {
        self.closed.get_or_insert(reason);
    }

    fn io(&self, cause: io::Error) -> AppendError {
        AppendError::Io { path: self.path.clone(), cause }
    }
}

/// A prepared sync of a journal's records, which can run without the journal.
#[derive(Debug)]
pub struct SyncJob<F> {
    file: F,
    number: Number,
    mark: Mark,
}

impl<F: StoredFile> SyncJob<F> {
    /// Waits until the records are on the storage medium.
    ///
    /// # Errors
    ///
    /// Returns the error of the system if the sync fails.
    pub fn run(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Returns the sequence number of the last record that is on the storage medium after this
    /// sync.
    #[must_use]
    pub fn reaches(&self) -> Sequence {
        self.mark.durable
    }
}
