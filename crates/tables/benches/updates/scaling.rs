//! Compares one core with several: the cost of sharing, and the gain of sharding.
//!
//! Two controls share nothing by construction: a loop of arithmetic, and a separate map for each
//! core. If they do not scale, the machine is the limit (processors that are threads of one core, a
//! lower clock frequency, a shared cache or memory bus), and no table can scale better.

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::thread;

use tables::{Design, PackedTable, Storage, Synchronisation, TableWorker, machine};

use super::contenders::{Contender, Hashbrown, filled, flip, scatter};
use super::{MASK, OPERATIONS, random_keys, random_numbers};
use statistics::Estimate;

/// The number of passes over the keys in one repetition, after one pass that warms up the core's
/// caches.
const PASSES: usize = 8;

/// A pass over the keys of one core.
pub(crate) type Pass<'a> = Box<dyn FnMut() + 'a>;

/// A function that makes the pass of a core, on the thread that runs it.
pub(crate) type Passes<'a, 'b> = &'b (dyn Fn(usize) -> Pass<'a> + Sync);

/// Prints the updates per second of one core (the mean over the cores, each measured alone) and of
/// up to `wanted` cores together. The two measurements alternate.
///
/// Only the cases whose names contain the text `only` are measured.
pub(crate) fn scale(
    bits: u32,
    repetitions: usize,
    (available, wanted): (&[usize], usize),
    only: &str,
) {
    let cores = &available[..wanted.min(available.len())];
    let cases = Cases { repetitions, cores, only };
    if cores.len() < 2 {
        println!("SKIPPED: scaling needs two cores");
        return;
    }
    println!(
        "2^{bits} entries, M updates/s of all cores together, {repetitions} repetitions of {PASSES} passes, 95 % confidence"
    );
    let size = 1_u32 << bits;
    cases.compare("control: arithmetic, no memory", &|_| Box::new(calculate));
    cases.compare("control: hashbrown, a map for each core", &|core| {
        let mut map = Hashbrown::new(size, (0..size).map(scatter));
        let keys = random_keys(bits, OPERATIONS, core as u64 + 7);
        Box::new(move || {
            black_box(map.update(&keys, MASK));
        })
    });
    // Each core has all entries, and its packets use those of its own flows.
    let sharded = filled(Design::sharded(cores.len()), size);
    let part_keys = own_keys(&sharded, size, cores.len());
    for call in [32, 256] {
        let name = format!("inline, sharded, bulk {call}");
        cases.compare(&name, &|core| pass(&sharded, &part_keys[core], call));
    }
    let designs = [
        Design::shared(Storage::Inline),
        Design::unlocked(Storage::Inline),
        Design::shared(Storage::Static),
    ];
    let hot: Vec<[u64; 2]> = vec![[scatter(0).into(), 0]; OPERATIONS];
    for design in designs {
        let table = filled(design, size);
        let spread = own_keys(&table, size, cores.len());
        for (load, keys) in
            [("shared keys", spread), ("one hot entry", vec![hot.clone(); cores.len()])]
        {
            let name = format!("{}, optimistic, {}, {load}", design.storage, design.entry_lock);
            cases.compare(&name, &|core| pass(&table, &keys[core], 32));
            // A second worker, even an idle one, makes the first take the locks that several
            // workers need.
            let _idle = TableWorker::new(&table).expect("an idle worker");
            cases.compare(&(name + ", beside an idle one"), &|core| pass(&table, &keys[core], 32));
        }
    }
    println!();
}

/// The settings of the measured cases, and the filter of their names.
struct Cases<'c> {
    repetitions: usize,
    cores: &'c [usize],
    only: &'c str,
}

impl Cases<'_> {
    fn compare<'a>(&self, name: &str, passes: Passes<'a, '_>) {
        self.compare_two(name, passes, passes);
    }

    fn compare_two<'a>(&self, name: &str, single: Passes<'a, '_>, passes: Passes<'a, '_>) {
        if name.contains(self.only) {
            compare(name, self.repetitions, self.cores, (single, passes));
        }
    }
}

