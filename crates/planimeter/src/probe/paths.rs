//! `planimeter probe --paths FILE`: measures the shortcut paths through a controller, one after the
//! other.

mod process;

use std::io::Write as _;
use std::path::Path as FilePath;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ArgMatches;
use probe::config::{Config, Protocol, Resolved};
use probe::outcome::{Completion, Point, RunResult};
use probe::paths::{Judgement, Path, Plan, judge};
use probe::{HeldPorts, Live, RunContext};
use provenance::Provenance;
use report::RunDirectory;
use report::page::document::{Document, Section};
use report::page::{Cell, Figure, Table};
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::{Estimate, Unit};
use tempfile::NamedTempFile;

use super::{Keeper, arguments};
use crate::failure::Failure;
use crate::interrupt;
use crate::invocation;
use crate::output;
use crate::progress::Progress;
use process::Running;

pub(super) fn run(matches: &ArgMatches, file: &FilePath) -> Result<ExitCode, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", file.display()));
    let text = input::read_text(file).map_err(|error| wrong(&error))?;
    let plan = Plan::from_toml(&text).map_err(|error| wrong(&error))?;
    let resolved = arguments::resolve(matches)?;
    if arguments::prints_configuration(matches) {
        print!("{}", resolved.to_toml());
        return Ok(ExitCode::SUCCESS);
    }
    let config = &resolved.config;
    let mut directory = RunDirectory::create_for(config.output.directory.as_deref(), "paths")
        .map_err(Failure::input)?;
    directory.write_configuration(&resolved.to_toml()).map_err(Failure::run)?;
    std::fs::write(directory.path().join("paths.toml"), &text).map_err(Failure::run)?;
    let interrupt = interrupt::flag();
    let Kept { measured, failure } = measure_up_to(&plan, &resolved, &directory, &interrupt);
    let failure = match failure {
        Some(failure) if measured.results.is_empty() => return Err(failure),
        failure => failure,
    };
    let interrupted = interrupt.load(Ordering::Relaxed);
    let mut document = document(&plan, &measured, interrupted);
    if let Some(failure) = failure.as_ref().filter(|_| !interrupted) {
        document.partial = Some(failure.to_string());
    }
    let status = output::leave_document(&directory, &document, config.output.json, interrupted)?;
    match failure.filter(|_| !interrupted) {
        Some(failure) => Err(failure),
        None => Ok(status),
    }
}

/// The results of the paths that were measured.
struct Kept {
    measured: Measured,
    /// The reason why a path could not be measured, after which no further path was tried. It is
    /// `None` if all paths were measured, or if the user interrupted the command after a path.
    failure: Option<Failure>,
}

/// The results of all measured paths through a controller, with their provenance.
pub(crate) struct Measured {
    /// One result for each path, in the order of the plan. Paths after an interrupt have none.
    results: Vec<RunResult>,
    provenance: Provenance,
}

impl Measured {
    /// Returns the measured point of each path that has a result, in the order of the plan, or
    /// `None` if the result contains no point.
    pub(crate) fn points(&self) -> impl Iterator<Item = Option<&Point>> {
        self.results.iter().map(|result| result.points.first())
    }
}

/// Measures each path of the plan with the same settings. Each path has a run directory of its own
/// below `directory`.
pub(crate) fn measure(
    plan: &Plan,
    resolved: &Resolved,
    directory: &RunDirectory,
    interrupt: &Arc<AtomicBool>,
) -> Result<Measured, Failure> {
    let Kept { measured, failure } = measure_up_to(plan, resolved, directory, interrupt);
    failure.map_or(Ok(measured), Err)
}

/// Measures the paths of the plan like [`measure`], up to the first that cannot be measured.
fn measure_up_to(
    plan: &Plan,
    resolved: &Resolved,
    directory: &RunDirectory,
    interrupt: &Arc<AtomicBool>,
) -> Kept {
    let started = invocation::start();
    let measured = |number: usize, path: &Path| {
        let own = directory.path().join(folder(number, path));
        let mut own = RunDirectory::create(Some(&own)).map_err(Failure::run)?;
        own.write_configuration(&resolved.to_toml()).map_err(Failure::run)?;
        let result = one(path, resolved, &own, interrupt)?;
        own.write(&result).map_err(Failure::run)?;
        Ok(result)
    };
    let (mut results, mut failure) = (Vec::new(), None);
    for (number, path) in plan.paths.iter().enumerate() {
        match measured(number, path) {
            Ok(result) => results.push(result),
            Err(cause) => failure = Some(cause),
        }
        if failure.is_some() || interrupt.load(Ordering::Relaxed) {
            break;
        }
    }
    Kept { measured: Measured { results, provenance: started.provenance() }, failure }
}

/// Returns the name of the run directory of a path, such as `1-original-P1`. It contains only
/// letters, digits, `-` and `_`, so that it cannot lead out of the parent directory.
fn folder(number: usize, path: &Path) -> String {
    let name = format!("{}-{}-{}", number + 1, path.variant, path.name);
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(safe).take(80).collect()
}

