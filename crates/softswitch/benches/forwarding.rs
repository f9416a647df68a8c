//! The rates at which a switch forwards on each kind of port, on both execution paths, compared
//! with a loop that only moves packets between the same ports.
//!
//!     cargo bench -p softswitch --bench forwarding [--features dpdk] \
//!         [-- [--compiled] [--capacity] KIND...]
//!
//! `--compiled` skips the interpreter. `--capacity` measures only under a flood.
//!
//! A switch with one worker forwards 64-byte frames (60 bytes without the FCS) from one port to
//! another. A generator on another core sends and receives them. On veth, the generator's core also
//! does the kernel's receive work. The figures are:
//!
//! * `flooded`: the rate that comes through when more is offered.
//! * `loss-free`: the highest rate in a search at which no packet is lost.
//! * latency: the time of single packets, from before the generator's send call until the generator
//!   sees the packet again.
//! * `capacity`: the number of packets that the forwarding thread processes per second of its
//!   processor time while it is flooded. Other load on the machine changes this figure little. It
//!   includes polling that finds no packet, and the bare loop polls as often as the switch does
//!   before it waits.
//! * `of bare`: the capacity as a share of the bare loop's capacity in the same trial.
//!
//! The bare loop receives and transmits without looking at packets. The loop called `by hand`
//! routes without P4: the gap between these two loops is the cost of routing itself and not of P4.
//! Each trial measures all forwarders, on freshly opened ports. A figure is the median of the
//! trials, followed by the lowest and the highest. The benchmark only reports; no figure makes it
//! fail.

#[path = "support/by_hand.rs"]
mod by_hand;
#[path = "../../packetio/benches/ports/kinds.rs"]
mod kinds;
#[path = "../../packetio/benches/ports/measure.rs"]
#[expect(dead_code, reason = "parts that only the benchmark of the ports uses")]
mod measure;
#[path = "../../packetio/tests/interfaces/namespace.rs"]
#[expect(dead_code, reason = "parts that only the tests use")]
mod namespace;
#[path = "support/threads.rs"]
mod threads;

use by_hand::{Router, pass_on};
use kinds::Kind;
use measure::{Bench, flooded, latency, loss_free};
use p4lang::device_config::{from_device_config, to_pipeline_config};
use packetio::{BURST, Burst, Port, Queue};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use softswitch::{DeviceConfig, Log, Options, Path, Segments, Switch, V1ModelSettings};
use statistics::Spread;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const TRIALS: usize = 5;
const PROBES: usize = 2_000;

/// A program that forwards by the destination MAC address.
const L2: &str = r#"
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { ethernet_t ethernet; } struct meta { }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { b.extract(h.ethernet); transition accept; }
}
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    action forward(bit<9> port) { s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    table stations {
        key = { h.ethernet.dst: exact; }
        actions = { forward; drop; }
        default_action = drop();
        const entries = { 0x020000000001: forward(2); 0x020000000002: forward(1); }
    }
    apply { stations.apply(); }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) { apply { b.emit(h.ethernet); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

/// A program that routes IPv4: longest-prefix match, new addresses, TTL and checksum. It drops
/// packets with a wrong checksum.
const L3: &str = r#"
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length; bit<16> id; bit<3> flags;
    bit<13> offset; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}
struct headers { ethernet_t ethernet; ipv4_t ipv4; } struct meta { }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        b.extract(h.ethernet);
        transition select(h.ethernet.type) { 0x800: ipv4; default: accept; }
    }
    state ipv4 { b.extract(h.ipv4); transition accept; }
}
control v(inout headers h, inout meta m) {
    apply {
        verify_checksum(h.ipv4.isValid(), { h.ipv4.version, h.ipv4.ihl, h.ipv4.tos, h.ipv4.length,
            h.ipv4.id, h.ipv4.flags, h.ipv4.offset, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src,
            h.ipv4.dst }, h.ipv4.checksum, HashAlgorithm.csum16);
    }
}
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    action route(bit<48> next, bit<9> port) {
        s.egress_spec = port;
        h.ethernet.src = h.ethernet.dst;
        h.ethernet.dst = next;
        h.ipv4.ttl = h.ipv4.ttl - 1;
    }
    action drop() { mark_to_drop(s); }
    table routes {
        key = { h.ipv4.dst: lpm; }
        actions = { route; drop; }
        default_action = drop();
        const entries = {
            0x0a000000 &&& 0xff000000: route(0x020000000009, 1);
            0x0a010000 &&& 0xffff0000: route(0x020000000008, 1);
            0x0a010200 &&& 0xffffff00: route(0x020000000007, 2);
        }
    }
    apply {
        if (s.checksum_error == 0 && h.ipv4.isValid() && h.ipv4.ttl > 1) { routes.apply(); }
        else { drop(); }
    }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control k(inout headers h, inout meta m) {
    apply {
        update_checksum(h.ipv4.isValid(), { h.ipv4.version, h.ipv4.ihl, h.ipv4.tos, h.ipv4.length,
            h.ipv4.id, h.ipv4.flags, h.ipv4.offset, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src,
            h.ipv4.dst }, h.ipv4.checksum, HashAlgorithm.csum16);
    }
}
control d(packet_out b, in headers h) { apply { b.emit(h.ethernet); b.emit(h.ipv4); } }
V1Switch(p(), v(), i(), e(), k(), d()) main;
"#;

