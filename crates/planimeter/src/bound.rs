//! `planimeter bound`: computes delay and backlog bounds for a network.

mod arguments;
mod sweep;
mod thresholds;
pub(crate) mod topology;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use calculus::network::{
    Analyser, Analysis, AnalysisError, Assessed, FlowId, Format, Network, ServerBound, Settings,
    Untried, format,
};
use calculus::{Extended, Rational, mppg};
use provenance::{Began, Provenance, Share};
use report::bounds::{Bounds, Run, curves, table, to_csv, to_json};
use report::shares;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::invocation;
use crate::output::layout;
use crate::progress;
use crate::rank_group::{Items, RankGroup, status};
pub(crate) use arguments::Arguments;
use thresholds::Figures;

/// The maximum number of flows for which simulated runs with long delays are searched for. The
/// search takes from milliseconds to a second for each flow.
const RUNS: usize = 100;
/// The time for which an analysis that was left out is run, to estimate how long it would take in
/// full.
const TIMEOUT: Duration = Duration::from_millis(250);
/// The number of parts into which the flows are divided, for each process (rank) that shares the
/// work. With several parts per process, flows that take long are spread over the processes.
const PARTS: usize = 4;

/// The description of a network as read from a file: the path of the file, its text and its
/// format.
#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a Path,
    text: &'a str,
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let started = invocation::start();
    let file = &arguments.file;
    let text = input::read_text(file)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", file.display())))?;
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let ranks = RankGroup::join()?;
    if extension.eq_ignore_ascii_case("mppg") {
        return if ranks.leads() { program(file, &text) } else { ranks.leave(0) };
    }
    let format = Format::of_extension(extension).ok_or_else(|| {
        Failure::input(format!(
            "{}: the file name has an unknown ending; known are .toml, .json, .xml and .mppg",
            file.display()
        ))
    })?;
    let text = topology::network_text(file, extension, &text)?;
    let source = Source { file, text: &text, format };
    match &arguments.vary {
        Some(variation) => sweep::run(arguments, &started, variation, source, ranks),
        None => bound_network(arguments, &started, source, ranks),
    }
}

/// Computes bounds for the flows and servers of one network, prints them, and returns the exit
/// status.
fn bound_network(
    arguments: &Arguments,
    started: &Began,
    source: Source<'_>,
    mut ranks: RankGroup,
) -> Result<ExitCode, Failure> {
    let Source { file, text, format } = source;
    let in_file =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", file.display()));
    let settings = arguments.settings();
    let network = format::read(text, format).map_err(|error| in_file(&error))?;
    let network = arguments.network(network).map_err(|error| in_file(&error))?;
    let analyses = arguments.analyses(&network);
    let flows = arguments.flows(&network)?;
    let interrupt = interrupt::flag();
    let analyser = Analyser::new(&network, settings.clone()).stopped_by(Arc::clone(&interrupt));
    let analyser = match arguments.derivation {
        true => analyser,
        false => analyser.explaining(report::bounds::EXPLAINED),
    };
    let with_runs = with_runs(arguments, &flows);
    // The ranks share parts and not single flows, so that the flows of one part are bounded on all
    // cores of a rank.
    let size = flows.len().div_ceil(ranks.size() * if ranks.is_alone() { 1 } else { PARTS });
    let parts: Vec<&[FlowId]> = flows.chunks(size.max(1)).collect();
    let items = Items {
        names: parts.iter().map(|part| flow_names(&network, part)).collect(),
        basis: format!("{text} {settings:?} {analyses:?} {with_runs}"),
        cores: None,
    };
    let each = |number: usize| {
        let part = parts.get(number).copied().unwrap_or_default();
        Applied::of(&analyser, part, &analyses, with_runs)
    };
    let Some(found) = ranks.share(items, &interrupt, each)? else {
        return ranks.leave_helper(&interrupt);
    };
    let found_parts = found.results.into_iter().flatten().collect::<Result<Vec<_>, String>>();
    let Applied { analyses, flows: assessed, rounded, .. } =
        Applied::merge(&analyses, found_parts.map_err(Failure::input)?);
    if assessed.is_empty() && interrupt.load(Ordering::Relaxed) {
        eprintln!("planimeter: interrupted before any flow was bounded");
        return ranks.leave(INTERRUPTED);
    }
    let servers = match servers(&analyser, analyses.first().copied().unwrap_or(Analysis::Best)) {
        Err(AnalysisError::Stopped) => Vec::new(),
        found => found.map_err(|error| in_file(&error))?,
    };
    let loads = network.loads();
    let figures = Figures { network: &network, flows: &assessed, servers: &servers, loads: &loads };
    let thresholds = thresholds::judge(&arguments.threshold, &figures);
    let bounds = Bounds {
        thresholds: &thresholds,
        untried: untried(&analyser, &analyses, &flows),
        rounded: rounded || analyser.has_rounded(),
        ..bounds_of(arguments, &figures, &analyses, &settings)
    };
    let mut provenance = Provenance { shares: found.shares, ..started.provenance() };
    let is_stopped = interrupt.load(Ordering::Relaxed);
    if is_stopped && assessed.len() < flows.len() {
        note_missing(&mut provenance, assessed.len(), flows.len());
    }
    show(arguments, &Run { bounds: &bounds, provenance: &provenance })?;
    if is_stopped {
        eprintln!("planimeter: interrupted; the flows that were bounded up to then are above");
    }
    let late = settings.deadline.as_ref().map_or_else(Vec::new, |most| late(&bounds, most));
    if let Some(first) = late.first() {
        eprintln!(
            "planimeter: {} of {} flows may exceed the deadline, '{first}' first",
            late.len(),
            assessed.len()
        );
    }
    let failed = !late.is_empty() || has_failed(&bounds, arguments.allow_unbounded);
    ranks.leave(status(u8::from(failed), &provenance, is_stopped))
}

