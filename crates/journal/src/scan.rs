//! Reads the records of a file in order, and distinguishes an interrupted write from damage.

use crate::format::{Chain, HEAD, HEADER, Head, Header, Kind, LONGEST, Mark, Number, Sequence};
use crate::storage::{StoredFile, read_full};
use std::io;

/// The number of bytes that a storage medium writes atomically. After a loss of power, a record may
/// consist of zeros from a multiple of this number on.
const SECTOR: u64 = 512;
/// The number of bytes that are read in one operation.
const PORTION: usize = 1 << 20;

/// A record of a journal, as it is passed to the owner.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The offset of the record's head in the file.
    pub offset: u64,
    /// The kind of the record.
    pub kind: Kind,
    /// The sequence number of the record.
    pub sequence: Sequence,
    /// The body of the record.
    pub body: &'a [u8],
}

/// The end of the intact records in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The offset after the last intact record.
    pub(crate) offset: u64,
    /// The sequence number of the last intact record.
    pub(crate) sequence: Sequence,
    pub(crate) chain: Chain,
    /// The sequence number of the last record that is known to have been synced.
    pub(crate) durable: Sequence,
    /// The content of the file after the intact records.
    pub(crate) rest: Rest,
}

/// The content of a file after its intact records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    Nothing,
    /// A partial record whose writing was interrupted.
    Torn,
    /// Damage: bytes that no journal wrote, or a list that lacks synced records. The text describes
    /// the damage.
    Damaged(&'static str),
}

/// Reads and decodes the header of a journal file.
pub(crate) fn header(file: &impl StoredFile) -> io::Result<Header> {
    let mut bytes = vec![0; HEADER as usize];
    let length = read_full(file, 0, &mut bytes)?;
    bytes.truncate(length);
    Ok(crate::format::read_header(&bytes))
}

/// Calls `visit` with each record of a file, until a record is not intact or `visit` fails.
pub(crate) fn records<E>(
    file: &impl StoredFile,
    number: Number,
    mark: Mark,
    visit: &mut dyn FnMut(Record<'_>) -> Result<(), E>,
) -> io::Result<Result<End, E>> {
    let mut reader = Portions::new(file)?;
    let mut end = End {
        offset: HEADER,
        sequence: Sequence(0),
        chain: Chain::START,
        durable: mark.durable,
        rest: Rest::Nothing,
    };
    loop {
        let sequence = end.sequence.next();
        let fault = match next(&mut reader, number, &end)? {
            Found::End if end.sequence < end.durable => "records that were there are missing",
            Found::End => return Ok(Ok(end)),
            Found::Record { head, body } => {
                let (offset, kind) = (end.offset, head.kind);
                if let Err(error) = visit(Record { offset, kind, sequence, body }) {
                    return Ok(Err(error));
                }
                end.offset += HEAD as u64 + u64::from(head.length);
                end.sequence = sequence;
                end.chain = head.chain;
                end.durable = end.durable.max(head.durable);
                continue;
            }
            Found::Cut { behind } => {
                if let Some(behind) = behind {
                    let later = durable_behind(&mut reader, number, behind, sequence.next())?;
                    end.durable = end.durable.max(later);
                }
                // A synced record was complete, so that an incomplete record was never synced.
                if sequence > end.durable {
                    end.rest = Rest::Torn;
                    return Ok(Ok(end));
                }
                "it is incomplete, although it was complete"
            }
            Found::Bad(fault) => fault,
        };
        end.rest = Rest::Damaged(fault);
        return Ok(Ok(end));
    }
}

/// The content of a file at the offset where the next record should be.
enum Found<'a> {
    End,
    Record {
        head: Head,
        body: &'a [u8],
    },
    /// A record that the end of the file truncates, or whose last bytes, from some sector boundary
    /// to the end of the record, are zero.
    Cut {
        /// The offset at which this record ends, or `None` if its head is damaged or the file ends
        /// before that offset. After a loss of power, later records may be intact although this one
        /// is not.
        behind: Option<u64>,
    },
    Bad(&'static str),
}

fn next<'a, F: StoredFile>(
    reader: &'a mut Portions<'_, F>,
    number: Number,
    end: &End,
) -> io::Result<Found<'a>> {
    let offset = end.offset;
    let left = reader.length.saturating_sub(offset);
    if left == 0 {
        return Ok(Found::End);
    }
    if left < HEAD as u64 {
        return Ok(Found::Cut { behind: None });
    }
    let bytes = reader.at(offset, HEAD)?;
    let Some(head) = Head::decode(number, bytes) else {
        let is_cut = is_zero_from_a_sector(offset, bytes) && reader.is_zero_from(offset)?;
        return Ok(if is_cut {
            Found::Cut { behind: None }
        } else {
            Found::Bad("its header has changed since it was written")
        });
    };
    if head.sequence != end.sequence.next() {
        return Ok(Found::Bad("another record stands in its place"));
    }
    if head.chained(number, end.chain) != head.chain {
        return Ok(Found::Bad("the records before it are not those that were written"));
    }
    if head.length > LONGEST {
        return Ok(Found::Bad("it is longer than a record can be"));
    }
    if left - (HEAD as u64) < u64::from(head.length) {
        return Ok(Found::Cut { behind: None });
    }
    let body = reader.at(offset + HEAD as u64, head.length as usize)?;
    if head.has(body) {
        return Ok(Found::Record { head, body });
    }
    if is_zero_from_a_sector(offset + HEAD as u64, body) {
        return Ok(Found::Cut { behind: Some(offset + HEAD as u64 + u64::from(head.length)) });
    }
    Ok(Found::Bad("its content has changed since it was written"))
}

