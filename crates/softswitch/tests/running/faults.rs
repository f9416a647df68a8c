//! Tests of controllers that disconnect, compete for mastership or do not read their streams, and
//! of packets of any shape.

use crate::support::{Bench, Controller, Names, PROGRAM, TIMEOUT};
use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions};
use p4runtime::proto::v1::{self, entity::Entity as Kind, write_request::Atomicity};
use packetio::Transmitted;
use std::time::{Duration, Instant};

fn inserts(names: &Names, range: std::ops::Range<u8>) -> Vec<v1::Update> {
    let update = |to| v1::Update {
        r#type: v1::update::Type::Insert as i32,
        entity: Some(v1::Entity { entity: Some(names.entry(to, "forward", &[2])) }),
    };
    range.map(update).collect()
}

/// Only the controller with the highest election id can write, whatever the others try, and packets
/// keep flowing.
#[tokio::test]
async fn only_one_of_two_competing_controllers_writes() {
    let mut bench = Bench::new(2);
    let mut first = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    for round in 2..12_u8 {
        let mut second = Controller::of(&bench.switch, u128::from(round)).await;
        let (one, other) = (2 * round, 2 * round + 1);
        let taken = second.client.write(inserts(&names, one..one + 1), Atomicity::ContinueOnError);
        taken.await.expect("it is primary");
        let refused =
            first.client.write(inserts(&names, other..other + 1), Atomicity::ContinueOnError);
        assert!(refused.await.is_err(), "the former primary writes");
        bench.send(1, &[one, 1]);
        assert_eq!(bench.receive(2, 1), [[one, 1]]);
        first = second;
    }
}

/// A connection that ends in the middle of a Write leaves only complete updates, and the switch
/// keeps running.
#[tokio::test]
async fn a_controller_that_is_gone_in_a_write_leaves_whole_entries() {
    let mut bench = Bench::new(2);
    drop(Controller::with(&bench.switch, PROGRAM).await);
    let names = Names::new();
    for election in 2..8_u128 {
        let address = bench.switch.address().to_string();
        let options = ClientOptions::default();
        let mut client =
            Client::connect(&address, crate::support::DEVICE, &options).await.expect("it listens");
        let stream = client.become_primary("", ElectionId(election), TIMEOUT).await;
        let _stream = stream.expect("nobody else is there");
        let write = client.write(inserts(&names, 0..200), Atomicity::ContinueOnError);
        // The Write may be cut off before it is sent or before it is answered.
        let _ = tokio::time::timeout(Duration::from_micros(300 * election as u64), write).await;
    }
    let mut last = Controller::of(&bench.switch, 100).await;
    let _ = last.client.write(inserts(&names, 0..200), Atomicity::ContinueOnError).await;
    for to in 0..200 {
        bench.send(1, &[to, 1]);
    }
    assert_eq!(bench.receive(2, 200).len(), 200);
}

/// The queue for a controller that does not read is bounded, and packets do not wait for that
/// controller.
#[tokio::test]
async fn a_slow_reader_of_digests_and_packet_ins_stops_nothing() {
    let mut bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    let config =
        v1::digest_entry::Config { max_timeout_ns: 0, max_list_size: 1, ack_timeout_ns: 1 };
    let digest = v1::DigestEntry { digest_id: names.digest(), config: Some(config) };
    controller.insert([Kind::DigestEntry(digest), names.entry(20, "forward", &[2])]).await;
    // This task does not read its stream, while each miss produces a packet-in and a digest.
    for number in 0..4_000_u32 {
        let packet = [[200, number as u8], [number as u8, (number >> 8) as u8]].concat();
        if bench.lines[0].queues[0].transmit(&packet) != Transmitted::Taken {
            break;
        }
    }
    bench.send(1, &[20, 1]);
    assert_eq!(bench.receive(2, 1), [[20, 1]]);
    assert!(controller.next_update().await.is_some(), "the stream is still there");
}

/// No packet stops a worker, regardless of its length and bytes.
#[tokio::test]
async fn packets_of_any_shape_do_no_harm() {
    let mut bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(20, "forward", &[2])]).await;
    let mut random = fastrand::Rng::with_seed(0x9e37_79b9_7f4a_7c15);
    for length in (0..300).chain([1_514, 9_000, 65_535]) {
        let packet: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        bench.send(1, &packet);
        bench.send(2, &packet);
    }
    bench.send(1, &[20, 1]);
    let start = Instant::now();
    loop {
        let left = bench.receive(2, 1);
        if left == [[20, 1]] {
            break;
        }
        assert!(start.elapsed() < TIMEOUT);
    }
}
