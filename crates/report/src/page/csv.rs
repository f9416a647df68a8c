//! The data of a figure as a CSV file (RFC 4180): a row per point, in base units, which stand in the head.

use std::fmt::Write as _;

use super::figure::Graphic;
use crate::csv::{Cell, Text};
use crate::plot::{Axis, Datum, HeatMap, Plot};

/// The rows of a figure.
pub(super) fn of(graphic: &Graphic) -> String {
    match graphic {
        Graphic::Plot(plot) => of_plot(plot),
        Graphic::HeatMap(map) => of_heat_map(map),
    }
}

/// Series, point, half of its 95 % confidence interval; least and greatest value of bands.
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

/// A cell of the horizontal axis.
fn across(axis: &Axis, value: f64) -> String {
    match axis.data(value) {
        Datum::Number(number) => Cell(Some(number)).to_string(),
        Datum::Name(name) => Text(name).to_string(),
    }
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
