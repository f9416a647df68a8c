//! Compares the model with a naive simulation that advances by single nanoseconds and counts
//! tokens.

use proptest::prelude::*;
use queues::config::Share;
use queues::{Arrival, Limit, Nanos, Port, PortConfig, QueueConfig, QueueId, Shaper};
use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroU64};

/// One bit, in the unit in which the simulation counts tokens: a rate of R bit/s adds R units in
/// each nanosecond.
const BIT: i128 = 1_000_000_000;
/// The end of the simulation. It is long enough for all packets to leave at the lowest rates.
const END: u64 = 60_000;

#[derive(Clone, Debug)]
struct Sent {
    start: u64,
    packet: usize,
    before: u32,
    left: u32,
}

impl PartialEq for Sent {
    fn eq(&self, other: &Self) -> bool {
        (self.start, self.packet, self.before, self.left)
            == (other.start, other.packet, other.before, other.left)
    }
}

#[derive(Clone, Debug)]
struct Packet {
    time: u64,
    queue: u8,
    length: u32,
    /// The length with which it leaves the port, or `None` if egress drops it.
    leaves: Option<u32>,
}

/// Another configuration of the port, which applies from a time on: after the packets that are due
/// then have started, and before others arrive.
#[derive(Clone, Debug)]
struct Change {
    time: u64,
    config: PortConfig,
}

/// Runs the model. Packets that are due at a time start before the packets that arrive then.
fn model(
    config: &PortConfig,
    mut change: Option<&Change>,
    packets: &[Packet],
) -> (Vec<Sent>, Vec<usize>) {
    let mut port = Port::new(config, Nanos(0), 0);
    let (mut sent, mut dropped) = (Vec::new(), Vec::new());
    let serve = |port: &mut Port<usize>, now: u64, sent: &mut Vec<Sent>| {
        while let Some(departure) = port.dequeue(Nanos(now)) {
            sent.push(Sent {
                start: departure.start.0,
                packet: departure.handle,
                before: departure.depth_before,
                left: departure.depth_left,
            });
            port.finished(packets[departure.handle].leaves);
        }
    };
    let configure = |port: &mut Port<usize>, change: &Change, sent: &mut Vec<Sent>| {
        serve(port, change.time, sent);
        assert_eq!(port.configure(Nanos(change.time), &change.config), []);
    };
    for (number, packet) in packets.iter().enumerate() {
        if let Some(change) = change.take_if(|change| change.time <= packet.time) {
            configure(&mut port, change, &mut sent);
        }
        serve(&mut port, packet.time, &mut sent);
        let queue = QueueId::new(packet.queue.into()).expect("a queue");
        let arrival = Arrival { length: packet.length, is_capable: false, handle: number };
        if let Err(refused) = port.enqueue(Nanos(packet.time), queue, arrival) {
            dropped.push(refused.handle);
        }
    }
    if let Some(change) = change {
        configure(&mut port, change, &mut sent);
    }
    serve(&mut port, END, &mut sent);
    let counts: Vec<_> = port.counts().collect();
    let sum = |of: fn(&queues::QueueCounts) -> u64| counts.iter().map(of).sum::<u64>();
    assert_eq!(sum(|counts| counts.enqueued), (packets.len() - dropped.len()) as u64);
    for counts in &counts {
        let left = counts.sent + counts.dropped_behind + u64::from(counts.waiting);
        assert_eq!(counts.enqueued, left, "{counts:?}");
    }
    (sent, dropped)
}

struct Waits {
    packet: usize,
    before: u32,
    released: Option<u64>,
}

/// The token bucket of a queue.
struct Bucket {
    tokens: i128,
    limit: Limit,
    counts_packets: bool,
}

impl Bucket {
    fn of(shaper: &Shaper) -> Option<Self> {
        let (limit, counts_packets) = match (shaper.bits, shaper.packets) {
            (Some(limit), _) => (limit, false),
            (None, Some(limit)) => (limit, true),
            (None, None) => return None,
        };
        Some(Self { tokens: i128::from(limit.burst) * BIT, limit, counts_packets })
    }

    /// Returns the bucket of another shaper, with the tokens of this one if they have its unit.
    fn changed(before: Option<&Self>, shaper: &Shaper) -> Option<Self> {
        let mut bucket = Self::of(shaper)?;
        if let Some(before) = before.filter(|one| one.counts_packets == bucket.counts_packets) {
            bucket.tokens = bucket.tokens.min(before.tokens);
        }
        Some(bucket)
    }

