//! Tests of the table that a controller benchmark prints on the terminal at its end.

use report::{Layout, table};

use crate::support;

const NARROW: Layout = Layout { width: 80, colour: false };
const WIDE: Layout = Layout { width: 120, colour: false };

#[test]
fn a_single_point() {
    insta::assert_snapshot!(table(&support::single(), NARROW));
}

#[test]
fn a_point_with_repetitions_at_which_the_controller_saturates() {
    insta::assert_snapshot!(table(&support::figure_7(), WIDE));
}

#[test]
fn the_verdict_on_several_trials_states_one_reason_and_its_share() {
    let mut run = support::figure_7();
    let trials = &mut run.points[0].trials;
    let (count, side) = (trials.len(), trials[0].verdict.saturated);
    for (place, trial) in trials.iter_mut().enumerate() {
        trial.verdict.saturated = side;
        trial.verdict.because = match place {
            0 => "Not everything left on time (send lag 3 ms at p99).".to_owned(),
            _ => format!("Nearly everything left on time (send lag {place} ms at p99)."),
        };
    }
    let text = table(&run, WIDE).split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = format!("In {} of {count} trials: Nearly everything left", count - 1);
    assert!(text.contains(&expected), "{text}");
    assert!(!text.contains("Not everything left"), "{text}");
}

#[test]
fn a_sweep_on_a_narrow_terminal() {
    insta::assert_snapshot!(table(&support::rates(), NARROW));
}

#[test]
fn a_sweep_on_a_wide_terminal() {
    insta::assert_snapshot!(table(&support::rates(), WIDE));
}

#[test]
fn a_search() {
    insta::assert_snapshot!(table(&support::search(), NARROW));
}

#[test]
fn a_run_in_which_no_switch_got_a_connection() {
    insta::assert_snapshot!(table(&support::failed(), NARROW));
}

#[test]
fn a_run_that_was_interrupted() {
    insta::assert_snapshot!(table(&support::partial(), NARROW));
}

#[test]
fn a_closed_loop() {
    insta::assert_snapshot!(table(&support::closed(), NARROW));
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let results = [
        support::single(),
        support::rates(),
        support::failed(),
        support::partial(),
        support::search(),
    ];
    for result in results {
        for width in [80, 81, 90, 100, 120, 200] {
            let text = table(&result, Layout { width, colour: false });
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn colour_only_on_request() {
    for result in [support::single(), support::failed(), support::rates()] {
        assert!(!table(&result, NARROW).contains('\u{1b}'));
        assert!(table(&result, Layout { colour: true, ..NARROW }).contains("\u{1b}["));
    }
}

#[test]
fn hostile_names_cannot_reach_the_terminal() {
    let result = support::hostile();
    for colour in [false, true] {
        let text = table(&result, Layout { width: 100, colour });
        assert!(
            !text.contains("\u{1b}[2J") && !text.contains('\u{7}') && !text.contains('\u{202e}')
        );
        assert!(text.contains('\u{fffd}'), "a sign of what was there");
    }
}
