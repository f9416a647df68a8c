//! `planimeter dut --fuzz` and `--replay`: sends random updates to a P4Runtime switch, and compares
//! its behaviour with a model.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use judge::{ConstraintDuty, Finding, Fuzzed, Means, Packet, Request, Settings, Step};
use protos::v1;
use provenance::Provenance;
use report::page::document::{Document, Section};
use report::page::{Cell, Column, Table};
use report::value::Value;
use serde_json::{Value as Json, json};
use statistics::Unit;

use super::{Arguments, conformance, wires};
use crate::failure::Failure;
use crate::progress::Steps;
use crate::{interrupt, invocation, output};

/// The full name of the message in whose text format packets are written.
const PACKET_OUT: &str = "p4.v1.PacketOut";
/// The name of the file with the requests that reproduce a fault.
const SEQUENCE: &str = "sequence.jsonl";

/// Sends random requests to the switch, and compares its behaviour with the model.
pub(super) fn search(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let settings = Settings {
        seed: arguments.judging.seed,
        requests: arguments.judging.requests,
        constraints: duty(arguments),
    };
    let steps = Steps::new(arguments.quiet);
    let interrupt = interrupt::flag();
    let mut step = |done, of| steps.show(done, of, "requests");
    let title = format!("Random writes with seed {}", settings.seed);
    leave(arguments, &title, |target, means| {
        judge::fuzz(target, means, &settings, &interrupt, &mut step)
    })
}

/// Repeats the requests of a file that an earlier search has written.
pub(super) fn replay(arguments: &Arguments, file: &Path) -> Result<ExitCode, Failure> {
    let text = input::read_text(file)
        .map_err(|error| Failure::input(format!("{}: {error}", file.display())))?;
    let requests = parse(&text).map_err(|why| {
        Failure::input(format!("{} is no sequence of requests: {why}", file.display()))
    })?;
    let title = format!("The writes of {}", file.display());
    let duty = duty(arguments);
    leave(arguments, &title, |target, means| judge::replay(target, means, duty, requests))
}

/// Returns whether the switch must check the program's constraints on entries and actions.
fn duty(arguments: &Arguments) -> ConstraintDuty {
    match arguments.judging.ignore_constraints {
        true => ConstraintDuty::Ignored,
        false => ConstraintDuty::Checked,
    }
}

fn leave(
    arguments: &Arguments,
    title: &str,
    run: impl FnOnce(&judge::Target, Means) -> Result<Fuzzed, judge::ConnectError>,
) -> Result<ExitCode, Failure> {
    let target = conformance::target(arguments)?;
    let means = wires::means(arguments)?;
    let directory = output::directory(arguments.output.as_deref(), "dut", arguments.papers)?;
    let interrupt = interrupt::flag();
    let started = invocation::start();
    let fuzzed = run(&target, means).map_err(conformance::failure)?;
    let interrupted = interrupt.load(Ordering::Relaxed);
    let title = format!("{title}, device {} at {}", target.device_id, target.address);
    let document = document(title, &fuzzed, interrupted, started.provenance());
    let sequence = fuzzed.finding.as_ref().map(|finding| sequence(finding, &document.title));
    let files: Vec<_> = sequence.iter().map(|text| (SEQUENCE, text.as_str())).collect();
    let json = arguments.json;
    let status =
        output::leave_document_and_files(&directory, &document, &files, json, interrupted)?;
    if sequence.is_some() && !json {
        let file = directory.path().join(SEQUENCE);
        let ports = if arguments.packets.port.is_empty() { "" } else { ", with the same --port" };
        println!("Repeat: planimeter dut {} --replay {}{ports}", target.address, file.display());
    }
    let is_found = fuzzed.finding.is_some();
    Ok(if is_found && status == ExitCode::SUCCESS { ExitCode::from(1) } else { status })
}

