//! `planimeter device predict`: what a program of known functions takes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use device::campaign::FunctionName;
use device::{Model, SettingModel};
use report::models::{paths_table, prediction_table};

use super::path;
use crate::failure::Failure;
use crate::output::layout;
use crate::program;

const EXAMPLES: &str = "\
Examples:
    planimeter device predict examples/device/zodiac-fx.json --match five-tuple --action set-nw-src
    planimeter device predict model.json --program prog.p4
    planimeter device predict model.json --function five-tuple --function set-nw-src --function set-nw-tos";

pub(super) fn command() -> Command {
    Command::new("predict")
        .about("Predict the delays and service curves of functions together")
        .after_help(EXAMPLES)
        .args(model_and_functions())
        .arg(
            Arg::new("program")
                .long("program")
                .value_name("PROGRAM")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with_all(["match", "action", "function"])
                .help("Predict every path of a P4 program; what the model has no measurement of is listed"),
        )
        .args(program::arguments())
}

/// The model and what is asked of it.
pub(super) fn model_and_functions() -> [Arg; 7] {
    let function = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("FUNCTION").action(ArgAction::Append).help(help)
    };
    [
        Arg::new("model")
            .value_name("MODEL")
            .required(true)
            .value_parser(value_parser!(PathBuf))
            .help("The model, as `planimeter device model -o` writes it"),
        function("match", "What packets are matched on"),
        function("action", "What is done with a packet"),
        function(
            "function",
            "Any function of the model, by name; once for each time that a packet needs it",
        ),
        Arg::new("packet-bytes")
            .long("packet-bytes")
            .value_name("BYTES")
            .value_parser(value_parser!(u32))
            .help("The packet length, for a model of several"),
        Arg::new("rules")
            .long("rules")
            .value_name("RULES")
            .value_parser(value_parser!(u32))
            .help("Rules in the table, for a model of several"),
        Arg::new("condition")
            .long("condition")
            .value_name("NAME=VALUE")
            .action(ArgAction::Append)
            .help("A further condition of the setting, for a model of several"),
    ]
}

pub(super) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let model = read(path(matches, "model")?)?;
    let under = setting(&model, matches)?;
    if let Some(program) = matches.get_one::<PathBuf>("program") {
        let program = program::load(program, matches)?;
        let paths = device::program::paths(&program).map_err(Failure::input)?;
        let predictions = model.predict_paths(under, &paths).map_err(Failure::input)?;
        print!("{}", paths_table(&model, under, &predictions, layout()));
        return Ok(ExitCode::SUCCESS);
    }
    let composition = model.compose(under, &functions(matches)).map_err(Failure::input)?;
    let curves = model.curves(under, &composition).map_err(Failure::run)?;
    print!("{}", prediction_table(&model, &composition, &curves, layout()));
    Ok(ExitCode::SUCCESS)
}

/// Reads a model.
pub(super) fn read(path: &Path) -> Result<Model, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    if path.is_dir() {
        let made = format!("`planimeter device model {} -o model.json`", path.display());
        return Err(wrong(&format!(
            "is a directory, and a model is a file: {made} makes that of a campaign"
        )));
    }
    let text = input::read_text(path).map_err(|error| wrong(&error))?;
    let model: Model = serde_json::from_str(&text).map_err(|error| {
        // Of a file of another kind it is no help which of its fields no model has.
        let is_model = serde_json::from_str::<serde_json::Value>(&text)
            .is_ok_and(|value| value.get("baseline").is_some() && value.get("settings").is_some());
        match is_model {
            true => wrong(&error),
            false => wrong(
                &"is no model of a device; `planimeter device model RUN -o model.json` makes one of a campaign, and \
                  examples/device has models that were published",
            ),
        }
    })?;
    model.check().map_err(|error| wrong(&error))?;
    Ok(model)
}

/// The functions that were named, in the order of options.
pub(super) fn functions(matches: &ArgMatches) -> Vec<FunctionName> {
    let named =
        |name: &str| matches.get_many::<String>(name).into_iter().flatten().map(FunctionName::new);
    named("match").chain(named("action")).chain(named("function")).collect()
}

/// The setting that was named, or the only one.
pub(super) fn setting<'m>(
    model: &'m Model,
    matches: &ArgMatches,
) -> Result<&'m SettingModel, Failure> {
    let packet_bytes = matches.get_one::<u32>("packet-bytes");
    let rules = matches.get_one::<u32>("rules");
    let conditions: Vec<(&str, &str)> = matches
        .get_many::<String>("condition")
        .into_iter()
        .flatten()
        .map(|text| {
            text.split_once('=')
                .ok_or_else(|| Failure::input(format!("--condition {text}: write NAME=VALUE")))
        })
        .collect::<Result<_, _>>()?;
    let fits = |under: &&SettingModel| {
        packet_bytes.is_none_or(|bytes| under.setting.packet_bytes == *bytes)
            && rules.is_none_or(|rules| under.setting.rules == *rules)
            && conditions.iter().all(|(name, value)| {
                under.setting.conditions.get(*name).is_some_and(|found| found == value)
            })
    };
    let fitting: Vec<&SettingModel> = model.settings.iter().filter(fits).collect();
    match fitting.as_slice() {
        [one] => Ok(one),
        some => {
            let of: Vec<String> = if some.is_empty() {
                model.settings.iter().map(|under| under.setting.to_string()).collect()
            } else {
                some.iter().map(|under| under.setting.to_string()).collect()
            };
            Err(Failure::input(format!(
                "{} of the model's settings fit: {}; choose with --packet-bytes, --rules and --condition",
                if some.is_empty() { "none" } else { "several" },
                of.join("; ")
            )))
        }
    }
}
