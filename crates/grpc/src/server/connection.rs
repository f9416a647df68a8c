//! A client's connection to the server, and its calls.

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

use super::{Channel, ServerOptions, Services, call, deadline};
use crate::{
    admission::{OpenCall, Peer},
    http2::{Call, Calls, Connection, Gate, HeaderLimit, Link, Shared, Watched},
    window::{
        CONNECTION_WINDOW, FIRST_WINDOW, FRAME_BUDGET, MAX_FRAME, SEND_BUFFER, STREAM_WINDOW,
    },
};

/// The number of new calls that are accepted in one turn before open calls are polled.
const ACCEPTED_PER_TURN: usize = 16;

/// Serves a connection until the client disconnects or, once `closing` has completed, until all
/// calls have ended.
pub(super) async fn serve<T, S: Services>(
    socket: T,
    gate: Arc<Gate>,
    peer: Peer,
    services: S,
    options: ServerOptions,
    closing: impl Future<Output = ()>,
) where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let socket = Watched::new(socket);
    let header_limit = socket.header_limit();
    let ServerOptions { urgency, request_limit, limits, .. } = options;
    let handshake = h2::server::Builder::new()
        .initial_window_size(FIRST_WINDOW)
        .initial_connection_window_size(FIRST_WINDOW)
        .max_frame_size(MAX_FRAME)
        .max_header_list_size(limits.header_bytes)
        .max_concurrent_streams(limits.calls)
        .max_send_buffer_size(SEND_BUFFER)
        .data_frame_budget(FRAME_BUDGET)
        // By default, h2 closes the connection at the 21st such call. More calls can reach their
        // deadlines while a large request of another call is processed.
        .max_pending_accept_reset_streams(limits.calls_given_up)
        // Frames that arrive for an ended call are not an error, and connections are long-lived.
        .max_local_error_reset_streams(None)
        .handshake(socket);
    // A client that does not speak HTTP/2 is disconnected without an answer, because HTTP/2 defines
    // none.
    let Ok(http2) = handshake.await else { return };
    let served = Served {
        http2,
        services,
        request_limit,
        header_limit: header_limit.clone(),
        peer: peer.clone(),
        is_wide: false,
        is_closing: false,
    };
    let connection = Shared::new(served, gate, Some(peer.clone()));
    let mut closing = pin!(closing);
    let (mut is_closing, mut is_negotiated) = (false, false);
    let mut seat = peer.seat();
    let turns = std::future::poll_fn(|context| {
        if !is_closing && closing.as_mut().poll(context).is_ready() {
            is_closing = true;
            connection.with(|connection, calls| {
                // The shutdown waits for the calls, and a channel may never end on its own.
                connection.is_closing = true;
                connection.http2.graceful_shutdown();
                calls.each(ServedCall::shut_down);
                calls.wake_connection();
            });
        }
        let Some(_turn) = seat.begin_turn(context.waker()) else { return Poll::Pending };
        if let Some(urgency) = &urgency {
            urgency.before_turn();
        }
        let ended = connection.poll(context, || {
            peer.is_in_a_crowd() || urgency.as_ref().is_some_and(|urgency| urgency.is_urgent())
        });
        if !is_negotiated && header_limit.has_come() {
            is_negotiated = true;
            peer.negotiated();
        }
        ended
    });
    // While it runs, other tasks may write to their connections, so tokio's cooperative budget must
    // not apply.
    coop::unconstrained(turns).await;
}

/// A client's connection to the server, with the services that its calls reach.
struct Served<T, S> {
    http2: h2::server::Connection<Watched<T>, Bytes>,
    services: S,
    request_limit: usize,
    header_limit: HeaderLimit,
    peer: Peer,
    /// Whether the connection's HTTP/2 windows have their full size.
    is_wide: bool,
    is_closing: bool,
}

impl<T, S> Connection for Served<T, S>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Services,
{
    type Call = ServedCall<S::Channel>;

