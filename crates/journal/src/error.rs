//! The reasons for which a journal cannot be opened or appended to.

use crate::format::{Kind, Sequence};
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a file cannot be used as a journal. The file is unchanged.
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
    /// The file has an older form that this version does not read.
    #[error(
        "{} was written by an earlier version of planimeter, in a format that this version does not read; name \
         another file with --state",
        path.display()
    )]
    Older {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file was written by a later version that uses further kinds of records.
    #[error(
        "{} was written by a later version of planimeter: the record at byte {offset} is of kind {}, which this \
         version does not know; use the later version, or name another file with --state",
        path.display(), kind.0
    )]
    Newer {
        /// The path of the file.
        path: PathBuf,
        /// The offset of the record in bytes.
        offset: u64,
        /// The kind of the record.
        kind: Kind,
    },
    /// The file has a newer form that only a later version reads.
    #[error(
        "{} was written by a later version of planimeter, in a format that this version does not read; use the later \
         version, or name another file with --state",
        path.display()
    )]
    NewerForm {
        /// The path of the file.
        path: PathBuf,
    },
    /// A part of the file differs from what was written.
    #[error(
        "{} is damaged at byte {offset}, in record {}: {fault}; nothing was changed. --state-repair OTHER copies the \
         intact records to the file OTHER and lists the lost ones",
        path.display(), sequence.0
    )]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The offset of the record in bytes.
        offset: u64,
        /// The number of the expected record.
        sequence: Sequence,
        /// The difference from an intact record.
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

/// The reason why a record could not be appended, or a list not replaced. The file is unchanged.
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
    /// The body exceeds the largest size of a record.
    #[error("a record of {length} bytes is longer than {longest}")]
    TooLong {
        /// The length of the body in bytes.
        length: usize,
        /// The longest body in bytes.
        longest: u32,
    },
    /// After an earlier failure, the state of the file is unknown.
    #[error("{} accepts no more records since {reason}; start the switch again", path.display())]
    Closed {
        /// The path of the file.
        path: PathBuf,
        /// The earlier failure.
        reason: String,
    },
    /// The owner failed to provide the records.
    #[error("{0}")]
    Owner(String),
}

/// The reason why an owner cannot use an intact record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The kind of the record is unknown.
    Kind,
    /// The body of the record cannot be decoded.
    Body,
}
