//! Prints a sweep of a controller benchmark as a table with a row for each point.

use probe::outcome::{Completion, Point};
use statistics::Unit;

use super::{Cell, Column, Grid, Layout, Paint, paint_of};
use crate::estimates::{UNBOUNDED_MEANS, mark, metric, usable};
use crate::format::{estimate, optional, setting, whole};
use crate::{describe, verdict};

/// Returns the table of a sweep, with a row for each point.
pub(super) fn of(points: &[Point], layout: Layout) -> String {
    // Protocol and mode stay the same over many rows, so they stand in a heading above these rows.
    let kinds = describe::distinct(points.iter().map(kind));
    let trials = describe::distinct(points.iter().map(|p| usable(p).count()));
    let shown = Shown {
        each: points.iter().any(|p| p.rate_per_switch.is_some()),
        // With a single switch, the offered rate equals the rate per switch.
        offered: points.iter().any(|p| p.offered_rate.is_some() && p.switches > 1),
        window: points.iter().any(|p| p.window.is_some()),
        trials: trials.len() > 1,
        unsent: points.iter().any(|p| p.trials.iter().any(|trial| trial.counts.unsent > 0)),
    };
    // A column without a title has empty cells and takes no space.
    let title = |shown: bool, title: &'static str| if shown { title } else { "" };
    let mut grid = Grid::new(vec![
        Column::right("switches"),
        Column::right(title(shown.each, "each")),
        Column::right(title(shown.window, "window")),
        Column::right(title(shown.offered, "offered")).rank(3),
        Column::right("sent").rank(8),
        Column::right("received"),
        Column::right("loss"),
        Column::right(title(shown.unsent, "unsent")),
        Column::right("RTT mean").rank(4),
        Column::right("RTT p50").rank(6),
        Column::right("RTT p99"),
        Column::right("lag p99").rank(5),
        Column::right("CPU").rank(2),
        Column::right("probe CPU").rank(7),
        Column::right(title(shown.trials, "n")).rank(1),
        Column::left("limit"),
    ]);
    for name in &kinds {
        if kinds.len() > 1 {
            grid.section(name.as_str());
        }
        for point in points.iter().filter(|p| kind(p) == *name) {
            grid.row(row(point, &shown));
        }
    }
    let n = match trials.as_slice() {
        [1] => "one trial each (no CI)".to_owned(),
        [n] => format!("mean ± 95 % CI of {n} trials"),
        _ => "mean ± 95 % CI of n trials".to_owned(),
    };
    let explained = format!("Points: {n}; RTT from due; CPU in percent of one core");
    let mut out = String::from("\n");
    out.push_str(&layout.paragraph("", &explained, Paint::Strong));
    out.push_str(&grid.render(layout));
    if points.iter().any(|point| !mark(point, "p99").is_empty()) {
        out.push_str(&layout.paragraph("  ", UNBOUNDED_MEANS, Paint::Plain));
    }
    out.push_str(&failures(points, layout));
    out
}

/// The optional columns of the table of a sweep, each with whether it is shown.
struct Shown {
    each: bool,
    offered: bool,
    window: bool,
    trials: bool,
    unsent: bool,
}

fn kind(point: &Point) -> String {
    format!("{}, {}", describe::protocol(&point.protocol), describe::mode(&point.mode))
}

fn row(point: &Point, shown: &Shown) -> Vec<Cell> {
    let mean = |name: &str, unit| optional(metric(point, name).map(|e| e.mean), unit);
    let interval = |name: &str, unit| {
        metric(point, name).map_or_else(|| "–".to_owned(), |e| estimate(e, unit))
    };
    let requested = |rate: Option<f64>| {
        rate.map_or_else(|| "–".to_owned(), |rate| setting(rate, Unit::PerSecond))
    };
    let verdict = verdict::of_point(point);
    let cell = |shown: bool, text: String| Cell::new(if shown { text } else { String::new() });
    vec![
        Cell::new(whole(u64::from(point.switches))),
        cell(shown.each, requested(point.rate_per_switch)),
        cell(shown.window, point.window.map_or_else(|| "–".to_owned(), |w| w.to_string())),
        cell(shown.offered, requested(point.offered_rate)),
        Cell::new(mean("sent_rate", Unit::PerSecond)),
        Cell::new(interval("received_rate", Unit::PerSecond)),
        Cell::new(mean("loss", Unit::Fraction)),
        cell(shown.unsent, mean("unsent", Unit::Count)),
        Cell::new(interval("rtt.mean", Unit::Seconds) + mark(point, "mean")),
        Cell::new(mean("rtt.p50", Unit::Seconds) + mark(point, "p50")),
        Cell::new(mean("rtt.p99", Unit::Seconds) + mark(point, "p99")),
        Cell::new(mean("lag.p99", Unit::Seconds)),
        Cell::new(mean("controller.cpu", Unit::CpuPercent)),
        Cell::new(mean("probe.cpu", Unit::CpuPercent)),
        cell(shown.trials, usable(point).count().to_string()),
        Cell::painted(verdict.short(), paint_of(verdict.side)),
    ]
}

/// Returns a line for each trial of a sweep that failed or was cut short.
fn failures(points: &[Point], layout: Layout) -> String {
    let mut out = String::new();
    for point in points {
        let place = describe::place(point, points);
        for trial in &point.trials {
            if let Some((state, reason)) = describe::incomplete(&trial.completion) {
                let place = format!("{place}, trial {}", trial.repetition);
                let text = match &trial.completion {
                    Completion::Failed { .. } => format!("{place} failed: {reason}"),
                    _ => format!("{place} is {}: {reason}", state.to_lowercase()),
                };
                out.push_str(&layout.paragraph("  ", &text, Paint::Bad));
            }
        }
        let missing =
            point.trials.iter().map(|t| t.handshake.wanted.saturating_sub(t.handshake.ready)).max();
        if let Some(missing) = missing.filter(|m| *m > 0) {
            let text = format!(
                "{place}: {} of {} switches never became ready",
                whole(u64::from(missing)),
                whole(u64::from(point.switches)),
            );
            out.push_str(&layout.paragraph("  ", &text, Paint::Bad));
        }
    }
    out
}
