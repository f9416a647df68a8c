//! Measures the effects of updates on packets. Probes are sent and received through network
//! interfaces that are connected to a real switch. Their times are evaluated by
//! [`effects`](crate::effects).
//!
//! One thread sends probes when they are due, checks all interfaces for arrivals, and polls the
//! control channel, with one monotonic clock. The moment at which a packet was sent lies between
//! the clock readings before and after its system call. The moment of an arrival lies between the
//! reading before the previous check of the interface and the reading after the check that found
//! the packet.

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
