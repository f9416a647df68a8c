//! Random curves with a second, naive implementation: a list of pieces and a period, evaluation by
//! search, and operations computed directly from their definitions.

use calculus::{Curve, Extended, Period, Piece, Rational};
use proptest::prelude::*;

/// A curve as generated, evaluated without the library.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    /// The start, value, right limit and slope of each piece, on `[0, start + length)`.
    pub(crate) pieces: Vec<(Rational, Extended, Extended, Rational)>,
    pub(crate) start: Rational,
    pub(crate) length: Rational,
    pub(crate) increment: Rational,
}

pub(crate) fn number(value: i64) -> Rational {
    Rational::from(value)
}

pub(crate) fn half(value: i64) -> Rational {
    Rational::ratio(value, 2)
}

fn plus(value: &Extended, by: &Rational) -> Extended {
    value.shifted(by)
}

impl Model {
    pub(crate) fn curve(&self) -> Curve {
        let pieces = self
            .pieces
            .iter()
            .map(|(start, at, after, slope)| {
                Piece::new(start.clone(), at.clone(), after.clone(), slope.clone())
            })
            .collect();
        let period = Period {
            start: self.start.clone(),
            length: self.length.clone(),
            increment: self.increment.clone(),
        };
        Curve::pseudo_periodic(pieces, period).expect("a generated curve")
    }

    /// Returns the equivalent time within the description, and the rise of the periods that were
    /// subtracted.
    fn reduced(&self, t: &Rational) -> (Rational, Rational) {
        let periods = ((t - &self.start) / &self.length).floor().max(Rational::ZERO);
        (t - &(&periods * &self.length), periods * &self.increment)
    }

    pub(crate) fn value(&self, t: &Rational) -> Extended {
        let (t, rise) = self.reduced(t);
        let (start, at, after, slope) =
            self.pieces.iter().rfind(|piece| piece.0 <= t).expect("pieces start at zero");
        if *start == t { plus(at, &rise) } else { plus(after, &(rise + slope * &(&t - start))) }
    }

    pub(crate) fn right(&self, t: &Rational) -> Extended {
        let (t, rise) = self.reduced(t);
        let (start, _, after, slope) =
            self.pieces.iter().rfind(|piece| piece.0 <= t).expect("pieces start at zero");
        plus(after, &(rise + slope * &(&t - start)))
    }

    /// Returns the left limit at `t > 0`.
    pub(crate) fn left(&self, t: &Rational) -> Extended {
        // For a left limit, the end of the period belongs to it.
        let periods = ((t - &self.start) / &self.length).ceil() - Rational::ONE;
        let periods = periods.max(Rational::ZERO);
        let (t, rise) = (t - &(&periods * &self.length), periods * &self.increment);
        let (start, _, after, slope) =
            self.pieces.iter().rfind(|piece| piece.0 < t).expect("pieces start at zero");
        plus(after, &(rise + slope * &(&t - start)))
    }

    /// Returns all breakpoints up to `end`.
    pub(crate) fn breakpoints(&self, end: &Rational) -> Vec<Rational> {
        let mut result: Vec<Rational> =
            self.pieces.iter().map(|piece| piece.0.clone()).filter(|t| t <= end).collect();
        let mut by = self.length.clone();
        loop {
            let mut added = false;
            let starts = self.pieces.iter().map(|piece| &piece.0).chain([&self.start]);
            for start in starts.filter(|start| **start >= self.start) {
                let t = start + &by;
                if t <= *end {
                    result.push(t);
                    added = true;
                }
            }
            if !added {
                return result;
            }
            by += &self.length;
        }
    }
}

/// Returns the sum, where plus infinity absorbs.
pub(crate) fn sum(a: &Extended, b: &Extended) -> Extended {
    match (a, b) {
        (Extended::PositiveInfinity, _) | (_, Extended::PositiveInfinity) => {
            Extended::PositiveInfinity
        }
        (a, b) => a.checked_add(b).expect("no opposite infinities left"),
    }
}

/// Returns the infimum over `s` of `f(s) + g(t - s)`. Between breakpoints the sum is affine in `s`,
/// so values and one-sided limits at the breakpoints of both suffice.
pub(crate) fn convolution_at(f: &Model, g: &Model, t: &Rational) -> Extended {
    let mut splits = f.breakpoints(t);
    splits.extend(g.breakpoints(t).iter().map(|v| t - v));
    splits.extend([Rational::ZERO, t.clone()]);
    let mut least = Extended::PositiveInfinity;
    for s in splits {
        let rest = t - &s;
        least = least.min(sum(&f.value(&s), &g.value(&rest)));
        if rest.is_positive() {
            least = least.min(sum(&f.right(&s), &g.left(&rest)));
        }
        if s.is_positive() {
            least = least.min(sum(&f.left(&s), &g.right(&rest)));
        }
    }
    least
}

