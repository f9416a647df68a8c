//! How fast a switch forwards: on veth, and between lines in memory.
//!
//!     cargo bench -p softswitch --bench forwarding
//!
//! A switch with one worker forwards 64 B frames (60 without the FCS) from one port to another; a
//! generator on another core sends them and takes them in. On veth the generator's core also does
//! the kernel's work of receiving. `flooded` is what comes through when more is sent than that;
//! `loss-free` is the highest rate of a search at which nothing is lost; latency is that of single
//! packets, from before the generator's call to after it sees the packet. Each figure is the median
//! of the trials, with the lowest and the highest behind it. What the bare ports do says
//! `cargo bench -p packetio --bench ports`. Nothing passes or fails here.

#[path = "../../packetio/benches/ports/measure.rs"]
#[expect(dead_code, reason = "what only the benchmark of the ports needs")]
mod measure;
#[path = "../../packetio/tests/interfaces/namespace.rs"]
#[expect(dead_code, reason = "what only the tests need")]
mod namespace;

use measure::{Bench, flooded, latency, loss_free};
use namespace::Namespace;
use packetio::{Port, af_packet, memory};
use softswitch::program::{from_device_config, to_pipeline_config};
use softswitch::{DeviceConfig, Log, Options, Path, Switch};
use statistics::Spread;

const TRIALS: usize = 5;
const PROBES: usize = 2_000;

/// Forwards by the destination address.
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

/// Routes IPv4: longest prefix, new addresses, time to live, checksum.
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
    apply { if (h.ipv4.isValid() && h.ipv4.ttl > 1) { routes.apply(); } else { drop(); } }
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

fn main() {
    println!(
        "{TRIALS} trials; thousands of packets per second; latency in microseconds, {PROBES} packets"
    );
    println!(
        "{:<16} {:<12}  {:>20}  {:>20}  {:>18}  {:>18}",
        "ports", "program", "flooded", "loss-free", "latency p50", "p99"
    );
    for (name, source, packet) in [("L2, exact", L2, ethernet(0x88b5)), ("L3, prefix", L3, ipv4())]
    {
        let [send, receive] = memory::line("there", 4_096);
        let [transmit, count] = memory::line("back", 4_096);
        let (ports, same) = ([send, receive, transmit, count], packet.clone());
        // In a thread of its own, which the generator keeps on one core.
        let measured_there =
            std::thread::spawn(move || measured("memory", name, source, ports, same));
        measured_there.join().expect("it does not panic");
        let Some(namespace) = Namespace::new() else { continue };
        namespace.link("send", &namespace, "receive", 1500);
        namespace.link("transmit", &namespace, "count", 1500);
        namespace.run(|| {
            let ports =
                ["send", "receive", "transmit", "count"].map(|port| af_packet::open(port, 1));
            match ports.into_iter().collect::<Result<Vec<_>, _>>() {
                Ok(ports) => {
                    let ports = ports.try_into().unwrap_or_else(|_| unreachable!("there are four"));
                    measured("veth, af_packet", name, source, ports, packet);
                }
                Err(error) => println!("SKIPPED: {error}"),
            }
        });
    }
}

fn measured(ports: &str, program: &str, source: &str, opened: [Port; 4], packet: Vec<u8>) {
    let [send, receive, transmit, count] = opened;
    let compiled = from_device_config(source.as_bytes()).expect("it compiles");
    let device = DeviceConfig {
        id: 1,
        cpu_port: 255,
        path: Path::Interpreter,
        pipeline: Some(to_pipeline_config(&compiled).expect("it has a P4Info")),
        updates: Vec::new(),
        state: None,
        ports: vec![(1, receive), (2, transmit)],
    };
    let address = "127.0.0.1:0".parse().expect("an address");
    let options = Options { address, tls: None, workers: 1, metrics: None, log: Log::off() };
    let _switch = Switch::start(options, vec![device]).expect("it starts");
    let mut bench = Bench::around([send, count]);
    bench.set_packet(packet);
    let mut figures: [Vec<f64>; 4] = Default::default();
    for _ in 0..TRIALS {
        let (peak, _) = flooded(&mut bench);
        let (p50, p99) = latency(&mut bench, PROBES);
        let values = [peak / 1e3, loss_free(&mut bench, peak) / 1e3, p50, p99];
        for (figure, value) in figures.iter_mut().zip(values) {
            figure.push(value);
        }
    }
    let [peak, free, p50, p99] = figures.map(|values| Spread::of(&values).expect("trials"));
    println!("{ports:<16} {program:<12}  {peak:>20}  {free:>20}  {p50:>18}  {p99:>18}");
}

fn ethernet(kind: u16) -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    packet.extend_from_slice(&kind.to_be_bytes());
    packet.resize(60, 0x55);
    packet
}

/// From 10.9.9.9 to 10.1.2.3.
fn ipv4() -> Vec<u8> {
    let mut packet = ethernet(0x800);
    let header = [0x45, 0, 0, 46, 0, 1, 0, 0, 64, 253, 0, 0, 10, 9, 9, 9, 10, 1, 2, 3];
    packet[14..34].copy_from_slice(&header);
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    packet[24..26].copy_from_slice(&checksum.to_be_bytes());
    packet
}
