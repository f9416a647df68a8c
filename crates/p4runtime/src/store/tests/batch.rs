//! Tests of batches and their atomicity.

use proptest::prelude::*;

use super::*;
use crate::proto::v1::write_request::Atomicity;

fn codes(outcomes: Vec<Result<(), crate::status::EntityError>>) -> Vec<Code> {
    outcomes
        .into_iter()
        .map(|outcome| outcome.map_or_else(|error| error.code(), |()| Code::Ok))
        .collect()
}

#[test]
fn each_update_is_tried_when_errors_do_not_stop() {
    let mut switch = Switch::new();
    let updates = [1, 1, 2].map(|port| update(Type::Insert, exact_entry(port)));
    let outcomes = switch.store.write_batch(&updates, Atomicity::ContinueOnError, T0);
    assert_eq!(codes(outcomes), [Code::Ok, Code::AlreadyExists, Code::Ok]);
}

#[test]
fn a_failed_batch_changes_nothing() {
    for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        let mut switch = Switch::new();
        let updates = [1, 2, 1, 3].map(|port| update(Type::Insert, exact_entry(port)));
        let outcomes = switch.store.write_batch(&updates, atomicity, T0);
        assert_eq!(
            codes(outcomes),
            [Code::Aborted, Code::Aborted, Code::AlreadyExists, Code::Aborted]
        );
        assert_eq!(contents(&switch.store), contents(&Switch::new().store));
        let outcomes = switch.store.write_batch(&updates[..2], atomicity, T0);
        assert_eq!(codes(outcomes), [Code::Ok, Code::Ok]);
        assert_eq!(switch.store.write_batch(&[], atomicity, T0), []);
    }
}

