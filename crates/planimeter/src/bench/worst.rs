//! `planimeter bench --worst`: searches for the packets and entries that cost most, and measures
//! them beside the prediction.
//!
//! The cost of a path is the sum of what its parts cost: statements, branches, parser states, hits
//! and actions. These costs are fitted to the cycles of generated packets that reach all of the
//! program. A solver then finds the feasible path with the largest sum, its packet and its entries,
//! and proves which sum no packet exceeds. The packets of these paths are measured like the others.

mod document;

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use ::throughput::run::{Repeated, Settings, repeated};
use ::throughput::traffic::{Given, Setup, TrafficError, Workload};
use device::{Level, Model, SettingModel};
use ir::{Program, with_large_stack};
use packetio::cycles::CycleCounter;
use pipeline::{Path, Switch};
use statistics::non_negative_fit;
use stf::{Options as ScriptOptions, Script, StatementKind};
use symbolic::generated::Test;
use symbolic::goals::{Goal, Kind};
use symbolic::search::{Costly, CostlyWish, Options, SearchError, costliest, search};

use super::Arguments;
use crate::device::contract::weights;
use crate::device::predict;
use crate::failure::Failure;
use crate::progress::Steps;
use crate::{interrupt, invocation, output, translated};

/// The lengths of packets in bytes, unless `--packet-size` names one.
const LENGTHS: [u32; 4] = [64, 256, 1_024, 1_514];
/// The length in bytes of the longest packets that are executed symbolically.
const LONGEST: usize = 1_514;
/// The number of paths that are measured for each length.
const PATHS: usize = 3;
/// The number of seeds with which tests are generated that the costs are fitted to.
const SEEDS: u64 = 2;
/// The number of bytes for which a packet has one cost, since memory is copied in cache lines.
const LINE: f64 = 64.0;
/// The weight of the sum of the squared costs beside that of the squared errors.
const DAMPING: f64 = 0.01;
/// The conflicts after which a step of the search for the costliest path is given up. The path may
/// then be another one, and the bound is larger.
const CONFLICTS: u64 = 5_000;
/// The time for which the cycle counter is compared with the clock.
const CALIBRATION: Duration = Duration::from_millis(200);
/// The share of the time of a repetition for which a packet is measured.
const SHARE: u32 = 10;

/// A packet that was measured.
struct Measured {
    test: Test,
    /// The positions of the goals that the packet reaches.
    reached: Vec<usize>,
    /// The median of the cycles per packet.
    cycles: f64,
}

/// The costs of the parts of a program in cycles.
struct Costs {
    /// The cost of every packet.
    constant: f64,
    /// The cost of 64 bytes of a packet.
    line: f64,
    /// The costs of the goals, by their positions.
    goals: Vec<f64>,
}

/// A path that was predicted to be costly.
struct Predicted {
    measured: Measured,
    length: u32,
    predicted: f64,
    /// The cycles that no packet of this length exceeds, if the costs are right.
    bound: f64,
}

/// The results of an execution path.
struct Findings {
    path: Path,
    /// The reason why nothing was measured.
    refused: Option<String>,
    /// Where the costs come from, as the beginning of a sentence that a mean error ends.
    origin: String,
    /// The packets to which the costs were fitted.
    fitted: Vec<Measured>,
    /// The mean difference between the cycles of these packets and the fit, as a share.
    error: f64,
    predicted: Vec<Predicted>,
}

