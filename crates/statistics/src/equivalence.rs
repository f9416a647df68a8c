//! Decides whether a measurement agrees with a published value. The published value is represented
//! by two nested regions, which are fixed before the measurement and with which the interval of the
//! measurement is compared.
//!
//! For agreement, the interval must lie in a region, as in a test of equivalence (D. J. Schuirmann,
//! A comparison of the two one-sided tests procedure and the power approach, Journal of
//! Pharmacokinetics and Biopharmaceutics 15, 1987). If the interval is too wide, nothing is
//! decided, and it never counts as agreement.

use std::fmt;

use crate::confidence::{Confidence, Interval};
use crate::mean::{mean, standard_deviation, student_t};
use crate::region::{Overlap, Region};
use crate::unit::Unit;

/// The least number of rounds (repetitions of a measurement) that are needed to judge a figure.
pub const FEWEST_ROUNDS: usize = 3;

/// The two nested regions by which a measured figure is compared with a published one.
///
/// Numbers in the equivalent region count as equal to the published value. Numbers in the shape,
/// which contains that region, agree with the publication at least qualitatively. For a published
/// speed-up of 1.4, for example, the regions may be `1.2..1.6` and `> 1.05`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    equivalent: Option<Region>,
    shape: Region,
}

/// The error for a criterion whose two regions are not nested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotNested {
    /// The region of numbers that count as equal to the published value. It should lie in `shape`.
    pub equivalent: Region,
    /// The larger region, of numbers that agree with the publication at least qualitatively.
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
    /// Some numbers of the interval are in the shape and others are not, so that more rounds are
    /// needed to decide.
    Undecided,
    /// No number of the interval is in the shape.
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

    /// Returns the criterion for a figure whose value is not published, but only its shape, such as
    /// "faster than before".
    pub fn of_shape(shape: Region) -> Self {
        Self { equivalent: None, shape }
    }

    /// Returns the region that counts as equal to the published value, or `None` if no value is
    /// published.
    pub fn equivalent(self) -> Option<Region> {
        self.equivalent
    }

    /// Returns the shape: the region of the numbers that agree with the publication at least
    /// qualitatively.
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

/// The way in which the noise of a figure changes it from round to round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Noise adds to the figure, as it does to a share or to a difference, which may be negative.
    Additive,
    /// Noise multiplies the figure, as it multiplies a rate, a time, or a ratio of two of them. The
    /// figure is positive, and its logarithms have additive noise.
    Multiplicative,
}

impl Noise {
    /// Returns the kind of noise for a figure with this unit and these values. A figure that was
    /// zero or negative in a round has no logarithm, so its noise counts as additive.
    pub fn of(unit: Unit, rounds: &[f64]) -> Self {
        let multiplies = match unit {
            Unit::Seconds | Unit::PerSecond | Unit::Index => true,
            Unit::Count | Unit::Fraction | Unit::CpuPercent | Unit::Bytes => false,
        };
        match multiplies && rounds.iter().all(|value| *value > 0.0) {
            true => Self::Multiplicative,
            false => Self::Additive,
        }
    }

    /// Converts a value of the figure to the scale on which noise is additive.
    fn scaled(self, value: f64) -> f64 {
        match self {
            Self::Additive => value,
            Self::Multiplicative => value.ln(),
        }
    }

    /// Converts a value on the scale on which noise is additive to a value of the figure.
    fn unscaled(self, value: f64) -> f64 {
        match self {
            Self::Additive => value,
            Self::Multiplicative => value.exp(),
        }
    }

    fn scaled_region(self, region: Region) -> Region {
        match self {
            Self::Additive => region,
            Self::Multiplicative => region.logarithms(),
        }
    }
}

/// The centre of a figure over rounds, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverRounds {
    /// The arithmetic mean if noise is additive, and the geometric mean if it is multiplicative.
    pub centre: f64,
    /// The confidence interval of the centre.
    pub interval: Interval,
}

/// Returns the centre of a figure that was measured once per round, with Student's confidence
/// interval. If noise is multiplicative, the interval of the logarithms is computed and transformed
/// back, so that it contains only positive numbers. Returns `None` for fewer than [`FEWEST_ROUNDS`]
/// rounds, because for two rounds an interval of 99 % extends 45 standard deviations to each side.
pub fn over_rounds(rounds: &[f64], confidence: Confidence, noise: Noise) -> Option<OverRounds> {
    if rounds.len() < FEWEST_ROUNDS {
        return None;
    }
    let scaled: Vec<f64> = rounds.iter().map(|value| noise.scaled(*value)).collect();
    let (centre, deviation) = (mean(&scaled)?, standard_deviation(&scaled)?);
    let half = half_width(confidence, deviation, rounds.len());
    let interval =
        Interval { low: noise.unscaled(centre - half), high: noise.unscaled(centre + half) };
    Some(OverRounds { centre: noise.unscaled(centre), interval })
}

/// Returns half of the width of Student's confidence interval over `rounds` values with this
/// standard deviation.
fn half_width(confidence: Confidence, deviation: f64, rounds: usize) -> f64 {
    let n = rounds as f64;
    student_t(confidence, n - 1.0) * deviation / n.sqrt()
}

