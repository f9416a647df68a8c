//! Tests the derivation of effects with the probes of a simulated switch: every fault is found,
//! every time is recovered, and no fault is reported of a switch that has none.
//!
//! Each test makes [`RUNS`] measurements with different seeds, of [`REQUESTS`] requests each.

mod made;

use dut::effects::{
    Assessment, Bracket, Gap, Percentile, Range, Silence, Summary, Timing, Transition,
};
use made::{Faults, MadeSwitch, RULES, Truth};

/// The number of measurements of each test.
const RUNS: u64 = 200;
/// The number of measurements that must find the fault, or recover its size: 95 %.
const ENOUGH: u64 = 190;
/// The number of requests of a measurement.
const REQUESTS: usize = 20;

/// A measurement of a simulated switch.
struct Run {
    summary: Summary,
    requests: Vec<(Assessment, Truth)>,
}

fn run(faults: Faults, seed: u64, silence: Silence) -> Run {
    let mut switch = MadeSwitch::new(faults, seed);
    let mut summary = Summary::default();
    let requests = (0..REQUESTS).map(|_| {
        let (observation, truth) = switch.request(silence);
        let found = observation.assess();
        summary.add(&found);
        (found, truth)
    });
    let requests = requests.collect();
    Run { summary, requests }
}

/// Counts the measurements for which `holds` is true.
fn count(faults: Faults, silence: Silence, holds: impl Fn(&Run) -> bool) -> u64 {
    (0..RUNS).filter(|seed| holds(&run(faults, *seed, silence))).count() as u64
}

#[track_caller]
fn assert_enough(faults: Faults, what: &str, holds: impl Fn(&Run) -> bool) {
    let held = count(faults, Silence::Neither, holds);
    assert!(held >= ENOUGH, "{what}: {held} of {RUNS} runs, {faults:?}");
}

/// Returns whether all rules changed once, and their brackets contain the moments of their changes.
fn has_true_brackets(run: &Run) -> bool {
    run.requests.iter().all(|(found, truth)| {
        found.transitions.iter().zip(&truth.changes).all(|(transition, change)| {
            transition
                .once()
                .is_some_and(|Bracket { after, until }| after < *change && *change <= until)
        })
    })
}

/// Returns whether the interval of the median contains a time.
fn has_median(times: &[Range], truth: i64) -> bool {
    let interval = Percentile::of(times, 0.5).and_then(|median| median.interval);
    interval.is_some_and(|interval| interval.contains(Gap(truth)))
}

#[test]
fn no_fault_is_reported_of_a_switch_that_has_none() {
    for path_loss in [0.0, 0.002] {
        let faults = Faults { path_loss, ..Faults::default() };
        let clean = count(faults, Silence::Neither, |run| {
            let found = &run.summary;
            (found.early, found.flapped, found.torn, found.unbounded) == (0, 0, 0, 0)
                && !found.losses.is_found()
                && !found.astray().is_found()
                && has_true_brackets(run)
        });
        assert_eq!(clean, RUNS);
    }
}

#[test]
fn every_time_of_a_request_lies_in_its_range() {
    let faults = Faults { torn: 70_000, ..Faults::default() };
    let recovered = count(faults, Silence::Neither, |run| {
        run.requests.iter().all(|(found, truth)| {
            let last = truth.changes.iter().max().expect("rules");
            let has = |range: Option<Range>, time: Gap| range.is_some_and(|one| one.contains(time));
            found.answered.contains(truth.answer.since(truth.request))
                && has(found.from_request(), last.since(truth.request))
                && has(found.from_answer(), last.since(truth.answer))
        })
    });
    assert_eq!(recovered, RUNS);
}

#[test]
fn brackets_are_about_as_wide_as_the_spacing_and_the_delay_of_probes() {
    let run = run(Faults::default(), 1, Silence::Neither);
    let widths: Vec<Range> =
        run.summary.widths.iter().map(|width| Range { least: *width, most: *width }).collect();
    assert_eq!(widths.len(), REQUESTS * RULES);
    let median = Percentile::of(&widths, 0.5).expect("enough").of_samples.most;
    // Probes of a rule are 20 us apart and take 6 to 16 us, some of them 20 us more.
    assert!((15_000..60_000).contains(&median.0), "{median:?}");
}

