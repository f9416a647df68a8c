//! The binary format of a journal.
//!
//! All numbers are little-endian. A file begins with a header of [`HEADER`] bytes:
//!
//! | bytes | content |
//! | --- | --- |
//! | 0..32 | [`MAGIC`], the version in it, filled up with zeros |
//! | 32..40 | the file's own number, drawn when it was made |
//! | 40..44 | checksum of the 40 bytes before |
//! | 64..84, 96..116 | two marks, written in turn: the last synced record, and the length then |
//!
//! Records follow, each a head of [`HEAD`] bytes and a body:
//!
//! | bytes | content |
//! | --- | --- |
//! | 0..4 | length of the body |
//! | 4..8 | kind |
//! | 8..16 | sequence number, from 1 |
//! | 16..24 | sequence number of the last record that was known to be synced by then |
//! | 24..28 | checksum of the body |
//! | 28..32 | chain: checksum of the file's number, the previous chain, and bytes 0..28 |
//! | 32..36 | checksum of the file's number and bytes 0..32 |

use crate::error::OpenError;
use std::path::Path;

/// The first bytes of a journal, in all versions.
pub(crate) const MAGIC: &[u8] = b"planimeter switch state ";
/// The current version of the format, which follows [`MAGIC`] in the header of a journal file.
const VERSION: &[u8] = b"2\n";
/// The length of the file header in bytes.
pub(crate) const HEADER: u64 = 128;
/// The length of a record head in bytes.
pub(crate) const HEAD: usize = 36;
/// The largest length of a record's body in bytes, which no request of a controller exceeds.
pub(crate) const LONGEST: u32 = 256 << 20;
/// The offsets of the two marks in the file's header. A mark states which record was synced last.
const MARKS: [usize; 2] = [64, 96];
/// The length of a mark in bytes.
const MARK: usize = 20;

/// The kind of a record, which states what its body contains. The code that uses a journal chooses
/// the numbers, and the journal does not interpret them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub u32);

/// The sequence number of a record in its journal file, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sequence(pub u64);

impl Sequence {
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The random number that a journal file receives when it is created. It distinguishes the file
/// from other journal files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u64);

/// A checksum over the heads of all records up to some record, which is stored in the head of that
/// record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain(u32);

impl Chain {
    /// The chain value before the first record.
    pub(crate) const START: Self = Self(0);
}

/// A mark in the file's header, which states what has been synced: the last synced record, and the
/// length of the file at that sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    pub(crate) durable: Sequence,
    pub(crate) length: u64,
}

/// The result of decoding a file's header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Header {
    Current {
        number: Number,
        mark: Mark,
    },
    Older,
    Newer,
    Foreign,
    /// The header is of the current version, but a checksum in it is wrong.
    Damaged,
}

impl Header {
    /// Returns the file number and the mark of a header of this version. `path` is the path of the
    /// file, for errors.
    ///
    /// # Errors
    /// Returns an error if the file is not a journal, has another version, or is damaged.
    pub(crate) fn current(self, path: &Path) -> Result<(Number, Mark), OpenError> {
        let path = path.to_owned();
        match self {
            Self::Current { number, mark } => Ok((number, mark)),
            Self::Foreign => Err(OpenError::Foreign { path }),
            Self::Older => Err(OpenError::Older { path }),
            Self::Newer => Err(OpenError::NewerForm { path }),
            Self::Damaged => {
                let fault = "the beginning of the file has changed since it was written";
                Err(OpenError::damaged(&path, 0, Sequence(0), fault))
            }
        }
    }
}

/// The head of a record, which precedes the record's body in the file. The head's own checksum is
/// not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) length: u32,
    pub(crate) kind: Kind,
    pub(crate) sequence: Sequence,
    pub(crate) durable: Sequence,
    pub(crate) body: u32,
    pub(crate) chain: Chain,
}

/// Returns the header of a new file.
pub(crate) fn new_header(number: Number) -> Vec<u8> {
    let mut bytes = [MAGIC, VERSION].concat();
    bytes.resize(32, 0);
    bytes.extend(number.0.to_le_bytes());
    let check = checksum(&[&bytes]);
    bytes.extend(check.to_le_bytes());
    bytes.resize(HEADER as usize, 0);
    for place in MARKS {
        let written = mark(number, Mark { durable: Sequence(0), length: HEADER });
        bytes.splice(place..place + MARK, written);
    }
    bytes
}

