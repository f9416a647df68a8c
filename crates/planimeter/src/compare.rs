//! `planimeter compare`: shows results of any kind side by side, and checks them against a
//! baseline.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use report::RunDirectory;
use report::compare::{Agreement, Comparison, judge, outcomes, table, to_json};
use report::results::{Recorded, read};
use statistics::{Condition, Unit};

use crate::failure::Failure;
use crate::invocation;
use crate::output::{self, ForPapers, layout};
use crate::parsers::one_of;
use crate::report::name_of;

const LONG_ABOUT: &str = "\
Compare results of probe, tables, bench, device verify, bound, demo or reproduce.

The first result, or the one that --baseline names, is the baseline. Each figure of the other results is \
compared with the baseline's figure at the same place (point, case, cell or flow), with the difference and \
its confidence interval. Results of another configuration or another machine are refused, with the differences, \
unless --despite allows it. The object of the comparison may differ: the controller, the protocol, the table \
design where each result has one, the device, or the network.";

const EXAMPLES: &str = "\
Conditions:
  A condition is METRIC COMPARISON LIMIT, and must hold at every place that both results have. A limit with a sign is a \
change from the baseline in percent: 'rtt.p50 < +10%' fails if the median round-trip time grew by ten percent or more, and \
'rate > -5%' fails if the rate fell by five percent or more. A limit without a sign is a value: 'rtt.p99 < 5ms'. A condition \
on a metric that no result has fails. The figure itself is judged, and the report says where its confidence interval \
contains the limit. The exit status is 1 if a condition fails.

Examples:
  A controller before and after a change:
    planimeter compare runs/before runs/after

  A gate for continuous integration:
    planimeter compare runs/today --baseline runs/release -t 'rtt.p50 < +10%' -t 'received_rate > -5%'

  A result of another machine than the baseline's:
    planimeter compare runs/laptop --baseline runs/server --despite machine";

/// The arguments of `planimeter compare`.
#[derive(Debug, Parser)]
#[command(
    name = "compare",
    about = "Compare results of any verb, with confidence intervals; a gate for CI",
    long_about = LONG_ABOUT,
    after_long_help = EXAMPLES,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    /// A run directory, or its result.json
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The result that the others are compared with [the first RUN]
    #[arg(long, short, value_name = "RUN")]
    baseline: Option<PathBuf>,
    /// A condition that must hold, such as 'rtt.p50 < +10%'
    // These stay text until the results have been read, because only then the metrics are known.
    #[arg(long, short, value_name = "CONDITION")]
    threshold: Vec<String>,
    /// Compare the results although this differs
    #[arg(long, value_name = "WHAT", value_parser = one_of([
        ("configuration", Agreement::Configuration),
        ("machine", Agreement::Machine),
    ]))]
    despite: Vec<Agreement>,
    /// The directory of report.html, figures, result.json and differences.csv [runs/<time>-compare]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Print result.json instead of the tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    papers: ForPapers,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let started = invocation::start();
    let paths: Vec<&PathBuf> = arguments.baseline.iter().chain(&arguments.runs).collect();
    let [_, _, ..] = paths.as_slice() else {
        return Err(Failure::input(
            "one result cannot be compared; name another result, or a --baseline",
        ));
    };
    let results = paths
        .iter()
        .zip(names(&paths))
        .map(|(path, name)| open(path, &name))
        .collect::<Result<Vec<_>, _>>()?;
    let conditions = conditions(&arguments.threshold, &results)?;
    let Some(comparison) = Comparison::new(&results, &arguments.despite).map_err(Failure::input)?
    else {
        return Err(Failure::input("there is nothing to compare"));
    };
    let judged = judge(&comparison, &conditions);
    let directory = output::directory(arguments.output.as_deref(), "compare", arguments.papers)?;
    let provenance = started.provenance();
    let json = || to_json(&comparison, &judged, &provenance);
    let text = || table(&comparison, &judged, layout()) + &outcomes(&judged, layout());
    let write =
        |directory: &RunDirectory| directory.write_comparison(&comparison, &judged, &provenance);
    output::leave(&directory, arguments.json, json, text, write)?;
    Ok(ExitCode::from(u8::from(judged.iter().any(|outcome| !outcome.held))))
}

/// Returns a name for each run: that of its directory, or its whole path if two directories have
/// the same name.
fn names(paths: &[&PathBuf]) -> Vec<String> {
    let short: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    let twice = |name: &String| short.iter().filter(|other| *other == name).count() > 1;
    let named = short.iter().zip(paths);
    named
        .map(|(name, path)| if twice(name) { path.display().to_string() } else { name.clone() })
        .collect()
}

/// Reads a result from the file at `path`, or from the `result.json` in the directory at `path`.
/// `name` is the name of the result in the output.
fn open(path: &Path, name: &str) -> Result<Recorded, Failure> {
    let (file, text) = output::result_at(path)?;
    read(name, &text).map_err(|error| Failure::input(format!("{}: {error}", file.display())))
}

/// Parses the conditions of `--threshold`, which may name any metric that one of the results
/// contains.
fn conditions(given: &[String], results: &[Recorded]) -> Result<Vec<Condition>, Failure> {
    let mut metrics: Vec<(&str, Unit)> = Vec::new();
    for figure in results.iter().flat_map(|result| &result.figures) {
        if !metrics.iter().any(|(name, _)| *name == figure.metric) {
            metrics.push((&figure.metric, figure.unit));
        }
    }
    let parse = |text: &String| Condition::parse(text, metrics.iter().copied(), true);
    given
        .iter()
        .map(|text| parse(text).map_err(|error| Failure::input(format!("--threshold {error}"))))
        .collect()
}
