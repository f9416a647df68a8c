//! A worker between ports: it receives bursts from a port, processes them, and sends the outputs.

use crate::check::NOW;
use crate::run::pin;
use packetio::{BURST, Burst, Queue};
use pipeline::{Batch, Core, Processor};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tables::machine::thread_time;

/// The longest idle time that is counted for one poll without packets. If a poll seems to take
/// longer, the thread was interrupted.
const LONGEST_LOOK: Duration = Duration::from_micros(20);

/// The program that a worker runs, and the port number that the program sees.
#[derive(Clone, Copy)]
pub(super) struct Served<'c> {
    /// The number of the ingress port, as the program sees it.
    pub(super) port: u32,
    /// The program that the worker runs, or `None` if packets are returned unchanged.
    pub(super) core: Option<&'c Core>,
}

/// The counters of a worker, which the generator reads while the worker runs.
#[derive(Default)]
pub(super) struct Work {
    stop: AtomicBool,
    packets: AtomicU64,
    pub(super) errors: AtomicU64,
    /// The processor time that the worker spent on packets, in nanoseconds.
    busy: AtomicU64,
    /// The processor time that the worker spent on polls without packets, in nanoseconds.
    idle: AtomicU64,
}

impl Work {
    /// Returns three numbers: the number of processed packets, the processor time spent on packets,
    /// and the processor time spent on polls without packets. Times are in nanoseconds.
    pub(super) fn seen(&self) -> [u64; 3] {
        [&self.packets, &self.busy, &self.idle].map(|value| value.load(Ordering::Relaxed))
    }
}

/// A guard that stops the worker when the generator ends, even by a panic.
struct Stop<'w>(&'w Work);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// A worker's program and its buffers for packets.
pub(super) struct Server<'c> {
    port: u32,
    core: Option<&'c Core>,
    processor: Processor,
    burst: Burst,
    batch: Batch,
}

impl<'c> Server<'c> {
    pub(super) fn new(served: Served<'c>) -> Self {
        let Served { port, core } = served;
        let (burst, batch) = (Burst::new(BURST), Batch::default());
        Self { port, core, processor: Processor::with_seed(0), burst, batch }
    }

    /// Receives one burst, processes it and sends the outputs. Returns the number of packets
    /// received and the number whose processing failed.
    pub(super) fn turn(&mut self, queue: &mut dyn Queue) -> (usize, usize) {
        self.burst.clear();
        let count = queue.receive(&mut self.burst).unwrap_or(0);
        let mut errors = 0;
        if let Some(core) = self.core {
            let frames = self.burst.frames().iter();
            let packets: Vec<(u32, &[u8])> =
                frames.map(|frame| (self.port, frame.bytes())).collect();
            self.processor.process_batch(core, &packets, NOW, &mut self.batch);
            for (_, _, packet) in self.batch.sent() {
                queue.transmit(packet);
            }
            errors = self.batch.errors().len();
            if count > 0 {
                self.processor.take_digests();
                core.answer_entry_changes();
            }
        } else {
            for frame in self.burst.frames() {
                queue.transmit(frame.bytes());
            }
        }
        queue.flush();
        (count, errors)
    }

    /// Processes packets of the port until the generator stops the worker.
    fn serve(&mut self, queue: &mut dyn Queue, work: &Work) {
        pin(0);
        let (began, mut looked, mut idle) = (thread_time(), Instant::now(), Duration::ZERO);
        while !work.stop.load(Ordering::Relaxed) {
            // Reading a thread's processor-time clock is a system call, so each reading covers
            // several bursts.
            for _ in 0..16 {
                let (count, errors) = self.turn(queue);
                let now = Instant::now();
                if count == 0 {
                    idle += now.duration_since(looked).min(LONGEST_LOOK);
                }
                looked = now;
                work.packets.fetch_add(count as u64, Ordering::Relaxed);
                work.errors.fetch_add(errors as u64, Ordering::Relaxed);
            }
            let busy = thread_time().saturating_sub(began).saturating_sub(idle);
            for (value, time) in [(&work.busy, busy), (&work.idle, idle)] {
                let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                value.store(time, Ordering::Relaxed);
            }
        }
    }
}

/// Runs a worker on one core while `generate` runs on another, and returns when both have ended.
/// Returns `None` if `generate` panicked.
pub(super) fn with_worker<R: Send>(
    worker: &mut dyn Queue,
    served: Served<'_>,
    generate: impl FnOnce(&Work) -> R + Send,
) -> Option<(R, Work)> {
    let work = Work::default();
    let done = std::thread::scope(|scope| {
        let work = &work;
        scope.spawn(move || Server::new(served).serve(worker, work));
        // The generator has its own thread, because it is pinned to a core.
        let generator = scope.spawn(move || {
            let _stop = Stop(work);
            pin(1);
            generate(work)
        });
        generator.join().ok()
    });
    Some((done?, work))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::generator::{TIMEOUT, take};
    use crate::ports::only_queue;
    use packetio::{Transmitted, memory};

    /// Checks that a worker without a program returns packets, and that its idle time is counted
    /// separately. Here, almost all of its time is idle.
    #[test]
    fn a_worker_counts_its_idle_time() {
        let [generator, worker] = memory::line("line", 64).map(only_queue);
        let (mut generator, mut worker) = (generator.expect("a queue"), worker.expect("a queue"));
        let back = with_worker(worker.as_mut(), Served { port: 1, core: None }, |work| {
            let mut burst = Burst::new(BURST);
            assert_eq!(generator.transmit(&[7; 60]), Transmitted::Taken);
            generator.flush();
            let mut back = Vec::new();
            let begin = Instant::now();
            // The worker updates its counters only every few turns.
            while back.is_empty() || work.seen()[2] < 1_000_000 {
                assert!(begin.elapsed() < TIMEOUT, "{:?}", work.seen());
                take(generator.as_mut(), &mut burst, |packet| back.push(packet.to_vec()));
            }
            back
        });
        let (back, work) = back.expect("the generator comes to its end");
        let [packets, busy, idle] = work.seen();
        assert_eq!((back, packets), (vec![vec![7; 60]], 1));
        assert!(idle > busy, "{idle} ns with nothing, {busy} ns with packets");
    }
}
