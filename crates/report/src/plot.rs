//! Figures as SVG inside a page: line plots, heat maps and others.
//!
//! They are drawn here rather than by a plotting library because the page needs features that
//! libraries lack:
//!
//! * colours that are style sheet variables, so that one drawing serves light and dark themes and
//!   print;
//! * a title and a description for screen readers;
//! * markers and dashes in addition to colours, so that no reader depends on hue;
//! * text that stays text;
//! * tool tips without scripts.
//!
//! The remaining work, ticks and paths, is small.

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

/// The unit of the values along an axis.
pub use statistics::Unit;

/// A plot of lines over a horizontal and a vertical axis.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Plot {
    /// The title of the plot: its caption, and its name for screen readers.
    pub title: String,
    /// A description in a sentence or two, for those who cannot see the plot.
    pub description: String,
    /// The horizontal axis of the plot.
    pub x: Axis,
    /// The vertical axis of the plot.
    pub y: Axis,
    /// The lines of the plot. Later lines are drawn above earlier ones.
    pub lines: Vec<Line>,
    /// The filled areas of the plot, which are drawn beneath the lines.
    pub areas: Vec<Area>,
    /// The part of the horizontal axis that is highlighted, such as the measure window, or `None`
    /// if no part is.
    pub span: Option<Span>,
    /// Vertical marks at single values of the horizontal axis.
    pub marks: Vec<Mark>,
    /// Additional entries of the legend, each with a name and a style. They explain a style that
    /// several lines have.
    pub keys: Vec<(String, Style)>,
}

impl Plot {
    /// Returns a plot that has no lines yet. The description is for those who cannot see the plot.
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
    /// Returns a plot of these lines, which were created with [`Line::of_values`], over two axes.
    pub fn of_values(title: impl Into<String>, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        let description = format!("{} against {}.", y.label, x.label);
        Self { lines, ..Self::new(title, description, x, y) }
    }

    /// Returns the plot with styles that distinguish its lines. Lines of the same name get the same
    /// colour. The markers show the origin of the values: filled for measured, hollow for
    /// published, none for computed values. If the origins differ, the names of the lines state
    /// them as well. Lines in the colour of the axes keep their style.
    #[must_use]
    pub(crate) fn with_origins(mut self) -> Self {
        let mut hues: BTreeMap<String, usize> = BTreeMap::new();
        let several = self.lines.iter().any(|line| line.origin != Origin::Measured);
        for line in self.lines.iter_mut().filter(|line| line.style.hue != Hue::Muted) {
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

/// A line of a plot.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Line {
    /// The name of the line in tool tips and tables.
    pub name: String,
    /// The name of the line in the legend. Lines with equal names share one entry, and a line with
    /// an empty name has none.
    pub legend: String,
    /// The points of the line, from left to right. A point that is not a number interrupts the
    /// line.
    pub points: Vec<Point>,
    /// The colour, dashes and markers of the line.
    pub style: Style,
    /// The origin of the line's values: a measurement, a publication or a computation.
    pub origin: Origin,
    /// The distance in pixels by which the points are shifted to the right, so that points of
    /// several lines with the same horizontal value stand side by side.
    #[serde(default)]
    pub aside: f64,
}

impl Line {
    /// Returns a line of measured values. Its legend is its name.
    pub fn new(name: impl Into<String>, points: Vec<Point>, style: Style) -> Self {
        let name = name.into();
        Self { legend: name.clone(), name, points, style, origin: Origin::Measured, aside: 0.0 }
    }

    /// Returns the line with isolated points that are shifted to the right or left, so that the
    /// points of `of` lines with the same horizontal value stand side by side. `number` is the
    /// index of this line among them, from 0.
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

    /// Returns a line through values, each given with its horizontal position. The style is chosen
    /// later, together with those of the other lines of the document.
    pub fn of_values(
        name: impl Into<String>,
        origin: Origin,
        values: impl IntoIterator<Item = (f64, Value)>,
    ) -> Self {
        let points = values.into_iter().map(|(x, value)| Point::of_value(x, value)).collect();
        Self { origin, ..Self::new(name, points, Style::series(0)) }
    }

    /// Returns the line as dots in the colour of the axes, for values that allow no conclusion.
    #[must_use]
    pub fn inconclusive(self) -> Self {
        Self { style: Style::key().dots(), ..self }
    }
}

/// A point of a line.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// The value on the horizontal axis.
    pub x: f64,
    /// The value on the vertical axis.
    pub y: f64,
    /// The uncertainty of `y`.
    pub spread: Spread,
    /// The tool tip of the point, or `None` for none.
    pub tip: Option<String>,
}

impl Point {
    /// Returns a point without a tool tip.
    #[must_use]
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// Returns a point for a value, which is also its tool tip.
    #[must_use]
    pub fn of_value(x: f64, value: Value) -> Self {
        Self { x, y: value.value, spread: value.spread, tip: Some(value.words()) }
    }
}

/// The origin of a value in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Origin {
    /// The value was published by others.
    Published,
    /// The value was measured in this run.
    Measured,
    /// The value was computed by a formula or a model.
    Computed,
}

