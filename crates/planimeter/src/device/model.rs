//! `planimeter device model`: a campaign's model.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command, value_parser};
use device::Model;
use report::models::model_table;

use super::{campaign, derivation, run_argument, settings};
use crate::failure::Failure;
use crate::output::layout;

const EXAMPLES: &str = "\
Example:
    planimeter device model runs/20261122T090000Z-device -o model.json";

pub(super) fn command() -> Command {
    Command::new("model")
        .about("Derive a model from a campaign: what each function costs, at every level")
        .after_help(EXAMPLES)
        .arg(run_argument())
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help(
                    "Where the model goes, as JSON; `-` is standard output, in place of the table",
                ),
        )
        .args(derivation())
}

pub(super) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let model = Model::derive(&campaign(matches)?, &settings(matches)?).map_err(Failure::input)?;
    let mut text = serde_json::to_string_pretty(&model).map_err(Failure::run)?;
    text.push('\n');
    match matches.get_one::<PathBuf>("output") {
        Some(path) if path.as_os_str() == "-" => print!("{text}"),
        output => {
            print!("{}", model_table(&model, layout()));
            if let Some(path) = output {
                std::fs::write(path, text).map_err(|error| {
                    Failure::run(format!("cannot write {}: {error}", path.display()))
                })?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
