//! `planimeter device export`: writes servers for `planimeter bound`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use device::compose::Semantics;
use device::export::{HEAD, Server};
use device::{Level, Model};
use probe::outcome::RunResult;

use super::predict::{self, Functions, UnderSetting};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
    planimeter device export examples/device/zodiac-fx.json --match all --action set-nw-src --name access
    planimeter device export --controller runs/20261122T090000Z-probe/result.json --packet-bytes 64 --name controller

A packet that takes the slow path passes the switch, the controller and the switch again: a path of three servers.";

/// The arguments of `planimeter device export`.
#[derive(Debug, Args)]
#[command(
    about = "Write a device or a probed controller as a server of a network for `planimeter bound`",
    after_help = EXAMPLES
)]
pub(super) struct Arguments {
    /// The model that `planimeter device model -o` wrote
    #[arg(value_name = "MODEL", required_unless_present = "controller")]
    model: Option<PathBuf>,
    #[command(flatten)]
    functions: Functions,
    #[command(flatten)]
    setting: UnderSetting,
    /// A result of `planimeter probe`, whose controller becomes a server with its loss-free rate
    /// and its slowest answer at that rate
    #[arg(long, value_name = "RESULT.JSON", conflicts_with = "model", requires = "packet_bytes")]
    controller: Option<PathBuf>,
    /// The name of the server
    #[arg(long, value_name = "NAME", default_value = "device")]
    name: String,
    /// The level of the latency: maximum, or a percentile of the model above the median
    #[arg(long, value_name = "LEVEL", default_value = "maximum")]
    level: Level,
    /// The way in which the device executes its functions [default: run-to-completion]
    #[arg(long, value_name = "HOW")]
    semantics: Option<Working>,
    /// Omit the units at the head of a file, to append the server to a file that has them
    #[arg(long)]
    bare: bool,
}

/// The way in which a device executes the functions that a packet needs.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Working {
    Pipelined,
    RunToCompletion,
    BurstDelay,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let server = match (&arguments.controller, &arguments.model) {
        (Some(result), _) => of_controller(result, arguments)?,
        (None, Some(model)) => of_device(model, arguments)?,
        (None, None) => return Err(Failure::input("name a MODEL, or a --controller")),
    };
    let head = if arguments.bare { "" } else { HEAD };
    print!("{head}{}", server.to_toml());
    Ok(ExitCode::SUCCESS)
}

/// Returns the server that stands for a device in a network file.
fn of_device(model: &Path, arguments: &Arguments) -> Result<Server, Failure> {
    let model: Model = predict::read(model)?;
    let under = arguments.setting.of(&model)?;
    let functions = arguments.functions.names();
    let composition = model.compose(under, &functions).map_err(Failure::input)?;
    let curves = model.curves(under, &composition).map_err(Failure::run)?;
    let level = arguments.level;
    let found = |semantics: Option<Semantics>| {
        let mut curves = curves.minimum.iter();
        curves.find(|service| service.level == level && service.semantics == semantics)
    };
    // Without --semantics, a model without rates becomes a burst delay, which needs none.
    let service = match arguments.semantics {
        Some(Working::Pipelined) => found(Some(Semantics::Pipelined)),
        Some(Working::RunToCompletion) => found(Some(Semantics::RunToCompletion)),
        Some(Working::BurstDelay) => found(None),
        None => found(Some(Semantics::RunToCompletion)).or_else(|| {
            let service = found(None)?;
            eprintln!("planimeter: {}; the server is a burst delay", curves.remarks.join("; "));
            Some(service)
        }),
    };
    let service = service.ok_or_else(|| {
        let remarks = match curves.remarks.as_slice() {
            [] => String::new(),
            some => format!(" ({})", some.join("; ")),
        };
        Failure::input(format!(
            "there is no such curve at level {level}{remarks}; try --semantics burst-delay, or a level of the model above \
             the median"
        ))
    })?;
    Ok(Server::of_device(&arguments.name, &model, &composition, service))
}

fn of_controller(path: &Path, arguments: &Arguments) -> Result<Server, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let text = input::read_text(path).map_err(|error| wrong(&error))?;
    let result: RunResult = report::json::from_json(&text).map_err(|error| wrong(&error))?;
    let (rate, slowest_ns) = loss_free(&result).ok_or_else(|| {
        wrong(&"it has no point without loss in open mode; probe with --mode open, or with --plan search")
    })?;
    let packet_bytes = arguments.setting.packet_bytes.unwrap_or(64);
    let what = format!(
        "Controller {}, probed {}.",
        result.controller.address, result.provenance.started_at
    );
    Ok(Server::of_controller(&arguments.name, rate, slowest_ns, packet_bytes, &what))
}

/// Returns the highest offered rate at which a controller answered every packet-in, in whole
/// packets per second, and the longest response time at that rate, in nanoseconds. Rates above the
/// result of a search are ignored. Returns `None` if there is no such rate.
pub(crate) fn loss_free(result: &RunResult) -> Option<(u64, u64)> {
    let limit =
        result.search.as_ref().and_then(|search| search.loss_free_rate).unwrap_or(f64::INFINITY);
    let answered = result.points.iter().filter_map(|point| {
        let rate =
            point.offered_rate.filter(|rate| *rate >= 1.0 && *rate <= limit * (1.0 + 1e-9))?;
        let loss = point.summary.get("loss").map_or(f64::INFINITY, |loss| loss.max);
        let trials = point.trials.iter().map(|trial| trial.rtt_from_due);
        let slowest =
            trials.filter(|latency| latency.samples > 0).map(|latency| latency.max_ns).max()?;
        // A search may accept a rate with some loss as loss-free. A service curve may not.
        (loss == 0.0).then_some((rate.floor() as u64, slowest))
    });
    answered.max_by_key(|(rate, _)| *rate)
}
