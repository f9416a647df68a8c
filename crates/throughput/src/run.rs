//! Turns under the clock.
//!
//! A turn is some thousand packets of random flows that lie in memory as a card leaves them. While the clock stands still
//! they are put there; while it runs, each is processed, and what leaves stays where its burst put it, apart from the
//! input, where a card would take it from; then the clock stands again and what left is checked. So neither the making
//! nor the checking of packets is in the figure, and both input and output are warm in the cache, as a card that writes
//! there leaves them.
//!
//! Repetitions of all cases take turns, so that what changes on the machine meanwhile meets all of them alike. Rates are
//! per second of the processor time of the threads that process packets, and by the wall clock where entries are changed
//! by other methods than pointer, until the last is written.

mod table_access;

pub use table_access::TableAccess;

use crate::check::{self, Comparison, Digest, Expected, NOW};
use crate::method::{self, Changes};
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

/// Packets of a turn: as many as the ring of a card has by default, so that they lie near.
const TURN: usize = 512;
/// How long the cycle counter is compared with the clock.
const CALIBRATION: Duration = Duration::from_millis(2);

/// Readings of a clock of which the shortest says what one takes.
const READINGS: usize = 1000;

/// How long a new value of an entry is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Ways through the program.
    pub paths: Vec<Path>,
    /// Numbers of cores, each with one worker.
    pub cores: Vec<usize>,
    /// Repetitions of each case.
    pub repetitions: usize,
    /// How long a repetition takes, with what is done while its clock stands.
    pub time: Duration,
    /// Offered rate of the open loop, as a share of what was reached.
    pub load: f64,
    /// Exponent of Zipf's law by which flows are drawn, the first most often; zero draws all alike.
    pub skew: f64,
    /// Every core draws all flows, so that packets of several cores meet in one entry; or each flow stays on its core.
    pub any_core: bool,
    /// Where random choices start.
    pub seed: u64,
}

/// What was found.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Findings {
    /// Where packets came from and went.
    pub io: Io,
    /// In the order of the settings: paths, and cores within.
    pub cases: Vec<Case>,
    /// Packets per second that the same loop copies in and out when nothing is done with them; one per repetition. Between
    /// ports, packets that a worker without a program sends back.
    pub copied: Vec<f64>,
    /// Flows whose packets draw random numbers: what leaves for them is not checked while the clock runs.
    #[serde(default)]
    pub random_flows: usize,
    /// Stopped before its end.
    pub interrupted: bool,
}

impl Findings {
    /// Returns the findings of a run before its first repetition.
    #[must_use]
    pub fn new(io: Io) -> Self {
        Self { io, cases: Vec::new(), copied: Vec::new(), random_flows: 0, interrupted: false }
    }
}

/// A path on some cores.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Case {
    /// Which way.
    pub path: Path,
    /// How packets change entries.
    pub method: UpdateMethod,
    /// Workers.
    pub cores: usize,
    /// Why it could not be run; there are no figures then.
    pub refused: Option<String>,
    /// Steps that machine code leaves to the interpreter: where, and what it lacks.
    pub interpreted: Vec<(String, String)>,
    /// How long the program took to load, from the IR.
    pub loading: Duration,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Packets per second over all workers, for each repetition.
    pub rates: Vec<f64>,
    /// Between ports, the share of its processor time in which the worker had no packet, for each repetition. It is not in the
    /// rate.
    #[serde(default)]
    pub idle: Vec<f64>,
    /// Of the packets under the clock.
    pub counts: Counts,
    /// Against the interpreter, before the clock ran.
    pub comparison: Comparison,
    /// Why packets of the program do not go in bursts.
    pub one_by_one: Option<String>,
    /// Where the time of a packet goes on one core, measured in turns of their own.
    pub stages: Option<Stages>,
    /// What of it tables take, measured in turns of their own; nothing where machine code has no table itself.
    pub table_access: Option<TableAccess>,
    /// From when a packet is due to when its output is in place, in nanoseconds, in an open loop.
    pub latency: Option<Latency>,
    /// From when a packet comes that changes an entry to when one comes that finds the new value, in nanoseconds, with
    /// nothing else going on; where methods were asked for.
    pub seen: Option<Times>,
}

/// Cycles of the processor's counter for each packet in a burst, in one worker.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stages {
    /// The packet is copied to where it leaves from and parsed, and the cache is asked for its entries.
    pub parser: f64,
    /// Tables, actions, checksums, deparser.
    pub behind_parser: f64,
    /// What is done once for each burst, and what the loop around it takes.
    pub around: f64,
}