fn document(title: String, fuzzed: &Fuzzed, interrupted: bool, provenance: Provenance) -> Document {
    let accepted: u64 = fuzzed.counts.iter().map(|count| count.accepted).sum();
    let refused: u64 = fuzzed.counts.iter().map(|count| count.refused).sum();
    let mut findings = Vec::new();
    let mut sections = vec![counts(fuzzed)];
    sections.extend(constraints(fuzzed));
    match &fuzzed.finding {
        None => findings.push(format!(
            "No fault: in {} requests{}, {accepted} updates were accepted and {refused} refused, each as is demanded, and \
             the switch returned what it has to after each request.",
            fuzzed.requests,
            match fuzzed.packets {
                0 => String::new(),
                packets => format!(" with {packets} packets in between"),
            }
        )),
        Some(finding) => {
            findings.push(format!("fault after {} requests: {}.", finding.found_after, finding.why));
            let updates: usize =
                finding.steps.iter().map(|step| step.request.updates.len()).sum();
            findings.push(match finding.repeated {
                0 => format!("The {updates} updates before it are in {SEQUENCE}; they were not repeated."),
                repeated => format!(
                    "It is shown by {updates} updates in {} requests{}, which were repeated three times: it appeared {repeated} times.",
                    finding.steps.len(),
                    match finding.steps.iter().map(|step| step.request.packets.len()).sum() {
                        0_usize => String::new(),
                        packets => format!(" with {packets} packets"),
                    }
                ),
            });
            sections.push(steps(finding));
        }
    }
    let mut notes = vec![
        "What is demanded is stated from the P4Runtime specification 1.5.0, apart from the code of planimeter switch."
            .to_owned(),
    ];
    if fuzzed.packets > 0 {
        notes.push(
            "Packets were injected in the second half. Counts and registers were compared in the first half only, because \
             packets change them."
                .to_owned(),
        );
    }
    notes.extend(fuzzed.left_out.iter().map(|what| format!("Left out: {what}.")));
    let mut document = Document {
        kind: "dut",
        title,
        findings,
        notes,
        partial: None,
        claims: Vec::new(),
        sections,
        provenance,
    };
    if let Some(left) = &fuzzed.left {
        document.lacks(&format!("the switch is not as it was: {left}"));
    }
    if interrupted {
        document.lacks("interrupted");
    }
    document
}

fn counts(fuzzed: &Fuzzed) -> Section {
    let mut table = Table::of_values("Updates", ["update", "accepted", "refused"]);
    let count = |count: u64| Cell::from(Value::new(count as f64, Unit::Count));
    for one in &fuzzed.counts {
        table.row([Cell::text(one.what.as_str()), count(one.accepted), count(one.refused)]);
    }
    let mut by_table = Table::of_values("Entries by table", ["table", "inserted"]).only_in_page();
    for one in &fuzzed.tables {
        by_table.row([Cell::text(one.name.as_str()), count(one.accepted)]);
    }
    let mut tables = vec![table];
    if !by_table.is_empty() {
        tables.push(by_table);
    }
    Section {
        id: "updates".to_owned(),
        title: "What was written".to_owned(),
        text: reached(fuzzed).into_iter().collect(),
        tables,
        ..Section::default()
    }
}

/// Returns a sentence on the tables that accepted generated entries, or `None` if entries were
/// generated for no table.
fn reached(fuzzed: &Fuzzed) -> Option<String> {
    let all = fuzzed.tables.len();
    let without = fuzzed.tables.iter().filter(|one| one.accepted == 0);
    let without: Vec<&str> = without.map(|one| one.name.as_str()).collect();
    let some = all - without.len();
    let others = match without.as_slice() {
        [] => String::new(),
        names => format!("; none of {}", names.join(", ")),
    };
    (all > 0).then(|| format!("Entries of {some} of {all} tables were inserted{others}."))
}

/// Returns a section with the number of updates that violated each part of the program's
/// constraints, or `None` if the program has none.
fn constraints(fuzzed: &Fuzzed) -> Option<Section> {
    if fuzzed.constraints.is_empty() {
        return None;
    }
    let columns =
        [Column::words("of"), Column::prose("part that must hold"), Column::figures("near misses")];
    let mut table = Table::new("Constraints", columns);
    for one in &fuzzed.constraints {
        table.row([
            Cell::text(one.owner.as_str()),
            Cell::text(one.text.as_str()),
            Cell::from(Value::new(one.near_misses as f64, Unit::Count)),
        ]);
    }
    Some(Section {
        id: "constraints".to_owned(),
        title: "What the program's constraints were tried with".to_owned(),
        text: vec![
            "A near miss is an update that breaks this part of a constraint and nothing else. The switch has to refuse it with \
             INVALID_ARGUMENT."
                .to_owned(),
        ],
        tables: vec![table],
        ..Section::default()
    })
}

fn steps(finding: &Finding) -> Section {
    let columns = ["request", "update or packet", "demanded", "answered"];
    let mut table = Table::of_values("In order", columns);
    for (number, step) in (1..).zip(&finding.steps) {
        for packet in &step.request.packets {
            let cells = [format!("{number}"), shown(packet), String::new(), String::new()];
            table.row(cells.map(Cell::text));
        }
        for (index, update) in step.request.updates.iter().enumerate() {
            let word = |words: &[String]| words.get(index).cloned().unwrap_or_default();
            table.row([
                Cell::text(format!("{number}")),
                Cell::text(protos::text("p4.v1.Update", update)),
                Cell::text(word(&step.expected)),
                Cell::text(word(&step.answered)),
            ]);
        }
    }
    Section {
        id: "sequence".to_owned(),
        title: "The sequence that shows it".to_owned(),
        tables: vec![table],
        links: vec![("The requests, to repeat them".to_owned(), SEQUENCE.to_owned())],
        ..Section::default()
    }
}

