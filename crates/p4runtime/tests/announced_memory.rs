//! Checks the memory that a client can make the server allocate by announcing a message that it
//! does not send. The test runs in a process of its own, because it measures the address space.

#![cfg(target_os = "linux")]

use std::sync::Arc;

use bytes::Bytes;
use h2::{
    SendStream,
    client::{ResponseFuture, SendRequest},
};
use p4runtime::{
    server::{DeviceHandle, NoObserver, Server, ServerOptions},
    session::{Device, DeviceOptions, PipelineRegistry},
};
use tokio::net::{TcpListener, TcpStream};
use tonic::codegen::http::Request;

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

/// Returns the largest address space that this process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmPeak:")).expect("a peak");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

async fn begin(
    http2: &SendRequest<Bytes>,
    method: &str,
    body: Vec<u8>,
    is_whole: bool,
) -> (ResponseFuture, SendStream<Bytes>) {
    let mut http2 = http2.clone().ready().await.expect("ready");
    let request = Request::post(format!("http://localhost/p4.v1.P4Runtime/{method}"));
    let request = request.header("content-type", "application/grpc").body(()).expect("a call");
    let (response, mut stream) = http2.send_request(request, false).expect("sent");
    stream.send_data(body.into(), is_whole).expect("sent");
    (response, stream)
}

/// tonic would reserve the announced length of a message. Such memory is never touched, so only the
/// size of the address space shows it.
#[tokio::test]
async fn an_announced_length_takes_no_memory() {
    const CALLS: u64 = 40;
    const ANNOUNCED: u32 = 60 << 20;

    let socket = TcpStream::connect(serve().await).await.expect("connected");
    let (http2, connection) = h2::client::handshake(socket).await.expect("HTTP/2");
    tokio::spawn(connection);
    // The first call may allocate memory for other reasons.
    let (response, _) = begin(&http2, "Capabilities", vec![0; 5], true).await;
    response.await.expect("an answer");
    let before = peak();
    let mut open = Vec::new();
    for _ in 0..CALLS {
        let begun = [&[0][..], &ANNOUNCED.to_be_bytes(), &[7]].concat();
        open.push(begin(&http2, "Write", begun, false).await);
    }
    // A later call that is answered shows that the server has handled all calls before it.
    let (response, _) = begin(&http2, "Capabilities", vec![0; 5], true).await;
    response.await.expect("an answer");
    let taken = peak() - before;
    assert!(taken < CALLS * 1024, "{taken} KiB for {CALLS} calls that announced {ANNOUNCED} bytes");
}