pub(super) fn run(
    arguments: &Arguments,
    name: &str,
    program: &Program,
) -> Result<ExitCode, Failure> {
    let settings = arguments.settings()?;
    let model = arguments.traffic.model.as_deref().map(predict::read).transpose()?;
    let model = model.as_ref().map(|model| Modelled::of(model, arguments)).transpose()?;
    let lengths = match &model {
        None => lengths(arguments)?,
        Some(modelled) => vec![modelled.length()],
    };
    let directory = arguments.output.directory()?;
    let started = invocation::start();
    let interrupt = interrupt::flag();
    let steps = Steps::new(arguments.output.quiet);
    let task = Task {
        name,
        program,
        settings: &settings,
        interrupt: &interrupt,
        steps: &steps,
        model: model.as_ref(),
    };
    let (goals, generated) = task.generated(&lengths)?;
    let mut findings = Vec::new();
    for path in &settings.paths {
        findings.push(task.findings(*path, &goals, &generated, &lengths)?);
    }
    drop(steps);
    let document = document::document(name, &goals, &findings, started.provenance());
    let scripts = document::scripts(&findings);
    let files: Vec<(&str, &str)> =
        scripts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let json = arguments.output.json;
    output::leave_document_and_files(&directory, &document, &files, json, false)
}

/// Returns the lengths of packets for which the costliest paths are searched.
fn lengths(arguments: &Arguments) -> Result<Vec<u32>, Failure> {
    match arguments.traffic.given_packet_size() {
        None => Ok(LENGTHS.to_vec()),
        Some(size) => match u32::try_from(size) {
            Ok(length) if size <= LONGEST => Ok(vec![length]),
            _ => Err(Failure::input(format!(
                "--packet-size {size}: --worst considers packets of up to {LONGEST} bytes"
            ))),
        },
    }
}

/// What all steps need.
struct Task<'t> {
    name: &'t str,
    program: &'t Program,
    settings: &'t Settings,
    interrupt: &'t AtomicBool,
    steps: &'t Steps,
    /// The device model that predicts costs, or `None` if they are fitted.
    model: Option<&'t Modelled<'t>>,
}

/// A device model with the setting that predicts costs.
struct Modelled<'m> {
    model: &'m Model,
    under: &'m SettingModel,
}

/// The length in bytes of the frame check sequence, which settings of models include.
const CHECK_SEQUENCE: u32 = 4;

impl<'m> Modelled<'m> {
    /// Selects the setting with the packet length that the user named, or the only one.
    fn of(model: &'m Model, arguments: &Arguments) -> Result<Self, Failure> {
        let size = arguments.traffic.given_packet_size();
        let fits = |under: &&SettingModel| {
            let length = under.setting.packet_bytes.saturating_sub(CHECK_SEQUENCE) as usize;
            (14..=LONGEST).contains(&length) && size.is_none_or(|size| size == length)
        };
        let fitting: Vec<&SettingModel> = model.settings.iter().filter(fits).collect();
        match fitting.as_slice() {
            [under] => Ok(Self { model, under }),
            some => {
                let all = model.settings.iter().map(|under| under.setting.to_string());
                Err(Failure::input(format!(
                    "--model: {} settings of the model fit ({}); choose one with --packet-size, which does not count the \
                     frame check sequence",
                    some.len(),
                    all.collect::<Vec<_>>().join("; ")
                )))
            }
        }
    }

    /// Returns the length of packets without frame check sequence.
    fn length(&self) -> u32 {
        self.under.setting.packet_bytes.saturating_sub(CHECK_SEQUENCE)
    }
}

/// A test with the positions of the goals that its packet reaches.
type Reaching = (Test, Vec<usize>);

