//! What controllers write and read while packets run.

use crate::support::{Bench, Controller, Names, PROGRAM};
use p4runtime::proto::v1::{self, entity::Entity as Kind};

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
