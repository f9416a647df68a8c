//! Tests of the measurement in virtual time, with a simulated switch with known faults. Its control
//! channel is neither OpenFlow nor P4Runtime.

use std::collections::VecDeque;

use packetio::{BURST, Burst, Port, memory};

use super::*;
use crate::clock::nanos;
use crate::tag::Tag;
use crate::testing::ticking::{TICK, Ticking};

const SETTINGS: Settings =
    Settings { rounds: 3, time: Duration::from_millis(100), window: 16, reactions: 4 };
/// The time that a packet takes to cross the control channel.
const CROSSES: Duration = Duration::from_millis(2);
/// The number of clock readings within which the measurement notices an event.
const READINGS: u32 = 12;

#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    /// One in this number of packets to the controller is dropped; `None` if none is.
    loses: Option<u64>,
    /// One in this number of packets to the controller is sent twice.
    copies: Option<u64>,
    /// One in this number of packets to the controller is overtaken by the next one.
    swaps: Option<u64>,
    /// The largest number of packets per second that the switch sends to the controller.
    cap: Option<f64>,
    /// The time from an update to its answer.
    answers: Duration,
    /// The time from an update until packets obey the new rule.
    obeys: Duration,
}

/// A simulated switch with two ports. An entry is one byte and forwards the packets that begin with
/// that byte.
struct Made {
    clock: Ticking,
    ports: [Port; 2],
    burst: Burst,
    faults: Faults,
    entries: Vec<u8>,
    /// The updates that have not taken effect, with the times at which they will.
    pending: VecDeque<(u64, Operation, u8)>,
    answer: Option<u64>,
    /// The packets in flight to the controller, with the times at which they arrive.
    arriving: VecDeque<(u64, Tag)>,
    /// The packets in flight from the controller, with the times at which they arrive.
    leaving: VecDeque<(u64, Vec<u8>)>,
    packet_ins: u64,
    /// The time at which the switch can send the next packet to the controller.
    free: u64,
    updates: Vec<(Operation, u8)>,
}

impl Made {
    fn packet_in(&mut self, tag: Tag, now: u64) {
        self.packet_ins += 1;
        let hits =
            |each: Option<u64>| each.is_some_and(|each| self.packet_ins.is_multiple_of(each));
        let Faults { loses, copies, swaps, cap, .. } = self.faults;
        if hits(loses) {
            return;
        }
        if let Some(cap) = cap {
            self.free = self.free.max(now) + (1e9 / cap) as u64;
        }
        let arrives = self.free.max(now) + nanos(CROSSES);
        for _ in 0..if hits(copies) { 2 } else { 1 } {
            self.arriving.push_back((arrives, tag));
        }
        // This one and the one before it change places.
        if hits(swaps)
            && let [.., before, last] = self.arriving.make_contiguous()
        {
            std::mem::swap(&mut before.1, &mut last.1);
        }
    }
}

impl Control for Made {
    type Entry = u8;

    async fn begin(&mut self, operation: Operation, entry: &u8) -> Result<(), DutError> {
        let now = self.clock.reading();
        self.pending.push_back((now + nanos(self.faults.obeys), operation, *entry));
        self.answer = Some(now + nanos(self.faults.answers));
        self.updates.push((operation, *entry));
        Ok(())
    }

    async fn look(&mut self, take: &mut dyn FnMut(Tag)) -> Result<bool, DutError> {
        let now = self.clock.reading();
        while self.pending.front().is_some_and(|(due, ..)| *due <= now) {
            match self.pending.pop_front() {
                Some((_, Operation::Delete, entry)) => self.entries.retain(|one| *one != entry),
                Some((_, Operation::Insert | Operation::Modify, entry)) => self.entries.push(entry),
                None => {}
            }
        }
        let mut burst = std::mem::replace(&mut self.burst, Burst::new(0));
        burst.clear();
        self.ports[0].queues[0].receive(&mut burst)?;
        for frame in burst.frames() {
            match Tag::read(frame.bytes()) {
                _ if self.entries.contains(&frame.bytes()[0]) => {
                    self.ports[1].queues[0].transmit(frame.bytes());
                }
                Some(tag) => self.packet_in(tag, now),
                None => {}
            }
        }
        self.burst = burst;
        while self.leaving.front().is_some_and(|(leaves, _)| *leaves <= now) {
            let packet = self.leaving.pop_front();
            packet.into_iter().for_each(|(_, packet)| {
                self.ports[1].queues[0].transmit(&packet);
            });
        }
        self.ports[1].queues[0].flush();
        while self.arriving.front().is_some_and(|(arrives, _)| *arrives <= now) {
            self.arriving.pop_front().into_iter().for_each(|(_, tag)| take(tag));
        }
        Ok(self.answer.is_some_and(|answer| answer <= now))
    }

