//! Tests of this crate's client with servers that behave differently from this crate's server. They
//! use h2 directly, or only bytes.

use bytes::{BufMut, Bytes, BytesMut};
use h2::{RecvStream, SendStream, server::SendResponse};
use p4runtime::{
    arbitration::ElectionId,
    client::{ArbitrationFailure, Client, ClientOptions, StreamReceiver, StreamSender, WriteError},
    proto::v1::{self, write_request::Atomicity},
};
use prost::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tonic::{
    Code,
    codegen::http::{HeaderMap, HeaderValue, Request, Response},
};

use crate::support::{TIMEOUT, host, soon};

type Call = (Request<RecvStream>, SendResponse<Bytes>);

/// Starts a server for one connection, with a function that answers each call. Calls that `answer`
/// leaves open stay open until the connection ends.
async fn serve<T: Send + 'static>(
    mut answer: impl FnMut(Call) -> T + Send + 'static,
) -> (Client, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let serving = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.expect("accepted");
        let mut http2 = h2::server::handshake(socket).await.expect("HTTP/2");
        let mut open = Vec::new();
        while let Some(asked) = http2.accept().await {
            open.push(answer(asked.expect("a call")));
        }
    });
    let client = Client::connect(&address, 1, &ClientOptions::default()).await.expect("connected");
    (client, serving)
}

fn grpc() -> Response<()> {
    let head = Response::builder().header("content-type", "application/grpc");
    head.body(()).expect("a response")
}

fn framed(message: &impl Message) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(message.encoded_len() as u32);
    message.encode_raw(&mut bytes);
    bytes.freeze()
}

fn status(code: &'static str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static(code));
    trailers
}

/// Answers a stream so that its client becomes the primary.
fn primary(respond: &mut SendResponse<Bytes>) -> SendStream<Bytes> {
    let update = v1::MasterArbitrationUpdate { device_id: 1, ..Default::default() };
    let update = v1::stream_message_response::Update::Arbitration(update);
    let mut stream = respond.send_response(grpc(), false).expect("sent");
    let message = v1::StreamMessageResponse { update: Some(update) };
    stream.send_data(framed(&message), false).expect("sent");
    stream
}

fn packet(number: u32) -> Bytes {
    let payload = Bytes::copy_from_slice(&number.to_be_bytes());
    let packet = v1::PacketIn { payload, metadata: Vec::new() };
    let update = v1::stream_message_response::Update::Packet(packet);
    framed(&v1::StreamMessageResponse { update: Some(update) })
}

async fn stream(client: &mut Client) -> (StreamSender, StreamReceiver) {
    soon(client.become_primary("", ElectionId(1), TIMEOUT)).await.expect("primary")
}

#[tokio::test]
async fn the_end_of_a_stream_follows_its_messages_and_remains() {
    for (code, expected) in [("0", Code::Ok), ("14", Code::Unavailable)] {
        let (mut client, _serving) = serve(move |(_, mut respond)| {
            let mut stream = primary(&mut respond);
            (0..3).for_each(|number| stream.send_data(packet(number), false).expect("sent"));
            stream.send_trailers(status(code)).expect("sent");
            // The request is dropped, which resets the stream as other servers do too.
        })
        .await;
        let (_sender, mut receiver) = stream(&mut client).await;
        let mut messages = Vec::new();
        while messages.len() < 3 {
            let taken = soon(receiver.next_batch(&mut messages, 100)).await.expect("messages");
            assert!(taken > 0);
        }
        for _ in 0..3 {
            let end = soon(receiver.next_batch(&mut messages, 100)).await;
            assert_eq!(end.map_or_else(|status| status.code(), |_| Code::Ok), expected);
        }
        assert_eq!(messages.len(), 3);
    }
}

#[tokio::test]
async fn packet_ins_in_frames_of_their_own_may_wait() {
    const COUNT: u32 = 60_000;
    let (mut client, _serving) = serve(|(request, mut respond)| {
        let mut stream = primary(&mut respond);
        stream.reserve_capacity(COUNT as usize * packet(0).len());
        for number in 0..COUNT {
            stream.send_data(packet(number), false).expect("sent");
        }
        (request, stream)
    })
    .await;
    let (_sender, mut receiver) = stream(&mut client).await;
    // The reading task is busy until everything that fits the window has arrived.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let mut messages = Vec::new();
    while messages.len() < COUNT as usize {
        soon(receiver.next_batch(&mut messages, 1000)).await.expect("open");
    }
}

#[tokio::test]
async fn errors_describe_responses_other_than_grpc() {
    let page = |status: u16, kind: &'static str| {
        move |(_, mut respond): Call| {
            let head = Response::builder().status(status).header("content-type", kind);
            let head = head.body(()).expect("a response");
            let mut stream = respond.send_response(head, false).expect("sent");
            stream.send_data(Bytes::from_static(b"<html>Hello</html>"), true).expect("sent");
        }
    };
    for (http, kind, code, named) in [
        (200, "text/html", Code::Unknown, "text/html"),
        (503, "text/html", Code::Unavailable, "503"),
        (502, "application/grpc", Code::Unavailable, "502"),
        (404, "text/plain", Code::Unimplemented, "404"),
        (401, "text/plain", Code::Unauthenticated, "401"),
        (302, "text/plain", Code::Unknown, "302"),
    ] {
        let (mut client, _serving) = serve(page(http, kind)).await;
        let refused = soon(client.capabilities()).await.expect_err("no gRPC");
        assert_eq!(refused.code(), code, "{http} {kind}");
        assert!(refused.message().contains(named), "{refused:?}");
        let refused = soon(client.become_primary("", ElectionId(1), TIMEOUT)).await;
        let Err(ArbitrationFailure::Refused(refused)) = refused else { panic!("{refused:?}") };
        assert_eq!(refused.code(), code, "{http} {kind}");
        assert!(refused.message().contains(named), "{refused:?}");
    }
}

