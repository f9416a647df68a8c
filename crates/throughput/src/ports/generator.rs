//! The traffic generator at the other end of a worker's port. It sends packets as fast as possible
//! or at a fixed rate, and receives the outputs.

use super::FloodResult;
use super::worker::{Served, with_worker};
use crate::check::Expected;
use crate::packets::Packets;
use crate::run::Settings;
use crate::times;
use crate::traffic::Workload;
use hdrhistogram::Histogram;
use packetio::{BURST, Burst, Queue, Transmitted};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The time after the latest arrival at which no further packet is expected.
const DRAIN: Duration = Duration::from_millis(50);
/// The time within which a worker must have processed its first packet.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// The number of packets that the generator sends before it receives again. Linux buffers 256 XDP
/// packets between the ends of a veth pair (`VETH_RING_SIZE`). If 256 packets are sent in a row,
/// some are lost.
const SENT: usize = 64;

/// The connected ports of generator and worker.
pub(super) struct Ends<'q> {
    pub(super) generator: &'q mut dyn Queue,
    pub(super) worker: &'q mut dyn Queue,
}

/// A source of packets, each of a randomly chosen flow.
pub(super) struct Flows<'w> {
    packets: &'w Packets,
    random: ChaCha8Rng,
}

impl<'w> Flows<'w> {
    pub(super) fn new(workload: &'w Workload, seed: u64) -> Self {
        Self { packets: workload.packets(), random: ChaCha8Rng::seed_from_u64(seed) }
    }

    pub(super) fn next(&mut self) -> &'w [u8] {
        let flow = self.random.random_range(0..self.packets.len());
        self.packets.get(flow).unwrap_or(&[])
    }
}

/// Receives a burst from a port and passes each packet to `packet`. Returns the number of packets.
pub(super) fn take(
    queue: &mut dyn Queue,
    burst: &mut Burst,
    mut packet: impl FnMut(&[u8]),
) -> usize {
    burst.clear();
    let count = queue.receive(burst).unwrap_or(0);
    burst.frames().iter().for_each(|frame| packet(frame.bytes()));
    count
}

/// Receives and discards packets of earlier runs until none has arrived for [`DRAIN`]. The
/// generator sleeps between polls, because on a busy machine the worker may need this core.
fn discard_stale(queue: &mut dyn Queue, burst: &mut Burst) {
    let mut last = Instant::now();
    while last.elapsed() < DRAIN {
        if take(queue, burst, |_| {}) > 0 {
            last = Instant::now();
        } else {
            std::thread::sleep(DRAIN / 50);
        }
    }
}

/// Calls `take`, which returns the number of packets that it received, until none has arrived for
/// [`DRAIN`].
fn until_quiet(mut take: impl FnMut() -> usize) {
    let mut last = Instant::now();
    while last.elapsed() < DRAIN {
        if take() > 0 {
            last = Instant::now();
        }
    }
}

/// Measures the throughput of a worker while the generator sends packets as fast as it can, and
/// checks the outputs.
pub(super) fn flood(
    ends: Ends<'_>,
    served: Served<'_>,
    mut flows: Flows<'_>,
    expected: &Expected,
    time: Duration,
) -> FloodResult {
    let Ends { generator, worker } = ends;
    let found = with_worker(worker, served, |work| {
        let mut burst = Burst::new(BURST);
        let mut found = FloodResult::default();
        // While the generator waits here, the worker also registers with the tables.
        discard_stale(generator, &mut burst);
        let (before, start) = (work.seen(), Instant::now());
        // Until the worker has processed packets, its rate is undefined.
        let idle = || {
            let [packets, busy, _] = work.seen();
            (packets == before[0] || busy == before[1]) && start.elapsed() < time + TIMEOUT
        };
        while start.elapsed() < time || idle() {
            for _ in 0..SENT {
                if generator.transmit(flows.next()) != Transmitted::Taken {
                    break;
                }
            }
            generator.flush();
            found.left +=
                take(generator, &mut burst, |packet| found.check(expected, packet)) as u64;
        }
        let after = work.seen();
        until_quiet(|| {
            let count = take(generator, &mut burst, |packet| found.check(expected, packet));
            found.left += count as u64;
            count
        });
        let [packets, busy, idle] =
            [0, 1, 2].map(|value| after[value].saturating_sub(before[value]) as f64);
        found.rate = packets / (busy.max(1.0) / 1e9);
        found.idle = idle / (busy + idle).max(1.0);
        (found, before)
    });
    let Some(((mut found, before), work)) = found else { return FloodResult::default() };
    found.processed = work.seen()[0].saturating_sub(before[0]);
    found.errors = work.errors.load(Ordering::Relaxed);
    found
}

