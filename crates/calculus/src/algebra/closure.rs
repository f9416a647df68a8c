//! Sub-additive and super-additive closure.
//!
//! The closure of `f` is the infimum over `n >= 0` of its `n`-fold convolutions with itself; the
//! 0-fold one is zero at zero. Its long-term rate is the least value of `f(t) / t`. If that is
//! taken at some time `t*`, no finite number of convolutions shows it for ever, but the closure of
//! the one point (or segment) at `t*` has a closed form: [`seed`]. Convolving `f` with it first
//! leaves a curve whose repeated squares become stationary: more than a bounded number of parts on
//! a grid of times contain some that add up to a multiple of `t*`, and those are no better than
//! the seed. A square that equals its root is sub-additive, so stopping is exact (compare Bouillard
//! and Thierry, section 4.6, who combine the closures of all points and segments in place of this).

use super::ultimate::{both, one, repeating};
use super::{AlgebraError, sweep};
use crate::curve::piece::Tail;
use crate::curve::{Curve, Extended, Piece};
use crate::interrupt;
use crate::rational::Rational;

/// Each square doubles the number of parts; grids finer than this are refused.
const MOST_SQUARES: usize = 40;

impl Curve {
    /// The sub-additive closure: the greatest sub-additive curve below that is zero at zero (or
    /// minus infinity, if the curve is negative there).
    ///
    /// # Errors
    /// As for [`Curve::convolution`]; [`AlgebraError::NotPseudoPeriodic`] if the closure does not
    /// become stationary.
    pub fn sub_additive_closure(&self) -> Result<Self, AlgebraError> {
        let f = self.minimum_with_origin();
        if f.pieces[0].at < Extended::ZERO {
            return self.closure_of_negative_origin();
        }
        if f.pieces[0].after < Extended::ZERO {
            // Ever smaller parts add up to any time at any negative cost.
            let piece = Piece::new(
                Rational::ZERO,
                Extended::ZERO,
                Extended::NegativeInfinity,
                Rational::ZERO,
            );
            return Ok(Self::canonical(vec![piece], Tail::Affine));
        }
        if f.is_concave() {
            return Ok(f);
        }
        let mut root = match least_ratio(&f)? {
            Some(at) => f.convolution(&seed(&at)?)?,
            None => f,
        };
        for _ in 0..MOST_SQUARES {
            interrupt::check()?;
            let square = root.convolution(&root)?;
            if square == root {
                return Ok(root);
            }
            root = square;
        }
        Err(AlgebraError::NotPseudoPeriodic {
            operation: "sub-additive closure",
            why: "the times of its breakpoints have no common grid within reach",
        })
    }

    /// The super-additive closure: the smallest super-additive curve above that is zero at zero.
    ///
    /// # Errors
    /// As for [`Curve::sub_additive_closure`].
    pub fn super_additive_closure(&self) -> Result<Self, AlgebraError> {
        Ok(self.negated().sub_additive_closure()?.negated())
    }

    /// The curve, zero at zero unless it is negative there.
    fn minimum_with_origin(&self) -> Self {
        if self.pieces[0].at > Extended::ZERO { self.with_origin(0) } else { self.clone() }
    }

    /// With a negative value at zero, repeated for free, all that can be reached at all costs
    /// minus infinity.
    fn closure_of_negative_origin(&self) -> Result<Self, AlgebraError> {
        let reached = self.with_origin(0).sub_additive_closure()?;
        let pieces = reached
            .pieces
            .iter()
            .map(|piece| {
                let value = |value: &Extended| match value {
                    Extended::PositiveInfinity => Extended::PositiveInfinity,
                    _ => Extended::NegativeInfinity,
                };
                Piece::new(
                    piece.start.clone(),
                    value(&piece.at),
                    value(&piece.after),
                    Rational::ZERO,
                )
            })
            .collect();
        Ok(Self::canonical(pieces, reached.tail))
    }
}

