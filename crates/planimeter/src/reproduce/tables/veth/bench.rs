//! Measures packets and a controller that update the entries of one switch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::dut::effects::{Bracket, Class, Fate, Moment, Probe, Span, Transition};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use statistics::{Estimate, Ordered};

use super::Method;
use super::controller::{Controller, Load, Written, result};
use super::wire::{Back, Passage, Wire};
use crate::environment::SEED;
use crate::failure::Failure;

/// The number of entries of the table, which fits the cache.
pub(super) const ENTRIES: u32 = 1024;
/// The packet length at which the paper compares latencies.
pub(super) const METHOD_BYTES: usize = 700;
/// The packet length of the paper's other figures.
pub(super) const BYTES: usize = 84;
/// The rate at which packets are offered when their latency is measured, in packets per second.
pub(super) const RATE: f64 = 2000.0;
/// The number of packets, or requests to the controller, that are outstanding at the same time when
/// rates are measured.
pub(super) const WINDOW: usize = 64;
/// The longest time to wait for a change of an entry, and for packets to come back.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The pace of the packets that read an entry whose change is measured.
const MEASURED: Pace = Pace { spacing: Duration::from_micros(20), patience: TIMEOUT };
/// The pace of the packets that read an entry until the changes that earlier digests requested have
/// been made.
const UNMEASURED: Pace =
    Pace { spacing: Duration::from_millis(5), patience: Duration::from_secs(60) };

/// The pace of packets that read an entry until it has changed.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// The time between two packets.
    spacing: Duration,
    /// The longest time to wait for the change.
    patience: Duration,
}

/// The figures of one update method, with a value for each round.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The delays of packets of [`METHOD_BYTES`] and of [`BYTES`] in each round, in seconds.
    pub(super) delays: [Vec<Ordered<f64>>; 2],
    /// The packets per second with [`WINDOW`] packets outstanding, in each round.
    pub(super) rates: Vec<f64>,
}

impl Found {
    pub(super) fn percentile(&self, length: usize, share: f64) -> Option<Estimate> {
        let rounds = self.delays.get(usize::from(length == BYTES))?;
        Estimate::of_each_or_all(rounds.iter().map(|one| one.tail_at(share)), || None)
    }

    /// Returns the median delay of packets of [`METHOD_BYTES`] in each round.
    pub(super) fn medians(&self) -> Vec<f64> {
        self.delays[0].iter().filter_map(|one| one.at(0.5)).collect()
    }
}

/// The figures of changes through P4Runtime, with values for each round.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The times from the departure of a packet that causes a digest until packets found the new
    /// value, in seconds.
    pub(super) of_digests: Vec<Ordered<f64>>,
    /// The times from the controller's request until packets found the new value, in seconds.
    pub(super) of_requests: Vec<Ordered<f64>>,
    /// The times from the controller's request to the answer, in seconds.
    pub(super) round_trips: Vec<Ordered<f64>>,
    /// The number of answers per second with [`WINDOW`] requests outstanding.
    pub(super) rates: Vec<f64>,
    /// The largest width of an interval in which the moment of a change is known to lie, in
    /// seconds.
    pub(super) widest: f64,
}

/// The amount of measurement in each round.
pub(super) struct Length {
    pub(super) rounds: usize,
    /// The number of packets of each length whose latency is measured.
    packets: usize,
    /// The time for which each rate is measured.
    rate: Duration,
    /// The number of changes of each kind.
    changes: usize,
}

impl Length {
    pub(super) fn of(is_quick: bool) -> Self {
        match is_quick {
            true => Self { rounds: 3, packets: 300, rate: Duration::from_millis(200), changes: 30 },
            false => Self { rounds: 10, packets: 2000, rate: Duration::from_secs(1), changes: 200 },
        }
    }
}

