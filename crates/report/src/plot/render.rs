//! A plot as SVG.

use super::coincide::{Coincidence, Drawn};
use super::markers::outline;
use super::palette::SERIES;
use super::scale::{Axis, Scale};
use super::thin::thin;
use super::{Hue, Line, Marker, Plot, Point, Style};
use crate::page::escape;
use crate::put::put;
use crate::terminal::wrap;

/// Width of a drawing in its own units, which are pixels at the usual size.
pub(super) const WIDTH: f64 = 640.0;
/// Height of the part between the axes.
const INNER_HEIGHT: f64 = 270.0;
/// Height of a row of the legend.
const LEGEND_ROW: f64 = 20.0;
/// Width of a letter at the size that axes and legends use.
pub(super) const LETTER: f64 = 6.5;
/// Characters of the note that names lines on one another, at most: two rows.
const NOTE: usize = 170;
/// Points drawn over all lines of a plot, and at most for one.
const POINTS: usize = 24_000;
const POINTS_PER_LINE: usize = 2_000;

/// Where the inner part of the drawing lies.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plot {
    /// Whether there is anything to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let any_line =
            self.lines.iter().any(|l| l.points.iter().any(|p| p.x.is_finite() && p.y.is_finite()));
        !any_line && self.areas.iter().all(|a| a.points.is_empty())
    }

    /// The drawing. `id` must be unique in the page and a valid identifier.
    pub(crate) fn svg(&self, id: &str) -> String {
        let x = Scale::fit(&self.x, self.x_values(), 8);
        let y = Scale::fit(&self.y, self.y_values(), 6);
        let widest = y.ticks().iter().map(|t| t.label.chars().count()).max().unwrap_or(0);
        let left = 34.0 + widest as f64 * LETTER;
        let most = (POINTS / self.lines.len().max(1)).clamp(200, POINTS_PER_LINE);
        let lines: Vec<_> = self.lines.iter().map(|line| thin(&line.points, most)).collect();
        let below = Frame { left, right: WIDTH - 20.0, top: 0.0, bottom: INNER_HEIGHT };
        let drawn = self.lines.iter().zip(&lines);
        let drawn = drawn.map(|(line, points)| {
            let place = |point: &Point| (below.x(&x, point.x) + line.aside, below.y(&y, point.y));
            Drawn::of(line, points, place)
        });
        let coincidence = Coincidence::of(&drawn.collect::<Vec<_>>());
        let sentence = coincidence.sentence();
        let note = coincidence.note(NOTE);
        let legend = Legend::of(self, note.as_deref(), WIDTH - left);
        let top = 14.0 + legend.height();
        let frame = Frame { top, bottom: top + INNER_HEIGHT, ..below };
        let height = frame.bottom + 48.0;

        let mut svg = String::with_capacity(4096);
        put!(
            svg,
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" \
             xmlns=\"http://www.w3.org/2000/svg\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>\
             <clipPath id=\"{id}-c\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>",
            escape(&self.title),
            escape(&described(&self.description, sentence.as_deref())),
            frame.left - 6.0,
            frame.top - 6.0,
            frame.right - frame.left + 12.0,
            frame.bottom - frame.top + 12.0,
        );
        legend.draw(&mut svg, frame.left);
        self.draw_span(&mut svg, &frame, &x);
        draw_axes(&mut svg, &frame, &x, &y);
        put!(svg, "<g clip-path=\"url(#{id}-c)\">");
        self.draw_areas(&mut svg, &frame, &x, &y);
        for ((line, points), depth) in self.lines.iter().zip(&lines).zip(&coincidence.depths) {
            draw_line(&mut svg, (line, points, *depth), &frame, &x, &y);
        }
        svg.push_str("</g>");
        self.draw_marks(&mut svg, &frame, &x);
        self.draw_levels(&mut svg, &frame, &y);
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
            // On a logarithmic axis an interval may reach below zero; its mean still counts.
            [low, p.y, high]
        });
        let floor = match self.y.from_zero {
            // What cannot be negative is not drawn so because its interval is wide.
            true if self
                .lines
                .iter()
                .flat_map(|l| &l.points)
                .all(|p| p.y.is_nan() || p.y >= 0.0) =>
            {
                0.0
            }
            true => f64::NEG_INFINITY,
            // A wide interval must not stretch a logarithmic axis by many decades.
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
            // The label stands where no other mark runs through it, if there is such a side.
            let width = label.chars().count() as f64 * LETTER + 8.0;
            let next = marks.get(place + 1).map_or(frame.right, |next| next.0);
            let (anchor, text_at) =
                if next - at > width { ("start", at + 5.0) } else { ("end", at - 5.0) };
            let (top, bottom, y) = (frame.top, frame.bottom, frame.top + 13.0 + row);
            let label = escape(label);
            put!(svg, "<path class=\"mark\" d=\"M{at:.1} {top:.1}V{bottom:.1}\"/>");
            put!(
                svg,
                "<text class=\"note\" x=\"{text_at:.1}\" y=\"{y:.1}\" \
                 text-anchor=\"{anchor}\">{label}</text>"
            );
            row += 16.0;
        }
    }
}

