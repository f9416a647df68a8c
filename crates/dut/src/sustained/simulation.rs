//! Tests the search in virtual time, against simulated switches with a known rate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt as _};

use super::pool::Pool;
use super::trial::{Ended, Request, Step, Trial};
use super::{Failures, Measured, Search, Settings, Verdict, schedule};
use crate::entry_number::EntryNumber;
use crate::transport::Evidence;
use crate::updates::Limit;
use crate::window::Refusal;

const SETTINGS: Settings =
    Settings { batch: 10, window: 8, occupancy: 0, time: Duration::from_secs(1), is_rough: false };

/// A simulated switch with one queue, and the program that measures it.
#[derive(Clone, Copy, Debug)]
struct Made {
    /// The number of updates that the switch processes per second; `None` for no limit.
    cap: Option<f64>,
    /// Whether the processing times of requests are exponentially distributed instead of constant.
    is_random: bool,
    /// The one-way delay between the program and the switch.
    way: Duration,
    /// One in this number of updates has no effect, although it is accepted.
    loses: Option<u64>,
    /// The rate of updates above which one in a hundred is refused.
    refuses_from: f64,
    /// The time that this program needs to send a request.
    own: Duration,
    /// The beginning and the length of a pause of the network, which keeps answers back.
    pause: Option<[Duration; 2]>,
    /// The duration of the window of a trial.
    time: Duration,
}

const PLAIN: Made = Made {
    cap: Some(4000.0),
    is_random: false,
    way: Duration::from_micros(200),
    loses: None,
    refuses_from: f64::INFINITY,
    own: Duration::from_micros(10),
    pause: None,
    time: SETTINGS.time,
};

impl Made {
    /// Runs a trial at the rate `rate`.
    fn trial(self, rate: f64, estimate: f64, random: &mut ChaCha8Rng) -> Ended {
        let numbers: Vec<EntryNumber> = (0..8_000).map(EntryNumber).collect();
        let (present, free) = numbers.split_at(1000);
        let settings = Settings { time: self.time, ..SETTINGS };
        let schedule = schedule(&settings, settings.batch, rate, estimate);
        let mut trial = Trial::new(schedule, Pool::new(present, free));
        // The time of each answer, the number of its request, and whether an update is refused.
        let mut answers: BinaryHeap<Reverse<(Duration, usize, bool)>> = BinaryHeap::new();
        let (mut now, mut free_at, mut worked) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let (mut updates, mut wrong) = (0, 0);
        loop {
            while let Some(Reverse((at, position, refused))) = answers.pop() {
                if at > now {
                    answers.push(Reverse((at, position, refused)));
                    break;
                }
                let refusal = refused.then(|| Refusal {
                    code: "ResourceExhausted".to_owned(),
                    message: "full".to_owned(),
                    entry: None,
                });
                trial.answered(position, at, if refused { &[0] } else { &[] }, refusal);
            }
            let next = answers.peek().map(|Reverse((at, ..))| *at);
            match trial.step(now) {
                Step::Send(Request { position, numbers, .. }) => {
                    now += self.own;
                    worked += if now < trial.end() { self.own } else { Duration::ZERO };
                    trial.handed_over(position, now);
                    let mean = self.cap.map_or(0.0, |cap| numbers.len() as f64 / cap);
                    let takes = if self.is_random { mean * exponential(random) } else { mean };
                    free_at = free_at.max(now + self.way) + Duration::from_secs_f64(takes);
                    let before = updates;
                    updates += numbers.len() as u64;
                    let hits = |each: u64| updates / each > before / each;
                    wrong += usize::from(self.loses.is_some_and(hits));
                    let refused = rate > self.refuses_from && hits(100);
                    answers.push(Reverse((self.arrives(free_at + self.way), position, refused)));
                }
                Step::WaitUntil(due) => now = next.map_or(due, |at| at.min(due)),
                Step::Await => now = next.expect("a request waits"),
                Step::End => break,
            }
        }
        let busy = worked.as_secs_f64() / trial.end().as_secs_f64();
        trial.conclude(busy, wrong)
    }

