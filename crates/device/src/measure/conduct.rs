//! Runs a campaign from its first measurement to its last, independently of how packets reach the
//! device.
//!
//! The conductor visits the cells (sets of functions under one setting) in the order of the
//! schedule. It configures the device for each cell, measures it, and writes the delays to disk
//! before it continues. A [`Bench`] sends packets and takes timestamps. The tests use synthetic
//! benches with known delays.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use super::drift;
use super::matching::Outcome;
use super::plan::{Plan, PlannedCell, RateCells, RatePlan};
use super::rate_search::{Offered, RateSearch, SearchEnd};
use super::schedule::{Visit, schedule};
use super::steadiness::{self, Steadiness};
use super::task::Task;
use crate::Campaign;
use crate::campaign::{
    BlockPlan, CellId, Control, Counts, Machine, Note, RateTrial, WriteError, Writer, median,
};

/// An order to a bench to send packets through the device as it is configured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunOrder {
    /// The number of this run, which its packets carry to distinguish them from those of other
    /// runs.
    pub run: u32,
    /// The number of warm-up packets. They are sent first, and their delays are not recorded.
    pub warm_up: u32,
    /// The number of packets after the warm-up, whose delays are recorded.
    pub packets: u32,
    /// The rate at which packets are sent, in packets per second, or `None` if each packet waits
    /// for the arrival of the previous one.
    pub packets_per_second: Option<f64>,
}

/// The result of sending packets through the device.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// The packet counts, and the delays of the packets that arrived.
    pub outcome: Outcome,
    /// The control windows before the first packet after the warm-up and after each packet (empty
    /// if the bench has none).
    pub controls: Vec<Control>,
    /// The time from the first packet after the warm-up to the last.
    pub duration: Duration,
    /// The rate at which packets were actually sent, in packets per second, or `None` if each
    /// packet waited for the arrival of the previous one.
    pub offered: Option<f64>,
    /// Remarks on unusual events while the packets were sent, as sentences.
    pub notes: Vec<String>,
}

/// A test bench: it configures a device and sends packets through it.
pub trait Bench {
    /// Configures the device with the rules or the program of a cell, and checks that it processes
    /// packets as configured.
    ///
    /// # Errors
    /// Returns a [`BenchError`] if the device cannot be configured, or does not process packets as
    /// configured.
    fn configure(&mut self, task: &Task) -> Result<(), BenchError>;

    /// Sends packets through the device and records their delays.
    ///
    /// # Errors
    /// Returns a [`BenchError`] if the wires or the device fail. A lost packet is no error.
    fn run(&mut self, order: &RunOrder) -> Result<RunRecord, BenchError>;

    /// Returns the time that a fixed workload takes on the processors which the device and the
    /// bench use. Returns `None` if the device has processors of its own.
    fn yardstick(&mut self) -> Option<Duration> {
        None
    }

    /// Returns how long threads of the bench and of the device have run and waited for a processor,
    /// and how long their cores were busy. Returns `None` if the device has processors of its own
    /// or no threads of its own, or if these times cannot be read.
    fn contention(&mut self) -> Option<Contention> {
        None
    }
}

/// The accumulated use of the processors of a measurement. Only the difference of two readings is
/// meaningful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contention {
    /// The time for which threads of the bench and of the device waited for a processor, summed.
    pub waited: Duration,
    /// The time for which threads of the bench and of the device ran, summed.
    pub ran: Duration,
    /// The time for which the cores of the bench and of the device were busy, with any program.
    pub busy: Duration,
}

