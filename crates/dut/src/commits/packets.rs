//! Sends packets through the switch while a pipeline is committed.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use p4runtime::proto::v1;

use super::forwarding::{Forwarding, Packet};
use crate::clock::nanos;
use crate::effects::Moment;
use crate::error::DutError;
use crate::leaving_flow::LeavingFlow;
use crate::live::Traffic;
use crate::pace::Pace;
use crate::poll::poll_once;
use crate::stream::PacketStream;
use crate::window::Refusal;

/// The time between two packets, long enough not to overload any switch.
const SPACING: Duration = Duration::from_millis(1);
/// The time for which packets are sent before the commit is requested.
const BEFORE: Duration = Duration::from_millis(50);
/// The longest time after the answer for which packets are sent while none is forwarded.
const LONGEST: Duration = Duration::from_secs(5);
/// The time for which missing packets are awaited at the end.
const GRACE: Duration = Duration::from_millis(100);

/// The answer to the request that commits a pipeline.
pub(super) struct Reached {
    /// The time from the request to its answer, or the reason for which the switch refused the
    /// commit.
    pub(super) answer: Result<Duration, Refusal>,
    /// The time from the beginning of the function that made the request to the answer.
    pub(super) answered: Duration,
}

/// The packets of one flow, with the stream that sends and receives them.
pub(super) struct Meanwhile {
    pub(super) flow: LeavingFlow<v1::TableEntry>,
    stream: PacketStream,
}

impl Meanwhile {
    /// Opens the interfaces that are connected to the switch.
    pub(super) fn open(traffic: &Traffic) -> Result<Self, DutError> {
        let flow = LeavingFlow::of(&traffic.flows, &traffic.beside).ok_or(DutError::NoRules)?;
        Ok(Self { flow, stream: PacketStream::open(&traffic.wires)? })
    }

    /// Sends packets before, during and after a commit, until one is forwarded that was sent after
    /// the answer. Returns the answer with the interruption of forwarding.
    pub(super) async fn observe_commit(
        &mut self,
        call: impl Future<Output = Result<Reached, DutError>>,
    ) -> Result<(Reached, Forwarding), DutError> {
        let Self { flow, stream } = self;
        stream.start();
        let begin = stream.now();
        let mut pace = Pace::new(begin, nanos(SPACING), 1);
        let mut call = pin!(call);
        let (mut request, mut ended) = (None, None);
        let mut over = None;
        loop {
            let now = stream.now();
            if over.is_none() && pace.is_due(now) {
                flow.send(stream)?;
            }
            flow.receive(stream)?;
            if now.0 >= begin.0 + nanos(BEFORE) && ended.is_none() {
                request.get_or_insert(now);
                if let Poll::Ready(reached) = poll_once(call.as_mut()).await {
                    ended = Some((stream.now(), reached?));
                }
            }
            if let Some((at, _)) = &ended {
                let mut latest = stream.passages().iter().rev();
                let is_forwarded =
                    latest.any(|one| one.sent.earliest >= *at && one.arrival.is_some());
                if is_forwarded || now.0 >= at.0 + nanos(LONGEST) {
                    over.get_or_insert(now);
                }
            }
            if over.is_some_and(|over| now.0 >= over.0 + nanos(GRACE)) {
                break;
            }
            tokio::task::yield_now().await;
        }
        let (Some(request), Some((_, reached))) = (request, ended) else {
            return Err(DutError::NoAnswer {
                what: "SetForwardingPipelineConfig",
                patience: LONGEST,
            });
        };
        let since = |at: Moment| Duration::from_nanos(at.0.saturating_sub(request.0));
        let passages = stream.passages().iter().filter(|one| one.sent.earliest >= request);
        let meanwhile: Vec<Packet> = passages
            .map(|one| Packet {
                sent: since(one.sent.earliest),
                arrived: one.arrival.map(|arrival| since(arrival.at.latest)),
            })
            .collect();
        let forwarding = Forwarding::of(&meanwhile, reached.answered);
        Ok((reached, forwarding))
    }
}
