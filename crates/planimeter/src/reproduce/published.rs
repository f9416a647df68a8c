//! The published values of the papers, which are read from data files and checked.

use std::time::Duration;

use report::page::Cell;
use report::value::{Spread, Value};
use serde::{Deserialize, Serialize};
use statistics::Unit;

use super::claims::{self, Claim};

/// The content of a data file: the set-up of a paper, and the published values of its exhibits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    paper: PaperFile,
    exhibit: Vec<Exhibit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PaperFile {
    short: String,
    citation: String,
    set_up: Vec<Aspect>,
}

/// One aspect of a set-up, such as a machine, as a paper describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Aspect {
    pub(super) aspect: String,
    pub(super) published: String,
}

/// A paper whose measurements are reproduced, with its figures, tables and claims.
#[derive(Debug)]
pub(super) struct Paper {
    /// A short name of the paper, which says what it is about.
    pub(super) short: String,
    pub(super) citation: String,
    /// The set-up with which the authors of the paper measured.
    pub(super) set_up: Vec<Aspect>,
    pub(super) exhibits: Vec<Exhibit>,
    /// The claims of the paper, in its order.
    pub(super) claims: Vec<Claim>,
}

/// A figure or table of a paper, with its published values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exhibit {
    /// The name on the command line: paper, kind and number, such as `tables-fig-4`.
    pub(super) id: String,
    /// The name in the paper, such as `Fig. 4`.
    pub(super) name: String,
    pub(super) title: String,
    /// The experiment that measures the values of this figure or table here.
    pub(super) experiment: Experiment,
    /// Commands by which readers measure the same values on their own systems.
    pub(super) commands: Vec<String>,
    #[serde(rename = "value")]
    pub(super) values: Vec<Published>,
}

/// An experiment that measures the values of one or several exhibits (figures and tables of the
/// papers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Experiment {
    OneSwitch,
    ManySwitches,
    OverTime,
    Paths,
    UpdateMethods,
    Designs,
    Equations,
    SoftwarePipeline,
    CompiledPipeline,
}

impl Experiment {
    /// Returns about how long the experiment takes, with `--quick` and without.
    pub(super) fn about_how_long(self) -> (Duration, Duration) {
        let (quick, full) = match self {
            Self::OneSwitch => (15, 26 * 60),
            Self::ManySwitches => (30, 33 * 60),
            Self::OverTime => (15, 21 * 60),
            Self::Paths => (20, 8 * 60),
            Self::UpdateMethods => (50, 3 * 60),
            Self::Designs => (60, 27 * 60),
            Self::Equations => (0, 0),
            Self::SoftwarePipeline | Self::CompiledPipeline => (30, 4 * 60),
        };
        (Duration::from_secs(quick), Duration::from_secs(full))
    }
}

/// A value that a paper published.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Published {
    /// The key under which the experiment stores the measured value.
    pub(super) key: String,
    pub(super) what: String,
    value: Option<f64>,
    deviation: Option<f64>,
    #[serde(default)]
    about: bool,
    unit: Option<PublishedUnit>,
    /// A description, if the paper publishes no number.
    words: Option<String>,
    /// The figure, table or section of the paper that contains the value.
    pub(super) source: String,
    /// The reason why the value is not measured here, or `None` if an experiment measures it.
    pub(super) not_here: Option<String>,
    /// The chart of the report that shows the value, on the line `series` at the position `x`, or
    /// `None` if no chart shows it.
    pub(super) chart: Option<String>,
    pub(super) series: Option<String>,
    pub(super) x: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PublishedUnit {
    PerSecond,
    Seconds,
    CorePercent,
    Count,
    Share,
    Ratio,
}

impl PublishedUnit {
    pub(super) fn unit(self) -> Unit {
        match self {
            Self::PerSecond => Unit::PerSecond,
            Self::Seconds => Unit::Seconds,
            Self::CorePercent => Unit::CpuPercent,
            Self::Count => Unit::Count,
            Self::Share => Unit::Fraction,
            Self::Ratio => Unit::Index,
        }
    }
}

impl Published {
    /// Returns the published value, or `None` if the paper publishes only a description.
    pub(super) fn value(&self) -> Option<Value> {
        let unit = self.unit?.unit();
        let spread = match (self.deviation, self.about) {
            (Some(deviation), _) => Spread::Deviation(deviation),
            (None, true) => Spread::About,
            (None, false) => Spread::None,
        };
        Some(Value { value: self.value?, unit, spread })
    }

    pub(super) fn cell(&self) -> Cell {
        match (&self.words, self.value()) {
            (Some(words), _) => Cell::text(words),
            (None, value) => Cell::optional(value),
        }
    }
}

/// The texts of the data files of one paper: its values and its claims.
struct Source {
    values: &'static str,
    claims: &'static str,
}

const SOURCES: [Source; 3] = [
    Source {
        values: include_str!("../../published/controller.toml"),
        claims: include_str!("../../published/claims/controller.toml"),
    },
    Source {
        values: include_str!("../../published/tables.toml"),
        claims: include_str!("../../published/claims/tables.toml"),
    },
    Source {
        values: include_str!("../../published/device.toml"),
        claims: include_str!("../../published/claims/device.toml"),
    },
];

