//! Tests of entities that controllers write and read while packets are processed.

use crate::support::{Bench, Controller, Names, PROGRAM};
use p4runtime::client::WriteError;
use p4runtime::proto::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::proto::v1::{self, entity::Entity as Kind, write_request::Atomicity};
use p4runtime::status::Code;

#[tokio::test]
async fn counters_count_packets() {
    let mut bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    controller.insert([names.entry(20, "forward", &[2])]).await;
    for _ in 0..10 {
        bench.send(1, &[20, 1, 0, 0]);
    }
    bench.receive(2, 10);
    let wanted = v1::TableEntry {
        table_id: names.table(),
        counter_data: Some(v1::CounterData::default()),
        ..Default::default()
    };
    let read = controller.client.read(vec![v1::Entity { entity: Some(Kind::TableEntry(wanted)) }]);
    let found = read.await.expect("it is there");
    let [v1::Entity { entity: Some(Kind::TableEntry(entry)) }] = found.as_slice() else {
        panic!("{found:?}")
    };
    let counted = entry.counter_data.expect("it was asked for");
    assert_eq!((counted.packet_count, counted.byte_count), (10, 40));
}

/// v1model identifies a multicast group by 16 bits and a clone session by 15 of them, so packets
/// cannot refer to larger ids.
#[tokio::test]
async fn groups_and_sessions_that_no_packet_can_select_are_refused() {
    let bench = Bench::new(1);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let group = |id| {
        let group = v1::MulticastGroupEntry { multicast_group_id: id, ..Default::default() };
        Replication::MulticastGroupEntry(group)
    };
    let session = |id| {
        let session = v1::CloneSessionEntry { session_id: id, ..Default::default() };
        Replication::CloneSessionEntry(session)
    };
    let entries = [group(0xffff), group(0x1_0000), session(0x7fff), session(0x8000)];
    let updates = entries.map(|entry| {
        let entry = v1::PacketReplicationEngineEntry { r#type: Some(entry) };
        let entity = Some(Kind::PacketReplicationEngineEntry(entry));
        v1::Update { r#type: v1::update::Type::Insert as i32, entity: Some(v1::Entity { entity }) }
    });
    let written = controller.client.write(updates.into(), Atomicity::ContinueOnError).await;
    let Err(WriteError::Updates { refused, .. }) = written else { panic!("{written:?}") };
    let refused: Vec<_> = refused.iter().map(|error| (error.index, error.code)).collect();
    assert_eq!(refused, [(1, Code::InvalidArgument), (3, Code::InvalidArgument)]);
}

/// A Write with ten thousand entries is accepted as a whole, is read back, and is undone as a whole
/// if its last entry is wrong.
#[tokio::test]
async fn a_batch_of_ten_thousand_entries_is_taken_or_refused_whole() {
    const BATCH: u16 = 10_000;
    let mut bench = Bench::new(2);
    let source = PROGRAM.replace("header h_t { bit<8> to;", "header h_t { bit<16> to;");
    let mut controller = Controller::with(&bench.switch, &source).await;
    let names = Names::new();
    let entry = |to: u16| {
        let Kind::TableEntry(mut entry) = names.entry(0, "forward", &[2]) else { unreachable!() };
        let exact = v1::field_match::Exact { value: to.to_be_bytes().to_vec().into() };
        entry.r#match[0].field_match_type = Some(v1::field_match::FieldMatchType::Exact(exact));
        Kind::TableEntry(entry)
    };
    let insert = |to| v1::Update {
        r#type: v1::update::Type::Insert as i32,
        entity: Some(v1::Entity { entity: Some(entry(to)) }),
    };
    let first: Vec<_> = (0..BATCH).map(insert).collect();
    let written = controller.client.write(first, Atomicity::RollbackOnError).await;
    written.expect("all of it is right");
    let mut second: Vec<_> = (BATCH..2 * BATCH).map(insert).collect();
    second.push(insert(7));
    let written = controller.client.write(second, Atomicity::RollbackOnError).await;
    assert!(written.is_err(), "the last is there already");
    let all = v1::TableEntry { table_id: names.table(), ..Default::default() };
    let all = v1::Entity { entity: Some(Kind::TableEntry(all)) };
    let found = controller.client.read(vec![all]).await.expect("it answers");
    assert_eq!(found.len(), usize::from(BATCH));
    bench.send(1, &[0x27, 0x0f, 1, 0, 0]);
    bench.receive(2, 1);
}
