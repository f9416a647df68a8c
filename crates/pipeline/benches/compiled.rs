//! Measures the packets per second of a program as machine code and on the interpreter, and the
//! time that it takes to generate the code. Everything runs on one core, in one run.
//!
//!     cargo bench -p pipeline --bench compiled --
//!         [--repetitions N] [--packets N] [--entries N] [--only PROGRAM]
//!
//! Three programs of v1model get packets of 84 bytes, which hit random entries:
//!
//! * `parse` extracts Ethernet and IPv4, decrements the time to live and sends the packet. It has
//!   no table.
//! * `l2` looks the destination up in an exact table.
//! * `l3` looks the address up by longest prefix, then the next hop in an exact table.
//!
//! These packets are processed one by one, and the outputs are discarded. Before the measurement,
//! both paths must have the same outputs for all packets. The paths take turns within each
//! repetition. A rate is per second of the thread's processor time: the least, the median and the
//! greatest of the repetitions.
//!
//! With `update`, each packet exchanges a value with a random one of n entries. Packets go in
//! batches of 32, are copied in together with their keys, and are copied out. The row `limit` does
//! this by hand, without a program: it copies a packet in, parses it, updates its entry in a packed
//! table of the same kind (crate `planimeter-tables`), and writes the packet back. Without
//! `--entries`, n is 2^16 and then 2^20.
//!
//! The module `programs` has realistic programs. They have 2^20 entries, or the number that
//! `--entries` sets. `--only programs` runs them alone.

#[path = "compiled/programs.rs"]
mod programs;

use ir::Program;
use ir::bits::Bits;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::{Batch, Compiled, EntryAction, FieldMatch, Output, Processor, Switch, TableEntry};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::time::Duration;

/// The length of a packet in bytes.
const LENGTH: usize = 84;
/// The number of different packets.
const PACKETS: usize = 1024;

const HEAD: &str = "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header ethernet_t { bit<48> destination; bit<48> source; bit<16> ether_type; }
header ipv4_t { bit<4> version; bit<4> length; bit<8> service; bit<16> total; bit<16> id; bit<3> flags;
    bit<13> fragment; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination; }
struct H { ethernet_t ethernet; ipv4_t ipv4; }
struct M { bit<32> next_hop; }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { b.extract(h.ethernet);
        transition select(h.ethernet.ether_type) { 0x0800: ipv4; default: accept; } }
    state ipv4 { b.extract(h.ipv4); transition accept; }
}
control V(inout H h, inout M m) { apply {} }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control C(inout H h, inout M m) { apply {} }
control D(packet_out b, in H h) { apply { b.emit(h.ethernet); b.emit(h.ipv4); } }
";

const PARSE: &str = "apply {
    if (h.ipv4.isValid() && h.ipv4.ttl > 1) { h.ipv4.ttl = h.ipv4.ttl - 1; s.egress_spec = 1; }
    else { mark_to_drop(s); } }";

const L2: &str = "action forward(bit<9> port) { s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    table l2 { key = { h.ethernet.destination: exact; } actions = { forward; drop; }
        default_action = drop(); size = 1048576; }
    apply { l2.apply(); }";

const L3: &str = "action drop() { mark_to_drop(s); }
    action route(bit<32> next_hop, bit<9> port) {
        m.next_hop = next_hop; s.egress_spec = port; h.ipv4.ttl = h.ipv4.ttl - 1; }
    action rewrite(bit<48> source, bit<48> destination) {
        h.ethernet.source = source; h.ethernet.destination = destination; }
    table routes { key = { h.ipv4.destination: lpm; } actions = { route; drop; }
        default_action = drop(); size = 1048576; }
    table next_hops { key = { m.next_hop: exact; } actions = { rewrite; drop; } default_action = drop(); }
    apply {
        if (h.ipv4.isValid() && h.ipv4.ttl > 1) { if (routes.apply().hit) { next_hops.apply(); } }
        else { mark_to_drop(s); } }";