/// Returns the supremum over `u` in `[0, reach]` of `f(t + u) - g(u)`.
pub(crate) fn deconvolution_at(f: &Model, g: &Model, t: &Rational, reach: &Rational) -> Extended {
    let end = t + reach;
    let mut shifts = g.breakpoints(reach);
    shifts.extend(f.breakpoints(&end).iter().filter(|x| *x >= t).map(|x| x - t));
    shifts.push(Rational::ZERO);
    let gap = |a: Extended, b: Extended| -sum(&-a, &b);
    let mut most = Extended::NegativeInfinity;
    for u in shifts {
        let at = t + &u;
        most = most.max(gap(f.value(&at), g.value(&u)));
        most = most.max(gap(f.right(&at), g.right(&u)));
        if u.is_positive() {
            most = most.max(gap(f.left(&at), g.left(&u)));
        }
    }
    most
}

/// Returns the times at which curves are compared: a fine grid, and times just after it.
pub(crate) fn samples(end: i64) -> Vec<Rational> {
    let near = Rational::ratio(1, 997);
    (0..=3 * end).map(|k| Rational::ratio(k, 3)).flat_map(|t| [t.clone(), t + &near]).collect()
}

fn finite() -> impl Strategy<Value = Extended> {
    (-3_i64..9).prop_map(|value| Extended::Finite(half(value)))
}

fn any_value() -> impl Strategy<Value = Extended> {
    prop_oneof![
        16 => finite(),
        2 => Just(Extended::PositiveInfinity),
        1 => Just(Extended::NegativeInfinity)
    ]
}

type Drawn = (i64, Extended, Extended, i64);

fn drawn(value: BoxedStrategy<Extended>) -> impl Strategy<Value = Drawn> {
    (1_i64..4, value.clone(), value, -2_i64..5)
}

fn assemble(drawn: Vec<Drawn>, first: usize, increment: i64) -> Model {
    let first = first % drawn.len();
    let mut t = Rational::ZERO;
    let (mut pieces, mut start) = (Vec::new(), Rational::ZERO);
    for (index, (width, at, after, slope)) in drawn.into_iter().enumerate() {
        if index == first {
            start = t.clone();
        }
        pieces.push((t.clone(), at, after, half(slope)));
        t += half(width);
    }
    Model { pieces, length: t - &start, start, increment: half(increment) }
}

/// Generates any curve: with jumps, falls and negative values.
pub(crate) fn any_model() -> impl Strategy<Value = Model> {
    (prop::collection::vec(drawn(finite().boxed()), 1..5), 0_usize..5, -3_i64..7)
        .prop_map(|(drawn, first, increment)| assemble(drawn, first, increment))
}

/// Generates curves that may be infinite at some times before their period.
pub(crate) fn any_infinite_model() -> impl Strategy<Value = Model> {
    (any_model(), prop::collection::vec(any_value(), 8)).prop_map(|(mut model, values)| {
        let start = model.start.clone();
        for (piece, pair) in model.pieces.iter_mut().zip(values.chunks(2)) {
            if piece.0 < start && !pair[0].is_finite() {
                piece.1 = pair[0].clone();
            }
            if piece.0 < start && !pair[1].is_finite() {
                piece.2 = pair[1].clone();
            }
        }
        model
    })
}

/// Generates non-decreasing and non-negative curves that are zero at zero.
pub(crate) fn rising_model() -> impl Strategy<Value = Model> {
    let part = (1_i64..4, 0_i64..3, 0_i64..3, 0_i64..4);
    (prop::collection::vec(part, 1..5), 0_usize..5, 0_i64..3).prop_map(|(parts, first, jump)| {
        let first = first % parts.len();
        let (mut t, mut level) = (Rational::ZERO, Rational::ZERO);
        let (mut pieces, mut start, mut base) = (Vec::new(), Rational::ZERO, Rational::ZERO);
        for (index, (width, before, after, slope)) in parts.into_iter().enumerate() {
            if index > 0 {
                level += half(before);
            }
            if index == first {
                (start, base) = (t.clone(), level.clone());
            }
            let at = Extended::Finite(level.clone());
            level += half(after);
            pieces.push((t.clone(), at, Extended::Finite(level.clone()), half(slope)));
            let width = half(width);
            level += &width * &half(slope);
            t += width;
        }
        let increment = level + half(jump) - base;
        Model { pieces, length: t - &start, start, increment }
    })
}
