//! Measurements, in virtual time, of a switch that sends digests as the specification says, except
//! for the faults that a test sets.

use std::collections::VecDeque;

use entities::{BitsType, Data, DataType};
use packetio::{BURST, Burst, Port, memory};

use super::*;
use crate::clock::nanos;
use crate::testing::ticking::{TICK, Ticking};

/// The number of packets of a round.
const PACKETS: usize = 40;
const SETTINGS: Settings = Settings { rounds: 2 };
/// The number of packets with one configuration in all counted rounds.
const SENT: u64 = PACKETS as u64 * SETTINGS.rounds as u64;
/// The number of readings of the clock within which the measurement sees what has happened.
const READINGS: u32 = 10;

#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    /// One of this number of digests is dropped; `None` if none is.
    loses: Option<u64>,
    /// One of this number of lists is sent twice; `None` if none is.
    copies: Option<u64>,
    /// The time for which lists are held back.
    late: Duration,
    /// Whether a digest is sent again before its acknowledgement or timeout.
    repeats: bool,
    /// Whether acknowledgements have no effect.
    ignores_acknowledgements: bool,
    /// Whether digests that were not acknowledged are never sent again.
    never_times_out: bool,
    /// Whether lists may have one digest more than the configuration allows.
    oversized: bool,
}

/// A digest that the switch has sent in a list, and its time.
struct Sent {
    list_id: u64,
    at: u64,
    digest: u8,
}

struct Made {
    clock: Ticking,
    port: Port,
    burst: Burst,
    faults: Faults,
    config: Config,
    /// The digests that wait to be sent, and the time of the first of them.
    waiting: Vec<u8>,
    since: u64,
    unacknowledged: Vec<Sent>,
    /// The lists that are on their way, and when they arrive.
    leaving: VecDeque<(u64, v1::DigestList)>,
    digests: u64,
    lists: u64,
}

impl Made {
    fn digest(&mut self, digest: u8, now: u64) {
        let timeout = nanos(self.config.ack_timeout);
        let never = self.faults.never_times_out;
        self.unacknowledged.retain(|sent| never || now < sent.at + timeout);
        let is_sent = self.unacknowledged.iter().any(|sent| sent.digest == digest);
        if self.waiting.contains(&digest) || (is_sent && !self.faults.repeats) {
            return;
        }
        self.digests += 1;
        if self.faults.loses.is_some_and(|each| self.digests.is_multiple_of(each)) {
            return;
        }
        if self.waiting.is_empty() {
            self.since = now;
        }
        self.waiting.push(digest);
        let most = self.config.max_list_size as usize + usize::from(self.faults.oversized);
        if self.waiting.len() >= most {
            self.send(now);
        }
    }

    fn send(&mut self, now: u64) {
        self.lists += 1;
        let (list_id, digests) = (self.lists, std::mem::take(&mut self.waiting));
        let sent = digests.iter().map(|digest| Sent { list_id, at: now, digest: *digest });
        self.unacknowledged.extend(sent);
        let data = digests.iter().map(|digest| v1::P4Data {
            data: Some(v1::p4_data::Data::Bitstring(vec![*digest].into())),
        });
        let list = v1::DigestList { digest_id: 1, list_id, data: data.collect(), timestamp: 0 };
        let arrives = now + nanos(self.faults.late);
        if self.faults.copies.is_some_and(|each| self.lists.is_multiple_of(each)) {
            self.leaving.push_back((arrives, list.clone()));
        }
        self.leaving.push_back((arrives, list));
    }
}

impl Control for Made {
    async fn configure(&mut self, config: Config) -> Result<(), DutError> {
        self.config = config;
        Ok(())
    }

    async fn look(&mut self, lists: &mut Vec<v1::DigestList>) -> Result<(), DutError> {
        let now = self.clock.reading();
        let mut burst = std::mem::replace(&mut self.burst, Burst::new(0));
        burst.clear();
        for queue in &mut self.port.queues {
            queue.receive(&mut burst)?;
        }
        for frame in burst.frames() {
            self.digest(frame.bytes()[0], now);
        }
        self.burst = burst;
        let due = self.since + nanos(self.config.max_timeout);
        if !self.waiting.is_empty() && now >= due {
            self.send(now);
        }
        while self.leaving.front().is_some_and(|(arrives, _)| *arrives <= now) {
            lists.extend(self.leaving.pop_front().map(|(_, list)| list));
        }
        Ok(())
    }

    fn acknowledge(&mut self, list: &v1::DigestList) {
        if !self.faults.ignores_acknowledgements {
            self.unacknowledged.retain(|sent| sent.list_id != list.list_id);
        }
    }
}

