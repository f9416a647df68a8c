//! Parsers of words on the command line: lists, sizes, counts and durations.

use std::ops::RangeInclusive;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Returns a parser of an argument that must be one of the names in `known`. It yields the value
/// that `known` assigns to the name.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    known: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let known: Vec<(&'static str, T)> = known.into_iter().collect();
    let names: Vec<&'static str> = known.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).try_map(move |given| {
        let found = known.iter().find(|(name, _)| *name == given);
        found.map(|(_, value)| value.clone()).ok_or("no such value")
    })
}

/// The values in one occurrence of a flag, which are separated by commas, as in `--cores 1,2`.
#[derive(Debug, Clone)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T: Clone + PartialEq> List<T> {
    /// Returns the values of all occurrences of a flag, each value once, or `None` if the flag was
    /// not given.
    pub(crate) fn join(lists: &[Self]) -> Option<Vec<T>> {
        let mut all = Vec::new();
        for value in lists.iter().flat_map(|list| &list.0) {
            if !all.contains(value) {
                all.push(value.clone());
            }
        }
        (!all.is_empty()).then_some(all)
    }
}

/// Returns a parser of comma-separated lists. `meaning` returns the values for which a word of the
/// list stands, and `known` describes the valid words in error messages.
pub(crate) fn list_of<T: 'static>(
    known: &'static str,
    meaning: impl Fn(&str) -> Option<Vec<T>> + Clone + Send + Sync,
) -> impl Fn(&str) -> Result<List<T>, String> + Clone + Send + Sync {
    move |text| {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let values =
            words.map(|word| meaning(word).ok_or_else(|| format!("{word}: expected {known}")));
        let values: Vec<T> = values.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        match values.is_empty() {
            true => Err(format!("the list is empty: expected {known}")),
            false => Ok(List(values)),
        }
    }
}

/// Parses a size such as `1024`, `64k` or `2^16`, or several sizes such as `2^0..2^22`. In
/// `2^8..2^20:4`, the exponent increases in steps of 4.
pub(crate) fn sizes_of(word: &str) -> Option<Vec<usize>> {
    let power = |text: &str| -> Option<u32> {
        text.strip_prefix("2^")?.parse().ok().filter(|&exponent| exponent < usize::BITS)
    };
    if let Some((from, to)) = word.split_once("..") {
        let (to, step) = match to.split_once(':') {
            Some((to, step)) => (to, step.parse().ok().filter(|&step| step > 0)?),
            None => (to, 1),
        };
        let (from, to) = (power(from)?, power(to)?);
        return (from <= to).then(|| (from..=to).step_by(step).map(|bits| 1 << bits).collect());
    }
    Some(vec![match power(word) {
        Some(exponent) => 1 << exponent,
        None => binary(word).ok()?,
    }])
}

/// Parses a number of cores, which must be at least 1. This is the parser of one word for
/// [`list_of`].
pub(crate) fn cores(word: &str) -> Option<Vec<usize>> {
    Some(vec![word.parse().ok().filter(|cores| *cores > 0)?])
}

/// Parses a number that may have a suffix for a power of 1024, such as `64k`, `15M`, `15MiB` or
/// `1G`.
pub(crate) fn binary(text: &str) -> Result<usize, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, ending) = text.split_at(digits);
    let unit = match ending.trim_end_matches("iB").trim_end_matches('B') {
        "" => 1,
        "k" | "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(format!("{text:?} is not a number such as 1024, 64k or 15M")),
    };
    number
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| format!("{text:?} is not a number such as 1024, 64k or 15M"))
}

/// Parses a count of at least 1 that may have a suffix for a power of 1000 or an exponent, such as
/// `100M` or `1e8`.
pub(crate) fn decimal(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1e3),
        Some(b'M') => (&text[..text.len() - 1], 1e6),
        Some(b'G') => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    let wrong = || format!("{text:?} is not a count such as 100000, 100M or 1e8");
    let count = number.parse::<f64>().map_err(|_| wrong())? * unit;
    // Up to this value, every whole number is exact.
    if (1.0..9e15).contains(&count) && count.fract() == 0.0 {
        Ok(count as u64)
    } else {
        Err(wrong())
    }
}

/// Parses a duration of at most an hour, such as `20ms`, `1.5us` or `1s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match &text[digits.len()..] {
        "ns" => 1e-9,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(format!("{text:?} is not a time such as 20ms, 200us or 1s")),
    };
    digits
        .parse::<f64>()
        .ok()
        .filter(|time| *time >= 0.0)
        .and_then(|time| Duration::try_from_secs_f64(time * unit).ok())
        .filter(|time| *time <= Duration::from_secs(3600))
        .ok_or_else(|| format!("{text:?} is not a time such as 20ms, 200us or 1s, up to an hour"))
}

/// Returns a parser of whole numbers that must be within `limits`.
pub(crate) fn count(
    limits: RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync {
    move |text: &str| {
        text.parse()
            .ok()
            .filter(|count| limits.contains(count))
            .ok_or_else(|| format!("expected a number from {} to {}", limits.start(), limits.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_binary_endings() {
        assert_eq!(binary("15M"), Ok(15 << 20));
        assert_eq!(binary("15MiB"), Ok(15 << 20));
        assert_eq!(binary("64k"), Ok(64 << 10));
        assert_eq!(binary("7"), Ok(7));
        assert!(binary("x").is_err() && binary("").is_err() && binary("99999999999999G").is_err());
    }

    #[test]
    fn sizes_are_numbers_powers_and_ranges() {
        assert_eq!(sizes_of("1000"), Some(vec![1000]));
        assert_eq!(sizes_of("2^0"), Some(vec![1]));
        assert_eq!(sizes_of("2^3..2^5"), Some(vec![8, 16, 32]));
        assert_eq!(sizes_of("2^0..2^9:4"), Some(vec![1, 16, 256]));
        for wrong in ["2^64", "2^5..2^3", "3..5", "2^1..2^9:0", "", "many"] {
            assert_eq!(sizes_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn counts_have_decimal_endings() {
        assert_eq!(decimal("100M"), Ok(100_000_000));
        assert_eq!(decimal("1e8"), Ok(100_000_000));
        for wrong in ["0", "-1", "1.5", "x", "", "1e30", "inf", "M"] {
            assert!(decimal(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_have_units() {
        for micro in ["200us", "200µs", "200\u{3bc}s"] {
            assert_eq!(duration(micro), Ok(Duration::from_micros(200)), "{micro}");
        }
        assert_eq!(duration("1.5ms"), Ok(Duration::from_micros(1500)));
        for wrong in ["200", "-1s", "2h", "1e9s", "s", "nans", "5µ", "5µm"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
