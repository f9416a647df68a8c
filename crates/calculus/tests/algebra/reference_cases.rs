//! Published cases of the curve algebra, to the last digit. Tests are named after the numbers of
//! the cases in the project's list.

use calculus::{AlgebraError, Curve, Extended, Period, Piece, Rational};

fn number(text: &str) -> Rational {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(text: &str) -> Extended {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn bucket(burst: &str, rate: &str) -> Curve {
    Curve::token_bucket(number(burst), number(rate)).expect("a token bucket")
}

fn server(rate: &str, latency: &str) -> Curve {
    Curve::rate_latency(number(rate), number(latency)).expect("a rate-latency curve")
}

/// Parses pieces written as `start value right-limit slope`, separated by semicolons.
fn pieces(text: &str) -> Vec<Piece> {
    text.split(';')
        .map(|piece| {
            let field: Vec<&str> = piece.split_whitespace().collect();
            Piece::new(number(field[0]), value(field[1]), value(field[2]), number(field[3]))
        })
        .collect()
}

fn affine(text: &str) -> Curve {
    Curve::ultimately_affine(pieces(text)).expect("a curve")
}

fn periodic(text: &str, start: &str, length: &str, increment: &str) -> Curve {
    let period =
        Period { start: number(start), length: number(length), increment: number(increment) };
    Curve::pseudo_periodic(pieces(text), period).expect("a curve")
}

/// Checks the value of a deviation, and optionally its time.
macro_rules! deviation {
    ($deviation:expr, $value:expr) => {
        assert_eq!($deviation.expect("a deviation").value, value($value));
    };
    ($deviation:expr, $value:expr, $at:expr) => {
        let deviation = $deviation.expect("a deviation");
        assert_eq!(deviation.value, value($value));
        assert_eq!(deviation.at, Some(number($at)));
    };
}

fn at(curve: &Curve, t: &str) -> String {
    curve.value_at(&number(t)).to_string()
}

#[test]
fn c01_bucket_on_server() {
    let (f, g) = (bucket("4", "3"), server("4", "3"));
    deviation!(f.horizontal_deviation(&g), "4", "0");
    deviation!(f.vertical_deviation(&g), "13", "3");
}

#[test]
fn c02_overload_has_no_bound() {
    let (f, g) = (bucket("4", "5"), server("4", "3"));
    deviation!(f.horizontal_deviation(&g), "+inf");
    deviation!(f.vertical_deviation(&g), "+inf");
}

fn service_with_a_pause() -> Curve {
    let later = server("3", "4").raised(&Rational::from(3));
    server("3", "0").minimum(&later).expect("a curve")
}

#[test]
fn c03_c04_service_with_a_pause() {
    let g = service_with_a_pause();
    deviation!(bucket("1", "1").horizontal_deviation(&g), "2", "2");
    deviation!(bucket("1", "1").vertical_deviation(&g), "2", "4");
    deviation!(bucket("1", "2").horizontal_deviation(&g), "3", "1");
    deviation!(bucket("1", "2").vertical_deviation(&g), "6", "4");
}

#[test]
fn c05_burst_alone() {
    let (f, g) = (bucket("2", "0"), server("2", "2"));
    deviation!(f.horizontal_deviation(&g), "3", "0");
    deviation!(f.vertical_deviation(&g), "2", "0");
}

#[test]
fn c06_both_end_flat() {
    let most = Curve::constant(12);
    let f = server("4", "0").minimum(&most).expect("a curve");
    let g = server("3", "3").minimum(&most).expect("a curve");
    deviation!(f.horizontal_deviation(&g), "4", "3");
}

#[test]
fn c07_arrival_below_service() {
    let f = bucket("0", "1");
    let g = server("2", "0");
    deviation!(f.horizontal_deviation(&g), "0");
    deviation!(f.vertical_deviation(&g), "0");
    let raised = g.raised(&Rational::ONE);
    deviation!(f.horizontal_deviation(&raised), "0");
    deviation!(f.vertical_deviation(&raised), "-1");
}

#[test]
fn c08_parallel_buckets() {
    let (f, g) = (bucket("20", "5"), bucket("10", "5"));
    deviation!(f.horizontal_deviation(&g), "2");
    deviation!(f.vertical_deviation(&g), "10");
}

#[test]
fn c09_parallel_servers() {
    let (f, g) = (server("5", "10"), server("5", "20"));
    deviation!(f.horizontal_deviation(&g), "10", "10");
    deviation!(f.vertical_deviation(&g), "50", "20");
}

#[test]
fn c10_parallel_servers_with_fractions() {
    let (f, g) = (server("275/7", "249/44"), server("275/7", "35/4"));
    deviation!(f.vertical_deviation(&g), "850/7", "35/4");
}

#[test]
fn c11_large_fractions() {
    let f = bucket("1", "2441407/1000000000");
    let g = server("149850048000/12309415288891", "27439/40");
    deviation!(f.horizontal_deviation(&g), "115102801965691/149850048000");
}

#[test]
fn c12_jumps_and_periods() {
    let f = periodic("0 2 2 1/4; 4 4 4 1/2", "4", "2", "1");
    let g = periodic("0 0 0 0; 8 0 0 1/3; 11 7 7 1", "11", "1", "1");
    deviation!(f.horizontal_deviation(&g), "11", "0");
    deviation!(g.horizontal_deviation(&f), "+inf");
    let slower = periodic("0 0 0 0; 8 0 0 1/3; 11 7 7 1/2", "11", "2", "1");
    deviation!(f.horizontal_deviation(&slower), "11", "0");
    deviation!(slower.horizontal_deviation(&f), "0");
}

#[test]
fn c13_z_deviation_with_negative_service() {
    let f = server("2/5", "1");
    let g = server("1", "2").raised(&Rational::from(-2));
    assert_eq!(f.z_deviation(&g), Ok(value("8")));
}

#[test]
fn c14_c15_servers_in_a_row() {
    let two = server("3", "4").convolution(&server("4", "6")).expect("a curve");
    assert_eq!((at(&two, "10"), at(&two, "12")), ("0".into(), "6".into()));
    assert_eq!(two.ultimate_rate(), value("3"));
    let three = two.convolution(&server("6", "2")).expect("a curve");
    assert_eq!((at(&three, "12"), at(&three, "14")), ("0".into(), "6".into()));
    assert_eq!(three.ultimate_rate(), value("3"));
    assert_eq!(three, server("3", "12"));
}

#[test]
fn c16_latencies_add_and_the_lower_rate_stays() {
    let cases = [
        (("0", "4"), ("2", "3")),
        (("2", "4"), ("3", "3")),
        (("1", "2"), ("3", "4")),
        (("8", "6"), ("4", "2")),
        (("8", "6"), ("8", "6")),
    ];
    for ((latency_1, rate_1), (latency_2, rate_2)) in cases {
        let result = server(rate_1, latency_1).convolution(&server(rate_2, latency_2));
        let rate = number(rate_1).min(number(rate_2));
        let latency = number(latency_1) + number(latency_2);
        assert_eq!(result, Ok(Curve::rate_latency(rate, latency).expect("a curve")));
    }
}

/// Returns curves of every kind, for statements about any curve.
fn assorted() -> Vec<Curve> {
    vec![
        bucket("4", "3"),
        server("4", "3"),
        Curve::staircase(7, 3).expect("a staircase"),
        Curve::tdma(10, 2, 5).expect("a service curve"),
        service_with_a_pause(),
        periodic("0 2 2 1/4; 4 4 4 1/2; 5 5 7 -1", "4", "2", "1"),
    ]
}

#[test]
fn c17_neutral_and_absorbing_elements() {
    let no_delay = Curve::burst_delay(0).expect("a delay");
    let never = Curve::constant(Extended::PositiveInfinity);
    for f in assorted() {
        assert_eq!(f.convolution(&no_delay), Ok(f.clone()));
        assert_eq!(f.convolution(&never), Ok(never.clone()));
        if f.value_at(&Rational::ZERO) == Extended::ZERO {
            assert_eq!(f.convolution(&Curve::zero()), Ok(Curve::zero()));
        }
    }
}

#[test]
fn c18_isomorphism_with_max_plus() {
    let curves = [
        bucket("4", "3"),
        server("4", "3"),
        Curve::staircase(7, 3).expect("a staircase"),
        Curve::tdma(10, 2, 5).expect("a service curve"),
        Curve::delayed_staircase(2, 3, 4).expect("a staircase"),
    ];
    for f in &curves {
        for g in &curves {
            let upper = |curve: &Curve| curve.upper_pseudo_inverse().expect("an inverse");
            let mapped = upper(f).max_plus_convolution(&upper(g)).expect("a curve");
            let back = mapped.lower_pseudo_inverse().expect("an inverse");
            assert_eq!(f.convolution(g), Ok(back), "{f} and {g}");
        }
    }
}

#[test]
fn c19_max_plus_convolution() {
    let f = periodic("0 0 0 1; 1 1 1 0; 3 1 1 1; 4 2 2 0", "3", "2", "1");
    let expected = periodic("0 0 0 1; 2 2 2 0; 4 2 2 1", "3", "2", "1");
    assert_eq!(f.max_plus_convolution(&f), Ok(expected));
}

#[test]
fn c20_c21_c22_departures_of_buckets() {
    let out = bucket("20", "10").deconvolution(&server("30", "10")).expect("a curve");
    assert_eq!(out, Curve::line(120, 10));
    let out = bucket("15", "30").deconvolution(&server("40", "25")).expect("a curve");
    assert_eq!(out, Curve::line(765, 30));
    let out = bucket("15", "30").deconvolution(&server("20", "10")).expect("a curve");
    assert_eq!(out, Curve::constant(Extended::PositiveInfinity));
}

#[test]
fn c23_departures_of_a_concave_arrival() {
    let buckets = [("2", "7/4"), ("3", "4/5"), ("5", "2/5")].map(|(b, r)| (number(b), number(r)));
    let f = Curve::token_buckets(buckets).expect("buckets");
    let out = f.deconvolution(&server("2", "2")).expect("a curve");
    assert_eq!(out, f.advanced(&Rational::from(2)));
}

#[test]
fn c24_sub_additive_curves_reproduce_themselves() {
    let flow_control = server("2", "10").raised(&Rational::from(10));
    let closure = flow_control.sub_additive_closure().expect("a closure");
    for f in [bucket("1", "0"), bucket("5", "0"), bucket("5", "3"), closure] {
        assert_eq!(f.deconvolution(&f), Ok(f.clone()));
    }
}

#[test]
fn c25_deconvolution_of_a_maximum() {
    let h = server("5", "2");
    for f in assorted() {
        for g in assorted() {
            let whole = f.maximum(&g).expect("a curve").deconvolution(&h).expect("a curve");
            let f_out = f.deconvolution(&h).expect("a curve");
            let g_out = g.deconvolution(&h).expect("a curve");
            assert_eq!(f_out.maximum(&g_out), Ok(whole), "{f} and {g}");
        }
    }
}

#[test]
fn c26_delays() {
    let (short, long) =
        (Curve::burst_delay(1).expect("a delay"), Curve::burst_delay(5).expect("a delay"));
    let unbounded = Curve::constant(Extended::PositiveInfinity);
    assert_eq!(short.deconvolution(&long), Ok(unbounded));
    // The reverse deconvolution is undone by convolution with the shorter delay.
    assert_eq!(long.deconvolution(&short), Ok(Curve::burst_delay(4).expect("a delay")));
}

#[test]
fn c27_window_flow_control() {
    let cases = [
        ("10", "10", "2"),
        ("14", "10", "2"),
        ("5", "15", "3"),
        ("54", "115", "23"),
        ("10", "5", "2"),
    ];
    for (window, latency, rate) in cases {
        let closure = server(rate, latency)
            .raised(&number(window))
            .sub_additive_closure()
            .expect("a closure");
        let built = Curve::flow_control(number(window), number(rate), number(latency));
        assert_eq!(built, Ok(closure.clone()));
        let (b, t, r) = (number(window), number(latency), number(rate));
        let is = |at: Rational, times: i64| {
            assert_eq!(
                closure.value_at(&at),
                Extended::from(&b * Rational::from(times)),
                "{window} {latency} {rate} at {at}"
            );
        };
        is(Rational::ZERO, 0);
        assert_eq!(closure.right_limit_at(&Rational::ZERO), Extended::from(&b));
        is(t.clone(), 1);
        let fill = &b / &r;
        if fill < t {
            let two = Rational::from(2);
            is(&t + &fill, 2);
            is(&two * &t, 2);
            is(&two * &t + &fill, 3);
            is(Rational::from(3) * &t, 3);
            assert_eq!(closure.ultimate_rate(), Extended::from(&b / &t));
            assert!(!closure.is_ultimately_affine());
        } else {
            assert_eq!(closure.ultimate_rate(), Extended::from(&r));
            assert!(closure.is_ultimately_affine());
        }
    }
}

#[test]
fn flow_control_at_its_edges() {
    for (window, rate, latency) in
        [("0", "2", "3"), ("1", "2", "0"), ("6", "2", "3"), ("1", "0", "3")]
    {
        let closure = server(rate, latency)
            .raised(&number(window))
            .sub_additive_closure()
            .expect("a closure");
        let built = Curve::flow_control(number(window), number(rate), number(latency));
        assert_eq!(built, Ok(closure), "{window} {rate} {latency}");
    }
}

#[test]
fn c28_closure_of_servers() {
    assert_eq!(server("3", "2").sub_additive_closure(), Ok(Curve::zero()));
    assert_eq!(server("3", "0").sub_additive_closure(), Ok(server("3", "0")));
}

#[test]
fn c29_closure_with_a_flat_start() {
    let f = affine("0 0 1 0; 2 1 1 2");
    let closure = periodic("0 0 1 0; 2 1 1 2; 5/2 2 2 0", "2", "2", "1");
    assert_eq!(f.sub_additive_closure(), Ok(closure));
}

#[test]
fn c30_closure_with_a_higher_start() {
    let f = affine("0 0 2 0; 2 2 2 2");
    let closure = periodic("0 0 2 0; 2 2 2 2; 3 4 4 0", "2", "2", "2");
    assert_eq!(f.sub_additive_closure(), Ok(closure));
}

#[test]
fn c31_c32_super_additive_closures() {
    let f = server("3", "2");
    assert_eq!(f.super_additive_closure(), Ok(f));
    let f = affine("0 0 0 0; 3 0 5 1");
    let closure = f.super_additive_closure().expect("a closure");
    let period = closure.period().expect("a period");
    assert_eq!((period.length, period.increment), (number("3"), number("5")));
    let f = affine("0 0 0 0; 5 12 12 1/10");
    let closure = f.super_additive_closure().expect("a closure");
    let period = closure.period().expect("a period");
    assert_eq!((period.length, period.increment), (number("5"), number("12")));
}

#[test]
fn c33_inverses_of_a_server() {
    let f = server("3", "5");
    assert_eq!(f.lower_pseudo_inverse(), Ok(bucket("5", "1/3")));
    assert_eq!(f.upper_pseudo_inverse(), Ok(Curve::line(5, number("1/3"))));
}

#[test]
fn c34_inverse_of_a_periodic_curve() {
    let f = periodic("0 0 0 0; 1 0 0 1/2; 3 1 1 1; 4 2 2 0", "3", "2", "1");
    let inverse = periodic("0 0 1 2; 1 3 3 1; 2 4 5 1", "2", "1", "2");
    assert_eq!(f.lower_pseudo_inverse(), Ok(inverse));
}

#[test]
fn c35_composition() {
    let f = server("2", "1");
    let g = affine("0 0 0 0; 1 0 0 1; 2 1 1 0; 3 1 1 1");
    assert_eq!(f.composition(&g), Ok(server("2", "3")));
}

#[test]
fn c36_upper_non_decreasing_closure() {
    let f = affine("0 0 0 1; 2 2 2 -1; 3 1 1 1");
    let closure = affine("0 0 0 1; 2 2 2 0; 4 2 2 1");
    assert_eq!(f.upper_non_decreasing(), Ok(closure));
}

#[test]
fn c37_staircase() {
    let (height, length) = (number("3/2"), number("7/3"));
    let f = Curve::staircase(height.clone(), length.clone()).expect("a staircase");
    let times = |n: i64| Extended::from(&height * Rational::from(n));
    assert_eq!(f.value_at(&Rational::ZERO), Extended::ZERO);
    assert_eq!(f.right_limit_at(&Rational::ZERO), times(1));
    assert_eq!(f.value_at(&length), times(1));
    assert_eq!(f.right_limit_at(&length), times(2));
    assert_eq!(f.value_at(&(&length * Rational::from(110))), times(110));
}

#[test]
fn c38_family_of_fifo_residual_services() {
    let service = server("10", "5");
    let flow = bucket("5", "1");
    let cross = [("2", "1"), ("3", "2"), ("5", "2")]
        .map(|(burst, rate)| bucket(burst, rate))
        .iter()
        .try_fold(Curve::zero(), |sum, bucket| sum.sum(bucket))
        .expect("a sum");
    for (theta, expected) in [("0", "13"), ("1", "12"), ("10", "10"), ("20", "20")] {
        let delay = Curve::burst_delay(number(theta)).expect("a delay");
        let residual = service
            .difference(&cross.convolution(&delay).expect("a curve"))
            .and_then(|curve| curve.non_negative())
            .and_then(|curve| curve.minimum(&delay))
            .expect("a curve");
        // The residual service drops to zero after theta, where the cross traffic starts.
        let residual = residual.lower_non_decreasing().expect("a closure");
        deviation!(flow.horizontal_deviation(&residual), expected);
    }
}

#[test]
fn e_multi_segment_arrival() {
    let f = Curve::token_buckets([(1, 100), (25, 5)]).expect("buckets");
    let g = server("10", "10");
    let delay = f.horizontal_deviation(&g).expect("a deviation");
    // 10 + (25 + 5 t) / 10 - t at t = 24/95.
    assert_eq!(delay.value, value("2351/190"));
    assert_eq!(delay.at, Some(number("24/95")));
    assert_eq!(format!("{:.8}", delay.value.to_f64()), "12.37368421");
    deviation!(f.vertical_deviation(&g), "75", "10");
}

#[test]
fn an_inverse_needs_a_curve_that_never_falls() {
    let falling = affine("0 0 0 1; 2 2 2 -1; 3 1 1 1");
    let error = falling.lower_pseudo_inverse().expect_err("it falls");
    assert!(matches!(error, AlgebraError::Falls { ref at, .. } if *at == number("2")));
}

#[test]
fn event_streams_are_what_wandeler_says() {
    // ceil((t + j) / p) and ceil(t / d) from above, floor((t - j) / p) from below.
    for (period, jitter, distance) in [(10, 0, 0), (10, 25, 2), (10, 4, 0), (7, 20, 7), (5, 100, 1)]
    {
        let most = Curve::events(3, period, jitter, distance).expect("a curve");
        let least = Curve::events_at_least(3, period, jitter).expect("a curve");
        for quarter in 1..400_i64 {
            let t = Rational::ratio(quarter, 4);
            let late = (&t + &Rational::from(jitter)) / Rational::from(period);
            let mut events = late.ceil();
            if distance > 0 {
                events = events.min((&t / &Rational::from(distance)).ceil());
            }
            assert_eq!(most.value_at(&t), (events * Rational::from(3)).into(), "{period} {t}");
            let early = (&t - &Rational::from(jitter)) / Rational::from(period);
            let events = early.floor().max(Rational::ZERO);
            assert_eq!(least.value_at(&t), (events * Rational::from(3)).into(), "{period} {t}");
        }
    }
    assert!(Curve::events(1, 0, 0, 0).is_err());
    assert!(Curve::events(1, 1, -1, 0).is_err());
}
