//! The bracket around the highest loss-free rate: two rates, and the confidence that the highest
//! loss-free rate lies between them.
//!
//! The bracket is a state machine without I/O. A rate *passes* or *fails* by the votes of its
//! trials. Rates double until one fails. If the first rate fails, rates halve until one passes.
//! Then the bracket is refined in one of two ways:
//!
//! * *By measurement.* An overloaded system often answers at a constant rate, whatever the offered
//!   rate. Fresh trials measure this answer rate, at an offered rate a tenth above it. The bracket
//!   is Student's interval of the mean, widened at each end by the effect of the longest gap
//!   between two answers. It is accepted if the trials just below its lower end pass, and those at
//!   105 % of its upper end show no higher rate.
//! * *By votes.* If a system loses requests for a reason other than its rate, or answers fewer
//!   under overload, the bracket is halved until it is narrow enough. Fresh trials then vote on
//!   both ends: six of six, or nine of ten, must agree (sign tests of 1.6 % and 1.1 %). At the
//!   lower end the answers of all these trials together must also keep up with the requests. An end
//!   that is not confirmed moves outwards.
//!
//! A rough search does neither: it halves the bracket and states no confidence.

use statistics::{Confidence, mean, standard_deviation, student_t};

use super::Range;

/// The confidence that a search states for a complete bracket.
pub(super) const STATED: f64 = 0.95;
/// The confidence of Student's interval of the measured answer rate. It is higher than [`STATED`],
/// because the checks of the bracket's two ends may err as well.
const MEASURED: f64 = 0.98;
/// The offered rate as a multiple of the expected answer rate, in trials that overload the system
/// in order to measure its answer rate.
const OVERLOAD: f64 = 1.1;
/// The numbers of trials after which the interval of the measured answer rate is evaluated. If it
/// is narrow enough after the first number, no further trials are made.
const TRIALS: [usize; 2] = [5, 10];
/// The maximum number of times that the offered rate is raised because it failed to overload the
/// system.
const MAX_RAISES: u32 = 3;
/// The most by which the lower end of a bracket lies below the measured interval, as a share of the
/// rate. Trials check the bracket at this lower rate.
const BELOW: f64 = 0.01;
/// The rate at which the upper end of a bracket is checked, as a multiple of that end.
const ABOVE: f64 = 1.05;
/// The number of trials that check each end of a bracket found by measurement.
const CHECKS: u32 = 2;
/// The factor by which the lowest rate that a search may try is below the lowest configured rate.
const DEEPEST: f64 = 1024.0;
/// The least number of requests that a trial must contain to prove anything. The search for a rate
/// that passes does not go down to rates at which fewer would be due.
const LEAST_DUE: f64 = 10.0;
/// The least ratio of answers to offered requests at which a system counts as keeping up.
const KEPT_UP: f64 = 0.98;

/// The votes of the trials at one rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Votes {
    pub(super) passes: u32,
    pub(super) fails: u32,
    /// The number of `fails` that do not speak against the system. Each stands for a group of
    /// trials that were all disturbed by the tester or ended in silence.
    pub(super) by_tester: u32,
    /// The answers per second and source, for each trial that was neither disturbed nor silent.
    pub(super) answered: Vec<f64>,
    /// The ratio of answers to offered requests, for each trial that was neither disturbed nor
    /// silent.
    pub(super) kept_up: Vec<f64>,
    /// The longest time between two answers in any of these trials, as a share of the trial's
    /// measured time.
    pub(super) longest_gap: f64,
    /// The number of requests due in a trial.
    pub(super) wanted: u64,
}

impl Votes {
    fn add(&mut self, other: &Self) {
        self.passes += other.passes;
        self.fails += other.fails;
        self.by_tester += other.by_tester;
        self.answered.extend_from_slice(&other.answered);
        self.kept_up.extend_from_slice(&other.kept_up);
        self.longest_gap = self.longest_gap.max(other.longest_gap);
        self.wanted = other.wanted;
    }

    /// Returns whether the majority of the votes are passes, or `None` if there are as many fails.
    fn majority(&self) -> Option<bool> {
        (self.passes != self.fails).then_some(self.passes > self.fails)
    }

    /// Checks one end of the bracket by a few votes. `agreeing` of the votes confirm the end, and
    /// the remaining votes contradict it.
    fn check(&self, agreeing: u32) -> Check {
        let all = self.passes + self.fails;
        match all - agreeing {
            contrary if all >= CHECKS && 9 * contrary <= agreeing => Check::Holds,
            0 => Check::Open,
            _ if all < CHECKS => Check::Open,
            _ => Check::Broken,
        }
    }

