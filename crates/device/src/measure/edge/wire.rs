//! Sends packets through a device between two network interfaces and timestamps them.
//!
//! One thread on its own core sends each packet at its scheduled time and polls two timestampers.
//! The first timestamps packets that leave towards the device, and the second timestamps packets
//! that return from it. Delays are differences of timestamps of one clock, so the processing time
//! of this program is not part of them.

use std::time::{Duration, Instant};

use packetio::timestamp::{Direction, Stamped, StampedBy, Timestamper};
use packetio::{Port, Transmitted};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::super::conduct::{Bench, BenchError, Contention, RunOrder, RunRecord};
use super::super::matching::PacketTracker;
use super::super::plan::Timestamps;
use super::super::task::Task;
use super::super::traffic::{Arrival, PacketId, Subject, Traffic};
use super::contention::Competitors;
use super::machine::ClockOffset;
use super::programs;
use super::yardstick::Yardstick;
use crate::campaign::{ClockReference, ClockSource, Picoseconds};

/// The number of packets that are sent at a fixed rate between two polls of the timestampers.
const LOOK: u32 = 512;
/// The shortest interval between two packets that are sent at a fixed rate, as a share of the mean.
const SHORTEST: f64 = 0.5;
/// The number of consecutive packets that must come out of a device correctly before it counts as
/// configured.
const RIGHT: u32 = 20;
/// The longest time that a device may take to apply its configuration, or an interface to accept a
/// packet.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time to wait for each packet while a device is being configured. It is short, because
/// packets that reach the device before its rules are in place are lost.
const SHORT_WAIT: Duration = Duration::from_millis(20);

/// A measured device that can be configured, independently of the wires that connect it.
pub(super) trait Device {
    /// Configures the device with rules or a program. The configuration may take effect a little
    /// later.
    fn configure(&mut self, task: &Task) -> Result<(), BenchError>;

    /// Returns the identifiers of the processes of the device on this machine.
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// Returns the error for an attempt to run a P4 program on a device that runs none.
pub(super) fn runs_no_programs(device: &str) -> BenchError {
    BenchError::Device {
        device: device.to_owned(),
        problem: "it cannot run P4 programs".to_owned(),
    }
}

/// The path of packets through a device: the port that sends them, and the timestampers before and
/// after the device.
#[derive(Debug)]
pub(super) struct Path {
    port: Port,
    before: Timestamper,
    behind: Timestamper,
    /// The clock that took the latest timestamp, or `None` before the first arrival.
    by: Option<StampedBy>,
    /// The first timestamp in nanoseconds. Later timestamps are stored relative to it.
    epoch: Option<u64>,
    wait: Duration,
    secret: u64,
    random: ChaCha8Rng,
    /// The number of the latest run of packets that tests the device or the clock and is not part
    /// of the campaign (a private run). The numbers of private runs count down, so that they differ
    /// from those of the runs of the campaign.
    private_run: u32,
    frame: Vec<u8>,
}

impl Path {
    /// Opens the interfaces `send`, towards the device, and `receive`, on which its packets return.
    pub(super) fn open(
        send: &str,
        receive: &str,
        timestamps: Timestamps,
        wait: Duration,
        secret: u64,
    ) -> Result<Self, BenchError> {
        let hardware = timestamps == Timestamps::Hardware;
        let port = packetio::af_packet::open(send, 1)?;
        // Taps on the card receive copies of the packets that enter the device.
        let side = if hardware { Direction::Incoming } else { Direction::Outgoing };
        Ok(Self {
            port,
            before: Timestamper::open(send, side, hardware)?,
            behind: Timestamper::open(receive, Direction::Incoming, hardware)?,
            by: None,
            epoch: None,
            wait,
            secret,
            random: ChaCha8Rng::seed_from_u64(secret),
            private_run: u32::MAX,
            frame: Vec::new(),
        })
    }

    /// Returns the clock that took the latest timestamp, or `None` before the first arrival.
    pub(super) fn clock(&self) -> Option<ClockSource> {
        self.by.map(|by| match by {
            StampedBy::Hardware => ClockSource::Hardware,
            StampedBy::Kernel | StampedBy::Socket => ClockSource::Kernel,
        })
    }