const UPDATE: &str = "action drop() { mark_to_drop(s); }
    action exchange(@__ref bit<32> value) { bit<32> old = value; value = h.ipv4.source; h.ipv4.source = old; }
    @tableconfig(impl = \"dpdk\")
    table values { key = { h.ipv4.destination: exact; } actions = { @tableonly exchange; @defaultonly drop; }
        const default_action = drop(); size = 1048576; }
    apply { s.egress_spec = s.ingress_port; values.apply(); }";

/// The number of packets in a batch.
const BATCH: usize = 32;
/// The number of keys that are drawn before the measurement.
const KEYS: usize = 1 << 20;

struct Arguments {
    repetitions: usize,
    packets: usize,
    entries: u32,
    /// The numbers of entries of the programs that update an entry with each packet.
    updated: Vec<u32>,
    /// The only program that is run. All programs run without it.
    only: Option<String>,
}

impl Arguments {
    fn parse() -> Result<Self, String> {
        let updated = vec![1 << 16, 1 << 20];
        let (repetitions, packets, entries) = (7, 1 << 18, 1 << 10);
        let mut found = Self { repetitions, packets, entries, updated, only: None };
        let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
        while let Some(word) = words.next() {
            if word == "--only" {
                found.only = Some(words.next().ok_or("--only takes the name of a program")?);
                continue;
            }
            let number = words.next().and_then(|number| number.parse::<usize>().ok());
            let number = number.ok_or_else(|| format!("{word} takes a number"))?;
            match word.as_str() {
                "--repetitions" => found.repetitions = number.max(1),
                "--packets" => found.packets = number.max(1),
                "--entries" => {
                    found.entries = u32::try_from(number).unwrap_or(1 << 20).max(1);
                    found.updated = vec![found.entries];
                }
                _ => return Err(format!("no option {word}")),
            }
        }
        Ok(found)
    }

    fn runs(&self, program: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == program)
    }
}

fn compile(ingress: &str) -> Program {
    let text = format!(
        "{HEAD} control I(inout H h, inout M m, inout standard_metadata_t s) {{ {ingress} }}
        V1Switch(P(), V(), I(), E(), C(), D()) main;"
    );
    let compiled =
        p4lang::compile_text("bench.p4", &text, &Options::default(), &MemoryFiles::default());
    compiled.program.expect("the program compiles")
}

fn add(switch: &mut Switch, table: &str, key: FieldMatch, action: &str, arguments: &[u128]) {
    add_entry(switch, table, (vec![key], 0), action, arguments);
}

fn add_entry(
    switch: &mut Switch,
    table: &str,
    (matches, priority): (Vec<FieldMatch>, u32),
    action: &str,
    arguments: &[u128],
) {
    let table = switch.table_named(table).expect("a table");
    let action = switch.action_named(table, action).expect("an action");
    let arguments: Vec<Bits> =
        arguments.iter().map(|argument| Bits::unsigned(128, *argument)).collect();
    let action = EntryAction::Action(switch.action_call(action, &arguments).expect("arguments"));
    let entry = TableEntry { matches, priority, action, idle_timeout: None };
    switch.add_entry(table, entry, Duration::ZERO).expect("an entry");
}

fn fill(switch: &mut Switch, name: &str, entries: u32) {
    for number in 0..entries {
        let number = u128::from(number);
        match name {
            "l2" => {
                let key = FieldMatch::Exact(Bits::unsigned(48, number));
                add(switch, "l2", key, "forward", &[number % 16]);
            }
            "l3" => {
                let value = Bits::unsigned(32, number << 8);
                let key = FieldMatch::Lpm { value, prefix_length: 24 };
                add(switch, "routes", key, "route", &[number % 64, number % 16]);
                if number < 64 {
                    let key = FieldMatch::Exact(Bits::unsigned(32, number));
                    add(switch, "next_hops", key, "rewrite", &[number, number + 1]);
                }
            }
            _ => {}
        }
    }
}

fn packets(entries: u32) -> Vec<Vec<u8>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut packet = || {
        let number: u32 = random.random_range(0..entries);
        let mut bytes = vec![0; LENGTH];
        bytes[2..6].copy_from_slice(&number.to_be_bytes());
        bytes[12..14].copy_from_slice(&[8, 0]);
        bytes[14] = 0x45;
        bytes[22] = 64;
        bytes[30..34].copy_from_slice(&(number << 8).to_be_bytes());
        bytes
    };
    (0..PACKETS).map(|_| packet()).collect()
}

/// Returns the processor time that this thread has used.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Returns the seconds of processor time that this thread has used since `begin`.
fn since(begin: Duration) -> f64 {
    processor_time().saturating_sub(begin).as_secs_f64()
}

