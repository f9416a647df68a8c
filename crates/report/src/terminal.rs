//! Prints the result of a controller benchmark as a table on the terminal.
//!
//! A single point is shown with all its figures, and a sweep with a row for each point. Nothing is
//! wider than the terminal: columns that do not fit are left out, the least important first, and
//! text is wrapped.

mod detail;
pub(crate) mod grid;
pub(crate) mod layout;
mod sweep;

use probe::outcome::{RunResult, Saturated};
use statistics::Unit;

use crate::alarm::{self, Alarm};
use crate::format::{capital, duration, optional, printable};
use crate::{describe, verdict};
pub(crate) use grid::{Cell, Column, Grid, Paint, wrap};
pub use layout::Layout;

/// Formats the result of a controller benchmark as text that fits the terminal: one row for each
/// point of a sweep, or all details of a single point. The text ends with a newline.
#[must_use]
pub fn table(result: &RunResult, layout: Layout) -> String {
    let mut out = head(result, layout);
    match result.points.as_slice() {
        [] => {}
        [point] => out.push_str(&detail::of(point, layout)),
        points => out.push_str(&sweep::of(points, layout)),
    }
    out.push_str(&search(result, layout));
    out.push_str(&thresholds(result, layout));
    let notes = describe::notes(result);
    if !notes.is_empty() {
        out.push_str(&layout.heading("Notes"));
        for note in notes {
            out.push_str(&layout.paragraph("  - ", &note, Paint::Plain));
        }
    }
    out
}

/// Formats the lines above the figures: what was measured, whether the run is complete, and whether
/// the controller, the probe or the network was the limit.
fn head(result: &RunResult, layout: Layout) -> String {
    let mut out = layout.paragraph("", &capital(&describe::run(result)), Paint::Strong);
    let mut facts = vec![
        format!("controller {}", printable(&result.controller.address)),
        describe::effort(result),
        format!(
            "{}, took {}",
            printable(&result.provenance.started_at),
            duration(result.provenance.elapsed_s)
        ),
    ];
    facts.retain(|fact| !fact.is_empty());
    out.push_str(&layout.paragraph("", &facts.join("; "), Paint::Plain));
    let alarms: Vec<Alarm> =
        describe::alarms(result).into_iter().chain(alarm::missing(&result.provenance)).collect();
    if !alarms.is_empty() {
        out.push('\n');
        out.push_str(&alarm::text(&alarms, layout));
    }
    if let Some(verdict) = verdict::of_run(result) {
        out.push('\n');
        // Below an alarm nothing is shown as good news.
        let paint = match paint_of(verdict.side) {
            Paint::Good if !alarms.is_empty() => Paint::Plain,
            paint => paint,
        };
        out.push_str(&layout.paragraph("Verdict  ", &verdict.sentence, paint));
        for sentence in &verdict.further {
            out.push_str(&layout.paragraph("         ", sentence, Paint::Plain));
        }
    }
    out
}

fn search(result: &RunResult, layout: Layout) -> String {
    let Some(search) = &result.search else { return String::new() };
    let mut grid = Grid::new(vec![Column::left("").indent(2), Column::right(""), Column::left("")]);
    for describe::SearchRow { name, value, remark } in describe::search(search) {
        grid.row(vec![
            Cell::new(name),
            Cell::new(optional(value, Unit::PerSecond)),
            Cell::new(remark),
        ]);
    }
    let mut out = layout.heading("Search, all switches together");
    out.push_str(&grid.render(layout));
    if !search.loss_free_method.is_empty() {
        let method = printable(&search.loss_free_method);
        out.push_str(&layout.paragraph("  ", &method, Paint::Plain));
    }
    if !search.knee_method.is_empty() {
        out.push_str(&layout.paragraph(
            "  ",
            &format!("Knee: {}", printable(&search.knee_method)),
            Paint::Plain,
        ));
    }
    if search.limited_by_probe {
        let text = "The probe was the limit at the highest point: the controller may take more.";
        out.push_str(&layout.paragraph("  ", text, Paint::Bad));
    }
    out
}

fn thresholds(result: &RunResult, layout: Layout) -> String {
    if result.thresholds.is_empty() {
        return String::new();
    }
    let several = result.points.len() > 1;
    let mut columns =
        vec![Column::left("").indent(2), Column::left("condition"), Column::right("measured")];
    // A column without content takes no space.
    columns.push(Column::left(""));
    if several {
        columns.push(Column::left("point"));
    }
    let mut grid = Grid::new(columns);
    for threshold in &result.thresholds {
        let (word, paint) = match (threshold.held, threshold.testable) {
            (true, _) => ("pass", Paint::Good),
            (false, true) => ("FAIL", Paint::Bad),
            (false, false) => ("UNTESTABLE", Paint::Bad),
        };
        let mut row = vec![
            Cell::painted(word, paint),
            Cell::new(printable(&threshold.condition)),
            Cell::new(describe::threshold_value(&threshold.condition, threshold.value)),
            Cell::new(threshold.remark.as_deref().map_or_else(String::new, printable)),
        ];
        if several {
            row.push(Cell::new(printable(&threshold.point)));
        }
        grid.row(row);
    }
    let count = |testable| {
        result.thresholds.iter().filter(|one| !one.held && one.testable == testable).count()
    };
    let all = result.thresholds.len();
    let heading = match (count(true), count(false)) {
        (0, 0) => "Thresholds: all held".to_owned(),
        (broken, 0) => format!("Thresholds: {broken} of {all} broken"),
        (0, untestable) => format!("Thresholds: {untestable} of {all} cannot be tested"),
        (broken, untestable) => {
            format!("Thresholds: {broken} of {all} broken, {untestable} cannot be tested")
        }
    };
    layout.heading(&heading) + &grid.render(layout)
}

pub(crate) fn paint_of(side: Saturated) -> Paint {
    match side {
        Saturated::Neither => Paint::Good,
        Saturated::Controller => Paint::Plain,
        Saturated::Unknown | Saturated::Network => Paint::Warn,
        Saturated::Probe => Paint::Bad,
    }
}
