//! Tests with HTTP/2 clients that behave differently from this crate's client. They use h2
//! directly, so that every frame is chosen by hand.

use bytes::{BufMut, Bytes, BytesMut};
use h2::{RecvStream, SendStream, client::SendRequest};
use p4runtime::{
    arbitration::ElectionId,
    proto::v1::{self, write_request::Atomicity},
    server::ServerOptions,
    status::batch_errors,
};
use prost::Message;
use tokio::net::TcpStream;
use tonic::{
    Code, Status,
    codegen::http::{Request, Response},
};

use crate::support::{Event, Served, host, soon};

const CAPABILITIES: &str = "/p4.v1.P4Runtime/Capabilities";
const CHANNEL: &str = "/p4.v1.P4Runtime/StreamChannel";

/// Opens a connection with the settings of `builder`.
async fn connect(served: &Served, builder: &h2::client::Builder) -> SendRequest<Bytes> {
    let socket = TcpStream::connect(&served.address).await.expect("connected");
    let (http2, connection) = builder.handshake(socket).await.expect("HTTP/2");
    tokio::spawn(connection);
    http2
}

fn post(path: &str) -> Request<()> {
    let uri = format!("http://localhost{path}");
    let request = Request::post(uri).header("te", "trailers");
    request.header("content-type", "application/grpc").body(()).expect("a request")
}

fn framed(message: &impl Message) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(message.encoded_len() as u32);
    message.encode_raw(&mut bytes);
    bytes.freeze()
}

fn arbitration() -> Bytes {
    let update = v1::MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(ElectionId(1).into()),
        ..Default::default()
    };
    let update = v1::stream_message_request::Update::Arbitration(update);
    framed(&v1::StreamMessageRequest { update: Some(update) })
}

/// Makes a call with the given body.
async fn call(http2: &SendRequest<Bytes>, request: Request<()>, body: Bytes) -> Response<Answer> {
    let mut http2 = http2.clone().ready().await.expect("the connection is open");
    let (response, mut stream) = http2.send_request(request, body.is_empty()).expect("sent");
    if !body.is_empty() {
        // The body fits the windows that the server opens.
        stream.send_data(body, true).expect("sent");
    }
    soon(answer(response)).await
}

/// The body of a response, with the status from its trailers or its head.
#[derive(Debug)]
struct Answer {
    body: Vec<u8>,
    status: Option<Status>,
}

async fn answer(response: h2::client::ResponseFuture) -> Response<Answer> {
    let (head, mut stream) = response.await.expect("an answer").into_parts();
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data.expect("data");
        stream.flow_control().release_capacity(data.len()).expect("released");
        body.extend_from_slice(&data);
    }
    let trailers = stream.trailers().await.expect("trailers");
    let status = trailers.as_ref().or(Some(&head.headers)).and_then(Status::from_header_map);
    Response::from_parts(head, Answer { body, status })
}

fn code(answer: &Response<Answer>) -> Option<Code> {
    answer.body().status.as_ref().map(Status::code)
}

/// Opens a stream and arbitrates on it.
async fn open(http2: &SendRequest<Bytes>) -> (SendStream<Bytes>, RecvStream) {
    let mut http2 = http2.clone().ready().await.expect("the connection is open");
    let (response, mut stream) = http2.send_request(post(CHANNEL), false).expect("sent");
    stream.send_data(arbitration(), false).expect("sent");
    let mut answers = soon(response).await.expect("an answer").into_body();
    soon(answers.data()).await.expect("a frame").expect("arbitrated");
    (stream, answers)
}

#[tokio::test]
async fn cancelled_calls_do_not_close_the_connection() {
    let served = Served::new(1, ServerOptions::default()).await;
    let http2 = connect(&served, &h2::client::Builder::new()).await;
    let (_stream, mut answers) = open(&http2).await;
    for _ in 0..5 {
        // Without an await in between, all of them have arrived when the server reads.
        for _ in 0..100 {
            let mut http2 = http2.clone();
            let (_, mut stream) = http2.send_request(post(CAPABILITIES), false).expect("sent");
            stream.send_reset(h2::Reason::CANCEL);
        }
        let answer = call(&http2, post(CAPABILITIES), framed(&v1::CapabilitiesRequest::default()));
        assert_eq!(code(&answer.await), Some(Code::Ok));
    }
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(answers.poll_data(&mut context).is_pending());
    assert!(!served.log.events().contains(&Event::StreamClosed));
}

