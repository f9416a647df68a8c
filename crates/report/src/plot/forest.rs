//! Forest plots, which show differences: a row for each comparison, with the difference, its
//! interval, and both figures in words.

use super::frame::{Frame, LETTER, LINE};
use super::scale::{Axis, Scale};
use super::{Unit, Width};
use crate::page::escape;
use crate::put::put;
use crate::terminal::wrap;

/// The height in pixels of the mark that shows the difference of a row, below the row's text.
const MARK: f64 = 16.0;
/// The space between two rows, in pixels.
const BETWEEN: f64 = 8.0;
/// The space left and right of the axis, in pixels.
const MARGIN: f64 = 16.0;

/// A forest plot, which shows a difference with its interval in each row.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Forest {
    /// The title of the plot, which names what is compared with what.
    pub title: String,
    /// A description of the plot in a sentence or two, for those who cannot see it.
    pub description: String,
    /// The label of the axis of differences, without the unit.
    pub axis: String,
    /// The unit of the differences between figures.
    pub unit: Unit,
    /// The meaning of a difference of zero, which the tool tip of the line at zero shows.
    pub none: String,
    /// The rows of the plot, from the top.
    pub rows: Vec<ForestRow>,
}

/// A row of a forest plot.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ForestRow {
    /// The name of the figure that is compared: its metric and what was measured.
    pub name: String,
    /// The text of the row: both figures, and the difference with its interval.
    pub words: String,
    /// The difference between the figures, in the unit of the axis.
    pub value: f64,
    /// The ends of the confidence interval of the difference, or `None` if there is none.
    pub interval: Option<(f64, f64)>,
    /// Whether the interval excludes zero, so that the figures differ.
    pub shown: bool,
}

impl Forest {
    /// Returns whether the plot has nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the plot as SVG in the given width. `id` must be unique in the page and a valid
    /// identifier.
    pub(crate) fn svg_at(&self, id: &str, width: Width) -> String {
        let edge = width.pixels();
        let axis = Axis { from_zero: true, ..Axis::linear(self.axis.as_str(), self.unit) };
        let scale = Scale::fit(&axis, self.values(), ((edge / 80.0) as usize).max(4));
        let letters = ((edge - 2.0 * MARGIN) / LETTER) as usize;
        let texts: Vec<RowText> = self.rows.iter().map(|row| RowText::of(row, letters)).collect();
        let label = wrap(&scale.label(), letters);
        let top = 34.0;
        let bottom = top + texts.iter().map(RowText::height).sum::<f64>();
        let height = bottom + 48.0 + (label.len().max(1) - 1) as f64 * LINE;
        let frame = Frame { left: MARGIN, right: edge - MARGIN, top, bottom, edge };
        let mut svg = String::with_capacity(4096);
        put!(
            svg,
            "<svg class=\"plot\" data-axes=\"1\" viewBox=\"0 0 {edge} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" \
             xmlns=\"http://www.w3.org/2000/svg\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
            escape(&self.title),
            escape(&self.description),
        );
        legend(&mut svg);
        self.frame(&mut svg, &frame, &scale, &label);
        let mut at = top;
        for (row, text) in self.rows.iter().zip(&texts) {
            text.draw(&mut svg, at);
            row.draw(&mut svg, &frame, &scale, at + text.height() - BETWEEN - MARK / 2.0);
            at += text.height();
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let ends = |row: &ForestRow| row.interval.map_or([row.value; 2], |(low, high)| [low, high]);
        self.rows.iter().flat_map(move |row| ends(row).into_iter().chain([row.value]))
    }

    /// Draws the axis of differences, and a line at zero.
    fn frame(&self, svg: &mut String, frame: &Frame, x: &Scale, label: &[String]) {
        let (top, bottom) = (frame.top, frame.bottom);
        svg.push_str("<path class=\"grid\" d=\"");
        for tick in x.ticks() {
            put!(svg, "M{:.1} {top:.1}V{bottom:.1}", frame.x(x, tick.value));
        }
        let zero = frame.x(x, 0.0);
        put!(
            svg,
            "\"/><g class=\"muted guide\"><title>{}</title><path class=\"line\" d=\"M{zero:.1} {top:.1}V{bottom:.1}\"/></g>\
             <path class=\"axis\" d=\"M{:.1} {bottom:.1}H{:.1}\"/><g class=\"tick\">",
            escape(&self.none),
            frame.left,
            frame.right,
        );
        let mut free_from = 0.0;
        for tick in x.ticks().iter().filter(|tick| !tick.label.is_empty()) {
            let half = tick.label.chars().count() as f64 * LETTER / 2.0;
            let at = frame.x(x, tick.value).clamp(half, frame.edge - half - 1.0);
            if at - half < free_from {
                continue;
            }
            free_from = at + half + 4.0;
            put!(
                svg,
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 19.0,
                escape(&tick.label)
            );
        }
        let centre = frame.edge / 2.0;
        put!(
            svg,
            "</g><text class=\"label\" data-unit=\"{}\" x=\"{centre:.1}\" y=\"{:.1}\" text-anchor=\"middle\">",
            x.unit().text(),
            bottom + 40.0
        );
        for (number, line) in label.iter().enumerate() {
            match number {
                0 => put!(svg, "{}", escape(line)),
                _ => put!(svg, " <tspan x=\"{centre:.1}\" dy=\"{LINE}\">{}</tspan>", escape(line)),
            }
        }
        svg.push_str("</text>");
    }
}

/// Draws the legend, which explains filled and hollow marks.
fn legend(svg: &mut String) {
    svg.push_str("<g class=\"legend\">");
    let entries = [("s0", "differs", 8.0), ("s0 hollow", "no difference shown", 100.0)];
    for (class, text, x) in entries {
        put!(
            svg,
            "<g class=\"{class}\"><path class=\"marker\" d=\"{}\"/></g><text x=\"{:.1}\" y=\"15\">{text}</text>",
            diamond(x + 6.0, 11.0),
            x + 18.0
        );
    }
    svg.push_str("</g>");
}

/// The text of a row, wrapped into lines.
struct RowText {
    name: Vec<String>,
    words: Vec<String>,
}

impl RowText {
    fn of(row: &ForestRow, letters: usize) -> Self {
        Self { name: wrap(&row.name, letters), words: wrap(&row.words, letters) }
    }

