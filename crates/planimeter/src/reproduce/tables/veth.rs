//! Updates of table entries in `planimeter switch` on a virtual interface: by the packets
//! themselves, by a controller that answers their digests over P4Runtime, and by the controller on
//! its own account. All are measured with the same switch and by one clock.

mod controller;
mod wire;

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ir::with_large_stack;
use p4lang::compile_text;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};
use packetio::namespace::Namespace;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use report::page::Figure;
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::{Estimate, Ordered, Unit, mean};

use self::controller::{Controller, Load, Written, result};
use self::wire::{Passage, Wire};
use super::super::claims::System;
use super::super::section::{Beside, Measured, ratios};
use crate::bench::PAPER;
use crate::environment::{Environment, SEED};
use crate::failure::Failure;

/// The entries of the table, which fit the cache.
const ENTRIES: u32 = 1024;
/// The packet length at which the paper compares latencies.
const METHOD_BYTES: usize = 700;
/// The packet length of the paper's other figures.
const BYTES: usize = 84;
/// The rate at which packets are offered when their latency is measured, in packets per second.
const RATE: f64 = 2000.0;
/// The number of packets, or requests to the controller, that wait for their return at the same
/// time when rates are measured.
const WINDOW: usize = 64;
/// The longest wait for a change, and for packets to come back.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pace at which packets read an entry whose change is measured.
const MEASURED: Pace = Pace { spacing: Duration::from_micros(20), patience: PATIENCE };
/// The pace at which packets read an entry while the changes of earlier digests are awaited.
const UNMEASURED: Pace =
    Pace { spacing: Duration::from_millis(5), patience: Duration::from_secs(60) };
const NAME: &str = "planimeter switch on veth";

/// The pace at which packets read an entry which is to change.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// The time between two packets.
    spacing: Duration,
    /// The longest wait for the change.
    patience: Duration,
}

/// A way in which packets update entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Pointer,
    Change,
    Digest,
}

impl Method {
    const ALL: [Self; 3] = [Self::Pointer, Self::Change, Self::Digest];

    /// Returns the key of the method in the file of published values.
    fn key(self) -> &'static str {
        match self {
            Self::Pointer => "pointer",
            Self::Change => "change-quiescent",
            Self::Digest => "digest",
        }
    }

    /// Returns the program with this method.
    fn load(self) -> Result<Load, Failure> {
        let define = match self {
            Self::Pointer => "#define UPDATE \"pointer\"",
            Self::Change => "#define UPDATE \"change\"",
            Self::Digest => "#define DIGEST",
        };
        let (name, source) = PAPER;
        let text = format!("{define}\n{source}");
        let options = Options::default();
        let compile = || compile_text(name, &text, &options, &MemoryFiles::default());
        let compiled = with_large_stack(compile).map_err(Failure::run)?;
        let messages = compiled.messages(Style::Plain);
        let program = compiled.program.ok_or_else(|| Failure::run(messages))?;
        let p4info = p4lang::p4info::generate(&program).map_err(|errors| {
            Failure::run(errors.iter().map(ToString::to_string).collect::<String>())
        })?;
        Ok(Load { text, p4info, entries: ENTRIES })
    }
}

/// The figures of one method in all rounds.
#[derive(Debug, Default)]
struct Found {
    /// The delays of packets of [`METHOD_BYTES`] and of [`BYTES`] in each round, in seconds.
    delays: [Vec<Ordered<f64>>; 2],
    /// The packets per second with [`WINDOW`] of them on their way, in each round.
    rates: Vec<f64>,
}

impl Found {
    fn percentile(&self, length: usize, share: f64) -> Option<Estimate> {
        let rounds = self.delays.get(usize::from(length == BYTES))?;
        Estimate::of_each_or_all(rounds.iter().map(|one| one.tail_at(share)), || None)
    }

    /// Returns the median delay of packets of [`METHOD_BYTES`] in each round.
    fn medians(&self) -> Vec<f64> {
        self.delays[0].iter().filter_map(|one| one.at(0.5)).collect()
    }
}

