//! One table under measurement: it is filled, runs in turns with other tables, and is checked at
//! the end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use crate::apply::TableWorker;
use crate::design::{Design, Synchronisation, UpdateMethod};
use crate::digest::{DigestError, DigestLoop};
use crate::entry::ActionId;
use crate::group::WorkerGroup;
use crate::layout::Layout;
use crate::machine;
use crate::memory;
use crate::packed::{Keys, Match, PackedTable, TableError, TableSettings};

use super::keys::draws;
use super::lane::{Lane, LaneTurn, NUMBER, Phases, value};
use super::samples::{Clock, Samples};
use super::{Case, Measured, Operation, Percentiles, Settings, Turn};

/// The ratio of the duration of the timed phase to the longest duration of the phase with single
/// keys.
const SINGLE_SHARE: u32 = 4;

/// The sequences of entries to access, by the number of entries and the thread. Tables of equal
/// size share them.
pub(super) type Draws = HashMap<(u32, usize), Arc<Vec<u32>>>;

/// The sequence of entries that the thread on one core accesses, and the index in the sequence at
/// which it begins.
type Drawn = (Arc<Vec<u32>>, usize);

/// The reason why a table could not be measured.
#[derive(Debug)]
pub(super) enum NoSubject {
    /// The run was interrupted while the table was being filled.
    Interrupted,
    /// The table or its entries could not be created. The text is the reason.
    Refused(String),
}

impl From<String> for NoSubject {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

/// Returns an error if the run was interrupted. The interrupt is checked once for 1,024 entries.
fn check_interrupt(number: u32, interrupt: &AtomicBool) -> Result<(), NoSubject> {
    const ENTRIES: u32 = 1024;
    match number.is_multiple_of(ENTRIES) && interrupt.load(Ordering::Relaxed) {
        true => Err(NoSubject::Interrupted),
        false => Ok(()),
    }
}

pub(super) struct Subject {
    pub(super) case: Case,
    table: Arc<PackedTable>,
    /// The workers, one for each core.
    workers: Vec<TableWorker>,
    controller: Option<DigestLoop>,
    filled: u32,
    lanes: Vec<Drawn>,
    turns: Vec<Turn>,
    call: Samples,
    single: Samples,
    updates: u64,
}

impl Subject {
    /// Creates and fills the table of a case.
    pub(super) fn new(
        case: Case,
        settings: &Settings,
        shared: &mut Draws,
        interrupt: &AtomicBool,
    ) -> Result<Self, NoSubject> {
        let filled = filled(&case, settings.fill);
        let needs = memory::filling_bytes(&case.layout, &case.design, filled as usize);
        refuse_beyond(needs, machine::available_memory())?;
        let table = table(&case.layout, case.design, case.operation);
        let table = table.map_err(|error| error.to_string())?;
        for number in 0..filled {
            check_interrupt(number, interrupt)?;
            let inserted = table.insert(Match::Exact(number.into()), ActionId(0), &[]);
            inserted.map_err(|error| error.to_string())?;
        }
        let lanes = lanes(&case, settings, filled, shared)?;
        let (controller, digests) = match (case.design.update, case.operation) {
            (UpdateMethod::Digest, Operation::Update) => {
                let started = DigestLoop::start(&table, Some);
                let (controller, sender) =
                    started.map_err(|error: DigestError| error.to_string())?;
                (Some(controller), Some(Arc::new(sender)))
            }
            _ => (None, None),
        };
        let worker = |_| match &digests {
            Some(digests) => TableWorker::with_digests(&table, Arc::clone(digests)),
            None => TableWorker::new(&table),
        };
        let workers: Result<Vec<_>, _> = (0..case.cores).map(worker).collect();
        let workers = workers.map_err(|error| error.to_string())?;
        Ok(Self {
            case,
            table,
            workers,
            controller,
            filled,
            lanes,
            turns: Vec::new(),
            call: Samples::default(),
            single: Samples::default(),
            updates: 0,
        })
    }

