//! Prints a comparison of table designs on the terminal, with rates by number of entries and then
//! the largest table in detail.

use ::tables::measure::{Findings, Measured};
use statistics::{Estimate, Unit};

use super::{
    Run, Shape, alarms, answers, clock, cost, lost, method, methods, misses, mixes_clocks,
    not_offered, rate, remarks, shape, shapes, sharing, size, wall_rate,
};
use crate::alarm;
use crate::describe::distinct;
use crate::format::{duration, estimate, figure, printable};
use crate::terminal::{Cell, Column, Grid, Layout, Paint};

/// The largest number of cases that are shown in detail, in a row each. If there are more cases,
/// only those with the most table entries are shown.
const MAX_DETAILED: usize = 24;
/// The largest number of table sizes that are shown side by side.
const MAX_SIZES: usize = 7;

/// Returns a comparison of table designs as text that fits the terminal. The text ends with a
/// newline.
#[must_use]
pub fn table(run: &Run<'_>, layout: Layout) -> String {
    let findings = run.findings;
    let settings = &findings.settings;
    let mut out = layout.paragraph("", "Table designs", Paint::Strong);
    let effort = format!(
        "{} turns of {} each, calls of {} keys drawn uniformly, seed {}; {}, took {}",
        settings.repetitions,
        duration(settings.time.as_secs_f64()),
        settings.batch,
        settings.seed,
        printable(&run.provenance.started_at),
        duration(run.provenance.elapsed_s),
    );
    out.push_str(&layout.paragraph("", &effort, Paint::Plain));
    out.push_str(&layout.paragraph("", &latencies(findings), Paint::Plain));
    let missing = alarm::missing(run.provenance);
    let alarms: Vec<_> = alarms(run).into_iter().chain(missing).collect();
    out.push_str(&alarm::text(&alarms, layout));
    for shape_of in shapes(findings) {
        let of_shape: Vec<&Measured> =
            findings.measured.iter().filter(|one| shape(one) == shape_of).collect();
        out.push_str(&by_size(&of_shape, shape_of, layout));
        out.push_str(&in_detail(&of_shape, shape_of, findings, layout));
    }
    out.push_str(&gains(findings, layout));
    let answers = answers(findings);
    if !answers.is_empty() {
        out.push_str(&layout.heading("Recommended design"));
        for answer in answers {
            out.push_str(&layout.paragraph("  - ", &answer, Paint::Plain));
        }
    }
    let refused = not_offered(findings);
    if !refused.is_empty() {
        out.push_str(&layout.heading("Not offered"));
        for (what, reason) in refused {
            out.push_str(&layout.paragraph("  - ", &format!("{what}: {reason}"), Paint::Plain));
        }
    }
    out.push_str(&layout.heading("Notes"));
    for remark in remarks(findings) {
        out.push_str(&layout.paragraph("  - ", &remark.text, remark.tone.into()));
    }
    out
}

/// Returns a table of how much faster updates in place are than other update methods, beside the
/// figures of the paper.
fn gains(findings: &Findings, layout: Layout) -> String {
    let measured = methods::measured(findings);
    let against = methods::against(&measured);
    let Some(first) = against.first() else { return String::new() };
    let entries = size(first.other.case.layout.size());
    let mut out =
        layout.heading(&format!("Pointer against change and digest, {entries} entries, one core"));
    let mut grid = Grid::new(vec![
        Column::left("against").indent(2),
        Column::left("storage"),
        Column::right("× rate"),
        Column::right("±").rank(1),
        Column::right("paper"),
        Column::right("× median"),
        Column::right("±").rank(1),
        Column::right("paper"),
    ]);
    for one in against {
        let (rate, median) = one.published.unzip();
        let case = &one.other.case;
        let name = format!("{} {}", method(case), sharing(case));
        grid.row(vec![
            Cell::new(name),
            Cell::new(case.design.storage.to_string()),
            Cell::new(methods::mean_times(one.rate.as_ref())),
            Cell::new(half_interval(one.rate.as_ref().and_then(relative_half))),
            Cell::new(methods::published_times(rate)),
            Cell::new(methods::mean_times(one.median.as_ref())),
            Cell::new(half_interval(one.median.as_ref().and_then(relative_half))),
            Cell::new(methods::published_times(median)),
        ]);
    }
    out.push_str(&grid.render(layout));
    let method = "× rate: the ratio of updates per second of the wall clock, pointer over the other method; × \
                  median: the ratio of the median times of one update, the other method over pointer; ±: half of the \
                  95 % confidence interval over turns, as a share. Latencies of the paper are of whole packets.";
    out.push_str(&layout.paragraph("  ", method, Paint::Faint));
    out
}

