//! An observer that is informed of the progress of a measurement.

use std::net::SocketAddr;

/// An observer that is informed of the progress of a measurement.
pub trait Watch {
    /// Called when a test has made progress: `done` of its `of` steps are complete.
    fn step(&mut self, test: &'static str, done: u64, of: u64);

    /// Called with the address on which this program listens, when it begins to wait for an
    /// OpenFlow switch.
    fn listens(&mut self, _address: SocketAddr) {}
}