impl Plot {
    fn draw_levels(&self, svg: &mut String, frame: &Frame, y: &Scale) {
        for (value, label) in &self.y.levels {
            let (at, left, right) = (frame.y(y, *value), frame.left, frame.right);
            put!(svg, "<path class=\"mark\" d=\"M{left:.1} {at:.1}H{right:.1}\"/>");
            put!(
                svg,
                "<text class=\"note\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                right - 4.0,
                at - 4.0,
                escape(label)
            );
        }
    }
}

impl Frame {
    fn x(&self, scale: &Scale, value: f64) -> f64 {
        self.left + scale.position(value) * (self.right - self.left)
    }

    fn y(&self, scale: &Scale, value: f64) -> f64 {
        self.bottom - scale.position(value) * (self.bottom - self.top)
    }
}

fn draw_axes(svg: &mut String, frame: &Frame, x: &Scale, y: &Scale) {
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
    // Labels that would run into their neighbour are left out.
    let mut free_from = f64::NEG_INFINITY;
    for tick in x.ticks().iter().filter(|t| !t.label.is_empty()) {
        let (at, half) = (frame.x(x, tick.value), tick.label.chars().count() as f64 * LETTER / 2.0);
        // Nor may the last leave the drawing.
        let at = at.min(WIDTH - half - 1.0);
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
    put!(
        svg,
        "</g><text class=\"label\" data-unit=\"{}\" x=\"{centre:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text class=\"label\" data-unit=\"{}\" transform=\"translate(15 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        x.unit().text(),
        frame.bottom + 40.0,
        escape(&x.label()),
        y.unit().text(),
        escape(&y.label()),
    );
}

fn described(description: &str, coincidence: Option<&str>) -> String {
    coincidence.map_or_else(|| description.to_owned(), |more| format!("{description} {more}."))
}

/// A line, its points as far as they are drawn, and how many lines lie on it.
fn draw_line(
    svg: &mut String,
    (line, points, depth): (&Line, &[Point], usize),
    frame: &Frame,
    x: &Scale,
    y: &Scale,
) {
    let beneath = if depth > 0 { format!(" beneath{depth}") } else { String::new() };
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
            // No length, but round ends: a dot for a few bytes.
            svg.push_str("h0");
        } else {
            pen_down = true;
        }
    }
    svg.push_str("\"/>");
    let drawn = || points.iter().filter(|p| p.x.is_finite() && p.y.is_finite());
    draw_intervals(svg, (drawn(), line.aside), frame, x, y);
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

