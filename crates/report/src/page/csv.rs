//! Writes the data of a figure as CSV (RFC 4180), with a row for each point, in the base units that
//! the header names.

use std::fmt::Write as _;

use super::figure::Graphic;
use crate::csv::{Cell, Text};
use crate::plot::{Axis, Datum, Forest, Graph, HeatMap, Plot};

/// Returns the data of a figure as CSV.
pub(super) fn of(graphic: &Graphic) -> String {
    match graphic {
        Graphic::Plot(plot) => of_plot(plot),
        Graphic::HeatMap(map) => of_heat_map(map),
        Graphic::Graph(graph) => of_graph(graph),
        Graphic::Forest(forest) => of_forest(forest),
    }
}

/// Returns the points of a plot's lines as CSV, with half of their 95 % confidence intervals, and
/// the edges of its areas.
fn of_plot(plot: &Plot) -> String {
    let (x, y) = (plot.x.name(), plot.y.name());
    let mut out = format!("series,{},{},ci95,low,high\n", Text(&x), Text(&y));
    for line in plot.lines.iter().filter(|line| !line.style.is_guide()) {
        for point in line.points.iter().filter(|point| point.y.is_finite()) {
            let _ = writeln!(
                out,
                "{},{},{},{},,",
                Text(&line.name),
                across(&plot.x, point.x),
                Cell(Some(point.y)),
                Cell(point.spread.confidence())
            );
        }
    }
    for area in &plot.areas {
        for (x, low, high) in &area.points {
            let (low, high) = (Cell(Some(*low)), Cell(Some(*high)));
            let x = across(&plot.x, *x);
            let _ = writeln!(out, "{},{x},,,{low},{high}", Text(&area.name));
        }
    }
    out
}

/// Formats a value of the horizontal axis as a CSV cell.
fn across(axis: &Axis, value: f64) -> String {
    match axis.data(value) {
        Datum::Number(number) => Cell(Some(number)).to_string(),
        Datum::Name(name) => Text(name).to_string(),
    }
}

/// Returns a graph as CSV, with a row for each box on each path: its value and the next box.
fn of_graph(graph: &Graph) -> String {
    let value = format!("{} [fraction]", graph.value_title);
    let (way, node) = (Text(&graph.way_title), Text(&graph.node_title));
    let mut out = format!("{way},{node},{},next\n", Text(&value));
    let name = |place: Option<usize>| place.and_then(|place| graph.nodes.get(place));
    for way in &graph.ways {
        for (number, place) in way.nodes.iter().enumerate() {
            let Some(node) = name(*place) else { continue };
            let next = name(way.nodes.get(number + 1).copied().flatten());
            let value = Cell(Some(node.value).filter(|value| value.is_finite()));
            let next = next.map_or("", |next| next.name.as_str());
            let _ =
                writeln!(out, "{},{},{value},{}", Text(&way.name), Text(&node.name), Text(next));
        }
    }
    out
}

/// Returns the differences of a forest plot as CSV, each with the ends of its interval.
fn of_forest(forest: &Forest) -> String {
    let value = format!("{} [{}]", forest.axis, forest.unit.text());
    let mut out = format!("what,{},low,high,shown\n", Text(&value));
    for row in &forest.rows {
        let (low, high) = row.interval.unzip();
        let (value, low, high) = (Cell(Some(row.value)), Cell(low), Cell(high));
        let _ = writeln!(out, "{},{value},{low},{high},{}", Text(&row.name), row.shown);
    }
    out
}

fn of_heat_map(map: &HeatMap) -> String {
    let value = format!("{} [{}]", map.value_title, map.unit.text());
    let (rows, columns) = (Text(&map.row_title), Text(&map.column_title));
    let mut out = format!("{rows},{columns},{},kind\n", Text(&value));
    for (row, name) in map.rows.iter().enumerate() {
        for (column, other) in map.columns.iter().enumerate() {
            let Some(cell) = map.cell(row, column) else { continue };
            let kind = if cell.set_off { map.set_off.as_str() } else { "" };
            let (name, other, value) = (Text(name), Text(other), Cell(Some(cell.value)));
            let _ = writeln!(out, "{name},{other},{value},{}", Text(kind));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use statistics::Unit;

    use super::*;
    use crate::plot::{Line, Origin};
    use crate::value::Value;

    #[test]
    fn measured_values_that_allow_no_conclusion_are_among_the_data() {
        let values = [(1.0, Value::new(2.0, Unit::Seconds))];
        let line = Line::of_values("the host decided", Origin::Measured, values);
        let (x, y) = (Axis::linear("level", Unit::Count), Axis::linear("delay", Unit::Seconds));
        let plot = Plot::of_values("delays", x, y, vec![line.inconclusive()]);
        let csv = of_plot(&plot);
        assert!(csv.contains("the host decided,1,2,"), "{csv}");
    }
}
