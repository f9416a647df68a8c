//! Emulated switches, traffic and statistics against an SDN controller.

pub mod config;
mod ledger;
pub mod outcome;
pub mod topology;
