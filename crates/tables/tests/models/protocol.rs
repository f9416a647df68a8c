//! Compiles the crate's modules that access shared memory with loom's atomics, together with the
//! models (`explored`).

#[path = "../../src/indirect/entry.rs"]
mod entry;
#[path = "../../src/bucket/line.rs"]
mod line;

/// Pads bytes to a word, as the function of the crate does.
fn padded(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}

#[path = "explored.rs"]
mod explored;