/// Returns the least, the median and the greatest of some rates.
fn rates(mut rates: Vec<f64>) -> (f64, f64, f64) {
    rates.sort_by(f64::total_cmp);
    let at = |position: usize| rates.get(position).copied().unwrap_or(0.0);
    (at(0), at(rates.len() / 2), at(rates.len() - 1))
}

/// Batches of packets as they arrive. Each packet is copied from a template and gets the next key.
struct Traffic {
    template: [u8; LENGTH],
    keys: Vec<u32>,
    next: usize,
    buffers: Vec<[u8; LENGTH]>,
}

impl Traffic {
    fn new(entries: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut template = [0; LENGTH];
        template[12..15].copy_from_slice(&[8, 0, 0x45]);
        let keys = (0..KEYS).map(|_| random.random_range(0..entries)).collect();
        Self { template, keys, next: 0, buffers: vec![[0; LENGTH]; BATCH] }
    }

    fn copy_in(&mut self) {
        for buffer in &mut self.buffers {
            buffer.copy_from_slice(&self.template);
            let key = self.keys[self.next % KEYS];
            buffer[26..30].copy_from_slice(&(self.next as u32).to_be_bytes());
            buffer[30..34].copy_from_slice(&key.to_be_bytes());
            self.next += 1;
        }
    }
}

/// Processes a batch with hand-written code, which shows the limit that machine code can reach.
/// Writes the packets that leave into `out`.
fn by_hand(worker: &mut tables::TableWorker, packets: &[[u8; LENGTH]], out: &mut Vec<u8>) {
    let mut keys = [[0; 2]; BATCH];
    for (key, packet) in keys.iter_mut().zip(packets) {
        if packet.len() >= 34 && packet[12..14] == [8, 0] {
            let number = packet[30..34].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
            *key = [number.into(), 0];
        }
    }
    out.clear();
    let mut exchange = |index: usize, hit: &mut tables::Hit<'_>| {
        let start = out.len();
        out.extend_from_slice(&packets[index]);
        let value = hit.parameters_mut();
        out[start + 26..start + 30].copy_from_slice(value);
        value.copy_from_slice(&packets[index][26..30]);
    };
    worker.apply(&keys, &mut exchange);
}

/// Measures and prints the rows of the program that updates an entry with each packet.
fn update(arguments: &Arguments, entries: u32) -> Result<(), String> {
    let mut switch = Switch::new(compile(UPDATE)).map_err(|error| error.to_string())?;
    let settings = tables::TableSettings {
        design: tables::Design::unlocked(tables::Storage::Inline),
        keys: tables::Keys::Exact { bits: 32 },
        parameter_bytes: 4,
        actions: 2,
        writing: 1,
        writes_words: true,
    };
    let table = tables::PackedTable::new(&std::sync::Arc::default(), &settings);
    let table = std::sync::Arc::new(table.map_err(|error| error.to_string())?);
    for number in 0..entries {
        let key = FieldMatch::Exact(Bits::unsigned(32, u128::from(number)));
        add(&mut switch, "values", key, "exchange", &[u128::from(number)]);
        let bytes = number.to_be_bytes();
        table
            .insert(tables::Match::Exact(number.into()), tables::ActionId(0), &bytes)
            .map_err(|error| error.to_string())?;
    }
    let code = Compiled::new(&switch).map_err(|error| error.to_string())?;
    let (mut worker, mut batch) = (Processor::with_seed(0), Batch::default());
    let mut hand = tables::TableWorker::new(&table).map_err(|error| error.to_string())?;
    let mut out = Vec::with_capacity(BATCH * LENGTH);
    let mut run = |traffic: &mut Traffic, batch: &mut Batch| {
        let packets: [(u32, &[u8]); BATCH] =
            std::array::from_fn(|index| (1, traffic.buffers[index].as_slice()));
        code.process_batch(&switch, &mut worker, &packets, Duration::ZERO, batch);
    };
    // All paths must have the same outputs, including the values that earlier packets left.
    let mut traffic = Traffic::new(entries);
    for _ in 0..256 {
        traffic.copy_in();
        run(&mut traffic, &mut batch);
        by_hand(&mut hand, &traffic.buffers, &mut out);
        let sent: Vec<u8> = batch.sent().flat_map(|(_, _, bytes)| bytes).copied().collect();
        assert!(batch.errors().is_empty() && sent == out, "update: not the packets of the limit");
    }
    let (mut compiled, mut limit) = (Vec::new(), Vec::new());
    for _ in 0..arguments.repetitions {
        let batches = arguments.packets.div_ceil(BATCH);
        let rate = |begin| (batches * BATCH) as f64 / since(begin) / 1e6;
        let begin = processor_time();
        for _ in 0..batches {
            traffic.copy_in();
            run(&mut traffic, &mut batch);
            black_box(batch.sent().len());
        }
        compiled.push(rate(begin));
        let begin = processor_time();
        for _ in 0..batches {
            traffic.copy_in();
            by_hand(&mut hand, &traffic.buffers, &mut out);
            black_box(&out);
        }
        limit.push(rate(begin));
    }
    let mut interpreted = Vec::new();
    for _ in 0..arguments.repetitions {
        let count = arguments.packets.div_ceil(16);
        let begin = processor_time();
        for _ in 0..count.div_ceil(BATCH) {
            traffic.copy_in();
            for packet in &traffic.buffers {
                black_box(switch.process(1, packet, Duration::ZERO).is_ok());
            }
        }
        interpreted.push((count.div_ceil(BATCH) * BATCH) as f64 / since(begin) / 1e6);
    }
    println!("update of one of {entries} entries by each packet");
    for (path, found) in [("interpreter", interpreted), ("compiled", compiled), ("limit", limit)] {
        let (least, median, most) = rates(found);
        println!("{:8} {path:12} {least:8.3} {median:8.3} {most:8.3}", "update");
    }
    Ok(())
}

