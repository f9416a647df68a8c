//! Property tests that compare the closed forms with the algebra.

use proptest::prelude::*;

use super::*;

fn number() -> impl Strategy<Value = Rational> {
    (0_i64..40, 1_i64..6).prop_map(|(n, d)| Rational::ratio(n, d))
}

/// Returns the minimum of up to three token buckets.
fn arrivals() -> impl Strategy<Value = Curve> {
    prop::collection::vec((number(), number()), 1..4)
        .prop_map(|buckets| Curve::token_buckets(buckets).expect("token buckets"))
}

/// Returns the maximum of up to three rate-latency curves.
fn services() -> impl Strategy<Value = Curve> {
    prop::collection::vec((number(), number()), 1..4)
        .prop_map(|services| Curve::rate_latencies(services).expect("rate-latency curves"))
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(5),
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn closed_forms_agree_with_the_algebra(
        alpha in arrivals(), other in arrivals(), beta in services(), next in services(),
        by in number(),
    ) {
        prop_assert_eq!(affine::sum(&alpha, &other), alpha.sum(&other).ok());
        prop_assert_eq!(affine::minimum(&alpha, &other), alpha.minimum(&other).ok());
        prop_assert_eq!(affine::convolution(&beta, &next), beta.convolution(&next).ok());
        prop_assert_eq!(
            affine::advanced(&alpha, &by),
            Some(alpha.advanced(&by).with_origin(Extended::ZERO))
        );
        prop_assert_eq!(
            affine::vertical_deviation(&alpha, &beta),
            Some(alpha.vertical_deviation(&beta).expect("a deviation").value)
        );
        prop_assert_eq!(
            affine::horizontal_deviation(&alpha, &beta),
            Some(alpha.horizontal_deviation(&beta).expect("a deviation").value)
        );
        prop_assert_eq!(
            affine::deconvolution(&alpha, &beta),
            Some(alpha.deconvolution(&beta).expect("a curve").with_origin(Extended::ZERO))
        );
        let left = beta.difference(&alpha).and_then(|curve| curve.non_negative());
        let left = left.and_then(|curve| curve.upper_non_decreasing()).expect("a curve");
        prop_assert_eq!(affine::left_over(&beta, &alpha), Some(left));
    }

    #[test]
    fn fifo_left_over_agrees_with_its_formula(
        alpha in arrivals(), beta in services(), theta in number(),
    ) {
        let Some(closed) = affine::fifo_left_over(&beta, &alpha, &theta) else { return Ok(()) };
        let formula = beta.difference(&alpha.delayed(&theta)).and_then(|curve| curve.non_negative());
        let gate = Curve::burst_delay(theta).expect("a delay");
        let formula = formula.and_then(|curve| curve.minimum(&gate)).expect("a curve");
        let formula = formula.lower_non_decreasing().expect("a curve");
        prop_assert_eq!(closed, formula.with_origin(Extended::ZERO));
    }

    #[test]
    fn the_backlogged_period_ends_where_the_curves_meet(
        alpha in arrivals(), beta in services(),
    ) {
        let Some(Extended::Finite(period)) = affine::crossing(&alpha, &beta) else { return Ok(()) };
        let a_bit = Rational::ratio(1, 1_000_000);
        let late = &period + &a_bit;
        prop_assert!(alpha.value_at(&late) <= beta.value_at(&late));
        if period > a_bit {
            let early = &period - &a_bit;
            prop_assert!(alpha.value_at(&early) >= beta.value_at(&early));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(6),
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn formulas_for_one_bucket_and_one_server_agree_with_the_closed_forms(
        b1 in number(), r1 in number(), b2 in number(), r2 in number(),
        rate in number(), latency in number(), next in number(), by in number(),
    ) {
        let alpha = Curve::token_bucket(b1, r1).expect("a curve");
        let other = Curve::token_bucket(b2, r2).expect("a curve");
        let beta = Curve::rate_latency(rate, latency.clone()).expect("a curve");
        let later = Curve::rate_latency(next, latency).expect("a curve");
        prop_assert_eq!(simple::sum(&alpha, &other), affine::sum(&alpha, &other));
        prop_assert_eq!(simple::advanced(&alpha, &by), affine::advanced(&alpha, &by));
        prop_assert_eq!(simple::convolution(&beta, &later), affine::convolution(&beta, &later));
        prop_assert_eq!(
            simple::vertical_deviation(&alpha, &beta), affine::vertical_deviation(&alpha, &beta)
        );
        prop_assert_eq!(
            simple::horizontal_deviation(&alpha, &beta), affine::horizontal_deviation(&alpha, &beta)
        );
        prop_assert_eq!(simple::deconvolution(&alpha, &beta), affine::deconvolution(&alpha, &beta));
        prop_assert_eq!(simple::left_over(&beta, &alpha), affine::left_over(&beta, &alpha));
        if let Some(least) = simple::minimum(&alpha, &other) {
            prop_assert_eq!(Some(least), affine::minimum(&alpha, &other));
        }
        if let Some(period) = affine::crossing(&alpha, &beta) {
            prop_assert_eq!(simple::crossing(&alpha, &beta), Some(period));
        }
        let theta = time_to_serve(&beta, &alpha).expect("a time");
        let by_theta = theta.and_then(|theta| affine::fifo_left_over(&beta, &alpha, &theta));
        let by_theta = by_theta.unwrap_or_else(Curve::zero);
        prop_assert_eq!(simple::fifo_left_over(&beta, &alpha), Some(by_theta));
    }
}