impl Task<'_> {
    fn options(&self, seed: u64) -> Options {
        let seed = self.settings.seed.wrapping_add(seed);
        let threads = available_parallelism().map_or(1, NonZero::get);
        Options { seed, threads, ..Options::default() }
    }

    /// Shows the progress, and returns an error if the user has interrupted the run.
    fn step(&self, what: &str, done: usize, of: usize) -> Result<(), Failure> {
        self.steps.show(done as u64, of as u64, what);
        if self.interrupt.load(Ordering::SeqCst) { Err(Failure::Interrupted) } else { Ok(()) }
    }

    /// Returns the goals of the program, and tests that reach all of them and have each length.
    fn generated(&self, lengths: &[u32]) -> Result<(Vec<Goal>, Vec<Reaching>), Failure> {
        let (mut goals, mut tests) = (Vec::new(), Vec::new());
        for seed in 0..SEEDS {
            let options = self.options(seed);
            let mut goes_on = |progress: symbolic::search::Progress| {
                self.step("generating packets", progress.decided, progress.goals).is_ok()
            };
            let report = with_large_stack(|| search(self.program, &options, &mut goes_on));
            let report =
                report.map_err(Failure::run)?.map_err(|error| failure(self.name, error))?;
            self.step("generating packets", 1, 1)?;
            tests.extend(report.tests.into_iter().zip(report.reached));
            goals = report.goals.into_iter().map(|(goal, _)| goal).collect();
        }
        // Without weights, any path of a length is as good as another.
        let wish = CostlyWish { weights: &[], lengths, count: 1, fixed: &[] };
        for one in self.costliest(&wish, SEEDS)? {
            tests.push((one.test, one.reached));
        }
        Ok((goals, tests))
    }

    fn costliest(&self, wish: &CostlyWish<'_>, seed: u64) -> Result<Vec<Costly>, Failure> {
        let options = Options { conflicts: CONFLICTS, ..self.options(seed) };
        let found = with_large_stack(|| costliest(self.program, wish, &options));
        found.map_err(Failure::run)?.map_err(|error| failure(self.name, error))
    }

    /// Measures the generated tests on an execution path, fits the costs of the program's parts to
    /// them, and measures the paths that these costs predict to be the costliest.
    fn findings(
        &self,
        path: Path,
        goals: &[Goal],
        generated: &[Reaching],
        lengths: &[u32],
    ) -> Result<Findings, Failure> {
        let mut findings = Findings {
            path,
            refused: None,
            origin: String::new(),
            fitted: Vec::new(),
            error: 0.0,
            predicted: Vec::new(),
        };
        for (done, (test, reached)) in generated.iter().enumerate() {
            self.step("measuring generated packets", done, generated.len())?;
            match self.cycles(path, test)? {
                Ok(cycles) => {
                    let (test, reached) = (test.clone(), reached.clone());
                    findings.fitted.push(Measured { test, reached, cycles });
                }
                Err(refused) => {
                    findings.refused = Some(refused);
                    return Ok(findings);
                }
            }
        }
        let packets = findings.fitted.len();
        let costs = match self.model {
            None => Costs::fit(goals.len(), &findings.fitted),
            Some(modelled) => Costs::of_model(self.program, modelled)?,
        };
        findings.origin = match self.model {
            None => format!("Costs are fitted to the cycles of {packets} other generated packets"),
            Some(Modelled { model, under }) => format!(
                "Costs are those of the model of {} ({}), compared with {packets} generated packets",
                model.device.name, under.setting
            ),
        };
        findings.error = costs.error(&findings.fitted);
        let weights: Vec<u32> = costs.goals.iter().map(|cost| cost.ceil() as u32).collect();
        self.step("searching the costliest paths", 0, 1)?;
        let wish = CostlyWish { weights: &weights, lengths, count: PATHS, fixed: &[] };
        let costly = self.costliest(&wish, SEEDS + 1)?;
        let of = costly.len();
        for (done, one) in costly.into_iter().enumerate() {
            self.step("measuring the costliest paths", done, of)?;
            match self.cycles(path, &one.test)? {
                Ok(cycles) => {
                    let Costly { length, test, reached, bound, .. } = one;
                    let predicted = costs.of(f64::from(length), &reached);
                    let bound = costs.of(f64::from(length), &[]) + bound as f64;
                    let measured = Measured { test, reached, cycles };
                    findings.predicted.push(Predicted { measured, length, predicted, bound });
                }
                Err(refused) => {
                    findings.refused = Some(refused);
                    return Ok(findings);
                }
            }
        }
        Ok(findings)
    }

    /// Returns the median of the cycles of a test's packet, or the reason why it is not known.
    fn cycles(&self, path: Path, test: &Test) -> Result<Result<f64, String>, Failure> {
        let of =
            |error: TrafficError| Failure::run(format!("{}: {error}\n{}", self.name, test.stf()));
        if let Some(refused) = checked(self.name, self.program, path, test)? {
            return Ok(Err(refused));
        }
        let workload = workload(self.program, test)?.map_err(of)?;
        let settings = Settings { time: self.settings.time / SHARE, ..self.settings.clone() };
        let Some(found) = repeated(&workload, path, &settings).map_err(of)? else {
            return Ok(Err("the processor has no cycle counter with a constant rate".to_owned()));
        };
        let Repeated { cycles, refused } = found;
        Ok(match (refused, cycles.at(0.5)) {
            (Some(refused), _) => Err(refused),
            (None, Some(median)) => Ok(median),
            (None, None) => Err("no packet was measured".to_owned()),
        })
    }
}

