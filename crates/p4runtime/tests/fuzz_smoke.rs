//! Decodes, checks, writes and reads bytes that any client may send. Nothing may panic.
//!
//! The bytes are mutations of valid messages with a fixed seed and number, so that every run is the
//! same.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use fastrand::Rng;
use p4runtime::p4info::{Schema, text};
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1;
use p4runtime::proto::v1::entity::Entity;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::store::{Nanos, Store};
use prost::Message;

const EVERYTHING: &str = include_str!("data/everything.p4info.txtpb");

/// Changes, removes, inserts or copies a few bytes.
fn mutate(bytes: &mut Vec<u8>, random: &mut Rng) {
    for _ in 0..random.usize(1..=4) {
        if bytes.is_empty() {
            bytes.push(random.u8(..));
            continue;
        }
        let at = random.usize(..bytes.len());
        match random.u8(..5) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u8(..8),
            2 => {
                bytes.remove(at);
            }
            3 => bytes.insert(at, [0, 1, 0x7f, 0x80, 0xff][random.usize(..5)]),
            _ => {
                let to = at + random.usize(..(bytes.len() - at).min(12));
                let copied = bytes[at..to].to_vec();
                let place = random.usize(..bytes.len());
                bytes.splice(place..place, copied);
            }
        }
    }
}

fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    Arc::clone(SCHEMA.get_or_init(|| Schema::new(text::parse(EVERYTHING).unwrap()).unwrap()))
}

/// Returns valid entities of every kind.
fn seeds() -> Vec<Entity> {
    use v1::field_match::*;
    use v1::p4_data::Data;
    use v1::packet_replication_engine_entry::Type as Engine;
    use v1::table_action::Type as ActionType;

    let bytes = |bytes: &'static [u8]| Bytes::from_static(bytes);
    let field = |id, matched| v1::FieldMatch { field_id: id, field_match_type: Some(matched) };
    let forward = v1::Action {
        action_id: 0x0100_0001,
        params: vec![v1::action::Param { param_id: 1, value: bytes(b"\x01") }],
    };
    let act = |action| Some(v1::TableAction { r#type: Some(action) });
    let exact = v1::TableEntry {
        table_id: 0x0200_0001,
        r#match: vec![
            field(1, FieldMatchType::Exact(Exact { value: bytes(b"\x05") })),
            field(2, FieldMatchType::Exact(Exact { value: bytes(b"\xaa\xbb") })),
        ],
        action: act(ActionType::Action(forward.clone())),
        counter_data: Some(v1::CounterData { byte_count: 1, packet_count: 1 }),
        meter_config: Some(v1::MeterConfig::default()),
        idle_timeout_ns: 5,
        metadata: bytes(b"m"),
        ..v1::TableEntry::default()
    };
    let acl = v1::TableEntry {
        table_id: 0x0200_0002,
        r#match: vec![
            field(
                1,
                FieldMatchType::Ternary(Ternary { value: bytes(b"\x01"), mask: bytes(b"\x01") }),
            ),
            field(2, FieldMatchType::Range(Range { low: bytes(b"\x01"), high: bytes(b"\x09") })),
            field(3, FieldMatchType::Optional(Optional { value: bytes(b"\x06") })),
        ],
        priority: 10,
        action: act(ActionType::Action(forward.clone())),
        ..v1::TableEntry::default()
    };
    let route = v1::TableEntry {
        table_id: 0x0200_0003,
        r#match: vec![field(
            1,
            FieldMatchType::Lpm(Lpm { value: bytes(b"\x0a\0\0\0"), prefix_len: 8 }),
        )],
        action: act(ActionType::Action(forward.clone())),
        ..v1::TableEntry::default()
    };
    let one_shot = v1::TableEntry {
        table_id: 0x0200_0009,
        r#match: vec![field(1, FieldMatchType::Exact(Exact { value: bytes(b"\x05") }))],
        action: act(ActionType::ActionProfileActionSet(v1::ActionProfileActionSet {
            action_profile_actions: vec![v1::ActionProfileAction {
                action: Some(forward.clone()),
                weight: 1,
                watch_kind: None,
            }],
            ..v1::ActionProfileActionSet::default()
        })),
        ..v1::TableEntry::default()
    };
    let index = Some(v1::Index { index: 1 });
    let replicas = vec![v1::Replica {
        port_kind: Some(v1::replica::PortKind::Port(bytes(b"\x01"))),
        instance: 1,
        backup_replicas: vec![v1::BackupReplica { port: bytes(b"\x02"), instance: 2 }],
    }];
    let engine = |engine| {
        Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
            r#type: Some(engine),
        })
    };
    vec![
        Entity::DirectCounterEntry(v1::DirectCounterEntry {
            table_entry: Some(exact.clone()),
            data: Some(v1::CounterData::default()),
        }),
        Entity::DirectMeterEntry(v1::DirectMeterEntry {
            table_entry: Some(exact.clone()),
            config: Some(v1::MeterConfig::default()),
            counter_data: Some(v1::MeterCounterData::default()),
        }),
        Entity::TableEntry(exact),
        Entity::TableEntry(acl),
        Entity::TableEntry(route),
        Entity::TableEntry(one_shot),
        Entity::ActionProfileMember(v1::ActionProfileMember {
            action_profile_id: 0x1100_0002,
            member_id: 1,
            action: Some(forward),
        }),
        Entity::ActionProfileGroup(v1::ActionProfileGroup {
            action_profile_id: 0x1100_0002,
            group_id: 1,
            members: vec![v1::action_profile_group::Member {
                member_id: 1,
                weight: 1,
                watch_kind: None,
            }],
            max_size: 3,
        }),
        Entity::CounterEntry(v1::CounterEntry {
            counter_id: 0x1200_0001,
            index,
            data: Some(v1::CounterData { byte_count: 1, packet_count: 2 }),
        }),
        Entity::MeterEntry(v1::MeterEntry {
            meter_id: 0x1400_0001,
            index,
            config: Some(v1::MeterConfig { cir: 1, cburst: 2, pir: 3, pburst: 4, eburst: 0 }),
            counter_data: None,
        }),
        Entity::RegisterEntry(v1::RegisterEntry {
            register_id: 0x1600_0001,
            index,
            data: Some(v1::P4Data { data: Some(Data::Bitstring(bytes(b"\x07"))) }),
        }),
        engine(Engine::MulticastGroupEntry(v1::MulticastGroupEntry {
            multicast_group_id: 1,
            replicas: replicas.clone(),
            metadata: bytes(b"m"),
        })),
        engine(Engine::CloneSessionEntry(v1::CloneSessionEntry {
            session_id: 1,
            replicas,
            class_of_service: 1,
            packet_length_bytes: 100,
        })),
        Entity::ValueSetEntry(v1::ValueSetEntry {
            value_set_id: 0x0300_0001,
            members: vec![v1::ValueSetMember {
                r#match: vec![field(1, FieldMatchType::Exact(Exact { value: bytes(b"\x05") }))],
            }],
        }),
        Entity::DigestEntry(v1::DigestEntry {
            digest_id: 0x1700_0001,
            config: Some(v1::digest_entry::Config {
                max_timeout_ns: 1,
                max_list_size: 2,
                ack_timeout_ns: 3,
            }),
        }),
        Entity::ExternEntry(v1::ExternEntry {
            extern_type_id: 0x81,
            extern_id: 0x8100_0001,
            entry: None,
        }),
    ]
}

