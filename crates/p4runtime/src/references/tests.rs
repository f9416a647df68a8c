//! Tests of references: on a small switch, and by random batches against a model without an index.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::p4info::{Schema, text};
use crate::proto::v1::write_request::Atomicity;
use crate::proto::v1::{self, entity::Entity, update::Type};
use crate::status::{Code, EntityError};
use crate::store::{Nanos, Store};

const ROUTES: u32 = 0x0200_0001;
const NEXT_HOPS: u32 = 0x0200_0002;
const NEIGHBOURS: u32 = 0x0200_0003;
const TO_NEXT_HOP: u32 = 0x0100_0001;
const TO_NEIGHBOUR: u32 = 0x0100_0002;
const TO_GROUP: u32 = 0x0100_0003;
const SET_MAC: u32 = 0x0100_0004;

const P4INFO: &str = r#"
tables {
  preamble { id: 0x02000001 name: "i.routes" alias: "routes" }
  match_fields { id: 1 name: "dst" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000001 }
  action_refs { id: 0x01000003 }
}
tables {
  preamble { id: 0x02000002 name: "i.next_hops" alias: "next_hops" }
  match_fields { id: 1 name: "next_hop" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000002 }
}
tables {
  preamble { id: 0x02000003 name: "i.neighbours" alias: "neighbours" }
  match_fields { id: 1 name: "rif" bitwidth: 8 match_type: EXACT }
  match_fields { id: 2 name: "ip" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000004 }
}
actions {
  preamble { id: 0x01000001 name: "i.to_next_hop" alias: "to_next_hop" }
  params { id: 1 name: "id" bitwidth: 8 annotations: "@refers_to(next_hops , next_hop)" }
}
actions {
  preamble { id: 0x01000002 name: "i.to_neighbour" alias: "to_neighbour" }
  params { id: 1 name: "ip" bitwidth: 8 annotations: "@refers_to(neighbours , ip)" }
  params { id: 2 name: "rif" bitwidth: 8 annotations: "@refers_to(neighbours , rif)" }
}
actions {
  preamble { id: 0x01000003 name: "i.to_group" alias: "to_group" }
  params {
    id: 1 name: "group" bitwidth: 16
    annotations: "@refers_to(builtin : : multicast_group_table , multicast_group_id)"
  }
}
actions { preamble { id: 0x01000004 name: "i.set_mac" alias: "set_mac" } }
"#;

fn store(p4info: &str) -> Store {
    let mut store = Store::new(Schema::new(text::parse(p4info).unwrap()).unwrap());
    store.check_references(Nanos(0)).unwrap();
    store
}

fn entry(table_id: u32, key: &[u8], action_id: u32, arguments: &[u8]) -> Entity {
    let exact = |(id, value): (u32, &u8)| v1::FieldMatch {
        field_id: id,
        field_match_type: Some(v1::field_match::FieldMatchType::Exact(v1::field_match::Exact {
            value: vec![*value].into(),
        })),
    };
    let param =
        |(id, value): (u32, &u8)| v1::action::Param { param_id: id, value: vec![*value].into() };
    let params = (1..).zip(arguments).map(param).collect();
    Entity::TableEntry(v1::TableEntry {
        table_id,
        r#match: (1..).zip(key).map(exact).collect(),
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(v1::Action { action_id, params })),
        }),
        ..v1::TableEntry::default()
    })
}

fn group(id: u32) -> Entity {
    use v1::packet_replication_engine_entry::Type;
    let group = v1::MulticastGroupEntry { multicast_group_id: id, ..Default::default() };
    Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(Type::MulticastGroupEntry(group)),
    })
}

