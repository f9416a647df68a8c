//! Fuzzes everything in `openflow` that reads bytes: both decoders and encoders, the views, the
//! framer, and the handshakes of both sides.
//!
//! The body is shared with `crates/openflow/tests/fuzz_smoke.rs`, which describes the checks.

#![no_main]

#[path = "../../crates/openflow/tests/support/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    exercise::exercise(data);
});
