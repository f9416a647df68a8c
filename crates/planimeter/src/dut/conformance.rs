//! `planimeter dut --conformance`: checks whether a switch meets the requirements of its protocol.

use std::process::ExitCode;

use judge::{ConnectError, Exchange, Level, Outcome, Tried, Verdict};
use provenance::Provenance;
use report::junit::{self, Case};
use report::page::document::{Document, Section};
use report::page::{Cell, Column, Table};
use report::value::Value;
use statistics::Unit;

use super::{Arguments, listens, wires};
use crate::failure::Failure;
use crate::progress::Steps;
use crate::{interrupt, invocation, output};

/// The name of the file with all requests and answers.
const EXCHANGES: &str = "exchanges.txt";
/// The name of the JUnit file for CI systems.
const JUNIT: &str = "junit.xml";

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let directory = output::directory(arguments.output.as_deref(), "dut", arguments.papers)?;
    let interrupt = interrupt::flag();
    let started = invocation::start();
    let steps = Steps::new(arguments.quiet);
    let mut step = |done, of| steps.show(done, of, "requirements");
    let openflow = &arguments.openflow;
    let (outcome, subject) = match openflow.openflow {
        Some(_) if !arguments.packets.port.is_empty() => {
            return Err(Failure::input(
                "no requirement of OpenFlow needs packets: leave out --port, or --openflow",
            ));
        }
        Some(address) => {
            let tls = arguments.tls.openflow()?;
            let listening =
                judge::Listening { address, only: openflow.openflow_version, tls: tls.as_ref() };
            let mut say = |address| listens(address, arguments.quiet);
            let outcome = judge::judge_openflow(&listening, &interrupt, &mut say, &mut step);
            (outcome.map_err(failure)?, Subject::OpenFlow)
        }
        None => {
            let target = target(arguments)?;
            let means = wires::means(arguments)?;
            let outcome = judge::judge(&target, means, &interrupt, &mut step).map_err(failure)?;
            (outcome, Subject::P4Runtime { target, untried: untried(arguments) })
        }
    };
    drop(steps);
    let interrupted = interrupt.load(std::sync::atomic::Ordering::Relaxed);
    let document = document(&subject, &outcome, interrupted, started.provenance());
    let texts = [(EXCHANGES, exchanges(&outcome)), (JUNIT, junit(&document.title, &outcome)?)];
    let texts = texts.each_ref().map(|(name, text)| (*name, text.as_str()));
    let json = arguments.json;
    let status =
        output::leave_document_and_files(&directory, &document, &texts, json, interrupted)?;
    let is_broken = broken(&outcome).next().is_some();
    Ok(if is_broken && status == ExitCode::SUCCESS { ExitCode::from(1) } else { status })
}

/// The switch that is checked.
enum Subject {
    P4Runtime {
        target: judge::Target,
        /// The kinds of requirements that are not checked because of the flags, each as a sentence.
        untried: Vec<String>,
    },
    OpenFlow,
}

impl Subject {
    /// Returns the title of the report, and its notes.
    fn words(&self, outcome: &Outcome) -> (String, Vec<String>) {
        let version = outcome.version.as_deref();
        match self {
            Self::P4Runtime { target: judge::Target { address, device_id, .. }, untried } => {
                let version = match version {
                    Some(version) => {
                        format!("The device says that it implements P4Runtime {version}.")
                    }
                    None => "The device does not name the version of P4Runtime that it implements."
                        .to_owned(),
                };
                let sections = "Sections are those of the P4Runtime specification 1.5.0. A device that implements an older \
                                version cannot be held to what is new since.";
                let title = format!("P4Runtime conformance of device {device_id} at {address}");
                let notes = [version, sections.to_owned()].into_iter();
                (title, notes.chain(untried.iter().cloned()).collect())
            }
            Self::OpenFlow => {
                let version = version.unwrap_or_default();
                let text = if version == "1.0" { "1.0.0" } else { "1.3.5" };
                let title = format!("OpenFlow {version} conformance of a switch");
                (title, vec![format!("Sections are those of the OpenFlow specification {text}.")])
            }
        }
    }
}

