//! Draws the axes of a plot: ticks with their labels, and the labels of the axes.

use super::frame::{Frame, LETTER, LINE};
use super::scale::Scale;
use crate::page::escape;
use crate::put::put;
use crate::terminal::wrap;

/// The labels of both axes of a plot, wrapped into lines.
pub(super) struct Labels {
    pub(super) x: Vec<String>,
    pub(super) y: Vec<String>,
}

impl Labels {
    /// Wraps the labels of a horizontal axis of length `width` and a vertical axis of length
    /// `height`.
    pub(super) fn of(x: &Scale, width: f64, y: &Scale, height: f64) -> Self {
        let lines = |scale: &Scale, room: f64| wrap(&scale.label(), (room / LETTER) as usize);
        Self { x: lines(x, width), y: lines(y, height) }
    }

    /// Returns the additional width that the vertical axis's label needs if it has several lines.
    pub(super) fn left(&self) -> f64 {
        (self.y.len().max(1) - 1) as f64 * LINE
    }

    /// Returns the additional height that the horizontal axis's label needs if it has several
    /// lines.
    pub(super) fn below(&self) -> f64 {
        (self.x.len().max(1) - 1) as f64 * LINE
    }
}

pub(super) fn draw_axes(svg: &mut String, frame: &Frame, x: &Scale, y: &Scale, labels: &Labels) {
    svg.push_str("<path class=\"grid\" d=\"");
    for tick in y.ticks().iter().filter(|t| !t.label.is_empty()) {
        put!(svg, "M{:.1} {:.1}H{:.1}", frame.left, frame.y(y, tick.value), frame.right);
    }
    for tick in x.ticks().iter().filter(|t| !t.label.is_empty()) {
        put!(svg, "M{:.1} {:.1}V{:.1}", frame.x(x, tick.value), frame.top, frame.bottom);
    }
    svg.push_str("\"/><path class=\"axis\" d=\"");
    put!(svg, "M{:.1} {:.1}V{:.1}H{:.1}", frame.left, frame.top, frame.bottom, frame.right);
    for tick in y.ticks() {
        let length = if tick.label.is_empty() { 3.0 } else { 5.0 };
        put!(svg, "M{:.1} {:.1}h-{length}", frame.left, frame.y(y, tick.value));
    }
    for tick in x.ticks() {
        let length = if tick.label.is_empty() { 3.0 } else { 5.0 };
        put!(svg, "M{:.1} {:.1}v{length}", frame.x(x, tick.value), frame.bottom);
    }
    svg.push_str("\"/><g class=\"tick\">");
    for tick in y.ticks().iter().filter(|t| !t.label.is_empty()) {
        put!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            frame.left - 8.0,
            frame.y(y, tick.value) + 4.0,
            escape(&tick.label)
        );
    }
    // Labels that would overlap with their neighbour are left out.
    let mut free_from = f64::NEG_INFINITY;
    for tick in x.ticks().iter().filter(|t| !t.label.is_empty()) {
        let (at, half) = (frame.x(x, tick.value), tick.label.chars().count() as f64 * LETTER / 2.0);
        // The last label must not leave the drawing.
        let at = at.min(frame.edge - half - 1.0);
        if at - half < free_from {
            continue;
        }
        free_from = at + half + 4.0;
        put!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            frame.bottom + 19.0,
            escape(&tick.label)
        );
    }
    let (middle, centre) = ((frame.top + frame.bottom) / 2.0, (frame.left + frame.right) / 2.0);
    let below = frame.bottom + 40.0;
    put!(
        svg,
        "</g><text class=\"label\" data-unit=\"{}\" x=\"{centre:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">",
        x.unit().text()
    );
    lines(svg, &labels.x, centre);
    put!(
        svg,
        "</text><text class=\"label\" data-unit=\"{}\" transform=\"translate(15 {middle:.1}) rotate(-90)\" \
         text-anchor=\"middle\">",
        y.unit().text()
    );
    lines(svg, &labels.y, 0.0);
    svg.push_str("</text>");
}

/// Writes a text of several lines as SVG, each line below the previous one.
fn lines(svg: &mut String, lines: &[String], x: f64) {
    for (number, line) in lines.iter().enumerate() {
        match number {
            0 => put!(svg, "{}", escape(line)),
            _ => put!(svg, " <tspan x=\"{x:.1}\" dy=\"{LINE}\">{}</tspan>", escape(line)),
        }
    }
}
