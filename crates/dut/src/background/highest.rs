//! The search for the highest rate at which the switch forwards packets.
//!
//! As in the throughput test of RFC 2544, section 26.1, a rate passes if no packet of a trial is
//! lost. In addition, the delay of packets must not keep growing: a trial is short, so a switch
//! with long queues would otherwise pass at rates that it cannot sustain. [`measuring::search`]
//! chooses the rates.

use std::time::Duration;

use measuring::search::{Found, LossFreeSearch, Observation, Range, Wording};

use crate::stream::Passage;

/// The highest rate that is tried, in packets per second.
const HIGHEST: f64 = 20e6;
/// The width of the interval around the result at which the search ends, relative to the rate.
const PRECISION: f64 = 0.05;
/// The growth of the shortest delay from the first to the second half of a trial above which
/// packets count as piling up, relative to the duration of half a trial.
const GROWTH: f64 = 0.02;
/// The share of the intended rate that must really have been sent. With less, this program was the
/// limit.
const OFFERED: f64 = 0.98;
const WORDING: Wording = Wording { system: "switch", tester: "Planimeter", on_silence: "" };

/// The highest rate at which the switch forwards packets, in packets per second.
#[derive(Clone, Debug, PartialEq)]
pub struct HighestRate {
    /// The lower and upper bound that the search found.
    pub found: Found,
    /// The number of trials that the search made.
    pub trials: usize,
    /// Whether this program was the limit: it did not send the packets in time, or had no room for
    /// those that arrived.
    pub is_limited_here: bool,
}

/// A search, in progress, for the highest rate at which the switch forwards packets.
#[derive(Clone, Debug)]
pub(super) struct Search {
    search: LossFreeSearch,
    trials: usize,
}

/// The packets of a trial, each with its arrival unless it was lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial<'a> {
    pub(super) passages: &'a [Passage],
    /// The number of packets that arrived and were dropped because this program had no room for
    /// them.
    pub(super) dropped_here: u64,
}

impl Search {
    /// Creates a search that begins with the rate `low`.
    pub(super) fn from(low: f64) -> Self {
        let (high, precision) = (HIGHEST, PRECISION);
        let range = Range { low, high, precision, is_rough: false, loss: 0.0, sources: 1 };
        Self { search: LossFreeSearch::new(range), trials: 0 }
    }

    /// Returns the rate of the next trial; `None` once the search has ended.
    pub(super) fn next_rate(&self) -> Option<f64> {
        self.search.next_rate_for_bracket()
    }

    /// Records the outcome of a trial at a rate.
    pub(super) fn observe(&mut self, rate: f64, trial: Trial<'_>) {
        self.trials += 1;
        self.search.observe(rate, &[trial.observation(rate)]);
    }

    pub(super) fn conclude(self) -> HighestRate {
        let found = self.search.result(&WORDING);
        // If most trials were disturbed, the others do not show what the switch forwards.
        let is_disturbed = 2 * found.disturbed_trials as usize > self.trials;
        let is_limited_here = found.limited_by_tester || is_disturbed;
        HighestRate { found, trials: self.trials, is_limited_here }
    }
}

impl Trial<'_> {
    fn observation(self, rate: f64) -> Observation {
        let Self { passages, dropped_here } = self;
        let sent = passages.len();
        let first = passages.first().map_or(0, |one| one.sent.earliest.0);
        let last = passages.last().map_or(0, |one| one.sent.latest.0);
        let time = seconds(last.saturating_sub(first));
        let mut arrivals: Vec<u64> = passages.iter().filter_map(arrival).collect();
        arrivals.sort_unstable();
        let loss = (sent - arrivals.len()) as f64 / sent.max(1) as f64;
        let delays = passages.iter().filter_map(delay).map(seconds);
        let mean = statistics::mean(&delays.collect::<Vec<f64>>());
        let gaps = arrivals.windows(2).map(|pair| pair[1] - pair[0]);
        let longest_gap = gaps.max().map_or(1.0, |gap| seconds(gap) / time.max(f64::MIN_POSITIVE));
        let offered = per_second(sent, time);
        let span = arrivals.first().zip(arrivals.last()).map_or(0, |(first, last)| last - first);
        let falling_behind = is_growing(passages, time);
        Observation {
            offered_rate: offered,
            received_rate: per_second(arrivals.len(), seconds(span)),
            wanted: sent as u64,
            loss: (sent > 0).then_some(loss),
            proven_loss: loss,
            excusable_loss: 0.0,
            rtt_mean: mean,
            longest_gap: longest_gap.min(1.0),
            falling_behind,
            backlogged: falling_behind || loss > 0.0,
            limited_by_tester: offered < OFFERED * rate || (loss > 0.0 && dropped_here > 0),
            silent: sent > 0 && arrivals.is_empty(),
        }
    }
}

/// Returns the moment by which a packet had left the switch through the right port; `None` if it
/// did not.
fn arrival(one: &Passage) -> Option<u64> {
    one.arrival.filter(|arrival| arrival.class.is_some()).map(|arrival| arrival.at.latest.0)
}

fn delay(one: &Passage) -> Option<u64> {
    Some(arrival(one)?.saturating_sub(one.sent.earliest.0))
}

