//! Tests of clients that leave, send nothing or send nonsense, and of servers that shut down.

use p4runtime::{
    arbitration::ElectionId,
    client::{ArbitrationFailure, Client, ClientOptions, ConnectError, Standing},
    proto::v1,
    server::ServerOptions,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tonic::Code;

use crate::support::{Event, Served, TIMEOUT, soon};

#[tokio::test]
async fn a_missing_server_is_reported_with_its_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    drop(listener);
    let error = soon(Client::connect(&address, 1, &ClientOptions::default())).await;
    let error = error.expect_err("nobody there");
    let text = error.to_string();
    assert!(text.contains(&address) && text.contains("refused"), "{text}");

    let error = soon(Client::connect("not an address", 1, &ClientOptions::default())).await;
    assert!(matches!(error, Err(ConnectError::Address { .. })), "{error:?}");
}

#[tokio::test]
async fn a_server_that_never_answers_causes_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let _silent = tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok(connection) = listener.accept().await {
            open.push(connection);
        }
    });
    let mut client =
        soon(Client::connect(&address, 1, &ClientOptions::default())).await.expect("connected");
    let patience = std::time::Duration::from_millis(50);
    let outcome = soon(client.become_primary("", ElectionId(1), patience)).await;
    assert!(matches!(outcome, Err(ArbitrationFailure::NoAnswer { .. })), "{outcome:?}");
}

#[tokio::test]
async fn a_controller_that_disappears_leaves_no_primary_behind() {
    let served = Served::new(1, ServerOptions::default()).await;
    let mut backup = served.client().await;
    let (_sender, mut receiver) = backup.open_stream("", None, None).await.expect("open");
    let first = soon(receiver.arbitrated()).await.expect("told");
    assert_eq!(first, Standing::NoPrimary { highest: None });

    // The client runs in its own runtime, which is dropped without closing the connection properly.
    let address = served.address.clone();
    let gone = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let mut client =
                Client::connect(&address, 1, &ClientOptions::default()).await.expect("connected");
            let stream = client.become_primary("", ElectionId(1), TIMEOUT).await;
            assert!(stream.is_ok());
            std::mem::forget((client, stream));
        });
    });
    let highest = Some(ElectionId(1));
    assert_eq!(soon(receiver.arbitrated()).await.expect("told"), Standing::Backup { highest });
    assert_eq!(soon(receiver.arbitrated()).await.expect("told"), Standing::NoPrimary { highest });
    served.log.wait_for(Event::StreamClosed).await;
    served.log.wait_for(Event::ConnectionClosed).await;
    gone.join().expect("no panic");
}

#[tokio::test]
async fn garbage_closes_its_connection_and_nothing_else() {
    let served = Served::new(1, ServerOptions::default()).await;
    let (mut client, _sender, _receiver) = served.primary().await;
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 4096], &[0xff; 100], b""] {
        let mut stream = TcpStream::connect(&served.address).await.expect("accepted");
        stream.write_all(garbage).await.expect("written");
        stream.shutdown().await.expect("half closed");
        let mut answer = Vec::new();
        // The connection may be reset or closed; both end it.
        let _ = soon(stream.read_to_end(&mut answer)).await;
    }
    let closed = |events: &[Event]| {
        let count = events.iter().filter(|one| **one == Event::ConnectionClosed).count();
        (count == 4).then_some(())
    };
    served.log.wait(closed).await;
    assert_eq!(client.capabilities().await.expect("still there"), "1.5.0");
}

#[tokio::test]
async fn a_stream_that_does_not_begin_with_arbitration_gets_an_error_and_stays_open() {
    use v1::stream_message_response::Update as Response;

    let served = Served::new(1, ServerOptions::default()).await;
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{}", served.address));
    let channel = channel.expect("address").connect().await.expect("connected");
    let mut raw = v1::p4_runtime_client::P4RuntimeClient::new(channel);
    let packet = v1::stream_message_request::Update::Packet(v1::PacketOut::default());
    let packet = v1::StreamMessageRequest { update: Some(packet) };
    let unset = v1::StreamMessageRequest::default();
    let requests = stays_open([packet, unset, arbitration(1, 1)]);
    let mut responses = soon(raw.stream_channel(requests)).await.expect("a stream").into_inner();
    let mut next = async || soon(responses.message()).await.expect("open").expect("told").update;
    let Some(Response::Error(error)) = next().await else { panic!("an error") };
    assert_eq!(error.canonical_code, Code::PermissionDenied as i32);
    let Some(Response::Arbitration(update)) = next().await else { panic!("arbitration") };
    assert_eq!(update.status.map(|status| status.code), Some(Code::Ok as i32));
    let events = [Event::ConnectionOpened, Event::StreamOpened, Event::Primary(true)];
    assert_eq!(served.log.events(), events);
}

