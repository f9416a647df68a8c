//! The demo's question about programs: how fast is this P4 program when packets themselves write
//! its table, and which table design suits it?

use std::time::Duration;

use ::tables::measure::{Findings, Measured, Plan, Selection, Sharing};
use ::tables::{Design, EntryLock, Storage, Synchronisation, UpdateMethod, Wait};
use ::throughput::run::Settings;
use ::throughput::traffic::{TrafficError, Wanted};
use pipeline::Path;
use report::page::document::Section;
use report::page::{Cell, Figure, Table};
use report::plot::{Axis, Line, Origin, Plot};
use report::throughput;
use report::value::Value;
use statistics::{Estimate, Unit};

use super::{Environment, Part};
use crate::bench;
use crate::environment::SEED;
use crate::failure::Failure;
use crate::invocation;

pub(super) fn part(environment: &Environment<'_>) -> Result<Part, Failure> {
    let points = program(environment)?;
    let findings = match environment.interrupted() {
        false => Some(table_designs(environment)?),
        true => None,
    };
    let mut found: Vec<String> = program_finding(&points).into_iter().collect();
    found.extend(findings.iter().flat_map(design_findings));
    Ok(Part { section: section(&points, findings.as_ref()), findings: found, notes: Vec::new() })
}

/// Measures the throughput of the P4 program `entry_update.p4`, interpreted and as machine code,
/// for several numbers of table entries.
fn program(environment: &Environment<'_>) -> Result<Vec<throughput::Point>, Failure> {
    let directory = environment.make("program")?;
    let (name, program) = bench::paper(&p4lang::preprocess::Options::default())?;
    let (sizes, time): (&[usize], u64) = match environment.quick {
        true => (&[1 << 6, 1 << 8], 2),
        false => (&[1 << 8, 1 << 12, 1 << 16], 100),
    };
    let settings = Settings {
        paths: vec![Path::Interpreter, Path::Compiled],
        cores: vec![1],
        repetitions: if environment.quick { 2 } else { 5 },
        time: Duration::from_millis(time),
        warm_up: Duration::ZERO,
        load: 0.5,
        skew: 0.0,
        any_core: false,
        by_wall_clock: false,
        seed: SEED,
    };
    let started = invocation::start();
    let mut points = Vec::new();
    for &flows in sizes {
        let wanted = Wanted { flows, packet_size: 84, seed: SEED };
        match bench::made(&program, wanted, &settings, environment.interrupt, environment.quiet) {
            Ok(point) => points.push(point),
            Err(TrafficError::Interrupted) => break,
            Err(error) => return Err(Failure::run(error)),
        }
    }
    if points.is_empty() {
        return Err(Failure::run("interrupted before a program was measured"));
    }
    if let Some(fault) =
        points.iter().flat_map(|point| &point.findings.cases).find_map(throughput::fault)
    {
        return Err(Failure::run(fault));
    }
    let run = throughput::Run {
        broken: &[],
        program: &name,
        points: &points,
        settings: &settings,
        provenance: &started.provenance(),
    };
    directory.write_throughput(&run).map_err(Failure::run)?;
    Ok(points)
}

/// Measures the table designs whose entries packets may write, and the methods by which packets
/// write them.
fn table_designs(environment: &Environment<'_>) -> Result<Findings, Failure> {
    let entries = if environment.quick { 1 << 8 } else { 1 << 16 };
    let storages = Selection {
        storages: Storage::ALL.to_vec(),
        sharings: vec![Sharing::Optimistic, Sharing::Sharded],
        locks: vec![EntryLock::None],
        updates: vec![UpdateMethod::Pointer],
        operations: vec![::tables::measure::Operation::Update],
        sizes: vec![entries],
        key_bits: vec![32],
        parameter_bytes: vec![4],
        cores: vec![1],
        asks: ::tables::Requirements::default(),
    };
    let methods = Selection {
        storages: vec![Storage::Static],
        sharings: vec![Sharing::DoubleBuffer(Wait::PAPER), Sharing::Optimistic],
        updates: vec![UpdateMethod::Pointer, UpdateMethod::Change, UpdateMethod::Digest],
        ..storages.clone()
    };
    let plan = Plan::new(&[storages, methods]).map_err(Failure::run)?;
    let time = Duration::from_millis(if environment.quick { 2 } else { 20 });
    environment.tables("tables", &plan, time, if environment.quick { 2 } else { 5 })
}

fn path_name(path: Path) -> &'static str {
    match path {
        Path::Interpreter => "interpreter",
        Path::Compiled => "machine code",
    }
}

fn program_finding(points: &[throughput::Point]) -> Option<String> {
    let point = points.last()?;
    let rate = |path: Path| {
        let case = point.findings.cases.iter().find(|case| case.path == path)?;
        throughput::rate(case)
    };
    let (interpreter, compiled) = (rate(Path::Interpreter)?, rate(Path::Compiled)?);
    Some(format!(
        "Program: with packets that write its table of {} entries it runs compiled at {} on one core, {:.0} times as \
         fast as interpreted.",
        point.flows,
        Value::estimate(&compiled, Unit::PerSecond).words(),
        compiled.mean / interpreter.mean,
    ))
}

/// Returns the name of a table design without its entry lock, because no design of the demo has a
/// lock.
fn named(design: &Design) -> String {
    format!("{}/{}/{}", design.storage, design.synchronisation, design.update)
}

