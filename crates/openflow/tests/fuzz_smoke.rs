//! Runs the code of the fuzz target `openflow` without a fuzzer, on messages and on seeded
//! mutations of them.
//!
//! A fuzzer explores more (`cargo fuzz run openflow`); this test runs wherever the other tests do,
//! and always on equal bytes.

#[path = "support/exercise.rs"]
mod exercise;
#[path = "support/messages_v1_0.rs"]
mod messages_v1_0;
#[path = "support/seeds_v1_3.rs"]
mod seeds_v1_3;

use exercise::exercise;
use fastrand::Rng;
use openflow::wire::{PacketInFields, PacketOutFields};
use openflow::{BufferId, PortNumber, Version, Xid};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

const MUTATIONS: usize = 200_000;

#[test]
fn nothing_that_is_read_panics_or_contradicts_itself() {
    let seeds = seeds();
    for seed in &seeds {
        let understood = exercise(seed);
        assert!(understood.v1_0 || understood.v1_3, "a seed is a message: {seed:02x?}");
    }
    let mut random = Rng::with_seed(0x9e37_79b9_7f4a_7c15);
    let (mut v1_0, mut v1_3) = (0, 0);
    let mut bytes = Vec::new();
    for _ in 0..MUTATIONS {
        bytes.clear();
        bytes.extend_from_slice(&seeds[random.usize(..seeds.len())]);
        for _ in 0..=random.usize(..3) {
            mutate(&mut bytes, &seeds, &mut random);
        }
        // Most mutations change the length, and a wrong length hides faults behind it.
        if random.usize(..8) != 0 && bytes.len() >= 4 {
            let length = bytes.len() as u16;
            bytes[2..4].copy_from_slice(&length.to_be_bytes());
        }
        let understood = exercise(&bytes);
        v1_0 += usize::from(understood.v1_0);
        v1_3 += usize::from(understood.v1_3);
    }
    // If few mutations were understood, only the headers would have been tested.
    assert!(v1_0 > MUTATIONS / 20, "{v1_0} mutations are 1.0");
    assert!(v1_3 > MUTATIONS / 20, "{v1_3} mutations are 1.3");
}

/// Returns messages of both versions, about equally many of each.
fn seeds() -> Vec<Vec<u8>> {
    let mut runner = TestRunner::deterministic();
    let strategy = messages_v1_0::message();
    let mut seeds = Vec::new();
    for _ in 0..48 {
        let message = strategy.new_tree(&mut runner).expect("nothing is filtered").current();
        let mut bytes = Vec::new();
        message.encode(Xid(7), &mut bytes).expect("generated messages fit");
        seeds.push(bytes);
    }
    seeds.extend(seeds_v1_3::seeds());
    for version in [Version::V1_0, Version::V1_3] {
        let (mut packet_in, mut packet_out) = (Vec::new(), Vec::new());
        PacketInFields {
            buffer_id: BufferId(1),
            total_len: 6,
            in_port: PortNumber(2),
            reason: 0,
            table_id: 0,
            cookie: 3,
        }
        .emit(version, Xid(4), b"packet", &mut packet_in)
        .expect("the message fits");
        PacketOutFields {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNumber(2),
            outputs: &[PortNumber(1), PortNumber::FLOOD],
        }
        .emit(version, Xid(4), b"packet", &mut packet_out)
        .expect("the message fits");
        seeds.push(packet_in);
        seeds.push(packet_out);
    }
    seeds
}

/// Boundary values of lengths, counts and types.
const EDGES: [u8; 10] = [0, 1, 4, 7, 8, 9, 16, 0x7f, 0x80, 0xff];

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Rng) {
    if bytes.is_empty() {
        return;
    }
    let at = random.usize(..bytes.len());
    match random.usize(..7) {
        0 => bytes[at] ^= 1 << random.usize(..8),
        1 => bytes[at] = EDGES[random.usize(..EDGES.len())],
        2 => bytes[at] = random.u8(..),
        3 => bytes.truncate(at + 1),
        4 => {
            let end = (at + 1 + random.usize(..24)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        5 => {
            let end = (at + 1 + random.usize(..16)).min(bytes.len());
            bytes.drain(at..end);
        }
        _ => {
            let other = &seeds[random.usize(..seeds.len())];
            let from = random.usize(..other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
    }
}