/// Records in the provenance that an interrupted run computed bounds for only `done` of `all`
/// flows.
fn note_missing(provenance: &mut Provenance, done: usize, all: usize) {
    if provenance.shares.is_empty() {
        provenance.shares.push(Share { host: provenance.host.clone(), ..Share::default() });
    }
    if let Some(share) = provenance.shares.first_mut() {
        share.did = vec![format!("{done} of {all} flows")];
        share.missing = vec![format!("{} of {all} flows", all.saturating_sub(done))];
    }
}

/// Prints the bounds as a table, JSON or CSV, and writes the plots and the report if they are
/// requested.
fn show(arguments: &Arguments, run: &Run<'_>) -> Result<(), Failure> {
    let Run { bounds, provenance } = *run;
    if arguments.json {
        print!("{}", to_json(run));
    } else if arguments.csv {
        print!("{}", to_csv(bounds));
    } else {
        print!("{}{}", table(bounds, layout()), shares::text(provenance, layout()));
    }
    if let Some(folder) = &arguments.plot {
        plot(bounds, folder)?;
    }
    if let Some(directory) = arguments.directory()? {
        directory.write_bounds(run).map_err(Failure::run)?;
        eprintln!("Report: {}", directory.path().join("report.html").display());
    }
    for contradiction in bounds.contradictions() {
        eprintln!("planimeter: {contradiction}; please report this network as a bug");
    }
    for failure in bounds.missed().into_iter().chain(bounds.broken()) {
        eprintln!("planimeter: {failure}");
    }
    Ok(())
}

/// Computes the bounds of all servers of the network, and shows the progress.
fn servers(analyser: &Analyser<'_>, analysis: Analysis) -> Result<Vec<ServerBound>, AnalysisError> {
    let count = analyser.network().servers().len();
    let done = || analyser.servers_bounded();
    let all = || analyser.servers(analysis);
    progress::while_counting(count, "servers are bounded", done, all)
}

