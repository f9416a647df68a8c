//! What controllers wrote, in a file, so that it is there again after a restart.
//!
//! The file is a list of records in the order in which they took effect: pipelines, and what was
//! accepted of each Write. A record is appended before its controller has its answer, by one
//! system call, with its length and a checksum in front. So whenever the process ends, also by
//! `kill -9`, all that was answered is there, and a batch is there whole or not at all: a record
//! that was cut off does not pass its checksum and is dropped. (A machine that loses power may lose
//! the last seconds.) From time to time the list is replaced by a shorter one that says the same.
//!
//! Kept are entries, default entries, members, groups, multicast groups, clone sessions, value
//! sets, and how meters and digests are configured; not what packets left behind: counters,
//! registers, entries that packets added.

use p4runtime::proto::v1::{
    Entity, SetForwardingPipelineConfigRequest, Update, WriteRequest, entity::Entity as Kind,
};
use prost::Message;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"planimeter switch state 1\n";
/// Kind, length and checksum.
const HEADER: usize = 9;
/// No request is larger; a length beyond is damage.
const LONGEST: u32 = 256 << 20;
/// A file below this is not worth replacing.
const SMALL: u64 = 16 << 20;
/// Updates of one record of a shorter list.
const CHUNK: usize = 1_000;

/// Something that took effect.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Record {
    Pipeline(Box<SetForwardingPipelineConfigRequest>),
    Write(WriteRequest),
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// It is something else.
    #[error("{} is not what a switch keeps its state in; give --state a file of its own", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another process has it.
    #[error("{} is in use by another switch", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
}

/// The file, at its end.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
    /// How long it was when it was replaced last.
    replaced: u64,
}

impl Journal {
    /// Opens the file, or makes it, and calls `visit` with each record. Returns as well whether
    /// something at its end was cut off, and is gone now.
    pub(crate) fn open(
        path: &Path,
        visit: &mut dyn FnMut(Record),
    ) -> Result<(Self, bool), JournalError> {
        let failed = |cause| JournalError::Io { path: path.to_owned(), cause };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(failed)?;
        lock(&file).map_err(|()| JournalError::InUse { path: path.to_owned() })?;
        let whole = file.metadata().map_err(failed)?.len();
        if whole == 0 {
            file.write_all(MAGIC).map_err(failed)?;
        }
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut reader = BufReader::new(&file);
        let mut magic = [0; MAGIC.len()];
        if reader.read_exact(&mut magic).is_err() || magic != *MAGIC {
            return Err(JournalError::Foreign { path: path.to_owned() });
        }
        let mut length = MAGIC.len() as u64;
        while let Some((record, bytes)) = read_record(&mut reader).map_err(failed)? {
            visit(record);
            length += bytes;
        }
        drop(reader);
        file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length))).map_err(failed)?;
        let journal = Self { path: path.to_owned(), file, length, replaced: 0 };
        Ok((journal, length < whole))
    }

    pub(crate) fn append(&mut self, record: &Record) -> io::Result<()> {
        let bytes = encoded(record);
        let outcome = self.file.write_all(&bytes);
        match outcome {
            Ok(()) => self.length += bytes.len() as u64,
            // A part of a record would hide all that come after it.
            Err(_) => {
                self.file.set_len(self.length)?;
                self.file.seek(SeekFrom::Start(self.length))?;
            }
        }
        outcome
    }

    /// Whether the list has become much longer than it was.
    pub(crate) fn is_long(&self) -> bool {
        self.length > SMALL.max(4 * self.replaced)
    }

    /// Puts another list into the place of this one, all at once, or leaves it as it is. `write` hands
    /// its records on.
    pub(crate) fn replace(
        &mut self,
        write: impl FnOnce(&mut dyn FnMut(&Record)) -> io::Result<()>,
    ) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&beside)?;
        lock(&file).map_err(|()| io::Error::other("another switch replaces it"))?;
        let mut writer = BufWriter::new(file);
        let mut outcome = writer.write_all(MAGIC);
        write(&mut |record| {
            if outcome.is_ok() {
                outcome = writer.write_all(&encoded(record));
            }
        })?;
        outcome?;
        let mut file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_data()?;
        std::fs::rename(&beside, &self.path)?;
        self.length = file.stream_position()?;
        self.replaced = self.length;
        self.file = file;
        Ok(())
    }
}

/// Gathers updates of one device into records.
pub(crate) struct Chunks<'a> {
    device: u64,
    updates: Vec<Update>,
    hand_on: &'a mut dyn FnMut(&Record),
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(device: u64, hand_on: &'a mut dyn FnMut(&Record)) -> Self {
        Self { device, updates: Vec::new(), hand_on }
    }

    pub(crate) fn push(&mut self, update: Update) {
        self.updates.extend(kept(update));
        if self.updates.len() >= CHUNK {
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        if !self.updates.is_empty() {
            (self.hand_on)(&write_record(self.device, std::mem::take(&mut self.updates)));
        }
    }
}

/// What was accepted of a Write.
pub(crate) fn write_record(device_id: u64, updates: Vec<Update>) -> Record {
    Record::Write(WriteRequest { device_id, updates, ..Default::default() })
}

