//! A trial at one rate, without I/O: when requests are due and what became of them.
//!
//! The due times are fixed beforehand, so a switch that answers late is not offered less.
//! Nevertheless, the number of unanswered requests is limited, because waiting for their answers
//! would otherwise take several times as long as the trial. A request that becomes due while the
//! limit is reached is held back, and sent as soon as there is room.

use std::collections::BTreeMap;
use std::time::Duration;

use measuring::search::Observation;

use super::pool::Pool;
use crate::entry_number::EntryNumber;
use crate::window::{BUSY, Operation, Refusal};

/// The growth of the response time above which it counts as growing, as a share of the time in
/// which it grew.
const GROWTH: f64 = 0.01;
/// The number of requests during which the response time may grow by chance.
const BY_CHANCE: f64 = 2.0;
/// The delay with which this program may send a due request without counting as the limit.
const LATE: Duration = Duration::from_millis(2);

/// The times at which the requests of a trial are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// The rate at which updates are due, in updates per second.
    pub(super) rate: f64,
    /// The number of updates in a request.
    pub(super) batch: usize,
    /// The duration of the warm-up before the window in which answers are measured.
    pub(super) warm_up: Duration,
    /// The duration of the window in which answers are measured. The schedule ends with it.
    pub(super) window: Duration,
    /// The largest number of requests that may be unanswered at the same time.
    pub(super) most: usize,
}

impl Schedule {
    pub(super) fn end(&self) -> Duration {
        self.warm_up + self.window
    }

    fn middle(&self) -> Duration {
        self.warm_up + self.window / 2
    }

    /// Returns the time at which the request with this number is due.
    fn due(&self, request: usize) -> Duration {
        Duration::from_secs_f64(request as f64 * self.batch as f64 / self.rate)
    }
}

/// A request that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The number of the request within the trial.
    pub(crate) position: usize,
    pub(crate) operation: Operation,
    pub(crate) numbers: Vec<EntryNumber>,
}

/// The next step of the sender of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send this request.
    Send(Request),
    /// Wait for answers, but not beyond this time since the start of the trial.
    WaitUntil(Duration),
    /// Wait for an answer, however long it takes.
    Await,
    /// Send nothing more: all requests are answered, and the trial has no further one.
    End,
}

/// A request that is not answered yet.
#[derive(Debug)]
struct Flying {
    operation: Operation,
    numbers: Vec<EntryNumber>,
    /// The start of the response time: when the request was sent or, if it was held back because
    /// the limit of unanswered requests was reached, when it was due.
    from: Duration,
    /// The time at which the request was handed to the connection.
    sent: Duration,
    is_held: bool,
}

/// The answer to a request, with the times that the request took.
#[derive(Clone, Copy, Debug)]
struct Answer {
    at: Duration,
    response: Duration,
    /// The time from the sending of the request to the answer. It does not include the time for
    /// which this program held the request back.
    away: Duration,
    updates: usize,
}

/// A trial in progress at one rate of updates, with its unanswered requests and the answers so far.
#[derive(Debug)]
pub(crate) struct Trial {
    schedule: Schedule,
    pool: Pool,
    /// The number of the next request.
    next: usize,
    /// Whether the next request became due while the limit of unanswered requests was reached.
    is_held: bool,
    /// Whether any request of the trial became due while the limit of unanswered requests was
    /// reached.
    was_held: bool,
    /// The latest time at which a due request had to be held back. All requests that were due by
    /// then were held back, even if several of them are still to be sent.
    no_room_until: Option<Duration>,
    is_stopped: bool,
    flying: BTreeMap<usize, Flying>,
    answers: Vec<Answer>,
    sent: usize,
    refused: usize,
    refusal: Option<Refusal>,
    /// The shortest delay between the due time and the sending of a request in the second half of
    /// the window. Requests that were held back do not count.
    own_delay: Option<Duration>,
}

