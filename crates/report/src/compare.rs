//! Compares two or more results.
//!
//! The first result is the base. Every other result is compared with it, metric by metric, at the
//! measured places (points of a sweep, cases, cells or flows) that both have. A difference of means
//! over repetitions has a 95 % confidence interval after Welch (see [`statistics::Difference`]). A
//! difference of figures with intervals of their own has the interval of Zou and Donner
//! (Construction of confidence limits about effect measures: a general approach, Statistics in
//! Medicine 27, 2008, equation 7) at their confidence level. A difference of computed figures is
//! exact. A difference is reported only if both figures have intervals and the interval of the
//! difference excludes zero.

mod finding;
mod gate;
mod json;
mod page;
mod text;

use probe::outcome::RunResult;
use statistics::Difference;

use crate::describe::distinct;
use crate::results::{Kind, Quantity, Recorded, Spread};
use crate::terminal::{Layout, Paint};

pub use gate::{Outcome, judge};
pub use json::{SCHEMA, to_csv, to_json};
pub use page::page;
pub use text::{outcomes, table};

/// The result of a controller benchmark, with its name.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The name of the result in tables, such as its run directory.
    pub name: &'a str,
    /// The measurements of the benchmark.
    pub result: &'a RunResult,
}

/// The comparison of several results, each with the first.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The result with which all others are compared.
    pub base: &'a Recorded,
    /// The comparison of each of the other results with the base.
    pub others: Vec<Against<'a>>,
}

/// The comparison of one result with the base.
#[derive(Clone, Debug)]
pub struct Against<'a> {
    /// The result that is compared with the base.
    pub other: &'a Recorded,
    /// The figures that this result and the base have in common, in the order of the base.
    pub rows: Vec<Row<'a>>,
    /// The number of points of a sweep, cases, cells or flows that only one of the two results
    /// contains, and that are therefore not compared.
    pub alone: usize,
    /// The reasons to doubt the comparison, as sentences without repetition.
    pub doubts: Vec<String>,
}

/// A figure that a result and the base have in common.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The figure in the base.
    pub base: &'a Quantity,
    /// The figure in the result that is compared with the base.
    pub other: &'a Quantity,
    /// The figure of the other result minus that of the base.
    pub change: Change,
}

/// The difference between a figure of a result and that of the base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The value of the other result minus the value of the base, in the unit of the figure.
    pub value: f64,
    /// The ends of the difference's confidence interval. `None` if either figure has no interval.
    pub interval: Option<(f64, f64)>,
}

/// A condition that must be equal for results to be comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The configurations of both runs are equal.
    Configuration,
    /// The machines of both runs are equal.
    Machine,
}

/// The reason why results cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The results come from different commands.
    #[error("{other} is of another kind ({}) than {base} ({}); compare results of one verb", .other_kind.words(), .base_kind.words())]
    Kinds {
        /// The name of the result that all others are compared with.
        base: String,
        /// The kind of result that the base is.
        base_kind: Kind,
        /// The name of the result that cannot be compared with it.
        other: String,
        /// The kind of the result `other`.
        other_kind: Kind,
    },
    /// The results were measured with different configurations or on different machines.
    #[error("{}; --despite {} compares them nevertheless", .differences.join("; "), .what.word())]
    Differ {
        /// The condition that is not equal.
        what: Agreement,
        /// The differences between the conditions, as sentences.
        differences: Vec<String>,
    },
    /// No point, case, cell or flow was measured in both results.
    #[error(
        "{other} and {base} have no place in common: {base} has {at_base}, {other} has {at_other}; measure both at one place \
         (planimeter report draws benchmarks of controllers in the same plots whatever their places)"
    )]
    Nothing {
        /// The name of the result that all others are compared with.
        base: String,
        /// The name of the result that cannot be compared with the base.
        other: String,
        /// The name of the first point, case, cell or flow of the base.
        at_base: String,
        /// The name of the first point, case, cell or flow of the other result.
        at_other: String,
    },
}

impl Agreement {
    /// Returns the word by which the command line names this condition.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Machine => "machine",
        }
    }
}