    /// Waits until the configuration of the device takes effect: sends single packets until
    /// [`RIGHT`] consecutive ones come out correctly.
    fn settle(&mut self, traffic: &Traffic) -> Result<(), BenchError> {
        let begin = Instant::now();
        let mut right = 0;
        let mut last = String::from("no packet comes out");
        while begin.elapsed() < TIMEOUT {
            let order = RunOrder {
                run: self.take_private_run(),
                warm_up: 0,
                packets: 1,
                packets_per_second: None,
            };
            let outcome = self.send_within(traffic, &order, SHORT_WAIT)?.outcome;
            right =
                if outcome.counts.received == 1 && outcome.altered == 0 { right + 1 } else { 0 };
            if right == RIGHT {
                return Ok(());
            }
            if outcome.altered > 0 {
                "packets come out with other contents than the action should leave them"
                    .clone_into(&mut last);
            }
        }
        let problem = format!("{last}, {} seconds after it was configured", TIMEOUT.as_secs());
        Err(BenchError::Wrong { problem })
    }

    /// Sends packets through the device. Waits for the last ones as long as the plan states.
    pub(super) fn send(
        &mut self,
        traffic: &Traffic,
        order: &RunOrder,
    ) -> Result<RunRecord, BenchError> {
        self.send_within(traffic, order, self.wait)
    }

    /// Sends the packets of an order and records their arrivals. Waits for each arrival for at most
    /// `wait`.
    fn send_within(
        &mut self,
        traffic: &Traffic,
        order: &RunOrder,
        wait: Duration,
    ) -> Result<RunRecord, BenchError> {
        let mut tracker = PacketTracker::new(order);
        let origin = Instant::now();
        let clock = ClockOffset::read(origin);
        let total = order.warm_up + order.packets;
        let gap = order.packets_per_second.map(|rate| 1e9 / rate);
        let (mut first, mut last) = (origin, origin);
        let mut due = 0.0;
        for number in 0..total {
            if let Some(gap) = gap {
                while (origin.elapsed().as_nanos() as f64) < due {
                    std::hint::spin_loop();
                }
                // Even spacing could synchronise with a periodic event.
                due += gap * self.random.random_range(SHORTEST..2.0 - SHORTEST);
            }
            last = Instant::now();
            if number == order.warm_up {
                first = last;
            }
            let lost = tracker.outstanding();
            let id = PacketId { run: order.run, number };
            tracker.transmitted(id);
            self.transmit(traffic, id)?;
            if let Some(gap) = gap {
                due = due.max(earliest(gap, last - origin, origin.elapsed()));
            }
            if gap.is_none() {
                self.await_arrivals(traffic, &mut tracker, lost, wait);
            } else if number % LOOK == LOOK - 1 {
                self.poll_taps(traffic, &mut tracker);
            }
        }
        self.await_arrivals(traffic, &mut tracker, 0, wait);
        // Duplicates and late packets are collected here.
        self.poll_taps(traffic, &mut tracker);
        let duration = last - first;
        let steps = u64::from(clock.stepped());
        let intervals = f64::from(order.packets.saturating_sub(1));
        let offered = gap.map(|gap| match duration.as_secs_f64() {
            0.0 => 1e9 / gap,
            seconds => intervals / seconds,
        });
        let mut notes = Vec::new();
        for (timestamper, where_) in [(&self.before, "before"), (&self.behind, "behind")] {
            let missed = timestamper.missed().unwrap_or(0);
            if missed > 0 {
                notes.push(format!(
                    "the timestamper {where_} the device missed {missed} frames, which count as lost or never sent"
                ));
            }
        }
        if self.by == Some(StampedBy::Socket) {
            notes.push("stamps are of the socket, not of the edge to the driver".to_owned());
        }
        let outcome = tracker.close(steps);
        Ok(RunRecord { outcome, controls: Vec::new(), duration, offered, notes })
    }

