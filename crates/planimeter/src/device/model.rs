//! `planimeter device model`: derives the latency model of a device from a measurement campaign.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use device::Model;
use report::models::model_table;

use super::{Derivation, Run};
use crate::failure::Failure;
use crate::output::layout;

const EXAMPLES: &str = "\
Example:
    planimeter device model runs/20261122T090000Z-device -o model.json";

/// The arguments of `planimeter device model`.
#[derive(Debug, Args)]
#[command(
    about = "Derive a model from a campaign: the cost of each function, at every level",
    after_help = EXAMPLES
)]
pub(super) struct Arguments {
    #[command(flatten)]
    run: Run,
    /// The file of the model, as JSON; `-` prints it on standard output instead of the table
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    derivation: Derivation,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let campaign = arguments.run.campaign()?;
    let model =
        Model::derive(&campaign, &arguments.derivation.settings()).map_err(Failure::input)?;
    let mut text = serde_json::to_string_pretty(&model).map_err(Failure::run)?;
    text.push('\n');
    match &arguments.output {
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
