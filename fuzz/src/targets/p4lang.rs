//! Fuzzes the P4 front-end with arbitrary text: preprocessor, lexer, parser, messages and printer.
//!
//! The body is shared with `crates/p4lang/tests/fuzz_smoke.rs`, which describes the checks.

use crate::text;

#[path = "../../../crates/p4lang/tests/support/exercise.rs"]
mod exercise;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    exercise::exercise(data);
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    text::mutate(data, size, max_size, seed)
}
