//! The connection of a client, and its calls.
//!
//! A [`Line`] is what the clients call through that tonic generates; [`Line::open`] adds calls whose messages are written
//! out of turn.

use std::{
    future::{Future, poll_fn},
    marker::PhantomData,
    pin::{Pin, pin},
    sync::{Arc, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use h2::{RecvStream, SendStream, client::SendRequest};
use prost::Message;
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};
use tonic::{
    Code, Status,
    body::Body,
    codegen::{
        Service,
        http::{self, HeaderValue, Uri, header},
    },
};

use crate::{
    admission::Held,
    http2::{
        self, Call, Calls, Connection, Encode, Gate, Link, ReceivedBody, Sending, SendingBody,
        Shared, Socket, send_body,
    },
    outbox::{Outbox, QueueLimit},
    tls::{ClientTls, TlsError},
    window::{CONNECTION_WINDOW, FRAME_BUDGET, MAX_FRAME, STREAM_WINDOW},
};

/// How a server is called.
#[derive(Clone, Debug)]
pub struct DialOptions {
    /// Certificates. `None` speaks plain HTTP/2.
    pub tls: Option<ClientTls>,
    /// How long TCP, TLS and HTTP/2 may take together.
    pub timeout: Duration,
    /// The largest response in bytes.
    pub response_limit: usize,
}

/// Why no connection was made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is none.
    #[error("{address:?} is not an address of the form host:port")]
    Address {
        /// The address as given.
        address: String,
    },
    /// The certificates cannot be used.
    #[error("the TLS settings of the client cannot be used: {0}")]
    Tls(#[from] TlsError),
    /// Nobody answered, or not as a gRPC server.
    #[error("no gRPC server answers at {address}: {cause}")]
    Unreachable {
        /// The address as given.
        address: String,
        /// What TCP, TLS or HTTP/2 says.
        cause: String,
    },
}

/// Write errors travel in the trailers, one for each update.
const HEADER_LIST: u32 = 16 << 20;
/// Who we are ("User Agents" in gRPC over HTTP2).
const USER_AGENT: &str = concat!("grpc-rust-planimeter/", env!("CARGO_PKG_VERSION"));
/// A URI may say the scheme; what counts is whether TLS is asked for.
const SCHEMES: [&str; 2] = ["http://", "https://"];

/// A connection, ready for calls. Clones share it; it is closed when they and its streams are
/// gone.
#[derive(Clone)]
pub struct Line {
    http2: SendRequest<Bytes>,
    streams: Arc<dyn Streams>,
    origin: Uri,
    /// The largest response in bytes.
    response_limit: usize,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Line").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Line {
    /// Connects to `host:port`.
    pub async fn connect(address: &str, options: &DialOptions) -> Result<Self, ConnectError> {
        let origin = origin(address, options.tls.is_some())
            .ok_or_else(|| ConnectError::Address { address: address.to_owned() })?;
        let tls = options.tls.as_ref().map(|tls| tls.config()).transpose()?;
        let unreachable = |cause: Cause| ConnectError::Unreachable {
            address: address.to_owned(),
            cause: cause.to_string(),
        };
        let connecting = async {
            let (host, port) = (host(&origin), origin.port_u16().unwrap_or_default());
            let socket = TcpStream::connect((host, port)).await?;
            socket.set_nodelay(true)?;
            // Where the system refuses, the controller works all the same.
            let _ = crate::tcp::send_unpaced(&socket);
            let gate = Arc::new(Gate::default());
            let socket = Socket::new(socket, Arc::clone(&gate));
            let limit = options.response_limit;
            match tls {
                None => handshake(socket, gate, origin.clone(), limit).await,
                Some(mut config) => {
                    config.alpn_protocols = vec![b"h2".to_vec()];
                    let named = options.tls.as_ref().and_then(|tls| tls.server_name.as_deref());
                    let name = ServerName::try_from(named.unwrap_or(host).to_owned())?;
                    let socket = TlsConnector::from(Arc::new(config)).connect(name, socket).await?;
                    handshake(socket, gate, origin.clone(), limit).await
                }
            }
        };
        match tokio::time::timeout(options.timeout, connecting).await {
            Ok(connected) => connected.map_err(unreachable),
            Err(_) => Err(unreachable(slow(options.timeout).into())),
        }
    }

    /// Where calls go, for the clients that tonic generates.
    pub fn origin(&self) -> &Uri {
        &self.origin
    }

    /// Whether calls can be made: the connection runs, and the server has not said that it goes
    /// away.
    pub fn is_open(&self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let refused = matches!(self.http2.clone().poll_ready(&mut context), Poll::Ready(Err(_)));
        self.streams.are_open() && !refused
    }

    /// Opens a call of the method at `path` whose requests are what is put into the outbox; as many as `queue_limit` says of
    /// them wait. The second part is the server's answer, for which some want to read a message first.
    ///
    /// # Errors
    ///
    /// The status with which the connection, or the server, refuses.
    pub async fn open<M: Message + Unpin + 'static>(
        &mut self,
        path: &'static str,
        queue_limit: QueueLimit,
    ) -> Result<(Arc<Outbox<M>>, impl Future<Output = Result<RecvStream, Status>> + use<M>), Status>
    {
        let mut uri = self.origin.clone().into_parts();
        uri.path_and_query = Some(http::uri::PathAndQuery::from_static(path));
        let mut request = http::Request::new(());
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() =
            Uri::from_parts(uri).map_err(|error| Status::internal(error.to_string()))?;
        let grpc = HeaderValue::from_static("application/grpc");
        request.headers_mut().insert(header::CONTENT_TYPE, grpc);
        request.headers_mut().insert(header::TE, HeaderValue::from_static("trailers"));
        request.headers_mut().insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));

        poll_fn(|context| self.http2.poll_ready(context)).await.map_err(failed)?;
        let (response, stream) = self.http2.send_request(request, false).map_err(failed)?;
        let answer = async move {
            let (mut head, stream) = response.await.map_err(failed)?.into_parts();
            check(&mut head)?;
            // A server that refuses at once says so in the head.
            match Status::from_header_map(&head.headers) {
                Some(status) if status.code() == Code::Ok => {
                    Err(Status::unavailable("The server ended the stream at once."))
                }
                Some(status) => Err(status),
                None => Ok(stream),
            }
        };
        let mut begun = None;
        self.streams.begin(Box::new(|link| {
            let (outbox, reader) = Outbox::on(queue_limit, Some(link));
            begun = Some(outbox);
            Box::new(Sending::new(Some(stream), reader, ToServer(PhantomData)))
        }));
        // What a connection sends that has ended nobody reads.
        Ok((begun.unwrap_or_else(|| Outbox::new(queue_limit).0), answer))
    }
}