/// The figures of changes through P4Runtime, in each round.
#[derive(Debug, Default)]
struct Changes {
    /// The times from the departure of a packet with a digest until packets met the new value, in
    /// seconds.
    of_digests: Vec<Ordered<f64>>,
    /// The times from the controller's request until packets met the new value, in seconds.
    of_requests: Vec<Ordered<f64>>,
    /// The times from the controller's request to the answer, in seconds.
    round_trips: Vec<Ordered<f64>>,
    /// The answers per second with [`WINDOW`] requests on their way.
    rates: Vec<f64>,
    /// The greatest width of the interval in which a change was found to lie, in seconds.
    widest: f64,
}

/// All figures.
#[derive(Debug, Default)]
struct Results {
    methods: [Found; 3],
    changes: Changes,
}

/// Measures the update methods with a switch on a virtual interface, and adds their figures, or the
/// reason why there are none.
pub(super) fn put(measured: &mut Measured, environment: &Environment<'_>) -> Result<(), Failure> {
    match measure(environment) {
        Ok(results) => {
            add(measured, &results);
            Ok(())
        }
        Err(failure) if environment.interrupted() => Err(failure),
        Err(failure) => {
            let reason = format!("{NAME} was not measured: {failure}");
            for key in [OVER_POINTER, OVER_ROUND_TRIP] {
                measured.untold(System::Veth, key, reason.clone());
            }
            measured.remarks.push(format!("{reason}."));
            Ok(())
        }
    }
}

const OVER_POINTER: &str = "digest-over-pointer.latency";
const OVER_ROUND_TRIP: &str = "digest.delay-over-round-trip";

/// Adds the figures to those of packets in memory.
fn add(measured: &mut Measured, results: &Results) {
    let mut beside = Beside { name: NAME.to_owned(), values: Default::default() };
    let mut put = |key: String, estimate: Option<Estimate>, unit| {
        if let Some(estimate) = estimate {
            beside.values.insert(key, Value::estimate(&estimate, unit).into());
        }
    };
    for (method, found) in Method::ALL.iter().zip(&results.methods) {
        let key = method.key();
        for (name, share) in [("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p99", 0.99)] {
            let delay = found.percentile(METHOD_BYTES, share);
            put(format!("{key}.{name}"), delay, Unit::Seconds);
        }
        if *method != Method::Digest {
            put(format!("{key}.rate"), Estimate::of(&found.rates), Unit::PerSecond);
        }
    }
    measured.beside.push(beside);
    let [pointer, _, digest] = &results.methods;
    measured.rounds(System::Veth, OVER_POINTER, ratios(&digest.medians(), &pointer.medians()));
    let changes = &results.changes;
    let medians =
        |rounds: &[Ordered<f64>]| rounds.iter().filter_map(|one| one.at(0.5)).collect::<Vec<_>>();
    let over = ratios(&medians(&changes.of_digests), &medians(&changes.round_trips));
    measured.rounds(System::Veth, OVER_ROUND_TRIP, over);
    measured.remarks.extend(remarks(results));
    measured.figures.push(("tables-table-1".to_owned(), "updates".to_owned(), chart(results)));
}

fn remarks(results: &Results) -> Vec<String> {
    let words = |estimate: Option<Estimate>, unit| {
        estimate.map_or("unknown".to_owned(), |one| Value::estimate(&one, unit).words())
    };
    let median = |rounds: &[Ordered<f64>]| {
        let each = rounds.iter().map(|one| one.at(0.5));
        words(Estimate::of_each_or_all(each, || None), Unit::Seconds)
    };
    let rate = |rates: &[f64]| words(Estimate::of(rates), Unit::PerSecond);
    let [pointer, change, digest] = &results.methods;
    let changes = &results.changes;
    vec![
        format!(
            "{NAME}, in machine code: one virtual interface, {ENTRIES} entries, latencies from time stamp to time stamp of the \
             kernel with {RATE} packets of {METHOD_BYTES} B per second at random entries. With {BYTES} B, the medians are {} by \
             pointer, {} by change without the wait and {} with a digest, which delays no packet but the controller's answer.",
            words(pointer.percentile(BYTES, 0.5), Unit::Seconds),
            words(change.percentile(BYTES, 0.5), Unit::Seconds),
            words(digest.percentile(BYTES, 0.5), Unit::Seconds),
        ),
        format!(
            "Updates from the data plane against updates through P4Runtime, on this switch: with {WINDOW} on their way, packets \
             of {BYTES} B update {} by pointer and {} by change; {WINDOW} requests of one update each, {}. An update by a packet is \
             there when the packet leaves. Packets met the change of a digest {} after its packet, and that of a request {} after \
             the request, which took {} until its answer. The moment of each change is known within {}.",
            rate(&pointer.rates),
            rate(&change.rates),
            rate(&changes.rates),
            median(&changes.of_digests),
            median(&changes.of_requests),
            median(&changes.round_trips),
            Value::new(changes.widest, Unit::Seconds).words(),
        ),
    ]
}