/// The results of a trial at one rate of updates.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(super) observation: Observation,
    pub(super) pool: Pool,
    /// The first update that the switch refused.
    pub(super) refusal: Option<Refusal>,
    /// The mean time from the sending of a request to its answer, in seconds; `None` without
    /// answers.
    pub(super) away: Option<f64>,
}

impl Trial {
    pub(crate) fn new(schedule: Schedule, pool: Pool) -> Self {
        Self {
            schedule,
            pool,
            next: 0,
            is_held: false,
            was_held: false,
            no_room_until: None,
            is_stopped: false,
            flying: BTreeMap::new(),
            answers: Vec::new(),
            sent: 0,
            refused: 0,
            refusal: None,
            own_delay: None,
        }
    }

    /// Returns the entries that no unanswered request concerns.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns the time at which the schedule ends, counted from the start of the trial.
    pub(crate) fn end(&self) -> Duration {
        self.schedule.end()
    }

    /// Ends the sending of requests.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Returns what the sender must do at the time `now` since the start of the trial.
    pub(crate) fn step(&mut self, now: Duration) -> Step {
        let due = self.schedule.due(self.next);
        let end = self.schedule.end();
        if self.is_stopped || due >= end || now >= end {
            return if self.flying.is_empty() { Step::End } else { Step::Await };
        }
        if due > now {
            return Step::WaitUntil(due);
        }
        let taken = match self.flying.len() < self.schedule.most {
            true => self.take(),
            false => None,
        };
        let Some((operation, numbers)) = taken else {
            (self.is_held, self.was_held) = (true, true);
            // Without an answer to wait for, no entry will become free.
            self.is_stopped |= self.flying.is_empty();
            return if self.flying.is_empty() { Step::End } else { Step::Await };
        };
        let was_due = self.no_room_until.is_some_and(|until| due <= until);
        let is_held = std::mem::take(&mut self.is_held) || was_due;
        let position = self.next;
        self.next += 1;
        self.sent += numbers.len();
        let from = if is_held { due } else { now };
        let flying = Flying { operation, numbers: numbers.clone(), from, sent: now, is_held };
        self.flying.insert(position, flying);
        if !is_held && now >= self.schedule.middle() {
            let delay = now.saturating_sub(due);
            self.own_delay = Some(self.own_delay.map_or(delay, |least| least.min(delay)));
        }
        Step::Send(Request { position, operation, numbers })
    }

    /// Takes the operation and the entries of the next request. Insertions and deletions alternate.
    /// The only exception is when all requests are answered and refusals have left too few entries
    /// for the operation whose turn it is.
    fn take(&mut self) -> Option<(Operation, Vec<EntryNumber>)> {
        let [next, other] = match self.next.is_multiple_of(2) {
            true => [Operation::Insert, Operation::Delete],
            false => [Operation::Delete, Operation::Insert],
        };
        let batch = self.schedule.batch;
        let taken = self.pool.take(next, batch).map(|numbers| (next, numbers));
        if taken.is_some() || !self.flying.is_empty() {
            return taken;
        }
        self.pool.take(other, batch).map(|numbers| (other, numbers))
    }

    /// Records when the request with this number was handed to the connection.
    pub(crate) fn handed_over(&mut self, position: usize, now: Duration) {
        let Some(flying) = self.flying.get_mut(&position) else { return };
        flying.sent = now;
        if !flying.is_held {
            flying.from = now;
        }
    }

    /// Records the answer to the request with this number. `refused` has the positions of the
    /// updates that the switch refused, in ascending order, and `refusal` is the reason for the
    /// first of them.
    pub(crate) fn answered(
        &mut self,
        position: usize,
        at: Duration,
        refused: &[usize],
        refusal: Option<Refusal>,
    ) {
        let Some(flying) = self.flying.remove(&position) else { return };
        if self.is_held {
            self.no_room_until = Some(at);
        }
        let Flying { operation, numbers, from, sent, .. } = flying;
        self.pool.give_back(operation, &numbers, refused);
        self.refused += refused.len();
        self.refusal = self.refusal.take().or(refusal);
        let response = at.saturating_sub(from);
        let away = at.saturating_sub(sent);
        self.answers.push(Answer { at, response, away, updates: numbers.len() });
    }

