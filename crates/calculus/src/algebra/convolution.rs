//! Min-plus and max-plus convolution.
//!
//! The convolution of two ultimately pseudo-periodic curves is computed on one finite interval of
//! time that provably contains a whole period of the result. In the convolution at time `t`, a
//! split divides `t` into the times at which the two curves are evaluated. Its cost is the sum of
//! their values, and the convolution is the least cost of all splits. Let `f` repeat from `T_f` on
//! with period `d_f`, and `g` likewise:
//!
//! * Equal rates: with `d` the common period, the result repeats from `T_f + T_g + d` on, because
//!   for `t` beyond `T_f + T_g + 2 d` one of the two summands lies at least one period after the
//!   start of its repetition (Bouillard and Thierry, "An algorithmic toolbox for network calculus",
//!   2008, proposition 7).
//! * Different rates: the slower curve `f` determines the result. If a split evaluates `f` at a
//!   time before `T_f + d_f`, it costs at least some constant plus `r_g t`. If it evaluates `g` at
//!   a fixed time, it costs at most another constant plus `r_f t`. From the crossing of these two
//!   lines on, the result repeats with the period of `f`, and no common multiple is needed.
//!
//! For sub-additive curves that are zero at zero, long intervals need fewer splits: a split at `s`
//! only counts if `f(s) < g(s)` and `g(t - s) < f(t - s)`, because otherwise one curve alone is at
//! least as good. The convolution is then the minimum of `f`, of `g`, and of the convolution of `f`
//! and `g` restricted to these parts (Zippo and Stea, "Computationally efficient worst-case
//! analysis of flow-controlled networks with network calculus", 2023).

use super::ultimate::{Ultimate, both, repeating, spread};
use super::{AlgebraError, runs, sweep};
use crate::curve::piece::Tail;
use crate::curve::{Curve, Extended, Piece};
use crate::rational::Rational;

const OPERATION: &str = "convolution";

impl Curve {
    /// Returns the min-plus convolution: the infimum over `0 <= s <= t` of
    /// `self(s) + other(t - s)`.
    ///
    /// Plus infinity absorbs every summand, minus infinity included.
    ///
    /// # Errors
    /// Returns [`AlgebraError::TooManyPieces`] and [`AlgebraError::TooManyPairs`] if the result is
    /// too large, [`AlgebraError::NotPseudoPeriodic`] if a curve is infinite in every period and
    /// the result never becomes periodic.
    pub fn convolution(&self, other: &Self) -> Result<Self, AlgebraError> {
        if let Some(result) = closed_form(self, other) {
            return result;
        }
        self.general_convolution(other)
    }

    /// Returns whether the curve is sub-additive: `self(s + t) <= self(s) + self(t)` for all `s`
    /// and `t`.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::convolution`].
    pub fn is_sub_additive(&self) -> Result<bool, AlgebraError> {
        if self.is_concave() && self.pieces[0].at >= Extended::ZERO {
            return Ok(true);
        }
        self.is_at_most(&self.convolution(self)?)
    }

    /// Returns whether the curve is super-additive: `self(s + t) >= self(s) + self(t)` for all `s`
    /// and `t`.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::convolution`].
    pub fn is_super_additive(&self) -> Result<bool, AlgebraError> {
        self.negated().is_sub_additive()
    }

    /// Convolves two curves of any shape on one interval that contains a period of the result.
    fn general_convolution(&self, other: &Self) -> Result<Self, AlgebraError> {
        let (f, g) = both(self, other);
        let (start, length, increment) = match (&f.rate, &g.rate) {
            (Extended::Finite(rate_f), Extended::Finite(rate_g)) => match rate_f.cmp(rate_g) {
                std::cmp::Ordering::Equal => {
                    let length = f.length.common_multiple(&g.length);
                    let increment = rate_f * &length;
                    (&f.start + &g.start + &length, length, increment)
                }
                order => {
                    let own = Side { curve: self, ultimate: &f, rate: rate_f };
                    let others = Side { curve: other, ultimate: &g, rate: rate_g };
                    match order.is_lt() {
                        true => slower_wins(own, others)?,
                        false => slower_wins(others, own)?,
                    }
                }
            },
            (Extended::NegativeInfinity, _) => all_minus_infinity(&f, other),
            (_, Extended::NegativeInfinity) => all_minus_infinity(&g, self),
            // One of the curves is ultimately plus infinite: only its beginning contributes.
            (Extended::PositiveInfinity, _) => {
                (&f.start + &g.start, g.length.clone(), g.increment())
            }
            (_, Extended::PositiveInfinity) => {
                (&f.start + &g.start, f.length.clone(), f.increment())
            }
        };
        let end = &start + &length;
        let pieces = on_window(self, other, &end)?;
        repeating(pieces, &start, length, increment)
    }