/// Returns a line with the latency of each level of the machine's memory.
fn latencies(findings: &Findings) -> String {
    let levels: Vec<String> = findings
        .machine
        .latencies
        .iter()
        .map(|(name, latency)| format!("{name} {:.1} ns", latency.nanoseconds))
        .collect();
    if levels.is_empty() {
        return "dependent access: not measured".to_owned();
    }
    format!("dependent access: {}", levels.join(", "))
}

/// Returns a table of rates with a row for each table design and a column for each number of
/// entries.
fn by_size(measured: &[&Measured], shape_of: Shape, layout: Layout) -> String {
    let sizes = distinct(measured.iter().map(|one| one.case.layout.size()));
    if sizes.len() < 2 {
        return String::new();
    }
    let mut out = layout.heading(&format!("Million operations per second, {}", shape_of));
    let mixed = mixes_clocks(measured);
    let mut spread = false;
    for sizes in sizes.chunks(MAX_SIZES) {
        let mut columns = vec![
            Column::left("storage"),
            Column::left("sharing"),
            Column::left("method"),
            Column::right("cores"),
        ];
        if mixed {
            columns.push(Column::left("clock"));
        }
        columns.extend(sizes.iter().map(|&entries| Column::right(size(entries))));
        columns.push(Column::right("±").rank(1));
        let mut grid = Grid::new(columns);
        let key = |one: &Measured| {
            let case = &one.case;
            (case.design.storage, sharing(case), method(case), case.cores, clock(case))
        };
        for row in distinct(measured.iter().map(|one| key(one))) {
            let mut widest = None;
            let mut cells = vec![
                Cell::new(row.0.to_string()),
                Cell::new(row.1.clone()),
                Cell::new(row.2),
                Cell::new(row.3.to_string()),
            ];
            if mixed {
                cells.push(Cell::new(row.4));
            }
            let mut any = false;
            for &entries in sizes {
                let one = measured
                    .iter()
                    .find(|one| key(one) == row && one.case.layout.size() == entries);
                let found = one.and_then(|one| rate(one));
                any |= found.is_some();
                if let Some(found) = &found {
                    let share = relative_half(found);
                    widest =
                        widest.into_iter().chain(share).fold(None, |most: Option<f64>, share| {
                            Some(most.map_or(share, |most| most.max(share)))
                        });
                }
                cells.push(Cell::new(found.map_or_else(String::new, |found| millions(found.mean))));
            }
            cells.push(Cell::new(half_interval(widest)));
            if any {
                grid.row(cells);
            }
        }
        let rows = grid.render(layout);
        spread |= rows.lines().next().is_some_and(|titles| titles.ends_with('±'));
        out.push_str(&rows);
    }
    let about = match spread {
        true => "Means; ±: half of the widest 95 % confidence interval of the row, as a share.",
        false => "Means; their confidence intervals, which do not fit here, are in the report.",
    };
    out.push_str(&layout.paragraph("", about, Paint::Faint));
    out
}

/// Returns half of the 95 % confidence interval, divided by the mean. It has a column of its own,
/// which a narrow terminal leaves out, because intervals beside the figures would make the table
/// too wide.
fn relative_half(estimate: &Estimate) -> Option<f64> {
    estimate.ci95.map(|half| half / estimate.mean)
}

