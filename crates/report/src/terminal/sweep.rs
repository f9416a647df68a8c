//! A row per point.

use probe::metrics::Unit;
use probe::outcome::{Completion, Point};

use super::{Cell, Column, Grid, Layout, Paint, paint_of};
use crate::estimates::{metric, usable};
use crate::format::{estimate, figure, optional, whole};
use crate::{describe, verdict};

/// The rows of a sweep.
pub(super) fn of(points: &[Point], layout: Layout) -> String {
    let several = |values: Vec<String>| values.len() > 1;
    let protocols = several(describe::distinct(points.iter().map(|p| p.protocol.clone())));
    let modes = several(describe::distinct(points.iter().map(|p| p.mode.clone())));
    let trials = describe::distinct(points.iter().map(|p| usable(p).count()));
    let windows = points.iter().any(|p| p.window.is_some());
    // A column that says the same in every row, or nothing, is left away.
    let offered = points.iter().any(|p| p.offered_rate.is_some());
    let columns = vec![
        Column::left(if protocols { "protocol" } else { "" }),
        Column::left(if modes { "mode" } else { "" }),
        Column::right("switches"),
        Column::right(if offered { "each" } else { "" }),
        Column::right(if windows { "window" } else { "" }),
        Column::right(if offered { "offered" } else { "" }).rank(4),
        Column::right("sent").rank(7),
        Column::right("received"),
        Column::right("loss"),
        Column::right("RTT mean").rank(5),
        Column::right("p50").rank(6),
        Column::right("p99"),
        Column::right("lag p99").rank(3),
        Column::right("CPU").rank(2),
        Column::right("probe").rank(8),
        Column::right(if trials.len() > 1 { "n" } else { "" }).rank(1),
        Column::left("limit"),
    ];
    let mut grid = Grid::new(columns);
    for point in points {
        grid.row(row(point, protocols, modes, offered, windows, trials.len() > 1));
    }
    let n = match trials.as_slice() {
        [1] => "one trial each, so without confidence intervals".to_owned(),
        [n] => format!("mean ± 95 % confidence interval over {n} trials"),
        _ => "mean ± 95 % confidence interval over n trials".to_owned(),
    };
    let explained =
        format!("Points ({n}; RTT from due; CPU of the controller in percent of one core)");
    let mut out = String::from("\n");
    out.push_str(&layout.paragraph("", &explained, Paint::Strong));
    out.push_str(&grid.render(layout));
    out.push_str(&failures(points, layout));
    out
}

fn row(
    point: &Point,
    protocols: bool,
    modes: bool,
    offered: bool,
    windows: bool,
    counted: bool,
) -> Vec<Cell> {
    let mean = |name: &str, unit| optional(metric(point, name).map(|e| e.mean), unit);
    let verdicts = verdict::of_point(point);
    let n = usable(point).count();
    let text = |shown: bool, text: String| Cell::new(if shown { text } else { String::new() });
    vec![
        text(protocols, describe::protocol(&point.protocol)),
        text(modes, describe::mode(&point.mode)),
        Cell::new(whole(u64::from(point.switches))),
        text(offered, optional(point.rate_per_switch, Unit::PerSecond)),
        text(windows, point.window.map_or_else(|| "–".to_owned(), |w| w.to_string())),
        text(offered, optional(point.offered_rate, Unit::PerSecond)),
        Cell::new(mean("sent_rate", Unit::PerSecond)),
        Cell::new(
            metric(point, "received_rate")
                .map_or_else(|| "–".to_owned(), |e| estimate(e, Unit::PerSecond)),
        ),
        Cell::new(mean("loss", Unit::Fraction)),
        Cell::new(
            metric(point, "rtt.mean")
                .map_or_else(|| "–".to_owned(), |e| estimate(e, Unit::Seconds)),
        ),
        Cell::new(mean("rtt.p50", Unit::Seconds)),
        Cell::new(mean("rtt.p99", Unit::Seconds)),
        Cell::new(mean("lag.p99", Unit::Seconds)),
        Cell::new(mean("controller.cpu", Unit::CpuPercent)),
        Cell::new(mean("probe.cpu", Unit::CpuPercent)),
        text(counted, n.to_string()),
        Cell::painted(verdicts.short(), paint_of(verdicts.worst().0)),
    ]
}

/// Trials that failed or were cut short.
fn failures(points: &[Point], layout: Layout) -> String {
    let mut out = String::new();
    for point in points {
        for trial in &point.trials {
            if let Some((state, reason)) = describe::incomplete(&trial.completion) {
                let place = format!("{}, trial {}", describe::point(point), trial.repetition);
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
                "{}: {} of {} switches never became ready",
                describe::point(point),
                figure(f64::from(missing), Unit::Count),
                whole(u64::from(point.switches)),
            );
            out.push_str(&layout.paragraph("  ", &text, Paint::Bad));
        }
    }
    out
}
