//! Levels: the statistics that summarise a set of delays, such as the median or a percentile.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A statistic of delays. Service curves are based on the minimum, on the maximum and on
/// percentiles above the median (Helm et al., section III-A).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Level {
    /// The smallest delay, on which maximum service curves are based.
    Minimum,
    /// The median delay.
    Median,
    /// The arithmetic mean of the delays.
    Mean,
    /// The delay that a given share of packets does not exceed.
    Percentile(Percentile),
    /// The largest delay (equation 6).
    Maximum,
}

/// The share of packets that defines a percentile, stored as a number of billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Percentile(u32);

/// The number of billionths in a share of 1.
const ALL: u32 = 1_000_000_000;

impl Percentile {
    /// Converts a share of packets to a percentile. Returns `None` unless the share is above 0 and
    /// below 1.
    #[must_use]
    pub fn of_share(share: f64) -> Option<Self> {
        let parts = (share * f64::from(ALL)).round();
        (parts > 0.0 && parts < f64::from(ALL)).then_some(Self(parts as u32))
    }

    /// Returns the share of packets whose delay does not exceed the percentile.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(ALL)
    }
}

impl Level {
    /// Returns the levels that are estimated by default: minimum, median and maximum as in Helm et
    /// al., the mean, and the percentiles 99 and 99.9.
    #[must_use]
    pub fn usual() -> Vec<Self> {
        let percentile = |parts| Self::Percentile(Percentile(parts));
        vec![
            Self::Minimum,
            Self::Median,
            Self::Mean,
            percentile(990_000_000),
            percentile(999_000_000),
            Self::Maximum,
        ]
    }

    /// Returns whether the level is used as an upper bound on delays. If such a level is estimated
    /// too small, packets may exceed the bound.
    #[must_use]
    pub fn is_upper(self) -> bool {
        match self {
            Self::Maximum => true,
            Self::Percentile(percentile) => percentile.0 > ALL / 2,
            Self::Minimum | Self::Median | Self::Mean => false,
        }
    }

    /// Returns the share of packets whose delay does not exceed the level, or `None` for the mean,
    /// which is not a quantile.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        match self {
            Self::Minimum => Some(0.0),
            Self::Median => Some(0.5),
            Self::Percentile(percentile) => Some(percentile.share()),
            Self::Maximum => Some(1.0),
            Self::Mean => None,
        }
    }
}

/// Formats the level as `minimum`, `median`, `mean`, `p99.9` or `maximum`.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minimum => f.pad("minimum"),
            Self::Median => f.pad("median"),
            Self::Mean => f.pad("mean"),
            Self::Maximum => f.pad("maximum"),
            Self::Percentile(percentile) => {
                let whole = percentile.0 / (ALL / 100);
                let rest = format!("{:07}", percentile.0 % (ALL / 100));
                let rest = rest.trim_end_matches('0');
                let point = if rest.is_empty() { "" } else { "." };
                f.pad(&format!("p{whole}{point}{rest}"))
            }
        }
    }
}

/// The error for a text that names no statistic of delays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a level: minimum, median, mean, maximum, or a percentile such as p99.9")]
pub struct ParseLevelError {
    text: String,
}

impl FromStr for Level {
    type Err = ParseLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || ParseLevelError { text: text.to_owned() };
        match text {
            "minimum" | "min" => Ok(Self::Minimum),
            "median" => Ok(Self::Median),
            "mean" => Ok(Self::Mean),
            "maximum" | "max" => Ok(Self::Maximum),
            _ => {
                let digits = text.strip_prefix('p').ok_or_else(unknown)?;
                let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                let percent: f64 = digits.parse().ok().filter(|_| plain).ok_or_else(unknown)?;
                match Percentile::of_share(percent / 100.0).ok_or_else(unknown)? {
                    Percentile(parts) if parts == ALL / 2 => Ok(Self::Median),
                    other => Ok(Self::Percentile(other)),
                }
            }
        }
    }
}

impl TryFrom<String> for Level {
    type Error = ParseLevelError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Level> for String {
    fn from(level: Level) -> Self {
        level.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_levels_are_parsed_and_printed_the_same() {
        for text in
            ["minimum", "median", "mean", "maximum", "p99", "p99.9", "p99.99999", "p0.1", "p5"]
        {
            assert_eq!(text.parse::<Level>().unwrap().to_string(), text);
        }
        for text in ["", "p", "p0", "p100", "p-5", "pinf", "p1e1", "99"] {
            assert!(text.parse::<Level>().is_err(), "{text}");
        }
        assert_eq!("p99.9".parse::<Level>().unwrap().share(), Some(0.999));
        for text in ["p50", "p50.0", "p050", "p50.00000000001"] {
            assert_eq!(text.parse(), Ok(Level::Median), "{text}");
        }
    }
}