#[tokio::test]
async fn packet_outs_in_frames_of_their_own_may_come_all_at_once() {
    const COUNT: usize = 60_000;
    let served = Served::new(1, ServerOptions::default()).await;
    let (client, _sender, _receiver) = served.primary().await;
    drop(client);
    let http2 = connect(&served, &h2::client::Builder::new()).await;
    let mut http2 = http2.ready().await.expect("the connection is open");
    let (response, mut stream) = http2.send_request(post(CHANNEL), false).expect("sent");
    let update = v1::MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(ElectionId(2).into()),
        ..Default::default()
    };
    let update = v1::stream_message_request::Update::Arbitration(update);
    let first = framed(&v1::StreamMessageRequest { update: Some(update) });
    let metadata = v1::PacketMetadata { metadata_id: 1, value: Bytes::from_static(&[5]) };
    let packet = v1::PacketOut { payload: Bytes::from_static(&[7; 20]), metadata: vec![metadata] };
    let update = v1::stream_message_request::Update::Packet(packet);
    let packet = framed(&v1::StreamMessageRequest { update: Some(update) });
    stream.send_data(first, false).expect("sent");
    let mut answers = soon(response).await.expect("an answer").into_body();
    soon(answers.data()).await.expect("a frame").expect("arbitrated");
    stream.reserve_capacity(COUNT * packet.len());
    for _ in 0..COUNT {
        stream.send_data(packet.clone(), false).expect("sent");
    }
    let arrived = |events: &[Event]| {
        let packets = events.iter().filter(|event| matches!(event, Event::PacketOut(_)));
        (packets.count() == COUNT).then_some(())
    };
    served.log.wait(arrived).await;
}

#[tokio::test]
async fn the_metadata_limit_of_a_client_is_observed() {
    let served = Served::new(1, ServerOptions::default()).await;
    let (mut client, _sender, _receiver) = served.primary().await;
    client.write((0..2000).map(host).collect(), Atomicity::ContinueOnError).await.expect("written");
    let request = |updates| v1::WriteRequest {
        device_id: 1,
        election_id: Some(ElectionId(1).into()),
        updates: (0..updates).map(host).collect(),
        ..Default::default()
    };
    for (limit, updates, errors) in
        [(8 << 10, 20, 20), (16 << 10, 200, 200), (8 << 10, 2000, 0), (1 << 20, 2000, 2000)]
    {
        let mut builder = h2::client::Builder::new();
        let http2 = connect(&served, builder.max_header_list_size(limit)).await;
        let body = framed(&request(updates));
        let answer = call(&http2, post("/p4.v1.P4Runtime/Write"), body).await;
        let status = answer.body().status.as_ref().expect("a status");
        assert_eq!(status.code(), Code::Unknown, "{limit} {updates} {status:?}");
        let expected = format!("{updates} of {updates} failed");
        assert!(status.message().starts_with(&expected), "{status:?}");
        let found = batch_errors(status);
        assert_eq!(found.len(), errors, "{limit} {updates}");
        assert!(found.iter().all(|one| one.canonical_code == Code::AlreadyExists as i32));
    }
}

#[tokio::test]
async fn a_request_with_too_much_metadata_is_refused_alone() {
    let served = Served::new(1, ServerOptions::default()).await;
    let http2 = connect(&served, &h2::client::Builder::new()).await;
    for (length, expected) in [(15 << 10, 200), (17 << 10, 431), (1 << 10, 200)] {
        let mut request = post(CAPABILITIES);
        request.headers_mut().insert("x-large", "a".repeat(length).parse().expect("a header"));
        let body = framed(&v1::CapabilitiesRequest::default());
        let answer = call(&http2, request, body).await;
        assert_eq!(answer.status().as_u16(), expected, "{length}");
    }
}

