//! Runs the benchmark: every requested test, with all its trials.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use p4runtime::session::Rehearsal;
use provenance::Began;

use super::bench::{Measured, Reach};
use super::outcome::{
    BenchmarkResult, Figure, Parameters, SCHEMA, SCHEMA_VERSION, TestOutcome, TrialOutcome,
};
use super::procedures::Disturbance;
use super::size::{Largest, largest};
use super::trial::{self, Setting};
use super::{Test, Tests};
use crate::config::{Config, FlowTables, Mode, PlanKind, Protocol, Switches, TopologySource};
use crate::engine::p4runtime::HeldPorts;
use crate::host;
use crate::metrics::Unit;
use crate::onos::{self, Onos};
use crate::outcome::{Completion, RunResult, SearchOutcome, Trial};
use crate::run::{RunContext, RunError, Watcher, between};
use crate::topology::{Topology, switches_described};
use crate::trial::{TrialError, address, announce};

/// The shares of invalid messages with which RFC 8456, section 5.3.1, requires a measurement, each
/// with its description.
const INVALID: [(f64, &str); 2] = [(0.01, "1 % invalid messages"), (0.02, "2 % invalid messages")];
/// The number of attack packets or connections for each path that is offered (RFC 8456, section
/// 5.3.2).
const ATTACKS: f64 = 10.0;

/// An observer of a run's progress, such as a display.
pub trait BenchmarkWatcher {
    /// Called when a trial is about to begin.
    fn trial_begins(&mut self, description: &str);
    /// Called when a trial has ended. `result` contains all results so far, and is marked as
    /// partial.
    fn trial_ended(&mut self, result: &BenchmarkResult);
}

/// Runs the tests. If there is a `rehearsal`, each pipeline that the controller pushes to P4Runtime
/// switches is tried in it first.
///
/// # Errors
///
/// Returns an error if a trial cannot be set up, or if something other than the controller fails.
/// If the controller fails a test, the result says so, and no error is returned.
pub fn run(
    config: &Config,
    tests: Tests,
    mut context: RunContext,
    rehearsal: Option<Arc<dyn Rehearsal>>,
    watcher: &mut dyn BenchmarkWatcher,
) -> Result<BenchmarkResult, RunError> {
    host::raise_file_limit();
    let mut config = config.clone();
    // The ports stay reserved for the whole run, so that no outgoing connection is assigned the
    // port of a switch that is off.
    let ports = match context.ports.take() {
        Some(ports) => ports,
        None => HeldPorts::take(&config, false)?,
    };
    ports.apply(&mut config);
    let all = Config {
        switches: Switches { count: config.most_switches(), ..config.switches.clone() },
        ..config.clone()
    };
    context.notes.extend(announce(&all, &context.interrupt)?);
    context.notes.extend(onos::keeps(&config));
    let config = &config;
    let began = Began::now(context.command.clone());
    let mut runner = Runner {
        result: empty_result(config, &context, &began)?,
        began,
        config,
        context,
        rehearsal,
        watcher,
        trials: 0,
        was_reached: false,
        missed: None,
    };
    for test in tests.iter() {
        if runner.is_over() {
            break;
        }
        runner.test(test)?;
    }
    Ok(runner.finish())
}

/// The state while the tests of RFC 8456 are run.
struct Runner<'a> {
    config: &'a Config,
    context: RunContext,
    rehearsal: Option<Arc<dyn Rehearsal>>,
    watcher: &'a mut dyn BenchmarkWatcher,
    began: Began,
    result: BenchmarkResult,
    trials: u32,
    /// Whether the controller was reached in any trial.
    was_reached: bool,
    /// The reason why the controller was not reached in a trial. It is set only if no command
    /// restarts the controller, and then ends the run.
    missed: Option<String>,
}