/// Measures one path through a controller. First runs the commands of the plan that prepare or
/// start the controller for this path.
fn one(
    path: &Path,
    resolved: &Resolved,
    directory: &RunDirectory,
    interrupt: &Arc<AtomicBool>,
) -> Result<RunResult, Failure> {
    let of_path = |error: String| Failure::Run(format!("path {}: {error}", path.title()));
    // The ports are reserved before the controller learns of them, and until the run ends.
    let ports = HeldPorts::take(&resolved.config, path.start.is_some()).map_err(Failure::input)?;
    let mut config = resolved.config.clone();
    ports.apply(&mut config);
    let devices = devices(&config)?;
    if let Some(command) = &path.prepare {
        process::finish(&filled(command, &devices)?, interrupt).map_err(of_path)?;
    }
    let controller = match &path.start {
        Some(command) => {
            let log = directory.path().join("controller.log");
            Some(Running::start(&filled(command, &devices)?, &log, interrupt).map_err(of_path)?)
        }
        None => None,
    };
    let live = Arc::new(Live::default());
    let mut notes = resolved.notes.clone();
    notes.push(format!(
        "Path {}: the controller answers after {}.",
        path.title(),
        path.answers_after
    ));
    let context = RunContext {
        command: invocation::command_line(),
        configuration: resolved.values(),
        notes,
        ports: Some(ports),
        live: live.clone(),
        interrupt: interrupt.clone(),
    };
    let quiet = resolved.config.output.quiet;
    let mut watcher = Keeper {
        progress: Progress::start(live, quiet).about(&path.title()),
        directory,
        kept: None,
        quiet,
    };
    let result = probe::run(&resolved.config, context, &mut watcher).map_err(|error| {
        match interrupt.load(Ordering::Relaxed) {
            true => Failure::Interrupted,
            false => Failure::of_probe(&error),
        }
    })?;
    // An interrupted run is partial, however its controller ended.
    if !interrupt.load(Ordering::Relaxed)
        && let Some(status) = controller.and_then(Running::ended_by_itself)
    {
        let log = directory.path().join("controller.log");
        return Err(of_path(format!("its controller ended with {status}; see {}", log.display())));
    }
    Ok(result)
}

/// Writes the addresses of the emulated switches to a temporary file, for a P4Runtime controller
/// that dials them. For other protocols, the file is empty.
fn devices(config: &Config) -> Result<NamedTempFile, Failure> {
    let mut list = NamedTempFile::new().map_err(Failure::run)?;
    if config.protocol == Protocol::P4Runtime {
        let addresses = probe::device_addresses(config);
        list.write_all(probe::netcfg::list(&addresses).as_bytes()).map_err(Failure::run)?;
    }
    Ok(list)
}

fn filled(command: &str, devices: &NamedTempFile) -> Result<String, Failure> {
    let program = invocation::executable()?;
    let quoted =
        |path: &FilePath| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    Ok(command
        .replace("{devices}", &quoted(devices.path()))
        .replace("{planimeter}", &quoted(&program)))
}

/// Returns the report on all paths: the rates and the CPU use by path and variant of the
/// controller, and their interpretation.
pub(crate) fn document(plan: &Plan, measured: &Measured, interrupted: bool) -> Document {
    let mut document = Document {
        kind: "probe --paths",
        title: format!("Which block limits {}", plan.title),
        findings: Vec::new(),
        notes: notes(&measured.results),
        partial: partial(plan, &measured.results, interrupted),
        claims: Vec::new(),
        sections: Vec::new(),
        provenance: measured.provenance.clone(),
    };
    let received = metric(plan, &measured.results, "received_rate");
    document.findings = judge(plan, &received)
        .iter()
        .map(|judgement| sentence(plan, &received, judgement))
        .collect();
    if document.findings.is_empty() && document.partial.is_none() {
        document.findings.push(
            "No path answers less than the one before it, as far as these repetitions show: no block limits the \
             controller at this rate. Offer a higher rate, or repeat more often."
                .to_owned(),
        );
    }
    let processor = metric(plan, &measured.results, "controller.cpu");
    document.sections.push(Section {
        id: "paths".to_owned(),
        title: "Packet rate and processor use by path".to_owned(),
        text: vec![format!(
            "{} packet-ins/s were offered on each path.",
            offered(&measured.results)
        )],
        tables: vec![
            table(plan, &received, "Received rate", Unit::PerSecond),
            table(plan, &processor, "Controller's processor use", Unit::CpuPercent),
        ],
        figures: vec![
            drawn(plan, &received, "Received rate", Unit::PerSecond),
            drawn(plan, &processor, "Controller's processor use", Unit::CpuPercent),
        ],
        links: plan
            .paths
            .iter()
            .take(measured.results.len())
            .enumerate()
            .map(|(number, path)| (path.title(), format!("{}/report.html", folder(number, path))))
            .collect(),
        ..Section::default()
    });
    document
}

