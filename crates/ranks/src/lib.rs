//! Several processes, on one machine or more, that measure as one.
//!
//! A [`Link`] carries messages between the first rank and each of the others, and says which rank is
//! lost; that there is one over MPI (feature `mpi`), one over TCP and one within a process is known
//! to nobody else. A [`Group`] speaks in types over a link. It waits for nothing without an end, so
//! that a rank that died or a machine that pauses costs a bounded time. [`share`] shares out work of independent items.
//! [`join`] finds out from the environment whether this process is one of several.
//!
//! Over TCP, ranks prove to each other that they know one secret ([`Secret`]); beyond loopback there
//! has to be one. What they say is not encrypted.

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

/// A process among several, from 0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Rank(pub u32);

impl Rank {
    /// The one that leads the others and keeps the result.
    pub const FIRST: Self = Self(0);
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

/// What a link has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message arrived.
    Message {
        /// Who sent it.
        from: Rank,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// A rank will send nothing more.
    Lost {
        /// Which.
        rank: Rank,
        /// Why, as far as it is known.
        cause: String,
    },
}

/// Carries messages between the first rank and each of the others, in order and whole. The others
/// have no way to each other.
pub trait Link: fmt::Debug {
    /// Which rank this is.
    fn rank(&self) -> Rank;

    /// How many there are.
    fn size(&self) -> u32;

    /// Hands a message over. One to a rank that is lost goes nowhere.
    fn send(&mut self, to: Rank, message: &[u8]);

    /// What comes next, waited for no longer than told.
    fn receive(&mut self, patience: Duration) -> Option<Event>;

    /// Whether a rank that ended is heard of at once. Otherwise only its silence tells.
    fn notices_loss(&self) -> bool {
        true
    }

    /// Leaves the others without saying goodbye to all: some would not hear it. `status` is what
    /// the process is about to end with. Returns where nothing had to be done.
    fn abandon(&mut self, status: u8) {
        let _ = status;
    }
}
