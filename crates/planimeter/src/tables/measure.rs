//! The measurement of `planimeter tables`: converts the arguments to a plan, runs it, and writes
//! the results.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::tables::measure::{
    Case, Findings, Machine, Measured, NotOffered, Operation, Plan, Progress, Selection, Settings,
    run as measure, survey,
};
use ::tables::{Requirements, machine};
use provenance::{Provenance, Share};
use report::{RunDirectory, designs, shares};
use serde::{Deserialize, Serialize};
use statistics::{Condition, Unit};

use super::Arguments;
use super::predict;
use crate::failure::Failure;
use crate::invocation;
use crate::output::{self, layout};
use crate::progress::Steps;
use crate::rank_group::{Items, RankGroup, status};
use crate::threshold::{self, Metric};
use crate::{interrupt, program};

/// The metrics that conditions of `--threshold` may name, with their units.
pub(super) const METRICS: [Metric; 6] = [
    ("rate", Unit::PerSecond),
    ("cost", Unit::Seconds),
    ("p50", Unit::Seconds),
    ("p99", Unit::Seconds),
    ("p99.9", Unit::Seconds),
    ("lost", Unit::Count),
];

/// The time for which the latency of each level of the memory hierarchy is measured, by following a
/// chain of pointers.
const CHASE: Duration = Duration::from_millis(150);

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let settings = settings(arguments)?;
    let plan = plan(arguments, &settings)?;
    if arguments.designs.list {
        list(&plan);
        return Ok(ExitCode::SUCCESS);
    }
    if plan.cases.is_empty() {
        let reason = plan.not_offered.first().map_or("", |not| not.reason.as_str());
        return Err(Failure::input(format!(
            "no table supports any of these combinations: {reason}"
        )));
    }
    let mut ranks = RankGroup::join()?;
    let interrupt = interrupt::flag();
    let started = invocation::start();
    let quiet = arguments.output.quiet || !ranks.leads();
    let directory = ranks.leads().then(|| arguments.output.directory()).transpose()?;
    let (found, shares) = match ranks.is_alone() {
        true => (Some(findings(&plan, &settings, &interrupt, quiet)), Vec::new()),
        false => shared(&plan, &settings, &interrupt, quiet, &mut ranks)?
            .map_or((None, Vec::new()), |(found, shares)| (Some(found), shares)),
    };
    let (Some(findings), Some(directory)) = (found, directory) else {
        return ranks.leave_helper(&interrupt);
    };
    let provenance = Provenance { shares, ..started.provenance() };
    let broken = broken(&findings, &arguments.output.threshold);
    let run = designs::Run { findings: &findings, broken: &broken, provenance: &provenance };
    let json = || designs::to_json(&run);
    let text = || designs::table(&run, layout()) + &shares::text(&provenance, layout());
    let write = |directory: &RunDirectory| directory.write_designs(&run);
    output::leave(&directory, arguments.output.json, json, text, write)?;
    let verdict = verdict(&findings, &broken)?;
    ranks.leave(status(verdict, &provenance, findings.interrupted))
}

/// The results of one part of the plan, which one rank (process) measured.
#[derive(Serialize, Deserialize)]
struct Part {
    measured: Vec<Measured>,
    not_offered: Vec<NotOffered>,
    unfinished: Vec<Case>,
    interrupted: bool,
}

/// Measures the parts of the plan at several ranks (processes). One rank measures a whole part,
/// because designs that are compared must take turns on the same machine. Returns the results at
/// the first rank, and `None` at all others.
fn shared(
    plan: &Plan,
    settings: &Settings,
    interrupt: &AtomicBool,
    quiet: bool,
    ranks: &mut RankGroup,
) -> Result<Option<(Findings, Vec<Share>)>, Failure> {
    let parts = plan.parts();
    let items = Items {
        names: parts.iter().map(part_name).collect(),
        basis: format!("{plan:?} {:?}", Settings { cores: Vec::new(), ..settings.clone() }),
        cores: Some(settings.cores.clone()),
    };
    let mut machine = None;
    let each = |number: usize| {
        let part = parts.get(number).cloned().unwrap_or_default();
        let Findings { machine: seen, measured, not_offered, unfinished, interrupted, .. } =
            on_machine(&part, settings, machine.take(), interrupt, quiet);
        machine = Some(seen);
        Part { measured, not_offered, unfinished, interrupted }
    };
    let Some(found) = ranks.share(items, interrupt, each)? else { return Ok(None) };
    let machine = machine.unwrap_or_else(|| survey(&settings.cores, CHASE, interrupt, &mut |_| {}));
    let mut findings = Findings {
        machine,
        settings: settings.clone(),
        measured: Vec::new(),
        not_offered: plan.not_offered.clone(),
        unfinished: Vec::new(),
        interrupted: false,
    };
    for (part, found) in parts.iter().zip(found.results) {
        let missing = || Part {
            measured: Vec::new(),
            not_offered: Vec::new(),
            unfinished: part.cases.clone(),
            interrupted: true,
        };
        let found = found.unwrap_or_else(missing);
        findings.measured.extend(found.measured);
        findings.not_offered.extend(found.not_offered);
        findings.unfinished.extend(found.unfinished);
        findings.interrupted |= found.interrupted;
    }
    Ok(Some((findings, found.shares)))
}

