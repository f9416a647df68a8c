//! Compares the operations on curves with a naive second implementation (`models`), which computes
//! their definitions directly, in exact arithmetic at sample times.

use crate::models::{
    Model, any_infinite_model, any_model, convolution_at, deconvolution_at, number, rising_model,
    samples, sum,
};
use calculus::{Curve, Extended, Piece, Rational};
use proptest::prelude::*;

/// Returns the configuration of all properties, with a fixed seed so that every run tests the same
/// cases.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(20_040_621),
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

fn rate(model: &Model) -> Rational {
    &model.increment / &model.length
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn values_and_limits_are_those_of_the_model(f in any_infinite_model()) {
        let curve = f.curve();
        for t in samples(12) {
            prop_assert_eq!(curve.value_at(&t), f.value(&t), "{} at {}", curve, t);
            prop_assert_eq!(curve.right_limit_at(&t), f.right(&t), "{} at {}+", curve, t);
            if t.is_positive() {
                prop_assert_eq!(curve.left_limit_at(&t), f.left(&t), "{} at {}-", curve, t);
            }
        }
    }

    #[test]
    fn minimum_maximum_and_sum_are_pointwise(f in any_infinite_model(), g in any_model()) {
        let (a, b) = (f.curve(), g.curve());
        let lower = a.minimum(&b).expect("a curve");
        let upper = a.maximum(&b).expect("a curve");
        let total = a.sum(&b).expect("a curve");
        for t in samples(24) {
            let (x, y) = (f.value(&t), g.value(&t));
            prop_assert_eq!(lower.value_at(&t), x.clone().min(y.clone()), "{} min {}", a, b);
            prop_assert_eq!(upper.value_at(&t), x.clone().max(y.clone()), "{} max {}", a, b);
            prop_assert_eq!(total.value_at(&t), sum(&x, &y), "{} + {}", a, b);
        }
    }

    #[test]
    fn a_convolution_is_the_infimum_over_all_splits(
        f in any_infinite_model(), g in any_infinite_model()
    ) {
        let (a, b) = (f.curve(), g.curve());
        let result = a.convolution(&b).expect("a curve");
        for t in samples(14) {
            let expected = convolution_at(&f, &g, &t);
            prop_assert_eq!(result.value_at(&t), expected, "{} * {} at {}: {}", a, b, t, result);
        }
    }

    #[test]
    fn a_deconvolution_is_the_supremum_over_all_times(f in any_model(), g in any_infinite_model()) {
        let (a, b) = (f.curve(), g.curve());
        let result = a.deconvolution(&b).expect("a curve");
        if rate(&f) > rate(&g) {
            prop_assert_eq!(result, calculus::Curve::constant(Extended::PositiveInfinity));
        } else {
            for t in samples(5) {
                let expected = deconvolution_at(&f, &g, &t, &number(100));
                prop_assert_eq!(result.value_at(&t), expected, "{} / {} at {}", a, b, t);
            }
        }
    }

    #[test]
    fn the_vertical_deviation_is_the_largest_difference_of_values(
        f in any_model(), g in any_infinite_model()
    ) {
        let deviation = f.curve().vertical_deviation(&g.curve()).expect("a deviation");
        let gap = |a: Extended, b: Extended| -sum(&-a, &b);
        for t in samples(20) {
            prop_assert!(gap(f.value(&t), g.value(&t)) <= deviation.value);
        }
        match deviation.at {
            None => prop_assert!(rate(&f) > rate(&g)),
            Some(t) => {
                let mut around = vec![gap(f.value(&t), g.value(&t)), gap(f.right(&t), g.right(&t))];
                if t.is_positive() {
                    around.push(gap(f.left(&t), g.left(&t)));
                }
                prop_assert!(around.contains(&deviation.value), "{:?} at {}", deviation.value, t);
            }
        }
    }

    #[test]
    fn the_horizontal_deviation_is_the_largest_delay(f in rising_model(), g in rising_model()) {
        let deviation = f.curve().horizontal_deviation(&g.curve()).expect("a deviation");
        for t in samples(8) {
            let delay = delay_of(&f.value(&t), &t, &g);
            prop_assert!(delay <= deviation.value, "{} at {}", delay, t);
        }
        match (&deviation.value, &deviation.at) {
            (Extended::Finite(value), Some(t)) => {
                let here = delay_of(&f.value(t), t, &g);
                // If the deviation is a limit after a jump, a delay shortly after it comes close.
                let near = Rational::ratio(1, 1_000_000);
                let behind = t + &near;
                let soon = delay_of(&f.value(&behind), &behind, &g);
                let expected = Extended::from(value);
                let slack = Extended::from(value - &(&near * number(1000)));
                prop_assert!(here == expected || (soon <= expected && soon >= slack),
                    "{} and {} are not {} at {}", here, soon, expected, t);
            }
            (value, _) => {
                prop_assert_eq!(value, &Extended::PositiveInfinity);
                prop_assert!(rate(&f) > rate(&g));
            }
        }
    }

    #[test]
    fn a_sub_additive_closure_is_the_least_cost_of_a_sum(f in rising_model(), start in 0_i64..4) {
        // Then all breakpoints are at whole numbers, and values after time zero are raised.
        let f = doubled(f, start);
        let curve = f.curve();
        let closure = curve.sub_additive_closure().expect("a closure");
        let cost = whole_costs(&f, 24);
        for n in 0..24_usize {
            // A time between whole numbers is the sum of whole times and one fractional time. The
            // whole summands may cost the limits of `f`, because the fractional one can absorb an
            // arbitrarily small difference.
            let t = Rational::from(n) + Rational::ratio(1, 2);
            let expected = (0..=n)
                .map(|whole| sum(&cost[whole], &f.value(&(&t - Rational::from(whole)))))
                .min()
                .expect("at least one");
            prop_assert_eq!(closure.value_at(&t), expected, "{} at {}: {}", curve, t, closure);
        }
    }

    #[test]
    fn pseudo_inverses_are_the_times_at_which_values_are_reached(f in rising_model()) {
        let curve = f.curve();
        let lower = curve.lower_pseudo_inverse().expect("an inverse");
        let upper = curve.upper_pseudo_inverse().expect("an inverse");
        let near = Rational::ratio(1, 100_000);
        for y in samples(8) {
            let data = Extended::Finite(y.clone());
            match lower.value_at(&y) {
                Extended::Finite(t) => {
                    prop_assert!(f.right(&t) >= data, "{} at {}", curve, y);
                    if t > near {
                        prop_assert!(f.value(&(&t - &near)) < data, "{} at {}", curve, y);
                    }
                }
                _ => prop_assert!(curve.supremum() < data || !rate(&f).is_positive()),
            }
            match upper.value_at(&y) {
                Extended::Finite(t) => {
                    prop_assert!(f.right(&t) >= data && f.value(&(&t + &near)) > data);
                    if t > near {
                        prop_assert!(f.value(&(&t - &near)) <= data, "{} at {}", curve, y);
                    }
                }
                _ => prop_assert!(curve.supremum() <= data),
            }
        }
    }

    #[test]
    fn a_composition_evaluates_one_curve_at_the_values_of_another(
        f in any_model(), g in rising_model()
    ) {
        let result = f.curve().composition(&g.curve()).expect("a curve");
        for t in samples(20) {
            let data = g.value(&t).into_finite().expect("finite");
            prop_assert_eq!(result.value_at(&t), f.value(&data), "at {}", t);
        }
    }

    #[test]
    fn monotone_closures_are_running_extremes(f in any_model()) {
        let curve = f.curve();
        let upper = curve.upper_non_decreasing().expect("a closure");
        let lower = curve.lower_non_decreasing().expect("a closure");
        let down = curve.lower_non_increasing().expect("a closure");
        let mirrored = curve.negated().upper_non_increasing().expect("a closure");
        prop_assert_eq!(mirrored.negated(), lower.clone());
        for t in samples(12) {
            let before = f.breakpoints(&t);
            let values = before.iter().filter(|s| **s < t).flat_map(|s| [f.value(s), f.right(s)]);
            let lefts = before.iter().filter(|s| s.is_positive()).map(|s| f.left(s));
            let mut at = vec![f.value(&t)];
            if t.is_positive() {
                at.push(f.left(&t));
            }
            let passed: Vec<Extended> = values.chain(lefts).chain(at).collect();
            let most = passed.iter().max().expect("a value");
            prop_assert_eq!(&upper.value_at(&t), most, "{} at {}", curve, t);
            let least = passed.iter().min().expect("a value");
            prop_assert_eq!(&down.value_at(&t), least, "{} at {}", curve, t);

            if rate(&f).is_negative() {
                prop_assert_eq!(lower.value_at(&t), Extended::NegativeInfinity);
                continue;
            }
            let horizon = &t + &f.start + &f.length + &f.length;
            let after = f.breakpoints(&horizon).into_iter().filter(|s| *s > t);
            let later = after.flat_map(|s| [f.left(&s), f.value(&s), f.right(&s)]);
            let least = later.chain([f.value(&t), f.right(&t)]).min().expect("a value");
            prop_assert_eq!(lower.value_at(&t), least, "{} at {}", curve, t);
        }
    }

    #[test]
    fn rounded_curves_have_rounded_values(f in any_model()) {
        let curve = f.curve();
        let (floor, ceil) = (curve.floor().expect("a curve"), curve.ceil().expect("a curve"));
        for t in samples(12) {
            let value = f.value(&t).into_finite().expect("finite");
            prop_assert_eq!(floor.value_at(&t), Extended::Finite(value.floor()), "{} at {}", curve, t);
            prop_assert_eq!(ceil.value_at(&t), Extended::Finite(value.ceil()), "{} at {}", curve, t);
        }
    }

    #[test]
    fn a_backlogged_period_ends_before_its_bound(f in any_model(), g in any_model()) {
        let (a, b) = (f.curve(), g.curve());
        let bound = a.backlogged_period(&b).expect("a bound");
        for t in samples(40).into_iter().filter(|t| t.is_positive()) {
            if f.value(&t) <= g.value(&t) {
                prop_assert!(Extended::from(&t) >= bound, "{} and {} at {}", a, b, t);
            }
        }
        if let Extended::Finite(t) = bound {
            // The curves must meet at this time or just after it.
            let behind = &t + &Rational::ratio(1, 1_000_000);
            let here = t.is_positive() && f.value(&t) <= g.value(&t);
            prop_assert!(here || f.value(&behind) <= g.value(&behind), "{} and {} at {}", a, b, t);
        }
    }

    #[test]
    fn shifted_curves_have_the_values_of_other_times(f in any_model(), by in 0_i64..30) {
        let by = Rational::ratio(by, 4);
        let curve = f.curve();
        let (earlier, later) = (curve.advanced(&by), curve.delayed(&by));
        let (left, right) = (curve.left_continuous().expect("a curve"), curve.right_continuous());
        for t in samples(8) {
            prop_assert_eq!(earlier.value_at(&t), f.value(&(&t + &by)));
            prop_assert_eq!(later.value_at(&(&t + &by)), f.value(&t));
            prop_assert_eq!(right.value_at(&t), f.right(&t));
            if t.is_positive() {
                prop_assert_eq!(left.value_at(&t), f.left(&t));
            }
        }
    }
}