    fn cost(&self, config: &PortConfig, length: u32) -> i128 {
        let cost = if self.counts_packets { 1 } else { config.bits(length) };
        i128::from(cost) * BIT
    }
}

struct Oracle<'c> {
    config: PortConfig,
    /// The shaper that the port gets when the packet on the wire has been sent.
    next: Option<Shaper>,
    packets: &'c [Packet],
    queues: Vec<VecDeque<Waits>>,
    buckets: Vec<Option<Bucket>>,
    /// The units that the port still owes for what it has sent.
    owed: i128,
    deficits: Vec<u64>,
    /// The queues in the order of their turns, for each level.
    turns: Vec<Vec<usize>>,
    in_turn: Vec<bool>,
    sent: Vec<Sent>,
}

impl Oracle<'_> {
    fn step(&mut self) {
        if let Some(limit) = self.config.shaper.bits {
            self.owed -= i128::from(limit.rate.get());
        }
        for (bucket, queue) in self.buckets.iter_mut().zip(&self.queues) {
            let Some(bucket) = bucket else { continue };
            bucket.tokens += i128::from(bucket.limit.rate.get());
            // While a packet waits for tokens, none is lost.
            if queue.iter().all(|waits| waits.released.is_some()) {
                bucket.tokens = bucket.tokens.min(i128::from(bucket.limit.burst) * BIT);
            }
        }
    }

    fn release(&mut self, now: u64) {
        for (bucket, queue) in self.buckets.iter_mut().zip(&mut self.queues) {
            for waits in queue.iter_mut().filter(|waits| waits.released.is_none()) {
                if let Some(bucket) = bucket {
                    let cost = bucket.cost(&self.config, self.packets[waits.packet].length);
                    let full = i128::from(bucket.limit.burst) * BIT;
                    if bucket.tokens < cost.min(full) {
                        break;
                    }
                    bucket.tokens -= cost;
                }
                waits.released = Some(now);
            }
        }
    }

    fn head(&self, queue: usize) -> Option<(u64, u32)> {
        let first = self.queues[queue].front()?;
        Some((first.released?, self.packets[first.packet].length))
    }

    /// Chooses a queue: the highest level, and there rounds without any shortcut.
    fn choose(&mut self) -> Option<usize> {
        for level in (0..self.turns.len()).rev() {
            let members: Vec<usize> = (0..self.queues.len())
                .filter(|queue| usize::from(self.config.queues[*queue].level) == level)
                .collect();
            let ready = |oracle: &Self, queue: usize| oracle.head(queue).is_some();
            let gone = self.turns[level].first().is_some_and(|first| !ready(self, *first));
            if gone {
                self.in_turn[level] = false;
            }
            let stay: Vec<usize> =
                self.turns[level].iter().copied().filter(|queue| ready(self, *queue)).collect();
            self.turns[level] = stay;
            let mut joins: Vec<(u64, usize)> = Vec::new();
            for queue in members {
                match self.head(queue) {
                    None => self.deficits[queue] = 0,
                    Some((released, _)) if !self.turns[level].contains(&queue) => {
                        joins.push((released, queue));
                    }
                    Some(_) => {}
                }
            }
            joins.sort_unstable();
            self.turns[level].extend(joins.iter().map(|(_, queue)| queue));
            while let Some(first) = self.turns[level].first().copied() {
                let (_, length) = self.head(first)?;
                let (quantum, cost) = match self.config.queues[first].share {
                    Share::Packets(weight) => (u64::from(weight.get()), 1),
                    Share::Bytes(quantum) => (u64::from(quantum.get()), u64::from(length)),
                };
                if !self.in_turn[level] {
                    self.deficits[first] += quantum;
                    self.in_turn[level] = true;
                }
                let is_alone = (0..self.queues.len())
                    .filter(|other| {
                        self.config.queues[*other].level == self.config.queues[first].level
                    })
                    .count()
                    == 1;
                if is_alone || self.deficits[first] >= cost {
                    self.deficits[first] -= cost.min(self.deficits[first]);
                    return Some(first);
                }
                self.turns[level].rotate_left(1);
                self.in_turn[level] = false;
            }
        }
        None
    }

    fn change(&mut self, config: &PortConfig) {
        for ((bucket, before), after) in
            self.buckets.iter_mut().zip(&self.config.queues).zip(&config.queues)
        {
            if before.shaper != after.shaper {
                *bucket = Bucket::changed(bucket.as_ref(), &after.shaper);
            }
        }
        let shaper = std::mem::replace(&mut self.config, config.clone()).shaper;
        self.config.shaper = shaper;
        self.next = (shaper != config.shaper).then_some(config.shaper);
    }

    /// Makes the next shaper of the port apply if the port owes no more than its burst.
    fn apply_next(&mut self) {
        let capacity = |shaper: Shaper| shaper.bits.map(|limit| i128::from(limit.burst) * BIT);
        let burst = capacity(self.config.shaper).unwrap_or(0);
        let Some(next) = self.next.take_if(|_| self.owed <= burst) else { return };
        let tokens = burst - self.owed.max(0);
        self.owed = match (self.config.shaper.bits, capacity(next)) {
            (Some(_), Some(capacity)) => (capacity - tokens).max(0),
            (None, _) | (_, None) => 0,
        };
        self.config.shaper = next;
    }

    fn serve(&mut self, now: u64) {
        let burst = self.config.shaper.bits.map_or(0, |limit| i128::from(limit.burst) * BIT);
        self.release(now);
        while self.owed <= burst {
            let heads = (0..self.queues.len()).filter_map(|queue| self.head(queue));
            let Some(earliest) = heads.map(|(released, _)| released).min() else { break };
            if self.owed < 0 && earliest >= now {
                // The link was idle in the nanosecond before.
                self.owed = 0;
            }
            let Some(queue) = self.choose() else { break };
            let Some(waits) = self.queues[queue].pop_front() else { break };
            let left = self.queues[queue].len() as u32;
            self.sent.push(Sent { start: now, packet: waits.packet, before: waits.before, left });
            if let (Some(length), Some(_)) =
                (self.packets[waits.packet].leaves, self.config.shaper.bits)
            {
                self.owed += i128::from(self.config.bits(length)) * BIT;
            }
        }
    }
}

