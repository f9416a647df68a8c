//! Compares the entity store with a simple model of two tables and an action profile in plain maps.
//!
//! The model knows nothing of byte strings, keys or changes: it receives the meaning of an update
//! as numbers, and returns the code that the store must return. Updates reach the store as messages
//! with varying numbers of leading zeros.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use p4runtime::p4info::{Schema, text};
use p4runtime::proto::v1;
use p4runtime::proto::v1::entity::Entity;
use p4runtime::proto::v1::field_match::{Exact, FieldMatchType, Ternary};
use p4runtime::proto::v1::table_action::Type as ActionType;
use p4runtime::proto::v1::update::Type;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::status::Code;
use p4runtime::store::{Nanos, Store};
use p4runtime::value;
use proptest::prelude::*;

const EXACT: u32 = 0x0200_0001;
const EXACT_SIZE: usize = 4;
const ACL: u32 = 0x0200_0002;
const INDIRECT: u32 = 0x0200_0007;
const PROFILE: u32 = 0x1100_0001;
const PROFILE_SIZE: usize = 2;
const FORWARD: u32 = 0x0100_0001;
const PORT_BITS: u32 = 9;

/// The meaning of an update in numbers.
#[derive(Debug, Clone)]
enum Op {
    /// An entry of the table with two exact fields, which forwards to a port.
    Exact { kind: Type, key: (u16, u64), port: u16 },
    /// An entry of the table with a ternary field.
    Acl { kind: Type, key: (u32, u32, i32), port: u16 },
    /// A member that forwards to a port.
    Member { kind: Type, id: u32, port: u16 },
    /// An entry that refers to a member.
    Indirect { kind: Type, key: u8, member: u32 },
}

/// The contents of the store as maps.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    exact: BTreeMap<(u16, u64), u16>,
    acl: BTreeMap<(u32, u32, i32), u16>,
    members: BTreeMap<u32, u16>,
    indirect: BTreeMap<u8, u32>,
}

fn fits(port: u16) -> bool {
    u32::from(port) < 1 << PORT_BITS
}

impl Model {
    fn write(&mut self, op: &Op) -> Code {
        match *op {
            Op::Exact { key, .. } if !fits(key.0) => Code::OutOfRange,
            Op::Exact { kind, port, .. } if kind != Type::Delete && !fits(port) => Code::OutOfRange,
            Op::Exact { kind, key, port } => put(&mut self.exact, EXACT_SIZE, kind, key, port),
            Op::Acl { key: (value, mask, priority), .. }
                if mask == 0 || value & !mask != 0 || priority <= 0 =>
            {
                Code::InvalidArgument
            }
            Op::Acl { kind, port, .. } if kind != Type::Delete && !fits(port) => Code::OutOfRange,
            Op::Acl { kind, key, port } => put(&mut self.acl, 1024, kind, key, port),
            Op::Member { id: 0, .. } => Code::InvalidArgument,
            Op::Member { kind: Type::Delete, id, .. }
                if self.members.contains_key(&id)
                    && self.indirect.values().any(|member| *member == id) =>
            {
                Code::FailedPrecondition
            }
            Op::Member { kind, port, .. } if kind != Type::Delete && !fits(port) => {
                Code::OutOfRange
            }
            Op::Member { kind, id, port } => put(&mut self.members, PROFILE_SIZE, kind, id, port),
            Op::Indirect { kind, member: 0, .. } if kind != Type::Delete => Code::InvalidArgument,
            Op::Indirect { kind, member, .. }
                if kind != Type::Delete && !self.members.contains_key(&member) =>
            {
                Code::NotFound
            }
            Op::Indirect { kind, key, member } => put(&mut self.indirect, 1024, kind, key, member),
        }
    }
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, size: usize, kind: Type, key: K, value: V) -> Code {
    match (kind, map.contains_key(&key)) {
        (Type::Insert, true) => Code::AlreadyExists,
        (Type::Insert, false) if map.len() >= size => Code::ResourceExhausted,
        (Type::Modify | Type::Delete, false) => Code::NotFound,
        (Type::Delete, true) => {
            map.remove(&key);
            Code::Ok
        }
        _ => {
            map.insert(key, value);
            Code::Ok
        }
    }
}

