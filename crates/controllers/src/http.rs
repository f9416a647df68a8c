//! A small HTTP server for the REST interfaces of controllers. It reads a request with its whole
//! body before it calls the function that computes the response.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use grpc::LimitedConnections;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, server::conn::http1, service};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;

/// The maximum time that a client may take to send the headers of its request, and then its body.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The pause before the server tries again to accept a connection, when the system has no file
/// descriptor left.
const PAUSE: Duration = Duration::from_millis(50);

/// An HTTP request with its whole body.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The value of the header `Authorization`, if the request has it.
    pub(crate) authorization: Option<String>,
    pub(crate) body: Bytes,
}

/// The response to an HTTP request.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    /// A response whose body is a JSON document.
    Json(StatusCode, Value),
    /// A response whose body is a line of text, or empty.
    Text(StatusCode, String),
}

/// An HTTP server with a bound listener.
#[derive(Debug)]
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    /// The largest accepted body of a request in bytes.
    longest: usize,
}

impl Server {
    /// Binds the listener, so that clients can connect. Their requests are answered once
    /// [`Server::accept`] runs.
    pub(crate) fn bind(address: SocketAddr, longest: usize) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { address: listener.local_addr()?, listener, longest })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers clients forever, in tasks of the current runtime. The number of concurrent
    /// connections is limited, and the oldest one is closed for a new one.
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
        let mut connections = LimitedConnections::default();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // No file descriptor was free. Some will be free when other connections are closed.
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            // The request and the response are small segments, and the next request waits for the
            // response.
            let _ = stream.set_nodelay(true);
            let answer = Arc::clone(&answer);
            let answer = service::service_fn(move |request: Request<Incoming>| {
                let answer = Arc::clone(&answer);
                async move {
                    Ok::<_, Infallible>(respond(match read(request, longest, TIMEOUT).await {
                        Ok(request) => answer(request),
                        Err(refused) => refused,
                    }))
                }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(TIMEOUT);
            let connection = http.serve_connection(TokioIo::new(stream), answer);
            connections.serve(async move {
                // If a client disconnects early, its error is ignored.
                let _ = connection.await;
            });
        }
    }
}

/// Reads the body of a request. Returns an error response if the body has more than `longest` bytes
/// or takes longer than `patience`.
async fn read<B>(
    request: Request<B>,
    longest: usize,
    patience: Duration,
) -> Result<HttpRequest, Answer>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (parts, body) = request.into_parts();
    let whole = tokio::time::timeout(patience, Limited::new(body, longest).collect()).await;
    let Ok(body) = whole else {
        let text = format!("the body did not arrive within {patience:?}");
        return Err(Answer::Text(StatusCode::REQUEST_TIMEOUT, text));
    };
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

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::body::Frame;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    /// A request body that never arrives, for tests of the timeout.
    struct Silent;

    impl Body for Silent {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }

    /// Tests that clients which connect and stay silent do not keep others from being answered, and
    /// that the oldest of them are closed.
    #[test]
    fn silent_connections_give_way() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), 8).unwrap();
        let asking = async {
            let connect = || TcpStream::connect(server.address());
            let mut silent = Vec::new();
            for _ in 0..100 {
                silent.push(connect().await.unwrap());
            }
            let mut client = connect().await.unwrap();
            let request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
            client.write_all(request).await.unwrap();
            let mut response = String::new();
            client.read_to_string(&mut response).await.unwrap();
            assert!(response.ends_with("an answer"), "{response}");
            // Without a limit, a connection is closed when its header does not arrive in time.
            let wait = TIMEOUT / 2;
            let closed = tokio::time::timeout(wait, silent[0].read(&mut [0])).await;
            assert_eq!(closed.expect("the oldest connection is closed").unwrap(), 0);
            let open = tokio::time::timeout(wait / 50, silent[99].read(&mut [0])).await;
            open.expect_err("the newest silent connection is open");
        };
        runtime.block_on(async {
            let answer = |_| Answer::Text(StatusCode::OK, "an answer".to_owned());
            tokio::select! {
                failed = server.accept(answer) => panic!("{failed:?}"),
                () = asking => {}
            }
        });
    }

    #[test]
    fn a_body_that_does_not_arrive_is_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let patience = Duration::from_millis(1);
        let refused = runtime.block_on(read(Request::new(Silent), 8, patience)).unwrap_err();
        let text = "the body did not arrive within 1ms".to_owned();
        assert_eq!(refused, Answer::Text(StatusCode::REQUEST_TIMEOUT, text));
        let body = Full::new(Bytes::from_static(b"12345678"));
        let request = runtime.block_on(read(Request::new(body), 8, TIMEOUT)).unwrap();
        assert_eq!(request.body, b"12345678"[..]);
        let body = Full::new(Bytes::from_static(b"123456789"));
        let refused = runtime.block_on(read(Request::new(body), 8, TIMEOUT)).unwrap_err();
        assert!(matches!(refused, Answer::Text(StatusCode::BAD_REQUEST, _)), "{refused:?}");
    }
}
