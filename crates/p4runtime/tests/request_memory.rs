//! Checks that a request whose elements would take a multiple of its size in memory is refused over
//! gRPC before it is decoded. The test runs in a process of its own, because it measures memory.

#![cfg(target_os = "linux")]

use std::sync::Arc;

use bytes::{BufMut, Bytes};
use p4runtime::{
    server::{DeviceHandle, NoObserver, Server, ServerOptions},
    session::{Device, DeviceOptions, PipelineRegistry},
};
use prost::encoding::{WireType, encode_key, encode_varint};
use tokio::net::TcpListener;
use tonic::{
    Code, Request, Status,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    codegen::http::uri::PathAndQuery,
    transport::Channel,
};

/// A codec that sends bytes and ignores the response.
#[derive(Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, bytes: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(bytes);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        bytes::Buf::advance(buffer, bytes::Buf::remaining(buffer));
        Ok(Some(()))
    }
}

/// Starts a server and returns its address.
async fn serve() -> String {
    let registry = Arc::new(PipelineRegistry::new());
    let device = Device::new(1, DeviceOptions::default(), registry);
    let device = DeviceHandle::new(device, Arc::new(NoObserver));
    let server = Server::new([device], ServerOptions::default()).expect("one device");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(server.serve(listener, std::future::pending()));
    address.to_string()
}

/// Returns `length` bytes of empty elements of the nested field at `path`.
fn empties(path: &[u32], length: usize) -> Bytes {
    let (number, outer) = path.split_last().expect("a field");
    let mut element = Vec::new();
    encode_key(*number, WireType::LengthDelimited, &mut element);
    encode_varint(0, &mut element);
    let mut bytes = element.repeat(length / element.len());
    for number in outer.iter().rev() {
        let mut around = Vec::new();
        encode_key(*number, WireType::LengthDelimited, &mut around);
        encode_varint(bytes.len() as u64, &mut around);
        around.append(&mut bytes);
        bytes = around;
    }
    bytes.into()
}

/// Returns the largest resident memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

#[tokio::test]
async fn a_request_of_empty_elements_is_refused_before_it_takes_memory() {
    const LENGTH: usize = 8 << 20;

    let channel = Channel::from_shared(format!("http://{}", serve().await)).expect("an address");
    let mut client = Grpc::new(channel.connect().await.expect("connected"));
    let before = peak();
    for (method, field) in [
        ("Write", &[4][..]),
        ("Read", &[2]),
        ("SetForwardingPipelineConfig", &[5, 1, 2]),
        ("StreamChannel", &[2, 2]),
    ] {
        client.ready().await.expect("ready");
        let path = format!("/p4.v1.P4Runtime/{method}");
        let path = PathAndQuery::from_maybe_shared(path).expect("a path");
        // A single request serves for all four kinds of calls.
        let message = Request::new(empties(field, LENGTH));
        let Err(status) = client.unary(message, path, Raw).await else {
            panic!("{method} succeeded")
        };
        assert_eq!(status.code(), Code::ResourceExhausted, "{method}: {status:?}");
        assert!(status.message().contains("decoded it would take"), "{method}: {status:?}");
        let taken = peak() - before;
        assert!(taken < 128 << 10, "{method}: {taken} KiB for a request of {LENGTH} bytes");
    }
}