/// The reason why a bench could not configure the device or send packets through it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The device refuses its configuration, or does not answer.
    #[error("{device}: {problem}")]
    Device {
        /// The name of the device that refuses or does not answer.
        device: String,
        /// The text of the refusal, or a description of the answer that did not arrive.
        problem: String,
    },
    /// The device behaves differently from its configuration.
    #[error("the device does not behave as configured: {problem}")]
    Wrong {
        /// The observed behaviour of the device, in words.
        problem: String,
    },
    /// A network interface cannot be used.
    #[error(transparent)]
    Open(#[from] packetio::OpenError),
    /// The network namespace of the campaign cannot be set up.
    #[error(transparent)]
    Namespace(#[from] packetio::namespace::NamespaceError),
    /// A required program of this machine is missing or failed.
    #[error("{program}: {problem}")]
    Program {
        /// The name of the program that is missing or failed.
        program: String,
        /// The failure of the program, in words.
        problem: String,
    },
    /// A system call of the bench failed.
    #[error("{what}: {source}")]
    System {
        /// The operation that was attempted.
        what: String,
        /// The error that the system call returned.
        source: std::io::Error,
    },
}

/// An observer of a campaign's progress, which may also stop the campaign.
pub trait Watch {
    /// Reports the next step: each measurement, each repetition of a disturbed or failed
    /// measurement, and each rate that is tried. If this returns `Break`, the campaign stops, and
    /// finished measurements are kept.
    fn step(&mut self, step: &Step) -> ControlFlow<()>;
}

/// The progress of a campaign before its next step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The number of finished steps. A step is one run of packets, or one search for a rate.
    pub done: u64,
    /// The number of planned steps. A search for the highest rate without loss is one step,
    /// independently of the number of rates that it tries.
    pub of: u64,
    /// A description of the next step, for people.
    pub what: String,
}

/// The reason why a campaign stopped early. Measurements that were finished are kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConductError {
    /// The bench could not configure the device or send packets.
    #[error("cell {cell}: {source}")]
    Bench {
        /// The name of the cell (the set of functions) that was being measured.
        cell: String,
        /// The error that the bench reported.
        source: BenchError,
    },
    /// A measurement cannot be written to disk.
    #[error(transparent)]
    Keep(#[from] WriteError),
}

/// Whether a campaign was completed or stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The campaign is complete.
    Complete,
    /// The observer stopped the campaign before it was complete.
    Interrupted,
}

/// Makes all measurements and rate searches of a campaign that have not been made yet.
///
/// `before` contains the results of earlier, interrupted runs. `now` returns the nanoseconds since
/// the start of the campaign.
///
/// # Errors
/// Returns a [`ConductError`] if the bench fails or a measurement cannot be written.
pub fn conduct(
    plan: &Plan,
    seed: u64,
    before: &Campaign,
    writer: &mut Writer,
    bench: &mut dyn Bench,
    now: &mut dyn FnMut() -> u64,
    watch: &mut dyn Watch,
) -> Result<Ending, ConductError> {
    let cells = u32::try_from(plan.cells.len()).unwrap_or(u32::MAX);
    let measured: BTreeSet<Visit> =
        before.blocks.iter().map(|measured| visit(&measured.block)).collect();
    let visits: Vec<Visit> = schedule(cells, plan.repetitions, seed)
        .into_iter()
        .filter(|visit| !measured.contains(visit))
        .collect();
    let searches = rate_searches(plan, before);
    let mut conductor = Conductor {
        plan,
        names: plan.campaign_cells().iter().map(ToString::to_string).collect(),
        writer,
        bench,
        now,
        watch,
        // Packets of an interrupted run must not be mistaken for packets of this run.
        run: (before.blocks.len() + before.rates.len()) as u32 * 2,
        steadiness: Steadiness::new(u32::try_from(visits.len()).unwrap_or(u32::MAX)),
        done: measured.len() as u64,
        of: (measured.len() + visits.len() + searches.len()) as u64,
    };
    conductor.establish_best_time();
    for visit in visits {
        if conductor.visit(visit)?.is_break() {
            return Ok(Ending::Interrupted);
        }
    }
    for resumed in searches {
        if conductor.search(resumed)?.is_break() {
            return Ok(Ending::Interrupted);
        }
    }
    Ok(Ending::Complete)
}

fn visit(block: &crate::campaign::Block) -> Visit {
    Visit { repetition: block.repetition, cell: block.cell }
}

/// A search for the highest rate without loss, with the trials of earlier runs.
struct Resumed {
    cell: CellId,
    search: RateSearch,
}

