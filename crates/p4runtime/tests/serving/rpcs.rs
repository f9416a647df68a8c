//! Tests that call every RPC once over the transport, and that read errors from the trailers.

use p4runtime::{
    arbitration::ElectionId,
    client::{ArbitrationFailure, PipelineOutcome, Standing, WriteError},
    proto::v1::{
        self, get_forwarding_pipeline_config_request::ResponseType,
        set_forwarding_pipeline_config_request::Action, write_request::Atomicity,
    },
    server::{ServeError, Server, ServerOptions},
    status::batch_errors,
};
use tonic::Code;

use crate::support::{Event, Served, TABLE, TIMEOUT, host, pipeline, soon};

fn all_hosts() -> Vec<v1::Entity> {
    let entry = v1::TableEntry { table_id: TABLE, ..Default::default() };
    vec![v1::Entity { entity: Some(v1::entity::Entity::TableEntry(entry)) }]
}

#[tokio::test]
async fn a_session_from_arbitration_to_reading_back() {
    let served = Served::new(1, ServerOptions::default()).await;
    let mut client = served.client().await;
    assert_eq!(client.capabilities().await.expect("capabilities"), "1.5.0");

    let none = client.get_pipeline(ResponseType::CookieOnly).await.expect_err("nothing there");
    assert_eq!(none.code(), Code::FailedPrecondition);
    assert_eq!(none.message(), "No forwarding pipeline config set for this device.");

    let early = client.write(vec![host(1)], Atomicity::ContinueOnError).await;
    let Err(WriteError::Rpc(status)) = early else { panic!("{early:?}") };
    assert_eq!(status.code(), Code::PermissionDenied);

    let _stream = client.become_primary("", ElectionId(1), TIMEOUT).await.expect("primary");
    let outcome = client.ensure_pipeline(pipeline(7)).await.expect("pushed");
    assert_eq!(outcome, PipelineOutcome::Pushed);
    let outcome = client.ensure_pipeline(pipeline(7)).await.expect("there");
    assert_eq!(outcome, PipelineOutcome::AlreadyThere);
    assert_eq!(client.get_pipeline(ResponseType::All).await.expect("there"), pipeline(7));

    let updates: Vec<_> = (0..3000).map(host).collect();
    client.write(updates.clone(), Atomicity::ContinueOnError).await.expect("written");
    let found = client.read(all_hosts()).await.expect("read");
    assert_eq!(found.len(), 3000);
    assert!(updates.iter().all(|update| found.contains(update.entity.as_ref().expect("set"))));

    let events = served.log.events();
    let expected = [
        Event::ConnectionOpened,
        Event::StreamOpened,
        Event::Primary(true),
        Event::Pipeline,
        Event::Written(3000, 3000),
    ];
    assert_eq!(events, expected);
}

/// A message that exceeds the header limit of a client would reach it with another code.
#[tokio::test]
async fn a_refusal_does_not_repeat_a_long_name() {
    let served = Served::new(1, ServerOptions::default()).await;
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{}", served.address));
    let channel = channel.expect("address").connect().await.expect("connected");
    let mut raw = v1::p4_runtime_client::P4RuntimeClient::new(channel);
    let role = "r".repeat(10_000);
    let request = v1::WriteRequest { device_id: 1, role, ..Default::default() };
    let status = raw.write(request).await.expect_err("nobody has this role");
    assert_eq!(status.code(), Code::NotFound);
    assert!(status.message().len() < 1000, "{} bytes", status.message().len());
}

