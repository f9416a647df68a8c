//! Estimates the offset between the clocks of two processes from the round trips of messages.

use serde::{Deserialize, Serialize};

/// The times at which a message and its reply were sent and received, in nanoseconds. One rank (a
/// process of the run) sends a message to another rank, which replies with the reading of its own
/// clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The time on the local clock at which the request was sent.
    pub left: u64,
    /// The reading of the remote clock in the reply.
    pub there: u64,
    /// The time on the local clock at which the reply arrived.
    pub back: u64,
}

/// The offset of a remote clock from the local one, and a bound on the error of this estimate. The
/// remote clock was read at some moment between request and reply. Half of the round-trip time
/// therefore bounds the error, independently of the delays in the two directions (F. Cristian,
/// "Probabilistic clock synchronization", Distributed Computing 3, 1989, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The offset in nanoseconds (negative if the remote clock is behind).
    pub offset_ns: i64,
    /// The largest error of the offset, in nanoseconds.
    pub bound_ns: u64,
}

impl ClockOffset {
    /// Estimates the offset from the fastest round trip. Returns `None` if `exchanges` is empty.
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

    /// Converts a time of the local clock to the remote clock.
    pub fn there(self, here: u64) -> u64 {
        here.saturating_add_signed(self.offset_ns)
    }

    /// Converts a time of the remote clock to the local clock.
    pub fn here(self, there: u64) -> u64 {
        there.saturating_add_signed(self.offset_ns.saturating_neg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_within_its_bound_whatever_the_delays() {
        // The remote clock is 1000 ahead. The delays of the two directions differ.
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
