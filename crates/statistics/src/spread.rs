//! What a few trials came to.

use std::fmt;

use crate::order::Ordered;

/// The median of some trials, the lowest and the highest: for benchmarks, where a handful of trials tells how far the
/// machine disturbs, and no distribution is known. Formats as `median (lowest-highest)`, with the precision asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The lower one of the two in the middle, if there are two.
    pub median: f64,
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

impl Spread {
    /// Of trials in any order; nothing without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let ordered = Ordered::of_numbers(values.to_vec());
        Some(Self { median: ordered.at(0.5)?, low: ordered.first()?, high: ordered.last()? })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without a precision: three digits or whole numbers.
        let digits = f.precision().unwrap_or(if self.median < 100.0 { 1 } else { 0 });
        let text =
            format!("{:.digits$} ({:.digits$}-{:.digits$})", self.median, self.low, self.high);
        padded(f, &text)
    }
}

/// Text in the width and alignment asked for; the precision, of which `Formatter::pad` makes a length, is that of figures.
pub(crate) fn padded(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let width = f.width().unwrap_or(0);
    match f.align() {
        Some(fmt::Alignment::Right) => write!(f, "{text:>width$}"),
        _ => write!(f, "{text:<width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_ends() {
        let spread = Spread::of(&[3.0, 1.0, 2.0, 40.0]).expect("values");
        assert_eq!((spread.median, spread.low, spread.high), (2.0, 1.0, 40.0));
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(
            format!("{spread}|{spread:.0}|{spread:>16.1}"),
            "2.0 (1.0-40.0)|2 (1-40)|  2.0 (1.0-40.0)"
        );
    }
}