    /// Applies the sign test to one end of the bracket. `agreeing` of the votes confirm the end,
    /// and the remaining votes contradict it.
    fn sign_test(&self, agreeing: u32) -> Check {
        match (agreeing, self.passes + self.fails - agreeing) {
            (6.., 0) | (9.., 1) => Check::Holds,
            // A rate may have more votes than the test requires, since each point has several
            // trials.
            (agreeing, contrary) if contrary >= 2 && agreeing < 9 * contrary => Check::Broken,
            (_, 2..) => Check::Holds,
            _ => Check::Open,
        }
    }
}

/// The outcome of checking one end of the bracket with the votes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Open,
    Holds,
    Broken,
}

/// The answer rate under overload, and the interval in which it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) trials: usize,
    pub(super) rate: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Half the width of the confidence interval by Student's t distribution, before the effect of
    /// the longest gap is added.
    student: f64,
}

/// The stage of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Rates double until one fails, or halve until one passes.
    Searching,
    /// The highest allowed rate passed, and is tried again to confirm it.
    AtTheTop,
    /// Fresh trials measure the answer rate under overload.
    Measuring {
        raises: u32,
    },
    CheckingLow(Measured),
    CheckingHigh(Measured),
    /// The bracket is halved until it is narrow enough.
    Halving,
    VotingLow,
    VotingHigh,
    Finished,
}

/// The way in which the bracket around the highest loss-free rate was found, or the reason why the
/// search did not find it completely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    /// The search was interrupted before it was complete.
    Unfinished,
    /// No rate that was tried was loss-free.
    NothingPassed,
    /// The highest allowed rate was loss-free. The number says in how many trials it passed.
    NothingFailed(u32),
    /// The lowest rate that failed did so because of the tester, so no upper end is known.
    LimitedByTester,
    ByMeasurement(Measured),
    ByVotes,
    /// The bracket was only halved, as in a rough search.
    Rough,
}

/// The state of the bracket. Rates are requests per second and source.
#[derive(Clone, Debug)]
pub(super) struct Bracket {
    range: Range,
    stage: Stage,
    /// The rate to try next, and the votes on it so far.
    rate: f64,
    votes: Votes,
    /// The highest rate that counts as loss-free (`free`), and the lowest rate above it that does
    /// not (`lossy`), if they exist.
    free: Option<f64>,
    lossy: Option<f64>,
    /// Whether the rate in `lossy` failed because of the tester, not the system.
    pub(super) by_tester: bool,
    /// The answers per second and source at the rate in `lossy`.
    answered: f64,
    /// Whether votes have confirmed the lower end (`low_holds`) and the upper end (`high_holds`) of
    /// the bracket.
    low_holds: bool,
    high_holds: bool,
    /// Whether a rate that failed was tried again, because the system later kept up with a rate
    /// that was meant to overload it.
    has_reopened: bool,
    /// Whether the interval of the measured answer rate was evaluated after the first number of
    /// trials.
    has_looked: bool,
    /// The number of times that an end of the bracket was moved outwards.
    moves: i32,
    method: Method,
}

impl Bracket {
    pub(super) fn new(range: Range) -> Self {
        Self {
            range,
            stage: Stage::Searching,
            rate: range.low,
            votes: Votes::default(),
            free: None,
            lossy: None,
            by_tester: false,
            answered: 0.0,
            low_holds: false,
            high_holds: false,
            has_reopened: false,
            has_looked: false,
            moves: 0,
            method: Method::Unfinished,
        }
    }

    /// Returns the rate to try next, or `None` once the bracket is complete.
    pub(super) fn next_rate(&self) -> Option<f64> {
        (self.stage != Stage::Finished).then_some(self.rate)
    }

    /// Returns the highest rate that counts as loss-free.
    pub(super) fn free(&self) -> Option<f64> {
        match self.method {
            Method::ByMeasurement(measured) => Some(self.below() * measured.low),
            _ => self.free,
        }
    }

    /// Returns the lowest rate that is not loss-free, or `None` if no rate failed or the tester was
    /// the reason.
    pub(super) fn lossy(&self) -> Option<f64> {
        match self.method {
            Method::ByMeasurement(measured) => Some(measured.high),
            _ => self.lossy.filter(|_| !self.by_tester),
        }
    }

