//! The files of a journal: the locked file, the temporary file that replaces it, and the file that
//! stores a torn tail.

use crate::error::{AppendError, OpenError};
use crate::format::{Kind, Mark, Number, Sequence, new_header};
use crate::journal::Torn;
use crate::list::{List, Tip};
use crate::storage::{Storage, StoredFile, read_full, write_full};
use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The number of attempts to lock a journal file. Several may be needed, because another process
/// may replace the file during an attempt.
const ATTEMPTS: usize = 16;
/// The number of bytes that are written or copied in one operation.
const PORTION: usize = 1 << 20;
/// The number of hexadecimal digits in the name of a temporary file.
const DIGITS: usize = 16;
const TEMPORARY: &str = ".tmp";

/// Opens and locks the file at a path.
pub(crate) fn locked<S: Storage>(storage: &S, path: &Path) -> Result<S::File, OpenError> {
    let failed = |cause| OpenError::Io { path: path.to_owned(), cause };
    for _ in 0..ATTEMPTS {
        let file = storage.open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(failed(error)),
        }
        // The previous owner may have replaced the file before it ended.
        match storage.identity(path) {
            Ok(identity) if identity == file.identity().map_err(failed)? => return Ok(file),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(OpenError::InUse { path: path.to_owned() })
}

/// Removes the temporary files that interrupted replacements left behind. The caller must hold the
/// journal's lock.
pub(crate) fn remove_leftovers<S: Storage>(storage: &S, path: &Path) {
    let prefix = temporary_prefix(path);
    let is_leftover = |found: &PathBuf| {
        let name = found.file_name().unwrap_or_default().to_string_lossy();
        let digits = name
            .strip_prefix(&*prefix.to_string_lossy())
            .and_then(|rest| rest.strip_suffix(TEMPORARY));
        digits.is_some_and(|digits| {
            digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        })
    };
    let found = storage.siblings(path).unwrap_or_default();
    for leftover in found.iter().filter(|found| is_leftover(found)) {
        // A leftover only occupies space, so a failure to remove it is ignored.
        let _ = storage.remove(leftover);
    }
}

/// Moves the content of a journal from `offset` on to another file next to the journal.
pub(crate) fn set_aside<S: Storage>(
    storage: &S,
    path: &Path,
    file: &S::File,
    offset: u64,
) -> io::Result<Torn> {
    let length = file.length()?.saturating_sub(offset);
    let (kept_in, copy) = create_torn(storage, path)?;
    let mut buffer = vec![0; PORTION.min(usize::try_from(length).unwrap_or(PORTION))];
    let mut copied = 0;
    while copied < length {
        let read = read_full(file, offset + copied, &mut buffer)?;
        if read == 0 {
            break;
        }
        write_full(&copy, copied, buffer.get(..read).unwrap_or_default())?;
        copied += read as u64;
    }
    copy.sync()?;
    storage.sync_directory(&kept_in)?;
    file.set_length(offset)?;
    Ok(Torn { offset, length, kept_in })
}

/// Writes the bytes of a range again, so that the next sync brings them to the storage medium. A
/// failed sync may have left the bytes in the kernel's cache as if they had been written. Later
/// syncs would then succeed without writing them.
pub(crate) fn write_again(file: &impl StoredFile, range: Range<u64>) -> io::Result<()> {
    let mut buffer = vec![0; PORTION];
    let mut offset = range.start;
    while offset < range.end {
        let length = usize::try_from(range.end - offset).unwrap_or(PORTION).min(PORTION);
        let portion = buffer.get_mut(..length).unwrap_or_default();
        let read = read_full(file, offset, portion)?;
        if read == 0 {
            break;
        }
        write_full(file, offset, portion.get(..read).unwrap_or_default())?;
        offset += read as u64;
    }
    Ok(())
}

fn create_torn<S: Storage>(storage: &S, path: &Path) -> io::Result<(PathBuf, S::File)> {
    let mut number = 1;
    loop {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".torn-{number}"));
        let kept_in = path.with_file_name(name);
        match storage.create_new(&kept_in) {
            Ok(file) => return Ok((kept_in, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// A new list of records in a temporary file, which will replace a journal's file.
#[derive(Debug)]
pub(crate) struct Draft<F> {
    path: PathBuf,
    list: List<F>,
}

impl<F: StoredFile> Draft<F> {
    /// Creates an empty temporary file next to the journal. It is locked before it can take the
    /// journal's path.
    pub(crate) fn create<S: Storage<File = F>>(storage: &S, beside: &Path) -> io::Result<Self> {
        let mut name = temporary_prefix(beside);
        name.push(format!("{:0DIGITS$x}{TEMPORARY}", storage.random()));
        let path = beside.with_file_name(name);
        let file = storage.create_new(&path)?;
        let number = Number(storage.random());
        let list = List {
            file,
            number,
            tip: Tip::START,
            durable: Sequence(0),
            marked: Sequence(0),
            marks: 0,
        };
        let draft = Self { path, list };
        let begun = draft.list.file.try_lock();
        match begun.and_then(|()| write_full(&draft.list.file, 0, &new_header(number))) {
            Ok(()) => Ok(draft),
            Err(error) => {
                draft.discard(storage);
                Err(error)
            }
        }
    }

    /// Appends the records that `write` provides to the temporary file. They are not synced yet.
    pub(crate) fn fill(
        &mut self,
        journal: &Path,
        write: impl FnOnce(
            &mut dyn FnMut(Kind, &[u8]) -> Result<(), AppendError>,
        ) -> Result<(), AppendError>,
    ) -> Result<(), AppendError> {
        let failed = |cause| AppendError::Io { path: journal.to_owned(), cause };
        let List { file, number, tip, .. } = &mut self.list;
        let mut written = tip.length;
        let mut bytes = Vec::new();
        write(&mut |kind, body| {
            *tip = tip.append(*number, Sequence(0), kind, body, &mut bytes)?;
            if bytes.len() >= PORTION {
                write_full(file, written, &bytes).map_err(failed)?;
                written += bytes.len() as u64;
                bytes.clear();
            }
            Ok(())
        })?;
        write_full(file, written, &bytes).map_err(failed)
    }

    /// Syncs the temporary file and renames it to the journal's path. If this fails, the journal's
    /// file remains in place.
    pub(crate) fn put<S: Storage<File = F>>(
        mut self,
        storage: &S,
        journal: &Path,
    ) -> io::Result<List<F>> {
        let mut put = || {
            let Tip { length, sequence, .. } = self.list.tip;
            self.list.file.sync()?;
            for _ in 0..2 {
                self.list.mark(Mark { durable: sequence, length })?;
            }
            self.list.file.sync()?;
            self.list.durable = sequence;
            storage.rename(&self.path, journal)
        };
        match put() {
            Ok(()) => Ok(self.list),
            Err(error) => {
                self.discard(storage);
                Err(error)
            }
        }
    }

    pub(crate) fn discard<S: Storage>(&self, storage: &S) {
        // If the file remains, it is removed when the journal is opened again.
        let _ = storage.remove(&self.path);
    }
}

/// Returns the prefix of the names of a journal's temporary files. Hexadecimal digits and a suffix
/// follow the prefix, so that the temporary files of `state` and `state.1` cannot be confused.
fn temporary_prefix(path: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    name
}
