//! Measures an SDN controller with emulated switches, generated traffic and statistics.
//!
//! [`run()`] takes a checked [`config::Config`] and returns an [`outcome::RunResult`]. It emulates
//! OpenFlow or P4Runtime switches and sends packet-ins to the controller, by default on a schedule
//! that is fixed beforehand. It matches every answer to its packet-in, and decides whether the
//! probe, the network or the controller was the limit. The method is that of P4RCProbe (H. Harkous
//! et al., P4RCProbe for Evaluating the Performance of P4Runtime-based Controllers, IEEE NFV-SDN
//! 2021) and of OFCProbe before it, except that by default the load here does not wait for answers.

mod account;
pub mod config;
mod cores;
mod engine;
pub mod host;
mod kernel;
mod ledger;
pub mod legacy;
pub mod metrics;
pub mod netcfg;
mod next;
mod onos;
pub mod outcome;
pub mod paths;
pub mod rfc8456;
mod run;
pub mod schedule;
mod search;
pub mod summary;
pub mod thresholds;
pub mod topology;
pub mod traffic;
mod trial;
pub mod usage;
mod wording;

pub use cores::{beside_engine, leaves_a_core};
pub use engine::control::{Live, Phase};
pub use engine::p4runtime::{
    HeldPorts, PortsError, addresses as device_addresses, fit_to_file_limit,
};
pub use run::{RunContext, RunError, Watcher, between, follow, lead, run, serve};
pub use trial::TrialError;
