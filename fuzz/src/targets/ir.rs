//! Fuzzes the reader of the IR's JSON, and sends packets through the program that it returns.
//!
//! The corpus consists of P4 programs. Their JSON is generated here, because it changes with the
//! IR.

use crate::{json, random::Random, switch};
use ir::{Program, with_large_stack};

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let work = || {
        let compiled = if text.starts_with('{') { None } else { to_json(text) };
        let Ok(program) = Program::from_json(compiled.as_deref().unwrap_or(text)) else {
            assert!(compiled.is_none(), "what the compiler makes is refused");
            return;
        };
        let again = Program::from_json(&program.to_json().expect("a thread starts"));
        assert_eq!(again.as_ref().ok(), Some(&program), "what is accepted reads back as it was");
        switch::exercise(program, Random::of(data));
    };
    with_large_stack(work).expect("a thread starts");
}

fn to_json(text: &str) -> Option<String> {
    let program = with_large_stack(|| switch::compile(text)).expect("a thread starts")?;
    Some(program.to_json().expect("a thread starts"))
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    json::mutate(data, size, max_size, seed, |input| to_json(std::str::from_utf8(input).ok()?))
}
