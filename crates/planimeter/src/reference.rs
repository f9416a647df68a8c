//! The measurement of this project's reference controllers, by the probe on the same host.

use std::sync::Arc;

use probe::config::{self, Resolved, Settings};
use probe::metrics::Metric;
use probe::outcome::{Point, RunResult};
use probe::{HeldPorts, Live, RunContext};
use report::plot::{Line, Origin};
use report::value::Value;
use statistics::Unit;

use crate::embedded::Controller;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::invocation;
use crate::probe::Keeper;
use crate::progress::Progress;

/// The protocol between a reference controller and its switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    OpenFlow,
    P4Runtime,
}

impl Protocol {
    pub(crate) const BOTH: [Self; 2] = [Self::OpenFlow, Self::P4Runtime];

    /// Returns the name of the protocol as people write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenFlow => "OpenFlow",
            Self::P4Runtime => "P4Runtime",
        }
    }
}

/// A description of how a reference controller is measured.
pub(crate) struct Job<'a> {
    pub(crate) protocol: Protocol,
    /// The number of switches that the probe emulates.
    pub(crate) switches: u32,
    /// The settings of the probe besides the protocol, the number of switches and the controller's
    /// address.
    pub(crate) settings: &'a [(&'a str, &'a str)],
    /// Further arguments of the controller.
    pub(crate) more: &'a [&'a str],
    /// The name of the run directory of this measurement, below the run directory of the command.
    pub(crate) folder: &'a str,
    /// The description of this measurement on the progress line.
    pub(crate) about: &'a str,
}

/// Starts a reference controller with reactive forwarding, measures it with the probe, and writes a
/// run directory. The controller runs in a separate process, which ends with the measurement.
pub(crate) fn measure(job: &Job<'_>, environment: &Environment<'_>) -> Result<RunResult, Failure> {
    let mut config = job.resolve(None)?.config;
    let ports = HeldPorts::take(&config, true).map_err(Failure::run)?;
    ports.apply(&mut config);
    let controller = match job.protocol {
        Protocol::OpenFlow => Controller::openflow("reactive", job.more)?,
        Protocol::P4Runtime => {
            Controller::p4runtime("reactive", &probe::device_addresses(&config), job.more)?
        }
    };
    let resolved = job.resolve(Some(&controller))?;
    let note = "The controller is Planimeter's own reference controller, with reactive forwarding.";
    run_probe(job, &resolved, Attended { ports: Some(ports), note }, environment)
}

/// The facts about a controller that runs already which a measurement needs besides the probe's
/// configuration.
pub(crate) struct Attended<'a> {
    /// The ports of P4Runtime switches, if the controller knows them already.
    pub(crate) ports: Option<HeldPorts>,
    /// A description of the controller for readers of the report.
    pub(crate) note: &'a str,
}

/// Measures a controller that runs already, and writes a run directory.
pub(crate) fn run_probe(
    job: &Job<'_>,
    resolved: &Resolved,
    controller: Attended<'_>,
    environment: &Environment<'_>,
) -> Result<RunResult, Failure> {
    let mut directory = environment.make(job.folder)?;
    directory.write_configuration(&resolved.to_toml()).map_err(Failure::run)?;
    let live = Arc::new(Live::default());
    let context = RunContext {
        command: invocation::command_line(),
        configuration: resolved.values(),
        notes: vec![controller.note.to_owned()],
        ports: controller.ports,
        live: live.clone(),
        interrupt: environment.interrupt.clone(),
    };
    let mut watcher = Keeper {
        progress: Progress::start(live, environment.quiet).about(job.about),
        directory: &directory,
        kept: None,
        quiet: environment.quiet,
    };
    let result = probe::run(&resolved.config, context, &mut watcher)
        .map_err(|error| Failure::of_probe(&error))?;
    drop(watcher);
    directory.write(&result).map_err(Failure::run)?;
    Ok(result)
}

impl Job<'_> {
    /// Returns the configuration of the probe. It contains the address of `controller`, or a
    /// placeholder if the controller does not run yet.
    fn resolve(&self, controller: Option<&Controller>) -> Result<Resolved, Failure> {
        let address = format!("127.0.0.1:{}", controller.map_or(0, Controller::port).max(1));
        let process =
            controller.map_or("none".to_owned(), |known| format!("pid:{}", known.process_id()));
        let switches = self.switches.to_string();
        let own = match self.protocol {
            Protocol::OpenFlow => {
                [("protocol", "openflow13"), ("controller.address", address.as_str())]
            }
            // All switches share one port and are distinguished by their device ids.
            Protocol::P4Runtime => {
                [("protocol", "p4runtime"), ("p4runtime.devices-per-port", switches.as_str())]
            }
        };
        let common = [("switches.count", switches.as_str()), ("controller.process", &process)];
        let mut settings = Settings::new();
        for (key, value) in own.iter().chain(&common).chain(self.settings) {
            settings.set(key, value, config::Origin::Flag);
        }
        settings.resolve().map_err(Failure::run)
    }
}

/// Returns a metric of a measured point with its unit, or `None` if the metric was not measured.
pub(crate) fn value(point: &Point, metric: &str) -> Option<Value> {
    let unit = Metric::by_name(metric).map_or(Unit::Count, |metric| metric.unit);
    point.summary.get(metric).map(|estimate| Value::estimate(estimate, unit))
}

/// Returns a line of a figure, with a metric of each point over the point's `x`. Points without the
/// metric are left out.
pub(crate) fn series<'p>(
    name: impl Into<String>,
    points: impl IntoIterator<Item = &'p Point>,
    x: impl Fn(&Point) -> Option<f64>,
    metric: &str,
) -> Line {
    let points = points.into_iter().filter_map(|point| Some((x(point)?, value(point, metric)?)));
    Line::of_values(name, Origin::Measured, points)
}
