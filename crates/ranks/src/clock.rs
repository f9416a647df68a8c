//! How far two clocks are apart, from messages there and back.

use serde::{Deserialize, Serialize};

/// One message there and back: when it left and came back on the asking clock, and what the other
/// clock showed between. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The asking clock, before.
    pub left: u64,
    /// The other clock.
    pub there: u64,
    /// The asking clock, after.
    pub back: u64,
}

/// By how much another clock is ahead of the asking one, and the bound of the error: the answer was
/// given at some moment between question and return, so half of the time there and back bounds it
/// whatever the ways took (F. Cristian, "Probabilistic clock synchronization", Distributed Computing
/// 3, 1989, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Nanoseconds; negative if the other clock is behind.
    pub offset_ns: i64,
    /// The offset is wrong by so many nanoseconds at most.
    pub bound_ns: u64,
}

impl ClockOffset {
    /// By the quickest of some exchanges; `None` without one.
    pub fn of(exchanges: impl IntoIterator<Item = Exchange>) -> Option<Self> {
        let quickest = exchanges.into_iter().min_by_key(|one| one.back.saturating_sub(one.left))?;
        let whole = quickest.back.saturating_sub(quickest.left);
        let middle = i128::from(quickest.left) + i128::from(whole / 2);
        let offset = i128::from(quickest.there) - middle;
        Some(Self {
            offset_ns: i64::try_from(offset).unwrap_or(i64::MAX),
            bound_ns: whole.div_ceil(2),
        })
    }

    /// What the other clock shows at a moment of the asking one.
    pub fn there(self, here: u64) -> u64 {
        here.saturating_add_signed(self.offset_ns)
    }

    /// What the asking clock shows at a moment of the other one.
    pub fn here(self, there: u64) -> u64 {
        there.saturating_add_signed(self.offset_ns.saturating_neg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_within_its_bound_whatever_the_ways_took() {
        // The other clock is 1000 ahead; the ways there and back take what they like.
        for (there, back) in [(10, 10), (0, 40), (40, 0), (3, 4)] {
            let left = 5_000;
            let exchange =
                Exchange { left, there: left + there + 1_000, back: left + there + back };
            let slow = Exchange { left, there: left + 1_000, back: left + 900 };
            let offset = ClockOffset::of([slow, exchange]).expect("exchanges");
            assert!(offset.offset_ns.abs_diff(1_000) <= offset.bound_ns, "{offset:?}");
            assert_eq!(offset.bound_ns, (there + back).div_ceil(2));
        }
    }

    #[test]
    fn a_clock_may_be_behind() {
        let offset = ClockOffset::of([Exchange { left: 900, there: 100, back: 1_100 }]);
        let offset = offset.expect("an exchange");
        assert_eq!(offset, ClockOffset { offset_ns: -900, bound_ns: 100 });
        assert_eq!((offset.there(1_000), offset.here(100)), (100, 1_000));
        assert_eq!(ClockOffset::of([]), None);
    }
}
