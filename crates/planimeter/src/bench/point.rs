//! The measurement of one point of `planimeter bench`: a program with its packets.
//!
//! A separate thread measures the point. It checks for an interrupt between steps, but a step, such
//! as the generation of code or a repetition, may be long. After an interrupt, the results so far
//! are therefore taken from the thread, which is abandoned.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::throughput::UpdateMethod;
use ::throughput::ports::{Io, run_on};
use ::throughput::run::{Findings, Settings, Stage, Watch, run_methods};
use ::throughput::traffic::{Reach, TrafficError, Wanted, Workload};
use ir::Program;
use report::throughput;

use super::scenarios::Scenario;
use crate::interrupt;
use crate::progress::Steps;

/// The time that a solver may take to compute packets for tables that generated packets do not hit,
/// unless the user names another.
pub(crate) const SOLVING: Duration = Duration::from_secs(60);

/// The program that is measured, its ports, and the methods by which its packets update entries.
#[derive(Clone)]
pub(super) struct Subject {
    pub(super) program: Program,
    pub(super) io: Io,
    /// The update methods to measure; if empty, the program decides.
    pub(super) methods: Vec<UpdateMethod>,
}

/// The packets with which a program is measured: generated for the program, read from a capture
/// file, or those of a scenario.
#[derive(Clone, Debug)]
pub(super) enum Traffic {
    Made {
        wanted: Wanted,
        /// The time that a solver may take to compute packets for tables that generated packets do
        /// not hit.
        solving: Duration,
    },
    Given(Vec<Vec<u8>>),
    Scenario(Arc<Scenario>),
}

impl Traffic {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Made { wanted, .. } => format!("{} entries", wanted.flows),
            Self::Given(packets) => format!("{} packets", packets.len()),
            Self::Scenario(scenario) => scenario.name.clone(),
        }
    }

    /// Returns the name of the scenario, or `None` if the packets are not those of a scenario.
    fn scenario(&self) -> Option<String> {
        match self {
            Self::Scenario(scenario) => Some(scenario.name.clone()),
            Self::Made { .. } | Self::Given(_) => None,
        }
    }
}

/// The outside world of a measurement: the progress line that it updates, and the flag that
/// interrupts it.
pub(super) struct Audience {
    steps: Arc<Mutex<Steps>>,
    interrupt: Arc<AtomicBool>,
}

impl Audience {
    pub(super) fn new(quiet: bool, interrupt: &Arc<AtomicBool>) -> Self {
        let steps = Arc::new(Mutex::new(Steps::new(quiet)));
        Self { steps, interrupt: interrupt.clone() }
    }

    /// Measures a program with the packets of `traffic`. After an interrupt, the returned point
    /// contains only the repetitions that were complete.
    pub(super) fn point(
        &self,
        subject: &Subject,
        traffic: Traffic,
        settings: &Settings,
    ) -> Result<throughput::Point, TrafficError> {
        let kept = Arc::new(Mutex::new(None));
        let mut watcher = Watcher {
            steps: self.steps.clone(),
            interrupt: self.interrupt.clone(),
            what: traffic.name(),
            kept: kept.clone(),
            workload: None,
        };
        let (subject, settings) = (subject.clone(), settings.clone());
        let work = move || watcher.measure(&subject, traffic, &settings);
        match interrupt::abandonable(&self.interrupt, work) {
            Ok(Some(measured)) => measured,
            Ok(None) => locked(&kept).take().ok_or(TrafficError::Interrupted),
            Err(error) => Err(TrafficError::Thread(error)),
        }
    }
}

/// The receiver of progress reports from the thread that measures a point. It shows the progress
/// and keeps the results of the completed repetitions.
struct Watcher {
    steps: Arc<Mutex<Steps>>,
    interrupt: Arc<AtomicBool>,
    what: String,
    /// The measured point as of the last complete repetition, or `None` before the first.
    kept: Arc<Mutex<Option<throughput::Point>>>,
    /// The description of the program and its packets, without results, or `None` until the packets
    /// exist.
    workload: Option<throughput::Point>,
}

impl Watcher {
    fn measure(
        &mut self,
        subject: &Subject,
        traffic: Traffic,
        settings: &Settings,
    ) -> Result<throughput::Point, TrafficError> {
        let mut filling = |done, of| self.show("generating entries", done, of);
        let (program, scenario) = (subject.program.clone(), traffic.scenario());
        let workload = match traffic {
            Traffic::Made { wanted, solving } => {
                let reach = Reach { only: None, time: solving };
                Workload::reaching(program, wanted, reach, &mut filling)?
            }
            Traffic::Given(packets) => Workload::from_packets(program, packets, &mut filling)?,
            Traffic::Scenario(scenario) => {
                let given = scenario.given(&program).map_err(TrafficError::Setup)?;
                Workload::given(program, given, &mut filling)?
            }
        };
        self.workload = Some(point(&workload, scenario.clone(), Findings::new(subject.io)));
        let findings = match subject.io {
            Io::Memory => run_methods(&workload, &subject.methods, settings, self)?,
            io => run_on(io, &workload, settings, self)?,
        };
        Ok(point(&workload, scenario, findings))
    }

    /// Shows the progress of a measurement. Returns whether to continue, which is false after an
    /// interrupt.
    fn show(&self, stage: &str, done: usize, of: usize) -> bool {
        locked(&self.steps).show(done as u64, of as u64, format!("{}: {stage}", self.what));
        !self.interrupt.load(Ordering::Relaxed)
    }
}

/// Returns a name of a stage of a measurement for the progress line.
pub(crate) fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Learning => "computing the expected packets",
        Stage::Comparing => "comparing with the interpreter",
        Stage::Measuring => "measuring",
        Stage::Timing => "timing packets",
    }
}

impl Watch for Watcher {
    fn step(&mut self, stage: Stage, done: usize, of: usize) -> bool {
        self.show(stage_name(stage), done, of)
    }

    fn measured(&mut self, so_far: Findings) {
        let kept =
            self.workload.clone().map(|point| throughput::Point { findings: so_far, ..point });
        *locked(&self.kept) = kept;
    }
}

/// Measures a program with packets that are generated for it. The packets stay in memory and pass
/// no ports.
pub(crate) fn made(
    program: &Program,
    wanted: Wanted,
    settings: &Settings,
    interrupt: &Arc<AtomicBool>,
    quiet: bool,
) -> Result<throughput::Point, TrafficError> {
    let subject = Subject { program: program.clone(), io: Io::Memory, methods: Vec::new() };
    let traffic = Traffic::Made { wanted, solving: SOLVING };
    Audience::new(quiet, interrupt).point(&subject, traffic, settings)
}

fn point(workload: &Workload, scenario: Option<String>, findings: Findings) -> throughput::Point {
    let packets = workload.packets();
    let entries = workload.entries_by_table();
    let (solved, unhit) = (workload.solved_tables().iter(), workload.unhit_tables().iter());
    throughput::Point {
        scenario,
        flows: packets.len(),
        packet_bytes: packets.bytes() as f64 / packets.len() as f64,
        entries: entries.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        leaving: workload.leaving(),
        notes: workload.notes().to_vec(),
        solved: solved.map(|one| (one.table.clone(), one.flows)).collect(),
        unhit: unhit.map(|one| (one.table.clone(), one.reason.clone())).collect(),
        findings,
    }
}

/// Locks a mutex, even if a thread panicked while holding it. This is safe here: a measured point
/// is only ever replaced as a whole, and a progress line that is half updated does no harm.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
