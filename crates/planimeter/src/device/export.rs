//! `planimeter device export`: servers for `planimeter bound`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use device::compose::Semantics;
use device::export::{HEAD, Server};
use device::{Level, Model};
use probe::outcome::RunResult;

use super::predict;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
    planimeter device export examples/device/zodiac-fx.json --match all --action set-nw-src --name access
    planimeter device export --controller runs/20261122T090000Z-probe/result.json --packet-bytes 64 --name controller

A packet that takes the slow path passes the switch, the controller and the switch again: a path of three servers.";

pub(super) fn command() -> Command {
    Command::new("export")
        .about("Write a device, or a controller that was probed, as a server of a network for `planimeter bound`")
        .after_help(EXAMPLES)
        .args(predict::model_and_functions())
        .mut_arg("model", |model| model.required(false).required_unless_present("controller"))
        .args([
            Arg::new("controller")
                .long("controller")
                .value_name("RESULT.JSON")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("model")
                .requires("packet-bytes")
                .help("A controller, from a result of `planimeter probe`: its loss-free rate and its slowest answer at it"),
            Arg::new("name").long("name").value_name("NAME").default_value("device").help("Name of the server"),
            Arg::new("level")
                .long("level")
                .value_name("LEVEL")
                .value_parser(value_parser!(Level))
                .default_value("maximum")
                .help("Level of the latency: maximum, or a percentile of the model above the median"),
            Arg::new("semantics")
                .long("semantics")
                .value_name("HOW")
                .value_parser(["pipelined", "run-to-completion", "burst-delay"])
                .default_value("run-to-completion")
                .help("How the device works through its functions"),
            Arg::new("bare")
                .long("bare")
                .action(ArgAction::SetTrue)
                .help("Leave out the units that stand before servers, to append to a file that has them"),
        ])
}

pub(super) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let server = match matches.get_one::<PathBuf>("controller") {
        Some(result) => of_controller(result, matches)?,
        None => of_device(matches)?,
    };
    let head = if matches.get_flag("bare") { "" } else { HEAD };
    print!("{head}{}", server.to_toml());
    Ok(ExitCode::SUCCESS)
}

fn name(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("name").map_or("device", String::as_str)
}

fn of_device(matches: &ArgMatches) -> Result<Server, Failure> {
    let model: Model = predict::read(super::path(matches, "model")?)?;
    let under = predict::setting(&model, matches)?;
    let composition = model.compose(under, &predict::functions(matches)).map_err(Failure::input)?;
    let curves = model.curves(under, &composition).map_err(Failure::run)?;
    let semantics = match matches.get_one::<String>("semantics").map(String::as_str) {
        Some("pipelined") => Some(Semantics::Pipelined),
        Some("burst-delay") => None,
        _ => Some(Semantics::RunToCompletion),
    };
    let level = matches.get_one::<Level>("level").copied().unwrap_or(Level::Maximum);
    let found = |semantics: Option<Semantics>| {
        let mut curves = curves.minimum.iter();
        curves.find(|service| service.level == level && service.semantics == semantics)
    };
    // Where nobody asked for one that needs a rate, delays alone give one that needs none.
    let chosen = matches.value_source("semantics") == Some(ValueSource::CommandLine);
    let service = found(semantics).or_else(|| {
        let service = if chosen { None } else { found(None) }?;
        eprintln!("planimeter: {}; the server is a burst delay", curves.remarks.join("; "));
        Some(service)
    });
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
    Ok(Server::of_device(name(matches), &model, &composition, service))
}

fn of_controller(path: &Path, matches: &ArgMatches) -> Result<Server, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let text = input::read_text(path).map_err(|error| wrong(&error))?;
    let result: RunResult = report::json::from_json(&text).map_err(|error| wrong(&error))?;
    let (rate, slowest_ns) = loss_free(&result).ok_or_else(|| {
        wrong(&"no point of it was answered without loss at an offered rate; probe an open rate, or search for the limit")
    })?;
    let packet_bytes = matches.get_one::<u32>("packet-bytes").copied().unwrap_or(64);
    let what = format!(
        "Controller {}, probed {}.",
        result.controller.address, result.provenance.started_at
    );
    Ok(Server::of_controller(name(matches), rate, slowest_ns, packet_bytes, &what))
}

/// The highest rate offered of which every packet-in was answered, rounded down to packets per second, and the slowest
/// answer at it.
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
        // What a search accepts as loss-free may have lost some; a curve may not.
        (loss == 0.0).then_some((rate.floor() as u64, slowest))
    });
    answered.max_by_key(|(rate, _)| *rate)
}