    fn transmit(&mut self, traffic: &Traffic, id: PacketId) -> Result<(), BenchError> {
        traffic.write(id, &mut self.frame);
        let name = &self.port.name;
        let failed = |problem: &str| BenchError::Device {
            device: format!("interface {name}"),
            problem: problem.to_owned(),
        };
        let Some(queue) = self.port.queues.first_mut() else {
            return Err(failed("it has no queue"));
        };
        let sent = queue.transmit(&self.frame);
        match sent {
            Transmitted::Taken => {}
            Transmitted::Full => return Err(failed("its queue is full and stays so")),
            Transmitted::BadLength => {
                return Err(failed("it does not accept packets of this length"));
            }
            Transmitted::Down => return Err(failed("it is gone or down")),
        }
        let begin = Instant::now();
        while !queue.flush() {
            if begin.elapsed() > TIMEOUT {
                return Err(failed("its queue is full and stays so"));
            }
        }
        Ok(())
    }

    /// Waits until all but `given_up` of the sent packets have a timestamp of sending and one of
    /// arrival, or until `wait` has passed.
    fn await_arrivals(
        &mut self,
        traffic: &Traffic,
        tracker: &mut PacketTracker,
        given_up: usize,
        wait: Duration,
    ) {
        let begin = Instant::now();
        loop {
            self.poll_taps(traffic, tracker);
            if tracker.outstanding() <= given_up || begin.elapsed() > wait {
                return;
            }
            std::hint::spin_loop();
        }
    }

    fn poll_taps(&mut self, traffic: &Traffic, tracker: &mut PacketTracker) {
        let Self { before, behind, by, epoch, .. } = self;
        // The number of picoseconds since 1970 exceeds 64 bits, and only differences matter.
        let mut at = |stamped: &Stamped<'_>| {
            let epoch = *epoch.get_or_insert(stamped.nanoseconds);
            let since = i128::from(stamped.nanoseconds) - i128::from(epoch);
            Picoseconds::from_nanoseconds(since.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
        };
        before.take(|stamped| {
            if let Some(id) = traffic.read_sent(stamped.frame) {
                tracker.sent(id, at(&stamped));
            }
        });
        behind.take(|stamped| match traffic.read(stamped.frame) {
            Arrival::Packet(id) => {
                *by = Some(stamped.by);
                tracker.arrived(id, at(&stamped));
            }
            Arrival::Altered(id) => tracker.altered(id),
            Arrival::Foreign => {}
        });
    }

    fn take_private_run(&mut self) -> u32 {
        self.private_run -= 1;
        self.private_run
    }

    /// Measures the delays of the path without a device. Returns the distribution of these delays,
    /// which shows the error of the clock, and the resolution of the clock.
    pub(super) fn reference(
        &mut self,
        what: &str,
    ) -> Result<(ClockReference, Picoseconds), BenchError> {
        const PACKETS: u32 = 2000;
        let traffic = Traffic::new(Subject::BASELINE, self.secret);
        let order = RunOrder {
            run: self.take_private_run(),
            warm_up: 500,
            packets: PACKETS,
            packets_per_second: Some(10_000.0),
        };
        let record = self.send(&traffic, &order)?;
        let samples = record.outcome.samples;
        let mut delays: Vec<i64> = samples.iter().map(|sample| sample.delay.0).collect();
        delays.sort_unstable();
        let at = |share: f64| {
            let place = ((delays.len().saturating_sub(1)) as f64 * share).round() as usize;
            Picoseconds(delays.get(place).copied().unwrap_or(0))
        };
        if delays.len() < PACKETS as usize / 2 {
            let (device, problem) =
                (what.to_owned(), format!("of {PACKETS} packets {} came", delays.len()));
            return Err(BenchError::Device { device, problem });
        }
        let reference = ClockReference {
            path: what.to_owned(),
            samples: delays.len() as u64,
            minimum: at(0.0),
            median: at(0.5),
            percentile_99: at(0.99),
            maximum: at(1.0),
        };
        let tick =
            delays.windows(2).fold(0, |divisor, pair| gcd(divisor, pair[1].abs_diff(pair[0])));
        Ok((reference, Picoseconds(i64::try_from(tick).unwrap_or(1000).max(1000))))
    }

