//! The search for the highest loss-free rate, and for the knee of the response time.
//!
//! The search is a state machine without I/O: it names the next rate to try, is told what was
//! observed there, and in the end says what it found. A rate is loss-free if every packet-in was
//! answered and none piled up: a controller with a long queue answers everything in the end, also
//! what came faster than it can work (RFC 8456, section 5.1.3, likewise counts the responses in the
//! time of the trial). Rates double until one fails; then the bracket is halved until it is narrow
//! enough. A single trial is a coin with a bias, since a
//! garbage collection can make a good rate look bad and luck a bad one good. Therefore both ends
//! of the final bracket must be seen twice, a contradiction is settled by a third trial, and an
//! end that turns out wrong reopens the bracket. Every repetition at a rate is a vote on it. The
//! number of rates tried is bounded in any case.
//!
//! The knee is the rate with the most *power*, the ratio of answered rate to response time
//! (L. Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer
//! communications", ICC 1979). Up to there a percent more load costs less than a percent more
//! response time, beyond it more. Unlike measures of curvature it depends neither on the range of
//! the rates tried nor on the scale of the axes: for an M/M/1 queue it is at half of the capacity
//! wherever one looks. Once the loss-free rate is known, rates between that with the most power and
//! its neighbours are tried until those are near.

use crate::metrics::Metric;
use crate::outcome::{Saturated, SearchOutcome, Trial};
use crate::trial::verdict::{NOTABLE, piled_up};

/// Points after which a search ends with what it knows. Twelve doublings, ten halvings and the
/// confirmations take fewer than half of that.
const MOST_POINTS: usize = 60;
/// Rates that differ by less, as a fraction, are one point of the curve: random arrivals make
/// repetitions of a trial differ a little.
const SAME_RATE: f64 = 0.01;
/// How far the neighbours of the rate with the most power may be from it, as a logarithm. The power
/// is flat at its top, so that nearer ones tell the knee no better.
const NEAR: f64 = 0.15;

/// What one trial observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Packet-ins offered per second, all switches together, as measured.
    pub offered_rate: f64,
    /// Packet-ins answered per second, all switches together.
    pub received_rate: f64,
    /// Share of the packet-ins sent that had no answer, 0 to 1; absent if none was sent.
    pub loss: Option<f64>,
    /// Mean round-trip time in seconds; absent without samples.
    pub rtt_mean: Option<f64>,
    /// Whether packet-ins piled up, so that the rate would have been lost in a longer trial.
    pub falling_behind: bool,
    /// Whether the probe itself was the limit, so that the rate was not offered at all.
    pub limited_by_probe: bool,
}

impl Observation {
    /// What a trial observed. One that failed lost everything.
    pub fn of(trial: &Trial) -> Self {
        let metric = |name| Metric::by_name(name).and_then(|metric| metric.of(trial));
        let counts = &trial.counts;
        let answers = (trial.rates.received * trial.measured_s).round() as u64;
        let pile = piled_up(counts.sent, answers, trial.series.outstanding_at_edges());
        Self {
            offered_rate: trial.rates.offered,
            received_rate: trial.rates.received,
            loss: metric("loss"),
            rtt_mean: metric("rtt.mean"),
            // What was lost is outstanding for ever and has its own tolerance.
            falling_behind: pile.saturating_sub(counts.lost) as f64 > NOTABLE * counts.sent as f64,
            limited_by_probe: trial.verdict.saturated == Saturated::Probe,
        }
    }
}

/// A search for the highest rate without loss. Rates are packet-ins per second and switch.
#[derive(Clone, Debug)]
pub struct LossFreeSearch {
    low: f64,
    high: f64,
    precision: f64,
    loss: f64,
    /// Ascending by rate.
    tallies: Vec<Tally>,
    points: usize,
    /// With the rate that was asked for.
    observations: Vec<(f64, Observation)>,
}

/// What the trials at one rate said.
#[derive(Clone, Copy, Debug)]
struct Tally {
    rate: f64,
    passes: u32,
    fails: u32,
    /// Of the fails, those in which the probe was the limit.
    by_probe: u32,
}

