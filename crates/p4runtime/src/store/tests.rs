//! Tests of the store, and the helper functions that they share.

mod arrays;
mod batch;
mod idle;
mod others;
mod profile;
mod read;
mod restrictions;
mod table;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::{Nanos, Store};
use crate::p4info::{Schema, text};
use crate::proto::v1;
use crate::proto::v1::entity::Entity;
use crate::proto::v1::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};
use crate::proto::v1::table_action::Type as ActionType;
use crate::proto::v1::update::Type;
use crate::status::Code;

pub(super) const EXACT: u32 = 0x0200_0001;
pub(super) const ACL: u32 = 0x0200_0002;
pub(super) const ROUTES: u32 = 0x0200_0003;
pub(super) const CONSTANT: u32 = 0x0200_0004;
pub(super) const KEYLESS: u32 = 0x0200_0005;
pub(super) const NAMED: u32 = 0x0200_0006;
pub(super) const INDIRECT: u32 = 0x0200_0007;
pub(super) const WEIGHTED: u32 = 0x0200_0008;
pub(super) const COUNTED: u32 = 0x0200_0009;
pub(super) const STRANGE: u32 = 0x0200_000a;

pub(super) const FORWARD: u32 = 0x0100_0001;
pub(super) const DROP: u32 = 0x0100_0002;
pub(super) const REWRITE: u32 = 0x0100_0003;
pub(super) const NO_ACTION: u32 = 0x0100_0004;
pub(super) const TO_INTERFACE: u32 = 0x0100_0005;

pub(super) const PROFILE: u32 = 0x1100_0001;
pub(super) const BY_WEIGHT: u32 = 0x1100_0002;
pub(super) const BY_MEMBERS: u32 = 0x1100_0003;

pub(super) const T0: Nanos = Nanos(1_000);

pub(super) fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| {
        let text = include_str!("../../tests/data/everything.p4info.txtpb");
        Schema::new(text::parse(text).unwrap()).unwrap()
    });
    Arc::clone(schema)
}

/// A store, with short forms of the operations on it.
pub(super) struct Switch {
    pub(super) store: Store,
}

impl Switch {
    pub(super) fn new() -> Self {
        Self { store: Store::new(schema()) }
    }

    pub(super) fn write(&mut self, kind: Type, entity: impl Into<Entity>) -> Result<(), Code> {
        let update = update(kind, entity);
        self.store.write(&update, T0).map_err(|error| {
            assert!(!error.message().is_empty());
            error.code()
        })
    }

    pub(super) fn insert(&mut self, entity: impl Into<Entity>) -> Result<(), Code> {
        self.write(Type::Insert, entity)
    }

    pub(super) fn modify(&mut self, entity: impl Into<Entity>) -> Result<(), Code> {
        self.write(Type::Modify, entity)
    }

    pub(super) fn delete(&mut self, entity: impl Into<Entity>) -> Result<(), Code> {
        self.write(Type::Delete, entity)
    }

    pub(super) fn read_at(
        &self,
        now: Nanos,
        request: impl Into<Entity>,
    ) -> Result<Vec<Entity>, Code> {
        let request = v1::Entity { entity: Some(request.into()) };
        let mut found = Vec::new();
        let outcome = self.store.read(&request, now, &mut |entity| {
            found.push(entity.entity.expect("read entities are set"))
        });
        match outcome {
            Ok(()) => Ok(found),
            Err(error) => {
                assert!(found.is_empty(), "an error comes before any entity");
                Err(error.code())
            }
        }
    }

    pub(super) fn read(&self, request: impl Into<Entity>) -> Result<Vec<Entity>, Code> {
        self.read_at(T0, request)
    }

    /// Returns the table entries that a request selects.
    pub(super) fn entries(&self, request: v1::TableEntry) -> Result<Vec<v1::TableEntry>, Code> {
        Ok(self
            .read(request)?
            .into_iter()
            .map(|entity| match entity {
                Entity::TableEntry(entry) => entry,
                other => panic!("not a table entry: {other:?}"),
            })
            .collect())
    }
}

