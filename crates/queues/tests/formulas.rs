//! The model against closed formulas.

use queues::{Arrival, Configuration, Departure, Nanos, Port, PortConfig, QueueId, Refusal};

fn config(lines: &[&str]) -> PortConfig {
    let read = Configuration::parse(lines).expect("a configuration");
    read.0.into_values().next().expect("a port")
}

fn queue(number: u64) -> QueueId {
    QueueId::new(number).expect("a queue")
}

fn packet(length: u32, handle: u64) -> Arrival<u64> {
    Arrival { length, is_capable: true, handle }
}

fn add(port: &mut Port<u64>, now: u64, number: u64, length: u32) -> bool {
    port.enqueue(Nanos(now), queue(number), packet(length, now)).is_ok()
}

/// Takes out all packets that start until a time.
fn serve(port: &mut Port<u64>, until: u64) -> Vec<Departure<u64>> {
    std::iter::from_fn(|| port.dequeue(Nanos(until))).collect()
}

const FOREVER: u64 = u64::MAX;

/// Tests that packet n of a backlogged port starts at the time of n packets at its rate, rounded up
/// once, although neither rate divides the time of a packet.
#[test]
fn a_rate_is_exact_after_any_number_of_packets() {
    for (line, per_second, cost) in [
        ("port=1 rate=7777777777bps depth=1000000", 7_777_777_777_u128, 8 * 1500_u128),
        ("port=1 rate=333333pps depth=1000000", 333_333, 1),
        ("port=1 rate=10Mbps,333333pps depth=1000000", 10_000_000, 8 * 1500),
        ("port=1 rate=10Gbps,333333pps depth=1000000", 333_333, 1),
        ("port=1 rate=9Mbps overhead=24 depth=1000000", 9_000_000, 8 * 1524),
    ] {
        let mut port = Port::new(&config(&[line]), Nanos(0), 0);
        assert!((0..100_000).all(|_| add(&mut port, 0, 0, 1500)), "{line}");
        for (number, departure) in (0_u128..).zip(serve(&mut port, FOREVER)) {
            let exact = (number * cost * 1_000_000_000).div_ceil(per_second);
            assert_eq!(u128::from(departure.start.0), exact, "{line}, packet {number}");
        }
    }
}

/// Tests that a queue of 2 Mbit/s at a port of 10 Mbit/s sends each packet at its own rate, also if
/// an urgent queue takes 5 Mbit/s of the port in bursts: the bucket is charged at the release, so a
/// wait for others costs no rate.
#[test]
fn a_queue_keeps_its_rate_behind_an_urgent_one() {
    let lines = ["port=1 rate=10Mbps depth=100000", "port=1 queue=0 rate=2Mbps", "port=1 queue=1"];
    let mut port = Port::new(&config(&lines), Nanos(0), 0);
    for _ in 0..1000 {
        assert!(add(&mut port, 0, 0, 1000));
    }
    let mut low = Vec::new();
    // Every 16 ms, ten packets of 1000 bytes, of 800 us each.
    for burst in 0..250 {
        let now = burst * 16_000_000;
        low.extend(serve(&mut port, now).into_iter().filter(|one| one.queue == queue(0)));
        assert!((0..10).all(|_| add(&mut port, now, 1, 1000)));
    }
    low.extend(serve(&mut port, FOREVER).into_iter().filter(|one| one.queue == queue(0)));
    assert_eq!(low.len(), 1000);
    for (number, departure) in (0..).zip(&low) {
        // Packet n is released at n * 4 ms. It waits for at most one burst of 8 ms, the packets of
        // its own queue that were released meanwhile, and a packet on the wire.
        let released = number * 4_000_000;
        let delay = departure.start.0 - released;
        assert!(delay <= 8_000_000 + 2 * 800_000, "packet {number} waits {delay} ns");
    }
}

