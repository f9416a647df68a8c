//! Measures curves: every design, and alternatives that a user might choose, on one core up to all
//! cores.
//!
//!     cargo bench -p planimeter-tables --bench updates --features dpdk -- \
//!         curves 16 20 --cores 16 --page curves.html
//!
//! With spread keys, each core draws from all entries; with the hot entry of the paper's race, all
//! cores update one entry. Tables that share nothing have no hot entry, because the core of that
//! entry would do all the work. Numbers of cores take turns within each repetition. The
//! interference between two cores of a design is smaller than the variation that other users of a
//! shared host cause within minutes, so only lines of one run can be compared.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::Arc;

use statistics::Estimate;
use tables::{Design, PackedTable, Storage, UpdateMethod, Wait};

use super::contenders::{Contender, Dashmap, Hashbrown, Papaya, filled, scatter};
#[cfg(feature = "dpdk")]
use super::dpdk::RteHash;
use super::page;
use super::scaling::{Pass, own_keys, pass, run};
use super::{MASK, OPERATIONS, random_numbers};

/// The number of passes over the keys in one repetition, after one that warms up.
const PASSES: usize = 2;
/// The number of updates of a pass for designs whose packets wait, which are slower by a factor of
/// a hundred.
const SLOW: usize = 1 << 14;

/// The choice of the entries that packets update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    Spread,
    Hot,
}

impl Load {
    const ALL: [Self; 2] = [Self::Spread, Self::Hot];

    fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread keys",
            Self::Hot => "one hot entry",
        }
    }
}

/// One line of a plot: millions of updates per second of all cores together.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(usize, Estimate)>,
}

/// One plot.
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) lines: Vec<Line>,
}

/// Returns the numbers of cores: powers of two, and `most`.
fn counts(most: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |count| Some(count * 2))
        .take_while(|&it| it < most)
        .collect();
    counts.push(most);
    counts
}

/// Measures and prints the curves of all subjects whose names contain the text `only`, and draws
/// them on a page.
pub(crate) fn draw(
    sizes: &[u32],
    repetitions: usize,
    (available, wanted): (&[usize], usize),
    only: &str,
    to: Option<&Path>,
) -> io::Result<()> {
    let cores = &available[..wanted.clamp(1, available.len().max(1)).min(available.len())];
    if wanted > cores.len() {
        println!("SKIPPED: {wanted} cores were asked for, and there are {}", cores.len());
    }
    let counts = counts(cores.len().max(1));
    let mut plots = Vec::new();
    for &bits in sizes {
        for load in Load::ALL {
            let title = format!("2^{bits} entries, {}", load.name());
            println!("{title}: M updates/s of all cores together, {repetitions} repetitions");
            let lines = Subject::all()
                .into_iter()
                .filter(|subject| subject.name().contains(only))
                .filter_map(|subject| subject.line(bits, load, (cores, &counts), repetitions))
                .inspect(|line| println!("  {}", text(line)))
                .collect();
            println!();
            plots.push(Plot { title, lines });
        }
    }
    match to {
        Some(path) => {
            std::fs::write(path, page::html(&plots, &counts))?;
            println!("{}: the curves as a page", path.display());
            Ok(())
        }
        None => Ok(()),
    }
}

fn text(line: &Line) -> String {
    let points: Vec<String> =
        line.points.iter().map(|(cores, rate)| format!("{cores}: {rate}")).collect();
    format!("{:44} {}", line.name, points.join("  "))
}

/// A table, and the keys of each core.
type TableAndKeys = (Arc<PackedTable>, Vec<Vec<[u64; 2]>>);

/// A table or map that is measured.
enum Subject {
    Ours(Design),
    /// A table of this crate with a shard for each core.
    Sharded(Storage),
    HashbrownSharded,
    Papaya,
    Dashmap,
    #[cfg(feature = "dpdk")]
    RteHash,
}

