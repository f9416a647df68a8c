//! What controllers write and read while packets run.

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

/// v1model: a group is named by 16 bits, a session by 15 of them.
#[tokio::test]
async fn what_no_packet_could_name_is_refused() {
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