/// Latency in an open loop of one worker.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Latency {
    /// Packets per second offered.
    pub offered: f64,
    /// From due to done.
    pub times: Times,
    /// Repetitions in which packets were lost, of which there are no times: only between ports.
    pub lossy: usize,
    /// Share of the time for which the worker, which never waits, had its core in the worst repetition: while other processes had
    /// it, packets waited. Not told between ports, where workers may wait.
    pub had_core: Option<f64>,
}

/// What became of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Given to workers.
    pub processed: u64,
    /// Packets that left.
    pub left: u64,
    /// Packets that could not be processed to their end.
    pub errors: u64,
    /// Held against what must leave.
    pub checked: u64,
    /// Of those, with another output.
    pub wrong: u64,
    /// Messages of packets for which no entry was written.
    pub unwritten: u64,
    /// Messages that were written over something else than their packets had found there, which is lost.
    pub overwritten: u64,
    /// Entries of sharded tables that packets of several workers wrote, each going on from its own value.
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

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The interpreter learns what must leave.
    Learning,
    /// A path is compared with the interpreter, then warmed up.
    Comparing,
    /// The clock runs.
    Measuring,
    /// Packets become due at a fixed rate.
    Timing,
}

/// What a caller learns of a run while it goes on.
pub trait Watch {
    /// Takes where the run is, and how much of how much is done there; returns whether to go on.
    fn step(&mut self, stage: Stage, done: usize, of: usize) -> bool;

    /// Takes what has been measured so far, after each repetition of a case.
    fn measured(&mut self, _so_far: Findings) {}
}

impl<F: FnMut(Stage, usize, usize) -> bool> Watch for F {
    fn step(&mut self, stage: Stage, done: usize, of: usize) -> bool {
        self(stage, done, of)
    }
}

/// The watch that a run reports to.
pub type Progress<'p> = dyn Watch + 'p;

/// Measures a workload.
///
/// # Errors
/// If the program cannot be loaded, or the run is stopped before anything was measured.
pub fn run(
    workload: &Workload,
    settings: &Settings,
    progress: &mut Progress<'_>,
) -> Result<Findings, TrafficError> {
    run_methods(workload, &[], settings, progress)
}

/// Measures methods by which packets change the entries that they hit, one beside the other; without one, as the program says.
///
/// # Errors
/// As [`run`]; and if packets of the program change none.
pub fn run_methods(
    workload: &Workload,
    methods: &[UpdateMethod],
    settings: &Settings,
    progress: &mut Progress<'_>,
) -> Result<Findings, TrafficError> {
    if !methods.is_empty() && method::of_program(workload.program()).is_none() {
        return Err(TrafficError::NothingWritten);
    }
    let asked: Vec<Option<UpdateMethod>> = match methods {
        [] => vec![None],
        methods => methods.iter().copied().map(Some).collect(),
    };
    let expected =
        Expected::learn(workload, &mut |done, of| progress.step(Stage::Learning, done, of))?;
    let mut subjects = Vec::new();
    for (position, path) in settings.paths.iter().enumerate() {
        if !progress.step(Stage::Comparing, position, settings.paths.len()) {
            return Err(TrafficError::Interrupted);
        }
        for method in &asked {
            subjects.extend(prepare(workload, *method, *path, settings)?);
        }
    }
    let asks_for_methods =
        subjects.iter().any(|subject| subject.case.method != UpdateMethod::Pointer);
    let mut findings = Findings { random_flows: expected.random(), ..Findings::new(Io::Memory) };
    let cases = subjects.len();
    'repetitions: for repetition in 0..settings.repetitions {
        for position in 0..cases {
            let done = repetition * cases + position;
            if !progress.step(Stage::Measuring, done, settings.repetitions * cases) {
                findings.interrupted = true;
                break 'repetitions;
            }
            if position == 0 {
                findings.copied.push(copying(workload, settings, repetition));
            }
            let seed = settings.seed.wrapping_add(repetition as u64);
            let settings = Settings { seed, ..settings.clone() };
            subjects[position].repeat(&expected, &settings)?;
            progress.measured(so_far(&findings, &subjects));
        }
    }
    for subject in subjects.iter_mut().filter(|_| !findings.interrupted) {
        subject.stages(settings)?;
        subject.table_access(settings)?;
    }
    'times: for repetition in 0..settings.repetitions {
        for position in 0..cases {
            let done = repetition * cases + position;
            if findings.interrupted
                || !progress.step(Stage::Timing, done, settings.repetitions * cases)
            {
                findings.interrupted = true;
                break 'times;
            }
            let seed = settings.seed.wrapping_add(repetition as u64);
            let settings = Settings { seed, ..settings.clone() };
            subjects[position].open_loop(&settings)?;
            if asks_for_methods {
                subjects[position].until_seen(&expected, &settings)?;
            }
            progress.measured(so_far(&findings, &subjects));
        }
    }
    findings.cases = subjects.into_iter().map(|subject| subject.case).collect();
    Ok(findings)
}