/// Returns the searches for the highest rate without loss that are not complete.
fn rate_searches(plan: &Plan, before: &Campaign) -> Vec<Resumed> {
    let Some(rates) = plan.rates else { return Vec::new() };
    let cells = (0..).map(CellId).zip(plan.campaign_cells()).zip(&plan.cells);
    let wanted =
        cells.filter(|((_, cell), _)| rates.cells == RateCells::All || cell.functions.is_empty());
    let searches = wanted.map(|((id, _), planned)| {
        let bits = u64::from(planned.task.packet_bytes()) * 8;
        let trials = before.rates.iter().filter(|trial| trial.cell == id);
        let offered = trials.map(|trial| Offered {
            rate: trial.bits_per_second as f64 / bits as f64,
            lost: trial.lost > 0,
        });
        Resumed { cell: id, search: resumed(&rates, offered) }
    });
    searches.filter(|resumed| resumed.search.end().is_none()).collect()
}

/// Returns a search that continues after the trials of earlier runs of the campaign. Returns a new
/// search if there are more trials than one search needs, because they then stem from several
/// searches.
fn resumed(rates: &RatePlan, trials: impl Iterator<Item = Offered>) -> RateSearch {
    let begin = || RateSearch::new(rates.from, rates.precision);
    let mut search = begin();
    for offered in trials {
        if search.next_rate().is_none() {
            return begin();
        }
        search.record(offered);
    }
    search
}

/// The conductor of a campaign, with everything that it needs to send runs of packets and to record
/// them.
struct Conductor<'c> {
    plan: &'c Plan,
    /// The names of the plan's cells.
    names: Vec<String>,
    writer: &'c mut Writer,
    bench: &'c mut dyn Bench,
    /// A clock that returns nanoseconds.
    now: &'c mut dyn FnMut() -> u64,
    watch: &'c mut dyn Watch,
    /// The number of the last run, a series of packets that is measured without a pause.
    run: u32,
    steadiness: Steadiness,
    /// The number of steps that are done, of all `of` steps.
    done: u64,
    of: u64,
}

