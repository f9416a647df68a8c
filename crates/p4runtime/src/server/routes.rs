//! Which service a request is for, by the path of its URI.

use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use tonic::{
    Status,
    body::Body,
    codegen::{BoxFuture, Service as Tower, http},
};

use super::service::Service;
use crate::{gnmi::GnmiServer, proto::v1::p4_runtime_server::P4RuntimeServer};

/// The services of a server.
#[derive(Clone)]
pub(super) struct Routes {
    pub(super) p4runtime: P4RuntimeServer<Service>,
    pub(super) gnmi: GnmiServer,
}

impl Tower<http::Request<Body>> for Routes {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        match request.uri().path().trim_start_matches('/').split('/').next() {
            Some("p4.v1.P4Runtime") => self.p4runtime.call(request),
            Some("gnmi.gNMI") => self.gnmi.call(request),
            _ => Box::pin(async { Ok(Status::unimplemented("No such service.").into_http()) }),
        }
    }
}
