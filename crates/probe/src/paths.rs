//! Finds the processing block that limits a controller's rate.
//!
//! The user changes a controller such that it answers directly after one of its blocks and skips
//! the later ones. Its rate is then the rate that the blocks up to this one sustain. Each such path
//! through the controller is measured at the same offered rate, and the received rate falls from
//! one path to the next at the bottleneck. A second measurement after a change of the controller
//! shows how much the change improved the rate. This is the method of the P4RCProbe paper, section
//! V: Fig. 8 and Table I. [`Plan`] is the content of the file that defines the paths of a
//! controller, and [`judge`] interprets the measured rates.

use std::collections::BTreeSet;

use serde::Deserialize;
use statistics::{Difference, Estimate};

/// The paths through a controller that are measured, and the commands that make the controller use
/// each of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// A short description of what is measured.
    pub title: String,
    /// The paths, grouped by variant of the controller. The paths of a variant are in order, the
    /// shortest first.
    #[serde(rename = "path")]
    pub paths: Vec<Path>,
}

/// A path through a controller, which ends at the block after which the controller answers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Path {
    /// The name of the path, such as `P1`.
    pub name: String,
    /// The block after which the controller answers.
    pub answers_after: String,
    /// The version of the controller, such as `original`.
    #[serde(default)]
    pub variant: String,
    /// A shell command that runs the controller on this path until it is stopped. `{devices}`
    /// stands for the name of a file with the addresses of P4Runtime switches, one line
    /// `ID@HOST:PORT` each, and `{planimeter}` for the name of this program.
    pub start: Option<String>,
    /// A shell command that makes a running controller use this path, and then exits.
    pub prepare: Option<String>,
}

/// The reason why a file does not define paths that can be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The file is not TOML, or a key is missing or unknown.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// The file defines fewer than two paths.
    #[error(
        "name two paths or more, each with [[path]]: a bottleneck is where the rate falls from one to the next"
    )]
    TooFew,
    /// Two paths have the same variant and name.
    #[error("two paths are named `{0}`; name each path of a variant once")]
    Twice(String),
    /// A path has no command by which the controller is started on it or switched to it.
    #[error(
        "path `{0}` has neither `start` nor `prepare`; name a command that makes the controller answer there"
    )]
    NoCommand(String),
}

impl Plan {
    /// Parses the plan from the text of a TOML file.
    ///
    /// # Errors
    ///
    /// Returns a [`PlanError`] if the text does not define at least two distinct paths.
    pub fn from_toml(text: &str) -> Result<Self, PlanError> {
        let plan: Self = toml::from_str(text)?;
        if plan.paths.len() < 2 {
            return Err(PlanError::TooFew);
        }
        let mut known = BTreeSet::new();
        for path in &plan.paths {
            if !known.insert((&path.variant, &path.name)) {
                return Err(PlanError::Twice(path.title()));
            }
            if path.start.is_none() && path.prepare.is_none() {
                return Err(PlanError::NoCommand(path.title()));
            }
        }
        Ok(plan)
    }

    /// Returns the names of the variants, in the order of the file.
    #[must_use]
    pub fn variants(&self) -> Vec<&str> {
        distinct(self.paths.iter().map(|path| path.variant.as_str()))
    }

    /// Returns the names of the paths, in the order of the file.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        distinct(self.paths.iter().map(|path| path.name.as_str()))
    }
}

fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut kept = Vec::new();
    for one in all {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

impl Path {
    /// Returns the variant and the name of the path, as a title.
    #[must_use]
    pub fn title(&self) -> String {
        match self.variant.as_str() {
            "" => self.name.clone(),
            variant => format!("{variant}, {}", self.name),
        }
    }
}

/// A conclusion from comparing the received rates of two paths.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// The rate on this path is lower than on the previous one, which is shorter. The last block of
    /// this path therefore limits the controller.
    Falls {
        /// The index in the plan of the path with the lower rate.
        path: usize,
        /// The drop of the rate from the previous path to this one, as a share of the rate of the
        /// previous path, 0 to 1.
        share: f64,
    },
    /// The rate on a path differs from the rate on the path of the same name in the first variant
    /// of the controller.
    Gains {
        /// The index of the path in the plan.
        path: usize,
        /// The index in the plan of the path of the same name in the first variant.
        base: usize,
        /// The change of the rate as a share of the rate in the first variant. It is negative for a
        /// loss.
        share: f64,
    },
}

/// The least change of a rate that is reported, as a share of the rate. Smaller changes are left
/// out even if the measurement could distinguish them.
const LEAST: f64 = 0.02;