fn draw_intervals<'a>(
    svg: &mut String,
    (points, aside): (impl Iterator<Item = &'a Point>, f64),
    frame: &Frame,
    x: &Scale,
    y: &Scale,
) {
    let mut path = String::new();
    for point in points {
        let ends = point.spread.ends(point.y);
        let Some((low, high)) = ends.filter(|(low, high)| (high - low).is_finite() && high > low)
        else {
            continue;
        };
        let across = frame.x(x, point.x) + aside;
        let (from, to) = (frame.y(y, low), frame.y(y, high));
        put!(path, "M{:.1} {to:.1}h8m-4 0V{from:.1}m-4 0h8", across - 4.0);
    }
    if !path.is_empty() {
        put!(svg, "<path class=\"interval\" d=\"{path}\"/>");
    }
}

fn class(style: Style) -> String {
    let mut class = match style.hue {
        Hue::Series(number) => format!("s{}", number % SERIES),
        Hue::Muted if style == Style::guide() => "muted guide".to_owned(),
        Hue::Muted => "muted".to_owned(),
    };
    if style.dashed {
        class.push_str(" dashed");
    }
    if style.marker == Marker::Hollow {
        class.push_str(" hollow");
    }
    if style.faint {
        class.push_str(" faint");
    }
    class
}

/// Colours and shapes have different numbers, so that lines beyond the palette differ from those
/// that they share a colour with.
fn shape(hue: Hue) -> usize {
    match hue {
        Hue::Series(number) => number,
        Hue::Muted => 0,
    }
}

/// What each line means, in rows above the drawing, and which of them lie on one another.
struct Legend<'a> {
    rows: Vec<Vec<Entry<'a>>>,
    notes: Vec<String>,
}

struct Entry<'a> {
    name: &'a str,
    sample: Sample,
    width: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Sample {
    Line(Style),
    Area(usize),
    Span,
}

impl<'a> Legend<'a> {
    fn of(plot: &'a Plot, note: Option<&str>, width: f64) -> Self {
        let notes = note.map(|text| wrap(text, (width / LETTER) as usize)).unwrap_or_default();
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
        let mut rows: Vec<Vec<Entry<'a>>> = Vec::new();
        let mut room = 0.0;
        for (name, sample) in entries {
            let width = 34.0 + name.chars().count() as f64 * LETTER + 14.0;
            if room < width || rows.is_empty() {
                rows.push(Vec::new());
                room = WIDTH - 60.0;
            }
            room -= width;
            if let Some(row) = rows.last_mut() {
                row.push(Entry { name, sample, width });
            }
        }
        Self { rows, notes }
    }

    fn height(&self) -> f64 {
        (self.rows.len() + self.notes.len()) as f64 * LEGEND_ROW
    }

    fn draw(&self, svg: &mut String, left: f64) {
        svg.push_str("<g class=\"legend\">");
        for (number, row) in self.rows.iter().enumerate() {
            let middle = 11.0 + number as f64 * LEGEND_ROW;
            let mut at = left;
            for entry in row {
                entry.sample.draw(svg, at, middle);
                put!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    at + 34.0,
                    middle + 4.0,
                    escape(entry.name)
                );
                at += entry.width;
            }
        }
        for (number, note) in self.notes.iter().enumerate() {
            let base = 15.0 + (self.rows.len() + number) as f64 * LEGEND_ROW;
            put!(svg, "<text x=\"{left:.1}\" y=\"{base:.1}\">{}</text>", escape(note));
        }
        svg.push_str("</g>");
    }
}

impl Sample {
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

/// Whether values range so widely that a logarithmic axis shows them better; none may be zero.
pub(crate) fn spans_decades(values: impl Iterator<Item = f64>) -> bool {
    let (low, high) =
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    low > 0.0 && high / low > 100.0
}

impl Axis {
    /// Logarithmic if the values range over more than two decades, else linear.
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
        // Axes end at 10 and 10, so that 5 lies in the middle of both.
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
        assert!((numbers[1] - numbers[5] - INNER_HEIGHT).abs() < 0.11, "{path}");
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