/// Compares the closures of curves that are finite only at a few points. The closure at a time is
/// the least cost of a sum of these points that adds up to the time.
#[test]
fn closures_of_points_are_least_costs_of_sums() {
    let never = || Extended::PositiveInfinity;
    let cases: [&[(usize, i64)]; 5] = [
        &[(2, 3), (5, 4)],
        &[(3, 1)],
        &[(4, 4), (6, 7), (9, 9)],
        &[(1, 5), (7, -3)],
        &[(6, 1), (10, 1), (15, 1)],
    ];
    for points in cases {
        let mut pieces = vec![Piece::new(0, 0, never(), 0)];
        for &(time, value) in points {
            pieces.push(Piece::new(Rational::from(time), value, never(), 0));
        }
        let curve = Curve::ultimately_affine(pieces).expect("a curve");
        let closure = curve.sub_additive_closure().expect("a closure");
        let mut costs = vec![Extended::ZERO];
        for n in 1..120_usize {
            let best = points
                .iter()
                .filter(|(time, _)| *time <= n)
                .map(|(time, value)| costs[n - time].shifted(&Rational::from(*value)));
            costs.push(best.min().unwrap_or_else(never));
            let t = Rational::from(n);
            assert_eq!(closure.value_at(&t), costs[n], "{points:?} at {t}");
            assert_eq!(closure.right_limit_at(&t), never(), "{points:?} at {t}");
        }
    }
}

