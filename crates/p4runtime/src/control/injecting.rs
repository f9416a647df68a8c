//! The RPC `Inject`, which runs packets as if they had arrived on ports, and returns their
//! outcomes.
//!
//! Several requests of a stream are processed at the same time, so that the throughput does not
//! depend on the time that a request takes. If the largest number of such requests is reached,
//! further requests are read only after the oldest has been answered. A client that sends faster
//! than the switch runs packets, or that does not read its answers, is therefore slowed down by
//! HTTP/2's flow control.

use std::{
    collections::VecDeque,
    future::{Ready, ready},
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use tonic::{Request, Response, Status, Streaming, server::StreamingService};

use super::{Injection, Pending, Treatment, service::ControlServer};
use crate::{proto::switch, status::refusal};

/// The largest number of requests of a stream that are processed at the same time.
const REQUESTS: usize = 16;
/// The limit of the payload bytes in the requests that are being processed. While they have this
/// many bytes or more, no further request of the stream is read.
const BYTES: usize = 4 << 20;

/// The RPC Inject, as a tonic service.
pub(super) struct Inject(pub(super) ControlServer);

impl StreamingService<switch::InjectRequest> for Inject {
    type Response = switch::InjectResponse;
    type ResponseStream = Injected;
    type Future = Ready<Result<Response<Injected>, Status>>;

    fn call(&mut self, request: Request<Streaming<switch::InjectRequest>>) -> Self::Future {
        let requests = Some(request.into_inner());
        let server = self.0.clone();
        ready(Ok(Response::new(Injected { server, requests, under_way: VecDeque::new() })))
    }
}

/// The responses to a stream of packets.
pub(super) struct Injected {
    server: ControlServer,
    /// The requests, or `None` after their end.
    requests: Option<Streaming<switch::InjectRequest>>,
    under_way: VecDeque<UnderWay>,
}

/// A request that has been read and whose response has not been sent yet.
struct UnderWay {
    /// The number of payload bytes in the request's packets.
    bytes: usize,
    progress: Progress,
}

enum Progress {
    Runs(Pending<Vec<switch::InjectOutcome>>),
    Ended(Result<switch::InjectResponse, Status>),
}

impl UnderWay {
    fn of(server: &ControlServer, request: switch::InjectRequest) -> Self {
        let bytes = request.packets.iter().map(|packet| packet.payload.len()).sum();
        let begun = Treatment::of(&request).map_err(|error| refusal(&error));
        let begun = begun.and_then(|treatment| {
            let source = server.source(request.device_id)?;
            let switch::InjectRequest { packets, tracing, .. } = request;
            Ok(source.inject(Injection { packets, treatment, tracing }))
        });
        let progress = begun.map_or_else(|error| Progress::Ended(Err(error)), Progress::Runs);
        Self { bytes, progress }
    }

    fn advance(&mut self, context: &mut Context<'_>) {
        if let Progress::Runs(outcomes) = &mut self.progress
            && let Poll::Ready(outcomes) = outcomes.as_mut().poll(context)
        {
            let response = outcomes.map(|outcomes| switch::InjectResponse { outcomes });
            self.progress = Progress::Ended(response.map_err(|error| refusal(&error)));
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.progress, Progress::Ended(_))
    }
}

impl Injected {
    /// Reads requests until one of the limits is reached or no request is waiting.
    fn read(&mut self, context: &mut Context<'_>) {
        while self.under_way.len() < REQUESTS
            && self.under_way.iter().map(|request| request.bytes).sum::<usize>() < BYTES
            && let Some(requests) = &mut self.requests
            && let Poll::Ready(request) = Pin::new(requests).poll_next(context)
        {
            let next = match request {
                Some(Ok(request)) => UnderWay::of(&self.server, request),
                Some(Err(status)) => {
                    self.requests = None;
                    UnderWay { bytes: 0, progress: Progress::Ended(Err(status)) }
                }
                None => {
                    self.requests = None;
                    break;
                }
            };
            self.under_way.push_back(next);
        }
    }
}

impl Stream for Injected {
    type Item = Result<switch::InjectResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        this.read(context);
        // Requests are passed on in their order, since each is polled after those before it.
        this.under_way.iter_mut().for_each(|request| request.advance(context));
        let first = this.under_way.pop_front_if(|request| request.has_ended());
        if let Some(UnderWay { progress: Progress::Ended(response), .. }) = first {
            if response.is_err() {
                // The stream ends with the first error.
                this.requests = None;
                this.under_way.clear();
            }
            return Poll::Ready(Some(response));
        }
        let is_at_end = this.requests.is_none() && this.under_way.is_empty();
        if is_at_end { Poll::Ready(None) } else { Poll::Pending }
    }
}
