//! The errors of generating and running traffic.

use super::endless::Endless;
use crate::ports::io::PortError;
use pipeline::{ControlError, LoadError};

/// The reason why traffic cannot be generated or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// The P4 program cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No route through the parser was found that ends in `accept`.
    #[error(
        "no path through the parser was found; name packets of your own with --traffic FILE.pcap"
    )]
    NoRoute,
    /// A table entry that was accepted when it was generated is refused later.
    #[error("an entry is refused when it is installed again: {0}")]
    Entry(#[from] ControlError),
    /// The processing of some packets never ends, so they have no rate.
    #[error(transparent)]
    Endless(#[from] Endless),
    /// Update methods were given, but packets write no entry.
    #[error(
        "--method compares how packets update entries, and packets of this program write none: name a program with \
         @__ref, such as entry_update.p4"
    )]
    NothingWritten,
    /// The ports cannot be opened.
    #[error(transparent)]
    Ports(#[from] PortError),
    /// The sockets to the controller of the update method digest cannot be opened.
    #[error("the controller of method digest: {0}")]
    Controller(String),
    /// The switch refuses a part of a configuration that is given.
    #[error("a switch cannot be configured: {0}")]
    Setup(String),
    /// The traffic has no packets.
    #[error("there are no packets")]
    Empty,
    /// The system cannot start a thread.
    #[error("a thread cannot be started: {0}")]
    Thread(std::io::Error),
    /// The caller stopped the generation of traffic, or a run before its first repetition.
    #[error("interrupted")]
    Interrupted,
}