    /// Returns the max-plus convolution: the supremum over `0 <= s <= t` of
    /// `self(s) + other(t - s)`.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::convolution`].
    pub fn max_plus_convolution(&self, other: &Self) -> Result<Self, AlgebraError> {
        Ok(self.negated().convolution(&other.negated())?.negated())
    }
}

/// The number of pairs of convex runs of two different curves above which [`on_window`] tests
/// whether both curves are sub-additive and zero at zero, unless the test is expensive. For such
/// curves, it suffices to combine the runs where each curve lies below the other, of which there
/// may be far fewer, and to take the minimum of the result and both curves.
const MANY_PAIRS: usize = 1 << 12;

/// Returns the min-plus convolution of `f` and `g` on the times `[0, end)`.
fn on_window(f: &Curve, g: &Curve, end: &Rational) -> Result<Vec<Piece>, AlgebraError> {
    let (pieces_f, pieces_g) = (f.pieces_until(end)?, g.pieces_until(end)?);
    let mut runs_f = runs::cut(&pieces_f, end);
    let mut runs_g = runs::cut(&pieces_g, end);
    let pairs = runs_f.len().saturating_mul(runs_g.len());
    let mut alone = None;
    // The function `is_sub_additive` convolves a curve with itself, so it must not be called for
    // that convolution again.
    let is_worth_it = pairs > MANY_PAIRS && f != g;
    if is_worth_it && is_cheaply_sub_additive(f, pairs) && is_cheaply_sub_additive(g, pairs) {
        let fewer_f = runs::cut(&sweep::where_below(&pieces_f, &pieces_g)?, end);
        let fewer_g = runs::cut(&sweep::where_below(&pieces_g, &pieces_f)?, end);
        if fewer_f.len().saturating_mul(fewer_g.len()) < pairs / 2 {
            (runs_f, runs_g) = (fewer_f, fewer_g);
            alone = Some(sweep::minimum(&pieces_f, &pieces_g)?);
        }
    }
    let mut pieces = runs::convolve(&runs_f, &runs_g, end)?;
    if let Some(alone) = alone {
        pieces = sweep::minimum(&pieces, &alone)?;
    }
    // A time that no split reaches has the value plus infinity.
    if pieces.first().is_none_or(|first| !first.start.is_zero()) {
        let unreached =
            Piece::continuous(Rational::ZERO, Extended::PositiveInfinity, Rational::ZERO);
        pieces.insert(0, unreached);
    }
    Ok(pieces)
}

/// Returns whether the curve is known to be zero at zero and sub-additive. Returns `false` without
/// a test if the test would be expensive compared with a convolution that combines `pairs` pairs of
/// convex parts.
fn is_cheaply_sub_additive(f: &Curve, pairs: usize) -> bool {
    // Before a curve is convolved with itself, its periods are written out, which about triples
    // its number of pieces.
    let quick = f.pieces.len().saturating_mul(f.pieces.len()).saturating_mul(16) < pairs;
    quick && f.pieces[0].at == Extended::ZERO && f.is_sub_additive() == Ok(true)
}

/// Returns the convolution of `f` and `g` by a closed form, or `None` if their shapes have none.
fn closed_form(f: &Curve, g: &Curve) -> Option<Result<Curve, AlgebraError>> {
    if !(f.is_ultimately_affine() && g.is_ultimately_affine()) {
        return None;
    }
    if f.is_convex() && g.is_convex() {
        return Some(Ok(convex(f, g)));
    }
    if let (Some(at_f), Some(at_g)) = (concave_origin(f), concave_origin(g)) {
        // The convolution of concave curves that are zero at zero is their minimum. Values at zero
        // add up.
        let lower = f.raised(&-&at_f).minimum(&g.raised(&-&at_g));
        return Some(lower.map(|lower| lower.raised(&(at_f + at_g))));
    }
    // The latency of either curve delays the result.
    let (latency_f, latency_g) = (latency(f), latency(g));
    let latency = match (&latency_f, &latency_g) {
        (Some(a), Some(b)) if a.is_positive() || b.is_positive() => a + b,
        _ => return None,
    };
    let rest = |curve: &Curve, by: Option<Rational>| curve.advanced(&by.unwrap_or_default());
    let result = rest(f, latency_f).convolution(&rest(g, latency_g));
    Some(result.map(|result| result.delayed(&latency)))
}

/// Returns the value at time zero of a concave curve, or `None` for other curves.
fn concave_origin(f: &Curve) -> Option<Rational> {
    if f.is_concave() { f.pieces[0].at.finite().cloned() } else { None }
}

