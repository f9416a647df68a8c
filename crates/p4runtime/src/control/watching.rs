//! The RPC `WatchQueues`, which reports the state of queues at regular intervals.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::Status;

use super::{DeviceQueues, Pending, SwitchSource, form, service::ControlServer};
use crate::{proto::switch, status::refusal};

/// The interval for clients that request none.
const USUAL: Duration = Duration::from_secs(1);
/// The shortest interval. Shorter requested intervals are raised to it.
const SHORTEST: Duration = Duration::from_millis(10);

/// The responses to a client that watches queues.
pub(super) struct Watch {
    source: Arc<dyn SwitchSource>,
    ports: Vec<u32>,
    interval: Duration,
    /// The time of the next response.
    due: Instant,
    step: Step,
    now: fn() -> i64,
}

/// The state between two responses.
enum Step {
    Wait(Pin<Box<Sleep>>),
    Read(Pending<DeviceQueues>),
}

impl Watch {
    pub(super) fn open(
        server: &ControlServer,
        request: switch::WatchQueuesRequest,
    ) -> Result<Self, Status> {
        let source = server.source(request.device_id)?;
        let interval = match request.interval_ns {
            0 => USUAL,
            interval => Duration::from_nanos(interval).max(SHORTEST),
        };
        let step = Step::Read(source.queues());
        let (ports, now) = (request.ports, server.now);
        Ok(Self { source, ports, interval, due: Instant::now(), step, now })
    }
}

impl Stream for Watch {
    type Item = Result<switch::WatchQueuesResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match &mut this.step {
                Step::Wait(sleep) => {
                    ready!(sleep.as_mut().poll(context));
                    this.step = Step::Read(this.source.queues());
                }
                Step::Read(queues) => {
                    let queues = ready!(queues.as_mut().poll(context));
                    this.due += this.interval;
                    let now = Instant::now();
                    if this.due < now {
                        // Responses that could not be sent in time are skipped.
                        this.due = now + this.interval;
                    }
                    this.step = Step::Wait(Box::pin(sleep_until(this.due)));
                    let response = queues.map(|queues| switch::WatchQueuesResponse {
                        timestamp_ns: (this.now)(),
                        states: form::states(&queues, &this.ports),
                        revision: queues.revision,
                    });
                    return Poll::Ready(Some(response.map_err(|error| refusal(&error))));
                }
            }
        }
    }
}
