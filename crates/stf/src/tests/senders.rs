//! Tests of senders that react to losses and marks, in networks with queues.

use super::queues::{V1MODEL, chain_with};
use super::*;
use std::time::Duration;

/// An Ethernet header for queue 0, and an IPv4 header whose sender understands marks.
const CAPABLE: &str = "000000000000000000000000 0800 4502002e00000000 40 11 0000 0a000001 0a000002";
/// The same headers for a sender that does not understand marks.
const PLAIN: &str = "000000000000000000000000 0800 4500002e00000000 40 11 0000 0a000001 0a000002";

fn run(queues: &[&[&str]], script: &str) -> Report {
    let options = Options { specification: true, keeps_crossings: true, ..Options::default() };
    chain_with(options, ("v1model", V1MODEL), queues, script)
}

/// The counts that a report has of a sender.
#[derive(Debug, PartialEq, Eq)]
struct SenderCounts {
    sent: u64,
    arrived: u64,
    marked: u64,
    lost: u64,
    halvings: u64,
    silences: u64,
    window: u64,
}

/// Returns the counts that a report has of the senders, in the order of the script.
fn counts(report: &Report) -> Vec<SenderCounts> {
    let texts = report.values.iter().filter(|(_, text)| text.starts_with("sender "));
    let of = |(_, text): &(usize, String)| {
        let numbers: Vec<u64> = text
            .split([' ', ','])
            .skip_while(|word| !word.ends_with(':'))
            .filter_map(|word| word.parse().ok())
            .collect();
        let [sent, arrived, marked, lost, halvings, silences, window] = numbers[..] else {
            panic!("{text}");
        };
        SenderCounts { sent, arrived, marked, lost, halvings, silences, window }
    };
    texts.map(of).collect()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Tests the times of the first packets: ten at once, and then two for each acknowledgement, which
/// comes 9 ms after a packet has left.
#[test]
fn each_acknowledgement_lets_two_packets_go_in_slow_start() {
    let script = format!("at 5ms\nsender 1 2 until 25ms back 9ms length 1000 {PLAIN}");
    // A packet of 1000 bytes takes a millisecond.
    let report = run(&[&["port=2 rate=8Mbps depth=100"]], &script);
    let entered: Vec<f64> = report.crossings.iter().map(|one| millis(one.entered)).collect();
    let later = (0..10).flat_map(|number| [15.0 + f64::from(number); 2]);
    let expected: Vec<f64> = std::iter::repeat_n(5.0, 10).chain(later).collect();
    assert_eq!(entered, expected);
    assert_eq!((report.from_sources, report.received.len()), (30, 0));
    // At the end, all packets have arrived, and the window has grown by each of them.
    let [counts] = &counts(&report)[..] else { panic!("{:?}", report.values) };
    let expected = SenderCounts {
        sent: 30,
        arrived: 30,
        marked: 0,
        lost: 0,
        halvings: 0,
        silences: 0,
        window: 40,
    };
    assert_eq!(*counts, expected);
}

/// Tests that a sender keeps a link busy and its queue full without a mark, and that the queue is
/// short with marks, at the same throughput.
#[test]
fn losses_and_marks_hold_the_window_where_the_link_is_busy() {
    let checks = "check_packets 1 2 >= 15000 since 5s\ncheck_delay 1 2 max <= 31ms\n";
    let script = |data| format!("sender 1 2 until 20s back 9ms length 1000 {data}\n{checks}");
    // The window holds the packets that wait, and 10 packets on their way.
    let lossy = run(&[&["port=2 rate=8Mbps depth=30"]], &script(PLAIN));
    assert_eq!(lossy.failures, []);
    let [dropped] = &counts(&lossy)[..] else { panic!("{:?}", lossy.values) };
    assert!(dropped.lost > 0 && dropped.marked == 0 && dropped.silences == 0, "{dropped:?}");
    assert_eq!(dropped.lost, lossy.queues[0].counts.dropped());
    assert_eq!(dropped.sent, dropped.arrived + dropped.lost);
    // Each halving follows at least one loss, and all losses of one window cause one halving.
    assert!(dropped.halvings >= 3 && dropped.halvings <= dropped.lost, "{dropped:?}");
    let marking = run(&[&["port=2 rate=8Mbps depth=30 ecn=12"]], &script(CAPABLE));
    assert_eq!(marking.failures, []);
    let [marked] = &counts(&marking)[..] else { panic!("{:?}", marking.values) };
    assert!(marked.marked > 0 && marked.silences == 0, "{marked:?}");
    assert_eq!(marked.marked, marking.queues[0].counts.marked);
    // Behind slow start, no packet is lost and the queue stays near the threshold.
    let longest = |report: &Report| {
        let late = report.crossings.iter().filter(|one| one.left > Duration::from_secs(5));
        late.map(|one| millis(one.left - one.entered)).fold(0.0, f64::max)
    };
    assert!(longest(&lossy) > 30.0 && longest(&marking) < 18.0, "{}", longest(&marking));
    // A sender whose packets cannot be marked is not helped by a threshold.
    let incapable = run(&[&["port=2 rate=8Mbps depth=30 ecn=12"]], &script(PLAIN));
    assert_eq!(counts(&incapable)[0], *dropped);
}

/// Tests that a sender whose packets leave elsewhere waits for one, two and four seconds.
#[test]
fn a_sender_without_answers_sends_ever_more_rarely() {
    let script = format!("at 0s\nsender 1 30 until 10s back 1ms {PLAIN}");
    let report = run(&[&["port=2 rate=8Mbps"]], &script);
    let seconds: Vec<u64> = report.crossings.iter().map(|one| one.entered.as_secs()).collect();
    assert_eq!(seconds, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 7]);
    let [counts] = &counts(&report)[..] else { panic!("{:?}", report.values) };
    // The last timeout is after the end of the script's time.
    assert_eq!((counts.sent, counts.arrived, counts.lost, counts.silences), (13, 0, 13, 4));
}