    /// Returns when an answer arrives that would arrive at a time without the pause.
    fn arrives(self, at: Duration) -> Duration {
        match self.pause {
            Some([from, length]) if (from..from + length).contains(&at) => from + length,
            _ => at,
        }
    }

    /// Searches for the highest rate. The estimate with which the search begins is wrong by a
    /// factor of up to 2.
    fn search(self, is_rough: bool, seed: u64) -> Measured {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let real = self.cap.unwrap_or(SETTINGS.batch as f64 / self.own.as_secs_f64());
        let estimate = real * 2_f64.powf(random.random_range(-1.0..1.0));
        let mut search = Search::around(estimate, is_rough);
        let mut refusal = None;
        while let Some(rate) = search.search.next_rate() {
            let ended = self.trial(rate, estimate, &mut random);
            search.observe(rate, ended.observation);
            refusal = refusal.or(ended.refusal);
        }
        let (found, limit) = search.found();
        let points = search.points;
        let (wrong, transport) = (0, None);
        Measured { batch: 10, entries: 1000, found, limit, points, refusal, wrong, transport }
    }
}

/// Returns a random number that is exponentially distributed with mean 1.
fn exponential(random: &mut impl Rng) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

/// Returns whether the interval that a search found contains the true rate.
fn holds(measured: &Measured, cap: f64) -> bool {
    let found = &measured.found;
    found.confidence == Some(0.95)
        && found.loss_free_rate.is_some_and(|low| low <= cap)
        && found.lossy_rate.is_some_and(|high| cap <= high * (1.0 + 1e-9))
}

#[test]
fn a_cap_is_within_the_interval_as_often_as_it_says() {
    const SEARCHES: u64 = 100;
    for is_random in [false, true] {
        let mut wrong = Vec::new();
        for seed in 0..SEARCHES {
            let mut random = ChaCha8Rng::seed_from_u64(1000 + seed);
            let cap = 1000.0 * 4_f64.powf(random.random::<f64>());
            let measured = Made { cap: Some(cap), is_random, ..PLAIN }.search(false, seed);
            if !holds(&measured, cap) {
                wrong.push(format!("seed {seed}: {cap:.0} is not in {:?}", measured.found));
            }
            assert_eq!(measured.limit, Some(Limit::Switch), "seed {seed}: {:?}", measured.found);
        }
        assert!(wrong.len() <= 5, "random: {is_random}; {} wrong: {wrong:#?}", wrong.len());
    }
}

#[test]
fn a_rough_search_states_no_confidence() {
    let measured = Made { cap: Some(3000.0), ..PLAIN }.search(true, 1);
    let found = measured.found;
    assert_eq!(found.confidence, None);
    let rate = found.loss_free_rate.expect("a rate passes");
    assert!((rate / 3000.0 - 1.0).abs() < 0.1, "{rate}");
    assert!(measured.points.len() < 20, "{}", measured.points.len());
}

#[test]
fn planimeter_is_the_limit_of_a_switch_without_a_cap() {
    let own = Duration::from_micros(500);
    let measured = Made { cap: None, own, ..PLAIN }.search(false, 3);
    assert_eq!(measured.limit, Some(Limit::Planimeter), "{:?}", measured.found);
    assert_eq!((measured.found.lossy_rate, measured.found.confidence), (None, None));
    assert!(measured.found.loss_free_method.contains("Planimeter was the limit"));
    // It sends up to 2,000 requests of 10 updates in a second.
    let free = measured.found.loss_free_rate.expect("lower rates pass");
    assert!((10_000.0..=20_400.0).contains(&free), "{free}");
}

#[test]
fn requests_that_are_held_here_do_not_hide_a_long_way() {
    let way = Duration::from_millis(20);
    let mut random = ChaCha8Rng::seed_from_u64(8);
    // Of 8,000 updates in a second, 16 requests of 10 in each 40 ms find room.
    let far = Made { cap: None, way, ..PLAIN };
    let ended = far.trial(8000.0, 100.0, &mut random);
    assert!(ended.observation.falling_behind && !ended.observation.limited_by_tester);
    // The response time counts from when a request was due.
    assert!(ended.observation.rtt_mean.is_some_and(|mean| mean > 0.1), "{:?}", ended.observation);
    assert!(ended.away.is_some_and(|away| (0.039..0.042).contains(&away)), "{:?}", ended.away);

    let seen = Evidence {
        looks: 100,
        round_trip: Some(2 * way),
        smoothed_round_trips: 200 * way,
        ..Evidence::new(false)
    };
    let mut failures = Failures::default();
    failures.note(8000.0, &ended.observation, ended.away, Some(seen));
    let verdict = failures.verdict(Some(Limit::Switch), None);
    assert_eq!(verdict, Verdict { limit: Some(Limit::Network), transport: Some(seen) });
}

