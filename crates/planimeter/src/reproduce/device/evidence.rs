//! The measured figures by which the paper's claims on devices are judged. Each figure has one
//! value for each round of a campaign.

use std::collections::BTreeMap;

use ::device::verify::{Verification, VerifiedLevel, verify};
use ::device::{Campaign, Level, Model, SettingModel, Settings, largest_packet_errors};

use super::super::claims::System;
use super::super::section::Measured;
use super::Path;
use crate::failure::Failure;

/// The measurements of one round of a campaign, with the model that was derived from them and its
/// verification.
struct Round {
    campaign: Campaign,
    model: Model,
    verification: Verification,
}

impl Round {
    fn of(campaign: Campaign) -> Result<Self, Failure> {
        let (model, verifications) =
            verify(&campaign, &Settings::default()).map_err(Failure::run)?;
        let verification = verifications.into_iter().next();
        let verification = verification.ok_or_else(|| Failure::run("nothing was verified"))?;
        Ok(Self { campaign, model, verification })
    }

    fn under(&self) -> Option<&SettingModel> {
        self.model.settings.first()
    }

    /// Returns the costs of the functions with these names at the median, in picoseconds.
    fn costs(&self, names: &[&str]) -> Vec<f64> {
        let Some(under) = self.under() else { return Vec::new() };
        let own = under
            .functions
            .iter()
            .filter(|one| names.iter().any(|name| one.function.name.to_string() == *name));
        let cost = |function| {
            let delta =
                under.deltas(function).into_iter().find(|one| one.level == Level::Median)?;
            Some(delta.value.0 as f64)
        };
        own.filter_map(cost).collect()
    }

    fn mean_cost(&self, names: &[&str]) -> Option<f64> {
        statistics::mean(&self.costs(names))
    }

    fn least_cost(&self, names: &[&str]) -> Option<f64> {
        self.costs(names).into_iter().reduce(f64::min)
    }

    fn greatest_cost(&self, names: &[&str]) -> Option<f64> {
        self.costs(names).into_iter().reduce(f64::max)
    }

    /// Returns the greatest cost of any function at the median, divided by the median delay of the
    /// baseline.
    fn greatest_share(&self) -> Option<f64> {
        let under = self.under()?;
        let levels = &under.f0.profile.levels;
        let baseline = levels.iter().find(|one| one.level == Level::Median)?.value;
        let names: Vec<String> =
            under.functions.iter().map(|one| one.function.name.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Some(self.greatest_cost(&names)? / baseline.0 as f64)
    }

    fn worst_at_median(&self) -> Option<f64> {
        Some(self.at_median()?.worst_absolute)
    }

    fn skill_at_median(&self) -> Option<f64> {
        self.at_median()?.skill
    }

    fn at_median(&self) -> Option<&VerifiedLevel> {
        self.verification.levels.iter().find(|one| one.level == Level::Median)
    }

    fn worst_of_largest_packets(&self) -> Option<f64> {
        let errors = largest_packet_errors(&self.campaign);
        errors.iter().map(|one| one.relative.abs()).reduce(f64::max)
    }

    /// Returns the largest mean error of the predictions for one function, as a positive number.
    /// For each function, the mean is over the median delays of all predicted combinations that
    /// contain it.
    fn worst_mean(&self) -> Option<f64> {
        let mut by_function: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for cell in self.verification.cells.iter().filter(|cell| !cell.training) {
            let error = cell.errors.iter().find(|error| error.level == Level::Median)?;
            for name in &cell.functions {
                by_function.entry(name.to_string()).or_default().push(error.relative);
            }
        }
        let means = by_function.values().filter_map(|errors| statistics::mean(errors));
        means.map(f64::abs).reduce(f64::max)
    }
}

const SINGLE_FIELDS: [&str; 3] = ["tp-dst", "dl-dst", "masked-nw-dst"];
const VLAN: [&str; 2] = ["strip-vlan", "set-vlan-id"];
const NETWORK: [&str; 3] = ["set-nw-src", "set-nw-tos", "set-tp-src"];

/// Adds to `measured` the figures by which claims on devices are judged. Each has one value for
/// each round of the campaign.
pub(super) fn put(
    measured: &mut Measured,
    campaign: &Campaign,
    path: Path,
    rounds: u32,
) -> Result<(), Failure> {
    let parts = (0..rounds).map(|round| Round::of(campaign.round(round, rounds)));
    let parts: Vec<Round> = parts.collect::<Result<_, _>>()?;
    let mut put = |key: &str, figure: &dyn Fn(&Round) -> Option<f64>| {
        let values: Option<Vec<f64>> = parts.iter().map(figure).collect();
        measured.rounds(System::Memory, key, values.unwrap_or_default());
    };
    let ratio = |above: Option<f64>, below: Option<f64>| Some(above? / below?);
    match path {
        Path::Interpreter => {
            put("match.all-over-five-tuple", &|one| {
                ratio(one.mean_cost(&["all"]), one.mean_cost(&["five-tuple"]))
            });
            put("match.five-tuple-over-single", &|one| {
                ratio(one.mean_cost(&["five-tuple"]), one.greatest_cost(&SINGLE_FIELDS))
            });
            put("action.network-over-vlan", &|one| {
                ratio(one.mean_cost(&NETWORK), one.mean_cost(&VLAN))
            });
            put("action.least-network-over-most-vlan", &|one| {
                ratio(one.least_cost(&NETWORK), one.greatest_cost(&VLAN))
            });
            put("action.least-vlan-over-mac", &|one| {
                ratio(one.least_cost(&VLAN), one.mean_cost(&["set-dl-src"]))
            });
            put("interpreter.worst.median", &Round::worst_at_median);
            put("interpreter.worst.largest-packet", &Round::worst_of_largest_packets);
            put("interpreter.worst-mean", &Round::worst_mean);
        }
        Path::Compiled => {
            put("compiled.greatest-cost", &Round::greatest_share);
            put("compiled.worst.median", &Round::worst_at_median);
            put("compiled.skill", &Round::skill_at_median);
        }
    }
    Ok(())
}