/// Whatever keeps a connection from being made.
type Cause = Box<dyn std::error::Error + Send + Sync>;

fn slow(patience: Duration) -> String {
    format!("it took longer than {patience:?}")
}

fn failed(error: h2::Error) -> Status {
    http2::status(&error)
}

/// Whether a response is one of gRPC. One with a status is, whatever else its head says.
fn check(head: &mut http::response::Parts) -> Result<(), Status> {
    http2::without_unreadable_details(&mut head.headers);
    if head.headers.contains_key("grpc-status") {
        return Ok(());
    }
    if head.status != http::StatusCode::OK {
        return Err(of_http(head.status));
    }
    let kind = head.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let kind = kind.unwrap_or_default();
    if kind.starts_with(b"application/grpc") {
        return Ok(());
    }
    let kind = kind.escape_ascii();
    let said = format!("The server answered with content of type \"{kind}\", which is not gRPC.");
    Err(Status::unknown(said))
}

/// The code that an HTTP status stands for ("HTTP to gRPC Status Code Mapping" of gRPC).
fn of_http(status: http::StatusCode) -> Status {
    let said = format!("The server answered with HTTP status {status}.");
    match status.as_u16() {
        400 => Status::internal(said),
        401 => Status::unauthenticated(said),
        403 => Status::permission_denied(said),
        404 => Status::unimplemented(said),
        429 | 502..=504 => Status::unavailable(said),
        _ => Status::unknown(said),
    }
}

