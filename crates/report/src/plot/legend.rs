//! Lays out and draws the legend of a plot, above the area with the lines.

use super::frame::{LETTER, LINE, class, shape};
use super::markers::outline;
use super::palette::SERIES;
use super::{Marker, Plot, Style};
use crate::page::escape;
use crate::put::put;
use crate::terminal::wrap;

/// The height of a row of the legend, in pixels.
const ROW: f64 = 20.0;
/// The width of the sample before the name of an entry, with the space after it, in pixels.
const SAMPLE: f64 = 34.0;
/// The space between two entries of the legend, in pixels.
const BETWEEN: f64 = 14.0;

/// The legend of a plot: its entries in rows, and remarks about lines that coincide.
pub(super) struct Legend {
    rows: Vec<Vec<LegendEntry>>,
    notes: Vec<String>,
}

/// An entry of the legend.
struct LegendEntry {
    /// The name of the legend's entry, wrapped into lines.
    name: Vec<String>,
    sample: Sample,
    width: f64,
}

/// The sample beside the name of an entry.
#[derive(Clone, Copy, PartialEq)]
enum Sample {
    Line(Style),
    Area(usize),
    Span,
}

impl Legend {
    /// Lays out the legend of a plot in the width `room`. `note` is a remark below the entries.
    pub(super) fn of(plot: &Plot, note: Option<&str>, room: f64) -> Self {
        let notes = note.map(|text| wrap(text, (room / LETTER) as usize)).unwrap_or_default();
        let mut entries: Vec<(&str, Sample)> = Vec::new();
        let keys = plot.keys.iter().map(|(name, style)| (name.as_str(), Sample::Line(*style)));
        let lines = plot.lines.iter().map(|l| (l.legend.as_str(), Sample::Line(l.style)));
        let areas = plot.areas.iter().map(|a| (a.name.as_str(), Sample::Area(a.hue)));
        let span = plot.span.iter().map(|s| (s.name.as_str(), Sample::Span));
        for (name, sample) in keys.chain(lines).chain(areas).chain(span) {
            if !name.is_empty() && !entries.iter().any(|e| e.0 == name) {
                entries.push((name, sample));
            }
        }
        let mut rows: Vec<Vec<LegendEntry>> = Vec::new();
        let mut left = 0.0;
        for (name, sample) in entries {
            let name = wrap(name, ((room - SAMPLE) / LETTER) as usize);
            let widest = name.iter().map(|line| line.chars().count()).max().unwrap_or(0);
            let width = SAMPLE + widest as f64 * LETTER + BETWEEN;
            if left < width - BETWEEN || rows.is_empty() {
                rows.push(Vec::new());
                left = room;
            }
            left -= width;
            if let Some(row) = rows.last_mut() {
                row.push(LegendEntry { name, sample, width });
            }
        }
        Self { rows, notes }
    }

    pub(super) fn height(&self) -> f64 {
        self.rows.iter().map(|row| height(row)).sum::<f64>() + self.notes.len() as f64 * ROW
    }

    pub(super) fn draw(&self, svg: &mut String, left: f64) {
        svg.push_str("<g class=\"legend\">");
        let mut top = 0.0;
        for row in &self.rows {
            let mut at = left;
            for entry in row {
                entry.sample.draw(svg, at, top + 11.0);
                for (number, line) in entry.name.iter().enumerate() {
                    let base = top + 15.0 + number as f64 * LINE;
                    let x = at + SAMPLE;
                    put!(svg, "<text x=\"{x:.1}\" y=\"{base:.1}\">{}</text>", escape(line));
                }
                at += entry.width;
            }
            top += height(row);
        }
        for (number, note) in self.notes.iter().enumerate() {
            let base = top + 15.0 + number as f64 * ROW;
            put!(svg, "<text x=\"{left:.1}\" y=\"{base:.1}\">{}</text>", escape(note));
        }
        svg.push_str("</g>");
    }
}

/// Returns the height of a row of the legend. The entry with the most lines of text determines it.
fn height(row: &[LegendEntry]) -> f64 {
    let lines = row.iter().map(|entry| entry.name.len()).max().unwrap_or(1);
    ROW + (lines.max(1) - 1) as f64 * LINE
}

impl Sample {
    /// Draws the sample of an entry of the legend, with its left end at `left` and its centre at
    /// the height `middle`.
    fn draw(self, svg: &mut String, left: f64, middle: f64) {
        match self {
            Self::Line(style) if style.marker == Marker::Dot => {
                put!(
                    svg,
                    "<g class=\"{}\"><path class=\"dot\" d=\"M{:.1} {middle:.1}h0\"/></g>",
                    class(style),
                    left + 14.0
                );
            }
            Self::Line(style) => {
                put!(
                    svg,
                    "<g class=\"{}\"><path class=\"line\" d=\"M{left:.1} {middle:.1}h28\"/>",
                    class(style)
                );
                if style.marker != Marker::None {
                    svg.push_str("<path class=\"marker\" d=\"");
                    outline(svg, shape(style.hue), left + 14.0, middle);
                    svg.push_str("\"/>");
                }
                svg.push_str("</g>");
            }
            Self::Area(hue) => {
                put!(
                    svg,
                    "<path class=\"area s{}\" d=\"M{left:.1} {:.1}h28v12h-28z\"/>",
                    hue % SERIES,
                    middle - 6.0
                );
            }
            Self::Span => {
                put!(svg, "<path class=\"span\" d=\"M{left:.1} {:.1}h28v12h-28z\"/>", middle - 6.0);
            }
        }
    }
}
