//! `planimeter device verify`: a model against the cells that it was not derived from.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use device::Level;
use device::verify::{Verification, VerifiedLevel, verify};
use report::RunDirectory;
use report::models::{Run, Threshold, to_json, verification_table};

use super::{campaign, derivation, run_argument, settings};
use crate::failure::Failure;
use crate::probe::layout;

const EXAMPLES: &str = "\
Thresholds:
  METRIC(LEVEL) COMPARISON NUMBER, where METRIC is mean-error or worst-error (absolute, equation 8), too-short (the \
most by which a prediction is below), violations (upper end of the interval of the share of packets beyond the bound), \
skill or refuted (cells); LEVEL is minimum, median, mean, maximum or a percentile such as p99.9, and COMPARISON is < \
or >. A percentage has its sign. A level or figure that is not there fails.

Example:
    planimeter device verify runs/20261122T090000Z-device -t 'mean-error(median) < 1 %' -t 'worst-error(median) < 3 %'";

pub(super) fn command() -> Command {
    Command::new("verify")
        .about("Hold a model against the cells that it was not derived from; exit status 1 if a threshold fails")
        .after_help(EXAMPLES)
        .arg(run_argument())
        .args([
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("DIRECTORY")
                .value_parser(value_parser!(PathBuf))
                .help("Where report.html, result.json, cells.csv and model.json go [runs/<time>-device-verify]"),
            Arg::new("threshold")
                .long("threshold")
                .short('t')
                .value_name("CONDITION")
                .action(ArgAction::Append)
                .help("A condition that must hold, such as 'worst-error(median) < 3 %'"),
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print result.json in place of the tables"),
        ])
        .args(derivation())
}

pub(super) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let given = matches.get_many::<String>("threshold").into_iter().flatten();
    let conditions = given
        .map(|text| Condition::parse(text).map_err(Failure::input))
        .collect::<Result<Vec<_>, _>>()?;
    let campaign = campaign(matches)?;
    let (model, verifications) = verify(&campaign, &settings(matches)?).map_err(Failure::input)?;
    let judge = |condition: &Condition| condition.judge(&verifications);
    let thresholds: Vec<Threshold> = conditions.iter().map(judge).collect();
    let output = matches.get_one::<PathBuf>("output").map(PathBuf::as_path);
    let directory = RunDirectory::create_for(output, "device-verify").map_err(Failure::input)?;
    let command: Vec<String> = std::env::args().collect();
    let run = Run {
        model: &model,
        verifications: &verifications,
        thresholds: &thresholds,
        command: &command,
        started_at: &report::timestamp(SystemTime::now()),
        version: env!("CARGO_PKG_VERSION"),
    };
    directory.write_models(&run).map_err(Failure::run)?;
    if matches.get_flag("json") {
        print!("{}", to_json(&run));
    } else {
        print!("{}", verification_table(&run, layout()));
        println!("\nReport: {}", directory.path().join("report.html").display());
    }
    Ok(ExitCode::from(u8::from(thresholds.iter().any(|threshold| !threshold.held))))
}

/// `worst-error(median) < 3 %`.
#[derive(Debug, Clone, PartialEq)]
struct Condition {
    text: String,
    metric: Metric,
    level: Level,
    below: bool,
    limit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    MeanError,
    WorstError,
    TooShort,
    Violations,
    Skill,
    Refuted,
}

impl Condition {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "--threshold '{text}': {what}; write it as 'worst-error(median) < 3 %', see --help for the metrics"
            )
        };
        let (metric, rest) =
            text.split_once('(').ok_or_else(|| wrong("there is no level in brackets"))?;
        let (level, rest) =
            rest.split_once(')').ok_or_else(|| wrong("the bracket is not closed"))?;
        let metric = match metric.trim() {
            "mean-error" => Metric::MeanError,
            "worst-error" => Metric::WorstError,
            "too-short" => Metric::TooShort,
            "violations" => Metric::Violations,
            "skill" => Metric::Skill,
            "refuted" => Metric::Refuted,
            other => return Err(wrong(&format!("'{other}' is no metric"))),
        };
        let level = level.trim().parse().map_err(|error| wrong(&format!("{error}")))?;
        let rest = rest.trim();
        let (below, limit) = match (rest.strip_prefix('<'), rest.strip_prefix('>')) {
            (Some(limit), _) => (true, limit.trim()),
            (_, Some(limit)) => (false, limit.trim()),
            _ => return Err(wrong("the comparison is neither < nor >")),
        };
        let (digits, unit) =
            limit.strip_suffix('%').map_or((limit, 1.0), |digits| (digits.trim(), 100.0));
        let limit: f64 = digits.parse().map_err(|_| wrong(&format!("'{limit}' is no number")))?;
        Ok(Self { text: text.to_owned(), metric, level, below, limit: limit / unit })
    }

    /// It holds if it does under every setting.
    fn judge(&self, verifications: &[Verification]) -> Threshold {
        let levels = verifications.iter().map(|verification| {
            let level = verification.levels.iter().find(|level| level.level == self.level)?;
            self.metric.of(level).filter(|value| value.is_finite())
        });
        let values: Option<Vec<f64>> = levels.collect();
        let worst = values.and_then(|values| {
            let by_size = |a: &f64, b: &f64| a.total_cmp(b);
            let values = values.into_iter();
            if self.below { values.max_by(by_size) } else { values.min_by(by_size) }
        });
        let holds = |value: f64| if self.below { value < self.limit } else { value > self.limit };
        Threshold { condition: self.text.clone(), value: worst, held: worst.is_some_and(holds) }
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
    fn conditions_are_read() {
        let worst = Condition::parse("worst-error(median) < 3 %").expect("a condition");
        assert_eq!(
            (worst.metric, worst.level, worst.below),
            (Metric::WorstError, Level::Median, true)
        );
        assert!((worst.limit - 0.03).abs() < 1e-12);
        let skill = Condition::parse("skill( p99.9 )>0.9").expect("a condition");
        assert_eq!(
            (skill.level.to_string().as_str(), skill.below, skill.limit),
            ("p99.9", false, 0.9)
        );
        for wrong in [
            "",
            "median < 3",
            "error(median) < 3",
            "skill(most) > 1",
            "skill(mean) = 1",
            "skill(mean) > x",
        ] {
            assert!(Condition::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_there_does_not_hold() {
        let condition = Condition::parse("skill(median) > 0").expect("a condition");
        assert!(!condition.judge(&[]).held);
    }
}
