//! The section of the report on the capacity of a table.

use ::dut::Phase;
use ::dut::background::HighestRate;
use ::dut::capacity::{Ending, Level, Measured};
use ::dut::updates::Limit;
use report::page::document::Section;
use report::page::{Cell, Figure, Table};
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::Unit;

use super::packets;
use super::rates::limit_words;
use super::refusal::refusal_words;

/// Returns a sentence on the capacity of each table, and one for each fault in the handling of
/// packets. The first table is the one with which all tests are made.
pub(super) fn findings(found: &[Measured]) -> Vec<String> {
    let mut findings = Vec::new();
    for (place, one) in found.iter().enumerate() {
        let of = if place == 0 { String::new() } else { format!(" of {}", one.table.name) };
        findings.push(finding(one, &of));
        let rate = one.packets_per_second.unwrap_or(0.0);
        findings.extend(forwards(&one.levels));
        for level in &one.levels {
            let work = format!("capacity, {} % full", level.percent);
            findings.extend(level.packets(rate).and_then(|cost| packets::finding(&work, &cost)));
        }
    }
    findings
}

/// Returns a sentence on the highest rate of forwarding with an empty and with a full table.
fn forwards(levels: &[Level]) -> Option<String> {
    let of = |percent: u8| {
        let level = levels.iter().find(|level| level.percent == percent)?;
        let highest = level.forwarding.as_ref()?;
        let found = &highest.found;
        let rate = interval_words(found.loss_free_rate, found.lossy_rate, found.confidence);
        Some((rate, limit(highest)))
    };
    let ((empty, limits_empty), (full, limits_full)) = (of(0)?, of(100)?);
    Some(format!(
        "forwarding without loss: {empty} with an empty table, limited by {limits_empty}, and {full} with a full one, limited by \
         {limits_full}."
    ))
}

/// Describes the interval that contains the highest rate at which the switch forwards all packets,
/// with its confidence.
fn interval_words(low: Option<f64>, high: Option<f64>, confidence: Option<f64>) -> String {
    let per_second = |rate: f64| Value::new(rate, Unit::PerSecond).words();
    let rate = match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", per_second(low), per_second(high)),
        (Some(low), None) => format!("at least {}", per_second(low)),
        (None, Some(high)) => format!("less than {}", per_second(high)),
        (None, None) => "none of the rates that were tried".to_owned(),
    };
    let confidence = confidence
        .map_or_else(String::new, |share| format!(" (confidence {:.0} %)", 100.0 * share));
    format!("{rate}{confidence}")
}

fn limit(highest: &HighestRate) -> &'static str {
    match (highest.is_limited_here, highest.found.lossy_rate) {
        (true, _) => limit_words(Limit::Planimeter),
        (false, Some(_)) => limit_words(Limit::Switch),
        (false, None) => "nothing that was tried",
    }
}

fn finding(found: &Measured, of: &str) -> String {
    let missing = found.missing.filter(|missing| *missing > 0);
    let missing = missing.map(|missing| {
        format!(" The switch does not list {missing} of the entries that it accepted.")
    });
    let accepted = match &found.ending {
        Ending::Refused(refusal) => {
            format!("capacity{of}: {} entries, then {}.", found.entries, refusal.code)
        }
        Ending::AllInserted => {
            format!("capacity{of}: at least {} entries; no more were inserted.", found.entries)
        }
        Ending::Stopped => {
            format!("capacity{of}: at least {} entries; interrupted.", found.entries)
        }
    };
    accepted + &missing.unwrap_or_default()
}

/// Returns the section on the capacity of tables, or `None` if it was not measured.
pub(super) fn section(all: &[Measured]) -> Option<Section> {
    let found = all.first()?;
    let mut section = of_table(found);
    if all.len() > 1 {
        section.tables.insert(1, by_table(all));
    }
    Some(section)
}