impl Tally {
    fn passed(&self) -> bool {
        self.passes > self.fails
    }

    fn failed(&self) -> bool {
        self.fails > self.passes
    }

    fn undecided(&self) -> bool {
        self.passes == self.fails
    }
}

impl LossFreeSearch {
    /// A search between `low` and `high`, both included, that ends once the bracket is as narrow
    /// as `precision`, a fraction of the rate. Up to `loss`, a fraction, counts as loss-free.
    ///
    /// Values out of range are brought into it: rates above zero, `high` at least `low`, a
    /// precision from 0.001 to 1, a loss from 0 to 1.
    pub fn new(low: f64, high: f64, precision: f64, loss: f64) -> Self {
        let low = low.max(f64::MIN_POSITIVE);
        Self {
            low,
            high: high.max(low),
            precision: precision.clamp(0.001, 1.0),
            loss: loss.clamp(0.0, 1.0),
            tallies: Vec::new(),
            points: 0,
            observations: Vec::new(),
        }
    }

    /// The rate to try next; nothing once the search has ended.
    pub fn next_rate(&self) -> Option<f64> {
        if self.points >= MOST_POINTS {
            return None;
        }
        if let Some(tie) = self.tallies.iter().find(|tally| tally.undecided()) {
            return Some(tie.rate);
        }
        self.next_around_loss().or_else(|| self.next_around_knee())
    }

    fn next_around_loss(&self) -> Option<f64> {
        match (self.loss_free(), self.lossy()) {
            (None, None) => Some(self.low),
            (None, Some(lossy)) => (lossy.fails < 2).then_some(lossy.rate),
            (Some(free), None) if free.rate >= self.high => (free.passes < 2).then_some(free.rate),
            (Some(free), None) => Some((2.0 * free.rate).min(self.high)),
            (Some(free), Some(lossy)) => {
                if lossy.rate - free.rate > self.precision * lossy.rate {
                    Some(f64::midpoint(free.rate, lossy.rate))
                } else if free.passes < 2 {
                    Some(free.rate)
                } else {
                    (lossy.fails < 2).then_some(lossy.rate)
                }
            }
        }
    }

    /// A rate between the one with the most power and its farther neighbour.
    fn next_around_knee(&self) -> Option<f64> {
        let asked = self
            .observations
            .iter()
            .map(|(rate, observation)| Observation { offered_rate: *rate, ..*observation });
        let powers = powers(asked);
        let top = most(&powers)?;
        let [before, top, after] = powers.get(top.checked_sub(1)?..top + 2)? else { return None };
        let (below, above) = (top.rate - before.rate, after.rate - top.rate);
        let neighbour = if below > above { before } else { after };
        (below.max(above) > NEAR).then(|| f64::midpoint(top.rate.exp(), neighbour.rate.exp()))
    }

    /// Tells what the trials at a rate that [`LossFreeSearch::next_rate`] named observed. A trial
    /// that failed is a vote against the rate.
    pub fn observe(&mut self, rate: f64, trials: &[Trial]) {
        let observations: Vec<Observation> = trials.iter().map(Observation::of).collect();
        self.take(rate, &observations);
    }

    fn take(&mut self, rate: f64, observations: &[Observation]) {
        self.points += 1;
        self.observations.extend(observations.iter().map(|observation| (rate, *observation)));
        let at = self.tallies.partition_point(|tally| tally.rate < rate);
        if self.tallies.get(at).is_none_or(|tally| tally.rate > rate) {
            self.tallies.insert(at, Tally { rate, passes: 0, fails: 0, by_probe: 0 });
        }
        let Some(tally) = self.tallies.get_mut(at) else { return };
        for observation in observations {
            let passed = !observation.limited_by_probe
                && !observation.falling_behind
                && observation.loss.is_some_and(|loss| loss <= self.loss);
            tally.passes += u32::from(passed);
            tally.fails += u32::from(!passed);
            tally.by_probe += u32::from(observation.limited_by_probe);
        }
    }

