//! One connection of a client: its calls.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use h2::{RecvStream, server::SendResponse};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::coop,
    time::{Sleep, sleep},
};
use tonic::{Status, codegen::http};

use super::{
    Urgency, call,
    channel::Channel,
    deadline,
    routes::{self, Routes},
};
use crate::http2::{
    CONNECTION_WINDOW, Call, Calls, Connection, FRAME_BUDGET, Gate, HeaderLimit, Link, MAX_FRAME,
    STREAM_WINDOW, Shared, Watched,
};

/// The metadata that a request may have, in bytes. Clients are told, and keep to it.
const REQUEST_METADATA: u32 = 1 << 20;
/// Calls that a client may have begun and given up before the server has come to them. h2 closes
/// the connection over the 21st by default; deadlines that pass while a large request of another
/// call is worked off are more.
const GIVEN_UP: usize = 100_000;

/// Serves a connection until the client goes, or after `closing` until its calls have ended.
pub(super) async fn serve<T>(
    socket: T,
    gate: Arc<Gate>,
    routes: Routes,
    urgency: Option<Arc<dyn Urgency>>,
    closing: impl Future<Output = ()>,
) where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let socket = Watched::new(socket);
    let header_limit = socket.header_limit();
    let handshake = h2::server::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME)
        .max_header_list_size(REQUEST_METADATA)
        .data_frame_budget(FRAME_BUDGET)
        .max_pending_accept_reset_streams(GIVEN_UP)
        // Frames on their way to a call that has ended are no fault, and connections live long.
        .max_local_error_reset_streams(None)
        .handshake(socket);
    // Whoever does not speak HTTP/2 is closed without a word, as HTTP/2 has none for it.
    let Ok(http2) = handshake.await else { return };
    let connection = Shared::new(Served { http2, routes, header_limit }, gate);
    let mut closing = pin!(closing);
    let mut is_closing = false;
    let turns = std::future::poll_fn(|context| {
        if let Some(urgency) = &urgency {
            urgency.before_turn();
        }
        if !is_closing && closing.as_mut().poll(context).is_ready() {
            is_closing = true;
            connection.with(|connection, calls| {
                connection.http2.graceful_shutdown();
                calls.wake_connection();
            });
        }
        connection.poll(context, || urgency.as_ref().is_some_and(|urgency| urgency.is_urgent()))
    });
    // Others may write to their connections in this task, which must not use up what it may do.
    coop::unconstrained(turns).await;
}

struct Served<T> {
    http2: h2::server::Connection<Watched<T>, Bytes>,
    routes: Routes,
    header_limit: HeaderLimit,
}

impl<T> Connection for Served<T>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Call = ServedCall;

    fn poll(&mut self, calls: &mut Calls<ServedCall>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.http2.poll_accept(context) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    let limit = &self.header_limit;
                    calls.begin(|link| {
                        ServedCall::new(request, respond, &self.routes, limit.clone(), link)
                    });
                }
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

struct ServedCall {
    kind: Kind,
    /// When the client does not want it any more.
    deadline: Option<Pin<Box<Sleep>>>,
}

enum Kind {
    Channel(Box<Channel>),
    Other(Pin<Box<dyn Future<Output = Result<(), h2::Error>> + Send>>),
}

impl ServedCall {
    fn new(
        request: http::Request<RecvStream>,
        respond: SendResponse<Bytes>,
        routes: &Routes,
        limit: HeaderLimit,
        link: Link,
    ) -> Self {
        let timeout = deadline::timeout(request.headers());
        let deadline = timeout.map(|timeout| Box::pin(sleep(timeout)));
        let kind = if let Err(answer) = routes::is_grpc(&request) {
            Kind::Other(Box::pin(call::refuse(respond, answer)))
        } else if routes.is_stream_channel(&request) {
            let requests = request.into_body();
            Kind::Channel(Box::new(routes.p4runtime.stream_channel(requests, respond, link)))
        } else {
            Kind::Other(Box::pin(call::serve(request, respond, routes.clone(), limit)))
        };
        Self { kind, deadline }
    }
}

fn late() -> Status {
    Status::deadline_exceeded("The timeout that the client has set has passed.")
}

impl Call for ServedCall {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let ended = match &mut self.kind {
                Kind::Channel(channel) => channel.poll(context),
                Kind::Other(call) => call.as_mut().poll(context).map(drop),
            };
            let Some(deadline) = &mut self.deadline else { return ended };
            if ended.is_ready() || deadline.as_mut().poll(context).is_pending() {
                return ended;
            }
            self.deadline = None;
            match &mut self.kind {
                Kind::Channel(channel) => channel.end(late()),
                // Dropping it resets its stream.
                Kind::Other(_) => return Poll::Ready(()),
            }
        }
    }

    fn poll_sending(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.kind {
            Kind::Channel(channel) => channel.poll_sending(context),
            Kind::Other(_) => Poll::Pending,
        }
    }
}