/// Parses the data files of all papers.
pub(super) fn papers() -> Result<Vec<Paper>, toml::de::Error> {
    let read = |source: Source| {
        let File { paper: PaperFile { short, citation, set_up }, exhibit: exhibits } =
            toml::from_str(source.values)?;
        let claims = claims::read(source.claims)?;
        Ok(Paper { short, citation, set_up, exhibits, claims })
    };
    SOURCES.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_value_has_a_source_and_either_a_number_with_its_unit_or_words() {
        let mut ids = BTreeSet::new();
        let papers = papers().expect("the files");
        for exhibit in papers.iter().flat_map(|paper| &paper.exhibits) {
            assert!(ids.insert(&exhibit.id), "{} is there twice", exhibit.id);
            let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(exhibit.id.chars().all(letters), "{}", exhibit.id);
            let mut keys = BTreeSet::new();
            for one in &exhibit.values {
                let name = format!("{} {}", exhibit.id, one.key);
                assert!(keys.insert(&one.key), "{name} is there twice");
                assert!(
                    one.source.contains("ection")
                        || one.source.contains("Table")
                        || one.source.contains("over"),
                    "{name}"
                );
                assert_eq!(one.value().is_some(), one.words.is_none(), "{name}");
                assert!(one.value().is_none_or(|value| value.value > 0.0), "{name}");
                let drawn = [one.chart.is_some(), one.series.is_some(), one.x.is_some()];
                assert!(drawn == [true; 3] || drawn == [false; 3], "{name}");
            }
        }
        assert_eq!(ids.len(), 15, "{ids:?}");
    }

    fn value(exhibit: &str, key: &str) -> f64 {
        let papers = papers().expect("the files");
        let mut exhibits = papers.iter().flat_map(|paper| &paper.exhibits);
        let exhibit = exhibits.find(|one| one.id == exhibit).expect("the exhibit");
        let published = exhibit.values.iter().find(|one| one.key == key).expect("the value");
        published.value().expect("a number").value
    }

    /// Published values that the papers derive from other published values are consistent with
    /// them.
    #[test]
    fn values_agree_with_each_other_as_the_papers_say() {
        let table = |key| value("controller-table-1", key);
        let gain = table("enhanced.P3.rate") / table("original.P3.rate") - 1.0;
        assert!((gain - table("gain.P3")).abs() < 0.005, "{gain}");
        let figure = |key| value("tables-fig-4", key);
        // The 60.0 % refer to unrounded rates: 6.28 over 3.95 is 1.59.
        let gain = figure("stat/DPDK.19") / figure("dyn/DPDK.19");
        assert!((gain - figure("stat-over-dyn.19")).abs() < 0.015, "{gain}");
        let pair = |key| value("tables-fig-2", key);
        let ratio = pair("write.rate") / pair("read.rate");
        assert!((ratio - pair("write-over-read")).abs() < 1e-4, "{ratio}");
        // Fig. 7: the outstanding packets after 60 s were sent and not answered, so they are fewer
        // than the packets sent.
        for (key, rate) in [("50", 50.0), ("100", 100.0)] {
            assert!(value("controller-fig-7", key) < rate * 60.0, "{key}");
        }
        for method in ["pointer", "change", "digest"] {
            let quartiles = ["p25", "p50", "p75", "p99"]
                .map(|share| value("tables-table-1", &format!("{method}.{share}")));
            assert!(quartiles.is_sorted(), "{method}: {quartiles:?}");
        }
    }

    /// The example device models contain the values that the paper on device models published.
    #[test]
    fn the_values_of_devices_are_those_of_the_models_among_the_examples() {
        let model = |name: &str| -> serde_json::Value {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/device/");
            let text = std::fs::read_to_string(format!("{folder}{name}.json")).expect("a model");
            serde_json::from_str(&text).expect("JSON")
        };
        let level = |profile: &serde_json::Value, level: &str| {
            let levels = profile["levels"].as_array().expect("levels").clone();
            let found = levels.iter().find(|one| one["level"] == level).expect("the level").clone();
            found["value"].as_f64().expect("picoseconds") / 1e12
        };
        let zodiac = model("zodiac-fx");
        let setting = &zodiac["settings"][0];
        let largest = level(&setting["f0"]["profile"], "maximum");
        assert!((largest - value("device-fig-4", "f0.maximum")).abs() < 1e-12);
        let functions = setting["functions"].as_array().expect("functions");
        for key in
            ["tp-dst", "five-tuple", "all", "set-dl-src", "set-nw-src", "set-nw-tos", "set-tp-src"]
        {
            let is = |one: &&serde_json::Value| one["function"]["name"] == key;
            let function = functions.iter().find(is).unwrap_or_else(|| panic!("{key}"));
            let cost = level(&function["measurement"]["profile"], "maximum") - largest;
            assert!((cost - value("device-fig-4", key)).abs() < 1e-9, "{key}: {cost}");
        }
        let netfpga = level(&model("netfpga-sume")["settings"][0]["f0"]["profile"], "median");
        assert!((netfpga - value("device-fig-6", "f0.median")).abs() < 1e-9, "{netfpga}");
    }
}
