//! Tests of comparisons of results: which results are comparable, the intervals of differences, and
//! judged conditions.

use provenance::Provenance;
use statistics::{Condition, Estimate, Unit};

use super::*;
use crate::results::Machine;

fn quantity(place: &str, metric: &str, values: &[f64]) -> Quantity {
    let estimate = Estimate::of(values).expect("values");
    Quantity {
        subject: String::new(),
        place: place.to_owned(),
        dimensions: Default::default(),
        across: None,
        metric: metric.to_owned(),
        unit: Unit::Seconds,
        value: estimate.mean,
        spread: Spread::Repetitions(estimate),
        more_is_better: Some(false),
        headline: true,
        doubt: None,
    }
}

fn result(name: &str, figures: Vec<Quantity>) -> Recorded {
    Recorded {
        name: name.to_owned(),
        kind: Kind::Program,
        about: "a program".to_owned(),
        started_at: String::new(),
        partial: None,
        machine: Some(Machine { hostname: "h".to_owned(), processor: "p".to_owned(), cores: 2 }),
        settings: [("load".to_owned(), "0.5".to_owned())].into(),
        pipelines: Default::default(),
        figures,
    }
}

fn pair(before: &[f64], after: &[f64]) -> [Recorded; 2] {
    [
        result("a", vec![quantity("x", "p50", before)]),
        result("b", vec![quantity("x", "p50", after)]),
    ]
}

fn judged(results: &[Recorded], condition: &str) -> Outcome {
    let comparison = Comparison::new(results, &[]).expect("comparable").expect("two");
    let metrics = [("p50", Unit::Seconds), ("rate", Unit::PerSecond)];
    let condition = Condition::parse(condition, metrics.into_iter(), true).expect("a condition");
    judge(&comparison, &[condition]).remove(0)
}

#[test]
fn a_gate_judges_the_change_and_says_whether_it_is_certain() {
    let slower = pair(&[1.00, 1.01, 0.99], &[1.20, 1.21, 1.19]);
    let outcome = judged(&slower, "p50 < +10%");
    assert!(!outcome.held && outcome.figure.expect("there").certain);
    assert!(judged(&slower, "p50 < +30%").held && judged(&slower, "p50 < 2s").held);
    assert!(!judged(&slower, "p50 < 1100ms").held);
    let noisy = pair(&[1.0, 1.4, 0.6], &[1.05, 1.5, 0.6]);
    let outcome = judged(&noisy, "p50 < +10%");
    assert!(outcome.held && !outcome.figure.as_ref().expect("there").certain, "{outcome:?}");
    assert!(outcome.found().contains("contains the limit"), "{}", outcome.found());
}

#[test]
fn a_figure_that_is_not_there_fails_its_condition() {
    let results = pair(&[1.0, 1.0], &[1.0, 1.0]);
    let outcome = judged(&results, "rate > -5%");
    assert!(!outcome.held && outcome.figure.is_none());
    assert!(outcome.found().contains("no such figure"));
}

#[test]
fn other_kinds_machines_and_settings_are_refused_unless_allowed() {
    let refused = |change: &dyn Fn(&mut Recorded), despite: &[Agreement]| {
        let mut results = pair(&[1.0, 1.1], &[1.0, 1.1]);
        change(&mut results[1]);
        Comparison::new(&results, despite).map(|_| ()).map_err(|error| error.to_string())
    };
    let kind = refused(
        &|other| other.kind = Kind::Bounds,
        &[Agreement::Machine, Agreement::Configuration],
    );
    assert!(kind.expect_err("another kind").contains("compare results of one verb"));
    let cores = |other: &mut Recorded| other.machine.as_mut().expect("a machine").cores = 8;
    let error = refused(&cores, &[Agreement::Configuration]).expect_err("another machine");
    assert!(
        error.contains("8 cores") && error.contains("; --despite machine compares them"),
        "{error}"
    );
    assert_eq!(refused(&cores, &[Agreement::Machine]), Ok(()));
    let load =
        |other: &mut Recorded| drop(other.settings.insert("load".to_owned(), "1".to_owned()));
    let error = refused(&load, &[]).expect_err("other settings");
    assert!(error.contains("load is 0.5 in a and 1 in b"), "{error}");
    assert_eq!(refused(&load, &[Agreement::Configuration]), Ok(()));
    // One side ran over OpenFlow and has no pipeline. Different protocols may be compared.
    let ran = |other: &mut Recorded| other.pipelines = ["basic".to_owned()].into();
    assert_eq!(refused(&ran, &[]), Ok(()));
    let place = |other: &mut Recorded| other.figures[0].place = "y".to_owned();
    assert!(refused(&place, &[]).expect_err("another place").contains("no place in common"));
    // Another host name with the same processor counts as the same machine.
    let name =
        |other: &mut Recorded| other.machine.as_mut().expect("one").hostname = "i".to_owned();
    assert_eq!(refused(&name, &[]), Ok(()));
}

