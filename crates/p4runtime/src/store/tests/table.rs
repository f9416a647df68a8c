//! Tests of writes of table entries.

use super::*;

const INVALID: Result<(), Code> = Err(Code::InvalidArgument);

#[test]
fn insert_modify_delete_read() {
    let mut switch = Switch::new();
    let entry =
        v1::TableEntry { metadata: bytes(b"mine"), controller_metadata: 7, ..exact_entry(5) };
    assert_eq!(switch.modify(entry.clone()), Err(Code::NotFound));
    assert_eq!(switch.delete(entry.clone()), Err(Code::NotFound));
    assert_eq!(switch.insert(entry.clone()), Ok(()));
    assert_eq!(switch.insert(entry.clone()), Err(Code::AlreadyExists));
    assert_eq!(switch.entries(exact_entry(5).without_action()), Ok(vec![entry.clone()]));

    let entry = v1::TableEntry { action: action(DROP, &[]), ..entry };
    assert_eq!(switch.modify(entry.clone()), Ok(()));
    assert_eq!(switch.entries(exact_entry(5).without_action()), Ok(vec![entry.clone()]));

    // Everything but the key is ignored, even invalid values.
    let nonsense = v1::TableEntry { action: action(99, &[]), idle_timeout_ns: -1, ..entry };
    assert_eq!(switch.delete(nonsense), Ok(()));
    assert_eq!(switch.entries(exact_entry(5).without_action()), Ok(vec![]));
}

#[test]
fn values_are_made_canonical() {
    let mut switch = Switch::new();
    let padded = v1::TableEntry {
        table_id: EXACT,
        r#match: vec![exact(2, b"\0\0\0\xaa\xbb"), exact(1, b"\0\x05")],
        action: action(FORWARD, &[b"\0\x01"]),
        ..v1::TableEntry::default()
    };
    assert_eq!(switch.insert(padded), Ok(()));
    assert_eq!(switch.insert(exact_entry(5)), Err(Code::AlreadyExists));
    assert_eq!(switch.entries(exact_entry(5).without_action()), Ok(vec![exact_entry(5)]));
}

