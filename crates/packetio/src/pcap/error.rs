//! What is wrong with a capture, and where.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a capture could not be read to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file begins like neither format.
    #[error("{} is no capture: it begins like neither pcap nor pcapng", path.display())]
    NotACapture {
        /// The file.
        path: PathBuf,
    },
    /// The file ends within a block or record. All frames before it were whole.
    #[error("{} ends within the block that begins at byte {offset}; it was cut off", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Offset of the block or record that is not whole.
        offset: u64,
    },
    /// A block or record contradicts its format.
    #[error("{}, block at byte {offset}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Offset of the block or record.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
}