/// Returns a name for a part of the plan, made from the properties that all of its cases share.
fn part_name(part: &Plan) -> String {
    part.cases.first().map_or_else(String::new, |case| {
        let layout = &case.layout;
        let shape =
            format!("key {} bits, parameters {} B", layout.key_bits(), layout.parameter_bytes());
        format!("{} designs of {} entries ({shape})", part.cases.len(), layout.size())
    })
}

/// Returns a sentence for each threshold and each measured case that does not meet it.
fn broken(findings: &Findings, thresholds: &[Condition]) -> Vec<String> {
    let mut broken = Vec::new();
    for threshold in thresholds {
        for one in &findings.measured {
            let case = format!("{}, {} entries", one.case.design, one.case.layout.size());
            let value = value(threshold.metric(), one);
            broken.extend(threshold::broken(threshold, &METRICS, &case, value));
        }
    }
    broken
}

/// Returns the exit status of a measurement: 1 if a threshold does not hold, or if a table lost
/// updates that its design promises to keep, and otherwise 0. Returns an error if nothing was
/// measured.
fn verdict(findings: &Findings, broken: &[String]) -> Result<u8, Failure> {
    if findings.measured.is_empty() && findings.interrupted {
        return Err(Failure::Interrupted);
    }
    if findings.measured.is_empty() {
        let reason = match findings.not_offered.last() {
            // A size that is too large for this machine is a mistake of the user.
            Some(not) => Failure::input(format!("nothing could be measured: {}", not.reason)),
            None => Failure::run("nothing was measured: the plan has no case"),
        };
        return Err(reason);
    }
    broken.iter().for_each(|sentence| eprintln!("planimeter: {sentence}"));
    Ok(u8::from(findings.broken_promises().count() > 0 || !broken.is_empty()))
}

/// Returns a metric of a measured case, in the unit that `METRICS` states for it, or `None` if the
/// metric was not measured.
fn value(metric: &str, one: &Measured) -> Option<f64> {
    let [p50, p99, p999] = one.percentiles().map(|found| found.map(|found| found.mean));
    match metric {
        "rate" => statistics::mean(&one.rates()),
        "cost" => statistics::mean(&one.costs()).map(|nanoseconds| nanoseconds / 1e9),
        "p50" => p50,
        "p99" => p99,
        "p99.9" => p999,
        _ => one.lost.map(|lost| lost as f64),
    }
}

fn settings(arguments: &Arguments) -> Result<Settings, Failure> {
    let Arguments { shapes, effort, .. } = arguments;
    let quick = effort.quick;
    let time = effort.time.unwrap_or(Duration::from_millis(if quick { 5 } else { 20 }));
    Ok(Settings {
        time,
        warm_up: effort.warm_up.unwrap_or(time / 2),
        repetitions: effort.repetitions.unwrap_or(if quick { 3 } else { 5 }),
        batch: shapes.batch.unwrap_or(32),
        fill: shapes.fill.share(),
        seed: effort.seed(),
        cores: machine::cores().map_err(Failure::run)?,
        announce: effort.prefetch_next,
    })
}

/// Lists of table sizes, of key widths in bits and of parameter sizes in bytes, and the
/// requirements on table designs.
type Wanted = (Vec<usize>, Vec<u32>, Vec<usize>, Requirements);

