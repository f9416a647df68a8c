//! Tests of the search for the loss-free rate, the highest answer rate and the knee. Functions take
//! the place of the systems under test.

use proptest::prelude::*;

use super::*;

const WORDING: Wording =
    Wording { system: "system", tester: "the tester", on_silence: " It may pause." };

pub(super) fn observation(rate: f64, loss: f64) -> Observation {
    Observation {
        offered_rate: rate,
        received_rate: rate * (1.0 - loss),
        wanted: 1_000,
        loss: Some(loss),
        proven_loss: loss,
        excusable_loss: 0.0,
        rtt_mean: Some(0.001),
        longest_gap: 0.0,
        falling_behind: false,
        backlogged: false,
        limited_by_tester: false,
        silent: false,
    }
}

/// Creates a search over the rates of a single source.
fn search_over(low: f64, high: f64, precision: f64, loss: f64) -> LossFreeSearch {
    LossFreeSearch::new(Range { low, high, precision, is_rough: false, loss, sources: 1 })
}

/// Returns a system that answers requests up to a capacity and drops the others.
fn capacity(capacity: f64) -> impl FnMut(f64) -> Observation {
    move |rate| observation(rate, (1.0 - capacity / rate).max(0.0))
}

/// Runs a search to its end, and returns the rates that it tried.
fn run(search: &mut LossFreeSearch, mut system: impl FnMut(f64) -> Observation) -> Vec<f64> {
    let mut rates = Vec::new();
    while let Some(rate) = search.next_rate() {
        rates.push(rate);
        search.observe(rate, &[system(rate)]);
    }
    rates
}

#[test]
fn rates_double_and_the_answers_under_overload_are_measured() {
    let mut search = search_over(100.0, 100_000.0, 0.1, 0.0);
    let rates = run(&mut search, capacity(700.0));
    let mut expected = vec![100.0, 200.0, 400.0, 800.0];
    expected.extend([1.1 * 700.0; 5]);
    expected.extend([0.99 * 700.0; 2]);
    expected.extend([1.05 * 700.0; 2]);
    // One rate above is tried, since more might be answered there.
    expected.push(1600.0);
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
    assert!(rates.len() == expected.len() && rates.iter().zip(&expected).all(near), "{rates:?}");
    let result = search.result(&WORDING);
    let free = result.loss_free_rate.expect("found");
    assert!((free - 693.0).abs() < 1e-6, "{result:?}");
    assert!(result.lossy_rate.is_some_and(|lossy| (lossy - 700.0).abs() < 1e-6), "{result:?}");
    assert_eq!(result.confidence, Some(0.95));
    assert!((result.maximum_received_rate - 700.0).abs() < 1e-6, "{result:?}");
    assert!(!result.limited_by_tester);
    assert!(result.loss_free_method.contains("answered 700.0/s in 5 trials"), "{result:?}");
}

#[test]
fn repetitions_vote_and_totals_are_over_all_sources() {
    let range = Range {
        low: 100.0,
        high: 100_000.0,
        precision: 0.1,
        is_rough: false,
        loss: 0.0,
        sources: 16,
    };
    let mut search = LossFreeSearch::new(range);
    let mut system = capacity(16.0 * 700.0);
    while let Some(rate) = search.next_rate() {
        let good = system(16.0 * rate);
        search.observe(rate, &[good, good, good]);
    }
    let result = search.result(&WORDING);
    let (free, lossy) = (result.loss_free_rate.expect("one"), result.lossy_rate.expect("one"));
    assert!((free - 0.99 * 11_200.0).abs() < 1e-6 && (lossy - 11_200.0).abs() < 1e-6, "{result:?}");
}

#[test]
fn where_overload_shows_no_rate_fresh_votes_decide_at_both_ends() {
    // The system loses one request in a hundred above 380 per second, regardless of its
    // capacity.
    let mut search = search_over(100.0, 100_000.0, 0.05, 0.0);
    run(&mut search, |rate| observation(rate, if rate > 380.0 { 0.01 } else { 0.0 }));
    let result = search.result(&WORDING);
    let (free, lossy) = (result.loss_free_rate.expect("one"), result.lossy_rate.expect("one"));
    assert!(free <= 380.0 && 380.0 < lossy && lossy - free <= 0.05 * lossy, "{result:?}");
    assert_eq!(result.confidence, Some(0.95));
    assert!(result.loss_free_method.contains("six of six"), "{}", result.loss_free_method);
}

