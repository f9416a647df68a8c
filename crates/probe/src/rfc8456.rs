//! The benchmark of RFC 8456: its fifteen tests against one controller.
//!
//! Each trial has a network of its own: switches, links and hosts in memory (`emulator`), whose
//! control sessions are real (`edge`). A packet of a host travels from switch to switch by the rules
//! that the controller installs. What a test does is a state machine without sockets and clock
//! (`procedures`); [`bench`] makes the network ready for it. [`run()`] goes through the tests and
//! their trials; the rate of section 5.1.3 is the search of [`crate::run()`].

mod bench;
mod edge;
mod emulator;
mod invalid;
mod northbound;
pub mod outcome;
mod procedures;
mod run;
mod scene;
mod seen;
mod size;
mod trial;

use crate::metrics::Unit;

pub use crate::config::rfc8456::{Test, Tests};
pub use northbound::census;
pub use run::{BenchmarkWatcher, run};
pub use seen::Census;

impl Test {
    /// The unit of its figure; tests of security and reliability may have further ones.
    pub fn unit(self) -> Unit {
        match self {
            Self::MessageProcessingRate | Self::ReactivePathRate | Self::ProactivePathRate => {
                Unit::PerSecond
            }
            Self::ControlSessions | Self::DiscoverySize | Self::ForwardingTable => Unit::Count,
            Self::ExceptionHandling | Self::DenialOfService => Unit::Fraction,
            _ => Unit::Seconds,
        }
    }
}
