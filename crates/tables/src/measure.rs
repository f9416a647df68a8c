//! Measures the speed of tables on this machine: several designs under the same load.
//!
//! The measured tables are those that programs use: a [`PackedTable`](crate::PackedTable), accessed
//! through the [`Access`](crate::Access) that machine code uses. Parsers, other tables and the rest
//! of packet processing are not measured.
//!
//! A [`Selection`] lists the designs and loads to compare. It becomes a [`Plan`]: the cases that
//! are measured, and those that no table supports, each with the reason. [`run()`] measures the
//! plan on a machine that [`survey`] has examined. Cases of one size take turns within each
//! repetition, so that disturbances of the machine affect all of them.
//!
//! # What a turn does
//!
//! Each core of the case has a pinned thread with a worker of its own. All threads start together,
//! run untimed to fill the caches, and then, for a fixed time, call the table with batches of keys
//! that are drawn uniformly from the entries. In a sharded table, each worker draws only from the
//! entries whose flows it processes. An update reads a number in the entry and writes the number
//! plus one, so that the entries show at the end how many updates arrived. A table that loses
//! updates although its design promises not to has failed, and its figures are invalid.
//!
//! # What is counted
//!
//! * Throughput: operations over time, summed over cores. Time is the processor time of the threads
//!   if a design never waits, because time that other processes take from a core says nothing about
//!   a table. For methods that wait (`digest`, and `change` through two replicas or on several
//!   cores), it is wall-clock time. Both are reported, with the share of the core that the threads
//!   received.
//! * Time of a call: one call in sixteen is timed, since reading the clock for each call would take
//!   as long as several updates. Of methods that wait, each call is timed.
//! * Latency of one update: calls with a single key, one at a time, each from its start until the
//!   table has the change. For a digest, this is when the controller's answer has been written. The
//!   cost of reading the clock, measured on the same core, is subtracted and reported, and so is
//!   the smallest step of the clock.
//! * Cache misses: those of the thread in the timed part, from the processor's counters, if the
//!   kernel offers them.

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

/// The operation that each packet performs on the entry that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Operation {
    /// Reads a number in the entry and writes the number plus one.
    Update,
    /// Reads the number in the entry.
    Read,
}

/// A table under one load, which is measured as one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Case {
    /// The design of the table. A sharded table has one shard per core.
    pub design: Design,
    /// The operation that packets perform.
    pub operation: Operation,
    /// The dimensions of the table.
    pub layout: Layout,
    /// The number of threads, each on a core of its own.
    pub cores: usize,
}

impl Case {
    /// Returns whether threads of this case wait rather than work, so that only wall-clock time
    /// shows the speed of the design.
    pub fn waits(&self) -> bool {
        let double = matches!(self.design.synchronisation, Synchronisation::DoubleBuffer { .. });
        self.operation == Operation::Update
            && match self.design.update {
                UpdateMethod::Pointer => false,
                // A change of the only replica keeps the packets of other cores outside the gate.
                UpdateMethod::Change => double || self.cores > 1,
                UpdateMethod::Digest => true,
            }
    }

    /// Returns whether the design promises that no update is lost under the load of this case.
    pub fn keeps_every_update(&self) -> bool {
        self.operation == Operation::Update
            && match self.design.update {
                UpdateMethod::Pointer => {
                    self.cores == 1
                        || self.design.entry_lock == EntryLock::PerEntry
                        || matches!(self.design.synchronisation, Synchronisation::Sharded { .. })
                }
                UpdateMethod::Change => self.cores == 1,
                // A packet may read its entry before the answer to the previous packet's digest has
                // been written.
                UpdateMethod::Digest => false,
            }
    }
}

/// The settings of a measurement: its duration, its repetitions, and the keys that packets have.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The duration of the timed part of each repetition.
    pub time: Duration,
    /// The duration of the untimed part of each repetition, which precedes the timed part and fills
    /// the caches.
    pub warm_up: Duration,
    /// The number of times that each case is measured.
    pub repetitions: usize,
    /// The number of keys with which a table is called at once.
    pub batch: usize,
    /// The share of a table's declared size that is filled with entries, from 0 to 1.
    pub fill: f64,
    /// The seed, which alone determines the order of keys.
    pub seed: u64,
    /// The cores to use, in this order.
    pub cores: Vec<usize>,
    /// Whether each call of the table is preceded by a prefetch for the keys of the next call.
    pub announce: bool,
}

