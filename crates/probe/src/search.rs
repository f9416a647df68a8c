//! The search for the highest loss-free rate, for the highest rate answered, and for the knee of
//! the response time.
//!
//! The search is a state machine without I/O: it names the next rate to try, is told what was
//! observed there, and in the end says what it found. RFC 8456, section 5.1.3, asks for two rates:
//! the most responses per second of any trial, and the most of any trial without loss.
//!
//! *Loss-free.* A rate passes if every packet-in was answered and none piled up: a controller with a
//! long queue answers everything in the end, also what came faster than it can work (the RFC
//! likewise counts the responses in the time of the trial). Rates double until one fails; then the
//! bracket is halved until it is narrow enough. A single trial is a coin with a bias, since a
//! garbage collection can make a good rate look bad and luck a bad one good. Therefore both ends
//! of the final bracket must be seen twice, a contradiction is settled by a third trial, and an
//! end that turns out wrong reopens the bracket. Every repetition at a rate is a vote on it.
//!
//! *The maximum.* Above the loss-free rate a controller that loses some may still answer more, and
//! one that collapses answers less. Rates go on doubling until twice the best one was tried; then
//! the gaps beside the best are halved where more could be hidden in them.
//!
//! *The knee* ([`knee`]) is sought among the rates that passed, up to the loss-free one: beyond, the
//! response time depends on how long the trial lasts. Rates between that with the most power and
//! its neighbours are tried until those are near.
//!
//! The number of rates tried is bounded in any case.

mod knee;

use crate::account::NOTABLE;
use crate::metrics::Metric;
use crate::outcome::{Saturated, SearchOutcome, Trial};
pub use knee::{Knee, KneeRates, knee};
use knee::{most, powers};

/// Points after which a search ends with what it knows. Twelve doublings, ten halvings, the
/// confirmations and the look above take fewer than half of that.
const MOST_POINTS: usize = 60;
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
    /// Share of the packet-ins due that had no answer, 0 to 1; absent if none was due.
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
        let account = trial.verdict.account.unwrap_or_default();
        let pile = account.controller.low + account.network.low;
        Self {
            offered_rate: trial.rates.offered,
            received_rate: trial.rates.received,
            loss: metric("unanswered"),
            rtt_mean: metric("rtt.mean"),
            // What was lost, or never left, has its own tolerance.
            falling_behind: pile.saturating_sub(counts.unanswered()) as f64
                > NOTABLE * counts.due as f64,
            limited_by_probe: trial.verdict.saturated == Saturated::Probe,
        }
    }

    fn passes(&self, tolerance: f64) -> bool {
        !self.limited_by_probe
            && !self.falling_behind
            && self.loss.is_some_and(|loss| loss <= tolerance)
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
}

/// What the trials at one rate said.
#[derive(Clone, Debug)]
struct Tally {
    /// That was asked for.
    rate: f64,
    passes: u32,
    fails: u32,
    /// Of the fails, those in which the probe was the limit.
    by_probe: u32,
    observations: Vec<Observation>,
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

    /// Whether the probe is why it failed, if it did.
    fn failed_by_probe(&self) -> bool {
        self.failed() && 2 * self.by_probe >= self.fails
    }

