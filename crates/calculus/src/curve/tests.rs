//! Tests of curves: their values and limits, their canonical form, the standard shapes, and the
//! errors for invalid parameters.

use super::{Curve, CurveError, Extended, Period, Piece};
use crate::rational::Rational;

fn number(text: &str) -> Rational {
    text.parse().expect("a number")
}

fn value(curve: &Curve, t: &str) -> String {
    curve.value_at(&number(t)).to_string()
}

#[test]
fn a_staircase_is_left_continuous() {
    let stair = Curve::staircase(7, 3).expect("a staircase");
    assert_eq!(value(&stair, "0"), "0");
    assert_eq!(stair.right_limit_at(&Rational::ZERO), Extended::from(7));
    assert_eq!(value(&stair, "3"), "7");
    assert_eq!(stair.right_limit_at(&number("3")), Extended::from(14));
    assert_eq!(value(&stair, "330"), "770");
    assert_eq!(stair.left_limit_at(&number("330")), Extended::from(770));
    assert_eq!(stair.left_limit_at(&number("330.5")), Extended::from(777));
}

#[test]
fn one_function_has_one_form() {
    // 0 at 0, then 2, 4, 6, ..., described with a late start of the period and two periods as one.
    let pieces = ["0", "3", "6", "9", "12"]
        .iter()
        .zip(0_i64..)
        .map(|(start, k)| Piece::new(number(start), 2 * k, 2 * k + 2, 0))
        .collect();
    let period = Period { start: number("9"), length: number("6"), increment: number("4") };
    let curve = Curve::pseudo_periodic(pieces, period).expect("a curve");
    assert_eq!(curve, Curve::staircase(2, 3).expect("a staircase"));

    // The same function with the start of the period between breakpoints.
    let pieces = vec![Piece::new(0, 0, 2, 0), Piece::new(3, 2, 4, 0)];
    let period = Period { start: number("1"), length: number("3"), increment: number("2") };
    let curve = Curve::pseudo_periodic(pieces, period).expect("a curve");
    assert_eq!(curve, Curve::staircase(2, 3).expect("a staircase"));
}

#[test]
fn a_period_that_is_a_line_becomes_a_line() {
    let pieces = vec![Piece::new(0, 0, 5, 2), Piece::continuous(1, 7, 2)];
    let period = Period { start: number("4"), length: number("3"), increment: number("6") };
    let curve = Curve::pseudo_periodic(pieces, period).expect("a curve");
    assert_eq!(curve, Curve::token_bucket(5, 2).expect("a bucket"));
    assert_eq!(curve.ultimate_rate(), Extended::from(2));
}

#[test]
fn a_transient_that_flows_into_the_period_keeps_the_function() {
    // 0 on [0, 6], then 1 until 8, and so on; the period is declared from 5 on.
    let pieces = vec![Piece::continuous(0, 0, 0), Piece::new(6, 0, 1, 0)];
    let period = Period { start: number("5"), length: number("2"), increment: number("1") };
    let curve = Curve::pseudo_periodic(pieces, period).expect("a curve");
    for (t, expected) in [("5", "0"), ("6", "0"), ("6.5", "1"), ("7", "1"), ("8", "1"), ("9", "2")]
    {
        assert_eq!(value(&curve, t), expected, "at {t}");
    }
    assert_eq!(curve, Curve::delayed_staircase(6, 1, 2).expect("a staircase"));
}

#[test]
fn envelopes_of_buckets_and_servers() {
    let arrival = Curve::token_buckets([(25, 5), (1, 100), (30, 6), (25, 7)]).expect("buckets");
    assert_eq!(arrival.pieces().len(), 2);
    assert_eq!(arrival.pieces()[1].start(), &number("24/95"));
    let service = Curve::rate_latencies([(3, 4), (10, 10), (5, 9)]).expect("service");
    assert_eq!(service.value_at(&number("11")), Extended::from(21));
    assert_eq!(service.value_at(&number("13")), Extended::from(30));
    assert!(arrival.is_concave() && !arrival.is_convex());
    assert!(service.is_convex() && !service.is_concave());
    let none = Curve::token_buckets(Vec::<(i64, i64)>::new()).expect("no bucket");
    assert_eq!(none, Curve::burst_delay(0).expect("no constraint"));
}

#[test]
fn bad_parameters_are_named() {
    let text = |result: Result<Curve, CurveError>| result.expect_err("an error").to_string();
    assert_eq!(
        text(Curve::token_bucket(1, -2)),
        "the rate of a token bucket is -2: it must not be negative"
    );
    assert_eq!(
        text(Curve::staircase(1, 0)),
        "the step length of a staircase is 0: it must be greater than zero"
    );
    assert_eq!(
        text(Curve::tdma(1, 3, 2)),
        "the slot of a time-division service curve is 3: it must not exceed the cycle, 2"
    );
    assert!(matches!(Curve::rate_latency(1, -1), Err(CurveError::Negative { .. })));
    assert!(matches!(Curve::leaky_bucket(1, 2, 3, 4), Err(CurveError::Exceeds { .. })));
    assert_eq!(Curve::ultimately_affine(vec![]), Err(CurveError::NoPieces));
    let late = vec![Piece::continuous(1, 0, 0)];
    assert!(matches!(Curve::ultimately_affine(late), Err(CurveError::StartsLate(_))));
    let period = |start, length| Period {
        start: Rational::from(start),
        length: Rational::from(length),
        increment: Rational::ONE,
    };
    let flat = || vec![Piece::continuous(0, 0, 0), Piece::continuous(5, 0, 0)];
    assert!(matches!(
        Curve::pseudo_periodic(flat(), period(0, 0)),
        Err(CurveError::EmptyPeriod(_))
    ));
    assert!(matches!(
        Curve::pseudo_periodic(flat(), period(0, 5)),
        Err(CurveError::BehindPeriod { .. })
    ));
    assert!(matches!(
        Curve::pseudo_periodic(flat(), period(-1, 9)),
        Err(CurveError::NegativePeriodStart(_))
    ));
}

#[test]
fn tdma_waits_then_serves() {
    let service = Curve::tdma(10, 2, 5).expect("a service curve");
    for (t, expected) in [("3", "0"), ("4", "10"), ("5", "20"), ("8", "20"), ("9", "30")] {
        assert_eq!(value(&service, t), expected, "at {t}");
    }
    assert!(service.is_non_decreasing() && service.is_left_continuous());
}

#[test]
fn outlines_show_jumps() {
    let stair = Curve::staircase(7, 3).expect("a staircase");
    let outline = stair.outline(&number("6")).expect("few corners");
    let text: Vec<String> = outline.iter().map(|(t, value)| format!("{t} {value}")).collect();
    assert_eq!(text, ["0 0", "0 7", "3 7", "3 14", "6 14"]);
    assert_eq!(stair.outline(&Rational::ZERO), Ok(vec![(Rational::ZERO, Extended::ZERO)]));
}