/// The largest number of rounds that [`rounds_to_decide`] suggests.
const MAX_ROUNDS: usize = 1000;

/// Returns the number of rounds after which the confidence interval of a figure would no longer
/// contain an end of `region`, if the centre and the standard deviation of the figure remain those
/// of `rounds`. Returns `None` if more than 1,000 rounds would be needed.
pub fn rounds_to_decide(
    rounds: &[f64],
    confidence: Confidence,
    noise: Noise,
    region: Region,
) -> Option<usize> {
    let scaled: Vec<f64> = rounds.iter().map(|value| noise.scaled(*value)).collect();
    let distance = noise.scaled_region(region).distance_to_end(mean(&scaled)?)?;
    let deviation = standard_deviation(&scaled)?;
    (rounds.len()..=MAX_ROUNDS).find(|n| half_width(confidence, deviation, *n) < distance)
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
        let of = |rounds: &[f64], noise| over_rounds(rounds, Confidence::P99, noise);
        assert_eq!(of(&[1.0, 1.0], Noise::Additive), None);
        let found = of(&[1.0, 2.0, 3.0], Noise::Additive).expect("three rounds");
        // The quantile is t(2) = 9.925 (NIST table).
        let half = 9.925 / 3.0f64.sqrt();
        assert!((found.interval.high - 2.0 - half).abs() < 1e-3, "{found:?}");
        // Powers of e have the same interval over their logarithms.
        let powers: Vec<f64> = [1.0f64, 2.0, 3.0].into_iter().map(f64::exp).collect();
        let found = of(&powers, Noise::Multiplicative).expect("three rounds");
        assert!((found.centre.ln() - 2.0).abs() < 1e-12, "{found:?}");
        assert!((found.interval.low.ln() - (2.0 - half)).abs() < 1e-3, "{found:?}");
        assert!((found.interval.high.ln() - (2.0 + half)).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn rates_and_ratios_have_multiplicative_noise_while_they_are_positive() {
        for unit in [Unit::PerSecond, Unit::Seconds, Unit::Index] {
            assert_eq!(Noise::of(unit, &[0.5, 2.0]), Noise::Multiplicative);
            assert_eq!(Noise::of(unit, &[0.5, 0.0]), Noise::Additive);
            assert_eq!(Noise::of(unit, &[0.5, -1.0]), Noise::Additive);
        }
        assert_eq!(Noise::of(Unit::Fraction, &[0.5]), Noise::Additive);
    }

    /// Checks that a rate whose three rounds differ by a third is shown to be positive, although
    /// the interval around its arithmetic mean contains numbers below zero.
    #[test]
    fn the_interval_of_a_rate_contains_no_negative_rate() {
        let rounds = [0.7, 1.0, 1.4];
        let of = |noise| over_rounds(&rounds, Confidence::P99, noise).expect("rounds").interval;
        assert!(of(Noise::Additive).low < 0.0);
        assert!(of(Noise::Multiplicative).low > 0.1);
        let shape = Criterion::of_shape(Region::above(0.0));
        assert_eq!(shape.judge(of(Noise::Multiplicative)), Agreement::Shape);
    }

    #[test]
    fn rounds_that_would_decide_are_those_that_narrow_the_interval_enough() {
        let shape = Region::above(0.0);
        let rounds = [-0.1, 0.1, 0.3];
        let needed = |rounds: &[f64], noise, region| {
            rounds_to_decide(rounds, Confidence::P99, noise, region)
        };
        // t(n - 1) · 0.2 / sqrt(n) < 0.1: n is 31 by the NIST table (2.750 for 30 degrees of
        // freedom, 2.756 for 29).
        assert_eq!(needed(&rounds, Noise::Additive, shape), Some(31));
        assert_eq!(needed(&[-1.0, 1.0, 0.0], Noise::Additive, shape), None);
        // The logarithms of these ratios are the rounds above, and 0 is the logarithm of 1.
        let ratios = rounds.map(f64::exp);
        let above_one = Region::above(1.0);
        assert_eq!(needed(&ratios, Noise::Multiplicative, above_one), Some(31));
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
                    let found = over_rounds(&values, Confidence::P99, Noise::Additive);
                    let verdict = ratio.judge(found.expect("rounds").interval);
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

    /// The interval of a figure with multiplicative noise contains the true figure as often as it
    /// should.
    #[test]
    fn intervals_over_logarithms_have_their_confidence() {
        const DRAWS: usize = 10_000;
        const TRUTH: f64 = 1.54;
        for (seed, (rounds, deviation)) in
            [(3, 0.02), (3, 0.5), (5, 0.1), (5, 0.5)].into_iter().enumerate()
        {
            let mut draws = Draws(7 + seed as u64);
            let mut missed = 0;
            for _ in 0..DRAWS {
                let values: Vec<f64> =
                    (0..rounds).map(|_| TRUTH * (deviation * draws.normal()).exp()).collect();
                let noise = Noise::of(Unit::Index, &values);
                let found = over_rounds(&values, Confidence::P99, noise).expect("rounds");
                missed += usize::from(!found.interval.contains(TRUTH));
            }
            // 100 of 10,000 are expected, with a standard deviation of 10.
            assert!((60..=140).contains(&missed), "{missed} with {rounds} rounds, {deviation}");
        }
    }
}
