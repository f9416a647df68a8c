//! The configuration of a digest.

use std::time::Duration;

/// The configuration of a digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The longest time for which the switch may hold a digest back to collect more
    /// (`max_timeout_ns`).
    pub max_timeout: Duration,
    /// The largest number of digests in a list (`max_list_size`).
    pub max_list_size: u32,
    /// The time for which the switch must not send an equal digest again while the first one is not
    /// acknowledged (`ack_timeout_ns`).
    pub ack_timeout: Duration,
}