/// An address as a URI; `None` if it is not `host:port`.
fn origin(address: &str, tls: bool) -> Option<Uri> {
    let bare = SCHEMES.iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address);
    let scheme = SCHEMES[usize::from(tls)];
    let uri: Uri = format!("{scheme}{bare}").parse().ok()?;
    (uri.port_u16().is_some() && uri.host().is_some_and(|host| !host.is_empty())).then_some(uri)
}

/// The host as the system resolves it: addresses of IPv6 are in brackets only in URIs.
fn host(origin: &Uri) -> &str {
    origin.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

async fn handshake<T>(
    socket: T,
    gate: Arc<Gate>,
    origin: Uri,
    response_limit: usize,
) -> Result<Line, Cause>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (http2, connection) = h2::client::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME)
        .max_header_list_size(HEADER_LIST)
        .data_frame_budget(FRAME_BUDGET)
        .max_local_error_reset_streams(None)
        .enable_push(false)
        .handshake(socket)
        .await?;
    let shared = Shared::new(Dialled(connection), gate, None);
    let streams: Arc<dyn Streams> = Arc::new(Arc::downgrade(&shared));
    tokio::spawn(poll_fn(move |context| shared.poll(context, || false)));
    Ok(Line { http2, streams, origin, response_limit })
}

/// Begins calls.
trait Streams: Send + Sync {
    /// Adds the call that `make` makes, unless the connection has ended.
    fn begin(&self, make: Box<dyn FnOnce(Link) -> Box<dyn Call> + '_>);

    /// Whether there is a connection to begin them on.
    fn are_open(&self) -> bool;
}

impl<T> Streams for Weak<Shared<Dialled<T>>>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    fn begin(&self, make: Box<dyn FnOnce(Link) -> Box<dyn Call> + '_>) {
        if let Some(shared) = self.upgrade() {
            shared.with(|_, calls| calls.begin(make));
        }
    }

    fn are_open(&self) -> bool {
        self.strong_count() > 0
    }
}

struct Dialled<T: AsyncRead + AsyncWrite + Unpin>(h2::client::Connection<T, Bytes>);

impl<T> Connection for Dialled<T>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Call = Box<dyn Call>;

    fn poll(&mut self, _calls: &mut Calls<Self::Call>, context: &mut Context<'_>) -> Poll<()> {
        // Its calls hear of errors too.
        Pin::new(&mut self.0).poll(context).map(drop)
    }
}

/// What a stream receives is read by whoever waits for it.
impl<M: Message + Unpin + 'static> Call for Sending<ToServer<M>> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        Sending::poll(self, context)
    }

    fn poll_sending(&mut self, context: &mut Context<'_>) -> Poll<()> {
        Sending::poll(self, context)
    }
}

/// Writes requests; a client cannot send a status.
struct ToServer<M>(PhantomData<M>);

impl<M: Message + Unpin> Encode for ToServer<M> {
    type Item = M;

    fn encode(&mut self, item: M, buffer: &mut BytesMut) {
        http2::put(&item, buffer);
    }

    fn end(&mut self, stream: &mut SendStream<Bytes>, _status: Status) -> Result<(), h2::Error> {
        stream.send_data(Bytes::new(), true)
    }
}

/// Unary calls, as the clients make them that tonic generates.
impl Service<http::Request<Body>> for Line {
    type Response = http::Response<ReceivedBody>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Status>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.http2.poll_ready(context).map_err(failed)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        head.headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        let sent = self.http2.send_request(http::Request::from_parts(head, ()), false);
        let limit = self.response_limit;
        Box::pin(async move {
            let (response, stream) = sent.map_err(failed)?;
            let mut response = pin!(response);
            let mut sending: Option<SendingBody> =
                Some(Box::pin(send_body(stream, body, Held::default(), |_| ())));
            let response = poll_fn(|context| {
                if let Some(body) = &mut sending
                    && body.as_mut().poll(context).is_ready()
                {
                    sending = None;
                }
                response.as_mut().poll(context)
            });
            let (mut head, stream) = response.await.map_err(failed)?.into_parts();
            check(&mut head)?;
            // A server may answer before it has read everything, or begin to.
            let body = ReceivedBody::new(stream, limit).while_sending(sending);
            Ok(http::Response::from_parts(head, body))
        })
    }
}