/// The part of an update that is kept, if any.
pub(crate) fn kept(mut update: Update) -> Option<Update> {
    match &mut update.entity {
        Some(Entity { entity: Some(Kind::TableEntry(entry)) }) => {
            entry.counter_data = None;
            entry.meter_counter_data = None;
            entry.time_since_last_hit = None;
        }
        Some(Entity {
            entity:
                Some(Kind::CounterEntry(_) | Kind::DirectCounterEntry(_) | Kind::RegisterEntry(_)),
        }) => return None,
        _ => {}
    }
    Some(update)
}

fn lock(file: &File) -> Result<(), ()> {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|_| ())
}

fn encoded(record: &Record) -> Vec<u8> {
    let (kind, body) = match record {
        Record::Pipeline(request) => (1, request.encode_to_vec()),
        Record::Write(request) => (2, request.encode_to_vec()),
    };
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.push(kind);
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&checksum(kind, &body).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

/// The next record and its length; `None` at the end, or where the rest is not whole.
fn read_record(reader: &mut impl Read) -> io::Result<Option<(Record, u64)>> {
    let mut header = [0; HEADER];
    if !filled(reader, &mut header)? {
        return Ok(None);
    }
    let [kind, a, b, c, d, rest @ ..] = header;
    let (length, expected) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes(rest));
    if length > LONGEST {
        return Ok(None);
    }
    // Not made before it is read: the length may be damage.
    let mut body = Vec::new();
    reader.by_ref().take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() != length as usize || checksum(kind, &body) != expected {
        return Ok(None);
    }
    let record = match kind {
        1 => {
            let request = SetForwardingPipelineConfigRequest::decode(body.as_slice());
            request.map(|request| Record::Pipeline(Box::new(request)))
        }
        2 => WriteRequest::decode(body.as_slice()).map(Record::Write),
        _ => return Ok(None),
    };
    Ok(record.ok().map(|record| (record, HEADER as u64 + u64::from(length))))
}

fn filled(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn checksum(kind: u8, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(body);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64) -> Record {
        let updates = (0..number % 5).map(|_| Update { r#type: 1, entity: None }).collect();
        write_record(number, updates)
    }

    fn read(path: &Path) -> (Vec<Record>, bool) {
        let mut records = Vec::new();
        let opened = Journal::open(path, &mut |record| records.push(record));
        let (_, was_cut) = opened.expect("it is ours");
        (records, was_cut)
    }

    fn written(path: &Path, numbers: std::ops::Range<u64>) -> Vec<Record> {
        let mut journal = Journal::open(path, &mut |_| ()).expect("it is ours").0;
        let records: Vec<_> = numbers.map(record).collect();
        records.iter().for_each(|record| journal.append(record).expect("there is room"));
        records
    }

    #[test]
    fn what_was_appended_is_read_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state");
        let mut all = written(&path, 0..7);
        all.extend(written(&path, 7..9));
        assert_eq!(read(&path), (all, false));
    }

    /// Wherever a process ended while it wrote: all that was whole is there, and later records too.
    #[test]
    fn a_record_that_was_cut_off_is_dropped() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state");
        let all = written(&path, 1..4);
        let whole = std::fs::read(&path).expect("it is there");
        let last = encoded(&record(3)).len();
        for missing in 1..=last {
            std::fs::write(&path, &whole[..whole.len() - missing]).expect("it is written");
            assert_eq!(read(&path), (all[..2].to_vec(), missing < last), "{missing} bytes");
            let later = written(&path, 9..10);
            assert_eq!(read(&path), ([&all[..2], &later].concat(), false), "{missing} bytes");
        }
    }

    #[test]
    fn a_damaged_record_ends_the_list() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state");
        let all = written(&path, 1..4);
        let mut bytes = std::fs::read(&path).expect("it is there");
        *bytes.last_mut().expect("it is not empty") ^= 1;
        std::fs::write(&path, bytes).expect("it is written");
        assert_eq!(read(&path), (all[..2].to_vec(), true));
    }

    #[test]
    fn another_list_takes_its_place() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state");
        written(&path, 0..5);
        let mut journal = Journal::open(&path, &mut |_| ()).expect("it is ours").0;
        let replaced = journal.replace(|hand_on| {
            hand_on(&record(40));
            Ok(())
        });
        replaced.expect("there is room");
        let failed = journal.replace(|_| Err(io::Error::other("nothing to say")));
        failed.expect_err("what was there stays");
        journal.append(&record(41)).expect("there is room");
        drop(journal);
        assert_eq!(read(&path), (vec![record(40), record(41)], false));
    }

    #[test]
    fn files_of_others_and_files_in_use_are_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state");
        let _held = Journal::open(&path, &mut |_| ()).expect("it is new");
        let refused = Journal::open(&path, &mut |_| ()).expect_err("it is in use");
        assert!(matches!(refused, JournalError::InUse { .. }), "{refused}");
        let other = directory.path().join("other");
        std::fs::write(&other, "something that is no state of a switch").expect("it is written");
        let refused = Journal::open(&other, &mut |_| ()).expect_err("it is no journal");
        assert!(matches!(refused, JournalError::Foreign { .. }), "{refused}");
    }
}
