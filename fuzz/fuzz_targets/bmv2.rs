//! Fuzzes the reader of BMv2 JSON, and sends packets through the program that it returns.

#![no_main]

use ir::with_large_stack;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use p4lang::bmv2::load_bmv2_json;
use planimeter_fuzz::{json, random::Random, switch};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let work = || {
        if let Ok(program) = load_bmv2_json(text) {
            switch::exercise(program, Random::of(data));
        }
    };
    with_large_stack(work).expect("a thread starts");
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    json::mutate(data, size, max_size, seed, |_| None)
});
