//! Tests that packet-ins, packet-outs and digests arrive complete and in order on a real stream.

use bytes::Bytes;
use p4runtime::{
    arbitration::ElectionId,
    client::{Client, ClientOptions},
    proto::v1::{self, stream_message_response::Update as Response, write_request::Atomicity},
    server::{DigestError, DigestList, PacketInError, QueueLimit, ServerOptions},
};

use crate::support::{self, DIGEST, Event, Served, TABLE, host, packet_in, soon};

fn field(metadata_id: u32, value: &'static [u8]) -> v1::PacketMetadata {
    v1::PacketMetadata { metadata_id, value: Bytes::from_static(value) }
}

#[tokio::test]
async fn a_packet_in_has_the_form_of_the_pipeline() {
    let served = Served::new(1, ServerOptions::default()).await;
    let device = &served.devices[0];
    assert_eq!(device.send(packet_in("early", 0)), Err(PacketInError::NoPipeline(1)));
    let (client, sender, mut receiver) = served.primary().await;
    assert_eq!(device.send(packet_in("frame", 9)), Ok(1));
    let received = soon(receiver.next()).await.expect("open");
    let expected = v1::PacketIn {
        payload: Bytes::from_static(b"frame"),
        metadata: vec![field(1, &[5]), field(2, &[0])],
    };
    assert_eq!(received, Some(Response::Packet(expected)));
    served.log.wait_for(Event::Sent(9)).await;

    drop((sender, receiver, client));
    served.log.wait_for(Event::Primary(false)).await;
    assert_eq!(device.send(packet_in("late", 0)), Err(PacketInError::NoPrimary(1)));
}

#[tokio::test]
async fn a_packet_in_that_cannot_wait_is_on_the_wire_when_the_call_returns() {
    const COUNT: u8 = 10;
    let served = Served::new(1, ServerOptions::default()).await;
    let address = served.address.clone();
    let (tell, told) = std::sync::mpsc::channel();
    // The controller has its own runtime, since the server's runtime is blocked below.
    let controller = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let options = ClientOptions::default();
            let mut client = Client::connect(&address, 1, &options).await.expect("connected");
            let (sender, mut receiver) =
                client.become_primary("", ElectionId(1), support::TIMEOUT).await.expect("primary");
            client.ensure_pipeline(support::pipeline(1)).await.expect("pushed");
            for _ in 0..COUNT {
                let received = receiver.next().await.expect("open");
                let Some(Response::Packet(packet)) = received else { panic!("{received:?}") };
                tell.send(packet.payload).expect("listened to");
            }
            drop((client, sender));
        });
    });
    served.log.wait_for(Event::Pipeline).await;
    for number in 0..COUNT {
        assert_eq!(served.devices[0].send_now([packet_in(vec![number], 0)]), Ok(1));
        // This runtime runs nothing else until the controller has received the packet.
        assert_eq!(told.recv_timeout(support::TIMEOUT).as_deref(), Ok(&[number][..]));
    }
    controller.join().expect("no panic");
}

#[tokio::test]
async fn many_packet_ins_arrive_complete_and_in_order() {
    const COUNT: u64 = 50_000;
    let served = Served::new(1, ServerOptions::default()).await;
    let (_client, _sender, mut receiver) = served.primary().await;
    let packets = |range: std::ops::Range<u64>| {
        range.map(|number| packet_in(Bytes::copy_from_slice(&number.to_be_bytes()), number))
    };
    // One large batch is followed by many small ones.
    assert_eq!(served.devices[0].send_batch(packets(0..COUNT / 2)), Ok(COUNT as usize / 2));
    for start in (COUNT / 2..COUNT).step_by(10) {
        assert_eq!(served.devices[0].send_batch(packets(start..start + 10)), Ok(10));
    }
    let mut messages = Vec::new();
    let mut expected = 0;
    while expected < COUNT {
        soon(receiver.next_batch(&mut messages, 1000)).await.expect("open");
        for message in messages.drain(..) {
            let Response::Packet(packet) = message else { panic!("{message:?}") };
            assert_eq!(packet.payload.as_ref(), expected.to_be_bytes());
            expected += 1;
        }
    }
    let sent: Vec<_> = served
        .log
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Sent(tag) => Some(tag),
            _ => None,
        })
        .collect();
    assert!(sent.iter().copied().eq(0..COUNT));
}

