//! The generator at the other end: it floods a worker, or keeps to a rate, and takes in what comes back.

use super::Flooded;
use super::worker::{Served, beside};
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

/// How long a packet may take that is not lost.
const DRAIN: Duration = Duration::from_millis(50);
/// How long a worker may take to get its first packet.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Packets that the generator hands over before it looks for some. Where XDP runs, Linux keeps 256 between the ends of a wire
/// (`VETH_RING_SIZE`): a generator that gives as many at once loses some there.
const SENT: usize = 64;

/// The two ends of a wire.
pub(super) struct Ends<'q> {
    pub(super) generator: &'q mut dyn Queue,
    pub(super) worker: &'q mut dyn Queue,
}

/// Packets of random flows.
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

/// Takes what comes.
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

/// Takes what still comes of before, which is nobody's. On a busy machine it may wait for this very core: it is left alone
/// between two looks.
fn settle(queue: &mut dyn Queue, burst: &mut Burst) {
    let mut last = Instant::now();
    while last.elapsed() < DRAIN {
        if take(queue, burst, |_| {}) > 0 {
            last = Instant::now();
        } else {
            std::thread::sleep(DRAIN / 50);
        }
    }
}

/// Takes what still comes: until nothing did for a while.
fn until_quiet(mut take: impl FnMut() -> usize) {
    let mut last = Instant::now();
    while last.elapsed() < DRAIN {
        if take() > 0 {
            last = Instant::now();
        }
    }
}

/// What a worker processes while the generator sends as many packets as go.
pub(super) fn flooded(
    ends: Ends<'_>,
    served: Served<'_>,
    mut flows: Flows<'_>,
    expected: &Expected,
    time: Duration,
) -> Flooded {
    let Ends { generator, worker } = ends;
    let found = beside(worker, served, |work| {
        let mut burst = Burst::new(BURST);
        let mut found = Flooded::default();
        // The worker joins the tables meanwhile.
        settle(generator, &mut burst);
        let (before, began) = (work.seen(), Instant::now());
        // A worker that had no core yet would have a rate of nothing, or an endless one.
        let idle = || {
            let [packets, busy, _] = work.seen();
            (packets == before[0] || busy == before[1]) && began.elapsed() < time + PATIENCE
        };
        while began.elapsed() < time || idle() {
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
    let Some(((mut found, before), work)) = found else { return Flooded::default() };
    found.processed = work.seen()[0].saturating_sub(before[0]);
    found.errors = work.errors.load(Ordering::Relaxed);
    found
}

/// The rate that was offered, and the times if no packet was lost. Where no rate is given, it is the share of what comes through
/// that the settings say.
pub(super) fn open_loop(
    ends: Ends<'_>,
    served: Served<'_>,
    mut flows: Flows<'_>,
    offered: Option<f64>,
    settings: &Settings,
) -> Option<(f64, Option<Histogram<u64>>)> {
    let Ends { generator, worker } = ends;
    let time = settings.time;
    let done = beside(worker, served, |_| {
        let mut burst = Burst::new(BURST);
        settle(generator, &mut burst);
        let offered = offered.unwrap_or_else(|| {
            // By the wall clock, generator and worker together.
            let through = paced(generator, &mut burst, &mut flows, 0.0, time).rate;
            settle(generator, &mut burst);
            through * settings.load
        });
        (offered, at_rate(generator, &mut burst, &mut flows, offered, time))
    });
    done.map(|(done, _)| done)
}

/// What a generator did that keeps to a rate.
struct Paced {
    sent: u64,
    received: u64,
    /// Nothing was refused.
    all_taken: bool,
    /// What came back per second while it sent.
    rate: f64,
    /// From due to back.
    times: Histogram<u64>,
}

/// Sends packets, one each `gap` nanoseconds; with no gap, as many as this generator can, which looks at the clock for each.
fn paced(
    generator: &mut dyn Queue,
    burst: &mut Burst,
    flows: &mut Flows<'_>,
    gap: f64,
    time: Duration,
) -> Paced {
    let mut times = times::empty();
    let began = Instant::now();
    let (mut sent, mut received, mut all_taken) = (0_u64, 0_u64, true);
    let due = |number: u64| (number as f64 * gap) as u64;
    let now = || u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    // Those that come together came at one time.
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
    while began.elapsed() < time {
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
    let rate = in_time as f64 / began.elapsed().as_secs_f64();
    until_quiet(|| take_back(generator));
    Paced { sent, received, all_taken, rate, times }
}

/// Nothing if a packet was lost.
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