    /// What is known so far, for all of a number of switches together; final once
    /// [`LossFreeSearch::next_rate`] names no rate.
    pub fn result(&self, switches: u32) -> SearchOutcome {
        let total = |tally: &Tally| tally.rate * f64::from(switches);
        let lossy = self.lossy();
        let by_probe = lossy.is_some_and(|lossy| 2 * lossy.by_probe >= lossy.fails);
        let observations: Vec<Observation> = self.observations.iter().map(|(_, o)| *o).collect();
        let received = observations.iter().map(|observation| observation.received_rate);
        let knee = knee(&observations);
        SearchOutcome {
            loss_free_rate: self.loss_free().map(total),
            // What the probe could not offer says nothing about the controller.
            lossy_rate: lossy.filter(|_| !by_probe).map(total),
            maximum_received_rate: received.fold(0.0, f64::max),
            knee_rate: knee.rate,
            knee_method: knee.method,
            limited_by_probe: by_probe,
        }
    }

    /// The lowest rate that failed.
    fn lossy(&self) -> Option<&Tally> {
        self.tallies.iter().find(|tally| tally.failed())
    }

    /// The highest rate below it that passed.
    fn loss_free(&self) -> Option<&Tally> {
        let end = self.lossy().map_or(f64::INFINITY, |lossy| lossy.rate);
        self.tallies.iter().rev().find(|tally| tally.passed() && tally.rate < end)
    }
}

/// A knee, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Knee {
    /// Offered rate at the knee.
    pub rate: Option<f64>,
    /// How it was found, or why it was not, in a sentence.
    pub method: String,
}

/// The knee of the response time over the offered rate. Observations at one rate are averaged;
/// those without samples, or which the probe could not offer, count for nothing.
///
/// There is no knee with fewer than four rates, nor at the lowest or highest of them: the power
/// may then be greater outside.
pub fn knee(observations: &[Observation]) -> Knee {
    let powers = powers(observations.iter().copied());
    let none = |method: &str| Knee { rate: None, method: method.to_owned() };
    if powers.len() < 4 {
        return none("no knee: fewer than four rates have response times");
    }
    let most = most(&powers).unwrap_or(0);
    if most == 0 {
        return none("no knee: answered rate over response time falls from the lowest rate on");
    }
    let [before, top, after] = match powers.get(most - 1..most + 2) {
        Some(&[before, top, after]) => [before, top, after],
        _ => return none("no knee: answered rate over response time rises up to the highest rate"),
    };
    Knee {
        rate: Some(vertex(before, top, after)),
        method: format!(
            "the offered rate with the most power (answered rate over mean response time, \
             Kleinrock 1979), interpolated between {} rates",
            powers.len()
        ),
    }
}

/// Power at a rate; both as logarithms, in which the interpolation is independent of scale.
#[derive(Clone, Copy)]
struct Power {
    rate: f64,
    power: f64,
}

/// Where the power is greatest.
fn most(powers: &[Power]) -> Option<usize> {
    let by_power = powers.iter().enumerate().max_by(|(_, a), (_, b)| a.power.total_cmp(&b.power));
    by_power.map(|(index, _)| index)
}

/// The power at each rate, ascending by rate.
fn powers(observations: impl Iterator<Item = Observation>) -> Vec<Power> {
    let mut logarithms: Vec<Power> = observations
        .filter(|observation| !observation.limited_by_probe)
        .filter_map(|observation| {
            let rate = observation.offered_rate.ln();
            let power = (observation.received_rate / observation.rtt_mean?).ln();
            (rate.is_finite() && power.is_finite()).then_some(Power { rate, power })
        })
        .collect();
    logarithms.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    logarithms
        .chunk_by(|a, b| b.rate - a.rate < SAME_RATE)
        .map(|same| {
            let n = same.len() as f64;
            Power {
                rate: same.iter().map(|one| one.rate).sum::<f64>() / n,
                power: same.iter().map(|one| one.power).sum::<f64>() / n,
            }
        })
        .collect()
}

