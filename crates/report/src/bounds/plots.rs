//! Draws the arrival and service curves of a flow.

use calculus::network::Assessed;
use calculus::network::describe::{self, Round};
use calculus::{Curve, Extended, Rational};
use statistics::Unit;

use super::Bounds;
use crate::page::{Data, Figure};
use crate::plot::{Axis, Drawing, Line, Plot, Point, Style};

/// Returns a drawing of the arrival curve, residual service curve and output arrival curve of a
/// flow, as an SVG file.
///
/// # Errors
/// Returns an error if the drawing cannot be read back, which is needed to fix its colours. No
/// network leads to such a drawing.
pub fn curves(bounds: &Bounds<'_>, assessed: &Assessed) -> std::io::Result<String> {
    let drawing = Drawing::read(&plot(bounds, assessed).svg("curves"));
    Ok(drawing.map_err(std::io::Error::other)?.svg())
}

/// Returns the drawing of a flow's arrival, residual service and output arrival curves, as a figure
/// of a page.
pub(super) fn figure(bounds: &Bounds<'_>, assessed: &Assessed) -> Figure {
    Figure::plot(plot(bounds, assessed), "").with_data(Data::Extremes)
}

/// Returns the plot of a flow's arrival curve, residual service curves and output arrival curve.
fn plot(bounds: &Bounds<'_>, assessed: &Assessed) -> Plot {
    let bound = &assessed.bound;
    let flow = bounds.network.flow(bound.flow);
    let mut shown = vec![("arrivals".to_owned(), flow.arrival.clone(), Style::series(0))];
    let services = bound.delay_by.derivation.services();
    for (number, service) in services.iter().enumerate() {
        let name = match services.len() {
            1 => format!("left over for it ({})", bound.delay_by.analysis),
            _ => format!("left over for it, {} ({})", number + 1, bound.delay_by.analysis),
        };
        shown.push((name, service.clone(), Style { dashed: true, ..Style::series(number + 2) }));
    }
    let behind = "arrivals after the last server".to_owned();
    shown.push((behind, bound.output.clone(), Style::series(1)));
    let marked = marks(assessed, &flow.arrival);
    if let Some(delayed) = &marked.delayed {
        let name = "all data has left by then (delay bound)".to_owned();
        shown.push((name, delayed.clone(), Style { dashed: true, ..Style::series(2) }));
    }
    let until = horizon(&shown, &bound.delay);
    let (time, data) = (bounds.time_unit.size.to_f64(), bounds.data_unit.size.to_f64());
    let mut lines: Vec<Line> = shown
        .iter()
        .map(|(name, curve, style)| {
            let corners = describe::corners(curve, &until);
            let points = corners.into_iter().map(|(t, y)| Point::new(t / time, y / data)).collect();
            Line::new(name.clone(), points, *style)
        })
        .collect();
    let ends = |from: &Corner, to: &Corner| {
        let point =
            |corner: &Corner| Point::new(corner.time.to_f64() / time, corner.data.to_f64() / data);
        vec![point(from), point(to)]
    };
    let named = |what: &str, value: &Extended, is_time: bool| {
        let unit = if is_time { &bounds.time_unit.name } else { &bounds.data_unit.name };
        format!("{what} bound: {} {unit}", super::table::figure(bounds, value, is_time, Round::Up))
    };
    let mut said = Vec::new();
    if let Some([from, to]) = &marked.delay {
        let name = named("delay", &bound.delay, true);
        lines.push(Line::new(name.clone(), ends(from, to), Style::series(4).filled()));
        said.push(format!("{name}, the greatest horizontal distance"));
    }
    if let Some([from, to]) = &marked.backlog {
        let name = named("backlog", &bound.backlog, false);
        lines.push(Line::new(name.clone(), ends(from, to), Style::series(6).filled()));
        said.push(format!("{name}, the greatest vertical distance"));
    }
    let said = match said.is_empty() {
        true => format!("Delay bound: {}.", describe::bound(&bounds.time(&bound.delay))),
        false => format!("Marked are {}.", said.join(", and ")),
    };
    let plot = Plot::new(
        format!("Curves of flow ‘{}’", flow.name),
        format!("Cumulative data over time. {said}"),
        Axis::linear(format!("time in {}", bounds.time_unit.name), Unit::Index),
        Axis::linear(format!("data in {}", bounds.data_unit.name), Unit::Index),
    );
    Plot { lines, ..plot }
}

/// A point on a curve: a time and an amount of data.
struct Corner {
    time: Rational,
    data: Rational,
}

/// Additions to the drawing of a flow's curves that show its delay and backlog bounds.
#[derive(Default)]
struct Marks {
    /// The arrival curve, shifted by the delay bound. It bounds the output of the flow where no
    /// other curve does.
    delayed: Option<Curve>,
    /// The ends of the horizontal segment whose length is the delay bound.
    delay: Option<[Corner; 2]>,
    /// The ends of the vertical segment whose length is the backlog bound.
    backlog: Option<[Corner; 2]>,
}

/// Returns the additions that show a flow's bounds: where its arrival curve and service curve have
/// the largest horizontal and vertical distance. A distance is shown only if it equals the bound,
/// since the backlog bound may be that of another analysis, and the packetizer may add to either
/// bound.
fn marks(assessed: &Assessed, arrival: &Curve) -> Marks {
    let bound = &assessed.bound;
    let Extended::Finite(late) = &bound.delay else { return Marks::default() };
    let mut marks = Marks::default();
    let mut services = bound.delay_by.derivation.services().to_vec();
    if services.is_empty() {
        let delayed = arrival.delayed(late);
        services.push(delayed.clone());
        marks.delayed = Some(delayed);
    }
    for service in &services {
        if marks.delay.is_none() {
            marks.delay = horizontal(arrival, service, &bound.delay);
        }
        if marks.backlog.is_none() {
            marks.backlog = vertical(arrival, service, &bound.backlog);
        }
    }
    marks
}

fn horizontal(arrival: &Curve, service: &Curve, bound: &Extended) -> Option<[Corner; 2]> {
    let found = arrival.horizontal_deviation(service).ok()?;
    let (late, at) = (found.value.finite().filter(|_| found.value == *bound)?, found.at?);
    let data = arrival.right_limit_at(&at).into_finite()?;
    let until = &at + late;
    Some([Corner { time: at, data: data.clone() }, Corner { time: until, data }])
}

fn vertical(arrival: &Curve, service: &Curve, bound: &Extended) -> Option<[Corner; 2]> {
    let found = arrival.vertical_deviation(service).ok()?;
    let (waiting, at) = (found.value.finite().filter(|_| found.value == *bound)?, found.at?);
    let top = arrival.right_limit_at(&at).into_finite()?;
    let bottom = &top - waiting;
    Some([Corner { time: at.clone(), data: bottom }, Corner { time: at, data: top }])
}

/// Returns a time at which the plot of a flow's curves can end without hiding a bend of a curve or
/// a bound.
fn horizon(shown: &[(String, Curve, Style)], delay: &Extended) -> Rational {
    let mut until = match delay {
        Extended::Finite(delay) => delay * &Rational::from(2),
        _ => Rational::ZERO,
    };
    for (_, curve, _) in shown {
        let last = curve.pieces().last().map(|piece| piece.start());
        if let Some(last) = last {
            until = until.max(last + &(last / &Rational::from(2)));
        }
    }
    if until.is_positive() { until } else { Rational::ONE }
}
