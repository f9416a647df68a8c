//! A journal that is open.

use crate::error::{AppendError, OpenError, Unreadable};
use crate::files::{Draft, locked, remove_leftovers, set_aside};
use crate::format::{Kind, Mark, Number, Sequence};
use crate::list::{List, Tip};
use crate::scan::{self, Record, Rest};
use crate::storage::{Storage, StoredFile, write_full};
use std::io;
use std::path::{Path, PathBuf};

/// The length in bytes below which a list is not worth replacing.
const SMALL: u64 = 16 << 20;

/// A journal that is open, and locked against other owners.
#[derive(Debug)]
pub struct Journal<S: Storage> {
    storage: S,
    path: PathBuf,
    list: List<S::File>,
    /// The length of the file when it was made or replaced last.
    replaced: u64,
    /// Why nothing may be appended any more.
    closed: Option<String>,
}

/// The tail of a write that was interrupted, cut off when the journal was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Its offset in the file.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The file that it was moved to.
    pub kept_in: PathBuf,
}

impl<S: Storage> Journal<S> {
    /// Opens the file, or creates it, and calls `visit` with each record. Returns the journal and
    /// what was cut off its end.
    ///
    /// # Errors
    ///
    /// If the file is not to be used. It is then as it was.
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
                    OpenError::damaged(path, offset, sequence, "its content does not decode")
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
        let tip = Tip { length: end.offset, sequence: end.sequence, chain: end.chain };
        let list = List { file, number, tip, durable: end.durable, marks: 0 };
        Ok((Self::new(storage, path, list), torn))
    }

    fn new(storage: S, path: &Path, list: List<S::File>) -> Self {
        Self { storage, path: path.to_owned(), list, replaced: 0, closed: None }
    }

    /// Appends a record. It survives the end of the process from now on, and a loss of power after
    /// the next sync.
    ///
    /// # Errors
    ///
    /// If it is not in the file.
    pub fn append(&mut self, kind: Kind, body: &[u8]) -> Result<Sequence, AppendError> {
        self.check_open()?;
        let mut bytes = Vec::new();
        let List { file, number, tip, durable, .. } = &mut self.list;
        let next = tip.append(*number, *durable, kind, body, &mut bytes)?;
        if let Err(cause) = write_full(file, tip.length, &bytes) {
            // A part of a record would look like damage once another one follows it.
            if let Err(error) = file.set_length(tip.length) {
                self.close(format!("a record that was written in part cannot be removed: {error}"));
            }
            return Err(self.io(cause));
        }
        *tip = next;
        Ok(next.sequence)
    }

    /// Whether the list has become much longer than it was when it was replaced last.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.list.tip.length > SMALL.max(4 * self.replaced)
    }

    /// Replaces the whole list by the records that `write` appends, or leaves it as it is. The new
    /// list is on the medium when this returns. If only the name of the file may not be, the journal
    /// takes no more records.
    ///
    /// # Errors
    ///
    /// If the old list is in place still.
    pub fn replace(
        &mut self,
        write: impl FnOnce(
            &mut dyn FnMut(Kind, &[u8]) -> Result<(), AppendError>,
        ) -> Result<(), AppendError>,
    ) -> Result<(), AppendError> {
        self.check_open()?;
        // A failure is not repeated until the list has grown as much again.
        self.replaced = self.list.tip.length;
        let mut draft = Draft::create(&self.storage, &self.path).map_err(|cause| self.io(cause))?;
        if let Err(error) = draft.fill(&self.path, write) {
            draft.discard(&self.storage);
            return Err(error);
        }
        self.list = draft.put(&self.storage, &self.path).map_err(|cause| self.io(cause))?;
        self.replaced = self.list.tip.length;
        // The new list has its name already; only a loss of power could bring the old one back.
        if let Err(error) = self.storage.sync_directory(&self.path) {
            self.close(format!("the directory cannot be synced: {error}"));
        }
        Ok(())
    }

    /// Begins to bring what was appended to the medium; `None` if everything is there. To wait for
    /// the medium, call [`SyncJob::run`], with no lock held, and then [`Journal::end_sync`].
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn begin_sync(&self) -> io::Result<Option<SyncJob<S::File>>> {
        let List { file, number, tip, durable, .. } = &self.list;
        if tip.sequence == *durable || self.closed.is_some() {
            return Ok(None);
        }
        let mark = Mark { durable: tip.sequence, length: tip.length };
        Ok(Some(SyncJob { file: file.handle()?, number: *number, mark }))
    }

    /// Records the outcome of a sync. After a failure the content of the medium is unknown, so the
    /// journal takes no more records.
    ///
    /// # Errors
    ///
    /// If the sync failed.
    pub fn end_sync(
        &mut self,
        job: &SyncJob<S::File>,
        outcome: io::Result<()>,
    ) -> Result<(), AppendError> {
        if let Err(cause) = outcome {
            self.close(format!("the medium failed: {cause}"));
            return Err(self.io(cause));
        }
        // What was replaced meanwhile was synced as a whole.
        if job.number == self.list.number && job.mark.durable > self.list.durable {
            self.list.durable = job.mark.durable;
            // It only makes damage easier to tell; records carry the same number.
            let _ = self.list.write_mark(job.mark);
        }
        Ok(())
    }

    /// Waits until everything that was appended is on the medium.
    ///
    /// # Errors
    ///
    /// If the medium fails. The journal takes no more records then.
    pub fn sync(&mut self) -> Result<(), AppendError> {
        self.check_open()?;
        let Some(job) = self.begin_sync().map_err(|cause| self.io(cause))? else { return Ok(()) };
        let outcome = job.run();
        self.end_sync(&job, outcome)
    }

    /// Returns the last record that is known to be on the medium.
    #[must_use]
    pub fn durable(&self) -> Sequence {
        self.list.durable
    }

    /// Returns the last record.
    #[must_use]
    pub fn last(&self) -> Sequence {
        self.list.tip.sequence
    }

    /// Returns the file's path, with all links resolved.
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

/// A sync that was begun.
#[derive(Debug)]
pub struct SyncJob<F> {
    file: F,
    number: Number,
    mark: Mark,
}

impl<F: StoredFile> SyncJob<F> {
    /// Waits for the medium.
    ///
    /// # Errors
    ///
    /// If it fails.
    pub fn run(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Returns the last record that is on the medium when this has run.
    #[must_use]
    pub fn reaches(&self) -> Sequence {
        self.mark.durable
    }
}
