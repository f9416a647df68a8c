//! What results of any kind say, in the form in which they are compared.
//!
//! Every verb has a `result.json` of its own. Read here, each is a list of figures by place (a point of a sweep, a case, a
//! cell, a flow) and metric, with what is known of their confidence, and what must agree for two of them to be comparable.

mod read;
mod runs;
mod suites;

use std::collections::{BTreeMap, BTreeSet};

use statistics::{Estimate, Unit};

pub use read::{ReadError, read};

/// A result.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// How it is called where results stand side by side, such as its run directory.
    pub name: String,
    /// Which verb it is of.
    pub kind: Kind,
    /// What was measured, in a line.
    pub about: String,
    /// When it began, RFC 3339; empty where the result does not say.
    pub started_at: String,
    /// Why it covers only a part of what was asked for, if so.
    pub partial: Option<String>,
    /// Where it was measured, if the result says.
    pub machine: Option<Machine>,
    /// What decides over its figures beside what is compared: key to value.
    pub settings: BTreeMap<String, String>,
    /// The pipelines that its P4Runtime switches ran, by name; empty for all other results.
    pub pipelines: BTreeSet<String>,
    /// Its figures.
    pub figures: Vec<Quantity>,
}

/// What a result is of.
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
    /// In words.
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

/// What of a machine decides over figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its name, which decides over nothing but tells machines apart.
    pub hostname: String,
    /// Model of its processor.
    pub processor: String,
    /// Cores that Planimeter could use.
    pub cores: u64,
}

/// A figure with its method.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// What is told apart by it where results are compared that have one of them each: protocol, design, path.
    pub subject: String,
    /// Where it was measured: point, case, cell, flow.
    pub place: String,
    /// What varies along the horizontal axis of a figure, with its value, if anything does.
    pub across: Option<(&'static str, f64)>,
    /// Its name, as conditions name it.
    pub metric: String,
    /// What it counts.
    pub unit: Unit,
    /// Its value, in that unit.
    pub value: f64,
    /// What is known of its confidence.
    pub spread: Spread,
    /// Whether more of it is better, if either is.
    pub more_is_better: Option<bool>,
    /// Whether reports show it without being asked.
    pub headline: bool,
    /// What makes it doubtful, such as that the probe itself was the limit.
    pub doubt: Option<String>,
}

/// What is known of the confidence of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// A mean over repetitions.
    Repetitions(Estimate),
    /// An interval, of the confidence that the result states.
    Interval {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// None: one repetition, or samples of one.
    Unknown,
    /// It is computed, not measured.
    Exact,
}

impl Quantity {
    /// Its interval: of 95 % for means.
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

    /// Repetitions behind it, where it is a mean.
    #[must_use]
    pub fn repetitions(&self) -> Option<u32> {
        match self.spread {
            Spread::Repetitions(estimate) => Some(estimate.n),
            _ => None,
        }
    }
}
