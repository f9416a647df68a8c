//! Windows of requests, of which several wait for their answers at the same time: their shape, and
//! what became of them. A request is a Write of P4Runtime, or flow-mods of OpenFlow with a barrier.

use std::time::Duration;

use statistics::Ordered;

use crate::entry_number::EntryNumber;
use crate::forwarded::Forwarded;
use crate::transport::Evidence;

/// The time to wait for the answer to one request.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// The share of a phase at which the measuring thread counts as the bottleneck. If it ran for this
/// share or more, the switch may have waited for it.
pub(crate) const BUSY: f64 = 0.9;

/// The operation of an update.
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
    /// All operations, in the order in which entries go through them.
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

/// The treatment of the updates of a request if the switch refuses one of them (P4Runtime 1.5,
/// section 12.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchAtomicity {
    /// The switch carries out all others.
    #[default]
    ContinueOnError,
    /// The switch takes back those that it carried out. Packets may meet a part of them meanwhile.
    RollbackOnError,
    /// The switch carries out none, and no packet meets only a part of them.
    DataplaneAtomic,
}

impl BatchAtomicity {
    /// Returns the name of the atomicity, which is that of P4Runtime in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ContinueOnError => "continue-on-error",
            Self::RollbackOnError => "rollback-on-error",
            Self::DataplaneAtomic => "dataplane-atomic",
        }
    }
}

/// A request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The time from the start of the series until the request was handed to the connection.
    pub sent: Duration,
    /// The time from the start of the series until the answer had arrived.
    pub answered: Duration,
    /// The number of updates in the request.
    pub updates: u64,
    /// The number of updates that the switch refused.
    pub refused: u64,
}

/// The first update that a switch refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The gRPC status code with which the update was refused, or the name of the OpenFlow error.
    pub code: String,
    /// The message of the switch, or the numbers of the OpenFlow error.
    pub message: String,
    /// The place of the entry in the file of the user, and its text; `None` for made entries.
    pub entry: Option<String>,
}

/// The answered requests of one operation. They were sent in one series without pauses, or in
/// several series with pauses between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// The requests, in the order of their answers.
    pub calls: Vec<Call>,
    /// The entries of the updates that the switch accepted.
    pub accepted: Vec<EntryNumber>,
    /// The first update that the switch refused; `None` if it refused none.
    pub refusal: Option<Refusal>,
    /// The number of series.
    pub series: usize,
    /// The time from the first request to the last answer, added up over the series.
    pub duration: Duration,
    /// The processor time of the measuring thread during the phase.
    pub processor: Duration,
    /// The number of accepted entries that the switch did not have after the phase; `None` if it
    /// was not asked.
    pub missing: Option<u64>,
    /// The number of updates that the switch accepted of each controller, if there were several.
    pub by_controller: Vec<u64>,
    /// The packets that passed through the switch during the phase.
    pub packets: Forwarded,
    /// What TCP showed of the connections to the switch meanwhile; `None` for a single request, or
    /// if the kernel does not tell.
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

    /// Returns the share of the phase during which the measuring thread ran. Close to 1, the switch
    /// may have waited for this program.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.processor.as_secs_f64() / self.duration.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Adds another series of requests.
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

    /// Returns one series of several that controllers sent at the same time, with times since the
    /// same moment.
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

    /// Returns the times from the requests to their answers.
    #[must_use]
    pub fn latencies(&self) -> Ordered<Duration> {
        Ordered::of(self.calls.iter().map(|call| call.answered - call.sent).collect())
    }
}

/// The shape of a series of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The largest number of requests that wait for their answers at the same time.
    pub(crate) window: usize,
    /// The time after which no further request is sent; `None` to send all.
    pub(crate) time: Option<Duration>,
}

/// The updates of a series of requests.
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
    /// Returns the number of requests that one of several controllers lets wait, so that all of
    /// them together have the window.
    pub(crate) fn window_of(self, controller: usize, controllers: usize) -> usize {
        let controllers = controllers.max(1);
        self.window / controllers + usize::from(controller < self.window % controllers)
    }
}

impl<'a> Work<'a> {
    /// Returns the entries of each request.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &'a [EntryNumber]> {
        self.numbers.chunks(self.batch.max(1))
    }

    /// Returns the entries of each of several controllers, which take the requests in turn.
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

/// The requests of a series that were sent.
pub(crate) struct Sent {
    pub(crate) phase: Phase,
    /// The entries of the updates that were not sent.
    pub(crate) unsent: Vec<EntryNumber>,
}

impl Sent {
    /// Creates the record of a series of which `requests` were sent.
    pub(crate) fn new(phase: Phase, work: Work<'_>, requests: usize) -> Self {
        let sent = requests.saturating_mul(work.batch.max(1));
        Self { phase, unsent: work.numbers.get(sent..).unwrap_or_default().to_vec() }
    }
}

/// The outcome of one request, which ended with an answer.
#[derive(Debug)]
pub(crate) struct Answered<'a> {
    /// The time from the start of the series until the request was handed to the connection.
    pub(crate) sent: Duration,
    /// The time from the start of the series until the answer had arrived.
    pub(crate) answered: Duration,
    /// The entries of the updates of the request.
    pub(crate) numbers: &'a [EntryNumber],
    /// The positions in the request of the updates that the switch refused, in ascending order.
    pub(crate) refused: &'a [usize],
}

impl Phase {
    /// Records a request that was answered.
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

    /// Notes the times of a series, which began with the processor time `processor`.
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
