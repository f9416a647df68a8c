//! Untrusted programs, and packets through them.

use std::time::Duration;

use ir::Program;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::Switch;

use crate::random::Random;

/// Compiles a text that may include only the architectures.
pub fn compile(text: &str) -> Option<Program> {
    let compiled =
        p4lang::compile_text("fuzz.p4", text, &Options::default(), &MemoryFiles::default());
    compiled.messages(p4lang::diagnostic::Style::Plain);
    compiled.program
}

/// Sends a few packets through a program, if a switch accepts it, and generates its P4Info and
/// initial entries. The packets depend only on `seed`.
pub fn exercise(program: Program, mut seed: Random) {
    drop(p4lang::p4info::generate(&program));
    drop(p4lang::p4info::entries(&program));
    let Ok(mut switch) = Switch::new(program) else { return };
    for round in 0..6 {
        let packet = packet(&mut seed);
        let port = seed.below(4) as u32;
        // An error for a packet whose processing never ends is a valid result too.
        drop(switch.process(port, &packet, Duration::from_millis(round)));
    }
    switch.take_digests();
    switch.expire(Duration::from_secs(3_600));
    switch.reset().expect("what was loaded can be loaded again");
}

/// Returns a packet of a kind that programs examine: mostly Ethernet with IPv4 and TCP or UDP, cut
/// at an arbitrary position.
pub fn packet(random: &mut Random) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..random.below(100)).map(|_| random.number() as u8).collect();
    let kinds: [&[u8]; 4] = [
        &[8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6],
        &[8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17],
        &[0x81, 0, 0, 1, 8, 0, 0x46],
        &[0x86, 0xdd, 0x60],
    ];
    let kind = *random.pick(&kinds);
    if random.below(4) > 0
        && let Some(place) = packet.get_mut(12..12 + kind.len())
    {
        place.copy_from_slice(kind);
    }
    packet
}
