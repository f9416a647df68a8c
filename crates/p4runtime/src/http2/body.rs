//! Bodies of unary calls and of streamed answers, as tonic reads and writes them.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h2::{RecvStream, SendStream};
use tonic::{Status, body::Body, codegen::Body as HttpBody};

use super::status;

/// What the peer sends.
pub(crate) struct ReceivedBody(pub(crate) RecvStream);

impl HttpBody for ReceivedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Status>>> {
        let stream = &mut self.get_mut().0;
        let failed = |error| status(&error);
        let frame = match ready!(stream.poll_data(context)) {
            Some(data) => {
                let data = data.map_err(failed)?;
                stream.flow_control().release_capacity(data.len()).map_err(failed)?;
                Some(http_body::Frame::data(data))
            }
            None => {
                let trailers = ready!(stream.poll_trailers(context)).map_err(failed)?;
                trailers.map(http_body::Frame::trailers)
            }
        };
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }
}

/// Sends a body as the peer takes it.
///
/// # Errors
///
/// When the peer has gone or does not want it any more.
pub(crate) async fn send_body(mut stream: SendStream<Bytes>, body: Body) -> Result<(), h2::Error> {
    let mut body = pin!(body);
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(frame) = frame else {
            stream.send_reset(h2::Reason::INTERNAL_ERROR);
            return Ok(());
        };
        match frame.into_data() {
            Ok(data) => send_data(&mut stream, data).await?,
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    return stream.send_trailers(trailers);
                }
            }
        }
    }
    stream.send_data(Bytes::new(), true)
}

async fn send_data(stream: &mut SendStream<Bytes>, mut data: Bytes) -> Result<(), h2::Error> {
    while !data.is_empty() {
        stream.reserve_capacity(data.len());
        match poll_fn(|context| stream.poll_capacity(context)).await {
            Some(capacity) => {
                let room = capacity?.min(data.len());
                stream.send_data(data.split_to(room), false)?;
            }
            None => return Err(h2::Reason::CANCEL.into()),
        }
    }
    Ok(())
}