impl<'a> Comparison<'a> {
    /// Compares all results with the first one, or returns `None` if there is no result. If
    /// `despite` contains an [`Agreement`], differences in that condition are reasons for doubt
    /// rather than an error.
    ///
    /// # Errors
    /// Returns a [`CompareError`] if the results are of different kinds, if their configurations or
    /// machines differ and `despite` does not contain that condition, or if a result has no figure
    /// in common with the first one.
    pub fn new(
        results: &'a [Recorded],
        despite: &[Agreement],
    ) -> Result<Option<Self>, CompareError> {
        let Some((base, others)) = results.split_first() else { return Ok(None) };
        let others = others.iter().map(|other| against(base, other, despite));
        Ok(Some(Self { base, others: others.collect::<Result<_, _>>()? }))
    }
}

/// Compares a result with the base. Returns an error if the two are not comparable.
fn against<'a>(
    base: &'a Recorded,
    other: &'a Recorded,
    despite: &[Agreement],
) -> Result<Against<'a>, CompareError> {
    if base.kind != other.kind {
        return Err(CompareError::Kinds {
            base: base.name.clone(),
            base_kind: base.kind,
            other: other.name.clone(),
            other_kind: other.kind,
        });
    }
    let mut doubts = Vec::new();
    for (what, differences) in [
        (Agreement::Machine, machines(base, other)),
        (Agreement::Configuration, settings(base, other)),
    ] {
        match despite.contains(&what) {
            false if !differences.is_empty() => {
                return Err(CompareError::Differ { what, differences });
            }
            _ => doubts.extend(differences),
        }
    }
    let rows = rows(base, other);
    if rows.is_empty() {
        let first = |of: &Recorded| {
            of.figures.first().map_or_else(|| "none".to_owned(), |figure| figure.place.clone())
        };
        return Err(CompareError::Nothing {
            base: base.name.clone(),
            other: other.name.clone(),
            at_base: first(base),
            at_other: first(other),
        });
    }
    for row in &rows {
        for (side, figure) in [(base, row.base), (other, row.other)] {
            let doubt = figure.doubt.iter();
            let sentences = doubt.map(|doubt| format!("{}, {}: {doubt}", side.name, figure.place));
            doubts.extend(sentences.collect::<Vec<_>>());
        }
    }
    let places = |of: &Recorded| {
        distinct(of.figures.iter().map(|f| (f.subject.clone(), f.place.clone()))).len()
    };
    let both = distinct(rows.iter().map(|row| (&row.base.subject, &row.base.place))).len();
    let alone = places(base) + places(other) - 2 * both;
    Ok(Against { other, rows, alone, doubts: distinct(doubts.into_iter()) })
}

/// Returns sentences about the differences between the machines of two results.
fn machines(base: &Recorded, other: &Recorded) -> Vec<String> {
    let (Some(a), Some(b)) = (&base.machine, &other.machine) else { return Vec::new() };
    if (&a.processor, a.cores) == (&b.processor, b.cores) {
        return Vec::new();
    }
    vec![format!(
        "{} was measured on {} ({}, {} cores), {} on {} ({}, {} cores)",
        base.name, a.hostname, a.processor, a.cores, other.name, b.hostname, b.processor, b.cores
    )]
}

/// Returns sentences about the settings and P4 pipelines in which two results differ.
fn settings(base: &Recorded, other: &Recorded) -> Vec<String> {
    configured(base, other).into_iter().chain(pipelines(base, other)).collect()
}

/// Returns a sentence that names the P4 pipelines of both results, unless all switches of both ran
/// the same single pipeline. Returns `None` if either result has no pipelines.
fn pipelines(base: &Recorded, other: &Recorded) -> Option<String> {
    // Results of OpenFlow have no pipelines, and results of different protocols may be compared.
    if base.pipelines.is_empty() || other.pipelines.is_empty() {
        return None;
    }
    let is_one = base.pipelines == other.pipelines && base.pipelines.len() == 1;
    let ran = |side: &Recorded| {
        let names: Vec<&str> = side.pipelines.iter().map(String::as_str).collect();
        format!("{} ran {}", side.name, names.join(" and "))
    };
    (!is_one).then(|| {
        format!(
            "switches ran different pipelines: {}, {}; measure again with the right one, for which a \
             controller that keeps pipelines is started anew before each trial (planimeter probe \
             --between)",
            ran(base),
            ran(other)
        )
    })
}

