//! Fuzzes the reader of BMv2 JSON, and sends packets through the program that it returns.

use crate::{json, random::Random, switch};
use ir::with_large_stack;
use p4lang::bmv2::load_bmv2_json;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let work = || {
        if let Ok(program) = load_bmv2_json(text) {
            switch::exercise(program, Random::of(data));
        }
    };
    with_large_stack(work).expect("a thread starts");
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    json::mutate(data, size, max_size, seed, |_| None)
}
