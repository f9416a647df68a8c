//! Prints all figures of a single point of a controller benchmark.

use probe::outcome::{HandshakeOutcome, Point};
use statistics::Unit;

use super::{Cell, Column, Grid, Layout, Paint};
use crate::describe;
use crate::estimates::{self, STATISTICS, UNBOUNDED, UNBOUNDED_MEANS, metric, usable};
use crate::format::{estimate, figure, optional, plural, printable, whole};
use crate::put::put;

/// Returns all figures of a single point as text.
pub(super) fn of(point: &Point, layout: Layout) -> String {
    let n = usable(point).count();
    let mut out = String::new();
    for trial in &point.trials {
        if let Some((state, reason)) = describe::incomplete(&trial.completion) {
            // If the run has a single trial, the sentence above the figures states this already.
            if point.trials.len() > 1 {
                let text = format!("Trial {} {}: {reason}", trial.repetition, state.to_lowercase());
                out.push_str(&layout.paragraph("", &text, Paint::Bad));
            }
        }
    }
    if n > 0 {
        out.push_str(&rates(point, n, layout));
        out.push_str(&times(point, n, layout));
        out.push_str(&counts(point, n, layout));
    }
    out.push_str(&ranks(point, layout));
    out.push_str(&handshake(point, layout));
    out
}

/// Returns a table with the share of each rank in the work, or an empty text if a single process
/// had all switches. Ranks are the processes that share the switches of a point.
fn ranks(point: &Point, layout: Layout) -> String {
    let Some((trial, rows)) = describe::ranks(point) else { return String::new() };
    let [first, others @ ..] = describe::RANK_COLUMNS;
    let columns = others.map(|(name, _)| Column::right(name));
    let columns = std::iter::once(Column::left(first.0).indent(2)).chain(columns).collect();
    let mut grid = Grid::new(columns);
    for row in rows {
        grid.row(row.map(Cell::new).into());
    }
    layout.heading(&format!("Ranks, trial {trial}")) + &grid.render(layout)
}

fn rates(point: &Point, n: usize, layout: Layout) -> String {
    let several = n > 1;
    let mut columns = vec![
        Column::left("").indent(2),
        Column::right(if several { "mean ± 95 % CI" } else { "" }),
    ];
    if several {
        columns.extend([Column::right("least"), Column::right("most"), Column::right("n")]);
    }
    let mut grid = Grid::new(columns);
    for (name, value, unit) in estimates::rates(point) {
        let mut cells = vec![Cell::new(name), Cell::new(estimate(value, unit))];
        if several {
            cells.extend([
                Cell::new(figure(value.min, unit)),
                Cell::new(figure(value.max, unit)),
                Cell::new(value.n.to_string()),
            ]);
        }
        grid.row(cells);
    }
    let heading = if several {
        format!("Rates and load, over {n} trials; CPU in percent of one core")
    } else {
        "Rates and load, one trial (no confidence interval); CPU in percent of one core".to_owned()
    };
    layout.heading(&heading) + &grid.render(layout)
}

fn times(point: &Point, n: usize, layout: Layout) -> String {
    let kinds = estimates::kinds(point);
    if kinds.is_empty() {
        return String::new();
    }
    let mut columns = vec![Column::left("").indent(2)];
    columns.extend(kinds.iter().map(|(_, name)| Column::right(*name)));
    let mut grid = Grid::new(columns);
    for statistic in STATISTICS {
        let mut row = vec![Cell::new(statistic.name)];
        row.extend(kinds.iter().map(|(kind, _)| {
            let mark = if kind.is_unbounded(point, statistic) { UNBOUNDED } else { "" };
            Cell::new(
                kind.estimate(point, statistic)
                    .map_or_else(|| "–".to_owned(), |e| estimate(&e, Unit::Seconds) + mark),
            )
        }));
        grid.row(row);
    }
    let mut row = vec![Cell::painted("samples", Paint::Faint)];
    row.extend(kinds.iter().map(|(kind, _)| {
        let samples = match kind.is_of_packets() {
            true => whole(kind.samples(point)),
            false => "any time".to_owned(),
        };
        Cell::painted(samples, Paint::Faint)
    }));
    grid.row(row);
    let is_missing = kinds.iter().any(|(kind, _)| kind.missing(point) > 0);
    if is_missing {
        let mut row = vec![Cell::painted("missing", Paint::Warn)];
        row.extend(kinds.iter().map(|(kind, _)| match kind.is_of_packets() {
            true => Cell::painted(whole(kind.missing(point)), Paint::Warn),
            false => Cell::new(""),
        }));
        grid.row(row);
    }
    let of = if n > 1 { format!(", mean ± 95 % CI over {n} trials") } else { String::new() };
    let mut out = layout.heading(&format!("Times{of}")) + &grid.render(layout);
    if kinds.iter().any(|(kind, _)| STATISTICS.iter().any(|s| kind.is_unbounded(point, *s))) {
        out.push_str(&layout.paragraph("  ", UNBOUNDED_MEANS, Paint::Plain));
    }
    out
}

/// Formats the counts of a point over its `n` trials as a paragraph, because a list would take too
/// many lines.
fn counts(point: &Point, n: usize, layout: Layout) -> String {
    let counts = estimates::counts(point).into_iter();
    let text: Vec<_> = counts.map(|(name, value)| format!("{name} {}", whole(value))).collect();
    let of = if n > 1 { format!(", sum of {n} trials") } else { String::new() };
    layout.heading(&format!("Counts{of}")) + &layout.paragraph("  ", &text.join(", "), Paint::Plain)
}

/// Returns a line on how many switches of a point became ready. If some did not, it states at which
/// step they stopped.
fn handshake(point: &Point, layout: Layout) -> String {
    let at_end = |handshake: &HandshakeOutcome| handshake.ready_at_end.unwrap_or(handshake.ready);
    let worst = point.trials.iter().map(|t| &t.handshake).min_by_key(|h| (h.ready, at_end(h)));
    let Some(worst) = worst else {
        return String::new();
    };
    let after = optional(metric(point, "ready_after").map(|e| e.mean), Unit::Seconds);
    let mut out = layout.heading("Handshake");
    let mut text =
        format!("{} of {} switches ready", whole(worst.ready.into()), whole(worst.wanted.into()));
    if metric(point, "ready_after").is_some() {
        put!(text, " after {after}");
    }
    // The controller may have closed some connections after their handshake.
    if at_end(worst) < worst.ready {
        put!(text, ", {} of them still at the end", whole(at_end(worst).into()));
    }
    let complete = worst.ready.min(at_end(worst)) >= worst.wanted;
    out.push_str(&layout.paragraph("  ", &text, if complete { Paint::Plain } else { Paint::Bad }));
    if !complete {
        for (stage, switches) in &worst.stages {
            let text = format!("{} got as far as: {}", whole((*switches).into()), printable(stage));
            out.push_str(&layout.paragraph("  - ", &text, Paint::Plain));
        }
    }
    for (error, switches) in &worst.errors {
        let switches = plural((*switches).into(), "switch", "switches");
        let text = format!("{switches}: {}", printable(error));
        out.push_str(&layout.paragraph("  - ", &text, Paint::Plain));
    }
    out
}
