//! Curves of a flow as a drawing of its own.

use calculus::network::{Assessed, describe};
use calculus::{Curve, Extended, Rational};
use probe::metrics::Unit;

use super::Bounds;
use crate::plot::{Axis, Line, Plot, Point, Style, style_sheet};

/// How the text and lines of a drawing look that stands outside of a page.
const LOOK: &str = "text{font:12px system-ui,sans-serif;fill:var(--text)}\
    svg{background:var(--page);color:var(--text)}";

/// Arrivals, left-over service and output of a flow as an SVG file.
#[must_use]
pub fn curves(bounds: &Bounds<'_>, assessed: &Assessed) -> String {
    let bound = &assessed.bound;
    let flow = bounds.network.flow(bound.flow);
    let mut shown: Vec<(String, Curve)> = vec![("arrivals".to_owned(), flow.arrival.clone())];
    let services = bound.delay_by.derivation.services();
    for (number, service) in services.iter().enumerate() {
        let name = match services.len() {
            1 => format!("left over for it ({})", bound.delay_by.analysis),
            _ => format!("left over for it, {} ({})", number + 1, bound.delay_by.analysis),
        };
        shown.push((name, service.clone()));
    }
    shown.push(("arrivals behind the last server".to_owned(), bound.output.clone()));
    let until = horizon(&shown, &bound.delay);
    let (time, data) = (bounds.time_unit.size.to_f64(), bounds.data_unit.size.to_f64());
    let lines = shown
        .iter()
        .enumerate()
        .map(|(number, (name, curve))| {
            let corners = describe::corners(curve, &until);
            let points = corners.into_iter().map(|(t, y)| Point::new(t / time, y / data)).collect();
            Line::new(name.clone(), points, Style::series(number))
        })
        .collect();
    let plot = Plot {
        title: format!("Curves of flow {}", flow.name),
        description: format!(
            "Cumulative data over time. The delay bound, {}, is the greatest horizontal distance \
             between arrivals and left-over service.",
            describe::bound(&bounds.time(&bound.delay))
        ),
        x: Axis::linear(format!("time in {}", bounds.time_unit.name), Unit::Index),
        y: Axis::linear(format!("data in {}", bounds.data_unit.name), Unit::Index),
        lines,
        areas: Vec::new(),
        span: None,
        marks: Vec::new(),
        keys: Vec::new(),
    };
    let drawing = plot.svg("curves");
    let css = format!("{}{}{LOOK}", style_sheet(), include_str!("../html/style.css"));
    // In a page the page says how drawings look; a file has to say it itself.
    drawing.replacen("<title", &format!("<style><![CDATA[{css}]]></style><title"), 1)
}

/// A time up to which everything that matters is seen.
fn horizon(shown: &[(String, Curve)], delay: &Extended) -> Rational {
    let mut until = match delay {
        Extended::Finite(delay) => delay * &Rational::from(2),
        _ => Rational::ZERO,
    };
    for (_, curve) in shown {
        let last = curve.pieces().last().map(|piece| piece.start());
        if let Some(last) = last {
            until = until.max(last + &(last / &Rational::from(2)));
        }
    }
    if until.is_positive() { until } else { Rational::ONE }
}
