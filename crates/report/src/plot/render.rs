//! Draws line plots as SVG.

use super::axes::{Labels, draw_axes};
use super::coincide::{Coincidence, Drawn};
use super::frame::{Frame, LETTER, LINE, class, shape};
use super::intervals::{cut, draw_intervals};
use super::legend::Legend;
use super::markers::outline;
use super::palette::SERIES;
use super::scale::{Axis, Scale};
use super::thin::thin;
use super::{Line, Marker, Plot, Point, Width};
use crate::page::escape;
use crate::put::put;
use crate::terminal::wrap;

/// The ratio of the height of the area in which lines are drawn to the width of the whole drawing.
const INNER_HEIGHT: f64 = 270.0 / 640.0;
/// The largest number of characters in the remark about lines that coincide. They fit into two
/// rows.
const NOTE: usize = 170;
/// The largest numbers of points that are drawn: in all lines of a plot together (`POINTS`), and in
/// one line (`POINTS_PER_LINE`).
const POINTS: usize = 24_000;
const POINTS_PER_LINE: usize = 2_000;

impl Plot {
    /// Returns whether the plot has nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let any_line =
            self.lines.iter().any(|l| l.points.iter().any(|p| p.x.is_finite() && p.y.is_finite()));
        !any_line && self.areas.iter().all(|a| a.points.is_empty())
    }

    /// Returns the plot as SVG in the width that figures have in a page. `id` must be unique in the
    /// page and a valid identifier.
    pub(crate) fn svg(&self, id: &str) -> String {
        self.svg_at(id, Width::PAGE)
    }

    /// Returns the plot as SVG in the given width. Letters have the same size at every width.
    pub(crate) fn svg_at(&self, id: &str, width: Width) -> String {
        let inner = (width.pixels() * INNER_HEIGHT).clamp(150.0, 420.0);
        let fitted = Width::new(width.pixels() - 100.0);
        // There is about one tick per 80 pixels horizontally and per 45 pixels vertically, with a
        // minimum for narrow drawings.
        let wanted =
            |length: f64, each: f64, least: f64| (length / each).round().max(least) as usize;
        let x = Scale::fit_in(&self.x, self.x_values(), wanted(width.pixels(), 80.0, 6.0), fitted);
        let y = Scale::fit(&self.y, self.y_values(), wanted(inner, 45.0, 4.0));
        let widest = y.ticks().iter().map(|t| t.label.chars().count()).max().unwrap_or(0);
        let bare = 34.0 + widest as f64 * LETTER;
        let labels = Labels::of(&x, width.pixels() - bare - 24.0, &y, inner + 40.0);
        let left = bare + labels.left();
        let most = (POINTS / self.lines.len().max(1)).clamp(200, POINTS_PER_LINE);
        let lines: Vec<_> = self.lines.iter().map(|line| thin(&line.points, most)).collect();
        let edge = width.pixels();
        let below = Frame { left, right: edge - 20.0, top: 0.0, bottom: inner, edge };
        let drawn = self.lines.iter().zip(&lines);
        let drawn = drawn.map(|(line, points)| {
            let place = |point: &Point| (below.x(&x, point.x) + line.aside, below.y(&y, point.y));
            Drawn::of(line, points, place)
        });
        let coincidence = Coincidence::of(&drawn.collect::<Vec<_>>());
        let sentence = coincidence.sentence();
        let note = coincidence.note(NOTE);
        // A narrow drawing has no space to spare above its vertical axis.
        let legend_left = if edge < Width::PAGE.pixels() { 4.0 } else { left };
        let legend = Legend::of(self, note.as_deref(), edge - legend_left - 4.0);
        let cut = cut(self, &y);
        let remarks = [self.x.key(fitted), cut.clone().unwrap_or_default()];
        let remarks = remarks.iter().filter(|remark| !remark.is_empty());
        let remarks: Vec<String> =
            remarks.flat_map(|remark| wrap(remark, ((edge - 8.0) / LETTER) as usize)).collect();
        let top = 14.0 + legend.height();
        let frame = Frame { top, bottom: top + inner, ..below };
        let under = frame.bottom + 48.0 + labels.below();
        let height = under + remarks.len() as f64 * LINE;

        let mut svg = String::with_capacity(4096);
        put!(
            svg,
            "<svg class=\"plot\" viewBox=\"0 0 {edge} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" \
             xmlns=\"http://www.w3.org/2000/svg\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>\
             <clipPath id=\"{id}-c\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>",
            escape(&self.title),
            escape(&described(&self.description, sentence.as_deref(), cut.as_deref())),
            frame.left - 6.0,
            frame.top - 6.0,
            frame.right - frame.left + 12.0,
            frame.bottom - frame.top + 12.0,
        );
        legend.draw(&mut svg, legend_left);
        self.draw_span(&mut svg, &frame, &x);
        draw_axes(&mut svg, &frame, &x, &y, &labels);
        put!(svg, "<g clip-path=\"url(#{id}-c)\">");
        self.draw_areas(&mut svg, &frame, &x, &y);
        for ((line, points), depth) in self.lines.iter().zip(&lines).zip(&coincidence.depths) {
            DrawnLine { line, points, lines_on_top: *depth }.draw(&mut svg, &frame, &x, &y);
        }
        svg.push_str("</g>");
        self.draw_marks(&mut svg, &frame, &x);
        self.draw_levels(&mut svg, &frame, &y);
        for (number, remark) in remarks.iter().enumerate() {
            let base = under + 8.0 + number as f64 * LINE;
            put!(svg, "<text x=\"4.0\" y=\"{base:.1}\">{}</text>", escape(remark));
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn x_values(&self) -> impl Iterator<Item = f64> {
        let lines = self.lines.iter().flat_map(|l| l.points.iter().map(|p| p.x));
        let areas = self.areas.iter().flat_map(|a| a.points.iter().map(|p| p.0));
        let marks = self.marks.iter().map(|m| m.x);
        lines.chain(areas).chain(marks)
    }

    fn y_values(&self) -> impl Iterator<Item = f64> {
        let lines = self.lines.iter().flat_map(|l| l.points.iter());
        let ends = lines.flat_map(|p| {
            let (low, high) = p.spread.ends(p.y).unwrap_or((p.y, p.y));
            // On a logarithmic axis, the lower end of the interval may be negative. The mean is
            // then still shown.
            [low, p.y, high]
        });
        let floor = match self.y.from_zero {
            // Wide intervals do not extend an axis of non-negative values below zero.
            true if self
                .lines
                .iter()
                .flat_map(|l| &l.points)
                .all(|p| p.y.is_nan() || p.y >= 0.0) =>
            {
                0.0
            }
            true => f64::NEG_INFINITY,
            // A wide interval must not extend a logarithmic axis by many decades.
            false => self.least_y() / 3.0,
        };
        let areas = self.areas.iter().flat_map(|a| a.points.iter().flat_map(|p| [p.1, p.2]));
        let levels = self.y.levels.iter().map(|(value, _)| *value);
        ends.filter(move |y| *y >= floor).chain(areas).chain(levels)
    }

    fn least_y(&self) -> f64 {
        let values = self.lines.iter().flat_map(|l| l.points.iter().map(|p| p.y));
        values.filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min)
    }

    fn draw_span(&self, svg: &mut String, frame: &Frame, x: &Scale) {
        let Some(span) = &self.span else { return };
        let (from, to) = (frame.x(x, span.from), frame.x(x, span.to));
        put!(
            svg,
            "<rect class=\"span\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            frame.top,
            (to - from).max(0.0),
            frame.bottom - frame.top,
            escape(&span.name),
        );
    }

    fn draw_areas(&self, svg: &mut String, frame: &Frame, x: &Scale, y: &Scale) {
        for area in &self.areas {
            if area.points.is_empty() {
                continue;
            }
            put!(svg, "<path class=\"area s{}\" d=\"", area.hue % SERIES);
            let upper = area.points.iter().map(|p| (p.0, p.2));
            let lower = area.points.iter().rev().map(|p| (p.0, p.1));
            for (position, (across, up)) in upper.chain(lower).enumerate() {
                let letter = if position == 0 { 'M' } else { 'L' };
                put!(svg, "{letter}{:.1} {:.1}", frame.x(x, across), frame.y(y, up));
            }
            put!(svg, "z\"><title>{}</title></path>", escape(&area.name));
        }
    }

    fn draw_marks(&self, svg: &mut String, frame: &Frame, x: &Scale) {
        let mut marks: Vec<_> = self.marks.iter().map(|m| (frame.x(x, m.x), &m.label)).collect();
        marks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut row = 0.0;
        for (place, (at, label)) in marks.iter().enumerate() {
            // The label stands on the side where no other mark crosses it, if there is one.
            let letters = label.chars().count();
            let width = letters as f64 * LETTER + 8.0;
            let next = marks.get(place + 1).map_or(frame.right, |next| next.0);
            let (after, before) = (frame.right - at, at - frame.left);
            let starts = next - at > width || (before < width && after > before);
            let (anchor, text_at, room) =
                if starts { ("start", at + 5.0, after) } else { ("end", at - 5.0, before) };
            let (top, bottom) = (frame.top, frame.bottom);
            put!(svg, "<path class=\"mark\" d=\"M{at:.1} {top:.1}V{bottom:.1}\"/>");
            // If neither side has enough space for the label, it is wrapped.
            let letters = if room < width { (room / LETTER) as usize } else { letters };
            let lines = wrap(label, letters);
            for (number, line) in lines.iter().enumerate() {
                let y = frame.top + 13.0 + row + number as f64 * LINE;
                put!(
                    svg,
                    "<text class=\"note\" x=\"{text_at:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
                    escape(line)
                );
            }
            row += (lines.len().max(1) - 1) as f64 * LINE;
            row += 16.0;
        }
    }
}

