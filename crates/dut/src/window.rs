//! Series of requests of which several may be unanswered at the same time: how they are sent, and
//! what became of them. A request is a Write request of P4Runtime, or flow-mods with a barrier of
//! OpenFlow.

use std::time::Duration;

use statistics::Ordered;

use crate::entry_number::EntryNumber;
use crate::forwarded::Forwarded;
use crate::transport::Evidence;

/// The longest time to wait for the answer to a request.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// The share of a phase's duration from which on the measuring thread counts as the bottleneck. If
/// the thread was running for at least this share, the switch may have waited for it.
pub(crate) const BUSY: f64 = 0.9;

/// The effect of an update on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Inserts an entry.
    Insert,
    /// Replaces the action parameters of an entry, or the actions of a flow.
    Modify,
    /// Deletes an entry.
    Delete,
}

impl Operation {
    /// All operations, in the order in which they are applied to an entry.
    pub const ALL: [Self; 3] = [Self::Insert, Self::Modify, Self::Delete];

    /// Returns the name of the operation as a verb.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Modify => "modify",
            Self::Delete => "delete",
        }
    }
}

/// The rule for the remaining updates of a request if the switch refuses one of them (P4Runtime
/// 1.5, section 12.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchAtomicity {
    /// The switch carries out all updates that it does not refuse.
    #[default]
    ContinueOnError,
    /// The switch undoes the updates that it has carried out. Until then, packets may be processed
    /// by a part of them.
    RollbackOnError,
    /// The switch carries out no update, and no packet is processed by only a part of the updates.
    DataplaneAtomic,
}

impl BatchAtomicity {
    /// Returns the name of the atomicity as P4Runtime has it, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ContinueOnError => "continue-on-error",
            Self::RollbackOnError => "rollback-on-error",
            Self::DataplaneAtomic => "dataplane-atomic",
        }
    }
}

/// The times and the result of a request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The time at which the request was handed to the connection, since the start of the series.
    pub sent: Duration,
    /// The time at which the answer arrived, since the start of the series.
    pub answered: Duration,
    /// The number of updates in the request.
    pub updates: u64,
    /// The number of updates that the switch refused.
    pub refused: u64,
}

/// The refusal of an update by a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The gRPC status code with which the switch refused the update, or the name of the OpenFlow
    /// error.
    pub code: String,
    /// The message with which the switch explains the refusal, or the type and code numbers of the
    /// OpenFlow error.
    pub message: String,
    /// The position of the update's entry in the user's file, with the text of the entry; `None`
    /// for generated entries.
    pub entry: Option<String>,
}

/// The answered requests for one operation. They were sent in one or several series. Within a
/// series there were no pauses between requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// The answered requests, in the order of their answers.
    pub calls: Vec<Call>,
    /// The entries of the updates that the switch accepted.
    pub accepted: Vec<EntryNumber>,
    /// The first update that the switch refused; `None` if it refused none.
    pub refusal: Option<Refusal>,
    /// The number of series of requests.
    pub series: usize,
    /// The sum of the durations of all series. A series lasts from its first request to its last
    /// answer.
    pub duration: Duration,
    /// The processor time that the measuring thread used during the phase.
    pub processor: Duration,
    /// The number of entries that the switch accepted but did not list after the phase; `None` if
    /// the entries were not listed.
    pub missing: Option<u64>,
    /// For each controller, the number of its updates that the switch accepted; empty if there was
    /// only one controller.
    pub by_controller: Vec<u64>,
    /// The packets that passed through the switch during the phase.
    pub packets: Forwarded,
    /// The evidence from the TCP connections on which side limited the phase; `None` for a single
    /// request, or if the kernel does not report it.
    pub transport: Option<Evidence>,
}

