//! Tests that generated code accesses no memory outside the packet, the frame and the output
//! buffer.
//!
//! These are placed between guard pages, so an access beyond them kills the process of the test.

#[allow(dead_code, reason = "programs are not made smaller here")]
#[path = "../../tests/compiled/differential/grammar.rs"]
mod grammar;

use super::Compiled;
use super::context::{Context, flow};
use super::host::Host;
use super::tables::{Inside, Joined};
use crate::interpreter::{Interpreter, Scratch};
use crate::switch::Switch;
use p4lang::preprocess::{MemoryFiles, Options};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::ffi::{c_int, c_void};
use std::time::Duration;

// SAFETY: these are the POSIX signatures on 64-bit machines.
unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        length: usize,
        may: c_int,
        how: c_int,
        file: c_int,
        from: i64,
    ) -> *mut c_void;
    fn mprotect(at: *mut c_void, length: usize, may: c_int) -> c_int;
    fn munmap(at: *mut c_void, length: usize) -> c_int;
}

const NOTHING: c_int = 0;
const READ_AND_WRITE: c_int = 3;
const PRIVATE_AND_ANONYMOUS: c_int = 0x22;
const PAGE: usize = 4096;

/// The guard page that the tested memory touches. Only one of the two guard pages can, unless the
/// length of the memory is a multiple of the page size.
#[derive(Clone, Copy)]
enum Edge {
    /// The guard page before the tested memory.
    Begin,
    /// The guard page after the tested memory.
    End,
}

/// Memory between two guard pages. Any access to a guard page is a segmentation fault.
struct Guarded {
    pages: *mut u8,
    inner: usize,
    begin: usize,
    length: usize,
}

impl Guarded {
    fn new(length: usize, edge: Edge) -> Self {
        let inner = length.max(1).next_multiple_of(PAGE);
        // SAFETY: the call maps new pages at an address that the system chooses, and so affects no
        // other memory.
        let pages = unsafe {
            mmap(std::ptr::null_mut(), inner + 2 * PAGE, NOTHING, PRIVATE_AND_ANONYMOUS, -1, 0)
        };
        assert!(pages as isize != -1, "no memory");
        let pages: *mut u8 = pages.cast();
        // SAFETY: the range is that of the new pages without the first and the last, and nothing
        // refers to it yet.
        let done = unsafe { mprotect(pages.add(PAGE).cast(), inner, READ_AND_WRITE) };
        assert_eq!(done, 0, "memory cannot be used");
        let begin = match edge {
            Edge::Begin => PAGE,
            Edge::End => PAGE + inner - length,
        };
        Self { pages, inner, begin, length }
    }

    fn pointer(&self) -> *mut u8 {
        // SAFETY: `begin` is an offset inside the mapping.
        unsafe { self.pages.add(self.begin) }
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the pages hold `length` bytes starting at this address, which may be read and
        // written, are initialised with zeros, and are borrowed with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.length) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: `new` mapped exactly this range, and no reference to it remains.
        unsafe { munmap(self.pages.cast(), self.inner + 2 * PAGE) };
    }
}

/// Runs the blocks of a program in order until one ends with a fault, and returns how many blocks
/// ended normally. If the program has packed tables, the calling thread becomes one of the workers
/// that use the tables. The packet's memory touches the guard page `edge`.
fn run(code: &Compiled, switch: &Switch, packet: &[u8], edge: Edge) -> usize {
    if code.resolved.packed.is_empty() {
        return blocks(code, switch, packet, edge, None);
    }
    let mut joined = None;
    let joined =
        Joined::of(&mut joined, &code.resolved, &switch.state).expect("a place at the tables");
    joined.inside(&switch.state, |inside| blocks(code, switch, packet, edge, Some(inside)))
}

/// Runs the blocks with all of their memory between guard pages. See [`run`] for the result.
fn blocks(
    code: &Compiled,
    switch: &Switch,
    packet: &[u8],
    edge: Edge,
    inside: Option<&mut Inside<'_>>,
) -> usize {
    let mut frame = Guarded::new(code.frame_size(), edge);
    let mut input = Guarded::new(packet.len(), edge);
    input.bytes().copy_from_slice(packet);
    let room = code.resolved.emitted as usize;
    let output = Guarded::new(room, edge);
    let mut scratch = Scratch::new(1);
    let mut interpreter =
        Interpreter::new(&switch.layout, &switch.state, &mut scratch, None, Duration::ZERO)
            .expect("a machine");
    let (mut key, mut data) = (Vec::new(), Vec::new());
    let mut host = Host::new(&code.resolved, switch, Duration::ZERO, (&mut key, &mut data));
    host.received_length = packet.len() as u64;
    interpreter.load_packet(packet.to_vec());
    let mut context = Context::new(1_000_000, Duration::ZERO, &switch.state.arrays);
    if let Some(inside) = inside {
        context.set_tables(inside);
    }
    context.packet = input.pointer();
    context.length = packet.len() as u64;
    let mut ran = 0;
    for position in 0..code.resolved.blocks.len() {
        interpreter.set_in_parser(position == 0);
        // Headers that the interpreter emits would go to another buffer, but no deparser of these
        // programs has statements that are interpreted.
        context.emitted = output.pointer();
        context.emitted_length = 0;
        context.set_host(&mut host);
        context.set_interpreter(&mut interpreter);
        // SAFETY: the frame and the output are as long as the resolved program says, the packet is
        // as long as the context says, and the host and the interpreter outlive the call.
        let how = unsafe { code.machine_code.run(position, frame.pointer(), &mut context) };
        assert!(usize::try_from(context.emitted_length).is_ok_and(|emitted| emitted <= room));
        ran += usize::from(how == flow::NEXT);
        if how == flow::FAULT {
            break;
        }
    }
    frame.bytes().fill(0);
    ran
}

