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
mod figure;
mod headline;
mod method;
mod tables;

use probe::outcome::RunResult;

use crate::put::put;
use crate::terminal::capital;
use crate::{describe, plot};
pub(crate) use escape::escape;
use figure::Numbering;

/// Points whose course is shown; a sweep of more leaves the rest to the CSV files.
const POINTS_IN_DETAIL: usize = 60;

/// The whole document. `configuration` is the configuration as resolved, in TOML.
#[must_use]
pub fn document(result: &RunResult, configuration: &str) -> String {
    let mut numbering = Numbering::default();
    let mut out = String::with_capacity(256 * 1024);
    let title = capital(&describe::run(result));
    put!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{} – Planimeter</title>\n<style>\n{}{}</style>\n</head>\n<body>\n",
        escape(&title),
        plot::style_sheet(),
        include_str!("style.css"),
    );
    out.push_str(&headline::of(result, &title));
    out.push_str("<main>\n");
    match result.points.as_slice() {
        [] => {}
        [point] => {
            out.push_str("<section id=\"figures\"><h2>Figures</h2>\n");
            out.push_str(&tables::of_point(point));
            out.push_str(&figure::row(course::figures(point), &mut numbering));
            out.push_str(&tables::switches(point));
            out.push_str("</section>\n");
        }
        points => {
            out.push_str("<section id=\"figures\"><h2>Figures</h2>\n");
            out.push_str(&tables::of_sweep(points));
            out.push_str(&figure::row(against::figures(result), &mut numbering));
            out.push_str("</section>\n<section id=\"points\"><h2>Single points</h2>\n");
            for (position, point) in points.iter().enumerate().take(POINTS_IN_DETAIL) {
                put!(
                    out,
                    "<details class=\"point\" id=\"point-{}\"><summary>{}. {}</summary>\n",
                    position + 1,
                    position + 1,
                    escape(&describe::point(point))
                );
                out.push_str(&tables::of_point(point));
                out.push_str(&figure::row(course::figures(point), &mut numbering));
                out.push_str(&tables::switches(point));
                out.push_str("</details>\n");
            }
            if points.len() > POINTS_IN_DETAIL {
                put!(
                    out,
                    "<p>The course of the other {} points is in <code>per_second.csv</code> and \
                     <code>samples.csv</code>.</p>\n",
                    points.len() - POINTS_IN_DETAIL
                );
            }
            out.push_str("</section>\n");
        }
    }
    out.push_str(&method::of(result, configuration));
    out.push_str("</main>\n</body>\n</html>\n");
    out
}
