//! Builds the `report.html` of a throughput benchmark: its plots, every case, and the method.

use ::throughput::UpdateMethod;
use ::throughput::ports::Io;
use ::throughput::run::Case;
use statistics::{Estimate, Unit};

use super::findings::findings;
use super::{
    Run, alarms, checked, cost, has_methods, has_scenarios, heading, latency, limit, path,
    percentile, rate, remarks, repetitions, size, stages,
};
use crate::describe::distinct;
use crate::format::{duration, estimate, figure, plural, printable, whole};
use crate::page::{Block, Column, Figure, Page, Table, Text, Tone};
use crate::plot::{Axis, Line, Plot, Point, Style};
use crate::value::Spread;

const DEFINITIONS: [(&str, &str); 5] = [
    (
        "Rate",
        "Packets per second of the processor time of the workers, all of them together: the mean over repetitions with its \
         95 % confidence interval by Student's t. Cases take turns within each repetition.",
    ),
    (
        "Measured part",
        "Packets of random flows lie in memory. Each packet is processed, and its output is copied. Generating \
         packets and checking outputs is not part of the measured time.",
    ),
    (
        "Copying alone",
        "The same loop without a program: each packet is copied from its input to its output buffer.",
    ),
    (
        "Latency",
        "An open loop of one worker: packets become due at a fixed rate, a share of the measured throughput, whether \
         or not earlier packets are done. It is the time from when a packet is due until its output is in place. \
         Bursts of up to 32. Percentiles are means over repetitions with their 95 % confidence intervals; without \
         one where a repetition has no sample beyond, and so the percentile is of all samples together.",
    ),
    (
        "Checked",
        "Share of the measured packets whose output ports and bytes were compared with those of the interpreter for \
         the flow. Outputs that depend on more than the flow cannot be compared while the clock runs; they are \
         compared in a run before.",
    ),
];

/// Returns the `report.html` of a throughput benchmark of a P4 program.
#[must_use]
pub fn document(run: &Run<'_>) -> String {
    page(run).html()
}

/// Returns the report page of a throughput benchmark of a P4 program.
#[must_use]
pub fn page(run: &Run<'_>) -> Page {
    let title = format!("How fast {} runs", printable(run.program));
    let mut page = Page::of_run(run.provenance, "P4 programs", title);
    page.fact(repetitions(run.settings.repetitions, run.settings.time));
    page.fact(format!("seed {}", run.settings.seed));
    page.fact(format!("flows drawn {}", super::drawn(run.settings.skew)));
    page.raise(alarms(run));
    let found = findings(run).into_iter().map(Text::from).collect();
    page.lead(Block::Card(Tone::Good, found));
    page.lead(Block::Notes(remarks(run)));
    if run.points.len() > 1 && !has_scenarios(run) {
        page.section("figures", "Figures", vec![Block::Figures(vec![rates(run), latencies(run)])]);
    }
    page.section("cases", "All cases", vec![all(run)]);
    page.section("stages", "Where the time goes", vec![parts(run)]);
    page.section("traffic", "Traffic", vec![traffic(run)]);
    let files = [
        ("result.json", "everything here, by a versioned schema"),
        ("cases.csv", "a row for each case"),
        ("histograms/", "latencies by case: .hlog (nanoseconds), .hgrm (microseconds)"),
    ];
    page.method(Vec::new(), Some(&run.provenance.host), DEFINITIONS, files);
    page
}

fn cases<'a>(run: &Run<'a>) -> impl Iterator<Item = (&'a super::Point, &'a Case)> + use<'a> {
    run.points.iter().flat_map(|point| point.findings.cases.iter().map(move |case| (point, case)))
}

/// Returns the plot of throughput against the number of table entries.
fn rates(run: &Run<'_>) -> Figure {
    let name =
        |case: &Case| format!("{}, {}", named(case), plural(case.cores as u64, "core", "cores"));
    let names = distinct(cases(run).map(|(_, case)| name(case)));
    let mut lines: Vec<Line> = names
        .into_iter()
        .enumerate()
        .map(|(hue, text)| {
            let points = cases(run).filter(|(_, case)| name(case) == text);
            let points = points.filter_map(|(point, case)| drawn(&text, point.flows, rate(case)?));
            Line::new(text.clone(), points.collect(), Style::series(hue).filled())
        })
        .collect();
    let copied = run.points.iter().filter_map(|point| {
        drawn(limit(point.findings.io), point.flows, Estimate::of(&point.findings.copied)?)
    });
    let io = run.points.first().map_or(Io::Memory, |point| point.findings.io);
    lines.push(Line::new(limit(io), copied.collect(), Style::guide()));
    let plot = Plot::new(
        "Throughput against entries",
        "Packets per second against the number of entries, by path and cores, and of a loop that only copies packets.",
        Axis::binary("entries"),
        Axis::logarithmic("packets per second, all cores", Unit::PerSecond),
    );
    let remark = "Dotted: each packet copied in and out, and nothing else.";
    Figure::plot(Plot { lines, ..plot }, remark)
}

/// Returns the name of the execution path that a case measures, such as machine code, followed by
/// the update method unless that is the default.
fn named(case: &Case) -> String {
    match case.method {
        UpdateMethod::Pointer => path(case).to_owned(),
        method => format!("{}, {}", path(case), method.name()),
    }
}

