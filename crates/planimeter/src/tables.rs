//! `planimeter tables`: which table design should a program use? Measured, or predicted from a model.

mod arguments;
pub(crate) mod measure;
mod predict;
mod race;

use std::process::ExitCode;

use clap::ArgMatches;

use crate::failure::Failure;
pub(crate) use arguments::command;
pub(crate) use predict::requirements;

pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    if matches.get_flag("predict") {
        return predict::run(matches);
    }
    match matches.get_one::<u64>("lost-updates") {
        Some(&updates) => race::run(matches, updates),
        None => measure::run(matches),
    }
}
