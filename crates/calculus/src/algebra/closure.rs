//! Sub-additive and super-additive closure of curves.
//!
//! The sub-additive closure of `f` is the infimum of the `n`-fold convolutions of `f` with itself,
//! over all `n >= 0`. (The 0-fold convolution is zero at time zero and plus infinity after it.) It
//! is computed by squaring: the curve is convolved with itself, then the result with itself, and so
//! on, until the result no longer changes. A curve that equals its square is sub-additive, so the
//! result is exact.
//!
//! Squaring alone may never end. The long-term rate of the closure is the least value of
//! `f(t) / t`. If `f` attains this ratio at a finite time `t*`, the closure depends on all
//! multiples of the point at `t*`, and a finite number of convolutions does not reach all of them.
//! The closure of this point alone (or of a segment that begins or ends there) has a closed form,
//! see [`seed`]. Therefore `f` is first convolved with this seed, and squaring the result ends: if
//! the times of the breakpoints are on a grid, some of any sufficiently many summands have times
//! that add up to a multiple of `t*`, where the seed is at most as large as their sum.
//!
//! Bouillard and Thierry ("An algorithmic toolbox for network calculus", 2008, section 4.6) combine
//! the closures of all points and segments instead.

use super::ultimate::{both, of_curve, repeating};
use super::{AlgebraError, sweep};
use crate::curve::piece::Tail;
use crate::curve::{Curve, Extended, Piece};
use crate::interrupt;
use crate::rational::Rational;

/// The largest number of squarings in a closure. Each squaring doubles the number of summands. A
/// curve that needs more squarings has breakpoints on too fine a grid, and its closure is an error.
const MAX_SQUARINGS: usize = 40;

impl Curve {
    /// Returns the sub-additive closure of this curve: the greatest curve at most `self` that is
    /// sub-additive and zero at time zero. If `self` is negative at time zero, the closure is minus
    /// infinity there.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::convolution`], and [`AlgebraError::NotPseudoPeriodic`] if
    /// repeated convolutions of the curve with itself do not become stationary.
    pub fn sub_additive_closure(&self) -> Result<Self, AlgebraError> {
        let f = self.minimum_with_origin();
        if f.pieces[0].at < Extended::ZERO {
            return self.closure_of_negative_origin();
        }
        if f.pieces[0].after < Extended::ZERO {
            // Any positive time is the sum of many short times, whose values add up to an
            // arbitrarily low value.
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
        for _ in 0..MAX_SQUARINGS {
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

    /// Returns the super-additive closure of this curve: the smallest curve at least `self` that is
    /// super-additive and zero at time zero.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::sub_additive_closure`].
    pub fn super_additive_closure(&self) -> Result<Self, AlgebraError> {
        Ok(self.negated().sub_additive_closure()?.negated())
    }

    /// Returns the curve with a positive value at time zero lowered to zero. A negative value there
    /// is kept.
    fn minimum_with_origin(&self) -> Self {
        if self.pieces[0].at > Extended::ZERO { self.with_origin(0) } else { self.clone() }
    }

    /// Returns the sub-additive closure of a curve that is negative at time zero. It is minus
    /// infinity at every time that is a sum of times with finite values, because the negative value
    /// can be added any number of times.
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

/// The point or open segment at which a curve attains or approaches its least ratio of value to
/// time.
enum Cheapest {
    Point {
        time: Rational,
        value: Rational,
    },
    /// The ratio is least at the start of the open segment between the times `from` and `to`, where
    /// the curve has the limit `value`.
    SegmentStart {
        from: Rational,
        to: Rational,
        value: Rational,
        slope: Rational,
    },
    /// The ratio is least at the end of the open segment between the times `from` and `to`, where
    /// the curve has the limit `value`.
    SegmentEnd {
        from: Rational,
        to: Rational,
        value: Rational,
        slope: Rational,
    },
    /// The ratio is least at every time of the first segment, which starts at value zero. The
    /// closure of that segment is the line `slope` times t.
    Line {
        slope: Rational,
    },
    /// The curve is minus infinity at `time` (`is_point`), or on the open segment from `time` to
    /// `to`.
    Unbounded {
        time: Rational,
        is_point: bool,
        to: Rational,
    },
}

/// Returns the point or segment at which the curve `f` attains or approaches its least ratio of
/// value to time. Returns `None` if the ratio is only approached as the time goes to infinity, or
/// if the curve is plus infinity at all times after zero.
fn least_ratio(f: &Curve) -> Result<Option<Cheapest>, AlgebraError> {
    let of = of_curve(f, both(f, f).0.length);
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

/// Returns the sub-additive closure of the function that equals a curve at `place` (a point or an
/// open segment) and is plus infinity elsewhere.
fn seed(place: &Cheapest) -> Result<Curve, AlgebraError> {
    let impossible = Extended::PositiveInfinity;
    match place {
        Cheapest::Line { slope } => Ok(Curve::line(Rational::ZERO, slope.clone())),
        Cheapest::Point { time, value } => {
            let origin = Piece::new(Rational::ZERO, Extended::ZERO, impossible, Rational::ZERO);
            repeating(vec![origin], &Rational::ZERO, time.clone(), value.clone())
        }
        // The `n`-fold convolution of the segment with itself is `n` times as long, and starts at
        // `n` times the time and the value. Once these multiples overlap, the least one at a time
        // `t` is the last that starts before `t`.
        Cheapest::SegmentStart { from, to, value, slope } => {
            let length = to - from;
            let overlap = (from / &length).floor() + Rational::ONE;
            let segment = OpenSegment { start: from, length: &length, value, slope };
            multiples(&segment, &overlap, from, value)
        }
        // As for `SegmentStart`, but the least multiple at `t` is the first that ends after `t`.
        Cheapest::SegmentEnd { from, to, value, slope } => {
            let length = to - from;
            let overlap = (from / &length).floor() + Rational::ONE;
            let first = value - &(slope * &length);
            let segment = OpenSegment { start: from, length: &length, value: &first, slope };
            multiples(&segment, &overlap, to, value)
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

/// An open segment of a curve: the times strictly between two times, with the line on them.
struct OpenSegment<'a> {
    start: &'a Rational,
    length: &'a Rational,
    /// The limit of the function at the start of the segment.
    value: &'a Rational,
    slope: &'a Rational,
}

/// Returns the lower envelope of the point (0, 0) and all multiples of an open segment. The `n`-th
/// multiple is `n` times as long and starts at `n` times the time and value. From the `overlap`-th
/// multiple on, each overlaps the next. The envelope repeats with period `period`, in which it
/// rises by `increment`. It is computed up to the end of its first period.
fn multiples(
    segment: &OpenSegment<'_>,
    overlap: &Rational,
    period: &Rational,
    increment: &Rational,
) -> Result<Curve, AlgebraError> {
    let OpenSegment { start, length, value, slope } = *segment;
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
    let pieces = sweep::minimum_of_all(functions)?;
    let repeats_from = &end - period;
    repeating(pieces, &repeats_from, period.clone(), increment.clone())
}

/// Returns the lower envelope of the point (0, 0) and all multiples of an open segment on which the
/// function is minus infinity. The `n`-th multiple is `n` times as long and starts at `n` times the
/// time. From the `overlap`-th multiple on, each overlaps the next.
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
            // From this multiple on the multiples overlap, so the segment does not end.
            function.truncate(1);
        }
        functions.push(function);
        count += Rational::ONE;
    }
    Ok(Curve::canonical(sweep::minimum_of_all(functions)?, Tail::Affine))
}