impl Runner<'_> {
    fn test(&mut self, test: Test) -> Result<(), RunError> {
        if let Some(reason) = not_possible(self.config, test) {
            let mut outcome = empty_outcome(test, None, test.unit());
            outcome.trials.push(trial_outcome(Measured::failed(reason)));
            self.result.tests.push(outcome);
            return Ok(());
        }
        match test {
            Test::MessageProcessingRate => self.repeat(test, None, test.unit(), Self::rate),
            Test::ControlSessions if self.config.protocol == Protocol::P4Runtime => {
                self.repeat(test, None, test.unit(), Self::sessions)
            }
            Test::DiscoverySize => self.repeat(test, None, test.unit(), Self::size),
            Test::ExceptionHandling => {
                let parts =
                    [Test::ReactivePathRate, Test::ReactivePathTime, Test::TopologyChangeTime];
                let rate = self.message_rate();
                let disturbed = INVALID.map(|(share, words)| {
                    let spacing = 1e9 / (rate * share).max(1.0);
                    let switches = self.config.switches.count;
                    (words, Disturbance::Invalid { spacing: spacing as u64, switches })
                });
                self.disturbed(test, &parts, &disturbed)
            }
            Test::DenialOfService => {
                let parts =
                    [Test::ReactivePathRate, Test::ReactivePathTime, Test::TopologyChangeTime];
                let spacing = (1e9 / (ATTACKS * self.config.rfc8456.rate)) as u64;
                let strangers =
                    ("packets with new addresses each time", Disturbance::Strangers { spacing });
                match self.config.protocol {
                    // A P4Runtime controller has no port to which connections can be opened, since
                    // it dials the switches.
                    Protocol::P4Runtime => self.disturbed(test, &parts, &[strangers]),
                    Protocol::OpenFlow10 | Protocol::OpenFlow13 => {
                        let connections =
                            ("connections to its port", Disturbance::Connections { spacing });
                        self.disturbed(test, &parts, &[connections, strangers])
                    }
                }
            }
            Test::ControlSessions => {
                let switches = self.config.rfc8456.switches;
                self.repeat(test, None, test.unit(), |runner| runner.trial(test, switches, None))
            }
            _ => {
                let switches = self.config.switches.count;
                self.repeat(test, None, test.unit(), |runner| runner.trial(test, switches, None))
            }
        }
    }

    /// Runs the tests in `parts` without a disturbance first, and then under each of the
    /// disturbances.
    fn disturbed(
        &mut self,
        test: Test,
        parts: &[Test],
        disturbances: &[(&str, Disturbance)],
    ) -> Result<(), RunError> {
        for part in parts {
            let switches = self.config.switches.count;
            let name = format!("{}, undisturbed", part.title());
            let first = self.result.tests.len();
            self.repeat(test, Some(name), part.unit(), |runner| {
                runner.trial(*part, switches, None)
            })?;
            if self.is_over() {
                return Ok(());
            }
            for (words, disturbance) in disturbances {
                let name = format!("{}, {words}", part.title());
                self.repeat(test, Some(name), part.unit(), |runner| {
                    runner.trial(*part, switches, Some(*disturbance))
                })?;
                let mean = |outcome: &TestOutcome| outcome.value.as_ref().map(|value| value.mean);
                let alone = self.result.tests.get(first).and_then(mean).filter(|mean| *mean > 0.0);
                if let Some(outcome) = self.result.tests.last_mut() {
                    outcome.deviation =
                        mean(outcome).zip(alone).map(|(value, alone)| value / alone - 1.0);
                }
            }
        }
        Ok(())
    }

    /// Runs all trials of a test.
    fn repeat(
        &mut self,
        test: Test,
        variant: Option<String>,
        unit: Unit,
        mut trial: impl FnMut(&mut Self) -> Result<Measured, RunError>,
    ) -> Result<(), RunError> {
        let place = self.result.tests.len();
        self.result.tests.push(empty_outcome(test, variant.clone(), unit));
        let repetitions = self.config.plan.repetitions;
        for repetition in 1..=repetitions {
            if self.is_over() {
                return Ok(());
            }
            let variant = variant.as_ref().map_or_else(String::new, |name| format!(", {name}"));
            self.watcher
                .trial_begins(&format!("{test}{variant}, trial {repetition} of {repetitions}"));
            let measured = trial(self)?;
            self.note_reach(&measured);
            if let Some(outcome) = self.result.tests.get_mut(place) {
                outcome.trials.push(trial_outcome(measured));
                outcome.summarize();
            }
            self.result.provenance = self.began.provenance();
            self.watcher.trial_ended(&self.result);
        }
        Ok(())
    }

    fn trial(
        &mut self,
        test: Test,
        switches: u32,
        disturbance: Option<Disturbance>,
    ) -> Result<Measured, RunError> {
        self.between()?;
        let seed = self.config.seed.wrapping_add(u64::from(self.trials));
        let trial = u64::from(self.trials);
        let setting = Setting { test, switches, seed, trial, disturbance };
        let (config, interrupt) = (self.config, &*self.context.interrupt);
        let rehearsal = self.rehearsal.as_ref();
        let Some(onos) = Onos::of(config).filter(|_| config.controller.onos_forget) else {
            return trial::run(config, setting, interrupt, rehearsal, None);
        };
        let mut of_trial = config.clone();
        of_trial.switches.count = switches;
        // ONOS forgets what it knows from the previous trial, and then learns of the switches.
        let announce = || announce(&of_trial, interrupt).map(drop);
        let measured = trial::run(config, setting, interrupt, rehearsal, Some(&announce));
        let failure = onos.forget(&of_trial);
        self.result.notes.extend(failure.filter(|text| !self.result.notes.contains(text)));
        measured
    }

    /// Records whether the controller was reached. If it was not and no command restarts it, the
    /// run ends.
    fn note_reach(&mut self, measured: &Measured) {
        let is_reached = measured.reach == Reach::Reached;
        self.was_reached |= is_reached || measured.reach == Reach::Lost;
        if !is_reached && self.config.plan.between.is_none() && self.missed.is_none() {
            self.missed = Some(measured.remark.clone().unwrap_or_default());
        }
    }

    /// Returns whether the run is over, so that no further trial must be run.
    fn is_over(&self) -> bool {
        self.is_interrupted() || self.missed.is_some()
    }

    /// Runs the command that the user configured to run between trials. Does nothing before the
    /// first trial.
    fn between(&mut self) -> Result<(), RunError> {
        self.trials += 1;
        if self.trials > 1 {
            between(self.config.plan.between.as_deref(), &self.context.interrupt)?;
        }
        Ok(())
    }

    /// Performs a measurement by [`crate::run()`] as one trial of a test. Every packet becomes a
    /// packet-in, whether or not there are flow rules for it.
    fn probe(&mut self, change: impl FnOnce(&mut Config)) -> Result<RunResult, RunError> {
        self.between()?;
        let mut config = self.config.clone();
        (config.plan.repetitions, config.plan.kind) = (1, PlanKind::Point);
        config.switches.flow_tables = FlowTables::Bypass;
        config.seed = config.seed.wrapping_add(u64::from(self.trials));
        config.thresholds.clear();
        change(&mut config);
        let context = RunContext {
            command: Vec::new(),
            configuration: Default::default(),
            notes: Vec::new(),
            ports: None,
            live: self.context.live.clone(),
            interrupt: self.context.interrupt.clone(),
        };
        crate::run::run(&config, context, &mut NoWatcher)
    }

    /// Measures the capacity of control sessions (section 5.2.1) over P4Runtime. It is the number
    /// of switches with which the controller opens a session in time.
    fn sessions(&mut self) -> Result<Measured, RunError> {
        let switches = self.config.rfc8456.switches;
        let result = self.probe(|config| {
            config.switches.count = switches;
            config.topology = TopologySource::None;
            config.timing.allow_missing = true;
            (config.timing.warm_up, config.timing.measure) =
                (Duration::ZERO, Duration::from_secs(1));
        })?;
        let trial = result.points.iter().flat_map(|point| &point.trials).next();
        let Some(ready) = trial.map(|trial| trial.handshake.ready).filter(|ready| *ready > 0)
        else {
            return Ok(unanswered(result));
        };
        let mut measured =
            Measured::of(ready.into()).with("switches", switches.into(), Unit::Count);
        measured.remark = Some(match ready == switches {
            true => "all switches had a session: the capacity is at least this".to_owned(),
            false => "no further session was opened in time".to_owned(),
        });
        Ok(measured)
    }

    /// Measures the message processing rate (section 5.1.3) by a search for the highest rate.
    fn rate(&mut self) -> Result<Measured, RunError> {
        let result = self.probe(|config| {
            (config.plan.kind, config.traffic.mode) = (config.rfc8456.search.clone(), Mode::Open);
        })?;
        let found = |search: &SearchOutcome| search.maximum_received_rate > 0.0;
        let Some(search) = result.search.clone().filter(found) else {
            return Ok(unanswered(result));
        };
        let mut measured = Measured::of(search.maximum_received_rate);
        if let Some(rate) = search.loss_free_rate {
            measured = measured.with("loss-free rate", rate, Unit::PerSecond);
        }
        measured.remark = match (search.limited_by_probe, search.lossy_rate) {
            (true, _) => {
                Some("the probe itself was the limit: the controller may take more".to_owned())
            }
            (false, None) => Some(
                "all rates that were offered were answered: the rate is at least this \
                 (--search-high)"
                    .to_owned(),
            ),
            (false, Some(_)) => None,
        };
        Ok(measured)
    }

    /// Measures the network discovery size (section 5.2.2).
    fn size(&mut self) -> Result<Measured, RunError> {
        let limit = self.config.rfc8456.switches;
        let Some(range) = switches_to_discover(&self.config.topology, limit)? else {
            return Ok(Measured::failed("the topology has no links; see --topology"));
        };
        let (least, most) = range.into_inner();
        let mut reach = Reach::Reached;
        let found = largest(least, most, |switches| match self.is_interrupted() {
            true => Ok::<_, RunError>(None),
            false => {
                let measured = self.trial(Test::DiscoverySize, switches, None)?;
                // A controller that is gone after a network of one size may have failed because of
                // that size. If it is still gone at the next size, the size is not the reason, and
                // the search ends.
                let gone = reach != Reach::Reached && measured.reach != Reach::Reached;
                reach = measured.reach;
                Ok((!gone).then_some(measured))
            }
        })?;
        let Some(Largest { known, unknown }) = found else {
            return Ok(match reach {
                Reach::Reached => Measured::failed("interrupted"),
                reach => Measured::without_controller(reach, "the controller did not come back"),
            });
        };
        if known == 0 {
            let why = unknown.and_then(|(_, why)| why).unwrap_or_default();
            return Ok(Measured::without_controller(reach, why));
        }
        let mut measured = discovered(&network(&self.config.topology, known)?);
        measured.reach = reach;
        measured.remark = Some(match unknown {
            Some((unknown, Some(why))) => format!("at {unknown} switches {why}"),
            _ => {
                let end =
                    if most < limit { "--topology has no further" } else { "--rfc8456-switches" };
                format!("all switches were discovered: the size is at least this ({end})")
            }
        });
        Ok(measured)
    }

    /// Returns the message rate from which the rate of invalid messages is computed, as a share of
    /// it. It is the result of section 5.1.3, or the configured rate of paths if that section was
    /// not measured.
    fn message_rate(&mut self) -> f64 {
        let found =
            self.result.tests.iter().find(|outcome| outcome.test == Test::MessageProcessingRate);
        match found.and_then(|outcome| outcome.value.as_ref()) {
            Some(value) => value.mean,
            None => {
                let rate = self.config.rfc8456.rate;
                self.result.notes.push(format!(
                    "5.3.1: shares of invalid messages are of {rate} messages/s (--rfc8456-rate), since \
                     5.1.3 was not measured in this run."
                ));
                rate
            }
        }
    }

    fn is_interrupted(&self) -> bool {
        self.context.interrupt.load(Ordering::Relaxed)
    }

    fn finish(mut self) -> BenchmarkResult {
        self.result.provenance = self.began.provenance();
        let missing: Vec<_> = self
            .result
            .tests
            .iter()
            .filter(|outcome| !outcome.is_measured())
            .map(|outcome| outcome.section.as_str())
            .collect();
        self.result.controller_was_out_of_reach = self.missed.is_some() && !self.was_reached;
        self.result.completion = if self.is_interrupted() {
            Completion::Partial { reason: "interrupted".to_owned() }
        } else if let Some(reason) = self.missed.take() {
            let measured = missing.len() < self.result.tests.len();
            let reason = if measured || self.was_reached {
                format!("the controller did not come back for the rest of the run: {reason}")
            } else {
                format!("the controller was not reached: {reason}")
            };
            if measured { Completion::Partial { reason } } else { Completion::Failed { reason } }
        } else if missing.len() == self.result.tests.len() {
            let first = self.result.tests.iter().flat_map(|outcome| &outcome.trials);
            let reason = first.filter_map(|trial| trial.remark.clone()).next();
            Completion::Failed {
                reason: reason.unwrap_or_else(|| "nothing was measured".to_owned()),
            }
        } else if missing.is_empty() {
            Completion::Complete
        } else {
            Completion::Partial { reason: format!("not measured: {}", missing.join(", ")) }
        };
        self.result
    }
}

