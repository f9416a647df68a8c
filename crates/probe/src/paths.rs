//! Finding the block of a controller that limits it.
//!
//! A controller that answers right after one of its blocks shows what all blocks up to there can take. Measured at one offered
//! rate for each such shortcut, the received rate falls where the bottleneck is; measured again after a change, it shows what
//! the change gained. This is the method of the P4RCProbe paper, section V: Fig. 8 and Table I. [`Plan`] is the file that names the
//! shortcuts of a controller, [`judge`] says what their rates mean.

use std::collections::BTreeSet;

use serde::Deserialize;
use statistics::{Difference, Estimate};

/// The shortcuts of a controller, and how it is started with each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What is measured, in a few words.
    pub title: String,
    /// In order: variant by variant, the shortest path first.
    #[serde(rename = "path")]
    pub paths: Vec<Path>,
}

/// A way through a controller.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Path {
    /// Its name, such as `P1`.
    pub name: String,
    /// After which block it answers.
    pub answers_after: String,
    /// Which version of the controller, such as `original`.
    #[serde(default)]
    pub variant: String,
    /// A shell command that runs the controller until it is ended. `{devices}` stands for a file with the addresses of
    /// P4Runtime switches, a line `ID@HOST:PORT` each, and `{planimeter}` for this program.
    pub start: Option<String>,
    /// A shell command that brings a controller which runs already to this path, and ends.
    pub prepare: Option<String>,
}

/// Why a file names no paths that can be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// It is not TOML, or a key is missing or unknown.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// There is nothing to compare.
    #[error(
        "name two paths or more, each with [[path]]: a bottleneck is where the rate falls from one to the next"
    )]
    TooFew,
    /// Two paths cannot be told apart.
    #[error("two paths are called `{0}`; give each variant its paths once")]
    Twice(String),
    /// Nothing says how the controller gets to answer there.
    #[error(
        "path `{0}` has neither `start` nor `prepare`: say how the controller gets to answer there"
    )]
    NoCommand(String),
}

impl Plan {
    /// Reads the file.
    ///
    /// # Errors
    /// See [`PlanError`].
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

    /// The variants, in order.
    #[must_use]
    pub fn variants(&self) -> Vec<&str> {
        distinct(self.paths.iter().map(|path| path.variant.as_str()))
    }

    /// The names of the paths, in order.
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
    /// Variant and name.
    #[must_use]
    pub fn title(&self) -> String {
        match self.variant.as_str() {
            "" => self.name.clone(),
            variant => format!("{variant}, {}", self.name),
        }
    }
}

/// What the rate of a path says about its last block.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// The rate falls from the path before to this one, by this share: its last block limits the controller.
    Falls {
        /// Which path, by its place in the plan.
        path: usize,
        /// Less the rate of this path over that of the path before, 0 to 1.
        share: f64,
    },
    /// Another variant of the same path answers more or less, by this share.
    Gains {
        /// Which path, by its place in the plan.
        path: usize,
        /// The same path of the first variant.
        base: usize,
        /// The rate over that of the first variant, less one.
        share: f64,
    },
}

/// A fall or a gain of less than this share is not told, however narrow the intervals.
const LEAST: f64 = 0.02;

/// Falls from path to path of each variant, the largest first, then gains over the first variant. `received` has the received
/// rate of each path of the plan, where it was measured. Differences that may be chance (Welch, 95 %) are left out.
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

    /// Five repetitions with this mean and this standard deviation.
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
        // Section V: the rate drops at P2; 17 % are gained at P3. That P2 gains and P1 does not is said there too.
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
                "two paths are called `a`",
            ),
            ("title = \"\"\n[[path]]\nnaem = \"a\"\n", "unknown field `naem`"),
        ] {
            let error = Plan::from_toml(text).expect_err("refused").to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