    fn packet_out(&mut self, packet: &[u8]) -> Result<bool, DutError> {
        self.leaving.push_back((self.clock.reading() + nanos(CROSSES), packet.to_vec()));
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), DutError> {
        Ok(())
    }
}

/// Measures a simulated switch. `has_before` says whether the controller modifies an entry after
/// the first packet of a flow, instead of inserting one. Also returns the switch, with the entries
/// that are left in it.
fn measured(faults: Faults, has_before: bool) -> (Measured, Made) {
    measured_until(u64::MAX, faults, has_before)
}

/// Measures a simulated switch like [`measured`], and stops the measurement after a number of
/// steps.
fn measured_until(steps: u64, faults: Faults, has_before: bool) -> (Measured, Made) {
    let ([near, far], [back, out]) = (memory::line("in", 1 << 12), memory::line("out", 1 << 12));
    let clock = Ticking::default();
    let made = Made {
        clock: clock.clone(),
        ports: [far, out],
        burst: Burst::new(BURST),
        faults,
        entries: Vec::new(),
        pending: VecDeque::new(),
        answer: None,
        arriving: VecDeque::new(),
        leaving: VecDeque::new(),
        packet_ins: 0,
        free: 0,
        updates: Vec::new(),
    };
    let packet = |number: u8| {
        let mut packet = vec![0; 128];
        packet[0] = number;
        packet
    };
    // Without effect in this switch, which forwards only packets of `entry`.
    let before = has_before.then_some(0xff);
    let flow =
        |number| ReactiveFlow { port: 1, packet: packet(number), before, entry: number, egress: 2 };
    let packets = Packets {
        to_controller: Some(Route { port: 1, packet: packet(0) }),
        from_controller: Some(Route { port: 2, packet: packet(0) }),
        flows: (1..=3).map(flow).collect(),
    };
    let stop = AtomicBool::new(false);
    let outlets = vec![Outlet::new(1, near), Outlet::new(2, back)];
    let mut bench = Bench::new(made, outlets, &stop, &clock);
    let mut progress = |done, _| stop.store(done >= steps, Ordering::Relaxed);
    let rounds = Rounds { settings: &SETTINGS, stop: &stop, progress: &mut progress };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let found = runtime.block_on(measure(&mut bench, &packets, rounds));
    (found.expect("it can be measured"), bench.into_control())
}

/// Returns the longest time from an event until the measurement notices it.
fn seen() -> Duration {
    TICK * READINGS
}

#[test]
fn times_of_a_switch_without_faults_are_recovered() {
    let (answers, obeys) = (Duration::from_millis(3), Duration::from_millis(7));
    let faults = Faults { answers, obeys, ..Faults::default() };
    let (found, made) = measured(faults, false);
    assert_eq!(found.crossings.len(), 2);
    for crossing in &found.crossings {
        let what = crossing.direction.name();
        let counts = crossing.counts;
        assert_eq!((counts.lost, counts.reordered, counts.repeated), (0, 0, 0), "{what}");
        // A window of packets crosses in the time that one takes.
        let most = SETTINGS.window as f64 / CROSSES.as_secs_f64();
        for rate in &crossing.rates {
            assert!(*rate <= most && *rate >= 0.9 * most, "{what}: {rate}");
        }
        for load in &crossing.loads {
            let counts = load.counts;
            assert!(counts.sent > 0 && counts.lost == 0, "{what}: {counts:?}");
            // An update takes further readings of the clock.
            let most = CROSSES + if load.updates.is_some() { 2 * seen() } else { seen() };
            for delay in load.delays.iter().flat_map(|round| [round.at(0.0), round.at(1.0)]) {
                let delay = delay.expect("packets arrived");
                assert!(delay >= CROSSES && delay <= most, "{what}: {delay:?}");
            }
            // An update is made as soon as the one before is answered.
            for rate in load.updates.iter().flat_map(|updates| &updates.rates) {
                let [least, most] =
                    [answers + seen(), answers].map(|time| 1.0 / time.as_secs_f64());
                // An answer just before the end counts whole.
                let most = most + 1.0 / SETTINGS.time.as_secs_f64();
                assert!((0.9 * least..=most).contains(rate), "{rate}");
            }
        }
    }
    assert_eq!(found.reactions.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 4]);
    for one in found.reactions.iter().flatten() {
        let near = |time: Duration, right: Duration| time >= right && time <= right + 4 * seen();
        assert!(near(one.packet_in, CROSSES), "{one:?}");
        assert!(near(one.answer, CROSSES + answers), "{one:?}");
        // Packets are sent 100 µs apart.
        let spacing = Duration::from_micros(100);
        let late = one.forwarded.saturating_sub(spacing);
        assert!(one.forwarded >= CROSSES + obeys && late <= CROSSES + obeys + 4 * seen());
    }
    assert_eq!(found.without_reaction, 0);
    // Three flows are used in turn, and each entry is deleted.
    let updates =
        (0..12).flat_map(|at| [(Operation::Insert, at % 3 + 1), (Operation::Delete, at % 3 + 1)]);
    let (beside, of_reactions) = made.updates.split_at(made.updates.len() - 24);
    assert_eq!(of_reactions, updates.collect::<Vec<_>>());
    // The last flow has no packets in the trials.
    assert!(!beside.is_empty() && beside.len().is_multiple_of(2), "{}", beside.len());
    for pair in beside.chunks(2) {
        assert_eq!(pair, [(Operation::Insert, 3), (Operation::Delete, 3)]);
    }
}

