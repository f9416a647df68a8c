//! The queue in which a modelled controller serves packet-ins. It has no clock: callers pass the
//! time.

use std::collections::VecDeque;
use std::time::Duration;

use super::Loss;

/// The time that a stage takes for a packet-in, depending on the number of connected switches. The
/// rows are in ascending order of `from`, and the last row whose `from` is not above the number of
/// switches applies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StageTimes(pub(crate) Vec<Row>);

/// The time that a stage takes for a packet-in while at least `from` switches are connected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) from: usize,
    pub(crate) cost: Duration,
    pub(crate) overload: Option<Overload>,
}

/// The time that a stage takes for a packet-in while more than `above` packet-ins are unanswered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Overload {
    pub(crate) above: usize,
    pub(crate) cost: Duration,
}

impl StageTimes {
    fn cost(&self, switches: usize, waiting: usize) -> Duration {
        let row = self.0.iter().rfind(|row| row.from <= switches);
        row.map_or(Duration::ZERO, |row| match row.overload {
            Some(overload) if waiting > overload.above => overload.cost,
            _ => row.cost,
        })
    }
}

/// A stage, and the time at which it will have served all packet-ins that it has accepted.
#[derive(Clone, Debug)]
struct Station {
    times: StageTimes,
    free_at: Duration,
}

/// The queue in which a controller serves packet-ins. Each stage serves the packet-ins of all
/// switches one by one, in the order of their arrival.
#[derive(Clone, Debug)]
pub struct ServiceQueue {
    stations: Vec<Station>,
    /// The time from the end of the last stage until the answer is sent.
    delay: Duration,
    most_waiting: Option<usize>,
    losses: Option<Losses>,
    /// The times of the answers that were not yet sent when the last packet-in arrived, in
    /// ascending order.
    answers: VecDeque<Duration>,
}

/// The state that decides which packet-ins are lost when they arrive above a certain rate.
#[derive(Clone, Copy, Debug)]
struct Losses {
    line: Loss,
    /// The number of packet-ins that may arrive at once without counting as above the rate (a token
    /// bucket).
    allowance: f64,
    last_arrival: Duration,
    /// The sum of `Loss::share` over the packet-ins above the rate. Whenever it reaches 1, a
    /// packet-in is lost and 1 is subtracted.
    owed: f64,
}

impl ServiceQueue {
    pub(crate) fn new(stages: Vec<StageTimes>) -> Self {
        let station = |times| Station { times, free_at: Duration::ZERO };
        Self {
            stations: stages.into_iter().map(station).collect(),
            delay: Duration::ZERO,
            most_waiting: None,
            losses: None,
            answers: VecDeque::new(),
        }
    }

    pub(super) fn with_delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    pub(super) fn with_limit(self, most_waiting: Option<usize>) -> Self {
        Self { most_waiting, ..self }
    }

    pub(super) fn losing(self, line: Option<Loss>) -> Self {
        let begin = |line: Loss| Losses {
            line,
            allowance: line.burst,
            last_arrival: Duration::ZERO,
            owed: 0.0,
        };
        Self { losses: line.map(begin), ..self }
    }

    /// Adds a packet-in that arrives at `now` while `switches` switches are connected, and returns
    /// the time at which it is answered, or `None` if it is lost. Times must not decrease from call
    /// to call.
    pub fn admit(&mut self, now: Duration, switches: usize) -> Option<Duration> {
        while self.answers.front().is_some_and(|answer| *answer <= now) {
            self.answers.pop_front();
        }
        let is_in_excess = self.losses.as_mut().is_some_and(|losses| losses.loses(now));
        let waiting = self.answers.len();
        if is_in_excess || self.most_waiting.is_some_and(|most| waiting >= most) {
            return None;
        }
        let mut at = now;
        for station in &mut self.stations {
            at = station.free_at.max(at) + station.times.cost(switches, waiting);
            station.free_at = at;
        }
        let answer = at + self.delay;
        self.answers.push_back(answer);
        Some(answer)
    }

    /// Removes all waiting packet-ins, because their switches are gone.
    pub(crate) fn clear(&mut self) {
        self.answers.clear();
        for station in &mut self.stations {
            station.free_at = Duration::ZERO;
        }
    }
}

impl Losses {
    /// Returns whether a packet-in that arrives at `now` is lost.
    fn loses(&mut self, now: Duration) -> bool {
        let since = now.saturating_sub(self.last_arrival).as_secs_f64();
        self.last_arrival = now;
        let regained = self.allowance + since * self.line.above_per_second;
        self.allowance = regained.min(self.line.burst);
        if self.allowance >= 1.0 {
            self.allowance -= 1.0;
            return false;
        }
        self.owed += self.line.share;
        if self.owed < 1.0 {
            return false;
        }
        self.owed -= 1.0;
        true
    }
}
