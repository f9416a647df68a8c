//! A whole run: the trials that the configuration plans, and the summary of their results.

mod serve;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};
use std::time::{Duration, Instant};

use measuring::search::{LossFreeSearch, Range};
use provenance::Began;
use ranks::{Group, Rank, Received};
use rustix::process::{Pid, Signal};
use statistics::Estimate;

use crate::config::{Config, Mode, PlanKind, ProcessSelector, Protocol, SweepRates};
use crate::cores::{NoPrecedence, Precedence};
use crate::engine::p4runtime::HeldPorts;
use crate::engine::{self, Live};
use crate::host;
use crate::netcfg::NetcfgError;
use crate::next;
use crate::onos;
use crate::outcome::{
    Completion, ControllerFacts, Point, RunResult, SCHEMA, SCHEMA_VERSION, Trial,
};
use crate::search::{observations, outcome};
use crate::summary::summarize;
use crate::thresholds::{self, Threshold};
use crate::trial::together::RankMessage;
use crate::trial::{self, Concluded, TrialError, TrialSetting};
use crate::usage::{Sampler, UsageError};
pub use serve::serve;

/// The reason why a run could not continue. The results up to that moment were passed to the run's
/// watcher.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A trial could not be set up or completed.
    #[error("{0}")]
    Trial(#[from] TrialError),
    /// The ports of P4Runtime switches are not available.
    #[error("{0}")]
    Ports(#[from] engine::p4runtime::PortsError),
    /// The condition of a threshold cannot be parsed.
    #[error("{0}")]
    Threshold(#[from] thresholds::ThresholdError),
    /// The CPU time and memory of the controller's process cannot be read.
    #[error("controller.process: {0}")]
    Usage(#[from] UsageError),
    /// The run cannot be divided among several processes with this configuration.
    #[error("several ranks share the switches of a run, but {0}")]
    NotShared(&'static str),
    /// The process that leads the run has ended or does not respond.
    #[error("rank 0 was lost: {0}")]
    Alone(String),
    /// The command that the user configured to run between two trials failed.
    #[error("plan.between: `{command}` {outcome}")]
    Between {
        /// The command that failed, as it was configured.
        command: String,
        /// A description of how the command ended.
        outcome: String,
    },
}

impl RunError {
    /// Returns whether the user's input is wrong, such as a file that the configuration names.
    /// Otherwise the error arose during the run.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Trial(error) => matches!(
                error,
                TrialError::Topology(_)
                    | TrialError::Hosts(_)
                    | TrialError::Frames(_)
                    | TrialError::Schedule(_)
                    | TrialError::Tls(_)
            ),
            Self::Ports(_) | Self::Threshold(_) | Self::NotShared(_) => true,
            Self::Alone(_) | Self::Usage(_) | Self::Between { .. } => false,
        }
    }

    /// Returns whether the controller could not be reached: its name has no address, or its
    /// interface for announcing switches does not respond.
    pub fn is_out_of_reach(&self) -> bool {
        matches!(
            self,
            Self::Trial(
                TrialError::Address { .. } | TrialError::Announce(NetcfgError::Unreachable { .. })
            )
        )
    }
}

/// An observer of a run's progress, such as a display.
pub trait Watcher {
    /// Called when a trial is about to begin. `number` is the number of the trial, counted from 1.
    /// `planned` is the number of trials of the run, or `None` for a search, whose number of trials
    /// is not known in advance.
    fn trial_begins(&mut self, number: u32, planned: Option<u32>, description: &str);
    /// Called when a trial has ended. `result` contains the results of the run so far, and is
    /// marked as partial.
    fn trial_ended(&mut self, trial: &Trial, result: &RunResult);
}

/// The parameters of a run that are not part of its configuration.
#[derive(Debug)]
pub struct RunContext {
    /// The command line, which is recorded in the result.
    pub command: Vec<String>,
    /// The resolved configuration, which is recorded in the result.
    pub configuration: BTreeMap<String, String>,
    /// Remarks on the environment that are shown with the result.
    pub notes: Vec<String>,
    /// The ports of P4Runtime switches, if they were reserved and published before the run.
    pub ports: Option<HeldPorts>,
    /// The live counters, from which progress can be displayed.
    pub live: Arc<Live>,
    /// A flag that ends the run soon after it is set.
    pub interrupt: Arc<AtomicBool>,
}

/// Runs every trial that the configuration plans.
///
/// # Errors
///
/// Returns an error if a trial cannot be set up, or if something outside of the trials fails, such
/// as the command between them. If no switch can connect to the controller, the result says so, and
/// no error is returned.
pub fn run(
    config: &Config,
    context: RunContext,
    watcher: &mut dyn Watcher,
) -> Result<RunResult, RunError> {
    run_all(config, context, watcher, None)
}

/// Runs like [`run`], but divides the switches among several processes, the ranks of a group. This
/// process must be the first rank. The others call [`follow`].
///
/// # Errors
///
/// Returns the errors of [`run`], and an error if the plan cannot be divided among ranks or the
/// ports of P4Runtime switches are not consecutive.
pub fn lead(
    config: &Config,
    context: RunContext,
    watcher: &mut dyn Watcher,
    group: &mut Group,
) -> Result<RunResult, RunError> {
    shareable(config)?;
    let mut config = config.clone();
    config.p4runtime.ranks = hosts_of_ranks(&config, group, &context.interrupt);
    let result = run_all(&config, context, watcher, Some(&mut *group));
    if let Err(error) = &result {
        group.send_all(&RankMessage::Cancel(error.to_string()));
    }
    group.send_all(&RankMessage::End);
    result
}

/// Takes part in the trials of a run that the first rank leads. Returns when the first rank ends
/// the run, is lost, or starts no trial for ten minutes after the previous one.
///
/// # Errors
///
/// Returns an error if the plan cannot be divided among ranks, if ports are not available or a
/// trial cannot be set up here, or if the first rank is lost.
pub fn follow(
    config: &Config,
    live: &Arc<Live>,
    interrupt: &AtomicBool,
    group: &mut Group,
) -> Result<(), RunError> {
    shareable(config)?;
    host::raise_file_limit();
    // This rank reserves its ports until the last trial is over. The first rank begins when all
    // ranks have reserved theirs.
    let _ports = match HeldPorts::take(config, false).map_err(RunError::from).and_then(in_order) {
        Ok(ports) => ports,
        Err(error) => {
            group.send(Rank::FIRST, &RankMessage::Failed(error.to_string()));
            return Err(error);
        }
    };
    group.send(Rank::FIRST, &RankMessage::Here(engine::p4runtime::advertised(config)));
    let precedence = config.isolate.then(Precedence::take);
    // A command between two trials may take several minutes.
    let deadline = |from: Instant| from + Duration::from_secs(600);
    let mut heard = Instant::now();
    loop {
        match group.receive(Duration::from_millis(50)) {
            Received::Message(Rank::FIRST, RankMessage::Trial(setting)) => {
                match trial::run(config, setting, live, interrupt, Some(group)) {
                    Ok(Concluded::Over) => break,
                    Ok(_) => heard = Instant::now(),
                    Err(error) => {
                        group.send(Rank::FIRST, &RankMessage::Failed(error.to_string()));
                        return Err(error.into());
                    }
                }
            }
            Received::Message(Rank::FIRST, RankMessage::End) => break,
            // Any other message belongs to a trial that is over.
            Received::Message(..) => {}
            Received::Lost(_) => {}
            Received::Nothing if Instant::now() > deadline(heard) => {
                group.give_up(Rank::FIRST, "it sent nothing for ten minutes");
            }
            Received::Nothing => {}
        }
        if let Some(cause) = group.lost().get(&Rank::FIRST) {
            return Err(RunError::Alone(cause.clone()));
        }
        if interrupt.load(atomic::Ordering::Relaxed) {
            break;
        }
    }
    drop(precedence);
    Ok(())
}

/// Returns the ports, or an error unless they are consecutive. They must be, because every rank
/// computes the ports of all switches from the first port.
fn in_order(ports: HeldPorts) -> Result<HeldPorts, RunError> {
    match ports.has_gaps() {
        false => Ok(ports),
        true => Err(RunError::NotShared(
            "some of their ports are in use on one of the hosts: choose another --first-port",
        )),
    }
}

/// Returns the address at which each rank's switches are reached, in the order of the ranks. A rank
/// that does not report its address in time counts as lost.
fn hosts_of_ranks(config: &Config, group: &mut Group, interrupt: &AtomicBool) -> Vec<IpAddr> {
    const TIMEOUT: Duration = Duration::from_secs(90);
    let own = engine::p4runtime::advertised(config);
    let mut hosts = BTreeMap::from([(Rank::FIRST, own)]);
    let is_over = || interrupt.load(atomic::Ordering::Relaxed);
    let heard = group.hear_all(TIMEOUT, is_over, |group, rank, word| {
        match word {
            RankMessage::Here(address) => drop(hosts.insert(rank, address)),
            RankMessage::Failed(reason) => group.give_up(rank, reason),
            _ => return Ok::<bool, Infallible>(false),
        }
        Ok(true)
    });
    match heard {
        Ok(()) => {}
    }
    (0..group.size()).map(|rank| hosts.get(&Rank(rank)).copied().unwrap_or(own)).collect()
}

/// Returns an error if a run with this configuration cannot be divided among several ranks.
fn shareable(config: &Config) -> Result<(), RunError> {
    if let PlanKind::Rfc8456(_) = config.plan.kind {
        return Err(RunError::NotShared("the tests of RFC 8456 have one network in one process"));
    }
    Ok(())
}

/// Runs all trials that the configuration plans.
fn run_all(
    config: &Config,
    mut context: RunContext,
    watcher: &mut dyn Watcher,
    group: Option<&mut Group>,
) -> Result<RunResult, RunError> {
    let thresholds = config
        .thresholds
        .iter()
        .map(|text| text.parse::<Threshold>())
        .collect::<Result<Vec<_>, _>>()?;
    // A process that cannot be watched is reported before anything runs. The process that listens
    // is looked up later, since it may not have started.
    if let Some(selector) = &config.controller.process
        && *selector != ProcessSelector::Listener
    {
        Sampler::new(selector, config.timing.sample)?;
    }
    let precedence = config.isolate.then(Precedence::take);
    let file_limit = host::raise_file_limit();
    let mut config = config.clone();
    // All ranks must compute the same ports of switches, whatever limits their hosts have.
    let shared_ports =
        if group.is_none() { engine::p4runtime::fit_to_file_limit(&mut config) } else { None };
    // Ports are reserved before the addresses of switches are published, and until the last switch
    // has ended.
    let ports = match context.ports.take() {
        Some(ports) => ports,
        None => HeldPorts::take(&config, false)?,
    };
    let ports = if group.is_some() { in_order(ports)? } else { ports };
    ports.apply(&mut config);
    let config = &config;
    let began = Began::now(context.command.clone());
    let mut runner = Runner {
        result: empty_result(config, &context, &began),
        began,
        stolen: host::stolen(),
        config,
        context,
        watcher,
        trials: 0,
        planned: None,
        out_of_reach: false,
        group,
    };
    runner.result.notes.extend(shared_ports);
    runner.result.notes.extend(ports.note(config));
    if let Some(Err(NoPrecedence)) = precedence {
        runner.result.notes.push(
            "isolate: the kernel granted the cores but no priority, which needs root or \
             CAP_SYS_NICE; other work on this host may delay the schedule."
                .to_owned(),
        );
    }
    let most = u64::from(config.most_switches());
    if most > file_limit {
        runner.result.notes.push(format!(
            "{most} switches need a connection each, and this process may open only {file_limit} \
             files: raise the limit (ulimit -n)."
        ));
    }
    runner.result.notes.extend(onos::keeps(config));
    match &config.plan.kind {
        PlanKind::Point => {
            let rate = SweepRates::PerSwitch(vec![config.traffic.rate]);
            runner.sweep(&rate, &[config.switches.count])?;
        }
        PlanKind::Sweep { rates, switches } => runner.sweep(rates, switches)?,
        &PlanKind::Search { low, high, precision, rough, loss } => {
            let switches = config.switches.count;
            let range = Range { low, high, precision, is_rough: rough, loss, sources: switches };
            runner.search(LossFreeSearch::new(range))?;
        }
        // The trials of RFC 8456 are run by [`crate::rfc8456::run()`].
        PlanKind::Rfc8456(_) => {}
    }
    Ok(runner.finish(&thresholds))
}

/// The state of a run.
struct Runner<'a> {
    config: &'a Config,
    context: RunContext,
    watcher: &'a mut dyn Watcher,
    began: Began,
    /// The CPU time that the hypervisor had withheld from this machine before the run began.
    stolen: Duration,
    result: RunResult,
    trials: u32,
    planned: Option<u32>,
    /// Whether the trials that follow are pointless: no switch became ready in the last trial, and
    /// no command restarts the controller between trials.
    out_of_reach: bool,
    /// The other ranks, if there are any.
    group: Option<&'a mut Group>,
}