fn configured(base: &Recorded, other: &Recorded) -> Vec<String> {
    let keys = distinct(base.settings.keys().chain(other.settings.keys()));
    let value = |of: &Recorded, key: &String| {
        of.settings
            .get(key)
            .map_or_else(|| "nothing".to_owned(), |value| crate::format::printable(value))
    };
    keys.into_iter()
        .filter(|key| base.settings.get(*key) != other.settings.get(*key))
        .map(|key| {
            let (a, b) = (value(base, key), value(other, key));
            format!("{key} is {a} in {} and {b} in {}", base.name, other.name)
        })
        .collect()
}

/// Returns the figures that two results have in common. If each result has a single subject, such
/// as one protocol, the subjects may differ.
fn rows<'a>(base: &'a Recorded, other: &'a Recorded) -> Vec<Row<'a>> {
    let subjects = |of: &Recorded| distinct(of.figures.iter().map(|f| f.subject.clone())).len();
    let by_subject = subjects(base) > 1 || subjects(other) > 1;
    let alike = |a: &Quantity, b: &Quantity| {
        a.metric == b.metric && a.place == b.place && (!by_subject || a.subject == b.subject)
    };
    let row = |figure: &'a Quantity| {
        let partner = other.figures.iter().find(|candidate| alike(figure, candidate))?;
        Some(Row { base: figure, other: partner, change: Change::of(figure, partner) })
    };
    base.figures.iter().filter_map(row).collect()
}

impl Change {
    /// Returns the difference between a figure and that of the base, with its confidence interval.
    #[must_use]
    pub fn of(base: &Quantity, other: &Quantity) -> Self {
        if !base.value.is_finite() || !other.value.is_finite() {
            // Only bounds are infinite, and they are exact.
            let value = if base.value == other.value { 0.0 } else { other.value - base.value };
            return Self { value, interval: Some((value, value)) };
        }
        let value = other.value - base.value;
        let interval = match (base.spread, other.spread) {
            (Spread::Repetitions(base), Spread::Repetitions(other)) => {
                let half = Difference::of(&base, &other).ci95;
                half.map(|half| (value - half, value + half))
            }
            _ => base.interval().zip(other.interval()).map(|((l1, u1), (l2, u2))| {
                let low = value - (other.value - l2).hypot(u1 - base.value);
                let high = value + (u2 - other.value).hypot(base.value - l1);
                (low, high)
            }),
        };
        Self { value, interval }
    }

    /// Returns whether the confidence interval excludes zero, so that the figures differ.
    #[must_use]
    pub fn is_shown(self) -> bool {
        self.value != 0.0 && self.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

/// Formats a comparison of controller benchmarks as text, even if their configurations or machines
/// differ. The text ends with a newline.
#[must_use]
pub fn compare(candidates: &[Candidate<'_>], layout: Layout) -> String {
    let results: Vec<Recorded> =
        candidates.iter().map(|one| Recorded::of_run(one.name, one.result)).collect();
    let all = [Agreement::Configuration, Agreement::Machine];
    match Comparison::new(&results, &all) {
        Ok(None) => "nothing to compare\n".to_owned(),
        Ok(Some(comparison)) => table(&comparison, &[], layout),
        // Results that cannot be compared are shown one after the other.
        Err(error) => {
            let tables = candidates.iter().map(|one| {
                layout.heading(&crate::format::printable(one.name))
                    + &crate::terminal::table(one.result, layout)
            });
            let why = format!("Not compared: {error}.");
            tables.collect::<String>() + "\n" + &layout.paragraph("", &why, Paint::Faint)
        }
    }
}

#[cfg(test)]
mod tests;
