//! Tests of a device with the requests and messages that any client may send: in any order, with
//! damaged bytes, and on streams that open and close. Nothing may panic, and the guarantees of the
//! specification must hold after every step.
//!
//! The steps are random with a fixed seed and number, so that every run is the same. The fuzz
//! target `device` chooses the steps itself.

#[path = "support/outside.rs"]
mod outside;

use outside::{Outside, Random};

#[test]
fn any_sequence_of_requests_keeps_the_invariants() {
    let (mut primaries, mut written, mut reconciled) = (0, 0, 0);
    for seed in 0..60 {
        let mut outside = Outside::new(Random::seeded(seed));
        if seed > 0 {
            outside.preload();
        }
        for _ in 0..400 {
            outside.step();
        }
        primaries += outside.device.arbitration().primaries().count();
        written += outside.written;
        reconciled += outside.reconciled;
    }
    assert!(
        primaries > 20 && written > 500 && reconciled > 5,
        "the steps hardly get anywhere: {primaries} primaries, {written} updates, {reconciled} pipelines"
    );
}
