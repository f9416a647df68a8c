//! The report of `planimeter dut`.

use ::dut::{Outcome, Protocol, Subject, Target, reads};
use provenance::Provenance;
use report::page::document::{Document, Section};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

use super::rates::{limit_words, rate};
use super::{
    capacity, commits, counters, digests, effects, groups, meters, packets, roles, slow_path,
    sustained, timeouts, transport, updates,
};

/// Returns the report of a measurement.
pub(super) fn of(
    target: &Target,
    outcome: &Outcome,
    interrupted: bool,
    provenance: Provenance,
) -> Document {
    let subject = &outcome.subject;
    let mut document = Document {
        kind: "dut",
        title: title(target, &subject.protocol),
        findings: Vec::new(),
        notes: subject_notes(subject),
        partial: None,
        claims: Vec::new(),
        sections: Vec::new(),
        provenance,
    };
    document.notes.push(protocol_note(&subject.protocol));
    if let Target::P4Runtime { traffic: Some(traffic), .. } = target {
        document.notes.extend(traffic.notes.iter().cloned());
    }
    if subject.present > 0 {
        document.notes.push(format!(
            "The table had {} entries before the measurement, which was made beside them.",
            subject.present
        ));
    }
    if !outcome.updates.is_empty() {
        document.findings.extend(updates::findings(&outcome.updates));
        document.sections.push(updates::section(&outcome.updates));
    }
    if let Some(found) = &outcome.sustained {
        document.findings.extend(sustained::findings(found));
        document.sections.push(sustained::section(found));
    }
    if let Some(found) = &outcome.reads {
        let lacks = Lacks {
            counters: counters_lack(&subject.protocol, interrupted),
            has_packets: has_packets(target),
        };
        let (finding, section) = reads_section(found, lacks);
        document.findings.extend(finding);
        document
            .findings
            .extend(found.packets.as_ref().and_then(|cost| packets::finding("read", cost)));
        document.sections.push(section);
    }
    if let Some(found) = &outcome.counters {
        document.findings.extend(counters::findings(found));
        document.sections.push(counters::section(found));
    }
    if let Some(section) = capacity::section(&outcome.capacity) {
        document.findings.extend(capacity::findings(&outcome.capacity));
        document.sections.push(section);
    }
    match &outcome.effects {
        Some(found) => {
            document.findings.extend(effects::findings(found));
            if let Protocol::OpenFlow { .. } = subject.protocol {
                document.findings.extend(effects::barriers(found));
            }
            document.sections.push(effects::section(found));
        }
        None if interrupted || !outcome.failures.is_empty() || has_packets(target) => {}
        None if outcome.meters.is_some() || outcome.groups.is_some() => {}
        None => document.notes.push(
            "An answer says that the switch has accepted an update. When packets obey it, what is lost meanwhile and \
             whether batches are torn was not measured: that needs --port, and --program for P4Runtime."
                .to_owned(),
        ),
    }
    if let Some(found) = &outcome.slow_path {
        document.findings.extend(slow_path::findings(found));
        document.notes.extend(slow_path::notes(found));
        // Without packets that cross the control channel, there is nothing to show.
        if !found.crossings.is_empty() || found.reactions.iter().any(|round| !round.is_empty()) {
            document.sections.push(slow_path::section(found, &subject.protocol));
        }
    }
    if let Some(found) = &outcome.digests {
        document.findings.extend(digests::findings(found));
        document.notes.extend(digests::note(found));
        if found.lack.is_none() {
            document.sections.push(digests::section(found));
        }
    }
    if let Some(found) = outcome.roles.as_ref().filter(|found| !found.takeovers.is_empty()) {
        document.findings.extend(roles::findings(found));
        document.sections.push(roles::section(found));
    }
    if !outcome.timeouts.is_empty() {
        document.findings.extend(timeouts::findings(&outcome.timeouts));
        document.sections.push(timeouts::section(&outcome.timeouts));
    }
    if let Some(found) = &outcome.meters {
        meters::add(&mut document, found);
    }
    if let Some(found) = &outcome.groups {
        groups::add(&mut document, found);
    }
    if let Some(found) = &outcome.commits {
        document.findings.extend(commits::findings(found));
        document.sections.push(commits::section(found));
    }
    if outcome.late_errors > 0 {
        document.findings.push(format!(
            "barrier: {} errors came after the reply to a barrier behind their flow-mods; such a reply does not say that the \
             flow-mods were accepted.",
            outcome.late_errors
        ));
    }
    document.notes.extend(outcome.notes.iter().cloned());
    for failure in &outcome.failures {
        document.lacks(failure);
    }
    if interrupted {
        document.lacks("interrupted");
    }
    document
}

