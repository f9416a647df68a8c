//! Fuzzes the readers of the configurations of OFCProbe and P4RCProbe.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use planimeter_fuzz::{scratch, text};
use probe::config::Settings;

fuzz_target!(|data: &[u8]| {
    let path = scratch::file("config.ini", data);
    let mut settings = Settings::new();
    settings.read_legacy(&path);
    if let Err(error) = settings.resolve() {
        assert!(!error.to_string().is_empty());
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    text::mutate(data, size, max_size, seed)
});