/// Returns the analyses that `quick` or `best` left out to save time, each with an estimate of the
/// time that it would take.
fn untried(analyser: &Analyser<'_>, analyses: &[Analysis], flows: &[FlowId]) -> Vec<Untried> {
    let mut untried: Vec<Untried> = Vec::new();
    for analysis in analyses {
        for found in analyser.untried(*analysis, flows, TIMEOUT) {
            let is_known = untried.iter().any(|known| known.analysis == found.analysis);
            if !is_known && !analyses.contains(&found.analysis) {
                untried.push(found);
            }
        }
    }
    untried
}

/// Returns a name for consecutive flows of a network, such as `flow 'a'` or
/// `3 flows from 'a' to 'c'`.
fn flow_names(network: &Network, flows: &[FlowId]) -> String {
    let name = |id: &FlowId| network.flow(*id).name.clone();
    match flows {
        [] => "no flow".to_owned(),
        [one] => format!("flow '{}'", name(one)),
        [first, .., last] => {
            format!("{} flows from '{}' to '{}'", flows.len(), name(first), name(last))
        }
    }
}

/// Collects the results of a run for its output, with the units in which they are printed.
fn bounds_of<'a>(
    arguments: &Arguments,
    figures: &Figures<'a>,
    analyses: &'a [Analysis],
    settings: &'a Settings,
) -> Bounds<'a> {
    let network = figures.network;
    Bounds {
        network,
        analyses,
        settings,
        flows: figures.flows,
        servers: figures.servers,
        loads: figures.loads,
        time_unit: arguments.time_unit(network),
        data_unit: arguments.data_unit(network),
        thresholds: &[],
        derivations: arguments.derivation,
        untried: Vec::new(),
        rounded: false,
    }
}

/// Returns whether to search for simulated runs with long delays. They are not searched for with
/// `--no-simulation`, or if there are more than `RUNS` flows, in which case a note is printed.
fn with_runs(arguments: &Arguments, flows: &[FlowId]) -> bool {
    let requested = !arguments.no_simulation;
    let with_runs = requested && flows.len() <= RUNS;
    if requested && !with_runs {
        eprintln!(
            "planimeter: runs are simulated for up to {RUNS} flows; name some of the {} flows with --flow",
            flows.len()
        );
    }
    with_runs
}

/// The results of the analyses that apply to a network, for some of its flows.
#[derive(Serialize, Deserialize)]
struct Applied {
    analyses: Vec<Analysis>,
    /// The bounds of each flow, one for each of `analyses`.
    flows: Vec<Vec<Assessed>>,
    /// The reasons why requested analyses do not apply to the network, as messages.
    left_out: Vec<String>,
    /// Whether numbers were rounded up because they had too many digits.
    rounded: bool,
}

impl Applied {
    /// Runs the requested analyses for some flows. If several are requested, those that do not
    /// apply to the network are left out.
    fn of(
        analyser: &Analyser<'_>,
        flows: &[FlowId],
        analyses: &[Analysis],
        with_runs: bool,
    ) -> Result<Self, String> {
        let all = || analyser.assess(flows, analyses, with_runs);
        let done = || analyser.flows_assessed();
        match progress::while_counting(flows.len(), "flows are bounded", done, all) {
            Ok(flows) => Ok(Self {
                analyses: analyses.to_vec(),
                flows,
                left_out: Vec::new(),
                rounded: analyser.has_rounded(),
            }),
            Err(error) if analyses.len() == 1 => Err(error.to_string()),
            Err(_) => {
                let mut left_out = Vec::new();
                let applies =
                    |analysis: &Analysis| match analyser.assess(flows, &[*analysis], false) {
                        Ok(_) => true,
                        Err(error) => {
                            left_out.push(format!("{analysis} is left out: {error}"));
                            false
                        }
                    };
                let some: Vec<Analysis> = analyses.iter().copied().filter(applies).collect();
                let flows = analyser.assess(flows, &some, with_runs);
                let flows = flows.map_err(|error| error.to_string())?;
                Ok(Self { analyses: some, flows, left_out, rounded: analyser.has_rounded() })
            }
        }
    }

