//! How fast tables are on this machine: designs side by side, under one load.
//!
//! What is measured is what a running program uses: a [`PackedTable`](crate::PackedTable), through the same
//! [`Access`](crate::Access) as machine code. A program adds its parser, its other tables and what it does with packets.
//!
//! A [`Selection`] names what is to be compared and becomes a [`Plan`]: the cases that are measured, and those that no
//! table can honour, each with the reason. [`run`] measures the plan on a
//! machine that [`survey`] looked at. Cases of one size take turns within each
//! repetition, so that whatever else happens on the machine meets all of them.
//!
//! # What a turn does
//!
//! Each core of the case has a pinned thread with a worker of its own. All begin together, run untimed to find the
//! caches, and then for a fixed time call the table with batches of keys that are drawn uniformly from the entries. The
//! workers of a sharded table, who have all entries each, draw from those of the flows that stay with them. An
//! update reads a number in the entry and writes the next one, so that at the end the entries tell how many updates
//! arrived: a measurement of a table that loses what it must not lose is a failure and no figure.
//!
//! # What is counted
//!
//! * Throughput: operations over time, summed over cores. Time is the processor time of the threads where a design never
//!   waits, because time that other processes take from a core says nothing about a table; for methods that wait
//!   (`change` through two replicas, `digest`) it is the wall clock. Both are kept, with the share of the core that
//!   threads really had.
//! * Time of a call: one call in sixteen is timed, as reading the clock for each would cost as much as many an update.
//! * Latency of one update: calls with a single key, one at a time, each from its call until the table has the change;
//!   for a digest that is when the controller's answer has been written. The cost of reading the clock, measured on the
//!   same core, is subtracted and reported, and so is the smallest step that the clock takes.
//! * Cache misses: of the thread in the timed part, from the processor's counters, where the kernel offers them.

mod counters;
mod keys;
mod lane;
mod plan;
mod race;
mod run;
mod samples;
mod subject;

use std::time::Duration;

use statistics::{Estimate, Ordered};

use crate::design::{Design, EntryLock, Synchronisation, UpdateMethod};
use crate::layout::Layout;
use crate::machine::{Cache, Latency};
use crate::memory::MemoryUse;

pub use counters::{CounterError, counters_available};
pub use plan::{NotOffered, Plan, Selection, Sharing};
pub use race::{Race, RaceError, race};
pub use run::{Progress, run, survey};
pub use samples::Clock;

/// What packets do with the entry that they match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Operation {
    /// Read a number in it and write the next one.
    Update,
    /// Read it.
    Read,
}

/// One table under one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Case {
    /// How the table is built. Sharded ones have as many shards as there are cores.
    pub design: Design,
    /// What packets do.
    pub operation: Operation,
    /// What the table holds.
    pub layout: Layout,
    /// Threads, each on a core of its own.
    pub cores: usize,
}

impl Case {
    /// Whether the design makes threads wait rather than work, so that only the wall clock tells its speed.
    pub fn waits(&self) -> bool {
        let double = matches!(self.design.synchronisation, Synchronisation::DoubleBuffer { .. });
        self.operation == Operation::Update
            && match self.design.update {
                UpdateMethod::Pointer => false,
                // A change of the one replica keeps the packets of other cores out.
                UpdateMethod::Change => double || self.cores > 1,
                UpdateMethod::Digest => true,
            }
    }

    /// Whether the design promises that no update is lost under this load.
    pub fn keeps_every_update(&self) -> bool {
        self.operation == Operation::Update
            && match self.design.update {
                UpdateMethod::Pointer => {
                    self.cores == 1
                        || self.design.entry_lock == EntryLock::PerEntry
                        || matches!(self.design.synchronisation, Synchronisation::Sharded { .. })
                }
                UpdateMethod::Change => self.cores == 1,
                // A packet may read its entry before the answer to the packet before it is back.
                UpdateMethod::Digest => false,
            }
    }
}

/// How long and how often, and with which keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Timed part of a turn.
    pub time: Duration,
    /// Untimed part before it.
    pub warm_up: Duration,
    /// Turns of each case.
    pub repetitions: usize,
    /// Keys of one call.
    pub batch: usize,
    /// Share of the declared size that is filled.
    pub fill: f64,
    /// What the order of keys depends on, and nothing else.
    pub seed: u64,
    /// The cores to use, in this order.
    pub cores: Vec<usize>,
    /// Whether each call is preceded by a prefetch of the next call's keys.
    pub announce: bool,
}

