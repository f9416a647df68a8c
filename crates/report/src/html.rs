//! The `report.html` of a controller benchmark.
//!
//! The most important information comes first: what was measured, whether the run is complete,
//! whether the controller, the probe or the network was the limit, the headline figures with their
//! confidence, and remarks. Tables and plots, single points, and the method with everything that is
//! needed to repeat the run follow.

mod against;
mod course;
mod headline;
mod method;
mod overlay;
mod tables;

use probe::config::Load;
use probe::outcome::{Point, RunResult};

use crate::describe;
use crate::format::capital;
use crate::page::{Block, Figure, Page, Text};
pub(crate) use overlay::page as overlay;
use tables::Links;

/// The largest number of points of a sweep that the page shows over time. The CSV files contain all
/// points.
const POINTS_IN_DETAIL: usize = 60;

/// Returns the `report.html` of a controller benchmark. `configuration` is the resolved
/// configuration in TOML.
#[must_use]
pub fn document(result: &RunResult, configuration: &str) -> String {
    page(result, configuration).html()
}

/// Returns the report page of a controller benchmark. `configuration` is the resolved configuration
/// in TOML.
#[must_use]
pub fn page(result: &RunResult, configuration: &str) -> Page {
    let load = Load::of(&result.configuration);
    let mut page = headline::of(result, &capital(&describe::run(result)));
    match result.points.as_slice() {
        [] => {}
        [point] => {
            page.section("figures", "Figures", vec![figures(course::figures(point), load)]);
            page.section("tables", "Tables", of_point(point));
        }
        points => {
            let against = figures(against::figures(&[result], &[]), load);
            page.section("figures", "Figures", vec![against]);
            page.section("tables", "Points", tables::of_sweep(points, Links::ToPoints));
            page.section("points", "Single points", single_points(points, load));
        }
    }
    method::add(&mut page, result, configuration);
    page
}

/// Returns a block of plots. Their texts speak of packet-ins, and each such word is replaced by the
/// name of the messages that the switches of the run send.
fn figures(figures: Vec<Figure>, load: Load) -> Block {
    let reworded = |figure: Figure| figure.reworded(|text| load.words(text).into_owned());
    Block::Figures(figures.into_iter().map(reworded).collect())
}

fn of_point(point: &Point) -> Vec<Block> {
    let mut blocks = tables::of_point(point);
    blocks.extend(tables::switches(point));
    blocks
}

/// Returns the details of each point of a sweep, which stay hidden until the reader opens them.
fn single_points(points: &[Point], load: Load) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (number, point) in (1..).zip(points).take(POINTS_IN_DETAIL) {
        let mut inside = vec![figures(course::figures(point), load)];
        inside.extend(of_point(point));
        blocks.push(Block::Folded {
            id: Some(format!("point-{number}")),
            summary: Text::from(format!("{number}. {}", describe::point(point)))
                .and_faint(tables::summary(point)),
            blocks: inside,
        });
    }
    if points.len() > POINTS_IN_DETAIL {
        let rest = points.len() - POINTS_IN_DETAIL;
        let text = Text::from(format!("The course of the other {rest} points is in "))
            .and(Text::code("per_second.csv"))
            .and(" and ")
            .and(Text::code("samples.csv"))
            .and(".");
        blocks.push(Block::Paragraph(text));
    }
    blocks
}
