//! Measures the packets per second of the interpreter on one core, for a switch with ternary rules
//! and for a router, with few and many entries.
//!
//!     cargo bench -p pipeline --bench interpreter -- [--repetitions N]
//!
//! Packets have 64 bytes and are drawn from the entries with a fixed seed. The run fails unless all
//! of them leave. A rate is per second of the thread's processor time: the median of the
//! repetitions, with the least and the greatest. The insertions are those that filled the table,
//! one by one.

use ir::bits::Bits;
use pipeline::{EntryAction, FieldMatch, Switch, TableEntry};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::time::Duration;

/// The number of packets in one repetition.
const PACKETS: usize = 1 << 15;
const SIZE: usize = 64;

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--repetitions");
    let repetitions = arguments.nth(1).and_then(|number| number.parse().ok()).unwrap_or(7);
    println!(
        "{:30} {:>8} {:>10} {:>22} {:>13}",
        "program", "entries", "packets/s", "least to greatest", "insertions/s"
    );
    for entries in [1, 1_000, 100_000] {
        show("l2: ternary rules", entries, repetitions, l2(entries));
    }
    for entries in [1, 1_000, 100_000] {
        show("router: longest prefix, IPv4", entries, repetitions, router(entries));
    }
}

fn show(name: &str, entries: usize, repetitions: usize, (mut switch, packets, filling): Traffic) {
    let mut rates: Vec<f64> =
        (0..repetitions.max(1)).map(|_| rate(&mut switch, &packets)).collect();
    rates.sort_by(f64::total_cmp);
    let (least, most) = (rates[0], rates[rates.len() - 1]);
    println!(
        "{name:30} {entries:>8} {:>10.0} {:>22} {:>13.0}",
        rates[rates.len() / 2],
        format!("{least:.0} to {most:.0}"),
        entries as f64 / filling.as_secs_f64()
    );
}

/// A switch, packets for it, and the processor time that inserting its entries took.
type Traffic = (Switch, Vec<Vec<u8>>, Duration);

fn rate(switch: &mut Switch, packets: &[Vec<u8>]) -> f64 {
    let start = processor_time();
    let mut left = 0;
    for (number, packet) in packets.iter().cycle().take(PACKETS).enumerate() {
        let now = Duration::from_micros(number as u64);
        left += switch.process(1, packet, now).expect("runs").len();
    }
    let time = processor_time() - start;
    assert_eq!(left, PACKETS, "all packets leave");
    PACKETS as f64 / time.as_secs_f64()
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn load(name: &str) -> Switch {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(name);
    let text = std::fs::read_to_string(path).expect("the program is there");
    let text = text.replace("size = 1024;", "size = 2000000;").replace("size = 65536;", "");
    let options = p4lang::preprocess::Options::default();
    let files = p4lang::preprocess::MemoryFiles::default();
    let compiled = p4lang::compile_text(name, &text, &options, &files);
    Switch::new(compiled.program.expect("the program compiles")).expect("the program runs")
}

fn add(
    switch: &Switch,
    table: &str,
    matches: Vec<FieldMatch>,
    priority: u32,
    action: (&str, &[Bits]),
) {
    let table = switch.table_named(table).expect("a table");
    let id = switch.action_named(table, action.0).expect("an action");
    let call = switch.action_call(id, action.1).expect("arguments");
    let action = EntryAction::Action(call);
    let entry = TableEntry { matches, priority, action, idle_timeout: None };
    switch.add_entry(table, entry, Duration::ZERO).expect("the entry is new");
}

fn frame(destination: u64, ether_type: u16, rest: &[u8]) -> Vec<u8> {
    let mut packet = destination.to_be_bytes()[2..].to_vec();
    packet.extend([0, 0, 0, 0, 0, 9]);
    packet.extend(ether_type.to_be_bytes());
    packet.extend(rest);
    packet.resize(SIZE, 0);
    packet
}

/// Returns a switch with exact destinations, as a controller writes them into a ternary table.
fn l2(entries: usize) -> Traffic {
    let switch = load("l2.p4");
    let table = switch.table_named("l2").expect("a table");
    let keys = switch.program().tables[table.index()].keys.len();
    let (mut packets, mut random) = (Vec::new(), ChaCha8Rng::seed_from_u64(1));
    let start = processor_time();
    for number in 0..entries as u64 {
        let destination = 0x0200_0000_0000 | number;
        let mut matches = vec![FieldMatch::Any; keys];
        matches[2] = FieldMatch::Ternary {
            value: Bits::unsigned(48, u128::from(destination)),
            mask: Bits::ones(48, false),
        };
        add(&switch, "l2", matches, 1, ("set_egress_port", &[Bits::unsigned(9, 2)]));
    }
    let filling = processor_time() - start;
    for _ in 0..PACKETS.min(4 * entries) {
        let destination = 0x0200_0000_0000 | random.random_range(0..entries as u64);
        packets.push(frame(destination, 0x88b5, &[]));
    }
    (switch, packets, filling)
}

/// Returns a router with prefixes of 8 to 28 bits. Six in ten of them have 24 bits.
fn router(entries: usize) -> Traffic {
    let switch = load("router.p4");
    let (mut packets, mut random) = (Vec::new(), ChaCha8Rng::seed_from_u64(1));
    let mac = |last| Bits::unsigned(48, last);
    add(
        &switch,
        "neighbours",
        vec![FieldMatch::Exact(Bits::unsigned(32, 1))],
        0,
        ("to_neighbour", &[mac(0xb2)]),
    );
    add(
        &switch,
        "interfaces",
        vec![FieldMatch::Exact(Bits::unsigned(9, 2))],
        0,
        ("from_interface", &[mac(0xf2)]),
    );
    let mut known = std::collections::BTreeSet::new();
    let start = processor_time();
    while known.len() < entries {
        let length =
            if random.random_range(0..10) < 6 { 24 } else { random.random_range(8..=28_u32) };
        let address = random.random_range(0..=u32::MAX) & (u32::MAX << (32 - length));
        if !known.insert((address, length)) {
            continue;
        }
        let value = Bits::unsigned(32, u128::from(address));
        let matches = vec![FieldMatch::Lpm { value, prefix_length: length }];
        let arguments = [Bits::unsigned(32, 1), Bits::unsigned(9, 2)];
        add(&switch, "routes", matches, 0, ("via", &arguments));
    }
    let filling = processor_time() - start;
    let known: Vec<_> = known.into_iter().collect();
    for _ in 0..PACKETS.min(4 * entries) {
        let (address, length) = known[random.random_range(0..known.len())];
        let address = address | (random.random_range(0..=u32::MAX) & !(u32::MAX << (32 - length)));
        let mut header = vec![0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1];
        header.extend(address.to_be_bytes());
        let checksum = pipeline::internet_checksum(&header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        packets.push(frame(0x0200_0000_0001, 0x0800, &header));
    }
    (switch, packets, filling)
}
