//! Holds delays in virtual time against the bounds of network calculus for the same ports.

use calculus::Rational;
use calculus::network::{Analyser, Analysis, Format, Settings, format};
use proptest::prelude::*;
use queues::network::{Flow, network};
use queues::{Arrival, Configuration, Nanos, Port, PortConfig, QueueId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The packets that each source sends.
const PACKETS: u64 = 60;

fn port(lines: &[&str]) -> PortConfig {
    let read = Configuration::parse(lines).expect("a configuration");
    read.0.into_values().next().expect("a port")
}

fn flow(name: &str, path: &[&str], queue: u64, (rate, burst, packet): (u64, u64, u64)) -> Flow {
    Flow {
        name: name.to_owned(),
        path: path.iter().map(|port| (*port).to_owned()).collect(),
        queue: QueueId::new(queue).expect("a queue"),
        rate,
        burst,
        packet,
    }
}

/// Returns the delay bound of each flow in seconds.
fn bounds(ports: &BTreeMap<String, PortConfig>, flows: &[Flow]) -> Vec<Option<Rational>> {
    let text = network("test", ports, flows).expect("a network");
    let read = format::read(&text, Format::Json).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let analyser = Analyser::new(&read, Settings::default());
    let bound = |(id, _)| {
        let bound =
            analyser.bound(id, Analysis::Quick).unwrap_or_else(|error| panic!("{error}\n{text}"));
        bound.delay.finite().cloned()
    };
    read.flows().map(bound).collect()
}

/// A packet in the simulation: its flow, the number of ports that it has passed, and the time at
/// which its source sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    flow: usize,
    hops: usize,
    sent: u64,
}

/// A time, the order among events of this time, a port, and the packet that arrives there.
type Event = (u64, u8, usize, Option<Packet>);

/// Simulates greedy sources: each sends a packet as soon as its token bucket holds one, from its
/// offset on. Returns the largest delay of each flow in nanoseconds.
fn simulate(ports: &BTreeMap<String, PortConfig>, flows: &[Flow], offsets: &[u64]) -> Vec<u64> {
    let mut running: BTreeMap<&String, Port<Packet>> =
        ports.iter().map(|(name, config)| (name, Port::new(config, Nanos(0), 0))).collect();
    // Ports that are to start a packet, before arrivals of the same time.
    let mut events: BinaryHeap<Reverse<Event>> = BinaryHeap::new();
    let names: Vec<&String> = ports.keys().collect();
    for (index, flow) in flows.iter().enumerate() {
        for number in 0..PACKETS {
            // Packet n is there once n + 1 packets have fitted into the token bucket.
            let missing = ((number + 1) * flow.packet).saturating_sub(flow.burst) * 8;
            let time = (u128::from(missing) * 1_000_000_000).div_ceil(flow.rate.into()) as u64;
            let sent = offsets[index] + time;
            events.push(Reverse((sent, 1, 0, Some(Packet { flow: index, hops: 0, sent }))));
        }
    }
    let mut worst = vec![0; flows.len()];
    while let Some(Reverse((now, _, at, packet))) = events.pop() {
        let name = match packet {
            Some(packet) => {
                let flow = &flows[packet.flow];
                let Some(name) = flow.path.get(packet.hops) else {
                    worst[packet.flow] = worst[packet.flow].max(now - packet.sent);
                    continue;
                };
                let arrival =
                    Arrival { length: flow.packet as u32, is_capable: false, handle: packet };
                let port = running.get_mut(name).expect("a port");
                port.enqueue(Nanos(now), flow.queue, arrival).expect("room");
                name
            }
            None => {
                let port = running.get_mut(names[at]).expect("a port");
                if let Some(departure) = port.dequeue(Nanos(now)) {
                    let end = port.finished(Some(departure.length)).0;
                    let packet = departure.handle;
                    events.push(Reverse((
                        end,
                        1,
                        0,
                        Some(Packet { hops: packet.hops + 1, ..packet }),
                    )));
                }
                names[at]
            }
        };
        if let Some(due) = running[name].due() {
            let position = names.iter().position(|other| *other == name).expect("a port");
            let due = due.0.max(now);
            events.push(Reverse((due, if due > now { 0 } else { 2 }, position, None)));
        }
    }
    worst
}

fn nanoseconds(bound: &Rational) -> Rational {
    bound.clone() * Rational::from(1_000_000_000)
}

fn ports(of: &[(&str, &[&str])]) -> BTreeMap<String, PortConfig> {
    of.iter().map(|(name, lines)| ((*name).to_owned(), port(lines))).collect()
}

/// Tests that greedy sources reach the bounds of a FIFO port exactly: the sum of the bursts at the
/// rate of the port, and one nanosecond of latency.
#[test]
fn greedy_bursts_reach_the_bound_of_a_fifo_port() {
    let ports = ports(&[("s1-p1", &["port=1 rate=100Mbps depth=100000"])]);
    let flows = [
        flow("a", &["s1-p1"], 0, (10_000_000, 3_000, 1_000)),
        flow("b", &["s1-p1"], 0, (20_000_000, 5_000, 500)),
    ];
    let bounds = bounds(&ports, &flows);
    let measured = simulate(&ports, &flows, &[0, 0]);
    let exact = 8 * (3_000 + 5_000) * 10;
    for bound in bounds {
        assert_eq!(nanoseconds(&bound.expect("a bound")), Rational::from(exact + 1));
    }
    assert_eq!(measured.into_iter().max(), Some(exact as u64));
}