impl Phase {
    /// Returns the number of updates that the switch refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.calls.iter().map(|call| call.refused).sum()
    }

    /// Returns the accepted updates per second, from the first request to the last answer. Returns
    /// `None` without requests.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        let time = self.duration.as_secs_f64();
        (time > 0.0).then(|| self.accepted.len() as f64 / time)
    }

    /// Returns the share of the phase's duration in which the measuring thread was running. If it
    /// is close to 1, the switch may have waited for this program.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.processor.as_secs_f64() / self.duration.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Adds another series of requests to the phase.
    pub(crate) fn append(&mut self, mut series: Self) {
        self.calls.append(&mut series.calls);
        self.accepted.append(&mut series.accepted);
        self.refusal = self.refusal.take().or(series.refusal);
        self.series += series.series;
        self.duration += series.duration;
        self.processor += series.processor;
        self.missing = match (self.missing, series.missing) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.packets.append(series.packets);
        self.transport = Evidence::sum(self.transport, series.transport);
        self.by_controller.resize(self.by_controller.len().max(series.by_controller.len()), 0);
        for (sum, more) in self.by_controller.iter_mut().zip(series.by_controller) {
            *sum += more;
        }
    }

    /// Merges series that several controllers sent at the same time into one. The times of all of
    /// them must count from the same moment.
    pub(crate) fn at_once(series: Vec<Self>) -> Self {
        let mut all = Self { series: 1, ..Self::default() };
        for mut one in series {
            all.by_controller.push(one.accepted.len() as u64);
            all.calls.append(&mut one.calls);
            all.accepted.append(&mut one.accepted);
            all.refusal = all.refusal.take().or(one.refusal);
            // The thread of one controller that ran all the time may have been the limit.
            all.processor = all.processor.max(one.processor);
        }
        all.duration = all.span();
        all
    }

    /// Returns the time from the first request to the last answer.
    fn span(&self) -> Duration {
        let first = self.calls.iter().map(|call| call.sent).min().unwrap_or_default();
        let last = self.calls.iter().map(|call| call.answered).max().unwrap_or_default();
        last.saturating_sub(first)
    }

    /// Returns the times from each request to its answer.
    #[must_use]
    pub fn latencies(&self) -> Ordered<Duration> {
        Ordered::of(self.calls.iter().map(|call| call.answered - call.sent).collect())
    }
}

/// The way in which a series of requests is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The largest number of requests that may be unanswered at the same time.
    pub(crate) window: usize,
    /// The time after which no further request is sent; `None` to send all requests.
    pub(crate) time: Option<Duration>,
}

/// The updates that a series of requests consists of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work<'a> {
    /// The operation of all updates.
    pub(crate) operation: Operation,
    /// The entries of the updates, in the order in which they are sent.
    pub(crate) numbers: &'a [EntryNumber],
    /// The number of updates in a request.
    pub(crate) batch: usize,
}

impl Shape {
    /// Returns how many requests of one controller may be unanswered at the same time, so that
    /// those of all `controllers` together fill the window.
    pub(crate) fn window_of(self, controller: usize, controllers: usize) -> usize {
        let controllers = controllers.max(1);
        self.window / controllers + usize::from(controller < self.window % controllers)
    }
}

impl<'a> Work<'a> {
    /// Divides the entries into those of each request.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &'a [EntryNumber]> {
        self.numbers.chunks(self.batch.max(1))
    }

    /// Divides the entries among several controllers, which take the requests in turn.
    pub(crate) fn dealt(&self, controllers: usize) -> Vec<Vec<EntryNumber>> {
        let mut dealt = vec![Vec::new(); controllers.max(1)];
        for (turn, request) in self.requests().enumerate() {
            let turn = turn % dealt.len();
            if let Some(own) = dealt.get_mut(turn) {
                own.extend_from_slice(request);
            }
        }
        dealt
    }
}

/// The outcome of sending a series of requests.
pub(crate) struct Sent {
    pub(crate) phase: Phase,
    /// The entries whose updates were not sent.
    pub(crate) unsent: Vec<EntryNumber>,
}

