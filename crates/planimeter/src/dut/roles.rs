//! The section of the report on hand-overs between controllers.

use std::time::Duration;

use ::dut::roles::{FailOver, Measured, Takeover};
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::{Estimate, Unit};

/// Returns a sentence for each kind of hand-over, and one for each fault.
pub(super) fn findings(found: &Measured) -> Vec<String> {
    let mut findings = Vec::new();
    if let Some(time) = mean(found.takeovers.iter().map(|one| one.write)) {
        findings.push(format!(
            "roles: a controller with a higher election id could write {} after its arbitration.",
            time.words()
        ));
    }
    let accepted: u64 = found.takeovers.iter().map(|one| one.accepted).sum();
    let later: u64 = found.takeovers.iter().map(|one| one.later).sum();
    if accepted > 0 {
        findings.push(format!(
            "roles: the switch accepted {accepted} of {later} writes that a displaced primary sent after its successor was told that \
             it is the primary."
        ));
    }
    let unnotified = found.takeovers.iter().filter(|one| one.backup.is_none()).count();
    if unnotified > 0 {
        findings.push(format!("roles: {unnotified} displaced primaries were not told."));
    }
    if let Some(time) = mean(found.fail_overs.iter().map(|one| one.write)) {
        findings.push(format!(
            "roles: a backup could write {} after the primary had left.",
            time.words()
        ));
    }
    findings
}

fn mean(times: impl Iterator<Item = Duration>) -> Option<Value> {
    let times: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
    Estimate::of(&times).map(|time| Value::estimate(&time, Unit::Seconds))
}

/// Returns the section with all figures.
pub(super) fn section(found: &Measured) -> Section {
    Section {
        id: "roles".to_owned(),
        title: "Hand-overs between controllers".to_owned(),
        text: vec![format!(
            "In each of {} rounds, a second controller with a higher election id displaces the primary, which writes meanwhile; then \
             the second one leaves, and the first arbitrates again as soon as it is told. Intervals are over rounds.",
            found.takeovers.len()
        )],
        tables: vec![takeovers(&found.takeovers), fail_overs(&found.fail_overs)],
        ..Section::default()
    }
}

fn takeovers(found: &[Takeover]) -> Table {
    let mut table = Table::of_values("A higher election id", ["figure", "value"]);
    let mut time = |name: &str, time: Option<Value>| {
        table.row([Cell::text(name), Cell::optional(time)]);
    };
    time("arbitration until it is the primary", mean(found.iter().map(|one| one.primary)));
    time("arbitration until its first write is accepted", mean(found.iter().map(|one| one.write)));
    time(
        "arbitration until the other is told that it is a backup",
        mean(found.iter().filter_map(|one| one.backup)),
    );
    let count = |count: u64| Cell::from(Value::new(count as f64, Unit::Count));
    let sum = |of: fn(&Takeover) -> u64| count(found.iter().map(of).sum());
    table.row([Cell::text("later writes of the other"), sum(|one| one.later)]);
    table.row([Cell::text("of these, accepted"), sum(|one| one.accepted)]);
    table
}

fn fail_overs(found: &[FailOver]) -> Table {
    let mut table = Table::of_values("A primary that leaves", ["figure", "value"]);
    let mut time = |name: &str, of: fn(&FailOver) -> Duration| {
        table.row([Cell::text(name), Cell::optional(mean(found.iter().map(of)))]);
    };
    time("end of its stream until the backup is told", |one| one.notice);
    time("end of its stream until the backup is the primary", |one| one.primary);
    time("end of its stream until a write of the backup is accepted", |one| one.write);
    table
}