/// Returns the findings with the cases as they are now, for a run that may be left behind before its end.
pub(crate) fn so_far(findings: &Findings, subjects: &[Subject<'_>]) -> Findings {
    let cases = subjects.iter().map(|subject| subject.case.clone()).collect();
    Findings { cases, interrupted: true, ..findings.clone() }
}

/// A case and the switch that it runs on.
pub(crate) struct Subject<'w> {
    pub(crate) case: Case,
    workload: &'w Workload,
    pub(crate) switch: Option<Arc<Switch>>,
}

/// The cases of one path, each on a switch of its own that has seen every flow.
pub(crate) fn prepare<'w>(
    workload: &'w Workload,
    method: Option<UpdateMethod>,
    path: Path,
    settings: &Settings,
) -> Result<Vec<Subject<'w>>, TrafficError> {
    let comparison = check::compare(workload, method, path, settings.seed)?;
    let mut subjects = Vec::new();
    for cores in &settings.cores {
        let mut switch = workload.switch(method)?;
        let method = method::of_program(switch.program()).unwrap_or_default();
        let mut case = Case {
            path,
            method,
            cores: *cores,
            refused: None,
            interpreted: Vec::new(),
            loading: Duration::ZERO,
            code_bytes: 0,
            rates: Vec::new(),
            idle: Vec::new(),
            counts: Counts::default(),
            comparison: comparison.clone(),
            one_by_one: None,
            stages: None,
            table_access: None,
            latency: None,
            seen: None,
        };
        if path == Path::Compiled {
            // By the wall clock, since code is made on several threads.
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
        if case.refused.is_some() {
            subjects.push(Subject { case, workload, switch: None });
            continue;
        }
        let switch = Arc::new(switch);
        see_every_flow(&switch, workload, settings);
        subjects.push(Subject { case, workload, switch: Some(switch) });
    }
    Ok(subjects)
}

/// Has a packet of each flow processed.
fn see_every_flow(switch: &Switch, workload: &Workload, settings: &Settings) {
    let mut processor = Processor::with_seed(settings.seed);
    let mut outputs = Vec::new();
    for packet in workload.packets().iter() {
        outputs.clear();
        let given = (workload.port(), packet);
        // What fails here fails under the clock too, and is counted there.
        let _ = processor.process(switch, given, NOW, &mut outputs);
        // Entries are as the flows want them when the clock starts.
        switch.answer_entry_changes();
    }
}