/// Returns the plan of a measurement: the cases that the arguments select.
fn plan(arguments: &Arguments, settings: &Settings) -> Result<Plan, Failure> {
    let Arguments { designs, shapes, effort, .. } = arguments;
    let all = settings.cores.len();
    let cores = match shapes.cores() {
        Some(cores) => cores,
        None if all > 1 => vec![1, all],
        None => vec![1],
    };
    if let Some(&most) = cores.iter().find(|&&cores| cores > all) {
        return Err(Failure::input(format!(
            "--cores {most}: this process may use {all} cores, and each thread needs a core of its own; name at most \
             {all}"
        )));
    }
    let powers = |from: u32, to: u32, step: usize| -> Vec<usize> {
        (from..=to).step_by(step).map(|bits| 1 << bits).collect()
    };
    let sizes = shapes.sizes().unwrap_or_else(|| match (effort.quick, designs.full) {
        (true, _) => vec![1 << 8, 1 << 16, 1 << 20],
        (_, true) => powers(0, 22, 1),
        _ => powers(0, 20, 4),
    });
    let mut key_bits = shapes.key_bits().unwrap_or_else(|| vec![32]);
    let mut parameter_bytes = shapes.parameter_bytes().unwrap_or_else(|| vec![4]);
    let wanted: Vec<Wanted> = match &arguments.program {
        None => {
            let (bits, bytes) =
                (std::mem::take(&mut key_bits), std::mem::take(&mut parameter_bytes));
            vec![(sizes, bits, bytes, Requirements::default())]
        }
        Some(path) => predict::of_program(path, &program::load(path, &arguments.sources)?)?
            .into_iter()
            .filter_map(|subject| match subject.layout {
                Ok(layout) => Some((
                    vec![layout.size()],
                    vec![layout.key_bits()],
                    vec![layout.parameter_bytes()],
                    subject.asks,
                )),
                Err(reason) => {
                    eprintln!("planimeter: {} is left out: {reason}", subject.name);
                    None
                }
            })
            .collect(),
    };
    let mut selections = Vec::new();
    for (sizes, key_bits, parameter_bytes, asks) in wanted {
        if !designs.are_chosen() && !designs.full {
            let paper = Selection::paper(&sizes, &cores, &key_bits, &parameter_bytes);
            selections.extend(paper.into_iter().map(|one| Selection { asks, ..one }));
            continue;
        }
        selections.push(Selection {
            storages: designs.storages(),
            sharings: designs.sharings(),
            locks: designs.locks(),
            updates: designs.updates(),
            operations: designs.operations(),
            sizes,
            key_bits,
            parameter_bytes,
            cores: cores.clone(),
            asks,
        });
    }
    Plan::new(&selections).map_err(Failure::input)
}

/// Prints the cases of the plan, and the requested combinations that no table supports, with the
/// reasons.
fn list(plan: &Plan) {
    for case in &plan.cases {
        println!("{}", name(case));
    }
    for not in &plan.not_offered {
        println!("not offered: {}: {}", not.what, not.reason);
    }
    println!("{} cases", plan.cases.len());
}

fn name(case: &Case) -> String {
    let Case { design, operation, layout, cores } = case;
    let operation = if *operation == Operation::Read { ", read only" } else { "" };
    format!(
        "{design}{operation}, {} entries, key {} bits, parameters {} B, {cores} {}",
        layout.size(),
        layout.key_bits(),
        layout.parameter_bytes(),
        if *cores == 1 { "core" } else { "cores" }
    )
}

/// Measures all cases of the plan with a progress line, and returns the results.
pub(crate) fn findings(
    plan: &Plan,
    settings: &Settings,
    interrupt: &AtomicBool,
    quiet: bool,
) -> Findings {
    let findings = on_machine(plan, settings, None, interrupt, quiet);
    if interrupt.load(Ordering::Relaxed) {
        eprintln!("planimeter: interrupted; the results up to then follow");
    }
    findings
}

/// Measures all cases of the plan. `machine` describes this machine's memory hierarchy; if it is
/// `None`, the hierarchy is measured first.
fn on_machine(
    plan: &Plan,
    settings: &Settings,
    machine: Option<Machine>,
    interrupt: &AtomicBool,
    quiet: bool,
) -> Findings {
    let (steps, mut turns) = (Steps::new(quiet), 0);
    let mut show = |event: Progress<'_>| {
        let what = match event {
            Progress::Chasing(bytes) => format!("latency of memory, {} KiB", bytes >> 10),
            Progress::Sizing => "size of the last cache".to_owned(),
            Progress::Filling(case) => format!("filling {}", name(case)),
            Progress::Turn { done, case, rate, .. } => {
                turns = done;
                format!("{:.3} M/s {}", rate / 1e6, name(case))
            }
            _ => return,
        };
        steps.show(turns as u64, (plan.cases.len() * settings.repetitions) as u64, what);
    };
    let machine = match machine {
        Some(machine) => machine,
        None => survey(&settings.cores, CHASE, interrupt, &mut show),
    };
    let findings = measure(plan, settings, machine, interrupt, &mut show);
    drop(steps);
    findings
}
