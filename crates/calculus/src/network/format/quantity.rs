//! Numbers with units: `10`, `"10Mbps"`, `"1.5 kB"`, `"2/3"`.
//!
//! Results are in seconds, bits and bits per second. Prefixes of data and rates are decimal (`k` is
//! 1000) as is usual in networking, whereas `Ki`, `Mi` and `Gi` are binary. `b` stands for bits,
//! and `B` for bytes.

use std::borrow::Cow;

use crate::Rational;

use super::FormatError;
use super::tree::{Node, Tree};
use crate::excerpt::excerpt;

/// The dimension of a quantity, which determines its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    /// Time, in seconds.
    Time,
    /// Data, in bits.
    Data,
    /// A rate, in bits per second.
    Rate,
}

/// The units of numbers that a file writes without a unit.
#[derive(Clone, Debug)]
pub(crate) struct Units {
    pub(crate) time: Rational,
    pub(crate) data: Rational,
    pub(crate) rate: Rational,
}

impl Default for Units {
    fn default() -> Self {
        Self { time: Rational::ONE, data: Rational::ONE, rate: Rational::ONE }
    }
}

impl Units {
    /// Returns the unit of a dimension, in seconds, bits or bits per second.
    fn of(&self, dimension: Dimension) -> &Rational {
        match dimension {
            Dimension::Time => &self.time,
            Dimension::Data => &self.data,
            Dimension::Rate => &self.rate,
        }
    }

    /// Reads a quantity of a dimension, written with or without a unit, from a node of a file.
    pub(crate) fn read(
        &self,
        node: &Node<'_>,
        dimension: Dimension,
    ) -> Result<Rational, FormatError> {
        let text = match &node.value {
            Tree::Number(text) if text.contains('_') => Cow::Owned(text.replace('_', "")),
            Tree::Number(text) => Cow::Borrowed(*text),
            Tree::Text(text) => Cow::Borrowed(text.as_ref()),
            _ => return Err(node.fault(format!("is {}; a number is needed", node.kind()))),
        };
        self.parse(&text, dimension).map_err(|message| node.fault(message))
    }

    /// Parses a quantity of a dimension, written with or without a unit.
    pub(crate) fn parse(&self, text: &str, dimension: Dimension) -> Result<Rational, String> {
        let text = text.trim();
        if is_not_finite(text) {
            let text = excerpt(text);
            return Err(format!(
                "'{text}' is not a finite number; give one such as 0.67 or 1.5e-3"
            ));
        }
        let (number, suffix) = split(text);
        let unit = match suffix {
            "" => self.of(dimension).clone(),
            suffix => unit(suffix, dimension).ok_or_else(|| {
                let (text, name) = (excerpt(text), name(dimension));
                format!("'{text}' has no unit of {name}; {}", examples(dimension))
            })?,
        };
        let number: Rational =
            number.parse().map_err(|error| format!("'{}': {error}", excerpt(text)))?;
        if number.is_negative() {
            return Err(format!("'{}' is negative", excerpt(text)));
        }
        Ok(number * unit)
    }
}

/// Returns whether a text stands for an undefined or infinite number, as programs write it, such as
/// `nan`, `-inf` or `Infinity Mbps`.
fn is_not_finite(text: &str) -> bool {
    let word = text.trim_start_matches(['+', '-']);
    let word = word.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    ["nan", "inf", "infinity", "infinite"].iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// Splits the text of a quantity into its number and its unit, which begins at the first letter
/// that is not an exponent. All characters beyond ASCII, such as `µ`, count as letters.
pub(super) fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        let exponent = matches!(byte, b'e' | b'E')
            && bytes.get(end + 1).is_some_and(|next| matches!(next, b'0'..=b'9' | b'+' | b'-'));
        if (byte.is_ascii_alphabetic() || !byte.is_ascii()) && !exponent {
            break;
        }
        end += 1;
    }
    let (number, suffix) = text.split_at_checked(end).unwrap_or((text, ""));
    (number.trim(), suffix.trim())
}

fn name(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Time => "time",
        Dimension::Data => "data",
        Dimension::Rate => "rate",
    }
}

fn examples(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Time => "known are s, ms, us, ns and ps",
        Dimension::Data => "known are b (bits) and B (bytes), with k, M, G, T or Ki, Mi, Gi before",
        Dimension::Rate => {
            "known are bps (or b/s) and Bps (or B/s), with k, M, G, T or Ki, Mi, Gi before"
        }
    }
}

/// Returns the size of a unit in seconds, bits or bits per second, or `None` if the dimension has
/// no such unit.
pub(crate) fn unit(text: &str, dimension: Dimension) -> Option<Rational> {
    match dimension {
        Dimension::Time => match text {
            "s" => Some(Rational::ONE),
            "ms" => Rational::new(1, 1_000),
            "us" | "µs" | "μs" => Rational::new(1, 1_000_000),
            "ns" => Rational::new(1, 1_000_000_000),
            "ps" => Rational::new(1, 1_000_000_000_000),
            "min" => Some(Rational::from(60)),
            _ => None,
        },
        Dimension::Data => scaled(text),
        Dimension::Rate => scaled(text.strip_suffix("ps").or_else(|| text.strip_suffix("/s"))?),
    }
}

fn scaled(text: &str) -> Option<Rational> {
    let (prefix, base) = match text.strip_suffix('B') {
        Some(prefix) => (prefix, 8),
        None => (text.strip_suffix("bit").or_else(|| text.strip_suffix('b'))?, 1),
    };
    let factor: i64 = match prefix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return None,
    };
    Rational::new(base * factor, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, dimension: Dimension) -> Option<Rational> {
        Units::default().parse(text, dimension).ok()
    }

    #[test]
    fn units_are_exact() {
        let ratio = Rational::ratio;
        assert_eq!(read("0.67", Dimension::Rate), Some(ratio(67, 100)));
        assert_eq!(read("2/3 Mbps", Dimension::Rate), Some(ratio(2_000_000, 3)));
        assert_eq!(read("1.5kB", Dimension::Data), Some(ratio(12_000, 1)));
        assert_eq!(read("1e-2", Dimension::Time), Some(ratio(1, 100)));
        // The prefix is written as a letter u, with the micro sign, or with the Greek letter.
        for text in ["12us", "12\u{b5}s", "12 \u{b5}s", "12\u{3bc}s"] {
            assert_eq!(read(text, Dimension::Time), Some(ratio(3, 250_000)), "{text}");
        }
        assert_eq!(read("10 Gb/s", Dimension::Rate), Some(ratio(10_000_000_000, 1)));
        assert_eq!(read("1KiB", Dimension::Data), Some(ratio(8192, 1)));
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "fast", "10 Mbps", "-1", "1e", "1//2", "µ", "5 sec"] {
            assert_eq!(read(text, Dimension::Time), None, "{text}");
        }
    }
}
