//! Timed runs of a workload in memory.
//!
//! A run consists of turns. A turn processes 512 packets of random flows, which lie in memory as a
//! network card would leave them. Before the clock starts, the packets are copied into the input
//! ring. While the clock runs, every packet is processed, and each output stays in the buffer of
//! its burst, as if a card would fetch it from there. After the clock has stopped, the outputs are
//! checked. The generation and the check of packets are therefore not part of the figures. Both
//! input and output are warm in the cache, as they are with a card that writes directly to the
//! cache.
//!
//! The repetitions of all cases alternate, so that changes of the machine affect all cases alike.
//! Rates are per second of processor time of the worker threads. If entries are changed by a method
//! other than pointer, or the settings ask for it, rates are per second of wall-clock time until
//! the last entry has been written.

mod beside;
mod repeated;
mod table_access;
mod trees;

pub use beside::{Contender, Figures, run_beside};
pub use repeated::{Repeated, repeated};
pub use table_access::TableAccess;

use crate::check::{self, Comparison, Digest, Expected, NOW};
use crate::method::{self, Changes, Variant};
use crate::ports::io::Io;
use crate::ring::Ring;
use crate::times::{self, Times};
use crate::traffic::Workload;
use crate::traffic::error::TrafficError;
use hdrhistogram::Histogram;
use ir::UpdateMethod;
use packetio::BURST;
use packetio::cycles::{self, CycleCounter};
use pipeline::{Batch, Core, Path, Processor, Switch};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::Zipf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};
use tables::machine::{cores, pin_to, thread_time};

/// The number of packets that a worker processes between two readings of its clock, equal to the
/// default ring size of network cards.
const TURN: usize = 512;
/// The time for which the cycle counter is compared with the clock, to learn its frequency.
const CALIBRATION: Duration = Duration::from_millis(2);

/// The number of times that the clock is read to find the cost of one reading. The cost is the
/// minimum over these readings.
const READINGS: usize = 1000;

/// The longest time to wait until a packet finds the value that an earlier packet wrote to a table
/// entry.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The parameters of a throughput measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The execution paths to measure: the interpreter, machine code or both.
    pub paths: Vec<Path>,
    /// The numbers of cores on which each path is measured. Each core runs one worker thread.
    pub cores: Vec<usize>,
    /// The number of repetitions of each case. A case is a path, an update method and a number of
    /// cores.
    pub repetitions: usize,
    /// The duration of a repetition, including the generation and the check of packets, for which
    /// the clock is stopped.
    pub time: Duration,
    /// The time for which each worker processes packets before a repetition begins, so that its
    /// caches reach their steady state. A worker processes at least one ring of packets.
    pub warm_up: Duration,
    /// The rate at which packets are offered when latency is measured, as a share of the measured
    /// throughput.
    pub load: f64,
    /// The exponent of the Zipf distribution from which the flow of each packet is drawn. The first
    /// flow is the most frequent. Zero means that all flows are equally frequent.
    pub skew: f64,
    /// Whether each worker sends packets of all flows, so that several cores access the same table
    /// entry. Otherwise each flow belongs to one worker.
    pub any_core: bool,
    /// Whether all rates are per second of wall-clock time rather than of processor time, so that
    /// update methods that wait can be compared with methods that do not.
    pub by_wall_clock: bool,
    /// The seed of the random numbers that select flows.
    pub seed: u64,
}

/// The results of a throughput measurement.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Findings {
    /// The kind of ports between which packets travelled, or memory.
    pub io: Io,
    /// The results of each case (an execution path with an update method, on a number of cores),
    /// ordered by execution path, then by update method and number of cores.
    pub cases: Vec<Case>,
    /// The rate, in packets per second, of a loop that only copies packets and runs no program, one
    /// value per repetition. Between ports, this is the rate of a worker that returns every packet
    /// unchanged.
    pub copied: Vec<f64>,
    /// The number of flows whose packets make the program draw random numbers. The outputs of these
    /// flows are not checked in timed runs.
    #[serde(default)]
    pub random_flows: usize,
    /// Whether the measurement was stopped early, so that repetitions are missing.
    pub interrupted: bool,
}

impl Findings {
    /// Returns empty results, for a run that has not started yet.
    #[must_use]
    pub fn new(io: Io) -> Self {
        Self { io, cases: Vec::new(), copied: Vec::new(), random_flows: 0, interrupted: false }
    }
}

