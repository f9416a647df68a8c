//! Times a fixed workload on each core that a measurement uses, which shows whether a core is slow
//! at present.

use std::hint::black_box;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::super::conduct::BenchError;
use super::machine;

/// A timer of a fixed workload, which shows how fast the cores are. It runs on the caller's core
/// and, if the device has its own core, on that core too.
#[derive(Debug, Default)]
pub(super) struct Yardstick {
    other: Option<DeviceCore>,
}

/// A thread that is pinned to the device's core and times the workload there.
#[derive(Debug)]
struct DeviceCore {
    requests: Option<mpsc::Sender<()>>,
    answer: mpsc::Receiver<Duration>,
    thread: Option<JoinHandle<()>>,
}

impl Yardstick {
    /// Creates a timer of the fixed workload for a device that runs on `core`.
    pub(super) fn with_core(core: usize) -> Result<Self, BenchError> {
        let (requests, received) = mpsc::channel();
        let (reply, answer) = mpsc::channel();
        let work = move || {
            // If pinning fails, the thread measures another core, which is useless but harmless.
            let _ = machine::stay_on(core);
            while received.recv().is_ok() && reply.send(best_time()).is_ok() {}
        };
        let thread = std::thread::Builder::new().name("yardstick".to_owned()).spawn(work);
        let thread = thread.map_err(|source| BenchError::System {
            what: "starting a thread".to_owned(),
            source,
        })?;
        Ok(Self {
            other: Some(DeviceCore { requests: Some(requests), answer, thread: Some(thread) }),
        })
    }

    /// Returns the time that the workload takes at present on the slower of the cores.
    pub(super) fn read(&self) -> Duration {
        let requested = self.other.as_ref().filter(|other| {
            other.requests.as_ref().is_some_and(|requests| requests.send(()).is_ok())
        });
        let here = best_time();
        let there = requested.and_then(|other| other.answer.recv().ok());
        here.max(there.unwrap_or_default())
    }
}

impl Drop for DeviceCore {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs the workload four times and returns the shortest time. An interrupt prolongs one of the
/// runs, whereas a slow processor prolongs all of them.
fn best_time() -> Duration {
    let once = |_| {
        let begin = Instant::now();
        black_box(work(black_box(0x9E37_79B9_7F4A_7C15)));
        begin.elapsed()
    };
    (0..4).map(once).min().unwrap_or_default()
}

/// Runs about 20 µs of work. It consists of independent arithmetic, which competes with another
/// hardware thread of the core for execution units, and of a sort, which competes for branch
/// prediction and memory.
fn work(seed: u64) -> u64 {
    let mut lanes = [seed, seed ^ 1, seed ^ 2, seed ^ 3];
    let mut numbers = [0_u32; 256];
    for number in &mut numbers {
        for (lane, add) in lanes.iter_mut().zip([3_u64, 5, 7, 11]) {
            for _ in 0..4 {
                *lane = lane.rotate_left(13).wrapping_mul(0x2545_F491_4F6C_DD1D).wrapping_add(add);
            }
        }
        *number = (lanes[0] ^ lanes[3]) as u32;
    }
    numbers.sort_unstable();
    let sorted = numbers
        .iter()
        .step_by(16)
        .fold(0, |sum: u64, number| sum * 31 % 1_000_003 + u64::from(*number));
    sorted ^ lanes[1] ^ lanes[2]
}