/// Returns the plot of latencies on one core against the number of table entries.
fn latencies(run: &Run<'_>) -> Figure {
    let timed = || cases(run).filter(|(_, case)| case.latency.is_some());
    let mut lines = Vec::new();
    for (hue, text) in distinct(timed().map(|(_, case)| named(case))).into_iter().enumerate() {
        for (share, which) in [(0.5, "p50"), (0.99, "p99")] {
            let points = timed().filter(|(_, case)| named(case) == text);
            let points = points.filter_map(|(point, case)| {
                let found = latency(case)?.percentile(share)?;
                Some(Point {
                    x: point.flows as f64,
                    y: found.mean,
                    spread: Spread::of(&found, Unit::Seconds),
                    tip: Some(format!(
                        "{text}, {which}, {} entries: {}",
                        size(point.flows),
                        estimate(&found, Unit::Seconds)
                    )),
                })
            });
            let style = Style { dashed: which == "p99", ..Style::series(hue) };
            let style = if style.dashed { style } else { style.filled() };
            lines.push(Line::new(format!("{text}, {which}"), points.collect(), style));
        }
    }
    let plot = Plot::new(
        "Latency against entries, one core",
        "The time from when a packet is due until its output is in place, against the number of entries.",
        Axis::binary("entries"),
        Axis::logarithmic("latency from due", Unit::Seconds),
    );
    let load = figure(run.settings.load, Unit::Fraction);
    Figure::plot(Plot { lines, ..plot }, format!("Offered: {load} of the measured throughput."))
}

/// Returns a table of the cycles that a packet spends in each stage of the program.
fn parts(run: &Run<'_>) -> Block {
    let columns = [
        Column::figures(heading(run)),
        Column::words("method"),
        Column::figures("parser, with the packet's copy"),
        Column::figures("tables, actions, deparser"),
        Column::figures("around both"),
        Column::figures("table access, share of all"),
    ];
    let caption = "Cycles of the processor's counter for a packet of the compiled program on one core; the share of \
                   its time that is saved when every packet uses the same entry of each table, without a lookup";
    let mut table = Table::new(caption, columns);
    stages(run).into_iter().for_each(|row| table.row(row));
    Block::Table(table)
}

fn drawn(name: &str, entries: usize, found: Estimate) -> Option<Point> {
    Some(Point {
        x: entries as f64,
        y: found.mean,
        spread: Spread::of(&found, Unit::PerSecond),
        tip: Some(format!(
            "{name}, {} entries: {}",
            size(entries),
            estimate(&found, Unit::PerSecond)
        )),
    })
}

/// Returns a table with a row for each case that has rates.
fn all(run: &Run<'_>) -> Block {
    let with_methods = has_methods(run);
    let seen: &[&str] = if with_methods { &["seen p50", "seen p99"] } else { &[] };
    let mut columns = vec![Column::words("path")];
    columns.extend(with_methods.then(|| Column::words("method")));
    let names = [heading(run), "cores", "rate", "cost", "offered", "p50", "p99", "p99.9"];
    let last = ["checked", "wrong", "errors", "loading", "code"];
    columns.extend(names.iter().chain(seen).chain(&last).copied().map(Column::figures));
    let mut table = Table::new("", columns);
    let text = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    for (point, case) in cases(run).filter(|(_, case)| !case.rates.is_empty()) {
        let compiled = case.code_bytes > 0;
        let mut row = vec![path(case).to_owned()];
        row.extend(with_methods.then(|| case.method.name().to_owned()));
        row.extend([
            point.label(),
            case.cores.to_string(),
            text(rate(case).map(|rate| estimate(&rate, Unit::PerSecond))),
            text(cost(case).map(|cost| estimate(&cost, Unit::Seconds))),
            text(case.latency.as_ref().map(|latency| figure(latency.offered, Unit::PerSecond))),
            percentile(latency(case), 0.5),
            percentile(latency(case), 0.99),
            percentile(latency(case), 0.999),
        ]);
        if with_methods {
            row.extend([0.5, 0.99].map(|share| percentile(case.seen.as_ref(), share)));
        }
        row.extend([
            checked(case),
            whole(case.counts.wrong),
            whole(case.counts.errors),
            text(compiled.then(|| duration(case.loading.as_secs_f64()))),
            text(compiled.then(|| figure(case.code_bytes as f64, Unit::Bytes))),
        ]);
        table.row(row);
    }
    Block::Table(table)
}

fn traffic(run: &Run<'_>) -> Block {
    let mut columns = vec![
        Column::figures("flows"),
        Column::figures("packet"),
        Column::figures("flows that leave"),
        Column::words("entries"),
        Column::figures("copying alone"),
    ];
    let with_scenarios = has_scenarios(run);
    if with_scenarios {
        columns.insert(0, Column::words(heading(run)));
    }
    let mut table = Table::new("", columns);
    for point in run.points {
        let tables: Vec<String> = point
            .entries
            .iter()
            .map(|(name, count)| format!("{}: {}", printable(name), whole(*count as u64)))
            .collect();
        let copied = Estimate::of(&point.findings.copied);
        let mut row: Vec<String> = with_scenarios.then(|| point.label()).into_iter().collect();
        row.extend([
            size(point.flows),
            figure(point.packet_bytes, Unit::Bytes),
            whole(point.leaving as u64),
            tables.join(", "),
            copied.map_or_else(String::new, |copied| estimate(&copied, Unit::PerSecond)),
        ]);
        table.row(row);
    }
    Block::Table(table)
}
