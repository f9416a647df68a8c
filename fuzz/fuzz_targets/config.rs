//! Fuzzes the reader of the probe's TOML configuration.

#![no_main]

use std::path::Path;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use planimeter_fuzz::text;
use probe::config::Settings;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut settings = Settings::new();
    settings.read_toml(text, Path::new("/nowhere/fuzz.toml"));
    if let Err(error) = settings.resolve() {
        assert!(!error.to_string().is_empty());
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    text::mutate(data, size, max_size, seed)
});
