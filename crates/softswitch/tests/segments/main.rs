//! Checks that the same packets leave, and the same is counted, with segments whole and split.

#[path = "../../benches/support/hosts.rs"]
mod hosts;
#[path = "../../../packetio/tests/interfaces/namespace.rs"]
mod namespace;
mod programs;
mod transfers;
mod wire;
