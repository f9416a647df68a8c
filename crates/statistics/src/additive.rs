//! Additive models of costs: a piece of work costs a constant, plus the number of its parts of each
//! kind times the cost of such a part.
//!
//! * The costs are fitted to observations whose counts are known. None is negative. The errors that
//!   count are relative ones, because costlier work varies more, and few large errors have little
//!   weight (P. J. Huber, Robust Statistics, 1981, chapter 7).
//! * The interval of a prediction comes from observations that were predicted without themselves
//!   and without all others of equal counts (CV+: R. F. Barber, E. J. Candes, A. Ramdas, R. J.
//!   Tibshirani, Predictive inference with the jackknife+, Annals of Statistics 49, 2021). It is
//!   wide where the prediction depends on few observations.
//! * A prediction is undetermined if it depends on costs that the observations do not tell apart.

use crate::confidence::Interval;
use crate::non_negative::non_negative_fit;
use crate::order::Ordered;

/// The number of folds: groups of observations, each of which is predicted by a fit to the other
/// groups to find the errors of predictions (cross-validation).
const FOLDS: usize = 10;

/// The smallest number of observations with different counts for which predictions have intervals.
const FEWEST: usize = 4;

/// The inverse of the share of costs that may lie above the interval of their prediction, and of
/// the share that may lie below it: 5 % each.
const TAIL: usize = 20;

/// The weight of the sum of the squared costs in the fit, relative to that of the squared errors of
/// all observations. It makes the solution unique (see `non_negative_fit`).
const DAMPING: f64 = 1e-6;

/// The number of rounds of iteratively reweighted least squares that minimise the sum of the
/// absolute errors.
const ABSOLUTE_ROUNDS: usize = 10;

/// The number of rounds after these, in which small errors count by their squares and large ones by
/// their absolute values (Huber's loss).
const HUBER_ROUNDS: usize = 10;

/// The largest error, in standard deviations, at which an observation still has its full weight in
/// the fit.
const LARGE: f64 = 1.5;

/// The standard deviation of a normal distribution, as a multiple of the median of its absolute
/// deviations.
const DEVIATIONS: f64 = 1.4826;

/// The least standard deviation of the relative errors that the fit assumes. Smaller errors count
/// as exact.
const EXACT: f64 = 1e-3;

/// Counts that deviate from linear combinations of the observed counts by less than this share of
/// their length do so because of rounding.
const ROUNDING: f64 = 1e-6;

/// An observed piece of work, with its measured cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The number of parts of each kind in the piece of work.
    pub counts: Vec<f64>,
    /// The measured cost, which is positive.
    pub cost: f64,
}

/// A fitted additive model of costs: a constant cost, and the cost of a part of each kind.
#[derive(Clone, Debug)]
pub struct AdditiveFit {
    costs: Costs,
    /// For each fold, the costs that were fitted without the observations of the fold.
    without: Vec<Costs>,
    held_out: Vec<HeldOut>,
    span: Span,
    /// The indices of the kinds of parts whose count is the same in all observations.
    unvaried: Vec<usize>,
}

/// A prediction of the cost of a piece of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The cost.
    pub cost: f64,
    /// The interval in which the measured cost lies, or `None` if there are too few observations.
    /// For work that resembles the observations, the interval typically contains the cost in 95 %
    /// of the cases. It is guaranteed to do so in 90 %, less a share that vanishes as the number of
    /// observations increases.
    pub interval: Option<Interval>,
    /// The indices of the kinds of parts whose costs the observations do not tell apart from those
    /// of other kinds, so that the predicted cost could be any other. The list is empty if the cost
    /// is determined.
    pub undetermined: Vec<usize>,
}

/// Of several pieces of work, the one with the largest predicted cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargestPrediction {
    /// The index of the piece of work among the predictions.
    pub position: usize,
    /// The indices of the other pieces of work that may cost as much: their intervals overlap with
    /// the interval of this one, or one of the two predictions is undetermined.
    pub ties: Vec<usize>,
}

/// The constant cost of every piece of work, and the cost of a part of each kind.
#[derive(Clone, Debug, PartialEq)]
struct Costs {
    constant: f64,
    each: Vec<f64>,
}

/// The error of the prediction of an observation by the fit without the observation's fold.
#[derive(Clone, Copy, Debug, PartialEq)]
struct HeldOut {
    fold: usize,
    /// The absolute value of the relative error.
    error: f64,
}

