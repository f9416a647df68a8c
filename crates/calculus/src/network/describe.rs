//! Formats numbers and curves as text for people.

use super::pmoo::{RateLatency, rate_latencies, token_buckets};
use crate::{Curve, Extended, Rational};

/// The largest number of digits after the decimal point with which a number is written exactly.
const DIGITS: usize = 9;

/// Formats a number for people. It is exact if few digits suffice, and otherwise rounded to nearest
/// and marked with `~`.
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

/// The direction in which a number that is not written exactly is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Numbers are rounded up, as upper bounds must be.
    Up,
    /// Numbers are rounded down, as lower bounds must be, such as the values of runs.
    Down,
}

/// Formats a number with `digits` significant digits: exactly if these suffice, and otherwise
/// rounded in the given direction. The computation is exact, because rounding errors of doubles
/// could make the text of an upper bound smaller than the bound.
#[must_use]
pub fn rounded(value: &Rational, digits: u32, round: Round) -> String {
    let digits = i64::from(digits.max(1));
    if value.is_zero() {
        return "0".to_owned();
    }
    let mut magnitude = magnitude(value);
    let scaled = value * &power_of_ten(digits - 1 - magnitude);
    let mut whole = match round {
        Round::Up => scaled.ceil(),
        Round::Down => scaled.floor(),
    };
    let exact = whole == scaled;
    // The rounded number has one digit more, as when 9.9999999 is rounded to 10.
    if whole.abs() >= power_of_ten(digits) {
        magnitude += 1;
        whole = whole / Rational::from(10);
    }
    let behind = digits - 1 - magnitude;
    let text = if (-5..9).contains(&magnitude) {
        match usize::try_from(behind) {
            Ok(behind) => place_point(&whole.to_string(), behind),
            Err(_) => (whole * power_of_ten(-behind)).to_string(),
        }
    } else {
        let mantissa = place_point(&whole.to_string(), usize::try_from(digits - 1).unwrap_or(0));
        let mantissa = if exact { without_zeros(&mantissa) } else { &mantissa };
        return format!("{mantissa}e{magnitude}");
    };
    if exact { without_zeros(&text).to_owned() } else { text }
}

/// Returns the decimal exponent of a number: 0 for magnitudes from 1 to below 10, 1 from 10 on, and
/// so forth.
fn magnitude(value: &Rational) -> i64 {
    let value = value.abs();
    let text = value.to_string();
    let (numerator, denominator) = text.split_once('/').unwrap_or((&text, "1"));
    // The estimate from the numbers of digits is exact or one too large.
    let estimate = numerator.len() as i64 - denominator.len() as i64;
    if value < power_of_ten(estimate) { estimate - 1 } else { estimate }
}

fn power_of_ten(exponent: i64) -> Rational {
    let (mut power, mut square) = (Rational::ONE, Rational::from(10));
    let mut left = exponent.unsigned_abs();
    while left > 0 {
        if left % 2 == 1 {
            power = power * &square;
        }
        square = &square * &square;
        left /= 2;
    }
    if exponent < 0 { power.reciprocal().unwrap_or(Rational::ZERO) } else { power }
}

/// Returns the text of a decimal fraction without the zeros at its end.
fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// Formats an upper bound for people, rounded up if it has many digits, so that the text is never
/// below the bound.
#[must_use]
pub fn bound(value: &Extended) -> String {
    match value {
        Extended::Finite(value) => {
            let text = number(value);
            match text.starts_with('~') {
                true => format!("~{}", rounded(value, DIGITS as u32, Round::Up)),
                false => text,
            }
        }
        infinite => extended(infinite),
    }
}

/// Formats a value for people, rounded to nearest if it has many digits. Plus infinity is
/// "unbounded".
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

/// Formats a curve for people: a token bucket as `TB(burst, rate)`, a rate-latency curve as
/// `RL(rate, latency)`, and other curves piece by piece.
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

/// Returns the corners of a curve's graph from time zero to `until`, for drawing. A jump is two
/// points at the same time. The list ends where the curve becomes infinite.
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
    fn no_rounded_number_says_more_than_is_true() {
        for (value, up, down) in [
            // A computation in doubles printed this as 0.0001227601.
            ("0.00012276", "0.00012276", "0.00012276"),
            ("1/3", "0.3333334", "0.3333333"),
            ("-1/3", "-0.3333333", "-0.3333334"),
            ("99999999/10", "10000000", "9999999"),
            ("9999999.9", "10000000", "9999999"),
            ("123456789", "123456800", "123456700"),
            ("1/700000", "1.428572e-6", "1.428571e-6"),
            ("0.0000012276", "1.2276e-6", "1.2276e-6"),
            ("10000000000000/3", "3.333334e12", "3.333333e12"),
            ("2e15", "2e15", "2e15"),
            ("0", "0", "0"),
            ("10", "10", "10"),
        ] {
            let value: Rational = value.parse().expect("a number");
            assert_eq!(rounded(&value, 7, Round::Up), up, "{value}");
            assert_eq!(rounded(&value, 7, Round::Down), down, "{value}");
        }
        // For any number, the text is on the correct side of the number and close to it.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..2_000 {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                i64::try_from(state >> 20).unwrap_or(1).max(1)
            };
            let exponent = next() % 40 - 20;
            let value = Rational::ratio(next(), next()) * power_of_ten(exponent);
            let read = |round| -> Rational {
                rounded(&value, 7, round).parse().expect("a number is written")
            };
            let (up, down) = (read(Round::Up), read(Round::Down));
            assert!(down <= value && value <= up, "{down} {value} {up}");
            assert!((up - down) * power_of_ten(6) <= value, "{value}");
            let shown = bound(&Extended::Finite(value.clone()));
            let shown: Rational = shown.trim_start_matches('~').parse().expect("a number");
            assert!(shown >= value, "{shown} is below {value}");
        }
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
