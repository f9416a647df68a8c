//! Tests of traces of nodes with known curves, and of random traces.

use proptest::prelude::*;

use super::*;

/// A rate at which 125 bytes, or 1000 bits, take one microsecond.
const GIGABIT: Rate = Rate(1_000_000_000);

/// Creates a trace of (arrival in ns, bytes, delay in ps).
fn trace(packets: &[(u64, u32, i64)]) -> Trace {
    let before: Vec<Arrived> =
        packets.iter().map(|&(timestamp, bytes, _)| Arrived { timestamp, bytes }).collect();
    let delay = |(packet, &(_, _, delay))| Sample { packet, delay: Picoseconds(delay) };
    let passed: Vec<Sample> = (0..).zip(packets).map(delay).collect();
    Trace::new(&before, &passed).expect("it has packets")
}

/// Simulates a node that serves at 1 Gbit/s and adds a constant latency, in whole nanoseconds.
fn served(arrivals: &[(u64, u32)], latency_ns: u64) -> Vec<(u64, u32, i64)> {
    let mut free = 0;
    let serve = |&(at, bytes): &(u64, u32)| {
        free = free.max(at) + u64::from(bytes) * 8;
        (at, bytes, ((free + latency_ns - at) * 1000) as i64)
    };
    arrivals.iter().map(serve).collect()
}

#[test]
fn the_latency_of_single_packets_is_their_delay_less_the_transmission_time() {
    let at = trace(&[(0, 125, 5_000_000), (100_000, 125, 7_000_000)]).at(GIGABIT);
    assert_eq!(at.latency, Picoseconds(6_000_000));
    assert_eq!(at.least_latency, Some(Picoseconds(4_000_000)));
    assert_eq!(at.burst, 1000);
    assert_eq!(at.delay_bound(), Picoseconds(7_000_000));
}

#[test]
fn queueing_delay_is_not_counted_twice() {
    let arrivals: Vec<(u64, u32)> = (0..10).map(|_| (50, 125)).collect();
    let queue = trace(&served(&arrivals, 300));
    assert_eq!(queue.longest(), Picoseconds(10_300_000));
    let at = queue.at(GIGABIT);
    assert_eq!((at.latency, at.least_latency), (Picoseconds(300_000), Some(Picoseconds(300_000))));
    assert_eq!(at.delay_bound(), queue.longest());
    let half = queue.at(Rate(500_000_000));
    assert_eq!(
        (half.latency, half.least_latency),
        (Picoseconds(0), None),
        "it is faster than that"
    );
    let twice = queue.at(Rate(2_000_000_000));
    assert_eq!(
        twice.latency,
        Picoseconds(5_300_000),
        "the last is 5 µs later than at twice the rate"
    );
}

#[test]
fn lost_packets_are_in_neither_curve() {
    let before = [
        Arrived { timestamp: 0, bytes: 125 },
        Arrived { timestamp: 0, bytes: 1250 },
        Arrived { timestamp: 0, bytes: 125 },
    ];
    let passed = [(2, 2_500_000), (0, 1_500_000)]
        .map(|(packet, delay)| Sample { packet, delay: Picoseconds(delay) });
    let trace = Trace::new(&before, &passed).expect("two came out");
    assert_eq!(trace.len(), 2);
    assert_eq!(trace.at(GIGABIT).latency, Picoseconds(500_000));
    assert_eq!(Trace::new(&before, &[]), None);
}

fn packets() -> impl Strategy<Value = Vec<(u64, u32, i64)>> {
    let packet = (0_u64..3_000, 64_u32..1519, 0_i64..40_000_000);
    prop::collection::vec(packet, 1..40).prop_map(|packets| {
        let mut at = 0;
        let place = |(gap, bytes, delay): (u64, u32, i64)| {
            at += gap;
            (at, bytes, delay)
        };
        packets.into_iter().map(place).collect()
    })
}

proptest! {
    /// Checks that a node of rate R and latency T has these curves, for any input.
    #[test]
    fn the_curve_of_a_known_node_is_found(packets in packets(), latency in 0_u64..5_000) {
        let arrivals: Vec<(u64, u32)> =
            packets.iter().map(|&(at, bytes, _)| (at, bytes)).collect();
        let at = trace(&served(&arrivals, latency)).at(GIGABIT);
        let expected = Picoseconds(latency as i64 * 1000);
        prop_assert_eq!((at.latency, at.least_latency), (expected, Some(expected)));
    }

    /// Checks the definition of a service curve: A ⊗ β has left by each departure, with the
    /// packetizer's allowance for the length of the packet. A latency that is one picosecond
    /// shorter does not satisfy it.
    #[test]
    fn the_latency_is_the_least_that_serves(packets in packets(), megabits in 1_u64..20_000) {
        let trace = trace(&packets);
        let rate = Rate(megabits * 1_000_000);
        let at = trace.at(rate);
        let r = i128::from(rate.0);
        // The condition d_n ≤ T + f_n, with f_n written out as max over m ≤ n of a_m + (l_m + ... +
        // l_n) / R.
        let holds = |latency: i128| {
            (0..trace.packets.len()).all(|n| {
                let packet = &trace.packets[n];
                let finish = (0..=n).map(|m| {
                    let bits: i128 = trace.packets[m..=n].iter().map(|packet| packet.bits).sum();
                    trace.packets[m].arrived * r + bits * SECOND
                });
                (packet.arrived + packet.delay) * r <= latency * r + finish.max().unwrap_or(0)
            })
        };
        prop_assert!(holds(i128::from(at.latency.0)));
        prop_assert!(at.latency.0 == 0 || !holds(i128::from(at.latency.0) - 1));
        // The horizontal deviation of the two curves bounds all observed delays.
        prop_assert!(trace.longest() <= at.delay_bound());
    }

    /// Checks that no packet left earlier than the maximum service curve allows.
    #[test]
    fn no_packet_is_earlier_than_the_maximum_curve_allows(packets in packets(), megabits in 1_u64..20_000) {
        let trace = trace(&packets);
        let at = trace.at(Rate(megabits * 1_000_000));
        let r = i128::from(at.rate.0);
        let mut finish = i128::MIN;
        let early = trace.packets.iter().map(|packet| {
            finish = finish.max(packet.arrived * r) + packet.bits * SECOND;
            (packet.arrived + packet.delay) * r - finish
        });
        let least = early.min().unwrap_or(0);
        match at.least_latency {
            Some(latency) => prop_assert!(
                i128::from(latency.0) * r <= least && least < (i128::from(latency.0) + 1) * r
            ),
            None => prop_assert!(least < 0),
        }
    }
}
