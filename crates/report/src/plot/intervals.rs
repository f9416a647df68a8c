//! Draws the confidence intervals of points, and lists the intervals that extend beyond the frame
//! of the plot.

use super::frame::Frame;
use super::scale::Scale;
use super::{Line, Plot, Point};
use crate::put::put;
use crate::value::Value;

/// The largest number of intervals beyond the frame that are named in the remark below the plot.
const MAX_NAMED: usize = 4;

/// Draws the confidence intervals of the points of a line. Where an interval extends beyond the
/// frame of the plot, an arrow at the frame shows it.
pub(super) fn draw_intervals(
    svg: &mut String,
    points: &[Point],
    aside: f64,
    frame: &Frame,
    x: &Scale,
    y: &Scale,
) {
    let mut path = String::new();
    for point in points.iter().filter(|point| point.x.is_finite() && point.y.is_finite()) {
        let Some((lower, upper)) = ends(point) else { continue };
        let across = frame.x(x, point.x) + aside;
        let (from, to) = (frame.y(y, lower), frame.y(y, upper));
        put!(path, "M{across:.1} {to:.1}V{from:.1}");
        match y.holds(upper) {
            true => put!(path, "M{:.1} {to:.1}h8", across - 4.0),
            false => put!(path, "M{:.1} {:.1}l4 -6l4 6", across - 4.0, to + 6.0),
        }
        match y.holds(lower) {
            true => put!(path, "M{:.1} {from:.1}h8", across - 4.0),
            false => put!(path, "M{:.1} {:.1}l4 6l4 -6", across - 4.0, from - 6.0),
        }
    }
    if !path.is_empty() {
        put!(svg, "<path class=\"interval\" d=\"{path}\"/>");
    }
}

/// Returns a sentence that names the confidence intervals that extend beyond the frame of the plot,
/// or `None` if there are none.
pub(super) fn cut(plot: &Plot, y: &Scale) -> Option<String> {
    let of_line = |line: &Line| -> Vec<String> {
        let points = line.points.iter().filter(|point| point.x.is_finite() && is_cut(point, y));
        let name = |point: &Point| {
            let at = match plot.x.names.is_empty() {
                true => format!("{} {}", plot.x.label, plot.x.value(point.x)),
                false => plot.x.value(point.x),
            };
            let value = Value { value: point.y, unit: plot.y.unit, spread: point.spread }.words();
            let parts = [line.name.clone(), at].into_iter().filter(|part| !part.is_empty());
            format!("{}: {value}", parts.collect::<Vec<_>>().join(", "))
        };
        points.map(name).collect()
    };
    let all: Vec<String> = plot.lines.iter().flat_map(of_line).collect();
    if all.is_empty() {
        return None;
    }
    let more = match all.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more, which are in the data of the figure"),
    };
    let named = all.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join("; ");
    Some(format!("Arrows mark intervals that go beyond the frame: {named}{more}."))
}

fn is_cut(point: &Point, y: &Scale) -> bool {
    ends(point).is_some_and(|(lower, upper)| !y.holds(lower) || !y.holds(upper))
}

fn ends(point: &Point) -> Option<(f64, f64)> {
    let ends = point.spread.ends(point.y);
    ends.filter(|(lower, upper)| (upper - lower).is_finite() && upper > lower)
}
