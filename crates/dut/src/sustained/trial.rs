//! A trial at one rate, without I/O: requests that are due by a schedule, and what became of them.
//!
//! The due times are fixed beforehand, so a switch that answers late is not offered less. The
//! number of requests that wait for answers has a limit all the same, because the answers would
//! otherwise take a multiple of the trial; a request that is due meanwhile is sent as soon as there
//! is room.

use std::collections::BTreeMap;
use std::time::Duration;

use measuring::search::Observation;

use super::pool::Pool;
use crate::entry_number::EntryNumber;
use crate::window::{BUSY, Operation, Refusal};

/// The share of the due updates by which a backlog must grow to count as growing.
const GROWTH: f64 = 0.01;
/// The number of requests by which a backlog may differ between two moments by chance.
const BY_CHANCE: f64 = 2.0;
/// The delay with which this program may hand over requests.
const LATE: Duration = Duration::from_millis(2);

/// The schedule of a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// The updates per second.
    pub(super) rate: f64,
    /// The number of updates in a request.
    pub(super) batch: usize,
    /// The time before the window in which answers are measured.
    pub(super) warm_up: Duration,
    /// The length of that window, with which the schedule ends.
    pub(super) window: Duration,
    /// The largest number of requests that wait for answers at the same time.
    pub(super) most: usize,
}

impl Schedule {
    fn end(&self) -> Duration {
        self.warm_up + self.window
    }

    fn middle(&self) -> Duration {
        self.warm_up + self.window / 2
    }

    /// Returns the time at which a request is due.
    fn due(&self, request: usize) -> Duration {
        Duration::from_secs_f64(request as f64 * self.batch as f64 / self.rate)
    }

    /// Returns the number of updates that are due until a time.
    fn due_until(&self, time: Duration) -> f64 {
        ((time.as_secs_f64() * self.rate / self.batch as f64).floor() + 1.0) * self.batch as f64
    }
}

/// A request that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The number of the request in the trial.
    pub(crate) position: usize,
    pub(crate) operation: Operation,
    pub(crate) numbers: Vec<EntryNumber>,
}

/// The next action of the sender of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It sends a request.
    Send(Request),
    /// It waits for answers, but not beyond this time since the start of the trial.
    WaitUntil(Duration),
    /// It waits for an answer.
    Await,
    /// All requests are answered, and none is due.
    End,
}

/// A request that waits for its answer.
#[derive(Debug)]
struct Flying {
    operation: Operation,
    numbers: Vec<EntryNumber>,
    /// The moment from which the response time counts: that of the sending, or that at which the
    /// request was due if there was no room for it then.
    from: Duration,
    /// The time at which the request was handed to the connection.
    sent: Duration,
    is_held: bool,
}

/// An answer, and the time for which it was waited.
#[derive(Clone, Copy, Debug)]
struct Answer {
    at: Duration,
    response: Duration,
    /// The time since the request was handed to the connection. A request that was held here had
    /// waited before that.
    away: Duration,
    updates: usize,
}

/// A trial under way.
#[derive(Debug)]
pub(crate) struct Trial {
    schedule: Schedule,
    pool: Pool,
    /// The number of the next request.
    next: usize,
    /// Whether the next request was due when there was no room for it.
    is_held: bool,
    /// Whether any request was.
    was_held: bool,
    /// The last time until which there was no room for a due request. All requests that were due
    /// by then were held, also those that are sent after the next.
    no_room_until: Option<Duration>,
    is_stopped: bool,
    flying: BTreeMap<usize, Flying>,
    answers: Vec<Answer>,
    sent: usize,
    refused: usize,
    refusal: Option<Refusal>,
    /// The shortest delay with which this program sent a request in the second half of the window,
    /// although there was room for it.
    own_delay: Option<Duration>,
}

/// The results of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(super) observation: Observation,
    pub(super) pool: Pool,
    /// The first update that the switch refused.
    pub(super) refusal: Option<Refusal>,
    /// The mean time from the handing over of a request until its answer, in seconds; `None`
    /// without answers.
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

    /// Returns the entries of which no request waits for its answer.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns the time at which the schedule ends.
    pub(crate) fn end(&self) -> Duration {
        self.schedule.end()
    }

    /// Sends no further request.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Returns what to do at a time since the start of the trial.
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

    /// Takes the entries of the next request. Insertions and deletions alternate, unless all
    /// requests are answered and refusals have left too few entries for one of them.
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

    /// Records the time at which a request was handed to the connection.
    pub(crate) fn handed_over(&mut self, position: usize, now: Duration) {
        let Some(flying) = self.flying.get_mut(&position) else { return };
        flying.sent = now;
        if !flying.is_held {
            flying.from = now;
        }
    }

    /// Records the answer to a request. `refused` are the positions of the updates that the switch
    /// refused, in ascending order, and `refusal` is the first of them.
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

    /// Ends the trial. `busy` is the share of the schedule's time in which this program's thread
    /// ran, and `wrong` the number of entries that the switch has too many or too few in the end.
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

    /// Returns whether the updates without an answer became more: whether their least number in the
    /// second half of the window exceeds that in the first. A pause of the switch from which it
    /// recovers does not count.
    fn is_growing(&self) -> bool {
        let Schedule { rate, batch, warm_up, window, .. } = self.schedule;
        let (middle, end) = (self.schedule.middle(), self.schedule.end());
        let mut answered = 0.0;
        let mut least = [f64::INFINITY; 2];
        for answer in &self.answers {
            answered += answer.updates as f64;
            let half = match answer.at {
                at if at < warm_up || at >= end => continue,
                at if at < middle => 0,
                _ => 1,
            };
            let waiting = self.schedule.due_until(answer.at) - answered;
            least[half] = least[half].min(waiting);
        }
        let [first, second] = least;
        let due = rate * window.as_secs_f64() / 2.0;
        // Without an answer in a half, nothing is known of it, and the updates wait.
        let grown = if second.is_infinite() { due } else { second - first };
        grown > (GROWTH * due).max(BY_CHANCE * batch as f64)
    }
}

/// Returns the mean of a time of each answer, in seconds; `None` without answers.
fn mean(answers: &[Answer], time: fn(&Answer) -> Duration) -> Option<f64> {
    let times: Vec<f64> = answers.iter().map(|answer| time(answer).as_secs_f64()).collect();
    statistics::mean(&times)
}

/// Returns the updates per second from the first to the last of some answers. The updates of the
/// first answer were processed before it.
fn received(answers: &[Answer]) -> f64 {
    let [first, rest @ .., last] = answers else { return 0.0 };
    let updates: usize = rest.iter().chain([last]).map(|answer| answer.updates).sum();
    let time = (last.at - first.at).as_secs_f64();
    if time > 0.0 { updates as f64 / time } else { 0.0 }
}