/// The results of one execution path with one update method on one number of cores.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Case {
    /// The execution path: interpreter or machine code.
    pub path: Path,
    /// The method by which packets change the table entries that they hit.
    pub method: UpdateMethod,
    /// The number of worker threads, each on its own core.
    pub cores: usize,
    /// The reason why the program could not be compiled for this case, or `None` if it was. A
    /// refused case has no figures.
    pub refused: Option<String>,
    /// The parts of the program that machine code leaves to the interpreter: for each part, its
    /// place in the program and the feature that the compiler lacks.
    pub interpreted: Vec<(String, String)>,
    /// The wall-clock time of compiling the program to machine code, or zero for the interpreter.
    pub loading: Duration,
    /// The size of the program's machine code in bytes.
    pub code_bytes: usize,
    /// The throughput of all workers together in packets per second, one value per repetition.
    pub rates: Vec<f64>,
    /// The share of the worker's processor time in which it found no packet, one value per
    /// repetition. The throughput excludes this time. Empty for runs in memory, where packets are
    /// always available.
    #[serde(default)]
    pub idle: Vec<f64>,
    /// The numbers of packets that were processed, sent and checked in timed runs.
    pub counts: Counts,
    /// The packet-by-packet comparison of this path with the interpreter, made before the timed
    /// runs.
    pub comparison: Comparison,
    /// The reason why machine code processes packets one by one. `None` if it processes them in
    /// bursts, or if this is a case of the interpreter.
    pub one_by_one: Option<String>,
    /// The cost of each stage of burst processing, measured apart from the throughput. `None`
    /// unless one worker ran machine code that processes bursts, on a processor with a cycle
    /// counter.
    pub stages: Option<Stages>,
    /// The cost of table lookups, measured apart from the throughput. `None` unless one worker ran
    /// machine code that performs lookups itself, with the update method pointer, on a processor
    /// with a cycle counter.
    pub table_access: Option<TableAccess>,
    /// The latency of packets that arrive at a fixed rate, from the time at which a packet is to
    /// arrive to the time at which its output is complete. `None` if it was not measured, or if
    /// packets were lost in every repetition.
    pub latency: Option<Latency>,
    /// The time in nanoseconds from the arrival of a packet that changes a table entry to the
    /// arrival of the first later packet that finds the new value. Meanwhile, no other packets are
    /// processed. `None` with several workers, or if all cases of the run use the method pointer.
    pub seen: Option<Times>,
}

/// The cost of each stage of burst processing in one worker, in cycles per packet. The stages are
/// measured without the fused function (parser to deparser), so their sum may differ from the cost
/// that the throughput shows.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stages {
    /// The cycles per packet for copying to the output buffer, parsing, and prefetching of table
    /// entries.
    pub parser: f64,
    /// The cycles per packet for tables, actions, checksums and the deparser.
    pub after_parser: f64,
    /// The remaining cycles per packet: work that is done once per burst, and the loop around it.
    pub around: f64,
}

/// The latency of one worker to which packets are offered at a fixed rate.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Latency {
    /// The rate at which packets were offered, per second.
    pub offered: f64,
    /// The latencies of the packets, from all repetitions in which no packet was lost.
    pub times: Times,
    /// The number of repetitions in which packets were lost. They yield no latencies, because
    /// outputs can then not be assigned to packets. Zero for runs in memory.
    pub lossy: usize,
    /// The share of the time for which the operating system let the worker run, in the repetition
    /// with the smallest share. The worker never sleeps. If the share is below one, other processes
    /// used its core meanwhile, and packets waited. `None` between ports, where workers may sleep.
    pub had_core: Option<f64>,
}

