//! The shares of flows that members of a group get, against their weights.

use statistics::{Confidence, GoodnessOfFit, Interval, goodness_of_fit, shares};

/// The difference of a share from that of the weights that is no fault. A switch that distributes
/// hash values over a table of 16 members deviates by less.
pub const TOLERANCE: f64 = 1.0 / 16.0;

/// The confidence of the intervals that are reported, for all members together.
const REPORTED: f64 = 0.98;

/// The probability with which a group without a fault is reported.
const FALSE_ALARM: f64 = 1e-6;

/// The share of one member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The number of flows of the member.
    pub flows: u64,
    /// The share of the member by its weight.
    pub expected: f64,
    /// The share of all flows that the member got.
    pub measured: f64,
    /// The interval of the share. The intervals of all members hold together, with a confidence of
    /// 98 %.
    pub interval: Interval,
    /// Whether the share certainly differs from the expected one by more than the tolerance.
    pub is_off: bool,
}

/// A comparison of shares and weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The shares of the members, in their order.
    pub shares: Vec<Share>,
    /// The chi-square test of all shares.
    pub fit: GoodnessOfFit,
}

impl Assessment {
    /// Compares the numbers of flows of members with their weights. Returns `None` if there are no
    /// flows, or fewer than two members.
    #[must_use]
    pub fn of(counts: &[u64], weights: &[u32]) -> Option<Self> {
        let numbers: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
        let fit = goodness_of_fit(counts, &numbers)?;
        let [reported, certain] = [REPORTED, 1.0 - FALSE_ALARM].map(Confidence::new);
        let (reported, certain) = (shares(counts, reported?)?, shares(counts, certain?)?);
        let all: u64 = counts.iter().sum();
        let sum: f64 = numbers.iter().sum();
        let intervals = reported.into_iter().zip(certain);
        let each = counts.iter().zip(&numbers).zip(intervals);
        let shares = each.map(|((flows, weight), (interval, certain))| {
            let expected = weight / sum;
            let is_off = certain.low > expected + TOLERANCE || certain.high < expected - TOLERANCE;
            let measured = *flows as f64 / all as f64;
            Share { flows: *flows, expected, measured, interval, is_off }
        });
        Some(Self { shares: shares.collect(), fit })
    }

    /// Returns whether chance does not explain the shares, and one of them is beyond the tolerance.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        self.fit.probability < FALSE_ALARM && self.shares.iter().any(|share| share.is_off)
    }
}