impl Sent {
    /// Creates the outcome of a series of which the first `requests` requests were sent.
    pub(crate) fn new(phase: Phase, work: Work<'_>, requests: usize) -> Self {
        let sent = requests.saturating_mul(work.batch.max(1));
        Self { phase, unsent: work.numbers.get(sent..).unwrap_or_default().to_vec() }
    }
}

/// The answer to one request.
#[derive(Debug)]
pub(crate) struct Answered<'a> {
    /// The time at which the request was handed to the connection, since the start of the series.
    pub(crate) sent: Duration,
    /// The time at which the answer arrived, since the start of the series.
    pub(crate) answered: Duration,
    /// The entries of the updates of the request.
    pub(crate) numbers: &'a [EntryNumber],
    /// The positions within the request of the updates that the switch refused, in ascending order.
    pub(crate) refused: &'a [usize],
}

impl Phase {
    /// Adds an answered request to the phase.
    pub(crate) fn note(&mut self, one: &Answered<'_>) {
        let mut refusals = one.refused.iter().peekable();
        for (position, number) in one.numbers.iter().enumerate() {
            if refusals.next_if(|refused| **refused == position).is_none() {
                self.accepted.push(*number);
            }
        }
        self.calls.push(Call {
            sent: one.sent,
            answered: one.answered,
            updates: one.numbers.len() as u64,
            refused: one.refused.len() as u64,
        });
    }

    /// Ends the record of a series. `processor` is the processor time that this thread had used
    /// when the series began.
    pub(crate) fn end(&mut self, processor: Duration) {
        self.processor = processor_time().saturating_sub(processor);
        self.duration = self.span();
    }
}

/// Returns the processor time that this thread has used so far.
pub(crate) fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(accepted: u64, milliseconds: u64) -> Phase {
        let duration = Duration::from_millis(milliseconds);
        let call = Call { sent: Duration::ZERO, answered: duration, updates: accepted, refused: 0 };
        Phase {
            calls: vec![call],
            series: 1,
            accepted: (0..accepted).map(EntryNumber).collect(),
            duration,
            processor: duration / 4,
            ..Phase::default()
        }
    }

    #[test]
    fn the_rate_of_several_series_leaves_out_the_pauses_between_them() {
        let mut phase = series(25, 500);
        assert_eq!(phase.rate(), Some(50.0));
        phase.append(series(75, 500));
        assert_eq!(phase.rate(), Some(100.0));
        assert_eq!(phase.busy(), 0.25);
        assert_eq!(phase.latencies().len(), 2);
        assert_eq!(Phase::default().rate(), None);
    }

    #[test]
    fn the_time_of_series_at_once_is_that_of_all_together() {
        let mut late = series(30, 500);
        late.calls.iter_mut().for_each(|call| call.answered = Duration::from_millis(600));
        let both = Phase::at_once(vec![series(10, 500), late]);
        assert_eq!((both.accepted.len(), both.duration), (40, Duration::from_millis(600)));
        assert_eq!((both.by_controller.as_slice(), both.series), (&[10, 30][..], 1));
    }

    #[test]
    fn controllers_take_requests_in_turn_and_share_the_window() {
        let numbers: Vec<EntryNumber> = (0..7).map(EntryNumber).collect();
        let work = Work { operation: Operation::Insert, numbers: &numbers, batch: 2 };
        let dealt = work.dealt(2);
        let values: Vec<Vec<u64>> =
            dealt.iter().map(|own| own.iter().map(|one| one.0).collect()).collect();
        assert_eq!(values, [vec![0, 1, 4, 5], vec![2, 3, 6]]);
        let shape = Shape { window: 8, time: None };
        assert_eq!([0, 1, 2].map(|controller| shape.window_of(controller, 3)), [3, 3, 2]);
        assert_eq!(shape.window_of(0, 1), 8);
    }
}
