//! The bracket: two rates between which the highest loss-free rate lies, and the confidence with
//! which it does.
//!
//! The bracket is a state machine without I/O. A rate *passes* or *fails* by the votes of its
//! trials. Rates double until one fails. If the first rate fails, rates halve until one passes.
//! Then the bracket is refined in one of two ways:
//!
//! * *By measurement.* A system under overload answers at a rate of its own. That rate is
//!   measured by fresh trials at an offered rate a tenth above it. The bracket is Student's
//!   interval of their mean, widened at each end by the effect of the longest gap between two
//!   answers. It is accepted if the trials just below its lower end pass, and those at 105 % of its
//!   upper end show no higher rate.
//! * *By votes.* Where a system loses requests for a reason other than its rate, or answers
//!   fewer under overload, the bracket is halved until it is narrow enough. Fresh trials then vote
//!   on both ends: six of six, or nine of ten, must agree (sign tests of 1.6 % and 1.1 %), and at
//!   the lower end the answers of all these trials together must keep up with the requests. An
//!   end that is not confirmed moves outwards.
//!
//! A rough search does neither: it halves the bracket and states no confidence.

use statistics::{Confidence, mean, standard_deviation, student_t};

use super::Range;

/// The confidence that a search states for a complete bracket.
pub(super) const STATED: f64 = 0.95;
/// The confidence of Student's interval. It is higher than [`STATED`], because the checks of the
/// two ends may err as well.
const MEASURED: f64 = 0.98;
/// The ratio of the offered rate to the expected answer rate, in trials that measure the answer
/// rate under overload.
const OVERLOAD: f64 = 1.1;
/// The numbers of trials after which the interval of the measured rate is evaluated. The first
/// number suffices if the interval is narrow enough.
const TRIALS: [usize; 2] = [5, 10];
/// The maximum number of times that the offered rate is raised because the system kept up with
/// it.
const MAX_RAISES: u32 = 3;
/// The largest distance, as a share of the rate, between the lower end of a measured bracket and
/// the rate at which this end is checked.
const BELOW: f64 = 0.01;
/// The ratio between the rate at which the upper end is checked and the upper end.
const ABOVE: f64 = 1.05;
/// The number of trials that check each end of a measured bracket.
const CHECKS: u32 = 2;
/// The largest factor by which a search may go below the lowest configured rate.
const DEEPEST: f64 = 1024.0;
/// The number of due requests per trial below which no lower rate is tried, since a trial with so
/// few proves nothing.
const LEAST_DUE: f64 = 10.0;
/// The least ratio of answers to offered requests of a system that keeps up.
const KEPT_UP: f64 = 0.98;

/// The votes of the trials at one rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Votes {
    pub(super) passes: u32,
    pub(super) fails: u32,
    /// The number of those `fails` that stand for a rate whose trials were all disturbed by the
    /// tester or ended in silence.
    pub(super) by_tester: u32,
    /// Answers per second and source of each trial that was not disturbed.
    pub(super) answered: Vec<f64>,
    /// The ratio of answers to due requests in each trial that was not disturbed.
    pub(super) kept_up: Vec<f64>,
    /// The longest time between two answers in any undisturbed trial, as a share of the measured
    /// time.
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

    /// Returns whether the rate passed, by majority, or `None` if there is no majority.
    fn majority(&self) -> Option<bool> {
        (self.passes != self.fails).then_some(self.passes > self.fails)
    }

    /// Returns the outcome of a check of an end, of which `agreeing` votes confirm the end and the
    /// remaining votes contradict it.
    fn check(&self, agreeing: u32) -> Check {
        let all = self.passes + self.fails;
        match all - agreeing {
            contrary if all >= CHECKS && 9 * contrary <= agreeing => Check::Holds,
            0 => Check::Open,
            _ if all < CHECKS => Check::Open,
            _ => Check::Broken,
        }
    }

    /// Returns the outcome of the sign test on an end, of which `agreeing` votes confirm the end
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

/// The outcome of checking an end of the bracket, so far.
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
    /// Half the width of the confidence interval by Student's t distribution.
    student: f64,
}

/// The stage of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Rates double or halve until one has passed and one has failed.
    Searching,
    /// The highest allowed rate passed, and is tried once more.
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
    /// No rate that was tried is loss-free.
    NothingPassed,
    /// The highest allowed rate is loss-free. The number counts how often it passed.
    NothingFailed(u32),
    /// The tester was the limit at the lowest rate that failed, so no upper end is known.
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
    /// Whether the lossy rate failed because of the tester.
    pub(super) by_tester: bool,
    /// The answers per second and source at the rate that failed.
    answered: f64,
    /// Whether votes have confirmed the lower end (`low_holds`) and the upper end (`high_holds`) of
    /// the bracket.
    low_holds: bool,
    high_holds: bool,
    /// Whether a rate that failed was already tried again.
    has_reopened: bool,
    /// Whether the interval of the measured answer rate was already evaluated once.
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

    /// Returns the rate above which no rate is loss-free, or `None` where the tester was the limit.
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

    /// Returns the confidence with which the bracket contains the highest loss-free rate, if it is
    /// known.
    pub(super) fn confidence(&self) -> Option<f64> {
        matches!(self.method, Method::ByMeasurement(_) | Method::ByVotes).then_some(STATED)
    }

    /// Records votes on the rate that [`Bracket::next_rate`] returned.
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

    /// Chooses the next step after a trial that measures the answer rate under overload.
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

    /// Returns whether the answer rate at the failed rate equals the answer rate that the trials
    /// under overload have measured since, up to chance and the effect of the longest gap. A
    /// system that answers fewer requests when more are offered has no constant rate under
    /// overload.
    fn is_steady(&self, measured: &Measured) -> bool {
        let by_chance = measured.student * (measured.trials as f64 + 1.0).sqrt();
        let by_gap = measured.high - measured.rate - measured.student;
        self.answered >= KEPT_UP * measured.rate - by_chance - by_gap
    }

    /// Returns the lowest rate that may be tried.
    fn deepest(&self) -> f64 {
        self.range.low / DEEPEST
    }

    /// Returns the ratio between the rate at which the lower end is checked and the measured rate.
    /// The checked rate becomes the lower end of the bracket.
    fn below(&self) -> f64 {
        1.0 - BELOW.min(self.range.precision / 2.0)
    }

    /// Returns the distance between the ends at which halving stops, as a share of the upper end.
    /// It is less than the requested precision, because the lower end is then lowered by the factor
    /// [`Self::below`].
    fn width(&self) -> f64 {
        match self.range.is_rough {
            true => self.range.precision,
            false => self.range.precision - (1.0 - self.below()),
        }
    }

    /// Records that the system keeps up with `offered`, which was meant to overload it.
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

    /// Returns the mean answer rate of the trials under overload, once there are enough of them.
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

    /// Moves the lower end of the bracket to a rate, on which the next trials vote. If the rate is
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

    /// Returns whether the answers of all trials at this rate together keep up with the due
    /// requests. A single trial does not show a slowly growing backlog.
    fn is_kept_up_with(&self) -> bool {
        let share = mean(&self.votes.kept_up).unwrap_or(1.0);
        share * (1.0 + self.votes.longest_gap) >= KEPT_UP * (1.0 - self.range.loss)
    }

    /// Chooses the next step after a vote on the upper end of the bracket.
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

    /// Returns the distance by which an end of the bracket is moved outwards, as a share of its
    /// rate.
    fn step(&self) -> f64 {
        (self.range.precision * 2f64.powi(self.moves.min(8))).min(0.5)
    }
}