/// Tests the urgent queue of a port: its greedy burst behind a large packet that has just started
/// comes within two nanoseconds of the bound, (burst + packet) / rate.
#[test]
fn an_urgent_burst_behind_a_packet_reaches_its_bound() {
    let ports = ports(&[("s1-p1", &["port=1 rate=100Mbps queues=2 depth=100000"])]);
    let flows = [
        flow("low", &["s1-p1"], 0, (60_000_000, 15_000, 1_500)),
        flow("urgent", &["s1-p1"], 1, (10_000_000, 2_000, 500)),
    ];
    let bounds = bounds(&ports, &flows);
    let measured = simulate(&ports, &flows, &[0, 1]);
    let bound = nanoseconds(bounds[1].as_ref().expect("a bound"));
    let distance = bound - Rational::from(measured[1] as i64);
    assert!(!distance.is_negative() && distance <= Rational::from(2), "{distance} {measured:?}");
    assert_eq!(measured[1], 8 * (1_500 + 2_000) * 10 - 1);
}

/// Tests the distance of the bounds of round robin: within two rounds of what greedy sources with
/// backlogged competitors measure.
#[test]
fn round_robin_is_within_two_rounds_of_its_bound() {
    for (share, round) in [("quantum=1500B", 3_000), ("weight=1", 3_000)] {
        let line = |queue| format!("port=1 queue={queue} level=0 {share}");
        let ports = ports(&[("p", &["port=1 rate=100Mbps depth=100000", &line(0), &line(1)])]);
        let flows = [
            flow("a", &["p"], 0, (30_000_000, 1_500, 1_500)),
            flow("b", &["p"], 1, (40_000_000, 60_000, 1_500)),
        ];
        let bounds = bounds(&ports, &flows);
        let Some(bound) = &bounds[0] else {
            // With packets of a byte, weights guarantee almost nothing.
            assert_eq!(share, "weight=1");
            continue;
        };
        let measured = simulate(&ports, &flows, &[1, 0]);
        let distance = nanoseconds(bound) - Rational::from(measured[0] as i64);
        assert!(!distance.is_negative(), "{share}: {measured:?}");
        assert!(distance <= Rational::from(2 * 8 * round * 10), "{share}: {distance}");
    }
}

#[test]
fn what_has_no_bounds_is_refused_with_the_reason() {
    let flows = [flow("f", &["p"], 0, (1_000, 100, 100))];
    let refused = |lines: &[&str], flows: &[Flow]| {
        let ports = ports(&[("p", lines)]);
        network("test", &ports, flows).expect_err("no network").to_string()
    };
    assert!(refused(&["port=1"], &flows).contains("no queues with a rate in bit/s"));
    assert!(refused(&["port=1 rate=1kpps"], &flows).contains("no queues with a rate in bit/s"));
    assert!(refused(&["port=1 rate=1Mbps burst=3kB"], &flows).contains("without burst"));
    let both = ["port=1 rate=1Mbps queues=3", "port=1 queue=0 level=1"];
    assert!(refused(&both, &flows).contains("use only one of both"));
    let turned = ["port=1 rate=1Mbps", "port=1 queue=0 level=5", "port=1 queue=1"];
    assert!(refused(&turned, &flows).contains("levels rise"));
    let beyond = [flow("f", &["p"], 3, (1_000, 100, 100))];
    assert!(refused(&["port=1 rate=1Mbps"], &beyond).contains("has no queue 3"));
    let small = [flow("f", &["p"], 0, (1_000, 99, 100))];
    assert!(refused(&["port=1 rate=1Mbps"], &small).contains("never sends"));
}

/// Returns the lines of a port of 100 Mbit/s with three queues of one kind.
fn lines() -> impl Strategy<Value = Vec<String>> {
    (0..4, 1..4_u32, prop::option::of(40..60_u32)).prop_map(|(kind, quantum, own)| {
        let mut lines = vec!["port=1 rate=100Mbps depth=1000000".to_owned()];
        for queue in 0..3 {
            let mut line = format!("port=1 queue={queue}");
            if kind == 1 {
                line += &format!(" level=0 quantum={}B", quantum * 700);
            }
            if let (Some(rate), 1) = (own, queue) {
                line += &format!(" rate={rate}Mbps burst={}B", 1_000 * quantum);
            }
            lines.push(line);
        }
        lines
    })
}

fn source() -> impl Strategy<Value = (usize, usize, u64, u64, u64, u64, u64)> {
    (0..3_usize, 0..3_usize, 0..3_u64, 1..10_u64, 1..6_u64, 60..1_500_u64, 0..500_000_u64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Tests that no delay of greedy sources in a chain of three ports exceeds its bound.
    #[test]
    fn no_delay_exceeds_its_bound(
        configs in prop::collection::vec(lines(), 3),
        sources in prop::collection::vec(source(), 1..6),
    ) {
        let names = ["s1-p1", "s2-p1", "s3-p1"];
        let ports: BTreeMap<String, PortConfig> = names
            .iter()
            .zip(&configs)
            .map(|(name, lines)| {
                let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
                ((*name).to_owned(), port(&lines))
            })
            .collect();
        let mut flows = Vec::new();
        let mut offsets = Vec::new();
        for (number, (from, to, queue, rate, packets, packet, offset)) in sources.into_iter().enumerate() {
            let path = &names[from.min(to)..=from.max(to)];
            let figures = (rate * 1_000_003, packets * packet, packet);
            flows.push(flow(&format!("f{number}"), path, queue, figures));
            offsets.push(offset);
        }
        let measured = simulate(&ports, &flows, &offsets);
        for ((bound, measured), flow) in bounds(&ports, &flows).iter().zip(measured).zip(&flows) {
            if let Some(bound) = bound {
                let bound = nanoseconds(bound);
                prop_assert!(Rational::from(measured as i64) <= bound, "{flow:?}: {measured} {bound}");
            }
        }
    }
}