/// Returns the drops of the rate from path to path of each variant, the largest drop first, and
/// then the changes from the first variant to the others. `received` contains the received rate of
/// each path of the plan, or `None` if the path was not measured. Differences that may be due to
/// chance (Welch's test, 95 %) are left out.
#[must_use]
pub fn judge(plan: &Plan, received: &[Option<Estimate>]) -> Vec<Judgement> {
    let rate = |path: usize| received.get(path).copied().flatten();
    let shown = |base: &Estimate, other: &Estimate| {
        let share = other.mean / base.mean - 1.0;
        (Difference::of(base, other).is_shown() && share.abs() >= LEAST).then_some(share)
    };
    let mut judgements = Vec::new();
    for variant in plan.variants() {
        let own: Vec<usize> =
            (0..plan.paths.len()).filter(|&path| plan.paths[path].variant == variant).collect();
        let mut falls: Vec<(usize, f64)> = own
            .windows(2)
            .filter_map(|pair| {
                let share = shown(&rate(pair[0])?, &rate(pair[1])?)?;
                (share < 0.0).then_some((pair[1], -share))
            })
            .collect();
        falls.sort_by(|a, b| b.1.total_cmp(&a.1));
        judgements.extend(falls.into_iter().map(|(path, share)| Judgement::Falls { path, share }));
    }
    let first = plan.variants().first().copied().unwrap_or_default();
    for (place, path) in plan.paths.iter().enumerate().filter(|(_, path)| path.variant != first) {
        let same = |other: &Path| other.variant == first && other.name == path.name;
        let gain = plan.paths.iter().position(same).and_then(|base| {
            Some(Judgement::Gains { path: place, base, share: shown(&rate(base)?, &rate(place)?)? })
        });
        judgements.extend(gain);
    }
    judgements
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_1() -> Plan {
        let path = |variant: &str, name: &str, after: &str| {
            format!(
                "[[path]]\nvariant = \"{variant}\"\nname = \"{name}\"\nanswers-after = \"{after}\"\nstart = \"true\"\n"
            )
        };
        let mut text = String::from("title = \"ONOS\"\n");
        for variant in ["original", "enhanced"] {
            for (name, after) in [("P1", "gRPC"), ("P2", "decoding"), ("P3", "forwarding")] {
                text += &path(variant, name, after);
            }
        }
        Plan::from_toml(&text).expect("a plan")
    }

    /// Returns the estimate from five repetitions with the given mean and standard deviation.
    fn five(mean: f64, deviation: f64) -> Option<Estimate> {
        let step = deviation * 0.4_f64.sqrt();
        Estimate::of(&[-2.0, -1.0, 0.0, 1.0, 2.0].map(|place| mean + place * step))
    }

    #[test]
    fn the_figures_of_table_i_name_the_bottleneck_that_the_paper_names() {
        let rates =
            [(10030., 10.), (1836., 41.), (1471., 10.), (10026., 8.), (10050., 7.), (1723., 30.)];
        let received = rates.map(|(mean, deviation)| five(mean, deviation));
        let deviation = received[1].and_then(|estimate| estimate.stddev).expect("five");
        assert!((deviation - 41.0).abs() < 1e-9, "{deviation}");
        let found = judge(&table_1(), &received);
        let shares: Vec<(&str, usize, f64)> = found
            .iter()
            .map(|judgement| match judgement {
                Judgement::Falls { path, share } => ("falls", *path, (share * 1e3).round() / 1e3),
                Judgement::Gains { path, share, .. } => {
                    ("gains", *path, (share * 1e3).round() / 1e3)
                }
            })
            .collect();
        // Section V of the paper: the rate drops at P2, and 17 % are gained at P3. P2 gains as
        // well, and P1 does not.
        let expected = [
            ("falls", 1, 0.817),
            ("falls", 2, 0.199),
            ("falls", 5, 0.829),
            ("gains", 4, 4.474),
            ("gains", 5, 0.171),
        ];
        assert_eq!(shares, expected);
    }

    #[test]
    fn one_repetition_judges_nothing() {
        let received = [5.0, 4.0, 3.0, 5.0, 4.0, 3.0].map(|rate| Estimate::of(&[rate]));
        assert_eq!(judge(&table_1(), &received), []);
        assert_eq!(judge(&table_1(), &[None; 6]), []);
    }

    #[test]
    fn files_that_measure_nothing_are_refused_with_a_reason() {
        for (text, reason) in [
            ("title = \"\"\npath = []", "name two paths or more"),
            (
                "title = \"\"\n[[path]]\nname = \"a\"\nanswers-after = \"\"\nstart = \"x\"\n[[path]]\nname = \"b\"\nanswers-after = \"\"\n",
                "path `b` has neither `start` nor `prepare`",
            ),
            (
                "title = \"\"\n[[path]]\nname = \"a\"\nanswers-after = \"\"\nstart = \"x\"\n[[path]]\nname = \"a\"\nanswers-after = \"\"\nstart = \"x\"\n",
                "two paths are named `a`",
            ),
            ("title = \"\"\n[[path]]\nnaem = \"a\"\n", "unknown field `naem`"),
        ] {
            let error = Plan::from_toml(text).expect_err("refused").to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