/// Returns everything that can be read from a store.
pub(super) fn contents(store: &Store) -> Vec<Entity> {
    use crate::proto::v1::packet_replication_engine_entry::Type as Engine;

    let all = v1::TableEntry {
        counter_data: Some(v1::CounterData::default()),
        meter_config: Some(v1::MeterConfig::default()),
        time_since_last_hit: Some(v1::table_entry::IdleTimeout::default()),
        ..v1::TableEntry::default()
    };
    let defaults =
        v1::TableEntry { is_default_action: true, time_since_last_hit: None, ..all.clone() };
    let engine = |engine| v1::PacketReplicationEngineEntry { r#type: Some(engine) };
    let counter = |counter_id| v1::CounterEntry { counter_id, ..v1::CounterEntry::default() };
    let requests = [
        Entity::from(all),
        defaults.into(),
        v1::ActionProfileMember::default().into(),
        v1::ActionProfileGroup::default().into(),
        counter(0x1200_0001).into(),
        counter(0x1200_0002).into(),
        v1::MeterEntry::default().into(),
        v1::RegisterEntry::default().into(),
        engine(Engine::MulticastGroupEntry(Default::default())).into(),
        engine(Engine::CloneSessionEntry(Default::default())).into(),
        v1::ValueSetEntry::default().into(),
        v1::DigestEntry::default().into(),
    ];
    let mut found = Vec::new();
    for request in requests {
        let request = v1::Entity { entity: Some(request) };
        store
            .read(&request, T0, &mut |entity| {
                found.push(entity.entity.expect("read entities are set"))
            })
            .expect("wildcards can be read");
    }
    found
}

/// Generates updates of every kind of entity, with few keys so that they collide. Some are refused.
fn any_update() -> impl Strategy<Value = v1::Update> {
    use crate::proto::v1::packet_replication_engine_entry::Type as Engine;

    let kind = prop_oneof![
        3 => Just(Type::Insert),
        2 => Just(Type::Modify),
        2 => Just(Type::Delete),
    ];
    let table_action = prop_oneof![
        Just(action(FORWARD, &[&[1]])),
        Just(action(DROP, &[])),
        (1_u32..4).prop_map(member_ref),
        (1_u32..3).prop_map(group_ref),
        prop::collection::vec(1..4, 0..3).prop_map(|weights| one_shot(&weights)),
        Just(None),
    ];
    let table = prop_oneof![Just(EXACT), Just(INDIRECT), Just(WEIGHTED), Just(COUNTED)];
    let entry = (table, 1_u8..6, table_action, 0_i64..3, any::<bool>()).prop_map(
        |(table, key, action, number, default)| {
            let mut entry = if table == EXACT { exact_entry(key) } else { keyed(table, key, None) };
            entry.action = action;
            entry.controller_metadata = number.unsigned_abs();
            if table == EXACT {
                entry.idle_timeout_ns = number;
                entry.counter_data =
                    (number > 1).then_some(v1::CounterData { byte_count: number, packet_count: 1 });
            }
            if default && key == 1 {
                entry.r#match.clear();
                entry.idle_timeout_ns = 0;
                entry.is_default_action = true;
            }
            Entity::from(entry)
        },
    );
    let profile = prop_oneof![Just(PROFILE), Just(BY_WEIGHT), Just(BY_MEMBERS)];
    let member = (profile.clone(), 1_u32..4, 0_u8..4).prop_map(|(profile, id, port)| {
        Entity::from(v1::ActionProfileMember {
            action_profile_id: profile,
            member_id: id,
            action: Some(call(FORWARD, &[&[port]])),
        })
    });
    let group = (profile, 1_u32..3, prop::collection::btree_map(1_u32..4, 1..4, 0..4)).prop_map(
        |(profile, id, members)| {
            let members = members.into_iter().map(|(member_id, weight)| {
                v1::action_profile_group::Member { member_id, weight, watch_kind: None }
            });
            Entity::from(v1::ActionProfileGroup {
                action_profile_id: profile,
                group_id: id,
                members: members.collect(),
                max_size: 6,
            })
        },
    );
    let index = prop::option::of((0_i64..4).prop_map(|index| v1::Index { index }));
    let counter = (index.clone(), 0_i64..3).prop_map(|(index, count)| {
        let data = Some(v1::CounterData { byte_count: count, packet_count: count });
        Entity::from(v1::CounterEntry { counter_id: 0x1200_0001, index, data })
    });
    let meter = (index.clone(), 0_i64..3).prop_map(|(index, cir)| {
        let config = (cir > 0).then(|| v1::MeterConfig { cir, ..v1::MeterConfig::default() });
        Entity::from(v1::MeterEntry { meter_id: 0x1400_0001, index, config, counter_data: None })
    });
    let register = (index, 0_u8..3).prop_map(|(index, value)| {
        let data = v1::P4Data { data: Some(v1::p4_data::Data::Bitstring(bytes(&[value]))) };
        Entity::from(v1::RegisterEntry { register_id: 0x1600_0001, index, data: Some(data) })
    });
    let engine = (any::<bool>(), 0_u32..3, 0_u32..3).prop_map(|(multicast, id, port)| {
        let replicas = vec![v1::Replica {
            port_kind: Some(v1::replica::PortKind::EgressPort(port)),
            ..v1::Replica::default()
        }];
        let engine = if multicast {
            Engine::MulticastGroupEntry(v1::MulticastGroupEntry {
                multicast_group_id: id,
                replicas,
                ..Default::default()
            })
        } else {
            Engine::CloneSessionEntry(v1::CloneSessionEntry {
                session_id: id,
                replicas,
                ..Default::default()
            })
        };
        Entity::from(v1::PacketReplicationEngineEntry { r#type: Some(engine) })
    });
    let value_set = prop::collection::vec(1_u8..4, 0..3).prop_map(|values| {
        let members =
            values.iter().map(|value| v1::ValueSetMember { r#match: vec![exact(1, &[*value])] });
        Entity::from(v1::ValueSetEntry { value_set_id: 0x0300_0001, members: members.collect() })
    });
    let digest = (0_i64..3).prop_map(|timeout| {
        let config = v1::digest_entry::Config { max_timeout_ns: timeout, ..Default::default() };
        Entity::from(v1::DigestEntry { digest_id: 0x1700_0001, config: Some(config) })
    });
    let entity = prop_oneof![
        6 => entry, 3 => member, 3 => group, 1 => counter, 1 => meter, 1 => register, 1 => engine, 1 => value_set,
        1 => digest,
    ];
    (kind, entity).prop_map(|(kind, entity)| update(kind, entity))
}

proptest! {
    /// A batch that fails leaves the store as if it had never been sent, and a batch that succeeds
    /// has the effect of its updates one by one.
    #[test]
    fn rollback_restores_the_previous_entities(
        before in prop::collection::vec(any_update(), 0..40),
        batch in prop::collection::vec(any_update(), 0..12),
        after in prop::collection::vec(any_update(), 0..20),
    ) {
        let schema = schema();
        let mut store = Store::new(Arc::clone(&schema));
        let mut oracle = Store::new(schema);
        for update in &before {
            prop_assert_eq!(store.write(update, T0), oracle.write(update, T0));
        }
        let earlier = contents(&store);
        let outcomes = store.write_batch(&batch, Atomicity::RollbackOnError, T0);
        prop_assert_eq!(outcomes.len(), batch.len());
        if outcomes.iter().all(Result::is_ok) {
            for update in &batch {
                prop_assert_eq!(oracle.write(update, T0), Ok(()));
            }
        } else {
            prop_assert_eq!(contents(&store), earlier);
        }
        // State that cannot be read, such as reference counts, shows in which later updates are
        // accepted.
        for update in &after {
            prop_assert_eq!(store.write(update, T0), oracle.write(update, T0));
        }
        prop_assert_eq!(contents(&store), contents(&oracle));
    }

    /// Deleting every entity, referring ones before referred ones, always succeeds, so references
    /// are counted correctly.
    #[test]
    fn everything_can_be_deleted(updates in prop::collection::vec(any_update(), 0..60)) {
        let mut store = Store::new(schema());
        for update in &updates {
            let _ = store.write(update, T0);
        }
        let found = contents(&store);
        let rank = |entity: &Entity| match entity {
            Entity::TableEntry(_) => 0,
            Entity::ActionProfileGroup(_) => 1,
            Entity::ActionProfileMember(_) => 2,
            _ => 3,
        };
        for wanted in 0..3 {
            for entity in found.iter().filter(|entity| rank(entity) == wanted) {
                if matches!(entity, Entity::TableEntry(entry) if entry.is_default_action) {
                    continue;
                }
                prop_assert_eq!(store.write(&update(Type::Delete, entity.clone()), T0), Ok(()));
            }
        }
        let left = contents(&store);
        let only_what_always_exists = left.iter().all(|entity| match entity {
            Entity::TableEntry(entry) => entry.is_default_action,
            entity => rank(entity) == 3,
        });
        prop_assert!(only_what_always_exists);
    }
}
