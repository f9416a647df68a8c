//! `planimeter device`: models of devices, from measurements to predictions that are verified
//! against the device.

mod capture;
pub(crate) mod contract;
mod curve;
pub(crate) mod export;
mod feasible;
mod import;
pub(crate) mod measure;
mod model;
pub(crate) mod predict;
mod verify;

use std::num::ParseFloatError;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use device::{Campaign, Level, Settings};
use statistics::Confidence;

use crate::failure::Failure;

const LONG_ABOUT: &str = "\
Measure a device; derive, predict and verify its model.

A device is measured with its baseline function alone and with each further function added to it, such as a match on a \
five-tuple or an action that sets a field. From the cost of each function, the model predicts the delay of any program that \
consists of such functions, at every level and as service curves for `planimeter bound`. Measured combinations of functions \
verify the predictions. The method is that of Helm et al. (ITC 33, 2021); docs/device.md describes what goes beyond it.";

/// The arguments of `planimeter device`.
#[derive(Debug, Parser)]
#[command(
    name = "device",
    about = "Measure, derive, predict and verify the latency model of a device",
    long_about = LONG_ABOUT,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Measure(measure::Arguments),
    Import(import::Arguments),
    Model(model::Arguments),
    Predict(predict::Arguments),
    Contract(contract::Arguments),
    Verify(verify::Arguments),
    Export(export::Arguments),
    Curve(curve::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.verb {
        Verb::Measure(arguments) => measure::run(arguments),
        Verb::Import(arguments) => import::run(arguments),
        Verb::Model(arguments) => model::run(arguments),
        Verb::Predict(arguments) => predict::run(arguments),
        Verb::Contract(arguments) => contract::run(arguments),
        Verb::Verify(arguments) => verify::run(arguments),
        Verb::Export(arguments) => export::run(arguments),
        Verb::Curve(arguments) => curve::run(arguments),
    }
}

/// The flags that say how measured delays are summarised: percentiles, confidence and tolerance.
#[derive(Debug, Args)]
struct Derivation {
    /// A further level of delays: a percentile, such as 99.99
    #[arg(long, value_name = "PERCENT", value_parser = percentile)]
    percentile: Vec<Level>,
    /// The confidence of each interval by itself
    #[arg(long, value_name = "PERCENT", default_value = "99", value_parser = confidence)]
    confidence: Confidence,
    /// The share of the baseline's median by which a cost may differ between packets and still be
    /// called constant
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = tolerance)]
    tolerance: f64,
}

/// Parses a percentage such as `99`, and returns it as a fraction such as 0.99.
fn fraction(text: &str) -> Result<f64, String> {
    text.parse::<f64>().map(|percent| percent / 100.0).map_err(|error| error.to_string())
}

fn percentile(text: &str) -> Result<Level, String> {
    let percentile: f64 = text.parse().map_err(|error: ParseFloatError| error.to_string())?;
    format!("p{percentile}").parse().map_err(|error: <Level as FromStr>::Err| error.to_string())
}

fn confidence(text: &str) -> Result<Confidence, String> {
    Confidence::new(fraction(text)?).ok_or_else(|| "expected a number from 0 to 100".to_owned())
}

fn tolerance(text: &str) -> Result<f64, String> {
    let tolerance = fraction(text)?;
    let fits = (0.0..=1.0).contains(&tolerance);
    fits.then_some(tolerance).ok_or_else(|| "expected a number from 0 to 100".to_owned())
}

impl Derivation {
    fn settings(&self) -> Settings {
        let mut levels = Level::usual();
        levels.extend(&self.percentile);
        levels.sort_unstable();
        levels.dedup();
        Settings { levels, confidence: self.confidence, tolerance: self.tolerance }
    }
}

/// The argument that names the run directory of a measurement campaign.
#[derive(Debug, Args)]
struct Run {
    /// The run directory of `planimeter device measure` or `planimeter device import`
    #[arg(value_name = "RUN")]
    run: PathBuf,
}

impl Run {
    fn campaign(&self) -> Result<Campaign, Failure> {
        Campaign::read(&self.run).map_err(Failure::input)
    }
}