    /// Returns how the bracket was found: by measurements, by votes, or not completely.
    pub(super) fn method(&self) -> Method {
        self.method
    }

    /// Returns the confidence that the highest loss-free rate lies in the bracket, or `None` if the
    /// search states no confidence.
    pub(super) fn confidence(&self) -> Option<f64> {
        matches!(self.method, Method::ByMeasurement(_) | Method::ByVotes).then_some(STATED)
    }

    /// Records the votes of the trials at the rate that [`Bracket::next_rate`] returned, and
    /// chooses the next rate.
    pub(super) fn take(&mut self, votes: &Votes) {
        self.votes.add(votes);
        match self.stage {
            Stage::Searching | Stage::Halving => self.take_majority(),
            Stage::AtTheTop => self.take_at_the_top(),
            Stage::Measuring { raises } => self.take_measurement(raises),
            Stage::CheckingLow(measured) => self.take_check_low(measured),
            Stage::CheckingHigh(measured) => self.take_check_high(measured),
            Stage::VotingLow => self.take_votes_low(),
            Stage::VotingHigh => self.take_votes_high(),
            Stage::Finished => {}
        }
    }

    fn go(&mut self, stage: Stage, rate: f64) {
        self.stage = stage;
        self.rate = rate;
        self.votes = Votes::default();
        self.has_looked = false;
    }

    fn finish(&mut self, method: Method) {
        self.method = method;
        self.stage = Stage::Finished;
    }

    fn take_majority(&mut self) {
        let at = self.rate;
        match self.votes.majority() {
            None => return,
            Some(true) => self.free = Some(at),
            Some(false) => self.fails_at(at),
        }
        self.narrow();
    }

    fn fails_at(&mut self, rate: f64) {
        self.lossy = Some(rate);
        self.by_tester = 2 * self.votes.by_tester >= self.votes.fails;
        self.answered = mean(&self.votes.answered).unwrap_or(0.0);
        self.high_holds = false;
    }

    /// Chooses the next rate to try, from the highest rate that passed and the lowest one that
    /// failed.
    fn narrow(&mut self) {
        match (self.free, self.lossy) {
            (Some(free), None) if free >= self.range.high => {
                let votes = std::mem::take(&mut self.votes);
                self.go(Stage::AtTheTop, free);
                self.votes = votes;
                self.take_at_the_top();
            }
            (Some(free), None) => self.go(self.stage, (2.0 * free).min(self.range.high)),
            (None, None) => self.go(self.stage, self.range.low),
            (None, Some(lossy)) => {
                let lower = lossy / 2.0;
                let due = self.votes.wanted as f64 * lower / self.rate;
                match lower < self.deepest() || due < LEAST_DUE {
                    true => self.finish(Method::NothingPassed),
                    false => self.go(self.stage, lower),
                }
            }
            (Some(free), Some(_))
                if self.stage == Stage::Searching && !self.by_tester && !self.range.is_rough =>
            {
                let overload = OVERLOAD * self.answered.max(free);
                self.go(Stage::Measuring { raises: 0 }, overload.min(self.range.high));
            }
            (Some(free), Some(lossy)) if lossy - free > self.width() * lossy => {
                self.go(Stage::Halving, f64::midpoint(free, lossy));
            }
            (Some(_), Some(_)) if self.range.is_rough => self.finish(match self.by_tester {
                true => Method::LimitedByTester,
                false => Method::Rough,
            }),
            // The end is lowered a little, because the tolerated backlog lets a rate just above the
            // system's pass as well.
            (Some(free), Some(_)) => self.vote_on_the_lower_end(self.below() * free),
        }
    }

    fn take_at_the_top(&mut self) {
        let Votes { passes, fails, .. } = self.votes;
        if fails > 0 && fails >= passes {
            self.free = None;
            self.fails_at(self.rate);
            self.stage = Stage::Searching;
            self.narrow();
        } else if passes >= 2 {
            self.finish(Method::NothingFailed(passes));
        }
    }

    fn halve(&mut self) {
        // A corrected end may now lie beyond the other end.
        if self.free.zip(self.lossy).is_some_and(|(free, lossy)| free >= lossy) {
            self.lossy = None;
        }
        self.stage = Stage::Halving;
        self.narrow();
    }