impl Subject<'_> {
    fn repeat(&mut self, expected: &Expected, settings: &Settings) -> Result<(), TrafficError> {
        let (time, workload) = (settings.time, self.workload);
        let Some(switch) = &self.switch else { return Ok(()) };
        let changes = &Changes::new(switch)?;
        let workers = self.case.cores;
        let (start, stop) = (Barrier::new(workers), AtomicBool::new(false));
        let results: Vec<(f64, Counts)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..workers)
                .map(|worker| {
                    let (start, stop) = (&start, &stop);
                    scope.spawn(move || {
                        let number = WorkerNumber { worker, workers };
                        let mut lane = Lane::new(workload, switch, changes, number, settings);
                        pin(worker);
                        // All have joined the tables before any clock runs.
                        lane.warm_up();
                        start.wait();
                        lane.run(expected, time, stop);
                        (lane.counts.processed as f64 / lane.spent.as_secs_f64(), lane.counts)
                    })
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        self.case.rates.push(results.iter().map(|(rate, _)| rate).sum());
        results.into_iter().for_each(|(_, counts)| self.case.counts.add(counts));
        self.case.counts.divided = switch.divided_entries();
        let delivered = changes.settle();
        self.case.counts.unwritten += delivered.unwritten;
        self.case.counts.overwritten += delivered.overwritten;
        Ok(())
    }

    /// Turns in which the stages are timed: that takes time, so they are in no rate.
    fn stages(&mut self, settings: &Settings) -> Result<(), TrafficError> {
        let in_bursts = self.case.path == Path::Compiled && self.case.one_by_one.is_none();
        if in_bursts && CycleCounter::calibrate(CALIBRATION).is_some() {
            let stages = self.alone(settings, |lane| lane.stages(settings.time))?;
            self.case.stages = stages.flatten();
        }
        Ok(())
    }

    /// What one worker alone does; nothing for cases of several.
    fn alone<R: Send>(
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
                lane.warm_up();
                work(&mut lane)
            });
            thread.join().ok()
        }))
    }

    fn open_loop(&mut self, settings: &Settings) -> Result<(), TrafficError> {
        let Some(mean) = statistics::mean(&self.case.rates) else { return Ok(()) };
        let offered = mean * settings.load;
        let found = self.alone(settings, |lane| {
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
        if let Some(seen) = self.alone(settings, |lane| lane.until_seen(expected, settings.time))? {
            self.case.seen.get_or_insert_default().push(seen);
        }
        Ok(())
    }
}

/// Keeps a worker on a core; where that is not allowed, the scheduler places it.
pub(crate) fn pin(worker: usize) {
    if let Some(core) = cores().ok().and_then(|cores| cores.get(worker).copied()) {
        let _ = pin_to(core);
    }
}

/// How many flows are a worker's, each so many behind the one before.
fn own(workload: &Workload, worker: usize, apart: usize) -> usize {
    workload.packets().len().saturating_sub(worker).div_ceil(apart).max(1)
}

/// One of the workers that share the flows.
#[derive(Clone, Copy)]
struct WorkerNumber {
    worker: usize,
    workers: usize,
}

/// A worker with its packets.
struct Lane<'w> {
    workload: &'w Workload,
    core: &'w Core,
    changes: &'w Changes,
    processor: Processor,
    random: ChaCha8Rng,
    /// Numbers of flows from one on, if some come more often.
    skew: Option<Zipf<f64>>,
    /// The worker's first flow, and how far the next is from it.
    first: usize,
    apart: usize,
    input: Ring,
    /// Of the packets in the input.
    flows: Vec<usize>,
    /// What must leave for them.
    due: Vec<Option<Digest>>,
    /// What each burst became.
    output: Vec<Batch>,
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
        let own = own(workload, worker, apart);
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
            spent: Duration::ZERO,
            counts: Counts::default(),
        }
    }

    fn run(&mut self, expected: &Expected, time: Duration, stop: &AtomicBool) {
        let begin = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            self.fill(expected);
            let spent = if self.changes.are_waited_for() {
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
            // The first that is done ends the repetition for all, so that none runs alone.
            if begin.elapsed() >= time {
                stop.store(true, Ordering::Relaxed);
            }
        }
        let at = Instant::now();
        self.changes.settle();
        self.spent += at.elapsed();
    }

    /// A turn without a clock: a worker's first packets join it to the tables and make its memory.
    fn warm_up(&mut self) {
        reading();
        self.fill(&Expected::nothing());
        self.process();
        self.processor.take_digests();
    }

    /// Puts packets of random flows of this worker's into the input, and keeps what must leave for them.
    fn fill(&mut self, expected: &Expected) {
        let packets = self.workload.packets();
        let own = own(self.workload, self.first, self.apart);
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
        packets.each_once(&self.flows, |flow| expected.ask_for(flow), take);
    }

    /// Processes all of the input.
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

    /// Cycles that packets take, and how many packets.
    fn cycles(&mut self, time: Duration) -> (u64, u64) {
        let begin = Instant::now();
        let (mut spent, mut packets) = (0, 0);
        while packets == 0 || begin.elapsed() < time {
            self.fill(&Expected::nothing());
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
        let around = spent.saturating_sub(times.parser + times.behind_parser);
        Some(Stages {
            parser: per_packet(times.parser),
            behind_parser: per_packet(times.behind_parser),
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

    /// Packets become due at a fixed rate, whether or not those before are done.
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
    /// Sets an entry back, lets its packet change it, and sends the packet again until it finds what it wrote.
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
                // Only the first packet's message is delivered.
                drop(self.core.take_entry_changes());
                self.processor.take_digests();
                let sent = output.sent().map(|(_, port, bytes)| (port, bytes));
                match expected.of(flow).map(|due| check::digest(sent) == due) {
                    Some(true) => {
                        let nanoseconds = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
                        histogram.saturating_record(nanoseconds.max(1));
                        break;
                    }
                    Some(false) if waited < PATIENCE => {}
                    _ => break,
                }
            }
        }
        histogram
    }
}

/// What the thread ran since a reading of its clock, without what a reading takes: that is a call of the kernel, which is
/// a few per cent of a turn.
fn processor_time_since(started: Duration) -> Duration {
    thread_time().saturating_sub(started).saturating_sub(reading())
}

/// What a reading of a thread's clock takes at least; the first call finds out.
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

/// How fast the loop is that only copies packets in and out.
fn copying(workload: &Workload, settings: &Settings, repetition: usize) -> f64 {
    let longest = workload.packets().longest();
    let mut random = ChaCha8Rng::seed_from_u64(settings.seed.wrapping_add(repetition as u64));
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
