//! Measures the effects of updates on packets, with probes on network interfaces that are connected
//! to a real switch. The times of the probes are evaluated by [`effects`](crate::effects).
//!
//! One thread sends probes at their times, looks for arrivals on all interfaces, and polls the
//! control channel, with one monotonic clock. A sending lies between the readings around its system
//! call; an arrival lies between the reading before the previous look at its interface and the one
//! after the look that found it.

mod bench;
mod control;
mod probes;
mod run;

pub use probes::{Flow, Outcome, Ports, Traffic, Wire};
pub use run::{Kind, Measured, Settings};

pub(crate) use control::{Control, OpenFlowControl, P4RuntimeControl};
pub(crate) use run::{Changes, check_program, has_same_tables, over_openflow, over_p4runtime};

#[cfg(test)]
mod tests;
