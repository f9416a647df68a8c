//! Curves of a flow as a drawing of its own.

use calculus::network::{Assessed, describe};
use calculus::{Curve, Extended, Rational};
use statistics::Unit;

use super::Bounds;
use crate::page::{Data, Figure};
use crate::plot::{Axis, Drawing, Line, Plot, Point, Style};

/// Arrivals, left-over service and output of a flow as an SVG file.
///
/// # Errors
/// None that a network can cause: the drawing is read back to give it colours of its own.
pub fn curves(bounds: &Bounds<'_>, assessed: &Assessed) -> std::io::Result<String> {
    let drawing = Drawing::read(&plot(bounds, assessed).svg("curves"));
    Ok(drawing.map_err(std::io::Error::other)?.svg())
}

/// The same for a page.
pub(super) fn figure(bounds: &Bounds<'_>, assessed: &Assessed) -> Figure {
    Figure::plot(plot(bounds, assessed), "").with_data(Data::Extremes)
}

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
    let behind = "arrivals behind the last server".to_owned();
    shown.push((behind, bound.output.clone(), Style::series(1)));
    let until = horizon(&shown, &bound.delay);
    let (time, data) = (bounds.time_unit.size.to_f64(), bounds.data_unit.size.to_f64());
    let lines = shown
        .iter()
        .map(|(name, curve, style)| {
            let corners = describe::corners(curve, &until);
            let points = corners.into_iter().map(|(t, y)| Point::new(t / time, y / data)).collect();
            Line::new(name.clone(), points, *style)
        })
        .collect();
    let plot = Plot::new(
        format!("Curves of flow ‘{}’", flow.name),
        format!(
            "Cumulative data over time. The delay bound, {}, is the greatest horizontal distance \
             between arrivals and left-over service.",
            describe::bound(&bounds.time(&bound.delay))
        ),
        Axis::linear(format!("time in {}", bounds.time_unit.name), Unit::Index),
        Axis::linear(format!("data in {}", bounds.data_unit.name), Unit::Index),
    );
    Plot { lines, ..plot }
}

/// A time up to which everything that matters is seen.
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
