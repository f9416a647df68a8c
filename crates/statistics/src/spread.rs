//! Summaries of a few trials of a benchmark.

use std::fmt;

use crate::order::Ordered;

/// The median, the lowest and the highest value of a few trials of a benchmark. A handful of trials
/// shows how much the machine disturbs a benchmark, but does not determine a distribution. The
/// summary is formatted as `median (lowest-highest)`, with the precision of the format string.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median. For an even number of trials, it is the lower of the middle two values.
    pub median: f64,
    /// The lowest value of the trials.
    pub low: f64,
    /// The highest value of the trials.
    pub high: f64,
}

impl Spread {
    /// Summarises the values of trials, in any order. Returns `None` without trials.
    pub fn of(values: &[f64]) -> Option<Self> {
        let ordered = Ordered::of_numbers(values.to_vec());
        Some(Self { median: ordered.at(0.5)?, low: ordered.first()?, high: ordered.last()? })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // By default, numbers from 100 on are shown as whole numbers, and smaller ones with one
        // decimal.
        let digits = f.precision().unwrap_or(if self.median < 100.0 { 1 } else { 0 });
        let text =
            format!("{:.digits$} ({:.digits$}-{:.digits$})", self.median, self.low, self.high);
        padded(f, &text)
    }
}

/// Writes `text` in the width and alignment of the format string. `Formatter::pad` would truncate
/// the text to the precision, which applies to numbers here.
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
    fn a_spread_has_the_median_and_the_extremes() {
        let spread = Spread::of(&[3.0, 1.0, 2.0, 40.0]).expect("values");
        assert_eq!((spread.median, spread.low, spread.high), (2.0, 1.0, 40.0));
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(
            format!("{spread}|{spread:.0}|{spread:>16.1}"),
            "2.0 (1.0-40.0)|2 (1-40)|  2.0 (1.0-40.0)"
        );
    }
}
