//! Why no traffic is made of a program.

use super::endless::Endless;
use crate::ports::io::PortError;
use pipeline::{ControlError, LoadError};

/// Traffic cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// The program cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Nothing that was tried gets through the parser.
    #[error(
        "no way through the parser was found; give packets of your own with --traffic FILE.pcap"
    )]
    NoRoute,
    /// An entry that was put in once is refused.
    #[error("an entry is refused the second time: {0}")]
    Entry(#[from] ControlError),
    /// Packets would be processed for ever.
    #[error(transparent)]
    Endless(#[from] Endless),
    /// Packets write no entry.
    #[error(
        "a method is how packets change entries, and those of this program write none: give a program with @__ref, such as \
         entry_update.p4"
    )]
    NothingWritten,
    /// There are no ports.
    #[error(transparent)]
    Ports(#[from] PortError),
    /// There is no way to the controller.
    #[error("the controller of method digest: {0}")]
    Controller(String),
    /// There are no packets.
    #[error("there are no packets")]
    Empty,
    /// The system refuses a thread.
    #[error("a thread cannot be started: {0}")]
    Thread(std::io::Error),
    /// Stopped by the caller.
    #[error("interrupted")]
    Interrupted,
}
