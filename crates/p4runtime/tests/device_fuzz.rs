//! Requests and messages that anyone may send to a device: any order, damaged bytes, streams that
//! come and go. Nothing panics, and what the specification promises holds at every step.
//!
//! A fixed number of seeded steps, so that every run is the same; the fuzz target `device` chooses
//! them itself.

#[path = "support/outside.rs"]
mod outside;

use outside::{Outside, Random};

#[test]
fn any_sequence_of_requests_keeps_the_promises() {
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