/// The counts of packets and of changes to table entries in timed runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// The number of packets that workers received.
    pub processed: u64,
    /// The number of packets that workers sent. One received packet may produce several.
    pub left: u64,
    /// The number of packets whose processing failed with an error.
    pub errors: u64,
    /// The number of packets whose output was compared with the expected output.
    pub checked: u64,
    /// The number of checked packets whose output differed from the expected output.
    pub wrong: u64,
    /// The number of update messages to the controller after which no table entry was written.
    pub unwritten: u64,
    /// The number of update messages that overwrote a newer value of a table entry, so that the
    /// newer value was lost.
    pub overwritten: u64,
    /// The number of entries of sharded tables that several workers wrote. Each worker writes its
    /// own copy of such an entry, so the copies differ.
    pub divided: u64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.processed += other.processed;
        self.left += other.left;
        self.errors += other.errors;
        self.checked += other.checked;
        self.wrong += other.wrong;
        self.unwritten += other.unwritten;
        self.overwritten += other.overwritten;
        self.divided += other.divided;
    }
}

/// The part of a throughput measurement that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The interpreter determines the expected output of each flow.
    Learning,
    /// An execution path is compared with the interpreter, and its caches and tables are warmed up.
    Comparing,
    /// The throughput of all cases (execution paths, update methods and numbers of cores) is
    /// measured.
    Measuring,
    /// Latencies are measured with packets at a fixed rate.
    Timing,
}

/// An observer of a measurement's progress, which may also stop the measurement.
pub trait Watch {
    /// Receives the current stage with the numbers of finished and of all steps in it. Returns
    /// whether the measurement is to continue.
    fn step(&mut self, stage: Stage, done: usize, of: usize) -> bool;

    /// Receives the results so far. It is called after each repetition of a case (an execution path
    /// with an update method, on a number of cores).
    fn measured(&mut self, _so_far: Findings) {}
}

impl<F: FnMut(Stage, usize, usize) -> bool> Watch for F {
    fn step(&mut self, stage: Stage, done: usize, of: usize) -> bool {
        self(stage, done, of)
    }
}

/// The observer to which a measurement reports its progress.
pub type Progress<'p> = dyn Watch + 'p;

/// Measures the throughput and latency of a workload, with packets that lie in memory.
///
/// # Errors
/// Returns a [`TrafficError`] if the program cannot be loaded, the controller of the update method
/// digest cannot be started, or the run is stopped before the first repetition.
pub fn run(
    workload: &Workload,
    settings: &Settings,
    progress: &mut Progress<'_>,
) -> Result<Findings, TrafficError> {
    run_methods(workload, &[], settings, progress)
}

/// Measures a workload in memory once for each of the given methods by which packets change the
/// table entries that they hit. If `methods` is empty, measures only the program's own method.
///
/// # Errors
/// Returns a [`TrafficError`] in the cases of [`run`], or if methods are given but the program's
/// packets change no entries.
pub fn run_methods(
    workload: &Workload,
    methods: &[UpdateMethod],
    settings: &Settings,
    progress: &mut Progress<'_>,
) -> Result<Findings, TrafficError> {
    if !methods.is_empty() && method::of_program(workload.program()).is_none() {
        return Err(TrafficError::NothingWritten);
    }
    if let Some(limit) = workload.outcomes() {
        return trees::run(workload, limit, settings, progress);
    }
    let variants: Vec<Variant> = match methods {
        [] => vec![Variant::AsWritten],
        methods => methods.iter().copied().map(Variant::Method).collect(),
    };
    let expected =
        Expected::learn(workload, &mut |done, of| progress.step(Stage::Learning, done, of))?;
    let mut subjects = Vec::new();
    for (position, path) in settings.paths.iter().enumerate() {
        if !progress.step(Stage::Comparing, position, settings.paths.len()) {
            return Err(TrafficError::Interrupted);
        }
        for variant in &variants {
            subjects.extend(prepare(workload, *variant, *path, settings)?);
        }
    }
    let asks_for_methods =
        subjects.iter().any(|subject| subject.case.method != UpdateMethod::Pointer);
    let mut findings = Findings { random_flows: expected.random(), ..Findings::new(Io::Memory) };
    in_turn(
        &mut subjects,
        settings,
        Stage::Measuring,
        &mut findings,
        progress,
        &mut |subject, settings| subject.repeat(&expected, settings),
    )?;
    for subject in subjects.iter_mut().filter(|_| !findings.interrupted) {
        subject.stages(settings)?;
        subject.table_access(settings)?;
    }
    in_turn(
        &mut subjects,
        settings,
        Stage::Timing,
        &mut findings,
        progress,
        &mut |subject, settings| {
            subject.open_loop(settings)?;
            if asks_for_methods {
                subject.until_seen(&expected, settings)?;
            }
            Ok(())
        },
    )?;
    findings.cases = subjects.into_iter().map(|subject| subject.case).collect();
    Ok(findings)
}