fn write_request(kind: i32) -> v1::WriteRequest {
    let updates = seeds().into_iter().map(|entity| v1::Update {
        r#type: kind,
        entity: Some(v1::Entity { entity: Some(entity) }),
    });
    v1::WriteRequest { updates: updates.collect(), ..v1::WriteRequest::default() }
}

/// The seeds are useful for mutation only if many of them are accepted.
#[test]
fn the_seeds_are_accepted() {
    let mut store = Store::new(schema());
    let accepted = [v1::update::Type::Insert, v1::update::Type::Modify, v1::update::Type::Delete]
        .map(|kind| {
            let request = write_request(kind as i32);
            let outcomes =
                store.write_batch(&request.updates, Atomicity::ContinueOnError, Nanos(1));
            outcomes.iter().filter(|outcome| outcome.is_ok()).count()
        });
    // Counters and similar entities accept MODIFY only. The member cannot be deleted, because it is
    // still in its group.
    assert_eq!(accepted, [9, 15, 8]);
}

#[test]
fn mutated_updates_do_no_harm() {
    let schema = schema();
    let seeds: Vec<Vec<u8>> = seeds()
        .into_iter()
        .map(|entity| v1::Entity { entity: Some(entity) }.encode_to_vec())
        .collect();
    let mut random = Rng::with_seed(1);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..300 {
        let mut store = Store::new(Arc::clone(&schema));
        for step in 0..12 {
            let mut updates = Vec::new();
            for seed in &seeds {
                let mut bytes = seed.clone();
                if random.usize(..3) > 0 {
                    mutate(&mut bytes, &mut random);
                }
                if let Ok(entity) = v1::Entity::decode(bytes.as_slice()) {
                    let kind = if random.usize(..8) == 0 { random.i32(0..5) } else { 1 + step % 3 };
                    updates.push(v1::Update { r#type: kind, entity: Some(entity) });
                }
            }
            let atomicity = if random.usize(..4) == 0 {
                Atomicity::RollbackOnError
            } else {
                Atomicity::ContinueOnError
            };
            let outcomes = store.write_batch(&updates, atomicity, Nanos(random.u64(..)));
            assert_eq!(outcomes.len(), updates.len());
            accepted += outcomes.iter().filter(|outcome| outcome.is_ok()).count();
            refused += outcomes.iter().filter(|outcome| outcome.is_err()).count();

            let now = Nanos(random.u64(..));
            for entity in updates.iter().filter_map(|update| update.entity.as_ref()) {
                let mut read = Vec::new();
                let _ = store.read(entity, now, &mut |entity| read.push(entity));
                for entity in read {
                    let _ = store.write(&v1::Update { r#type: 2, entity: Some(entity) }, now);
                }
            }
            reads_as_written(&mut store);
            for entry in store.expire(now) {
                assert!(entry.idle_timeout_ns > 0);
                store.record_hit(&entry, random.u64(..), now).unwrap();
            }
        }
    }
    assert!(accepted > 5_000 && refused > 5_000, "{accepted} accepted, {refused} refused");
}

/// Returns a wildcard read for every kind of entity. Direct resources are requested, because a
/// MODIFY with an entry that lacks them would reset them.
fn wildcards() -> Vec<Entity> {
    use v1::packet_replication_engine_entry::Type as Engine;

    let entries = v1::TableEntry {
        counter_data: Some(v1::CounterData::default()),
        meter_config: Some(v1::MeterConfig::default()),
        ..v1::TableEntry::default()
    };
    let defaults = v1::TableEntry { is_default_action: true, ..entries.clone() };
    let engine = |r#type| {
        Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
            r#type: Some(r#type),
        })
    };
    // The counters are read by name, because one counter of the program is too large for a
    // wildcard.
    let counter = |counter_id| {
        Entity::CounterEntry(v1::CounterEntry { counter_id, ..v1::CounterEntry::default() })
    };
    vec![
        Entity::TableEntry(entries),
        Entity::TableEntry(defaults),
        Entity::DirectCounterEntry(v1::DirectCounterEntry::default()),
        Entity::DirectMeterEntry(v1::DirectMeterEntry::default()),
        Entity::ActionProfileMember(v1::ActionProfileMember::default()),
        Entity::ActionProfileGroup(v1::ActionProfileGroup::default()),
        counter(0x1200_0001),
        counter(0x1200_0002),
        Entity::MeterEntry(v1::MeterEntry::default()),
        Entity::RegisterEntry(v1::RegisterEntry::default()),
        engine(Engine::MulticastGroupEntry(v1::MulticastGroupEntry::default())),
        engine(Engine::CloneSessionEntry(v1::CloneSessionEntry::default())),
        Entity::ValueSetEntry(v1::ValueSetEntry::default()),
        Entity::DigestEntry(v1::DigestEntry::default()),
        Entity::ExternEntry(v1::ExternEntry::default()),
    ]
}

fn read(store: &Store, request: &Entity) -> Vec<Entity> {
    let request = v1::Entity { entity: Some(request.clone()) };
    let mut found = Vec::new();
    let mut visit = |entity: v1::Entity| found.extend(entity.entity);
    store.read(&request, Nanos(0), &mut visit).expect("what was read can be read again");
    found
}

/// Checks the read-write symmetry (specification 1.5, section of that name): reading with an entity
/// that a read returned finds that entity, and writing it changes nothing.
fn reads_as_written(store: &mut Store) {
    let all = |store: &Store| -> Vec<Entity> {
        wildcards().iter().flat_map(|wildcard| read(store, wildcard)).collect()
    };
    let before = all(store);
    for entity in &before {
        let itself = read(store, entity);
        assert!(itself.contains(entity), "{entity:?} finds {itself:?}");
        if let Entity::TableEntry(entry) = entity
            && (entry.is_const || entry.action.is_none())
        {
            // Constant entries refuse writes, and omitting the action of any other entry resets it.
            continue;
        }
        let entity = Some(v1::Entity { entity: Some(entity.clone()) });
        let update = v1::Update { r#type: v1::update::Type::Modify as i32, entity };
        store.write(&update, Nanos(0)).expect("what was read can be written");
    }
    assert_eq!(all(store), before);
}

#[test]
fn mutated_p4info_does_no_harm() {
    let bytes = text::parse(EVERYTHING).unwrap().encode_to_vec();
    let request = write_request(1);
    let mut random = Rng::with_seed(2);
    let mut accepted = 0;
    for _ in 0..3_000 {
        let mut bytes = bytes.clone();
        mutate(&mut bytes, &mut random);
        let Ok(p4info) = P4Info::decode(bytes.as_slice()) else { continue };
        let printed = text::print(&p4info).unwrap();
        assert_eq!(text::parse(&printed).as_ref(), Ok(&p4info));
        let Ok(schema) = Schema::new(p4info) else { continue };
        accepted += 1;
        let mut store = Store::new(schema);
        store.write_batch(&request.updates, Atomicity::RollbackOnError, Nanos(1));
    }
    assert!(accepted > 100, "{accepted} accepted");
}

#[test]
fn mutated_text_does_no_harm() {
    let mut random = Rng::with_seed(3);
    let mut refused = 0;
    for _ in 0..300 {
        let mut bytes = EVERYTHING.as_bytes().to_vec();
        mutate(&mut bytes, &mut random);
        let Ok(text) = String::from_utf8(bytes) else { continue };
        match text::parse(&text) {
            Ok(p4info) => drop(Schema::new(p4info)),
            Err(error) => {
                assert!(error.to_string().starts_with("line "), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 50, "{refused} refused");
}
