//! Fuzzes the P4 front-end with arbitrary text: preprocessor, lexer, parser, messages and printer.
//!
//! The body is shared with `crates/p4lang/tests/fuzz_smoke.rs`, which describes the checks.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use planimeter_fuzz::text;

#[path = "../../crates/p4lang/tests/support/exercise.rs"]
mod exercise;

fuzz_target!(|data: &[u8]| {
    exercise::exercise(data);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    text::mutate(data, size, max_size, seed)
});
