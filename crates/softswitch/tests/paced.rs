//! Tests ports with queues on network interfaces: what leaves, in which order, and with which times
//! of the model. Nothing depends on how fast this machine is.

#[path = "../../packetio/tests/interfaces/namespace.rs"]
#[expect(dead_code, reason = "parts that only the tests of the ports use")]
mod namespace;

use namespace::Namespace;
use p4lang::device_config::{from_device_config, to_pipeline_config};
use packetio::{Burst, Frame, Port, Transmitted, af_packet};
use queues::Configuration;
use softswitch::{
    DeviceConfig, DeviceState, Log, Options, Path, Segments, StartError, Switch, V1ModelSettings,
};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(20);
const PACKETS: u8 = 40;
/// Every fifth packet is urgent.
const URGENT: u8 = 5;
/// A frame of 60 bytes takes 10 ms at 48 kbit/s.
const QUEUES: &str = "port=2 rate=48kbps queues=2 depth=20";

/// The last byte of the source address is the priority. Egress writes the times and depths of the
/// queue behind the Ethernet header.
const PROGRAM: &str = r#"
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header record_t { bit<32> entered; bit<32> waited; bit<16> before; bit<16> left; }
struct headers { ethernet_t ethernet; record_t record; } struct meta { }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { b.extract(h.ethernet); b.extract(h.record); transition accept; }
}
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 2;
        s.priority = (bit<3>) h.ethernet.src;
        if (h.ethernet.dst != 0x020000000001) { mark_to_drop(s); }
    }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        h.record.entered = s.enq_timestamp;
        h.record.waited = s.deq_timedelta;
        h.record.before = (bit<16>) s.enq_qdepth;
        h.record.left = (bit<16>) s.deq_qdepth;
    }
}
control d(packet_out b, in headers h) { apply { b.emit(h); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

#[test]
fn the_interpreter_sends_by_the_model_of_the_queues() {
    packets_leave_by_the_model(Path::Interpreter, 1);
}

#[test]
fn machine_code_sends_by_the_model_of_the_queues() {
    packets_leave_by_the_model(Path::Compiled, 1);
}

#[test]
fn two_workers_send_by_one_model_of_the_queues() {
    packets_leave_by_the_model(Path::Interpreter, 2);
    packets_leave_by_the_model(Path::Compiled, 2);
}

/// A packet that left, with what egress wrote into it.
#[derive(Debug)]
struct Seen {
    number: u8,
    entered: u64,
    start: u64,
    before: u64,
    left: u64,
}

impl Seen {
    fn is_urgent(&self) -> bool {
        self.number.is_multiple_of(URGENT)
    }
}

fn packets_leave_by_the_model(path: Path, workers: usize) {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("send", &namespace, "receive", 1500);
    namespace.link("transmit", &namespace, "count", 1500);
    namespace.run(|| {
        let open = |name, queues| af_packet::open(name, queues).expect("an interface");
        let (mut send, mut count) = (open("send", 1), open("count", 1));
        let ports = vec![(2, open("transmit", workers)), (1, open("receive", workers))];
        let switch = switch(path, ports, workers).expect("it starts");
        for number in 0..PACKETS {
            assert_eq!(send.queues[0].transmit(&packet(number)), Transmitted::Taken);
        }
        send.queues[0].flush();
        let (seen, state) = all_that_leave(&mut count, switch);
        check(&seen, &state);
    });
}

/// Receives packets until the switch has sent or dropped all. Returns them, and the final state of
/// the switch.
fn all_that_leave(count: &mut Port, switch: Switch) -> (Vec<Seen>, DeviceState) {
    let (start, mut burst, mut seen) = (Instant::now(), Burst::new(64), Vec::new());
    loop {
        assert!(start.elapsed() < TIMEOUT, "{seen:?}");
        burst.clear();
        count.queues[0].receive(&mut burst).expect("the port is up");
        for bytes in burst.frames().iter().map(Frame::bytes) {
            // Other frames are those by which the kernel announces itself.
            if bytes[..6] == [2, 0, 0, 0, 0, 1] {
                seen.push(parsed(bytes));
            }
        }
        let state = switch.state().remove(0);
        let dropped: u64 = state.queues.queues.iter().map(|(_, _, counts)| counts.dropped()).sum();
        if seen.len() as u64 + dropped == u64::from(PACKETS) {
            return (seen, switch.finish().remove(0));
        }
    }
}

fn check(seen: &[Seen], state: &DeviceState) {
    // All packets that entered the queues have left them.
    let counts: Vec<_> = state.queues.queues.iter().map(|(_, _, counts)| *counts).collect();
    let [low, urgent] = counts.as_slice() else { panic!("{counts:?}") };
    assert_eq!((low.sent + urgent.sent) as usize, seen.len());
    assert_eq!(urgent.enqueued, u64::from(PACKETS / URGENT));
    assert_eq!(urgent.dropped(), 0, "fewer packets are urgent than the queue holds");
    let pace = &state.queues.paces[&2];
    assert_eq!(pace.packets as usize, seen.len());
    assert!(pace.largest > 0 && pace.mostly_within() <= pace.largest);
    for pair in seen.windows(2) {
        // A packet takes 10 ms; times are truncated to microseconds.
        assert!(pair[1].start - pair[0].start >= 10_000 - 1, "{pair:?}");
    }
    for class in [false, true] {
        let own: Vec<&Seen> = seen.iter().filter(|one| one.is_urgent() == class).collect();
        for pair in own.windows(2) {
            assert!(pair[0].number < pair[1].number, "a queue is in order: {pair:?}");
            assert!(pair[0].before <= 20 && pair[0].left <= 19, "{pair:?}");
        }
    }
    // No packet starts while one of the urgent queue waits.
    for low in seen.iter().filter(|one| !one.is_urgent()) {
        let waits =
            |one: &&Seen| one.is_urgent() && one.entered + 1 < low.start && one.start > low.start;
        assert!(!seen.iter().any(|one| waits(&one)), "{low:?} in {seen:?}");
    }
}

fn switch(path: Path, ports: Vec<(u32, Port)>, workers: usize) -> Result<Switch, StartError> {
    let compiled = from_device_config(PROGRAM.as_bytes()).expect("it compiles");
    let device = DeviceConfig {
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
        queues: Configuration::parse(&[QUEUES]).expect("a configuration"),
        ports,
    };
    let address = "127.0.0.1:0".parse().expect("an address");
    let options = Options {
        address,
        tls: None,
        workers,
        metrics: None,
        thrift: None,
        limits: softswitch::SwitchLimits::default(),
        log: Log::off(),
        segments: Segments::default(),
        pushes: softswitch::Pushes::default(),
        numbers: softswitch::GivenNumbers::new(),
    };
    Switch::start(options, vec![device])
}

fn packet(number: u8) -> Vec<u8> {
    let priority = u8::from(number.is_multiple_of(URGENT));
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, priority, 0x88, 0xb5];
    packet.resize(14 + 12, 0);
    packet.push(number);
    packet.resize(60, 0);
    packet
}

fn parsed(bytes: &[u8]) -> Seen {
    let number = |from: usize, to: usize| {
        bytes[from..to].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let entered = number(14, 18);
    let start = entered + number(18, 22);
    Seen { number: bytes[26], entered, start, before: number(22, 24), left: number(24, 26) }
}