/// Returns the result of a trial in which [`crate::run()`] measured nothing. Its remark states the
/// reason.
fn unanswered(result: RunResult) -> Measured {
    let reach = match result.controller_was_out_of_reach() {
        true => Reach::NotReached,
        false => Reach::Reached,
    };
    let why = match result.completion {
        Completion::Failed { reason } | Completion::Partial { reason } => reason,
        Completion::Complete => "nothing was answered".to_owned(),
    };
    Measured::without_controller(reach, why)
}

/// Returns the reason why a test cannot be run with this configuration, or `None` if it can be run.
fn not_possible(config: &Config, test: Test) -> Option<&'static str> {
    let is_openflow = config.protocol != Protocol::P4Runtime;
    match test {
        Test::MessageProcessingRate | Test::ControlSessions => None,
        _ if !is_openflow && config.p4runtime.devices_per_port > 1 => Some(
            "switches of this test are switched on and off one by one, so that each takes a port of its own; see \
             --devices-per-port",
        ),
        Test::ProactivePathTime | Test::ProactivePathRate
            if config.rfc8456.northbound.is_none() =>
        {
            Some("paths are asked for at the northbound interface; see --northbound")
        }
        Test::FailoverTime if config.rfc8456.fail.is_none() => {
            Some("nothing ends the active controller; see --rfc8456-fail")
        }
        Test::FailoverTime if is_openflow && config.rfc8456.standby.is_empty() => {
            Some("there is no controller that stands by; see --rfc8456-standby")
        }
        _ => None,
    }
}