impl Origin {
    /// Returns one word for the origin of a value, such as `measured`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Measured => "measured",
            Self::Computed => "computed",
        }
    }
}

/// The style in which a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Style {
    /// The colour of the line.
    pub hue: Hue,
    /// Whether the line is dashed.
    pub dashed: bool,
    /// The kind of markers at the points of the line.
    pub marker: Marker,
    /// Whether the line is thin and translucent, because it is one of many.
    pub faint: bool,
}

impl Style {
    /// Returns the style of a solid line without markers, in the colour with this number.
    #[must_use]
    pub fn series(number: usize) -> Self {
        Self { hue: Hue::Series(number), dashed: false, marker: Marker::None, faint: false }
    }

    /// Returns the style with filled markers.
    #[must_use]
    pub fn filled(self) -> Self {
        Self { marker: Marker::Filled, ..self }
    }

    /// Returns the style with dashes and hollow markers.
    #[must_use]
    pub fn hollow(self) -> Self {
        Self { marker: Marker::Hollow, dashed: true, ..self }
    }

    /// Returns the style, changed to draw a dot at each point and no line between the points.
    #[must_use]
    pub fn dots(self) -> Self {
        Self { marker: Marker::Dot, ..self }
    }

    /// Returns the style of a thin, translucent line, which is one of many.
    #[must_use]
    pub fn faint(self) -> Self {
        Self { faint: true, ..self }
    }

    /// Returns whether a line of this style is a guide: it has the colour of the axes and no
    /// markers. Tables and CSV files of a figure's data omit guides.
    pub(crate) fn is_guide(self) -> bool {
        (self.hue, self.marker) == (Hue::Muted, Marker::None)
    }

    /// Returns the style of a line in the colour of the axes. In a legend, it stands for lines of
    /// every colour.
    #[must_use]
    pub fn key() -> Self {
        Self { hue: Hue::Muted, dashed: false, marker: Marker::None, faint: false }
    }

    /// Returns the style of a guide: a dashed line in the colour of the axes.
    #[must_use]
    pub fn guide() -> Self {
        Self { hue: Hue::Muted, dashed: true, marker: Marker::None, faint: false }
    }
}

/// The colour of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Hue {
    /// The colour of the palette with this number. Numbers beyond the palette start again with
    /// other markers.
    Series(usize),
    /// The colour of the text at axes, for guides.
    Muted,
}

/// The kind of the markers of a line. Their shape depends on the number of the line's colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Marker {
    /// The line has no markers.
    None,
    /// Markers are filled with the colour of the line.
    Filled,
    /// Markers are filled with the colour of the page.
    Hollow,
    /// Each point is a dot, and no line joins the dots.
    Dot,
}

/// A filled area of a plot, between a lower and an upper edge.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Area {
    /// The name of the area in the legend.
    pub name: String,
    /// The points along the area: the horizontal value, the lower edge and the upper edge of each.
    pub points: Vec<(f64, f64, f64)>,
    /// The number of the area's colour in the palette.
    pub hue: usize,
}

/// A highlighted part of a plot's horizontal axis, such as the measure window.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Span {
    /// The horizontal value at which the part starts.
    pub from: f64,
    /// The horizontal value at which the part ends.
    pub to: f64,
    /// The name of the part in the legend.
    pub name: String,
}

/// A vertical line across a plot at one value of the horizontal axis.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Mark {
    /// The horizontal value at which the line stands.
    pub x: f64,
    /// The text next to the line.
    pub label: String,
}