    /// Mean of the rates answered; 0 without trials.
    fn answered(&self) -> f64 {
        let rates = self.observations.iter().map(|observation| observation.received_rate);
        rates.sum::<f64>() / self.observations.len().max(1) as f64
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
        // The overload comes last, since a controller may carry it over into the next trial.
        self.next_around_loss()
            .or_else(|| self.next_around_knee())
            .or_else(|| self.next_around_maximum())
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

    /// A rate at which more may be answered than at any so far.
    fn next_around_maximum(&self) -> Option<f64> {
        let peak = self.peak()?;
        let (at, most) = (self.tallies.get(peak)?, self.tallies.get(peak)?.answered());
        let highest = self.tallies.last()?;
        // As much as at the peak, within the precision, may be answered from a lower rate on.
        let enough = |tally: &Tally| tally.answered() >= (1.0 - self.precision) * most;
        let best = self.tallies.iter().find(|tally| enough(tally)).map_or(at.rate, |t| t.rate);
        let doubled = (2.0 * highest.rate).min(self.high);
        // What the probe could not offer, nobody answers.
        if most <= 0.0 || highest.failed_by_probe() {
            return None;
        }
        if highest.rate < 2.0 * best && highest.rate < self.high {
            return Some(doubled);
        }
        // More can be hidden beside the peak where the answered rate falls off, and nowhere can it
        // be above the rate that is offered.
        let near = self.precision.max(NEAR);
        let hidden = |below: &Tally, above: &Tally, other: &Tally| {
            let wide = above.rate - below.rate > near * above.rate;
            let gain = above.rate * (1.0 - self.precision) > most;
            (wide && gain && !enough(other))
                .then(|| (above.rate / below.rate, f64::midpoint(below.rate, above.rate)))
        };
        let left = peak.checked_sub(1).and_then(|left| self.tallies.get(left));
        let left = left.and_then(|left| hidden(left, at, left));
        let right = self.tallies.get(peak + 1).and_then(|right| hidden(at, right, right));
        let sides = left.into_iter().chain(right);
        sides.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, rate)| rate)
    }

    /// The place of the lowest rate at which the most was answered.
    fn peak(&self) -> Option<usize> {
        let answered = self.tallies.iter().map(Tally::answered).enumerate();
        answered.reduce(|most, one| if one.1 > most.1 { one } else { most }).map(|(at, _)| at)
    }

    /// A rate between the one with the most power and its farther neighbour.
    fn next_around_knee(&self) -> Option<f64> {
        let powers = powers(self.loss_free_observations(1.0));
        let top = most(&powers)?;
        let [before, top, after] = powers.get(top.checked_sub(1)?..top + 2)? else { return None };
        let (below, above) = (top.rate - before.rate, after.rate - top.rate);
        let neighbour = if below > above { before } else { after };
        (below.max(above) > NEAR).then(|| f64::midpoint(top.rate.exp(), neighbour.rate.exp()))
    }

    /// What the trials that passed observed at the rates that did, up to the loss-free one, with
    /// the rates that were asked for, times a number.
    fn loss_free_observations(&self, times: f64) -> impl Iterator<Item = Observation> {
        let most = self.loss_free().map_or(0.0, |free| free.rate);
        let rates = self.tallies.iter().filter(move |tally| tally.passed() && tally.rate <= most);
        rates.flat_map(move |tally| {
            let passed = tally.observations.iter().filter(|one| one.passes(self.loss));
            passed.map(move |one| Observation { offered_rate: times * tally.rate, ..*one })
        })
    }

    /// Tells what the trials at a rate that [`LossFreeSearch::next_rate`] named observed. A trial
    /// that failed is a vote against the rate.
    pub fn observe(&mut self, rate: f64, trials: &[Trial]) {
        let observations: Vec<Observation> = trials.iter().map(Observation::of).collect();
        self.take(rate, &observations);
    }

    fn take(&mut self, rate: f64, observations: &[Observation]) {
        self.points += 1;
        let at = self.tallies.partition_point(|tally| tally.rate < rate);
        if self.tallies.get(at).is_none_or(|tally| tally.rate > rate) {
            let tally = Tally { rate, passes: 0, fails: 0, by_probe: 0, observations: Vec::new() };
            self.tallies.insert(at, tally);
        }
        let Some(tally) = self.tallies.get_mut(at) else { return };
        for observation in observations {
            let passed = observation.passes(self.loss);
            tally.passes += u32::from(passed);
            tally.fails += u32::from(!passed);
            tally.by_probe += u32::from(observation.limited_by_probe);
            tally.observations.push(*observation);
        }
    }

    /// What is known so far, for all of a number of switches together; final once
    /// [`LossFreeSearch::next_rate`] names no rate.
    pub fn result(&self, switches: u32) -> SearchOutcome {
        let all = f64::from(switches);
        let (loss_free, lossy) = (self.loss_free(), self.lossy());
        let by_probe = lossy.is_some_and(Tally::failed_by_probe);
        let peak = self.peak().and_then(|peak| self.tallies.get(peak));
        let knee = knee(&self.loss_free_observations(all).collect::<Vec<_>>());
        SearchOutcome {
            loss_free_rate: loss_free.map(|tally| all * tally.rate),
            // What the probe could not offer says nothing about the controller.
            lossy_rate: lossy.filter(|_| !by_probe).map(|tally| all * tally.rate),
            loss_free_method: self.rule(),
            maximum_received_rate: peak.map_or(0.0, Tally::answered),
            maximum_at_rate: peak.filter(|peak| peak.answered() > 0.0).map(|peak| all * peak.rate),
            knee_rate: knee.found.map(|found| found.rate),
            knee_low_rate: knee.found.map(|found| found.low),
            knee_high_rate: knee.found.map(|found| found.high),
            knee_method: knee.method,
            limited_by_probe: by_probe,
        }
    }

    /// By which rule a rate is loss-free, and how clearly the one that was found is.
    fn rule(&self) -> String {
        let votes = match self.loss_free() {
            Some(free) => format!("{} of {} there", free.passes, free.passes + free.fails),
            None => "there is no such rate".to_owned(),
        };
        format!(
            "Loss-free: at most {} % lost and nothing piled up in a majority of the trials ({votes}), \
             and at every lower rate tried. The limit that a point names is the most serious that \
             any of its trials met.",
            100.0 * self.loss
        )
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

#[cfg(test)]
mod tests;