/// Returns the topology of the first `switches` switches. Each switch has as many ports as its
/// links need.
fn network(source: &TopologySource, switches: u32) -> Result<Topology, RunError> {
    Ok(Topology::build(source, switches, u16::MAX).map_err(TrialError::Topology)?)
}

/// Returns the range of network sizes, in switches, in which the network discovery size is searched
/// for. No size exceeds `limit`, and the last switch of the smallest and of the largest network has
/// a link. Returns `None` if the topology has no links.
fn switches_to_discover(
    source: &TopologySource,
    limit: u32,
) -> Result<Option<RangeInclusive<u32>>, RunError> {
    let described = switches_described(source, limit).map_err(TrialError::Topology)?;
    Ok(network(source, described)?.linked_prefixes())
}

/// Returns the network discovery size for a topology that was discovered completely. Switches
/// without links do not count, since discovery frames cannot show that the controller knows them.
fn discovered(topology: &Topology) -> Measured {
    let linked = topology.linked_switch_count();
    let unlinked = topology.switch_count() as f64 - f64::from(linked);
    let measured =
        Measured::of(linked.into()).with("links", topology.link_count() as f64, Unit::Count);
    match unlinked > 0.0 {
        true => measured.with("switches without links", unlinked, Unit::Count),
        false => measured,
    }
}

