//! A campaign from its first block to its last, without knowing how packets travel.
//!
//! The conductor visits cells in their order, has each configured and measured, and keeps every block before it goes on.
//! What sends packets and takes the time is a [`Bench`]; tests have benches whose truth is known.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use super::drift;
use super::matching::Outcome;
use super::plan::{Plan, PlannedCell, RateCells, RatePlan};
use super::rate_search::{Offered, RateSearch, SearchEnd};
use super::schedule::{Visit, schedule};
use super::steadiness::Steadiness;
use super::task::Task;
use crate::Campaign;
use crate::campaign::{BlockPlan, CellId, Counts, Machine, Note, RateTrial, WriteError, Writer};

/// What a bench is asked to do: one run of packets of the task that it was configured for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunOrder {
    /// Its number, by which its packets are told from those of other runs.
    pub run: u32,
    /// Packets that do not count, at first.
    pub warm_up: u32,
    /// Packets that count.
    pub packets: u32,
    /// Offered load; `None` if one packet waits for the other.
    pub packets_per_second: Option<f64>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// Counts and delays.
    pub outcome: Outcome,
    /// From the first packet that counts to the last.
    pub duration: Duration,
    /// What was really offered, in packets per second; `None` where packets waited for each other.
    pub offered: Option<f64>,
    /// What happened beside.
    pub notes: Vec<String>,
}

/// Configures a device and sends packets through it.
pub trait Bench {
    /// Makes the device do what a cell needs, and sees that it does.
    ///
    /// # Errors
    /// If it does not.
    fn configure(&mut self, task: &Task) -> Result<(), BenchError>;

    /// Sends a run of packets through it.
    ///
    /// # Errors
    /// If the wires or the device fail; a lost packet is no error.
    fn run(&mut self, order: &RunOrder) -> Result<RunRecord, BenchError>;

    /// What fixed work takes at present on the processors that the device and the bench use; `None` where the device has
    /// processors of its own.
    fn yardstick(&mut self) -> Option<Duration> {
        None
    }
}

/// Why a bench could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The device refuses, or does not answer.
    #[error("{device}: {problem}")]
    Device {
        /// Which device.
        device: String,
        /// What it says, or does not.
        problem: String,
    },
    /// It does something else than it was told.
    #[error("the device does not do what it was told: {problem}")]
    Wrong {
        /// What came out.
        problem: String,
    },
    /// An interface cannot be used.
    #[error(transparent)]
    Open(#[from] packetio::OpenError),
    /// There is no network to measure in.
    #[error(transparent)]
    Namespace(#[from] packetio::namespace::NamespaceError),
    /// A program that is needed is not there, or failed.
    #[error("{program}: {problem}")]
    Program {
        /// The program.
        program: String,
        /// What happened.
        problem: String,
    },
    /// The system refuses something.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
}

/// Is told how far a campaign is, and may end it.
pub trait Watch {
    /// Before each visit and each offered rate. What was measured is kept if it breaks.
    fn step(&mut self, step: &Step) -> ControlFlow<()>;
}

/// How far a campaign is.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Steps that are done.
    pub done: u64,
    /// Steps that are known of; searches for rates take as many as they take.
    pub of: u64,
    /// What comes.
    pub what: String,
}

/// Why a campaign ended before its end. What was measured until then is kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConductError {
    /// The bench failed.
    #[error("cell {cell}: {source}")]
    Bench {
        /// Where.
        cell: String,
        /// Why.
        source: BenchError,
    },
    /// A block cannot be kept.
    #[error(transparent)]
    Keep(#[from] WriteError),
}

/// How a campaign ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Everything was measured.
    Complete,
    /// It was asked to end.
    Interrupted,
}

/// Measures what a campaign does not have yet.
///
/// `now` says nanoseconds since the campaign's start. `before` is what was measured already, by an interrupted run.
///
/// # Errors
/// See [`ConductError`].
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
    let searches = rate_cells(plan, before);
    let mut conductor = Conductor {
        plan,
        names: plan.campaign_cells().iter().map(ToString::to_string).collect(),
        writer,
        bench,
        now,
        watch,
        // Packets of a run that was interrupted must not be taken for those of this one.
        run: (before.blocks.len() + before.rates.len()) as u32 * 2,
        steadiness: Steadiness::new(u32::try_from(visits.len()).unwrap_or(u32::MAX)),
        done: measured.len() as u64,
        of: (measured.len() + visits.len() + searches.len()) as u64,
    };
    conductor.look_at_the_machine();
    for visit in visits {
        if conductor.visit(visit)?.is_break() {
            return Ok(Ending::Interrupted);
        }
    }
    for (cell, rates) in searches {
        if conductor.search(cell, &rates)?.is_break() {
            return Ok(Ending::Interrupted);
        }
    }
    Ok(Ending::Complete)
}

fn visit(block: &crate::campaign::Block) -> Visit {
    Visit { repetition: block.repetition, cell: block.cell }
}

/// Cells whose rate is to be searched. A search that was interrupted begins again.
fn rate_cells(plan: &Plan, before: &Campaign) -> Vec<(CellId, RatePlan)> {
    let Some(rates) = plan.rates else { return Vec::new() };
    let cells = (0..).map(CellId).zip(plan.campaign_cells());
    let wanted = cells.filter(|(id, cell)| {
        let asked = rates.cells == RateCells::All || cell.functions.is_empty();
        let ended = before.rates.iter().any(|trial| trial.cell == *id && trial.lost > 0);
        asked && !ended
    });
    wanted.map(|(id, _)| (id, rates)).collect()
}

