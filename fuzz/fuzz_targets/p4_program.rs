//! Fuzzes the compiler, and sends packets through the program that it returns.

#![no_main]

use ir::with_large_stack;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use planimeter_fuzz::{random::Random, switch, text};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let work = || {
        if let Some(program) = switch::compile(text) {
            switch::exercise(program, Random::of(data));
        }
    };
    with_large_stack(work).expect("a thread starts");
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    text::mutate(data, size, max_size, seed)
});
