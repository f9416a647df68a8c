//! Tests of exact rationals: parsing, arithmetic compared with that of `num_rational`, and
//! conversion to and from `f64`.

use super::{ParseRationalError, Rational, Repr};
use num_rational::BigRational;
use proptest::prelude::*;

fn number(text: &str) -> Rational {
    text.parse().expect("a number")
}

#[test]
fn decimals_and_fractions_and_exponents_are_one_number() {
    for text in ["0.67", "67/100", "6.7e-1", "67E-2", ".67", "0.670", "+0.67", "1.34/2"] {
        assert_eq!(number(text), Rational::ratio(67, 100), "{text}");
    }
    assert_eq!(number("-1.5e3"), Rational::from(-1500));
    assert_eq!(number("5."), Rational::from(5));
    assert_eq!(number("0e4000"), Rational::ZERO);
}

#[test]
fn what_is_not_a_number_is_named() {
    for text in ["", "-", ".", "1/2/3", "1e", "e3", "0x10", "1 2", "--1", "inf", "nan", "1_000"] {
        assert!(
            matches!(text.parse::<Rational>(), Err(ParseRationalError::Malformed(_))),
            "{text}"
        );
    }
    assert!(matches!("1/0.0".parse::<Rational>(), Err(ParseRationalError::ZeroDenominator(_))));
    assert_eq!("1e99999".parse::<Rational>(), Err(ParseRationalError::TooLarge));
    assert_eq!("9".repeat(5000).parse::<Rational>(), Err(ParseRationalError::TooLarge));
}

#[test]
fn overflow_of_words_falls_back_and_returns() {
    let large = Rational::from(i64::MAX);
    let product = &large * &large;
    assert!(!product.is_machine_word());
    assert_eq!(product.to_string(), "85070591730234615847396907784232501249");
    let back = &product / &large;
    assert!(back.is_machine_word());
    assert_eq!(back, large);
    assert_eq!((&large + Rational::ONE).to_string(), "9223372036854775808");
    assert_eq!((-Rational::from(i64::MIN)).to_string(), "9223372036854775808");
    assert_eq!(-(-Rational::from(i64::MIN)), Rational::from(i64::MIN));
    assert_eq!(Rational::ratio(1, i64::MIN).to_string(), "-1/9223372036854775808");
    assert_eq!(Rational::ratio(i64::MIN, i64::MIN), Rational::ONE);
    assert_eq!(Rational::from(i64::MIN).reciprocal(), Some(Rational::ratio(1, i64::MIN)));
}

#[test]
fn floats_round_in_the_given_direction() {
    let tenth = Rational::ratio(1, 10);
    assert_eq!(tenth.to_f64(), 0.1);
    assert!(Rational::from_f64(tenth.to_f64_down()).expect("finite") < tenth);
    assert!(Rational::from_f64(tenth.to_f64_up()).expect("finite") > tenth);
    assert_eq!(Rational::ratio(1, 2).to_f64_up(), 0.5);
    assert_eq!(Rational::ratio(1, 2).to_f64_down(), 0.5);
    assert_eq!(number("1e400").to_f64(), f64::INFINITY);
    assert_eq!(number("1e400").to_f64_down(), f64::MAX);
    assert_eq!(number("-1e400").to_f64_up(), f64::MIN);
    assert_eq!(number("1e-400").to_f64(), 0.0);
    assert!(number("1e-400").to_f64_up() > 0.0);
    assert_eq!(number("4.9e-324").to_f64(), 5e-324);
    assert_eq!(number("1.7976931348623157e308").to_f64(), f64::MAX);
    assert_eq!(Rational::from_f64(f64::NAN), None);
}

#[test]
fn common_multiples_of_fractions() {
    let lcm = |a: &str, b: &str| number(a).common_multiple(&number(b)).to_string();
    assert_eq!(lcm("3/4", "5/6"), "15/2");
    assert_eq!(lcm("2", "3"), "6");
    assert_eq!(lcm("1/2", "1/2"), "1/2");
    assert_eq!(lcm("9223372036854775807", "9223372036854775806").len(), 38);
}

fn any_word() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), -20_i64..20, (0_u32..63).prop_map(|s| 1 << s), Just(i64::MIN)]
}

fn any_rational() -> impl Strategy<Value = Rational> {
    (any_word(), any_word().prop_filter("not zero", |d| *d != 0))
        .prop_map(|(n, d)| Rational::ratio(n, d))
}

/// Returns a number as a value of the number crate, which has arbitrary precision.
fn big(value: &Rational) -> BigRational {
    value.to_big()
}

proptest! {
    #[test]
    fn words_agree_with_arbitrary_precision(a in any_rational(), b in any_rational()) {
        prop_assert_eq!(big(&(&a + &b)), big(&a) + big(&b));
        prop_assert_eq!(big(&(&a - &b)), big(&a) - big(&b));
        prop_assert_eq!(big(&(&a * &b)), big(&a) * big(&b));
        prop_assert_eq!(a.cmp(&b), big(&a).cmp(&big(&b)));
        if !b.is_zero() {
            prop_assert_eq!(big(&(&a / &b)), big(&a) / big(&b));
        }
        prop_assert_eq!(big(&a.floor()), big(&a).floor());
        prop_assert_eq!(big(&a.ceil()), big(&a).ceil());
    }

    #[test]
    fn a_value_has_one_representation(a in any_rational(), b in any_rational()) {
        let there_and_back = &(&a + &b) - &b;
        prop_assert_eq!(&there_and_back, &a);
        prop_assert_eq!(matches!(there_and_back.0, Repr::Words { .. }), a.is_machine_word());
    }

    #[test]
    fn text_round_trips(a in any_rational()) {
        prop_assert_eq!(a.to_string().parse::<Rational>(), Ok(a));
    }

    #[test]
    fn doubles_bracket_the_value(a in any_rational()) {
        let exact = |x: f64| Rational::from_f64(x).expect("words are in range");
        let (down, nearest, up) = (a.to_f64_down(), a.to_f64(), a.to_f64_up());
        prop_assert!(exact(down) <= a && a <= exact(up));
        prop_assert!(nearest == down || nearest == up);
        prop_assert!(down == up || down.next_up() == up);
        let error = (exact(nearest) - &a).abs();
        prop_assert!(error <= (exact(down) - &a).abs() && error <= (exact(up) - &a).abs());
    }

    #[test]
    fn doubles_round_trip(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        if value.is_finite() {
            prop_assert_eq!(Rational::from_f64(value).expect("finite").to_f64(), value);
        }
    }
}