/// Tests the delay of the urgent queue of a saturated port: a packet waits for at most one packet
/// of the other queue, L_low / R, and a burst b of the urgent queue leaves within (b + L_low) / R.
/// Both are reached.
#[test]
fn an_urgent_packet_waits_for_one_other_packet() {
    let lines = ["port=1 rate=100Mbps depth=10000", "port=1 queue=1"];
    let mut port = Port::new(&config(&lines), Nanos(0), 0);
    // 1500 bytes take 120 us, and 200 bytes 16 us.
    let (mut worst, mut worst_of_burst, mut seen) = (0, 0, 0);
    let mut record = |departures: Vec<Departure<u64>>| {
        for departure in departures.into_iter().filter(|one| one.queue == queue(1)) {
            let delay = departure.start.0 - departure.arrived.0;
            if departure.depth_before == 0 {
                worst = worst.max(delay);
            }
            worst_of_burst = worst_of_burst.max(delay + 16_000);
            seen += 1;
        }
    };
    for round in 0..2_000_u64 {
        // Each round arrives one nanosecond later in the packet on the wire.
        let now = round * 1_200_001;
        record(serve(&mut port, now));
        assert!((0..10).all(|_| add(&mut port, now, 0, 1500)));
        let later = now + 1;
        record(serve(&mut port, later));
        assert!((0..5).all(|_| add(&mut port, later, 1, 200)));
    }
    record(serve(&mut port, FOREVER));
    assert_eq!(seen, 10_000);
    assert_eq!((worst, worst_of_burst), (120_000 - 1, 120_000 - 1 + 5 * 16_000));
}

/// Tests that backlogged queues of one level share a port by their quanta, within one quantum and
/// one packet at any time (Shreedhar and Varghese, 1996), and by their weights in packets.
#[test]
fn backlogged_queues_share_by_quanta_and_weights() {
    let quanta = [
        "port=1 rate=1Gbps depth=100000",
        "port=1 queue=0 level=0 quantum=300B",
        "port=1 queue=1 level=0 quantum=900B",
        "port=1 queue=2 level=0 quantum=7B",
    ];
    let weights = [
        "port=1 rate=1Gbps depth=100000",
        "port=1 queue=0 level=0 weight=1",
        "port=1 queue=1 level=0 weight=3",
        "port=1 queue=2 level=0 weight=2",
    ];
    let lengths = [1500_u32, 64, 700];
    for (lines, quanta, in_packets) in [(quanta, [300, 900, 7], false), (weights, [1, 3, 2], true)]
    {
        let mut port = Port::new(&config(&lines), Nanos(0), 0);
        for (number, length) in (0..).zip(lengths) {
            assert!((0..30_000).all(|_| add(&mut port, 0, number, length)));
        }
        let mut got = [0_i64; 3];
        for _ in 0..25_000 {
            let departure = port.dequeue(Nanos(FOREVER)).expect("a backlog");
            let number = usize::from(departure.queue.number());
            got[number] += if in_packets { 1 } else { i64::from(departure.length) };
            for (one, other) in [(0, 1), (1, 2), (0, 2)] {
                // got / quantum is the number of rounds, to which each queue is close.
                let largest = |at: usize| if in_packets { 1 } else { i64::from(lengths[at]) };
                let difference = (got[one] * quanta[other] - got[other] * quanta[one]).abs();
                let allowed = quanta[one] * quanta[other]
                    + quanta[other] * largest(one)
                    + quanta[one] * largest(other);
                assert!(difference <= allowed, "{lines:?} {got:?}");
            }
        }
    }
}

