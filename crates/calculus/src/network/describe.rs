//! Numbers and curves in the words of the field.

use super::pmoo::{RateLatency, rate_latencies, token_buckets};
use crate::{Curve, Extended, Rational};

/// Digits behind the point up to which a decimal fraction is written out.
const DIGITS: usize = 9;

/// A number as people read it: exact where few digits are enough, else rounded, with a mark.
#[must_use]
pub fn number(value: &Rational) -> String {
    let mut scaled = value.clone();
    for digits in 0..=DIGITS {
        if scaled.is_integer() {
            return place_point(&scaled.to_string(), digits);
        }
        scaled = scaled * Rational::from(10);
    }
    let rounded = value.to_f64();
    let magnitude = rounded.abs();
    if (1e-4..1e9).contains(&magnitude) {
        let before = magnitude.log10().floor().max(0.0) as usize;
        format!("~{rounded:.*}", DIGITS.saturating_sub(before))
    } else {
        format!("~{rounded:.6e}")
    }
}

/// The same, or "unbounded".
#[must_use]
pub fn extended(value: &Extended) -> String {
    match value {
        Extended::Finite(value) => number(value),
        Extended::PositiveInfinity => "unbounded".to_owned(),
        Extended::NegativeInfinity => "-unbounded".to_owned(),
    }
}

fn place_point(digits: &str, behind: usize) -> String {
    if behind == 0 {
        return digits.to_owned();
    }
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let padded = format!("{digits:0>width$}", width = behind + 1);
    let (before, after) = padded.split_at(padded.len() - behind);
    format!("{sign}{before}.{after}")
}

/// A curve: token buckets `TB(burst, rate)` and rate-latency curves `RL(rate, latency)` by name,
/// others piece by piece.
#[must_use]
pub fn curve(curve: &Curve) -> String {
    if *curve == Curve::zero() {
        return "zero".to_owned();
    }
    if super::affine::is_unbounded(curve) {
        return "unbounded".to_owned();
    }
    if let Some((rate, latency)) = super::simple::rate_latency(curve)
        && latency.is_zero()
    {
        return format!("rate({})", number(rate));
    }
    let buckets = token_buckets(curve);
    let pairs = buckets.iter().map(|bucket| (bucket.burst.clone(), bucket.rate.clone()));
    if !buckets.is_empty() && Curve::token_buckets(pairs).as_ref() == Ok(curve) {
        let names = buckets
            .iter()
            .map(|bucket| format!("TB({}, {})", number(&bucket.burst), number(&bucket.rate)));
        return combined("min", names.collect());
    }
    let services = rate_latencies(curve);
    if !services.is_empty() && super::operations::maximum_of(&services).as_ref() == Ok(curve) {
        return combined("max", services.iter().map(rate_latency).collect());
    }
    curve.to_string()
}

/// Corners of a curve up to a time, for drawing; a jump is two points above each other. An infinite
/// part ends it.
#[must_use]
pub fn corners(curve: &Curve, until: &Rational) -> Vec<(f64, f64)> {
    let Ok(pieces) = curve.pieces_until(until) else { return Vec::new() };
    let mut corners = Vec::with_capacity(2 * pieces.len() + 1);
    for (index, piece) in pieces.iter().enumerate() {
        let start = piece.start().to_f64();
        if let Extended::Finite(value) = piece.value() {
            corners.push((start, value.to_f64()));
        }
        let Extended::Finite(after) = piece.right_limit() else { break };
        corners.push((start, after.to_f64()));
        let end = pieces.get(index + 1).map_or(until, crate::Piece::start);
        let height = after + &(piece.slope() * &(end - piece.start()));
        corners.push((end.to_f64(), height.to_f64()));
    }
    corners.dedup();
    corners
}

fn rate_latency(service: &RateLatency) -> String {
    match &service.rate {
        Extended::Finite(rate) => format!("RL({}, {})", number(rate), number(&service.latency)),
        _ => format!("delay({})", number(&service.latency)),
    }
}

fn combined(word: &str, names: Vec<String>) -> String {
    match names.as_slice() {
        [one] => one.clone(),
        several => format!("{word}({})", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_marked() {
        for (value, expected) in [
            ("0", "0"),
            ("25/2", "12.5"),
            ("-1/8", "-0.125"),
            ("1/100000", "0.00001"),
            ("1000000", "1000000"),
            ("1/3", "~0.333333333"),
            ("1000000000/7", "~142857142.9"),
            ("1/700000", "~1.428571e-6"),
            ("10000000000000/3", "~3.333333e12"),
        ] {
            assert_eq!(number(&value.parse().expect("a number")), expected);
        }
        assert_eq!(extended(&Extended::PositiveInfinity), "unbounded");
    }

    #[test]
    fn curves_have_names() {
        let two = Curve::token_buckets([(1, 100), (25, 5)]).expect("a curve");
        assert_eq!(curve(&two), "min(TB(1, 100), TB(25, 5))");
        assert_eq!(curve(&Curve::rate_latency(10, 10).expect("a curve")), "RL(10, 10)");
        assert_eq!(curve(&Curve::burst_delay(3).expect("a curve")), "delay(3)");
        assert_eq!(curve(&Curve::rate_latency(10, 0).expect("a curve")), "rate(10)");
        assert_eq!(curve(&Curve::zero()), "zero");
        assert!(curve(&Curve::staircase(3, 2).expect("a curve")).contains("every 2 plus 3"));
    }
}
