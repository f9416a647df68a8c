//! The measured figures by which the paper's claims on devices are judged. Each figure has one
//! value for each round of a campaign.

use std::collections::BTreeMap;

use ::device::verify::{Verification, VerifiedLevel, verify};
use ::device::{Campaign, Level, Model, SettingModel, Settings, largest_packet_errors};

use super::super::claims::System;
use super::super::section::Measured;
use super::levels::Quiet;
use crate::failure::Failure;

/// The measurements of one round of a campaign, with the model that was derived from them and its
/// verification.
struct Round {
    /// The measurements of the round with all packets.
    all: Campaign,
    /// The measurements of the round without the packets that stalls of the host delayed.
    quiet: Campaign,
    model: Model,
    verification: Verification,
}

impl Round {
    fn of(all: Campaign, quiet: Campaign) -> Result<Self, Failure> {
        let (model, verifications) = verify(&quiet, &Settings::default()).map_err(Failure::run)?;
        let verification = verifications.into_iter().next();
        let verification = verification.ok_or_else(|| Failure::run("nothing was verified"))?;
        Ok(Self { all, quiet, model, verification })
    }

    fn under(&self) -> Option<&SettingModel> {
        self.model.settings.first()
    }

    /// Returns the costs, in picoseconds, by which the functions in `names` increase the median
    /// delay.
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

    /// Returns the largest increase of the median delay that any function causes, as a share of the
    /// median delay of the baseline.
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
        let errors = largest_packet_errors(&self.all);
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

/// A figure by which a part of a claim is judged, and the function that computes it.
struct PartFigure {
    /// The key of the part.
    key: &'static str,
    of: fn(&Round) -> Option<f64>,
}

fn ratio(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    Some(above? / below?)
}

/// The figures for the claims on that device of the paper whose functions have noticeable costs.
const OF_COSTS: [PartFigure; 8] = [
    PartFigure {
        key: "match.all-over-five-tuple",
        of: |one| ratio(one.mean_cost(&["all"]), one.mean_cost(&["five-tuple"])),
    },
    PartFigure {
        key: "match.five-tuple-over-single",
        of: |one| ratio(one.mean_cost(&["five-tuple"]), one.greatest_cost(&SINGLE_FIELDS)),
    },
    PartFigure {
        key: "action.network-over-vlan",
        of: |one| ratio(one.mean_cost(&NETWORK), one.mean_cost(&VLAN)),
    },
    PartFigure {
        key: "action.least-network-over-most-vlan",
        of: |one| ratio(one.least_cost(&NETWORK), one.greatest_cost(&VLAN)),
    },
    PartFigure {
        key: "action.least-vlan-over-mac",
        of: |one| ratio(one.least_cost(&VLAN), one.mean_cost(&["set-dl-src"])),
    },
    PartFigure { key: "interpreter.worst.median", of: Round::worst_at_median },
    PartFigure { key: "interpreter.worst.largest-packet", of: Round::worst_of_largest_packets },
    PartFigure { key: "interpreter.worst-mean", of: Round::worst_mean },
];

/// The figures for the claims on that device of the paper whose functions cost next to nothing.
const OF_HARDWARE: [PartFigure; 3] = [
    PartFigure { key: "compiled.greatest-cost", of: Round::greatest_share },
    PartFigure { key: "compiled.worst.median", of: Round::worst_at_median },
    PartFigure { key: "compiled.skill", of: Round::skill_at_median },
];

/// The key of the figure on the spread of delays.
const SPREAD: &str = "spread.cell-over-baseline";

/// The figures that the measurements of one system yield.
pub(super) struct Figures {
    pub(super) system: System,
    /// Whether the system stands for that device of the paper whose functions have noticeable
    /// costs.
    pub(super) of_costs: bool,
    /// Whether the system stands for that device of the paper whose functions cost next to nothing.
    pub(super) of_hardware: bool,
}

impl Figures {
    fn all(&self) -> impl Iterator<Item = &'static PartFigure> {
        let of_costs = OF_COSTS.iter().filter(|_| self.of_costs);
        of_costs.chain(OF_HARDWARE.iter().filter(|_| self.of_hardware))
    }

    /// Records the reason why none of the figures, including that on the spread, can be judged.
    pub(super) fn inconclusive(&self, measured: &mut Measured, reason: &str) {
        let keys = self.all().map(|figure| figure.key);
        for key in keys.chain(self.of_costs.then_some(SPREAD)) {
            measured.inconclusive(self.system, key, reason);
        }
    }

    /// Adds the figures of a campaign in memory to `measured`, each with one value for each round.
    /// If stalls of the host determine even the medians, this is recorded as the reason why there
    /// are no figures.
    pub(super) fn put_quiet(
        &self,
        measured: &mut Measured,
        all: &Campaign,
        quiet: &Quiet,
        rounds: u32,
    ) {
        let of = |round| Round::of(all.round(round, rounds), quiet.campaign.round(round, rounds));
        let parts: Result<Vec<Round>, Failure> = (0..rounds).map(of).collect();
        let (Ok(parts), Some(highest)) = (parts, quiet.highest_attributed()) else {
            let reason = "stalls of the host decide even median delays: a quieter machine is needed, or more packets (without \
                          --quick)";
            return self.inconclusive(measured, reason);
        };
        self.put(measured, &parts);
        if self.of_costs {
            let spread = |one: &Round| Quiet::farthest_spread(&one.quiet, highest);
            let values: Option<Vec<f64>> = parts.iter().map(spread).collect();
            measured.rounds(self.system, SPREAD, values.unwrap_or_default());
        }
    }

    /// Adds the figures of a campaign on a network to `measured`, each with one value for each
    /// round. The spread of delays cannot be judged, because no control windows show the stalls of
    /// the host.
    pub(super) fn put_all(
        &self,
        measured: &mut Measured,
        all: &Campaign,
        rounds: u32,
    ) -> Result<(), Failure> {
        let of = |round| Round::of(all.round(round, rounds), all.round(round, rounds));
        let parts: Vec<Round> = (0..rounds).map(of).collect::<Result<_, _>>()?;
        self.put(measured, &parts);
        if self.of_costs {
            let reason = "on a network no control window stands beside a packet, which would show the stalls of the host";
            measured.inconclusive(self.system, SPREAD, reason);
        }
        Ok(())
    }

    fn put(&self, measured: &mut Measured, parts: &[Round]) {
        for figure in self.all() {
            let values: Option<Vec<f64>> = parts.iter().map(figure.of).collect();
            measured.rounds(self.system, figure.key, values.unwrap_or_default());
        }
    }
}
