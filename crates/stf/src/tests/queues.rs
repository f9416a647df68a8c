//! Tests of networks whose ports have queues: order and times of packets in virtual time, and the
//! metadata that programs read.

use super::*;
use ::queues::Configuration;
use std::time::Duration;

/// The headers of packets: Ethernet, whose first six bytes end with the priority, and, if the type
/// is 0x9999, a record that egress fills.
const HEADERS: &str = r#"
header ethernet_t { bit<40> pad; bit<8> priority; bit<48> source; bit<16> type; }
header record_t {
    bit<32> enqueued; bit<32> waited; bit<24> before; bit<24> left; bit<48> egress; bit<8> lost;
}
struct headers_t { ethernet_t e; record_t r; }
struct meta_t { bit<9> port; }
"#;

pub(super) const V1MODEL: &str = r#"
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.e);
        transition select(hdr.e.type) { 0x9999: record; default: accept; }
    }
    state record { packet.extract(hdr.r); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 2;
        sm.priority = (bit<3>) hdr.e.priority;
        meta.port = 77;
        if (hdr.e.source == 3) { sm.mcast_grp = 5; }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        // The user's metadata must have waited too.
        if (hdr.r.isValid() && meta.port == 77) {
            hdr.r.enqueued = sm.enq_timestamp;
            hdr.r.waited = sm.deq_timedelta;
            hdr.r.before = (bit<24>) sm.enq_qdepth;
            hdr.r.left = (bit<24>) sm.deq_qdepth;
            hdr.r.egress = sm.egress_global_timestamp;
            if (hdr.r.lost == 1) { mark_to_drop(sm); }
            if (hdr.r.lost == 2) { hdr.r.lost = 0; recirculate_preserving_field_list(0); }
        }
    }
}
control U(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), U(), D()) main;
"#;

const PSA: &str = r#"
struct empty { }
parser IP(packet_in packet, out headers_t hdr, inout meta_t meta,
    in psa_ingress_parser_input_metadata_t i, in empty a, in empty b) {
    state start {
        packet.extract(hdr.e);
        packet.extract(hdr.r);
        transition accept;
    }
}
control IC(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t i,
    inout psa_ingress_output_metadata_t o) {
    apply {
        o.drop = false;
        o.egress_port = (PortId_t) 2;
        o.class_of_service = (ClassOfService_t) hdr.e.priority;
        meta.port = 77;
    }
}
control ID(packet_out packet, out empty a, out empty b, out empty c, inout headers_t hdr,
    in meta_t meta, in psa_ingress_output_metadata_t o) { apply { packet.emit(hdr); } }
