//! One call of a connection: any RPC but the `StreamChannel`, served through tonic.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h2::{RecvStream, SendStream, server::SendResponse};
use tonic::{
    body::Body,
    codegen::{Body as HttpBody, http},
};

use super::routes::Routes;

/// Serves a call to its end. Errors mean that the client has gone or does not want the answer any
/// more, so nobody is to be told.
pub(super) async fn serve(
    request: http::Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    mut routes: Routes,
) -> Result<(), h2::Error> {
    let request = request.map(|stream| Body::new(RequestBody(stream)));
    let mut answer = routes.call(request);
    let response = poll_fn(|context| {
        if let Poll::Ready(reset) = respond.poll_reset(context)? {
            return Poll::Ready(Err(h2::Error::from(reset)));
        }
        answer.as_mut().poll(context).map(|Ok(response)| Ok(response))
    });
    let (head, body) = response.await?.into_parts();
    let head = http::Response::from_parts(head, ());
    if body.is_end_stream() {
        return respond.send_response(head, true).map(drop);
    }
    let stream = respond.send_response(head, false)?;
    send(stream, body).await
}

/// Sends a body as the client takes it.
async fn send(mut stream: SendStream<Bytes>, body: Body) -> Result<(), h2::Error> {
    let mut body = pin!(body);
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let frame = match frame {
            Ok(frame) => frame,
            Err(_) => {
                stream.send_reset(h2::Reason::INTERNAL_ERROR);
                return Ok(());
            }
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

/// What the client sends, as tonic reads it.
struct RequestBody(RecvStream);

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, h2::Error>>> {
        let stream = &mut self.get_mut().0;
        let frame = match ready!(stream.poll_data(context)?) {
            Some(data) => {
                stream.flow_control().release_capacity(data.len())?;
                Some(http_body::Frame::data(data))
            }
            None => ready!(stream.poll_trailers(context)?).map(http_body::Frame::trailers),
        };
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }
}
