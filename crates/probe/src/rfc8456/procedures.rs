//! What each test does, by its section of RFC 8456.

mod capacity;
mod change;
mod discovery;
mod disturbed;
mod message;
mod path;
mod stream;
#[cfg(test)]
pub(super) mod tests;

pub(super) use capacity::{FlowCapacity, Sessions};
pub(super) use change::TopologyChange;
pub(super) use discovery::TopologyDiscovery;
pub(super) use disturbed::{Disturbance, Disturbed};
pub(super) use message::MessageTime;
pub(super) use path::{PathRate, PathTime};
pub(super) use stream::{Failover, Reprovisioning};

/// What all tests are done by; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// The trial duration of the document.
    pub(super) duration: u64,
    /// Between two questions to the northbound interface.
    pub(super) interval: u64,
    /// How long something that has been begun may take.
    pub(super) patience: u64,
    /// Between two packets of a stream, or two new flows.
    pub(super) spacing: u64,
    /// Paths of a trial at most.
    pub(super) most_flows: u32,
    /// Whether the northbound interface can be asked.
    pub(super) northbound: bool,
}

/// Queries with the same answer after which nothing more is expected (5.1.1, 5.2.3).
const SAME_ANSWERS: u32 = 3;
/// Nanoseconds without a message of the controller after which it is taken to be done.
const QUIET: u64 = 100_000_000;

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
