//! The section of the report on digests.

use std::time::Duration;

use ::dut::digests::{Config, Delivery, Measured, Repetition};
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::{Estimate, Unit};

/// Returns sentences about the latency of digests that are sent one at a time, and about each kind
/// of fault.
pub(super) fn findings(found: &Measured) -> Vec<String> {
    let mut findings = Vec::new();
    let at_once = found.deliveries.iter().find(|one| one.config.max_timeout.is_zero());
    if let Some(time) = at_once.and_then(|one| percentile(one, 0.5)) {
        findings.push(format!(
            "digests: {} from a packet to its digest, if digests are not grouped (p50).",
            time.words()
        ));
    }
    for delivery in &found.deliveries {
        let (name, counts) = (name(delivery.config), delivery.counts);
        let named = [
            (counts.lost, counts.sent, "digests were lost"),
            (counts.repeated, counts.sent, "digests came again"),
            (counts.oversized, counts.lists, "lists were longer than max_list_size"),
        ];
        let named = named.into_iter().filter(|(count, ..)| *count > 0);
        findings.extend(
            named.map(|(count, of, what)| format!("digests, {name}: {count} of {of} {what}.")),
        );
    }
    findings.extend(found.repetition.iter().flat_map(of_repetition));
    findings
}

/// Returns the reason why digests were not measured, or `None` if they were.
pub(super) fn note(found: &Measured) -> Option<String> {
    found.lack.as_ref().map(|lack| format!("digests: {lack}"))
}

fn of_repetition(found: &Repetition) -> Vec<String> {
    let all = found.packets;
    let named = [
        (found.too_early, "digests came again before ack_timeout_ns, without an acknowledgement"),
        (found.missing_after_timeout, "digests did not come again after ack_timeout_ns"),
        (
            found.missing_after_acknowledgement,
            "digests did not come again after an acknowledgement",
        ),
    ];
    let faults = named.into_iter().filter(|(count, _)| *count > 0);
    let faults: Vec<String> =
        faults.map(|(count, what)| format!("digests: {count} of {all} {what}.")).collect();
    match faults.is_empty() {
        true => vec![format!(
            "digests: {all} of {all} came again only after an acknowledgement or ack_timeout_ns."
        )],
        false => faults,
    }
}

fn name(config: Config) -> String {
    let (time, length) = (seconds(config.max_timeout).words(), config.max_list_size);
    match (config.max_timeout.is_zero(), length) {
        (true, _) => "at once".to_owned(),
        (false, length) => format!("up to {time} or {length}"),
    }
}

fn seconds(time: Duration) -> Value {
    Value::new(time.as_secs_f64(), Unit::Seconds)
}

fn count(count: u64) -> Cell {
    Value::new(count as f64, Unit::Count).into()
}

/// Returns a percentile of delivery times, estimated as the mean of the percentiles of all rounds.
/// Returns `None` if a round has too few digests to state it.
fn percentile(delivery: &Delivery, share: f64) -> Option<Value> {
    let rounds = delivery.latencies.iter();
    let each = rounds.map(|round| round.tail_at(share).map(|time| time.as_secs_f64()));
    let each: Option<Vec<f64>> = each.collect();
    Estimate::of(&each?).map(|time| Value::told(&time, Unit::Seconds))
}

/// Returns the section on digests, with all figures.
pub(super) fn section(found: &Measured) -> Section {
    let mut text = Vec::new();
    let mut tables = Vec::new();
    match &found.lack {
        Some(lack) => text.push(lack.clone()),
        None => {
            text.push(format!(
                "{} packets, each of which emits a digest {} with contents of its own, are sent 1 ms apart in each round, and each \
                 list is acknowledged at once. The latency is the time from a packet to its digest. A digest may wait for max_timeout_ns, \
                 or until max_list_size of them are there; over the timeout is how much later the last one of all came. \
                 Digests of others are those of packets that others send. Intervals are over rounds.",
                found.packets, found.name
            ));
            if !found.deliveries.is_empty() {
                tables.push(deliveries(&found.deliveries));
            }
        }
    }
    if let Some(repetition) = &found.repetition {
        text.push(
            "For repetitions, packets are sent four times: twice without an acknowledgement, again after ack_timeout_ns, and again \
             after an acknowledgement."
                .to_owned(),
        );
        tables.push(repetitions(repetition));
    }
    Section {
        id: "digests".to_owned(),
        title: "Digests".to_owned(),
        text,
        tables,
        ..Section::default()
    }
}

fn deliveries(found: &[Delivery]) -> Table {
    let columns = [
        "max_timeout_ns",
        "max_list_size",
        "p50",
        "p90",
        "longest",
        "over the timeout",
        "packets",
        "lost",
        "repeated",
        "of others",
        "lists",
        "too long",
    ];
    let mut table = Table::of_values("Latency of digests", columns);
    for one in found {
        let counts = one.counts;
        let longest = one.latencies.iter().filter_map(|round| round.at(1.0)).max();
        let over = longest.and_then(|longest| longest.checked_sub(one.config.max_timeout));
        table.row([
            seconds(one.config.max_timeout).into(),
            count(one.config.max_list_size.into()),
            Cell::optional(percentile(one, 0.5)),
            Cell::optional(percentile(one, 0.9)),
            Cell::optional(longest.map(seconds)),
            Cell::optional(over.map(seconds)),
            count(counts.sent),
            count(counts.lost),
            count(counts.repeated),
            count(counts.foreign),
            count(counts.lists),
            count(counts.oversized),
        ]);
    }
    table
}

fn repetitions(found: &Repetition) -> Table {
    let mut table = Table::of_values("Repetitions of digests", ["figure", "value"]);
    let mut row = |name: &str, cell: Cell| table.row([Cell::text(name), cell]);
    row("ack_timeout_ns", seconds(found.ack_timeout).into());
    row("packets", count(found.packets));
    row("digests again before the timeout, without an acknowledgement", count(found.too_early));
    row("no digest again after the timeout", count(found.missing_after_timeout));
    row("no digest again after an acknowledgement", count(found.missing_after_acknowledgement));
    table
}
