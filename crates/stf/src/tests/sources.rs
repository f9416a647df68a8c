//! Tests of sources, of statements for one switch, and of checks, in networks with queues.

use super::queues::{V1MODEL, chain_with};
use super::*;
use std::time::Duration;

fn run(queues: &[&[&str]], script: &str) -> Report {
    let options = Options { specification: true, keeps_crossings: true, ..Options::default() };
    chain_with(options, ("v1model", V1MODEL), queues, script)
}

/// Returns an Ethernet header for this queue, with a type that has no record.
fn header(priority: u8) -> String {
    format!("0000000000{priority:02x}0000000000000800")
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// Tests that sources send while later statements run, and that packets that arrive at one time are
/// in the order in which their sources begin in the script.
#[test]
fn sources_send_beside_each_other() {
    let script = format!(
        "at 10us every 20us times 3\nsource 1 length 20 {low}\nat 0us every 10us times 4\nsource 1 length 40 {low}\n\
         at 30us\npacket 1 {low}",
        low = header(0)
    );
    // An `at` without arrivals concerns only the statement behind it.
    let script = format!(
        "at 0us every 1us times 0\npacket 1 00\nat 0us every 1us times 0\nsource 1 00\n{script}"
    );
    let report = run(&[&["port=2 rate=800Mbps"]], &script);
    let seen: Vec<(usize, u64)> =
        report.crossings.iter().map(|one| (one.line, nanos(one.entered))).collect();
    let expected = [
        (8, 0),
        (6, 10_000),
        (8, 10_000),
        (8, 20_000),
        (6, 30_000),
        (8, 30_000),
        (10, 30_000),
        (6, 50_000),
    ];
    assert_eq!(seen, expected);
    assert_eq!((report.from_sources, report.received.len()), (7, 1));
    let values: Vec<&str> = report.values.iter().map(|(_, text)| text.as_str()).collect();
    // 20 and 40 bytes take 200 and 400 ns; the first source is alone once.
    for value in ["3 packets: h1 > s1 > h2 in 200ns", "4 packets: h1 > s1 > h2 in 400ns to 600ns"] {
        assert!(values.contains(&value), "{values:?}");
    }
}

/// Tests that the packets of a source are stored only on request, so that a long run needs no more
/// memory, and that they are compared between runs all the same.
#[test]
fn packets_of_sources_are_not_stored() {
    let run = |keeps_sources, length, times| {
        let options = Options { keeps_sources, specification: true, ..Options::default() };
        let script =
            format!("at 0us every 1us times {times}\nsource 1 length {length} {}", header(0));
        chain_with(options, ("v1model", V1MODEL), &[&["port=2 rate=1Gbps depth=5"]], &script)
    };
    let stored = |report: &Report| {
        [
            report.received.len(),
            report.entered.len(),
            report.left.len(),
            report.sent.len(),
            report.values.len(),
        ]
    };
    // Packets of 125 bytes take a microsecond.
    let (short, long) = (run(false, 125, 10), run(false, 125, 5_000));
    assert_eq!((stored(&short), stored(&long)), ([0, 0, 0, 0, 1], [0, 0, 0, 0, 1]));
    assert_eq!(long.from_sources, 5_000);
    let kept = run(true, 125, 10);
    assert_eq!(stored(&kept), [0, 10, 10, 10, 1]);
    assert_eq!(short.source_hash, kept.source_hash);
    assert!(
        short.source_hash != long.source_hash
            && short.source_hash != run(false, 124, 10).source_hash
    );
}

/// Tests that a port sends exactly at its rate, and that its queue is filled to its depth, from 1
/// Mbit/s to 1 Gbit/s.
#[test]
fn an_overloaded_port_sends_at_its_rate() {
    for (rate, per_second) in [
        ("1Mbps", 1_000_000),
        ("10Mbps", 10_000_000),
        ("100Mbps", 100_000_000),
        ("1Gbps", 1_000_000_000_u64),
    ] {
        let lasts = 1_000 * 8 * 1_000_000_000 / per_second;
        let script =
            format!("at 0ns every {}ns times 600\nsource 1 length 1000 {}", lasts / 2, header(0));
        let report = run(&[&[&format!("port=2 rate={rate} depth=20")]], &script);
        let counts = report.queues[0].counts;
        assert_eq!(counts.deepest, 20, "{rate}");
        for (number, crossing) in (1..).zip(&report.crossings) {
            assert_eq!(nanos(crossing.left), number * lasts, "{rate}");
        }
        // 300 packets fit into the time in which the source sends. Then 20 wait, the last of which
        // came as the one before it was dropped.
        assert_eq!((counts.sent, counts.dropped()), (320, 280), "{rate}");
    }
}

/// Tests the delay of an urgent queue while the other one is always full: a packet waits for at
/// most one other packet, L_low / R, and takes L / R itself. Packets that come just after the start
/// of another one reach this.
#[test]
fn an_urgent_packet_waits_for_one_packet_of_a_saturated_port() {
    // 1500 bytes take 120 us, and 200 bytes 16 us.
    let script = format!(
        "at 0ns every 60us times 10000\nsource 1 length 1500 {}\n\
         at 1ns every 1237us times 400\nsource 1 length 200 {}",
        header(0),
        header(1)
    );
    let report = run(&[&["port=2 rate=100Mbps queues=2 depth=30"]], &script);
    let urgent = report.crossings.iter().filter(|one| one.length == 200);
    let delays: Vec<u64> = urgent.map(|one| nanos(one.left - one.entered)).collect();
    let (least, most) = (delays.iter().min(), delays.iter().max());
    assert_eq!(delays.len(), 400);
    assert_eq!(most, Some(&(120_000 - 1 + 16_000)));
    assert!(least.is_some_and(|least| *least < 20_000), "{least:?}");
    let low = report.crossings.iter().filter(|one| one.length == 1500);
    let longest = low.map(|one| nanos(one.left - one.entered)).max();
    assert!(longest.is_some_and(|longest| longest > 30 * 120_000), "{longest:?}");
}

/// Tests that a statement for a switch runs at its time, between the packets of a source.
#[test]
fn a_switch_is_read_at_a_time() {
    const COUNTING: &str = r#"
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.e); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(4) seen;
    apply {
        bit<32> count;
        seen.read(count, 1);
        seen.write(1, count + 1);
        sm.egress_spec = 2;
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control U(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), U(), D()) main;
"#;
    let script = format!(
        "at 0us every 10us times 100\nsource 1 {}\nat 95us every 100us times 3\non s1 register_read seen 1\n\
         at 400us\non s1 register_write seen 1 5\ncheck_packets 1 2 == 100",
        header(0)
    );
    let options = Options { specification: true, ..Options::default() };
    let report = chain_with(options, ("v1model", COUNTING), &[&["port=2"]], &script);
    assert_eq!(report.failures, []);
    let read: Vec<&str> = report
        .values
        .iter()
        .filter_map(|(line, text)| (*line == 4).then_some(text.as_str()))
        .collect();
    let expected = [(95, 10), (195, 20), (295, 30)]
        .map(|(time, count)| format!("s1 at {time}\u{b5}s: seen[1] = {count:#x}"));
    assert_eq!(read, expected);
}