/// Returns the failure of a search for the packets of the program with this name.
pub(crate) fn failure(name: &str, error: SearchError) -> Failure {
    match error {
        SearchError::Unsupported(what) => Failure::input(format!("{name}: {what}")),
        SearchError::Query(error) => Failure::run(format!("{name}: {error}")),
        SearchError::Thread(_) => Failure::run(error),
    }
}

/// Runs a test of the program with this name, so that the time of its packet is that of what the
/// test expects. Returns the reason why the execution path does not run the program, if it does not.
pub(crate) fn checked(
    name: &str,
    program: &Program,
    path: Path,
    test: &Test,
) -> Result<Option<String>, Failure> {
    let mut switch = Switch::new(program.clone()).map_err(Failure::input)?;
    switch.set_translated(translated::of(program)?);
    if path == Path::Compiled
        && let Err(error) = switch.compile()
    {
        return Ok(Some(error.to_string()));
    }
    let script = script(test)?;
    let failed = |why: &str| {
        Failure::run(format!(
            "{name}: a generated test fails on {path:?}, so its packet is not measured: {why}\n{}",
            test.stf()
        ))
    };
    match stf::run(&mut switch, &script, ScriptOptions::default()) {
        Ok(report) => match report.failures.first() {
            None => Ok(None),
            Some(failure) => Err(failed(&report.describe(failure))),
        },
        Err((line, error)) => Err(failed(&format!("line {line}: {error}"))),
    }
}

/// Returns a switch that runs the program on an execution path, with what the control plane of a
/// test writes.
pub(crate) fn configured(program: &Program, path: Path, test: &Test) -> Result<Switch, Failure> {
    let mut switch = Switch::new(program.clone()).map_err(Failure::input)?;
    switch.set_translated(translated::of(program)?);
    if path == Path::Compiled {
        switch.compile().map_err(Failure::run)?;
    }
    let Divided { configuration, .. } = Divided::of(test)?;
    configure(&mut switch, &configuration).map_err(Failure::run)?;
    Ok(switch)
}

/// Carries out the commands of a script.
fn configure(switch: &mut Switch, configuration: &Script) -> Result<(), String> {
    let options = ScriptOptions { strict: true, ..ScriptOptions::default() };
    let done = stf::run(switch, configuration, options);
    done.map(drop).map_err(|(line, error)| format!("line {line}: {error}"))
}

/// Returns the script of a test.
fn script(test: &Test) -> Result<Script, Failure> {
    Script::parse(&test.stf()).map_err(|errors| {
        let why: Vec<String> = errors.iter().map(|error| error.message.clone()).collect();
        Failure::run(format!("{}\n{}", why.join("; "), test.stf()))
    })
}

/// A test, divided into what the control plane writes and the packets.
struct Divided {
    configuration: Script,
    packets: Vec<Vec<u8>>,
}

impl Divided {
    fn of(test: &Test) -> Result<Self, Failure> {
        let script = script(test)?;
        let mut packets = Vec::new();
        let mut statements = Vec::new();
        for statement in script.statements {
            match statement.kind {
                StatementKind::Packet { data, .. } => packets.push(data),
                StatementKind::Expect { .. } | StatementKind::NoPacket => {}
                kind => statements.push(stf::Statement { line: statement.line, kind }),
            }
        }
        Ok(Self { configuration: Script { statements }, packets })
    }
}

