//! The reasons for which a journal cannot be opened or appended to.

use crate::format::{Kind, Sequence};
use std::io;
use std::path::{Path, PathBuf};

/// Why a file cannot be used as a journal. The file is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It cannot be read or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause, from the system.
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
    /// It was written in a form that is no longer read.
    #[error(
        "{} was written by an earlier version of planimeter, in a form that this one does not \
         read; give --state another file",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
    },
    /// It was written by a version that knows more.
    #[error(
        "{} was written by a later version of planimeter: the record at byte {offset} is of kind \
         {}, which this version does not know; use the later version, or give --state another file",
        path.display(), kind.0
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The offset of the record in bytes.
        offset: u64,
        /// The kind of the record.
        kind: Kind,
    },
    /// It was written in a form that only a later version reads.
    #[error(
        "{} was written by a later version of planimeter, in a form that this one does not read; \
         use the later version, or give --state another file",
        path.display()
    )]
    NewerForm {
        /// The file.
        path: PathBuf,
    },
    /// A part of it is not what was written.
    #[error(
        "{} is damaged at byte {offset}, in record {}: {fault}; nothing was changed. \
         --state-repair OTHER copies what is intact into the file OTHER and lists what is lost",
        path.display(), sequence.0
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset of the record in bytes.
        offset: u64,
        /// The number of the record that should be there.
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

/// Why a record could not be appended, or a list not be replaced. The file is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The system refuses.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause, from the system.
        cause: io::Error,
    },
    /// The body is longer than a record may be.
    #[error("a record of {length} bytes is longer than {longest}")]
    TooLong {
        /// The length of the body in bytes.
        length: usize,
        /// The longest body in bytes.
        longest: u32,
    },
    /// An earlier failure left the file in a state that is not known.
    #[error("{} takes no more since {reason}; start the switch again", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
        /// The earlier failure.
        reason: String,
    },
    /// The owner could not say what is to be kept.
    #[error("{0}")]
    Owner(String),
}

/// Why an owner cannot use a record that is intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Its kind is not known.
    Kind,
    /// Its body does not decode.
    Body,
}
