//! Mutations of bytes, for inputs without a structure that a mutator knows.

/// Mutates an input of `size` bytes in `data`, and returns the new length, at most `max_size`.
///
/// The mutations are those of libFuzzer, which knows the compared values of its last inputs.
/// Without the feature `libfuzzer` they are changes of single bytes and of runs of bytes.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    #[cfg(feature = "libfuzzer")]
    {
        let _ = seed;
        libfuzzer_sys::fuzzer_mutate(data, size, max_size)
    }
    #[cfg(not(feature = "libfuzzer"))]
    changed(data, size, max_size, seed)
}

#[cfg(not(feature = "libfuzzer"))]
fn changed(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = crate::random::Random::new(u64::from(seed) << 32 | size as u64);
    let mut input = data[..size].to_vec();
    for _ in 0..1 + random.below(4) {
        let (at, other) = (random.below(input.len()), random.below(input.len()));
        let end = (other + 1 + random.below(16)).min(input.len());
        match random.below(6) {
            _ if input.is_empty() => input.push(random.number() as u8),
            0 => input[at] ^= 1 << random.below(8),
            1 => input[at] = *random.pick(&[0, 1, 0x7f, 0x80, 0xff]),
            2 => input[at] = random.number() as u8,
            3 => drop(input.drain(other..end)),
            4 => {
                let run = input[other..end].to_vec();
                drop(input.splice(at..at, run));
            }
            _ => input.truncate(at),
        }
    }
    input.truncate(max_size.min(data.len()));
    data[..input.len()].copy_from_slice(&input);
    input.len()
}