/// The forwarder that a measurement uses.
#[derive(Clone, Copy)]
enum Forwarder {
    Bare,
    /// The behaviour of [`L3`] with its entries, written by hand.
    ByHand,
    Switch {
        program: &'static str,
        path: Path,
    },
}

impl Forwarder {
    const ALL: [(&str, Self); 6] = [
        ("bare loop", Self::Bare),
        ("L3, by hand", Self::ByHand),
        ("L2, interpreter", Self::Switch { program: L2, path: Path::Interpreter }),
        ("L3, interpreter", Self::Switch { program: L3, path: Path::Interpreter }),
        ("L2, compiled", Self::Switch { program: L2, path: Path::Compiled }),
        ("L3, compiled", Self::Switch { program: L3, path: Path::Compiled }),
    ];
}

fn main() {
    println!(
        "{TRIALS} trials; thousands of packets per second; latency in microseconds, {PROBES} packets"
    );
    println!(
        "{:<14} {:<16}  {:>20}  {:>16}  {:>20}  {:>20}  {:>16}  {:>16}",
        "ports", "forwarder", "capacity", "of bare", "flooded", "loss-free", "latency p50", "p99"
    );
    for kind in kinds::wanted() {
        measured(kind);
    }
}

/// Measures all forwarders in each trial.
fn measured(kind: &Kind) {
    let mut figures: [[Vec<f64>; 6]; Forwarder::ALL.len()] = Default::default();
    let without_interpreter = std::env::args().any(|word| word == "--compiled");
    let is_left_out = |forwarder: Forwarder| {
        without_interpreter
            && matches!(forwarder, Forwarder::Switch { path: Path::Interpreter, .. })
    };
    for _ in 0..TRIALS {
        let mut bare = f64::NAN;
        for ((_, forwarder), figures) in Forwarder::ALL.iter().zip(&mut figures) {
            if is_left_out(*forwarder) {
                continue;
            }
            let trial = kind.with_ports(|ports| through(*forwarder, ports));
            let Some(values) = trial else { return };
            if matches!(forwarder, Forwarder::Bare) {
                bare = values[0];
            }
            let [capacity, flooded, loss_free, p50, p99] = values;
            let share = 100.0 * capacity / bare;
            for (figure, value) in
                figures.iter_mut().zip([capacity, share, flooded, loss_free, p50, p99])
            {
                figure.push(value);
            }
        }
    }
    for ((name, forwarder), figures) in Forwarder::ALL.iter().zip(figures) {
        if is_left_out(*forwarder) {
            continue;
        }
        let [capacity, share, flooded, free, p50, p99] = figures.map(|values| {
            let spread = Spread::of(&values).filter(|spread| !spread.median.is_nan());
            spread.map_or_else(|| "-".to_owned(), |spread| spread.to_string())
        });
        println!(
            "{:<14} {name:<16}  {capacity:>20}  {share:>14} %  {flooded:>20}  {free:>20}  {p50:>16}  {p99:>16}",
            kind.name
        );
    }
}

