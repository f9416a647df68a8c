//! The observer of a measurement.

use std::net::SocketAddr;

/// An observer of the progress of a measurement.
pub trait Watch {
    /// Called whenever a test has made a step: `done` of `of` steps are complete.
    fn step(&mut self, test: &'static str, done: u64, of: u64);

    /// Called when the measurement begins to wait for an OpenFlow switch, with the address.
    fn listens(&mut self, _address: SocketAddr) {}
}
