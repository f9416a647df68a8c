//! Which service a request is for, by the path of its URI.

use std::convert::Infallible;

use tonic::{
    Status,
    body::Body,
    codegen::{BoxFuture, Service as _, http},
};

use super::service::Service;
use crate::{gnmi::GnmiServer, http2::STREAM_CHANNEL};

/// Whether a request is one of gRPC at all; otherwise the answer in the terms of HTTP ("gRPC over
/// HTTP2", Requests).
pub(super) fn is_grpc<T>(request: &http::Request<T>) -> Result<(), http::Response<()>> {
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

/// The services of a server.
#[derive(Clone)]
pub(super) struct Routes {
    pub(super) p4runtime: Service,
    pub(super) gnmi: GnmiServer,
}

impl Routes {
    /// Whether a request opens a `StreamChannel`. One whose messages are compressed goes the
    /// other way, where it is refused as any other.
    pub(super) fn is_stream_channel<T>(&self, request: &http::Request<T>) -> bool {
        let encoding = request.headers().get("grpc-encoding");
        request.uri().path() == STREAM_CHANNEL && encoding.is_none_or(|name| name == "identity")
    }

    /// Serves any other RPC.
    pub(super) fn call(
        &mut self,
        request: http::Request<Body>,
    ) -> BoxFuture<http::Response<Body>, Infallible> {
        let path = request.uri().path().to_owned();
        match path.trim_start_matches('/').split_once('/') {
            Some(("p4.v1.P4Runtime", method)) => self.p4runtime.call(method, request),
            Some(("gnmi.gNMI", _)) => self.gnmi.call(request),
            _ => Box::pin(async { Ok(Status::unimplemented("No such service.").into_http()) }),
        }
    }
}
