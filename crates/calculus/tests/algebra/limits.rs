//! Tests of the limits of the algebra: results that are too large are refused with a reason, and
//! large ones are exact.

use calculus::{AlgebraError, Curve, Extended, Rational};

fn staircase(height: i64, length: i64) -> Curve {
    Curve::staircase(height, length).expect("a staircase")
}

#[test]
fn periods_without_a_common_multiple_within_reach_are_refused() {
    let (f, g) = (staircase(15_485_863, 15_485_863), staircase(15_485_867, 15_485_867));
    assert!(matches!(f.minimum(&g), Err(AlgebraError::TooManyPieces { .. })));
    assert!(matches!(f.sum(&g), Err(AlgebraError::TooManyPieces { .. })));
    assert!(matches!(f.convolution(&g), Err(AlgebraError::TooManyPieces { .. })));
    let text = f.convolution(&g).expect_err("an error").to_string();
    assert!(text.contains("the limit is 1048576") && text.contains("coarser grid"), "{text}");
}

#[test]
fn different_rates_need_no_common_multiple() {
    let (f, g) = (staircase(999_983, 999_983), staircase(2_000_003, 1_000_003));
    assert_eq!(f.minimum(&g), Ok(f.clone()));
    assert_eq!(f.convolution(&g), Ok(f.clone()));
    assert_eq!(f.deconvolution(&g), Ok(f.clone()));
    let delay = f.horizontal_deviation(&g).expect("a deviation");
    assert_eq!(delay.value, Extended::ZERO);
    let other_way = g.horizontal_deviation(&f).expect("a deviation");
    assert_eq!((other_way.value, other_way.at), (Extended::PositiveInfinity, None));
}

#[test]
fn rates_that_hardly_differ_settle_late_but_exactly() {
    let unit = staircase(1, 1);
    let almost = Curve::staircase(Rational::ratio(10_001, 10_000), 1).expect("a staircase");
    assert_eq!(almost.convolution(&unit), Ok(unit.clone()));
    assert_eq!(almost.minimum(&unit), Ok(unit));
}

/// Computes the same curves with data in units of `2^-70` and time in units of `3^-45`: machine
/// words and arbitrary precision must agree.
#[test]
fn arbitrary_precision_agrees_with_words() {
    let power = |base: i64, exponent: u32| {
        (0..exponent).fold(Rational::ONE, |product, _| product * Rational::from(base))
    };
    let (data, time) = (power(2, 70), power(3, 45));
    let large = |curve: &Curve| curve.scaled(&data).stretched(&time).expect("a curve");
    let curves = [
        Curve::token_bucket(4, Rational::ratio(3, 7)).expect("a curve"),
        Curve::rate_latency(5, Rational::ratio(2, 3)).expect("a curve"),
        staircase(2, 3),
        Curve::delayed_staircase(1, 3, 4).expect("a curve"),
        Curve::tdma(10, 2, 5).expect("a curve"),
        Curve::flow_control(5, 2, 7).expect("a curve"),
    ];
    for f in &curves {
        let is_words = f.pieces().iter().all(|piece| piece.slope().is_machine_word());
        assert!(is_words, "{f}");
        assert!(!large(f).pieces().iter().all(|piece| {
            piece.right_limit().finite().is_none_or(Rational::is_machine_word)
                && piece.slope().is_machine_word()
                && piece.start().is_machine_word()
        }));
        let closure = f.sub_additive_closure().map(|closure| large(&closure));
        assert_eq!(large(f).sub_additive_closure(), closure, "{f}");
        for g in &curves {
            let (big_f, big_g) = (large(f), large(g));
            let pairs = [
                (f.minimum(g), big_f.minimum(&big_g)),
                (f.sum(g), big_f.sum(&big_g)),
                (f.convolution(g), big_f.convolution(&big_g)),
                (f.deconvolution(g), big_f.deconvolution(&big_g)),
                (f.max_plus_convolution(g), big_f.max_plus_convolution(&big_g)),
            ];
            for (small, big) in pairs {
                assert_eq!(big, small.map(|curve| large(&curve)), "{f} and {g}");
            }
            let backlog = f.vertical_deviation(g).expect("a deviation").value;
            let expected = backlog.into_finite().map(|backlog| backlog * &data);
            let backlog = big_f.vertical_deviation(&big_g).expect("a deviation").value;
            assert_eq!(backlog.into_finite(), expected, "{f} and {g}");
            let delay = f.horizontal_deviation(g).expect("a deviation").value;
            let expected = delay.into_finite().map(|delay| delay * &time);
            let delay = big_f.horizontal_deviation(&big_g).expect("a deviation").value;
            assert_eq!(delay.into_finite(), expected, "{f} and {g}");
        }
    }
}

#[test]
fn opposite_infinities_have_no_sum() {
    let never = Curve::burst_delay(2).expect("a delay");
    let error = never.difference(&never).expect_err("an error");
    assert_eq!(error, AlgebraError::Indeterminate { at: Rational::from(2) });
}
