//! Tests that two workers share the ports: all packets pass and each flow stays in order, on both
//! execution paths.

#[path = "../../packetio/tests/interfaces/namespace.rs"]
#[expect(dead_code, reason = "parts that only the tests of the ports use")]
mod namespace;

use namespace::Namespace;
use p4lang::device_config::{from_device_config, to_pipeline_config};
use packetio::{Burst, Frame, Port, Queue, Transmitted, af_packet};
use softswitch::{DeviceConfig, Log, Options, Path, Segments, Switch, V1ModelSettings};
use std::time::{Duration, Instant};

const FLOWS: u16 = 32;
const ROUNDS: u16 = 200;
/// The maximum number of packets in flight, fewer than any queue holds.
const UNDER_WAY: usize = 256;
const TIMEOUT: Duration = Duration::from_secs(20);

const PROGRAM: &str = r#"
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
        const entries = { 0x020000000001: forward(2); }
    }
    apply { stations.apply(); }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) { apply { b.emit(h.ethernet); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

#[test]
fn the_interpreter_keeps_each_flow_in_its_order() {
    flows_pass_in_their_order(Path::Interpreter);
}

#[test]
fn machine_code_keeps_each_flow_in_its_order() {
    flows_pass_in_their_order(Path::Compiled);
}

fn flows_pass_in_their_order(path: Path) {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("send", &namespace, "receive", 1500);
    namespace.link("transmit", &namespace, "count", 1500);
    namespace.run(|| {
        let open = |name, queues| af_packet::open(name, queues).expect("an interface");
        let (mut send, mut count) = (open("send", 1), open("count", 1));
        let _switch = switch(path, open("receive", 2), open("transmit", 2));
        let mut next = [0; FLOWS as usize];
        let mut received = 0;
        for (number, (round, flow)) in
            (0..ROUNDS).flat_map(|round| (0..FLOWS).map(move |flow| (round, flow))).enumerate()
        {
            transmit(&mut *send.queues[0], &packet(flow, round));
            take(&mut count, &mut next, &mut received, number.saturating_sub(UNDER_WAY));
        }
        take(&mut count, &mut next, &mut received, usize::from(FLOWS * ROUNDS));
        assert_eq!(next, [ROUNDS; FLOWS as usize]);
    });
}

fn switch(path: Path, receive: Port, transmit: Port) -> Switch {
    let compiled = from_device_config(PROGRAM.as_bytes()).expect("it compiles");
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
        // The input port is attached last, since ports are attached in this order and packets
        // arrive at the same time.
        ports: vec![(2, transmit), (1, receive)],
    };
    let address = "127.0.0.1:0".parse().expect("an address");
    let options = Options {
        address,
        tls: None,
        workers: 2,
        metrics: None,
        thrift: None,
        limits: softswitch::SwitchLimits::default(),
        log: Log::off(),
        segments: Segments::default(),
        pushes: softswitch::Pushes::default(),
        numbers: softswitch::GivenNumbers::new(),
    };
    Switch::start(options, vec![device]).expect("it starts")
}

/// Returns a UDP datagram from 10.0.0.1 to 10.0.0.2 whose source port identifies the flow.
fn packet(flow: u16, round: u16) -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    packet.extend([0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0x26, 0xbd, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend((1000 + flow).to_be_bytes());
    packet.extend([0x07, 0xd0, 0, 26, 0, 0]);
    packet.extend(round.to_be_bytes());
    packet.resize(60, 0);
    packet
}

fn transmit(queue: &mut dyn Queue, packet: &[u8]) {
    assert_eq!(queue.transmit(packet), Transmitted::Taken);
    queue.flush();
}

/// Receives packets until `until` have arrived. Each must be the next of its flow.
fn take(port: &mut Port, next: &mut [u16], received: &mut usize, until: usize) {
    let start = Instant::now();
    let mut burst = Burst::new(64);
    while *received < until {
        assert!(start.elapsed() < TIMEOUT, "{received} of {until} packets came");
        burst.clear();
        port.queues[0].receive(&mut burst).expect("the port is up");
        for bytes in burst.frames().iter().map(Frame::bytes) {
            let number = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
            let (flow, round) = (usize::from(number(34) - 1000), number(42));
            assert_eq!(round, next[flow], "flow {flow}");
            next[flow] += 1;
            *received += 1;
        }
    }
}