#[test]
fn disturbed_trials_are_repeated_and_the_result_says_so() {
    let disturbed =
        |rate| Observation { excusable_loss: 0.2, proven_loss: 0.0, ..observation(rate, 0.1) };
    // From time to time, two trials in a row are disturbed.
    let mut search = search_over(100.0, 100_000.0, 0.05, 0.0);
    let (mut system, mut trial) = (capacity(700.0), 0);
    let rates = run(&mut search, |rate| {
        trial += 1;
        if trial % 5 < 2 { disturbed(rate) } else { system(rate) }
    });
    let result = search.result(&WORDING);
    let free = result.loss_free_rate.expect("found");
    assert!((665.0..=700.0).contains(&free), "{result:?}");
    assert!(result.disturbed_trials as usize >= rates.len() / 5, "{result:?}");
    assert!(result.loss_free_method.contains("were repeated"), "{}", result.loss_free_method);
    assert!(!result.limited_by_tester);
    // If the host pauses in every trial above a rate, the host lowers the result.
    let mut search = search_over(100.0, 100_000.0, 0.05, 0.0);
    let mut at_300 = 0;
    run(&mut search, |rate| {
        at_300 += u32::from(rate == 400.0);
        if rate > 300.0 { disturbed(rate) } else { observation(rate, 0.0) }
    });
    let result = search.result(&WORDING);
    assert_eq!(at_300, 1 + MAX_REPEATS);
    assert!(result.limited_by_tester && result.confidence.is_none(), "{result:?}");
    let method = &result.loss_free_method;
    assert!(method.contains("it is the host's pauses that lowered it"), "{method}");
}

#[test]
fn a_search_that_sees_no_loss_free_rate_goes_below_its_lowest() {
    let mut search = search_over(100.0, 100_000.0, 0.05, 0.0);
    let rates = run(&mut search, capacity(7.0));
    assert_eq!(rates.get(..5), Some([100.0, 50.0, 25.0, 12.5, 6.25].as_slice()), "{rates:?}");
    let result = search.result(&WORDING);
    let (free, lossy) = (result.loss_free_rate.expect("one"), result.lossy_rate.expect("one"));
    assert!(free <= 7.0 && 7.0 <= lossy * 1.000_001 && lossy - free < 0.4, "{result:?}");
}

#[test]
fn a_system_that_pauses_has_not_stopped() {
    // The system is silent at the end of every third trial.
    let silent = |rate| Observation { silent: true, ..observation(rate, 0.2) };
    let mut search = search_over(100.0, 100_000.0, 0.05, 0.0);
    let (mut system, mut trial) = (capacity(700.0), 0);
    run(&mut search, |rate| {
        trial += 1;
        if trial % 3 == 2 { silent(rate) } else { system(rate) }
    });
    let result = search.result(&WORDING);
    assert!(!search.has_stopped());
    assert!(
        result.loss_free_rate.is_some_and(|free| (665.0..=700.0).contains(&free)),
        "{result:?}"
    );
    assert!(result.loss_free_method.contains("It may pause."), "{}", result.loss_free_method);
    // A system that answers in no repetition has stopped.
    let mut search = search_over(100.0, 100_000.0, 0.05, 0.0);
    let rates = run(&mut search, |rate| match rate > 150.0 {
        true => silent(rate),
        false => observation(rate, 0.0),
    });
    assert_eq!(rates, [100.0, 200.0, 200.0, 200.0, 200.0]);
    assert!(search.has_stopped());
    assert_eq!(
        (search.result(&WORDING).loss_free_rate, search.result(&WORDING).confidence),
        (None, None)
    );
}

#[test]
fn points_without_trials_end_the_search_in_bounds() {
    let mut search = search_over(100.0, 1000.0, 0.1, 0.0);
    let mut points = 0;
    while let Some(rate) = search.next_rate() {
        search.observe(rate, &[]);
        points += 1;
    }
    assert_eq!(points, MAX_POINTS);
    assert_eq!(search.result(&WORDING).loss_free_rate, None);
}

#[test]
fn rates_that_are_not_met_exactly_change_nothing() {
    let mut exact = search_over(100.0, 100_000.0, 0.1, 0.0);
    let mut inexact = exact.clone();
    let rates = run(&mut exact, capacity(700.0));
    let mut system = capacity(700.0);
    let tried = run(&mut inexact, |rate| {
        let observed = system(rate);
        Observation { offered_rate: 1.03 * rate, ..observed }
    });
    assert_eq!(rates, tried);
    assert!(
        inexact.result(&WORDING).loss_free_rate.is_some_and(|free| (free - 693.0).abs() < 1e-6)
    );
}