impl Subject {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for storage in Storage::ALL {
            all.extend([
                Self::Ours(Design::shared(storage)),
                Self::Ours(Design::unlocked(storage)),
                Self::Sharded(storage),
            ]);
        }
        let changed = Design::double_buffer(Storage::Static, Wait::Quiescent);
        all.extend([
            Self::Ours(changed),
            Self::HashbrownSharded,
            Self::Papaya,
            Self::Dashmap,
            #[cfg(feature = "dpdk")]
            Self::RteHash,
        ]);
        all
    }

    fn name(&self) -> String {
        match self {
            Self::Ours(Design {
                update: UpdateMethod::Change, storage, synchronisation, ..
            }) => {
                format!("{storage}, {synchronisation}, by change")
            }
            Self::Ours(design) => {
                format!("{}, {}, {}", design.storage, design.synchronisation, design.entry_lock)
            }
            Self::Sharded(storage) => format!("{storage}, sharded"),
            Self::HashbrownSharded => "hashbrown, sharded".to_owned(),
            Self::Papaya => "papaya, atomic values".to_owned(),
            Self::Dashmap => "dashmap".to_owned(),
            #[cfg(feature = "dpdk")]
            Self::RteHash => "rte_hash static, lock-free".to_owned(),
        }
    }

    /// Returns the line of this subject, or `None` if it does not support the load or cannot be
    /// made.
    fn line(
        &self,
        bits: u32,
        load: Load,
        (cores, counts): (&[usize], &[usize]),
        repetitions: usize,
    ) -> Option<Line> {
        let rates = self.rates(1 << bits, load, (cores, counts), repetitions)?;
        let points = counts.iter().zip(&rates);
        let points = points.filter_map(|(&count, rates)| Some((count, Estimate::of(rates)?)));
        Some(Line { name: self.name(), points: points.collect() })
    }

    /// Returns the rates of the repetitions, for each number of cores.
    fn rates(
        &self,
        size: u32,
        load: Load,
        cores: (&[usize], &[usize]),
        repetitions: usize,
    ) -> Option<Vec<Vec<f64>>> {
        let keys = |count: usize| -> Vec<Vec<u32>> {
            (0..count)
                .map(|core| match load {
                    Load::Spread => {
                        let draws = random_numbers(32, OPERATIONS, core as u64 + 7);
                        let number = |draw| ((u64::from(draw) * u64::from(size)) >> 32) as u32;
                        draws.into_iter().map(|draw| scatter(number(draw))).collect()
                    }
                    Load::Hot => vec![scatter(0); OPERATIONS],
                })
                .collect()
        };
        let most = cores.1.iter().copied().max().unwrap_or(1);
        match self {
            Self::Ours(design) => {
                let table = filled(*design, size);
                let keys: Vec<Vec<[u64; 2]>> = keys(most)
                    .into_iter()
                    .map(|keys| keys.into_iter().map(|key| [key.into(), 0]).collect())
                    .collect();
                let slow = design.update == UpdateMethod::Change;
                let length = if slow { SLOW } else { OPERATIONS };
                let one = |_, core: usize| pass(&table, &keys[core][..length], 32);
                Some(turns(cores, repetitions, length, &one))
            }
            Self::Sharded(_) | Self::HashbrownSharded if load == Load::Hot => None,
            Self::Sharded(storage) => {
                let tables: Vec<TableAndKeys> = cores
                    .1
                    .iter()
                    .map(|&count| {
                        let design = Design { storage: *storage, ..Design::sharded(count) };
                        let table = filled(design, size);
                        let keys = own_keys(&table, size, count);
                        (table, keys)
                    })
                    .collect();
                let one = |turn: usize, core: usize| {
                    let (table, keys) = &tables[turn];
                    pass(table, &keys[core], 32)
                };
                Some(turns(cores, repetitions, OPERATIONS, &one))
            }
            Self::HashbrownSharded => {
                let one = |turn: usize, core: usize| -> Pass<'_> {
                    let count = cores.1[turn] as u32;
                    // Each core has every `count`-th entry.
                    let own = size.div_ceil(count);
                    let mut map =
                        Hashbrown::new(own, (0..own).map(|at| scatter(at * count + core as u32)));
                    let draws = random_numbers(32, OPERATIONS, core as u64 + 7);
                    let number = |draw| ((u64::from(draw) * u64::from(own)) >> 32) as u32;
                    let keys: Vec<u32> = draws
                        .into_iter()
                        .map(|draw| scatter(number(draw) * count + core as u32))
                        .collect();
                    Box::new(move || {
                        black_box(map.update(&keys, MASK));
                    })
                };
                Some(turns(cores, repetitions, OPERATIONS, &one))
            }
            Self::Papaya => {
                let (map, keys) = (Papaya::new(size), keys(most));
                Some(shared(cores, repetitions, &keys, &|keys| map.flip(keys, MASK)))
            }
            Self::Dashmap => {
                let (map, keys) = (Dashmap::new(size), keys(most));
                Some(shared(cores, repetitions, &keys, &|keys| map.flip(keys, MASK)))
            }
            #[cfg(feature = "dpdk")]
            Self::RteHash => {
                let (table, keys) = (RteHash::shared(size)?, keys(most));
                Some(shared(cores, repetitions, &keys, &|keys| table.flip(keys, MASK)))
            }
        }
    }
}

/// Returns the rates of a map that all cores use.
fn shared(
    cores: (&[usize], &[usize]),
    repetitions: usize,
    keys: &[Vec<u32>],
    flip: &(dyn Fn(&[u32]) -> u64 + Sync),
) -> Vec<Vec<f64>> {
    let one = |_, core: usize| -> Pass<'_> {
        let keys = &keys[core];
        Box::new(move || {
            black_box(flip(keys));
        })
    };
    turns(cores, repetitions, OPERATIONS, &one)
}

/// Measures each number of cores in `counts` once per repetition, after one round that only warms
/// up, and returns the rates for each number of cores. `make` returns the work of one core. Its
/// first argument is an index into `counts`, its second the index of the core.
fn turns<'a>(
    (cores, counts): (&[usize], &[usize]),
    repetitions: usize,
    operations: usize,
    make: &'a (dyn Fn(usize, usize) -> Pass<'a> + Sync),
) -> Vec<Vec<f64>> {
    let mut rates = vec![Vec::with_capacity(repetitions); counts.len()];
    for repetition in 0..=repetitions {
        for (turn, (&count, rates)) in counts.iter().zip(&mut rates).enumerate() {
            let chosen: Vec<usize> = (0..count).collect();
            let rate = run(&chosen, cores, (PASSES, operations), &|core| make(turn, core));
            if repetition > 0 {
                rates.push(rate);
            }
        }
    }
    rates
}