pub(crate) fn read_header(bytes: &[u8]) -> Header {
    let Some(rest) = bytes.strip_prefix(MAGIC) else { return Header::Foreign };
    if !rest.starts_with(VERSION) {
        let older = rest.first().is_some_and(|version| *version < VERSION[0]);
        return if older { Header::Older } else { Header::Newer };
    }
    let (Some(number), Some(check)) = (u64_at(bytes, 32), u32_at(bytes, 40)) else {
        return Header::Damaged;
    };
    let number = Number(number);
    if bytes.get(..40).is_none_or(|start| checksum(&[start]) != check) {
        return Header::Damaged;
    }
    let marks = MARKS.iter().filter_map(|place| read_mark(number, bytes.get(*place..)?));
    match marks.max() {
        Some(mark) => Header::Current { number, mark },
        None => Header::Damaged,
    }
}

/// Returns the offset and the encoded bytes of a mark. Marks are written in turn at two offsets, so
/// that one stays intact if writing the other fails.
pub(crate) fn mark_at(number: Number, turn: u64, mark_: Mark) -> (u64, Vec<u8>) {
    (MARKS[(turn % 2) as usize] as u64, mark(number, mark_))
}

fn mark(number: Number, Mark { durable, length }: Mark) -> Vec<u8> {
    let mut bytes = durable.0.to_le_bytes().to_vec();
    bytes.extend(length.to_le_bytes());
    let check = checksum(&[&number.0.to_le_bytes(), &bytes]);
    bytes.extend(check.to_le_bytes());
    bytes
}

fn read_mark(number: Number, bytes: &[u8]) -> Option<Mark> {
    let (durable, length) = (Sequence(u64_at(bytes, 0)?), u64_at(bytes, 8)?);
    let found = Mark { durable, length };
    (bytes.get(..MARK)? == mark(number, found)).then_some(found)
}

impl Head {
    /// Creates the head of a record, including the checksum over all heads up to this one.
    pub(crate) fn of(
        number: Number,
        after: Chain,
        kind: Kind,
        sequence: Sequence,
        durable: Sequence,
        body: &[u8],
    ) -> Self {
        let head = Self {
            length: body.len() as u32,
            kind,
            sequence,
            durable,
            body: checksum(&[body]),
            chain: after,
        };
        Self { chain: head.chained(number, after), ..head }
    }

    /// Returns the checksum over the heads of all records up to this one. `after` is the checksum
    /// up to the previous record.
    pub(crate) fn chained(&self, number: Number, after: Chain) -> Chain {
        let start = self.start();
        Chain(checksum(&[&number.0.to_le_bytes(), &after.0.to_le_bytes(), &start]))
    }

    pub(crate) fn encode(&self, number: Number) -> Vec<u8> {
        let mut bytes = self.start();
        bytes.extend(self.chain.0.to_le_bytes());
        let check = checksum(&[&number.0.to_le_bytes(), &bytes]);
        bytes.extend(check.to_le_bytes());
        bytes
    }

    /// Decodes the head of a record. Returns `None` if it is damaged, or belongs to another file.
    pub(crate) fn decode(number: Number, bytes: &[u8]) -> Option<Self> {
        let check = u32_at(bytes, 32)?;
        if checksum(&[&number.0.to_le_bytes(), bytes.get(..32)?]) != check {
            return None;
        }
        Some(Self {
            length: u32_at(bytes, 0)?,
            kind: Kind(u32_at(bytes, 4)?),
            sequence: Sequence(u64_at(bytes, 8)?),
            durable: Sequence(u64_at(bytes, 16)?),
            body: u32_at(bytes, 24)?,
            chain: Chain(u32_at(bytes, 28)?),
        })
    }

    pub(crate) fn has(&self, body: &[u8]) -> bool {
        body.len() == self.length as usize && checksum(&[body]) == self.body
    }

    fn start(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD);
        bytes.extend(self.length.to_le_bytes());
        bytes.extend(self.kind.0.to_le_bytes());
        bytes.extend(self.sequence.0.to_le_bytes());
        bytes.extend(self.durable.0.to_le_bytes());
        bytes.extend(self.body.to_le_bytes());
        bytes
    }
}

fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(place..place + 8)?.try_into().ok()?))
}

fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}