/// Returns the traffic of a test: its packet, and a switch with what the control plane writes.
fn workload(program: &Program, test: &Test) -> Result<Result<Workload, TrafficError>, Failure> {
    let Divided { configuration, packets } = Divided::of(test)?;
    let translated = translated::of(program)?;
    let setup = move |switch: &mut Switch| {
        switch.set_translated(Arc::clone(&translated));
        configure(switch, &configuration)
    };
    let given = Given {
        packets,
        port: test.port,
        setup: Setup::new(setup),
        sets_meters: false,
        outcomes: None,
    };
    Ok(Workload::given(program.clone(), given, &mut |_, _| true))
}

impl Measured {
    /// Returns the number of bytes of the packet.
    fn bytes(&self) -> f64 {
        self.test.packet.len() as f64 / 2.0
    }
}

impl Costs {
    /// Returns the costs that a device model predicts, at the median.
    fn of_model(program: &Program, modelled: &Modelled<'_>) -> Result<Self, Failure> {
        let Modelled { model, under } = modelled;
        let counter = CycleCounter::calibrate(CALIBRATION).ok_or_else(|| {
            Failure::run("this processor has no cycle counter that runs at a constant rate")
        })?;
        let cycles = |picoseconds: i64| picoseconds as f64 * 1e-12 * counter.frequency();
        let baseline = under.f0.profile.level(Level::Median).ok_or_else(|| {
            Failure::input("--model: the model has no median delay; derive it again")
        })?;
        let goals = symbolic::goals::list(program);
        let weights = weights(program, &goals, model, under, Level::Median);
        Ok(Self {
            constant: cycles(baseline.value.0),
            line: 0.0,
            goals: weights.into_iter().map(cycles).collect(),
        })
    }

    /// Fits the costs of the goals to packets.
    fn fit(goals: usize, packets: &[Measured]) -> Self {
        let row = |packet: &Measured| {
            let mut row = vec![0.0; goals + 2];
            row[0] = 1.0;
            row[1] = packet.bytes() / LINE;
            for reached in &packet.reached {
                if let Some(place) = row.get_mut(reached + 2) {
                    *place = 1.0;
                }
            }
            row
        };
        let rows: Vec<Vec<f64>> = packets.iter().map(row).collect();
        let cycles: Vec<f64> = packets.iter().map(|packet| packet.cycles).collect();
        let mut found = non_negative_fit(&rows, &cycles, DAMPING).into_iter();
        let constant = found.next().unwrap_or(0.0);
        let line = found.next().unwrap_or(0.0);
        Self { constant, line, goals: found.collect() }
    }

    /// Returns the cycles that a packet of this length takes that reaches these goals.
    fn of(&self, bytes: f64, reached: &[usize]) -> f64 {
        let goals: f64 = reached.iter().filter_map(|at| self.goals.get(*at)).sum();
        self.constant + self.line * bytes / LINE + goals
    }

    /// Returns the mean difference between the cycles of packets and the fit, as a share.
    fn error(&self, packets: &[Measured]) -> f64 {
        let of = |packet: &Measured| {
            (self.of(packet.bytes(), &packet.reached) / packet.cycles - 1.0).abs()
        };
        packets.iter().map(of).sum::<f64>() / packets.len().max(1) as f64
    }
}

/// Returns the actions that tables run on a path.
fn actions(goals: &[Goal], reached: &[usize]) -> String {
    let reached = reached.iter().filter_map(|at| goals.get(*at));
    let actions = reached.filter(|goal| goal.kind == Kind::Action).map(|goal| goal.name.as_str());
    let actions: Vec<&str> = actions.collect();
    if actions.is_empty() { "no table".to_owned() } else { actions.join(", ") }
}

#[cfg(test)]
mod tests;
