//! The procedures of the tests of RFC 8456, by section.

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

/// The parameters that all tests share. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// The duration of a trial (the "trial duration" of RFC 8456), in nanoseconds.
    pub(super) duration: u64,
    /// The time between two queries of the controller's northbound interface.
    pub(super) interval: u64,
    /// The time in nanoseconds after which an operation that has not finished counts as failed.
    pub(super) patience: u64,
    /// The time in nanoseconds between two packets of a stream, or between two new flows.
    pub(super) spacing: u64,
    /// The maximum number of flows of a trial of [`PathTime`] or [`FlowCapacity`].
    pub(super) most_flows: u32,
    /// Whether the controller has a northbound interface that can be queried.
    pub(super) northbound: bool,
}

/// The number of consecutive queries that must return the same answer for the answer to count as
/// final (RFC 8456, sections 5.1.1 and 5.2.3).
const SAME_ANSWERS: u32 = 3;
/// The time in nanoseconds after which a controller that sends no further message is assumed to
/// have finished.
const QUIET: u64 = 100_000_000;

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