impl Plot {
    fn draw_levels(&self, svg: &mut String, frame: &Frame, y: &Scale) {
        for (value, label) in &self.y.levels {
            let (at, left, right) = (frame.y(y, *value), frame.left, frame.right);
            put!(svg, "<path class=\"mark\" d=\"M{left:.1} {at:.1}H{right:.1}\"/>");
            let lines = wrap(label, ((right - left) / LETTER) as usize);
            for (number, line) in lines.iter().rev().enumerate() {
                put!(
                    svg,
                    "<text class=\"note\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    right - 4.0,
                    at - 4.0 - number as f64 * LINE,
                    escape(line)
                );
            }
        }
    }
}

fn described(description: &str, coincidence: Option<&str>, cut: Option<&str>) -> String {
    let mut described =
        coincidence.map_or_else(|| description.to_owned(), |more| format!("{description} {more}."));
    if let Some(cut) = cut {
        described.push(' ');
        described.push_str(cut);
    }
    described
}

/// A line of a plot, and how it is drawn.
struct DrawnLine<'a> {
    line: &'a Line,
    /// The points of the line that are drawn. A long line is drawn with fewer points.
    points: &'a [Point],
    /// The number of lines that hide this one, so that it must be drawn wider.
    lines_on_top: usize,
}

impl DrawnLine<'_> {
    fn draw(&self, svg: &mut String, frame: &Frame, x: &Scale, y: &Scale) {
        let Self { line, points, lines_on_top } = *self;
        let beneath =
            if lines_on_top > 0 { format!(" beneath{lines_on_top}") } else { String::new() };
        put!(svg, "<g class=\"{}{beneath}\">", class(line.style));
        if !line.name.is_empty() {
            put!(svg, "<title>{}</title>", escape(&line.name));
        }
        svg.push_str(if line.style.marker == Marker::Dot {
            "<path class=\"dot\" d=\""
        } else {
            "<path class=\"line\" d=\""
        });
        let mut pen_down = false;
        for point in points {
            if !(point.x.is_finite() && point.y.is_finite()) {
                pen_down = false;
                continue;
            }
            let letter = if pen_down { 'L' } else { 'M' };
            put!(svg, "{letter}{:.1} {:.1}", frame.x(x, point.x) + line.aside, frame.y(y, point.y));
            if line.style.marker == Marker::Dot {
                // A segment of length zero with round ends is a dot in a few bytes.
                svg.push_str("h0");
            } else {
                pen_down = true;
            }
        }
        svg.push_str("\"/>");
        let drawn = || points.iter().filter(|p| p.x.is_finite() && p.y.is_finite());
        draw_intervals(svg, points, line.aside, frame, x, y);
        if matches!(line.style.marker, Marker::Filled | Marker::Hollow) {
            for point in drawn() {
                svg.push_str("<path class=\"marker\" d=\"");
                let across = frame.x(x, point.x) + line.aside;
                outline(svg, shape(line.style.hue), across, frame.y(y, point.y));
                match &point.tip {
                    Some(tip) => {
                        put!(svg, "\"><title>{}</title></path>", escape(tip));
                    }
                    None => svg.push_str("\"/>"),
                }
            }
        }
        svg.push_str("</g>");
    }
}