#[tokio::test]
async fn details_that_cannot_be_read_are_none() {
    let (mut client, _serving) = serve(|(_, mut respond)| {
        let mut head = grpc();
        head.headers_mut().extend(status("2"));
        head.headers_mut().insert("grpc-status-details-bin", HeaderValue::from_static("!*"));
        respond.send_response(head, true).expect("sent");
    })
    .await;
    let outcome = soon(client.write(vec![host(1)], Atomicity::ContinueOnError)).await;
    let Err(WriteError::Rpc(refused)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(refused.code(), Code::Unknown);
    let refused = soon(client.become_primary("", ElectionId(1), TIMEOUT)).await;
    assert!(matches!(refused, Err(ArbitrationFailure::Refused(_))), "{refused:?}");
}

#[tokio::test]
async fn a_stream_that_ends_at_once_with_ok_is_unavailable() {
    let (mut client, _serving) = serve(|(_, mut respond)| {
        let mut head = grpc();
        head.headers_mut().extend(status("0"));
        respond.send_response(head, true).expect("sent");
    })
    .await;
    let refused = soon(client.become_primary("", ElectionId(1), TIMEOUT)).await;
    let Err(ArbitrationFailure::Refused(refused)) = refused else { panic!("{refused:?}") };
    assert_eq!(refused.code(), Code::Unavailable);
}

#[tokio::test]
async fn a_request_is_sent_completely_although_the_response_has_begun() {
    let (mut client, _serving) = serve(|(request, mut respond)| {
        let agent = request.headers()["user-agent"].to_str().expect("text");
        assert!(agent.starts_with("grpc-rust-planimeter/"), "{agent}");
        assert_eq!(request.headers()["te"], "trailers");
        let mut answer = respond.send_response(grpc(), false).expect("sent");
        tokio::spawn(async move {
            let mut body = request.into_body();
            let mut length = 0;
            // The window is HTTP/2's default of 65,535 bytes.
            while let Some(data) = body.data().await {
                let data = data.expect("data");
                length += data.len();
                body.flow_control().release_capacity(data.len()).expect("released");
            }
            assert!(length > 1 << 20, "{length}");
            answer.send_data(framed(&v1::WriteResponse {}), false).expect("sent");
            answer.send_trailers(status("0")).expect("sent");
        })
    })
    .await;
    let updates = (0..40_000).map(host).collect();
    soon(client.write(updates, Atomicity::ContinueOnError)).await.expect("written");
}

/// Returns an HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Returns a header in HPACK, encoded without any table.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0, name.len() as u8];
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(value.len() as u8);
    bytes.extend_from_slice(value.as_bytes());
    bytes
}

/// Returns a payload followed by this amount of padding.
fn padded(payload: &[u8], padding: u8) -> Vec<u8> {
    let mut bytes = vec![padding];
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len() + usize::from(padding), 0);
    bytes
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// Answers the first call with padding wherever it is allowed, headers that are split into several
/// frames, and unknown frames in between.
async fn pad(mut socket: TcpStream) {
    socket.write_all(&frame(SETTINGS, 0, 0, &[])).await.expect("written");
    let (mut preface, mut head) = ([0; 24], [0; 9]);
    socket.read_exact(&mut preface).await.expect("a preface");
    loop {
        socket.read_exact(&mut head).await.expect("a frame");
        let [_, a, b, kind, flags, ..] = head;
        let mut payload = vec![0; usize::from(u16::from_be_bytes([a, b]))];
        socket.read_exact(&mut payload).await.expect("its payload");
        if kind == DATA && flags & END_STREAM != 0 {
            break;
        }
    }
    let mut bytes = frame(SETTINGS, 1, 0, &[]);
    // `:status: 200` is entry 8 of the static table.
    let mut headers = vec![0x88];
    headers.extend(literal("content-type", "application/grpc"));
    bytes.extend(frame(HEADERS, PADDED, 1, &padded(&headers[..5], 200)));
    bytes.extend(frame(CONTINUATION, 0, 1, &headers[5..9]));
    bytes.extend(frame(CONTINUATION, END_HEADERS, 1, &headers[9..]));
    bytes.extend(frame(PING, 0, 0, &[7; 8]));
    bytes.extend(frame(0xbe, 0xff, 1, b"what is that"));
    let version = "1.5.0".repeat(100);
    let answer = v1::CapabilitiesResponse { p4runtime_api_version: version, ..Default::default() };
    let answer = framed(&answer);
    for (number, byte) in answer.iter().enumerate() {
        bytes.extend(frame(DATA, PADDED, 1, &padded(&[*byte], (number % 256) as u8)));
    }
    let trailers = literal("grpc-status", "0");
    bytes.extend(frame(HEADERS, PADDED | END_STREAM, 1, &padded(&[], 255)));
    bytes.extend(frame(CONTINUATION, END_HEADERS, 1, &trailers));
    socket.write_all(&bytes).await.expect("written");
    // The answer to the ping is the last frame that the client sends.
    let mut received = Vec::new();
    while !received.ends_with(&frame(PING, 1, 0, &[7; 8])) {
        received.push(socket.read_u8().await.expect("more"));
    }
}

#[tokio::test]
async fn padding_continuations_and_unknown_frames_are_accepted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let serving = tokio::spawn(async move { pad(listener.accept().await.expect("one").0).await });
    let mut client =
        Client::connect(&address, 1, &ClientOptions::default()).await.expect("connected");
    let version = soon(client.capabilities()).await.expect("an answer");
    assert_eq!(version, "1.5.0".repeat(100));
    soon(serving).await.expect("no panic");
}
