//! The fuzz targets, and what they share: mutators that keep the structure of an input, and a
//! switch to send packets through.
//!
//! `tests/corpus.rs` runs each target on its corpus and on some mutations of it, with the other
//! tests of the workspace. With the feature `libfuzzer`, each has an executable that `cargo fuzz`
//! builds.
//!
//! An input is always a file or the bytes that a user or a peer would provide. A corpus therefore
//! consists of ordinary files, and an input that breaks a target can be passed to `planimeter`
//! unchanged.

pub mod bytes;
pub mod guard;
pub mod json;
pub mod random;
pub mod scratch;
pub mod switch;
pub mod targets;
pub mod text;

/// Makes a target the executable of libFuzzer.
#[cfg(feature = "libfuzzer")]
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::targets::$name::run(data));
    };
}

/// Makes a target with a mutator of its own the executable of libFuzzer.
#[cfg(feature = "libfuzzer")]
#[macro_export]
macro_rules! target_with_mutator {
    ($name:ident) => {
        $crate::target!($name);
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            $crate::targets::$name::mutate(data, size, max_size, seed)
        });
    };
}
