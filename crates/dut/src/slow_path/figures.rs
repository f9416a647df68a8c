//! The figures of a slow path.

use std::time::Duration;

use statistics::Ordered;

use super::direction::Direction;
use super::tally::Counts;

/// The figures of one direction.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// The direction.
    pub direction: Direction,
    /// The length of the packets in bytes.
    pub length: usize,
    /// The arrivals per second of each round, with a constant number of packets on their way.
    pub rates: Vec<f64>,
    /// The fates of the packets while rates were measured.
    pub counts: Counts,
    /// Whether this program was the limit of the rate in most rounds: it hardly ever had nothing to
    /// do.
    pub is_limited_here: bool,
    /// The delays at several loads.
    pub loads: Vec<Load>,
}

/// The delays at one load.
#[derive(Clone, Debug)]
pub struct Load {
    /// The load as a share of the mean of [`Crossing::rates`].
    pub share: f64,
    /// The packets per second that were due.
    pub rate: f64,
    /// The times from when packets were due until they arrived, of each round.
    pub delays: Vec<Ordered<Duration>>,
    /// The fates of the packets.
    pub counts: Counts,
    /// The updates that were made meanwhile; `None` if there were none.
    pub updates: Option<Updates>,
}

/// Updates of one entry that is inserted and deleted, one at a time, while packets cross the control
/// channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Updates {
    /// The answered updates per second of each round.
    pub rates: Vec<f64>,
}

/// The reaction to the first packet of a flow. All times begin when the packet was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// The time until the packet-in had arrived. The controller then writes the entry of the flow.
    pub packet_in: Duration,
    /// The time until the answer had arrived: the reply to the barrier behind a flow-mod, or the
    /// response to a Write request.
    pub answer: Duration,
    /// The time until a packet had arrived that the switch forwarded by the new entry.
    pub forwarded: Duration,
}

/// The measured slow path of a switch.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The number of packets on their way when rates were measured.
    pub window: usize,
    /// The figures of each direction.
    pub crossings: Vec<Crossing>,
    /// The reactions of each round.
    pub reactions: Vec<Vec<Reaction>>,
    /// The number of flows whose packet-in, answer or first forwarded packet did not arrive within
    /// a second.
    pub without_reaction: u64,
    /// Whether the switch has an address of this host, so that no network lies between.
    pub is_local: bool,
    /// Sentences that say which part was not measured and why; empty if all were.
    pub lacks: Vec<String>,
}
