//! Tests of the observations that a search for the loss-free rate derives from the results of
//! trials.

use measuring::search::{LossFreeSearch, Observation, Range};

use super::observation::of;
use super::{observations, outcome};
use crate::outcome::Saturated;

/// Creates a search over the rates of a single switch.
fn search_over(low: f64, high: f64, precision: f64, loss: f64) -> LossFreeSearch {
    LossFreeSearch::new(Range { low, high, precision, is_rough: false, loss, sources: 1 })
}

#[test]
fn a_trial_is_observed_by_its_metrics() {
    let mut trial = crate::metrics::tests::trial();
    trial.rates.offered = 1000.0;
    trial.rates.received = 900.0;
    trial.rates.loss = 0.1;
    trial.counts.due = 1000;
    trial.counts.sent = 1000;
    trial.counts.lost = 100;
    trial.counts.answered = 900;
    trial.rtt_from_due.samples = 900;
    trial.rtt_from_due.mean_ns = 2e6;
    trial.verdict.saturated = Saturated::Probe;
    let observed = of(&trial);
    let expected = Observation {
        received_rate: 900.0,
        loss: Some(0.1),
        proven_loss: 0.0,
        rtt_mean: Some(0.002),
        limited_by_tester: true,
        offered_rate: 1000.0,
        wanted: 1_000,
        excusable_loss: 0.0,
        longest_gap: 0.0,
        falling_behind: false,
        backlogged: false,
        silent: false,
    };
    assert_eq!(observed, expected);
    let mut search = search_over(62.5, 1000.0, 0.1, 0.1);
    search.observe(62.5, &observations(&[trial.clone(), trial.clone()]));
    let result = outcome(&search);
    assert_eq!((result.loss_free_rate, result.disturbed_trials), (None, 2));
    assert_eq!(result.maximum_received_rate, 900.0);
    assert_eq!(search.next_rate(), Some(62.5), "it is repeated");
    trial.completion = crate::outcome::Completion::Failed { reason: "refused".to_owned() };
    assert_eq!(of(&trial).loss, None);
}

#[test]
fn a_controller_that_queues_is_not_loss_free_beyond_its_capacity() {
    // Each trial offers for a second; the controller answers its queue afterwards.
    let mut search = search_over(100.0, 100_000.0, 0.05, 0.0);
    let capacity = 2000.0;
    let mut trial = crate::metrics::tests::trial();
    while let Some(rate) = search.next_rate() {
        let served = f64::min(rate, capacity);
        trial.counts.due = rate as u64;
        trial.counts.sent = rate as u64;
        trial.counts.answered = rate as u64;
        trial.rates = crate::outcome::Rates {
            offered: rate,
            sent: rate,
            received: served,
            ..Default::default()
        };
        trial.rtt_from_due.samples = rate as u64;
        trial.rtt_from_due.mean_ns = 1e6 + (rate / served - 1.0) * 1e9 / 2.0;
        trial.series.sample_interval_s = 0.5;
        trial.series.measure_to_s = 1.0;
        let left = (rate - served) as u64;
        trial.series.outstanding = vec![0, left / 2, left, 0];
        let controller = crate::outcome::Bounds { low: left, high: left };
        let account = crate::outcome::Account { controller, ..Default::default() };
        trial.verdict.account = Some(account);
        trial.verdict.saturated =
            if rate > capacity { Saturated::Controller } else { Saturated::Neither };
        search.observe(rate, &observations(std::slice::from_ref(&trial)));
    }
    let result = outcome(&search);
    let free = result.loss_free_rate.expect("found");
    assert!((1900.0..=2040.0).contains(&free), "{free}");
    assert!(result.lossy_rate.is_some_and(|lossy| lossy < 2150.0), "{:?}", result.lossy_rate);
    // Response times are constant up to the capacity, and the power rises up to there. The knee is
    // then beyond the rates with which the controller keeps up.
    assert_eq!((result.knee_rate, result.knee_low_rate), (None, None), "{}", result.knee_method);
    assert!(result.knee_method.contains("rises up to the highest loss-free rate"));
}
