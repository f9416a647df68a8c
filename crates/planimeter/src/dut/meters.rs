//! The section of the report on meters.

use ::dut::meters::{
    BURST_TOLERANCE, Fault, Found, Measured, MeasuredMeter, RATE_TOLERANCE, TokenUnit,
};
use report::page::document::{Document, Section};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::{Interval, Unit};

/// Adds the results on meters to a report: findings, a section, and the reasons why meters were not
/// measured.
pub(super) fn add(document: &mut Document, found: &Measured) {
    document.notes.extend(found.reasons.iter().map(|reason| format!("meters: {reason}")));
    if found.meters.is_empty() {
        return;
    }
    document.findings.extend(findings(found));
    document.sections.push(section(found));
}

fn each(found: &Measured) -> impl Iterator<Item = (&MeasuredMeter, &Found)> {
    found.meters.iter().flat_map(|meter| meter.found.iter().map(move |one| (meter, one)))
}

/// Returns a sentence about each deviation of a meter, or a single one which says that there is
/// none.
fn findings(found: &Measured) -> Vec<String> {
    let faults = each(found).flat_map(|(meter, one)| {
        let what = format!("meters: {}, {} bucket", meter.name, one.level.name());
        let faults = one.faults().into_iter();
        faults.map(move |fault| format!("{what}: {}.", words(meter, one, fault)))
    });
    let mut findings: Vec<String> = faults.collect();
    let good = each(found).filter(|(_, one)| one.faults().is_empty());
    let (known, unknown): (Vec<_>, Vec<_>) = good.partition(|(_, one)| one.observed.rate.is_some());
    for (meter, one) in unknown {
        findings.push(format!(
            "meters: {}, {} bucket: its rate is not known, because packets were sent too slowly.",
            meter.name,
            one.level.name()
        ));
    }
    if !known.is_empty() {
        findings.push(format!(
            "meters: {} of {} token buckets show no deviation of more than {} % of the configured rate and {} % of the burst.",
            known.len(),
            each(found).count(),
            RATE_TOLERANCE * 100.0,
            BURST_TOLERANCE * 100.0
        ));
    }
    let lossy = found.meters.iter().filter(|meter| meter.control.lost > 0);
    findings.extend(lossy.map(|meter| {
        let so = match meter.found.is_empty() {
            true => "it was not measured",
            false => "its rates may be higher than the measured ones",
        };
        format!(
            "meters: {}: {} of {} packets did not leave like green ones although the meter let all pass; {so}.",
            meter.name, meter.control.lost, meter.control.sent
        )
    }));
    findings
}

fn words(meter: &MeasuredMeter, one: &Found, fault: Fault) -> String {
    let unit = meter.unit.name();
    let range = |interval: Option<Interval>| match interval {
        Some(Interval { low, high }) => format!("{low:.0} to {high:.0}"),
        None => "unknown".to_owned(),
    };
    let rate = || {
        let configured = one.configured.rate;
        format!("{} {unit}/s instead of {configured:.0}", range(one.observed.rate))
    };
    let burst = || {
        let configured = one.configured.burst;
        format!("{} {unit} instead of {configured:.0}", range(one.observed.burst))
    };
    match fault {
        Fault::NothingRefused => {
            format!("no packet was refused at {:.0} packets/s", meter.offered)
        }
        Fault::NothingPassed => "no packet passed".to_owned(),
        Fault::RateAbove => format!("the rate is too high, {}", rate()),
        Fault::RateBelow => format!("the rate is too low, {}", rate()),
        Fault::BurstAbove => format!("the burst is too large, {}", burst()),
        Fault::BurstBelow => format!("the burst is too small, {}", burst()),
        Fault::Excess => format!(
            "{:.0} {unit} more passed in an interval than rate and burst allow",
            one.observed.excess
        ),
    }
}

fn section(found: &Measured) -> Section {
    Section {
        id: "meters".to_owned(),
        title: "Meters".to_owned(),
        text: vec![
            "Packets were sent at several times the rate of each token bucket, which was full in the beginning. Rate and burst \
             lie between the bounds, whatever the delays of packets were. The excess is the largest number of tokens that passed in \
             an interval beyond the burst and the rate times its length; it is negative if there were always some left. \
             Bytes count from the Ethernet destination on, without the frame check sequence."
                .to_owned(),
        ],
        tables: vec![rates(found), bursts(found), packets(found)],
        ..Section::default()
    }
}

fn low(interval: Option<Interval>, unit: Unit) -> Cell {
    Cell::optional(interval.map(|interval| Value::new(interval.low, unit)))
}

fn high(interval: Option<Interval>, unit: Unit) -> Cell {
    Cell::optional(interval.map(|interval| Value::new(interval.high, unit)))
}

fn rates(found: &Measured) -> Table {
    let columns = ["meter", "bucket", "unit", "configured", "at least", "at most"];
    let mut table = Table::of_values("Rates", columns);
    for (meter, one) in each(found) {
        table.row([
            Cell::text(meter.name.as_str()),
            Cell::text(one.level.name()),
            Cell::text(meter.unit.name()),
            Value::new(one.configured.rate, Unit::PerSecond).into(),
            low(one.observed.rate, Unit::PerSecond),
            high(one.observed.rate, Unit::PerSecond),
        ]);
    }
    table
}

fn bursts(found: &Measured) -> Table {
    let columns = ["meter", "bucket", "configured", "at least", "at most", "excess"];
    let mut table = Table::of_values("Bursts", columns);
    for (meter, one) in each(found) {
        let unit = match meter.unit {
            TokenUnit::Bytes => Unit::Bytes,
            TokenUnit::Packets => Unit::Count,
        };
        table.row([
            Cell::text(meter.name.as_str()),
            Cell::text(one.level.name()),
            Value::new(one.configured.burst, unit).into(),
            low(one.observed.burst, unit),
            high(one.observed.burst, unit),
            Value::new(one.observed.excess, unit).into(),
        ]);
    }
    table
}

fn packets(found: &Measured) -> Table {
    let columns = [
        "meter",
        "bucket",
        "length",
        "offered",
        "packets",
        "passed",
        "refused",
        "lost without a meter",
    ];
    let mut table = Table::of_values("Packets", columns);
    let count = |count: usize| Cell::from(Value::new(count as f64, Unit::Count));
    for (meter, one) in each(found) {
        table.row([
            Cell::text(meter.name.as_str()),
            Cell::text(one.level.name()),
            Value::new(meter.length as f64, Unit::Bytes).into(),
            Value::new(meter.offered, Unit::PerSecond).into(),
            count(one.observed.offered),
            count(one.observed.passed),
            count(one.observed.refused),
            count(meter.control.lost),
        ]);
    }
    table
}