/// Calls `each`, which makes one measurement, for every case in every repetition. Within a
/// repetition, the cases take turns.
fn in_turn(
    subjects: &mut [Subject<'_>],
    settings: &Settings,
    stage: Stage,
    findings: &mut Findings,
    progress: &mut Progress<'_>,
    each: &mut dyn FnMut(&mut Subject<'_>, &Settings) -> Result<(), TrafficError>,
) -> Result<(), TrafficError> {
    let cases = subjects.len();
    for repetition in 0..settings.repetitions {
        for position in 0..cases {
            let done = repetition * cases + position;
            if findings.interrupted || !progress.step(stage, done, settings.repetitions * cases) {
                findings.interrupted = true;
                return Ok(());
            }
            let seed = settings.seed.wrapping_add(repetition as u64);
            let settings = &Settings { seed, ..settings.clone() };
            if stage == Stage::Measuring && position == 0 {
                findings.copied.push(copying(subjects[position].workload, settings));
            }
            each(&mut subjects[position], settings)?;
            progress.measured(so_far(findings, subjects));
        }
    }
    Ok(())
}

/// Returns the results so far of a measurement in progress, marked as interrupted, so that they can
/// be kept if the measurement is abandoned.
pub(crate) fn so_far(findings: &Findings, subjects: &[Subject<'_>]) -> Findings {
    let cases = subjects.iter().map(|subject| subject.case.clone()).collect();
    Findings { cases, interrupted: true, ..findings.clone() }
}

/// A measured case (an execution path with an update method, on a number of cores), with the switch
/// that processes its packets. The switch is `None` if the program could not be compiled for the
/// case.
pub(crate) struct Subject<'w> {
    pub(crate) case: Case,
    workload: &'w Workload,
    variant: Variant,
    /// The number of workers that are registered with the tables but process no packets. They make
    /// a single busy worker lock entries as it would beside other busy workers.
    idle_workers: usize,
    pub(crate) switch: Option<Arc<Switch>>,
}

/// Creates the cases of one execution path, one for each number of cores. Each case has its own
/// switch, which has already processed one packet of every flow.
pub(crate) fn prepare<'w>(
    workload: &'w Workload,
    variant: Variant,
    path: Path,
    settings: &Settings,
) -> Result<Vec<Subject<'w>>, TrafficError> {
    let comparison = check::compare(workload, variant, path, settings.seed)?;
    let mut subjects = Vec::new();
    for cores in &settings.cores {
        let mut switch = workload.switch(variant)?;
        let case = case_of(&mut switch, path, *cores, comparison.clone());
        let switch = case.refused.is_none().then(|| Arc::new(switch));
        if let Some(switch) = &switch {
            see_every_flow(switch, workload, settings);
        }
        subjects.push(Subject { case, workload, variant, idle_workers: 0, switch });
    }
    Ok(subjects)
}

/// Compiles the program of a switch, unless `path` is the interpreter. Returns a case (an execution
/// path on a number of cores) without results.
fn case_of(switch: &mut Switch, path: Path, cores: usize, comparison: Comparison) -> Case {
    let mut case = Case {
        path,
        method: method::of_program(switch.program()).unwrap_or_default(),
        cores,
        refused: None,
        interpreted: Vec::new(),
        loading: Duration::ZERO,
        code_bytes: 0,
        rates: Vec::new(),
        idle: Vec::new(),
        counts: Counts::default(),
        comparison,
        one_by_one: None,
        stages: None,
        table_access: None,
        latency: None,
        seen: None,
    };
    if path == Path::Compiled {
        // Loading is timed by the wall clock, because several threads generate code.
        let begin = Instant::now();
        match switch.compile() {
            Ok(code) => {
                case.code_bytes = code.code_size();
                case.one_by_one = code.one_by_one().map(str::to_owned);
                let steps = code.interpreted();
                case.interpreted =
                    steps.map(|(place, what)| (place.to_owned(), what.to_owned())).collect();
            }
            Err(error) => case.refused = Some(error.to_string()),
        }
        case.loading = begin.elapsed();
    }
    case
}