/// Returns a number as a byte string with leading zeros.
fn padded(number: impl Into<u128>, zeros: usize) -> Bytes {
    let mut bytes = vec![0; zeros];
    bytes.extend_from_slice(&value::encode(number.into()));
    bytes.into()
}

fn message(op: &Op, zeros: usize) -> v1::Update {
    let exact = |id: u32, number: u128| v1::FieldMatch {
        field_id: id,
        field_match_type: Some(FieldMatchType::Exact(Exact { value: padded(number, zeros) })),
    };
    let forward = |port: u16| v1::Action {
        action_id: FORWARD,
        params: vec![v1::action::Param { param_id: 1, value: padded(port, zeros) }],
    };
    let action = |action: ActionType| Some(v1::TableAction { r#type: Some(action) });
    let (kind, entity) = match *op {
        Op::Exact { kind, key, port } => (
            kind,
            Entity::TableEntry(v1::TableEntry {
                table_id: EXACT,
                r#match: vec![exact(2, key.1.into()), exact(1, key.0.into())],
                action: action(ActionType::Action(forward(port))),
                ..v1::TableEntry::default()
            }),
        ),
        Op::Acl { kind, key: (number, mask, priority), port } => (
            kind,
            Entity::TableEntry(v1::TableEntry {
                table_id: ACL,
                r#match: vec![v1::FieldMatch {
                    field_id: 1,
                    field_match_type: Some(FieldMatchType::Ternary(Ternary {
                        value: padded(number, zeros),
                        mask: padded(mask, zeros),
                    })),
                }],
                priority,
                action: action(ActionType::Action(forward(port))),
                ..v1::TableEntry::default()
            }),
        ),
        Op::Member { kind, id, port } => (
            kind,
            Entity::ActionProfileMember(v1::ActionProfileMember {
                action_profile_id: PROFILE,
                member_id: id,
                action: Some(forward(port)),
            }),
        ),
        Op::Indirect { kind, key, member } => (
            kind,
            Entity::TableEntry(v1::TableEntry {
                table_id: INDIRECT,
                r#match: vec![exact(1, key.into())],
                action: action(ActionType::ActionProfileMemberId(member)),
                ..v1::TableEntry::default()
            }),
        ),
    };
    v1::Update { r#type: kind as i32, entity: Some(v1::Entity { entity: Some(entity) }) }
}

/// Returns the contents of a store in the form of the model.
fn read(store: &Store) -> Model {
    let mut model = Model::default();
    let mut visit = |entity: v1::Entity| match entity.entity {
        Some(Entity::TableEntry(entry)) => {
            let numbers: Vec<u128> = entry
                .r#match
                .iter()
                .flat_map(|field| match &field.field_match_type {
                    Some(FieldMatchType::Exact(exact)) => vec![number(&exact.value)],
                    Some(FieldMatchType::Ternary(ternary)) => {
                        vec![number(&ternary.value), number(&ternary.mask)]
                    }
                    other => panic!("{other:?}"),
                })
                .collect();
            match (entry.table_id, &numbers[..], entry.action.and_then(|action| action.r#type)) {
                (EXACT, [first, second], Some(ActionType::Action(action))) => {
                    model.exact.insert((*first as u16, *second as u64), port(&action));
                }
                (ACL, [value, mask], Some(ActionType::Action(action))) => {
                    model.acl.insert((*value as u32, *mask as u32, entry.priority), port(&action));
                }
                (INDIRECT, [key], Some(ActionType::ActionProfileMemberId(member))) => {
                    model.indirect.insert(*key as u8, member);
                }
                other => panic!("{other:?}"),
            }
        }
        Some(Entity::ActionProfileMember(member)) => {
            model.members.insert(member.member_id, port(&member.action.unwrap()));
        }
        other => panic!("{other:?}"),
    };
    for request in [
        Entity::TableEntry(v1::TableEntry::default()),
        Entity::ActionProfileMember(v1::ActionProfileMember::default()),
    ] {
        store.read(&v1::Entity { entity: Some(request) }, Nanos(0), &mut visit).unwrap();
    }
    model
}

/// Returns the number in a byte string, which must be canonical.
fn number(bytes: &[u8]) -> u128 {
    let number = value::decode(bytes).unwrap();
    assert_eq!(value::encode(number), bytes, "read values are canonical");
    number
}

fn port(action: &v1::Action) -> u16 {
    assert_eq!((action.action_id, action.params.len()), (FORWARD, 1));
    number(&action.params[0].value) as u16
}

fn any_op() -> impl Strategy<Value = Op> {
    let kind =
        prop_oneof![4 => Just(Type::Insert), 2 => Just(Type::Modify), 3 => Just(Type::Delete)];
    let port = || prop_oneof![8 => 0_u16..4, 1 => 510_u16..514];
    prop_oneof![
        (kind.clone(), port(), 0_u64..2, port()).prop_map(|(kind, first, second, port)| {
            Op::Exact { kind, key: (first, second << 47), port }
        }),
        (kind.clone(), 0_u32..4, 0_u32..4, -1_i32..3, port()).prop_map(
            |(kind, value, mask, priority, port)| {
                Op::Acl { kind, key: (value << 7, mask << 7, priority), port }
            }
        ),
        (kind.clone(), 0_u32..4, port()).prop_map(|(kind, id, port)| Op::Member { kind, id, port }),
        (kind, 0_u8..3, 0_u32..4).prop_map(|(kind, key, member)| Op::Indirect {
            kind,
            key,
            member
        }),
    ]
}

fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    Arc::clone(SCHEMA.get_or_init(|| {
        Schema::new(text::parse(include_str!("data/everything.p4info.txtpb")).unwrap()).unwrap()
    }))
}

fn code(outcome: &Result<(), p4runtime::status::EntityError>) -> Code {
    outcome.as_ref().map_or_else(|error| error.code(), |()| Code::Ok)
}

proptest! {
    #[test]
    fn every_update_has_the_outcome_of_the_model(
        ops in prop::collection::vec((any_op(), 0_usize..4), 0..80),
    ) {
        let mut store = Store::new(schema());
        let mut model = Model::default();
        for (op, zeros) in &ops {
            let outcome = store.write(&message(op, *zeros), Nanos(0));
            prop_assert_eq!(code(&outcome), model.write(op), "{:?}: {:?}", op, outcome);
        }
        prop_assert_eq!(read(&store), model);
    }

    #[test]
    fn a_batch_is_all_or_nothing(
        batches in prop::collection::vec(prop::collection::vec(any_op(), 0..6), 0..12),
        dataplane in any::<bool>(),
    ) {
        let atomicity = if dataplane { Atomicity::DataplaneAtomic } else { Atomicity::RollbackOnError };
        let mut store = Store::new(schema());
        let mut model = Model::default();
        for batch in &batches {
            let updates: Vec<_> = batch.iter().map(|op| message(op, 1)).collect();
            let found: Vec<Code> =
                store.write_batch(&updates, atomicity, Nanos(0)).iter().map(code).collect();
            let before = model.clone();
            let failed = batch.iter().map(|op| model.write(op)).enumerate().find(|(_, code)| *code != Code::Ok);
            let mut expected = vec![Code::Ok; batch.len()];
            if let Some((position, code)) = failed {
                model = before;
                expected.fill(Code::Aborted);
                expected[position] = code;
            }
            prop_assert_eq!(found, expected);
            prop_assert_eq!(read(&store), model.clone());
        }
    }
}