/// Simulates the port, one nanosecond after the other.
fn oracle(
    config: &PortConfig,
    change: Option<&Change>,
    packets: &[Packet],
) -> (Vec<Sent>, Vec<usize>) {
    let count = config.queues.len();
    let mut oracle = Oracle {
        config: config.clone(),
        next: None,
        packets,
        queues: (0..count).map(|_| VecDeque::new()).collect(),
        buckets: config.queues.iter().map(|queue| Bucket::of(&queue.shaper)).collect(),
        owed: 0,
        deficits: vec![0; count],
        turns: vec![Vec::new(); 64],
        in_turn: vec![false; 64],
        sent: Vec::new(),
    };
    let (mut dropped, mut next) = (Vec::new(), 0);
    for now in 0..=END {
        if now > 0 {
            oracle.step();
        }
        oracle.apply_next();
        oracle.serve(now);
        if let Some(change) = change.filter(|change| change.time == now) {
            oracle.change(&change.config);
            oracle.apply_next();
        }
        while let Some(packet) = packets.get(next).filter(|packet| packet.time == now) {
            oracle.serve(now);
            let of = |queue: &VecDeque<Waits>| -> u64 {
                queue.iter().map(|waits| u64::from(packets[waits.packet].length)).sum()
            };
            let own = &oracle.config.queues[usize::from(packet.queue)];
            let (queue, length) =
                (&oracle.queues[usize::from(packet.queue)], u64::from(packet.length));
            let before = queue.len() as u32;
            let all: u64 = oracle.queues.iter().map(of).sum();
            if before >= own.depth_packets
                || own.depth_bytes.is_some_and(|most| of(queue) + length > most)
                || oracle.config.buffer.is_some_and(|most| all + length > most)
            {
                dropped.push(next);
            } else {
                let waits = Waits { packet: next, before, released: None };
                oracle.queues[usize::from(packet.queue)].push_back(waits);
                oracle.release(now);
            }
            next += 1;
        }
        oracle.serve(now);
        oracle.owed = oracle.owed.max(0);
    }
    (oracle.sent, dropped)
}

