//! A plot as plain shapes with colours, from which figure files are written.
//!
//! In a page, a plot takes its colours from a style sheet, which other programs lack. Figure files
//! are therefore written from the SVG of the page, which is read back, so that they cannot differ
//! from the page. Every shape gets the appearance that the style sheet (`page/style.css`) defines
//! for its classes, in the colours of the light theme. The reader supports only what the modules of
//! [`super`] write.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::coincide::DEEPEST;
use super::palette::{LIGHT, SERIES};

/// A plot as shapes in the order in which they are drawn. Lengths are pixels at the size in a page,
/// from the top left.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The title of the plot.
    pub(super) title: String,
    pub(super) items: Vec<Item>,
}

/// A shape, or a change of the area to which later shapes are limited.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Path {
        segments: Vec<Segment>,
        look: Look,
    },
    Text(Text),
    /// Limits the following shapes to a rectangle: left, top, width and height.
    Clip([f64; 4]),
    /// Ends the limitation of shapes to a rectangle.
    Unclip,
}

/// A segment of the outline of a shape, in absolute coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Segment {
    Move(f64, f64),
    Line(f64, f64),
    /// A half circle to this point, anticlockwise as a reader sees it.
    HalfCircle(f64, f64),
    Close,
}

/// The appearance of a shape; colours are written as `#rrggbb`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Look {
    pub(super) fill: Option<&'static str>,
    pub(super) fill_opacity: f64,
    pub(super) stroke: Option<&'static str>,
    pub(super) stroke_opacity: f64,
    pub(super) width: f64,
    pub(super) dash: &'static [f64],
    pub(super) round_ends: bool,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) text: String,
    /// The position on the base line to which `anchor` refers.
    pub(super) at: (f64, f64),
    /// The share of the text's width that lies before `at`: 0, 0.5 or 1.
    pub(super) anchor: f64,
    pub(super) upwards: bool,
    pub(super) size: f64,
    pub(super) colour: &'static str,
    /// Whether an outline in the colour of the page separates the text from shapes beneath.
    pub(super) rim: bool,
}

/// The error for an SVG text that cannot be read as a drawing, which would be a defect of this
/// crate.
#[derive(Debug, thiserror::Error)]
#[error("a plot cannot be written to a file: {0}")]
pub(crate) struct DrawingError(String);

/// The colour of the page's background.
pub(super) const PAGE: &str = LIGHT.page;

impl Drawing {
    /// Reads a drawing from the SVG of a figure, such as the output of [`super::Plot::svg`].
    pub(crate) fn read(svg: &str) -> Result<Self, DrawingError> {
        let mut reader = Reader::from_str(svg);
        let mut state = State::default();
        loop {
            match reader.read_event().map_err(DrawingError::new)? {
                Event::Start(tag) => state.start(&tag)?,
                Event::Empty(tag) => {
                    state.start(&tag)?;
                    state.end();
                }
                Event::End(_) => state.end(),
                Event::Text(text) => state.text(&text),
                Event::GeneralRef(name) => state.reference(&name),
                Event::Eof => return Ok(state.drawing),
                _ => {}
            }
        }
    }
}