    /// Ends the trial and evaluates it. `busy` is the share of the schedule's duration in which
    /// this program's thread was running. `wrong` is the number of entries by which the table
    /// differs from what it should contain.
    pub(crate) fn conclude(mut self, busy: f64, wrong: usize) -> Ended {
        self.answers.sort_by_key(|answer| answer.at);
        let Schedule { rate, warm_up, window, .. } = self.schedule;
        let end = self.schedule.end();
        let inside: Vec<Answer> = self
            .answers
            .iter()
            .filter(|answer| (warm_up..end).contains(&answer.at))
            .copied()
            .collect();
        let is_growing = self.is_growing();
        let late = LATE.max(window.mul_f64(GROWTH));
        let is_late = self.own_delay.is_some_and(|delay| delay > late);
        let limited_by_tester = is_late || (is_growing && busy >= BUSY);
        let lost = (self.refused + wrong) as f64 / self.sent.max(1) as f64;
        let away = mean(&inside, |answer| answer.away);
        let gaps = inside.windows(2).map(|pair| pair[1].at - pair[0].at);
        let longest_gap = gaps.max().unwrap_or(window);
        let observation = Observation {
            offered_rate: rate,
            received_rate: received(&inside),
            wanted: (rate * window.as_secs_f64()) as u64,
            loss: Some(lost.min(1.0)),
            proven_loss: lost.min(1.0),
            excusable_loss: 0.0,
            rtt_mean: mean(&inside, |answer| answer.response),
            longest_gap: longest_gap.as_secs_f64() / window.as_secs_f64(),
            falling_behind: is_growing,
            backlogged: is_growing || self.was_held,
            limited_by_tester,
            silent: inside.is_empty() && self.sent > 0,
        };
        Ended { observation, pool: self.pool, refusal: self.refusal, away }
    }

    /// Returns whether requests waited longer and longer: whether the shortest response time of the
    /// requests that were due in the second half of the window exceeds that of the first half.
    ///
    /// A pause from which the switch recovers does not count. Answers after the window count, so a
    /// pause of half the window hides neither a growing nor a steady response time.
    fn is_growing(&self) -> bool {
        let Schedule { rate, batch, warm_up, window, .. } = self.schedule;
        let (middle, end) = (self.schedule.middle(), self.schedule.end());
        let mut least: [Option<Duration>; 2] = [None; 2];
        for answer in &self.answers {
            let half = match answer.at.saturating_sub(answer.response) {
                due if due < warm_up || due >= end => continue,
                due if due < middle => 0,
                _ => 1,
            };
            least[half] =
                Some(least[half].map_or(answer.response, |least| least.min(answer.response)));
        }
        let grown = match least {
            [Some(first), Some(second)] => second.saturating_sub(first),
            // The requests of the second half were held back until the schedule ended.
            [_, None] => window / 2,
            [None, Some(_)] => Duration::ZERO,
        };
        let by_chance = Duration::from_secs_f64(BY_CHANCE * batch as f64 / rate);
        grown > (window / 2).mul_f64(GROWTH).max(by_chance)
    }
}

/// Returns the mean of a time that `time` takes from each answer, in seconds; `None` without
/// answers.
fn mean(answers: &[Answer], time: fn(&Answer) -> Duration) -> Option<f64> {
    let times: Vec<f64> = answers.iter().map(|answer| time(answer).as_secs_f64()).collect();
    statistics::mean(&times)
}

/// Returns the rate at which updates were answered between the first and the last answer. The
/// updates of the first answer do not count, because they were processed before that time.
fn received(answers: &[Answer]) -> f64 {
    let [first, rest @ .., last] = answers else { return 0.0 };
    let updates: usize = rest.iter().chain([last]).map(|answer| answer.updates).sum();
    let time = (last.at - first.at).as_secs_f64();
    if time > 0.0 { updates as f64 / time } else { 0.0 }
}
