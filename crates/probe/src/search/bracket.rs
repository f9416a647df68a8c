//! The bracket that holds the highest loss-free rate, and the confidence with which it does.
//!
//! A state machine without I/O. Rates double until one fails. If the first fails, they halve until
//! one passes. Then the bracket is made in one of two ways:
//!
//! * *By measurement.* A controller that is offered more than it takes answers at its own rate. That
//!   rate is measured by fresh trials a tenth above it. The bracket is Student's interval of their
//!   mean, widened each way by what the longest gap between two answers is worth. It stands if the
//!   trials just below its lower end pass and those at 105 % of its upper end show no higher rate.
//! * *By votes.* Where a controller loses packet-ins for another reason than its rate, or answers
//!   fewer when offered more, the bracket is halved until it is narrow enough. Fresh trials then vote
//!   on both ends: six of six, or nine of ten, must agree (sign tests of 1.6 % and 1.1 %), and at the
//!   lower end the answers of all of them together must keep up. An end that is not confirmed moves
//!   outwards.
//!
//! A rough search does neither: it halves the bracket and states no confidence.

use statistics::{Confidence, mean, standard_deviation, student_t};

use super::Range;

/// The confidence that a finished bracket states.
pub(super) const STATED: f64 = 0.95;
/// The confidence of Student's interval; the rest is for the ends.
const MEASURED: f64 = 0.98;
/// The factor by which the rate of a measuring trial exceeds the rate that is measured.
const OVERLOAD: f64 = 1.1;
/// Numbers of measuring trials: the first suffice where the interval is as narrow as asked for.
const TRIALS: [usize; 2] = [5, 10];
/// How often the overload is raised where it was not clearly one.
const MOST_RAISES: u32 = 3;
/// How far below the lower end of a measured bracket it is checked, at most, as a share.
const BELOW: f64 = 0.01;
/// The factor above the upper end at which that is checked.
const ABOVE: f64 = 1.05;
/// How often each end is checked.
const CHECKS: u32 = 2;
/// The largest factor by which a search goes below the lowest rate that was given.
const DEEPEST: f64 = 1024.0;
/// Packet-ins due in a trial below which a lower rate tells nothing.
const LEAST_DUE: f64 = 10.0;
/// The share of a rate from which on it counts as kept up with.
const KEPT_UP: f64 = 0.98;

/// The votes of the trials at one rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Votes {
    pub(super) passes: u32,
    pub(super) fails: u32,
    /// The number of fails for which the probe is the reason.
    pub(super) by_probe: u32,
    /// Answers per second and switch of each trial that was not disturbed.
    pub(super) answered: Vec<f64>,
    /// The answers of each of these trials over the packet-ins that were due.
    pub(super) kept_up: Vec<f64>,
    /// The longest time between two answers, as a share of the window.
    pub(super) longest_gap: f64,
    /// Packet-ins due in a trial.
    pub(super) wanted: u64,
}

impl Votes {
    fn add(&mut self, other: &Self) {
        self.passes += other.passes;
        self.fails += other.fails;
        self.by_probe += other.by_probe;
        self.answered.extend_from_slice(&other.answered);
        self.kept_up.extend_from_slice(&other.kept_up);
        self.longest_gap = self.longest_gap.max(other.longest_gap);
        self.wanted = other.wanted;
    }

    /// Whether the rate passed, by a majority; nothing where there is none.
    fn majority(&self) -> Option<bool> {
        (self.passes != self.fails).then_some(self.passes > self.fails)
    }

    /// Returns the outcome of a check in which `agreeing` of all votes agree with what is checked.
    fn check(&self, agreeing: u32) -> Check {
        let all = self.passes + self.fails;
        match all - agreeing {
            contrary if all >= CHECKS && 9 * contrary <= agreeing => Check::Holds,
            0 => Check::Open,
            _ if all < CHECKS => Check::Open,
            _ => Check::Broken,
        }
    }