#[test]
fn depths_and_thresholds_are_met_exactly() {
    let lines = [
        "port=1 rate=1Mbps queues=3 buffer=1000B",
        "port=1 queue=0 depth=3 ecn=2",
        "port=1 queue=1 depth=500B",
        "port=1 queue=2 ecn=200B",
    ];
    let mut port = Port::new(&config(&lines), Nanos(0), 0);
    let mut enqueue = |number, length, is_capable| {
        let arrival = Arrival { length, is_capable, handle: 0 };
        port.enqueue(Nanos(0), queue(number), arrival).map_err(|refused| refused.refusal)
    };
    let marked = [false, false, true].map(|_| enqueue(0, 100, true).map(|entered| entered.marked));
    assert_eq!(marked, [Ok(false), Ok(false), Ok(true)]);
    assert_eq!(enqueue(0, 100, true), Err(Refusal::Depth));
    assert!(enqueue(1, 400, false).is_ok());
    assert_eq!(enqueue(1, 101, false), Err(Refusal::Depth));
    assert!(enqueue(2, 200, true).is_ok_and(|entered| !entered.marked));
    // Only capable packets are marked.
    assert!(enqueue(2, 50, false).is_ok_and(|entered| !entered.marked));
    assert!(enqueue(2, 50, true).is_ok_and(|entered| entered.marked && entered.depth == 2));
    assert_eq!(enqueue(2, 1, true), Err(Refusal::Buffer));
    assert_eq!(enqueue(3, 1, true), Err(Refusal::NoQueue));
    let counts: Vec<_> = port.counts().collect();
    let seen = |one: &queues::QueueCounts| {
        (one.enqueued, one.dropped_depth, one.dropped_buffer, one.marked)
    };
    assert_eq!(
        counts.iter().map(seen).collect::<Vec<_>>(),
        [(3, 1, 0, 1), (1, 1, 0, 0), (3, 0, 1, 1)]
    );
    assert_eq!((counts[0].deepest, port.waiting()), (3, 7));
}

/// Tests that another rate applies to packets that wait, and that packets of removed queues are
/// returned.
#[test]
fn another_configuration_applies_to_waiting_packets() {
    let mut port = Port::new(&config(&["port=1 rate=8Mbps queues=2"]), Nanos(0), 0);
    assert!((0..4).all(|_| add(&mut port, 0, 0, 1000)) && add(&mut port, 7, 1, 1000));
    // A packet takes a millisecond, and the first is sent to its end.
    assert_eq!(serve(&mut port, 0).len(), 1);
    assert_eq!(port.configure(Nanos(500_000), &config(&["port=1 rate=80Mbps"])), [7]);
    let starts: Vec<u64> = serve(&mut port, FOREVER).iter().map(|one| one.start.0).collect();
    assert_eq!(starts, [1_000_000, 1_100_000, 1_200_000]);
}

/// Tests that the length after the queue counts on the wire, and that a packet that egress drops
/// does not occupy the port.
#[test]
fn the_port_is_charged_for_what_leaves() {
    let mut port = Port::new(&config(&["port=1 rate=8Mbps"]), Nanos(0), 0);
    assert!((0..4).all(|_| add(&mut port, 0, 0, 1000)));
    let mut starts = Vec::new();
    for length in [Some(1500), None, Some(500), Some(1000)] {
        let departure = port.dequeue(Nanos(FOREVER)).expect("a packet");
        starts.push((departure.start.0, port.finished(length).0));
    }
    let expected =
        [(0, 1_500_000), (1_500_000, 1_500_000), (1_500_000, 2_000_000), (2_000_000, 3_000_000)];
    assert_eq!(starts, expected);
    let counts = port.counts().next().expect("a queue");
    assert_eq!((counts.sent, counts.sent_bytes, counts.dropped_behind), (3, 3_000, 1));
}

/// Tests that ten million packets pass through an overloaded port, of which no more wait than its
/// depth, and that those that were sent took the port's whole time.
#[test]
fn ten_million_packets_need_the_memory_of_the_depth() {
    let mut port = Port::new(&config(&["port=1 rate=1Gbps depth=50 queues=2"]), Nanos(0), 0);
    let (mut sent, mut refused, mut most, mut last) = (0_u64, 0_u64, 0, 0);
    for number in 0..10_000_000_u64 {
        // 125 bytes take a microsecond, and arrive every 800 ns.
        let now = number * 800;
        while let Some(departure) = port.dequeue(Nanos(now)) {
            assert_eq!(departure.start.0, sent * 1_000);
            (sent, last) = (sent + 1, departure.start.0);
        }
        refused += u64::from(!add(&mut port, now, number % 2, 125));
        most = most.max(port.waiting());
    }
    assert_eq!(sent + refused + port.waiting() as u64, 10_000_000);
    // The urgent queue gets every second packet and never has a second one waiting.
    assert_eq!((most, last), (50 + 1, 7_999_999_000));
}