/// Returns the capacity, the flooded rate and the loss-free rate in thousands per second, and the
/// latencies.
fn through(forwarder: Forwarder, ports: [Port; 4]) -> [f64; 5] {
    let [send, receive, transmit, count] = ports;
    let (program, path) = match forwarder {
        Forwarder::Bare => return measured_loop([send, count], [receive, transmit], pass_on),
        Forwarder::ByHand => {
            let mut router = Router::new();
            let route = move |burst: &Burst, queue: &mut dyn Queue| router.route(burst, queue);
            return measured_loop([send, count], [receive, transmit], route);
        }
        Forwarder::Switch { program, path } => (program, path),
    };
    let compiled = from_device_config(program.as_bytes()).expect("it compiles");
    let device = DeviceConfig {
        queues: Default::default(),
        id: 1,
        cpu_port: 255,
        path,
        v1model: V1ModelSettings::default(),
        pipeline: Some(to_pipeline_config(&compiled).expect("it has a P4Info")),
        updates: Vec::new(),
        state: None,
        durability: softswitch::Durability::default(),
        check_references: false,
        takes_injections: false,
        ports: vec![(1, receive), (2, transmit)],
    };
    let address = "127.0.0.1:0".parse().expect("an address");
    let options = Options {
        address,
        tls: None,
        workers: 1,
        metrics: None,
        thrift: None,
        limits: softswitch::SwitchLimits::default(),
        log: Log::off(),
        segments: Segments::default(),
        pushes: softswitch::Pushes::default(),
        numbers: softswitch::GivenNumbers::new(),
    };
    let switch = Switch::start(options, vec![device]).expect("it starts");
    let done = || (switch.state()[0].packets.received, threads::ran("worker-0"));
    figures(&mut Bench::around([send, count], done))
}

/// Returns the figures of a loop that receives and hands over bursts, and waits like a worker if no
/// packet arrives.
fn measured_loop(
    outer: [Port; 2],
    inner: [Port; 2],
    hand_over: impl FnMut(&Burst, &mut dyn Queue) + Send,
) -> [f64; 5] {
    let [receive, transmit] = inner.map(|mut port| port.queues.remove(0));
    let (stop, packets) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let forwarder = std::thread::Builder::new().name("by-itself".to_owned());
        let started = forwarder
            .spawn_scoped(scope, || forward(receive, transmit, hand_over, (&packets, &stop)));
        started.expect("a thread");
        let done = || (packets.load(Ordering::Relaxed), threads::ran("by-itself"));
        let figures = figures(&mut Bench::around(outer, done));
        stop.store(true, Ordering::Relaxed);
        figures
    })
}

fn forward(
    mut receive: Box<dyn Queue>,
    mut transmit: Box<dyn Queue>,
    mut hand_over: impl FnMut(&Burst, &mut dyn Queue),
    (packets, stop): (&AtomicU64, &AtomicBool),
) {
    /// These values are those of the switch's worker.
    const ROUNDS: u32 = 16;
    const ROUNDS_UNANNOUNCED: u32 = 1024;
    const SHORT_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000 };
    let (mut burst, mut idle) = (Burst::new(BURST), 0);
    while !stop.load(Ordering::Relaxed) {
        burst.clear();
        let count = receive.receive(&mut burst).unwrap_or(0);
        hand_over(&burst, &mut *transmit);
        transmit.flush();
        packets.fetch_add(count as u64, Ordering::Relaxed);
        idle = if count > 0 { 0 } else { idle + 1 };
        let descriptor = receive.descriptor();
        if idle > if descriptor.is_some() { ROUNDS } else { ROUNDS_UNANNOUNCED } {
            let input =
                descriptor.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
            // The result of `poll` does not matter: the next round looks at the queue itself.
            let _ = poll(input.into_iter().collect::<Vec<_>>().as_mut_slice(), Some(&SHORT_WAIT));
            idle = 0;
        }
    }
}

fn figures(bench: &mut Bench<'_>) -> [f64; 5] {
    bench.set_packet(ipv4());
    let (peak, capacity) = flooded(bench);
    if std::env::args().any(|word| word == "--capacity") {
        return [capacity / 1e3, peak / 1e3, f64::NAN, f64::NAN, f64::NAN];
    }
    let (p50, p99) = latency(bench, PROBES);
    [capacity / 1e3, peak / 1e3, loss_free(bench, peak) / 1e3, p50, p99]
}

/// Returns a packet from 10.9.9.9 to 10.1.2.3, which both programs send to port 2.
fn ipv4() -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let header = [0x45, 0, 0, 46, 0, 1, 0, 0, 64, 253, 0, 0, 10, 9, 9, 9, 10, 1, 2, 3];
    packet.extend(header);
    packet.resize(60, 0x55);
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    packet[24..26].copy_from_slice(&checksum.to_be_bytes());
    packet
}