#[test]
fn the_search_looks_closer_where_the_knee_is() {
    // The knee lies far below the first loss, in a range that only the doublings have covered.
    let mut search = search_over(10.0, 100_000.0, 0.05, 0.0);
    let mut system = capacity(50_000.0);
    let rates = run(&mut search, |rate| Observation {
        rtt_mean: Some(1e-3 * (1.0 + (rate / 1000.0).powi(4))),
        ..system(rate)
    });
    // The elasticity of the response time is 1 where 3 x^4 = 1.
    let expected = 1000.0 * (1.0f64 / 3.0).powf(0.25);
    let knee = search.result(&WORDING).knee.found.expect("a knee").rate;
    assert!((knee / expected - 1.0).abs() < 0.05, "{knee} instead of {expected}");
    assert!(rates.len() < MAX_POINTS / 2, "{rates:?}");
}

#[test]
fn tolerated_loss_is_no_loss() {
    let mut search = search_over(100.0, 100_000.0, 0.01, 0.1);
    run(&mut search, capacity(900.0));
    let rate = search.result(&WORDING).loss_free_rate.expect("found");
    assert!((990.0..=1000.0).contains(&rate), "{rate}");
}

#[test]
fn a_system_that_takes_everything_is_tried_up_to_the_highest_rate() {
    let mut search = search_over(100.0, 1000.0, 0.1, 0.0);
    let rates = run(&mut search, capacity(1e9));
    assert_eq!(rates, [100.0, 200.0, 400.0, 800.0, 1000.0, 1000.0]);
    let result = search.result(&WORDING);
    assert_eq!((result.loss_free_rate, result.lossy_rate), (Some(1000.0), None));
}

#[test]
fn a_system_that_loses_some_at_every_rate_is_given_up_where_too_few_packet_ins_are_due() {
    let mut search = search_over(100.0, 100.0, 0.1, 0.0);
    let rates = run(&mut search, |rate| Observation {
        wanted: (10.0 * rate) as u64,
        ..observation(rate, 0.1)
    });
    assert_eq!(rates, [100.0, 50.0, 25.0, 12.5, 6.25, 3.125, 1.5625]);
    let result = search.result(&WORDING);
    assert_eq!((result.loss_free_rate, result.confidence), (None, None), "{result:?}");
    assert!(
        result.loss_free_method.contains("No rate was loss-free, down to 1.562/s"),
        "{result:?}"
    );
}

#[test]
fn a_system_that_never_answers_ends_the_search() {
    let mut dead = search_over(100.0, 1000.0, 0.1, 0.0);
    let silent = |rate| Observation { silent: true, ..observation(rate, 1.0) };
    assert_eq!(run(&mut dead, silent), [100.0; 4]);
    let result = dead.result(&WORDING);
    assert_eq!((result.maximum_received_rate, result.maximum_at_rate), (0.0, None));
}

#[test]
fn a_trial_without_packets_is_no_success() {
    let mut search = search_over(100.0, 1000.0, 0.1, 1.0);
    run(&mut search, |rate| Observation { loss: None, ..observation(rate, 0.0) });
    assert_eq!(search.result(&WORDING).loss_free_rate, None);
}

#[test]
fn one_bad_trial_does_not_hide_the_capacity() {
    for bad in 0..12 {
        let mut search = search_over(100.0, 100_000.0, 0.05, 0.0);
        let mut system = capacity(700.0);
        let mut trial = 0;
        run(&mut search, |rate| {
            trial += 1;
            if trial - 1 == bad { observation(rate, 0.5) } else { system(rate) }
        });
        let rate = search.result(&WORDING).loss_free_rate.expect("found");
        assert!((665.0..=700.0).contains(&rate), "bad trial {bad}: {rate}");
    }
}

#[test]
fn one_lucky_trial_does_not_raise_the_capacity() {
    for lucky in 0..12 {
        let mut search = search_over(100.0, 100_000.0, 0.05, 0.0);
        let mut system = capacity(700.0);
        let mut trial = 0;
        run(&mut search, |rate| {
            trial += 1;
            if trial - 1 == lucky { observation(rate, 0.0) } else { system(rate) }
        });
        let rate = search.result(&WORDING).loss_free_rate.expect("found");
        assert!((665.0..=700.0).contains(&rate), "lucky trial {lucky}: {rate}");
    }
}

#[test]
fn the_limit_of_the_probe_is_not_that_of_the_system() {
    let mut search = search_over(100.0, 100_000.0, 0.1, 0.0);
    run(&mut search, |rate| Observation {
        limited_by_tester: rate > 500.0,
        ..observation(rate, 0.0)
    });
    let result = search.result(&WORDING);
    assert!(result.limited_by_tester);
    assert_eq!(result.lossy_rate, None);
    let rate = result.loss_free_rate.expect("found");
    assert!((450.0..=500.0).contains(&rate), "{rate}");
}

