//! `report.html`: one file that opens offline.
//!
//! No script, no font, no picture from elsewhere, and a content security policy that would stop
//! any; plots are drawn in place. What a reader needs first comes first: what was measured against
//! what, whether all of it, which side was the limit, the headline figures with their confidence,
//! remarks. Then tables and plots, then single points, then the method, with everything that is
//! needed to repeat the run.

mod against;
mod course;
mod escape;
pub(crate) mod figure;
mod headline;
mod method;
mod overlay;
mod tables;

use probe::config::Load;
use probe::outcome::{Point, RunResult};

use crate::format::capital;
use crate::put::put;
use crate::{describe, plot};
pub(crate) use escape::escape;
use figure::{Drawn, Numbering};
pub(crate) use overlay::page as overlay;
use tables::Links;

/// Points whose course is shown; a sweep of more leaves the rest to the CSV files.
const POINTS_IN_DETAIL: usize = 60;

/// The whole document. `configuration` is the configuration as resolved, in TOML.
#[must_use]
pub fn document(result: &RunResult, configuration: &str) -> String {
    page(result, configuration).html
}

/// A document and the figures in it, by their numbers from 1 on.
pub(crate) struct Page {
    pub(crate) html: String,
    pub(crate) figures: Vec<Drawn>,
}

/// As [`document`], with its figures.
pub(crate) fn page(result: &RunResult, configuration: &str) -> Page {
    let load = Load::of(&result.configuration);
    let mut numbering = Numbering::of(load);
    let title = capital(&describe::run(result));
    let mut out = head(&title);
    out.push_str(&headline::of(result, &title));
    out.push_str("<main>\n");
    match result.points.as_slice() {
        [] => {}
        [point] => {
            let figures = figure::row(course::figures(point), &mut numbering);
            section(&mut out, "figures", "Figures", &figures);
            let tables = tables::of_point(point) + &tables::switches(point);
            section(&mut out, "tables", "Tables", &tables);
        }
        points => {
            let figures = figure::row(against::figures(&[result], &[]), &mut numbering);
            section(&mut out, "figures", "Figures", &figures);
            section(&mut out, "tables", "Points", &tables::of_sweep(points, Links::ToPoints));
            section(&mut out, "points", "Single points", &single_points(points, &mut numbering));
        }
    }
    out.push_str(&method::of(result, configuration));
    out.push_str(END);
    Page { html: out, figures: numbering.into_drawn() }
}

/// What closes a document.
const END: &str = "</main>\n</body>\n</html>\n";

/// Everything before the content: what a browser needs to know, and how things look.
pub(crate) fn head(title: &str) -> String {
    let mut out = String::with_capacity(256 * 1024);
    put!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{} – Planimeter</title>\n<style>\n{}{}</style>\n</head>\n<body>\n",
        escape(title),
        plot::style_sheet(),
        include_str!("html/style.css"),
    );
    out
}

/// A section, unless it is empty.
pub(crate) fn section(out: &mut String, id: &str, title: &str, content: &str) {
    if !content.is_empty() {
        put!(out, "<section id=\"{id}\"><h2>{title}</h2>\n{content}</section>\n");
    }
}

/// Each point of a sweep, folded.
fn single_points(points: &[Point], numbering: &mut Numbering) -> String {
    let mut out = String::new();
    for (position, point) in points.iter().enumerate().take(POINTS_IN_DETAIL) {
        let (number, name) = (position + 1, describe::point(point));
        let gist = tables::gist(point);
        // A link to something inside opens the details around it.
        put!(out, "<details class=\"point\"><summary>{number}. {} ", escape(&name));
        put!(out, "<span class=\"remark\">{}</span></summary>\n", escape(&gist));
        put!(out, "<div id=\"point-{number}\">\n");
        out.push_str(&figure::row(course::figures(point), numbering));
        out.push_str(&tables::of_point(point));
        out.push_str(&tables::switches(point));
        out.push_str("</div></details>\n");
    }
    if points.len() > POINTS_IN_DETAIL {
        put!(
            out,
            "<p>The course of the other {} points is in <code>per_second.csv</code> and \
             <code>samples.csv</code>.</p>\n",
            points.len() - POINTS_IN_DETAIL
        );
    }
    out
}
