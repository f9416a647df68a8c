//! The units of figures.

use serde::{Deserialize, Serialize};

use crate::confidence::Interval;

/// The unit of the values of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A time in seconds.
    Seconds,
    /// A number of events per second.
    PerSecond,
    /// A number of items.
    Count,
    /// A share from 0 to 1.
    Fraction,
    /// CPU time in percent of one core, so that four busy cores are 400.
    CpuPercent,
    /// A number of bytes.
    Bytes,
    /// An index without a unit, which is at most 1, such as a fairness index.
    Index,
}

impl Unit {
    /// Returns the name of the unit for a table of metrics.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::PerSecond => "per second",
            Self::Count => "count",
            Self::Fraction => "fraction",
            Self::CpuPercent => "percent of one core",
            Self::Bytes => "bytes",
            Self::Index => "index",
        }
    }

    /// Returns the range of the values that a figure of this unit can have. No time, rate, count or
    /// size is below 0, and no share and no index is above 1. The largest CPU usage depends on the
    /// number of cores (see [`Estimate::at_most`](crate::Estimate::at_most)). The range does not
    /// hold for differences between figures.
    pub const fn possible(self) -> Interval {
        let (low, high) = match self {
            Self::Seconds | Self::PerSecond | Self::Count | Self::CpuPercent | Self::Bytes => {
                (0.0, f64::INFINITY)
            }
            Self::Fraction => (0.0, 1.0),
            Self::Index => (f64::NEG_INFINITY, 1.0),
        };
        Interval { low, high }
    }

    /// Returns the spellings of the unit in a limit, each with its factor to the base unit, and an
    /// example of a value.
    pub(crate) const fn spellings(self) -> (&'static [(&'static str, f64)], &'static str) {
        match self {
            Self::Seconds => {
                (&[("ns", 1e-9), ("us", 1e-6), ("\u{b5}s", 1e-6), ("ms", 1e-3), ("s", 1.0)], "5ms")
            }
            Self::PerSecond => (
                &[
                    ("", 1.0),
                    ("k", 1e3),
                    ("M", 1e6),
                    ("G", 1e9),
                    ("/s", 1.0),
                    ("k/s", 1e3),
                    ("M/s", 1e6),
                ],
                "100k",
            ),
            Self::Count => (&[("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)], "10"),
            Self::Fraction => (&[("", 1.0), ("%", 1e-2)], "0.1%"),
            Self::CpuPercent => (&[("", 1.0), ("%", 1.0)], "250%"),
            Self::Bytes => (
                &[
                    ("", 1.0),
                    ("B", 1.0),
                    ("k", 1e3),
                    ("kB", 1e3),
                    ("M", 1e6),
                    ("MB", 1e6),
                    ("G", 1e9),
                    ("GB", 1e9),
                    ("KiB", 1024.0),
                    ("MiB", 1_048_576.0),
                    ("GiB", 1_073_741_824.0),
                ],
                "512MiB",
            ),
            Self::Index => (&[("", 1.0)], "0.9"),
        }
    }
}