/// Compares the closures of curves that are finite only on one open segment, for example with the
/// cost 1 for any time strictly between 2 and 3.
#[test]
fn closures_of_segments_are_least_costs_of_sums() {
    let never = || Extended::PositiveInfinity;
    // The ends of the segment, the limit at its start, and its slope.
    for (from, to, value, slope) in
        [(2, 3, 1, 0), (2, 3, 1, 2), (3, 4, 5, -1), (0, 2, 1, 0), (5, 6, 4, 1)]
    {
        let segment = Piece::new(from, never(), value, slope);
        let end = Piece::new(to, never(), never(), 0);
        let origin = Piece::new(0, 0, if from == 0 { value.into() } else { never() }, 0);
        let pieces = if from == 0 {
            vec![Piece::new(0, 0, value, slope), end]
        } else {
            vec![origin, segment, end]
        };
        let curve = Curve::ultimately_affine(pieces).expect("a curve");
        let closure = curve.sub_additive_closure().expect("a closure");
        for t in samples(40).into_iter().filter(|t| t.is_positive()) {
            // `n` summands reach any time strictly between `n from` and `n to`.
            let costs =
                (1..=80_i64).filter(|n| number(n * from) < t && t < number(n * to)).map(|n| {
                    Extended::Finite(number(n * value) + number(slope) * (&t - number(n * from)))
                });
            let expected = costs.min().unwrap_or_else(never);
            assert_eq!(closure.value_at(&t), expected, "({from}, {to}) at {t}: {closure}");
        }
    }
}

