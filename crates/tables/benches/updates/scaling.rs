//! One core against several: what sharing costs and sharding saves.
//!
//! Two controls share nothing by construction: a loop of arithmetic, and a map of its own for each core. What they fail
//! to gain, the machine does not have (processors that are threads of one core, a clock that falls, a common cache or
//! memory bus), and no table can.

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::thread;

use tables::{Design, PackedTable, Storage, Synchronisation, TableWorker, machine};

use super::contenders::{Contender, Hashbrown, filled, flip, scatter};
use super::{MASK, OPERATIONS, random_keys, random_numbers};
use statistics::Estimate;

/// Passes over the keys in one repetition, after one that warms the core's caches up.
const PASSES: usize = 8;

/// A pass over the keys of one core.
pub(crate) type Pass<'a> = Box<dyn FnMut() + 'a>;

/// Makes the pass of a core, on the thread that runs it.
pub(crate) type Passes<'a, 'b> = &'b (dyn Fn(usize) -> Pass<'a> + Sync);

/// Updates per second of one core and of `wanted` cores, in turns.
///
/// Of the cases those are measured whose names have the text `only`.
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
            // Beside another, though idle, a worker does not do without what several need.
            let _idle = TableWorker::new(&table).expect("an idle worker");
            cases.compare(&(name + ", beside an idle one"), &|core| pass(&table, &keys[core], 32));
        }
    }
    println!();
}

/// How cases are measured, and which.
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

/// Each core alone with `single`, then all at once with `passes`, as often as asked; one line.
fn compare<'a>(
    name: &str,
    repetitions: usize,
    cores: &[usize],
    (single, passes): (Passes<'a, '_>, Passes<'a, '_>),
) {
    let (mut one, mut all) = (Vec::new(), Vec::new());
    for repetition in 0..=repetitions {
        // Cores differ: the least biased "one core" is the mean of each.
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

/// Runs so many passes of these cores at the same time, each of so many updates; M updates/s of all together, over the time of
/// the slowest.
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

/// For each core, random keys of the whole table; of a sharded one those of the core's own flows.
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

/// Six independent chains of arithmetic, three operations of each for an update, which fill a core's units.
fn calculate() {
    let mut chains = black_box([1_u64, 2, 3, 4, 5, 6]);
    for _ in 0..OPERATIONS {
        for chain in &mut chains {
            *chain = (*chain ^ chain.rotate_left(7)).wrapping_add(MASK.into());
        }
    }
    black_box(chains);
}