/// Measures each core alone with `single`, then all cores together with `passes`, and prints one
/// line.
fn compare<'a>(
    name: &str,
    repetitions: usize,
    cores: &[usize],
    (single, passes): (Passes<'a, '_>, Passes<'a, '_>),
) {
    let (mut one, mut all) = (Vec::new(), Vec::new());
    for repetition in 0..=repetitions {
        // Cores differ, so the least biased result for "one core" is the mean over all cores.
        let alone: f64 = (0..cores.len())
            .map(|core| run(&[core], cores, (PASSES, OPERATIONS), single))
            .sum::<f64>()
            / cores.len() as f64;
        let every: Vec<usize> = (0..cores.len()).collect();
        let rate = run(&every, cores, (PASSES, OPERATIONS), passes);
        if repetition > 0 {
            one.push(alone);
            all.push(rate);
        }
    }
    let ratio = Estimate::of_ratio(&all, &one).expect("repetitions");
    println!(
        "  {name:52} 1 core {}, {} cores {}, ratio {ratio}, best {:.2}",
        Estimate::of(&one).expect("repetitions"),
        cores.len(),
        Estimate::of(&all).expect("repetitions"),
        ratio.max
    );
}

/// Runs `count` passes of `updates` updates on each of the chosen cores at the same time. Returns
/// the millions of updates per second of all cores together, over the time of the slowest core.
pub(crate) fn run(
    chosen: &[usize],
    cores: &[usize],
    (count, updates): (usize, usize),
    passes: Passes<'_, '_>,
) -> f64 {
    let start = Barrier::new(chosen.len());
    let times: Vec<f64> = thread::scope(|scope| {
        let threads: Vec<_> = chosen
            .iter()
            .map(|&index| {
                let (start, core) = (&start, cores[index]);
                scope.spawn(move || {
                    if let Err(error) = machine::pin_to(core) {
                        eprintln!("NOT PINNED: {error}");
                    }
                    let mut pass = passes(index);
                    pass();
                    start.wait();
                    let begin = machine::thread_time();
                    (0..count).for_each(|_| pass());
                    (machine::thread_time() - begin).as_secs_f64()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker thread")).collect()
    });
    let slowest = times.into_iter().fold(0.0, f64::max);
    (chosen.len() * count * updates) as f64 / slowest / 1e6
}

/// Returns random keys for each core: keys of the whole table, or in a sharded table those of the
/// core's own flows.
pub(crate) fn own_keys(table: &PackedTable, size: u32, cores: usize) -> Vec<Vec<[u64; 2]>> {
    let sharded = matches!(table.design().synchronisation, Synchronisation::Sharded { .. });
    (0..cores)
        .map(|core| {
            let is_own = |number: &u32| !sharded || *number as usize % cores == core;
            let pool: Vec<u32> = (0..size).filter(is_own).map(scatter).collect();
            let draws = random_numbers(32, OPERATIONS, core as u64 + 7);
            let pick = |draw: u32| pool[((u64::from(draw) * pool.len() as u64) >> 32) as usize];
            draws.into_iter().map(|draw| [pick(draw).into(), 0]).collect()
        })
        .collect()
}

pub(crate) fn pass<'a>(table: &'a Arc<PackedTable>, keys: &'a [[u64; 2]], call: usize) -> Pass<'a> {
    let mut worker = TableWorker::new(table).expect("a worker for each core");
    Box::new(move || {
        for batch in keys.chunks(call) {
            black_box(flip(&mut worker, batch, MASK));
        }
    })
}

/// Computes six independent chains of three operations for each update, which fill a core's
/// execution units.
fn calculate() {
    let mut chains = black_box([1_u64, 2, 3, 4, 5, 6]);
    for _ in 0..OPERATIONS {
        for chain in &mut chains {
            *chain = (*chain ^ chain.rotate_left(7)).wrapping_add(MASK.into());
        }
    }
    black_box(chains);
}