#[tokio::test]
async fn many_packet_outs_arrive_complete_and_in_order() {
    const COUNT: u32 = 50_000;
    let served = Served::new(1, ServerOptions::default()).await;
    let (_client, sender, _receiver) = served.primary().await;
    let packet = |number: u32| v1::PacketOut {
        payload: Bytes::copy_from_slice(&number.to_be_bytes()),
        metadata: vec![field(1, &[0, 5])],
    };
    assert_eq!(sender.packet_outs((0..COUNT).map(packet)), COUNT as usize);
    let is_packet = |event: &&Event| matches!(event, Event::PacketOut(_));
    served
        .log
        .wait(|events| {
            let count = events.iter().filter(is_packet).count();
            (count >= COUNT as usize).then_some(())
        })
        .await;
    let events = served.log.events();
    let packets: Vec<_> = events.into_iter().filter(|event| is_packet(&event)).collect();
    assert!(packets.into_iter().eq((0..COUNT).map(|number| Event::PacketOut(packet(number)))));
}

#[tokio::test]
async fn a_bad_packet_out_is_answered_and_the_others_are_injected() {
    let served = Served::new(1, ServerOptions::default()).await;
    let (_client, sender, mut receiver) = served.primary().await;
    let bad = v1::PacketOut { payload: Bytes::new(), metadata: vec![field(7, &[1])] };
    let good = v1::PacketOut { payload: Bytes::new(), metadata: vec![field(1, &[1])] };
    sender.packet_outs([bad.clone(), good.clone()]);
    served.log.wait_for(Event::PacketOut(good)).await;
    let Some(Response::Error(error)) = soon(receiver.next()).await.expect("open") else {
        panic!("no error")
    };
    assert_eq!(error.canonical_code, tonic::Code::InvalidArgument as i32);
    let details = v1::PacketOutError { packet_out: Some(bad) };
    assert_eq!(error.details, Some(v1::stream_error::Details::PacketOut(details)));
}

#[tokio::test]
async fn packet_ins_beyond_the_queue_are_not_taken() {
    let options =
        ServerOptions { queue_limit: QueueLimit::of_messages(100), ..ServerOptions::default() };
    let served = Served::new(1, options).await;
    let (_client, _sender, _receiver) = served.primary().await;
    // Without an await in between, the stream cannot send any of them yet.
    let taken = served.devices[0].send_batch((0..1000).map(|tag| packet_in("x", tag)));
    let taken = taken.expect("there is a primary");
    assert!((90..=100).contains(&taken), "{taken}");
    assert_eq!(served.devices[0].send(packet_in("x", 0)), Ok(0));
}

#[tokio::test]
async fn digests_are_sent_after_their_timeout() {
    let served = Served::new(1, ServerOptions::default()).await;
    let (mut client, sender, mut receiver) = served.primary().await;
    let config = v1::digest_entry::Config {
        max_timeout_ns: 2_000_000,
        max_list_size: 0,
        ack_timeout_ns: i64::MAX,
    };
    let entry = v1::DigestEntry { digest_id: DIGEST, config: Some(config) };
    let update = v1::Update {
        r#type: v1::update::Type::Insert as i32,
        entity: Some(v1::Entity { entity: Some(v1::entity::Entity::DigestEntry(entry)) }),
    };
    client.write(vec![update], Atomicity::ContinueOnError).await.expect("written");
    let data = |number: u8| v1::P4Data {
        data: Some(v1::p4_data::Data::Bitstring(Bytes::copy_from_slice(&[number]))),
    };
    for round in 1..=2 {
        for number in [1, 2, 1] {
            let bits = entities::Data::Bits(Box::from([number]));
            served.devices[0].digest(entities::schema::DigestId(DIGEST), bits);
        }
        let Some(Response::Digest(list)) = soon(receiver.next()).await.expect("open") else {
            panic!("no digest")
        };
        assert_eq!((list.list_id, &list.data), (round, &vec![data(1), data(2)]));
        sender.acknowledge(&list);
        // This message is answered, so the acknowledgement before it has been handled when the
        // answer arrives.
        sender.packet_outs([v1::PacketOut::default()]);
        let answer = soon(receiver.next()).await.expect("open");
        assert!(matches!(answer, Some(Response::Error(_))), "{answer:?}");
    }
}

