//! The measurement: one core forwards, and another core sends and counts.

use packetio::{Burst, Port, Queue, Transmitted};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use statistics::Ordered;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TRIAL: Duration = Duration::from_millis(300);
/// The duration of flooding. The processor time of another thread is known only to about 4 ms, so
/// the duration is long.
const FLOOD: Duration = Duration::from_secs(1);
/// The time without arrivals after which no further packet is expected.
const DRAIN: Duration = Duration::from_millis(50);
/// The number of packets sent at once, large enough to keep a forwarding loop busy.
const BURST: usize = 256;

/// The generator's side of a benchmark.
pub(crate) struct Bench<'d> {
    send: Box<dyn Queue>,
    count: Box<dyn Queue>,
    burst: Burst,
    packet: Vec<u8>,
    /// A function that returns the number of packets that the forwarder has processed, and its
    /// processor time.
    done: Box<dyn Fn() -> (u64, Duration) + 'd>,
}

/// The progress of the forwarding core.
#[derive(Default)]
struct Work {
    packets: AtomicU64,
    /// The processor time spent on bursts with packets, in nanoseconds.
    time: AtomicU64,
}

impl Work {
    fn seen(&self) -> (u64, Duration) {
        let time = Duration::from_nanos(self.time.load(Ordering::Relaxed));
        (self.packets.load(Ordering::Relaxed), time)
    }
}

impl<'d> Bench<'d> {
    /// Forwards packets on a separate core while `body` measures.
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

    /// Creates a benchmark around an existing forwarder. `done` returns the number of packets that
    /// it has processed, and its processor time.
    pub(crate) fn around(
        [send, count]: [Port; 2],
        done: impl Fn() -> (u64, Duration) + 'd,
    ) -> Self {
        let [send, count] = [send, count].map(|mut port| port.queues.remove(0));
        pin(1);
        let (burst, done) = (Burst::new(BURST), Box::new(done));
        Self { send, count, burst, packet: Vec::new(), done }
    }

    /// Sets the packet that is copied for all packets from now on.
    pub(crate) fn set_packet(&mut self, packet: Vec<u8>) {
        self.packet = packet;
    }

    /// Sets the length of later packets in bytes, at least that of a header.
    pub(crate) fn set_length(&mut self, bytes: usize) {
        self.packet.resize(bytes, 0x55);
    }

    /// Sends up to `count` packets, as far as there is room; returns their number.
    fn send(&mut self, count: usize) -> usize {
        let taken =
            |queue: &mut Box<dyn Queue>, packet| queue.transmit(packet) == Transmitted::Taken;
        let sent = (0..count).take_while(|_| taken(&mut self.send, &self.packet)).count();
        self.send.flush();
        sent
    }

    /// Receives waiting packets; returns their number.
    fn count(&mut self) -> usize {
        let count = self.count.receive(&mut self.burst).unwrap_or(0);
        self.burst.clear();
        count
    }

    /// Receives until nothing has arrived for a while; returns the number of packets.
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

/// Floods the forwarder; returns the throughput in packets per second, and the packets per second
/// of the forwarder's processor time.
pub(crate) fn flooded(bench: &mut Bench<'_>) -> (f64, f64) {
    bench.drain();
    let before = (bench.done)();
    let (start, mut received) = (Instant::now(), 0);
    while start.elapsed() < FLOOD {
        bench.send(BURST);
        received += bench.count();
    }
    let elapsed = start.elapsed();
    let after = (bench.done)();
    bench.drain();
    let capacity = (after.0 - before.0) as f64 / (after.1 - before.1).as_secs_f64();
    (received as f64 / elapsed.as_secs_f64(), capacity)
}

/// Returns the highest rate without loss, found by bisection up to slightly more than `peak`.
pub(crate) fn loss_free(bench: &mut Bench<'_>, peak: f64) -> f64 {
    let (mut low, mut high) = (0.0, peak * 1.2);
    for _ in 0..6 {
        let rate = f64::midpoint(low, high);
        if passes(bench, rate) { low = rate } else { high = rate }
    }
    low
}

/// Returns whether a rate can be reached and all its packets arrive.
fn passes(bench: &mut Bench<'_>, rate: f64) -> bool {
    bench.drain();
    let (start, mut sent, mut received) = (Instant::now(), 0, 0);
    while start.elapsed() < TRIAL {
        let due = (start.elapsed().as_secs_f64() * rate) as usize;
        sent += bench.send(due.saturating_sub(sent).min(BURST));
        received += bench.count();
    }
    received += bench.drain();
    received == sent && sent as f64 >= 0.99 * rate * TRIAL.as_secs_f64()
}

/// Returns the median and the 99th percentile of the time from port to port, in microseconds.
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
    let mut start = processor_time();
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
            work.time.fetch_add(now - start, Ordering::Relaxed);
        }
        start = now;
    }
}

/// Returns the processor time of this thread in nanoseconds.
fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Pins this thread to one of the cores that it may use.
fn pin(index: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
    if let Some(core) = cores.nth(index) {
        let mut only = CpuSet::new();
        only.set(core);
        let _ = sched_setaffinity(None, &only);
    }
}
