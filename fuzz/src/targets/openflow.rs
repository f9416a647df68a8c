//! Fuzzes everything in `openflow` that reads bytes: both decoders and encoders, the views, the
//! framer, and the handshakes of both sides.
//!
//! The body is shared with `crates/openflow/tests/fuzz_smoke.rs`, which describes the checks.

#[path = "../../../crates/openflow/tests/support/exercise.rs"]
mod exercise;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    exercise::exercise(data);
}