impl Runner<'_> {
    fn sweep(&mut self, rates: &SweepRates, switches: &[u32]) -> Result<(), RunError> {
        let repetitions = self.config.plan.repetitions;
        self.planned = u32::try_from(rates.count() * switches.len())
            .ok()
            .and_then(|points| points.checked_mul(repetitions));
        for switches in switches {
            for rate in rates.per_switch(*switches) {
                self.point(*switches, rate)?;
                if self.is_interrupted() || self.out_of_reach {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Runs the trials of a search for the highest loss-free rate, until the search has ended.
    fn search(&mut self, mut search: LossFreeSearch) -> Result<(), RunError> {
        let switches = self.config.switches.count;
        while let Some(rate) = search.next_rate() {
            let before = self.point_at(switches, rate).trials.len();
            self.point(switches, rate)?;
            // An interrupted trial leaves packet-ins unanswered that are not lost.
            if self.is_interrupted() {
                break;
            }
            let trials = self.point_at(switches, rate).trials.get(before..).unwrap_or_default();
            search.observe(rate, &observations(trials));
            if trials.iter().all(|trial| trial.handshake.ready == 0) {
                break;
            }
        }
        self.result.points.sort_by(|a, b| {
            a.rate_per_switch.partial_cmp(&b.rate_per_switch).unwrap_or(Ordering::Equal)
        });
        // A controller that stopped answering for good did not fail because of the rate.
        if search.has_stopped() {
            self.result.notes.push(
                "The search ended when the controller stopped answering for good: no rate is named \
                 loss-free, since none was the reason."
                    .into(),
            );
        }
        self.result.notes.extend(switches_apart(&self.result.points));
        self.result.search = Some(outcome(&search));
        Ok(())
    }

    /// Runs all repetitions of the trial with a given number of switches and rate.
    fn point(&mut self, switches: u32, rate: f64) -> Result<(), RunError> {
        for _ in 0..self.config.plan.repetitions {
            if self.is_interrupted() || self.out_of_reach {
                return Ok(());
            }
            self.trial(switches, rate)?;
        }
        Ok(())
    }

    /// Runs one more trial with a given number of switches and rate.
    fn trial(&mut self, switches: u32, rate: f64) -> Result<(), RunError> {
        if self.trials > 0 {
            between(self.config.plan.between.as_deref(), &self.context.interrupt)?;
            if self.is_interrupted() {
                return Ok(());
            }
        }
        self.trials += 1;
        let repetition = self.point_at(switches, rate).trials.len() as u32 + 1;
        let description = format!(
            "{switches} switches, {}, repetition {repetition}",
            self.config.traffic.load.words(&describe(&self.config.traffic.mode, rate)),
        );
        self.watcher.trial_begins(self.trials, self.planned, &description);
        let setting = TrialSetting {
            switches,
            rate,
            repetition,
            seed: self.config.seed.wrapping_add(u64::from(self.trials - 1)),
        };
        let context = &self.context;
        if let Some(group) = self.group.as_deref_mut() {
            group.send_all(&RankMessage::Trial(setting));
        }
        let outcome = trial::run(
            self.config,
            setting,
            &context.live,
            &context.interrupt,
            self.group.as_deref_mut(),
        )?;
        // Ranks other than the first do not reach this point.
        let Concluded::Trial(outcome) = outcome else { return Ok(()) };
        let trial::Outcome { mut trial, process } = *outcome;
        if let (PlanKind::Point, Some(backlog)) = (&self.config.plan.kind, &trial.verdict.backlog)
            && let Some(next) = next::sentence(&context.command, switches, backlog)
        {
            trial.verdict.because = format!("{} {next}", trial.verdict.because);
        }
        self.result.controller.process = process.or(self.result.controller.process.take());
        let more = self.planned.is_none_or(|planned| self.trials < planned);
        if trial.handshake.ready == 0 && self.config.plan.between.is_none() && more {
            self.out_of_reach = true;
            self.result.notes.push(
                "No switch got ready, and nothing that was planned would change that: the trials \
                 that were to follow were not tried. A command to restart the controller is given \
                 with --between."
                    .to_owned(),
            );
        }
        let most = MostCpu::of(self.config, self.group.is_some());
        let point = self.point_at(switches, rate);
        point.trials.push(trial);
        point.summary = summary(point);
        within_host(&mut point.summary, &most);
        self.result.provenance = self.began.provenance();
        self.result.completion = Completion::Partial { reason: "the run is not over".into() };
        let point = self.result.points.iter().find(|point| is_at(point, switches, rate));
        if let Some(trial) = point.and_then(|point| point.trials.last()) {
            self.watcher.trial_ended(trial, &self.result);
        }
        Ok(())
    }

    /// Returns the point that collects the trials with a given number of switches and rate. Creates
    /// it first if there is none yet.
    fn point_at(&mut self, switches: u32, rate: f64) -> &mut Point {
        let points = &mut self.result.points;
        let index = match points.iter().position(|point| is_at(point, switches, rate)) {
            Some(index) => index,
            None => {
                points.push(empty_point(self.config, switches, rate));
                points.len() - 1
            }
        };
        &mut points[index]
    }

    /// Returns whether no further trial must be run, because the user ended the run or a rank was
    /// lost.
    fn is_interrupted(&self) -> bool {
        self.context.interrupt.load(atomic::Ordering::Relaxed)
            || self.group.as_ref().is_some_and(|group| !group.lost().is_empty())
    }

    fn finish(mut self, thresholds: &[Threshold]) -> RunResult {
        self.result.points.retain(|point| !point.trials.is_empty());
        self.result.thresholds = self
            .result
            .points
            .iter()
            .flat_map(|point| thresholds::evaluate(thresholds, point))
            .collect();
        self.result.provenance = self.began.provenance();
        let stolen = host::stolen().saturating_sub(self.stolen);
        self.result.notes.extend(host::withheld(stolen, self.result.provenance.elapsed_s));
        self.result.completion = completion(&self.result, self.is_interrupted());
        self.result
    }
}

/// Runs the command that the user configured to run between trials, `plan.between`. An interrupt
/// stops it.
///
/// # Errors
///
/// Returns [`RunError::Between`] if the command cannot be started, or does not end with status 0.
pub fn between(command: Option<&str>, interrupt: &AtomicBool) -> Result<(), RunError> {
    let Some(command) = command else { return Ok(()) };
    let failed = |outcome: String| RunError::Between { command: command.to_owned(), outcome };
    let mut child = Command::new("sh")
        .args(["-c", command])
        // A process group of its own lets the command be stopped with its children.
        .process_group(0)
        .spawn()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    loop {
        match child.try_wait().map_err(|error: io::Error| failed(error.to_string()))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(failed(format!("ended with {status}"))),
            None if interrupt.load(atomic::Ordering::Relaxed) => {
                let group = Pid::from_child(&child);
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
                let _ = child.wait();
                return Ok(());
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// The largest CPU time that the hosts of the controller and of the probe can provide, in percent
/// of one core. A value is `None` if the side runs on another host than this process, or if its
/// host is not known.
struct MostCpu {
    controller: Option<f64>,
    probe: Option<f64>,
}

impl MostCpu {
    /// Returns the largest CPU times. They are `None` if the run is shared by several ranks, whose
    /// hosts may differ.
    fn of(config: &Config, is_shared: bool) -> Self {
        let all = host::online_cores().map(|cores| 100.0 * f64::from(cores));
        let is_remote = matches!(config.controller.process, Some(ProcessSelector::Ssh { .. }));
        Self {
            controller: all.filter(|_| !is_remote && !is_shared),
            probe: all.filter(|_| !is_shared),
        }
    }
}

/// Limits the estimates of CPU time to the largest that the hosts can provide, so that no
/// confidence interval exceeds it.
fn within_host(summary: &mut BTreeMap<String, Estimate>, most: &MostCpu) {
    for (name, most) in [("controller.cpu", most.controller), ("probe.cpu", most.probe)] {
        if let (Some(estimate), Some(most)) = (summary.get_mut(name), most) {
            *estimate = estimate.at_most(most);
        }
    }
}

/// Describes the switches that were answered far less often than the others, in most of the trials
/// in which there are such switches. The rates that the search found then reflect these switches
/// instead of the whole network.
fn switches_apart(points: &[Point]) -> Option<String> {
    const NAMED: usize = 4;
    let trials = points.iter().flat_map(|point| &point.trials);
    let apart: Vec<&Trial> = trials.filter(|trial| !trial.verdict.switches.is_empty()).collect();
    let mut times: BTreeMap<u32, usize> = BTreeMap::new();
    for switch in apart.iter().flat_map(|trial| &trial.verdict.switches) {
        *times.entry(*switch).or_default() += 1;
    }
    times.retain(|_, times| 2 * *times > apart.len());
    let count = times.len();
    let named: Vec<String> = times.keys().take(NAMED).map(u32::to_string).collect();
    let more = match count.checked_sub(NAMED) {
        Some(more) if more > 0 => format!(" and {more} more"),
        _ => String::new(),
    };
    let switches = if count == 1 { "switch" } else { "switches" };
    (count > 0).then(|| {
        format!(
            "In {} trials of the search far fewer packet-ins were answered at {switches} {}{more} than \
             at the others: the loss-free rate is that of {switches} {}{more}.",
            apart.len(),
            named.join(", "),
            named.join(", ")
        )
    })
}

fn is_at(point: &Point, switches: u32, rate: f64) -> bool {
    point.switches == switches && point.rate_per_switch.is_none_or(|known| known == rate)
}

fn describe(mode: &Mode, rate: f64) -> String {
    match mode {
        Mode::Open => format!("{rate} packet-ins/s each"),
        Mode::Closed { window, .. } => format!("{window} outstanding each"),
        Mode::Flood => "flood".into(),
    }
}

fn completion(result: &RunResult, interrupted: bool) -> Completion {
    let trials: Vec<&Trial> = result.points.iter().flat_map(|point| &point.trials).collect();
    let trouble = trials.iter().find_map(|trial| match &trial.completion {
        Completion::Complete => None,
        Completion::Partial { reason } | Completion::Failed { reason } => Some(reason.clone()),
    });
    let failed = trials.iter().all(|trial| matches!(trial.completion, Completion::Failed { .. }));
    let trouble = trouble.or_else(|| different_pipelines(result));
    match trouble {
        _ if trials.is_empty() && interrupted => {
            Completion::Failed { reason: "interrupted before the first trial".into() }
        }
        _ if trials.is_empty() => Completion::Failed { reason: "no trial was run".into() },
        Some(reason) if failed => Completion::Failed { reason },
        Some(reason) => Completion::Partial { reason },
        None if interrupted => Completion::Partial { reason: "interrupted".into() },
        None => Completion::Complete,
    }
}

/// Returns the means of the metrics over the trials of a point. They are empty if the trials ran
/// different pipelines, since the means would describe none of these.
fn summary(point: &Point) -> BTreeMap<String, Estimate> {
    match point.pipelines().len() {
        0 | 1 => summarize(&point.trials),
        _ => BTreeMap::new(),
    }
}

/// Returns a remark that the trials ran different P4 pipelines, or `None` if they did not.
fn different_pipelines(result: &RunResult) -> Option<String> {
    let pipelines = result.pipelines();
    (pipelines.len() > 1).then(|| {
        let names: Vec<&str> = pipelines.into_iter().collect();
        format!(
            "the trials ran different pipelines, so that no mean is taken over them: {}; start the \
             controller anew before each trial with --between",
            names.join("; ")
        )
    })
}

fn empty_result(config: &Config, context: &RunContext, began: &Began) -> RunResult {
    RunResult {
        schema: SCHEMA.into(),
        schema_version: SCHEMA_VERSION,
        provenance: began.provenance(),
        completion: Completion::Failed { reason: "no trial was run".into() },
        configuration: context.configuration.clone(),
        controller: ControllerFacts { address: trial::address(config), process: None },
        points: Vec::new(),
        search: None,
        thresholds: Vec::new(),
        notes: context.notes.clone(),
    }
}

fn empty_point(config: &Config, switches: u32, rate: f64) -> Point {
    let open = config.traffic.mode == Mode::Open;
    Point {
        protocol: match config.protocol {
            Protocol::OpenFlow10 => "openflow10",
            Protocol::OpenFlow13 => "openflow13",
            Protocol::P4Runtime => "p4runtime",
        }
        .into(),
        mode: match config.traffic.mode {
            Mode::Open => "open",
            Mode::Closed { .. } => "closed",
            Mode::Flood => "flood",
        }
        .into(),
        switches,
        rate_per_switch: open.then_some(rate),
        offered_rate: open.then_some(rate * f64::from(switches)),
        window: match config.traffic.mode {
            Mode::Closed { window, .. } => Some(window),
            _ => None,
        },
        trials: Vec::new(),
        summary: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a result with one point, whose trials ran the given pipelines.
    fn result(pipelines: &[&str]) -> RunResult {
        let config = crate::config::Settings::new().resolve().expect("settings").config;
        let context = RunContext {
            command: Vec::new(),
            configuration: BTreeMap::new(),
            notes: Vec::new(),
            ports: None,
            live: Arc::default(),
            interrupt: Arc::default(),
        };
        let mut result = empty_result(&config, &context, &Began::now(Vec::new()));
        let mut point = empty_point(&config, 1, 1.0);
        for name in pipelines {
            let mut trial = crate::metrics::tests::trial();
            trial.pipelines.insert((*name).to_owned(), 1);
            point.trials.push(trial);
        }
        point.summary = summary(&point);
        result.points.push(point);
        result
    }

    #[test]
    fn trials_of_different_pipelines_have_no_mean_and_make_the_run_partial() {
        let alike = result(&["basic", "basic"]);
        assert!(!alike.points[0].summary.is_empty());
        assert_eq!(completion(&alike, false), Completion::Complete);
        let different = result(&["basic", "tunnel", "basic"]);
        assert!(different.points[0].summary.is_empty());
        match completion(&different, false) {
            Completion::Partial { reason } => {
                assert!(reason.contains("different pipelines"), "{reason}");
                assert!(
                    reason.contains("basic; tunnel") && reason.contains("--between"),
                    "{reason}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}