fn update(kind: Type, entity: Entity) -> v1::Update {
    v1::Update { r#type: kind as i32, entity: Some(v1::Entity { entity: Some(entity) }) }
}

fn write(store: &mut Store, kind: Type, entity: Entity) -> Result<(), EntityError> {
    store.write(&update(kind, entity), Nanos(0))
}

#[track_caller]
fn refused(outcome: Result<(), EntityError>, code: Code, message: &str) {
    let error = outcome.expect_err(message);
    assert_eq!((error.code(), error.message()), (code, message));
}

#[test]
fn what_is_referred_to_comes_first_and_goes_last() {
    let mut store = store(P4INFO);
    let route = |hop| entry(ROUTES, &[1], TO_NEXT_HOP, &[hop]);
    let hop = |number, ip, rif| entry(NEXT_HOPS, &[number], TO_NEIGHBOUR, &[ip, rif]);
    let neighbour = |rif, ip| entry(NEIGHBOURS, &[rif, ip], SET_MAC, &[]);
    refused(
        write(&mut store, Type::Insert, route(7)),
        Code::NotFound,
        "an entry of table 'i.routes': it refers to an entry of table 'i.next_hops' with \
         next_hop = 0x7, which does not exist; insert that before",
    );
    assert_eq!(write(&mut store, Type::Insert, neighbour(2, 9)), Ok(()));
    // Both values must be those of one entry.
    refused(
        write(&mut store, Type::Insert, hop(7, 2, 9)),
        Code::NotFound,
        "an entry of table 'i.next_hops': it refers to an entry of table 'i.neighbours' with \
         ip = 0x2, rif = 0x9, which does not exist; insert that before",
    );
    assert_eq!(write(&mut store, Type::Insert, hop(7, 9, 2)), Ok(()));
    assert_eq!(write(&mut store, Type::Insert, route(7)), Ok(()));
    refused(
        write(&mut store, Type::Delete, hop(7, 9, 2)),
        Code::FailedPrecondition,
        "an entry of table 'i.next_hops': an entry of table 'i.routes' refers to an entry of table \
         'i.next_hops' with next_hop = 0x7; delete that before",
    );
    assert_eq!(write(&mut store, Type::Insert, hop(8, 9, 2)), Ok(()));
    refused(
        write(&mut store, Type::Modify, route(9)),
        Code::NotFound,
        "an entry of table 'i.routes': it refers to an entry of table 'i.next_hops' with \
         next_hop = 0x9, which does not exist; insert that before",
    );
    assert_eq!(write(&mut store, Type::Modify, route(8)), Ok(()));
    assert_eq!(write(&mut store, Type::Delete, hop(7, 9, 2)), Ok(()));
    assert_eq!(write(&mut store, Type::Delete, route(8)), Ok(()));
    assert_eq!(write(&mut store, Type::Delete, hop(8, 9, 2)), Ok(()));
    assert_eq!(write(&mut store, Type::Delete, neighbour(2, 9)), Ok(()));
}

#[test]
fn multicast_groups_are_referred_to() {
    let mut store = store(P4INFO);
    let route = || entry(ROUTES, &[1], TO_GROUP, &[5]);
    refused(
        write(&mut store, Type::Insert, route()),
        Code::NotFound,
        "an entry of table 'i.routes': it refers to a multicast group with \
         multicast_group_id = 0x5, which does not exist; insert that before",
    );
    assert_eq!(write(&mut store, Type::Insert, group(5)), Ok(()));
    assert_eq!(write(&mut store, Type::Insert, route()), Ok(()));
    assert_eq!(write(&mut store, Type::Modify, group(5)), Ok(()));
    let error = write(&mut store, Type::Delete, group(5)).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert_eq!(write(&mut store, Type::Delete, route()), Ok(()));
    assert_eq!(write(&mut store, Type::Delete, group(5)), Ok(()));
}

/// The program with references from a key, from members of an action profile and to clone sessions.
fn larger() -> String {
    P4INFO.replace(
        "action_refs { id: 0x01000003 }",
        "action_refs { id: 0x01000003 }\n  action_refs { id: 0x01000005 }",
    ) + r#"
tables {
  preamble { id: 0x02000004 name: "i.vlans" alias: "vlans" }
  match_fields { id: 1 name: "vlan" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000004 }
}
tables {
  preamble { id: 0x02000005 name: "i.ports" alias: "ports" }
  match_fields {
    id: 1 name: "vlan" bitwidth: 8 match_type: EXACT annotations: "@refers_to(vlans , vlan)"
  }
  match_fields { id: 2 name: "port" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000004 }
}
tables {
  preamble { id: 0x02000006 name: "i.groups" alias: "groups" }
  match_fields { id: 1 name: "group" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000001 }
  implementation_id: 0x11000001
}
actions {
  preamble { id: 0x01000005 name: "i.to_session" alias: "to_session" }
  params {
    id: 1 name: "session" bitwidth: 16
    annotations: "@refers_to(builtin : : clone_session_table , clone_session_id)"
  }
}
action_profiles {
  preamble { id: 0x11000001 name: "i.members" alias: "members" }
  table_ids: 0x02000006
  with_selector: true
  size: 16
  max_group_size: 8
}
"#
}

const TO_SESSION: u32 = 0x0100_0005;
const VLANS: u32 = 0x0200_0004;
const PORTS: u32 = 0x0200_0005;
const GROUPS: u32 = 0x0200_0006;
const MEMBERS: u32 = 0x1100_0001;

/// Returns an entry of a next hop, whose neighbour the store has.
fn hop(number: u8) -> Entity {
    entry(NEXT_HOPS, &[number], TO_NEIGHBOUR, &[1, 1])
}

/// Returns a switch with two next hops, 7 and 8.
fn with_hops() -> Store {
    let mut store = store(&larger());
    for entity in [entry(NEIGHBOURS, &[1, 1], SET_MAC, &[]), hop(7), hop(8)] {
        assert_eq!(write(&mut store, Type::Insert, entity), Ok(()));
    }
    store
}

fn code(outcome: Result<(), EntityError>) -> Option<Code> {
    outcome.err().map(|error| error.code())
}

#[test]
fn keys_refer_to_entries() {
    let mut store = store(&larger());
    let vlan = |vlan| entry(VLANS, &[vlan], SET_MAC, &[]);
    let port = |vlan| entry(PORTS, &[vlan, 3], SET_MAC, &[]);
    refused(
        write(&mut store, Type::Insert, port(9)),
        Code::NotFound,
        "an entry of table 'i.ports': it refers to an entry of table 'i.vlans' with vlan = 0x9, \
         which does not exist; insert that before",
    );
    assert_eq!(write(&mut store, Type::Insert, vlan(9)), Ok(()));
    assert_eq!(write(&mut store, Type::Insert, port(9)), Ok(()));
    assert_eq!(code(write(&mut store, Type::Delete, vlan(9))), Some(Code::FailedPrecondition));
    assert_eq!(write(&mut store, Type::Delete, port(9)), Ok(()));
    assert_eq!(write(&mut store, Type::Delete, vlan(9)), Ok(()));
}

#[test]
fn clone_sessions_are_referred_to() {
    let session = |id| {
        use v1::packet_replication_engine_entry::Type;
        let session = v1::CloneSessionEntry { session_id: id, ..Default::default() };
        Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
            r#type: Some(Type::CloneSessionEntry(session)),
        })
    };
    let mut store = store(&larger());
    let route = || entry(ROUTES, &[1], TO_SESSION, &[5]);
    assert_eq!(write(&mut store, Type::Insert, group(5)), Ok(()));
    refused(
        write(&mut store, Type::Insert, route()),
        Code::NotFound,
        "an entry of table 'i.routes': it refers to a clone session with clone_session_id = 0x5, \
         which does not exist; insert that before",
    );
    assert_eq!(write(&mut store, Type::Insert, session(5)), Ok(()));
    assert_eq!(write(&mut store, Type::Insert, route()), Ok(()));
    assert_eq!(code(write(&mut store, Type::Delete, session(5))), Some(Code::FailedPrecondition));
    assert_eq!(write(&mut store, Type::Delete, group(5)), Ok(()), "another target has this number");
    assert_eq!(write(&mut store, Type::Delete, route()), Ok(()));
    assert_eq!(write(&mut store, Type::Delete, session(5)), Ok(()));
}