/// Runs a search against a system that answers `answered(rate)` requests per second at the offered
/// rate `rate`. Returns the loss-free rate, the highest answer rate, and the offered rate at which
/// it occurred.
fn maximum(answered: impl Fn(f64) -> f64) -> (Option<f64>, f64, f64) {
    let mut search = search_over(10.0, 100_000.0, 0.05, 0.0);
    let rates = run(&mut search, |rate| observation(rate, 1.0 - answered(rate) / rate));
    assert!(rates.len() < MAX_POINTS * 3 / 4, "{rates:?}");
    let result = search.result(&WORDING);
    let at = result.maximum_at_rate.expect("something is answered");
    (result.loss_free_rate, result.maximum_received_rate, at)
}

#[test]
fn the_maximum_is_searched_for_beyond_the_loss_free_rate() {
    // The system loses one request in a hundred above 380 per second, and answers up to
    // 3,500.
    let (free, most, at) = maximum(|rate| match rate {
        ..380.0 => rate,
        _ => (0.99 * rate).min(3500.0),
    });
    assert!(free.is_some_and(|free| (350.0..380.0).contains(&free)), "{free:?}");
    assert!((3400.0..=3500.1).contains(&most), "{most}");
    assert!(at >= 3400.0, "{at}");
}

#[test]
fn the_maximum_of_a_system_that_collapses_is_at_its_peak() {
    // The system spends time on requests in excess of its capacity as well.
    let (free, most, at) = maximum(|rate| rate.min(1000.0 * (1000.0 / rate).powi(2)));
    assert!(free.is_some_and(|free| (940.0..=1000.0).contains(&free)), "{free:?}");
    assert!((940.0..=1000.0).contains(&most) && (940.0..=1060.0).contains(&at), "{most} at {at}");
    // The collapse lies between two doublings, far above the first loss.
    let (free, most, at) = maximum(|rate| match rate {
        ..500.0 => rate,
        ..3000.0 => 0.999 * rate,
        _ => 100.0,
    });
    assert!(free.is_some_and(|free| free < 500.0), "{free:?}");
    assert!((2500.0..=3000.0).contains(&most) && at <= 3000.0, "{most} at {at}");
}

#[test]
fn rates_that_failed_are_no_part_of_the_knee() {
    // The response time bends at 395 per second, above the loss-free rate of 320.
    let mut search = search_over(10.0, 100_000.0, 0.05, 0.0);
    run(&mut search, |rate| Observation {
        rtt_mean: Some(1e-3 * (1.0 + (rate / 520.0).powi(4))),
        ..observation(rate, if rate > 320.0 { 0.01 } else { 0.0 })
    });
    let result = search.result(&WORDING);
    let free = result.loss_free_rate.expect("found");
    assert!((300.0..=320.0).contains(&free), "{free}");
    assert_eq!(result.knee.found.map(|knee| knee.rate), None, "{}", result.knee.method);
    // A failed trial at a passed rate is left out as well.
    let mut search = search_over(100.0, 1e6, 0.02, 0.0);
    while let Some(rate) = search.next_rate() {
        let load = rate / 10_000.0;
        let good = match load < 1.0 {
            true => Observation { rtt_mean: Some(1e-4 / (1.0 - load)), ..observation(rate, 0.0) },
            false => observation(rate, 1.0 - 1.0 / load),
        };
        let bad = Observation { rtt_mean: Some(3.0), ..observation(rate, 0.5) };
        let mut observations = [good; 10];
        observations[4] = bad;
        search.observe(rate, &observations);
    }
    let knee = search.result(&WORDING).knee.found.expect("a knee").rate;
    assert!((knee / 5000.0 - 1.0).abs() < 0.1, "{knee}");
}

#[test]
fn the_knee_leaves_out_trials_with_a_backlog() {
    let mut search = search_over(100.0, 1e6, 0.02, 0.0);
    while let Some(rate) = search.next_rate() {
        let load = rate / 10_000.0;
        let good = match load < 1.0 {
            true => Observation { rtt_mean: Some(1e-4 / (1.0 - load)), ..observation(rate, 0.0) },
            false => observation(rate, 1.0 - 1.0 / load),
        };
        // This trial passes, but its response time depends on the length of the trial.
        let backlogged = Observation { rtt_mean: Some(3.0), backlogged: true, ..good };
        search.observe(rate, &[good, backlogged, good]);
    }
    let knee = search.result(&WORDING).knee.found.expect("a knee").rate;
    assert!((knee / 5000.0 - 1.0).abs() < 0.1, "{knee}");
}

