//! Tests of the MPPG language: values, messages and columns of programs.

use super::{MppgError, Output, Session, Value, run, to_mppg};
use crate::curve::Curve;
use proptest::prelude::*;

/// Runs a program and returns its outputs, formatted.
fn printed(program: &str) -> Vec<String> {
    match run(program) {
        Ok(outputs) => outputs.iter().map(ToString::to_string).collect(),
        Err(error) => panic!("{error}"),
    }
}

/// Runs a program and returns its last output, formatted.
fn last(program: &str) -> String {
    printed(program).pop().unwrap_or_default()
}

fn function(expression: &str) -> Curve {
    match run(expression).map(|mut outputs| outputs.pop()) {
        Ok(Some(Output::Value(Value::Function(curve)))) => curve,
        other => panic!("{expression}: {other:?}"),
    }
}

fn error(program: &str) -> MppgError {
    run(program).expect_err("an error")
}

#[test]
fn constructors_take_the_rate_first() {
    assert_eq!(function("ratency(4, 3)"), Curve::rate_latency(4, 3).expect("a curve"));
    assert_eq!(function("bucket(3, 4)"), Curve::token_bucket(4, 3).expect("a curve"));
    assert_eq!(function("affine(3, -4)"), Curve::line(-4, 3));
    assert_eq!(function("step(2, 5)"), Curve::step(2, 5).expect("a curve"));
    assert_eq!(function("stair(1, 2, 3)"), Curve::delayed_staircase(1, 3, 2).expect("a curve"));
    assert_eq!(
        function("delay(7/2)"),
        Curve::burst_delay(crate::Rational::ratio(7, 2)).expect("a curve")
    );
    assert_eq!(function("zero"), Curve::zero());
    assert_eq!(function("epsilon + 1"), function("epsilon"));
}

#[test]
fn a_program_computes_bounds() {
    let program = "
        // One server, one flow.
        service := ratency(4, 3) % rate, latency
        arrival := bucket(3, 4)  # rate, burst
        > a line of its own
        hDev(arrival, service)
        vdev(arrival, service)
        arrival / service
        maxBacklogPeriod(arrival, service)
    ";
    assert_eq!(
        printed(program),
        ["service", "arrival", "4", "13", "uaf([(0, 13) 3 (+inf, +inf)[)", "16"]
    );
}

#[test]
fn products_bind_tighter_and_all_group_from_the_left() {
    assert_eq!(last("1 + 2 * 3 - 4 / 2"), "5");
    assert_eq!(last("12 / 2 / 3"), "2");
    assert_eq!(last("2 \\/ 3 /\\ 1"), "1");
    assert_eq!(last("7 mod 4 + -7 mod 4"), "0");
    assert_eq!(last("(1 + 2) * -3"), "-9");
    assert_eq!(last("f := affine(4, 8)\nf / 1/2"), last("affine(2, 4)"));
    assert_eq!(
        last("f := ratency(1, 2)\ng := ratency(2, 1)\nf comp g * 3"),
        last("affine(0,0) \\/ (ratency(2, 2) * 3)")
    );
    assert_eq!(last("assert(1/3 = 2/6)"), "true");
    assert_eq!(last("0.1 + 0.2"), "3/10");
}

#[test]
fn numbers_and_functions_mix() {
    assert_eq!(last("ratency(1, 2) + 3"), last("3 + ratency(1, 2)"));
    assert_eq!(last("2 * ratency(1, 2)"), last("ratency(2, 2)"));
    assert_eq!(last("ratency(1, 2) /\\ 3"), last("ratency(1, 2) /\\ affine(0, 3)"));
    assert_eq!(last("-affine(1, 2)"), last("affine(-1, -2)"));
    assert_eq!(last("assert(ratency(1, 2) <= 3)"), "assertion failed: ratency(1, 2) <= 3");
    assert_eq!(last("assert(ratency(1, 2) >= 0)"), "true");
}

