//! The dimensions of a drawing, and the style sheet classes and marker shapes that distinguish
//! lines.

use super::palette::SERIES;
use super::scale::Scale;
use super::{Hue, Marker, Style};

/// The width of a letter in pixels, at the size that axes and legends use.
pub(super) const LETTER: f64 = 6.5;

/// The distance between the lines of a text, in pixels.
pub(super) const LINE: f64 = 15.0;

/// The position in a drawing of the area that shows the data, in pixels.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// The right edge of the whole drawing.
    pub(super) edge: f64,
}

impl Frame {
    pub(super) fn x(&self, scale: &Scale, value: f64) -> f64 {
        self.left + scale.position(value) * (self.right - self.left)
    }

    pub(super) fn y(&self, scale: &Scale, value: f64) -> f64 {
        self.bottom - scale.position(value) * (self.bottom - self.top)
    }
}

pub(super) fn class(style: Style) -> String {
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

/// Returns the number of the marker shape for a colour. There is one colour more than there are
/// shapes, so that two lines of the same colour usually have different shapes.
pub(super) fn shape(hue: Hue) -> usize {
    match hue {
        Hue::Series(number) => number,
        Hue::Muted => 0,
    }
}