/// Processes one packet of every flow. Table entries then have the values that packets write to
/// them.
fn see_every_flow(switch: &Switch, workload: &Workload, settings: &Settings) {
    let mut processor = Processor::with_seed(settings.seed);
    let mut outputs = Vec::new();
    for packet in workload.packets().iter() {
        outputs.clear();
        let given = (workload.port(), packet);
        // Errors that occur here also occur in timed runs, where they are counted.
        let _ = processor.process(switch, given, NOW, &mut outputs);
        // Pending changes are applied here, so that entries have their final values when the clock
        // starts.
        switch.answer_entry_changes();
    }
}

impl Subject<'_> {
    fn repeat(&mut self, expected: &Expected, settings: &Settings) -> Result<(), TrafficError> {
        let (time, workload) = (settings.time, self.workload);
        let Some(switch) = &self.switch else { return Ok(()) };
        let changes = &Changes::new(switch)?;
        let workers = self.case.cores;
        let idle: Vec<Lane<'_>> = (0..self.idle_workers)
            .map(|_| {
                let number = WorkerNumber { worker: 0, workers };
                let mut lane = Lane::new(workload, switch, changes, number, settings);
                lane.warm_up(Duration::ZERO);
                lane
            })
            .collect();
        let (start, stop) = (Barrier::new(workers), AtomicBool::new(false));
        let results: Vec<(f64, Counts)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..workers)
                .map(|worker| {
                    let (start, stop) = (&start, &stop);
                    scope.spawn(move || {
                        let number = WorkerNumber { worker, workers };
                        let mut lane = Lane::new(workload, switch, changes, number, settings);
                        pin(worker);
                        // All workers join the tables before any clock starts.
                        lane.warm_up(settings.warm_up);
                        start.wait();
                        lane.run(expected, time, stop);
                        (lane.counts.processed as f64 / lane.spent.as_secs_f64(), lane.counts)
                    })
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        drop(idle);
        self.case.rates.push(results.iter().map(|(rate, _)| rate).sum());
        results.into_iter().for_each(|(_, counts)| self.case.counts.add(counts));
        self.case.counts.divided = switch.divided_entries();
        let delivered = changes.settle();
        self.case.counts.unwritten += delivered.unwritten;
        self.case.counts.overwritten += delivered.overwritten;
        Ok(())
    }

    /// Measures the cost of each stage of burst processing. This is done apart from the throughput,
    /// because reading the cycle counter slows processing down.
    fn stages(&mut self, settings: &Settings) -> Result<(), TrafficError> {
        let in_bursts = self.case.path == Path::Compiled && self.case.one_by_one.is_none();
        if in_bursts && CycleCounter::calibrate(CALIBRATION).is_some() {
            let stages = self.with_one_worker(settings, |lane| lane.stages(settings.time))?;
            self.case.stages = stages.flatten();
        }
        Ok(())
    }

    /// Runs `work` on a thread with a single worker and returns its result. Returns `None` for
    /// cases with several workers and for refused cases.
    fn with_one_worker<R: Send>(
        &self,
        settings: &Settings,
        work: impl FnOnce(&mut Lane<'_>) -> R + Send,
    ) -> Result<Option<R>, TrafficError> {
        let (Some(switch), 1) = (&self.switch, self.case.cores) else { return Ok(None) };
        let changes = &Changes::new(switch)?;
        let workload = self.workload;
        Ok(std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                pin(0);
                let alone = WorkerNumber { worker: 0, workers: 1 };
                let mut lane = Lane::new(workload, switch, changes, alone, settings);
                lane.warm_up(settings.warm_up);
                work(&mut lane)
            });
            thread.join().ok()
        }))
    }

    fn open_loop(&mut self, settings: &Settings) -> Result<(), TrafficError> {
        let Some(mean) = statistics::mean(&self.case.rates) else { return Ok(()) };
        let offered = mean * settings.load;
        let found = self.with_one_worker(settings, |lane| {
            let (began, ran) = (Instant::now(), thread_time());
            let times = lane.open_loop(offered, settings.time);
            let share =
                thread_time().saturating_sub(ran).as_secs_f64() / began.elapsed().as_secs_f64();
            (times, share)
        })?;
        if let Some((times, share)) = found {
            let nothing = || Latency { offered, times: Times::default(), lossy: 0, had_core: None };
            let latency = self.case.latency.get_or_insert_with(nothing);
            latency.times.push(times);
            latency.had_core = Some(latency.had_core.map_or(share, |least| least.min(share)));
        }
        Ok(())
    }

    fn until_seen(&mut self, expected: &Expected, settings: &Settings) -> Result<(), TrafficError> {
        if let Some(seen) =
            self.with_one_worker(settings, |lane| lane.until_seen(expected, settings.time))?
        {
            self.case.seen.get_or_insert_default().push(seen);
        }
        Ok(())
    }
}

