//! Figures as SVG that stands inside a page: plots of lines, heat maps.
//!
//! Drawn here rather than by a plotting crate, because the page asks for what those do not give:
//! colours that are style sheet variables, so that one drawing serves light, dark and print; a
//! title and a description for screen readers; markers and dashes beside the colours, so that no
//! reader depends on hue; text that stays text; tool tips without scripts. What is left, ticks and
//! paths, is little.

mod axes;
mod coincide;
mod drawing;
mod file_svg;
mod font;
mod forest;
mod frame;
mod graph;
mod heat;
mod intervals;
mod legend;
mod markers;
mod palette;
mod pdf;
mod render;
mod scale;
mod thin;
mod width;

use std::collections::BTreeMap;

use crate::value::{Spread, Value};

pub(crate) use drawing::{Drawing, DrawingError};
pub use forest::{Forest, ForestRow};
pub use graph::{Graph, GraphNode, GraphWay};
pub use heat::{HeatCell, HeatMap};
pub(crate) use palette::style_sheet;
pub(crate) use render::spans_decades;
pub use scale::{Axis, Spacing};
pub(crate) use scale::{Datum, power_of_two};
pub use width::{Width, WidthError};

/// What the values of an axis count.
pub use statistics::Unit;

/// A plot.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Plot {
    /// What is shown, for screen readers and tool tips.
    pub title: String,
    /// What is to be seen, in a sentence or two, for those who cannot see it.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Lines, later ones above earlier ones.
    pub lines: Vec<Line>,
    /// Areas, beneath the lines.
    pub areas: Vec<Area>,
    /// Part of the horizontal axis that is set off, such as the measure window.
    pub span: Option<Span>,
    /// Upright marks at single values.
    pub marks: Vec<Mark>,
    /// Entries of the legend that say what a style means on all lines.
    pub keys: Vec<(String, Style)>,
}

impl Plot {
    /// Returns a plot without lines. The description says what is to be seen, for those who cannot
    /// see it.
    pub fn new(title: impl Into<String>, description: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            description: description.into(),
            x,
            y,
            lines: Vec::new(),
            areas: Vec::new(),
            span: None,
            marks: Vec::new(),
            keys: Vec::new(),
        }
    }
}

impl Plot {
    /// Lines of [values](Line::of_values) over two axes.
    pub fn of_values(title: impl Into<String>, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        let description = format!("{} against {}.", y.label, x.label);
        Self { lines, ..Self::new(title, description, x, y) }
    }

    /// Returns the same with lines that can be told apart: those of one name have one colour, the
    /// style and, where it is not the same for all, the name says whose values they are.
    #[must_use]
    pub(crate) fn told_apart(mut self) -> Self {
        let mut hues: BTreeMap<String, usize> = BTreeMap::new();
        let several = self.lines.iter().any(|line| line.origin != Origin::Measured);
        for line in &mut self.lines {
            let next = hues.len();
            let style = Style::series(*hues.entry(line.name.clone()).or_insert(next));
            line.style = match line.origin {
                Origin::Published => style.hollow(),
                Origin::Measured => style.filled(),
                Origin::Computed => style,
            };
            if several {
                line.name = format!("{}, {}", line.name, line.origin.word());
                line.legend.clone_from(&line.name);
            }
            for point in &mut line.points {
                point.tip = point.tip.take().map(|value| format!("{}: {value}", line.name));
            }
        }
        self
    }
}

/// A line through points.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Line {
    /// What it shows; a pointer over the line reads it, and tables use it.
    pub name: String,
    /// Its entry in the legend. Lines with the same share one; an empty one is none.
    pub legend: String,
    /// Points, left to right. A point that is no number interrupts the line.
    pub points: Vec<Point>,
    /// How it is drawn.
    pub style: Style,
    /// Whose values it shows.
    pub origin: Origin,
    /// So many pixels it is drawn to the right of its place, where others stand at the same.
    #[serde(default)]
    pub aside: f64,
}

impl Line {
    /// Returns a line of measured values whose legend is its name.
    pub fn new(name: impl Into<String>, points: Vec<Point>, style: Style) -> Self {
        let name = name.into();
        Self { legend: name.clone(), name, points, style, origin: Origin::Measured, aside: 0.0 }
    }

