//! The results of measuring a slow path.

use std::time::Duration;

use statistics::Ordered;

use super::direction::Direction;
use super::tally::Counts;

/// The rate and delays of packets between switch and controller in one direction.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// The direction in which the packets cross the control channel.
    pub direction: Direction,
    /// The length of the packets in bytes.
    pub length: usize,
    /// The number of arrivals per second in each round, while a constant number of packets was in
    /// flight.
    pub rates: Vec<f64>,
    /// The numbers of packets that were sent, lost, reordered and repeated while rates were
    /// measured.
    pub counts: Counts,
    /// Whether this program was the limit of the rate in most rounds, because it was hardly ever
    /// idle.
    pub is_limited_here: bool,
    /// The delays of packets at several loads.
    pub loads: Vec<Load>,
}

/// The delays of packets at one load.
#[derive(Clone, Debug)]
pub struct Load {
    /// The load as a fraction of the mean of [`Crossing::rates`].
    pub share: f64,
    /// The rate at which packets were due, in packets per second.
    pub rate: f64,
    /// The times from when packets were due until they arrived, one distribution per round.
    pub delays: Vec<Ordered<Duration>>,
    /// The numbers of packets that were sent, lost, reordered and repeated at this load.
    pub counts: Counts,
    /// The updates that were made while packets crossed the control channel; `None` if there were
    /// none.
    pub updates: Option<Updates>,
}

/// The updates of one entry, which is inserted and deleted again and again while packets cross the
/// control channel. One update is pending at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Updates {
    /// The number of answered updates per second in each round.
    pub rates: Vec<f64>,
}

/// The times of the controller's reaction to the first packet of a flow. All count from when the
/// packet was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// The time until the packet-in arrived, which makes the controller write the flow's entry.
    pub packet_in: Duration,
    /// The time until the switch answered the update of the flow's entry: with the barrier reply
    /// after a flow-mod, or with the response to a Write request.
    pub answer: Duration,
    /// The time until the first packet arrived that the switch forwarded by the new entry.
    pub forwarded: Duration,
}

/// The measured slow path of a switch.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The number of packets in flight while rates were measured.
    pub window: usize,
    /// The rate and delays of packets in each direction.
    pub crossings: Vec<Crossing>,
    /// The reactions to first packets, grouped by round.
    pub reactions: Vec<Vec<Reaction>>,
    /// The number of flows whose packet-in, answer or first forwarded packet did not arrive within
    /// a second.
    pub without_reaction: u64,
    /// Whether the switch runs on this host, so that there is no network between it and this
    /// program.
    pub is_local: bool,
    /// Sentences that name each part that was not measured, and why. Empty if all parts were.
    pub lacks: Vec<String>,
}
