//! The list of records in an open file, and the position of its end.

use crate::error::AppendError;
use crate::format::{Chain, HEADER, Head, Kind, LONGEST, Mark, Number, Sequence, mark_at};
use crate::storage::{StoredFile, write_full};
use std::io;

/// The list of records in an open file, with the position of its end.
#[derive(Debug)]
pub(crate) struct List<F> {
    pub(crate) file: F,
    pub(crate) number: Number,
    pub(crate) tip: Tip,
    /// The sequence number of the last record that is known to be on the storage medium. The heads
    /// of later records repeat it.
    pub(crate) durable: Sequence,
    /// The sequence number of the last record that a mark in the header names as synced.
    pub(crate) marked: Sequence,
    /// The number of marks that were written to the header since the file was opened or created.
    pub(crate) marks: u64,
}

impl<F: StoredFile> List<F> {
    /// Writes a mark, which states which record was synced last, into the header. Marks are written
    /// alternately at two offsets.
    pub(crate) fn mark(&mut self, mark: Mark) -> io::Result<()> {
        let (place, bytes) = mark_at(self.number, self.marks, mark);
        write_full(&self.file, place, &bytes)?;
        self.marks += 1;
        self.marked = mark.durable;
        Ok(())
    }
}

/// The end of a list, at which the next record is appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tip {
    /// The length of the file in bytes.
    pub(crate) length: u64,
    /// The sequence number of the last record, or 0 if there is none.
    pub(crate) sequence: Sequence,
    pub(crate) chain: Chain,
}

impl Tip {
    /// The end of an empty list.
    pub(crate) const START: Self =
        Self { length: HEADER, sequence: Sequence(0), chain: Chain::START };

    /// Encodes the next record into `bytes`, and returns the new end of the list.
    pub(crate) fn append(
        self,
        number: Number,
        durable: Sequence,
        kind: Kind,
        body: &[u8],
        bytes: &mut Vec<u8>,
    ) -> Result<Self, AppendError> {
        if body.len() > LONGEST as usize {
            return Err(AppendError::TooLong { length: body.len(), longest: LONGEST });
        }
        let sequence = self.sequence.next();
        let head = Head::of(number, self.chain, kind, sequence, durable, body);
        let before = bytes.len();
        bytes.extend(head.encode(number));
        bytes.extend_from_slice(body);
        let length = self.length + (bytes.len() - before) as u64;
        Ok(Self { length, sequence, chain: head.chain })
    }
}
