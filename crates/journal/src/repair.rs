//! Copies the intact records of a damaged journal into another file.

use crate::error::{AppendError, OpenError};
use crate::files::{Draft, locked};
use crate::format::{HEAD, HEADER, Head, LONGEST, Number, Sequence};
use crate::scan;
use crate::storage::{Storage, StoredFile, read_full};
use std::io;
use std::path::Path;

/// The number of bytes that are searched for the head of a record in one operation.
const PORTION: usize = 1 << 20;

/// The outcome of repairing a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// The number of records that were copied.
    pub copied: u64,
    /// The records that are missing before and between the copied ones.
    pub missing: Vec<Gap>,
    /// The number of bytes of the damaged file that belong to no intact record.
    pub damaged_bytes: u64,
}

/// A range of missing records, given by the first and the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The sequence number of the first missing record.
    pub first: Sequence,
    /// The sequence number of the last missing record.
    pub last: Sequence,
}

/// The reason why a journal cannot be repaired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The damaged file cannot be read, or is not a journal of this version.
    #[error(transparent)]
    Read(#[from] OpenError),
    /// The copy cannot be written.
    #[error(transparent)]
    Write(#[from] AppendError),
    /// The file to which the records should be copied exists already.
    #[error("{} exists already; name a file that does not exist with --state-repair", path.display())]
    Exists {
        /// The path of the existing file.
        path: std::path::PathBuf,
    },
}

/// The position of an intact record in a damaged file.
#[derive(Clone, Copy)]
struct RecordPosition {
    offset: u64,
    head: Head,
}

/// Copies the intact records of the journal `from` into a new journal `to`, in the order of their
/// sequence numbers. In the new journal, they receive new sequence numbers, from 1. The journal
/// `from` is left unchanged.
///
/// # Errors
///
/// Returns an error if `from` is not a journal of this version, has a damaged header or is in use,
/// or if `to` exists or cannot be written.
pub fn repair<S: Storage>(
    storage: &S,
    from: &Path,
    to: &Path,
) -> Result<RepairReport, RepairError> {
    let unreadable = |cause| OpenError::Io { path: from.to_owned(), cause };
    let from = &storage.resolve(from).map_err(unreadable)?;
    storage.identity(from).map_err(unreadable)?;
    let file = locked(storage, from)?;
    // Heads can be recognised only with the file number from the header.
    let (number, _) = scan::header(&file).map_err(unreadable)?.current(from)?;
    let unwritable = |cause| AppendError::Io { path: to.to_owned(), cause };
    let to = &storage.resolve(to).map_err(unwritable)?;
    if storage.identity(to).is_ok() {
        return Err(RepairError::Exists { path: to.clone() });
    }
    let mut report = RepairReport::default();
    let mut places = intact(&file, number, &mut report).map_err(unreadable)?;
    places.sort_by_key(|place| place.head.sequence);
    places.dedup_by_key(|place| place.head.sequence);
    report.missing = gaps(&places);
    report.copied = places.len() as u64;

    let mut draft = Draft::create(storage, to).map_err(unwritable)?;
    let filled = draft.fill(to, |append| {
        let mut body = Vec::new();
        for RecordPosition { offset, head } in &places {
            body.resize(head.length as usize, 0);
            read_full(&file, offset + HEAD as u64, &mut body).map_err(unwritable)?;
            append(head.kind, &body)?;
        }
        Ok(())
    });
    if let Err(error) = filled {
        draft.discard(storage);
        return Err(error.into());
    }
    draft.put(storage, to).and_then(|_| storage.sync_directory(to)).map_err(unwritable)?;
    Ok(report)
}

/// Finds all intact records of a damaged file, at any offset.
fn intact(
    file: &impl StoredFile,
    number: Number,
    report: &mut RepairReport,
) -> io::Result<Vec<RecordPosition>> {
    let length = file.length()?;
    let mut places = Vec::new();
    let (mut offset, mut body) = (HEADER, Vec::new());
    while let Some(place) = next_head(file, number, offset, length)? {
        report.damaged_bytes += place.offset - offset;
        let left = length - place.offset - HEAD as u64;
        let size = u64::from(place.head.length);
        if place.head.length > LONGEST || size > left {
            report.damaged_bytes += HEAD as u64;
            offset = place.offset + HEAD as u64;
            continue;
        }
        body.resize(place.head.length as usize, 0);
        read_full(file, place.offset + HEAD as u64, &mut body)?;
        if place.head.has(&body) {
            places.push(place);
            offset = place.offset + HEAD as u64 + size;
        } else {
            // If bytes are missing, the next record may begin within the supposed body.
            report.damaged_bytes += HEAD as u64;
            offset = place.offset + HEAD as u64;
        }
    }
    report.damaged_bytes += length.saturating_sub(offset);
    Ok(places)
}

/// Returns the first intact head of a record at or after `offset`.
fn next_head(
    file: &impl StoredFile,
    number: Number,
    mut offset: u64,
    length: u64,
) -> io::Result<Option<RecordPosition>> {
    let mut buffer = vec![0; HEAD];
    while offset + HEAD as u64 <= length {
        let read = read_full(file, offset, &mut buffer)?;
        let windows = buffer.get(..read).unwrap_or_default().windows(HEAD);
        let found = windows.enumerate().find_map(|(skipped, bytes)| {
            Head::decode(number, bytes)
                .map(|head| RecordPosition { offset: offset + skipped as u64, head })
        });
        if found.is_some() || read < HEAD {
            return Ok(found);
        }
        offset += (read - HEAD + 1) as u64;
        // In an intact region, the first attempt succeeds. The buffer therefore grows only after a
        // failure.
        buffer.resize(PORTION, 0);
    }
    Ok(None)
}

fn gaps(places: &[RecordPosition]) -> Vec<Gap> {
    let mut expected = Sequence(1);
    let mut gaps = Vec::new();
    for RecordPosition { head, .. } in places {
        if head.sequence > expected {
            gaps.push(Gap { first: expected, last: Sequence(head.sequence.0 - 1) });
        }
        expected = head.sequence.next();
    }
    gaps
}
