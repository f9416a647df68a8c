//! Prints a throughput benchmark, with a row for each execution path, number of entries and number
//! of cores.

use ::throughput::run::Case;
use statistics::{Estimate, Unit};

use super::{
    Point, Run, alarms, checked, cost, drawn, fault, findings::findings, has_methods, heading,
    latency, limit, path, percentile, rate, remarks, repetitions, size, stages,
};
use crate::alarm;
use crate::format::{duration, estimate, figure, printable, whole};
use crate::terminal::{Cell, Column, Grid, Layout, Paint};

/// Returns a throughput benchmark as text that fits the terminal. The text ends with a newline.
#[must_use]
pub fn table(run: &Run<'_>, layout: Layout) -> String {
    let settings = run.settings;
    let mut out =
        layout.paragraph("", &format!("How fast {} runs", printable(run.program)), Paint::Strong);
    let effort = format!(
        "{} each, flows drawn {}, seed {}; {}, took {}",
        repetitions(settings.repetitions, settings.time),
        drawn(settings.skew),
        settings.seed,
        printable(&run.provenance.started_at),
        duration(run.provenance.elapsed_s),
    );
    out.push_str(&layout.paragraph("", &effort, Paint::Plain));
    for point in run.points {
        out.push_str(&layout.paragraph("", &setting(point), Paint::Plain));
    }
    let missing = alarm::missing(run.provenance);
    let alarms: Vec<_> = alarms(run).into_iter().chain(missing).collect();
    out.push_str(&alarm::text(&alarms, layout));
    let found = if alarms.is_empty() { Paint::Good } else { Paint::Plain };
    for text in findings(run) {
        out.push_str(&layout.paragraph("  ", &text, found));
    }
    out.push('\n');
    out.push_str(&cases(run).render(layout));
    if has_methods(run) {
        out.push('\n');
        out.push_str(&methods(run).render(layout));
    }
    let stages = stages(run);
    if !stages.is_empty() {
        out.push_str(&layout.heading("Cycles of a packet on one core, compiled"));
        let mut grid = Grid::new(vec![
            Column::right(heading(run)),
            Column::left("method").rank(1),
            Column::right("parser and copy").rank(2),
            Column::right("tables to deparser"),
            Column::right("around both").rank(3),
            Column::right("table access"),
        ]);
        stages.into_iter().for_each(|row| grid.row(row.map(Cell::new).into()));
        out.push_str(&grid.render(layout));
    }
    out.push_str(&layout.heading("Notes"));
    for remark in remarks(run) {
        out.push_str(&layout.paragraph("  - ", &remark.text, remark.tone.into()));
    }
    out
}

/// Returns a line that describes one point: its flows, its table entries, and the throughput that
/// is possible without a program.
fn setting(point: &Point) -> String {
    let tables: Vec<String> = point
        .entries
        .iter()
        .map(|(name, count)| format!("{} in {}", point.count(*count), printable(name)))
        .collect();
    let copied = Estimate::of(&point.findings.copied);
    let name =
        point.scenario.as_deref().map_or_else(String::new, |name| format!("{}: ", printable(name)));
    format!(
        "{name}{} flows of {}; entries: {}; {} {}",
        point.count(point.flows),
        figure(point.packet_bytes, Unit::Bytes),
        if tables.is_empty() { "none".to_owned() } else { tables.join(", ") },
        limit(point.findings.io),
        copied
            .map_or_else(|| "not measured".to_owned(), |copied| estimate(&copied, Unit::PerSecond)),
    )
}

/// Returns the table of throughput and latency, with a row for each case.
fn cases(run: &Run<'_>) -> Grid {
    let cases = run
        .points
        .iter()
        .flat_map(|point| point.findings.cases.iter().map(move |case| (point, case)));
    let mut grid = Grid::new(vec![
        Column::left("path"),
        Column::right(heading(run)),
        Column::right("on"),
        Column::right("rate"),
        Column::right("ns/packet"),
        Column::right("p50").rank(1),
        Column::right("p99").rank(2),
        Column::right("p99.9").rank(3),
        Column::right("offered").rank(4),
        Column::right("checked").rank(1),
    ]);
    for (point, case) in cases {
        let Some(rate) = rate(case) else { continue };
        let bad = fault(case).is_some();
        let nanoseconds =
            cost(case).map_or_else(String::new, |cost| format!("{:.1}", cost.mean * 1e9));
        let offered = case.latency.as_ref().map(|latency| figure(latency.offered, Unit::PerSecond));
        grid.row(vec![
            Cell::new(named(case, has_methods(run))),
            Cell::new(point.label()),
            Cell::new(case.cores.to_string()),
            Cell::new(estimate(&rate, Unit::PerSecond)),
            Cell::new(nanoseconds),
            Cell::new(percentile(latency(case), 0.5)),
            Cell::new(percentile(latency(case), 0.99)),
            Cell::new(percentile(latency(case), 0.999)),
            Cell::new(offered.unwrap_or_else(|| "–".to_owned())),
            Cell::painted(checked(case), if bad { Paint::Bad } else { Paint::Plain }),
        ]);
    }
    grid
}

/// Returns the name of a case's execution path, with the update method if the run compares several.
fn named(case: &Case, has_methods: bool) -> String {
    if has_methods {
        format!("{}, {}", path(case), case.method.name())
    } else {
        path(case).to_owned()
    }
}

/// Returns a table of the time until packets see a changed table entry, by update method.
fn methods(run: &Run<'_>) -> Grid {
    let mut grid = Grid::new(vec![
        Column::left("method"),
        Column::right("entries"),
        Column::right("seen p50"),
        Column::right("p99"),
        Column::right("p99.9").rank(1),
        Column::right("changes").rank(1),
    ]);
    for point in run.points {
        for case in &point.findings.cases {
            let Some(found) = &case.seen else { continue };
            grid.row(vec![
                Cell::new(named(case, true)),
                Cell::new(size(point.flows)),
                Cell::new(percentile(Some(found), 0.5)),
                Cell::new(percentile(Some(found), 0.99)),
                Cell::new(percentile(Some(found), 0.999)),
                Cell::new(whole(found.all().len())),
            ]);
        }
    }
    grid
}
