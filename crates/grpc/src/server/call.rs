//! A single call that is served through tonic, as a future.

use std::{future::poll_fn, task::Poll};

use bytes::Bytes;
use h2::{RecvStream, server::SendResponse};
use tonic::{
    body::Body,
    codegen::{Body as _, http},
};

use super::{Services, trailers};
use crate::{
    Link,
    http2::{HeaderLimit, ReceivedBody, send_body},
};

/// Serves a call until it ends. An error means that the client is gone or has cancelled the call,
/// and need not be reported.
pub(super) async fn serve<S: Services>(
    request: http::Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    mut services: S,
    request_limit: usize,
    limit: HeaderLimit,
    link: Link,
) -> Result<(), h2::Error> {
    let limit = trailers::limit(request.headers(), limit.get());
    let body = |stream| ReceivedBody::new(stream, request_limit).in_whole_messages(link.held());
    let request = request.map(|stream| Body::new(body(stream)));
    let mut answer = services.call(request);
    let response = poll_fn(|context| {
        if let Poll::Ready(reset) = respond.poll_reset(context)? {
            return Poll::Ready(Err(h2::Error::from(reset)));
        }
        answer.as_mut().poll(context).map(|Ok(response)| Ok(response))
    });
    let (mut head, body) = response.await?.into_parts();
    trailers::fit(&mut head.headers, limit, S::shorter_details);
    let head = http::Response::from_parts(head, ());
    if body.is_end_stream() {
        return respond.send_response(head, true).map(drop);
    }
    let stream = respond.send_response(head, false)?;
    let fit = |trailers: &mut _| trailers::fit(trailers, limit, S::shorter_details);
    send_body(stream, body, link.held(), fit).await
}

/// Answers a request that is not a gRPC request.
pub(super) async fn refuse(
    mut respond: SendResponse<Bytes>,
    answer: http::Response<()>,
) -> Result<(), h2::Error> {
    respond.send_response(answer, true).map(drop)
}