/// Returns whether packets waited longer and longer, which shows as a shortest delay that is larger
/// in the second half of the trial than in the first. A pause from which the switch recovers does
/// not count.
fn is_growing(passages: &[Passage], time: f64) -> bool {
    let (first, second) = passages.split_at(passages.len() / 2);
    let least = |half: &[Passage]| half.iter().filter_map(delay).min();
    match (least(first), least(second)) {
        (Some(first), Some(second)) => seconds(second.saturating_sub(first)) > GROWTH * time / 2.0,
        (_, _) => false,
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64()
}

/// Returns the rate of `count` evenly spaced events if `time` passed from the first to the last
/// one.
fn per_second(count: usize, time: f64) -> f64 {
    if time > 0.0 { count.saturating_sub(1) as f64 / time } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt as _, SeedableRng};

    use super::*;
    use crate::effects::{Moment, Span};
    use crate::stream::Arrival;

    /// The length of a trial in seconds.
    const LENGTH: f64 = 0.02;

    /// A simulated path of known behaviour, in virtual time.
    #[derive(Clone, Copy, Debug)]
    struct Made {
        /// The number of packets that the switch forwards per second.
        cap: f64,
        /// The largest number of packets that wait in the switch.
        queue: usize,
        /// The largest number of packets that the sender sends per second.
        own: f64,
        /// The largest relative deviation of the time that a packet takes from the mean time.
        spread: f64,
    }

    const PLAIN: Made = Made { cap: 50_000.0, queue: 256, own: 1e9, spread: 0.0 };

    impl Made {
        fn trial(self, rate: f64, random: &mut ChaCha8Rng) -> Vec<Passage> {
            let at = |time: f64| Moment((time * 1e9) as u64);
            let span = |time| Span { earliest: at(time), latest: at(time + 1e-7) };
            let rate = rate.min(self.own);
            let mut leave: VecDeque<f64> = VecDeque::new();
            let mut free = 0.0_f64;
            let count = (rate * LENGTH) as usize;
            let packets = (0..count).map(|number| {
                let sent = number as f64 / rate;
                while leave.front().is_some_and(|time| *time <= sent) {
                    leave.pop_front();
                }
                let arrival = (leave.len() < self.queue).then(|| {
                    let factor = 1.0 + self.spread * random.random_range(-1.0..=1.0);
                    free = free.max(sent) + factor / self.cap;
                    leave.push_back(free);
                    Arrival { at: span(free), class: Some(0) }
                });
                Passage { packet: 0, sent: span(sent), arrival }
            });
            packets.collect()
        }

        fn search(self, seed: u64) -> HighestRate {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut search = Search::from(8_000.0);
            while let Some(rate) = search.next_rate() {
                let passages = self.trial(rate, &mut random);
                search.observe(rate, Trial { passages: &passages, dropped_here: 0 });
            }
            search.conclude()
        }
    }

    fn holds(found: &HighestRate, cap: f64) -> bool {
        // At a rate within the growth that is tolerated, a backlog is not seen.
        let low = found.found.loss_free_rate.is_some_and(|low| low <= cap * (1.0 + 1.5 * GROWTH));
        let high = found.found.lossy_rate.is_some_and(|high| cap <= high * (1.0 + 1e-9));
        low && high && !found.is_limited_here
    }

    /// At least 95 of 100 searches must find the true rate.
    #[test]
    fn the_rate_of_a_switch_is_found_with_short_and_long_queues() {
        let mut wrong = Vec::new();
        for seed in 0..100 {
            let mut random = ChaCha8Rng::seed_from_u64(100 + seed);
            let cap = 10_000.0 * 10_f64.powf(random.random::<f64>());
            let queue = if seed % 2 == 0 { 32 } else { 100_000 };
            let found = Made { cap, queue, spread: 0.2, ..PLAIN }.search(seed);
            if !holds(&found, cap) {
                wrong.push(format!("seed {seed}: {cap:.0} is not in {:?}", found.found));
            }
        }
        assert!(wrong.len() <= 5, "{} wrong: {wrong:#?}", wrong.len());
    }

    #[test]
    fn a_sender_that_is_too_slow_is_the_limit() {
        let found = Made { cap: 1e8, own: 60_000.0, ..PLAIN }.search(1);
        assert!(found.is_limited_here, "{found:?}");
        let low = found.found.loss_free_rate.expect("lower rates pass");
        assert!((32_000.0..=62_000.0).contains(&low), "{low}");
        assert_eq!(found.found.lossy_rate, None);
    }

    #[test]
    fn arrivals_without_room_are_not_held_against_the_switch() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut passages = PLAIN.trial(10_000.0, &mut random);
        let vote = |passages: &[Passage], dropped_here| {
            Trial { passages, dropped_here }.observation(10_000.0)
        };
        let whole = vote(&passages, 0);
        assert_eq!((whole.loss, whole.limited_by_tester), (Some(0.0), false));
        if let Some(one) = passages.get_mut(10) {
            one.arrival = None;
        }
        let lossy = vote(&passages, 0);
        assert_eq!((lossy.loss, lossy.limited_by_tester), (Some(0.005), false));
        assert!(vote(&passages, 1).limited_by_tester);
    }
}