#[test]
fn closures_below_all_bounds() {
    let bottom = Extended::NegativeInfinity;
    // Minus infinity at time 1: the closure is minus infinity at 1 and, with any other summand,
    // from there on.
    let pieces = vec![Piece::new(0, 0, 1, 1), Piece::new(1, bottom.clone(), 2, 1)];
    let curve = Curve::ultimately_affine(pieces).expect("a curve");
    let closure = curve.sub_additive_closure().expect("a closure");
    assert_eq!(closure.value_at(&Rational::ratio(1, 2)), Extended::from(Rational::ratio(3, 2)));
    for t in ["1", "3/2", "7"] {
        assert_eq!(closure.value_at(&t.parse().expect("a number")), bottom, "at {t}");
    }
    // Minus infinity on an open segment and plus infinity elsewhere: its multiples overlap from 4
    // on.
    let never = Extended::PositiveInfinity;
    let pieces = vec![
        Piece::new(0, 0, never.clone(), 0),
        Piece::new(2, never.clone(), bottom.clone(), 0),
        Piece::new(3, never.clone(), never.clone(), 0),
    ];
    let curve = Curve::ultimately_affine(pieces).expect("a curve");
    let closure = curve.sub_additive_closure().expect("a closure");
    for (t, expected) in [
        ("2", &never),
        ("5/2", &bottom),
        ("3", &never),
        ("4", &never),
        ("9/2", &bottom),
        ("6", &never),
        ("13/2", &bottom),
        ("8", &bottom),
        ("100", &bottom),
    ] {
        assert_eq!(&closure.value_at(&t.parse().expect("a number")), expected, "at {t}");
    }
    // Negative just after zero, or at zero.
    let falling = Curve::line(0, 0).with_origin(0).minimum(&Curve::step(0, -1).expect("a curve"));
    let closure = falling.and_then(|curve| curve.sub_additive_closure()).expect("a closure");
    assert_eq!(closure.value_at(&Rational::ZERO), Extended::ZERO);
    assert_eq!(closure.value_at(&Rational::ratio(1, 9)), bottom);
    let below = Curve::token_bucket(1, 1).expect("a curve").with_origin(-1);
    let closure = below.sub_additive_closure().expect("a closure");
    assert_eq!(closure, Curve::constant(bottom));
}