/// The results of a measured case.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measured {
    /// The case that was measured.
    pub case: Case,
    /// The results of each repetition.
    pub turns: Vec<Turn>,
    /// The times of calls with a batch of keys, in nanoseconds, without the cost of the clock.
    pub call: Ordered<u32>,
    /// The times of single updates or reads, in nanoseconds, without the cost of the clock.
    pub single: Ordered<u32>,
    /// The number of updates that packets made but whose effect is missing in the table's entries.
    /// `None` if packets only read, if the parameters are too short to count updates, or if the run
    /// was interrupted before all entries were read.
    pub lost: Option<u64>,
    /// The number of updates that packets made, timed or not.
    pub updates: u64,
    /// The memory that the table has allocated.
    pub memory: MemoryUse,
}

/// The results of one repetition of a case, over all cores.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Turn {
    /// The number of operations in the timed part.
    pub operations: u64,
    /// The number of operations per second of processor time, summed over cores.
    pub rate_by_processor: f64,
    /// The number of operations per second of wall-clock time, summed over cores.
    pub rate_by_wall: f64,
    /// The share of the elapsed time for which the threads were running on their cores.
    pub share: f64,
    /// The number of misses of the last-level cache per operation, or `None` if they were not
    /// counted.
    pub misses: Option<f64>,
    /// The percentiles of the times of single operations in this turn, without the cost of the
    /// clock.
    pub single: Percentiles,
}

/// The percentiles of the times of single operations in one turn, in nanoseconds. A percentile is
/// `None` if there are too few samples for one to lie beyond it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Percentiles {
    /// The median of the times, in nanoseconds.
    pub p50: Option<u32>,
    /// The 99th percentile of the times, in nanoseconds.
    pub p99: Option<u32>,
    /// The 99.9th percentile of the times, in nanoseconds.
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
    /// Returns the operations per second of each repetition of the case, by processor time or, if
    /// the design waits, by wall-clock time (see [`Case::waits`]).
    pub fn rates(&self) -> Vec<f64> {
        if self.case.waits() {
            return self.rates_by_wall();
        }
        self.turns.iter().map(|turn| turn.rate_by_processor).collect()
    }

    /// Returns the operations per second of wall-clock time of each repetition of the case. These
    /// can be compared between designs that wait and designs that do not.
    pub fn rates_by_wall(&self) -> Vec<f64> {
        self.turns.iter().map(|turn| turn.rate_by_wall).collect()
    }

    /// Returns the cost of an operation in each repetition of the case, in nanoseconds of one core.
    pub fn costs(&self) -> Vec<f64> {
        self.rates().into_iter().map(|rate| self.case.cores as f64 * 1e9 / rate).collect()
    }

    /// Returns the median, the 99th and the 99.9th percentile of the time of a single operation, in
    /// seconds. Each is the mean of the percentiles of the repetitions, with its confidence
    /// interval. If a repetition has too few samples, the percentile of all samples together is
    /// returned without an interval, or `None` if these are too few as well.
    pub fn percentiles(&self) -> [Option<Estimate>; 3] {
        let together = Percentiles::of(&self.single).all();
        let seconds = |time: u32| f64::from(time) / 1e9;
        [0, 1, 2].map(|which| {
            let each = self.turns.iter().map(|turn| turn.single.all()[which].map(seconds));
            Estimate::of_each_or_all(each, || together[which].map(seconds))
        })
    }

    /// Returns the number of misses of the last-level cache per operation, for each repetition in
    /// which they were counted.
    pub fn misses(&self) -> Vec<f64> {
        self.turns.iter().filter_map(|turn| turn.misses).collect()
    }

    /// Returns whether the table lost updates although its design promises to keep them.
    pub fn broke_its_promise(&self) -> bool {
        self.case.keeps_every_update() && self.lost.is_some_and(|lost| lost > 0)
    }
}

/// The properties of the machine that affect the measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The data caches of the first core.
    pub caches: Vec<Cache>,
    /// The measured costs of dependent memory accesses, nearest memory first, each with the name of
    /// the memory.
    pub latencies: Vec<(String, Latency)>,
    /// The cost of reading the clock, which is subtracted from the times of single operations.
    pub clock: Clock,
    /// The reason why cache misses are not counted, if they are not.
    pub counters: Result<(), CounterError>,
    /// The reason why threads are not pinned, if they are not.
    pub pinned: Result<(), String>,
}

/// The results of all cases of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// The machine on which the cases were measured.
    pub machine: Machine,
    /// The settings of the measurement.
    pub settings: Settings,
    /// The results of the cases that completed at least one repetition.
    pub measured: Vec<Measured>,
    /// The requested combinations that no table supports.
    pub not_offered: Vec<NotOffered>,
    /// The cases that were not measured because the run was interrupted.
    pub unfinished: Vec<Case>,
    /// Whether the run was interrupted.
    pub interrupted: bool,
}
