//! Fuzzes the reader of the probe's TOML configuration.

use std::path::Path;

use crate::text;
use probe::config::Settings;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut settings = Settings::new();
    settings.read_toml(text, Path::new("/nowhere/fuzz.toml"));
    if let Err(error) = settings.resolve() {
        assert!(!error.to_string().is_empty());
    }
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    text::mutate(data, size, max_size, seed)
}