/// Returns whether values range so widely that a logarithmic axis shows them better than a linear
/// one. Returns false if a value is not positive.
pub(crate) fn spans_decades(values: impl Iterator<Item = f64>) -> bool {
    let (low, high) =
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    low > 0.0 && high / low > 100.0
}

impl Axis {
    /// Returns a logarithmic axis if the values range over more than two decades, otherwise a
    /// linear one.
    pub(crate) fn fitting(
        label: impl Into<String>,
        unit: statistics::Unit,
        values: impl Iterator<Item = f64>,
    ) -> Self {
        if spans_decades(values) {
            Self::logarithmic(label, unit)
        } else {
            Self::linear(label, unit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Drawing, Style};
    use crate::value::Spread;
    use statistics::Unit;

    fn plot(lines: Vec<Line>) -> Plot {
        Plot {
            title: "A <title>".to_owned(),
            description: "\"quoted\" & plain".to_owned(),
            x: Axis::linear("offered", Unit::PerSecond),
            y: Axis::linear("received", Unit::PerSecond),
            lines,
            areas: Vec::new(),
            span: None,
            marks: Vec::new(),
            keys: Vec::new(),
        }
    }

    fn line(name: &str, points: Vec<Point>) -> Line {
        Line::new(name, points, Style::series(0).filled())
    }

    #[test]
    fn nothing_to_draw_is_known() {
        assert!(plot(Vec::new()).is_empty());
        assert!(plot(vec![line("a", vec![Point::new(1.0, f64::NAN)])]).is_empty());
        assert!(!plot(vec![line("a", vec![Point::new(1.0, 0.0)])]).is_empty());
    }

    #[test]
    fn text_is_escaped_and_labelled_for_screen_readers() {
        let svg = plot(vec![line("<script>", vec![Point::new(1.0, 2.0)])]).svg("p1");
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;"), "{svg}");
        assert!(svg.contains("role=\"img\" aria-labelledby=\"p1-t p1-d\""));
        assert!(svg.contains("A &lt;title&gt;") && svg.contains("&quot;quoted&quot; &amp; plain"));
    }

    #[test]
    fn positions_are_where_the_values_say() {
        // Both axes end at 10, so that 5 lies in the middle.
        let points = vec![Point::new(0.0, 0.0), Point::new(5.0, 5.0), Point::new(10.0, 10.0)];
        let svg = plot(vec![line("a", points)]).svg("p");
        let path = svg
            .split("class=\"line\" d=\"")
            .nth(2)
            .and_then(|s| s.split('"').next())
            .expect("a line");
        let numbers: Vec<f64> = path
            .split(['M', 'L', ' '])
            .filter(|s| !s.is_empty())
            .map(|s| s.parse().expect("a number"))
            .collect();
        assert_eq!(numbers.len(), 6, "{path}");
        assert!((numbers[2] - (numbers[0] + numbers[4]) / 2.0).abs() < 0.11, "{path}");
        assert!((numbers[3] - (numbers[1] + numbers[5]) / 2.0).abs() < 0.11, "{path}");
        assert!((numbers[1] - numbers[5] - 270.0).abs() < 0.11, "{path}");
    }

    #[test]
    fn intervals_are_drawn_where_there_are_any() {
        let with = Point { spread: Spread::Confidence(2.0), ..Point::new(1.0, 5.0) };
        let svg = plot(vec![line("a", vec![with, Point::new(2.0, 5.0)])]).svg("p");
        let path = svg
            .split("class=\"interval\" d=\"")
            .nth(1)
            .and_then(|s| s.split('"').next())
            .expect("intervals");
        assert_eq!(path.matches('V').count(), 1, "{path}");
        assert_eq!(path.matches("h8").count(), 2, "both of its ends are within: {path}");
        assert!(!svg.contains("beyond the frame"), "{svg}");
        let without = plot(vec![line("a", vec![Point::new(2.0, 5.0)])]).svg("p");
        assert!(!without.contains("interval"));
    }

    #[test]
    fn a_wide_interval_does_not_pull_the_axis_below_zero() {
        let wide = |y| vec![Point { spread: Spread::Confidence(50.0), ..Point::new(1.0, y) }];
        let least = |y| plot(vec![line("a", wide(y))]).y_values().fold(f64::INFINITY, f64::min);
        assert_eq!(least(5.0), 5.0, "its end is cut off");
        assert_eq!(least(-5.0), -55.0);
    }

    /// Checks the arrow at the frame and the sentence below, in the page and in the files.
    #[test]
    fn an_interval_that_the_frame_cuts_says_so() {
        let wide = Point { spread: Spread::Confidence(50.0), ..Point::new(2.0, 5.0) };
        let lines = vec![line("a", vec![wide, Point::new(4.0, 5.0)])];
        let svg = plot(lines).svg_at("p", Width::new(400.0));
        let path = svg.split("class=\"interval\" d=\"").nth(1).expect("an interval");
        let path = path.split('"').next().expect("its end");
        assert!(path.ends_with("l4 6l4 -6"), "an arrow down: {path}");
        assert_eq!(path.matches("h8").count(), 1, "its upper end is within: {path}");
        let file = Drawing::read(&svg).expect("understood").svg();
        let texts = file.split("<text ").filter_map(|text| text.split(['>', '<']).nth(1));
        let read = texts.collect::<Vec<_>>().join(" ");
        let note = "Arrows mark intervals that go beyond the frame: a, offered 2.00/s: 5 ± 50/s.";
        assert!(read.ends_with(note), "{read}");
        assert!(svg.contains("5 ± 50/s.</desc>"), "{svg}");
    }

    #[test]
    fn a_gap_interrupts_the_line() {
        let points = [1.0, 2.0, f64::NAN, 4.0, 5.0].iter().enumerate();
        let svg =
            plot(vec![line("", points.map(|(i, y)| Point::new(i as f64, *y)).collect())]).svg("p");
        let path = svg
            .split("class=\"line\" d=\"")
            .nth(1)
            .and_then(|s| s.split('"').next())
            .expect("a line");
        assert_eq!(path.matches('M').count(), 2, "{path}");
    }

    #[test]
    fn lines_on_one_another_are_both_seen_and_named() {
        let points = || vec![Point::new(1.0, 2.0), Point::new(2.0, 4.0)];
        let other = |name: &str| Line { style: Style::series(1).hollow(), ..line(name, points()) };
        let svg = plot(vec![line("first", points()), other("second")]).svg("p");
        assert!(svg.contains("<g class=\"s0 beneath1\">"), "{svg}");
        assert!(svg.contains(">One on another: first and second</text>"), "{svg}");
        assert!(svg.contains("One on another: first and second.</desc>"), "{svg}");
        let mut apart = points();
        apart[1].y = 1.0;
        let svg = plot(vec![line("first", apart), other("second")]).svg("p");
        assert!(!svg.contains("beneath") && !svg.contains("One on another"), "{svg}");
    }

    #[test]
    fn many_long_lines_stay_small() {
        let long = |n: usize| {
            line(
                &n.to_string(),
                (0..40_000).map(|i| Point::new(i as f64, (i % 97) as f64)).collect(),
            )
        };
        let svg =
            plot((0..64).map(|n| Line { style: Style::series(n), ..long(n) }).collect()).svg("p");
        assert!(svg.len() < 600_000, "{}", svg.len());
    }

    #[test]
    fn wide_values_ask_for_a_logarithm_but_zero_forbids_it() {
        assert!(spans_decades([10.0, 5000.0].into_iter()));
        assert!(!spans_decades([0.0, 5000.0].into_iter()));
        assert!(!spans_decades([1.0, 50.0].into_iter()));
    }
}