/// What a case came to.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measured {
    /// The case.
    pub case: Case,
    /// One for each repetition.
    pub turns: Vec<Turn>,
    /// Time of a call, in nanoseconds.
    pub call: Ordered<u32>,
    /// Time of a single update or read, in nanoseconds, the clock's cost subtracted.
    pub single: Ordered<u32>,
    /// Updates that were made and are not in the table, if it can tell.
    pub lost: Option<u64>,
    /// Updates in all, over all phases.
    pub updates: u64,
    /// Bytes that the table has allocated.
    pub memory: MemoryUse,
}

/// One repetition of a case, all cores together.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Turn {
    /// Operations in the timed part.
    pub operations: u64,
    /// Operations per second of processor time, summed over cores.
    pub rate_by_processor: f64,
    /// Operations per second by the wall clock, summed over cores.
    pub rate_by_wall: f64,
    /// Share of the time in which the threads had their cores.
    pub share: f64,
    /// Misses of the last cache for each operation.
    pub misses: Option<f64>,
    /// Times of single operations in this turn alone, the clock's cost subtracted.
    pub single: Percentiles,
}

/// Percentiles of one turn, in nanoseconds; absent where there are too few samples for one to lie beyond.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Percentiles {
    /// Median.
    pub p50: Option<u32>,
    /// 99 %.
    pub p99: Option<u32>,
    /// 99.9 %.
    pub p999: Option<u32>,
}

impl Percentiles {
    fn of(samples: &Ordered<u32>) -> Self {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| samples.tail_at(share));
        Self { p50, p99, p999 }
    }

    fn all(self) -> [Option<u32>; 3] {
        [self.p50, self.p99, self.p999]
    }
}

impl Measured {
    /// Operations per second, one for each repetition, by the clock that fits the design (see [`Case::waits`]).
    pub fn rates(&self) -> Vec<f64> {
        if self.case.waits() {
            return self.rates_by_wall();
        }
        self.turns.iter().map(|turn| turn.rate_by_processor).collect()
    }

    /// Operations per second of the wall clock, one for each repetition: what designs that wait and designs that do not
    /// are compared by.
    pub fn rates_by_wall(&self) -> Vec<f64> {
        self.turns.iter().map(|turn| turn.rate_by_wall).collect()
    }

    /// Nanoseconds of one core for each operation, one for each repetition.
    pub fn costs(&self) -> Vec<f64> {
        self.rates().into_iter().map(|rate| self.case.cores as f64 * 1e9 / rate).collect()
    }

    /// Median, 99 % and 99.9 % of the time of a single operation, in seconds: the mean of those of the repetitions, with its
    /// confidence. Where a repetition has too few samples, that of all samples together, which has no interval; nothing where
    /// these are too few too.
    pub fn percentiles(&self) -> [Option<Estimate>; 3] {
        let together = Percentiles::of(&self.single).all();
        let seconds = |time: u32| f64::from(time) / 1e9;
        [0, 1, 2].map(|which| {
            let each = self.turns.iter().map(|turn| turn.single.all()[which].map(seconds));
            Estimate::of_each_or_all(each, || together[which].map(seconds))
        })
    }

    /// Misses of the last cache for each operation, one for each repetition in which they were counted.
    pub fn misses(&self) -> Vec<f64> {
        self.turns.iter().filter_map(|turn| turn.misses).collect()
    }

    /// Whether updates are missing that the design promises to keep.
    pub fn broke_its_promise(&self) -> bool {
        self.case.keeps_every_update() && self.lost.is_some_and(|lost| lost > 0)
    }
}

/// The machine, as far as it matters.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Data caches of the first core.
    pub caches: Vec<Cache>,
    /// Cost of dependent accesses, nearest memory first, with the name of what they reach.
    pub latencies: Vec<(String, Latency)>,
    /// What reading the clock costs.
    pub clock: Clock,
    /// Why cache misses are not counted, if they are not.
    pub counters: Result<(), CounterError>,
    /// Why threads are not pinned, if they are not.
    pub pinned: Result<(), String>,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// The machine.
    pub machine: Machine,
    /// How it was measured.
    pub settings: Settings,
    /// Cases with at least one repetition.
    pub measured: Vec<Measured>,
    /// Cases that no table can honour.
    pub not_offered: Vec<NotOffered>,
    /// Cases that the interrupt came before.
    pub unfinished: Vec<Case>,
    /// Whether the run was interrupted.
    pub interrupted: bool,
}