struct Conductor<'c> {
    plan: &'c Plan,
    names: Vec<String>,
    writer: &'c mut Writer,
    bench: &'c mut dyn Bench,
    now: &'c mut dyn FnMut() -> u64,
    watch: &'c mut dyn Watch,
    run: u32,
    steadiness: Steadiness,
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
        let (started_ns, record, machine) = loop {
            let before = self.await_the_machine();
            let order = RunOrder {
                run: self.next_run(),
                warm_up: self.plan.warm_up,
                packets: self.plan.packets,
                packets_per_second: cell.packets_per_second,
            };
            let started_ns = (self.now)();
            let record = self.bench.run(&order).map_err(failed)?;
            match check(&record.outcome) {
                Ok(()) => {
                    let machine = before
                        .zip(self.slower())
                        .map(|(before, behind)| Machine { slower: before.max(behind), again });
                    if !(machine.is_some_and(Machine::disturbed) && self.steadiness.again()) {
                        break (started_ns, record, machine);
                    }
                    again += 1;
                }
                // It did what it should a moment ago: it may have got no processor.
                Err(Fault::Silent(problem)) if tries < TRIES => {
                    tries += 1;
                    self.note(format!("{what}: {problem}; again"))?;
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
        self.writer.block(&block, &record.outcome.samples)?;
        let mut notes = record.notes;
        notes.extend(irregularities(&record.outcome));
        for note in notes {
            self.note(format!("{what}: {note}"))?;
        }
        self.done += 1;
        Ok(ControlFlow::Continue(()))
    }

    /// Learns what fixed work takes at best.
    fn look_at_the_machine(&mut self) {
        for _ in 0..Steadiness::AT_START {
            let Some(reading) = self.yardstick() else { return };
            self.steadiness.keep(reading);
        }
    }

    /// Waits until the machine is as fast as it can be, or patience ends; by how much it is slower then.
    fn await_the_machine(&mut self) -> Option<f64> {
        let first = self.yardstick()?;
        self.steadiness.keep(first);
        let mut slower = self.steadiness.slowness(first);
        for _ in 0..Steadiness::WAITS {
            if slower <= Machine::TOLERANCE || !self.steadiness.wait() {
                break;
            }
            slower = self.slower()?;
        }
        Some(slower)
    }

    /// By how much longer than at best fixed work takes now.
    fn slower(&mut self) -> Option<f64> {
        let reading = self.yardstick()?;
        Some(self.steadiness.slowness(reading))
    }

    fn yardstick(&mut self) -> Option<Duration> {
        self.plan.steady_machine.then(|| self.bench.yardstick()).flatten()
    }

    fn search(&mut self, id: CellId, rates: &RatePlan) -> Result<ControlFlow<()>, ConductError> {
        let Some((name, cell)) = self.cell(id) else { return Ok(ControlFlow::Continue(())) };
        let failed = |source| ConductError::Bench { cell: name.clone(), source };
        self.bench.configure(&cell.task).map_err(failed)?;
        let bits = u64::from(cell.task.packet_bytes()) * 8;
        let mut search = RateSearch::new(rates.from, rates.precision);
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
        let said = match search.end() {
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
        self.note(format!("{name}: {said}"))?;
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

/// How often a block is tried again of which no packet came out.
const TRIES: u32 = 3;

/// What a run shows that no measurement is.
enum Fault {
    /// No packet came out.
    Silent(String),
    /// Packets came out otherwise than they should.
    Altered(String),
}

/// A cell of which nothing comes out as it should is not measured but misconfigured.
fn check(outcome: &Outcome) -> Result<(), Fault> {
    let Counts { sent, received, .. } = outcome.counts;
    if outcome.altered > 0 {
        return Err(Fault::Altered(format!(
            "of {sent} packets {} came out otherwise than the action should leave them",
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
    let said: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!said.is_empty()).then(|| format!("of {sent} packets {}", said.join(", ")))
}

/// Whether the machine was the same throughout, by the baseline of each setting; and how much medians vary between
/// repetitions, over all cells: what is smaller means nothing.
#[must_use]
pub fn stability(campaign: &Campaign) -> Vec<String> {
    let mut said = Vec::new();
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
            said.push(format!(
                "drift: the baseline's median ({packet_bytes} B, {rules} rules) changed by {change:+.2} % from the \
                 first repetition to the last (Mann-Kendall p = {p_value:.4})"
            ));
        }
    }
    said.extend(campaign.disturbances().map(|disturbances| format!("machine: {disturbances}")));
    let mut variations: Vec<f64> =
        campaign.description.ids().filter_map(|id| drift::variation(&medians(id))).collect();
    if let Some(typical) = drift::median(&mut variations) {
        let most = variations.last().copied().unwrap_or(typical);
        said.push(format!(
            "noise: from repetition to repetition the median of a cell varies by ±{:.2} % (half the interquartile range; \
             typical cell), in the worst cell by ±{:.2} %",
            typical * 100.0,
            most * 100.0
        ));
    }
    said
}

/// Probability of a false alarm.
const DRIFT: f64 = 0.01;

use crate::campaign::Setting;

#[cfg(test)]
mod tests;
