//! Whether a measurement agrees with a published value: the value is fixed as two nested regions
//! before anything is measured, and the interval of the measurement is compared with both.
//!
//! The interval must lie in a region for the measurement to agree, as in a test of equivalence
//! (D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power approach,
//! Journal of Pharmacokinetics and Biopharmaceutics 15, 1987). An interval that is too wide
//! therefore decides nothing; it never counts as agreement.

use std::fmt;

use crate::confidence::{Confidence, Interval};
use crate::mean::{mean, standard_deviation, student_t};
use crate::region::{Overlap, Region};

/// The fewest rounds (repetitions of a measurement) from which a figure is judged.
pub const FEWEST_ROUNDS: usize = 3;

/// The two nested regions by which a measured figure is compared with a published one.
///
/// Numbers in the equivalent region count as equal to the published value. Numbers in the shape,
/// which contains that region, agree with the publication at least in kind. For a published
/// speed-up of 1.4, say, the regions may be `1.2..1.6` and `> 1.05`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    equivalent: Option<Region>,
    shape: Region,
}

/// The error for a criterion whose equivalent region does not lie in its shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotNested {
    /// The equivalent region, which should lie in the shape.
    pub equivalent: Region,
    /// The shape, in which the equivalent region should lie.
    pub shape: Region,
}

impl fmt::Display for NotNested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the region {} is not within {}", self.equivalent, self.shape)
    }
}

impl std::error::Error for NotNested {}

/// The result of comparing the interval of a measurement with a [`Criterion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The interval contains numbers of the shape and numbers outside of it, so that only more
    /// rounds can decide.
    Undecided,
    /// The interval contains no number of the shape.
    Contradicted,
    /// The interval lies in the equivalent region.
    Equivalent,
    /// The interval lies in the shape, but not in the equivalent region, or there is no such
    /// region.
    Shape,
}

impl Criterion {
    /// Returns the criterion for a figure whose value is published.
    ///
    /// # Errors
    /// Returns [`NotNested`] unless the equivalent region lies in the shape.
    pub fn new(equivalent: Region, shape: Region) -> Result<Self, NotNested> {
        match equivalent.is_within(shape) {
            true => Ok(Self { equivalent: Some(equivalent), shape }),
            false => Err(NotNested { equivalent, shape }),
        }
    }

    /// Returns the criterion for a figure of which no value is published, but only the shape, such
    /// as "faster than before".
    pub fn of_shape(shape: Region) -> Self {
        Self { equivalent: None, shape }
    }

    /// Returns the region that counts as equal to the published value; `None` if no value is
    /// published.
    pub fn equivalent(self) -> Option<Region> {
        self.equivalent
    }

    /// Returns the shape: the region of numbers that agree with what is published at least in kind.
    pub fn shape(self) -> Region {
        self.shape
    }

    /// Compares the interval of a measurement with the regions of this criterion.
    pub fn judge(self, interval: Interval) -> Agreement {
        match self.shape.overlap(interval) {
            Overlap::Partial => Agreement::Undecided,
            Overlap::Disjoint => Agreement::Contradicted,
            Overlap::Inside => match self.equivalent.map(|region| region.overlap(interval)) {
                Some(Overlap::Inside) => Agreement::Equivalent,
                Some(Overlap::Partial | Overlap::Disjoint) | None => Agreement::Shape,
            },
        }
    }
}

/// Returns Student's confidence interval of the mean of a figure that was measured once per round.
/// Returns `None` for fewer than [`FEWEST_ROUNDS`], because with two rounds an interval of 99 % is
/// 45 standard deviations wide on each side.
pub fn over_rounds(rounds: &[f64], confidence: Confidence) -> Option<Interval> {
    if rounds.len() < FEWEST_ROUNDS {
        return None;
    }
    let (mean, deviation) = (mean(rounds)?, standard_deviation(rounds)?);
    let n = rounds.len() as f64;
    let half = student_t(confidence, n - 1.0) * deviation / n.sqrt();
    Some(Interval { low: mean - half, high: mean + half })
}

/// The largest number of rounds that [`rounds_to_decide`] suggests.
const MOST_ROUNDS: usize = 1000;

