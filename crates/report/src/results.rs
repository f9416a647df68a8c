//! Results of all kinds, in the form in which they are compared.
//!
//! Every verb has its own `result.json`. Read here, each is a list of figures by place (a point of
//! a sweep, a case, a cell, a flow) and metric, with their confidence, and with the conditions that
//! must agree for two results to be comparable.

mod read;
mod runs;
mod suites;

use std::collections::{BTreeMap, BTreeSet};

use statistics::{Estimate, Unit};

pub use read::{ReadError, read};

/// A result of any verb.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The name of the result in comparisons, such as its run directory.
    pub name: String,
    /// The kind of the result.
    pub kind: Kind,
    /// A line about what was measured.
    pub about: String,
    /// The start time, RFC 3339; empty if the result does not have it.
    pub started_at: String,
    /// The reason why the result is incomplete, if it is.
    pub partial: Option<String>,
    /// The machine of the measurement, if the result has it.
    pub machine: Option<Machine>,
    /// The settings that determine the figures in addition to what is compared: key to value.
    pub settings: BTreeMap<String, String>,
    /// The names of the pipelines that the P4Runtime switches ran; empty for all other results.
    pub pipelines: BTreeSet<String>,
    /// The figures.
    pub figures: Vec<Quantity>,
}

/// The kind of a result, by its verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `planimeter probe`.
    Controller,
    /// `planimeter tables`.
    Tables,
    /// `planimeter bench`.
    Program,
    /// `planimeter device verify`.
    Device,
    /// `planimeter bound`.
    Bounds,
    /// `planimeter probe --plan rfc8456`.
    Rfc8456,
    /// `planimeter demo`, `reproduce` and `probe --paths`.
    Document,
}

impl Kind {
    /// Returns the kind in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Controller => "benchmark of a controller",
            Self::Tables => "comparison of table designs",
            Self::Program => "benchmark of a program",
            Self::Device => "verification of a device model",
            Self::Bounds => "bounds of a network",
            Self::Rfc8456 => "benchmark by RFC 8456",
            Self::Document => "report of several measurements",
        }
    }
}

/// The properties of a machine that determine figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The host name, which identifies the machine but does not influence figures.
    pub hostname: String,
    /// The model of the processor.
    pub processor: String,
    /// The number of cores that Planimeter could use.
    pub cores: u64,
}

/// A figure with its method.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The subject of the figure: protocol, design, path. Results with a single subject each can be
    /// compared across subjects.
    pub subject: String,
    /// The place of the measurement: point, case, cell, flow.
    pub place: String,
    /// The quantity on the horizontal axis of a figure, with its value, if one varies.
    pub across: Option<(&'static str, f64)>,
    /// The name of the metric, as conditions use it.
    pub metric: String,
    /// The unit of the figure.
    pub unit: Unit,
    /// The value in that unit.
    pub value: f64,
    /// The confidence of the figure.
    pub spread: Spread,
    /// Whether larger values are better; `None` if neither direction is.
    pub more_is_better: Option<bool>,
    /// Whether reports show the figure by default.
    pub headline: bool,
    /// The reason to doubt the figure, such as that the probe itself was the limit.
    pub doubt: Option<String>,
}

/// The confidence of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// A mean over repetitions.
    Repetitions(Estimate),
    /// An interval, at the confidence level that the result states.
    Interval {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// Not known: one repetition, or samples of one.
    Unknown,
    /// The figure is computed, not measured.
    Exact,
}

impl Quantity {
    /// Returns the confidence interval, if there is one: 95 % for means.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self.spread {
            Spread::Repetitions(estimate) => {
                estimate.interval(self.unit).map(|interval| (interval.low, interval.high))
            }
            Spread::Interval { low, high } => Some((low, high)),
            Spread::Exact => Some((self.value, self.value)),
            Spread::Unknown => None,
        }
    }

    /// Returns the number of repetitions of a mean.
    #[must_use]
    pub fn repetitions(&self) -> Option<u32> {
        match self.spread {
            Spread::Repetitions(estimate) => Some(estimate.n),
            _ => None,
        }
    }
}
