//! Several runs in one page: their figures in the same plots.
//!
//! The P4RCProbe paper sets both protocols into one plot (its Fig. 4c, 6a and 6b), and a
//! controller's versions are best seen that way too. Every run keeps a paragraph with what was
//! measured and which side was the limit, since a line in a plot does not say that.

use probe::config::Load;
use probe::metrics::Unit;
use probe::outcome::RunResult;

use super::figure::{self, Data, Figure, Numbering};
use super::tables::{self, Links};
use super::{END, Page, against, course, escape, head, section};
use crate::compare::Candidate;
use crate::describe;
use crate::estimates::{Kind, usable};
use crate::format::{capital, duration, printable};
use crate::notes::notes;
use crate::plot::{Axis, Line, Plot, Style, spans_decades};
use crate::put::put;
use crate::verdict;

/// The page of several runs.
pub(crate) fn page(runs: &[Candidate<'_>]) -> Page {
    let mut loads = runs.iter().map(|run| Load::of(&run.result.configuration));
    let load = loads.next().unwrap_or_default();
    // Runs of several loads have the words of packet-ins.
    let load = if loads.all(|other| other == load) { load } else { Load::PacketIn };
    let mut numbering = Numbering::of(load);
    let mut out = head("Runs side by side");
    out.push_str("<header>\n<p class=\"kicker\">Planimeter · controller benchmarks</p>\n");
    put!(out, "<h1>{} runs side by side</h1>\n", runs.len());
    for run in runs {
        out.push_str(&paragraph(run));
    }
    out.push_str("</header>\n<main>\n");
    let results: Vec<&RunResult> = runs.iter().map(|run| run.result).collect();
    let names: Vec<&str> = runs.iter().map(|run| run.name).collect();
    let mut figures = against::figures(&results, &names);
    figures.extend(percentiles(runs));
    section(&mut out, "figures", "Figures", &figure::row(figures, &mut numbering));
    let mut points = String::new();
    for run in runs {
        put!(points, "<h3>{}</h3>\n", escape(&printable(run.name)));
        points.push_str(&tables::of_sweep(&run.result.points, Links::None));
    }
    section(&mut out, "tables", "Points", &points);
    out.push_str(END);
    Page { html: out, figures: numbering.into_drawn() }
}

/// What was measured, whether all of it, and which side was the limit.
fn paragraph(run: &Candidate<'_>) -> String {
    let result = run.result;
    let mut out = format!(
        "<h2>{}</h2>\n<p>{}</p>\n<p class=\"facts\">Controller <b>{}</b> · {} · started {}, \
         took {}</p>\n",
        escape(&printable(run.name)),
        escape(&capital(&describe::run(result))),
        escape(&printable(&result.controller.address)),
        escape(&describe::effort(result)),
        escape(&printable(&result.started_at)),
        escape(&duration(result.elapsed_s)),
    );
    if let Some((state, reason)) = describe::incomplete(&result.completion) {
        put!(out, "<p class=\"card bad\">{state}: {}</p>\n", escape(&reason));
    }
    if let Some(verdict) = verdict::of_run(result) {
        put!(out, "<p>{}</p>\n", escape(&verdict.sentence));
    }
    let notes = notes(result);
    if !notes.is_empty() {
        out.push_str("<ul class=\"notes\">\n");
        for note in notes {
            put!(out, "<li>{}</li>\n", escape(&note));
        }
        out.push_str("</ul>\n");
    }
    out
}

/// Round-trip times of runs of one point each, by percentile.
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
    Some(Figure {
        plot: Plot {
            title: "Round-trip time by percentile".to_owned(),
            description: "A line for each run.".to_owned(),
            x: Axis::quantile("percentile"),
            y,
            lines,
            areas: Vec::new(),
            span: None,
            marks: Vec::new(),
            keys: Vec::new(),
        },
        remark: "From due to answered; all trials of a run together.".to_owned(),
        data: Data::Points,
    })
}