/// Measures latencies with packets that are sent at a fixed rate. Returns the rate at which they
/// were sent, and a histogram of the latencies if no packet was lost. If `offered` is `None`, the
/// rate is [`Settings::load`] times the throughput, which is then measured first.
pub(super) fn open_loop(
    ends: Ends<'_>,
    served: Served<'_>,
    mut flows: Flows<'_>,
    offered: Option<f64>,
    settings: &Settings,
) -> Option<(f64, Option<Histogram<u64>>)> {
    let Ends { generator, worker } = ends;
    let time = settings.time;
    let done = with_worker(worker, served, |_| {
        let mut burst = Burst::new(BURST);
        discard_stale(generator, &mut burst);
        let offered = offered.unwrap_or_else(|| {
            // The rate of outputs that the generator and the worker achieve together, by the wall
            // clock.
            let through = paced(generator, &mut burst, &mut flows, 0.0, time).rate;
            discard_stale(generator, &mut burst);
            through * settings.load
        });
        (offered, at_rate(generator, &mut burst, &mut flows, offered, time))
    });
    done.map(|(done, _)| done)
}

/// The result of sending packets at a fixed rate.
struct Paced {
    sent: u64,
    received: u64,
    /// Whether the generator's port accepted every packet.
    all_taken: bool,
    /// The number of outputs per second that arrived while packets were being sent.
    rate: f64,
    /// The latencies in nanoseconds, from the time at which a packet was to be sent to the arrival
    /// of its output.
    times: Histogram<u64>,
}

/// Sends a packet every `gap` nanoseconds for the given time, and returns the counts and latencies.
/// If `gap` is zero, packets are sent without a pause, but still with a reading of the clock for
/// each.
fn paced(
    generator: &mut dyn Queue,
    burst: &mut Burst,
    flows: &mut Flows<'_>,
    gap: f64,
    time: Duration,
) -> Paced {
    let mut times = times::empty();
    let start = Instant::now();
    let (mut sent, mut received, mut all_taken) = (0_u64, 0_u64, true);
    let due = |number: u64| (number as f64 * gap) as u64;
    let now = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    // Packets of one burst count as having arrived at the same time.
    let mut take_back = |generator: &mut dyn Queue| {
        let count = take(generator, burst, |_| {});
        let at = now();
        for number in received..received + count as u64 {
            times.saturating_record(at.saturating_sub(due(number)).max(1));
        }
        received += count as u64;
        count
    };
    let mut in_time = 0;
    while start.elapsed() < time {
        let mut taken = 0;
        while taken < SENT && due(sent) <= now() {
            if generator.transmit(flows.next()) != Transmitted::Taken {
                all_taken = false;
                break;
            }
            (sent, taken) = (sent + 1, taken + 1);
        }
        if taken > 0 {
            generator.flush();
        }
        in_time += take_back(generator);
    }
    let rate = in_time as f64 / start.elapsed().as_secs_f64();
    until_quiet(|| take_back(generator));
    Paced { sent, received, all_taken, rate, times }
}

/// Sends packets at a fixed rate. Returns a histogram of the latencies, or `None` if a packet was
/// lost.
fn at_rate(
    generator: &mut dyn Queue,
    burst: &mut Burst,
    flows: &mut Flows<'_>,
    offered: f64,
    time: Duration,
) -> Option<Histogram<u64>> {
    let done = paced(generator, burst, flows, 1e9 / offered.max(1.0), time);
    (done.all_taken && done.received == done.sent && done.sent > 0).then_some(done.times)
}