/// The packet generator and the controller for one switch.
pub(super) struct Bench<'i> {
    wire: Wire,
    controller: Controller,
    interrupt: &'i AtomicBool,
    random: ChaCha8Rng,
    /// The value that was last given to an entry. No two updates give the same value.
    next: u32,
}

impl<'i> Bench<'i> {
    pub(super) fn new(wire: Wire, controller: Controller, interrupt: &'i AtomicBool) -> Self {
        Self { wire, controller, interrupt, random: ChaCha8Rng::seed_from_u64(SEED), next: 0 }
    }

    /// Loads the program of an update method, and measures the method for one round.
    pub(super) fn method(
        &mut self,
        method: Method,
        load: &Load,
        length: &Length,
        found: &mut Found,
    ) -> Result<(), Failure> {
        self.controller.load(load.clone())?;
        // The values that packets must find; those of digests come at some later time.
        let mut values = (method != Method::Digest).then(|| vec![0; ENTRIES as usize]);
        let warm_up = self.open_loop(length.packets / 4, METHOD_BYTES)?;
        check(&warm_up, values.as_deref_mut())?;
        for (delays, bytes) in found.delays.iter_mut().zip([METHOD_BYTES, BYTES]) {
            let passages = self.open_loop(length.packets, bytes)?;
            check(&passages, values.as_deref_mut())?;
            let each = passages.iter().filter_map(Passage::delay);
            delays.push(Ordered::of_numbers(each.map(|delay| delay as f64 / 1e9).collect()));
        }
        if method != Method::Digest {
            let (rate, passages) = self.closed_loop(length.rate)?;
            check(&passages, values.as_deref_mut())?;
            found.rates.push(rate);
        }
        Ok(())
    }

    /// Sends packets that request new values for random entries, at random times (open loop).
    fn open_loop(&mut self, packets: usize, bytes: usize) -> Result<Vec<Passage>, Failure> {
        let begin = Instant::now();
        let mut due = 0.0;
        for _ in 0..packets {
            self.check_interrupt()?;
            while begin.elapsed().as_secs_f64() < due {
                std::thread::sleep(Duration::from_micros(20));
            }
            // Even spacing could synchronise with a periodic event.
            due += self.random.random_range(0.5..1.5) / RATE;
            self.send_update(bytes)?;
            self.wire.look();
        }
        self.await_returns(0)?;
        Ok(self.wire.take())
    }

    /// Sends packets that request new values for random entries, of which [`WINDOW`] are
    /// outstanding at any time (closed loop). Returns the number of packets per second that came
    /// back.
    fn closed_loop(&mut self, time: Duration) -> Result<(f64, Vec<Passage>), Failure> {
        let begin = Instant::now();
        while begin.elapsed() < time {
            while self.wire.missing() < WINDOW {
                self.send_update(BYTES)?;
            }
            self.await_returns(WINDOW - 1)?;
        }
        self.await_returns(0)?;
        let elapsed = begin.elapsed().as_secs_f64();
        let passages = self.wire.take();
        Ok((passages.len() as f64 / elapsed, passages))
    }

    fn check_interrupt(&self) -> Result<(), Failure> {
        match self.interrupt.load(Ordering::Relaxed) {
            true => Err(Failure::Interrupted),
            false => Ok(()),
        }
    }

    fn send_update(&mut self, bytes: usize) -> Result<(), Failure> {
        self.next += 1;
        let entry = self.random.random_range(0..ENTRIES);
        self.wire.send(entry, self.next, bytes).map_err(Failure::run)
    }

    /// Waits until at most `missing` packets are outstanding, but no longer than [`TIMEOUT`].
    fn await_returns(&mut self, missing: usize) -> Result<(), Failure> {
        let begin = Instant::now();
        loop {
            self.check_interrupt()?;
            self.wire.look();
            if self.wire.missing() <= missing {
                return Ok(());
            }
            if begin.elapsed() > TIMEOUT {
                let lost = self.wire.missing();
                return Err(Failure::run(format!(
                    "the switch lost packets: {lost} did not return"
                )));
            }
            std::thread::yield_now();
        }
    }