    /// Records a trial that measures the answer rate under overload, and chooses the next step.
    fn take_measurement(&mut self, raises: u32) {
        let offered = self.rate;
        if self.votes.by_tester > 0 {
            // The tester cannot offer the rate that would overload the system.
            if self.lossy.is_none_or(|lossy| offered < lossy) {
                self.fails_at(offered);
            }
            return self.halve();
        }
        let answered = mean(&self.votes.answered).unwrap_or(0.0);
        if self.votes.check(self.votes.passes) == Check::Holds && answered >= KEPT_UP * offered {
            return self.takes_more(offered, raises);
        }
        // The interval is evaluated at most twice. Stopping whenever it happens to be narrow would
        // bias it.
        let Some(measured) = self.measured() else { return };
        if (TRIALS[0] + 1..TRIALS[1]).contains(&measured.trials) && self.has_looked {
            return;
        }
        self.has_looked = true;
        if measured.high >= offered {
            let higher = (OVERLOAD * measured.high).min(self.range.high);
            match raises < MAX_RAISES && higher > 1.01 * offered {
                true => self.go(Stage::Measuring { raises: raises + 1 }, higher),
                false => self.halve(),
            }
            return;
        }
        let wide = 2.0 * measured.student > self.range.precision * measured.rate;
        if wide && measured.trials < TRIALS[1] {
            return;
        }
        let below = self.below() * measured.low;
        match below >= self.deepest() && self.is_steady(&measured) {
            true => self.go(Stage::CheckingLow(measured), below),
            false => self.halve(),
        }
    }

    /// Returns whether the system answers at a constant rate under overload. This is the case if
    /// its answer rate at the rate that failed equals the one that the later trials under overload
    /// measured, apart from chance and the effect of the longest gap. A system that answers fewer
    /// requests when more are offered has no constant rate.
    fn is_steady(&self, measured: &Measured) -> bool {
        let by_chance = measured.student * (measured.trials as f64 + 1.0).sqrt();
        let by_gap = measured.high - measured.rate - measured.student;
        self.answered >= KEPT_UP * measured.rate - by_chance - by_gap
    }

    /// Returns the lowest rate that may be tried.
    fn deepest(&self) -> f64 {
        self.range.low / DEEPEST
    }

    /// Returns the lower end of the bracket as a share of the lower end of the measured interval.
    /// It is slightly less than 1, and trials check the bracket at this rate.
    fn below(&self) -> f64 {
        1.0 - BELOW.min(self.range.precision / 2.0)
    }

    /// Returns the distance between the ends at which halving stops, as a share of the upper end.
    /// It is less than the requested precision, because the lower end is later lowered by the
    /// factor [`Self::below`].
    fn width(&self) -> f64 {
        match self.range.is_rough {
            true => self.range.precision,
            false => self.range.precision - (1.0 - self.below()),
        }
    }

    /// Records that the system keeps up with the rate `offered`, which was meant to overload it,
    /// and chooses the next step.
    fn takes_more(&mut self, offered: f64, raises: u32) {
        self.free = Some(self.free.map_or(offered, |free| free.max(offered)));
        // The rate that failed may have failed by chance, so it is tried once more.
        if let Some(lossy) = self.lossy.filter(|lossy| self.has_reopened && *lossy > offered) {
            let higher = OVERLOAD * offered;
            return match higher < lossy && raises < MAX_RAISES {
                true => self.go(Stage::Measuring { raises: raises + 1 }, higher),
                false => self.halve(),
            };
        }
        self.has_reopened = true;
        self.lossy = None;
        self.stage = Stage::Searching;
        self.narrow();
    }

    /// Returns the answer rate under overload with its interval, or `None` if there are too few
    /// trials.
    fn measured(&self) -> Option<Measured> {
        let values = &self.votes.answered;
        if values.len() < TRIALS[0] {
            return None;
        }
        let (rate, deviation) = (mean(values)?, standard_deviation(values)?);
        let quantile = student_t(Confidence::new(MEASURED)?, values.len() as f64 - 1.0);
        let student = quantile * deviation / (values.len() as f64).sqrt();
        let margin = student + rate * self.votes.longest_gap;
        let (low, high) = ((rate - margin).max(0.0), rate + margin);
        Some(Measured { trials: values.len(), rate, low, high, student })
    }

