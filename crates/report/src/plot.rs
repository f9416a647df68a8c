//! Figures as SVG inside a page: line plots, heat maps and others.
//!
//! They are drawn here rather than by a plotting library because the page needs features that those
//! lack: colours that are style sheet variables, so that one drawing serves light and dark themes
//! and print; a title and a description for screen readers; markers and dashes in addition to
//! colours, so that no reader depends on hue; text that stays text; tool tips without scripts. The
//! remaining work, ticks and paths, is small.

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

/// The unit of an axis's values.
pub use statistics::Unit;

/// A plot.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Plot {
    /// The subject of the plot, for screen readers and tool tips.
    pub title: String,
    /// A description in a sentence or two, for those who cannot see the plot.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines, later ones above earlier ones.
    pub lines: Vec<Line>,
    /// The areas, beneath the lines.
    pub areas: Vec<Area>,
    /// A part of the horizontal axis that is highlighted, such as the measure window.
    pub span: Option<Span>,
    /// Vertical marks at single values.
    pub marks: Vec<Mark>,
    /// Entries of the legend that explain a style for all lines.
    pub keys: Vec<(String, Style)>,
}

impl Plot {
    /// Returns a plot without lines. The description is for those who cannot see the plot.
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
    /// Returns a plot of lines of [values](Line::of_values) over two axes.
    pub fn of_values(title: impl Into<String>, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        let description = format!("{} against {}.", y.label, x.label);
        Self { lines, ..Self::new(title, description, x, y) }
    }

    /// Returns the plot with distinguishable lines: lines of one name have one colour; the style
    /// and, if lines differ in it, the name show the origin of their values.
    #[must_use]
    pub(crate) fn with_origins(mut self) -> Self {
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
    /// The name of the line, for tool tips and tables.
    pub name: String,
    /// The entry in the legend. Lines with equal entries share one; an empty entry is left out.
    pub legend: String,
    /// The points, left to right. A point that is not a number interrupts the line.
    pub points: Vec<Point>,
    /// The style of the line.
    pub style: Style,
    /// The origin of the values.
    pub origin: Origin,
    /// The offset to the right of the points' place in pixels, for points of several lines at one
    /// place.
    #[serde(default)]
    pub aside: f64,
}

impl Line {
    /// Returns a line of measured values whose legend is its name.
    pub fn new(name: impl Into<String>, points: Vec<Point>, style: Style) -> Self {
        let name = name.into();
        Self { legend: name.clone(), name, points, style, origin: Origin::Measured, aside: 0.0 }
    }

    /// Returns the line without connections between its points, which are shifted so that they
    /// stand next to those of other lines: as line `number` (from 0) of `of` lines.
    #[must_use]
    pub(crate) fn beside(mut self, number: usize, of: usize) -> Self {
        /// The distance between lines, in pixels.
        const APART: f64 = 9.0;
        // A point that is not a number interrupts the line.
        let with_gap = |point: Point| [Point::new(point.x, f64::NAN), point];
        self.points = self.points.into_iter().flat_map(with_gap).collect();
        self.aside = (number as f64 - (of.max(1) - 1) as f64 / 2.0) * APART;
        self
    }

    /// Returns a line of values against numbers. Its style is set later, with the other lines of
    /// the document.
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
    /// The horizontal value.
    pub x: f64,
    /// The vertical value.
    pub y: f64,
    /// The confidence of `y`.
    pub spread: Spread,
    /// The tool tip of the marker.
    pub tip: Option<String>,
}

impl Point {
    /// Returns a point without a tool tip.
    #[must_use]
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// Returns a point of a value, with the value as its tool tip.
    #[must_use]
    pub fn of_value(x: f64, value: Value) -> Self {
        Self { x, y: value.value, spread: value.spread, tip: Some(value.words()) }
    }
}

/// The origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Origin {
    /// A publication by others.
    Published,
    /// A measurement of this run.
    Measured,
    /// A formula or a model.
    Computed,
}

impl Origin {
    /// Returns the origin in one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Measured => "measured",
            Self::Computed => "computed",
        }
    }
}

/// The style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Style {
    /// The colour of the line.
    pub hue: Hue,
    /// Whether the line is dashed.
    pub dashed: bool,
    /// The kind of markers at the points.
    pub marker: Marker,
    /// Whether the line is thin and translucent, as one of many.
    pub faint: bool,
}

impl Style {
    /// Returns a plain line in the colour with that number.
    #[must_use]
    pub fn series(number: usize) -> Self {
        Self { hue: Hue::Series(number), dashed: false, marker: Marker::None, faint: false }
    }

    /// Returns the style with filled markers.
    #[must_use]
    pub fn filled(self) -> Self {
        Self { marker: Marker::Filled, ..self }
    }

    /// Returns the style dashed, with hollow markers.
    #[must_use]
    pub fn hollow(self) -> Self {
        Self { marker: Marker::Hollow, dashed: true, ..self }
    }

    /// Returns the style as dots that no line joins.
    #[must_use]
    pub fn dots(self) -> Self {
        Self { marker: Marker::Dot, ..self }
    }

    /// Returns the style thin and translucent.
    #[must_use]
    pub fn faint(self) -> Self {
        Self { faint: true, ..self }
    }

    /// Whether the line is a guide in the colour of the axes.
    pub(crate) fn is_guide(self) -> bool {
        self.hue == Hue::Muted
    }

    /// Returns a line in the colour of the axes, which stands for lines of every colour in a
    /// legend.
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
    /// A colour of the palette; numbers beyond the palette start again with other markers.
    Series(usize),
    /// The colour of axis text, for guides.
    Muted,
}

/// The kind of a line's markers. Their shape follows the number of the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Marker {
    /// No markers.
    None,
    /// Filled with the colour of the line.
    Filled,
    /// Filled with the colour of the page.
    Hollow,
    /// A dot for each point, without a line.
    Dot,
}

/// A filled area between two lines.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Area {
    /// The name in the legend.
    pub name: String,
    /// The points: the horizontal value, and the lower and upper edge of the area there.
    pub points: Vec<(f64, f64, f64)>,
    /// The number of the colour.
    pub hue: usize,
}

/// A part of the horizontal axis that is highlighted.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Span {
    /// The start of the part.
    pub from: f64,
    /// The end of the part.
    pub to: f64,
    /// The name in the legend.
    pub name: String,
}

/// A vertical mark at one value of the horizontal axis.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Mark {
    /// The position of the mark.
    pub x: f64,
    /// The text next to the mark.
    pub label: String,
}
