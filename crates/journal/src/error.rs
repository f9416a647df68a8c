//! The reasons why a journal cannot be opened, or a record cannot be appended to it.

use crate::format::{Kind, Sequence};
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a file cannot be opened as a journal. The records in the file are unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be read or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The cause, as reported by the system.
        cause: io::Error,
    },
    /// The file is not a journal.
    #[error("{} is not the state file of a switch; name another file with --state", path.display())]
    Foreign {
        /// The path of the file.
        path: PathBuf,
    },
    /// Another process has locked the file.
    #[error("{} is in use by another switch", path.display())]
    InUse {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file has a format of an earlier version, which this version does not read.
    #[error(
        "{} was written by an earlier version of planimeter, in a format that this version does not read; name \
         another file with --state",
        path.display()
    )]
    Older {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file was written by a later version, and contains a record of a kind that this version
    /// does not know.
    #[error(
        "{} was written by a later version of planimeter: the record at byte {offset} is of kind {}, which this \
         version does not know; use the later version, or name another file with --state",
        path.display(), kind.0
    )]
    Newer {
        /// The path of the file.
        path: PathBuf,
        /// The offset in the file of the unknown record, in bytes.
        offset: u64,
        /// The unknown kind of the record.
        kind: Kind,
    },
    /// The file has a format that only a later version reads.
    #[error(
        "{} was written by a later version of planimeter, in a format that this version does not read; use the later \
         version, or name another file with --state",
        path.display()
    )]
    NewerForm {
        /// The path of the file.
        path: PathBuf,
    },
    /// A record of the file was changed after it was written, or is missing.
    #[error(
        "{} is damaged at byte {offset}, in record {}: {fault}; nothing was changed. --state-repair OTHER copies the \
         intact records to the file OTHER and lists the lost ones",
        path.display(), sequence.0
    )]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The offset in the file at which the record should be, in bytes.
        offset: u64,
        /// The sequence number that the record should have.
        sequence: Sequence,
        /// A description of the difference from an intact record.
        fault: &'static str,
    },
}

impl OpenError {
    pub(crate) fn damaged(
        path: &Path,
        offset: u64,
        sequence: Sequence,
        fault: &'static str,
    ) -> Self {
        Self::Damaged { path: path.to_owned(), offset, sequence, fault }
    }
}

/// The reason why a record could not be appended to a journal, its list of records could not be
/// replaced, or the journal could not be synced. The list of records is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// A system call failed.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The cause, as reported by the system.
        cause: io::Error,
    },
    /// The body of the record exceeds the largest size.
    #[error("a record of {length} bytes is longer than {longest}")]
    TooLong {
        /// The length of the record's body in bytes.
        length: usize,
        /// The largest possible length of a body in bytes.
        longest: u32,
    },
    /// The journal accepts no more records, because the state of its file is unknown since an
    /// earlier failure.
    #[error("{} accepts no more records since {reason}; start the switch again", path.display())]
    Closed {
        /// The path of the file.
        path: PathBuf,
        /// A description of the earlier failure.
        reason: String,
    },
    /// The owner of the journal failed to provide the records of a new list, for this reason.
    #[error("{0}")]
    Owner(String),
}

/// The reason why the owner of a journal cannot use a record, although the record is intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The owner does not know the kind of the record.
    Kind,
    /// The owner cannot decode the body of the record.
    Body,
}