    fn height(&self) -> f64 {
        (self.name.len() + self.words.len()) as f64 * LINE + MARK + BETWEEN
    }

    fn draw(&self, svg: &mut String, top: f64) {
        for (number, line) in self.name.iter().enumerate() {
            let base = top + 12.0 + number as f64 * LINE;
            put!(
                svg,
                "<text class=\"note\" x=\"{MARGIN}\" y=\"{base:.1}\">{}</text>",
                escape(line)
            );
        }
        svg.push_str("<g class=\"tick\">");
        for (number, line) in self.words.iter().enumerate() {
            let base = top + 12.0 + (self.name.len() + number) as f64 * LINE;
            put!(
                svg,
                "<text class=\"note\" x=\"{MARGIN}\" y=\"{base:.1}\">{}</text>",
                escape(line)
            );
        }
        svg.push_str("</g>");
    }
}

impl ForestRow {
    fn draw(&self, svg: &mut String, frame: &Frame, x: &Scale, middle: f64) {
        let class = if self.shown { "s0" } else { "s0 hollow" };
        let (name, words) = (&self.name, &self.words);
        put!(svg, "<g class=\"{class}\"><title>{}: {}</title>", escape(name), escape(words));
        if let Some((low, high)) = self.interval.filter(|(low, high)| high > low) {
            let (from, to) = (frame.x(x, low), frame.x(x, high));
            let up = middle - 4.0;
            put!(
                svg,
                "<path class=\"interval\" d=\"M{from:.1} {middle:.1}H{to:.1}M{from:.1} {up:.1}v8M{to:.1} {up:.1}v8\"/>"
            );
        }
        let at = diamond(frame.x(x, self.value), middle);
        put!(svg, "<path class=\"marker\" d=\"{at}\"/></g>");
    }
}

fn diamond(x: f64, y: f64) -> String {
    format!("M{:.1} {y:.1}l4.5 -4.5 4.5 4.5 -4.5 4.5z", x - 4.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Drawing;

    #[test]
    fn a_row_has_its_mark_where_the_axis_says_and_its_words_above() {
        let row = |name: &str, value: f64, half: f64| ForestRow {
            name: name.to_owned(),
            words: "1.00 ms → 1.20 ms; ratio 1.20".to_owned(),
            value,
            interval: (half > 0.0).then_some((value - half, value + half)),
            shown: half > 0.0 && value.abs() > half,
        };
        let forest = Forest {
            title: "<after> against before".to_owned(),
            description: String::new(),
            axis: "difference of after to before, of before".to_owned(),
            unit: Unit::Fraction,
            none: "as before".to_owned(),
            rows: vec![row("rtt.p50", 0.2, 0.1), row("loss", 0.0, 0.0), row("rate", -0.1, 0.2)],
        };
        let svg = forest.svg_at("p", Width::new(400.0));
        assert!(
            svg.contains("&lt;after&gt;")
                && svg.contains("difference of after to before, of before (%)"),
            "{svg}"
        );
        // The axis has -30 to 30 % over 368 pixels. The marks of the legend precede those of the
        // rows.
        let marks: Vec<&str> = svg.split("class=\"marker\" d=\"M").skip(3).collect();
        let at = |mark: &str| {
            mark.split(' ').next().and_then(|x| x.parse::<f64>().ok()).expect("a place") + 4.5
        };
        let places: Vec<f64> = marks.iter().map(|mark| at(mark)).collect();
        assert_eq!(places.len(), 3);
        let per_share = (places[0] - places[1]) / 0.2;
        assert!((places[1] - places[2] - 0.1 * per_share).abs() < 0.2, "{places:?}");
        assert_eq!(svg.matches("class=\"interval\"").count(), 2);
        assert_eq!(
            svg.matches("<g class=\"s0 hollow\">").count(),
            3,
            "the legend and what is not shown"
        );
        assert!(Drawing::read(&svg).expect("understood").pdf().is_ok());
    }
}
