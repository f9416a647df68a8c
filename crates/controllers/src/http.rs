//! A small HTTP server for controllers: a request is received with its whole body, and its answer
//! is computed without waiting.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, body::Incoming, server::conn::http1, service};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;

/// The maximum time that a client may take to send the headers of its request.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause before the server tries again to accept a connection, after the system has refused it
/// for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// A request with its whole body.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The value of the header `Authorization`, if the request has it.
    pub(crate) authorization: Option<String>,
    pub(crate) body: Bytes,
}

/// The response to a request.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    /// A JSON document.
    Json(StatusCode, Value),
    /// A line of text, or empty text.
    Text(StatusCode, String),
}

/// A server that clients connect to.
#[derive(Debug)]
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    /// The largest accepted body of a request in bytes.
    longest: usize,
}

impl Server {
    /// Binds the listener, so that clients can connect. They are answered once [`Server::accept`]
    /// runs.
    pub(crate) fn bind(address: SocketAddr, longest: usize) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { address: listener.local_addr()?, listener, longest })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers clients forever, in tasks of the current runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime cannot watch the listener.
    pub(crate) async fn accept(
        &self,
        answer: impl Fn(HttpRequest) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Infallible> {
        let listener = tokio::net::TcpListener::from_std(self.listener.try_clone()?)?;
        let answer = Arc::new(answer);
        let longest = self.longest;
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // File descriptors ran out; other connections will be closed.
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            // Request and response are a small segment each, and the next request waits for the
            // response.
            let _ = stream.set_nodelay(true);
            let answer = Arc::clone(&answer);
            let answer = service::service_fn(move |request: Request<Incoming>| {
                let answer = Arc::clone(&answer);
                async move {
                    Ok::<_, Infallible>(respond(match read(request, longest).await {
                        Ok(request) => answer(request),
                        Err(refused) => refused,
                    }))
                }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            let connection = http.serve_connection(TokioIo::new(stream), answer);
            tokio::spawn(async move {
                // A client that disconnects early does not matter.
                let _ = connection.await;
            });
        }
    }
}

async fn read(request: Request<Incoming>, longest: usize) -> Result<HttpRequest, Answer> {
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, longest).collect().await;
    let body =
        body.map_err(|error| Answer::Text(StatusCode::BAD_REQUEST, error.to_string()))?.to_bytes();
    let authorization = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    Ok(HttpRequest {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        authorization: authorization.map(str::to_owned),
        body,
    })
}

fn respond(answer: Answer) -> Response<Full<Bytes>> {
    let (status, kind, body) = match answer {
        Answer::Json(status, value) => (status, "application/json", value.to_string()),
        Answer::Text(status, text) => (status, "text/plain", text),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
