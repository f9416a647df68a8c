//! Runs a program on the interpreter and on all forms of machine code. The same packets must have
//! the same results.
//!
//! An input that is the text of a P4 program is that program. The bytes of any other input are
//! decisions from which a program is generated, by the grammar in `pipeline`'s tests. Entries are
//! inserted and deleted between the packets.

#[path = "../../../crates/pipeline/tests/compiled/apart.rs"]
mod apart;
#[path = "../../../crates/pipeline/tests/compiled/differential.rs"]
mod differential;

use std::time::Duration;

use crate::{bytes, random::Random, switch, text};
use differential::Case;
use ir::{Program, with_large_stack};
use pipeline::Switch;

/// The number of packets and changes of entries for a generated program.
const INPUTS: usize = 24;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let work = || match std::str::from_utf8(data) {
        Ok(text) if is_program(text) => {
            if let Some(program) = switch::compile(text) {
                compare(&program, Random::of(data));
            }
        }
        _ => generated(data),
    };
    with_large_stack(work).expect("a thread starts");
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let is_text = std::str::from_utf8(&data[..size]).is_ok_and(is_program);
    if is_text {
        text::mutate(data, size, max_size, seed)
    } else {
        bytes::mutate(data, size, max_size, seed)
    }
}

fn is_program(text: &str) -> bool {
    text.contains("#include")
}

/// Generates a program. Each choice takes two bytes of the input, or zeros at its end.
fn generated(data: &[u8]) {
    let mut bytes = data.iter().copied();
    let mut choose = |bound: u32| {
        let number = [bytes.next().unwrap_or(0), bytes.next().unwrap_or(0)];
        u32::from(u16::from_le_bytes(number)) % bound.max(1)
    };
    let case = Case::new(&mut choose, INPUTS);
    if let Err(found) = case.difference() {
        let small = case.smallest();
        panic!(
            "{found}\n\nsmallest program:\n{}\ninputs: {:02x?}\n{}",
            small.source.text(),
            small.inputs,
            small.difference().err().unwrap_or_default()
        );
    }
}

fn compare(program: &Program, mut random: Random) {
    let Ok(mut interpreted) = Switch::new(program.clone()) else { return };
    let mut compiled = Switch::new(program.clone()).expect("it was loaded once");
    if let Err(error) = compiled.compile() {
        assert!(error.unsupported().is_some(), "{error}");
        return;
    }
    let packets: Vec<(u32, Vec<u8>)> =
        (0..6).map(|_| (random.below(4) as u32, switch::packet(&mut random))).collect();
    let time = |round: usize| Duration::from_millis(round as u64);
    let each = packets.iter().enumerate();
    let expected: Vec<_> = each
        .clone()
        .map(|(round, (port, packet))| interpreted.process(*port, packet, time(round)))
        .collect();
    let digests = interpreted.take_digests();
    for way in compiled.ways().into_iter().skip(1) {
        compiled.reset().expect("it was loaded once");
        compiled.choose_way(Some(way));
        for (round, (port, packet)) in each.clone() {
            let found = compiled.process(*port, packet, time(round));
            assert_eq!(expected[round], found, "{way}, port {port}, packet {packet:02x?}");
        }
        assert_eq!(digests, compiled.take_digests(), "{way}");
    }
}