/// Returns a table that compares tables of the switch.
fn by_table(all: &[Measured]) -> Table {
    let columns = ["table", "match", "size", "accepted", "answer to a further entry"];
    let mut table = Table::of_values("Capacity by table", columns);
    let count = |count: u64| Value::new(count as f64, Unit::Count);
    for one in all {
        let answer = match &one.ending {
            Ending::Refused(refusal) => refusal_words(refusal),
            Ending::AllInserted => "no more were inserted".to_owned(),
            Ending::Stopped => "interrupted".to_owned(),
        };
        table.row([
            Cell::text(&one.table.name),
            Cell::text(one.table.kind.map_or("", ::dut::KeyKind::name)),
            Cell::optional(one.table.size.map(count)),
            count(one.entries as u64).into(),
            Cell::text(answer),
        ]);
    }
    table
}

fn of_table(found: &Measured) -> Section {
    let mut tables = vec![capacity(found)];
    tables.extend(levels(&found.levels));
    tables.extend(forwarding(&found.levels));
    let rate = found.packets_per_second.unwrap_or(0.0);
    let names: Vec<String> =
        found.levels.iter().map(|level| format!("replacement, {} % full", level.percent)).collect();
    let costs = found.levels.iter().zip(&names);
    let costs = costs.filter_map(|(level, name)| Some((name.as_str(), level.packets(rate)?)));
    let beside = packets::table("Packets by occupancy", costs);
    let mut text = Vec::new();
    if !found.levels.is_empty() {
        text.push(
            "At each occupancy, which is in percent of the entries that the table took, the same entries are modified, deleted and \
             inserted again; the table has some requests fewer meanwhile."
                .to_owned(),
        );
    }
    if found.levels.iter().any(|level| level.forwarding.is_some()) {
        text.push(
            "The highest rate of forwarding is searched for while no entry changes. A rate passes if no packet of a trial is lost and \
             packets do not wait longer and longer. The highest such rate lies between the two ends with the stated confidence. \
             One thread sends one packet after the other; if it was too slow, or had no room for packets that arrived, the limit is Planimeter, and the \
             switch may forward more."
                .to_owned(),
        );
    }
    if beside.is_some() {
        text.push(packets::TEXT.to_owned());
    }
    if found.memory.is_some() {
        text.push(
            "The memory of an entry is what the resident memory of the switch grew by. Memory that the switch has kept from earlier tests, \
             or reserved beforehand, is not in it; if none is left to tell, the figure is not told."
                .to_owned(),
        );
    }
    tables.extend(beside);
    let points = found.steps.iter();
    let points = points.map(|step| (step.entries as f64, Value::new(step.rate, Unit::PerSecond)));
    let plot = Plot::of_values(
        "Rate of inserts while the table fills",
        Axis::linear("entries in the table", Unit::Count),
        Axis::linear("accepted inserts", Unit::PerSecond),
        vec![Line::of_values("insert", Origin::Measured, points)],
    );
    Section {
        id: "capacity".to_owned(),
        title: "Capacity".to_owned(),
        text,
        tables,
        figures: vec![Figure::plot(plot, "")],
        ..Section::default()
    }
}