#[test]
fn results_of_different_pipelines_are_refused_with_what_to_do() {
    let compared = |base: &[&str], other: &[&str]| {
        let mut results = pair(&[1.0, 1.1], &[1.0, 1.1]);
        for (result, pipelines) in results.iter_mut().zip([base, other]) {
            result.pipelines = pipelines.iter().map(|name| (*name).to_owned()).collect();
        }
        Comparison::new(&results, &[]).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(compared(&["basic"], &["basic"]), Ok(()));
    let error = compared(&["basic"], &["tunnel"]).expect_err("different");
    assert!(error.contains("a ran basic, b ran tunnel") && error.contains("--between"), "{error}");
    // If the trials of one run used several pipelines, the run has no single pipeline to compare.
    let both = ["basic", "tunnel"];
    let error = compared(&both, &both).expect_err("several");
    assert!(error.contains("a ran basic and tunnel, b ran basic and tunnel"), "{error}");
}

#[test]
fn an_allowed_difference_is_stated() {
    let mut results = pair(&[1.0, 1.1], &[1.0, 1.1]);
    results[1].settings.clear();
    let comparison = Comparison::new(&results, &[Agreement::Configuration]);
    let comparison = comparison.expect("comparable").expect("two");
    assert_eq!(comparison.others[0].doubts, ["load is 0.5 in a and nothing in b"]);
}

#[test]
fn single_subjects_are_compared_and_several_are_distinguished() {
    let of = |subject: &str| Quantity {
        subject: subject.to_owned(),
        ..quantity("x", "p50", &[1.0, 2.0])
    };
    let rows = |a: Vec<Quantity>, b: Vec<Quantity>| {
        let results = [result("a", a), result("b", b)];
        Comparison::new(&results, &[]).map(|found| found.expect("two").others[0].rows.len())
    };
    assert_eq!(rows(vec![of("openflow")], vec![of("p4runtime")]), Ok(1));
    assert_eq!(rows(vec![of("openflow"), of("p4runtime")], vec![of("p4runtime")]), Ok(1));
    assert!(rows(vec![of("openflow"), of("p4runtime")], vec![of("other")]).is_err());
}

/// Means over repetitions have the interval of Welch, and figures with intervals of their own have
/// that of Zou and Donner. A difference from a single value has no interval, and a difference of
/// computed values is exact.
#[test]
fn differences_have_the_interval_that_their_sides_allow() {
    let with = |value: f64, spread| Quantity { value, spread, ..quantity("x", "p50", &[value]) };
    let interval = |low, high| Spread::Interval { low, high };
    let change = Change::of(&with(10.0, interval(9.0, 12.0)), &with(20.0, interval(16.0, 21.0)));
    let (low, high) = change.interval.expect("an interval");
    assert!((low - (10.0 - 20.0_f64.sqrt())).abs() < 1e-12, "{low}");
    assert!((high - (10.0 + 2.0_f64.sqrt())).abs() < 1e-12, "{high}");
    assert!(change.is_shown());
    let unknown = Change::of(&with(1.0, Spread::Unknown), &with(2.0, interval(1.0, 3.0)));
    assert!(unknown.interval.is_none() && !unknown.is_shown());
    let exact = Change::of(&with(1.0, Spread::Exact), &with(1.0 + 1e-9, Spread::Exact));
    assert!(exact.is_shown(), "what is computed differs or not");
    let welch = Change::of(&quantity("x", "p50", &[1.0, 3.0]), &quantity("x", "p50", &[1.0, 3.0]));
    assert!(welch.interval.expect("one").1 > 2.0 && !welch.is_shown());
}

#[test]
fn a_bound_that_becomes_infinite_is_a_difference_and_breaks_limits() {
    let of = |name: &str, value: f64| {
        result(
            name,
            vec![Quantity { value, spread: Spread::Exact, ..quantity("f", "p50", &[1.0]) }],
        )
    };
    let infinite = f64::INFINITY;
    for (base, other, shown, words) in [
        (1.0, infinite, true, "now infinite"),
        (infinite, 1.0, true, "now finite"),
        (infinite, infinite, false, "0 %"),
    ] {
        let results = [of("a", base), of("b", other)];
        let comparison = Comparison::new(&results, &[]).expect("comparable").expect("two");
        let row = comparison.others[0].rows[0];
        assert_eq!(row.change.is_shown(), shown, "{base} {other}");
        assert_eq!(text::percent(row.change, row.base), words);
        let drawn = table(&comparison, &[], Layout { width: 80, colour: false });
        assert!(!drawn.contains("NaN"), "{drawn}");
        let condition = Condition::parse("p50 < +10%", [("p50", Unit::Seconds)].into_iter(), true);
        let judged = judge(&comparison, &[condition.expect("a condition")]);
        assert_eq!(judged[0].held, other.is_finite(), "{base} {other}");
    }
}

#[test]
fn words_are_whole_where_headings_are_wider_than_figures() {
    let places = ["baseline, 64 B, 1 rule", "five-tuple + set-nw-src, 64 B, 1 rule"];
    let of = |name: &str, value: f64| {
        let one = |place: &&str| Quantity {
            spread: Spread::Unknown,
            ..quantity(place, "delay(p99.9)", &[value, value])
        };
        result(name, places.iter().map(one).collect())
    };
    let results = [of("a", 48.5e-6), of("b", 49.0e-6)];
    let comparison = Comparison::new(&results, &[]).expect("comparable").expect("two");
    let text = table(&comparison, &[], Layout { width: 80, colour: false });
    assert!(text.contains("no interval") && !text.contains('…'), "{text}");
}

#[test]
fn pages_tables_and_files_say_the_same_and_keep_to_the_schema() {
    let mut results = pair(&[1.00, 1.01, 0.99], &[1.20, 1.21, 1.19]);
    results[1].name = "<b>".to_owned();
    let comparison = Comparison::new(&results, &[]).expect("comparable").expect("two");
    let outcomes = [Outcome {
        condition: "p50 < +10%".to_owned(),
        of: "<b>".to_owned(),
        figure: None,
        held: false,
    }];
    for width in [80, 100] {
        let layout = Layout { width, colour: false };
        let text = table(&comparison, &outcomes, layout) + &super::outcomes(&outcomes, layout);
        assert!(text.contains("+20.0 ± 2.3 %") && text.contains("higher"), "{text}");
        assert!(text.contains("FAIL") && text.lines().all(|line| line.chars().count() <= width));
    }
    let html = page(&comparison, &outcomes, &Provenance::default()).html();
    assert!(
        html.contains("+20.0 ± 2.3 %") && html.contains("&lt;b&gt;") && !html.contains("<b></")
    );
    assert_eq!(html.matches("<figure id=").count(), 1);
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let json = serde_json::from_str(&to_json(&comparison, &outcomes, &Provenance::default()))
        .expect("JSON");
    let faults: Vec<String> = validator.iter_errors(&json).map(|e| e.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let csv = to_csv(&comparison);
    assert_eq!(csv.lines().count(), 2);
    assert!(csv.lines().all(|line| line.split(',').count() == 14), "{csv}");
}