/// Returns a sentence for each kind of requirements of P4Runtime that is not checked because of the
/// flags.
fn untried(arguments: &Arguments) -> Vec<String> {
    let mut untried = Vec::new();
    if arguments.packets.port.is_empty() {
        untried.push("Requirements that need packets are tried with --port only.".to_owned());
    }
    if !arguments.judging.commit {
        untried
            .push("Requirements that commit a pipeline are tried with --commit only.".to_owned());
    }
    untried
}

/// Returns the P4Runtime switch to check: its address, its device id and the TLS settings.
pub(super) fn target(arguments: &Arguments) -> Result<judge::Target, Failure> {
    Ok(judge::Target {
        address: arguments.address.clone().unwrap_or_default(),
        device_id: arguments.device_id,
        tls: arguments.tls.p4runtime()?,
    })
}

pub(super) fn failure(error: ConnectError) -> Failure {
    match error {
        ConnectError::Interrupted => Failure::Interrupted,
        ConnectError::Connect { .. }
        | ConnectError::NoSwitch { .. }
        | ConnectError::Handshake { .. } => Failure::OutOfReach(error.to_string()),
        ConnectError::Listen { .. } | ConnectError::Certificates(_) => Failure::input(error),
        ConnectError::Controlled { .. }
        | ConnectError::NoPipeline { .. }
        | ConnectError::Refused { .. }
        | ConnectError::NothingToWrite => Failure::input(error),
        _ => Failure::run(error),
    }
}

/// Returns the requirements that the switch does not meet, each with the reason.
fn broken(outcome: &Outcome) -> impl Iterator<Item = (&Tried, &str)> {
    outcome.tried.iter().filter_map(|tried| match &tried.verdict {
        Verdict::Broken { why } => Some((tried, why.as_str())),
        _ => None,
    })
}

fn document(
    subject: &Subject,
    outcome: &Outcome,
    interrupted: bool,
    provenance: Provenance,
) -> Document {
    let count = |is_counted: fn(&Verdict) -> bool| {
        outcome.tried.iter().filter(|tried| is_counted(&tried.verdict)).count()
    };
    let met = count(|verdict| *verdict == Verdict::Met);
    let without = count(|verdict| matches!(verdict, Verdict::NotApplicable { .. }));
    let (unmet, all) = (broken(outcome).count(), outcome.tried.len());
    let mut findings = vec![format!(
        "Of {all} requirements, {met} are met, {without} cannot be tried on this device, and {unmet} {} not met.",
        if unmet == 1 { "is" } else { "are" }
    )];
    findings.extend(broken(outcome).map(|(tried, why)| {
        let requirement = tried.requirement;
        format!(
            "Section {}, {}: {} Not met: {why}.",
            requirement.section, requirement.id, requirement.text
        )
    }));
    let (title, notes) = subject.words(outcome);
    let mut document = Document {
        kind: "dut",
        title,
        findings,
        notes,
        partial: None,
        claims: Vec::new(),
        sections: vec![section(outcome)],
        provenance,
    };
    for entity in &outcome.left {
        document.lacks(&format!("an entity may still be in the device: {entity}"));
    }
    let untried = count(|verdict| matches!(verdict, Verdict::Untried { .. }));
    if untried > 0 {
        document.lacks(&format!("{untried} requirements could not be tried"));
    }
    if interrupted {
        document.lacks("interrupted");
    }
    document
}

fn section(outcome: &Outcome) -> Section {
    Section {
        id: "requirements".to_owned(),
        title: "Requirements".to_owned(),
        tables: vec![by_section(outcome), in_detail(outcome)],
        links: vec![
            ("All requests and answers".to_owned(), EXCHANGES.to_owned()),
            ("The verdicts as JUnit XML".to_owned(), JUNIT.to_owned()),
        ],
        ..Section::default()
    }
}