fn trial_outcome(measured: Measured) -> TrialOutcome {
    let figure =
        |(name, value, unit): (&str, f64, Unit)| Figure { name: name.to_owned(), value, unit };
    TrialOutcome {
        value: measured.value,
        figures: measured.figures.into_iter().map(figure).collect(),
        remark: measured.remark,
    }
}

fn empty_outcome(test: Test, variant: Option<String>, unit: Unit) -> TestOutcome {
    TestOutcome {
        test,
        section: test.section().to_owned(),
        variant,
        unit,
        trials: Vec::new(),
        value: None,
        deviation: None,
    }
}

fn empty_result(
    config: &Config,
    context: &RunContext,
    began: &Began,
) -> Result<BenchmarkResult, RunError> {
    let switches = config.switches.count;
    let topology = Topology::build(&config.topology, switches, config.switches.ports)
        .map_err(TrialError::Topology)?;
    let configured = |key: &str| context.configuration.get(key).cloned().unwrap_or_default();
    let mut notes = context.notes.clone();
    notes.extend(topology.notes().iter().cloned());
    let apart = topology.switch_count() - topology.largest_part().len();
    if apart > 0 {
        notes.push(format!(
            "{apart} of {switches} switches have no path to the others: no path to their hosts is \
             measured."
        ));
    }
    Ok(BenchmarkResult {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        provenance: began.provenance(),
        completion: Completion::Partial { reason: "the run is not over".to_owned() },
        configuration: context.configuration.clone(),
        parameters: Parameters {
            controller: address(config),
            standby: config.rfc8456.standby.clone(),
            southbound: configured("protocol"),
            northbound: config.rfc8456.northbound.clone(),
            connection: match (&config.tls, config.protocol) {
                (None, Protocol::P4Runtime) => "gRPC over TCP",
                (None, _) => "TCP",
                (Some(_), Protocol::P4Runtime) => "gRPC over TLS",
                (Some(_), _) => "TLS",
            }
            .to_owned(),
            switches,
            links: topology.link_count() as u64,
            topology: match (configured("switches.topology").as_str(), &config.topology) {
                ("none" | "", TopologySource::LeafSpine { spines }) => {
                    format!("leaf-spine:{spines}")
                }
                ("none" | "", TopologySource::Linear) => "linear".to_owned(),
                (configured, _) => configured.to_owned(),
            },
            hosts: switches * config.switches.hosts,
            frame_bytes: config.traffic.frame_bytes as u64,
            trials: config.plan.repetitions,
            trial_s: config.timing.measure.as_secs_f64(),
        },
        tests: Vec::new(),
        notes,
        controller_was_out_of_reach: false,
    })
}

/// A watcher that ignores the progress of a search, since all its trials together are one trial of
/// the benchmark.
struct NoWatcher;

impl Watcher for NoWatcher {
    fn trial_begins(&mut self, _: u32, _: Option<u32>, _: &str) {}
    fn trial_ended(&mut self, _: &Trial, _: &RunResult) {}
}