#[test]
fn an_entry_to_the_controller_is_modified() {
    let (found, made) = measured(Faults::default(), true);
    assert_eq!(found.reactions.iter().flatten().count(), 12);
    let first = [(Operation::Insert, 0xff), (Operation::Modify, 1), (Operation::Delete, 1)];
    // Before, the first entry of the last flow is inserted and deleted.
    let of_reactions = &made.updates[made.updates.len() - 36..];
    assert_eq!(of_reactions[..3], first);
}

/// If the test is stopped while the entry that sends packets to the controller is in the switch,
/// the entry is deleted.
#[test]
fn a_stopped_measurement_deletes_the_entry_of_its_reaction() {
    let first_round = 2 * u64::from(SETTINGS.rounds) + 1;
    let (found, made) = measured_until(first_round, Faults::default(), true);
    assert_eq!(found.reactions.iter().map(Vec::len).collect::<Vec<_>>(), [4]);
    let [.., inserted, deleted] = made.updates.as_slice() else { panic!("{:?}", made.updates) };
    assert_eq!((inserted.0, deleted.0), (Operation::Insert, Operation::Delete));
}

#[test]
fn lost_repeated_and_reordered_packets_are_counted() {
    let counts = |faults| measured(faults, false).0.crossings[0].counts;
    let near = |count: u64, right: u64| count.abs_diff(right) <= 3;
    let lost = counts(Faults { loses: Some(10), ..Faults::default() });
    assert!(near(lost.lost, lost.sent / 10), "{lost:?}");
    assert_eq!((lost.reordered, lost.repeated), (0, 0));
    let copied = counts(Faults { copies: Some(7), ..Faults::default() });
    assert!(near(copied.repeated, copied.sent / 7), "{copied:?}");
    assert_eq!((copied.lost, copied.reordered), (0, 0));
    let swapped = counts(Faults { swaps: Some(16), ..Faults::default() });
    assert!(near(swapped.reordered, swapped.sent / 16), "{swapped:?}");
    assert_eq!((swapped.lost, swapped.repeated), (0, 0));
}

#[test]
fn a_cap_is_the_rate() {
    const CAP: f64 = 1_000.0;
    let (found, _) = measured(Faults { cap: Some(CAP), ..Faults::default() }, false);
    let crossing = &found.crossings[0];
    assert!(!crossing.is_limited_here);
    for rate in &crossing.rates {
        assert!((0.95 * CAP..=1.05 * CAP).contains(rate), "{:?}", crossing.rates);
    }
}

/// A flow whose packets are never forwarded is given up after a second, and its entry is deleted
/// nevertheless.
#[test]
fn a_flow_that_is_never_forwarded_is_counted() {
    let faults = Faults { obeys: Duration::from_secs(2), ..Faults::default() };
    let (found, made) = measured(faults, false);
    assert_eq!((found.without_reaction, found.reactions.iter().flatten().count()), (12, 0));
    // The third flow also has updates beside packets.
    for number in [1, 2] {
        assert_eq!(made.updates.iter().filter(|(_, entry)| *entry == number).count(), 8);
    }
}

/// An update that is answered after the last packet was sent is not counted as one during the
/// trial.
#[test]
fn updates_that_are_answered_after_a_trial_do_not_count() {
    let answers = SETTINGS.time + Duration::from_millis(50);
    let (found, _) = measured(Faults { answers, ..Faults::default() }, false);
    let loads = found.crossings.iter().flat_map(|crossing| &crossing.loads);
    let rates: Vec<f64> =
        loads.filter_map(|load| load.updates.as_ref()).flat_map(|one| one.rates.clone()).collect();
    assert_eq!(rates, [0.0; 3]);
}
