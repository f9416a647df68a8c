//! Arbitrary text through the P4 front-end: preprocessor, lexer, parser, messages and printer.
//!
//! The body is shared with `crates/p4lang/tests/fuzz_smoke.rs`, which says what is checked.
//! `crates/p4lang/tests/support/everything.p4` is a good first input.

#![no_main]

#[path = "../../crates/p4lang/tests/support/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    exercise::exercise(data);
});