    /// Returns the highest rate at which packets can be sent on this path, in packets per second.
    pub(super) fn fastest(&mut self) -> Result<f64, BenchError> {
        let traffic = Traffic::new(Subject::BASELINE, self.secret);
        let order = RunOrder {
            run: self.take_private_run(),
            warm_up: 1000,
            packets: 20_000,
            packets_per_second: Some(1e8),
        };
        Ok(self.send(&traffic, &order)?.offered.unwrap_or(0.0))
    }
}

/// Returns the earliest time for the next packet in nanoseconds. `began` and `ended` are the times
/// at which the transmission of the previous packet began and ended, and `gap` is the mean interval
/// between packets in nanoseconds.
///
/// After a stall of the generator, the packets that are due must not be sent as one burst, because
/// the queue of the burst would add to their delays. Transmissions therefore begin at least the
/// shortest interval ([`SHORTEST`]) apart. If a transmission took longer than the mean interval,
/// the shortest interval counts from its end. A packet is timestamped during its transmission, so
/// the timestamps conform to a token bucket of three packets and twice the mean rate.
fn earliest(gap: f64, began: Duration, ended: Duration) -> f64 {
    let [began, ended] = [began, ended].map(|time| time.as_nanos() as f64);
    let from = if ended - began > gap { ended } else { began };
    from + gap * SHORTEST
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A bench that sends packets through a device between two interfaces.
pub(super) struct WireBench {
    path: Path,
    device: Box<dyn Device>,
    ports: [u32; 2],
    configured: Option<(Task, Traffic)>,
    /// A timer of a fixed workload, which shows how fast the machine is, if the device runs on this
    /// machine.
    yardstick: Option<Yardstick>,
    /// A reader of how other programs compete with the device, if the device runs on this machine.
    competitors: Option<Competitors>,
}

impl WireBench {
    /// Creates a bench for a device. `cores` are those of the generator and of the device, if the
    /// device runs on this machine.
    pub(super) fn new(
        path: Path,
        device: Box<dyn Device>,
        ports: [u32; 2],
        cores: Option<[usize; 2]>,
    ) -> Result<Self, BenchError> {
        let yardstick = cores.map(|[_, device]| Yardstick::with_core(device)).transpose()?;
        let competitors = cores.map(|cores| Competitors::new(cores, device.processes()));
        Ok(Self { path, device, ports, configured: None, yardstick, competitors })
    }
}

impl Bench for WireBench {
    fn configure(&mut self, task: &Task) -> Result<(), BenchError> {
        let traffic = match self.configured.take() {
            Some((before, traffic)) if before == *task => traffic,
            _ => {
                let traffic = programs::traffic(task, self.ports, self.path.secret)?;
                self.device.configure(task)?;
                traffic
            }
        };
        let (_, traffic) = self.configured.insert((task.clone(), traffic));
        self.path.settle(traffic)
    }

    fn run(&mut self, order: &RunOrder) -> Result<RunRecord, BenchError> {
        let Some((_, traffic)) = &self.configured else {
            let problem = "it is not configured".to_owned();
            return Err(BenchError::Device { device: "device".to_owned(), problem });
        };
        self.path.send(traffic, order)
    }

    fn yardstick(&mut self) -> Option<Duration> {
        self.yardstick.as_ref().map(Yardstick::read)
    }

    fn contention(&mut self) -> Option<Contention> {
        self.competitors.as_ref()?.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_keep_a_token_bucket_beside_stalls_of_the_generator() {
        const GAP: f64 = 10_000.0;
        const PACKETS: u64 = 5_000;
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let (mut now, mut due) = (0.0_f64, 0.0_f64);
        let mut stamps = Vec::new();
        for number in 0..PACKETS {
            // Stalls of 20 mean intervals before, and of up to 3 within a transmission.
            now = now.max(due) + if number % 97 == 0 { 20.0 * GAP } else { 0.0 };
            due += GAP * random.random_range(SHORTEST..2.0 - SHORTEST);
            let start = now;
            let took = if number % 31 == 0 { 3.0 * GAP } else { 0.9 * GAP };
            stamps.push(start + took * random.random_range(0.0..1.0));
            now = start + took * 1.0;
            let [start, ended] = [start, now].map(|time| Duration::from_nanos(time as u64));
            due = due.max(earliest(GAP, start, ended));
        }
        // The number of packets in any window of time is at most 3 + 2 per mean interval.
        for (first, from) in stamps.iter().enumerate() {
            for (number, to) in
                (1..).map(f64::from).zip(&stamps[first..stamps.len().min(first + 60)])
            {
                assert!(number <= 3.0 + 2.0 * (to - from + 2.0) / GAP, "{number} in {}", to - from);
            }
        }
    }
}
