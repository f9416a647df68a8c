//! Emulated switches, traffic and statistics against an SDN controller.

pub mod config;
mod engine;
pub mod host;
mod ledger;
pub mod metrics;
pub mod netcfg;
mod openflow_switch;
pub mod outcome;

pub mod schedule;
pub mod search;
pub mod statistics;
pub mod thresholds;
pub mod topology;
pub mod traffic;
mod trial;
pub mod usage;

pub use engine::control::{Live, Phase};

pub use trial::TrialError;
pub mod legacy;
