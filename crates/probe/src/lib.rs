//! Emulated switches, traffic and statistics against an SDN controller.

pub mod config;
pub mod outcome;