/// Returns the number of requirements with each verdict, by section of the specification.
fn by_section(outcome: &Outcome) -> Table {
    let mut table = Table::of_values("By section", ["section", "met", "not met", "not applicable"]);
    let mut sections: Vec<(u32, &str)> = outcome
        .tried
        .iter()
        .map(|tried| {
            let first = tried.requirement.section.split('.').next().unwrap_or_default();
            (first.parse().unwrap_or(u32::MAX), first)
        })
        .collect();
    sections.sort_unstable();
    sections.dedup();
    for (_, section) in sections {
        let count = |is_counted: fn(&Verdict) -> bool| {
            let of_section = outcome
                .tried
                .iter()
                .filter(|tried| tried.requirement.section.split('.').next() == Some(section));
            let count = of_section.filter(|tried| is_counted(&tried.verdict)).count();
            Cell::from(Value::new(count as f64, Unit::Count))
        };
        table.row([
            Cell::text(section),
            count(|verdict| *verdict == Verdict::Met),
            count(|verdict| matches!(verdict, Verdict::Broken { .. })),
            count(|verdict| matches!(verdict, Verdict::NotApplicable { .. })),
        ]);
    }
    table
}

fn in_detail(outcome: &Outcome) -> Table {
    let columns = [
        Column::words("section"),
        Column::words("name"),
        Column::words("level"),
        Column::prose("requirement"),
        Column::words("verdict"),
        Column::prose("because"),
    ];
    let mut table = Table::new("All requirements", columns).only_in_page();
    for tried in &outcome.tried {
        let requirement = tried.requirement;
        let level = match requirement.level {
            Level::Must => "must",
            Level::Should => "should",
        };
        let (verdict, why) = words(&tried.verdict);
        table.row([
            Cell::text(requirement.section),
            Cell::text(requirement.id),
            Cell::text(level),
            Cell::text(requirement.text),
            Cell::text(verdict),
            Cell::text(why),
        ]);
    }
    table
}

/// Returns the word for a verdict, and its reason.
fn words(verdict: &Verdict) -> (&'static str, &str) {
    match verdict {
        Verdict::Met => ("met", ""),
        Verdict::Broken { why } => ("NOT MET", why),
        Verdict::NotApplicable { why } => ("not applicable", why),
        Verdict::Untried { why } => ("not tried", why),
    }
}

/// Returns the requests and answers of all checks as text.
fn exchanges(outcome: &Outcome) -> String {
    let parts = outcome.tried.iter().map(|tried| {
        let requirement = tried.requirement;
        let (verdict, why) = words(&tried.verdict);
        let reason = if why.is_empty() { String::new() } else { format!(": {why}") };
        format!(
            "== {} {} ({verdict}{reason})\n{}\n\n{}\n",
            requirement.section,
            requirement.id,
            requirement.text,
            lines(&tried.exchanges)
        )
    });
    parts.collect()
}

fn lines(exchanges: &[Exchange]) -> String {
    let lines = exchanges.iter().map(|exchange| {
        let Exchange { call, request, answer } = exchange;
        match request.is_empty() {
            true => format!("{call}\n  <- {answer}\n"),
            false => format!("{call}\n  -> {request}\n  <- {answer}\n"),
        }
    });
    lines.collect()
}

fn junit(name: &str, outcome: &Outcome) -> Result<String, Failure> {
    let cases = outcome.tried.iter().map(|tried| Case {
        class: tried.requirement.section,
        name: tried.requirement.id,
        outcome: match &tried.verdict {
            Verdict::Met => junit::Outcome::Passed,
            Verdict::Broken { why } => junit::Outcome::Failed(why),
            Verdict::NotApplicable { why } | Verdict::Untried { why } => {
                junit::Outcome::Skipped(why)
            }
        },
        output: lines(&tried.exchanges),
    });
    let cases: Vec<_> = cases.collect();
    junit::suite(name, &cases).map_err(Failure::run)
}
