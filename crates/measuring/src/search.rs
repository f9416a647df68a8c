//! The search for the highest rate of requests that a system sustains. The same search also finds
//! the highest rate at which the system answers, and the knee of its response time. The system is a
//! controller or a switch under test, which answers requests; the tester is the program that sends
//! them.
//!
//! The search is a state machine without I/O: it returns the next rate to try, receives what was
//! observed at that rate, and finally returns its results: the highest answer rate of any trial,
//! and the highest rate without loss.
//!
//! *Loss-free* (`bracket`). A rate passes if every request was answered and no backlog grew. The
//! second condition is needed because a system with a long queue eventually answers everything,
//! even at a rate that it cannot sustain. The result is a bracket: two rates, and the confidence
//! with which the highest loss-free rate lies between them.
//!
//! *Disturbed trials* (`observation`). If delays of the tester may explain the missing answers, the
//! trial proves nothing about the rate and is repeated, at most three times. A trial is repeated
//! too if the system was silent at its end, since a system that pauses now and then has not
//! stopped.
//!
//! *The maximum.* Above the loss-free rate, a system that loses some requests may still
//! answer more than below it, while one that collapses answers fewer. The search doubles the rate
//! until it has tried twice the rate with the most answers. It then halves the gaps on both sides
//! of that rate as long as a rate with more answers could be in them.
//!
//! *The knee* ([`knee`]) is searched for among the trials that passed without a backlog, up to the
//! loss-free rate; beyond it, the response time depends on the length of the trial. The power of a
//! rate is the ratio of its answer rate to its response time. The search tries rates between the
//! one with the most power and its neighbours until the neighbours are close.
//!
//! The search ends after a fixed number of rates in any case.

mod bracket;
mod knee;
mod observation;

use bracket::{Bracket, Method, Votes};
pub use knee::{Knee, KneeRates, knee};
use knee::{most, powers};
pub use observation::Observation;
use observation::Vote;

/// The number of rates after which a search ends with the results so far. A rate counts each time
/// that trials are made at it. Twelve doublings, a measurement, its checks and the search for the
/// maximum take fewer than half of them.
const MAX_POINTS: usize = 80;
/// The maximum number of repetitions of a disturbed trial.
const MAX_REPEATS: u32 = 3;
/// The distance from its neighbours at which the rate with the most power is taken for the knee. A
/// distance is the difference of the rates' logarithms. The power curve is flat at its top, so
/// closer neighbours locate the knee no better.
const NEAR: f64 = 0.15;

/// The range of rates that a search may try, and its precision. Rates are requests per second and
/// source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The rate at which the search begins. Lower rates are tried only if this rate is not
    /// loss-free.
    pub low: f64,
    /// The highest rate that is tried.
    pub high: f64,
    /// The largest distance between the two ends of the resulting bracket, as a fraction of the
    /// rate.
    pub precision: f64,
    /// Whether the search is rough. A rough search stops once a rate that passed and a rate that
    /// failed are close enough. Any other search makes further trials, from which it derives the
    /// confidence that the highest loss-free rate lies between the two.
    pub is_rough: bool,
    /// The largest share of requests that may stay unanswered at a rate that still counts as
    /// loss-free.
    pub loss: f64,
    /// The number of sources of requests. Each source sends at the rate that is tried.
    pub sources: u32,
}

impl Range {
    /// Clamps the values to the allowed range: rates above zero, `high` at least `low`, a precision
    /// from 0.001 to 1, a loss from 0 to 1.
    fn in_bounds(self) -> Self {
        let low = self.low.max(f64::MIN_POSITIVE);
        Self {
            low,
            high: self.high.max(low),
            precision: self.precision.clamp(0.001, 1.0),
            loss: self.loss.clamp(0.0, 1.0),
            sources: self.sources.max(1),
            ..self
        }
    }
}

/// A search for the highest rate without loss. Rates are requests per second and source.
#[derive(Clone, Debug)]
pub struct LossFreeSearch {
    range: Range,
    bracket: Bracket,
    /// The outcome of the trials at each rate, in ascending order of the rates.
    tallies: Vec<Tally>,
    points: usize,
    /// The rate to try again, because its trials were all disturbed or ended in silence. `repeats`
    /// is the number of repetitions so far.
    again: Option<f64>,
    repeats: u32,
    /// The number of trials that were disturbed.
    disturbed: u32,
    /// The number of trials of the whole search at whose end the system was silent;
    /// `silent_in_row` counts only those of the latest repetitions of one rate.
    silent: u32,
    silent_in_row: u32,
    /// The lowest rate at which every trial was disturbed or ended in silence, after all
    /// repetitions.
    given_up: Option<f64>,
    /// Whether the system stopped answering for good.
    stopped: bool,
}

