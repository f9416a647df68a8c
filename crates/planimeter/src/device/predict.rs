//! `planimeter device predict`: predicts the delay of a program from the known costs of its
//! functions.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use device::campaign::FunctionName;
use device::program::PathPrediction;
use device::{Model, SettingModel};
use report::models::{
    paths_document, paths_table, prediction_document, prediction_table, script_name,
};

use super::feasible::{self, End};
use crate::failure::{Failure, INTERRUPTED};
use crate::invocation;
use crate::output::{Printed, layout};
use crate::program;

const EXAMPLES: &str = "\
Examples:
    planimeter device predict examples/device/zodiac-fx.json --match five-tuple --action set-nw-src
    planimeter device predict model.json --program prog.p4
    planimeter device predict model.json --program prog.p4 --witnesses 100 --output runs/prog
    planimeter device predict model.json --function five-tuple --function set-nw-src --function set-nw-tos";

/// The verb in the names of run directories.
const VERB: &str = "device-predict";

/// The arguments of `planimeter device predict`.
#[derive(Debug, Args)]
#[command(
    about = "Predict the delays and service curves of a combination of functions",
    after_help = EXAMPLES
)]
pub(super) struct Arguments {
    /// The model that `planimeter device model -o` wrote
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    functions: Functions,
    #[command(flatten)]
    setting: UnderSetting,
    /// Predict every path of a P4 program, and list what the model has no measurement of
    #[arg(long, value_name = "PROGRAM", conflicts_with = "Functions")]
    program: Option<PathBuf>,
    #[command(flatten)]
    sources: program::Sources,
    #[command(flatten)]
    effort: feasible::Effort,
    #[command(flatten)]
    printed: Printed,
}

/// The flags that name the functions of a device that a packet needs.
#[derive(Debug, Args)]
pub(super) struct Functions {
    /// A function that matches packets
    #[arg(long = "match", value_name = "FUNCTION")]
    matched: Vec<String>,
    /// A function that is an action on packets
    #[arg(long, value_name = "FUNCTION")]
    action: Vec<String>,
    /// Any function of the model; name it once for each time that a packet needs it
    #[arg(long, value_name = "FUNCTION")]
    function: Vec<String>,
}

/// The flags that select one setting of a device model that has several.
#[derive(Debug, Args)]
pub(super) struct UnderSetting {
    /// The packet length, if the model has several
    #[arg(long, value_name = "BYTES")]
    pub(super) packet_bytes: Option<u32>,
    /// The number of rules in the table, if the model has several
    #[arg(long, value_name = "RULES")]
    rules: Option<u32>,
    /// A further condition of the setting, if the model has several
    #[arg(long, value_name = "NAME=VALUE", value_parser = condition)]
    condition: Vec<Condition>,
}

/// A condition that the selected setting of a device model must have, with its value.
#[derive(Debug, Clone)]
struct Condition {
    name: String,
    value: String,
}

fn condition(text: &str) -> Result<Condition, &'static str> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok(Condition { name: name.to_owned(), value: value.to_owned() })
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let started = invocation::start();
    let model = read(&arguments.model)?;
    let under = arguments.setting.of(&model)?;
    if let Some(path) = &arguments.program {
        let program = program::load(path, &arguments.sources)?;
        let paths = device::program::paths(&program).map_err(Failure::input)?;
        let mut predictions = model.predict_paths(under, &paths).map_err(Failure::input)?;
        let end = arguments.effort.decide(program, &mut predictions)?;
        let mut document = paths_document(&model, under, &predictions, started.provenance());
        if let Some(reason) = end.reason() {
            document.lacks(reason);
        }
        let text = || {
            let partial = end.reason().map(|reason| format!("\nPARTIAL: {reason}\n"));
            paths_table(&model, under, &predictions, layout()) + &partial.unwrap_or_default()
        };
        arguments.printed.leave(VERB, &document, text, &scripts(&predictions))?;
        return Ok(match end {
            End::Complete | End::TimeOver => ExitCode::SUCCESS,
            End::Interrupted => ExitCode::from(INTERRUPTED),
        });
    }
    let composition = model.compose(under, &arguments.functions.names()).map_err(Failure::input)?;
    let curves = model.curves(under, &composition).map_err(Failure::run)?;
    let document = prediction_document(&model, &composition, &curves, started.provenance());
    let text = || prediction_table(&model, &composition, &curves, layout());
    arguments.printed.leave(VERB, &document, text, &[])?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the scripts with the packets of paths, by file name.
fn scripts(predictions: &[PathPrediction]) -> Vec<(String, String)> {
    let numbered = (1..).zip(predictions);
    let script = |(number, path): (usize, &PathPrediction)| {
        let witness = path.feasibility.witness()?;
        Some((script_name(number), witness.script.clone()))
    };
    numbered.filter_map(script).collect()
}

/// Reads a device model from the JSON file at `path`.
pub(crate) fn read(path: &Path) -> Result<Model, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    if path.is_dir() {
        let made = format!("`planimeter device model {} -o model.json`", path.display());
        return Err(wrong(&format!(
            "is a directory and not the file of a model; {made} derives one from a campaign"
        )));
    }
    let text = input::read_text(path).map_err(|error| wrong(&error))?;
    let model: Model = serde_json::from_str(&text).map_err(|error| {
        // For a file of another kind, an error about its fields would not help.
        let is_model = serde_json::from_str::<serde_json::Value>(&text)
            .is_ok_and(|value| value.get("baseline").is_some() && value.get("settings").is_some());
        match is_model {
            true => wrong(&error),
            false => wrong(
                &"is not a model of a device; `planimeter device model RUN -o model.json` makes one of a campaign, and \
                  examples/device has models that were published",
            ),
        }
    })?;
    model.check().map_err(|error| wrong(&error))?;
    Ok(model)
}

impl Functions {
    /// Returns the names of the functions that the flags name: those of `--match`, then those of
    /// `--action`, then those of `--function`.
    pub(super) fn names(&self) -> Vec<FunctionName> {
        let named = self.matched.iter().chain(&self.action).chain(&self.function);
        named.map(FunctionName::new).collect()
    }
}

impl UnderSetting {
    /// Returns the setting of the model that the flags select. Returns an error unless exactly one
    /// setting has the properties that the flags name.
    pub(super) fn of<'m>(&self, model: &'m Model) -> Result<&'m SettingModel, Failure> {
        let fits = |under: &&SettingModel| {
            self.packet_bytes.is_none_or(|bytes| under.setting.packet_bytes == bytes)
                && self.rules.is_none_or(|rules| under.setting.rules == rules)
                && self
                    .condition
                    .iter()
                    .all(|wanted| under.setting.conditions.get(&wanted.name) == Some(&wanted.value))
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
}
