//! Checks the memory of a store: ten thousand emulated switches must fit in one process.

#![cfg(target_os = "linux")]

use std::sync::Arc;

use bytes::Bytes;
use p4runtime::p4info::{Schema, text};
use p4runtime::proto::v1;
use p4runtime::store::{Nanos, Store};

/// Returns the resident memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn insert(key: u32) -> v1::Update {
    use v1::field_match::{FieldMatchType, Ternary};

    let matched = Ternary {
        value: Bytes::copy_from_slice(&key.to_be_bytes()),
        mask: Bytes::from_static(&[0xff; 4]),
    };
    let action = v1::Action {
        action_id: 0x0100_0001,
        params: vec![v1::action::Param { param_id: 1, value: Bytes::from_static(&[1]) }],
    };
    let entry = v1::TableEntry {
        table_id: 0x0200_0002,
        r#match: vec![v1::FieldMatch {
            field_id: 1,
            field_match_type: Some(FieldMatchType::Ternary(matched)),
        }],
        action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
        priority: 10,
        controller_metadata: 7,
        ..v1::TableEntry::default()
    };
    let entity = v1::entity::Entity::TableEntry(entry);
    v1::Update {
        r#type: v1::update::Type::Insert as i32,
        entity: Some(v1::Entity { entity: Some(entity) }),
    }
}

#[test]
fn ten_thousand_stores_are_small() {
    const STORES: usize = 10_000;
    const ENTRIES: u32 = 10;

    let schema =
        Schema::new(text::parse(include_str!("data/everything.p4info.txtpb")).unwrap()).unwrap();
    let start = resident();
    let mut stores: Vec<Store> = (0..STORES).map(|_| Store::new(Arc::clone(&schema))).collect();
    let empty = resident().saturating_sub(start);
    for store in &mut stores {
        for key in 0..ENTRIES {
            store.write(&insert(key), Nanos(0)).unwrap();
        }
    }
    let filled = resident().saturating_sub(start);
    assert!(empty < 8 * 1024, "{STORES} empty stores take {empty} KiB");
    assert!(filled < 48 * 1024, "{STORES} stores of {ENTRIES} entries take {filled} KiB");
    assert!(filled > empty, "the entries are kept");
    assert_eq!(stores.len(), STORES);
}