/// The names for the system and the tester in the sentences of [`Found`].
#[derive(Clone, Copy, Debug)]
pub struct Wording {
    /// The noun for the system under test, such as "controller".
    pub system: &'static str,
    /// The name of the tester, with its article if it has one, such as "the probe".
    pub tester: &'static str,
    /// Advice to the user on trials that ended with the system silent. It follows a sentence of the
    /// result, so it is either empty or a space and a sentence.
    pub on_silence: &'static str,
}

/// The result of a search. Rates are requests per second over all sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The highest rate that is known to be loss-free, which is the lower end of the bracket. It is
    /// `None` if no rate is known to be loss-free, or if the system stopped answering for good.
    pub loss_free_rate: Option<f64>,
    /// The lowest rate that is known not to be loss-free, which is the upper end of the bracket. It
    /// is `None` if no rate failed, or if the lowest rate that failed did so because of the tester.
    pub lossy_rate: Option<f64>,
    /// The confidence, from 0 to 1, that the highest loss-free rate lies between `loss_free_rate`
    /// and `lossy_rate`. It is `None` if either of them is unknown, or if the search was rough or
    /// not completed.
    pub confidence: Option<f64>,
    /// The condition under which a rate counts as loss-free, and how many trials agreed, in a
    /// sentence or two.
    pub loss_free_method: String,
    /// The number of trials that say nothing about the system, because delays of the tester may
    /// explain the losses or the tester did not send at the requested rate.
    pub disturbed_trials: u32,
    /// The highest answer rate. An answer rate is the mean over all trials at one offered rate.
    pub maximum_received_rate: f64,
    /// The offered rate at which the system answered `maximum_received_rate`, or `None` if nothing
    /// was answered.
    pub maximum_at_rate: Option<f64>,
    /// The offered rate beyond which the response time rises faster than the rate. It never exceeds
    /// the loss-free rate.
    pub knee: Knee,
    /// Whether the lowest rate that failed did so because of the tester, so that the system may
    /// sustain more than was found.
    pub limited_by_tester: bool,
}

/// The votes and observations of all trials at one rate.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// The requested rate.
    rate: f64,
    passes: u32,
    fails: u32,
    /// The number of `fails` that do not speak against the system. Each stands for a group of
    /// trials that were all disturbed by the tester or ended in silence.
    by_tester: u32,
    observations: Vec<Observation>,
}

impl Tally {
    fn passed(&self) -> bool {
        self.passes > self.fails
    }

    /// Returns whether the rate failed, and disturbed or silent trials account for at least half of
    /// its `fails`.
    fn failed_by_tester(&self) -> bool {
        self.fails > self.passes && 2 * self.by_tester >= self.fails
    }

    /// Returns the mean answer rate of the trials, or 0 if there are no trials.
    fn answered(&self) -> f64 {
        let rates = self.observations.iter().map(|observation| observation.received_rate);
        rates.sum::<f64>() / self.observations.len().max(1) as f64
    }
}

impl LossFreeSearch {
    /// Creates a search in a range. Values out of bounds are clamped to the nearest allowed value.
    #[must_use]
    pub fn new(range: Range) -> Self {
        let range = range.in_bounds();
        Self {
            range,
            bracket: Bracket::new(range),
            tallies: Vec::new(),
            points: 0,
            again: None,
            repeats: 0,
            disturbed: 0,
            silent: 0,
            silent_in_row: 0,
            given_up: None,
            stopped: false,
        }
    }

    /// Returns the rate to try next, or `None` once the search has ended.
    #[must_use]
    pub fn next_rate(&self) -> Option<f64> {
        if self.stopped || self.points >= MAX_POINTS {
            return None;
        }
        // Overload comes last, since its effects on a system may persist into the next trial.
        self.again
            .or_else(|| self.bracket.next_rate())
            .or_else(|| self.next_around_knee())
            .or_else(|| self.next_around_maximum())
    }

    /// Returns the rate to try next in order to find the loss-free rate alone, or `None` once it is
    /// known. Rates that only the knee or the maximum need are left out.
    #[must_use]
    pub fn next_rate_for_bracket(&self) -> Option<f64> {
        self.bracket.next_rate()?;
        self.next_rate()
    }

