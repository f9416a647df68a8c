//! The report of delay contracts.

use device::campaign::Picoseconds;
use device::compose::Semantics;
use provenance::Provenance;
use report::page::document::{Document, Section};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

use super::witness::confidence_of_each;
use super::{Clause, Task};

/// Returns the report of contracts.
pub(super) fn document(
    task: &Task<'_>,
    clauses: &[Clause],
    allow_unmeasured: bool,
    provenance: Provenance,
) -> Document {
    let mut document = Document {
        kind: "device contract",
        title: format!("Delay contracts of {} on {}", task.name, task.model.device.name),
        findings: clauses.first().map(|any| finding(task, any)).into_iter().collect(),
        notes: notes(clauses),
        partial: None,
        claims: Vec::new(),
        sections: vec![section(task, clauses)],
        provenance,
    };
    if !allow_unmeasured {
        for clause in clauses.iter().filter(|clause| !clause.contract.unmeasured.is_empty()) {
            let parts: Vec<&str> = clause.contract.unmeasured.keys().map(String::as_str).collect();
            document.lacks(&format!(
                "{} is not exported, because its delay lacks the cost of {}",
                clause.server,
                parts.join(", ")
            ));
        }
    }
    document
}

/// Returns the scripts of the packets that come closest to contracts, by file name.
pub(super) fn scripts(clauses: &[Clause]) -> Vec<(String, String)> {
    let script = |clause: &Clause| Some((script_name(clause), clause.witness.as_ref()?.test.stf()));
    clauses.iter().filter_map(script).collect()
}

fn script_name(clause: &Clause) -> String {
    format!("witness-{}.stf", clause.server)
}

/// Returns a sentence about the contract that holds for every packet.
fn finding(task: &Task<'_>, any: &Clause) -> String {
    let delay = any.contract.delay;
    let closest = match &any.witness {
        Some(witness) => format!(
            "the packet that comes closest is predicted to take {} ({:.0} %)",
            witness.delay,
            100.0 * witness.delay.0 as f64 / (delay.0.max(1)) as f64
        ),
        None => "no packet was found that comes close".to_owned(),
    };
    let within = match any.contract.unmeasured.is_empty() {
        true => "takes at most",
        false => "takes, without the parts that were not measured, at most",
    };
    format!("At level {}, a packet {within} {delay}; {closest}.", task.terms.level)
}

fn notes(clauses: &[Clause]) -> Vec<String> {
    let mut notes = vec![
        "A class has the packets for which tables run no other actions than those that it names. Its contract covers every \
         path of such packets that the program has, also paths that no packet takes."
            .to_owned(),
        "A contract is valid for the packet length, the number of entries and the conditions under which the model was \
         measured. The packet that comes closest has only the entries of its own test."
            .to_owned(),
        "A loop of a parser that fills a header stack has as many turns as the stack has elements. A contract is INCOMPLETE if \
         packets of its class may need more than 8 turns of another loop of a parser, more than one of a loop in a control, or \
         further passes: the program resubmits or recirculates them, or copies them. Passes that the ports and sessions of table \
         entries request are not counted."
            .to_owned(),
    ];
    let measured = clauses.iter().filter(|clause| clause.measured.is_some()).count();
    if measured > 0 {
        notes.push(format!(
            "A contract is broken if a confidence interval of the share of longer passes lies above the share that the contract \
             admits. The verdicts on the {measured} contracts that were measured hold together with 95 % confidence, so each interval has {:.4} %. \
             The confidence in a label is that of the contract itself.",
            100.0 * confidence_of_each(measured).level()
        ));
        notes.push(
            "Measured delays are of copies of one packet, so caches and branch predictors are warm, and of tables with the \
             entries of its test. Passes during which the processor was interrupted do not count."
                .to_owned(),
        );
    }
    notes
}

fn section(task: &Task<'_>, clauses: &[Clause]) -> Section {
    let seconds = |Picoseconds(time): Picoseconds| Value::new(time as f64 * 1e-12, Unit::Seconds);
    let columns = [
        "server",
        "delay",
        "rate",
        "latency",
        "closest packet",
        "median",
        "longest",
        "measured",
        "longer",
        "interrupted",
    ];
    let mut figures = Table::of_values("Contracts and the packets that come closest", columns);
    let mut labels = Table::of_values(
        "What the contracts stand for",
        ["server", "packets", "label", "paths", "functions of the slowest path"],
    );
    for clause in clauses {
        let Clause { server, packets, contract, witness, measured } = clause;
        let measured = measured.as_ref();
        let count = |count: u64| Value::new(count as f64, Unit::Count);
        let rate = contract.rate.as_ref().map(|rate| format!("{:.3} Mbit/s", rate.to_f64()));
        figures.row([
            Cell::text(server.as_str()),
            Cell::from(seconds(contract.delay)),
            Cell::text(rate.unwrap_or_else(|| "-".to_owned())),
            Cell::from(Value::new(contract.latency.to_f64() * 1e-6, Unit::Seconds)),
            Cell::optional(witness.as_ref().map(|witness| seconds(witness.delay))),
            Cell::optional(measured.map(|measured| seconds(measured.median))),
            Cell::optional(measured.map(|measured| seconds(measured.longest))),
            Cell::optional(measured.map(|measured| count(measured.packets))),
            Cell::optional(measured.map(|measured| count(measured.longer))),
            Cell::optional(measured.map(|measured| count(measured.interrupted))),
        ]);
        let functions: Vec<&str> = contract.functions.iter().map(|name| name.as_str()).collect();
        labels.row([
            Cell::text(server.as_str()),
            Cell::text(packets.as_str()),
            Cell::text(contract.to_string()),
            Cell::from(count(contract.paths as u64)),
            Cell::text(if functions.is_empty() { "-".to_owned() } else { functions.join(", ") }),
        ]);
    }
    let witnesses = clauses.iter().filter(|clause| clause.witness.is_some());
    let links = witnesses.map(|clause| {
        let name = script_name(clause);
        (format!("The packet and entries that come closest to {}", clause.server), name)
    });
    Section {
        id: "contracts".to_owned(),
        title: "Contracts".to_owned(),
        text: vec![format!(
            "Service curves are {}, for {}.",
            task.terms
                .semantics
                .map_or_else(|| "burst-delay".to_owned(), |how: Semantics| how.to_string()),
            task.under.setting
        )],
        tables: vec![figures, labels],
        links: links.collect(),
        ..Section::default()
    }
}