impl AdditiveFit {
    /// Fits costs to observations. An observation with fewer counts than others has zero parts of
    /// the remaining kinds. Returns `None` without observations, or if a cost is not positive.
    pub fn of(observations: &[Observation]) -> Option<Self> {
        let is_positive = |one: &Observation| one.cost.is_finite() && one.cost > 0.0;
        if observations.is_empty() || !observations.iter().all(is_positive) {
            return None;
        }
        let width = observations.iter().map(|one| one.counts.len()).max().unwrap_or(0);
        let all: Vec<&Observation> = observations.iter().collect();
        let folds = folds(observations);
        let count = folds.iter().copied().max().map_or(0, |last| last + 1);
        let without = |fold: usize| {
            let kept = all.iter().zip(&folds).filter(|(_, of)| **of != fold);
            let kept: Vec<&Observation> = kept.map(|(one, _)| *one).collect();
            Costs::fit(&kept, width)
        };
        let without: Vec<Costs> = (0..count).map(without).collect();
        let held_out = observations.iter().zip(&folds).filter_map(|(one, fold)| {
            let error = (one.cost / without.get(*fold)?.of(&one.counts) - 1.0).abs();
            Some(HeldOut { fold: *fold, error })
        });
        let held_out = held_out.collect();
        let first = observations.first().map_or(&[][..], |one| one.counts.as_slice());
        let varies = |kind: usize| {
            observations.iter().any(|one| count_of(&one.counts, kind) != count_of(first, kind))
        };
        Some(Self {
            costs: Costs::fit(&all, width),
            without,
            held_out,
            span: Span::of(observations, width),
            unvaried: (0..width).filter(|kind| !varies(*kind)).collect(),
        })
    }

    /// Returns the constant cost that every piece of work has.
    pub fn constant(&self) -> f64 {
        self.costs.constant
    }

    /// Returns the cost of one part of each kind.
    pub fn each(&self) -> &[f64] {
        &self.costs.each
    }

    /// Returns the indices of the kinds of parts whose count is the same in all observations. Their
    /// cost cannot be told apart from the constant, which includes it.
    pub fn unvaried(&self) -> &[usize] {
        &self.unvaried
    }

    /// Returns the median of the absolute relative errors of predictions, each of which was made by
    /// a fit without the predicted observation. Returns `None` if there are too few observations.
    pub fn median_error(&self) -> Option<f64> {
        let errors = self.held_out.iter().map(|one| one.error).collect();
        Ordered::of_numbers(errors).at(0.5)
    }

    /// Predicts the cost of a piece of work, given the number of its parts of each kind.
    pub fn predict(&self, counts: &[f64]) -> Prediction {
        let cost = self.costs.of(counts);
        Prediction {
            cost,
            interval: self.interval(counts, cost),
            undetermined: self.span.lacks(counts),
        }
    }

    fn interval(&self, counts: &[f64], cost: f64) -> Option<Interval> {
        // The rank of each end of the interval among the sorted values, counted from its side. The
        // predicted cost itself counts as one more value.
        let rank = (self.held_out.len() + 1) / TAIL;
        let (mut lows, mut highs) = (Vec::new(), Vec::new());
        for HeldOut { fold, error } in &self.held_out {
            let without = self.without.get(*fold)?.of(counts);
            lows.push(without * (1.0 - error));
            highs.push(without * (1.0 + error));
        }
        let (lows, highs) = (Ordered::of_numbers(lows), Ordered::of_numbers(highs));
        let low = lows.samples().get(rank.checked_sub(1)?)?;
        let high = highs.samples().get(highs.len().checked_sub(rank)?)?;
        Some(Interval { low: low.max(0.0).min(cost), high: high.max(cost) })
    }
}

impl Prediction {
    /// Returns whether two pieces of work may cost the same.
    fn may_equal(&self, other: &Self) -> bool {
        if !self.undetermined.is_empty() || !other.undetermined.is_empty() {
            return true;
        }
        match (self.interval, other.interval) {
            (Some(one), Some(other)) => one.low <= other.high && other.low <= one.high,
            (None, _) | (_, None) => true,
        }
    }
}

impl LargestPrediction {
    /// Returns the piece of work with the largest predicted cost, or `None` if `predictions` is
    /// empty.
    pub fn of(predictions: &[Prediction]) -> Option<Self> {
        let all = predictions.iter().enumerate();
        // If several costs are equal, the first one is chosen.
        let (position, most) =
            all.rev().max_by(|(_, one), (_, other)| one.cost.total_cmp(&other.cost))?;
        let others = predictions.iter().enumerate();
        let ties = others.filter(|(at, one)| *at != position && one.may_equal(most));
        Some(Self { position, ties: ties.map(|(at, _)| at).collect() })
    }
}

impl Costs {
    /// Fits costs to observations whose parts are of `width` kinds.
    fn fit(observations: &[&Observation], width: usize) -> Self {
        // The relative error of an observation is one minus the inner product of its row and the
        // costs, because a row is divided by the observation's cost.
        let mut rows: Vec<Vec<f64>> = observations
            .iter()
            .map(|one| row(&one.counts, width).map(|count| count / one.cost).collect())
            .collect();
        let lengths = lengths(&rows, width);
        for row in &mut rows {
            for (entry, length) in row.iter_mut().zip(&lengths) {
                *entry /= length;
            }
        }
        let mut weights = vec![1.0; rows.len()];
        let mut found = Vec::new();
        for round in 0..ABSOLUTE_ROUNDS + HUBER_ROUNDS {
            found = weighted_fit(&rows, &weights);
            let errors: Vec<f64> =
                rows.iter().map(|row| (1.0 - product(row, &found)).abs()).collect();
            let median = Ordered::of_numbers(errors.clone()).at(0.5).unwrap_or(0.0);
            let deviation = (DEVIATIONS * median).max(EXACT);
            let weight = |error: &f64| match round < ABSOLUTE_ROUNDS {
                true => 1.0 / error.max(deviation / 10.0),
                false => (LARGE * deviation / error.max(f64::MIN_POSITIVE)).min(1.0),
            };
            weights = errors.iter().map(weight).collect();
        }
        let mut each = found.iter().zip(&lengths).map(|(cost, length)| cost / length);
        let constant = each.next().unwrap_or(0.0);
        Self { constant, each: each.collect() }
    }