/// Returns the number of rounds after which the confidence interval of a figure would no longer
/// contain an end of `region`, if the figure's mean and standard deviation stay what they are in
/// `rounds`. Returns `None` if that takes more than 1,000 rounds.
pub fn rounds_to_decide(rounds: &[f64], confidence: Confidence, region: Region) -> Option<usize> {
    let distance = region.distance_to_end(mean(rounds)?)?;
    let deviation = standard_deviation(rounds)?;
    let half = |n: usize| student_t(confidence, n as f64 - 1.0) * deviation / (n as f64).sqrt();
    (rounds.len()..=MOST_ROUNDS).find(|n| half(*n) < distance)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn criterion(equivalent: &str, shape: &str) -> Criterion {
        let region = |text: &str| text.parse().expect("a region");
        Criterion::new(region(equivalent), region(shape)).expect("nested")
    }

    fn interval(low: f64, high: f64) -> Interval {
        Interval { low, high }
    }

    #[test]
    fn every_agreement_has_its_intervals() {
        let ratio = criterion("1.2..1.6", "> 1.05");
        for (low, high, expected) in [
            (1.3, 1.5, Agreement::Equivalent),
            (1.3, 1.7, Agreement::Shape),
            (1.7, 9.0, Agreement::Shape),
            (0.9, 1.1, Agreement::Undecided),
            (0.9, 1.05, Agreement::Contradicted),
        ] {
            assert_eq!(ratio.judge(interval(low, high)), expected, "{low} to {high}");
        }
        let only = Criterion::of_shape(Region::above(0.8));
        assert_eq!(only.judge(interval(0.9, 1.0)), Agreement::Shape);
        // A loss between -129 % and 123 % shows nothing.
        let loss = criterion("0.03..0.13", "> 0");
        assert_eq!(loss.judge(interval(-1.29, 1.23)), Agreement::Undecided);
    }

    #[test]
    fn regions_must_be_nested() {
        let (wide, narrow) = (Region::of(interval(0.0, 2.0)), Region::of(interval(0.5, 1.0)));
        assert!(Criterion::new(narrow, wide).is_ok());
        let refused = Criterion::new(wide, narrow).expect_err("not nested");
        assert_eq!(refused.to_string(), "the region 0..2 is not within 0.5..1");
    }

    #[test]
    fn fewer_than_three_rounds_have_no_interval() {
        assert_eq!(over_rounds(&[1.0, 1.0], Confidence::P99), None);
        let found = over_rounds(&[1.0, 2.0, 3.0], Confidence::P99).expect("three rounds");
        // The quantile is t(2) = 9.925 (NIST table).
        assert!((found.high - 2.0 - 9.925 / 3.0f64.sqrt()).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn rounds_that_would_decide_are_those_that_narrow_the_interval_enough() {
        let shape = Region::above(0.0);
        let rounds = [-0.1, 0.1, 0.3];
        let needed = rounds_to_decide(&rounds, Confidence::P99, shape).expect("a number");
        // t(n - 1) · 0.2 / sqrt(n) < 0.1: n is 31 by the NIST table (2.750 for 30 degrees of
        // freedom, 2.756 for 29).
        assert_eq!(needed, 31);
        assert_eq!(rounds_to_decide(&[-1.0, 1.0, 0.0], Confidence::P99, shape), None);
    }

    proptest! {
        /// Exactly one verdict follows from an interval, and it agrees with the definition of the
        /// verdicts.
        #[test]
        fn an_interval_yields_exactly_one_verdict(
            ends in (-5.0f64..5.0, 0.0f64..4.0),
            shape in (-5.0f64..5.0, 0.0f64..6.0),
            inner in (0.0f64..1.0, 0.0f64..1.0),
        ) {
            let measured = interval(ends.0, ends.0 + ends.1);
            let shape = interval(shape.0, shape.0 + shape.1);
            let width = shape.high - shape.low;
            let equivalent = interval(
                shape.low + width * inner.0.min(inner.1),
                (shape.low + width * inner.0.max(inner.1)).min(shape.high),
            );
            let one = Criterion::new(Region::of(equivalent), Region::of(shape)).expect("nested");
            let within = |outer: Interval| {
                outer.low <= measured.low && measured.high <= outer.high
            };
            let disjoint = measured.high < shape.low || shape.high < measured.low;
            let conditions = [
                (!disjoint && !within(shape), Agreement::Undecided),
                (disjoint, Agreement::Contradicted),
                (within(equivalent), Agreement::Equivalent),
                (within(shape) && !within(equivalent), Agreement::Shape),
            ];
            let holding: Vec<Agreement> =
                conditions.into_iter().filter(|(holds, _)| *holds).map(|(_, one)| one).collect();
            prop_assert_eq!(holding, vec![one.judge(measured)]);
        }
    }

    /// A generator of normally distributed numbers with a fixed seed: sums of uniform numbers by
    /// splitmix64.
    struct Draws(u64);

    impl Draws {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    /// Returns whether a verdict contradicts the true value.
    fn is_false(found: Agreement, criterion: Criterion, truth: f64) -> bool {
        let equivalent = criterion.equivalent().is_some_and(|region| region.contains(truth));
        match found {
            Agreement::Undecided => false,
            Agreement::Contradicted => criterion.shape().contains(truth),
            Agreement::Equivalent => !equivalent,
            Agreement::Shape => !criterion.shape().contains(truth),
        }
    }

    #[test]
    fn at_most_one_verdict_of_a_hundred_is_false() {
        const DRAWS: usize = 2000;
        let ratio = criterion("1.2..1.6", "> 1.05");
        // True values at the edges of the regions are the hardest, where a verdict on either side
        // is at stake; noise is such that intervals are often narrow enough to decide.
        for (seed, truth) in [1.05, 1.0500001, 1.1999, 1.6001, 1.4, 0.9].into_iter().enumerate() {
            for rounds in [3, 5] {
                let mut draws = Draws(seed as u64 * 100 + rounds as u64);
                let mut wrong = 0;
                let mut decided = 0;
                for _ in 0..DRAWS {
                    let deviation = 0.05 * draws.uniform();
                    let values: Vec<f64> =
                        (0..rounds).map(|_| truth + deviation * draws.normal()).collect();
                    let found = over_rounds(&values, Confidence::P99).expect("rounds");
                    let verdict = ratio.judge(found);
                    wrong += usize::from(is_false(verdict, ratio, truth));
                    decided += usize::from(verdict != Agreement::Undecided);
                }
                assert!(wrong <= DRAWS / 100, "{wrong} of {DRAWS} at {truth}, {rounds} rounds");
                // A rule that decides nothing is never wrong.
                let is_clear = [0.9, 1.4].contains(&truth);
                assert!(!is_clear || decided > DRAWS / 2, "{decided} at {truth}, {rounds} rounds");
            }
        }
    }
}
