//! `planimeter tables`: compares table designs for a program, by measurement or by prediction from
//! a model.

mod arguments;
pub(crate) mod measure;
mod predict;
mod race;

use std::process::ExitCode;

use crate::failure::Failure;
pub(crate) use arguments::Arguments;
pub(crate) use predict::requirements;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match arguments.output.lost_updates {
        _ if arguments.prediction.predict => predict::run(arguments),
        Some(updates) => race::run(arguments, updates),
        None => measure::run(arguments),
    }
}
