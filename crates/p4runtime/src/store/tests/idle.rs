//! Tests of idle timeouts and hits.

use super::*;

fn aging(port: u8, timeout: i64) -> v1::TableEntry {
    v1::TableEntry { idle_timeout_ns: timeout, controller_metadata: 9, ..exact_entry(port) }
}

fn elapsed(switch: &Switch, port: u8, now: Nanos) -> i64 {
    let request = v1::TableEntry {
        time_since_last_hit: Some(v1::table_entry::IdleTimeout::default()),
        ..exact_entry(port).without_action()
    };
    let found = switch.read_at(now, request).unwrap();
    match &found[..] {
        [Entity::TableEntry(entry)] => entry.time_since_last_hit.unwrap().elapsed_ns,
        other => panic!("{other:?}"),
    }
}

fn expired(switch: &mut Switch, now: Nanos) -> Vec<v1::TableEntry> {
    switch.store.expire(now)
}

#[test]
fn an_entry_expires_again_and_again_until_it_is_hit() {
    let mut switch = Switch::new();
    assert_eq!(switch.store.next_expiry(), None);
    switch.insert(aging(1, 100)).unwrap();
    switch.insert(aging(2, 0)).unwrap();
    assert_eq!(switch.store.next_expiry(), Some(T0.after(100)));
    assert_eq!(expired(&mut switch, T0.after(99)), []);
    let notified = v1::TableEntry { action: None, ..aging(1, 100) };
    assert_eq!(expired(&mut switch, T0.after(100)), std::slice::from_ref(&notified));
    assert_eq!(expired(&mut switch, T0.after(100)), []);
    assert_eq!(switch.store.next_expiry(), Some(T0.after(200)));
    assert_eq!(elapsed(&switch, 1, T0.after(150)), 150, "a notification is not a hit");

    switch.store.record_hit(&exact_entry(1), 64, T0.after(190)).unwrap();
    assert_eq!(elapsed(&switch, 1, T0.after(200)), 10);
    assert_eq!(expired(&mut switch, T0.after(289)), []);
    assert_eq!(expired(&mut switch, T0.after(290)), [notified]);

    switch.delete(aging(1, 0)).unwrap();
    assert_eq!(expired(&mut switch, T0.after(10_000)), []);
    assert_eq!(switch.store.next_expiry(), None);
}

#[test]
fn the_timeout_can_change() {
    let mut switch = Switch::new();
    switch.insert(aging(1, 100)).unwrap();
    switch.modify(aging(1, 50)).unwrap();
    assert_eq!(expired(&mut switch, T0.after(50)).len(), 1);
    switch.modify(aging(1, 0)).unwrap();
    assert_eq!(expired(&mut switch, T0.after(1_000)), []);
}

#[test]
fn extreme_times_do_no_harm() {
    let mut switch = Switch::new();
    switch.insert(aging(1, i64::MAX)).unwrap();
    assert_eq!(expired(&mut switch, Nanos(u64::MAX)).len(), 1);
    assert_eq!(expired(&mut switch, Nanos(0)), []);
    assert_eq!(elapsed(&switch, 1, Nanos(0)), 0, "before the last hit");
    assert_eq!(elapsed(&switch, 1, Nanos(u64::MAX)), i64::MAX);
    switch.store.record_hit(&exact_entry(1), u64::MAX, Nanos(u64::MAX)).unwrap();
    switch.store.record_hit(&exact_entry(1), u64::MAX, Nanos(u64::MAX)).unwrap();
}

#[test]
fn a_table_without_timeouts_refuses_them() {
    let mut switch = Switch::new();
    let route = v1::TableEntry {
        table_id: ROUTES,
        r#match: vec![lpm(1, b"\x0a\0\0\0", 8)],
        action: action(DROP, &[]),
        ..v1::TableEntry::default()
    };
    assert_eq!(
        switch.insert(v1::TableEntry { idle_timeout_ns: 1, ..route }),
        Err(Code::InvalidArgument)
    );
    assert_eq!(switch.insert(aging(1, -1)), Err(Code::InvalidArgument));
    let hit = v1::TableEntry { time_since_last_hit: Some(Default::default()), ..aging(1, 5) };
    assert_eq!(switch.insert(hit), Err(Code::InvalidArgument));
}

#[test]
fn hits_update_direct_counters() {
    let mut switch = Switch::new();
    switch.insert(exact_entry(1)).unwrap();
    for key in [exact_entry(1), default_entry(EXACT, None)] {
        switch.store.record_hit(&key, 60, T0).unwrap();
        switch.store.record_hit(&key, 40, T0).unwrap();
        let request =
            v1::DirectCounterEntry { table_entry: Some(key.without_action()), data: None };
        let data = Some(v1::CounterData { byte_count: 100, packet_count: 2 });
        assert_eq!(
            switch.read(request.clone()),
            Ok(vec![v1::DirectCounterEntry { data, ..request }.into()])
        );
    }
    let error = switch.store.record_hit(&exact_entry(2), 60, T0).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
}