/// Returns notes about the table and the entries of the measurement.
fn subject_notes(subject: &Subject) -> Vec<String> {
    let Subject { table, keys, action, own_file, is_modifiable, usable, .. } = subject;
    let mut about = format!("Table {table}");
    if !keys.is_empty() {
        about.push_str(&format!(", key {}", keys.join("; ")));
    }
    let about = match own_file {
        None => format!("{about}; entries have action {action}."),
        Some(file) if action.is_empty() => {
            format!("{about}; the {usable} entries are those of {}.", file.name)
        }
        Some(file) => {
            format!(
                "{about}; the {usable} entries are those of {}, with action {action}.",
                file.name
            )
        }
    };
    let mut notes = vec![about];
    if let Some(file) = own_file.as_ref().filter(|file| file.left_out > 0) {
        notes.push(format!(
            "Updates of {} that the tests of this table do not write, such as entries of other tables: {}.",
            file.name, file.left_out
        ));
    }
    if !is_modifiable {
        let why = match own_file {
            None => "The action has no parameters",
            Some(_) => "All entries have the same action with the same parameters",
        };
        notes.push(format!("{why}, so a modification writes what the entry has already."));
    }
    notes
}

fn has_packets(target: &Target) -> bool {
    match target {
        Target::P4Runtime { traffic, slow_path, digests, .. } => {
            traffic.is_some() || slow_path.is_some() || digests.is_some()
        }
        Target::OpenFlow { ports, .. } => ports.is_some(),
    }
}

fn title(target: &Target, protocol: &Protocol) -> String {
    match (target, protocol) {
        (Target::P4Runtime { device, .. }, _) => {
            format!("The control channel of device {} at {}", device.device_id, device.address)
        }
        (_, Protocol::OpenFlow { datapath_id: Some(id), .. }) => {
            format!("The control channel of OpenFlow switch {id}")
        }
        (Target::OpenFlow { .. }, _) => "The control channel of an OpenFlow switch".to_owned(),
    }
}

fn protocol_note(protocol: &Protocol) -> String {
    match protocol {
        Protocol::P4Runtime { version: Some(version) } => {
            format!("The switch implements P4Runtime {version}.")
        }
        Protocol::P4Runtime { version: None } => {
            "The switch does not say which version of P4Runtime it implements.".to_owned()
        }
        Protocol::OpenFlow { version, description: Some(description), .. } => format!(
            "The switch speaks OpenFlow {version} and calls itself: {description}. An answer is the reply to a barrier."
        ),
        Protocol::OpenFlow { version, description: None, .. } => {
            format!("The switch speaks OpenFlow {version}. An answer is the reply to a barrier.")
        }
    }
}

/// The reasons why parts of the test of reads were left out.
#[derive(Clone, Copy, Debug)]
struct Lacks {
    /// The reason why direct counters were not read (empty if they were).
    counters: &'static str,
    /// Whether packets could pass through the switch.
    has_packets: bool,
}

/// Returns the reason why the direct counters of a table were not read (empty if they were).
fn counters_lack(protocol: &Protocol, interrupted: bool) -> &'static str {
    match protocol {
        Protocol::OpenFlow { .. } => {
            "not measured apart: the statistics of a flow have its entry and its counters"
        }
        Protocol::P4Runtime { .. } if interrupted => "not measured: interrupted",
        Protocol::P4Runtime { .. } => "not measured: the table has no direct counter",
    }
}