pub(super) fn update(kind: Type, entity: impl Into<Entity>) -> v1::Update {
    v1::Update { r#type: kind as i32, entity: Some(v1::Entity { entity: Some(entity.into()) }) }
}

pub(super) fn bytes(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

fn field(id: u32, matched: FieldMatchType) -> v1::FieldMatch {
    v1::FieldMatch { field_id: id, field_match_type: Some(matched) }
}

pub(super) fn exact(id: u32, value: &[u8]) -> v1::FieldMatch {
    field(id, FieldMatchType::Exact(Exact { value: bytes(value) }))
}

pub(super) fn lpm(id: u32, value: &[u8], prefix_len: i32) -> v1::FieldMatch {
    field(id, FieldMatchType::Lpm(Lpm { value: bytes(value), prefix_len }))
}

pub(super) fn ternary(id: u32, value: &[u8], mask: &[u8]) -> v1::FieldMatch {
    field(id, FieldMatchType::Ternary(Ternary { value: bytes(value), mask: bytes(mask) }))
}

pub(super) fn range(id: u32, low: &[u8], high: &[u8]) -> v1::FieldMatch {
    field(id, FieldMatchType::Range(Range { low: bytes(low), high: bytes(high) }))
}

pub(super) fn optional(id: u32, value: &[u8]) -> v1::FieldMatch {
    field(id, FieldMatchType::Optional(Optional { value: bytes(value) }))
}

/// Returns a call of an action, with parameters numbered from 1.
pub(super) fn call(action_id: u32, params: &[&[u8]]) -> v1::Action {
    let params = (1..)
        .zip(params)
        .map(|(param_id, value)| v1::action::Param { param_id, value: bytes(value) });
    v1::Action { action_id, params: params.collect() }
}

pub(super) fn action(action_id: u32, params: &[&[u8]]) -> Option<v1::TableAction> {
    Some(v1::TableAction { r#type: Some(ActionType::Action(call(action_id, params))) })
}

pub(super) fn member_ref(id: u32) -> Option<v1::TableAction> {
    Some(v1::TableAction { r#type: Some(ActionType::ActionProfileMemberId(id)) })
}

pub(super) fn group_ref(id: u32) -> Option<v1::TableAction> {
    Some(v1::TableAction { r#type: Some(ActionType::ActionProfileGroupId(id)) })
}

/// Returns a one-shot group that forwards to ports 1, 2, ... with these weights.
pub(super) fn one_shot(weights: &[i32]) -> Option<v1::TableAction> {
    let actions = (1..).zip(weights).map(|(port, weight)| v1::ActionProfileAction {
        action: Some(call(FORWARD, &[&[port]])),
        weight: *weight,
        watch_kind: None,
    });
    let set = v1::ActionProfileActionSet {
        action_profile_actions: actions.collect(),
        ..v1::ActionProfileActionSet::default()
    };
    Some(v1::TableAction { r#type: Some(ActionType::ActionProfileActionSet(set)) })
}

/// Returns an entry of the table `exact` that forwards to port 1.
pub(super) fn exact_entry(port: u8) -> v1::TableEntry {
    v1::TableEntry {
        table_id: EXACT,
        r#match: vec![exact(1, &[port]), exact(2, &[0xaa, 0xbb])],
        action: action(FORWARD, &[&[1]]),
        ..v1::TableEntry::default()
    }
}

/// Returns an entry of a table with one 8-bit exact field.
pub(super) fn keyed(table_id: u32, key: u8, action: Option<v1::TableAction>) -> v1::TableEntry {
    v1::TableEntry {
        table_id,
        r#match: vec![exact(1, &[key])],
        action,
        ..v1::TableEntry::default()
    }
}

pub(super) fn default_entry(table_id: u32, action: Option<v1::TableAction>) -> v1::TableEntry {
    v1::TableEntry { table_id, action, is_default_action: true, ..v1::TableEntry::default() }
}

trait WithoutAction {
    /// Returns the entry in the form that a read uses as its key.
    fn without_action(self) -> Self;
}

impl WithoutAction for v1::TableEntry {
    fn without_action(self) -> Self {
        Self { action: None, ..self }
    }
}