/// Where a curve takes or approaches its least ratio of value to time: a point, or an end of an
/// open segment.
enum Cheapest {
    Point {
        time: Rational,
        value: Rational,
    },
    /// The open segment between two times, with its line; the ratio is least at the start.
    SegmentStart {
        from: Rational,
        to: Rational,
        value: Rational,
        slope: Rational,
    },
    /// The same with the ratio least at the end, where the value is given.
    SegmentEnd {
        from: Rational,
        to: Rational,
        value: Rational,
        slope: Rational,
    },
    /// From zero on along the first segment: the closure is that line.
    Line {
        slope: Rational,
    },
    /// Minus infinity at some time, or on the segment behind it.
    Unbounded {
        time: Rational,
        is_point: bool,
        to: Rational,
    },
}

/// The place of the least ratio at a finite time; `None` if it is only approached for ever larger
/// times, or the curve is infinite throughout.
fn least_ratio(f: &Curve) -> Result<Option<Cheapest>, AlgebraError> {
    let of = one(f, both(f, f).0.length);
    let end = of.end();
    let end = &end + &of.length;
    let pieces = f.pieces_until(&end)?;
    let mut best: Option<(Rational, u8, Cheapest)> = None;
    let mut offer = |ratio: Rational, rank: u8, place: Cheapest| {
        let is_better = best.as_ref().is_none_or(|(least, least_rank, _)| {
            ratio < *least || (ratio == *least && rank < *least_rank)
        });
        if is_better {
            best = Some((ratio, rank, place));
        }
    };
    for (index, piece) in pieces.iter().enumerate() {
        let next = pieces.get(index + 1).map_or(&end, |next| &next.start);
        let time = &piece.start;
        for (is_point, value) in [(true, &piece.at), (false, &piece.after)] {
            if *value == Extended::NegativeInfinity && !(is_point && time.is_zero()) {
                return Ok(Some(Cheapest::Unbounded {
                    time: time.clone(),
                    is_point,
                    to: next.clone(),
                }));
            }
        }
        if let (Extended::Finite(value), true) = (&piece.at, time.is_positive()) {
            let place = Cheapest::Point { time: time.clone(), value: value.clone() };
            offer(value / time, 0, place);
        }
        let Extended::Finite(limit) = &piece.after else { continue };
        let (from, to, slope) = (time.clone(), next.clone(), piece.slope.clone());
        if time.is_positive() {
            let value = limit.clone();
            let place = Cheapest::SegmentStart {
                from: from.clone(),
                to: to.clone(),
                value,
                slope: slope.clone(),
            };
            offer(limit / time, 1, place);
        } else if limit.is_zero() {
            offer(slope.clone(), 0, Cheapest::Line { slope: slope.clone() });
        }
        let reached = limit + &(&slope * &(&to - &from));
        let ratio = &reached / &to;
        offer(ratio, 2, Cheapest::SegmentEnd { from, to, value: reached, slope });
    }
    let Some((ratio, _, place)) = best else { return Ok(None) };
    let attained = match &of.rate {
        Extended::Finite(rate) => ratio <= *rate,
        Extended::NegativeInfinity => false,
        Extended::PositiveInfinity => true,
    };
    Ok(attained.then_some(place))
}

