//! One worker between ports: it takes bursts from a port, processes them and sends on what leaves.

use crate::check::NOW;
use crate::run::pin;
use packetio::{BURST, Burst, Queue};
use pipeline::{Batch, Core, Processor};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tables::machine::thread_time;

/// A look at a port that found nothing takes no longer. One that seems to was interrupted.
const LONGEST_LOOK: Duration = Duration::from_micros(20);

/// What a worker does with its packets.
#[derive(Clone, Copy)]
pub(super) struct Served<'c> {
    /// The port by which the program sees packets come in.
    pub(super) port: u32,
    /// The program; without one, packets are sent back as they are.
    pub(super) core: Option<&'c Core>,
}

/// What the worker tells the generator.
#[derive(Default)]
pub(super) struct Work {
    stop: AtomicBool,
    packets: AtomicU64,
    pub(super) errors: AtomicU64,
    /// Processor time of the thread in which it had packets, in nanoseconds.
    busy: AtomicU64,
    /// And in which it had none.
    idle: AtomicU64,
}

impl Work {
    /// Packets, and the nanoseconds with and without some.
    pub(super) fn seen(&self) -> [u64; 3] {
        [&self.packets, &self.busy, &self.idle].map(|value| value.load(Ordering::Relaxed))
    }
}

/// Stops the worker whatever becomes of the generator.
struct Stop<'w>(&'w Work);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// One worker's memory and program.
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

    /// Takes a burst and sends on what leaves; how many came, and how many could not be processed.
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

    /// Until it is stopped.
    fn serve(&mut self, queue: &mut dyn Queue, work: &Work) {
        pin(0);
        let (began, mut looked, mut idle) = (thread_time(), Instant::now(), Duration::ZERO);
        while !work.stop.load(Ordering::Relaxed) {
            // The clock of a thread is a system call.
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

/// Runs a worker on a core of its own while the generator does something on another. The worker has stopped when its work is
/// given back.
pub(super) fn beside<R: Send>(
    worker: &mut dyn Queue,
    served: Served<'_>,
    generate: impl FnOnce(&Work) -> R + Send,
) -> Option<(R, Work)> {
    let work = Work::default();
    let done = std::thread::scope(|scope| {
        let work = &work;
        scope.spawn(move || Server::new(served).serve(worker, work));
        // In a thread of its own, since it stays on its core.
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
    use crate::ports::first;
    use crate::ports::generator::{PATIENCE, take};
    use packetio::{Transmitted, memory};

    /// Whatever a worker finds it sends back; the time in which it finds nothing is told apart, and is all that it has here.
    #[test]
    fn a_worker_tells_when_it_had_nothing() {
        let [generator, worker] = memory::line("line", 64).map(first);
        let (mut generator, mut worker) = (generator.expect("a queue"), worker.expect("a queue"));
        let back = beside(worker.as_mut(), Served { port: 1, core: None }, |work| {
            let mut burst = Burst::new(BURST);
            assert_eq!(generator.transmit(&[7; 60]), Transmitted::Taken);
            generator.flush();
            let mut back = Vec::new();
            let begin = Instant::now();
            // Until the worker has looked at its clock and had its time of nothing.
            while back.is_empty() || work.seen()[2] < 1_000_000 {
                assert!(begin.elapsed() < PATIENCE, "{:?}", work.seen());
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