fn measured(faults: Faults) -> Measured {
    let [near, far] = memory::line("in", 1 << 12);
    let clock = Ticking::default();
    let mut made = Made {
        clock: clock.clone(),
        port: far,
        burst: Burst::new(BURST),
        faults,
        config: Config::default(),
        waiting: Vec::new(),
        since: 0,
        unacknowledged: Vec::new(),
        leaving: VecDeque::new(),
        digests: 0,
        lists: 0,
    };
    let emitting = (1..=PACKETS as u8).map(|number| {
        let mut packet = vec![0; 60];
        packet[0] = number;
        Emitting { packet, digest: Data::Bits(Box::from([number])) }
    });
    let data_type = DataType::Bits(BitsType::Unsigned(8));
    let packets = Packets { port: 1, data_type, emitting: emitting.collect() };
    let stop = AtomicBool::new(false);
    let outlets = vec![Outlet::new(1, near)];
    let bench = Bench::new(&mut made, outlets, &packets, &stop, &clock);
    let rounds = Rounds { settings: &SETTINGS, stop: &stop, progress: &mut |_, _| {} };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let found = runtime.block_on(measure(bench, Measured::of("learn", PACKETS), rounds));
    found.expect("it can be measured")
}

fn longest(delivery: &Delivery) -> Duration {
    let longest = delivery.latencies.iter().filter_map(|round| round.at(1.0)).max();
    longest.expect("digests arrived")
}

/// Digests arrive within this time after the switch has sent them.
fn seen() -> Duration {
    TICK * READINGS
}

#[test]
fn a_switch_without_faults_has_none_and_its_latencies_are_those_of_its_configuration() {
    let found = measured(Faults::default());
    let lists = [SENT, 2, 6];
    for (delivery, lists) in found.deliveries.iter().zip(lists) {
        let counts = Counts { sent: SENT, lists, ..Counts::default() };
        assert_eq!(delivery.counts, counts, "{:?}", delivery.config);
    }
    let [at_once, grouped, full] = found.deliveries.as_slice() else { panic!("{found:?}") };
    assert!(longest(at_once) <= seen(), "{:?}", longest(at_once));
    // The first of a list waits for the whole time.
    for delivery in [grouped, full] {
        let late = longest(delivery).checked_sub(delivery.config.max_timeout);
        assert!(late.is_some_and(|late| late <= seen()), "{:?}", longest(delivery));
    }
    // Lists of 16 are full after 15 more packets, except for the last eight packets of 40.
    let soon = full.latencies.iter().map(|round| round.at(0.75).expect("digests"));
    for latency in soon {
        assert!(latency <= Duration::from_millis(16), "{latency:?}");
    }
    let repetition = Repetition {
        ack_timeout: SHORT,
        packets: REPEATED as u64,
        too_early: 0,
        missing_after_timeout: 0,
        missing_after_acknowledgement: 0,
    };
    assert_eq!(found.repetition, Some(repetition));
}

#[test]
fn lost_and_repeated_digests_are_counted() {
    let found = measured(Faults { loses: Some(8), ..Faults::default() });
    for delivery in &found.deliveries {
        let counts = delivery.counts;
        assert_eq!((counts.sent, counts.lost, counts.repeated), (SENT, SENT / 8, 0));
    }
    let found = measured(Faults { copies: Some(10), ..Faults::default() });
    let at_once = found.deliveries[0].counts;
    assert_eq!((at_once.lost, at_once.repeated, at_once.foreign), (0, SENT / 10, 0));
}

#[test]
fn the_time_by_which_digests_are_late_is_recovered() {
    const LATE: Duration = Duration::from_millis(70);
    let found = measured(Faults { late: LATE, ..Faults::default() });
    for delivery in &found.deliveries {
        assert_eq!(delivery.counts.lost, 0);
        let least = delivery.latencies[0].at(0.0).expect("digests");
        assert!(least >= LATE, "{least:?}");
    }
    let longest = longest(&found.deliveries[1]);
    let late = longest - found.deliveries[1].config.max_timeout;
    assert!(late >= LATE && late <= LATE + seen(), "{late:?}");
}

#[test]
fn lists_that_are_too_long_are_counted() {
    let found = measured(Faults { oversized: true, ..Faults::default() });
    // 40 packets make two lists of 17 in each round, and a rest.
    assert_eq!(found.deliveries[2].counts.oversized, 2 * u64::from(SETTINGS.rounds));
    assert_eq!(found.deliveries[1].counts.oversized, 0);
}

#[test]
fn wrong_repetitions_are_found() {
    let repetition = |faults| measured(faults).repetition.expect("it was measured");
    let all = REPEATED as u64;
    let repeats = repetition(Faults { repeats: true, ..Faults::default() });
    assert_eq!((repeats.too_early, repeats.missing_after_timeout), (all, 0));
    let never = repetition(Faults { never_times_out: true, ..Faults::default() });
    assert_eq!((never.too_early, never.missing_after_timeout), (0, all));
}

/// A switch that ignores acknowledgements does not send digests again in later rounds.
#[test]
fn ignored_acknowledgements_are_found() {
    let found = measured(Faults { ignores_acknowledgements: true, ..Faults::default() });
    assert_eq!(found.deliveries[0].counts.lost, SENT);
    let repetition = found.repetition.expect("it was measured");
    assert_eq!(repetition.missing_after_acknowledgement, REPEATED as u64);
}