    /// Merges the results for all parts of the flows. Only analyses that apply to every part
    /// remain.
    fn merge(requested: &[Analysis], mut parts: Vec<Self>) -> Self {
        let analyses = Self::common(requested, &mut parts);
        let rounded = parts.iter().any(|part| part.rounded);
        let flows = parts.into_iter().flat_map(|part| part.flows).collect();
        Self { analyses, flows, left_out: Vec::new(), rounded }
    }

    /// Removes the results of analyses that do not apply to all parts of the flows, and prints the
    /// reasons once. Returns the remaining analyses.
    fn common<'p>(
        requested: &[Analysis],
        parts: impl IntoIterator<Item = &'p mut Self>,
    ) -> Vec<Analysis> {
        let parts: Vec<&mut Self> = parts.into_iter().collect();
        let left_out: BTreeSet<&String> = parts.iter().flat_map(|part| &part.left_out).collect();
        left_out.into_iter().for_each(|text| eprintln!("planimeter: {text}"));
        let everywhere =
            |analysis: &Analysis| parts.iter().all(|part| part.analyses.contains(analysis));
        let common: Vec<Analysis> = requested.iter().copied().filter(everywhere).collect();
        for part in parts {
            let keeps: Vec<bool> =
                part.analyses.iter().map(|analysis| common.contains(analysis)).collect();
            for row in &mut part.flows {
                let mut keeps = keeps.iter();
                row.retain(|_| keeps.next().copied().unwrap_or(false));
            }
            part.analyses.clone_from(&common);
        }
        common
    }
}

/// Runs a min-plus program and prints its output. Returns the exit status 1 if an assertion of the
/// program does not hold, and otherwise 0.
fn program(file: &Path, text: &str) -> Result<ExitCode, Failure> {
    let outputs =
        mppg::run(text).map_err(|error| Failure::input(format!("{}: {error}", file.display())))?;
    let mut holds = true;
    for output in &outputs {
        println!("{output}");
        holds &= !matches!(output, mppg::Output::Assertion { holds: false, .. });
    }
    Ok(ExitCode::from(u8::from(!holds)))
}

/// Draws the curves of each flow into an SVG file of its own in the directory `folder`.
fn plot(bounds: &Bounds<'_>, folder: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        Failure::run(format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for assessed in bounds.flows.iter().filter_map(|row| row.first()) {
        let name = &bounds.network.flow(assessed.bound.flow).name;
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let stem: String = name.chars().map(plain).collect();
        // Two names may map to the same file name, so the number of the flow makes it unique.
        let number = assessed.bound.flow.index();
        let path = folder.join(format!("{number:03}-{stem}.svg"));
        curves(bounds, assessed)
            .and_then(|drawing| std::fs::write(&path, drawing))
            .map_err(|error| failed(&path, error))?;
    }
    eprintln!("curves are in {}", folder.display());
    Ok(())
}

/// Returns the names of the flows whose delay is not proven to meet the deadline: their smallest
/// delay bound exceeds it. The flow with the largest bound comes first.
fn late<'a>(bounds: &Bounds<'a>, deadline: &Rational) -> Vec<&'a str> {
    let least = |row: &Vec<Assessed>| row.iter().map(|a| a.bound.delay.clone()).min();
    let flows = bounds.flows.iter().filter_map(|row| Some((least(row)?, row.first()?.bound.flow)));
    let mut late: Vec<_> = flows.filter(|(delay, _)| *delay > Extended::from(deadline)).collect();
    late.sort_by(|a, b| b.0.cmp(&a.0));
    late.into_iter().map(|(_, flow)| bounds.network.flow(flow).name.as_str()).collect()
}

/// Returns whether the command fails: if a simulated run exceeds a bound, if a maximum delay or a
/// threshold is not met, or if a flow has no bound and `allow_unbounded` is false.
fn has_failed(bounds: &Bounds<'_>, allow_unbounded: bool) -> bool {
    let unbounded = !allow_unbounded && !bounds.unbounded().is_empty();
    let failed = !bounds.missed().is_empty() || !bounds.broken().is_empty();
    unbounded || failed || !bounds.contradictions().is_empty()
}

#[cfg(test)]
mod tests;
