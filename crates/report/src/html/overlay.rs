//! Shows several controller benchmarks in one page, with their lines in the same plots.
//!
//! The P4RCProbe paper compares two protocols in one plot (Fig. 4c, 6a, 6b), and this also suits a
//! comparison of versions of a controller. Every run keeps a paragraph that states what was
//! measured and whether the controller, the probe or the network was the limit, since the plots do
//! not show it.

use probe::config::Load;
use probe::outcome::RunResult;
use statistics::Unit;

use super::tables::{self, Links};
use super::{against, course};
use crate::alarm::Alarm;
use crate::compare::Candidate;
use crate::describe;
use crate::estimates::{Kind, usable};
use crate::format::{capital, duration, printable};
use crate::notes::notes;
use crate::page::{Block, Figure, Note, Page, Text};
use crate::plot::{Axis, Line, Plot, Style, spans_decades};
use crate::verdict;

/// Returns the page that shows several controller benchmarks.
pub(crate) fn page(runs: &[Candidate<'_>]) -> Page {
    let mut loads = runs.iter().map(|run| Load::of(&run.result.configuration));
    let load = loads.next().unwrap_or_default();
    // If the runs have different kinds of load, the page uses the words for packet-ins.
    let load = if loads.all(|other| other == load) { load } else { Load::PacketIn };
    let mut page = Page::new(
        "Planimeter · controller benchmarks",
        format!("{} runs side by side", runs.len()),
    );
    for run in runs {
        about(&mut page, run);
    }
    let results: Vec<&RunResult> = runs.iter().map(|run| run.result).collect();
    let names: Vec<&str> = runs.iter().map(|run| run.name).collect();
    let mut figures = against::figures(&results, &names);
    figures.extend(percentiles(runs));
    page.section("figures", "Figures", vec![super::figures(figures, load)]);
    let mut points = Vec::new();
    for run in runs {
        points.push(Block::Heading(printable(run.name)));
        points.extend(tables::of_sweep(&run.result.points, Links::None));
    }
    page.section("tables", "Points", points);
    page
}

/// Adds a paragraph about one run to a page: what was measured, whether it is complete, and whether
/// the controller, the probe or the network was the limit.
fn about(page: &mut Page, run: &Candidate<'_>) {
    let result = run.result;
    page.lead(Block::Heading(printable(run.name)));
    page.lead(Block::Paragraph(capital(&describe::run(result)).into()));
    let facts = Text::from("Controller ")
        .and(Text::strong(printable(&result.controller.address)))
        .and(format!(
            " · {} · started {}, took {}",
            describe::effort(result),
            printable(&result.provenance.started_at),
            duration(result.provenance.elapsed_s),
        ));
    page.lead(Block::Remark(facts));
    let alarms = describe::alarms(result).into_iter();
    page.raise(alarms.map(|alarm| {
        let text = format!("{}: {}", printable(run.name), alarm.text);
        Alarm { text, ..alarm }
    }));
    if let Some(verdict) = verdict::of_run(result) {
        page.lead(Block::Paragraph(verdict.sentence.into()));
    }
    page.lead(Block::Notes(notes(result).into_iter().map(Note::plain).collect()));
}

/// Returns a plot of round-trip times by percentile for several runs, if each has a single point.
fn percentiles(runs: &[Candidate<'_>]) -> Option<Figure> {
    let mut lines: Vec<Line> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let [point] = run.result.points.as_slice() else { return None };
        usable(point).next()?;
        let name = format!("{}, {}", printable(run.name), describe::point(point));
        lines.push(course::pooled(point, Kind::FromDue, &name, Style::series(number)));
    }
    let values = || lines.iter().flat_map(|line| line.points.iter().map(|dot| dot.y));
    let y = match spans_decades(values().filter(|y| *y > 0.0)) {
        true => Axis::logarithmic("round-trip time", Unit::Seconds),
        false => Axis::linear("round-trip time", Unit::Seconds),
    };
    let plot = Plot {
        lines,
        ..Plot::new(
            "Round-trip time by percentile",
            "A line for each run.",
            Axis::quantile("percentile"),
            y,
        )
    };
    Some(Figure::plot(plot, "From due to answered; all trials of a run together."))
}