/// Returns a metric of each path of the plan, or `None` for a path that was not measured.
fn metric(plan: &Plan, results: &[RunResult], name: &str) -> Vec<Option<Estimate>> {
    let of = |result: &RunResult| result.points.first()?.summary.get(name).copied();
    (0..plan.paths.len()).map(|path| results.get(path).and_then(of)).collect()
}

/// Draws one line for each variant of the controller, over the paths in the order of the table.
fn drawn(plan: &Plan, found: &[Option<Estimate>], what: &str, unit: Unit) -> Figure {
    let names = plan.names();
    let lines = plan.variants().into_iter().map(|variant| {
        let values = (1..).zip(&names).filter_map(|(number, name)| {
            let is = |path: &Path| path.variant == variant && path.name == *name;
            let value = found.get(plan.paths.iter().position(is)?).copied().flatten()?;
            Some((f64::from(number), Value::estimate(&value, unit)))
        });
        let name = if variant.is_empty() { "controller" } else { variant };
        Line::of_values(name, Origin::Measured, values)
    });
    let numbered = (1..).zip(&names).map(|(number, name)| format!("{number}: {name}"));
    let plot = Plot::of_values(
        format!("{what} by how far packets go"),
        Axis::linear("path, by its number", Unit::Count),
        Axis::linear(what.to_lowercase(), unit),
        lines.collect(),
    );
    Figure::plot(plot, format!("{}.", numbered.collect::<Vec<_>>().join("; ")))
}

/// Returns a table with a row for each variant of the controller, and a column for each path.
fn table(plan: &Plan, found: &[Option<Estimate>], what: &str, unit: Unit) -> Table {
    let after = |name: &&str| {
        let path = plan.paths.iter().find(|path| path.name == *name);
        path.map_or_else(String::new, |path| format!("{name}: after {}", path.answers_after))
    };
    let names = plan.names();
    let columns: Vec<String> = names.iter().map(after).collect();
    let mut table = Table::of_values(
        format!("{what}, mean over repetitions with 95 % confidence interval"),
        std::iter::once("variant").chain(columns.iter().map(String::as_str)),
    );
    for variant in plan.variants() {
        let cell = |name: &&str| {
            let is = |path: &Path| path.variant == variant && path.name == *name;
            let place = plan.paths.iter().position(is);
            let value = place.and_then(|place| found.get(place).copied().flatten());
            Cell::optional(value.map(|value| Value::estimate(&value, unit)))
        };
        let name = if variant.is_empty() { "controller" } else { variant };
        table.row(std::iter::once(Cell::text(name)).chain(names.iter().map(cell)));
    }
    table
}

fn sentence(plan: &Plan, received: &[Option<Estimate>], judgement: &Judgement) -> String {
    let rate = |path: usize| {
        let found = received.get(path).copied().flatten();
        found.map_or_else(String::new, |found| Value::estimate(&found, Unit::PerSecond).words())
    };
    match judgement {
        Judgement::Falls { path, share } => format!(
            "{}: the rate falls by {:.0} %, to {}, once packets pass {}: a bottleneck.",
            plan.paths[*path].title(),
            share * 100.0,
            rate(*path),
            plan.paths[*path].answers_after,
        ),
        Judgement::Gains { path, base, share } => format!(
            "{}: {} in place of {}, {:+.0} %.",
            plan.paths[*path].title(),
            rate(*path),
            rate(*base),
            share * 100.0,
        ),
    }
}

fn offered(results: &[RunResult]) -> String {
    let rate = results.iter().find_map(|result| result.points.first()?.offered_rate);
    rate.map_or_else(|| "No fixed rate of".to_owned(), |rate| format!("{rate}"))
}

/// Returns the reason why the report is incomplete, or `None` if all paths were measured
/// completely.
fn partial(plan: &Plan, results: &[RunResult], interrupted: bool) -> Option<String> {
    if interrupted || results.len() < plan.paths.len() {
        return Some(format!("interrupted in path {} of {}", results.len(), plan.paths.len()));
    }
    plan.paths.iter().zip(results).find_map(|(path, result)| match &result.completion {
        Completion::Complete => None,
        Completion::Partial { reason } | Completion::Failed { reason } => {
            Some(format!("path {}: {reason}", path.title()))
        }
    })
}

/// Returns the notes of the runs on all paths, each note once. Adds one if the probe, and not the
/// controller, was the limit.
fn notes(results: &[RunResult]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let probe_limited = results.iter().flat_map(|result| &result.points).any(|point| {
        point.trials.iter().any(|trial| trial.verdict.saturated == probe::outcome::Saturated::Probe)
    });
    if probe_limited {
        notes.push(
            "In some trials the probe was the limit, not the controller: its paths may take more than is shown. Offer less."
                .to_owned(),
        );
    }
    for note in results.iter().flat_map(|result| &result.notes) {
        if !note.starts_with("Path ") {
            notes.push(note.clone());
        }
    }
    notes
}