#[test]
fn a_rough_search_tries_each_rate_once_and_states_no_confidence() {
    let rough = Range {
        low: 100.0,
        high: 100_000.0,
        precision: 0.25,
        is_rough: true,
        loss: 0.0,
        sources: 1,
    };
    let mut search = LossFreeSearch::new(rough);
    let rates = run(&mut search, capacity(1200.0));
    assert!(rates.len() <= 10, "{rates:?}");
    let mut once = rates.clone();
    once.sort_by(f64::total_cmp);
    once.dedup();
    assert_eq!(once.len(), rates.len(), "{rates:?}");
    let result = search.result(&WORDING);
    assert_eq!((result.loss_free_rate, result.lossy_rate), (Some(1200.0), Some(1600.0)));
    assert_eq!(result.confidence, None);
    assert!(result.loss_free_method.contains("one trial at each rate"), "{result:?}");
}

#[test]
fn a_search_finds_the_knee_on_its_way() {
    let mut search = search_over(100.0, 1e6, 0.02, 0.0);
    run(&mut search, |rate| {
        let load = rate / 10_000.0;
        match load < 1.0 {
            true => Observation { rtt_mean: Some(1e-4 / (1.0 - load)), ..observation(rate, 0.0) },
            false => Observation { rtt_mean: Some(1.0), ..observation(rate, 1.0 - 1.0 / load) },
        }
    });
    let result = search.result(&WORDING);
    let knee = result.knee.found.map(|knee| knee.rate).expect("a knee");
    assert!((knee / 5000.0 - 1.0).abs() < 0.1, "{knee}");
    assert!(result.knee.method.contains("Kleinrock"), "{}", result.knee.method);
    let (low, high) = (
        result.knee.found.map(|knee| knee.low).expect("one"),
        result.knee.found.map(|knee| knee.high).expect("one"),
    );
    assert!(low < 5000.0 && 5000.0 < high && high < 1.5 * low, "{low} to {high}");
}

proptest! {
    #[test]
    fn every_search_ends_in_bounds(
        low in 1.0f64..1e4,
        factor in 1.0f64..1e4,
        precision in 0.0f64..1.0,
        luck in proptest::collection::vec(any::<bool>(), MAX_POINTS),
    ) {
        let high = low * factor;
        let mut search = search_over(low, high, precision, 0.0);
        let mut luck = luck.into_iter();
        let rates = run(&mut search, |rate| {
            observation(rate, if luck.next().unwrap_or(true) { 0.0 } else { 0.1 })
        });
        prop_assert!(rates.len() <= MAX_POINTS);
        for rate in &rates {
            prop_assert!((low / 1024.0..=high).contains(rate));
        }
        let result = search.result(&WORDING);
        if let (Some(free), Some(lossy)) = (result.loss_free_rate, result.lossy_rate) {
            prop_assert!(free < lossy);
        }
    }

    #[test]
    fn no_knee_is_above_the_loss_free_rate(
        bend in 20.0f64..2e4,
        lossy in 20.0f64..2e4,
        noise in proptest::collection::vec(0.7f64..1.4, MAX_POINTS),
    ) {
        let mut search = search_over(10.0, 1e5, 0.05, 0.0);
        let mut noise = noise.into_iter();
        run(&mut search, |rate| Observation {
            rtt_mean: Some(noise.next().unwrap_or(1.0) * (1.0 + (rate / bend).powi(3))),
            ..observation(rate, if rate > lossy { 0.02 } else { 0.0 })
        });
        let result = search.result(&WORDING);
        let free = result.loss_free_rate.expect("above the lowest rate");
        if let Some(KneeRates { rate: knee, low, high }) = result.knee.found {
            prop_assert!(low <= knee && knee <= high && high <= free * 1.000_001, "{result:?}");
        }
    }

    #[test]
    fn the_capacity_is_found_within_the_precision(
        capacity_of in 150.0f64..9e4,
        precision in 0.005f64..0.5,
    ) {
        let mut search = search_over(100.0, 1e5, precision, 0.0);
        let rates = run(&mut search, capacity(capacity_of));
        prop_assert!(rates.len() < MAX_POINTS / 2);
        let result = search.result(&WORDING);
        let free = result.loss_free_rate.expect("above the lowest rate");
        let lossy = result.lossy_rate.expect("below the highest rate");
        prop_assert!(free <= capacity_of && capacity_of <= lossy * 1.000_001);
        prop_assert!(lossy - free <= precision * lossy * 1.000_001);
    }
}