/// Pins the calling thread to the core of the worker with this number. If that fails, the scheduler
/// chooses the core.
pub(crate) fn pin(worker: usize) {
    if let Some(core) = cores().ok().and_then(|cores| cores.get(worker).copied()) {
        let _ = pin_to(core);
    }
}

/// Returns the number of flows that belong to one worker: the flows `worker`, `worker + apart`,
/// `worker + 2 * apart` and so on. Returns 1 if there are none.
fn flow_count(workload: &Workload, worker: usize, apart: usize) -> usize {
    workload.packets().len().saturating_sub(worker).div_ceil(apart).max(1)
}

/// The number of a worker, from 0, and the number of all workers among which the flows are divided.
#[derive(Clone, Copy)]
struct WorkerNumber {
    worker: usize,
    workers: usize,
}

/// A worker, with the buffers for its packets and the counts of processed packets.
struct Lane<'w> {
    workload: &'w Workload,
    core: &'w Core,
    changes: &'w Changes,
    processor: Processor,
    random: ChaCha8Rng,
    /// The distribution from which the worker draws flows, or `None` if all flows are equally
    /// frequent.
    skew: Option<Zipf<f64>>,
    /// The number of the worker's first flow. The number of each further flow is higher by `apart`.
    first: usize,
    apart: usize,
    /// The packets of one turn, in which a worker processes packets between two readings of the
    /// clock.
    input: Ring,
    /// The flow of each packet in the input ring.
    flows: Vec<usize>,
    /// The hash of the expected output of each packet in the input ring, or `None` if it is not
    /// known.
    due: Vec<Option<Digest>>,
    /// The outputs of the packets in the input ring, one batch per burst.
    output: Vec<Batch>,
    /// Whether time is measured by the wall clock, instead of the processor time of the worker.
    is_timed_by_wall: bool,
    /// The time that processing has taken.
    spent: Duration,
    counts: Counts,
}

impl<'w> Lane<'w> {
    fn new(
        workload: &'w Workload,
        switch: &'w Switch,
        changes: &'w Changes,
        number: WorkerNumber,
        settings: &Settings,
    ) -> Self {
        let WorkerNumber { worker, workers } = number;
        let seed = settings.seed;
        let longest = workload.packets().longest();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(worker as u64);
        let (worker, apart) = if settings.any_core { (0, 1) } else { (worker, workers) };
        let own = flow_count(workload, worker, apart);
        let skew = (settings.skew > 0.0).then(|| Zipf::new(own as f64, settings.skew).ok());
        Self {
            workload,
            core: switch,
            changes,
            processor: Processor::with_seed(seed),
            random,
            skew: skew.flatten(),
            first: worker,
            apart,
            input: Ring::new(TURN, longest),
            flows: vec![0; TURN],
            due: vec![None; TURN],
            output: std::iter::repeat_with(Batch::default).take(TURN / BURST).collect(),
            is_timed_by_wall: settings.by_wall_clock || changes.needs_wall_clock(),
            spent: Duration::ZERO,
            counts: Counts::default(),
        }
    }