    /// Runs one turn on all cores, and returns the number of operations per second. Returns `None`
    /// if the turn was interrupted, in which case it does not count.
    pub(super) fn turn(
        &mut self,
        settings: &Settings,
        clock: Clock,
        interrupt: &AtomicBool,
    ) -> Result<Option<f64>, String> {
        let phases = Phases {
            warm_up: settings.warm_up,
            timed: settings.time,
            single: settings.time / SINGLE_SHARE,
        };
        let start = Barrier::new(self.case.cores);
        let mut lanes = Vec::new();
        for (worker, (draws, at)) in self.workers.iter_mut().zip(&self.lanes) {
            lanes.push(Lane {
                worker,
                draws,
                at: *at,
                batch: settings.batch,
                operation: self.case.operation,
                announce: settings.announce,
                controller: self.controller.as_ref(),
                slow: self.case.waits(),
                interrupt,
            });
        }
        let turns: Vec<LaneTurn> = thread::scope(|scope| {
            let mut threads = Vec::new();
            for (lane, &core) in lanes.into_iter().zip(&settings.cores) {
                let start = &start;
                threads.push(scope.spawn(move || {
                    // `survey` has already reported whether threads can be pinned.
                    let _ = machine::pin_to(core);
                    lane.turn(phases, start)
                }));
            }
            let join = |thread: thread::ScopedJoinHandle<'_, LaneTurn>| {
                thread.join().map_err(|_| "a thread panicked".to_owned())
            };
            threads.into_iter().map(join).collect::<Result<_, _>>()
        })?;
        if interrupt.load(Ordering::Relaxed) {
            for (lane, (_, at)) in turns.into_iter().zip(&mut self.lanes) {
                *at = lane.at;
                self.updates += lane.total;
            }
            return Ok(None);
        }
        let turn = together(&turns);
        let mut single = Samples::default();
        for (lane, (_, at)) in turns.into_iter().zip(&mut self.lanes) {
            *at = lane.at;
            self.updates += lane.total;
            self.call.append(lane.call);
            single.append(lane.single);
        }
        let of_turn = Percentiles::of(&single.ordered(clock.cost));
        self.turns.push(Turn { single: of_turn, ..turn });
        self.single.append(single);
        Ok(Some(if self.case.waits() { turn.rate_by_wall } else { turn.rate_by_processor }))
    }

    /// Returns the results of the case, or `None` if there was no complete turn. After an
    /// interrupt, lost updates are counted by reading the entries only until the deadline.
    pub(super) fn finish(self, clock: Clock, deadline: Option<Instant>) -> Option<Measured> {
        if self.turns.is_empty() {
            return None;
        }
        let updates = match self.case.operation {
            Operation::Update => self.updates,
            Operation::Read => 0,
        };
        Some(Measured {
            case: self.case,
            call: self.call.ordered(clock.cost),
            single: self.single.ordered(clock.cost),
            lost: self.lost(updates, deadline),
            updates,
            memory: self.table.memory(),
            turns: self.turns,
        })
    }

    /// Returns the number of lost updates among `updates` updates that packets made. These are the
    /// updates that the sum of the numbers in the table's entries lacks. Returns `None` if packets
    /// only read, if the parameters are too short to count updates, or if the entries could not be
    /// read before the deadline.
    fn lost(&self, updates: u64, deadline: Option<Instant>) -> Option<u64> {
        if self.case.layout.parameter_bytes() < NUMBER || self.case.operation == Operation::Read {
            return None;
        }
        let arrived = sum(&self.table, self.filled, deadline)?;
        // The numbers wrap, so the difference is known only modulo 2^32. A turn never loses that
        // many updates.
        Some(u64::from((updates as u32).wrapping_sub(arrived as u32)))
    }
}

/// Creates an empty table for packets that perform this operation on each entry that they match.
pub(super) fn table(
    layout: &Layout,
    design: Design,
    operation: Operation,
) -> Result<Arc<PackedTable>, TableError> {
    let settings = TableSettings {
        design,
        keys: Keys::Exact { bits: layout.key_bits() },
        parameter_bytes: layout.parameter_bytes(),
        actions: layout.actions(),
        // All entries have the first action.
        writing: match operation {
            Operation::Update => 1,
            Operation::Read => 0,
        },
        writes_words: true,
    };
    Ok(Arc::new(PackedTable::new(&Arc::new(WorkerGroup::default()), &settings)?))
}

