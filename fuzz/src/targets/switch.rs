//! Fuzzes the device of a switch that runs in this process, with gRPC payloads and packets but
//! without sockets.
//!
//! The body is shared with `crates/pipeline/tests/data_plane/payloads.rs`, which describes the
//! inputs and the checks.

#[path = "../../../crates/pipeline/tests/support/payloads.rs"]
mod payloads;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut running = payloads::Running::on(pipeline::Path::Interpreter);
    running.carry_out(data);
    running.check_restart();
}