fn main() -> Result<(), String> {
    let arguments = Arguments::parse()?;
    let entries = arguments.entries;
    println!("{LENGTH} B packets, {entries} entries, {} repetitions", arguments.repetitions);
    println!("program  path         packets/s in millions: least, median, most");
    for (name, ingress) in [("parse", PARSE), ("l2", L2), ("l3", L3)] {
        if !arguments.runs(name) {
            continue;
        }
        let program = compile(ingress);
        let mut switch = Switch::new(program).map_err(|error| error.to_string())?;
        fill(&mut switch, name, entries);
        let begin = processor_time();
        let code = Compiled::new(&switch).map_err(|error| error.to_string())?;
        let loading = since(begin);
        let packets = packets(entries);
        let mut worker = Processor::with_seed(0);
        let mut outputs: Vec<Output> = Vec::new();
        for packet in &packets {
            let now = Duration::from_secs(1);
            let expected = switch.process(1, packet, now).map_err(|error| error.to_string())?;
            outputs.clear();
            code.process(&switch, &mut worker, (1, packet), now, &mut outputs)
                .map_err(|error| error.to_string())?;
            assert_eq!(expected, outputs, "{name}");
            assert_eq!(outputs.len(), 1, "{name}: a packet that does not leave");
        }
        let (mut interpreted, mut compiled) = (Vec::new(), Vec::new());
        for _ in 0..arguments.repetitions {
            let count = arguments.packets / 16;
            let begin = processor_time();
            for packet in packets.iter().cycle().take(count) {
                black_box(switch.process(1, packet, Duration::ZERO).is_ok());
            }
            interpreted.push(count as f64 / since(begin) / 1e6);
            let begin = processor_time();
            for packet in packets.iter().cycle().take(arguments.packets) {
                outputs.clear();
                let packet = (1, packet.as_slice());
                let done = code.process(&switch, &mut worker, packet, Duration::ZERO, &mut outputs);
                black_box((done.is_ok(), &outputs));
            }
            compiled.push(arguments.packets as f64 / since(begin) / 1e6);
        }
        for (path, found) in [("interpreter", interpreted), ("compiled", compiled)] {
            let (least, median, most) = rates(found);
            println!("{name:8} {path:12} {least:8.3} {median:8.3} {most:8.3}");
        }
        println!(
            "{name:8} loading      {:.2} ms from the IR to {} bytes of code, frame of {} bytes",
            loading * 1e3,
            code.code_size(),
            code.frame_size(),
        );
    }
    for entries in arguments.updated.iter().filter(|_| arguments.runs("update")) {
        update(&arguments, *entries)?;
    }
    let entries = arguments.updated.last().copied().unwrap_or(1 << 20);
    programs::run(&arguments, entries)
}
