//! Regions: sets of numbers with which a measured figure is compared.

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;

use crate::confidence::Interval;

/// A set of numbers without gaps, which may be unbounded on either side. Its text is `1.2..1.6`
/// (both ends belong to the region), `> 1.05` or `< 0.9` (the end does not belong to it), or `=
/// 178734` (a single number).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    low: Bound<f64>,
    high: Bound<f64>,
}

/// The relation between an interval and a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// The interval lies in the region.
    Inside,
    /// Some numbers of the interval are in the region, and others are not.
    Partial,
    /// No number of the interval is in the region.
    Disjoint,
}

/// The error for a text that is not a [`Region`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionError {
    /// The text that is not a region.
    pub text: String,
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is no region; a region is written as 1.2..1.6, > 1.05, < 0.9 or = 178734",
            self.text
        )
    }
}

impl std::error::Error for RegionError {}

impl Region {
    /// Returns the region of all numbers above a limit, without the limit itself.
    pub fn above(limit: f64) -> Self {
        Self { low: Bound::Excluded(limit), high: Bound::Unbounded }
    }

    /// Returns the region of all numbers below a limit, without the limit itself.
    pub fn below(limit: f64) -> Self {
        Self { low: Bound::Unbounded, high: Bound::Excluded(limit) }
    }

    /// Returns the region of the numbers in an interval, including the ends.
    pub fn of(interval: Interval) -> Self {
        Self { low: Bound::Included(interval.low), high: Bound::Included(interval.high) }
    }

    /// Returns whether the region contains a number.
    pub fn contains(self, value: f64) -> bool {
        !value.is_nan() && (self.low, self.high).contains(&value)
    }

    /// Returns the distance of a number to the nearest end of the region, or `None` if the region
    /// is unbounded on both sides.
    pub fn distance_to_end(self, value: f64) -> Option<f64> {
        let distance = |end: Bound<f64>| match end {
            Bound::Included(end) | Bound::Excluded(end) => Some((value - end).abs()),
            Bound::Unbounded => None,
        };
        [self.low, self.high].into_iter().filter_map(distance).reduce(f64::min)
    }

    /// Returns the region of the logarithms of the positive numbers in this region. An end that is
    /// not positive becomes negative infinity.
    pub(crate) fn logarithms(self) -> Self {
        let logarithm = |end: f64| end.max(0.0).ln();
        Self { low: self.low.map(logarithm), high: self.high.map(logarithm) }
    }

    /// Returns whether all numbers of this region are in the other region.
    pub fn is_within(self, other: Self) -> bool {
        let low = match (self.low, other.low) {
            (_, Bound::Unbounded) => true,
            (Bound::Unbounded, _) => false,
            (Bound::Included(own), Bound::Excluded(limit)) => own > limit,
            (
                Bound::Included(own) | Bound::Excluded(own),
                Bound::Included(limit) | Bound::Excluded(limit),
            ) => own >= limit,
        };
        let high = match (self.high, other.high) {
            (_, Bound::Unbounded) => true,
            (Bound::Unbounded, _) => false,
            (Bound::Included(own), Bound::Excluded(limit)) => own < limit,
            (
                Bound::Included(own) | Bound::Excluded(own),
                Bound::Included(limit) | Bound::Excluded(limit),
            ) => own <= limit,
        };
        low && high
    }

    /// Returns the relation of an interval to this region. An interval with a NaN as an end
    /// overlaps partially.
    pub fn overlap(self, interval: Interval) -> Overlap {
        if interval.low.is_nan() || interval.high.is_nan() {
            return Overlap::Partial;
        }
        let is_below = match self.low {
            Bound::Included(low) => interval.high < low,
            Bound::Excluded(low) => interval.high <= low,
            Bound::Unbounded => false,
        };
        let is_above = match self.high {
            Bound::Included(high) => interval.low > high,
            Bound::Excluded(high) => interval.low >= high,
            Bound::Unbounded => false,
        };
        if is_below || is_above {
            Overlap::Disjoint
        } else if self.contains(interval.low) && self.contains(interval.high) {
            Overlap::Inside
        } else {
            Overlap::Partial
        }
    }
}

impl FromStr for Region {
    type Err = RegionError;

