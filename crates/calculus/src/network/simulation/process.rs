//! Cumulative processes: the data that have passed a point up to each time, as piecewise linear
//! functions with jumps that are ultimately constant.

use crate::{Curve, Extended, Rational};

/// The largest number of packets of a flow in a fluid run with packets.
const MAX_PACKETS: i64 = 100;

/// A point of a cumulative process: a time, the values just before and just after it, and the slope
/// up to the next knot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Knot {
    pub(super) t: Rational,
    pub(super) low: Rational,
    pub(super) high: Rational,
    pub(super) slope: Rational,
}

impl Knot {
    /// Returns the value of the process at a time between this knot and the next.
    pub(super) fn at(&self, t: &Rational) -> Rational {
        if self.slope.is_zero() || *t == self.t {
            return self.high.clone();
        }
        &self.high + &(&self.slope * &(t - &self.t))
    }
}

/// A cumulative process: the amount of data that has passed a point up to each time. It is zero up
/// to the first knot, and constant from the last knot on, whose slope is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) knots: Vec<Knot>,
}

impl Process {
    /// Returns the data sent over time by a source that sends all that its arrival curve allows,
    /// from the time `from` on and for the time `lasting`. Returns `None` if the curve is infinite.
    pub(super) fn greedy(curve: &Curve, from: &Rational, lasting: &Rational) -> Option<Self> {
        let mut process = Self::default();
        for piece in curve.pieces_until(lasting).ok()? {
            let (t, after) = (from + piece.start(), piece.right_limit().finite()?);
            let before = process.value_at(&t);
            process.jump(&t, &(after - &before));
            process.go(&t, piece.slope());
        }
        process.go(&(from + lasting), &Rational::ZERO);
        Some(process)
    }

    /// Returns the process in which data pass in whole packets of a size. Each packet passes when
    /// all of its data have passed in this process, and the last packet may be smaller. Returns
    /// `None` if there are more than [`MAX_PACKETS`].
    pub(super) fn packetised(&self, size: &Rational) -> Option<Self> {
        let total = self.total();
        let count = total.checked_div(size)?.floor();
        if count > Rational::from(MAX_PACKETS) {
            return None;
        }
        let mut packets = Self::default();
        let mut passed = Rational::ZERO;
        while passed < total {
            let next = (&passed + size).min(total.clone());
            packets.jump(&self.times_of(&next).0?, &(&next - &passed));
            passed = next;
        }
        Some(packets)
    }

    /// Returns the value of the process at a time that is not before its last knot.
    pub(super) fn value_at(&self, t: &Rational) -> Rational {
        self.knots.last().map_or(Rational::ZERO, |knot| knot.at(t))
    }

    /// Returns the value of the process just before a time.
    pub(super) fn before(&self, t: &Rational) -> Rational {
        match self.knots.iter().rfind(|knot| knot.t <= *t) {
            Some(knot) if knot.t == *t => knot.low.clone(),
            Some(knot) => knot.at(t),
            None => Rational::ZERO,
        }
    }

    /// Returns the last knot of the process, after adding one at the time `t` if the last one is
    /// earlier.
    fn knot(&mut self, t: &Rational) -> &mut Knot {
        let needed = self.knots.last().is_none_or(|last| last.t < *t);
        if needed {
            let low = self.value_at(t);
            let slope = self.knots.last().map_or(Rational::ZERO, |last| last.slope.clone());
            self.knots.push(Knot { t: t.clone(), high: low.clone(), low, slope });
        }
        let last = self.knots.len() - 1;
        &mut self.knots[last]
    }

    /// Adds a jump by `amount` at the time `t`, which must not be before the last knot.
    pub(super) fn jump(&mut self, t: &Rational, amount: &Rational) {
        if !amount.is_zero() {
            self.knot(t).high += amount;
        }
    }

    /// Sets the slope from the time `t` on, which must not be before the last knot.
    pub(super) fn go(&mut self, t: &Rational, slope: &Rational) {
        let now = self.knots.last().map_or(&Rational::ZERO, |last| &last.slope);
        if now != slope {
            self.knot(t).slope = slope.clone();
        }
    }

    /// Returns the total amount of data that passes.
    pub(super) fn total(&self) -> Rational {
        self.knots.last().map_or(Rational::ZERO, |last| last.high.clone())
    }