/// A TCP connection may stand still for 200 ms, as under BBR, wherever in a trial of 300 ms. The
/// trial fails if the switch cannot keep up, and passes if it can and answers arrive again before
/// the trial ends.
#[test]
fn a_pause_of_the_network_hides_no_growth() {
    let time = Duration::from_millis(300);
    let length = Duration::from_millis(200);
    let mut random = ChaCha8Rng::seed_from_u64(11);
    for from in (0..400).step_by(5).map(Duration::from_millis) {
        let paused = Made { time, pause: Some([from, length]), ..PLAIN };
        for times in [1.5, 2.0, 3.0, 5.0] {
            let ended = paused.trial(times * 4000.0, 4000.0, &mut random);
            assert!(ended.observation.falling_behind, "{times} times the cap, {from:?}");
        }
        for times in [0.2, 0.5, 0.8] {
            let ended = paused.trial(times * 4000.0, 4000.0, &mut random);
            let schedule = schedule(&Settings { time, ..SETTINGS }, 10, times * 4000.0, 4000.0);
            let ends_in_time = from + length + Duration::from_millis(20) < schedule.end();
            let begins_late = from > schedule.end() - Duration::from_millis(100);
            if ends_in_time || begins_late {
                assert!(!ended.observation.falling_behind, "{times} times the cap, {from:?}");
            }
        }
    }
}

/// Returns TCP evidence of a network that is idle.
fn idle_network() -> Evidence {
    Evidence {
        looks: 500,
        segments_sent: 10_000,
        segments_arrived: 10_000,
        round_trip: Some(Duration::from_micros(100)),
        smoothed_round_trips: 500 * Duration::from_micros(150),
        ..Evidence::new(false)
    }
}

/// The evidence comes from the lowest rates that fail. That the network is full at four times the
/// switch's rate does not make it the limit.
#[test]
fn the_lowest_rates_that_fail_show_which_side_was_the_limit() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let full = Evidence { looks: 5000, in_network: 5000, ..idle_network() };
    let mut failures = Failures::default();
    for (rate, seen) in [(4400.0, idle_network()), (4500.0, idle_network()), (16_000.0, full)] {
        let ended = PLAIN.trial(rate, 4000.0, &mut random);
        assert!(ended.observation.falling_behind, "{:?}", ended.observation);
        failures.note(rate, &ended.observation, ended.away, Some(seen));
    }
    let verdict = failures.verdict(Some(Limit::Switch), Some(3900.0));
    assert_eq!(verdict.limit, Some(Limit::Switch));
    assert_eq!(verdict.transport.map(|seen| seen.looks), Some(1000));
    // A trial that failed by chance at a rate that others sustained decides nothing.
    let mut by_chance = failures.clone();
    let ended = PLAIN.trial(4400.0, 4000.0, &mut random);
    by_chance.note(3000.0, &ended.observation, ended.away, Some(full));
    assert_eq!(by_chance.verdict(Some(Limit::Switch), Some(3900.0)), verdict);
    // The search itself says when this program was the limit, or no rate failed.
    for limit in [Some(Limit::Planimeter), None] {
        let expected = Verdict { limit, transport: None };
        assert_eq!(failures.verdict(limit, Some(3900.0)), expected);
    }
}