/// The closure of the function that is only that point or segment, infinite elsewhere.
fn seed(place: &Cheapest) -> Result<Curve, AlgebraError> {
    let impossible = Extended::PositiveInfinity;
    match place {
        Cheapest::Line { slope } => Ok(Curve::line(Rational::ZERO, slope.clone())),
        Cheapest::Point { time, value } => {
            let origin = Piece::new(Rational::ZERO, Extended::ZERO, impossible, Rational::ZERO);
            repeating(vec![origin], &Rational::ZERO, time.clone(), value.clone())
        }
        // The `n`-fold convolution is the segment `n` times as long, from `n` times the value: from
        // the `n` on at which the multiples overlap, the largest that starts before `t` is best.
        Cheapest::SegmentStart { from, to, value, slope } => {
            let length = to - from;
            let overlap = (from / &length).floor() + Rational::ONE;
            multiples(from, &length, value, slope, &overlap, from, value)
        }
        // The same from the other end: the smallest multiple that ends behind `t` is best.
        Cheapest::SegmentEnd { from, to, value, slope } => {
            let length = to - from;
            let overlap = (from / &length).floor() + Rational::ONE;
            let first = value - &(slope * &length);
            multiples(from, &length, &first, slope, &overlap, to, value)
        }
        Cheapest::Unbounded { time, is_point, to } => {
            let unbounded = Extended::NegativeInfinity;
            if *is_point {
                let mut pieces =
                    vec![Piece::new(Rational::ZERO, Extended::ZERO, impossible, Rational::ZERO)];
                let again = Extended::PositiveInfinity;
                pieces.push(Piece::new(time.clone(), unbounded, again, Rational::ZERO));
                return repeating(pieces, time, time.clone(), Rational::ZERO);
            }
            let length = to - time;
            let overlap = (time / &length).floor() + Rational::ONE;
            let segment = [time, &length];
            unbounded_multiples(segment, &overlap)
        }
    }
}

/// The lower envelope of zero at zero and the multiples of an open segment (start, length, limit
/// at the start, slope), on the window in which it begins to repeat.
fn multiples(
    start: &Rational,
    length: &Rational,
    value: &Rational,
    slope: &Rational,
    overlap: &Rational,
    period: &Rational,
    increment: &Rational,
) -> Result<Curve, AlgebraError> {
    super::limits::check_pieces(overlap)?;
    let end = (overlap + Rational::from(2)) * (start + length) + period;
    let mut functions = vec![vec![Piece::new(
        Rational::ZERO,
        Extended::ZERO,
        Extended::PositiveInfinity,
        Rational::ZERO,
    )]];
    let mut count = Rational::ONE;
    while &count * start < end {
        interrupt::check()?;
        let (from, to) = (&count * start, &count * (start + length));
        let never = Extended::PositiveInfinity;
        functions.push(vec![
            Piece::new(from, never.clone(), &count * value, slope.clone()),
            Piece::new(to, never.clone(), never, Rational::ZERO),
        ]);
        count += Rational::ONE;
        super::limits::check_pieces(&count)?;
        if start.is_zero() && &count * length > end {
            break;
        }
    }
    let pieces = sweep::minimum_of_all(functions);
    let repeats_from = &end - period;
    repeating(pieces, &repeats_from, period.clone(), increment.clone())
}

/// As [`multiples`], for a segment of minus infinity.
fn unbounded_multiples(
    [start, length]: [&Rational; 2],
    overlap: &Rational,
) -> Result<Curve, AlgebraError> {
    super::limits::check_pieces(overlap)?;
    let mut functions = vec![vec![Piece::new(
        Rational::ZERO,
        Extended::ZERO,
        Extended::PositiveInfinity,
        Rational::ZERO,
    )]];
    let mut count = Rational::ONE;
    while count <= *overlap {
        interrupt::check()?;
        let (from, to) = (&count * start, &count * (start + length));
        let never = Extended::PositiveInfinity;
        let segment = |to| {
            let ends = Piece::new(to, never.clone(), never.clone(), Rational::ZERO);
            let unbounded = Extended::NegativeInfinity;
            vec![Piece::new(from.clone(), never.clone(), unbounded, Rational::ZERO), ends]
        };
        let mut function = segment(to);
        if count == *overlap {
            // From here on the multiples overlap: no end.
            function.truncate(1);
        }
        functions.push(function);
        count += Rational::ONE;
    }
    Ok(Curve::canonical(sweep::minimum_of_all(functions), Tail::Affine))
}
