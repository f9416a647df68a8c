//! Reports of device models: terminal tables, `report.html` with heat maps, `result.json` and
//! `cells.csv`.
//!
//! The input is what [`device`] derived, predicted and verified. Nothing here computes a delay.

mod heat;
mod json;
mod page;
mod paths;
mod predicted;
mod prediction;
mod terminal;

use ::device::campaign::Picoseconds;
use ::device::compose::Predicted;
use ::device::verify::{Drift, Verification, VerifiedCell};
use ::device::{Estimate, Level, Model};
use provenance::Provenance;
use statistics::Unit;

use crate::format::figure;

pub use json::{SCHEMA, to_csv, to_json};
pub use page::{document, page};
pub use paths::paths_table;
pub use predicted::{paths_document, prediction_document, script_name};
pub use prediction::prediction_table;
pub use terminal::{model_table, verification_table};

/// A run of `planimeter device verify`, which compares a device model with measurements: the
/// results, and the circumstances in which they were obtained.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The model that was derived from the measurements.
    pub model: &'a Model,
    /// The comparison of predicted and measured delays, one for each setting (such as the packet
    /// length).
    pub verifications: &'a [Verification],
    /// The thresholds of the user, and whether they hold.
    pub thresholds: &'a [Threshold],
    /// The command, the time and the host of the run.
    pub provenance: &'a Provenance,
}

/// Returns a sentence for each threshold that does not hold.
fn broken(run: &Run<'_>) -> Vec<String> {
    let missed = run.thresholds.iter().filter(|threshold| !threshold.held);
    missed
        .map(|threshold| {
            let value = threshold.value.map_or_else(
                || "there is no such figure".to_owned(),
                |value| format!("it is {}", figure(value, threshold.unit)),
            );
            format!("threshold {} does not hold: {value}", threshold.condition)
        })
        .collect()
}

/// A threshold of the user, and whether it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The condition as the user wrote it.
    pub condition: String,
    /// The value with which the condition was compared, or `None` if the run has no such figure.
    pub value: Option<f64>,
    /// The unit of the value.
    pub unit: Unit,
    /// Whether the condition holds.
    pub held: bool,
}

/// Formats a share in percent, without the percent sign. The number of digits depends on its size.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = match percent.abs() {
        0.0..10.0 => 2,
        10.0..1000.0 => 1,
        _ => 0,
    };
    let text = format!("{percent:.digits$}");
    // A small value must not look like zero.
    if percent != 0.0 && text.trim_start_matches('-').chars().all(|c| "0.".contains(c)) {
        return format!("{}<0.01", if percent < 0.0 { "-" } else { "" });
    }
    text
}

/// Formats a small share in percent, with three significant digits.
fn share(share: f64) -> String {
    let percent = 100.0 * share;
    if percent == 0.0 {
        return "0 %".to_owned();
    }
    let digits = (2.0 - percent.abs().log10().floor()).clamp(1.0, 7.0) as usize;
    format!("{} %", crate::format::trim_zeros(&format!("{percent:.digits$}")))
}

/// Formats a standard deviation of delays.
fn spread(deviation: Picoseconds) -> String {
    figure(deviation.0 as f64 / 1e12, Unit::Seconds)
}

/// Formats the estimate of a delay with its interval, if the interval is known: `50.0 µs (49.8 to
/// 50.1)`.
fn estimate(estimate: &Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) if estimate.level != Level::Minimum => {
            format!("{} ({low} to {high})", estimate.value)
        }
        _ => estimate.value.to_string(),
    }
}

/// Formats the confidence interval of a predicted delay as `62.192 to 62.36 µs`. The unit is
/// written only once if both ends have the same unit.
fn predicted_interval(predicted: &Predicted) -> String {
    match (predicted.low, predicted.high) {
        (Some(low), Some(high)) => {
            let (low, high) = (low.to_string(), high.to_string());
            let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
            let short = low.split_once(' ').filter(|_| unit(&low) == unit(&high));
            format!("{} to {high}", short.map_or(low.as_str(), |(number, _)| number))
        }
        _ => String::new(),
    }
}

/// The rows and columns of a heat map that shows a device model's error for each pair of functions.
/// The rows are functions of one kind, such as matches, and the columns are functions of another
/// kind, such as actions. The first row and the first column stand for the baseline.
#[derive(Debug, PartialEq)]
struct Axes {
    rows: Vec<String>,
    columns: Vec<String>,
    row_title: String,
    column_title: String,
}

impl Axes {
    /// Returns the rows and columns of the heat map of a verification. Every combination of
    /// functions that tests the model must consist of two functions, and their kinds must be the
    /// same in all combinations. Otherwise returns `None`.
    fn of(model: &Model, verification: &Verification) -> Option<Self> {
        let under = model.settings.iter().find(|under| under.setting == verification.setting)?;
        let dimension = |name: &::device::campaign::FunctionName| {
            under.function(name).map(|function| function.function.dimension.clone())
        };
        let pair = |cell: &VerifiedCell| match cell.functions.as_slice() {
            [row, column] => Some((dimension(row)?, dimension(column)?)),
            _ => None,
        };
        let mut tests = verification.cells.iter().filter(|cell| !cell.training).map(pair);
        let (row, column) = tests.next()??;
        if row == column
            || !tests.all(|other| other.as_ref() == Some(&(row.clone(), column.clone())))
        {
            return None;
        }
        let names = |of: &::device::campaign::Dimension| {
            let baseline = model.baseline.iter().find(|function| function.dimension == *of);
            let first =
                baseline.map_or_else(|| "none".to_owned(), |function| function.name.to_string());
            let others =
                under.functions.iter().filter(|function| function.function.dimension == *of);
            std::iter::once(first)
                .chain(others.map(|function| function.function.name.to_string()))
                .collect()
        };
        Some(Self {
            rows: names(&row),
            columns: names(&column),
            row_title: row.to_string(),
            column_title: column.to_string(),
        })
    }

