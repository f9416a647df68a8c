//! Fuzzes a P4Runtime device with any sequence of requests and messages. Each byte is a decision.
//!
//! The body is shared with `crates/p4runtime/tests/device_fuzz.rs`, which describes the checks.

#[path = "../../../crates/p4runtime/tests/support/outside.rs"]
mod outside;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut outside = outside::Outside::new(outside::Random::given(data));
    if data.first().is_some_and(|first| first % 8 > 0) {
        outside.preload();
    }
    while outside.random.is_left() {
        outside.step();
    }
}
