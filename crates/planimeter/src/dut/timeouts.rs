//! The section of the report on the timeouts of entries.

use std::time::Duration;

use ::dut::timeouts::Timed;
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

/// Returns a sentence about each kind of deviation, or a single one which says that there is none.
pub(super) fn findings(found: &[Timed]) -> Vec<String> {
    let entries: usize = found.iter().map(|one| one.entries).sum();
    let count = |of: fn(&Timed) -> usize| found.iter().map(of).sum::<usize>();
    let latest = found.iter().flat_map(Timed::lateness).max().unwrap_or_default();
    let (early, missing, other) =
        (count(Timed::early), count(Timed::missing), count(|one| one.other_reasons));
    let mut findings = Vec::new();
    if early > 0 {
        findings.push(format!("timeouts: {early} of {entries} entries timed out early."));
    }
    if missing > 0 {
        findings.push(format!(
            "timeouts: {missing} of {entries} entries timed out without a message within 5 s."
        ));
    }
    if other > 0 {
        findings.push(format!("timeouts: {other} messages name another reason than the timeout."));
    }
    if findings.is_empty() {
        findings.push(format!(
            "timeouts: none of {entries} entries timed out early; the latest message came at most {} after its time.",
            seconds(latest).words()
        ));
    }
    findings
}

fn seconds(time: Duration) -> Value {
    Value::new(time.as_secs_f64(), Unit::Seconds)
}

/// Returns the section on timeouts, with all figures.
pub(super) fn section(found: &[Timed]) -> Section {
    let columns =
        ["timeout", "entries", "early", "without a message", "late, median", "late, most"];
    let mut table = Table::of_values("Timeouts of entries without packets", columns);
    let count = |count: usize| Cell::from(Value::new(count as f64, Unit::Count));
    for one in found {
        let mut late: Vec<Duration> = one.lateness().collect();
        late.sort_unstable();
        let name = format!("{}, {} ms", one.timer.name(), one.timeout.as_millis());
        table.row([
            Cell::text(name),
            count(one.entries),
            count(one.early()),
            count(one.missing()),
            Cell::optional(late.get(late.len() / 2).map(|late| seconds(*late))),
            Cell::optional(late.last().map(|late| seconds(*late))),
        ]);
    }
    Section {
        id: "timeouts".to_owned(),
        title: "Timeouts".to_owned(),
        text: vec![
            "An entry is early if its message came sooner after its insertion was requested than the timeout. How late a message \
             is, counts from the same moment, so it is an upper bound."
                .to_owned(),
        ],
        tables: vec![table],
        ..Section::default()
    }
}
