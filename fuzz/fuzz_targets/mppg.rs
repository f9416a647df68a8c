//! Fuzzes programs in the language of the min-plus playgrounds.

#![no_main]

use calculus::mppg;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use planimeter_fuzz::text;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match mppg::run(text) {
        Ok(outputs) => outputs.iter().for_each(|output| drop(output.to_string())),
        Err(error) => assert!(error.line > 0 && error.column > 0, "{error}"),
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    text::mutate(data, size, max_size, seed)
});
