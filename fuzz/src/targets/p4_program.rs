//! Fuzzes the compiler, and sends packets through the program that it returns.

use crate::{random::Random, switch, text};
use ir::with_large_stack;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let work = || {
        if let Some(program) = switch::compile(text) {
            switch::exercise(program, Random::of(data));
        }
    };
    with_large_stack(work).expect("a thread starts");
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    text::mutate(data, size, max_size, seed)
}
