//! Checks that super-frames produce the same packets and the same counters whether they stay whole
//! or are split into segments.

#[path = "../../benches/support/hosts.rs"]
mod hosts;
#[path = "../../../packetio/tests/interfaces/namespace.rs"]
mod namespace;
mod programs;
mod transfers;
mod wire;