    fn poll(&mut self, calls: &mut Calls<Self::Call>, context: &mut Context<'_>) -> Poll<()> {
        if !self.is_wide && self.peer.is_serving() {
            self.widen();
        }
        for _ in 0..ACCEPTED_PER_TURN {
            match self.http2.poll_accept(context) {
                Poll::Ready(Some(Ok((request, mut respond)))) => {
                    // The client may retry once less memory is held.
                    let Ok(open) = self.peer.begin() else {
                        respond.send_reset(h2::Reason::REFUSED_STREAM);
                        continue;
                    };
                    calls.begin(|link| {
                        let mut call = self.served(request, respond, link, open);
                        if self.is_closing {
                            call.shut_down();
                        }
                        call
                    });
                }
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// An open call on a served connection.
struct ServedCall<C> {
    kind: Kind<C>,
    /// The timer of the deadline that the client has set for the call, if it has set one.
    deadline: Option<Pin<Box<Sleep>>>,
    /// The open call, whose memory is released when this value is dropped. Fields are dropped in
    /// the order of their declaration, so this field is dropped last.
    _open: OpenCall,
}

/// The kind of a call: a stream channel, or a call that is served as a future.
enum Kind<C> {
    Channel(Box<C>),
    Other(Pin<Box<dyn Future<Output = Result<(), h2::Error>> + Send>>),
}

impl<T, S: Services> Served<T, S>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    /// Enlarges the HTTP/2 windows of the connection to their full size, if this is permitted.
    fn widen(&mut self) {
        if self.peer.widen() {
            // This fails until the client has acknowledged earlier settings, and is then repeated.
            self.is_wide = self.http2.set_initial_window_size(STREAM_WINDOW).is_ok();
            self.http2.set_target_window_size(CONNECTION_WINDOW);
        }
    }

    fn served(
        &self,
        request: http::Request<RecvStream>,
        respond: SendResponse<Bytes>,
        link: Link,
        open: OpenCall,
    ) -> ServedCall<S::Channel> {
        let timeout = deadline::timeout(request.headers());
        let deadline = timeout.map(|timeout| Box::pin(sleep(timeout)));
        let services = &self.services;
        let kind = if let Err(answer) = is_grpc(&request) {
            Kind::Other(Box::pin(call::refuse(respond, answer)))
        } else if services.is_channel(request.uri().path()) && is_plain(&request) {
            Kind::Channel(Box::new(services.open(request.into_body(), respond, link)))
        } else {
            let (limit, services) = (self.header_limit.clone(), services.clone());
            let call = call::serve(request, respond, services, self.request_limit, limit, link);
            Kind::Other(Box::pin(call))
        };
        ServedCall { kind, deadline, _open: open }
    }
}

impl<C: Channel> ServedCall<C> {
    /// Ends the call because the server shuts down, if the call is a channel. Other calls end on
    /// their own.
    fn shut_down(&mut self) {
        if let Kind::Channel(channel) = &self.kind {
            channel.end(Status::unavailable("The server is shutting down."));
        }
    }
}

/// Checks that a request is a gRPC request. If it is not, returns the HTTP response with which the
/// server answers ("gRPC over HTTP2", Requests).
fn is_grpc<T>(request: &http::Request<T>) -> Result<(), http::Response<()>> {
    let mut answer = http::Response::new(());
    if request.method() != http::Method::POST {
        *answer.status_mut() = http::StatusCode::METHOD_NOT_ALLOWED;
        let post = http::HeaderValue::from_static("POST");
        answer.headers_mut().insert(http::header::ALLOW, post);
        return Err(answer);
    }
    let kind = request.headers().get(http::header::CONTENT_TYPE).map(http::HeaderValue::as_bytes);
    match kind.and_then(|kind| kind.strip_prefix(b"application/grpc")) {
        Some([] | [b'+' | b';', ..]) => Ok(()),
        _ => {
            *answer.status_mut() = http::StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Err(answer)
        }
    }
}

/// Returns whether the messages of a call are uncompressed, so that it can be served as a channel.
fn is_plain<T>(request: &http::Request<T>) -> bool {
    request.headers().get("grpc-encoding").is_none_or(|name| name == "identity")
}

fn late() -> Status {
    Status::deadline_exceeded("The timeout that the client has set has passed.")
}

impl<C: Channel> Call for ServedCall<C> {
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
                // Dropping the call resets its stream.
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