    fn from_str(text: &str) -> Result<Self, RegionError> {
        let number = |text: &str| text.trim().parse().ok().filter(|value: &f64| value.is_finite());
        let region = match (text.trim().split_at_checked(1), text.split_once("..")) {
            (Some((">", limit)), _) => number(limit).map(Self::above),
            (Some(("<", limit)), _) => number(limit).map(Self::below),
            (Some(("=", value)), _) => {
                number(value).map(|value| Self::of(Interval { low: value, high: value }))
            }
            (_, Some((low, high))) => number(low)
                .zip(number(high))
                .filter(|(low, high)| low <= high)
                .map(|(low, high)| Self::of(Interval { low, high })),
            _ => None,
        };
        region.ok_or_else(|| RegionError { text: text.to_owned() })
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (Bound::Included(low), Bound::Included(high)) if low == high => write!(f, "= {low}"),
            (Bound::Included(low) | Bound::Excluded(low), Bound::Unbounded) => write!(f, "> {low}"),
            (Bound::Unbounded, Bound::Included(high) | Bound::Excluded(high)) => {
                write!(f, "< {high}")
            }
            (Bound::Unbounded, Bound::Unbounded) => f.write_str("any number"),
            (
                Bound::Included(low) | Bound::Excluded(low),
                Bound::Included(high) | Bound::Excluded(high),
            ) => write!(f, "{low}..{high}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn region(text: &str) -> Region {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn regions_are_parsed_and_printed_the_same() {
        for text in ["1.2..1.6", "> 1.05", "< 0.9", "= 178734", "-0.053..0", "> 0"] {
            assert_eq!(region(text).to_string(), text);
        }
        for text in ["", "1.2", "2..1", "> ", "= x", "..", "> inf", "1..NaN", "µ"] {
            assert_eq!(text.parse::<Region>(), Err(RegionError { text: text.to_owned() }));
        }
    }

    #[test]
    fn limits_are_not_in_open_regions() {
        assert!(!region("> 0").contains(0.0) && !region("< 0").contains(0.0));
        assert!(region("0..1").contains(0.0) && region("0..1").contains(1.0));
        let nothing = Interval { low: 0.0, high: 0.0 };
        assert_eq!(region("> 0").overlap(nothing), Overlap::Disjoint);
        assert_eq!(region("= 0").overlap(nothing), Overlap::Inside);
        assert!(region("0.1..0.2").is_within(region("> 0")));
        assert!(!region("0..0.2").is_within(region("> 0")));
        assert!(
            !region("> 0").is_within(region("0..5")) && !region("< 1").is_within(region("0..5"))
        );
    }

    #[test]
    fn an_interval_without_a_number_decides_nothing() {
        let unknown = Interval { low: f64::NAN, high: 1.0 };
        assert_eq!(region("< 5").overlap(unknown), Overlap::Partial);
        assert!(!region("< 5").contains(f64::NAN));
    }

    fn any_region() -> impl Strategy<Value = Region> {
        (-9i32..9, 0i32..9, 0..4).prop_map(|(low, width, kind)| {
            let (low, high) = (f64::from(low), f64::from(low + width));
            match kind {
                0 => Region::above(low),
                1 => Region::below(low),
                2 => Region::of(Interval { low, high: low }),
                _ => Region::of(Interval { low, high }),
            }
        })
    }

    proptest! {
        /// An interval lies inside, partly inside or outside of the region, according to whether
        /// all, some or none of its numbers are in the region.
        #[test]
        fn overlaps_agree_with_membership(
            region in any_region(), low in -10i32..10, width in 0i32..10,
        ) {
            let interval = Interval { low: f64::from(low), high: f64::from(low + width) };
            // Ends are whole numbers, so quarters meet every part of both.
            let inside: Vec<bool> = (0..=4 * width)
                .map(|step| region.contains(interval.low + f64::from(step) / 4.0))
                .collect();
            let expected = match (inside.iter().all(|one| *one), inside.iter().any(|one| *one)) {
                (true, _) => Overlap::Inside,
                (false, true) => Overlap::Partial,
                (false, false) => Overlap::Disjoint,
            };
            prop_assert_eq!(region.overlap(interval), expected);
        }

        #[test]
        fn a_region_is_within_another_if_all_its_numbers_are(
            one in any_region(), other in any_region(),
        ) {
            // The ends of unbounded regions lie within -9 and 18.
            let numbers = (-80..160).map(|step| f64::from(step) / 4.0);
            let expected = numbers.filter(|number| one.contains(*number)).all(|x| other.contains(x));
            prop_assert_eq!(one.is_within(other), expected);
        }
    }
}