#[test]
fn an_early_answer_is_found_and_its_time_recovered() {
    for early in [60_000, 90_000] {
        let faults = Faults { early: Some(early), ..Faults::default() };
        assert_enough(faults, "found", |run| {
            run.summary.early > run.summary.rules / 2 && run.summary.late == 0
        });
        let size = i64::try_from(early).expect("short");
        assert_enough(faults, "median", |run| has_median(&run.summary.lags, size));
        assert_enough(faults, "each", |run| {
            run.requests.iter().all(|(found, truth)| {
                let true_sizes = truth.changes.iter().map(|change| change.since(truth.answer));
                found.timings().zip(true_sizes).all(|(timing, size)| match timing {
                    Timing::Early { by } => by.contains(size),
                    Timing::Undecided => true,
                    Timing::Late { .. } => false,
                })
            })
        });
    }
}

#[test]
fn a_late_answer_is_found_and_its_time_recovered() {
    for late in [100_000, 400_000] {
        let faults = Faults { late: Some(late), ..Faults::default() };
        assert_enough(faults, "found", |run| {
            run.summary.late > run.summary.rules * 9 / 10 && run.summary.early == 0
        });
        let size = -i64::try_from(late).expect("short");
        assert_enough(faults, "median", |run| has_median(&run.summary.lags, size));
    }
}

#[test]
fn a_torn_batch_is_found_and_its_gap_recovered() {
    for torn in [30_000, 200_000] {
        let faults = Faults { torn, ..Faults::default() };
        assert_enough(faults, "found", |run| run.summary.torn * 10 > run.summary.batches * 9);
        let gap = i64::try_from(torn * (RULES as u64 - 1)).expect("short");
        assert_enough(faults, "size", |run| {
            run.summary.spreads.iter().all(|spread| spread.contains(Gap(gap)))
        });
    }
}

/// A switch that applies a limited number of rules in a second shows it by the time that the rules
/// of a request take.
#[test]
fn a_cap_of_the_rate_is_recovered_from_the_spread_of_a_batch() {
    let faults = Faults { torn: 1_000_000_000 / 20_000, ..Faults::default() };
    assert_enough(faults, "rate", |run| {
        run.summary.spreads.iter().all(|spread| {
            let rate = |time: Gap| (RULES - 1) as f64 / time.as_seconds();
            rate(spread.most) <= 20_000.0 && 20_000.0 <= rate(spread.least)
        })
    });
}

#[test]
fn the_order_within_a_batch_is_recovered() {
    for (reversed, tau) in [(false, 1.0), (true, -1.0)] {
        let faults = Faults { torn: 100_000, reversed, ..Faults::default() };
        assert_enough(faults, "order", |run| {
            let [least, most] = run.summary.order().expect("batches");
            least <= tau && tau <= most && most - least < 0.1
        });
    }
}

#[test]
fn probes_that_are_lost_while_rules_change_are_found_and_counted() {
    let faults = Faults { lost: 2, ..Faults::default() };
    assert_enough(faults, "count", |run| {
        run.summary.losses.is_found()
            && run.summary.changes.lost == 2 * REQUESTS as u64
            && run.summary.control.lost == 0
    });
    let faults = Faults { lost: 4, path_loss: 0.0005, ..Faults::default() };
    assert_enough(faults, "beside losses of the path", |run| run.summary.losses.is_found());
}

#[test]
fn probes_that_leave_elsewhere_while_rules_change_are_found_and_counted() {
    let faults = Faults { elsewhere: 2, ..Faults::default() };
    assert_enough(faults, "count", |run| {
        run.summary.astray().is_found() && run.summary.changes.elsewhere == 2 * REQUESTS as u64
    });
}

#[test]
fn a_flap_is_found_and_its_length_recovered() {
    let length = 150_000;
    let faults = Faults { flap: Some(length), ..Faults::default() };
    assert_enough(faults, "found", |run| run.summary.flapped == run.summary.rules);
    let length = Gap(i64::try_from(length).expect("short"));
    assert_enough(faults, "length", |run| {
        let transitions = run.requests.iter().flat_map(|(found, _)| &found.transitions);
        transitions.into_iter().all(|transition| match transition {
            Transition::Flapped(flap) => {
                flap.changes == 3 && flap.back.is_some_and(|back| back.contains(length))
            }
            Transition::Once(_) | Transition::Unbounded => false,
        })
    });
}

/// Rules in one of whose states the switch drops packets are bracketed too.
#[test]
fn a_state_in_which_probes_are_dropped_is_bracketed() {
    for silence in [Silence::Old, Silence::New] {
        let clean = count(Faults::default(), silence, |run| {
            let found = &run.summary;
            has_true_brackets(run) && (found.flapped, found.early, found.unbounded) == (0, 0, 0)
        });
        assert_eq!(clean, RUNS, "{silence:?}");
        let faults = Faults { early: Some(90_000), ..Faults::default() };
        let found = count(faults, silence, |run| run.summary.early > run.summary.rules / 2);
        assert!(found >= ENOUGH, "{silence:?}: {found}");
    }
}