    /// Returns the sum of two processes, or their difference if `sign` is -1.
    pub(super) fn plus(&self, other: &Self, sign: i64) -> Self {
        let sign = Rational::from(sign);
        let (mut i, mut j) = (0, 0);
        let mut sum = Self::default();
        loop {
            let (a, b) = (self.knots.get(i), other.knots.get(j));
            let t = match (a, b) {
                (None, None) => return sum,
                (Some(a), Some(b)) => (&a.t).min(&b.t).clone(),
                (Some(a), None) => a.t.clone(),
                (None, Some(b)) => b.t.clone(),
            };
            if a.is_some_and(|a| a.t == t) {
                i += 1;
            }
            if b.is_some_and(|b| b.t == t) {
                j += 1;
            }
            let state = |process: &Self, passed: usize| match passed.checked_sub(1) {
                None => (Rational::ZERO, Rational::ZERO, Rational::ZERO),
                Some(index) => {
                    let knot = &process.knots[index];
                    let high = knot.at(&t);
                    let low = if knot.t == t { knot.low.clone() } else { high.clone() };
                    (low, high, knot.slope.clone())
                }
            };
            let (a, b) = (state(self, i), state(other, j));
            let knot = Knot {
                low: a.0 + &sign * &b.0,
                high: a.1 + &sign * &b.1,
                slope: a.2 + &sign * &b.2,
                t,
            };
            // A knot that changes nothing is dropped.
            let visible = knot.low != knot.high
                || sum.knots.last().map_or(&Rational::ZERO, |last| &last.slope) != &knot.slope;
            if visible {
                sum.knots.push(knot);
            }
        }
    }

    /// Returns two times, each `None` if there is none: the first time at which the process reaches
    /// `y`, and the last time up to which it does not exceed `y`.
    fn times_of(&self, y: &Rational) -> (Option<Rational>, Option<Rational>) {
        let mut first = None;
        for (index, knot) in self.knots.iter().enumerate() {
            if first.is_none() && (knot.high >= *y) {
                first = Some(knot.t.clone());
            }
            if knot.high > *y {
                return (first, Some(knot.t.clone()));
            }
            let next = self.knots.get(index + 1);
            if knot.slope.is_positive() && next.is_none_or(|next| next.low >= *y) {
                let t = &knot.t + &((y - &knot.high) / &knot.slope);
                if next.is_none_or(|next| next.low > *y) {
                    return (first.or_else(|| Some(t.clone())), Some(t));
                }
                first = first.or(Some(t));
            }
        }
        (first, None)
    }

    /// Returns the longest delay of data that arrive by the process `self` and leave by the process
    /// `other`.
    pub(super) fn delay_to(&self, other: &Self) -> Rational {
        let levels = self.knots.iter().chain(&other.knots).flat_map(|knot| [&knot.low, &knot.high]);
        let mut most = Rational::ZERO;
        for y in levels {
            let (arrived, left) = (self.times_of(y), other.times_of(y));
            for (arrived, left) in [(arrived.0, left.0), (arrived.1, left.1)] {
                if let (Some(arrived), Some(left)) = (arrived, left) {
                    most = most.max(left - arrived);
                }
            }
        }
        most
    }

    /// Returns the largest backlog of data that arrive by the process `self` and leave by the
    /// process `other`.
    pub(super) fn backlog_to(&self, other: &Self) -> Rational {
        let between = self.plus(other, -1);
        let values = between.knots.iter().flat_map(|knot| [&knot.low, &knot.high]);
        values.max().cloned().unwrap_or(Rational::ZERO).max(Rational::ZERO)
    }

    /// Returns the time at which the first data pass; `None` if no data pass.
    pub(super) fn first(&self) -> Option<&Rational> {
        let moving = |knot: &&Knot| knot.high > knot.low || knot.slope.is_positive();
        self.knots.iter().find(moving).map(|knot| &knot.t)
    }

    pub(super) fn when(&self, y: &Rational) -> Option<Rational> {
        self.times_of(y).0
    }

    /// Whether the process jumps anywhere, or rises more steeply than `rate`.
    pub(super) fn exceeds(&self, rate: &Extended) -> bool {
        let steep = |knot: &Knot| Extended::Finite(knot.slope.clone()) > *rate;
        self.knots.iter().any(|knot| knot.high > knot.low || steep(knot))
    }
}
