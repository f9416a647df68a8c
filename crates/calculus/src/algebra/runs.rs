//! Convolution of functions on intervals, by their convex parts.
//!
//! A function on an interval is cut into maximal convex runs. The min-plus convolution of two
//! convex runs is a convex run: starts and values add up, and the segments are sorted by slope (Le
//! Boudec and Thiran, theorem 3.1.6). The convolution of the functions is the lower envelope of the
//! convolutions of all pairs of runs. A convex function is a single run, and so is a concave
//! function once it is mirrored and negated, so usual curves have one or two pairs. Only irregular
//! curves have many.

use super::{AlgebraError, limits, sweep};
use crate::curve::{Extended, Piece};
use crate::interrupt;
use crate::rational::Rational;

/// A convex function on an interval. It is either finite on the whole interval, or minus infinity
/// on the whole interval.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    start: Rational,
    /// The value of the function at the start of its interval, or the limit if the interval is open
    /// there. It is never plus infinity.
    value: Extended,
    has_start: bool,
    /// The length and the slope of each segment of the function, by ascending slope. The list is
    /// empty if the interval is a single point.
    segments: Vec<(Rational, Rational)>,
    has_end: bool,
}

impl Run {
    fn open(start: &Rational, value: &Extended) -> Self {
        Self {
            start: start.clone(),
            value: value.clone(),
            has_start: false,
            segments: Vec::new(),
            has_end: false,
        }
    }

    fn point(start: &Rational, value: &Extended) -> Self {
        Self { has_start: true, has_end: true, ..Self::open(start, value) }
    }

    /// Returns the number of bits of the numbers at which the function starts: its first time and
    /// its first value.
    fn bits(&self) -> u64 {
        self.start.bits() + self.value.finite().map_or(0, Rational::bits)
    }

    /// Returns the min-plus convolution of two convex functions, which is convex as well.
    fn convolve(&self, other: &Self) -> Self {
        let mut segments = Vec::with_capacity(self.segments.len() + other.segments.len());
        let (mut a, mut b) = (self.segments.iter().peekable(), other.segments.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.1 <= y.1 => a.next(),
                (_, Some(_)) => b.next(),
                (Some(_), None) => a.next(),
                (None, None) => break,
            };
            segments.extend(next.cloned());
        }
        let value = self.value.min_plus_product(&other.value);
        if !value.is_finite() {
            for segment in &mut segments {
                segment.1 = Rational::ZERO;
            }
        }
        Self {
            start: &self.start + &other.start,
            value,
            has_start: self.has_start && other.has_start,
            segments,
            has_end: self.has_end && other.has_end,
        }
    }

    /// Returns the function `t -> f(-t)`, mirrored at time zero.
    fn mirrored(&self) -> Self {
        let mut end = self.start.clone();
        let mut value = self.value.clone();
        for (length, slope) in &self.segments {
            end += length;
            value = value.shifted(&(length * slope));
        }
        let segments =
            self.segments.iter().rev().map(|(length, slope)| (length.clone(), -slope)).collect();
        Self { start: -end, value, has_start: self.has_end, segments, has_end: self.has_start }
    }

    /// Returns the function as pieces that are plus infinite outside of its interval.
    fn to_pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(self.segments.len() + 1);
        let (mut start, mut value) = (self.start.clone(), self.value.clone());
        let mut attained = self.has_start;
        for (length, slope) in &self.segments {
            let at = if attained { value.clone() } else { Extended::PositiveInfinity };
            let piece = Piece::new(start.clone(), at, value.clone(), slope.clone());
            sweep::push(&mut pieces, piece);
            start += length;
            value = value.shifted(&(length * slope));
            attained = true;
        }
        let attained = if self.segments.is_empty() { self.has_start } else { self.has_end };
        let at = if attained { value } else { Extended::PositiveInfinity };
        pieces.push(Piece::new(start, at, Extended::PositiveInfinity, Rational::ZERO));
        pieces
    }
}

/// Cuts the function that `pieces` describe on `[0, end)` into maximal convex runs. A part at which
/// the function is plus infinite belongs to no run.
pub(crate) fn cut(pieces: &[Piece], end: &Rational) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    // The run under construction, with the limit at its end so far.
    let mut open: Option<(Run, Extended)> = None;
    for (index, piece) in pieces.iter().enumerate() {
        if piece.start >= *end {
            break;
        }
        let finish = match pieces.get(index + 1) {
            Some(next) if next.start < *end => &next.start,
            _ => end,
        };
        // The breakpoint of the piece.
        if let Some((mut run, limit)) = open.take() {
            if limit == piece.at {
                run.has_end = true;
                open = Some((run, limit));
            } else {
                runs.push(run);
            }
        }
        if open.is_none() && piece.at != Extended::PositiveInfinity {
            open = Some((Run::point(&piece.start, &piece.at), piece.at.clone()));
        }
        // The segment after the breakpoint.
        if let Some((run, limit)) = open.take() {
            let convex = run.segments.last().is_none_or(|last| last.1 <= piece.slope);
            if limit == piece.after && convex {
                open = Some((run, limit));
            } else {
                runs.push(run);
            }
        }
        if piece.after != Extended::PositiveInfinity {
            let (mut run, limit) = open
                .take()
                .unwrap_or_else(|| (Run::open(&piece.start, &piece.after), piece.after.clone()));
            let length = finish - &piece.start;
            let reached = limit.shifted(&(&length * &piece.slope));
            run.segments.push((length, piece.slope.clone()));
            run.has_end = false;
            open = Some((run, reached));
        }
    }
    runs.extend(open.map(|(run, _)| run));
    runs
}

/// Mirrors a function, given by its convex runs, at time zero.
pub(crate) fn mirror(runs: &[Run]) -> Vec<Run> {
    runs.iter().rev().map(Run::mirrored).collect()
}

/// Returns the min-plus convolution, on times before `end`, of two functions that are given by
/// their convex runs.
pub(crate) fn convolve(a: &[Run], b: &[Run], end: &Rational) -> Result<Vec<Piece>, AlgebraError> {
    // Arithmetic on long numbers is slower, so each pair counts once for every 256 bits of the
    // longest numbers. The two numbers of a run have 256 bits if each is a pair of machine words.
    let widest = a.iter().chain(b).map(Run::bits).max().unwrap_or(0);
    let weight = usize::try_from(widest / 256).unwrap_or(usize::MAX).max(1);
    limits::check_pairs(a.len().saturating_mul(b.len()).saturating_mul(weight))?;
    // The outer loop is over the shorter list. A function is built for each of its runs, in order
    // of time.
    let (outer, inner) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut functions = Vec::with_capacity(outer.len());
    for run in outer {
        interrupt::check()?;
        let mut parts = Vec::new();
        for other in inner.iter().take_while(|other| &run.start + &other.start < *end) {
            interrupt::step()?;
            parts.push(run.convolve(other).to_pieces());
        }
        let function = sweep::minimum_of_all(parts)?;
        if !function.is_empty() {
            functions.push(function);
        }
    }
    let mut pieces = sweep::minimum_of_all(functions)?;
    pieces.truncate(pieces.partition_point(|piece| piece.start < *end));
    Ok(pieces)
}