fn half_interval(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0))
}

/// Formats a rate in millions with about three significant digits.
fn millions(rate: f64) -> String {
    let millions = rate / 1e6;
    match millions {
        100.0.. => format!("{millions:.0}"),
        10.0.. => format!("{millions:.1}"),
        0.1.. => format!("{millions:.2}"),
        _ => format!("{millions:.4}"),
    }
}

/// Returns a table with all figures, one row for each case.
fn in_detail(
    measured: &[&Measured],
    shape_of: Shape,
    findings: &Findings,
    layout: Layout,
) -> String {
    let mut sizes = distinct(measured.iter().map(|one| one.case.layout.size()));
    if measured.len() > MAX_DETAILED {
        sizes.drain(..sizes.len().saturating_sub(1));
    }
    let mut out = String::new();
    for entries in sizes {
        out.push_str(&layout.heading(&format!("{} entries, {}", size(entries), shape_of)));
        let of_size: Vec<&Measured> =
            measured.iter().copied().filter(|one| one.case.layout.size() == entries).collect();
        let mixed = mixes_clocks(&of_size);
        let mut columns = vec![
            Column::left("storage"),
            Column::left("sharing"),
            Column::left("method"),
            Column::right("on"),
            Column::right("rate"),
        ];
        if mixed {
            columns.extend([Column::left("clock").rank(1), Column::right("wall")]);
        }
        columns.extend([
            Column::right("ns/op").rank(2),
            Column::right("p50"),
            Column::right("±").rank(1),
            Column::right("p99").rank(1),
            Column::right("±").rank(4),
            Column::right("p99.9").rank(4),
            Column::right("±").rank(4),
            Column::right("misses").rank(5),
            Column::right("lost").rank(3),
        ]);
        let mut grid = Grid::new(columns);
        for one in of_size {
            let Some(rate) = rate(one) else { continue };
            let cost = cost(one).map_or_else(|| "–".to_owned(), |cost| nanoseconds(cost.mean));
            let misses = match misses(one) {
                Some(misses) => figure(misses.mean, Unit::Count),
                None if findings.machine.counters.is_err() => "n/a".to_owned(),
                None => "–".to_owned(),
            };
            let paint = if one.broke_its_promise() { Paint::Bad } else { Paint::Plain };
            let mut cells = vec![
                Cell::new(one.case.design.storage.to_string()),
                Cell::new(sharing(&one.case)),
                Cell::new(method(&one.case)),
                Cell::new(one.case.cores.to_string()),
                Cell::new(estimate(&rate, Unit::PerSecond)),
            ];
            if mixed {
                let wall = wall_rate(one).map(|wall| figure(wall.mean, Unit::PerSecond));
                cells.extend([Cell::new(clock(&one.case)), Cell::new(wall.unwrap_or_default())]);
            }
            cells.push(Cell::new(cost));
            for found in one.percentiles() {
                let mean = found.map(|found| figure(found.mean, Unit::Seconds));
                cells.push(Cell::new(mean.unwrap_or_else(|| "–".to_owned())));
                cells.push(Cell::new(half_interval(found.as_ref().and_then(relative_half))));
            }
            cells.extend([Cell::new(misses), Cell::painted(lost(one), paint)]);
            grid.row(cells);
        }
        out.push_str(&grid.render(layout));
    }
    out
}

/// Formats a time of less than 10 µs in nanoseconds with about three significant digits, and a
/// longer one in microseconds, with the unit `k`.
fn nanoseconds(seconds: f64) -> String {
    let nanoseconds = seconds * 1e9;
    match nanoseconds {
        10_000.0.. => format!("{:.0} k", nanoseconds / 1e3),
        100.0.. => format!("{nanoseconds:.0}"),
        10.0.. => format!("{nanoseconds:.1}"),
        _ => format!("{nanoseconds:.2}"),
    }
}
