//! Fuzzes the readers of the configurations of OFCProbe and P4RCProbe.

use crate::{scratch, text};
use probe::config::Settings;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let path = scratch::file("config.ini", data);
    let mut settings = Settings::new();
    settings.read_legacy(&path);
    if let Err(error) = settings.resolve() {
        assert!(!error.to_string().is_empty());
    }
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    text::mutate(data, size, max_size, seed)
}
