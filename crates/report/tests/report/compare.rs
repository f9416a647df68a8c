//! Tests of the comparison of controller benchmarks as text: two results, sweeps, and results that
//! are not comparable.

use report::compare::Candidate;
use report::{Layout, compare};

use crate::support;

const LAYOUT: Layout = Layout { width: 100, colour: false };

#[test]
fn one_point_before_and_after_a_change() {
    let scenario = support::Scenario {
        rate: 2_000.0,
        repetitions: 5,
        measure_s: 5,
        ..support::Scenario::default()
    };
    let before = support::run(vec![support::point(&scenario)]);
    let after = support::run(vec![support::point(&support::Scenario {
        capacity: 28_000.0,
        cpu_per_thousand: 6.0,
        ..scenario.clone()
    })]);
    let candidates = [
        Candidate { name: "runs/before", result: &before },
        Candidate { name: "runs/after", result: &after },
    ];
    insta::assert_snapshot!(compare(&candidates, LAYOUT));
}

#[test]
fn sweeps_are_compared_point_by_point() {
    let (whole, mut part) = (support::rates(), support::rates());
    part.points.truncate(3);
    let candidates =
        [Candidate { name: "whole", result: &whole }, Candidate { name: "part", result: &part }];
    let text = compare(&candidates, LAYOUT);
    assert!(text.contains("12 places that only one of the two has are left out"), "{text}");
    assert!(text.contains("not shown") && !text.contains("higher"), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let narrow = compare(&candidates, Layout { width: 80, colour: false });
    for line in narrow.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn what_is_not_comparable_is_said() {
    let (whole, mut other) = (support::closed(), support::rates());
    other.points.truncate(2);
    let candidates =
        [Candidate { name: "a", result: &whole }, Candidate { name: "b", result: &other }];
    assert!(compare(&candidates, LAYOUT).contains("no place in common"));
    assert_eq!(compare(&[], LAYOUT), "nothing to compare\n");
}
