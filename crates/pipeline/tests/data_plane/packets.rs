//! Tests that the device reads what packets changed.

use std::time::Duration;

use bytes::Bytes;
use p4runtime::proto::v1;
use p4runtime::proto::v1::entity::Entity as Kind;
use p4runtime::proto::v1::update::Type;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::session::{Effect, ReadStep};
use p4runtime::status::Code;
use p4runtime::store::Nanos;

use crate::both::{Both, DEVICE, update};
use crate::written::{T0, exact};

fn read(both: &Both, entity: Kind, now: Nanos) -> Vec<Kind> {
    let entities = vec![v1::Entity { entity: Some(entity) }];
    let request = v1::ReadRequest { device_id: DEVICE, entities, ..Default::default() };
    let (messages, outcomes) = both.interpreted.read(request, now).expect("there").into_whole();
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let found = messages.into_iter().flat_map(|message| message.entities);
    found.filter_map(|found| found.entity).collect()
}

#[test]
fn a_device_reads_counters_registers_and_idle_times_of_the_switch() {
    let mut both = Both::new();
    let idle = v1::TableEntry { idle_timeout_ns: 1_000, ..exact(&both, 1, 1, 6) };
    let insert = [update(Type::Insert, Kind::TableEntry(idle.clone()))];
    assert_eq!(both.write(&insert, Atomicity::ContinueOnError, T0), [Code::Ok]);

    let packet = [0, 0, 0, 1, 0, 1, 0, 0];
    for number in 1..=3 {
        let time = Duration::from_nanos(T0.0 + 400 * number);
        let sent = both.ports.process(1, &packet, time).expect("runs");
        assert_eq!(sent.len(), 1, "packet {number}");
    }
    let now = Nanos(T0.0 + 1_500);
    let asked = v1::TableEntry {
        counter_data: Some(v1::CounterData::default()),
        time_since_last_hit: Some(v1::table_entry::IdleTimeout::default()),
        table_id: idle.table_id,
        ..Default::default()
    };
    let found = read(&both, Kind::TableEntry(asked), now);
    let [Kind::TableEntry(found)] = &*found else { panic!("{found:?}") };
    assert_eq!(found.counter_data, Some(v1::CounterData { byte_count: 24, packet_count: 3 }));
    assert_eq!(found.time_since_last_hit.map(|time| time.elapsed_ns), Some(300));

    let register = both.schema.registers().by_name("I.remembered").expect("there").id.0;
    let cell = v1::RegisterEntry {
        register_id: register,
        index: Some(v1::Index { index: 1 }),
        data: None,
    };
    let found = read(&both, Kind::RegisterEntry(cell), now);
    let [Kind::RegisterEntry(found)] = &*found else { panic!("{found:?}") };
    let bits = v1::p4_data::Data::Bitstring(Bytes::from_static(&[9]));
    assert_eq!(found.data, Some(v1::P4Data { data: Some(bits) }));

    // The last packet restarted the timer of the entry.
    let told = |both: &mut Both, after: u64| {
        let mut effects = Vec::new();
        both.interpreted.tick(Nanos(T0.0 + after), &mut effects);
        effects.iter().filter(|effect| matches!(effect, Effect::Send { .. })).count()
    };
    assert_eq!(told(&mut both, 2_100), 0);
    assert_eq!(told(&mut both, 2_200), 1);
    assert_eq!(told(&mut both, 2_300), 0);
    assert_eq!(told(&mut both, 3_200), 1);
}

#[test]
fn a_rolled_back_batch_changes_nothing_for_packets() {
    let mut both = Both::new();
    let keep = update(Type::Insert, Kind::TableEntry(exact(&both, 1, 1, 6)));
    assert_eq!(both.write(&[keep], Atomicity::ContinueOnError, T0), [Code::Ok]);
    let packet = [0, 0, 0, 1, 0, 1, 0, 0];
    let time = Duration::from_nanos(T0.0);
    let sent = both.ports.process(1, &packet, time).expect("runs");
    let batch = [
        update(Type::Modify, Kind::TableEntry(exact(&both, 1, 1, 7))),
        update(Type::Delete, Kind::TableEntry(exact(&both, 5, 5, 5))),
    ];
    let codes = both.write(&batch, Atomicity::DataplaneAtomic, T0);
    assert_eq!(codes, [Code::Aborted, Code::NotFound]);
    assert_eq!(both.ports.process(1, &packet, time).expect("runs"), sent);
}

#[test]
fn a_read_is_answered_in_several_messages_that_continue_each_other() {
    let mut both = Both::new();
    let fill: Vec<_> = (1..=5)
        .map(|key| {
            let metadata = Bytes::from(vec![key; 100_000]);
            let entry = v1::TableEntry { metadata, ..exact(&both, key, key, 1) };
            update(Type::Insert, Kind::TableEntry(entry))
        })
        .collect();
    assert_eq!(both.write(&fill, Atomicity::ContinueOnError, T0), [Code::Ok; 5]);
    let all = v1::Entity { entity: Some(Kind::TableEntry(v1::TableEntry::default())) };
    let request = v1::ReadRequest { device_id: DEVICE, entities: vec![all], ..Default::default() };
    let mut answer = both.interpreted.read(request, T0).expect("there");
    let mut sizes = Vec::new();
    let mut keys = Vec::new();
    loop {
        match answer.step() {
            ReadStep::Busy => {}
            ReadStep::Message(message) => {
                let message = message.decode().expect("it was encoded");
                sizes.push(message.entities.len());
                keys.extend(message.entities.into_iter().filter_map(|found| match found.entity {
                    Some(Kind::TableEntry(entry)) => entry.metadata.first().copied(),
                    _ => None,
                }));
                // An entry that is deleted does not disturb those after it.
                if sizes.len() == 1 {
                    let gone = update(Type::Delete, Kind::TableEntry(exact(&both, 3, 3, 1)));
                    assert_eq!(both.write(&[gone], Atomicity::ContinueOnError, T0), [Code::Ok]);
                }
            }
            ReadStep::End(outcomes) => {
                assert_eq!(outcomes, [Ok(())]);
                break;
            }
        }
    }
    assert!(sizes.len() > 1, "{sizes:?}");
    assert_eq!(keys, [1, 2, 3, 4, 5]);
}