    /// Processes and checks rings of packets until `stop` is set. The worker sets `stop` itself
    /// when `time` has passed. If table updates are sent by way of a controller, the worker then
    /// waits until the switch has applied or refused all of them.
    fn run(&mut self, expected: &Expected, time: Duration, stop: &AtomicBool) {
        let begin = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            self.fill(expected);
            let spent = if self.is_timed_by_wall {
                let at = Instant::now();
                self.process();
                at.elapsed()
            } else {
                let started = thread_time();
                self.process();
                processor_time_since(started)
            };
            self.spent += spent;
            self.counts.processed += TURN as u64;
            self.check();
            self.processor.take_digests();
            // The first worker that finishes ends the repetition for all, so that no worker runs
            // alone.
            if begin.elapsed() >= time {
                stop.store(true, Ordering::Relaxed);
            }
        }
        let at = Instant::now();
        self.changes.settle();
        self.spent += at.elapsed();
    }

    /// Processes packets for this time without measuring, but at least one ring of packets. A
    /// worker's first packets register it with the tables and allocate its memory, which must not
    /// count.
    fn warm_up(&mut self, time: Duration) {
        reading();
        let begin = Instant::now();
        loop {
            self.fill(&Expected::unknown());
            self.process();
            self.processor.take_digests();
            if begin.elapsed() >= time {
                return;
            }
        }
    }

    /// Fills the input ring with packets of random flows of this worker, and records their expected
    /// outputs.
    fn fill(&mut self, expected: &Expected) {
        let packets = self.workload.packets();
        let own = flow_count(self.workload, self.first, self.apart);
        for flow in &mut self.flows {
            let number = match &self.skew {
                Some(skew) => (self.random.sample(skew) as usize).clamp(1, own) - 1,
                None => self.random.random_range(0..own),
            };
            let chosen = number * self.apart + self.first;
            *flow = chosen.min(packets.len() - 1);
        }
        let take = |position: usize, packet: &[u8]| {
            self.input.put(position, packet);
            self.due[position] = expected.of(self.flows[position]);
        };
        packets.each_once(&self.flows, |flow| expected.prefetch(flow), take);
    }

    /// Processes all packets of the input ring in bursts, and delivers the entry changes of each
    /// burst.
    fn process(&mut self) {
        let port = self.workload.port();
        let mut input = self.input.iter();
        for output in &mut self.output {
            let packets: [_; BURST] =
                std::array::from_fn(|_| (port, input.next().unwrap_or_default()));
            self.processor.process_batch(self.core, &packets, NOW, output);
            self.changes.deliver(self.core);
        }
    }

    /// Processes packets for the duration `time`. Returns the cycles that this took by the
    /// processor's counter, and the number of packets.
    fn cycles(&mut self, time: Duration) -> (u64, u64) {
        let begin = Instant::now();
        let (mut spent, mut packets) = (0, 0);
        while packets == 0 || begin.elapsed() < time {
            self.fill(&Expected::unknown());
            let started = cycles::begin();
            self.process();
            spent += cycles::end().saturating_sub(started);
            packets += TURN as u64;
            self.processor.take_digests();
        }
        (spent, packets)
    }

    fn stages(&mut self, time: Duration) -> Option<Stages> {
        self.processor.time_stages(Some(cycles::begin));
        let (spent, packets) = self.cycles(time);
        let times = self.processor.stage_times()?;
        let per_packet = |cycles: u64| cycles as f64 / packets.max(1) as f64;
        let around = spent.saturating_sub(times.parser + times.after_parser);
        Some(Stages {
            parser: per_packet(times.parser),
            after_parser: per_packet(times.after_parser),
            around: per_packet(around),
        })
    }

    fn check(&mut self) {
        for (due, output) in self.due.chunks(BURST).zip(&self.output) {
            self.counts.errors += output.errors().len() as u64;
            self.counts.left += output.sent().len() as u64;
            let mut sent = output.sent().peekable();
            for (position, due) in due.iter().enumerate() {
                let of_packet = std::iter::from_fn(|| {
                    let (_, port, bytes) = sent.next_if(|(from, _, _)| *from == position)?;
                    Some((port, bytes))
                });
                match due {
                    Some(due) => {
                        self.counts.checked += 1;
                        self.counts.wrong += u64::from(check::digest(of_packet) != *due);
                    }
                    None => of_packet.for_each(drop),
                }
            }
        }
    }

    /// Offers packets at a fixed rate for this time and returns a histogram of their latencies in
    /// nanoseconds. A packet's latency begins at the time at which it should have arrived, even if
    /// the worker was still busy with earlier packets.
    fn open_loop(&mut self, offered: f64, time: Duration) -> Histogram<u64> {
        let mut histogram = times::empty();
        let gap = 1e9 / offered;
        let due = |number: u64| (number as f64 * gap) as u64;
        let port = self.workload.port();
        let begin = Instant::now();
        let now = || u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let end = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let mut packets: Vec<(u32, &[u8])> = Vec::with_capacity(BURST);
        let mut number = 0;
        loop {
            let mut time = now();
            if due(number) > end {
                return histogram;
            }
            while due(number) > time {
                std::hint::spin_loop();
                time = now();
            }
            let first = number;
            packets.clear();
            while packets.len() < BURST && due(number) <= time {
                packets.push((port, self.input.get(number as usize % TURN)));
                number += 1;
            }
            let output = &mut self.output[first as usize / BURST % (TURN / BURST)];
            self.processor.process_batch(self.core, &packets, NOW, output);
            self.changes.deliver(self.core);
            let done = now();
            for packet in first..number {
                histogram.saturating_record(done.saturating_sub(due(packet)).max(1));
            }
            if first % (1 << 16) == 0 {
                self.processor.take_digests();
            }
        }
    }
}