/// Every member of a one-shot group refers, and so does every member of an action profile.
#[test]
fn members_refer_as_entries_do() {
    use v1::table_action::Type as Kind;
    let mut store = with_hops();
    let to = |hop: u8| v1::Action {
        action_id: TO_NEXT_HOP,
        params: vec![v1::action::Param { param_id: 1, value: vec![hop].into() }],
    };
    let one_shot = |hops: &[u8]| {
        let member = |hop: &u8| v1::ActionProfileAction {
            action: Some(to(*hop)),
            weight: 1,
            ..Default::default()
        };
        let set = v1::ActionProfileActionSet {
            action_profile_actions: hops.iter().map(member).collect(),
            ..Default::default()
        };
        let Entity::TableEntry(entry) = entry(GROUPS, &[1], TO_NEXT_HOP, &[7]) else {
            unreachable!("an entry is a table entry")
        };
        let action = Some(v1::TableAction { r#type: Some(Kind::ActionProfileActionSet(set)) });
        Entity::TableEntry(v1::TableEntry { action, ..entry })
    };
    assert_eq!(code(write(&mut store, Type::Insert, one_shot(&[7, 9, 8]))), Some(Code::NotFound));
    assert_eq!(write(&mut store, Type::Insert, one_shot(&[7, 8])), Ok(()));
    for number in [7, 8] {
        let deleted = write(&mut store, Type::Delete, hop(number));
        assert_eq!(code(deleted), Some(Code::FailedPrecondition));
    }
    assert_eq!(write(&mut store, Type::Modify, one_shot(&[7])), Ok(()));
    assert_eq!(write(&mut store, Type::Delete, hop(8)), Ok(()));
    let member = |hop| {
        Entity::ActionProfileMember(v1::ActionProfileMember {
            action_profile_id: MEMBERS,
            member_id: 1,
            action: Some(to(hop)),
        })
    };
    let mut store = with_hops();
    assert_eq!(write(&mut store, Type::Delete, hop(8)), Ok(()));
    assert_eq!(code(write(&mut store, Type::Insert, member(8))), Some(Code::NotFound));
    assert_eq!(write(&mut store, Type::Insert, hop(8)), Ok(()));
    assert_eq!(write(&mut store, Type::Insert, member(8)), Ok(()));
    assert_eq!(code(write(&mut store, Type::Delete, hop(8))), Some(Code::FailedPrecondition));
    assert_eq!(write(&mut store, Type::Delete, member(8)), Ok(()));
    assert_eq!(write(&mut store, Type::Delete, hop(8)), Ok(()));
}

/// A default action refers while it is set.
#[test]
fn default_entries_refer_until_they_are_reset() {
    let mut store = with_hops();
    let default = |hop: Option<u8>| {
        let Entity::TableEntry(entry) = entry(ROUTES, &[], TO_NEXT_HOP, &[hop.unwrap_or(7)]) else {
            unreachable!("an entry is a table entry")
        };
        let action = entry.action.clone().filter(|_| hop.is_some());
        Entity::TableEntry(v1::TableEntry { is_default_action: true, action, ..entry })
    };
    assert_eq!(code(write(&mut store, Type::Modify, default(Some(9)))), Some(Code::NotFound));
    assert_eq!(write(&mut store, Type::Modify, default(Some(7))), Ok(()));
    assert_eq!(code(write(&mut store, Type::Delete, hop(7))), Some(Code::FailedPrecondition));
    assert_eq!(write(&mut store, Type::Delete, hop(8)), Ok(()));
    assert_eq!(write(&mut store, Type::Modify, default(None)), Ok(()));
    assert_eq!(write(&mut store, Type::Delete, hop(7)), Ok(()));
}

/// An update of a batch sees the earlier updates and none of the later ones. A batch that is rolled
/// back leaves the references as they were.
#[test]
fn updates_of_a_batch_are_checked_in_order() {
    let mut store = with_hops();
    let route = || entry(ROUTES, &[1], TO_NEXT_HOP, &[9]);
    let mut batch = |kind, entities: [Entity; 2], atomicity| {
        let updates = entities.map(|entity| update(kind, entity));
        let outcomes = store.write_batch(&updates, atomicity, Nanos(0));
        outcomes.into_iter().map(code).collect::<Vec<_>>()
    };
    let (each, all) = (Atomicity::ContinueOnError, Atomicity::RollbackOnError);
    let missing = Some(Code::NotFound);
    assert_eq!(batch(Type::Insert, [route(), hop(9)], each), [missing, None]);
    assert_eq!(batch(Type::Insert, [route(), hop(9)], each), [None, Some(Code::AlreadyExists)]);
    let referred_to = Some(Code::FailedPrecondition);
    assert_eq!(batch(Type::Delete, [hop(9), route()], each), [referred_to, None]);
    assert_eq!(batch(Type::Delete, [route(), hop(9)], each), [Some(Code::NotFound), None]);
    assert_eq!(batch(Type::Insert, [hop(9), route()], all), [None, None]);
    // The route would go, but the batch is rolled back, so it refers as before.
    let outcomes = batch(Type::Delete, [route(), entry(ROUTES, &[2], TO_NEXT_HOP, &[9])], all);
    assert!(outcomes.iter().all(Option::is_some), "{outcomes:?}");
    assert_eq!(batch(Type::Delete, [hop(9), hop(8)], each), [referred_to, None]);
    assert_eq!(batch(Type::Delete, [route(), hop(9)], all), [None, None]);
}

#[test]
fn references_are_not_checked_unless_requested() {
    let mut store = Store::new(Schema::new(text::parse(P4INFO).unwrap()).unwrap());
    let route = entry(ROUTES, &[1], TO_NEXT_HOP, &[7]);
    assert_eq!(write(&mut store, Type::Insert, route.clone()), Ok(()));
    // From then on they are, with what is there.
    store.check_references(Nanos(0)).unwrap();
    let error = write(&mut store, Type::Modify, route).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
}

#[test]
fn declarations_without_a_target_or_in_a_circle_are_refused() {
    let refused = |p4info: &str| {
        let mut store = Store::new(Schema::new(text::parse(p4info).unwrap()).unwrap());
        store.check_references(Nanos(0)).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&P4INFO.replace("(next_hops , next_hop)", "(next_hops , hop)")),
        "action 'i.to_next_hop': @refers_to(next_hops, hop) names nothing that can be referred to"
    );
    assert_eq!(
        refused(&P4INFO.replace("(neighbours , ip)", "(routes , dst)")),
        "table 'i.routes': references (@refers_to) lead from its entries back to them"
    );
}

/// The keys of entries and groups with what each refers to, without an index.
type Model = BTreeMap<ModelKey, Option<ModelKey>>;

/// A table, or 0 for multicast groups, and the values of a key.
type ModelKey = (u32, Vec<u8>);

fn any_update() -> impl Strategy<Value = (Type, u8, u8, u8, u8)> {
    let kinds = prop::sample::select(vec![Type::Insert, Type::Insert, Type::Modify, Type::Delete]);
    (kinds, 0..5_u8, 0..3_u8, 0..3_u8, 0..3_u8)
}

/// Returns an entity, its key in the model, and the key of what it refers to.
fn entity(which: u8, a: u8, b: u8, c: u8) -> (Entity, ModelKey, Option<ModelKey>) {
    match which {
        0 => {
            (entry(ROUTES, &[a], TO_NEXT_HOP, &[b]), (ROUTES, vec![a]), Some((NEXT_HOPS, vec![b])))
        }
        1 => (entry(ROUTES, &[a], TO_GROUP, &[b + 1]), (ROUTES, vec![a]), Some((0, vec![b + 1]))),
        2 => {
            let refers = Some((NEIGHBOURS, vec![c, b]));
            (entry(NEXT_HOPS, &[a], TO_NEIGHBOUR, &[b, c]), (NEXT_HOPS, vec![a]), refers)
        }
        3 => (entry(NEIGHBOURS, &[a, b], SET_MAC, &[]), (NEIGHBOURS, vec![a, b]), None),
        _ => (group(u32::from(a) + 1), (0, vec![a + 1]), None),
    }
}

/// Applies an update to the model, and returns whether it is accepted.
fn apply(model: &mut Model, kind: Type, key: ModelKey, refers: Option<ModelKey>) -> bool {
    let exists = model.contains_key(&key);
    let is_referred_to = || model.values().any(|of| of.as_ref() == Some(&key));
    let has_target = || refers.as_ref().is_none_or(|target| model.contains_key(target));
    let accepted = match kind {
        Type::Delete => exists && !is_referred_to(),
        Type::Modify => exists && has_target(),
        _ => !exists && has_target(),
    };
    if accepted && kind == Type::Delete {
        model.remove(&key);
    } else if accepted {
        model.insert(key, refers);
    }
    accepted
}

proptest! {
    /// Random batches, with and without rollback, are accepted exactly where the model accepts
    /// them.
    #[test]
    fn batches_agree_with_the_model(
        batches in prop::collection::vec((any::<bool>(), prop::collection::vec(any_update(), 1..8)), 1..20)
    ) {
        let schema: Arc<Schema> = Schema::new(text::parse(P4INFO).unwrap()).unwrap();
        let mut store = Store::new(schema);
        store.check_references(Nanos(0)).unwrap();
        let mut model = Model::new();
        for (rolls_back, updates) in batches {
            let before = model.clone();
            let mut messages = Vec::new();
            let mut wanted = Vec::new();
            for (kind, which, a, b, c) in updates {
                let (entity, key, refers) = entity(which, a, b, c);
                messages.push(update(kind, entity));
                wanted.push(apply(&mut model, kind, key, refers));
            }
            let atomicity = if rolls_back { Atomicity::RollbackOnError } else { Atomicity::ContinueOnError };
            let outcomes = store.write_batch(&messages, atomicity, Nanos(0));
            let accepted: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
            if !rolls_back {
                prop_assert_eq!(accepted, wanted);
            } else if wanted.iter().all(|accepted| *accepted) {
                prop_assert!(accepted.iter().all(|accepted| *accepted));
            } else {
                prop_assert!(accepted.iter().all(|accepted| !accepted));
                model = before;
            }
        }
    }
}