    /// The outcome of the sign test on `agreeing` of all votes.
    fn sign_test(&self, agreeing: u32) -> Check {
        match (agreeing, self.passes + self.fails - agreeing) {
            (6.., 0) | (9.., 1) => Check::Holds,
            // With repetitions there may be more votes than the test asks for.
            (agreeing, contrary) if contrary >= 2 && agreeing < 9 * contrary => Check::Broken,
            (_, 2..) => Check::Holds,
            _ => Check::Open,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Open,
    Holds,
    Broken,
}

/// The rate of answers under overload, and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) trials: usize,
    pub(super) rate: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Half the width of Student's interval.
    student: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Rates double or halve until one passes and one fails.
    Searching,
    /// Nothing failed up to the highest rate, which is tried once more.
    AtTheTop,
    /// Fresh trials under overload.
    Measuring {
        raises: u32,
    },
    CheckingLow(Measured),
    CheckingHigh(Measured),
    /// The bracket is halved; `moves` counts how often an end had to move.
    Halving,
    VotingLow,
    VotingHigh,
    Finished,
}

/// By which way the bracket was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    /// The search did not come to an end.
    Unfinished,
    /// No rate that was tried is loss-free.
    NothingPassed,
    /// The highest rate that was allowed is loss-free, and passed this often.
    NothingFailed(u32),
    /// The probe was the limit at the lowest rate that failed.
    LimitedByProbe,
    ByMeasurement(Measured),
    ByVotes,
    /// By halving alone.
    Rough,
}