    /// Measures changes through P4Runtime for one round. The switch must run the program with
    /// digests.
    pub(super) fn changes(&mut self, length: &Length, found: &mut Changes) -> Result<(), Failure> {
        self.await_backlog()?;
        let (mut of_digests, mut of_requests, mut round_trips) = (vec![], vec![], vec![]);
        for _ in 0..length.changes {
            let by_digest = self.change_by_digest()?;
            of_digests.push(by_digest.delay());
            let (written, by_request) = self.change_by_request()?;
            of_requests.push(by_request.delay());
            round_trips.push(written.answer.saturating_sub(written.request) as f64 / 1e9);
            found.widest = found.widest.max(by_digest.width()).max(by_request.width());
        }
        found.of_digests.push(Ordered::of_numbers(of_digests));
        found.of_requests.push(Ordered::of_numbers(of_requests));
        found.round_trips.push(Ordered::of_numbers(round_trips));
        found.rates.push(self.controller.modify_for(length.rate, WINDOW, ENTRIES)?);
        Ok(())
    }

    /// Waits until the changes that earlier digests requested have been made, so that they do not
    /// delay the changes that are measured. On a slow machine, this may take seconds.
    fn await_backlog(&mut self) -> Result<(), Failure> {
        let (entry, value) = self.new_value();
        self.wire.send(entry, value, BYTES).map_err(Failure::run)?;
        self.read_until(entry, value, UNMEASURED)?;
        self.wire.take();
        Ok(())
    }

    fn change_by_digest(&mut self) -> Result<Seen, Failure> {
        let (entry, value) = self.new_value();
        self.wire.send(entry, value, BYTES).map_err(Failure::run)?;
        self.read_until(entry, value, MEASURED)?;
        let passages = self.wire.take();
        let begin = passages.first().and_then(|passage| passage.sent);
        let begin = begin.ok_or_else(|| Failure::run("a packet left without a time stamp"))?;
        Seen::of(&passages, value, begin)
    }

    fn change_by_request(&mut self) -> Result<(Written, Seen), Failure> {
        let (entry, value) = self.new_value();
        let written = self.controller.modify(entry, value);
        self.read_until(entry, value, MEASURED)?;
        let passages = self.wire.take();
        let written = result(&written)?;
        Ok((written, Seen::of(&passages, value, written.request)?))
    }

    fn new_value(&mut self) -> (u32, u32) {
        self.next += 1;
        (self.random.random_range(0..ENTRIES), self.next)
    }

    /// Sends packets that read an entry, until one has found the new value and all have come back.
    fn read_until(&mut self, entry: u32, value: u32, pace: Pace) -> Result<(), Failure> {
        let begin = Instant::now();
        // The number of packets that have come back. They do so in their order.
        let mut returned = 0;
        loop {
            let after = self.wire.passages().get(returned..).unwrap_or_default();
            let values = after.iter().map_while(|passage| passage.back).map(|back| back.found);
            let values: Vec<u32> = values.collect();
            if values.contains(&value) {
                return self.await_returns(0);
            }
            returned += values.len();
            if begin.elapsed() > pace.patience {
                return Err(Failure::run("packets never met the change of an entry"));
            }
            self.check_interrupt()?;
            self.wire.send(entry, 0, BYTES).map_err(Failure::run)?;
            std::thread::sleep(pace.spacing);
            self.wire.look();
        }
    }
}

/// A change of an entry that packets have seen.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    /// The moment at which the change was requested.
    begin: Moment,
    /// The bounds between which packets began to find the new value.
    bracket: Bracket,
}

