//! Tests of reads of table entries.

use super::*;

/// Returns a store with three entries in `exact` (ports 1 to 3) and two in `acl` (priorities 10 and
/// 20).
fn populated() -> Switch {
    let mut switch = Switch::new();
    for port in [3, 1, 2] {
        switch
            .insert(v1::TableEntry { controller_metadata: port.into(), ..exact_entry(port) })
            .unwrap();
    }
    let drop =
        v1::TableEntry { action: action(DROP, &[]), metadata: bytes(b"d"), ..exact_entry(2) };
    switch.modify(drop).unwrap();
    for priority in [20, 10] {
        switch.insert(acl(priority)).unwrap();
    }
    switch
}

fn acl(priority: i32) -> v1::TableEntry {
    v1::TableEntry {
        table_id: ACL,
        r#match: vec![optional(3, b"\x06")],
        priority,
        action: action(DROP, &[]),
        metadata: bytes(b"acl"),
        ..v1::TableEntry::default()
    }
}

fn ports(entries: Result<Vec<v1::TableEntry>, Code>) -> Vec<u64> {
    entries
        .unwrap()
        .iter()
        .map(|entry| match &entry.r#match[0].field_match_type {
            Some(FieldMatchType::Exact(exact)) => exact.value[0].into(),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn of(table_id: u32) -> v1::TableEntry {
    v1::TableEntry { table_id, ..v1::TableEntry::default() }
}

#[test]
fn wildcards_select_tables_in_order() {
    let switch = populated();
    assert_eq!(ports(switch.entries(of(EXACT))), [1, 2, 3]);
    let tables: Vec<u32> =
        switch.entries(of(0)).unwrap().iter().map(|entry| entry.table_id).collect();
    assert_eq!(tables, [EXACT, EXACT, EXACT, ACL, ACL]);
    assert_eq!(switch.entries(of(77)), Err(Code::InvalidArgument));
}

#[test]
fn filters_combine() {
    let switch = populated();
    assert_eq!(ports(switch.entries(exact_entry(2).without_action())), [2]);
    assert_eq!(ports(switch.entries(v1::TableEntry { controller_metadata: 3, ..of(EXACT) })), [3]);
    assert_eq!(ports(switch.entries(v1::TableEntry { metadata: bytes(b"d"), ..of(EXACT) })), [2]);
    let with_parameters = action(FORWARD, &[b"\x63"]);
    let forwarding = v1::TableEntry { action: with_parameters, ..of(EXACT) };
    assert_eq!(
        ports(switch.entries(forwarding)),
        [1, 3],
        "only the identifier of the action counts"
    );
    let both = v1::TableEntry { action: action(DROP, &[]), controller_metadata: 3, ..of(EXACT) };
    assert!(ports(switch.entries(both)).is_empty());
    assert_eq!(switch.entries(v1::TableEntry { priority: 20, ..of(ACL) }), Ok(vec![acl(20)]));
    assert_eq!(switch.entries(v1::TableEntry { priority: 20, ..of(0) }), Ok(vec![acl(20)]));
    let any_priority = v1::TableEntry { r#match: vec![optional(3, b"\0\x06")], ..of(ACL) };
    assert_eq!(switch.entries(any_priority), Ok(vec![acl(10), acl(20)]));
}

#[test]
fn a_key_selects_entries_with_just_these_fields() {
    let mut switch = Switch::new();
    let with = |fields: Vec<v1::FieldMatch>| v1::TableEntry { r#match: fields, ..acl(1) };
    let narrow = with(vec![ternary(1, b"\x0a", b"\xff"), optional(3, b"\x06")]);
    let wide = with(vec![ternary(1, b"\x0a", b"\xff")]);
    switch.insert(narrow).unwrap();
    switch.insert(wide.clone()).unwrap();
    let request = v1::TableEntry { r#match: wide.r#match.clone(), ..of(ACL) };
    assert_eq!(switch.entries(request), Ok(vec![wide]));
}

#[test]
fn invalid_filters_are_refused() {
    let switch = populated();
    let refused = |request| assert_eq!(switch.entries(request), Err(Code::InvalidArgument));
    refused(v1::TableEntry { action: action(DROP, &[]), ..of(0) });
    refused(v1::TableEntry { table_id: 0, ..exact_entry(1).without_action() });
    refused(v1::TableEntry { action: action(TO_INTERFACE, &[]), ..of(EXACT) });
    refused(v1::TableEntry { action: action(FORWARD, &[]), ..of(INDIRECT) });
    refused(v1::TableEntry { r#match: vec![exact(1, b"\x01")], ..of(EXACT) });
    refused(v1::TableEntry { is_default_action: true, priority: 1, ..of(EXACT) });
    refused(v1::TableEntry { time_since_last_hit: Some(Default::default()), ..of(ACL) });
    assert_eq!(
        switch.read(v1::PacketReplicationEngineEntry::default()),
        Err(Code::InvalidArgument)
    );
    let error = switch.store.read(&v1::Entity::default(), T0, &mut |_| {}).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
}

/// Specification 1.5, "Idle-timeout": default entries have none, in any message.
#[test]
fn the_idle_timeout_of_a_default_entry_cannot_be_read() {
    let switch = populated();
    let elapsed = Some(v1::table_entry::IdleTimeout::default());
    for table in [0, EXACT] {
        let request = || default_entry(table, None);
        assert!(!switch.entries(request()).unwrap().is_empty());
        let entry = v1::TableEntry { time_since_last_hit: elapsed, ..request() };
        assert_eq!(switch.entries(entry), Err(Code::InvalidArgument));
        let entry = v1::TableEntry { idle_timeout_ns: 1, ..request() };
        assert_eq!(switch.entries(entry), Err(Code::InvalidArgument));
    }
}

/// A client can read an entry with the message that it wrote, so the action of an indirect entry is
/// no filter.
#[test]
fn a_written_entity_is_a_request_that_reads_it() {
    let mut switch = Switch::new();
    let member = v1::ActionProfileMember {
        action_profile_id: PROFILE,
        member_id: 1,
        action: Some(call(DROP, &[])),
    };
    switch.insert(member).unwrap();
    let entries = [
        keyed(INDIRECT, 1, member_ref(1)),
        keyed(WEIGHTED, 1, one_shot(&[1])),
        exact_entry(1),
        acl(10),
    ];
    for entry in entries {
        switch.insert(entry.clone()).unwrap();
        assert_eq!(switch.entries(entry.clone()), Ok(vec![entry]));
    }
}

#[test]
fn a_default_entry_is_selected_like_another() {
    let mut switch = populated();
    let entry = v1::TableEntry { metadata: bytes(b"m"), ..default_entry(EXACT, action(DROP, &[])) };
    switch.modify(entry.clone()).unwrap();
    let by_metadata = v1::TableEntry { metadata: bytes(b"m"), ..default_entry(0, None) };
    assert_eq!(switch.entries(by_metadata), Ok(vec![entry.clone()]));
    assert_eq!(switch.entries(default_entry(EXACT, action(DROP, &[]))), Ok(vec![entry]));
    assert_eq!(switch.entries(default_entry(EXACT, action(FORWARD, &[]))), Ok(vec![]));
}

#[test]
fn object_ids_name_the_owner() {
    let id = |entity: Entity| super::super::object_id(&v1::Entity { entity: Some(entity) });
    assert_eq!(id(exact_entry(1).into()), Some(EXACT));
    assert_eq!(id(of(0).into()), None);
    let counter = v1::DirectCounterEntry { table_entry: Some(exact_entry(1)), data: None };
    assert_eq!(id(counter.into()), Some(EXACT));
    assert_eq!(id(v1::PacketReplicationEngineEntry::default().into()), None);
    assert_eq!(super::super::object_id(&v1::Entity::default()), None);
}
