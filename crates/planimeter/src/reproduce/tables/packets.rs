//! Measures whole packets in memory, as `planimeter bench` does, with the program that the paper on
//! tables written by packets evaluates (its section 4).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::tables::Wait;
use ::tables::measure::Operation;
use ::throughput::Variant;
use ::throughput::run::{Case, Contender, Figures, Settings, Stage, run_beside};
use ::throughput::traffic::{TrafficError, Wanted, Workload};
use ir::{EntryStore, Program, Replicas, TableStorage, UpdateMethod};
use p4lang::preprocess::Options;

use crate::bench;
use crate::environment::{Environment, SEED};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Steps;

/// A load that is measured: how a table's entries are stored and accessed, and how many workers
/// process packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) operation: Operation,
    pub(super) store: EntryStore,
    pub(super) replicas: Replicas,
    pub(super) update: UpdateMethod,
    /// Whether each action that writes its entry holds a lock of the entry.
    pub(super) is_locked: bool,
    /// The method by which a writer waits between changing two replicas.
    pub(super) wait: Wait,
    /// The number of cores, with a worker on each.
    pub(super) cores: usize,
    /// The number of further workers that have joined the tables, but process no packets.
    pub(super) idle_workers: usize,
}

impl Load {
    /// Returns the load of one worker whose packets write entries of one replica in place.
    pub(super) const fn writing(store: EntryStore) -> Self {
        Self {
            operation: Operation::Update,
            store,
            replicas: Replicas::One,
            update: UpdateMethod::Pointer,
            is_locked: false,
            wait: Wait::Quiescent,
            cores: 1,
            idle_workers: 0,
        }
    }

    /// Returns the load of one worker whose packets read entries.
    pub(super) const fn reading(store: EntryStore, replicas: Replicas) -> Self {
        Self { operation: Operation::Read, replicas, ..Self::writing(store) }
    }

    /// Returns the load of one worker whose packets change entries through two replicas.
    pub(super) const fn changing(store: EntryStore, wait: Wait) -> Self {
        let one = Self::writing(store);
        Self { replicas: Replicas::Two, update: UpdateMethod::Change, wait, ..one }
    }

    fn variant(self) -> Variant {
        Variant::Storage(TableStorage {
            store: Some(self.store),
            replicas: self.replicas,
            update: self.update,
            synchronised: self.is_locked,
        })
    }
}

/// The loads that take turns in one run, and the packets that they process.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) loads: Vec<Load>,
    pub(super) entries: usize,
    pub(super) packet_bytes: usize,
    pub(super) figures: Figures,
    /// The duration of one repetition of each load.
    pub(super) time: Duration,
    /// Whether rates are per second of wall-clock time, so that methods that wait can be compared
    /// with those that do not.
    pub(super) is_by_wall_clock: bool,
    /// Whether an earlier run has already compared the machine code of all loads with the
    /// interpreter.
    pub(super) is_compared: bool,
}

/// The results of one load with one number of entries.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) load: Load,
    pub(super) entries: usize,
    pub(super) case: Case,
}

/// The program of the paper's evaluation, in which packets write entries, and its variant in which
/// they only read them.
pub(super) struct Programs {
    write: Program,
    read: Program,
}

impl Programs {
    pub(super) fn new() -> Result<Self, Failure> {
        let define = "READ".to_owned();
        let reading = Options { defines: vec![define], ..Options::default() };
        let (_, write) = bench::paper(&Options::default())?;
        let (_, read) = bench::paper(&reading)?;
        Ok(Self { write, read })
    }

    /// Measures the loads of a run. Repetitions are short and many, because most of the noise comes
    /// from phases in which the machine is slow, and these last longer than a repetition.
    pub(super) fn measure(
        &self,
        environment: &Environment<'_>,
        run: Run,
    ) -> Result<Vec<Found>, Failure> {
        let settings = Settings {
            paths: Vec::new(),
            cores: Vec::new(),
            repetitions: if environment.quick { 10 } else { 20 },
            time: run.time,
            warm_up: run.time / 2,
            load: 0.5,
            skew: 0.0,
            any_core: true,
            by_wall_clock: run.is_by_wall_clock,
            seed: SEED,
        };
        let (write, read) = (self.write.clone(), self.read.clone());
        let (interrupt, quiet) = (environment.interrupt.clone(), environment.quiet);
        let work = move || beside(&[write, read], &run, &settings, &interrupt, quiet);
        let measured = interrupt::abandonable(environment.interrupt, work).map_err(Failure::run)?;
        match measured {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) => Err(Failure::run(error)),
            None => Err(Failure::Interrupted),
        }
    }
}