/// Returns a chart of the times until packets meet an update.
fn chart(results: &Results) -> Figure {
    const SHARES: [f64; 8] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
    let line = |name: &str, rounds: &[Ordered<f64>]| {
        let value = |share: f64| {
            let each = rounds.iter().map(|one| one.tail_at(share));
            let found = Estimate::of_each_or_all(each, || None)?;
            Some((share, Value::estimate(&found, Unit::Seconds)))
        };
        Line::of_values(name, Origin::Measured, SHARES.into_iter().filter_map(value))
    };
    let [pointer, change, _] = &results.methods;
    let changes = &results.changes;
    let lines = vec![
        line("by pointer: the packet's delay", &pointer.delays[1]),
        line("by change: the packet's delay", &change.delays[1]),
        line("through P4Runtime: from the request", &changes.of_requests),
        line("by digest: from the packet", &changes.of_digests),
    ];
    let plot = Plot::of_values(
        format!("Time until packets meet an update, {NAME}"),
        Axis::linear("share of updates", Unit::Fraction),
        Axis::logarithmic("time", Unit::Seconds),
        lines,
    );
    Figure::plot(plot, "Packets of 84 B. The middle of the interval in which each change lies.")
}

fn measure(environment: &Environment<'_>) -> Result<Results, Failure> {
    let namespace = Namespace::new().map_err(Failure::run)?;
    namespace.link("generator", &namespace, "switch", 1500).map_err(Failure::run)?;
    // The thread is in the namespace, as are the switch and the controller that it starts.
    namespace.run(|| in_namespace(environment)).map_err(Failure::run)?
}

fn in_namespace(environment: &Environment<'_>) -> Result<Results, Failure> {
    let switch = Switch::start("switch")?;
    let mut bench = Bench {
        wire: Wire::open("generator", SEED).map_err(Failure::run)?,
        controller: Controller::start(switch.address.clone())?,
        random: ChaCha8Rng::seed_from_u64(SEED),
        next: 0,
    };
    let loads: [Load; 3] =
        [Method::Pointer.load()?, Method::Change.load()?, Method::Digest.load()?];
    let length = Length::of(environment.quick);
    let mut results = Results::default();
    for _ in 0..length.rounds {
        for ((method, load), found) in Method::ALL.into_iter().zip(&loads).zip(&mut results.methods)
        {
            if environment.interrupted() {
                return Err(Failure::Interrupted);
            }
            bench.controller.load(load.clone())?;
            bench.method(method, &length, found)?;
        }
        bench.changes(&length, &mut results.changes)?;
    }
    Ok(results)
}

/// How much is measured.
struct Length {
    rounds: usize,
    /// The packets of each length whose latency is measured in a round.
    packets: usize,
    /// The time for which each rate is measured in a round.
    rate: Duration,
    /// The changes of each kind in a round.
    changes: usize,
}

impl Length {
    fn of(is_quick: bool) -> Self {
        match is_quick {
            true => Self { rounds: 3, packets: 300, rate: Duration::from_millis(200), changes: 30 },
            false => Self { rounds: 10, packets: 2000, rate: Duration::from_secs(1), changes: 200 },
        }
    }
}

/// The switch, in a process of its own, which ends when this value is dropped.
struct Switch {
    process: Child,
    address: String,
}