/// Returns the infimum of all `d >= 0` with `data <= g(t + d)`, by search.
fn delay_of(data: &Extended, t: &Rational, g: &Model) -> Extended {
    let horizon = number(200);
    if g.value(t) >= *data {
        return Extended::ZERO;
    }
    let mut points = g.breakpoints(&(t + &horizon));
    points.push(t.clone());
    points.sort();
    points.dedup();
    let points: Vec<Rational> = points.into_iter().filter(|x| x >= t).collect();
    for (index, x) in points.iter().enumerate() {
        if g.value(x) >= *data || g.right(x) >= *data {
            return Extended::from(x - t);
        }
        let Some(next) = points.get(index + 1) else { break };
        if let (Extended::Finite(from), Extended::Finite(to), Extended::Finite(data)) =
            (g.right(x), g.left(next), data)
            && to >= *data
        {
            let slope = (&to - &from) / (next - x);
            return Extended::from(x + &((data - &from) / slope) - t);
        }
    }
    Extended::PositiveInfinity
}

/// Returns the model with all times doubled, so that they are whole numbers, and with all values
/// after time zero raised by `lift`.
fn doubled(mut model: Model, lift: i64) -> Model {
    let two = number(2);
    for (start, at, after, _) in &mut model.pieces {
        if !start.is_zero() {
            *at = at.shifted(&number(lift));
        }
        *after = after.shifted(&number(lift));
        *start = &*start * &two;
    }
    // The value at zero must not repeat.
    if model.start.is_zero() {
        let next: Vec<_> = model
            .pieces
            .iter()
            .map(|(start, at, after, slope)| {
                let at = if start.is_zero() { at.shifted(&number(lift)) } else { at.clone() };
                let (by, rise) = (&model.length * &two, &model.increment);
                (start + &by, at.shifted(rise), after.shifted(rise), slope.clone())
            })
            .collect();
        model.start = &model.length * &two;
        model.pieces.extend(next);
    } else {
        model.start = &model.start * &two;
    }
    model.length = &model.length * &two;
    model
}

/// Returns the least cost of each whole time up to `most` as a sum of whole parts. The cost of a
/// part is the least of the value of `f` and its limits from the left and the right.
fn whole_costs(f: &Model, most: usize) -> Vec<Extended> {
    let part = |n: usize| {
        let t = Rational::from(n);
        f.value(&t).min(f.left(&t)).min(f.right(&t))
    };
    let mut costs = vec![Extended::ZERO];
    for n in 1..=most {
        let best = (1..=n).map(|k| sum(&part(k), &costs[n - k])).min();
        costs.push(best.expect("at least one part"));
    }
    costs
}