fn reads_section(found: &reads::Measured, lacks: Lacks) -> (Option<String>, Section) {
    let rate = rate(&found.rates);
    let limit = limit_words(found.limit());
    let finding = rate.map(|rate| {
        format!(
            "read: {} of a table with {} entries; limited by {limit}.",
            rate.words(),
            found.expected
        )
    });
    let mut table = Table::of_values("Reads of the whole table", ["figure", "value"]);
    table.row([Cell::text("entries per second"), Cell::optional(rate)]);
    table.row([Cell::text("entries"), Value::new(found.expected as f64, Unit::Count).into()]);
    table.row([Cell::text("reads"), Value::new(found.reads as f64, Unit::Count).into()]);
    table.row([
        Cell::text("reads with another number of entries"),
        Value::new(found.wrong as f64, Unit::Count).into(),
    ]);
    table.row([Cell::text("entries limited by"), Cell::text(limit)]);
    let each = match &found.counters {
        None => Cell::text(lacks.counters),
        Some(counters) => match &counters.refusal {
            None => Cell::optional(self::rate(&counters.rates)),
            Some(refusal) => Cell::text(format!("refused: {refusal}")),
        },
    };
    table.row([Cell::text("direct counters per second"), each]);
    if let Some(counters) = &found.counters {
        table.row([
            Cell::text("reads with another number of counters"),
            Value::new(counters.wrong as f64, Unit::Count).into(),
        ]);
    }
    let mut section = Section {
        id: "reads".to_owned(),
        title: "Reads".to_owned(),
        tables: vec![table],
        ..Section::default()
    };
    if found.counters.as_ref().is_some_and(|counters| !counters.rates.is_empty()) {
        section.text.push("What limited the reads of counters was not measured.".to_owned());
    }
    if found.transport.is_some() {
        section.text.push(transport::TEXT_OF_READS.to_owned());
    }
    let connection = found.transport.map(|seen| transport::Row {
        work: "reads".to_owned(),
        seen,
        answer: None,
        sees: transport::Sees::Arrivals,
    });
    section.tables.extend(transport::table(connection));
    if found.packets.is_none() {
        let remedy = match lacks.has_packets {
            true => "",
            false => ": that needs --port, and --program for P4Runtime",
        };
        section.text.push(format!(
            "What reads cost packets that pass through the switch was not measured{remedy}."
        ));
    }
    let costs = found.packets.iter().map(|cost| ("reads", cost.clone()));
    if let Some(beside) = packets::table("Packets beside reads", costs) {
        section.text.push(packets::TEXT.to_owned());
        section.tables.push(beside);
    }
    (finding, section)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads() -> reads::Measured {
        reads::Measured {
            expected: 5,
            rates: vec![10.0, 11.0],
            wrong: 0,
            reads: 9,
            packets: None,
            is_limited_here: false,
            transport: None,
            counters: None,
        }
    }

    #[test]
    fn the_section_on_reads_says_what_was_not_measured() {
        let lacks = Lacks { counters: "not measured: none", has_packets: false };
        let says = |found: &reads::Measured, lacks, words: &str| {
            let (_, section) = reads_section(found, lacks);
            section.text.iter().any(|text| text.contains(words))
        };
        let needs = "was not measured: that needs --port";
        assert!(says(&reads(), lacks, needs));
        // Packets were wanted, and a note or a failure says why there were none.
        let wanted = Lacks { has_packets: true, ..lacks };
        assert!(!says(&reads(), wanted, needs) && says(&reads(), wanted, "was not measured."));
        let with_packets =
            reads::Measured { packets: Some(::dut::background::Cost::default()), ..reads() };
        assert!(!says(&with_packets, wanted, "through the switch was not measured"));
        let counters = reads::CounterReads { rates: vec![3.0], ..reads::CounterReads::default() };
        let with_counters = reads::Measured { counters: Some(counters), ..reads() };
        let limit = "What limited the reads of counters was not measured.";
        assert!(says(&with_counters, lacks, limit) && !says(&reads(), lacks, limit));
    }

    #[test]
    fn counters_that_are_not_read_have_a_reason() {
        let p4runtime = Protocol::P4Runtime { version: None };
        assert!(counters_lack(&p4runtime, false).contains("no direct counter"));
        assert!(counters_lack(&p4runtime, true).contains("interrupted"));
    }
}
