//! Line plots as SVG that stands inside a page.
//!
//! Drawn here rather than by a plotting crate, because the page asks for what those do not give:
//! colours that are style sheet variables, so that one drawing serves light, dark and print; a
//! title and a description for screen readers; markers and dashes beside the colours, so that no
//! reader depends on hue; text that stays text; tool tips without scripts. What is left, ticks and
//! paths, is little.

mod drawing;
mod file_svg;
mod helvetica;
mod markers;
mod palette;
mod pdf;
mod render;
mod scale;
mod thin;

pub(crate) use drawing::{Drawing, DrawingError};
pub(crate) use palette::style_sheet;
pub(crate) use render::spans_decades;
pub(crate) use scale::{Axis, power_of_two};

/// A plot.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// What is shown, for screen readers and tool tips.
    pub(crate) title: String,
    /// What is to be seen, in a sentence or two, for those who cannot see it.
    pub(crate) description: String,
    /// The horizontal axis.
    pub(crate) x: Axis,
    /// The vertical axis.
    pub(crate) y: Axis,
    /// Lines, later ones above earlier ones.
    pub(crate) lines: Vec<Line>,
    /// Areas, beneath the lines.
    pub(crate) areas: Vec<Area>,
    /// Part of the horizontal axis that is set off, such as the measure window.
    pub(crate) span: Option<Span>,
    /// Upright marks at single values.
    pub(crate) marks: Vec<Mark>,
    /// Entries of the legend that say what a style means on all lines.
    pub(crate) keys: Vec<(String, Style)>,
}

/// A line through points.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What it shows; a pointer over the line reads it, and tables use it.
    pub(crate) name: String,
    /// Its entry in the legend. Lines with the same share one; an empty one is none.
    pub(crate) legend: String,
    /// Points, left to right. A point that is no number interrupts the line.
    pub(crate) points: Vec<Point>,
    /// How it is drawn.
    pub(crate) style: Style,
}

impl Line {
    /// A line whose legend is its name.
    pub(crate) fn new(name: impl Into<String>, points: Vec<Point>, style: Style) -> Self {
        let name = name.into();
        Self { legend: name.clone(), name, points, style }
    }
}

/// A point of a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Point {
    /// Horizontal value.
    pub(crate) x: f64,
    /// Vertical value.
    pub(crate) y: f64,
    /// Half the width of the 95 % confidence interval of `y`.
    pub(crate) interval: Option<f64>,
    /// What a pointer over the marker reads.
    pub(crate) tip: Option<String>,
}

impl Point {
    /// A bare point.
    pub(crate) fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, tip: None }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Style {
    /// Its colour.
    pub(crate) hue: Hue,
    /// Whether it is dashed.
    pub(crate) dashed: bool,
    /// Whether its points are marked, and how.
    pub(crate) marker: Marker,
    /// Thin and translucent, for one of many.
    pub(crate) faint: bool,
}

impl Style {
    /// A plain line in the colour with that number.
    pub(crate) fn series(number: usize) -> Self {
        Self { hue: Hue::Series(number), dashed: false, marker: Marker::None, faint: false }
    }

    /// The same with filled markers.
    pub(crate) fn filled(self) -> Self {
        Self { marker: Marker::Filled, ..self }
    }

    /// The same dashed, with hollow markers.
    pub(crate) fn hollow(self) -> Self {
        Self { marker: Marker::Hollow, dashed: true, ..self }
    }

    /// The same as dots that no line joins.
    pub(crate) fn dots(self) -> Self {
        Self { marker: Marker::Dot, ..self }
    }

    /// The same, thin and translucent.
    pub(crate) fn faint(self) -> Self {
        Self { faint: true, ..self }
    }

    /// Whether it is such a guide.
    pub(crate) fn is_guide(self) -> bool {
        self.hue == Hue::Muted
    }

    /// In the colour of the axes, to stand for lines of every colour in a legend.
    pub(crate) fn key() -> Self {
        Self { hue: Hue::Muted, dashed: false, marker: Marker::None, faint: false }
    }

    /// A dashed guide in the colour of the axes.
    pub(crate) fn guide() -> Self {
        Self { hue: Hue::Muted, dashed: true, marker: Marker::None, faint: false }
    }
}

/// The colour of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Hue {
    /// A colour of the palette; numbers beyond it begin again with other markers.
    Series(usize),
    /// The colour of axis text, for guides.
    Muted,
}

/// How points are marked. The shape follows the number of the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Marker {
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
#[derive(Clone, Debug)]
pub(crate) struct Area {
    /// Name in the legend.
    pub(crate) name: String,
    /// Horizontal value, lower and upper edge.
    pub(crate) points: Vec<(f64, f64, f64)>,
    /// Number of the colour.
    pub(crate) hue: usize,
}

/// A part of the horizontal axis that is set off.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// From.
    pub(crate) from: f64,
    /// To.
    pub(crate) to: f64,
    /// Name in the legend.
    pub(crate) name: String,
}

/// An upright mark at one value of the horizontal axis.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// Where.
    pub(crate) x: f64,
    /// What stands beside it.
    pub(crate) label: String,
}
