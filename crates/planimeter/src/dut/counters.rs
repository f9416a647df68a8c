//! The section of the report on how old counter values are when a controller reads them.

use ::dut::counters::Measured;
use ::dut::effects::{Gap, Percentile, Range};
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

/// Returns a sentence on the age of counter values, and one for each fault.
pub(super) fn findings(found: &Measured) -> Vec<String> {
    let mut findings = Vec::new();
    if let Some([least, most]) = median(&found.ages) {
        findings.push(format!(
            "counter: its value was {} to {} old when it was read (p50); {} of {} values were certainly older than their \
             request.",
            seconds(least).words(),
            seconds(most).words(),
            stale(found),
            found.ages.len()
        ));
    }
    if found.too_high > 0 {
        findings.push(format!(
            "counter: {} values were higher than the number of packets that had been sent.",
            found.too_high
        ));
    }
    let (sent, arrived) = (found.sent as u64, found.arrived as u64);
    if found.counted < arrived {
        findings.push(format!(
            "counter: it counted {} packets within 10 s, although {arrived} left the switch.",
            found.counted
        ));
    }
    if found.counted > sent {
        findings.push(format!(
            "counter: it counted {} packets, although {sent} were sent.",
            found.counted
        ));
    }
    findings
}

/// Returns the bounds between which the median age lies with 95 % confidence. If there are too few
/// values for such an interval, returns the bounds of the median of the values that were read.
/// Returns `None` without values.
fn median(ages: &[Range]) -> Option<[Gap; 2]> {
    let median = Percentile::of(ages, 0.5)?;
    let Range { least, most } = median.interval.unwrap_or(median.of_samples);
    Some([least, most])
}

fn seconds(gap: Gap) -> Value {
    Value::new(gap.as_seconds(), Unit::Seconds)
}

/// Returns the number of values that were certainly outdated already when they were requested.
fn stale(found: &Measured) -> usize {
    found.ages.iter().filter(|age| age.least > Gap(0)).count()
}

pub(super) fn section(found: &Measured) -> Section {
    let count = |count: usize| Cell::from(Value::new(count as f64, Unit::Count));
    let age = |gap: Option<Gap>| Cell::optional(gap.map(seconds));
    let mut table = Table::of_values("Age of a counter", ["figure", "value"]);
    table.row([Cell::text("values that were read"), count(found.ages.len() + found.too_high)]);
    let bounds = median(&found.ages);
    table.row([Cell::text("age, p50, at least"), age(bounds.map(|[least, _]| least))]);
    table.row([Cell::text("age, p50, at most"), age(bounds.map(|[_, most]| most))]);
    let ages = || found.ages.iter();
    table.row([
        Cell::text("oldest value, at least"),
        age(ages().map(|age: &Range| age.least).max()),
    ]);
    table.row([Cell::text("oldest value, at most"), age(ages().map(|age: &Range| age.most).max())]);
    table.row([Cell::text("values certainly older than their request"), count(stale(found))]);
    table.row([Cell::text("values higher than the packets sent"), count(found.too_high)]);
    table.row([Cell::text("packets sent"), count(found.sent)]);
    table.row([Cell::text("packets that left the switch"), count(found.arrived)]);
    table.row([
        Cell::text("packets counted in the end"),
        Value::new(found.counted as f64, Unit::Count).into(),
    ]);
    Section {
        id: "counter".to_owned(),
        title: "Age of a counter".to_owned(),
        text: vec![format!(
            "Counter {}. A packet is counted between its sending and its arrival, so the times of packets bound the time at \
             which a value was true; its age is the time from then until the switch took it, between request and answer. Both \
             ends of the median have 95 % confidence.",
            found.counter
        )],
        tables: vec![table],
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_values_and_wrong_counts_are_findings() {
        let age = |least, most| Range { least: Gap(least), most: Gap(most) };
        let good = Measured {
            ages: vec![age(0, 2_000_000); 20],
            sent: 100,
            arrived: 98,
            counted: 99,
            ..Measured::default()
        };
        let found = findings(&good);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("; 0 of 20 values were certainly older than their request."));
        let ages = vec![age(900_000_000, 1_000_000_000); 20];
        let bad = Measured { ages, too_high: 1, counted: 90, ..good };
        let found = findings(&bad).join("\\n");
        assert!(found.contains("; 20 of 20 values were certainly older"), "{found}");
        assert!(found.contains("1 values were higher"), "{found}");
        assert!(found.contains("it counted 90 packets within 10 s, although 98 left"), "{found}");
    }
}