/// Describes a table design whose entries packets write in place. The description is for readers to
/// whom the name of the design means nothing.
fn in_words(design: &Design) -> String {
    let entries = match design.storage {
        Storage::Original => "entries allocated one by one",
        Storage::Dynamic => "entries behind pointers",
        Storage::Static => "entries in one array",
        Storage::Inline => "entries in the hash table itself",
    };
    let cores = match design.synchronisation {
        Synchronisation::Optimistic => "one table for all cores",
        Synchronisation::Sharded { .. } => "a table for each core",
        Synchronisation::DoubleBuffer { .. } => "two replicas",
    };
    format!("{entries}, {cores}, written in place,")
}

/// Returns the measured updates per second of a table design: per second of processor time, or per
/// second of wall-clock time if the design waits.
fn rate(one: &Measured) -> Option<Estimate> {
    Estimate::of(&one.rates())
}

fn design_findings(findings: &Findings) -> Vec<String> {
    let pointer = |one: &&Measured| one.case.design.update == UpdateMethod::Pointer;
    let mean = |one: &Measured| rate(one).map_or(0.0, |rate| rate.mean);
    let fastest = findings
        .measured
        .iter()
        .filter(pointer)
        .max_by(|a, b| mean(a).total_cmp(&mean(b)))
        .and_then(|one| {
            let rate = rate(one)?;
            Some(format!(
                "Table design: {} took most updates from packets, {} on one core ({}).",
                in_words(&one.case.design),
                Value::estimate(&rate, Unit::PerSecond).words(),
                named(&one.case.design),
            ))
        });
    let median = |update: UpdateMethod, buffered: bool| {
        let wanted = |one: &&Measured| {
            let design = one.case.design;
            design.storage == Storage::Static
                && design.update == update
                && matches!(design.synchronisation, Synchronisation::DoubleBuffer { .. })
                    == buffered
        };
        let [median, ..] = findings.measured.iter().find(wanted)?.percentiles();
        median.map(seconds)
    };
    let methods = median(UpdateMethod::Pointer, false).zip(median(UpdateMethod::Change, true));
    let methods = methods.map(|(pointer, change)| {
        format!(
            "Update method: in static storage an update in place takes {} (median); by two replicas, with a wait of 200 µs, {}.",
            pointer.words(),
            change.words()
        )
    });
    fastest.into_iter().chain(methods).collect()
}

fn seconds(found: Estimate) -> Value {
    Value::estimate(&found, Unit::Seconds)
}

fn section(points: &[throughput::Point], findings: Option<&Findings>) -> Section {
    let mut program = Table::of_values(
        "The program: rate of one core, and latency at half of it, with 95 % confidence intervals",
        ["path, entries", "rate", "p50", "p99", "checked"],
    );
    let mut lines = Vec::new();
    for path in [Path::Interpreter, Path::Compiled] {
        let mut line = Vec::new();
        for point in points {
            for case in point.findings.cases.iter().filter(|case| case.path == path) {
                let rate =
                    throughput::rate(case).map(|rate| Value::estimate(&rate, Unit::PerSecond));
                let percentile =
                    |share: f64| case.latency.as_ref()?.times.percentile(share).map(seconds);
                let counts = case.counts;
                let checked = counts.checked as f64 / counts.processed.max(1) as f64;
                program.row([
                    Cell::text(format!("{}, {}", path_name(path), point.flows)),
                    Cell::optional(rate),
                    Cell::optional(percentile(0.5)),
                    Cell::optional(percentile(0.99)),
                    Value::new(checked, Unit::Fraction).into(),
                ]);
                line.extend(rate.map(|rate| (point.flows as f64, rate)));
            }
        }
        lines.push(Line::of_values(path_name(path), Origin::Measured, line));
    }
    let mut table = Table::of_values(
        format!(
            "Designs of a table of {} entries that packets write: updates by one core, and how long a single one takes",
            findings
                .and_then(|found| Some(found.measured.first()?.case.layout.size()))
                .unwrap_or(0)
        ),
        ["storage/synchronisation/update", "updates", "p50", "p99"],
    );
    for one in findings.into_iter().flat_map(|findings| &findings.measured) {
        let [p50, p99, _] = one.percentiles().map(|found| found.map(seconds));
        table.row([
            Cell::text(named(&one.case.design)),
            Cell::optional(rate(one).map(|rate| Value::estimate(&rate, Unit::PerSecond))),
            Cell::optional(p50),
            Cell::optional(p99),
        ]);
    }
    Section {
        id: "program".to_owned(),
        title: "How fast is this P4 program, and which table design should it use?".to_owned(),
        text: vec![
            "Each packet of programs/entry_update.p4 names an entry and its new value; the old value goes back. \
             Packets lie in memory, and the packets that leave are compared with those of the interpreter."
                .to_owned(),
        ],
        tables: vec![program, table],
        figures: vec![Figure::plot(
            Plot::of_values(
                "Throughput against entries",
                Axis::binary("entries"),
                Axis::logarithmic("packets per second, one core", Unit::PerSecond),
                lines,
            ),
            "",
        )],
        commands: vec![
            (
                "Your P4 program, with traffic made from it:".to_owned(),
                "planimeter bench programs/router.p4 --entries 2^8,2^12,2^16".to_owned(),
            ),
            (
                "A design for each of its tables:".to_owned(),
                "planimeter tables --predict programs/router.p4".to_owned(),
            ),
        ],
        links: vec![
            ("All of the program".to_owned(), "program/report.html".to_owned()),
            ("All of the designs".to_owned(), "tables/report.html".to_owned()),
        ],
    }
}
