//! Results of all commands, in the common form in which they are compared.
//!
//! The `result.json` of each command has a schema of its own. This module reads all of them as
//! lists of figures. A figure is identified by its metric and by its place: the point of a sweep,
//! the case, the cell or the flow that was measured. A result also has a kind, a machine, settings
//! and P4 pipelines, which must agree for two results to be comparable.

mod dimensions;
pub mod histograms;
mod read;
mod runs;
mod suites;

use std::collections::{BTreeMap, BTreeSet};

use statistics::{Estimate, Unit};

pub use dimensions::{Coordinate, Dimensions};
pub use read::{ReadError, read};

/// A result of any command, as a list of figures.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The name of the result in comparisons, such as its run directory.
    pub name: String,
    /// The kind of the result, which its command determines.
    pub kind: Kind,
    /// A description of what was measured, in one line.
    pub about: String,
    /// The start time of the run in RFC 3339 (empty if the result does not state it).
    pub started_at: String,
    /// The reason why the result is incomplete, or `None` if it is complete.
    pub partial: Option<String>,
    /// The machine on which figures were measured, or `None` if the result does not state it, or if
    /// figures do not depend on it.
    pub machine: Option<Machine>,
    /// The values of the settings that influence the figures, by name. Settings that are themselves
    /// compared are left out.
    pub settings: BTreeMap<String, String>,
    /// The names of the P4 pipelines that the switches ran (empty unless they spoke P4Runtime).
    pub pipelines: BTreeSet<String>,
    /// The figures of the result, each with its metric and the name of what was measured.
    pub figures: Vec<Quantity>,
}

/// The kind of a result, by the command that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A controller benchmark: `planimeter probe`.
    Controller,
    /// A comparison of table designs: `planimeter tables`.
    Tables,
    /// A throughput benchmark of a P4 program: `planimeter bench`.
    Program,
    /// The verification of a device model: `planimeter device verify`.
    Device,
    /// Bounds of a network: `planimeter bound`.
    Bounds,
    /// The tests of RFC 8456: `planimeter probe --plan rfc8456`.
    Rfc8456,
    /// A report of several measurements: `planimeter demo`, `reproduce` and `probe --paths`.
    Document,
}

impl Kind {
    /// Returns the name of the verb that writes such results.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Self::Controller | Self::Rfc8456 => "probe",
            Self::Tables => "tables",
            Self::Program => "bench",
            Self::Device => "device verify",
            Self::Bounds => "bound",
            Self::Document => "document",
        }
    }

    /// Returns the kind of result in words.
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

/// The properties of a machine that influence measured figures, and its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The host name. It identifies the machine but does not influence figures.
    pub hostname: String,
    /// The model of the processor.
    pub processor: String,
    /// The number of cores that Planimeter could use.
    pub cores: u64,
}

/// A measured or computed figure with the properties that identify it.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The subject of the figure, such as a protocol, a design or an execution path. If two results
    /// have a single subject each, they can be compared although the subjects differ.
    pub subject: String,
    /// The name of what was measured: a point of a sweep, a case, a cell or a flow.
    pub place: String,
    /// The subject and the name of what was measured, as named dimensions for programs.
    pub dimensions: Dimensions,
    /// The name and value of the parameter that varies between the figures of a plot, or `None` if
    /// none does.
    pub across: Option<(&'static str, f64)>,
    /// The name of the metric, as the user writes it in the conditions of `--threshold`.
    pub metric: String,
    /// The unit of the figure.
    pub unit: Unit,
    /// The value of the figure, in `unit`.
    pub value: f64,
    /// The uncertainty of the value.
    pub spread: Spread,
    /// Whether larger values are better, or `None` if neither larger nor smaller values are better.
    pub more_is_better: Option<bool>,
    /// Whether reports show the figure unless the user asks for all figures.
    pub headline: bool,
    /// The reason to doubt the figure, for example that the probe itself was the limit, or `None`
    /// if there is none.
    pub doubt: Option<String>,
}

/// The uncertainty of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// The figure is a mean over repetitions.
    Repetitions(Estimate),
    /// The figure has an interval, at the confidence level that the result states.
    Interval {
        /// The lower end of the interval.
        low: f64,
        /// The upper end of the interval.
        high: f64,
    },
    /// The uncertainty is not known, for example because there was only one repetition.
    Unknown,
    /// The figure is exact, because it was computed and not measured.
    Exact,
}

impl Quantity {
    /// Returns the ends of the confidence interval, if there is one. For a mean it is the 95 %
    /// interval.
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

    /// Returns the number of repetitions if the figure is a mean over repetitions, and `None`
    /// otherwise.
    #[must_use]
    pub fn repetitions(&self) -> Option<u32> {
        match self.spread {
            Spread::Repetitions(estimate) => Some(estimate.n),
            _ => None,
        }
    }
}