/// Returns the time up to which a non-decreasing curve that starts at zero stays at zero: the
/// latency of a service curve. Returns `None` for other curves, for one that is always zero, and
/// for one that is not zero at the end of this time.
fn latency(f: &Curve) -> Option<Rational> {
    if f.pieces[0].at != Extended::ZERO || !f.is_non_decreasing() {
        return None;
    }
    let first = &f.pieces[0];
    if first.after != Extended::ZERO || !first.slope.is_zero() {
        return Some(Rational::ZERO);
    }
    match f.pieces.get(1) {
        // The advanced curve must start at zero as well.
        Some(second) if second.at == Extended::ZERO => Some(second.start.clone()),
        _ => None,
    }
}

/// Returns the convolution of two convex curves: the segments of both in the order of their slopes.
/// It ends with the less steep of the two unbounded last segments, which hides all steeper ones.
fn convex(f: &Curve, g: &Curve) -> Curve {
    let steepest = (&f.last_piece().slope).min(&g.last_piece().slope).clone();
    let segments = |curve: &Curve| {
        curve
            .pieces
            .windows(2)
            .filter_map(|pair| match pair {
                [piece, next] => Some((piece.slope.clone(), &next.start - &piece.start)),
                _ => None,
            })
            .take_while(|(slope, _)| *slope < steepest)
            .collect::<Vec<_>>()
    };
    let mut finite = segments(f);
    finite.append(&mut segments(g));
    finite.sort();
    let mut start = Rational::ZERO;
    let mut value = f.pieces[0].at.min_plus_product(&g.pieces[0].at);
    let mut pieces = Vec::with_capacity(finite.len() + 1);
    for (slope, length) in finite {
        let rise = &slope * &length;
        sweep::push(&mut pieces, Piece::continuous(start.clone(), value.clone(), slope));
        start += &length;
        value = value.shifted(&rise);
    }
    sweep::push(&mut pieces, Piece::continuous(start, value, steepest));
    Curve::canonical(pieces, Tail::Affine)
}

/// Returns the start, the length and the increment of the period of the convolution of two curves,
/// where the first (`f`) is ultimately minus infinite. The convolution is then minus infinite as
/// well, from a time on that follows from the first time at which `g` is not plus infinite.
fn all_minus_infinity(f: &Ultimate, g: &Curve) -> (Rational, Rational, Rational) {
    let allowed = |value: &Extended| *value != Extended::PositiveInfinity;
    let first = g.pieces.iter().find(|piece| allowed(&piece.at) || allowed(&piece.after));
    let offset = first.map_or(Rational::ZERO, |piece| piece.start.clone());
    (&f.start + &offset + Rational::ONE, Rational::ONE, Rational::ZERO)
}

/// One of the two curves of a convolution, with its ultimate behaviour and its ultimate rate.
#[derive(Clone, Copy)]
struct Side<'a> {
    curve: &'a Curve,
    ultimate: &'a Ultimate,
    rate: &'a Rational,
}

/// Returns the start, the length and the increment of the period of the convolution of two curves
/// of different rates. The length is the period of the curve with the lower rate, or one if the
/// convolution is ultimately minus infinite.
fn slower_wins(
    slower: Side<'_>,
    faster: Side<'_>,
) -> Result<(Rational, Rational, Rational), AlgebraError> {
    let Side { curve: f, ultimate: of_f, rate: rate_f } = slower;
    let Side { curve: g, ultimate: of_g, rate: rate_g } = faster;
    let refuse = |why| AlgebraError::NotPseudoPeriodic { operation: OPERATION, why };
    // A lower bound on the cost of splits that evaluate `f` at a time before the end of its first
    // period.
    let early = spread(f, rate_g, &Rational::ZERO, &of_f.end())?;
    let above = spread(g, rate_g, &Rational::ZERO, &of_g.end())?;
    if early.has_minus_infinity || above.has_minus_infinity {
        let of_both = [(f, of_f, g, of_g, rate_g), (g, of_g, f, of_f, rate_f)];
        for (bottomless, of, other, of_other, rate) in of_both {
            let tail = spread(other, rate, &of_other.start, &of_other.end())?;
            if let (Some(at), false) = (first_bottom(bottomless, of)?, tail.has_plus_infinity) {
                // A split that evaluates this curve at `at`, and the other one anywhere in its
                // periodic part, costs minus infinity.
                let start = &at + &of_other.start + Rational::ONE;
                return Ok((start, Rational::ONE, Rational::ZERO));
            }
        }
        return Err(refuse("one curve is minus infinite where the other is plus infinite"));
    }
    let period = |start| Ok((start, of_f.length.clone(), of_f.increment()));
    let (Some(early), Some(above)) = (early.least, above.least) else {
        // One of the curves is plus infinity everywhere, and so is the result.
        return period(Rational::ZERO);
    };
    // An upper bound on the cost of the other splits. The bound is that of a split that evaluates
    // `f` in its periodic part, and `g` at the time at which `g` is lowest compared with a line of
    // the rate of `f`.
    let tail = spread(f, rate_f, &of_f.start, &of_f.end())?;
    let (from, bound) = match (tail.greatest, tail.has_plus_infinity) {
        (Some(greatest), false) => {
            let end = of_g.end();
            let pieces = g.pieces_until(&end)?;
            let cheapest = sweep::extremes(&pieces, &Rational::ZERO, &end)
                .filter_map(|(t, value)| Some((value.into_finite()? - rate_f * &t, t)))
                .min();
            let (cost, at) = cheapest.unwrap_or_default();
            (&of_f.end() + &at, greatest + cost)
        }
        _ => bound_with_gaps(slower, faster)?
            .ok_or_else(|| refuse("the slower curve is plus infinity again and again"))?,
    };
    let crossing = (bound - early - above) / (rate_g - rate_f);
    period(from.max(crossing))
}

