//! Compares the shares of flows that members of a group receive with the members' weights.

use statistics::{Confidence, GoodnessOfFit, Interval, goodness_of_fit, shares};

/// The largest difference between a member's share of flows and its share of the weights that is
/// not reported as a fault. A switch that maps hash values to members with a table of 16 slots
/// deviates by less.
pub const TOLERANCE: f64 = 1.0 / 16.0;

/// The confidence of the reported intervals: the probability that the intervals of all members
/// contain the true shares.
const REPORTED: f64 = 0.98;

/// The probability with which a group without a fault is reported as faulty.
const FALSE_ALARM: f64 = 1e-6;

/// The share of the flows that one member received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The number of flows that the member received.
    pub flows: u64,
    /// The share of the flows that the member should receive according to its weight.
    pub expected: f64,
    /// The share of all flows that the member received.
    pub measured: f64,
    /// The confidence interval of the member's share. With a confidence of 98 %, the intervals of
    /// all members contain the true shares.
    pub interval: Interval,
    /// Whether the member's share differs from the expected one by more than `TOLERANCE`, beyond
    /// what chance explains.
    pub is_off: bool,
}

/// The result of comparing the members' shares with their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The shares of the members, in their order.
    pub shares: Vec<Share>,
    /// The chi-square test of whether the shares are proportional to the weights.
    pub fit: GoodnessOfFit,
}

impl Assessment {
    /// Compares the number of flows that each member received with the members' weights. Returns
    /// `None` if there are no flows, or fewer than two members.
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

    /// Returns whether the group is faulty: chance does not explain the shares, and one of them
    /// deviates by more than the tolerance.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        self.fit.probability < FALSE_ALARM && self.shares.iter().any(|share| share.is_off)
    }
}