fn capacity(found: &Measured) -> Table {
    let mut table = Table::of_values("Capacity", ["figure", "value"]);
    let count = |count: usize| Cell::from(Value::new(count as f64, Unit::Count));
    let size = found.table.size;
    let declared = size.map(|size| Value::new(size as f64, Unit::Count).into());
    table.row([
        Cell::text("entries that the program declares, or the switch reports"),
        declared.unwrap_or_else(|| Cell::text("no limit")),
    ]);
    table.row([Cell::text("entries that were accepted"), count(found.entries)]);
    let first = found.first_refusal.map(count);
    table.row([
        Cell::text("entries at the first refusal"),
        first.unwrap_or_else(|| Cell::text("none was refused")),
    ]);
    if let Ending::Refused(refusal) = &found.ending {
        let answer = refusal_words(refusal);
        table.row([Cell::text("answer to a further entry"), Cell::text(answer)]);
    }
    if let Some(missing) = found.missing {
        let missing = Value::new(missing as f64, Unit::Count);
        table.row([Cell::text("accepted entries that the switch does not list"), missing.into()]);
    }
    if let Some(is_freed) = found.is_freed {
        let words = if is_freed { "yes" } else { "no" };
        table.row([Cell::text("a deletion makes room for another entry"), Cell::text(words)]);
    }
    if let Some(memory) = found.memory {
        let bytes = |bytes: u64| Cell::from(Value::new(bytes as f64, Unit::Bytes));
        table.row([Cell::text("memory of the switch, before"), bytes(memory.before)]);
        table.row([Cell::text("memory of the switch, full"), bytes(memory.full)]);
        table.row([Cell::text("memory of the switch, empty again"), bytes(memory.after)]);
        let each = memory.per_entry().map(|bytes| Value::new(bytes, Unit::Bytes).into());
        table.row([
            Cell::text("memory of an entry"),
            each.unwrap_or_else(|| Cell::text("not told")),
        ]);
    }
    table
}

/// Returns a table of the update rates at each occupancy of the table, or `None` if they were not
/// measured.
fn levels(levels: &[Level]) -> Option<Table> {
    let columns = ["occupancy", "entries", "modify", "delete", "insert", "refused"];
    let mut table = Table::of_values("Updates by occupancy of the full table", columns);
    for level in levels {
        let [modify, delete, insert] = &level.replaced;
        let rate = |phase: &Phase| {
            Cell::optional(phase.rate().map(|rate| Value::new(rate, Unit::PerSecond)))
        };
        let refused: u64 = level.replaced.iter().map(|(_, phase)| phase.refused()).sum();
        table.row([
            Cell::text(format!("{} %", level.percent)),
            Value::new(level.entries as f64, Unit::Count).into(),
            rate(&modify.1),
            rate(&delete.1),
            rate(&insert.1),
            Value::new(refused as f64, Unit::Count).into(),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

/// Returns a table of the highest forwarding rates, or `None` if they were not measured.
fn forwarding(levels: &[Level]) -> Option<Table> {
    let columns =
        ["occupancy", "entries", "at least", "less than", "confidence", "trials", "limit"];
    let mut table = Table::of_values("Highest rate of forwarding by occupancy", columns);
    for level in levels {
        let Some(highest) = &level.forwarding else { continue };
        let rate =
            |rate: Option<f64>| Cell::optional(rate.map(|rate| Value::new(rate, Unit::PerSecond)));
        let confidence = highest.found.confidence.map(|share| Value::new(share, Unit::Fraction));
        table.row([
            Cell::text(format!("{} %", level.percent)),
            Value::new(level.entries as f64, Unit::Count).into(),
            rate(highest.found.loss_free_rate),
            rate(highest.found.lossy_rate),
            Cell::optional(confidence),
            Value::new(highest.trials as f64, Unit::Count).into(),
            Cell::text(limit(highest)),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_forwarding_is_stated_with_both_ends_of_its_interval() {
        let [low, high] =
            [20_000.0, 21_000.0].map(|rate| Value::new(rate, Unit::PerSecond).words());
        let words = |has_low: bool, has_high: bool, confidence| {
            interval_words(has_low.then_some(20_000.0), has_high.then_some(21_000.0), confidence)
        };
        assert_eq!(words(true, true, Some(0.95)), format!("{low} to {high} (confidence 95 %)"));
        assert_eq!(words(true, true, None), format!("{low} to {high}"));
        assert_eq!(words(true, false, None), format!("at least {low}"));
        // A switch that loses packets at every rate is not passed over.
        assert_eq!(words(false, true, None), format!("less than {high}"));
        assert_eq!(words(false, false, None), "none of the rates that were tried");
    }
}
