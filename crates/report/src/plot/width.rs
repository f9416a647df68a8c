//! The width of the drawing of a figure.

use std::fmt;
use std::str::FromStr;

/// The width of the drawing of a figure. Letters have a size of 9 points in every width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Width {
    /// The width in CSS pixels, of which an inch has 96.
    pixels: f64,
}

/// The reason why a text is not a valid width of a figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WidthError {
    /// The text is not a length.
    #[error("`{0}` is not a length; write a number with mm, cm, in or pt, such as 88mm")]
    NotALength(String),
    /// The width is too small for axes and letters, or larger than any sheet of paper.
    #[error("`{0}` is not between 50mm and 500mm")]
    OutOfRange(String),
}

/// The units of length that a width may have, with the number of pixels of each. A point is 1/72
/// inch.
const UNITS: [(&str, f64); 4] =
    [("mm", 96.0 / 25.4), ("cm", 96.0 / 2.54), ("in", 96.0), ("pt", 96.0 / 72.0)];
/// The smallest and the largest width of a figure, in millimetres.
const RANGE: std::ops::RangeInclusive<f64> = 50.0..=500.0;

impl Width {
    /// The width that figures have in a page, where they are scaled to fit their column.
    pub const PAGE: Self = Self { pixels: 640.0 };

    pub(super) fn new(pixels: f64) -> Self {
        Self { pixels }
    }

    pub(super) fn pixels(self) -> f64 {
        self.pixels
    }
}

impl fmt::Display for Width {
    /// Writes the width in millimetres, as [`Width::from_str`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [(name, pixels), ..] = UNITS;
        write!(f, "{}{name}", (1000.0 * self.pixels / pixels).round() / 1000.0)
    }
}

impl FromStr for Width {
    type Err = WidthError;

    fn from_str(text: &str) -> Result<Self, WidthError> {
        let no_length = || WidthError::NotALength(text.to_owned());
        let trimmed = text.trim();
        let split = |(unit, pixels): (&str, f64)| Some((trimmed.strip_suffix(unit)?, pixels));
        let (number, pixels) = UNITS.into_iter().find_map(split).ok_or_else(no_length)?;
        let number: f64 = number.trim_end().parse().map_err(|_| no_length())?;
        let millimetres = number * pixels * 25.4 / 96.0;
        if !number.is_finite() {
            return Err(no_length());
        }
        // Rounding errors must not exclude the ends of the range.
        match RANGE.contains(&((millimetres * 1e6).round() / 1e6)) {
            true => Ok(Self { pixels: number * pixels }),
            false => Err(WidthError::OutOfRange(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_in_the_units_of_papers() {
        let pixels = |text: &str| text.parse::<Width>().map(Width::pixels);
        for text in ["88mm", "8.8cm", "8.8 cm", "3.464566929in", "249.4488189pt"] {
            assert!((pixels(text).expect("a length") - 332.598).abs() < 1e-3, "{text}");
        }
        for text in ["88mm", "50mm", "500mm", "88.9mm"] {
            assert_eq!(text.parse::<Width>().map(|width| width.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("3.5in".parse::<Width>().expect("a length").to_string(), "88.9mm");
        assert!(pixels("50mm").is_ok() && pixels("5cm").is_ok() && pixels("500mm").is_ok());
        for text in ["", "88", "mm", "-88mm", "88px", "NaNmm", "infmm", "49mm", "501mm", "1e9in"] {
            assert!(pixels(text).is_err(), "{text}");
        }
    }
}
