//! The dispatch of requests to services by the path of their URI.

use std::convert::Infallible;

use bytes::Bytes;
use grpc::{Link, server::Services};
use h2::{RecvStream, server::SendResponse};
use tonic::{
    Status,
    body::Body,
    codegen::{BoxFuture, Service as _, http},
};

use super::{channel::Channel, service::Service};
use crate::{
    STREAM_CHANNEL,
    control::{ControlServer, SERVICE as CONTROL},
    gnmi::GnmiServer,
    status,
};

/// The services of a server.
#[derive(Clone)]
pub(super) struct Routes {
    pub(super) p4runtime: Service,
    pub(super) gnmi: GnmiServer,
    pub(super) control: ControlServer,
}

impl Services for Routes {
    type Channel = Channel;

    fn is_channel(&self, path: &str) -> bool {
        path == STREAM_CHANNEL
    }

    fn open(&self, requests: RecvStream, respond: SendResponse<Bytes>, link: Link) -> Channel {
        self.p4runtime.stream_channel(requests, respond, link)
    }

    fn call(
        &mut self,
        request: http::Request<Body>,
    ) -> BoxFuture<http::Response<Body>, Infallible> {
        let path = request.uri().path().to_owned();
        match path.trim_start_matches('/').split_once('/') {
            Some(("p4.v1.P4Runtime", method)) => self.p4runtime.call(method, request),
            Some(("gnmi.gNMI", _)) => self.gnmi.call(request),
            Some((CONTROL, method)) => self.control.call(method, request),
            _ => Box::pin(async {
                Ok(Status::unimplemented("This server has no such service.").into_http())
            }),
        }
    }

    fn shorter_details(details: &[u8]) -> Bytes {
        status::shorter_details(details)
    }
}
