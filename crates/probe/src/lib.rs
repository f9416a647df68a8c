//! Emulated switches, traffic and statistics against an SDN controller.

pub mod config;
mod ledger;
pub mod outcome;
pub mod schedule;
pub mod topology;
pub mod traffic;
pub mod metrics;
pub mod statistics;
pub mod thresholds;
pub mod usage;