impl Conductor<'_> {
    fn visit(&mut self, visit: Visit) -> Result<ControlFlow<()>, ConductError> {
        let Some((name, cell)) = self.cell(visit.cell) else {
            return Ok(ControlFlow::Continue(()));
        };
        let what = format!("{name}, repetition {}", visit.repetition + 1);
        if self.step(&what).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let failed = |source| ConductError::Bench { cell: name.clone(), source };
        self.bench.configure(&cell.task).map_err(failed)?;
        let mut tries = 0;
        let mut again = 0;
        let mut ending = ControlFlow::Continue(());
        let (started_ns, record, machine) = loop {
            let before = self.await_fast_machine();
            let order = RunOrder {
                run: self.next_run(),
                warm_up: self.plan.warm_up,
                packets: self.plan.packets,
                packets_per_second: cell.packets_per_second,
            };
            let started_ns = (self.now)();
            let contention = before.and_then(|_| self.bench.contention());
            let record = self.bench.run(&order).map_err(failed)?;
            match check(&record.outcome) {
                Ok(()) => {
                    let contention = contention.zip(self.bench.contention());
                    let median = median(&record.outcome.samples);
                    let beside_others = self.steadiness.beside_others(visit.cell, median);
                    let slower = before.zip(self.slowdown());
                    let machine = slower.map(|(before, behind)| Machine {
                        slower: before.max(behind),
                        again,
                        beside_others,
                        ..steadiness::contended(contention, &record)
                    });
                    let is_repeated = machine.is_some_and(Machine::disturbed)
                        && self.steadiness.may_repeat(again);
                    if is_repeated {
                        ending = self.step(&what);
                    }
                    if !is_repeated || ending.is_break() {
                        self.steadiness.keep_median(visit.cell, median);
                        break (started_ns, record, machine);
                    }
                    again += 1;
                }
                // When the device was configured, it forwarded packets, so it may only have lost
                // its processor for a while. The packets are sent again.
                Err(Fault::Silent(problem)) if tries < TRIES => {
                    tries += 1;
                    self.note(format!("{what}: {problem}; again"))?;
                    if self.step(&what).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Err(Fault::Silent(problem) | Fault::Altered(problem)) => {
                    return Err(failed(BenchError::Wrong { problem }));
                }
            }
        };
        let counts = record.outcome.counts;
        let block = BlockPlan {
            cell: visit.cell,
            repetition: visit.repetition,
            started_ns,
            duration_ns: u64::try_from(record.duration.as_nanos()).unwrap_or(u64::MAX),
            packets_per_second: record.offered,
            counts,
            machine,
        };
        self.writer.block(&block, &record.outcome.samples, &record.controls)?;
        let mut notes = record.notes;
        notes.extend(irregularities(&record.outcome));
        for note in notes {
            self.note(format!("{what}: {note}"))?;
        }
        self.done += 1;
        Ok(ending)
    }

    /// Times the fixed workload several times before the first measurement, to determine how fast
    /// the machine can be.
    fn establish_best_time(&mut self) {
        for _ in 0..Steadiness::AT_START {
            let Some(reading) = self.yardstick() else { return };
            self.steadiness.keep(reading);
        }
    }

    /// Times the fixed workload until it runs as fast as in its best runs, or until the limit for
    /// this block or for the whole campaign is reached. Returns how much slower than its best time
    /// the workload was in the last reading, as a share, or `None` if the machine is not observed.
    fn await_fast_machine(&mut self) -> Option<f64> {
        let first = self.yardstick()?;
        self.steadiness.keep(first);
        let mut slower = self.steadiness.slowness(first);
        for _ in 0..Steadiness::WAITS {
            if slower <= Machine::TOLERANCE || !self.steadiness.may_wait() {
                break;
            }
            slower = self.slowdown()?;
        }
        Some(slower)
    }

    /// Times the fixed workload once. Returns how much slower it was than its best time, as a
    /// share, or `None` if the machine is not observed.
    fn slowdown(&mut self) -> Option<f64> {
        let reading = self.yardstick()?;
        Some(self.steadiness.slowness(reading))
    }

    fn yardstick(&mut self) -> Option<Duration> {
        self.plan.steady_machine.then(|| self.bench.yardstick()).flatten()
    }

    /// Searches for the highest rate at which the device loses no packet with the functions of a
    /// cell, rate by rate.
    fn search(&mut self, resumed: Resumed) -> Result<ControlFlow<()>, ConductError> {
        let Resumed { cell: id, mut search } = resumed;
        let planned = self.cell(id).zip(self.plan.rates);
        let Some(((name, cell), rates)) = planned else { return Ok(ControlFlow::Continue(())) };
        let failed = |source| ConductError::Bench { cell: name.clone(), source };
        self.bench.configure(&cell.task).map_err(failed)?;
        let bits = u64::from(cell.task.packet_bytes()) * 8;
        while let Some(rate) = search.next_rate() {
            if self.step(&format!("{name}, {rate:.0} packets/s offered")).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let packets = (rate * rates.duration.as_secs_f64()).clamp(1.0, 10_000_000.0) as u32;
            let order = RunOrder {
                run: self.next_run(),
                warm_up: 0,
                packets,
                packets_per_second: Some(rate),
            };
            let record = self.bench.run(&order).map_err(failed)?;
            let counts = record.outcome.counts;
            let offered = record.offered.unwrap_or(rate);
            self.writer.rate(&RateTrial {
                cell: id,
                bits_per_second: (offered * bits as f64) as u64,
                sent: counts.sent,
                lost: counts.lost,
            })?;
            search.record(Offered { rate: offered, lost: counts.lost > 0 });
        }
        let outcome = match search.end() {
            Some(SearchEnd::Found { rate }) => {
                format!("R_min is {:.0} packets/s, the last rate without a lost frame", rate)
            }
            Some(SearchEnd::AlwaysLoses) => {
                format!("frames are lost already at {:.0} packets/s; begin lower", rates.from)
            }
            Some(SearchEnd::GeneratorLimit { rate }) => format!(
                "R_min is at least {rate:.0} packets/s, the most that the generator could offer"
            ),
            None => return Ok(ControlFlow::Continue(())),
        };
        self.note(format!("{name}: {outcome}"))?;
        self.done += 1;
        Ok(ControlFlow::Continue(()))
    }

    fn cell(&self, id: CellId) -> Option<(String, PlannedCell)> {
        let place = id.0 as usize;
        Some((self.names.get(place)?.clone(), self.plan.cells.get(place)?.clone()))
    }

    fn step(&mut self, what: &str) -> ControlFlow<()> {
        self.watch.step(&Step { done: self.done, of: self.of, what: what.to_owned() })
    }

    fn next_run(&mut self) -> u32 {
        self.run += 1;
        self.run
    }

    fn note(&mut self, text: String) -> Result<(), WriteError> {
        let note = Note { at_ns: (self.now)(), text };
        self.writer.note(&note)
    }
}