/// Returns an error if a table needs more bytes of memory than are available.
fn refuse_beyond(needs: usize, available: Option<usize>) -> Result<(), NoSubject> {
    match available {
        Some(available) if needs > available => Err(NoSubject::Refused(format!(
            "the table needs {needs} bytes and {available} are available: make it smaller or choose a storage design with \
             smaller entries"
        ))),
        _ => Ok(()),
    }
}

/// Returns the sequence of entries that the thread on each core accesses.
fn lanes(
    case: &Case,
    settings: &Settings,
    filled: u32,
    shared: &mut Draws,
) -> Result<Vec<Drawn>, NoSubject> {
    let sharded = matches!(case.design.synchronisation, Synchronisation::Sharded { .. });
    if !sharded || case.cores <= 1 {
        let lane = |lane: usize| {
            let draw = || Arc::new(draws(settings.seed, lane as u64, filled, None));
            (Arc::clone(shared.entry((filled, lane)).or_insert_with(draw)), 0)
        };
        return Ok((0..case.cores).map(lane).collect());
    }
    // Each entry belongs to one worker, as the packets of a flow do.
    let lane = |lane: usize| {
        let pool: Vec<u32> = (0..filled).skip(lane).step_by(case.cores).collect();
        if pool.is_empty() {
            return Err(NoSubject::Refused(format!(
                "none of {filled} entries falls to core {lane} of {}, which would have nothing to do",
                case.cores
            )));
        }
        Ok((Arc::new(draws(settings.seed, lane as u64, filled, Some(&pool))), 0))
    };
    (0..case.cores).map(lane).collect()
}

/// Returns the number of entries with which the table of a case is filled.
fn filled(case: &Case, fill: f64) -> u32 {
    let size = case.layout.size();
    ((fill * size as f64).round() as usize).clamp(1, size) as u32
}

/// Returns the sum of the numbers that the table's entries hold, or `None` if the sum is not
/// complete at the deadline.
pub(super) fn sum(table: &PackedTable, filled: u32, deadline: Option<Instant>) -> Option<u64> {
    const BETWEEN_LOOKS: u32 = 1024;
    let mut sum = 0_u64;
    for number in 0..filled {
        let looks = number.is_multiple_of(BETWEEN_LOOKS);
        if looks && deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return None;
        }
        let entry = table.read(number.into());
        sum = sum.wrapping_add(entry.map_or(0, |(_, parameters)| value(&parameters)));
    }
    Some(sum)
}

fn together(lanes: &[LaneTurn]) -> Turn {
    let rate = |time: fn(&LaneTurn) -> Duration| {
        let of = |lane: &LaneTurn| lane.operations as f64 / time(lane).as_secs_f64().max(1e-9);
        lanes.iter().map(of).sum()
    };
    let total = |time: fn(&LaneTurn) -> Duration| -> f64 {
        lanes.iter().map(|lane| time(lane).as_secs_f64()).sum()
    };
    let operations: u64 = lanes.iter().map(|lane| lane.operations).sum();
    let misses: Option<u64> = lanes.iter().map(|lane| lane.misses).sum();
    Turn {
        operations,
        rate_by_processor: rate(|lane| lane.processor),
        rate_by_wall: rate(|lane| lane.wall),
        share: (total(|lane| lane.processor) / total(|lane| lane.wall).max(1e-9)).min(1.0),
        misses: misses.map(|misses| misses as f64 / operations.max(1) as f64),
        single: Percentiles::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_larger_than_memory_is_refused_with_a_reason() {
        assert!(refuse_beyond(1 << 30, None).is_ok() && refuse_beyond(9, Some(9)).is_ok());
        let Err(NoSubject::Refused(reason)) = refuse_beyond(10, Some(9)) else {
            panic!("not refused");
        };
        assert!(reason.contains("needs 10 bytes and 9 are available"), "{reason}");
    }
}
