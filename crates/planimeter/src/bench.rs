//! `planimeter bench`: measures the throughput and latency of a P4 program.

mod arguments;
mod point;
mod scenarios;
pub(crate) mod worst;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::tables::machine;
use ::throughput::ports::Io;
use ::throughput::run::Case;
use ::throughput::traffic::{TrafficError, Wanted};
use ir::{Program, with_large_stack};
use p4lang::compile_text;
use p4lang::preprocess::MemoryFiles;
use packetio::pcap::CaptureReader;
use provenance::Provenance;
use report::{RunDirectory, shares, throughput};
use statistics::{Condition, Unit};

use crate::failure::Failure;
use crate::invocation;
use crate::output::{self, layout};
use crate::rank_group::{Items, RankGroup, status};
use crate::threshold::{self, Metric};
use crate::{interrupt, program};
pub(crate) use arguments::Arguments;
use point::{Audience, Subject, Traffic};
pub(crate) use point::{SOLVING, made, stage_name};

/// The file name and the source of the P4 program that Simon et al. (ANCS 2021) evaluate, whose
/// packets write its table. It is measured if the user names no program.
pub(crate) const PAPER: (&str, &str) =
    ("entry_update.p4", include_str!("../../../programs/entry_update.p4"));

/// The metrics that conditions of `--threshold` may name, with their units.
const METRICS: [Metric; 6] = [
    ("rate", Unit::PerSecond),
    ("cost", Unit::Seconds),
    ("p50", Unit::Seconds),
    ("p99", Unit::Seconds),
    ("p99.9", Unit::Seconds),
    ("wrong", Unit::Count),
];

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let settings = arguments.settings()?;
    let (name, mut program) = program(arguments)?;
    arguments.stored.choose(&mut program)?;
    if arguments.traffic.worst {
        return worst::run(arguments, &name, &program);
    }
    let methods = arguments.traffic.methods();
    let io = arguments.effort.io.unwrap_or_default();
    let subject = Subject { methods, io, program };
    let traffics = traffics(arguments)?;
    let mut ranks = RankGroup::join()?;
    let interrupt = interrupt::flag();
    let directory = ranks.leads().then(|| arguments.output.directory()).transpose()?;
    let started = invocation::start();
    let audience = Audience::new(arguments.output.quiet || !ranks.leads(), &interrupt);
    let items = Items {
        names: traffics.iter().map(Traffic::name).collect(),
        basis: format!("{:?} {settings:?} {:?} {traffics:?}", subject.program, subject.io),
        cores: Some(machine::cores().map_err(Failure::run)?),
    };
    let each = |number: usize| {
        let Some(traffic) = traffics.get(number) else { return Ok(None) };
        match audience.point(&subject, traffic.clone(), &settings) {
            Ok(point) => Ok(Some(point)),
            Err(TrafficError::Interrupted) => Ok(None),
            Err(error) => Err(explained(&error, &name, subject.io)),
        }
    };
    let found = ranks.share(items, &interrupt, each)?;
    drop(audience);
    let (Some(found), Some(directory)) = (found, directory) else {
        return ranks.leave_helper(&interrupt);
    };
    let points: Result<Vec<_>, String> =
        found.results.into_iter().flatten().filter_map(Result::transpose).collect();
    let points = points.map_err(Failure::input)?;
    if points.is_empty() {
        return Err(Failure::Interrupted);
    }
    let provenance = Provenance { shares: found.shares, ..started.provenance() };
    let broken = broken(&points, &arguments.output.threshold);
    let run = throughput::Run {
        program: &name,
        points: &points,
        settings: &settings,
        broken: &broken,
        provenance: &provenance,
    };
    let json = || throughput::to_json(&run);
    let text = || throughput::table(&run, layout()) + &shares::text(&provenance, layout());
    let write = |directory: &RunDirectory| directory.write_throughput(&run);
    output::leave(&directory, arguments.output.json, json, text, write)?;
    let interrupted = interrupt.load(Ordering::Relaxed);
    if interrupted {
        eprintln!("planimeter: interrupted; the results up to then are above");
    }
    ranks.leave(status(verdict(&points, &broken), &provenance, interrupted))
}

/// Returns the message of an error, preceded by its subject: the option `--io` or the program.
fn explained(error: &TrafficError, program: &str, io: Io) -> String {
    match error {
        TrafficError::Ports(error) => {
            format!("--io {}: {error}. Without --io packets stay in memory", io.name())
        }
        error => format!("{program}: {error}"),
    }
}

