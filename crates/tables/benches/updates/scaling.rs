//! One core against several: what sharing costs and sharding saves.

use std::sync::Barrier;
use std::thread;

use tables::{Design, EntryLock, Storage, machine};

use super::contenders::{filled, flip};
use super::statistics::Estimate;
use super::{MASK, OPERATIONS, random_keys};

/// Updates per second of one core and of `wanted` cores, in turns.
pub(crate) fn scale(bits: u32, repetitions: usize, available: &[usize], wanted: usize) {
    let cores = &available[..wanted.min(available.len())];
    if cores.len() < 2 {
        println!("SKIPPED: scaling needs two cores");
        return;
    }
    println!(
        "2^{bits} entries, M updates/s of all cores together, {repetitions} repetitions, 95 % confidence"
    );
    let locked = Design::shared(Storage::Inline);
    let designs = [
        ("inline, sharded, 2^n entries for each core", Design::sharded(cores.len())),
        ("inline, optimistic, locked, shared keys", locked),
        (
            "inline, optimistic, unlocked, shared keys",
            Design { entry_lock: EntryLock::None, ..locked },
        ),
        ("static, optimistic, locked, shared keys", Design::shared(Storage::Static)),
    ];
    for (name, design) in designs {
        let mut one = Vec::new();
        let mut all = Vec::new();
        // A sharded table as large as all the cores' entries together; each core draws from its own.
        let sharded = design.storage == Storage::Inline
            && design.entry_lock == EntryLock::None
            && name.contains("sharded");
        let size = if sharded { cores.len() as u32 } else { 1 } << bits;
        let table = filled(design, size);
        let keys: Vec<Vec<[u8; 4]>> = (0..cores.len())
            .map(|core| {
                let pool: Vec<u32> = (0..size)
                    .filter(|key| !sharded || table.shard_of(&key.to_be_bytes()) == core)
                    .collect();
                let draws = random_keys(32, OPERATIONS, core as u64 + 7);
                let pick = |draw: u32| pool[((u64::from(draw) * pool.len() as u64) >> 32) as usize];
                draws.into_iter().map(|draw| pick(draw).to_be_bytes()).collect()
            })
            .collect();
        for repetition in 0..=repetitions {
            let rates = [run(&table, &keys[..1], &cores[..1]), run(&table, &keys, cores)];
            if repetition > 0 {
                one.push(rates[0]);
                all.push(rates[1]);
            }
        }
        let ratio = Estimate::of_ratio(&all, &one);
        println!(
            "  {name:44} 1 core {}, {} cores {}, ratio {ratio}, best {:.2}",
            Estimate::of(&one),
            cores.len(),
            Estimate::of(&all),
            ratio.best
        );
    }
    println!();
}

/// Runs each core's keys on it at the same time; M updates/s of all together, over the time of the slowest.
fn run(table: &tables::Table, keys: &[Vec<[u8; 4]>], cores: &[usize]) -> f64 {
    let start = Barrier::new(cores.len());
    let times: Vec<f64> = thread::scope(|scope| {
        let threads: Vec<_> = keys
            .iter()
            .zip(cores)
            .enumerate()
            .map(|(shard, (keys, &core))| {
                let start = &start;
                scope.spawn(move || {
                    if let Err(error) = machine::pin_to(core) {
                        eprintln!("NOT PINNED: {error}");
                    }
                    let mut worker = table
                        .worker_of_shard(shard % table.shards())
                        .expect("a worker for each core");
                    start.wait();
                    let begin = machine::thread_time();
                    for batch in keys.chunks(32) {
                        flip(&mut worker, batch.as_flattened(), MASK);
                    }
                    (machine::thread_time() - begin).as_secs_f64()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker thread")).collect()
    });
    let slowest = times.into_iter().fold(0.0, f64::max);
    (keys.len() * OPERATIONS) as f64 / slowest / 1e6
}