#[test]
fn expressions_name_values_and_limits() {
    let stair = "f := stair(0, 3, 7)\n";
    for (at, expected) in [
        ("0", "0"),
        ("0+", "7"),
        ("0~+", "7"),
        ("3", "7"),
        ("3~+", "14"),
        ("3-", "7"),
        ("1+2", "7"),
    ] {
        assert_eq!(last(&format!("{stair}f({at})")), expected, "{at}");
    }
    assert_eq!(error(&format!("{stair}f(0-)")).line, 2);
}

#[test]
fn closures_inverses_and_projections() {
    assert_eq!(last("star(ratency(3, 0) + 0)"), last("ratency(3, 0)"));
    assert_eq!(last("low_inv(ratency(3, 5))"), last("bucket(1/3, 5)"));
    assert_eq!(last("up_inv(ratency(3, 5))"), last("affine(1/3, 5)"));
    assert_eq!(last("left-ext(right-ext(stair(1, 2, 3)))"), last("stair(1, 2, 3)"));
    assert_eq!(last("nnupclosure(affine(-1, -3))"), last("zero"));
    assert_eq!(
        last("upclosure(uaf([(0,0)1(2,2)[ [(2,2)-1(3,1)[ [(3,1)1(+inf,+inf)[))"),
        last("uaf([(0,0)1(2,2)[ [(2,2)0(4,2)[ [(4,2)1(+inf,+inf)[)")
    );
    assert_eq!(last("hShift(ratency(1, 2), 3)"), last("ratency(1, 5)"));
    assert_eq!(last("hShift(ratency(1, 2), -1)"), last("ratency(1, 1)"));
    assert_eq!(last("zDev(ratency(2/5, 1), vShift(ratency(1, 2), -2))"), "8");
    assert_eq!(last("floor(affine(1/2, 0))"), last("right-ext(stair(2, 2, 1))"));
    assert_eq!(last("ceil(affine(1/2, 0))"), last("stair(0, 2, 1)"));
    assert_eq!(last("floor(-affine(1/2, 0))"), last("-stair(0, 2, 1)"));
    assert_eq!(
        last("gcd(12, 18) + lcm(4, 6) + pow(2, -1) + abs(-3) + floor(-1/2) + ceil(1/2)"),
        "43/2"
    );
}

#[test]
fn segments_make_curves() {
    assert_eq!(
        last("uaf( [(0,-3)1(1,-2)[ [(1,-2)2(7,10)[ [(7,10)0(+inf,10)[ )"),
        "uaf([(0, -3) 1 (1, -2)[ [(1, -2) 2 (7, 10)[ [(7, 10) 0 (+inf, 10)[)"
    );
    let stair = "upp( period( [(0, 0)] ](0, 1) 0 (1, 1)[ ), 1, 1)";
    assert_eq!(last(stair), last("stair(0, 1, 1)"));
    let cases = [
        ("upp( period( [(0, 0) 0 (2, 0)[ [(2, 0) 1 (7, 5)] ](7, 5) 0 (12, 5)[ ))", "26", "10"),
        (
            "upp( [(0, +Infinity) 0 (6, +Infinity)], period (](6, 0) 0 (10.5, 0)[ [(10.5, +Infinity) 0 (18, +Infinity)]), 0, 12)",
            "19",
            "0",
        ),
        (
            "upp( [(0, +Infinity) 0 (6, +Infinity)], period (](6, 0) 0 (10.5, 0)[ [(10.5, +Infinity) 0 (18, +Infinity)]), 0, 12)",
            "18",
            "+inf",
        ),
        ("upp( [(0, 0)(1, 3)[, period( [(1, 3)(3, 4)[ ))", "5", "5"),
        ("a := 2\nb := 1/2\nupp(period([(0, 0) b (a, a/2)[))", "5", "5/2"),
    ];
    for (text, at, expected) in cases {
        let (before, curve) = text.rsplit_once('\n').unwrap_or(("", text));
        assert_eq!(last(&format!("{before}\nf := {curve}\nf({at})")), expected, "{text}");
    }
}