/// The largest number of times that a run of packets is repeated because no packet arrived.
const TRIES: u32 = 3;

/// The reason why the result of a run of packets is not accepted.
enum Fault {
    /// No packet came out of the device.
    Silent(String),
    /// Packets came out of the device with unexpected content.
    Altered(String),
}

/// Returns an error if no packet of a run arrived, or if packets had unexpected content. In both
/// cases, the device did not behave as configured.
fn check(outcome: &Outcome) -> Result<(), Fault> {
    let Counts { sent, received, .. } = outcome.counts;
    if outcome.altered > 0 {
        return Err(Fault::Altered(format!(
            "of {sent} packets {} came out with other contents than the action produces",
            outcome.altered
        )));
    }
    if received == 0 {
        return Err(Fault::Silent(format!("of {sent} packets none came out in time")));
    }
    Ok(())
}

fn irregularities(outcome: &Outcome) -> Option<String> {
    let Counts { sent, lost, reordered, duplicated, unmatched, clock_steps, .. } = outcome.counts;
    let late = outcome.late;
    let parts = [
        (lost, "lost"),
        (reordered, "reordered"),
        (duplicated, "duplicated"),
        (unmatched, "arrivals of no packet of the block"),
        (late, "of them late, of earlier blocks"),
        (clock_steps, "clock steps"),
    ];
    let counted: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!counted.is_empty()).then(|| format!("of {sent} packets {}", counted.join(", ")))
}

/// Returns remarks on how steady the machine was during a campaign: the drift of the baseline's
/// median delay, the blocks that the machine disturbed, and the variation of median delays between
/// repetitions. Differences between cells that are smaller than this variation are meaningless.
#[must_use]
pub fn stability(campaign: &Campaign) -> Vec<String> {
    let mut remarks = Vec::new();
    let medians = |cell: CellId| -> Vec<f64> {
        let mut blocks: Vec<_> = campaign.blocks_of(cell).collect();
        blocks.sort_by_key(|measured| measured.block.started_ns);
        let median = |measured: &&crate::campaign::MeasuredBlock| {
            let mut delays: Vec<f64> =
                measured.samples.iter().map(|sample| sample.delay.0 as f64).collect();
            drift::median(&mut delays)
        };
        blocks.iter().filter_map(median).collect()
    };
    for id in campaign.description.ids() {
        let cell = campaign.description.cell(id);
        if !cell.functions.is_empty() {
            continue;
        }
        let Some(trend) = drift::trend(&medians(id)) else { continue };
        let Setting { packet_bytes, rules, .. } = &cell.setting;
        let change = trend.change * 100.0;
        let p_value = trend.p_value;
        if p_value < DRIFT {
            remarks.push(format!(
                "drift: the baseline's median ({packet_bytes} B, {rules} rules) changed by {change:+.2} % from the \
                 first repetition to the last (Mann-Kendall p = {p_value:.4})"
            ));
        }
    }
    remarks.extend(campaign.disturbances().map(|disturbances| format!("machine: {disturbances}")));
    let mut variations: Vec<f64> =
        campaign.description.ids().filter_map(|id| drift::variation(&medians(id))).collect();
    if let Some(typical) = drift::median(&mut variations) {
        let most = variations.last().copied().unwrap_or(typical);
        remarks.push(format!(
            "noise: from repetition to repetition the median of a cell varies by ±{:.2} % (half the interquartile range; \
             typical cell), in the worst cell by ±{:.2} %",
            typical * 100.0,
            most * 100.0
        ));
    }
    remarks
}

/// The significance level of the test for a drift, which is the probability of a false alarm.
const DRIFT: f64 = 0.01;

use crate::campaign::Setting;

#[cfg(test)]
mod tests;
