//! Windows of requests: Write requests of which several wait for their answers at the same time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use p4runtime::client::{Client, WriteError};
use p4runtime::proto::v1::{self, write_request::Atomicity};
use statistics::Ordered;
use tokio::task::JoinSet;

use crate::entries::EntryNumber;
use crate::error::DutError;

/// The time to wait for the answer to one request.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The share of a phase during which the measuring thread ran, from which on the switch may have
/// waited for it.
pub(crate) const BUSY: f64 = 0.9;

/// The operation of an update of P4Runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Inserts an entry.
    Insert,
    /// Replaces the action parameters of an entry.
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

/// A Write request that was answered.
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
    /// The gRPC status code with which the update was refused.
    pub code: String,
    /// The message of the switch.
    pub message: String,
}

/// Write requests with one operation: a series of them, or several series with pauses between.
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

/// A Write request that is to be sent, with the entries of its updates.
pub(crate) struct Request {
    pub(crate) numbers: Vec<EntryNumber>,
    pub(crate) updates: Vec<v1::Update>,
}

/// A request that ended, with its position among all requests.
struct Ended {
    position: usize,
    sent: Duration,
    answered: Duration,
    outcome: Result<(), WriteError>,
}

/// Sends requests until all are answered, the time of the shape is over, or `stop` is set. Answers
/// of requests that were sent are waited for in all cases. Returns the phase, and the number of
/// requests that were sent.
pub(crate) async fn send(
    client: &Client,
    requests: Vec<Request>,
    shape: Shape,
    stop: &AtomicBool,
) -> Result<(Phase, usize), DutError> {
    let mut phase = Phase { series: 1, ..Phase::default() };
    let mut sent_numbers: Vec<Vec<EntryNumber>> = Vec::with_capacity(requests.len());
    let mut waiting: VecDeque<Request> = requests.into();
    let mut flying: JoinSet<Ended> = JoinSet::new();
    let mut failure = None;
    let began = Instant::now();
    let processor = processor_time();
    loop {
        let goes_on = failure.is_none()
            && !stop.load(Ordering::Relaxed)
            && shape.time.is_none_or(|time| began.elapsed() < time);
        while goes_on && flying.len() < shape.window {
            let Some(Request { numbers, updates }) = waiting.pop_front() else { break };
            let position = sent_numbers.len();
            sent_numbers.push(numbers);
            let mut client = client.clone();
            flying.spawn(async move {
                let sent = began.elapsed();
                let outcome = client.write(updates, Atomicity::ContinueOnError).await;
                Ended { position, sent, answered: began.elapsed(), outcome }
            });
        }
        let ended = match tokio::time::timeout(PATIENCE, flying.join_next()).await {
            Err(_) => return Err(DutError::NoAnswer { what: "Write", patience: PATIENCE }),
            Ok(None) => break,
            Ok(Some(Err(error))) => {
                return Err(DutError::Request { what: "Write", cause: error.to_string() });
            }
            Ok(Some(Ok(ended))) => ended,
        };
        let numbers = sent_numbers.get(ended.position).map(Vec::as_slice).unwrap_or_default();
        if let Err(error) = phase.note(&ended, numbers) {
            failure.get_or_insert(error);
        }
    }
    phase.processor = processor_time() - processor;
    let first = phase.calls.iter().map(|call| call.sent).min().unwrap_or_default();
    let last = phase.calls.iter().map(|call| call.answered).max().unwrap_or_default();
    phase.duration = last.saturating_sub(first);
    match failure {
        None => Ok((phase, sent_numbers.len())),
        Some(failure) => Err(failure),
    }
}

impl Phase {
    /// Records a request that ended. Returns an error if the request failed as a whole.
    fn note(&mut self, ended: &Ended, numbers: &[EntryNumber]) -> Result<(), DutError> {
        let refused = match &ended.outcome {
            Ok(()) => &[][..],
            Err(WriteError::Updates { refused, .. }) => refused,
            Err(WriteError::Rpc(status)) => {
                let cause = format!("{} ({:?})", status.message(), status.code());
                return Err(DutError::Request { what: "Write", cause });
            }
            Err(other) => {
                return Err(DutError::Request { what: "Write", cause: other.to_string() });
            }
        };
        if let (None, Some(first)) = (&self.refusal, refused.first()) {
            let code = format!("{:?}", first.code);
            self.refusal = Some(Refusal { code, message: first.message.clone() });
        }
        let mut refusals = refused.iter().map(|one| one.index).peekable();
        for (position, number) in numbers.iter().enumerate() {
            if refusals.next_if_eq(&position).is_none() {
                self.accepted.push(*number);
            }
        }
        self.calls.push(Call {
            sent: ended.sent,
            answered: ended.answered,
            updates: numbers.len() as u64,
            refused: refused.len() as u64,
        });
        Ok(())
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
}