/// Returns a sentence for each threshold and each measured case that does not meet it.
fn broken(points: &[throughput::Point], thresholds: &[Condition]) -> Vec<String> {
    let mut broken = Vec::new();
    for point in points {
        for case in point.findings.cases.iter().filter(|case| case.refused.is_none()) {
            let s = if case.cores == 1 { "" } else { "s" };
            let name = format!("{:?}, {}, {} core{s}", case.path, point.place(), case.cores);
            for threshold in thresholds {
                let value = value(threshold.metric(), case);
                broken.extend(threshold::broken(threshold, &METRICS, &name, value));
            }
        }
    }
    broken
}

/// Prints the reasons for a failure, and returns the exit status of `planimeter bench`. The status
/// is 1 if a threshold does not hold, an output was wrong, or an execution path could not be run,
/// and otherwise 0.
fn verdict(points: &[throughput::Point], broken: &[String]) -> u8 {
    let cases = || points.iter().flat_map(|point| &point.findings.cases);
    let refused = cases().filter_map(|case| Some((case.path, case.refused.as_ref()?)));
    let refused = refused.map(|(path, reason)| format!("{path:?} was not run: {reason}"));
    let faults = cases().filter(|case| case.refused.is_none()).filter_map(throughput::fault);
    let all: Vec<String> = refused.chain(faults).chain(broken.iter().cloned()).collect();
    all.iter().for_each(|text| eprintln!("planimeter: {text}"));
    u8::from(!all.is_empty())
}

/// Returns a metric of a measured case, in the unit that `METRICS` states for it, or `None` if the
/// metric was not measured.
fn value(metric: &str, case: &Case) -> Option<f64> {
    let rate = throughput::rate(case)?.mean;
    let latency = |share: f64| Some(case.latency.as_ref()?.times.percentile(share)?.mean);
    match metric {
        "rate" => Some(rate),
        "cost" => Some(case.cores as f64 / rate),
        "p50" => latency(0.5),
        "p99" => latency(0.99),
        "p99.9" => latency(0.999),
        _ => Some(case.counts.wrong as f64),
    }
}

/// Returns the P4 program to measure, preceded by its name. It is the program that the command line
/// names, or otherwise `entry_update.p4`.
fn program(arguments: &Arguments) -> Result<(String, Program), Failure> {
    let sources = &arguments.stored.sources;
    match &arguments.program {
        Some(path) => Ok((path.display().to_string(), program::load(path, sources)?)),
        None => paper(&sources.preprocessor()),
    }
}

/// Compiles the P4 program that Simon et al. (ANCS 2021) evaluate, whose packets write its table,
/// and prints the messages of the compiler. Returns the file name of the program and the program.
pub(crate) fn paper(options: &p4lang::preprocess::Options) -> Result<(String, Program), Failure> {
    let (name, text) = PAPER;
    let compiled = with_large_stack(|| compile_text(name, text, options, &MemoryFiles::default()))
        .map_err(Failure::run)?;
    eprint!("{}", compiled.messages(program::style()));
    let program = compiled.program;
    let program = program.ok_or_else(|| Failure::input(format!("{name} was not compiled")))?;
    Ok((name.to_owned(), program))
}

fn traffics(arguments: &Arguments) -> Result<Vec<Traffic>, Failure> {
    if let Some(path) = &arguments.traffic.scenarios {
        let scenarios = scenarios::read(path)?.into_iter();
        return Ok(scenarios.map(|scenario| Traffic::Scenario(Arc::new(scenario))).collect());
    }
    if let Some(path) = &arguments.traffic.traffic {
        return Ok(vec![Traffic::Given(packets(path)?)]);
    }
    let (packet_size, seed) = (arguments.traffic.packet_size(), arguments.seed());
    let solving = arguments.traffic.solving();
    let made = |flows| Traffic::Made { wanted: Wanted { flows, packet_size, seed }, solving };
    Ok(arguments.traffic.entries()?.into_iter().map(made).collect())
}

fn packets(path: &Path) -> Result<Vec<Vec<u8>>, Failure> {
    let mut packets = Vec::new();
    let mut reader = CaptureReader::open(path).map_err(Failure::input)?;
    while let Some(frame) = reader.next_frame().map_err(Failure::input)? {
        packets.push(frame.data.to_vec());
    }
    Ok(packets)
}