/// Returns the largest sequence number that a record head at or after `offset` names as synced, or
/// 0 if there is no intact head. Each head names the last record that was synced when it was
/// written. Stops at the first head that is damaged or out of sequence. `sequence` is the sequence
/// number of the first head.
fn durable_behind(
    reader: &mut Portions<'_, impl StoredFile>,
    number: Number,
    mut offset: u64,
    mut sequence: Sequence,
) -> io::Result<Sequence> {
    let mut durable = Sequence(0);
    while reader.length.saturating_sub(offset) >= HEAD as u64 {
        let head = Head::decode(number, reader.at(offset, HEAD)?);
        let Some(head) = head.filter(|head| head.sequence == sequence) else { break };
        durable = durable.max(head.durable);
        offset += HEAD as u64 + u64::from(head.length);
        sequence = sequence.next();
    }
    Ok(durable)
}

/// Returns whether the bytes at a file offset are zero from some sector boundary to the end.
fn is_zero_from_a_sector(offset: u64, bytes: &[u8]) -> bool {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count() as u64;
    let end = offset + bytes.len() as u64;
    let first = (end - zeros).next_multiple_of(SECTOR);
    first < end
}

/// A buffered reader of a file.
struct Portions<'a, F> {
    file: &'a F,
    length: u64,
    /// The offset in the file at which the buffer's content begins.
    start: u64,
    buffer: Vec<u8>,
}

impl<'a, F: StoredFile> Portions<'a, F> {
    fn new(file: &'a F) -> io::Result<Self> {
        Ok(Self { file, length: file.length()?, start: 0, buffer: Vec::new() })
    }

    /// Returns `length` bytes at `offset`. The caller must check that the file is long enough.
    fn at(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let holds = |portions: &Self| {
            let skipped = offset.checked_sub(portions.start)?;
            let end = skipped.checked_add(length as u64)?;
            (end <= portions.buffer.len() as u64).then_some(skipped as usize)
        };
        if holds(self).is_none() {
            // The allocation is limited by the length of the file, so that a wrong length in a
            // record cannot exhaust the memory.
            let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
            self.buffer.resize(length.max(PORTION).min(left), 0);
            let read = read_full(self.file, offset, &mut self.buffer)?;
            self.buffer.truncate(read);
            self.start = offset;
        }
        let skipped = holds(self).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.buffer.get(skipped..skipped + length).ok_or(io::ErrorKind::UnexpectedEof.into())
    }

    /// Returns whether the file is zero from the first sector boundary at or after `offset` to its
    /// end.
    fn is_zero_from(&mut self, offset: u64) -> io::Result<bool> {
        let mut place = offset.next_multiple_of(SECTOR).min(self.length);
        while place < self.length {
            let length = (self.length - place).min(PORTION as u64);
            if self.at(place, length as usize)?.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            place += length;
        }
        Ok(true)
    }
}