/// Returns the requests that reproduce a fault as lines of JSON. The first line contains the
/// version of Planimeter, the title of the test and the fault. Each further line contains one
/// request.
fn sequence(finding: &Finding, title: &str) -> String {
    let head = json!({
        "planimeter": env!("CARGO_PKG_VERSION"),
        "title": title,
        "fault": finding.why,
    });
    let lines = finding.steps.iter().map(|Step { request, expected, answered }| {
        let updates = request.updates.iter();
        let updates: Vec<_> = updates.map(|update| protos::text("p4.v1.Update", update)).collect();
        let mut line = json!({ "updates": updates, "expected": expected, "answered": answered });
        if !request.packets.is_empty() {
            line["packets"] = request.packets.iter().map(written).collect();
        }
        line
    });
    std::iter::once(head).chain(lines).map(|line| format!("{line}\n")).collect()
}

/// Formats a packet in words.
fn shown(packet: &Packet) -> String {
    match packet {
        Packet::Out(packet) => format!("packet-out {}", protos::text(PACKET_OUT, packet)),
        Packet::On { port, bytes } => format!("packet of {} bytes on port {port}", bytes.len()),
    }
}

/// Converts a packet to the form in which a file of requests contains it: its text, and the port at
/// which it enters the switch.
fn written(packet: &Packet) -> Json {
    match packet {
        Packet::Out(packet) => json!({ "packet_out": protos::text(PACKET_OUT, packet) }),
        Packet::On { port, bytes } => {
            let packet = v1::PacketOut { payload: bytes.clone(), metadata: Vec::new() };
            json!({ "port": port, "packet": protos::text(PACKET_OUT, &packet) })
        }
    }
}

fn packet(written: &Json) -> Result<Packet, String> {
    let parsed = |member: &str| -> Result<v1::PacketOut, String> {
        let text = written[member].as_str();
        protos::parse(PACKET_OUT, text.ok_or_else(|| format!("a packet has no `{member}`"))?)
    };
    match written.get("port") {
        None => parsed("packet_out").map(Packet::Out),
        Some(port) => {
            let port = port.as_u64().and_then(|port| u32::try_from(port).ok());
            let port = port.ok_or("the port of a packet is no number")?;
            Ok(Packet::On { port, bytes: parsed("packet")?.payload })
        }
    }
}

/// Parses the requests of a file that an earlier search has written.
fn parse(text: &str) -> Result<Vec<Request>, String> {
    let mut requests = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let at = |why: String| format!("line {number}: {why}");
        let line: Json = serde_json::from_str(line).map_err(|error| at(error.to_string()))?;
        // The first line is about the sequence.
        let Some(updates) = line["updates"].as_array() else { continue };
        let updates = updates.iter().map(|update| {
            let update = update.as_str().ok_or_else(|| at("an update is no text".to_owned()))?;
            protos::parse("p4.v1.Update", update).map_err(at)
        });
        let packets = line["packets"].as_array().map(Vec::as_slice).unwrap_or_default();
        let packets = packets.iter().map(|written| packet(written).map_err(at));
        requests.push(Request {
            packets: packets.collect::<Result<_, _>>()?,
            updates: updates.collect::<Result<_, _>>()?,
        });
    }
    match requests.is_empty() {
        true => Err("it has no requests".to_owned()),
        false => Ok(requests),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_read_as_it_is_written() {
        let update = v1::Update { r#type: v1::update::Type::Insert as i32, entity: None };
        let value = || vec![0, 0xff, b'"', b'\\', 7].into();
        let metadata = vec![v1::PacketMetadata { metadata_id: 1, value: value() }];
        let packets = vec![
            Packet::Out(v1::PacketOut { payload: value(), metadata }),
            Packet::On { port: 2, bytes: value() },
        ];
        let request = Request { packets, updates: vec![update] };
        let finding = Finding {
            why: "it is wrong".to_owned(),
            steps: vec![Step {
                request: request.clone(),
                expected: vec!["OK".to_owned()],
                answered: vec!["INTERNAL".to_owned()],
            }],
            found_after: 7,
            repeated: 3,
        };
        let text = sequence(&finding, "a title");
        assert_eq!(parse(&text), Ok(vec![request]));
        let wrong = parse("{}\n{\"updates\": [], \"packets\": [{\"port\": -1}]}");
        assert_eq!(wrong, Err("line 2: the port of a packet is no number".to_owned()));
        assert_eq!(parse("{}\n"), Err("it has no requests".to_owned()));
        let wrong = parse("{}\n{\"updates\": [\"type:\"]}").expect_err("no message");
        assert!(wrong.starts_with("line 2: "), "{wrong}");
    }
}