    /// Returns the measured combination of a row's function and a column's function. The first row
    /// and the first column stand for the baseline.
    fn cell<'v>(
        &self,
        verification: &'v Verification,
        row: usize,
        column: usize,
    ) -> Option<&'v VerifiedCell> {
        let mut wanted = Vec::new();
        if row > 0 {
            wanted.push(self.rows[row].as_str());
        }
        if column > 0 {
            wanted.push(self.columns[column].as_str());
        }
        verification.cells.iter().find(|cell| {
            cell.functions.len() == wanted.len()
                && wanted.iter().all(|name| cell.functions.iter().any(|f| f.as_str() == *name))
        })
    }
}

/// Returns the remarks that a reader needs before the figures, the most serious first. The `bool`
/// of a pair says whether the remark is a warning.
fn remarks(verification: &Verification) -> Vec<(bool, String)> {
    let mut remarks = Vec::new();
    let counts = verification
        .cells
        .iter()
        .fold(::device::campaign::Counts::default(), |sum, cell| sum + cell.profile.counts);
    if counts.lost > 0 {
        remarks.push((
            true,
            format!(
                "{} of {} packets were lost; delays are those of the others. The method assumes that the device \
                 loses no packets: measure at a lower rate.",
                counts.lost, counts.sent
            ),
        ));
    }
    for (count, what) in [
        (counts.reordered, "arrived out of order"),
        (counts.duplicated, "arrived more than once"),
        (counts.unmatched, "arrived and were never sent"),
    ] {
        if count > 0 {
            remarks.push((true, format!("{count} packets {what}.")));
        }
    }
    if counts.clock_steps > 0 {
        remarks.push((
            true,
            format!(
                "The clock jumped {} times; delays across a jump were left out.",
                counts.clock_steps
            ),
        ));
    }
    if let Some(drift) = &verification.drift {
        remarks.extend(remarks_on_drift(drift));
    }
    let refused: std::collections::BTreeSet<_> =
        verification.cells.iter().flat_map(|cell| &cell.prediction.refused).collect();
    if !refused.is_empty() {
        let names: Vec<&str> = refused.iter().map(|name| name.as_str()).collect();
        remarks.push((
            true,
            format!(
                "What {} cost is not a constant: it differs between packets by more than is tolerated. Sums of \
                 levels with them are empirical, and only the union bounds hold.",
                names.join(", ")
            ),
        ));
    }
    let noisy = verification.levels.iter().filter_map(|level| {
        let noise = level.noise.filter(|noise| !noise.says_something)?;
        Some(format!(
            "the {} (repetitions of one cell differ by {}, functions by {}; standard deviations)",
            level.level,
            spread(noise.between_blocks),
            spread(noise.between_functions)
        ))
    });
    let noisy: Vec<String> = noisy.collect();
    if !noisy.is_empty() {
        let text = format!("These levels say nothing about functions here: {}.", noisy.join(", "));
        remarks.push((true, text));
    }
    remarks.sort_by_key(|(bad, _)| !bad);
    remarks
}

/// Returns remarks on how the device changed during the measurement. The `bool` of a pair says
/// whether the remark is a warning.
fn remarks_on_drift(drift: &Drift) -> Vec<(bool, String)> {
    let mut remarks = Vec::new();
    let interval =
        drift.interval.map_or_else(String::new, |half| format!(" ± {} %", percent(half)));
    let text = format!(
        "Blocks of the second half took {} %{interval} {} than those of the first",
        percent(drift.change.abs()),
        if drift.change < 0.0 { "less" } else { "more" }
    );
    match drift.shown {
        true => remarks.push((
            drift.change.abs() > 0.005,
            format!(
                "{text}: the device drifted. Cells were measured in turns, so the drift affects all of them."
            ),
        )),
        false => remarks.push((false, format!("{text}: no drift is shown."))),
    }
    if let Some(disturbances) = &drift.disturbances {
        // Cells that were measured again do not contribute their disturbed values.
        remarks.push((
            disturbances.kept > 0,
            format!("The machine was slower at times: {disturbances}."),
        ));
    }
    if drift.stalls > 0.0 {
        remarks.push((
            false,
            format!(
                "{} of all packets took more than twice the median of their cell.",
                share(drift.stalls)
            ),
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_keep_what_they_say() {
        assert_eq!(percent(0.0), "0.00");
        assert_eq!(percent(-0.012_3), "-1.23");
        assert_eq!(percent(-1e-6), "-<0.01");
        assert_eq!(percent(0.25), "25.0");
        assert_eq!(percent(19.924), "1992");
        assert_eq!(share(0.01), "1 %");
        assert_eq!(share(0.000_619), "0.0619 %");
        assert_eq!(share(1e-9), "0.0000001 %");
    }
}