parser EP(packet_in packet, out headers_t hdr, inout meta_t meta,
    in psa_egress_parser_input_metadata_t i, in empty a, in empty b, in empty c) {
    state start { packet.extract(hdr.e); packet.extract(hdr.r); transition accept; }
}
control EC(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t i,
    inout psa_egress_output_metadata_t o) {
    apply {
        hdr.r.enqueued = (bit<32>) (bit<8>) i.class_of_service;
        hdr.r.waited = (bit<32>) meta.port;
        hdr.r.egress = (bit<48>) (bit<64>) i.egress_timestamp;
    }
}
control ED(packet_out packet, out empty a, out empty b, inout headers_t hdr, in meta_t meta,
    in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t i) {
    apply { packet.emit(hdr); }
}
IngressPipeline(IP(), IC(), ID()) ip;
EgressPipeline(EP(), EC(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
"#;

fn loaded(architecture: &str, program: &str, is_compiled: bool) -> Switch {
    let text = format!("#include <core.p4>\n#include <{architecture}.p4>\n{HEADERS}{program}");
    let compiled =
        p4lang::compile_text("test.p4", &text, &Preprocessor::default(), &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    let mut switch = Switch::new(compiled.program.unwrap_or_else(|| panic!("{messages}"))).unwrap();
    if is_compiled {
        switch.follow_psa_switch(false);
        switch.compile().expect("machine code");
    }
    switch
}

/// Runs a script on a chain of switches, in which port 2 of each is connected to port 1 of the
/// next, on the interpreter and as machine code. The first port is 1, and the last 2. Both reports
/// must be the same.
fn chain(architecture: &str, program: &str, queues: &[&[&str]], script: &str) -> Report {
    let options = Options { specification: true, ..Options::default() };
    chain_with(options, (architecture, program), queues, script)
}

/// Runs a script like [`chain`], with other options.
pub(super) fn chain_with(
    options: Options,
    (architecture, program): (&str, &str),
    queues: &[&[&str]],
    script: &str,
) -> Report {
    let script = Script::parse(script).unwrap_or_else(|errors| panic!("{errors:?}"));
    let run = |is_compiled| {
        let mut network = Network::default();
        for (index, lines) in queues.iter().enumerate() {
            let switch = loaded(architecture, program, is_compiled);
            switch.set_multicast_group(
                5,
                vec![
                    pipeline::Replica { port: 2, instance: 1 },
                    pipeline::Replica { port: 3, instance: 2 },
                ],
            );
            let at = network.switch(format!("s{}", index + 1), switch);
            network.set_queues(at, Configuration::parse(lines).expect("a configuration"));
            if index > 0 {
                let before = End { switch: index - 1, port: 2 };
                network.link(before, End { switch: index, port: 1 });
            }
            network.outside(
                30 + index as u32,
                End { switch: at, port: 3 },
                format!("p3 of s{index}"),
            );
        }
        network.outside(1, End { switch: 0, port: 1 }, "h1");
        network.outside(2, End { switch: queues.len() - 1, port: 2 }, "h2");
        run_network(&mut network, &script, options)
            .unwrap_or_else(|(line, e)| panic!("{line}: {e}"))
    };
    let (interpreted, compiled) = (run(false), run(true));
    assert_eq!(interpreted.sent, compiled.sent, "the interpreter and machine code");
    assert_eq!(interpreted.values, compiled.values, "the interpreter and machine code");
    assert_eq!(interpreted.crossings, compiled.crossings, "the interpreter and machine code");
    let hashes = (interpreted.source_hash, compiled.source_hash);
    assert_eq!(hashes.0, hashes.1, "the interpreter and machine code");
    interpreted
}

/// Returns a packet of 100 bytes with a record, as a script writes it.
fn packet(priority: u8, lost: u8) -> String {
    format!(
        "0000000000{priority:02x}0000000000009999{}{lost:02x}{}",
        "00".repeat(20),
        "00".repeat(65)
    )
}

/// The record that egress has written into a packet.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    sent: u64,
    priority: u8,
    enqueued: u64,
    waited: u64,
    before: u64,
    left: u64,
    egress: u64,
}

fn seen(report: &Report) -> Vec<Seen> {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let of = |(time, _, packet): &(Duration, u32, Vec<u8>)| Seen {
        sent: time.as_nanos() as u64,
        priority: packet[5],
        enqueued: number(&packet[14..18]),
        waited: number(&packet[18..22]),
        before: number(&packet[22..25]),
        left: number(&packet[25..28]),
        egress: number(&packet[28..34]),
    };
    report.sent.iter().map(of).collect()
}

/// Tests times, order, depth and metadata at a port of 8 Mbit/s, where a byte takes a microsecond.
/// Five packets of the low queue arrive a microsecond apart, and one of the high queue while the
/// first is on the wire.
#[test]
fn a_port_sends_by_its_queues_and_shows_their_metadata() {
    let (low, high) = (packet(0, 0), packet(1, 0));
    let script = format!(
        "at 1ms every 1us times 5\npacket 1 {low}\nat 1.01ms\npacket 1 {high}\nat 1.02ms\npacket 1 {}",
        packet(2, 0)
    );
    let report = chain("v1model", V1MODEL, &[&["port=2 rate=8Mbps queues=2 depth=3"]], &script);
    let of = |sent, priority, enqueued, waited, before, left| Seen {
        sent,
        priority,
        enqueued,
        waited,
        before,
        left,
        egress: enqueued + waited,
    };
    assert_eq!(
        seen(&report),
        [
            of(1_100_000, 0, 1_000, 0, 0, 0),
            of(1_200_000, 1, 1_010, 90, 0, 0),
            of(1_300_000, 0, 1_001, 199, 0, 2),
            of(1_400_000, 0, 1_002, 298, 1, 1),
            of(1_500_000, 0, 1_003, 397, 2, 0),
        ]
    );
    let values: Vec<&str> = report.values.iter().map(|(_, text)| text.as_str()).collect();
    assert!(values.contains(&"h1 > s1, where port 2 dropped it: the queue is full"), "{values:?}");
    assert!(values.contains(&"h1 > s1 > h2 in 190µs"), "{values:?}");
    // No queue has priority 2, so the packet is dropped.
    assert_eq!(values.last(), Some(&"h1 > s1 > h2 in 497µs"), "{values:?}");
    let counts: Vec<_> = report
        .queues
        .iter()
        .map(|one| (one.queue, one.counts.sent, one.counts.dropped()))
        .collect();
    assert_eq!(counts, [(0, 4, 1), (1, 1, 0)]);
}

/// Tests that a packet reaches the next switch when its last bit has left, that egress which drops
/// takes no time of the port, and that a recirculated packet enters ingress anew at the time of its
/// egress.
#[test]
fn switches_store_and_forward_and_egress_may_drop_or_recirculate() {
    let script = format!(
        "at 0ns\npacket 1 {}\nno_packet\nat 0ns\npacket 1 {}\nat 0ns\npacket 1 {}\nexpect 2 {}\nexpect 2",
        packet(0, 1),
        packet(0, 2),
        packet(0, 0),
        "*".repeat(200)
    );
    let queues: [&[&str]; 2] = [&["port=2 rate=8Mbps"], &["port=2 rate=80Mbps"]];
    let report = chain("v1model", V1MODEL, &queues, &script);
    assert_eq!(report.failures, []);
    // The first is dropped by egress; the second enters the queue again behind the third, which
    // leaves the second switch 10 us after it came there.
    let times: Vec<(u64, usize)> = report
        .sent
        .iter()
        .zip(&report.causes)
        .map(|(sent, cause)| (sent.0.as_nanos() as u64, *cause))
        .collect();
    assert_eq!(times, [(110_000, 7), (210_000, 5)]);
}

/// Tests that a tenfold rate applies to the packets that wait, but not to the packet on the wire,
/// and that packets of a removed queue are dropped.
#[test]
fn queues_change_at_a_time_of_the_script() {
    let script = format!(
        "at 0ns every 1ns times 4\npacket 1 {}\nat 20us\npacket 1 {}\n\
         at 150us queue s1 port=2 rate=80Mbps\nat 155us\npacket 1 {}",
        packet(0, 0),
        packet(1, 0),
        packet(0, 0)
    );
    // A byte takes a microsecond, so the first two packets end at 100 and 200 us. The urgent packet
    // would be the second: it is the second to start, at 100 us.
    let report = chain("v1model", V1MODEL, &[&["port=2 rate=8Mbps queues=2"]], &script);
    let times = |report: &Report| -> Vec<(u64, u8)> {
        seen(report).iter().map(|one| (one.sent / 1000, one.priority)).collect()
    };
    assert_eq!(times(&report), [(100, 0), (200, 1), (210, 0), (220, 0), (230, 0), (240, 0)]);
    // The urgent packet arrives too late for the choice at 100 us, and its queue goes at 150 us.
    let late = script.replace("at 20us", "at 120us");
    let report = chain("v1model", V1MODEL, &[&["port=2 rate=8Mbps queues=2"]], &late);
    assert_eq!(times(&report), [(100, 0), (200, 0), (210, 0), (220, 0), (230, 0)]);
    let removed = report.values.iter().filter(|(_, text)| text.contains("queue there was removed"));
    assert_eq!(removed.map(|(line, _)| *line).collect::<Vec<_>>(), [4]);
    let counts = report.queues[0].counts;
    assert_eq!((counts.enqueued, counts.sent, counts.waiting), (5, 5, 0));
}

/// Tests that a port gets queues in the middle of a script of a network without any.
#[test]
fn a_port_gets_queues_later() {
    let script = format!(
        "at 0ns every 1us times 2\npacket 1 {0}\nat 5us queue s1 port=2 rate=8Mbps depth=1\n\
         at 6us every 1us times 3\npacket 1 {0}",
        packet(0, 0)
    );
    let report = chain("v1model", V1MODEL, &[&[]], &script);
    let times: Vec<u64> = seen(&report).iter().map(|one| one.sent / 1000).collect();
    // The third of the last three finds the queue full.
    assert_eq!(times, [0, 1, 106, 206]);
}

#[test]
fn wrong_changes_of_queues_are_refused() {
    for (line, reason) in [
        ("at 5us queue", "expected the name of a switch"),
        ("at 5us queue s1", "lacks port=NUMBER"),
        ("at 5us queue s1 port=2 rate=fast", "'fast' is no rate"),
        ("at 5us queue s1 port=2 rate=1Mbps; port=3 queues=65", "not a number from 1 to 64"),
    ] {
        let errors = Script::parse(&format!("packet 1 00\n{line}")).expect_err(line);
        assert!(errors[0].message.contains(reason), "{line}: {errors:?}");
    }
    for (script, reason) in [
        ("packet 1 00\nat 5ms queue s9 port=2", "the network has no switch s9; there is s1"),
        ("at 9ms\npacket 1 00\nat 5ms queue s1 port=2", "cannot follow one at 9ms"),
        ("at 1ms\nat 5ms queue s1 port=2\npacket 1 00", "at 1ms cannot follow one at 5ms"),
    ] {
        let script = Script::parse(script).expect("a script");
        let mut network = Network::default();
        let at = network.switch("s1", switch());
        network.outside(1, End { switch: at, port: 1 }, "h1");
        let (_, error) = run_network(&mut network, &script, Options::default()).expect_err(reason);
        assert!(error.to_string().contains(reason), "{error}");
    }
    let script = Script::parse("at 5us queue s1 port=2").expect("a script");
    let report = run(&mut switch(), &script, Options::default()).expect("a script");
    assert!(report.notes[0].1.contains("run the script with --topology"), "{:?}", report.notes);
}

#[test]
fn what_must_not_leave_is_a_failure_even_if_it_leaves_later() {
    let script = format!("at 0ns\npacket 1 {}\nno_packet", packet(0, 0));
    let report = chain("v1model", V1MODEL, &[&["port=2 rate=8Mbps"]], &script);
    assert!(matches!(report.failures.as_slice(), [Failure::Unexpected { cause: 2, .. }]));
}

/// Tests that the copies of a multicast packet wait in the queues of their own ports.
#[test]
fn replicas_wait_at_their_ports() {
    let script = format!(
        "at 0ns every 0ns times 2\npacket 1 {}",
        packet(0, 0).replacen("0000000000009999", "0000000000039999", 1)
    );
    let queues: [&[&str]; 1] = [&["port=2 rate=8Mbps", "port=3 rate=4Mbps"]];
    let report = chain("v1model", V1MODEL, &queues, &script);
    let sent: Vec<(u64, u32)> =
        report.sent.iter().map(|(time, port, _)| (time.as_nanos() as u64, *port)).collect();
    assert_eq!(sent, [(100_000, 2), (200_000, 30), (200_000, 2), (400_000, 30)]);
}

/// Tests that PSA's class of service chooses the queue, and is class 0 beyond the queues of the
/// port, and that egress runs when the packet leaves its queue.
#[test]
fn a_class_of_service_chooses_the_queue() {
    let script = format!(
        "at 0ns\npacket 1 {}\nat 1us\npacket 1 {}\nat 2us\npacket 1 {}\nat 3us\npacket 1 {}",
        packet(0, 0),
        packet(9, 0),
        packet(1, 0),
        packet(0, 0)
    );
    let report = chain("psa", PSA, &[&["port=2 rate=8Mbps queues=2"]], &script);
    let found: Vec<_> = seen(&report)
        .into_iter()
        .map(|one| (one.priority, one.enqueued, one.waited, one.egress))
        .collect();
    assert_eq!(found, [(0, 0, 77, 0), (1, 1, 77, 100), (9, 9, 77, 200), (0, 0, 77, 300)]);
}

/// Tests that packets that find the queue at its threshold leave with CE and a right checksum, if
/// their codepoint allows it.
#[test]
fn a_threshold_marks_capable_packets() {
    let header = |codepoint: &str, checksum: &str| {
        format!(
            "000000000000000000000000080045{codepoint}0028000000004006{checksum}0a0000010a000002{}",
            "00".repeat(20)
        )
    };
    // ECT(0) and not capable; with CE the checksum is one less.
    let (capable, marked) = (header("02", "66cc"), header("03", "66cb"));
    let plain = header("00", "66ce");
    let script = format!(
        "at 0ns\npacket 1 {capable}\nat 1us\npacket 1 {capable}\nat 2us\npacket 1 {capable}\nat 3us\npacket 1 {plain}\n\
         expect 2 {capable} $\nexpect 2 {capable} $\nexpect 2 {marked} $\nexpect 2 {plain} $"
    );
    let report = chain("v1model", V1MODEL, &[&["port=2 rate=8Mbps ecn=1"]], &script);
    assert_eq!(report.failures, []);
}

#[test]
fn times_must_not_go_back() {
    let script = Script::parse("at 2ms\npacket 1 00\nat 1ms\npacket 1 00").expect("a script");
    let mut network = Network::default();
    let at = network.switch("s1", switch());
    network.outside(1, End { switch: at, port: 1 }, "h1");
    let error = run_network(&mut network, &script, Options::default()).expect_err("an error");
    assert_eq!(
        (error.0, error.1.to_string()),
        (3, "a packet or change at 1ms cannot follow one at 2ms: sort them by time".to_owned())
    );
    for wrong in ["at", "at 5", "at 5us every 1us", "at 5us twice"] {
        assert!(Script::parse(&format!("packet 1 00\n{wrong}")).is_err(), "{wrong}");
    }
}