/// Returns the start of the first piece on which the curve `f` is minus infinite, at the breakpoint
/// or on the segment after it. Returns `None` if `f` is nowhere minus infinite.
fn first_bottom(f: &Curve, of: &Ultimate) -> Result<Option<Rational>, AlgebraError> {
    let bottom = Extended::NegativeInfinity;
    let pieces = f.pieces_until(&of.end())?;
    let first = pieces.into_iter().find(|piece| piece.at == bottom || piece.after == bottom);
    Ok(first.map(|piece| piece.start))
}

/// Returns an upper bound on the convolution of two curves of different rates, the slower of which
/// is plus infinite on parts of its period. The bound is a time and a constant: from that time on,
/// the convolution is at most the constant plus the slower curve's rate times `t`. Returns `None`
/// if no such bound is found, for example because the convolution is also infinite on parts of each
/// period.
fn bound_with_gaps(
    slower: Side<'_>,
    faster: Side<'_>,
) -> Result<Option<(Rational, Rational)>, AlgebraError> {
    let Side { curve: f, ultimate: of_f, rate: rate_f } = slower;
    let Side { curve: g, ultimate: of_g, .. } = faster;
    // The convolution of one period of `f` with the beginning of `g` must be finite on a whole
    // period.
    let one_period = {
        let mut pieces = f.pieces_until(&of_f.end())?;
        let first = crate::curve::piece::split_at(&mut pieces, &of_f.start);
        pieces.split_off(first)
    };
    for reach in [of_f.length.clone(), of_g.end() + &of_f.length] {
        let from = &of_f.start + &reach;
        let to = &from + &of_f.length;
        let width = &reach + &of_f.length;
        let runs_f = runs::cut(&one_period, &of_f.end());
        let runs_g = runs::cut(&g.pieces_until(&width)?, &width);
        let window = runs::convolve(&runs_f, &runs_g, &to)?;
        if window.first().is_none_or(|first| first.start > from) {
            continue;
        }
        let mut greatest: Option<Rational> = None;
        let mut is_filled = true;
        for (t, value) in sweep::extremes(&window, &from, &to) {
            match value.into_finite() {
                Some(value) => {
                    let excess = value - rate_f * &t;
                    if greatest.as_ref().is_none_or(|greatest| excess > *greatest) {
                        greatest = Some(excess);
                    }
                }
                None => is_filled = false,
            }
        }
        if let (Some(greatest), true) = (greatest, is_filled) {
            return Ok(Some((from, greatest)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaving out splits for sub-additive curves does not change the convolution.
    #[test]
    fn sub_additive_curves_need_fewer_splits() {
        let curves = [
            Curve::staircase(13, 13).expect("a curve"),
            Curve::staircase(14, 14).expect("a curve"),
            Curve::staircase(9, 8).expect("a curve"),
            Curve::flow_control(5, 2, 7).expect("a curve"),
            Curve::flow_control(20, 3, 19).expect("a curve"),
        ];
        let end = Rational::from(1200);
        for f in &curves {
            for g in curves.iter().filter(|g| *g != f) {
                let (all_f, all_g) = (f.pieces_until(&end), g.pieces_until(&end));
                let runs_f = runs::cut(&all_f.expect("few pieces"), &end);
                let runs_g = runs::cut(&all_g.expect("few pieces"), &end);
                let pairs = runs_f.len() * runs_g.len();
                assert!(pairs > MANY_PAIRS && is_cheaply_sub_additive(f, pairs), "{f}");
                let plain = runs::convolve(&runs_f, &runs_g, &end).expect("few pairs");
                let fewer = on_window(f, g, &end).expect("few pairs");
                assert_eq!(fewer, plain, "{f} and {g}");
            }
        }
    }
}
