//! One core forwards; another sends and counts.

use packetio::{Burst, Port, Queue, Transmitted};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use statistics::Ordered;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TRIAL: Duration = Duration::from_millis(300);
/// How long as many are sent as the generator can. What a thread ran is known to some 4 ms from outside, so this is long.
const FLOOD: Duration = Duration::from_secs(1);
/// How long a packet may take that is not lost.
const DRAIN: Duration = Duration::from_millis(50);
/// Enough at a time that the generator has more to give than a loop that only receives and transmits can take.
const BURST: usize = 256;

/// The generator's side.
pub(crate) struct Bench<'d> {
    send: Box<dyn Queue>,
    count: Box<dyn Queue>,
    burst: Burst,
    packet: Vec<u8>,
    /// The packets that the forwarder has had, and the processor time that it took.
    done: Box<dyn Fn() -> (u64, Duration) + 'd>,
}

/// What the forwarding core did so far.
#[derive(Default)]
struct Work {
    packets: AtomicU64,
    /// Nanoseconds of processor time spent on bursts with packets.
    time: AtomicU64,
}

impl Work {
    fn seen(&self) -> (u64, Duration) {
        let time = Duration::from_nanos(self.time.load(Ordering::Relaxed));
        (self.packets.load(Ordering::Relaxed), time)
    }
}

impl<'d> Bench<'d> {
    /// Forwards on a core of its own while `body` measures.
    pub(crate) fn run<T>(ports: [Port; 4], body: impl FnOnce(&mut Bench<'_>) -> T) -> T {
        let [send, receive, transmit, count] = ports.map(|mut port| port.queues.remove(0));
        let packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5];
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let (stop, work) = (&stop, Arc::new(Work::default()));
            let forwarder = Arc::clone(&work);
            scope.spawn(move || forward(receive, transmit, &forwarder, stop));
            pin(1);
            let done = Box::new(move || work.seen());
            let mut bench = Bench { send, count, burst: Burst::new(BURST), packet, done };
            let value = body(&mut bench);
            stop.store(true, Ordering::Relaxed);
            value
        })
    }

    /// Measures what somebody else forwards, who is there already; `done` tells what he has done, and for how long he ran.
    pub(crate) fn around(
        [send, count]: [Port; 2],
        done: impl Fn() -> (u64, Duration) + 'd,
    ) -> Self {
        let [send, count] = [send, count].map(|mut port| port.queues.remove(0));
        pin(1);
        let (burst, done) = (Burst::new(BURST), Box::new(done));
        Self { send, count, burst, packet: Vec::new(), done }
    }

    /// From now on packets are copies of this one.
    pub(crate) fn set_packet(&mut self, packet: Vec<u8>) {
        self.packet = packet;
    }

    /// From now on packets have so many bytes, at least those of a header.
    pub(crate) fn set_length(&mut self, bytes: usize) {
        self.packet.resize(bytes, 0x55);
    }

    /// Sends so many, as far as there is room.
    fn send(&mut self, count: usize) -> usize {
        let taken =
            |queue: &mut Box<dyn Queue>, packet| queue.transmit(packet) == Transmitted::Taken;
        let sent = (0..count).take_while(|_| taken(&mut self.send, &self.packet)).count();
        self.send.flush();
        sent
    }

    /// Takes what came.
    fn count(&mut self) -> usize {
        let count = self.count.receive(&mut self.burst).unwrap_or(0);
        self.burst.clear();
        count
    }

    /// Takes what still comes.
    fn drain(&mut self) -> usize {
        let (mut last, mut count) = (Instant::now(), 0);
        while last.elapsed() < DRAIN {
            match self.count() {
                0 => {}
                more => (last, count) = (Instant::now(), count + more),
            }
        }
        count
    }
}

/// Packets per second that come through when as many are sent as the generator can, and that the
/// forwarder does meanwhile per second of its processor time.
pub(crate) fn flooded(bench: &mut Bench<'_>) -> (f64, f64) {
    bench.drain();
    let before = (bench.done)();
    let (began, mut received) = (Instant::now(), 0);
    while began.elapsed() < FLOOD {
        bench.send(BURST);
        received += bench.count();
    }
    let elapsed = began.elapsed();
    let after = (bench.done)();
    bench.drain();
    let capacity = (after.0 - before.0) as f64 / (after.1 - before.1).as_secs_f64();
    (received as f64 / elapsed.as_secs_f64(), capacity)
}

/// The highest rate at which nothing is lost, of a search below and somewhat above `peak`.
pub(crate) fn loss_free(bench: &mut Bench<'_>, peak: f64) -> f64 {
    let (mut low, mut high) = (0.0, peak * 1.2);
    for _ in 0..6 {
        let rate = f64::midpoint(low, high);
        if passes(bench, rate) { low = rate } else { high = rate }
    }
    low
}

/// Whether everything comes through that is sent at a rate, which must be reached.
fn passes(bench: &mut Bench<'_>, rate: f64) -> bool {
    bench.drain();
    let (began, mut sent, mut received) = (Instant::now(), 0, 0);
    while began.elapsed() < TRIAL {
        let due = (began.elapsed().as_secs_f64() * rate) as usize;
        sent += bench.send(due.saturating_sub(sent).min(BURST));
        received += bench.count();
    }
    received += bench.drain();
    received == sent && sent as f64 >= 0.99 * rate * TRIAL.as_secs_f64()
}

/// The median and the 99th percentile of the time from port to port, in microseconds.
pub(crate) fn latency(bench: &mut Bench<'_>, probes: usize) -> (f64, f64) {
    bench.drain();
    let times = (0..probes)
        .filter_map(|_| {
            let sent = Instant::now();
            bench.send(1);
            while bench.count() == 0 {
                if sent.elapsed() > DRAIN {
                    return None;
                }
            }
            Some(sent.elapsed().as_secs_f64() * 1e6)
        })
        .collect();
    let times = Ordered::of_numbers(times);
    let percentile = |share| times.at(share).unwrap_or(f64::NAN);
    (percentile(0.5), percentile(0.99))
}

fn forward(
    mut receive: Box<dyn Queue>,
    mut transmit: Box<dyn Queue>,
    work: &Work,
    stop: &AtomicBool,
) {
    pin(0);
    let mut burst = Burst::new(BURST);
    let mut began = processor_time();
    while !stop.load(Ordering::Relaxed) {
        let count = receive.receive(&mut burst).unwrap_or(0);
        for packet in burst.frames() {
            transmit.transmit(packet.bytes());
        }
        transmit.flush();
        burst.clear();
        let now = processor_time();
        if count > 0 {
            work.packets.fetch_add(count as u64, Ordering::Relaxed);
            work.time.fetch_add(now - began, Ordering::Relaxed);
        }
        began = now;
    }
}

/// Nanoseconds that this thread ran.
fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Keeps this thread on one of the cores that it may use.
fn pin(index: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
    if let Some(core) = cores.nth(index) {
        let mut only = CpuSet::new();
        only.set(core);
        let _ = sched_setaffinity(None, &only);
    }
}