impl DrawingError {
    pub(super) fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// The state of the reader.
#[derive(Default)]
struct State {
    drawing: Drawing,
    /// The names and classes of the SVG elements that are open.
    open: Vec<(String, String)>,
    /// The rectangle of the last clip path: left, top, width and height.
    clip: [f64; 4],
    /// The text element that is open.
    pending: Option<Text>,
}

impl State {
    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), DrawingError> {
        let name = tag.name().as_ref().to_owned();
        let attribute = |wanted: &str| -> Option<String> {
            let found = tag.try_get_attribute(wanted).ok()??;
            Some(found.value.into_owned())
        };
        let number = |wanted: &str| attribute(wanted).and_then(|text| text.parse::<f64>().ok());
        let classes = attribute("class").unwrap_or_default();
        self.open.push((name.clone(), classes));
        match name.as_str() {
            "svg" => {
                let view = attribute("viewBox").unwrap_or_default();
                let mut sides = view.split(' ').filter_map(|side| side.parse().ok()).skip(2);
                (self.drawing.width, self.drawing.height) = sides
                    .next()
                    .zip(sides.next())
                    .ok_or_else(|| DrawingError(format!("view `{view}`")))?;
            }
            "g" if attribute("clip-path").is_some() => {
                self.drawing.items.push(Item::Clip(self.clip));
            }
            "rect" => {
                let sides = ["x", "y", "width", "height"].map(|side| number(side).unwrap_or(0.0));
                if self.is_in("clipPath") {
                    self.clip = sides;
                } else {
                    let [x, y, width, height] = sides;
                    let (right, bottom) = (x + width, y + height);
                    let segments = vec![
                        Segment::Move(x, y),
                        Segment::Line(right, y),
                        Segment::Line(right, bottom),
                        Segment::Line(x, bottom),
                        Segment::Close,
                    ];
                    let mut look = self.look();
                    look.fill_opacity = number("fill-opacity").unwrap_or(look.fill_opacity);
                    self.drawing.items.push(Item::Path { segments, look });
                }
            }
            "path" => {
                let segments = segments(&attribute("d").unwrap_or_default())?;
                let look = self.look();
                self.drawing.items.push(Item::Path { segments, look });
            }
            "text" => {
                let transform = attribute("transform").unwrap_or_default();
                let moved = transform
                    .strip_prefix("translate(")
                    .and_then(|rest| rest.split(')').next()?.split_once(' '))
                    .and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
                let at = moved
                    .unwrap_or_else(|| (number("x").unwrap_or(0.0), number("y").unwrap_or(0.0)));
                let anchor = match attribute("text-anchor").as_deref() {
                    Some("middle") => 0.5,
                    Some("end") => 1.0,
                    _ => 0.0,
                };
                let muted = self.has("tick");
                self.pending = Some(Text {
                    text: String::new(),
                    at,
                    anchor,
                    upwards: moved.is_some(),
                    size: if self.has("label") { 12.5 } else { 12.0 },
                    colour: if muted { LIGHT.muted } else { LIGHT.text },
                    rim: self.has("note"),
                });
            }
            "tspan" => self.next_line(number("dy").unwrap_or(0.0)),
            _ => {}
        }
        Ok(())
    }

    /// Starts the next line of a text, `below` pixels under the current line.
    fn next_line(&mut self, below: f64) {
        let Some(above) = &mut self.pending else { return };
        let (x, y) = above.at;
        let at = if above.upwards { (x + below, y) } else { (x, y + below) };
        let next = Text { text: String::new(), at, ..above.clone() };
        let mut above = std::mem::replace(above, next);
        above.text.truncate(above.text.trim_end().len());
        self.drawing.items.push(Item::Text(above));
    }

    fn end(&mut self) {
        let Some((name, _)) = self.open.pop() else { return };
        match name.as_str() {
            "text" => self.drawing.items.extend(self.pending.take().map(Item::Text)),
            // The only group without classes is the clipped one.
            "g" if self.open.len() == 1 && self.is_clipped() => {
                self.drawing.items.push(Item::Unclip);
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let is_title = self.open.len() == 2 && self.is_in("title");
        if let Some(pending) = &mut self.pending {
            pending.text.push_str(text);
        } else if is_title {
            self.drawing.title.push_str(text);
        }
    }

    fn reference(&mut self, name: &str) {
        let text = match name {
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            "quot" => "\"",
            "#39" => "'",
            _ => "\u{fffd}",
        };
        self.text(text);
    }

    fn is_clipped(&self) -> bool {
        let mut last = self.drawing.items.iter().rev();
        last.find(|item| matches!(item, Item::Clip(_) | Item::Unclip))
            .is_some_and(|item| matches!(item, Item::Clip(_)))
    }

    fn is_in(&self, element: &str) -> bool {
        self.open.iter().any(|(name, _)| name == element)
    }

    fn has(&self, class: &str) -> bool {
        self.open.iter().any(|(_, classes)| classes.split(' ').any(|own| own == class))
    }

    /// Returns the colour of the innermost open element that has one.
    fn colour(&self) -> &'static str {
        if self.has("muted") {
            return LIGHT.muted;
        }
        let number = (0..SERIES).find(|number| self.has(&format!("s{number}")));
        number.and_then(|number| LIGHT.series.get(number)).copied().unwrap_or(LIGHT.text)
    }

    /// Returns the appearance that the style sheet defines for the innermost open element.
    fn look(&self) -> Look {
        let own =
            self.open.last().map_or("", |(_, classes)| classes.split(' ').next().unwrap_or(""));
        let colour = self.colour();
        let stroke = |stroke: &'static str, width: f64| Look {
            stroke: Some(stroke),
            stroke_opacity: 1.0,
            fill_opacity: 1.0,
            width,
            ..Look::default()
        };
        let fill = |fill: &'static str, opacity: f64| Look {
            fill: Some(fill),
            fill_opacity: opacity,
            stroke_opacity: 1.0,
            ..Look::default()
        };
        match own {
            "grid" => stroke(LIGHT.line, 1.0),
            "axis" => stroke(LIGHT.muted, 1.0),
            "mark" => Look { dash: &[4.0, 3.0], ..stroke(LIGHT.text, 1.2) },
            "interval" => stroke(colour, 1.4),
            "dot" => Look { round_ends: true, ..stroke(colour, 5.0) },
            "area" => fill(colour, 0.22),
            "cell" => fill(colour, 1.0),
            "span" => fill(LIGHT.muted, 0.1),
            "marker" => {
                let inside = if self.has("hollow") { LIGHT.page } else { colour };
                Look { fill: Some(inside), ..stroke(colour, 1.4) }
            }
            _ => {
                let depth = (1..=DEEPEST).find(|depth| self.has(&format!("beneath{depth}")));
                let (width, opacity) = match (depth, self.has("faint"), self.has("legend")) {
                    (Some(depth), _, _) => (2.0 + 3.0 * depth as f64, 0.5),
                    (None, true, true) => (1.6, 0.85),
                    (None, true, false) => (1.1, 0.5),
                    (None, false, _) if self.has("guide") => (1.3, 1.0),
                    (None, false, _) => (2.0, 1.0),
                };
                let dash: &[f64] = match (self.has("guide"), self.has("dashed")) {
                    (true, _) => &[2.0, 4.0],
                    (false, true) => &[6.0, 4.0],
                    (false, false) => &[],
                };
                Look { dash, stroke_opacity: opacity, ..stroke(colour, width) }
            }
        }
    }
}