    /// Returns the same with points that no line joins, beside those of others that stand at the
    /// same places: as the one of so many, from 0.
    #[must_use]
    pub(crate) fn beside(mut self, number: usize, of: usize) -> Self {
        /// How far apart lines are, in pixels.
        const APART: f64 = 9.0;
        // A point that is no number interrupts the line.
        let with_gap = |point: Point| [Point::new(point.x, f64::NAN), point];
        self.points = self.points.into_iter().flat_map(with_gap).collect();
        self.aside = (number as f64 - (of.max(1) - 1) as f64 / 2.0) * APART;
        self
    }

    /// Values against numbers. How it is drawn is decided beside the other lines of the document.
    pub fn of_values(
        name: impl Into<String>,
        origin: Origin,
        values: impl IntoIterator<Item = (f64, Value)>,
    ) -> Self {
        let points = values.into_iter().map(|(x, value)| Point::of_value(x, value)).collect();
        Self { origin, ..Self::new(name, points, Style::series(0)) }
    }
}

/// A point of a line.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// What stands behind `y`.
    pub spread: Spread,
    /// What a pointer over the marker reads.
    pub tip: Option<String>,
}

impl Point {
    /// Returns a bare point.
    #[must_use]
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// Returns a value, which a pointer over the marker reads.
    #[must_use]
    pub fn of_value(x: f64, value: Value) -> Self {
        Self { x, y: value.value, spread: value.spread, tip: Some(value.words()) }
    }
}

/// Who measured a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Origin {
    /// Others, and published it.
    Published,
    /// This run.
    Measured,
    /// Nobody: it follows from a formula or a model.
    Computed,
}

impl Origin {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Measured => "measured",
            Self::Computed => "computed",
        }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Style {
    /// Its colour.
    pub hue: Hue,
    /// Whether it is dashed.
    pub dashed: bool,
    /// Whether its points are marked, and how.
    pub marker: Marker,
    /// Thin and translucent, for one of many.
    pub faint: bool,
}

impl Style {
    /// Returns a plain line in the colour with that number.
    #[must_use]
    pub fn series(number: usize) -> Self {
        Self { hue: Hue::Series(number), dashed: false, marker: Marker::None, faint: false }
    }

    /// Returns the same with filled markers.
    #[must_use]
    pub fn filled(self) -> Self {
        Self { marker: Marker::Filled, ..self }
    }

    /// Returns the same dashed, with hollow markers.
    #[must_use]
    pub fn hollow(self) -> Self {
        Self { marker: Marker::Hollow, dashed: true, ..self }
    }

    /// Returns the same as dots that no line joins.
    #[must_use]
    pub fn dots(self) -> Self {
        Self { marker: Marker::Dot, ..self }
    }

    /// Returns the same, thin and translucent.
    #[must_use]
    pub fn faint(self) -> Self {
        Self { faint: true, ..self }
    }

    /// Whether it is such a guide.
    pub(crate) fn is_guide(self) -> bool {
        self.hue == Hue::Muted
    }

    /// In the colour of the axes, to stand for lines of every colour in a legend.
    #[must_use]
    pub fn key() -> Self {
        Self { hue: Hue::Muted, dashed: false, marker: Marker::None, faint: false }
    }

    /// Returns a dashed guide in the colour of the axes.
    #[must_use]
    pub fn guide() -> Self {
        Self { hue: Hue::Muted, dashed: true, marker: Marker::None, faint: false }
    }
}

/// The colour of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Hue {
    /// A colour of the palette; numbers beyond it begin again with other markers.
    Series(usize),
    /// The colour of axis text, for guides.
    Muted,
}

/// How points are marked. The shape follows the number of the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Marker {
    /// Not at all.
    None,
    /// Filled with the colour of the line.
    Filled,
    /// Filled with the colour of the page.
    Hollow,
    /// A dot for each, with no line between.
    Dot,
}

/// A filled area between two lines.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Area {
    /// Name in the legend.
    pub name: String,
    /// Horizontal value, lower and upper edge.
    pub points: Vec<(f64, f64, f64)>,
    /// Number of the colour.
    pub hue: usize,
}

/// A part of the horizontal axis that is set off.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Span {
    /// From.
    pub from: f64,
    /// To.
    pub to: f64,
    /// Name in the legend.
    pub name: String,
}

/// An upright mark at one value of the horizontal axis.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// What stands beside it.
    pub label: String,
}