#[test]
fn wrong_segments_are_named() {
    let message = |text: &str| error(text).message;
    assert_eq!(message("uaf([(0,0)1(2,3)[)"), "the segment leads to 2, not to 3");
    assert_eq!(
        message("uaf([(0,0)1(2,2)[ [(3,2)0(+inf,2)[)"),
        "the segment starts at 3, but the ones before it end at 2"
    );
    assert_eq!(message("uaf([(0,0)1(2,2)[ ](2,2)0(+inf,2)[)"), "there is no value at 2");
    assert_eq!(message("uaf([(0,0)1(2,2)] [(2,5)0(+inf,5)[)"), "the values 2 and 5 at 2 disagree");
    assert_eq!(message("uaf([(0,0)1(2,2)[)"), "the last segment of `uaf` must continue to +inf");
    assert_eq!(
        message("upp(period([(0,0)0(+inf,0)[))"),
        "a period has an end: it cannot continue to +inf"
    );
}

#[test]
fn plots_and_texts_are_handed_out() {
    let program = "J := 3\nf1 := ratency(1, 2)\nplot(f1, main=\"f1 for J=\" + J + \" Jitter\", \
                   xlim=[-0.5, 1/3], out = \"image\")\nprintExpression(f1)";
    let outputs = run(program).expect("outputs");
    let Some(Output::Plot { tikz: false, functions, options }) = outputs.get(2) else {
        panic!("no plot: {outputs:?}");
    };
    assert_eq!(functions, &[("f1".to_owned(), Curve::rate_latency(1, 2).expect("a curve"))]);
    let expected = [("main", "f1 for J=3 Jitter"), ("xlim", "[-1/2,1/3]"), ("out", "image")];
    assert_eq!(options, &expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(outputs.get(3), Some(&Output::Text("ratency(1, 2)".to_owned())));
}

/// Names that begin like infinity are variables in plot options, as they are everywhere else.
#[test]
fn a_variable_of_a_plot_option_may_begin_with_inf() {
    let program = "inflow := 3\nf := ratency(1, 2)\nplot(f, main=\"J=\" + inflow, xlim=[0, inf])";
    let outputs = run(program).expect("outputs");
    let Some(Output::Plot { options, .. }) = outputs.last() else {
        panic!("no plot: {outputs:?}");
    };
    let expected = [("main", "J=3"), ("xlim", "[0,inf]")];
    assert_eq!(options, &expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn an_operator_goes_on_with_the_line_before() {
    let program = "f := affine(2, 3) // wrapped\n  /\\ affine(1, 5) % twice\n* zero\nf(0)";
    assert_eq!(printed(program), ["f", "3"]);
    let wrong = error("f := affine(2, 3) // wrapped\n  /\\ affine(1, g)");
    assert_eq!((wrong.line, wrong.column), (2, 16));
    assert_eq!(error("f := 1\n* 2 $").line, 2);
    assert_eq!(error("f := 1\n* 2\n\ng").line, 4);
}

#[test]
fn errors_say_where() {
    let at = |program: &str, line: usize, column: usize, part: &str| {
        let error = error(program);
        assert_eq!((error.line, error.column), (line, column), "{program}: {error}");
        assert!(error.message.contains(part), "{program}: {error}");
    };
    at("f := ratency(4, 3)\n\nf + nothing", 3, 5, "`nothing` is not known");
    at("ratency(-4, 3)", 1, 1, "the rate of a rate-latency curve is -4");
    at("ratency(4)", 1, 1, "`ratency` lacks its argument 2");
    at("zero(1)", 1, 1, "there is no function `zero`");
    at("delay(1, 2)", 1, 1, "takes 1 arguments, not 2");
    at("1 + * 2", 1, 5, "expected a value");
    at("(1 + 2", 1, 7, "expected `)`");
    at("1 2", 1, 3, "after the end of the statement");
    at("  1 / 0", 1, 5, "divided by zero");
    at("f := 1 $ 2", 1, 8, "`$` has no meaning");
    at("plot(f, main=\"x", 1, 14, "no closing quote");
    at("1..2", 1, 1, "not a number");
    at("inv(affine(-1, 0))", 1, 1, "falls at time 0");
    at("uaf((0,0))", 1, 5, "expected a segment");
    at("é", 1, 1, "no meaning");
    at("x := pow(10, 1000)\npow(x, 1000)", 2, 1, "more than 16384 bits");
    at(&"(".repeat(100_000), 1, 201, "nested deeper");
    at(&format!("1{}", "+1".repeat(5000)), 1, 2002, "more than 1000 operators");
}

#[test]
fn a_failed_line_keeps_the_variables() {
    let mut session = Session::new();
    session.execute("x := 1").expect("an assignment");
    session.execute("x := x +").expect_err("an error");
    let error = session.execute("y").expect_err("an error");
    assert_eq!(error.line, 3);
    assert_eq!(session.execute("x").expect("a value").map(|o| o.to_string()), Some("1".into()));
    assert_eq!(session.names().collect::<Vec<_>>(), ["x"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::with_cases(256) })]

    /// Runs arbitrary texts: each yields outputs, or an error with a position inside of the text.
    #[test]
    fn any_text_is_answered(text in "[a-c0-9/*+\\-\\\\()\\[\\],.:=~ >\"#_^é\n]{0,40}") {
        if let Err(error) = run(&text) {
            let lines: Vec<&str> = text.lines().collect();
            prop_assert!((1..=lines.len()).contains(&error.line));
            prop_assert!(error.column >= 1);
            prop_assert!(error.column <= lines[error.line - 1].chars().count() + 1);
        }
    }

    /// Formats curves and parses them again.
    #[test]
    fn curves_round_trip(
        parts in prop::collection::vec((1_i64..4, -3_i64..4, -3_i64..4, -2_i64..3), 1..5),
        first in 0_usize..5,
        increment in -2_i64..3,
        is_affine: bool,
    ) {
        let mut t = 0;
        let mut pieces = Vec::new();
        for (width, at, after, slope) in parts {
            pieces.push(crate::Piece::new(t, at, after, crate::Rational::ratio(slope, 2)));
            t += width;
        }
        let start = pieces[first % pieces.len()].start().clone();
        let length = crate::Rational::from(t) - &start;
        let curve = if is_affine {
            Curve::ultimately_affine(pieces).expect("a curve")
        } else {
            let increment = crate::Rational::from(increment);
            let period = crate::Period { start, length, increment };
            Curve::pseudo_periodic(pieces, period).expect("a curve")
        };
        prop_assert_eq!(function(&to_mppg(&curve)), curve);
    }
}

#[test]
fn functions_are_compared_strictly_where_one_is_below_somewhere() {
    let program = "
        f := ratency(2, 3)
        g := ratency(2, 2)
        h := bucket(1, 1)
        assert ( f < g )
        assert(g > f)
        assert(f < f)
        assert(g < f)
        assert(f < h)
        assert(h > zero)
    ";
    let outputs = super::run(program).expect("a program");
    let held: Vec<bool> = outputs
        .iter()
        .filter_map(|output| match output {
            super::Output::Assertion { holds, .. } => Some(*holds),
            _ => None,
        })
        .collect();
    // `f < h` fails although `f` is below `h` at first: the rate-latency curve overtakes the
    // bucket.
    assert_eq!(held, [true, true, false, false, false, true]);
}

#[test]
fn long_lines_are_read_once() {
    let brackets = 100_000;
    for line in [
        "(".repeat(brackets),
        format!("f := {}1{}", "(".repeat(brackets), ")".repeat(brackets)),
        format!("[{}", "(0,0)".repeat(brackets)),
        format!("f := 1{}", "\n+1".repeat(brackets).replace('+', "*")),
    ] {
        let error = super::run(&line).expect_err("too deep or too long");
        assert!(error.message.len() < 300, "{}", error.message);
    }
    let digits = "7".repeat(100_000);
    for line in
        [digits.clone(), format!("f {digits}"), format!("f{digits}"), format!("f := \"{digits}\"")]
    {
        let error = super::run(&line).expect_err("not a program");
        assert!(error.message.len() < 300, "{}", &error.message[..300]);
    }
    // Columns count characters, not bytes.
    let error = super::run("f := ratency(1, 2)\ng := f ∧ zero ∧  !").expect_err("no operator");
    assert_eq!((error.line, error.column), (2, 18));
}