#[tokio::test]
async fn calls_end_at_their_deadline() {
    let served = Served::new(1, ServerOptions::default()).await;
    let mut http2 = connect(&served, &h2::client::Builder::new()).await;
    let timed = |path| {
        let mut request = post(path);
        request.headers_mut().insert("grpc-timeout", "50m".parse().expect("a header"));
        request
    };
    let (response, mut stream) = http2.send_request(timed(CHANNEL), false).expect("sent");
    stream.send_data(arbitration(), false).expect("sent");
    let ended = soon(answer(response)).await;
    assert_eq!(code(&ended), Some(Code::DeadlineExceeded));
    assert!(!ended.body().body.is_empty());
    served.log.wait_for(Event::StreamClosed).await;
    // The request never ends.
    let mut http2 = http2.ready().await.expect("the connection is open");
    let (response, _stream) = http2.send_request(timed(CAPABILITIES), false).expect("sent");
    let ended = soon(response).await.expect_err("reset");
    assert_eq!(ended.reason(), Some(h2::Reason::CANCEL));
}

#[tokio::test]
async fn requests_other_than_grpc_are_refused_with_http_statuses() {
    let served = Served::new(1, ServerOptions::default()).await;
    let http2 = connect(&served, &h2::client::Builder::new()).await;
    let body = || framed(&v1::CapabilitiesRequest::default());
    for path in [CAPABILITIES, CHANNEL] {
        for (kind, expected) in [
            (Some("application/json"), 415),
            (Some("application/grpc-web+proto"), 415),
            (None, 415),
            (Some("application/grpc"), 200),
            (Some("application/grpc+proto"), 200),
            (Some("application/grpc;charset=utf-8"), 200),
        ] {
            let mut request = post(path);
            request.headers_mut().remove("content-type");
            if let Some(kind) = kind {
                request.headers_mut().insert("content-type", kind.parse().expect("a header"));
            }
            let answer = call(&http2, request, body()).await;
            assert_eq!(answer.status().as_u16(), expected, "{path} {kind:?}");
            assert_eq!(code(&answer).is_some(), expected == 200, "{path} {kind:?}");
        }
        let mut request = post(path);
        *request.method_mut() = "PUT".parse().expect("a method");
        let answer = call(&http2, request, body()).await;
        assert_eq!(answer.status().as_u16(), 405);
        assert_eq!(answer.headers()["allow"], "POST");
    }
}

#[tokio::test]
async fn compression_is_refused_as_grpc_specifies() {
    let served = Served::new(1, ServerOptions::default()).await;
    let http2 = connect(&served, &h2::client::Builder::new()).await;
    let compressed = Bytes::from_static(&[1, 0, 0, 0, 1, 7]);
    for path in [CAPABILITIES, CHANNEL] {
        let mut request = post(path);
        request.headers_mut().insert("grpc-encoding", "gzip".parse().expect("a header"));
        let answer = call(&http2, request, compressed.clone()).await;
        assert_eq!(code(&answer), Some(Code::Unimplemented), "{path}");
        assert_eq!(answer.headers()["grpc-accept-encoding"], "identity", "{path}");
        for encoding in [None, Some("identity")] {
            let mut request = post(path);
            if let Some(encoding) = encoding {
                request.headers_mut().insert("grpc-encoding", encoding.parse().expect("a header"));
            }
            let answer = call(&http2, request, compressed.clone()).await;
            assert_eq!(code(&answer), Some(Code::Internal), "{path} {encoding:?}");
        }
    }
}

#[tokio::test]
async fn messages_beyond_the_limit_exhaust_a_resource() {
    let options = ServerOptions { request_limit: 1000, ..ServerOptions::default() };
    let served = Served::new(1, options).await;
    let http2 = connect(&served, &h2::client::Builder::new()).await;
    for path in [CAPABILITIES, "/p4.v1.P4Runtime/Read", "/p4.v1.P4Runtime/Write", CHANNEL] {
        for length in [1001, 1 << 20] {
            let mut body = BytesMut::new();
            body.put_u8(0);
            body.put_u32(length);
            body.put_bytes(0, length as usize);
            let answer = call(&http2, post(path), body.freeze()).await;
            assert_eq!(code(&answer), Some(Code::ResourceExhausted), "{path} {length}");
            let expected = format!("The message has {length} bytes; 1000 are allowed.");
            assert_eq!(answer.body().status.as_ref().map(Status::message), Some(&*expected));
        }
    }
    let answer = call(&http2, post(CAPABILITIES), framed(&v1::CapabilitiesRequest::default()));
    let answer = answer.await;
    assert_eq!(code(&answer), Some(Code::Ok));
    let version = v1::CapabilitiesResponse::decode(&answer.body().body[5..]).expect("decoded");
    assert_eq!(version.p4runtime_api_version, "1.5.0");
}