/// Measures the loads of a run in alternation. `programs` contains the program whose packets write
/// entries, and the one whose packets only read them.
fn beside(
    programs: &[Program; 2],
    run: &Run,
    settings: &Settings,
    interrupt: &Arc<AtomicBool>,
    quiet: bool,
) -> Result<Vec<Found>, TrafficError> {
    let steps = Steps::new(quiet);
    let show = |stage: &str, done: usize, of: usize| {
        steps.show(done as u64, of as u64, format!("packets, {} entries: {stage}", run.entries));
        !interrupt.load(Ordering::Relaxed)
    };
    let wanted = Wanted { flows: run.entries, packet_size: run.packet_bytes, seed: settings.seed };
    let mut workloads = Vec::new();
    for (program, operation) in programs.iter().zip([Operation::Update, Operation::Read]) {
        let is_used = run.loads.iter().any(|load| load.operation == operation);
        let mut filling = |done, of| show("generating entries", done, of);
        let workload = is_used
            .then(|| Workload::from_program(program.clone(), wanted, &mut filling))
            .transpose()?;
        workloads.extend(workload.map(|workload| (operation, workload)));
    }
    let contender = |load: &Load| {
        let (_, workload) = workloads.iter().find(|(operation, _)| *operation == load.operation)?;
        Some(Contender {
            workload,
            variant: load.variant(),
            cores: load.cores,
            idle_workers: load.idle_workers,
            wait: load.wait,
            is_compared: run.is_compared,
        })
    };
    let contenders: Vec<Contender<'_>> = run.loads.iter().filter_map(contender).collect();
    let mut progress = |stage: Stage, done, of| show(bench::stage_name(stage), done, of);
    let findings = run_beside(&contenders, run.figures, settings, &mut progress)?;
    let cases = run.loads.iter().zip(findings.cases);
    Ok(cases.map(|(&load, case)| Found { load, entries: run.entries, case }).collect())
}

/// The results of several runs.
#[derive(Debug, Default)]
pub(super) struct Measurements(Vec<Found>);

impl Measurements {
    /// Adds the results of a run.
    ///
    /// # Errors
    /// Returns an error if a program was not compiled, or if a packet left with a wrong content,
    /// because no figure of such a case is valid.
    pub(super) fn add(&mut self, found: Vec<Found>) -> Result<(), Failure> {
        for one in &found {
            let why = match &one.case.refused {
                Some(reason) => Some(format!("was not compiled: {reason}")),
                None => report::throughput::fault(&one.case),
            };
            if let Some(why) = why {
                return Err(Failure::run(format!(
                    "{:?}, {} entries: {why}",
                    one.load, one.entries
                )));
            }
        }
        self.0.extend(found);
        Ok(())
    }

    /// Returns the measured case for this load and this number of entries, or `None` if it was not
    /// measured.
    pub(super) fn case(&self, load: Load, entries: usize) -> Option<&Case> {
        let found = self.0.iter().find(|one| one.load == load && one.entries == entries);
        found.map(|one| &one.case)
    }

    /// Returns the rate in each repetition (empty if there are none).
    pub(super) fn rates(&self, load: Load, entries: usize) -> Vec<f64> {
        self.case(load, entries).map(|case| case.rates.clone()).unwrap_or_default()
    }

    /// Returns the median latency in each repetition, in seconds. The list is empty if a repetition
    /// has none.
    pub(super) fn medians(&self, load: Load, entries: usize) -> Vec<f64> {
        let latency = self.case(load, entries).and_then(|case| case.latency.as_ref());
        let medians = latency.map(|latency| {
            let each = latency.times.repetitions();
            each.map(|one| ::throughput::times::percentile(one, 0.5)).collect::<Option<Vec<_>>>()
        });
        medians.flatten().unwrap_or_default()
    }
}