impl Switch {
    /// Starts the switch with one interface as port 1.
    fn start(interface: &str) -> Result<Self, Failure> {
        // No other program uses this namespace, so the port stays free.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Failure::run)?;
        let address = free.local_addr().map_err(Failure::run)?.to_string();
        drop(free);
        let mut command = Command::new(std::env::current_exe().map_err(Failure::run)?);
        command.args(["switch", "--no-p4", "--log-level", "error", "--device-id", "1"]);
        command.args(["--path", "compiled", "--grpc-server-addr", &address]);
        command.args(["--interface", &format!("1@{interface}")]);
        command.args(["--parent", &std::process::id().to_string()]);
        // A Ctrl-C in the terminal reaches the measurement, which ends the switch.
        command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        let process = command.spawn().map_err(Failure::run)?;
        Ok(Self { process, address })
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The generator and the controller of one switch.
struct Bench {
    wire: Wire,
    controller: Controller,
    random: ChaCha8Rng,
    /// The last value that was given to an entry. All are different.
    next: u32,
}

impl Bench {
    /// Measures one round of a method, whose program the switch has.
    fn method(
        &mut self,
        method: Method,
        length: &Length,
        found: &mut Found,
    ) -> Result<(), Failure> {
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

    /// Sends packets that demand new values of random entries, with random times between them.
    fn open_loop(&mut self, packets: usize, bytes: usize) -> Result<Vec<Passage>, Failure> {
        let begin = Instant::now();
        let mut due = 0.0;
        for _ in 0..packets {
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

    /// Sends packets that demand new values of random entries, with [`WINDOW`] of them on their
    /// way. Returns how many came back per second.
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

    fn send_update(&mut self, bytes: usize) -> Result<(), Failure> {
        self.next += 1;
        let entry = self.random.random_range(0..ENTRIES);
        self.wire.send(entry, self.next, bytes).map_err(Failure::run)
    }

    /// Waits until at most `missing` packets have not come back, at most for [`PATIENCE`].
    fn await_returns(&mut self, missing: usize) -> Result<(), Failure> {
        let begin = Instant::now();
        loop {
            self.wire.look();
            if self.wire.missing() <= missing {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                let lost = self.wire.missing();
                return Err(Failure::run(format!(
                    "the switch lost packets: {lost} did not return"
                )));
            }
            std::thread::yield_now();
        }
    }

    /// Measures one round of changes through P4Runtime. The switch has the program with digests.
    fn changes(&mut self, length: &Length, found: &mut Changes) -> Result<(), Failure> {
        self.await_backlog()?;
        let (mut of_digests, mut of_requests, mut round_trips) = (vec![], vec![], vec![]);
        for _ in 0..length.changes {
            let moment = self.change_by_digest()?;
            of_digests.push(moment.middle());
            let (written, by_request) = self.change_by_request()?;
            of_requests.push(by_request.middle());
            round_trips.push(written.answer.saturating_sub(written.request) as f64 / 1e9);
            found.widest = found.widest.max(moment.width()).max(by_request.width());
        }
        found.of_digests.push(Ordered::of_numbers(of_digests));
        found.of_requests.push(Ordered::of_numbers(of_requests));
        found.round_trips.push(Ordered::of_numbers(round_trips));
        found.rates.push(self.controller.modify_for(length.rate, WINDOW, ENTRIES)?);
        Ok(())
    }

    /// Waits until the changes of earlier digests are there, so that they delay no change that is
    /// measured. A slow machine may take seconds for those of a measurement of latencies.
    fn await_backlog(&mut self) -> Result<(), Failure> {
        let (entry, value) = self.new_value();
        self.wire.send(entry, value, BYTES).map_err(Failure::run)?;
        self.read_until(entry, value, UNMEASURED)?;
        self.wire.take();
        Ok(())
    }

    fn change_by_digest(&mut self) -> Result<Moment, Failure> {
        let (entry, value) = self.new_value();
        self.wire.send(entry, value, BYTES).map_err(Failure::run)?;
        self.read_until(entry, value, MEASURED)?;
        let passages = self.wire.take();
        let begin = passages.first().and_then(|passage| passage.sent);
        let begin = begin.ok_or_else(|| Failure::run("a packet left without a time stamp"))?;
        Moment::of(&passages, value, begin)
    }

    fn change_by_request(&mut self) -> Result<(Written, Moment), Failure> {
        let (entry, value) = self.new_value();
        let written = self.controller.modify(entry, value);
        self.read_until(entry, value, MEASURED)?;
        let passages = self.wire.take();
        let written = result(&written)?;
        Ok((written, Moment::of(&passages, value, written.request)?))
    }

    fn new_value(&mut self) -> (u32, u32) {
        self.next += 1;
        (self.random.random_range(0..ENTRIES), self.next)
    }

    /// Sends packets that read an entry until one has met its new value and all have come back.
    fn read_until(&mut self, entry: u32, value: u32, pace: Pace) -> Result<(), Failure> {
        let begin = Instant::now();
        let is_new = |passage: &Passage| passage.back.is_some_and(|back| back.found == value);
        while !self.wire.passages().iter().any(is_new) {
            if begin.elapsed() > pace.patience {
                return Err(Failure::run("packets never met the change of an entry"));
            }
            self.wire.send(entry, 0, BYTES).map_err(Failure::run)?;
            std::thread::sleep(pace.spacing);
            self.wire.look();
        }
        self.await_returns(0)
    }
}

/// The interval in which packets began to meet a new value, in nanoseconds after a reference.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment {
    earliest: f64,
    latest: f64,
}

impl Moment {
    /// Finds the change to `value` after the time `begin`: it was not before the last packet left
    /// that met another value, and not after the first one returned that met `value`.
    fn of(passages: &[Passage], value: u32, begin: u64) -> Result<Self, Failure> {
        let since = |at: u64| at as f64 - begin as f64;
        let met = |is_new: bool| {
            passages.iter().filter(move |passage| {
                passage.back.is_some_and(|back| (back.found == value) == is_new)
            })
        };
        let latest = met(true).filter_map(|passage| passage.back).map(|back| since(back.at));
        let latest = latest.reduce(f64::min);
        let latest = latest.ok_or_else(|| Failure::run("packets never met a new value"))?;
        let old = met(false).filter_map(|passage| passage.sent).map(since);
        let earliest = old.fold(0.0, f64::max);
        if earliest > latest {
            return Err(Failure::run("an entry went back to an older value"));
        }
        Ok(Self { earliest, latest })
    }

    /// Returns the middle of the interval in seconds.
    fn middle(self) -> f64 {
        mean(&[self.earliest, self.latest]).unwrap_or(0.0) / 1e9
    }

    fn width(self) -> f64 {
        (self.latest - self.earliest) / 1e9
    }
}

/// Checks that each packet found the value that the packet before it, of the same entry, demanded.
/// Does nothing without such `values`.
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
    use super::wire::Back;
    use super::*;

    fn read(sent: u64, at: u64, found: u32) -> Passage {
        Passage { entry: 1, wanted: 0, sent: Some(sent), back: Some(Back { at, found }) }
    }

    #[test]
    fn a_change_lies_between_the_last_old_packet_and_the_first_new_one() {
        let passages = [read(100, 120, 4), read(150, 175, 4), read(200, 220, 5), read(250, 270, 5)];
        let moment = Moment::of(&passages, 5, 90).expect("a change");
        assert_eq!(moment, Moment { earliest: 60.0, latest: 130.0 });
        assert!((moment.middle() - 95e-9).abs() < 1e-15);
        // Packets that met the new value at once show only that it was there by then.
        let moment = Moment::of(&passages[2..], 5, 90).expect("a change");
        assert_eq!(moment, Moment { earliest: 0.0, latest: 130.0 });
        assert!(Moment::of(&passages[..2], 5, 90).is_err());
        // A packet that met the old value after another had met the new one.
        let back = [read(100, 120, 5), read(150, 170, 4)];
        assert!(Moment::of(&back, 5, 90).is_err());
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

    #[test]
    fn the_program_has_a_variant_for_each_method() {
        for method in Method::ALL {
            let load = method.load().expect("it compiles");
            let digests = usize::from(method == Method::Digest);
            assert_eq!(load.p4info.digests.len(), digests, "{method:?}");
        }
    }
}
