//! The benchmark of RFC 8456: its fifteen tests against one controller.
//!
//! Each trial has a network of its own. Its switches, links and hosts are emulated in memory
//! (`emulator`), and the control sessions of the switches are real connections to the controller
//! (`edge`). A packet of a host travels from switch to switch by the flow rules that the controller
//! installs. The procedure of a test is a state machine without sockets and clock (`procedures`);
//! [`bench`] prepares the network for it. [`run()`] performs the tests and their trials. Only the
//! rate of section 5.1.3 is measured by other code, the search in [`crate::run()`].

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
    /// Returns the unit of the main figure that the test measures. Tests of security and
    /// reliability may have further figures with other units.
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