    /// Returns whether the system has stopped for good: in every repetition of a trial it answered
    /// nothing, or stopped answering before the end.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.stopped
    }

    /// Returns a rate at which the answer rate may be higher than at any rate tried so far, or
    /// `None` if there is no such rate.
    fn next_around_maximum(&self) -> Option<f64> {
        let peak = self.peak()?;
        let (at, most) = (self.tallies.get(peak)?, self.tallies.get(peak)?.answered());
        let highest = self.tallies.last()?;
        // The best rate is the lowest one whose answer rate equals the peak's within the precision.
        let enough = |tally: &Tally| tally.answered() >= (1.0 - self.range.precision) * most;
        let best = self.tallies.iter().find(|tally| enough(tally)).map_or(at.rate, |t| t.rate);
        let doubled = (2.0 * highest.rate).min(self.range.high);
        // Rates that the tester could not offer cannot be answered.
        if most <= 0.0 || highest.failed_by_tester() {
            return None;
        }
        if highest.rate < 2.0 * best && highest.rate < self.range.high {
            return Some(doubled);
        }
        // Beside the peak, a higher answer rate can be hidden between two rates that were tried. It
        // can never exceed the offered rate.
        let near = self.range.precision.max(NEAR);
        let hidden = |below: &Tally, above: &Tally, other: &Tally| {
            let wide = above.rate - below.rate > near * above.rate;
            let gain = above.rate * (1.0 - self.range.precision) > most;
            (wide && gain && !enough(other))
                .then(|| (above.rate / below.rate, f64::midpoint(below.rate, above.rate)))
        };
        let left = peak.checked_sub(1).and_then(|left| self.tallies.get(left));
        let left = left.and_then(|left| hidden(left, at, left));
        let right = self.tallies.get(peak + 1).and_then(|right| hidden(at, right, right));
        let sides = left.into_iter().chain(right);
        sides.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, rate)| rate)
    }

    /// Returns the index of the rate with the highest answer rate; the lowest such rate if several
    /// are equal.
    fn peak(&self) -> Option<usize> {
        let answered = self.tallies.iter().map(Tally::answered).enumerate();
        answered.reduce(|most, one| if one.1 > most.1 { one } else { most }).map(|(at, _)| at)
    }

    /// Returns a rate halfway between the rate with the most power and its more distant neighbour,
    /// or `None` once the neighbours are close enough to the knee.
    fn next_around_knee(&self) -> Option<f64> {
        let powers = powers(self.loss_free_observations(1.0));
        let top = most(&powers)?;
        let [before, top, after] = powers.get(top.checked_sub(1)?..top + 2)? else { return None };
        let (below, above) = (top.rate - before.rate, after.rate - top.rate);
        let neighbour = if below > above { before } else { after };
        (below.max(above) > NEAR).then(|| f64::midpoint(top.rate.exp(), neighbour.rate.exp()))
    }

    /// Returns the observations from which the knee is determined. They come from trials that
    /// passed without a backlog, at rates that passed and do not exceed the loss-free rate. The
    /// offered rate of each is the requested rate per source multiplied by `times`. A caller sets
    /// `times` to the number of sources to obtain rates over all sources, and otherwise to 1.
    fn loss_free_observations(&self, times: f64) -> impl Iterator<Item = Observation> {
        let most = self.bracket.free().unwrap_or(0.0) * (1.0 + f64::EPSILON);
        let rates = self.tallies.iter().filter(move |tally| tally.passed() && tally.rate <= most);
        rates.flat_map(move |tally| {
            let passed = tally.observations.iter().filter(|one| self.is_for_knee(one));
            passed.map(move |one| Observation { offered_rate: times * tally.rate, ..*one })
        })
    }

    fn is_for_knee(&self, observation: &Observation) -> bool {
        !observation.backlogged && observation.vote(self.range.loss) == Vote::Pass
    }

    /// Records the observations of the trials at a rate that [`LossFreeSearch::next_rate`]
    /// returned. Each trial votes for or against the rate, or counts as disturbed or silent.
    pub fn observe(&mut self, rate: f64, observations: &[Observation]) {
        self.points += 1;
        let mut votes = Votes::default();
        let (mut disturbed, mut silent) = (0, 0);
        for observation in observations {
            votes.wanted = observation.wanted;
            match observation.vote(self.range.loss) {
                Vote::Pass => votes.passes += 1,
                Vote::Fail => votes.fails += 1,
                Vote::Disturbed => {
                    disturbed += 1;
                    continue;
                }
                Vote::Silent => {
                    silent += 1;
                    continue;
                }
            }
            votes.answered.push(observation.received_rate / f64::from(self.range.sources));
            if observation.offered_rate > 0.0 {
                votes.kept_up.push(observation.received_rate / observation.offered_rate);
            }
            votes.longest_gap = votes.longest_gap.max(observation.longest_gap);
        }
        self.disturbed += disturbed;
        self.silent += silent;
        let is_open = votes.passes + votes.fails == 0 && disturbed + silent > 0;
        self.silent_in_row = if is_open { self.silent_in_row + silent } else { 0 };
        if is_open && self.repeats < MAX_REPEATS {
            self.repeats += 1;
            self.again = Some(rate);
            self.tally(rate).observations.extend_from_slice(observations);
            return;
        }
        if is_open {
            self.stopped = disturbed == 0 && self.silent_in_row > MAX_REPEATS;
            if self.bracket.next_rate() == Some(rate) {
                self.given_up = Some(self.given_up.map_or(rate, |lowest| lowest.min(rate)));
            }
            (votes.fails, votes.by_tester) = (1, 1);
        }
        (self.again, self.repeats) = (None, 0);
        let tally = self.tally(rate);
        tally.passes += votes.passes;
        tally.fails += votes.fails;
        tally.by_tester += votes.by_tester;
        tally.observations.extend_from_slice(observations);
        if self.bracket.next_rate() == Some(rate) && votes.passes + votes.fails > 0 {
            self.bracket.take(&votes);
        }
    }

    /// Returns the tally of a rate, and creates it first if there is none yet.
    fn tally(&mut self, rate: f64) -> &mut Tally {
        let at = self.tallies.partition_point(|tally| tally.rate < rate);
        if self.tallies.get(at).is_none_or(|tally| tally.rate > rate) {
            self.tallies.insert(at, Tally { rate, ..Tally::default() });
        }
        &mut self.tallies[at]
    }

    /// Returns the result so far, with rates over all sources together. The result is final once
    /// [`LossFreeSearch::next_rate`] returns `None`.
    #[must_use]
    pub fn result(&self, wording: &Wording) -> Found {
        let all = f64::from(self.range.sources);
        let bracket = &self.bracket;
        let peak = self.peak().and_then(|peak| self.tallies.get(peak));
        let knee = knee(&self.loss_free_observations(all).collect::<Vec<_>>());
        Found {
            loss_free_rate: bracket.free().filter(|_| !self.stopped).map(|rate| all * rate),
            lossy_rate: bracket.lossy().map(|rate| all * rate),
            confidence: bracket.confidence().filter(|_| !self.stopped),
            loss_free_method: self.rule(wording),
            disturbed_trials: self.disturbed,
            maximum_received_rate: peak.map_or(0.0, Tally::answered),
            maximum_at_rate: peak.filter(|peak| peak.answered() > 0.0).map(|peak| all * peak.rate),
            knee,
            limited_by_tester: bracket.by_tester,
        }
    }

    /// Returns sentences that state the condition under which a rate counts as loss-free, and how
    /// the bracket was found.
    fn rule(&self, wording: &Wording) -> String {
        let Wording { system, tester, on_silence } = wording;
        let all = f64::from(self.range.sources);
        let mut text =
            format!("Loss-free: at most {} % lost and nothing piled up. ", 100.0 * self.range.loss);
        text.push_str(&match self.bracket.method() {
            _ if self.stopped => format!("The {system} stopped answering, so that no rate is named."),
            Method::Unfinished => "The search ended before the rate was known.".to_owned(),
            Method::NothingPassed => {
                let lowest = self.tallies.first().map_or(self.range.low, |tally| tally.rate);
                format!("No rate was loss-free, down to {:.3}/s.", all * lowest)
            }
            Method::NothingFailed(passes) => {
                format!("No rate failed; the highest that was tried passed {passes} times.")
            }
            Method::LimitedByTester => {
                format!("Above, {tester} was the limit, so that no upper end is known.")
            }
            Method::ByMeasurement(measured) => format!(
                "Offered more than it takes, the {system} answered {:.1}/s in {} trials ({:.1} to \
                 {:.1}/s: Student's interval at 98 %, widened by the longest gap between answers). Just \
                 below the lower end every check was loss-free, and 5 % above the upper end none \
                 answered more.",
                all * measured.rate,
                measured.trials,
                all * measured.low,
                all * measured.high
            ),
            Method::Rough => "It was found by halving, from one trial at each rate: a rough search states no \
                 confidence."
                .to_owned(),
            Method::ByVotes => "The answers under overload do not show the rate, so that it was found by \
                 halving; at each end at least six of six, or nine of ten, fresh trials agreed."
                .to_owned(),
        });
        if self.disturbed > 0 {
            text.push_str(&format!(
                " Delays of {tester} or its host may explain the losses of {} trials: they count \
                 neither for nor against a rate and were repeated, three times at most.",
                self.disturbed
            ));
        }
        if let Some(rate) = self.given_up.filter(|_| self.bracket.by_tester && !self.stopped) {
            text.push_str(&format!(
                " At {:.1}/s no trial was undisturbed, so that the rate found may be too low: it is \
                 the host's pauses that lowered it.",
                all * rate
            ));
        }
        if self.silent > 0 && !self.stopped {
            text.push_str(&format!(
                " In {} trials the {system} was silent to the end and answered again in the next; \
                 they were repeated.{on_silence}",
                self.silent
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests;