    fn take_check_low(&mut self, measured: Measured) {
        match self.votes.check(self.votes.passes) {
            Check::Open => {}
            Check::Holds => {
                let above = (ABOVE * measured.high).min(self.range.high);
                match above > 1.01 * measured.high {
                    true => self.go(Stage::CheckingHigh(measured), above),
                    false => self.finish(Method::ByMeasurement(measured)),
                }
            }
            Check::Broken => {
                let at = self.rate;
                self.fails_at(at);
                self.free = self.free.filter(|free| *free < at);
                self.halve();
            }
        }
    }

    fn take_check_high(&mut self, measured: Measured) {
        // A single trial does not show a slowly growing backlog, but the measured answer rate does.
        let most = (measured.high * self.rate).sqrt();
        let is_slow = |answered: &&f64| **answered <= most && self.range.loss == 0.0;
        let slow = self.votes.answered.iter().filter(is_slow).count() as u32;
        let agreeing = slow.max(self.votes.fails).min(self.votes.passes + self.votes.fails);
        match self.votes.check(agreeing) {
            Check::Open => {}
            Check::Holds => self.finish(Method::ByMeasurement(measured)),
            Check::Broken => {
                self.free = Some(self.free.map_or(self.rate, |free| free.max(self.rate)));
                self.halve();
            }
        }
    }

    fn take_votes_low(&mut self) {
        // No confidence is stated where the tester is the limit, so two trials suffice.
        let test = match self.by_tester {
            true => self.votes.check(self.votes.passes),
            false => match self.votes.sign_test(self.votes.passes) {
                Check::Holds if !self.is_kept_up_with() => Check::Broken,
                test => test,
            },
        };
        match test {
            Check::Open => {}
            Check::Holds if self.by_tester => self.finish(Method::LimitedByTester),
            Check::Holds => {
                self.low_holds = true;
                self.vote_on_the_other_end();
            }
            Check::Broken => {
                let lower = self.rate * (1.0 - self.step());
                if self.votes.passes == 0 {
                    self.fails_at(self.rate);
                }
                self.moves += 1;
                self.vote_on_the_lower_end(lower);
            }
        }
    }

    /// Moves the lower end of the bracket to `rate`, at which the next trials vote. If the rate is
    /// too low to be tried, the search ends without a loss-free rate.
    fn vote_on_the_lower_end(&mut self, rate: f64) {
        match rate < self.deepest() {
            true => {
                self.free = None;
                self.finish(Method::NothingPassed);
            }
            false => {
                self.free = Some(rate);
                self.go(Stage::VotingLow, rate);
            }
        }
    }

    /// Returns whether the answers of all trials at the current rate together keep up with the
    /// requests. A single trial does not show a slowly growing backlog.
    fn is_kept_up_with(&self) -> bool {
        let share = mean(&self.votes.kept_up).unwrap_or(1.0);
        share * (1.0 + self.votes.longest_gap) >= KEPT_UP * (1.0 - self.range.loss)
    }

    /// Evaluates the votes on the upper end of the bracket, and chooses the next step.
    fn take_votes_high(&mut self) {
        match self.votes.sign_test(self.votes.fails) {
            Check::Open => {}
            Check::Holds if 2 * self.votes.by_tester >= self.votes.fails => {
                self.by_tester = true;
                self.finish(Method::LimitedByTester);
            }
            Check::Holds => {
                self.high_holds = true;
                self.vote_on_the_other_end();
            }
            Check::Broken => {
                let higher = self.rate * (1.0 + self.step());
                // If votes differ, the rate is close to the highest loss-free one, and only this
                // end moves.
                if self.votes.fails == 0 {
                    self.free = Some(self.rate);
                    self.low_holds = false;
                }
                self.moves += 1;
                self.lossy = Some(higher);
                match higher > self.range.high {
                    true => {
                        self.lossy = None;
                        self.finish(Method::NothingFailed(self.votes.passes));
                    }
                    false => self.go(Stage::VotingHigh, higher),
                }
            }
        }
    }

    fn vote_on_the_other_end(&mut self) {
        match (self.free, self.lossy) {
            (Some(free), _) if !self.low_holds => self.go(Stage::VotingLow, free),
            (_, Some(lossy)) if !self.high_holds => self.go(Stage::VotingHigh, lossy),
            _ => self.finish(Method::ByVotes),
        }
    }

    /// Returns the distance by which an end of the bracket moves outwards if votes contradict it,
    /// as a share of its rate.
    fn step(&self) -> f64 {
        (self.range.precision * 2f64.powi(self.moves.min(8))).min(0.5)
    }
}
