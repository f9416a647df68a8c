//! Fuzzes programs in the language of the min-plus playgrounds.

use crate::text;
use calculus::mppg;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match mppg::run(text) {
        Ok(outputs) => outputs.iter().for_each(|output| drop(output.to_string())),
        Err(error) => assert!(error.line > 0 && error.column > 0, "{error}"),
    }
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    text::mutate(data, size, max_size, seed)
}
