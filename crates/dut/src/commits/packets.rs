//! Packets that are sent through the switch while a pipeline is committed.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use super::forwarding::Forwarding;
use crate::error::DutError;
use crate::poll::poll_once;
use crate::stream::{Packet, PacketStream};
use crate::window::Refusal;

/// The time between two packets. No switch is overloaded by them.
const SPACING: Duration = Duration::from_millis(1);
/// The time for which packets are sent before the request.
const BEFORE: Duration = Duration::from_millis(50);
/// The longest time after the answer for which packets are sent until one is forwarded.
const LONGEST: Duration = Duration::from_secs(5);
/// The time for which missing packets are waited for in the end.
const GRACE: Duration = Duration::from_millis(100);

/// The answer to the request that commits a pipeline, and its times.
pub(super) struct Reached {
    /// The time from the request to its answer, or the refusal.
    pub(super) answer: Result<Duration, Refusal>,
    /// The time from the beginning of the call to its answer.
    pub(super) answered: Duration,
}

impl PacketStream {
    /// Sends packets before, during and after a commit, until one is forwarded that was sent after
    /// the call had ended.
    pub(super) async fn observe_commit(
        &mut self,
        call: impl Future<Output = Result<Reached, DutError>>,
    ) -> Result<(Reached, Forwarding), DutError> {
        self.start();
        let mut call = pin!(call);
        let (mut request, mut ended) = (None, None);
        let mut due = Duration::ZERO;
        let mut over = None;
        loop {
            let now = self.now();
            if over.is_none() && now >= due {
                self.send()?;
                // After a pause of this program, overdue packets are not sent in one burst.
                due = due.max(now.saturating_sub(SPACING)) + SPACING;
            }
            self.receive()?;
            if now >= BEFORE && ended.is_none() {
                request.get_or_insert(now);
                if let Poll::Ready(reached) = poll_once(call.as_mut()).await {
                    ended = Some((self.now(), reached?));
                }
            }
            if let Some((at, _)) = &ended {
                let is_forwarded =
                    self.packets().iter().rev().any(|one| one.sent >= *at && one.arrived.is_some());
                if is_forwarded || now >= *at + LONGEST {
                    over.get_or_insert(now);
                }
            }
            if over.is_some_and(|over| now >= over + GRACE) {
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
        let meanwhile: Vec<Packet> = self
            .packets()
            .iter()
            .filter(|packet| packet.sent >= request)
            .map(|packet| Packet {
                sent: packet.sent - request,
                arrived: packet.arrived.map(|at| at.saturating_sub(request)),
            })
            .collect();
        let forwarding = Forwarding::of(&meanwhile, reached.answered);
        Ok((reached, forwarding))
    }
}