    /// Returns the cost of a piece of work.
    fn of(&self, counts: &[f64]) -> f64 {
        self.constant + product(&self.each, counts)
    }
}

/// Returns the coefficients with which the linear combinations of the rows are closest to one, in
/// the sense of weighted least squares.
fn weighted_fit(rows: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let scaled = |(row, weight): (&Vec<f64>, &f64)| -> Vec<f64> {
        row.iter().map(|entry| entry * weight.sqrt()).collect()
    };
    let scaled: Vec<Vec<f64>> = rows.iter().zip(weights).map(scaled).collect();
    let values: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
    non_negative_fit(&scaled, &values, DAMPING * weights.iter().sum::<f64>())
}

/// Returns a row for the fit: a one, which stands for the constant cost, followed by the counts of
/// a piece of work.
fn row(counts: &[f64], width: usize) -> impl Iterator<Item = f64> + '_ {
    std::iter::once(1.0).chain((0..width).map(move |kind| count_of(counts, kind)))
}

fn count_of(counts: &[f64], kind: usize) -> f64 {
    counts.get(kind).copied().unwrap_or(0.0)
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Returns the root mean square of each column of `rows`, or 1 for a column of zeros. The first
/// column is that of the constant, and `width` more follow.
fn lengths(rows: &[Vec<f64>], width: usize) -> Vec<f64> {
    let count = rows.len().max(1) as f64;
    let length = |column: usize| {
        let squares: f64 = rows.iter().map(|row| count_of(row, column).powi(2)).sum();
        if squares > 0.0 { (squares / count).sqrt() } else { 1.0 }
    };
    (0..=width).map(length).collect()
}

/// Returns the number of the fold to which each observation belongs. Observations with equal counts
/// belong to the same fold. The list is empty if there are fewer than `FEWEST` different counts.
fn folds(observations: &[Observation]) -> Vec<usize> {
    let mut different: Vec<&[f64]> = Vec::new();
    let mut numbers = Vec::with_capacity(observations.len());
    for Observation { counts, .. } in observations {
        let known = different.iter().position(|other| *other == counts.as_slice());
        numbers.push(known.unwrap_or(different.len()));
        if known.is_none() {
            different.push(counts);
        }
    }
    if different.len() < FEWEST {
        return Vec::new();
    }
    numbers.into_iter().map(|number| number % FOLDS.min(different.len())).collect()
}

/// The linear combinations of the counts of the observations. Only work with such counts has a
/// determined cost.
#[derive(Clone, Debug)]
struct Span {
    /// The root mean square of the counts of each kind, after that of the constant.
    lengths: Vec<f64>,
    /// An orthonormal basis of the linear combinations.
    directions: Vec<Vec<f64>>,
}

impl Span {
    fn of(observations: &[Observation], width: usize) -> Self {
        let rows: Vec<Vec<f64>> =
            observations.iter().map(|one| row(&one.counts, width).collect()).collect();
        let mut span = Self { lengths: lengths(&rows, width), directions: Vec::new() };
        for one in observations {
            let rest = span.rest(&one.counts);
            let length = product(&rest, &rest).sqrt();
            if length > ROUNDING {
                span.directions.push(rest.iter().map(|entry| entry / length).collect());
            }
        }
        span
    }

    /// Returns the component of the given counts that is orthogonal to all basis vectors, as a
    /// share of the length of the counts.
    fn rest(&self, counts: &[f64]) -> Vec<f64> {
        let width = self.lengths.len().saturating_sub(1);
        let mut rest: Vec<f64> =
            row(counts, width).zip(&self.lengths).map(|(count, length)| count / length).collect();
        let whole = product(&rest, &rest).sqrt().max(f64::MIN_POSITIVE);
        // The second round removes the components that the first leaves because of rounding.
        for _ in 0..2 {
            for direction in &self.directions {
                let share = product(direction, &rest);
                for (entry, along) in rest.iter_mut().zip(direction) {
                    *entry -= share * along;
                }
            }
        }
        rest.iter().map(|entry| entry / whole).collect()
    }

    /// Returns the indices of the kinds of parts that put the counts of a piece of work outside of
    /// the span.
    fn lacks(&self, counts: &[f64]) -> Vec<usize> {
        // The first entry belongs to the constant cost.
        let rest = self.rest(counts).into_iter().skip(1);
        let far = rest.enumerate().filter(|(_, entry)| entry.abs() > ROUNDING);
        far.map(|(kind, _)| kind).collect()
    }
}

#[cfg(test)]
mod tests;