#[test]
fn code_stays_in_packet_frame_and_output() {
    let mut ran = 0;
    for seed in 0..12 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let source = grammar::Source::new(&mut |resolved| random.random_range(0..resolved.max(1)));
        let text = source.text();
        let compiled =
            p4lang::compile_text("guarded.p4", &text, &Options::default(), &MemoryFiles::default());
        let switch = Switch::new(compiled.program.expect("a program")).expect("a switch");
        let code = Compiled::new(&switch).expect("code");
        for length in 0..160 {
            let first = random.random_range(0..8) << 4 | random.random_range(0..10);
            let mut packet: Vec<u8> = (0..length).map(|_| random.random_range(0..3)).collect();
            packet.first_mut().into_iter().for_each(|byte| *byte = first);
            let edge = if length % 2 == 0 { Edge::Begin } else { Edge::End };
            ran += run(&code, &switch, &packet, edge);
        }
    }
    assert!(ran > 1000, "only {ran} blocks ran to their end");
}

/// A program that adds, removes and changes headers, with fields at the end of the packet for which
/// a whole-word load would read beyond it.
const BURSTS: &str = "#include <core.p4>
#include <v1model.p4>
header A { bit<8> kind; bit<3> few; bit<45> many; } header T { bit<24> tag; }
struct H { T tag; A a; A b; } struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.a); transition select(h.a.kind[0:0]) { 1: b; default: accept; } }
    state b { p.extract(h.b); transition select(h.b.many) { 45w0x5a5a5a5a5a5: more; default: accept; } }
    state more { transition accept; } }
control V(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action none() { }
    table first { key = { h.a.many: exact; } actions = { none; } default_action = none(); }
    table second { key = { h.b.many: exact; h.b.few: exact; } actions = { none; } default_action = none(); }
    apply { first.apply(); second.apply();
    h.a.many = h.b.many + 1; h.b.few = h.a.few;
    if (h.a.kind[1:1] == 1) { h.tag.setValid(); h.tag.tag = 0xabcdef; }
    if (h.a.kind[2:2] == 1) { h.b.setInvalid(); }
    if (h.a.kind[3:3] == 1) { h.b = h.a; } } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control C(inout H h, inout M m) { apply {} }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;";

#[test]
fn bursts_read_nothing_beyond_their_packets_and_give_the_same_in_all_ways() {
    let compiled =
        p4lang::compile_text("bursts.p4", BURSTS, &Options::default(), &MemoryFiles::default());
    let mut switch = Switch::new(compiled.program.expect("a program")).expect("a switch");
    let mut code = Compiled::new(&switch).expect("code");
    assert_eq!(code.one_by_one(), None);
    assert_eq!(code.machine_code.prefetched.len(), 2);
    let mut worker = crate::switch::Processor::with_seed(1);
    let mut batch = super::Batch::default();
    for length in (0..140).chain([255, 256, 257, 300, 1500]) {
        for edge in [Edge::Begin, Edge::End] {
            let mut inputs: Vec<Guarded> = (0..16).map(|_| Guarded::new(length, edge)).collect();
            for (kind, input) in inputs.iter_mut().enumerate() {
                input.bytes().fill(0xa5);
                input.bytes().first_mut().into_iter().for_each(|byte| *byte = kind as u8);
            }
            let packets: Vec<(u32, &[u8])> =
                inputs.iter_mut().map(|input| (0, &*input.bytes())).collect();
            let expected = packets.iter().map(|(port, packet)| {
                let outputs = switch.process(*port, packet, Duration::ZERO).expect("a packet");
                outputs.into_iter().map(|output| output.packet).collect::<Vec<_>>()
            });
            let expected: Vec<Vec<u8>> = expected.flatten().collect();
            // The fused function runs first without prefetches and then with them. With a clock for
            // the stages, the parser stage and the second stage run one after the other.
            let clock: fn() -> u64 = || 0;
            for (prefetch_threshold, clock) in
                [(u64::MAX, None), (0, None), (u64::MAX, Some(clock))]
            {
                code.prefetch_threshold = prefetch_threshold;
                worker.time_stages(clock);
                code.process_batch(&switch, &mut worker, &packets, Duration::ZERO, &mut batch);
                let sent: Vec<&[u8]> = batch.sent().map(|(_, _, bytes)| bytes).collect();
                assert_eq!(sent, expected, "packets of {length} bytes");
            }
        }
    }
}

/// Tests that the guard pages work: a process that reads beyond guarded memory is killed by a
/// signal.
#[test]
fn who_reads_beyond_guarded_memory_is_stopped() {
    const NAME: &str = "compiled::guarded::who_reads_beyond_guarded_memory_is_stopped";
    if std::env::var_os("PLANIMETER_READ_BEYOND").is_some() {
        let memory = Guarded::new(100, Edge::End);
        // SAFETY: the read is deliberately invalid; it hits the guard page, which ends this
        // process.
        let byte = unsafe { memory.pointer().add(100).read_volatile() };
        panic!("there was {byte} beyond the memory");
    }
    let test = std::env::current_exe().expect("this test");
    let output = std::process::Command::new(test)
        .args([NAME, "--exact"])
        .env("PLANIMETER_READ_BEYOND", "1")
        .output()
        .expect("the process");
    // A process that ends by a signal has no exit code.
    assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stdout));
}
