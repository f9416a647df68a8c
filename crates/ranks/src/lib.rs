//! Runs one measurement in several processes, on one machine or more.
//!
//! A [`Link`] carries messages between the first rank and each other rank, and reports lost ranks.
//! There are links over TCP, over MPI (feature `mpi`) and within a process, and other code does not
//! depend on the kind of link. A [`Group`] exchanges typed messages over a link. Every wait is
//! bounded, so a rank that dies or a machine that pauses delays the others by a bounded time.
//! [`share`] distributes independent items of work among the ranks. [`join`] determines from the
//! environment whether this process is one of several.
//!
//! Over TCP, ranks prove to each other that they know a common [`Secret`], which is mandatory for
//! addresses other than loopback. Messages are not encrypted.

mod clock;
mod environment;
mod group;
mod inbox;
mod memory;
#[cfg(feature = "mpi")]
mod mpi;
mod secret;
mod share;
mod tcp;

use std::fmt;
use std::time::Duration;

pub use clock::{ClockOffset, Exchange};
pub use environment::{JoinError, join};
pub use group::{Group, Received};
pub use memory::{MemoryLink, in_memory};
pub use secret::Secret;
pub use share::{ShareError, Shared, Work, share};
pub use tcp::{MeetError, meet};

/// The number of a process among the processes of a run, counted from 0. The process itself is also
/// called a rank, as in MPI.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Rank(pub u32);

impl Rank {
    /// The rank that leads the others and collects the results.
    pub const FIRST: Self = Self(0);
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

/// An event that a link reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message arrived.
    Message {
        /// The sender.
        from: Rank,
        /// The content of the message.
        bytes: Vec<u8>,
    },
    /// The connection to a rank is lost, so nothing more arrives from it.
    Lost {
        /// The lost rank.
        rank: Rank,
        /// The cause of the loss, as far as it is known.
        cause: String,
    },
}

/// A connection that carries messages between the first rank and each other rank, reliably and in
/// order. Ranks other than the first are not connected to each other.
pub trait Link: fmt::Debug {
    /// Returns the rank of this process.
    fn rank(&self) -> Rank;

    /// Returns the number of ranks.
    fn size(&self) -> u32;

    /// Sends a message. A message to a lost rank is discarded.
    fn send(&mut self, to: Rank, message: &[u8]);

    /// Waits for the next event, for at most `patience`.
    fn receive(&mut self, patience: Duration) -> Option<Event>;

    /// Returns whether the link reports that a rank has ended. If it does not, a lost rank is
    /// noticed only because it sends nothing.
    fn notices_loss(&self) -> bool {
        true
    }

    /// Ends the link immediately, because an orderly shutdown would wait for lost ranks. `status`
    /// is the exit status with which the process is about to end. An implementation may return, or
    /// end the process itself.
    fn abandon(&mut self, status: u8) {
        let _ = status;
    }
}