#[test]
fn keys_are_checked() {
    let with = |fields: Vec<v1::FieldMatch>| v1::TableEntry { r#match: fields, ..exact_entry(5) };
    let mut switch = Switch::new();
    let port = || exact(1, b"\x05");
    let address = || exact(2, b"\x0a");
    assert_eq!(switch.insert(with(vec![port()])), INVALID, "exact field missing");
    assert_eq!(switch.insert(with(vec![port(), address(), port()])), INVALID, "field twice");
    assert_eq!(
        switch.insert(with(vec![port(), address(), exact(3, b"\x01")])),
        INVALID,
        "no such field"
    );
    assert_eq!(
        switch.insert(with(vec![port(), ternary(2, b"\x01", b"\x01")])),
        INVALID,
        "wrong kind"
    );
    assert_eq!(
        switch.insert(with(vec![port(), v1::FieldMatch { field_id: 2, field_match_type: None }])),
        INVALID,
        "kind unset"
    );
    assert_eq!(switch.insert(with(vec![exact(1, b"\x02\x00"), address()])), Err(Code::OutOfRange));
    assert_eq!(switch.insert(with(vec![exact(1, b""), address()])), Err(Code::OutOfRange));
    assert_eq!(
        switch.insert(v1::TableEntry { priority: 1, ..exact_entry(5) }),
        INVALID,
        "priority"
    );
    assert_eq!(switch.insert(v1::TableEntry { table_id: 0, ..exact_entry(5) }), INVALID);
    assert_eq!(switch.insert(v1::TableEntry { table_id: 77, ..exact_entry(5) }), INVALID);
    assert_eq!(switch.insert(v1::TableEntry { is_const: true, ..exact_entry(5) }), INVALID);
    assert_eq!(switch.insert(v1::TableEntry { action: action(DROP, &[]), ..keyless() }), INVALID);
}

#[test]
fn ternary_tables_need_a_priority_and_omit_wildcards() {
    let mut switch = Switch::new();
    let acl = |fields: Vec<v1::FieldMatch>, priority| v1::TableEntry {
        table_id: ACL,
        r#match: fields,
        priority,
        action: action(DROP, &[]),
        ..v1::TableEntry::default()
    };
    let full = vec![
        ternary(1, b"\x0a\0\0\0", b"\xff\0\0\0"),
        range(2, b"\x50", b"\x51"),
        optional(3, b"\x06"),
    ];
    assert_eq!(switch.insert(acl(full.clone(), 0)), INVALID);
    assert_eq!(switch.insert(acl(full.clone(), -1)), INVALID);
    assert_eq!(switch.insert(acl(full.clone(), 10)), Ok(()));
    assert_eq!(switch.insert(acl(full.clone(), 11)), Ok(()), "the priority is part of the key");
    assert_eq!(switch.insert(acl(full.clone(), 10)), Err(Code::AlreadyExists));
    assert_eq!(switch.insert(acl(vec![], 10)), Ok(()), "matches everything");
    assert_eq!(switch.insert(acl(vec![ternary(1, b"\0", b"\0")], 12)), INVALID);
    assert_eq!(switch.insert(acl(vec![ternary(1, b"\x01", b"\x02")], 12)), INVALID);
    assert_eq!(switch.insert(acl(vec![range(2, b"\0", b"\xff\xff")], 12)), INVALID);
    assert_eq!(switch.insert(acl(vec![range(2, b"\x02", b"\x01")], 12)), INVALID);
    assert_eq!(switch.insert(acl(vec![optional(3, b"\x01\x00")], 12)), Err(Code::OutOfRange));
    assert_eq!(switch.delete(acl(full, 11)), Ok(()));
    assert_eq!(
        switch.entries(v1::TableEntry { table_id: ACL, ..Default::default() }).unwrap().len(),
        2
    );
}

#[test]
fn prefixes_and_translated_values() {
    let mut switch = Switch::new();
    let route = |field| v1::TableEntry {
        table_id: ROUTES,
        r#match: vec![field],
        action: action(DROP, &[]),
        ..v1::TableEntry::default()
    };
    assert_eq!(switch.insert(route(lpm(1, b"\x0a\0\0\0", 8))), Ok(()));
    assert_eq!(switch.insert(route(lpm(1, b"\x0a\0\0\0", 9))), Ok(()));
    assert_eq!(switch.insert(route(lpm(1, b"\x0a\0\0\0", 0))), INVALID);
    assert_eq!(switch.insert(route(lpm(1, b"\x0a\0\0\x01", 8))), INVALID);

    let named = |fields: Vec<v1::FieldMatch>, priority| v1::TableEntry {
        table_id: NAMED,
        r#match: fields,
        priority,
        action: action(TO_INTERFACE, &[b"eth1"]),
        ..v1::TableEntry::default()
    };
    let entry = named(vec![exact(1, b"eth0"), optional(2, b"spine-1")], 1);
    assert_eq!(switch.insert(entry.clone()), Ok(()));
    assert_eq!(
        switch.entries(v1::TableEntry { table_id: NAMED, ..Default::default() }),
        Ok(vec![entry])
    );
    assert_eq!(switch.insert(named(vec![exact(1, b"")], 1)), Err(Code::OutOfRange));
    assert_eq!(switch.insert(named(vec![exact(1, b"eth0"), lpm(3, b"e", 8)], 1)), INVALID);
    assert_eq!(
        switch.insert(named(vec![exact(1, b"eth0"), exact(4, b"\x01")], 1)),
        Err(Code::Unimplemented)
    );
}

#[test]
fn actions_are_checked() {
    let mut switch = Switch::new();
    let with = |action| v1::TableEntry { action, ..exact_entry(5) };
    assert_eq!(switch.insert(with(None)), INVALID);
    assert_eq!(switch.insert(with(Some(v1::TableAction { r#type: None }))), INVALID);
    assert_eq!(switch.insert(with(action(99, &[]))), INVALID, "not in P4Info");
    assert_eq!(switch.insert(with(action(TO_INTERFACE, &[b"x"]))), INVALID, "not in the table");
    assert_eq!(
        switch.insert(with(action(NO_ACTION, &[]))),
        Err(Code::PermissionDenied),
        "default only"
    );
    assert_eq!(switch.insert(with(action(FORWARD, &[]))), INVALID, "parameter missing");
    assert_eq!(
        switch.insert(with(action(FORWARD, &[b"\x01", b"\x01"]))),
        INVALID,
        "extra parameter"
    );
    assert_eq!(switch.insert(with(action(FORWARD, &[b"\x02\0"]))), Err(Code::OutOfRange));
    assert_eq!(switch.insert(with(action(FORWARD, &[b""]))), Err(Code::OutOfRange));
    let mut twice = call(REWRITE, &[b"\x01", b"\x02"]);
    twice.params[1].param_id = 1;
    let twice = Some(v1::TableAction { r#type: Some(ActionType::Action(twice)) });
    assert_eq!(switch.insert(with(twice)), INVALID, "parameter twice");
    for indirect in [member_ref(1), group_ref(1), one_shot(&[1])] {
        assert_eq!(switch.insert(with(indirect)), INVALID);
    }
    let mut reversed = call(REWRITE, &[b"\x01", b"\x02"]);
    reversed.params.reverse();
    let reversed = Some(v1::TableAction { r#type: Some(ActionType::Action(reversed)) });
    assert_eq!(switch.insert(with(reversed)), Ok(()));
    let read = switch.entries(exact_entry(5).without_action()).unwrap();
    assert_eq!(read[0].action, action(REWRITE, &[b"\x01", b"\x02"]));
}

#[test]
fn a_table_holds_as_many_entries_as_its_size() {
    let mut switch = Switch::new();
    for port in 0..4 {
        assert_eq!(switch.insert(exact_entry(port)), Ok(()));
    }
    assert_eq!(switch.insert(exact_entry(4)), Err(Code::ResourceExhausted));
    assert_eq!(switch.insert(exact_entry(3)), Err(Code::AlreadyExists));
    assert_eq!(switch.delete(exact_entry(0)), Ok(()));
    assert_eq!(switch.insert(exact_entry(4)), Ok(()));
}

#[test]
fn every_table_has_a_default_entry() {
    let mut switch = Switch::new();
    let read = |switch: &Switch, table| switch.entries(default_entry(table, None)).unwrap();
    assert_eq!(read(&switch, EXACT), [default_entry(EXACT, action(NO_ACTION, &[]))], "NoAction");
    assert_eq!(
        read(&switch, ACL),
        [default_entry(ACL, action(FORWARD, &[b"\x07"]))],
        "from P4Info"
    );
    let constant = v1::TableEntry { is_const: true, ..default_entry(ROUTES, action(DROP, &[])) };
    assert_eq!(read(&switch, ROUTES), [constant]);
    assert_eq!(read(&switch, NAMED), [default_entry(NAMED, None)], "unknown");
    assert_eq!(switch.entries(default_entry(0, None)).unwrap().len(), 10);

    let dropping =
        v1::TableEntry { metadata: bytes(b"m"), ..default_entry(EXACT, action(DROP, &[])) };
    assert_eq!(switch.insert(dropping.clone()), INVALID);
    assert_eq!(switch.delete(dropping.clone()), INVALID);
    assert_eq!(switch.modify(dropping.clone()), Ok(()));
    assert_eq!(read(&switch, EXACT), [dropping]);
    assert_eq!(switch.modify(default_entry(EXACT, None)), Ok(()), "reset");
    assert_eq!(read(&switch, EXACT), [default_entry(EXACT, action(NO_ACTION, &[]))]);

    assert_eq!(
        switch.modify(default_entry(EXACT, action(REWRITE, &[b"\x01", b"\x02"]))),
        Err(Code::PermissionDenied),
        "table only"
    );
    assert_eq!(
        switch.modify(default_entry(ROUTES, action(DROP, &[]))),
        Err(Code::PermissionDenied)
    );
    assert_eq!(
        switch.modify(default_entry(INDIRECT, None)),
        Err(Code::PermissionDenied),
        "indirect"
    );
    assert_eq!(switch.modify(default_entry(KEYLESS, action(FORWARD, &[b"\x01"]))), Ok(()));
    assert_eq!(switch.modify(default_entry(EXACT, member_ref(1))), INVALID);
    let keyed = v1::TableEntry { r#match: vec![exact(1, b"\x01")], ..default_entry(EXACT, None) };
    assert_eq!(switch.modify(keyed), INVALID);
    assert_eq!(
        switch.modify(v1::TableEntry { priority: 1, ..default_entry(EXACT, None) }),
        INVALID
    );
    assert_eq!(
        switch.modify(v1::TableEntry { idle_timeout_ns: 1, ..default_entry(EXACT, None) }),
        INVALID
    );
}

#[test]
fn constant_entries_take_direct_resources_only() {
    let mut switch = Switch::new();
    let entry = keyed(CONSTANT, 1, action(FORWARD, &[b"\x01"]));
    assert_eq!(switch.insert(entry.clone()), Err(Code::PermissionDenied));
    switch.store.install_initial(&entry, T0).unwrap();
    assert_eq!(
        switch.modify(entry.clone()),
        Err(Code::PermissionDenied),
        "even to the same action"
    );
    assert_eq!(switch.delete(entry), Err(Code::PermissionDenied));
    let counted = v1::TableEntry {
        counter_data: Some(v1::CounterData { byte_count: 64, packet_count: 1 }),
        ..keyed(CONSTANT, 1, None)
    };
    assert_eq!(switch.modify(counted.clone()), Ok(()));
    let read =
        v1::TableEntry { is_const: true, action: action(FORWARD, &[b"\x01"]), ..counted.clone() };
    assert_eq!(switch.entries(counted), Ok(vec![read]));
    assert_eq!(switch.modify(keyed(CONSTANT, 2, None)), Err(Code::NotFound));
    assert_eq!(switch.modify(default_entry(CONSTANT, action(DROP, &[]))), Ok(()));
}

#[test]
fn initial_entries_are_constant_one_by_one() {
    let mut switch = Switch::new();
    let fixed = v1::TableEntry { is_const: true, ..exact_entry(1) };
    switch.store.install_initial(&fixed, T0).unwrap();
    switch.store.install_initial(&exact_entry(2), T0).unwrap();
    assert_eq!(switch.delete(exact_entry(1)), Err(Code::PermissionDenied));
    assert_eq!(switch.modify(exact_entry(1)), Err(Code::PermissionDenied));
    assert_eq!(switch.modify(exact_entry(2)), Ok(()));
    assert_eq!(switch.delete(exact_entry(2)), Ok(()));
    let error = switch.store.install_initial(&fixed, T0).unwrap_err();
    assert_eq!(error.code(), Code::AlreadyExists);
}

#[test]
fn direct_resources_are_written_with_the_entry() {
    let counter = Some(v1::CounterData { byte_count: 128, packet_count: 2 });
    let rates = v1::MeterConfig { cir: 1, cburst: 2, pir: 3, pburst: 4, eburst: 0 };
    let meter = Some(rates);
    let request = v1::TableEntry {
        counter_data: Some(v1::CounterData::default()),
        meter_config: Some(v1::MeterConfig::default()),
        ..exact_entry(1).without_action()
    };
    let direct = |switch: &Switch| {
        let entry = switch.entries(request.clone()).unwrap().remove(0);
        (entry.counter_data, entry.meter_config)
    };
    let mut switch = Switch::new();
    let entry = v1::TableEntry { counter_data: counter, meter_config: meter, ..exact_entry(1) };
    assert_eq!(switch.insert(entry.clone()), Ok(()));
    assert_eq!(direct(&switch), (counter, meter));
    let without_request = switch.entries(exact_entry(1).without_action()).unwrap().remove(0);
    assert_eq!((without_request.counter_data, without_request.meter_config), (None, None));

    // An unset counter is kept, and an unset meter is reset.
    assert_eq!(switch.modify(exact_entry(1)), Ok(()));
    assert_eq!(direct(&switch), (counter, None));

    let burst = Some(v1::MeterConfig { eburst: 1, ..rates });
    assert_eq!(switch.modify(v1::TableEntry { meter_config: burst, ..entry.clone() }), INVALID);
    let negative = Some(v1::CounterData { byte_count: -1, packet_count: 0 });
    assert_eq!(switch.modify(v1::TableEntry { counter_data: negative, ..entry.clone() }), INVALID);
    let reset = Some(v1::MeterCounterData {
        green: Some(v1::CounterData::default()),
        ..Default::default()
    });
    assert_eq!(
        switch.modify(v1::TableEntry { meter_counter_data: reset, ..entry.clone() }),
        Ok(())
    );
    let set = Some(v1::MeterCounterData { red: counter, ..Default::default() });
    assert_eq!(switch.modify(v1::TableEntry { meter_counter_data: set, ..entry }), INVALID);

    let route = v1::TableEntry {
        table_id: ROUTES,
        r#match: vec![lpm(1, b"\x0a\0\0\0", 8)],
        action: action(DROP, &[]),
        ..v1::TableEntry::default()
    };
    assert_eq!(switch.insert(v1::TableEntry { counter_data: counter, ..route.clone() }), INVALID);
    assert_eq!(switch.insert(v1::TableEntry { meter_config: meter, ..route }), INVALID);
}

#[test]
fn direct_resources_are_written_by_themselves() {
    let data = Some(v1::CounterData { byte_count: 128, packet_count: 2 });
    let config = Some(v1::MeterConfig { cir: 1, cburst: 2, pir: 3, pburst: 4, eburst: 0 });
    let counter =
        |entry: v1::TableEntry, data| v1::DirectCounterEntry { table_entry: Some(entry), data };
    let meter = |entry: v1::TableEntry, config| v1::DirectMeterEntry {
        table_entry: Some(entry),
        config,
        counter_data: None,
    };
    let key = || exact_entry(1).without_action();
    let mut switch = Switch::new();
    assert_eq!(switch.modify(counter(exact_entry(1), data)), Err(Code::NotFound));
    assert_eq!(switch.modify(meter(exact_entry(1), config)), Err(Code::NotFound));
    assert_eq!(switch.read(counter(key(), None)), Err(Code::NotFound));
    switch.insert(exact_entry(1)).unwrap();
    assert_eq!(switch.insert(counter(exact_entry(1), data)), INVALID);
    assert_eq!(switch.delete(meter(exact_entry(1), config)), INVALID);
    assert_eq!(switch.modify(counter(exact_entry(1), data)), Ok(()));
    assert_eq!(switch.modify(counter(exact_entry(1), None)), Ok(()), "unset changes nothing");
    assert_eq!(switch.modify(meter(exact_entry(1), config)), Ok(()));
    assert_eq!(switch.read(counter(key(), None)), Ok(vec![counter(key(), data).into()]));
    assert_eq!(switch.read(meter(key(), None)), Ok(vec![meter(key(), config).into()]));
    assert_eq!(switch.modify(meter(exact_entry(1), None)), Ok(()), "unset resets");
    assert_eq!(switch.read(meter(key(), None)), Ok(vec![meter(key(), None).into()]));

    let default = default_entry(EXACT, None);
    assert_eq!(switch.modify(counter(default.clone(), data)), Ok(()));
    assert_eq!(
        switch.read(counter(default.clone(), None)),
        Ok(vec![counter(default, data).into()])
    );

    let everything = v1::DirectCounterEntry::default();
    assert_eq!(switch.read(everything), Ok(vec![counter(key(), data).into()]));
    let table = v1::TableEntry { table_id: EXACT, ..Default::default() };
    assert_eq!(switch.read(counter(table, None)), Ok(vec![counter(key(), data).into()]));
    let without = v1::TableEntry { table_id: ACL, ..Default::default() };
    assert_eq!(switch.read(counter(without.clone(), None)), Err(Code::InvalidArgument));
    assert_eq!(switch.modify(meter(without, config)), INVALID);
    assert_eq!(switch.modify(v1::DirectMeterEntry::default()), INVALID);
}

#[test]
fn a_modify_without_action_keeps_the_entry() {
    let mut switch = Switch::new();
    let entry = v1::TableEntry { metadata: bytes(b"m"), idle_timeout_ns: 5, ..exact_entry(1) };
    switch.insert(entry.clone()).unwrap();
    assert_eq!(switch.modify(exact_entry(1).without_action()), Ok(()));
    assert_eq!(switch.entries(exact_entry(1).without_action()), Ok(vec![entry]));
}

#[test]
fn a_table_behind_an_unknown_extern_is_not_supported() {
    let mut switch = Switch::new();
    assert_eq!(switch.insert(keyed(STRANGE, 1, member_ref(1))), Err(Code::Unimplemented));
    assert_eq!(switch.entries(keyed(STRANGE, 1, None)), Ok(vec![]));
}

#[test]
fn an_update_needs_a_type_and_an_entity() {
    let mut switch = Switch::new();
    assert_eq!(switch.write(Type::Unspecified, exact_entry(1)), INVALID);
    let unknown = v1::Update { r#type: 9, ..update(Type::Insert, exact_entry(1)) };
    assert_eq!(switch.store.write(&unknown, T0).unwrap_err().code(), Code::InvalidArgument);
    let empty = v1::Update { r#type: 1, entity: Some(v1::Entity::default()) };
    assert_eq!(switch.store.write(&empty, T0).unwrap_err().code(), Code::InvalidArgument);
}

fn keyless() -> v1::TableEntry {
    v1::TableEntry { table_id: KEYLESS, ..v1::TableEntry::default() }
}
