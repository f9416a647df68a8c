//! The section of the report on hand-overs of the primary role between controllers.

use std::time::Duration;

use ::dut::roles::{FailOver, Measured, Takeover};
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::{Estimate, Unit};

/// Returns a sentence for each kind of hand-over, and one for each fault.
pub(super) fn findings(found: &Measured) -> Vec<String> {
    let mut findings = Vec::new();
    if let Some(time) = told(found.takeovers.iter().map(|one| one.write)) {
        findings.push(format!(
            "roles: a controller with a higher election id could write {} after its arbitration.",
            time.words()
        ));
    }
    let accepted: u64 = found.takeovers.iter().map(|one| one.accepted).sum();
    let later: u64 = found.takeovers.iter().map(|one| one.later).sum();
    if let Some(latest) = latest(&found.takeovers) {
        findings.push(format!(
            "roles: the switch accepted {accepted} of {later} writes that a displaced primary sent after its successor was told that \
             it is the primary, the latest {} after that.",
            latest.words()
        ));
    }
    let unnotified = found.takeovers.iter().filter(|one| one.backup.is_none()).count();
    if unnotified > 0 {
        findings.push(format!("roles: {unnotified} displaced primaries were not told."));
    }
    if let Some(time) = told(found.fail_overs.iter().map(|one| one.write)) {
        findings.push(format!(
            "roles: a backup could write {} after the primary had left.",
            time.words()
        ));
    }
    findings
}

/// Returns the longest time for which a displaced primary controller could still write, or `None`
/// if none could.
fn latest(takeovers: &[Takeover]) -> Option<Value> {
    let latest = takeovers.iter().filter_map(|one| one.accepted_for).max();
    latest.map(|time| Value::new(time.as_secs_f64(), Unit::Seconds))
}

/// Returns the mean of these times, or `None` if its confidence interval is too wide for it to be
/// meaningful.
fn told(times: impl Iterator<Item = Duration>) -> Option<Value> {
    mean(times).filter(Value::is_told)
}

fn mean(times: impl Iterator<Item = Duration>) -> Option<Value> {
    let times: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
    Estimate::of(&times).map(|time| Value::told(&time, Unit::Seconds))
}

/// Returns the section on hand-overs, with all figures.
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
    table.row([Cell::text("until the latest accepted one"), Cell::optional(latest(found))]);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn takeover(accepted_for: Option<Duration>, backup: Option<Duration>) -> Takeover {
        Takeover {
            primary: Duration::from_millis(1),
            write: Duration::from_millis(2),
            backup,
            later: 10,
            accepted: u64::from(accepted_for.is_some()),
            accepted_for,
        }
    }

    #[test]
    fn each_fault_has_a_sentence() {
        let told = Some(Duration::from_millis(1));
        let right = Measured { takeovers: vec![takeover(None, told)], fail_overs: Vec::new() };
        assert_eq!(findings(&right).len(), 1, "{:?}", findings(&right));
        let late = [Duration::from_millis(30), Duration::from_millis(20)];
        let takeovers = late.map(|time| takeover(Some(time), None)).to_vec();
        let [_, accepted, untold] = &findings(&Measured { takeovers, fail_overs: Vec::new() })[..]
        else {
            panic!("there are two faults")
        };
        assert!(accepted.contains("accepted 2 of 20 writes"), "{accepted}");
        assert!(accepted.contains("the latest 30.0 ms after"), "{accepted}");
        assert!(untold.contains("2 displaced primaries were not told"), "{untold}");
    }
}
