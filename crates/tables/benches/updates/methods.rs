//! Measures the paper's update methods (Table 1): in place, by a change through two replicas, and
//! by a digest to a controller.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tables::{Design, DigestLoop, PackedTable, Storage, TableWorker, UpdateMethod, Wait};

use super::contenders::{filled, flip};
use super::{MASK, random_keys};
use statistics::Estimate;

/// The number of digests that are sent before their answers are awaited, below the number at which
/// digests are dropped.
const WINDOW: usize = 512;

/// Prints the updates per second of each method. Time is wall-clock time, because the methods
/// differ in how long they wait.
pub(crate) fn compare(bits: u32, repetitions: usize) {
    println!(
        "2^{bits} entries, static storage, updates/s by the wall clock, one core, {repetitions} repetitions"
    );
    let one_replica = Design::unlocked(Storage::Static);
    let double = |wait| Design::double_buffer(Storage::Static, wait);
    report("pointer", repetitions, bits, 1 << 20, &filled(one_replica, 1 << bits));
    let change = Design { update: UpdateMethod::Change, ..one_replica };
    report("change, one replica", repetitions, bits, 1 << 18, &filled(change, 1 << bits));
    report(
        "change, double-buffer, quiescent",
        repetitions,
        bits,
        1 << 16,
        &filled(double(Wait::Quiescent), 1 << bits),
    );
    let no_wait = double(Wait::Fixed(Duration::ZERO));
    report(
        "change, double-buffer, wait of 0 us",
        repetitions,
        bits,
        1 << 12,
        &filled(no_wait, 1 << bits),
    );
    report(
        "change, double-buffer, wait of 200 us",
        repetitions,
        bits,
        1 << 10,
        &filled(double(Wait::PAPER), 1 << bits),
    );
    let digest = filled(Design { update: UpdateMethod::Digest, ..one_replica }, 1 << bits);
    match DigestLoop::start(&digest, Some) {
        Ok((controller, sender)) => {
            let keys = words(bits, 1 << 13);
            let worker = TableWorker::with_digests(&digest, Arc::new(sender));
            let mut worker = worker.expect("a first worker");
            let rates: Vec<f64> =
                (0..repetitions).map(|_| digests(&mut worker, &controller, &keys)).collect();
            println!(
                "  {:40} {} k/s",
                "digest, loopback TCP",
                Estimate::of(&rates).expect("repetitions")
            );
            let counts = controller.counts();
            assert_eq!(
                (counts.dropped, counts.refused),
                (0, 0),
                "the window keeps digests from being dropped"
            );
        }
        Err(error) => println!("  SKIPPED: digest: {error}"),
    }
    println!();
}

fn words(bits: u32, count: usize) -> Vec<[u64; 2]> {
    random_keys(bits, count, 3).into_iter().map(|key| [key.into(), 0]).collect()
}

fn report(name: &str, repetitions: usize, bits: u32, operations: usize, table: &Arc<PackedTable>) {
    let keys = words(bits, operations);
    let mut worker = TableWorker::new(table).expect("a first worker");
    let mut run = || {
        let begin = Instant::now();
        for batch in keys.chunks(32) {
            flip(&mut worker, batch, MASK);
        }
        operations as f64 / begin.elapsed().as_secs_f64() / 1e3
    };
    run();
    let rates: Vec<f64> = (0..repetitions).map(|_| run()).collect();
    println!("  {name:40} {} k/s", Estimate::of(&rates).expect("repetitions"));
}

/// Returns how many thousands of digests per second went to the controller, came back and were
/// applied.
fn digests(worker: &mut TableWorker, controller: &DigestLoop, keys: &[[u64; 2]]) -> f64 {
    let begin = Instant::now();
    for window in keys.chunks(WINDOW) {
        for batch in window.chunks(32) {
            flip(worker, batch, MASK);
        }
        let sent = controller.counts().sent;
        while controller.counts().applied + controller.counts().refused < sent {
            std::thread::yield_now();
        }
    }
    keys.len() as f64 / begin.elapsed().as_secs_f64() / 1e3
}
