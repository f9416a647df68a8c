//! The errors of reading a capture.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The reason why a capture could not be read to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The file is neither pcap nor pcapng.
    #[error("{} is not a capture: it begins like neither pcap nor pcapng", path.display())]
    NotACapture {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file ends within a block or record. All earlier frames are complete.
    #[error("{} ends within the block that begins at byte {offset}; it was cut off", path.display())]
    Truncated {
        /// The path of the file.
        path: PathBuf,
        /// The offset of the incomplete block or record.
        offset: u64,
    },
    /// A block or record contradicts its format.
    #[error("{}, block at byte {offset}: {reason}", path.display())]
    Malformed {
        /// The path of the file.
        path: PathBuf,
        /// The offset of the block or record.
        offset: u64,
        /// A description of the contradiction.
        reason: String,
    },
}