#[test]
fn refusals_at_the_lowest_rate_that_fails_are_the_limit_of_the_switch() {
    let mut random = ChaCha8Rng::seed_from_u64(10);
    let refuses = Made { refuses_from: 2500.0, ..PLAIN };
    let full = Evidence { in_network: 500, ..idle_network() };
    let mut failures = Failures::default();
    for rate in [2600.0, 8000.0] {
        let ended = refuses.trial(rate, 4000.0, &mut random);
        assert!(ended.observation.loss.is_some_and(|loss| loss > 0.0));
        failures.note(rate, &ended.observation, ended.away, Some(full));
    }
    let verdict = failures.verdict(Some(Limit::Switch), Some(2500.0));
    assert_eq!(verdict, Verdict { limit: Some(Limit::Switch), transport: None });
}

#[test]
fn requests_that_wait_for_answers_which_come_all_at_once_are_not_sent_late() {
    let schedule = schedule(&SETTINGS, 10, 1000.0, 100.0);
    let numbers: Vec<EntryNumber> = (0..2000).map(EntryNumber).collect();
    let (present, free) = numbers.split_at(1000);
    let mut trial = Trial::new(schedule, Pool::new(present, free));
    let send = |trial: &mut Trial, at: u64| {
        let mut count = 0;
        while let Step::Send(_) = trial.step(Duration::from_millis(at)) {
            count += 1;
        }
        count
    };
    // A request is due every 10 ms, and 16 may wait.
    let mut first = 0;
    for (sent, answered) in [(200, 320), (320, 900), (900, 1000)] {
        assert_eq!(send(&mut trial, sent), 16, "at {sent} ms");
        for position in first..first + 16 {
            trial.answered(position, Duration::from_millis(answered), &[], None);
        }
        first += 16;
    }
    let observation = trial.conclude(0.1, 0).observation;
    assert!(observation.falling_behind && !observation.limited_by_tester, "{observation:?}");
    // The first requests were sent at 200 ms, and the others due at 235 ms and 395 ms on average.
    let mean = observation.rtt_mean.expect("there are answers");
    assert!((0.46..0.47).contains(&mean), "{mean}");
}

#[test]
fn a_rate_at_which_updates_are_refused_fails() {
    let measured = Made { refuses_from: 2500.0, ..PLAIN }.search(false, 5);
    assert!(holds(&measured, 2500.0), "{:?}", measured.found);
    assert_eq!(measured.refusal.map(|one| one.code).as_deref(), Some("ResourceExhausted"));
}

#[test]
fn a_switch_that_loses_updates_sustains_no_rate() {
    let measured = Made { loses: Some(7), ..PLAIN }.search(false, 6);
    assert_eq!(measured.found.loss_free_rate, None, "{:?}", measured.found);
}

#[test]
fn the_knee_of_a_switch_with_random_times_is_below_its_cap() {
    let measured = Made { is_random: true, ..PLAIN }.search(false, 7);
    let knee = measured.found.knee.found.expect("response times grow");
    // Requests arrive evenly: the power of D/M/1 is greatest at about 0.6 of the cap.
    assert!((0.4 * 4000.0..0.85 * 4000.0).contains(&knee.rate), "{knee:?}");
    assert!(knee.low <= knee.rate && knee.rate <= knee.high, "{knee:?}");
}

#[test]
fn occupancy_stays_and_no_entry_is_in_two_requests() {
    let schedule = schedule(&SETTINGS, 10, 1000.0, 1000.0);
    let numbers: Vec<EntryNumber> = (0..60).map(EntryNumber).collect();
    let (present, free) = numbers.split_at(30);
    let mut trial = Trial::new(schedule, Pool::new(present, free));
    let mut sent = Vec::new();
    while let Step::Send(request) = trial.step(Duration::from_millis(900)) {
        sent.push(request);
    }
    // Three insertions and three deletions take all entries; the seventh request waits.
    assert_eq!(sent.len(), 6);
    let mut used: Vec<EntryNumber> = sent.iter().flat_map(|one| one.numbers.clone()).collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 60);
    assert_eq!(trial.step(Duration::from_millis(900)), Step::Await);
    for request in &sent {
        trial.answered(request.position, Duration::from_millis(950), &[], None);
    }
    assert_eq!(trial.pool().present(), 30);
    let Step::Send(next) = trial.step(Duration::from_millis(950)) else { panic!("it is due") };
    // The entries that were deleted first are inserted again.
    assert_eq!(next.numbers, (0..10).map(EntryNumber).collect::<Vec<_>>());
}