#[tokio::test]
async fn errors_of_single_updates_come_back_with_their_place() {
    let served = Served::new(1, ServerOptions::default()).await;
    let (mut client, _sender, _receiver) = served.primary().await;
    client.write(vec![host(2)], Atomicity::ContinueOnError).await.expect("written");
    let outcome = client.write((0..4).map(host).collect(), Atomicity::ContinueOnError).await;
    let Err(WriteError::Updates { updates: 4, refused }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(refused.len(), 1);
    assert_eq!((refused[0].index, refused[0].code), (2, p4runtime::status::Code::AlreadyExists));
    assert!(!refused[0].message.is_empty());
    assert_eq!(client.read(all_hosts()).await.expect("read").len(), 4);

    // The table is full after 5000 entries, so thousands of errors must fit the trailers.
    let outcome = client.write((0..7000).map(host).collect(), Atomicity::ContinueOnError).await;
    let Err(WriteError::Updates { updates: 7000, refused }) = outcome else {
        panic!("{outcome:?}")
    };
    let full = refused
        .iter()
        .filter(|error| error.code == p4runtime::status::Code::ResourceExhausted)
        .count();
    assert_eq!((refused.len(), full), (2004, 2000));
}

#[tokio::test]
async fn a_batch_that_fails_is_unknown_with_one_error_for_each_update() {
    let served = Served::new(1, ServerOptions::default()).await;
    let (_client, _sender, _receiver) = served.primary().await;
    // The request is made without this crate's client, to see what other clients see.
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{}", served.address));
    let channel = channel.expect("address").connect().await.expect("connected");
    let mut raw = v1::p4_runtime_client::P4RuntimeClient::new(channel);
    let request = |updates| v1::WriteRequest {
        device_id: 1,
        election_id: Some(ElectionId(1).into()),
        updates,
        ..Default::default()
    };
    let status = raw.write(request(vec![host(1), host(1), host(2)])).await.expect_err("twice");
    assert_eq!(status.code(), Code::Unknown);
    let codes: Vec<_> = batch_errors(&status).iter().map(|one| one.canonical_code).collect();
    assert_eq!(codes, [Code::Ok as i32, Code::AlreadyExists as i32, Code::Ok as i32]);

    let request = v1::ReadRequest {
        device_id: 1,
        entities: vec![v1::Entity::default()],
        ..Default::default()
    };
    let mut responses = raw.read(request).await.expect("a stream").into_inner();
    let status = responses.message().await.expect_err("no entity");
    assert_eq!(status.code(), Code::Unknown);
    assert_eq!(batch_errors(&status)[0].canonical_code, Code::InvalidArgument as i32);
}

#[tokio::test]
async fn hundreds_of_devices_share_a_listener_and_a_connection() {
    const COUNT: u64 = 300;
    let served = Served::new(COUNT, ServerOptions::default()).await;
    let client = served.client().await;
    let mut streams = Vec::new();
    for device in 1..=COUNT {
        let mut client = client.for_device(device);
        streams.push(client.become_primary("", ElectionId(1), TIMEOUT).await.expect("primary"));
        client.set_pipeline(Action::VerifyAndCommit, Some(pipeline(device))).await.expect("pushed");
    }
    for device in 1..=COUNT {
        let mut client = client.for_device(device);
        let there = client.get_pipeline(ResponseType::CookieOnly).await.expect("there");
        assert_eq!(there.cookie, pipeline(device).cookie);
    }
    let mut unknown = client.for_device(COUNT + 1);
    let status = unknown.get_pipeline(ResponseType::All).await.expect_err("unknown");
    assert_eq!(status.code(), Code::NotFound);
    let refused = unknown.become_primary("", ElectionId(1), TIMEOUT).await;
    let Err(ArbitrationFailure::Refused(status)) = refused else { panic!("{refused:?}") };
    assert_eq!(status.code(), Code::NotFound);
    let pipelines: Vec<_> = served.devices.iter().filter_map(|device| device.pipeline()).collect();
    assert!(std::sync::Arc::ptr_eq(&pipelines[0], &pipelines[299]));
}

#[tokio::test]
async fn two_devices_of_one_server_need_two_ids() {
    let served = Served::new(1, ServerOptions::default()).await;
    let twice = [served.devices[0].clone(), served.devices[0].clone()];
    let outcome = Server::new(twice, ServerOptions::default());
    assert!(matches!(outcome, Err(ServeError::DuplicateDevice(1))));
}

#[tokio::test]
async fn backups_are_notified_of_the_primary() {
    let served = Served::new(1, ServerOptions::default()).await;
    let (mut first, mut second) = (served.client().await, served.client().await);
    let (sender, mut receiver) =
        first.become_primary("", ElectionId(10), TIMEOUT).await.expect("primary");
    let (other, mut others) =
        second.open_stream("", None, Some(ElectionId(9))).await.expect("open");
    let highest = Some(ElectionId(10));
    assert_eq!(soon(others.arbitrated()).await.expect("told"), Standing::Backup { highest });

    let clash = served.client().await.become_primary("", ElectionId(10), TIMEOUT).await;
    let Err(ArbitrationFailure::Refused(status)) = clash else { panic!("{clash:?}") };
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.message(), "Election id already exists");

    drop((sender, first));
    assert_eq!(soon(others.arbitrated()).await.expect("told"), Standing::NoPrimary { highest });
    assert_eq!(soon(receiver.next()).await.expect("ended in peace"), None);

    other.arbitrate(highest);
    assert_eq!(soon(others.arbitrated()).await.expect("told"), Standing::Primary);
}

#[tokio::test]
async fn unknown_services_are_unimplemented() {
    let served = Served::new(1, ServerOptions::default()).await;
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{}", served.address));
    let channel = channel.expect("address").connect().await.expect("connected");
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.expect("ready");
    let codec = tonic_prost::ProstCodec::<v1::CapabilitiesRequest, v1::CapabilitiesResponse>::new();
    let path = "/nobody.Knows/Me".parse().expect("a path");
    let request = tonic::Request::new(v1::CapabilitiesRequest::default());
    let status = grpc.unary(request, path, codec).await.expect_err("unknown");
    assert_eq!(status.code(), Code::Unimplemented);
}
