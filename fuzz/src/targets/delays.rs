//! Fuzzes the import of delays and histograms that other tools measured.

use crate::text;
use device::import::{delays, histogram};

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(imported) = delays(text, 1e6) {
        let counts = imported.counts;
        assert_eq!(counts.received, imported.samples.len() as u64);
        assert_eq!(counts.sent, counts.received + counts.lost);
    }
    if let Ok(imported) = histogram(text, 1e3) {
        assert_eq!(imported.counts.received, imported.samples.len() as u64);
    }
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    text::mutate(data, size, max_size, seed)
}