/// The server ends a stream at its first refused arbitration. Messages that the client had sent
/// after it, before it could know, have no effect.
#[tokio::test]
async fn messages_after_a_refused_arbitration_are_ignored() {
    let served = Served::new(1, ServerOptions::default()).await;
    let (mut client, _sender, mut receiver) = served.primary().await;
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{}", served.address));
    let channel = channel.expect("address").connect().await.expect("connected");
    let mut raw = v1::p4_runtime_client::P4RuntimeClient::new(channel);
    let expected = [
        // The mistakes are: the id of the primary, an unknown device, and another device on an open
        // stream.
        (vec![arbitration(1, 1), arbitration(1, 2)], Code::InvalidArgument),
        (vec![arbitration(9, 2), arbitration(1, 2)], Code::NotFound),
        (vec![arbitration(1, 0), arbitration(2, 2), arbitration(1, 2)], Code::FailedPrecondition),
    ];
    for (requests, code) in expected {
        let responses = soon(raw.stream_channel(stays_open(requests))).await.expect("a stream");
        let mut responses = responses.into_inner();
        let status = loop {
            match soon(responses.message()).await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the stream ended without a status"),
                Err(status) => break status,
            }
        };
        assert_eq!(status.code(), code);
        // The primary is still primary and received no message meanwhile.
        client
            .write(Vec::new(), v1::write_request::Atomicity::ContinueOnError)
            .await
            .expect("primary");
    }
    drop((client, _sender));
    assert_eq!(soon(receiver.next()).await.expect("ended in peace"), None);
}

fn arbitration(device_id: u64, election_id: u128) -> v1::StreamMessageRequest {
    let update = v1::MasterArbitrationUpdate {
        device_id,
        election_id: Some(ElectionId(election_id).into()),
        ..Default::default()
    };
    v1::StreamMessageRequest {
        update: Some(v1::stream_message_request::Update::Arbitration(update)),
    }
}

/// Returns a request stream that sends a few messages immediately and then stays open.
fn stays_open(
    requests: impl IntoIterator<Item = v1::StreamMessageRequest>,
) -> impl futures_core::Stream<Item = v1::StreamMessageRequest> {
    struct Few(std::collections::VecDeque<v1::StreamMessageRequest>);
    impl futures_core::Stream for Few {
        type Item = v1::StreamMessageRequest;

        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            _context: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            match self.0.pop_front() {
                Some(request) => std::task::Poll::Ready(Some(request)),
                None => std::task::Poll::Pending,
            }
        }
    }
    Few(requests.into_iter().collect())
}

#[tokio::test]
async fn a_shutdown_ends_streams_and_frees_the_port() {
    let mut served = Served::new(1, ServerOptions::default()).await;
    let (client, sender, mut receiver) = served.primary().await;
    served.stop();
    let status = soon(receiver.next()).await.expect_err("ended");
    assert_eq!(status.code(), Code::Unavailable);
    soon(async {
        while !sender.is_closed() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop((client, sender, receiver));
    let address = served.address.clone();
    let log = std::sync::Arc::clone(&served.log);
    served.stopped().await;
    TcpListener::bind(&address).await.expect("the port is free");
    log.wait_for(Event::StreamClosed).await;
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_ever() {
    let options =
        ServerOptions { grace: std::time::Duration::from_millis(20), ..ServerOptions::default() };
    let mut served = Served::new(1, options).await;
    // The client connects but never sends HTTP/2.
    let _silent = TcpStream::connect(&served.address).await.expect("accepted");
    served.log.wait_for(Event::ConnectionOpened).await;
    served.stop();
    served.stopped().await;
}

#[tokio::test]
async fn many_listeners_live_in_one_runtime() {
    let mut all = Vec::new();
    for _ in 0..100 {
        all.push(Served::new(1, ServerOptions::default()).await);
    }
    let mut sessions = Vec::new();
    for served in &all {
        sessions.push(served.primary().await);
    }
    let open = all.iter().filter(|served| served.log.events().contains(&Event::Primary(true)));
    assert_eq!(open.count(), 100);
}