impl Lane<'_> {
    /// Returns a histogram of the times, in nanoseconds, until a change of a table entry is
    /// visible.
    ///
    /// Each sample resets the entry of a random flow and processes a packet of the flow, which
    /// changes the entry. It then repeats the packet until the output shows that the packet found
    /// the new value.
    fn until_seen(&mut self, expected: &Expected, time: Duration) -> Histogram<u64> {
        let mut histogram = times::empty();
        let port = self.workload.port();
        let begin = Instant::now();
        let mut output = Batch::default();
        while begin.elapsed() < time && expected.learnt() > 0 {
            let flow = self.random.random_range(0..expected.learnt());
            let packet = [(port, &self.workload.packets()[flow])];
            let Some((table, entry)) = self.workload.entry_of(flow) else { continue };
            if self.core.modify_entry(*table, entry.clone(), NOW).is_err() {
                return histogram;
            }
            let start = Instant::now();
            self.processor.process_batch(self.core, &packet, NOW, &mut output);
            self.changes.deliver(self.core);
            loop {
                let waited = start.elapsed();
                self.processor.process_batch(self.core, &packet, NOW, &mut output);
                // Only the message of the first packet is delivered.
                drop(self.core.take_entry_changes());
                self.processor.take_digests();
                let sent = output.sent().map(|(_, port, bytes)| (port, bytes));
                match expected.of(flow).map(|due| check::digest(sent) == due) {
                    Some(true) => {
                        let nanoseconds = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
                        histogram.saturating_record(nanoseconds.max(1));
                        break;
                    }
                    Some(false) if waited < TIMEOUT => {}
                    _ => break,
                }
            }
        }
        histogram
    }
}

/// Returns the processor time that this thread has used since its processor-time clock showed
/// `started`. The cost of reading the clock is subtracted. The reading is a system call and takes a
/// few per cent of the time to process a ring of packets.
fn processor_time_since(started: Duration) -> Duration {
    thread_time().saturating_sub(started).saturating_sub(reading())
}

/// Returns the least cost of reading a thread's processor-time clock. The first call measures the
/// cost.
fn reading() -> Duration {
    static LEAST: OnceLock<Duration> = OnceLock::new();
    *LEAST.get_or_init(|| {
        let readings = std::iter::repeat_with(|| {
            let before = thread_time();
            thread_time().saturating_sub(before)
        });
        readings.take(READINGS).min().unwrap_or_default()
    })
}

/// Returns the rate, in packets per second, of a loop that copies packets from ring to ring and
/// runs no program: an upper limit for any program.
fn copying(workload: &Workload, settings: &Settings) -> f64 {
    let longest = workload.packets().longest();
    let mut random = ChaCha8Rng::seed_from_u64(settings.seed);
    let mut input = Ring::new(TURN, longest);
    let mut output = Ring::new(TURN, longest);
    let (mut spent, mut copied) = (Duration::ZERO, 0u64);
    reading();
    let begin = Instant::now();
    while begin.elapsed() < settings.time / 4 {
        for position in 0..TURN {
            let flow = random.random_range(0..workload.packets().len());
            input.put(position, &workload.packets()[flow]);
        }
        let started = thread_time();
        for position in 0..TURN {
            output.put(position, std::hint::black_box(input.get(position)));
        }
        spent += processor_time_since(started);
        std::hint::black_box(&output);
        copied += TURN as u64;
    }
    copied as f64 / spent.as_secs_f64()
}
