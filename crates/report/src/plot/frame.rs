//! The measures of a drawing: its inner part, its letters and lines, and how a style is told apart.

use super::palette::SERIES;
use super::scale::Scale;
use super::{Hue, Marker, Style};

/// Width of a letter at the size that axes and legends use.
pub(super) const LETTER: f64 = 6.5;

/// Distance between the lines of a text.
pub(super) const LINE: f64 = 15.0;

/// Where the inner part of the drawing lies, in pixels.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// The right edge of the drawing.
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

/// Colours and shapes have different numbers, so that lines beyond the palette differ from those
/// that they share a colour with.
pub(super) fn shape(hue: Hue) -> usize {
    match hue {
        Hue::Series(number) => number,
        Hue::Muted => 0,
    }
}