fn limit() -> impl Strategy<Value = Limit> {
    (50_000_000..4_000_000_000_u64, 0..600_u64)
        .prop_map(|(rate, burst)| Limit { rate: NonZeroU64::new(rate).expect("a rate"), burst })
}

/// Returns no shaper, one in bits, or one in packets.
fn shaper() -> impl Strategy<Value = Shaper> {
    (limit(), 0..3, 0..4_u64).prop_map(|(limit, kind, burst)| match kind {
        0 => Shaper::default(),
        1 => Shaper { bits: Some(limit), packets: None },
        _ => {
            let rate = NonZeroU64::new(limit.rate.get() / 100).expect("a rate");
            Shaper { bits: None, packets: Some(Limit { rate, burst }) }
        }
    })
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    (0..2_u8, shaper(), 1..12_u32, prop::option::of(20..200_u64), 1..40_u32).prop_map(
        |(level, shaper, depth_packets, depth_bytes, share)| QueueConfig {
            level,
            shaper,
            depth_packets,
            depth_bytes,
            share: Share::Packets(NonZeroU32::new(share).expect("a share")),
            ..QueueConfig::new(0)
        },
    )
}

fn port() -> impl Strategy<Value = PortConfig> {
    let queues = prop::collection::vec(queue(), 1..5);
    let shaper = (limit(), any::<bool>(), any::<bool>());
    (queues, shaper, 0..5_u32, prop::option::of(50..400_u64), any::<[bool; 2]>()).prop_map(
        |(mut queues, (limit, has_rate, has_burst), overhead, buffer, bytes)| {
            for queue in &mut queues {
                if let (true, Share::Packets(share)) =
                    (bytes[usize::from(queue.level)], queue.share)
                {
                    queue.share = Share::Bytes(share);
                }
            }
            let burst = if has_burst { limit.burst } else { 0 };
            let bits = has_rate.then_some(Limit { burst, ..limit });
            PortConfig { shaper: Shaper { bits, packets: None }, overhead, buffer, queues }
        },
    )
}

fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let leaves = |length: u32| prop_oneof![6 => Just(Some(length)), 1 => Just(Some(length + 7)), 1 => Just(None)];
    let packet =
        (0..2_000_u64, any::<u8>(), 1..40_u32).prop_flat_map(move |(time, queue, length)| {
            leaves(length).prop_map(move |leaves| Packet { time, queue, length, leaves })
        });
    prop::collection::vec(packet, 1..40).prop_map(|mut packets| {
        packets.sort_by_key(|packet| packet.time);
        packets
    })
}

/// Returns other settings for a port, whose queues keep their levels and shares.
fn change() -> impl Strategy<Value = (u64, PortConfig)> {
    let port = port().prop_map(|port| PortConfig {
        queues: port.queues.into_iter().cycle().take(5).collect(),
        ..port
    });
    (0..2_500_u64, port)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_model_is_the_simulation_in_steps_of_a_nanosecond(
        config in port(),
        mut packets in packets(),
    ) {
        for packet in &mut packets {
            packet.queue %= config.queues.len() as u8;
        }
        let (sent, dropped) = model(&config, None, &packets);
        let (expected_sent, expected_dropped) = oracle(&config, None, &packets);
        prop_assert_eq!(dropped, expected_dropped);
        prop_assert_eq!(sent.len(), expected_sent.len());
        for (found, expected) in sent.iter().zip(&expected_sent) {
            prop_assert_eq!(found, expected);
        }
    }

    /// Rates, bursts, depths and the buffer change while packets wait and one is on the wire.
    #[test]
    fn a_change_is_exact_too(
        config in port(),
        (time, mut other) in change(),
        mut packets in packets(),
    ) {
        for packet in &mut packets {
            packet.queue %= config.queues.len() as u8;
        }
        other.overhead = config.overhead;
        other.queues.truncate(config.queues.len());
        for (other, queue) in other.queues.iter_mut().zip(&config.queues) {
            (other.level, other.share) = (queue.level, queue.share);
        }
        let change = Change { time, config: other };
        let (sent, dropped) = model(&config, Some(&change), &packets);
        let (expected_sent, expected_dropped) = oracle(&config, Some(&change), &packets);
        prop_assert_eq!(dropped, expected_dropped);
        prop_assert_eq!(sent, expected_sent);
    }
}