/// Tests that several senders begin at their times and share a link.
#[test]
fn senders_share_a_link() {
    let script = format!(
        "at 0s every 100ms times 2\nsender 1 2 until 30s back 9ms length 1000 {CAPABLE}\n\
         at 50ms\nsender 30 2 until 30s back 9ms length 1000 {CAPABLE}\n\
         check_packets 1 2 >= 8000 since 10s\ncheck_packets 30 2 >= 3000 since 10s"
    );
    let report = run(&[&["port=2 rate=8Mbps depth=60 ecn=20"]], &script);
    assert_eq!(report.failures, []);
    let counts = counts(&report);
    assert_eq!(counts.len(), 3);
    assert!(counts.iter().all(|one| one.arrived > 4_000), "{counts:?}");
    assert_eq!(counts.iter().map(|one| one.sent).sum::<u64>(), report.from_sources);
}

#[test]
fn wrong_senders_are_refused_with_the_reason() {
    for (text, reason) in [
        ("sender 1 2 00", "expected `until`"),
        ("sender 1 2 until 5s back 0s 00", "an acknowledgement takes some time"),
        ("sender 1 2 until 5s length 1 0000", "the length is 1; it must be from 2"),
        ("sender 1 until 5s 00", "expected a port number"),
    ] {
        let errors = Script::parse(text).expect_err(text);
        assert!(errors[0].message.contains(reason), "{text}: {errors:?}");
    }
    let refused = |text: &str| {
        let script = Script::parse(text).expect(text);
        let mut network = Network::default();
        network.outside(1, End { switch: 0, port: 1 }, "h1");
        network.outside(2, End { switch: 0, port: 2 }, "h2");
        let (_, error) = run_network(&mut network, &script, Options::default()).expect_err(text);
        error.to_string()
    };
    let many = refused("at 0s every 1us times 1001\nsender 1 2 until 5s 00");
    assert_eq!(many, "an `at` starts at most 1000 senders, not 1001");
    assert!(refused("sender 1 7 until 5s 00").contains("no port 7"));
    assert!(refused("sender 7 1 until 5s 00").contains("no port 7"));
}
