//! `planimeter device`: models of devices, from measurements to predictions that were held against the device.

mod capture;
mod curve;
pub(crate) mod export;
mod import;
pub(crate) mod measure;
mod model;
mod predict;
mod verify;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use device::{Campaign, Level, Settings};
use statistics::Confidence;

use crate::failure::Failure;

const LONG_ABOUT: &str = "\
Measure a device; derive, predict and verify its model.

A device is measured with its baseline function alone and with each further function added to it: what a match on a \
five-tuple costs, what setting a field costs. From that follows what any program made of such functions takes, as \
delays at every level and as service curves for `planimeter bound`; measured combinations say how far to believe it. \
The method is that of Helm et al. (ITC 33, 2021); docs/device.md says what is done beyond it.";

pub(crate) fn command() -> Command {
    Command::new("device")
        .about("Measure, derive, predict and verify the latency model of a device")
        .long_about(LONG_ABOUT)
        .max_term_width(100)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(measure::command())
        .subcommand(import::command())
        .subcommand(model::command())
        .subcommand(predict::command())
        .subcommand(verify::command())
        .subcommand(export::command())
        .subcommand(curve::command())
}

pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    match matches.subcommand() {
        Some(("measure", arguments)) => measure::run(arguments),
        Some(("curve", arguments)) => curve::run(arguments),
        Some(("import", arguments)) => import::run(arguments),
        Some(("export", arguments)) => export::run(arguments),
        Some(("model", arguments)) => model::run(arguments),
        Some(("predict", arguments)) => predict::run(arguments),
        Some(("verify", arguments)) => verify::run(arguments),
        _ => Ok(ExitCode::from(2)),
    }
}

/// How delays are summed up: `--percentile`, `--confidence`, `--tolerance`.
fn derivation() -> [Arg; 3] {
    [
        Arg::new("percentile")
            .long("percentile")
            .value_name("PERCENT")
            .action(ArgAction::Append)
            .value_parser(value_parser!(f64))
            .help("A further level: the delay that this share of packets does not exceed, such as 99.99"),
        Arg::new("confidence")
            .long("confidence")
            .value_name("PERCENT")
            .value_parser(value_parser!(f64))
            .default_value("99")
            .help("Confidence of each interval by itself"),
        Arg::new("tolerance")
            .long("tolerance")
            .value_name("PERCENT")
            .value_parser(value_parser!(f64))
            .default_value("1")
            .help(
                "By how much of the baseline's median a cost may differ between packets and still be called constant",
            ),
    ]
}

fn settings(matches: &ArgMatches) -> Result<Settings, Failure> {
    let percent = |name: &str| matches.get_one::<f64>(name).copied().unwrap_or_default() / 100.0;
    let confidence = Confidence::new(percent("confidence"))
        .ok_or_else(|| Failure::input("--confidence is between 0 and 100 percent"))?;
    let tolerance = percent("tolerance");
    if !(0.0..=1.0).contains(&tolerance) {
        return Err(Failure::input("--tolerance is between 0 and 100 percent"));
    }
    let mut levels = Level::usual();
    for percentile in matches.get_many::<f64>("percentile").into_iter().flatten() {
        let level: Level = format!("p{percentile}").parse().map_err(Failure::input)?;
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels.sort_unstable();
    Ok(Settings { levels, confidence, tolerance })
}

/// The run directory that a campaign is in.
fn run_argument() -> Arg {
    Arg::new("run")
        .value_name("RUN")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("Run directory of `planimeter device measure` or `import`")
}

fn campaign(matches: &ArgMatches) -> Result<Campaign, Failure> {
    let directory = path(matches, "run")?;
    Campaign::read(directory).map_err(Failure::input)
}

fn path<'m>(matches: &'m ArgMatches, name: &str) -> Result<&'m Path, Failure> {
    matches
        .get_one::<PathBuf>(name)
        .map(PathBuf::as_path)
        .ok_or_else(|| Failure::input(format!("{name} is missing")))
}