/// Parses SVG path data, limited to the commands that plots contain.
fn segments(data: &str) -> Result<Vec<Segment>, DrawingError> {
    let mut segments = Vec::new();
    let (mut at, mut begin) = ((0.0, 0.0), (0.0, 0.0));
    let mut rest = data;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let length = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let numbers = numbers(&rest[..length])?;
        rest = &rest[length..];
        let (dx, dy) = if letter.is_ascii_lowercase() { at } else { (0.0, 0.0) };
        match (letter, numbers.as_slice()) {
            ('z', []) => {
                segments.push(Segment::Close);
                at = begin;
            }
            ('M' | 'm', [x, y]) => {
                at = (x + dx, y + dy);
                begin = at;
                segments.push(Segment::Move(at.0, at.1));
            }
            ('L' | 'l', points) if !points.is_empty() && points.len().is_multiple_of(2) => {
                for point in points.chunks_exact(2) {
                    // Each of several relative points refers to the previous one.
                    let (dx, dy) = if letter == 'l' { at } else { (0.0, 0.0) };
                    at = (point[0] + dx, point[1] + dy);
                    segments.push(Segment::Line(at.0, at.1));
                }
            }
            ('H' | 'h', [x]) => {
                at.0 = x + dx;
                segments.push(Segment::Line(at.0, at.1));
            }
            ('V' | 'v', [y]) => {
                at.1 = y + dy;
                segments.push(Segment::Line(at.0, at.1));
            }
            // Only half circles occur: the end is one diameter away.
            ('a', [_, _, _, _, _, x, y]) => {
                at = (x + dx, y + dy);
                segments.push(Segment::HalfCircle(at.0, at.1));
            }
            _ => return Err(DrawingError(format!("path data `{letter}` in `{data:.60}`"))),
        }
    }
    Ok(segments)
}

fn numbers(text: &str) -> Result<Vec<f64>, DrawingError> {
    let mut numbers = Vec::new();
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        let mut from = 0;
        // A minus sign also separates numbers.
        let signs = word.char_indices().skip(1).filter(|(_, c)| *c == '-').map(|(at, _)| at);
        for to in signs.chain([word.len()]) {
            numbers.push(word[from..to].parse().map_err(DrawingError::new)?);
            from = to;
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::markers::{SHAPES, outline};

    #[test]
    fn path_data_becomes_absolute() {
        use Segment::{Close, HalfCircle, Line, Move};
        assert_eq!(
            segments("M1 2h3v-1H0V5l1-1 2 2z").expect("read"),
            [
                Move(1.0, 2.0),
                Line(4.0, 2.0),
                Line(4.0, 1.0),
                Line(0.0, 1.0),
                Line(0.0, 5.0),
                Line(1.0, 4.0),
                Line(3.0, 6.0),
                Close
            ]
        );
        assert_eq!(
            segments("M0.0 0a3.7 3.7 0 1 0 7.4 0m-1 1").expect("read"),
            [Move(0.0, 0.0), HalfCircle(7.4, 0.0), Move(6.4, 1.0)]
        );
        assert!(segments("M1 2q3 4 5 6").is_err());
    }

    #[test]
    fn every_marker_is_understood() {
        for number in 0..SHAPES {
            let mut path = String::new();
            outline(&mut path, number, 10.0, 20.0);
            assert!(segments(&path).is_ok(), "{path}");
        }
    }
}
