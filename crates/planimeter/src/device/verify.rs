//! `planimeter device verify`: compares the predictions of a model with measurements from which it
//! was not derived.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use device::Level;
use device::verify::{Verification, VerifiedLevel, verify};
use report::RunDirectory;
use report::models::{Run, Threshold, to_json, verification_table};
use statistics::{Condition, ConditionError, Unit};

use super::Derivation;
use crate::failure::Failure;
use crate::invocation;
use crate::output::{self, ForPapers, layout};

const EXAMPLES: &str = "\
Thresholds:
  METRIC(LEVEL) COMPARISON NUMBER, where METRIC is mean-error or worst-error (absolute, equation 8), too-short (the \
most by which a prediction is below), violations (upper end of the interval of the share of packets beyond the bound), \
skill or refuted (cells); LEVEL is minimum, median, mean, maximum or a percentile such as p99.9, and COMPARISON is <, \
<=, >, >=, == or !=. A percentage has its sign. A level or figure that is not there fails.

Example:
    planimeter device verify runs/20261122T090000Z-device -t 'mean-error(median) < 1 %' -t 'worst-error(median) < 3 %'";

/// The arguments of `planimeter device verify`.
#[derive(Debug, Args)]
#[command(
    about = "Verify a model with the cells that it was not derived from; exit status 1 if a threshold fails",
    after_help = EXAMPLES
)]
pub(super) struct Arguments {
    #[command(flatten)]
    run: super::Run,
    /// The directory of report.html, result.json, cells.csv and model.json
    /// [runs/<time>-device-verify]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// A condition that must hold, such as 'worst-error(median) < 3 %'
    #[arg(long, short, value_name = "CONDITION", value_parser = condition)]
    threshold: Vec<Condition>,
    /// Print result.json instead of the tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    papers: ForPapers,
    #[command(flatten)]
    derivation: Derivation,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let started = invocation::start();
    let (settings, conditions) = (arguments.derivation.settings(), &arguments.threshold);
    let campaign = arguments.run.campaign()?;
    let (model, verifications) = verify(&campaign, &settings).map_err(Failure::input)?;
    let thresholds: Vec<Threshold> =
        conditions.iter().map(|condition| judge(condition, &verifications)).collect();
    let directory =
        output::directory(arguments.output.as_deref(), "device-verify", arguments.papers)?;
    let run = Run {
        model: &model,
        verifications: &verifications,
        thresholds: &thresholds,
        provenance: &started.provenance(),
    };
    let (json, text) = (|| to_json(&run), || verification_table(&run, layout()));
    let write = |directory: &RunDirectory| directory.write_models(&run);
    output::leave(&directory, arguments.json, json, text, write)?;
    Ok(ExitCode::from(u8::from(thresholds.iter().any(|threshold| !threshold.held))))
}

/// The metrics that conditions of `--threshold` may name, with their units.
const METRICS: [(&str, Metric, Unit); 6] = [
    ("mean-error", Metric::MeanError, Unit::Fraction),
    ("worst-error", Metric::WorstError, Unit::Fraction),
    ("too-short", Metric::TooShort, Unit::Fraction),
    ("violations", Metric::Violations, Unit::Fraction),
    ("skill", Metric::Skill, Unit::Index),
    ("refuted", Metric::Refuted, Unit::Count),
];

/// A metric that a condition of `--threshold` can name, as listed in [`METRICS`].
#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    MeanError,
    WorstError,
    TooShort,
    Violations,
    Skill,
    Refuted,
}

/// Parses a condition of `--threshold`, such as `worst-error(median) < 3 %`.
fn condition(text: &str) -> Result<Condition, ConditionError> {
    let bracket = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let given: Option<String> =
        bracket.map(|(level, _)| level.chars().filter(|c| !c.is_whitespace()).collect());
    // Any level may be named, so the valid names are those with the given level. If it is no level,
    // the error lists the names with the median.
    let level = given.filter(|level| level.parse::<Level>().is_ok());
    let level = level.unwrap_or_else(|| Level::Median.to_string());
    let names = METRICS.map(|(name, _, unit)| (format!("{name}({level})"), unit));
    let names = names.iter().map(|(name, unit)| (name.as_str(), *unit));
    Condition::parse(text, names, false)
}

/// Checks a condition of `--threshold`. The condition holds only if the verification of each
/// setting of the model contains the figure that the condition names, and this figure meets the
/// condition.
fn judge(condition: &Condition, verifications: &[Verification]) -> Threshold {
    let named = METRICS.iter().find_map(|(name, metric, unit)| {
        let level = condition.metric().strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?;
        Some((*metric, level.parse::<Level>().ok()?, *unit))
    });
    let value = |verification: &Verification| {
        let (metric, level, _) = named?;
        let level = verification.levels.iter().find(|own| own.level == level)?;
        metric.of(level).filter(|value| value.is_finite())
    };
    let values: Option<Vec<f64>> = verifications.iter().map(value).collect();
    let values = values.unwrap_or_default();
    let missed = values.iter().find(|value| !condition.holds(**value, None));
    Threshold {
        condition: condition.to_string(),
        value: missed.or(values.first()).copied(),
        unit: named.map_or(Unit::Count, |(_, _, unit)| unit),
        held: !values.is_empty() && missed.is_none(),
    }
}

impl Metric {
    fn of(self, level: &VerifiedLevel) -> Option<f64> {
        match self {
            Self::MeanError => Some(level.mean_absolute),
            Self::WorstError => Some(level.worst_absolute),
            Self::TooShort => Some(level.worst_under),
            Self::Violations => level.violations.map(|violations| violations.interval.high),
            Self::Skill => level.skill,
            Self::Refuted => (level.refuted.1 > 0).then_some(level.refuted.0 as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_name_a_figure_and_a_level() {
        let worst = condition("worst-error(median) < 3 %").expect("a condition");
        assert_eq!(worst.metric(), "worst-error(median)");
        let skill = condition("skill( p99.9 )>0.9").expect("a condition");
        assert_eq!(skill.metric(), "skill(p99.9)");
        for wrong in [
            "",
            "median < 3",
            "error(median) < 3",
            "skill(most) > 1",
            "skill(mean) = 1",
            "skill(mean) > x",
        ] {
            assert!(condition(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn conditions_on_missing_values_do_not_hold() {
        let condition = condition("skill(median) > 0").expect("a condition");
        let outcome = judge(&condition, &[]);
        assert!(!outcome.held && outcome.value.is_none());
    }
}