/// The offered rate at the top of the parabola through three points, of which the middle one is
/// the highest. It lies between the outer two.
fn vertex(before: Power, top: Power, after: Power) -> f64 {
    let (left, right) = (top.rate - before.rate, after.rate - top.rate);
    // Slopes of the two chords: not negative, and not positive.
    let rise = (top.power - before.power) / left;
    let fall = (after.power - top.power) / right;
    let curvature = (rise - fall) / (left + right);
    let step = if curvature > 0.0 {
        // The slope at the middle point, brought to zero.
        (rise * right + fall * left) / (left + right) / (2.0 * curvature)
    } else {
        0.0
    };
    (top.rate + step.clamp(-left, right)).exp()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn observation(rate: f64, loss: f64) -> Observation {
        Observation {
            offered_rate: rate,
            received_rate: rate * (1.0 - loss),
            loss: Some(loss),
            rtt_mean: Some(0.001),
            falling_behind: false,
            limited_by_probe: false,
        }
    }

    /// A controller that answers up to a capacity and drops the rest.
    fn capacity(capacity: f64) -> impl FnMut(f64) -> Observation {
        move |rate| observation(rate, (1.0 - capacity / rate).max(0.0))
    }

    /// Runs a search to its end. Returns the rates tried.
    fn run(
        search: &mut LossFreeSearch,
        mut controller: impl FnMut(f64) -> Observation,
    ) -> Vec<f64> {
        let mut rates = Vec::new();
        while let Some(rate) = search.next_rate() {
            rates.push(rate);
            search.take(rate, &[controller(rate)]);
        }
        rates
    }

    #[test]
    fn rates_double_then_halve_and_both_ends_are_confirmed() {
        let mut search = LossFreeSearch::new(100.0, 100_000.0, 0.1, 0.0);
        let rates = run(&mut search, capacity(700.0));
        assert_eq!(rates, [100.0, 200.0, 400.0, 800.0, 600.0, 700.0, 750.0, 700.0, 750.0],);
        let result = search.result(1);
        assert_eq!((result.loss_free_rate, result.lossy_rate), (Some(700.0), Some(750.0)));
        assert_eq!(result.maximum_received_rate, 700.0);
        assert!(!result.limited_by_probe);
    }

    #[test]
    fn repetitions_vote_and_totals_are_over_all_switches() {
        let mut search = LossFreeSearch::new(100.0, 100_000.0, 0.1, 0.0);
        let mut controller = capacity(700.0);
        let mut rates = Vec::new();
        while let Some(rate) = search.next_rate() {
            rates.push(rate);
            // One repetition of three goes wrong at every rate.
            let good = controller(rate);
            search.take(rate, &[good, observation(rate, 0.9), good]);
        }
        assert_eq!(rates, [100.0, 200.0, 400.0, 800.0, 600.0, 700.0, 750.0]);
        let result = search.result(16);
        assert_eq!((result.loss_free_rate, result.lossy_rate), (Some(11_200.0), Some(12_000.0)));
    }

    #[test]
    fn points_without_trials_end_the_search_in_bounds() {
        let mut search = LossFreeSearch::new(100.0, 1000.0, 0.1, 0.0);
        let mut points = 0;
        while let Some(rate) = search.next_rate() {
            search.take(rate, &[]);
            points += 1;
        }
        assert_eq!(points, MOST_POINTS);
        assert_eq!(search.result(1).loss_free_rate, None);
    }

    #[test]
    fn rates_that_are_not_met_exactly_change_nothing() {
        let mut exact = LossFreeSearch::new(100.0, 100_000.0, 0.1, 0.0);
        let mut inexact = exact.clone();
        let rates = run(&mut exact, capacity(700.0));
        let mut controller = capacity(700.0);
        let tried = run(&mut inexact, |rate| {
            let observed = controller(rate);
            Observation { offered_rate: 1.03 * rate, ..observed }
        });
        assert_eq!(rates, tried);
        assert_eq!(inexact.result(1).loss_free_rate, Some(700.0));
    }

    #[test]
    fn a_trial_is_observed_by_its_metrics() {
        let mut trial = crate::metrics::tests::trial();
        trial.rates.offered = 1000.0;
        trial.rates.received = 900.0;
        trial.rates.loss = 0.1;
        trial.counts.sent = 1000;
        trial.rtt_from_due.samples = 900;
        trial.rtt_from_due.mean_ns = 2e6;
        trial.verdict.saturated = Saturated::Probe;
        let observed = Observation::of(&trial);
        let expected = Observation {
            offered_rate: 1000.0,
            received_rate: 900.0,
            loss: Some(0.1),
            rtt_mean: Some(0.002),
            falling_behind: false,
            limited_by_probe: true,
        };
        assert_eq!(observed, expected);
        let mut search = LossFreeSearch::new(62.5, 1000.0, 0.1, 0.1);
        search.observe(62.5, &[trial.clone(), trial.clone()]);
        let result = search.result(16);
        assert_eq!((result.loss_free_rate, result.limited_by_probe), (None, true));
        assert_eq!(result.maximum_received_rate, 900.0);
        assert_eq!(search.next_rate(), None);
        trial.completion = crate::outcome::Completion::Failed { reason: "refused".to_owned() };
        assert_eq!(Observation::of(&trial).loss, None);
    }

    #[test]
    fn a_controller_that_queues_is_not_loss_free_beyond_its_capacity() {
        // Each trial offers for a second; the controller works off its queue afterwards.
        let mut search = LossFreeSearch::new(100.0, 100_000.0, 0.05, 0.0);
        let capacity = 2000.0;
        let mut trial = crate::metrics::tests::trial();
        while let Some(rate) = search.next_rate() {
            let served = f64::min(rate, capacity);
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
            search.observe(rate, std::slice::from_ref(&trial));
        }
        let result = search.result(1);
        let free = result.loss_free_rate.expect("found");
        assert!((1900.0..=2040.0).contains(&free), "{free}");
        assert!(result.lossy_rate.is_some_and(|lossy| lossy < 2150.0), "{:?}", result.lossy_rate);
        // Response times are the same up to the capacity, and the power rises up to there.
        let knee = result.knee_rate.expect("a knee");
        assert!((1800.0..=2100.0).contains(&knee), "{knee}");
    }

    #[test]
    fn the_search_looks_closer_where_the_knee_is() {
        // Far below the loss, where only the doublings have been.
        let mut search = LossFreeSearch::new(10.0, 100_000.0, 0.05, 0.0);
        let mut controller = capacity(50_000.0);
        let rates = run(&mut search, |rate| Observation {
            rtt_mean: Some(1e-3 * (1.0 + (rate / 1000.0).powi(4))),
            ..controller(rate)
        });
        // The elasticity of the response time is 1 where 3 x^4 = 1.
        let expected = 1000.0 * (1.0f64 / 3.0).powf(0.25);
        let knee = search.result(1).knee_rate.expect("a knee");
        assert!((knee / expected - 1.0).abs() < 0.05, "{knee} instead of {expected}");
        assert!(rates.len() < MOST_POINTS / 2, "{rates:?}");
    }

    #[test]
    fn tolerated_loss_is_no_loss() {
        let mut search = LossFreeSearch::new(100.0, 100_000.0, 0.01, 0.1);
        run(&mut search, capacity(900.0));
        let rate = search.result(1).loss_free_rate.expect("found");
        assert!((990.0..=1000.0).contains(&rate), "{rate}");
    }

    #[test]
    fn a_controller_that_takes_everything_is_tried_up_to_the_highest_rate() {
        let mut search = LossFreeSearch::new(100.0, 1000.0, 0.1, 0.0);
        let rates = run(&mut search, capacity(1e9));
        assert_eq!(rates, [100.0, 200.0, 400.0, 800.0, 1000.0, 1000.0]);
        let result = search.result(1);
        assert_eq!((result.loss_free_rate, result.lossy_rate), (Some(1000.0), None));
    }

    #[test]
    fn a_controller_that_takes_nothing_is_given_up_after_two_trials() {
        let mut search = LossFreeSearch::new(100.0, 1000.0, 0.1, 0.0);
        assert_eq!(run(&mut search, capacity(10.0)), [100.0, 100.0]);
        let result = search.result(1);
        assert_eq!((result.loss_free_rate, result.lossy_rate), (None, Some(100.0)));
    }

    #[test]
    fn a_trial_without_packets_is_no_success() {
        let mut search = LossFreeSearch::new(100.0, 1000.0, 0.1, 1.0);
        run(&mut search, |rate| Observation { loss: None, ..observation(rate, 0.0) });
        assert_eq!(search.result(1).loss_free_rate, None);
    }

    #[test]
    fn one_bad_trial_does_not_hide_the_capacity() {
        for bad in 0..12 {
            let mut search = LossFreeSearch::new(100.0, 100_000.0, 0.05, 0.0);
            let mut controller = capacity(700.0);
            let mut trial = 0;
            run(&mut search, |rate| {
                trial += 1;
                if trial - 1 == bad { observation(rate, 0.5) } else { controller(rate) }
            });
            let rate = search.result(1).loss_free_rate.expect("found");
            assert!((665.0..=700.0).contains(&rate), "bad trial {bad}: {rate}");
        }
    }

    #[test]
    fn one_lucky_trial_does_not_raise_the_capacity() {
        for lucky in 0..12 {
            let mut search = LossFreeSearch::new(100.0, 100_000.0, 0.05, 0.0);
            let mut controller = capacity(700.0);
            let mut trial = 0;
            run(&mut search, |rate| {
                trial += 1;
                if trial - 1 == lucky { observation(rate, 0.0) } else { controller(rate) }
            });
            let rate = search.result(1).loss_free_rate.expect("found");
            assert!((665.0..=700.0).contains(&rate), "lucky trial {lucky}: {rate}");
        }
    }

    #[test]
    fn the_limit_of_the_probe_is_not_that_of_the_controller() {
        let mut search = LossFreeSearch::new(100.0, 100_000.0, 0.1, 0.0);
        run(&mut search, |rate| Observation {
            limited_by_probe: rate > 500.0,
            ..observation(rate, 0.0)
        });
        let result = search.result(1);
        assert!(result.limited_by_probe);
        assert_eq!(result.lossy_rate, None);
        let rate = result.loss_free_rate.expect("found");
        assert!((450.0..=500.0).contains(&rate), "{rate}");
    }

    /// Observations of a queue whose mean time in system is given as a function of its load.
    fn queue(loads: &[f64], capacity: f64, time: impl Fn(f64) -> f64) -> Vec<Observation> {
        loads
            .iter()
            .map(|load| Observation {
                rtt_mean: Some(time(*load) / capacity),
                ..observation(load * capacity, 0.0)
            })
            .collect()
    }

    fn loads(from: f64, to: f64, count: u32) -> Vec<f64> {
        let step = (to - from) / f64::from(count - 1);
        (0..count).map(|i| from + step * f64::from(i)).collect()
    }

    fn found(observations: &[Observation]) -> f64 {
        knee(observations).rate.expect("a knee")
    }

    #[test]
    fn the_knee_of_mm1_is_at_half_of_the_capacity_wherever_one_looks() {
        for (from, to, count) in [(0.05, 0.95, 19), (0.1, 0.99, 7), (0.3, 0.7, 5), (0.02, 0.9, 40)]
        {
            let observations = queue(&loads(from, to, count), 40_000.0, |load| 1.0 / (1.0 - load));
            let knee = found(&observations);
            assert!((knee / 20_000.0 - 1.0).abs() < 0.05, "{from} to {to}: {knee}");
        }
    }

    #[test]
    fn the_knee_of_md1_is_where_theory_puts_it() {
        // Pollaczek-Khinchine; the elasticity of the response time is 1 at load 2 - sqrt 2.
        let time = |load: f64| 1.0 + load / (2.0 * (1.0 - load));
        let observations = queue(&loads(0.05, 0.95, 19), 1000.0, time);
        let expected = 1000.0 * (2.0 - 2.0f64.sqrt());
        assert!((found(&observations) / expected - 1.0).abs() < 0.02);
    }

    #[test]
    fn a_search_finds_the_knee_on_its_way() {
        let mut search = LossFreeSearch::new(100.0, 1e6, 0.02, 0.0);
        run(&mut search, |rate| {
            let load = rate / 10_000.0;
            match load < 1.0 {
                true => {
                    Observation { rtt_mean: Some(1e-4 / (1.0 - load)), ..observation(rate, 0.0) }
                }
                false => Observation { rtt_mean: Some(1.0), ..observation(rate, 1.0 - 1.0 / load) },
            }
        });
        let result = search.result(1);
        let knee = result.knee_rate.expect("a knee");
        assert!((knee / 5000.0 - 1.0).abs() < 0.1, "{knee}");
        assert!(result.knee_method.contains("Kleinrock"), "{}", result.knee_method);
    }

    #[test]
    fn no_knee_is_explained() {
        let flat = |rates: &[f64]| -> Knee {
            let observations: Vec<_> = rates.iter().map(|rate| observation(*rate, 0.0)).collect();
            knee(&observations)
        };
        assert!(flat(&[1.0, 2.0, 2.0, 4.0]).method.contains("fewer than four rates"));
        let rising = flat(&[1.0, 2.0, 4.0, 8.0]);
        assert_eq!(rising.rate, None);
        assert!(rising.method.contains("up to the highest rate"));
        let falling = queue(&loads(0.6, 0.95, 5), 1000.0, |load| 1.0 / (1.0 - load));
        assert!(knee(&falling).method.contains("from the lowest rate on"));
        let no_times: Vec<_> = (1..9)
            .map(|i| Observation { rtt_mean: None, ..observation(f64::from(i), 0.0) })
            .collect();
        assert_eq!(knee(&no_times).rate, None);
    }

    #[test]
    fn what_the_probe_could_not_offer_is_no_part_of_the_curve() {
        let mut observations = queue(&loads(0.05, 0.6, 8), 1000.0, |load| 1.0 / (1.0 - load));
        let before = found(&observations);
        observations.push(Observation { limited_by_probe: true, ..observation(900.0, 0.0) });
        assert_eq!(found(&observations), before);
    }

    proptest! {
        #[test]
        fn every_search_ends_in_bounds(
            low in 1.0f64..1e4,
            factor in 1.0f64..1e4,
            precision in 0.0f64..1.0,
            luck in proptest::collection::vec(any::<bool>(), MOST_POINTS),
        ) {
            let high = low * factor;
            let mut search = LossFreeSearch::new(low, high, precision, 0.0);
            let mut luck = luck.into_iter();
            let rates = run(&mut search, |rate| {
                observation(rate, if luck.next().unwrap_or(true) { 0.0 } else { 0.1 })
            });
            prop_assert!(rates.len() <= MOST_POINTS);
            for rate in &rates {
                prop_assert!((low..=high).contains(rate));
            }
            let result = search.result(1);
            if let (Some(free), Some(lossy)) = (result.loss_free_rate, result.lossy_rate) {
                prop_assert!(free < lossy);
            }
        }

        #[test]
        fn the_capacity_is_found_within_the_precision(
            capacity_of in 150.0f64..9e4,
            precision in 0.005f64..0.5,
        ) {
            let mut search = LossFreeSearch::new(100.0, 1e5, precision, 0.0);
            let rates = run(&mut search, capacity(capacity_of));
            prop_assert!(rates.len() < MOST_POINTS / 2);
            let result = search.result(1);
            let free = result.loss_free_rate.expect("above the lowest rate");
            let lossy = result.lossy_rate.expect("below the highest rate");
            prop_assert!(free <= capacity_of && capacity_of < lossy);
            prop_assert!(lossy - free <= precision * lossy * 1.000_001);
        }

        #[test]
        fn the_knee_does_not_depend_on_scale(scale in 1e-3f64..1e6, slow in 1e-3f64..1e3) {
            let loads = loads(0.05, 0.95, 12);
            let one = found(&queue(&loads, 1.0, |load| 1.0 / (1.0 - load)));
            let other = found(&queue(&loads, scale, |load| slow / (1.0 - load)));
            prop_assert!((other / scale / one - 1.0).abs() < 1e-6);
        }
    }
}