/// The state of the bracket. Rates are packet-ins per second and switch.
#[derive(Clone, Debug)]
pub(super) struct Bracket {
    range: Range,
    stage: Stage,
    /// The rate to be tried, with the votes on it since it was named.
    rate: f64,
    votes: Votes,
    /// The highest rate taken for loss-free, and the lowest above it that is not.
    free: Option<f64>,
    lossy: Option<f64>,
    /// Whether the probe is why the lossy rate failed.
    pub(super) by_probe: bool,
    /// Answers per second and switch at the lossy rate.
    answered: f64,
    low_holds: bool,
    high_holds: bool,
    /// Whether a rate that failed was given a further try.
    has_reopened: bool,
    /// Whether the measured interval was looked at before.
    has_looked: bool,
    /// How often an end was moved.
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
            by_probe: false,
            answered: 0.0,
            low_holds: false,
            high_holds: false,
            has_reopened: false,
            has_looked: false,
            moves: 0,
            method: Method::Unfinished,
        }
    }

    /// The rate to try next; nothing once the bracket is made.
    pub(super) fn next_rate(&self) -> Option<f64> {
        (self.stage != Stage::Finished).then_some(self.rate)
    }

    /// The highest rate taken for loss-free.
    pub(super) fn free(&self) -> Option<f64> {
        match self.method {
            Method::ByMeasurement(measured) => Some(self.below() * measured.low),
            _ => self.free,
        }
    }

    /// The rate above which nothing is loss-free; absent where the probe was the limit.
    pub(super) fn lossy(&self) -> Option<f64> {
        match self.method {
            Method::ByMeasurement(measured) => Some(measured.high),
            _ => self.lossy.filter(|_| !self.by_probe),
        }
    }

    /// By which way it was made.
    pub(super) fn method(&self) -> Method {
        self.method
    }

    /// The confidence with which both ends hold the highest loss-free rate.
    pub(super) fn confidence(&self) -> Option<f64> {
        matches!(self.method, Method::ByMeasurement(_) | Method::ByVotes).then_some(STATED)
    }

    /// Takes votes on the rate that [`Bracket::next_rate`] names.
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
        self.by_probe = 2 * self.votes.by_probe >= self.votes.fails;
        self.answered = mean(&self.votes.answered).unwrap_or(0.0);
        self.high_holds = false;
    }

    /// Names the next rate from what is known of both ends.
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
                if self.stage == Stage::Searching && !self.by_probe && !self.range.is_rough =>
            {
                let overload = OVERLOAD * self.answered.max(free);
                self.go(Stage::Measuring { raises: 0 }, overload.min(self.range.high));
            }
            (Some(free), Some(lossy)) if lossy - free > self.width() * lossy => {
                self.go(Stage::Halving, f64::midpoint(free, lossy));
            }
            (Some(_), Some(_)) if self.range.is_rough => self.finish(match self.by_probe {
                true => Method::LimitedByProbe,
                false => Method::Rough,
            }),
            // What piles up is overlooked up to a share, so that a rate just above passes as well.
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
        // An end that turned out wrong may have left them the wrong way round.
        if self.free.zip(self.lossy).is_some_and(|(free, lossy)| free >= lossy) {
            self.lossy = None;
        }
        self.stage = Stage::Halving;
        self.narrow();
    }

    fn take_measurement(&mut self, raises: u32) {
        let offered = self.rate;
        if self.votes.by_probe > 0 {
            // The overload cannot be offered.
            if self.lossy.is_none_or(|lossy| offered < lossy) {
                self.fails_at(offered);
            }
            return self.halve();
        }
        let answered = mean(&self.votes.answered).unwrap_or(0.0);
        if self.votes.check(self.votes.passes) == Check::Holds && answered >= KEPT_UP * offered {
            return self.takes_more(offered, raises);
        }
        // The interval is looked at twice at most, since it would be too narrow where it happens to be.
        let Some(measured) = self.measured() else { return };
        if (TRIALS[0] + 1..TRIALS[1]).contains(&measured.trials) && self.has_looked {
            return;
        }
        self.has_looked = true;
        if measured.high >= offered {
            let higher = (OVERLOAD * measured.high).min(self.range.high);
            match raises < MOST_RAISES && higher > 1.01 * offered {
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

    /// Whether the controller answered as many at the rate that failed, which was offered before, as
    /// chance and its longest gap allow. One that answers fewer when offered more shows no rate of its
    /// own under overload.
    fn is_steady(&self, measured: &Measured) -> bool {
        let by_chance = measured.student * (measured.trials as f64 + 1.0).sqrt();
        let by_gap = measured.high - measured.rate - measured.student;
        self.answered >= KEPT_UP * measured.rate - by_chance - by_gap
    }

    /// The lowest rate that may be tried.
    fn deepest(&self) -> f64 {
        self.range.low / DEEPEST
    }

    /// The factor at which the lower end is checked: the bracket ends there.
    fn below(&self) -> f64 {
        1.0 - BELOW.min(self.range.precision / 2.0)
    }

    /// The width to which the bracket is halved, as a share of its upper end: with the room below its
    /// lower end it is as wide as asked for.
    fn width(&self) -> f64 {
        match self.range.is_rough {
            true => self.range.precision,
            false => self.range.precision - (1.0 - self.below()),
        }
    }

    /// Takes note that the controller keeps up with what was to be more than it takes.
    fn takes_more(&mut self, offered: f64, raises: u32) {
        self.free = Some(self.free.map_or(offered, |free| free.max(offered)));
        // The rate that failed may have done so by chance: it is given one further try.
        if let Some(lossy) = self.lossy.filter(|lossy| self.has_reopened && *lossy > offered) {
            let higher = OVERLOAD * offered;
            return match higher < lossy && raises < MOST_RAISES {
                true => self.go(Stage::Measuring { raises: raises + 1 }, higher),
                false => self.halve(),
            };
        }
        self.has_reopened = true;
        self.lossy = None;
        self.stage = Stage::Searching;
        self.narrow();
    }

    /// The rate of answers, once there are enough trials.
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
        // A backlog that grows slowly does not show in one trial, but the rate of answers does.
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
        // Nothing is stated beside the limit of the probe, so that two trials are enough.
        let test = match self.by_probe {
            true => self.votes.check(self.votes.passes),
            false => match self.votes.sign_test(self.votes.passes) {
                Check::Holds if !self.is_kept_up_with() => Check::Broken,
                test => test,
            },
        };
        match test {
            Check::Open => {}
            Check::Holds if self.by_probe => self.finish(Method::LimitedByProbe),
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

    /// Moves the lower end to a rate, on which votes are taken next, unless it is too low to be tried.
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

    /// Whether the answers in all trials at a rate together keep up with what was due. A backlog that
    /// grows slowly does not show in a single trial.
    fn is_kept_up_with(&self) -> bool {
        let share = mean(&self.votes.kept_up).unwrap_or(1.0);
        share * (1.0 + self.votes.longest_gap) >= KEPT_UP * (1.0 - self.range.loss)
    }

    fn take_votes_high(&mut self) {
        match self.votes.sign_test(self.votes.fails) {
            Check::Open => {}
            Check::Holds if 2 * self.votes.by_probe >= self.votes.fails => {
                self.by_probe = true;
                self.finish(Method::LimitedByProbe);
            }
            Check::Holds => {
                self.high_holds = true;
                self.vote_on_the_other_end();
            }
            Check::Broken => {
                let higher = self.rate * (1.0 + self.step());
                // Where votes differ, the rate is near the one that is sought, and the end moves out.
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

    /// How far an end moves, as a share of its rate.
    fn step(&self) -> f64 {
        (self.range.precision * 2f64.powi(self.moves.min(8))).min(0.5)
    }
}