#[tokio::test]
async fn lists_of_digests_that_the_owner_makes_are_sent_as_they_are() {
    let served = Served::new(1, ServerOptions::default()).await;
    let device = &served.devices[0];
    let id = entities::schema::DigestId(DIGEST);
    let list = |list_id| DigestList { list_id, data: vec![entities::Data::Bits(Box::from([7]))] };
    let (mut client, sender, mut receiver) = served.primary().await;
    let not_enabled = DigestError::NotEnabled { device: 1, digest: DIGEST };
    assert_eq!(device.send_digest_lists(id, [list(1)]), Err(not_enabled));

    // The limits are set so that the device would hold back any list that it bundles itself.
    let config = v1::digest_entry::Config {
        max_timeout_ns: i64::MAX,
        max_list_size: 100,
        ack_timeout_ns: i64::MAX,
    };
    let entry = v1::DigestEntry { digest_id: DIGEST, config: Some(config) };
    let update = v1::Update {
        r#type: v1::update::Type::Insert as i32,
        entity: Some(v1::Entity { entity: Some(v1::entity::Entity::DigestEntry(entry)) }),
    };
    client.write(vec![update], Atomicity::ContinueOnError).await.expect("written");
    // Both lists hold the same data, and the owner chooses the ids freely.
    assert_eq!(device.send_digest_lists(id, [list(5), list(9)]), Ok(2));
    for list_id in [5, 9] {
        let Some(Response::Digest(list)) = soon(receiver.next()).await.expect("open") else {
            panic!("no digest")
        };
        assert_eq!((list.digest_id, list.list_id, list.data.len()), (DIGEST, list_id, 1));
        served.log.wait_for(Event::ListSent(list_id)).await;
        sender.acknowledge(&list);
        served.log.wait_for(Event::Acknowledged(list_id)).await;
    }

    drop((sender, receiver, client));
    served.log.wait_for(Event::Primary(false)).await;
    assert_eq!(device.send_digest_lists(id, [list(10)]), Err(DigestError::NoPrimary(1)));
}

#[tokio::test]
async fn idle_entries_of_the_data_plane_are_reported_one_by_one() {
    let served = Served::new(1, ServerOptions::default()).await;
    let device = &served.devices[0];
    let table = entities::schema::TableId(TABLE);
    let entry = |address| match host(address).entity.expect("an entity").entity {
        Some(v1::entity::Entity::TableEntry(entry)) => entry,
        other => panic!("{other:?}"),
    };
    assert_eq!(device.write_from_data_plane(&[host(1)]), [], "there is no pipeline");
    assert!(device.send_idle_timeouts(table, [entry(1)]).is_err(), "there is no primary");
    let (mut client, sender, mut receiver) = served.primary().await;
    let outcomes = device.write_from_data_plane(&[host(1), host(1), host(2)]);
    assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(device.send_idle_timeouts(table, [entry(1), entry(2)]), Ok(2));
    for address in 1..=2 {
        let Some(Response::IdleTimeoutNotification(told)) =
            soon(receiver.next()).await.expect("open")
        else {
            panic!("no notification")
        };
        assert!(told.timestamp > 0);
        assert_eq!(told.table_entry, [entry(address)]);
        served.log.wait_for(Event::IdleSent(1)).await;
        let deleted = v1::Update { r#type: v1::update::Type::Delete.into(), ..host(address) };
        let written = client.write(vec![deleted], Atomicity::ContinueOnError).await;
        written.expect("it was there");
    }
    drop((sender, receiver, client));
    served.log.wait_for(Event::Primary(false)).await;
    assert!(device.send_idle_timeouts(table, [entry(1)]).is_err());
}
