//! One connection of a client: its calls.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{Arc, Weak},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use h2::{RecvStream, server::SendResponse};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::coop,
};
use tonic::codegen::http;

use super::{Urgency, call, channel::Channel, routes::Routes};
use crate::http2::{
    CONNECTION_WINDOW, Connection, Gate, Link, MAX_FRAME, Part, Places, Ready, STREAM_WINDOW,
    Shared, Turn,
};

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
    let handshake = h2::server::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME)
        .handshake(socket);
    // Whoever does not speak HTTP/2 is closed without a word, as HTTP/2 has none for it.
    let Ok(http2) = handshake.await else { return };
    let connection = Shared::new(gate, |ready, own| Served {
        transport: ready.waker(Part::Transport),
        http2,
        calls: Places::new(),
        routes,
        own: own.clone(),
    });
    let mut closing = pin!(closing);
    let mut is_closing = false;
    let turns = std::future::poll_fn(|context| {
        if let Some(urgency) = &urgency {
            urgency.before_turn();
        }
        if !is_closing && closing.as_mut().poll(context).is_ready() {
            is_closing = true;
            connection.with(|connection, ready| {
                connection.http2.graceful_shutdown();
                ready.wake(Part::Transport);
            });
        }
        connection.poll(context)
    });
    // Others may write to their connections in this task, which must not use up what it may do.
    coop::unconstrained(turns).await;
}

struct Served<T> {
    http2: h2::server::Connection<T, Bytes>,
    /// Wakes [`Part::Transport`].
    transport: Waker,
    calls: Places<Call>,
    routes: Routes,
    own: Weak<Shared<Self>>,
}

enum Call {
    Channel(Box<Channel>),
    Other(Pin<Box<dyn Future<Output = Result<(), h2::Error>> + Send>>),
}

impl<T> Connection for Served<T>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    fn poll_transport(&mut self, ready: &Arc<Ready>) -> Poll<()> {
        let waker = self.transport.clone();
        let mut context = Context::from_waker(&waker);
        loop {
            match self.http2.poll_accept(&mut context) {
                Poll::Ready(Some(Ok((request, respond)))) => self.begin(request, respond, ready),
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn poll_call(&mut self, place: usize) {
        let Some((call, waker)) = self.calls.get(place) else { return };
        let mut context = Context::from_waker(waker);
        let ended = match call {
            Call::Channel(channel) => channel.poll(&mut context),
            Call::Other(call) => call.as_mut().poll(&mut context).map(drop),
        };
        if ended.is_ready() {
            self.calls.leave(place);
        }
    }

    fn poll_sending(&mut self, place: usize) {
        if let Some((Call::Channel(channel), waker)) = self.calls.get(place)
            && channel.poll_sending(&mut Context::from_waker(waker)).is_ready()
        {
            self.calls.leave(place);
        }
    }
}

impl<T> Served<T>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    fn begin(
        &mut self,
        request: http::Request<RecvStream>,
        respond: SendResponse<Bytes>,
        ready: &Arc<Ready>,
    ) {
        let routes = self.routes.clone();
        let own: Weak<dyn Turn> = self.own.clone();
        self.calls.enter(ready, |place| {
            if routes.is_stream_channel(&request) {
                let link = Link::new(own, place);
                let requests = request.into_body();
                let channel = routes.p4runtime.stream_channel(requests, respond, link);
                Call::Channel(Box::new(channel))
            } else {
                Call::Other(Box::pin(call::serve(request, respond, routes)))
            }
        });
    }
}