impl Seen {
    /// Finds when packets began to find the value `value`. The change was requested at `begin`, in
    /// nanoseconds since 1970, before which no packet had found the value. Returns an error if
    /// packets never found the value, or found an older value after it.
    fn of(passages: &[Passage], value: u32, begin: u64) -> Result<Self, Failure> {
        let exactly = |at: u64| Span { earliest: Moment(at), latest: Moment(at) };
        let probe = |sent: u64, back: u64, class: Class| Probe {
            sent: exactly(sent),
            fate: Fate::Arrived { at: exactly(back), class },
        };
        let of_packet = |passage: &Passage| {
            let Back { at, found } = passage.back?;
            let class = if found == value { Class::New } else { Class::Old };
            Some(probe(passage.sent?, at, class))
        };
        let mut probes = vec![probe(begin, begin, Class::Old)];
        probes.extend(passages.iter().filter_map(of_packet));
        match Transition::of(&probes) {
            Transition::Once(bracket) => Ok(Self { begin: Moment(begin), bracket }),
            Transition::Flapped(_) => Err(Failure::run("an entry went back to an older value")),
            Transition::Unbounded => Err(Failure::run("packets never met a new value")),
        }
    }

    /// Returns the time in seconds from the request to the middle of these bounds.
    fn delay(self) -> f64 {
        let Bracket { after, until } = self.bracket;
        (after.since(self.begin).as_seconds() + until.since(self.begin).as_seconds()) / 2.0
    }

    fn width(self) -> f64 {
        self.bracket.width().as_seconds()
    }
}

/// Checks that each packet found the value that the previous packet for the same entry had
/// requested. `values` contains the current value of each entry, and is updated. If it is `None`,
/// nothing is checked.
fn check(passages: &[Passage], values: Option<&mut [u32]>) -> Result<(), Failure> {
    let Some(values) = values else { return Ok(()) };
    for passage in passages {
        let Some(value) = values.get_mut(passage.entry as usize) else { continue };
        let found = passage.back.map(|back| back.found);
        if found != Some(*value) {
            return Err(Failure::run(format!(
                "a packet found {found:?} in entry {}, which had the value {value}",
                passage.entry
            )));
        }
        *value = passage.wanted;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::dut::effects::Gap;

    fn read(sent: u64, at: u64, found: u32) -> Passage {
        Passage { entry: 1, wanted: 0, sent: Some(sent), back: Some(Back { at, found }) }
    }

    #[test]
    fn a_change_lies_between_the_last_old_packet_and_the_first_new_one() {
        let passages = [read(100, 120, 4), read(150, 175, 4), read(200, 220, 5), read(250, 270, 5)];
        let bounds = |seen: Seen| {
            (seen.bracket.after.since(seen.begin), seen.bracket.until.since(seen.begin))
        };
        let seen = Seen::of(&passages, 5, 90).expect("a change");
        assert_eq!(bounds(seen), (Gap(60), Gap(130)));
        assert!((seen.delay() - 95e-9).abs() < 1e-15);
        // Packets that met the new value at once show only that it was there by then.
        let seen = Seen::of(&passages[2..], 5, 90).expect("a change");
        assert_eq!(bounds(seen), (Gap(0), Gap(130)));
        assert!(Seen::of(&passages[..2], 5, 90).is_err());
        // A packet that met the old value after another had met the new one.
        let back = [read(100, 120, 5), read(150, 170, 4)];
        assert!(Seen::of(&back, 5, 90).is_err());
    }

    #[test]
    fn packets_must_find_what_the_one_before_demanded() {
        let passage = |wanted, found| Passage {
            entry: 1,
            wanted,
            sent: Some(1),
            back: Some(Back { at: 2, found }),
        };
        let right = [passage(5, 0), passage(6, 5)];
        assert!(check(&right, Some(&mut [0; 2])).is_ok());
        let stale = [passage(5, 0), passage(6, 0)];
        assert!(check(&stale, Some(&mut [0; 2])).is_err());
        let lost = [Passage { back: None, ..passage(5, 0) }];
        assert!(check(&lost, Some(&mut [0; 2])).is_err());
        assert!(check(&stale, None).is_ok());
    }
}
