//! Tests of digests and idle-timeout notifications: which controller receives them, and when they
//! are repeated.

use super::*;
use ::entities::{Data, schema::DigestId};

fn enable_digest(switch: &mut Switch, max_timeout_ns: i64, ack_timeout_ns: i64) {
    let config = v1::digest_entry::Config { max_timeout_ns, max_list_size: 2, ack_timeout_ns };
    let entry = v1::DigestEntry { digest_id: DIGEST, config: Some(config) };
    let entity = v1::Entity { entity: Some(Kind::DigestEntry(entry)) };
    assert_eq!(switch.write(vec![insert(entity)]), Ok(vec![Code::Ok]));
}

fn data(number: u8) -> v1::P4Data {
    let bits = v1::p4_data::Data::Bitstring(Bytes::copy_from_slice(&[number]));
    v1::P4Data { data: Some(bits) }
}

fn learn(switch: &mut Switch, number: u8, now: Nanos) -> Vec<(u64, v1::DigestList)> {
    let bits = Data::Bits(Box::from([number]));
    switch.device.digest(DigestId(DIGEST), bits, now, &mut switch.effects);
    digests(switch)
}

fn digests(switch: &mut Switch) -> Vec<(u64, v1::DigestList)> {
    let list = |(stream, response)| match response {
        Response::Digest(list) => (stream, list),
        other => panic!("{other:?}"),
    };
    switch.sent().into_iter().map(list).collect()
}

fn later(nanoseconds: u64) -> Nanos {
    Nanos(T0.0 + nanoseconds)
}

#[test]
fn a_digest_that_is_not_enabled_is_dropped() {
    let mut switch = Switch::ready(DeviceOptions::default());
    assert_eq!(learn(&mut switch, 1, T0), []);
    assert_eq!(switch.device.deadline(), None);
}

#[test]
fn digests_go_to_the_primary_and_are_acknowledged() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.arbitrate(2, "", 0);
    enable_digest(&mut switch, 1000, 1_000_000);
    switch.effects.clear();

    assert_eq!(learn(&mut switch, 1, T0), []);
    assert_eq!(switch.device.deadline(), Some(later(1000)));
    switch.device.tick(later(1000), &mut switch.effects);
    let sent = digests(&mut switch);
    let [(1, list)] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!((list.digest_id, &list.data), (DIGEST, &vec![data(1)]));
    assert_eq!(list.timestamp, i64::try_from(later(1000).0).expect("small"));

    // The digest is not repeated before its acknowledgement.
    assert_eq!(learn(&mut switch, 1, later(2000)), []);
    assert_eq!(switch.device.deadline(), None);
    let ack = v1::DigestListAck { digest_id: DIGEST, list_id: list.list_id };
    switch.message(1, Request::DigestAck(ack));
    assert_eq!(learn(&mut switch, 1, later(3000)), []);
    let sent = learn(&mut switch, 2, later(3000));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1.data, [data(1), data(2)]);
}

#[test]
fn a_new_primary_receives_unacknowledged_digests() {
    let mut switch = Switch::ready(DeviceOptions::default());
    enable_digest(&mut switch, 0, i64::MAX);
    assert_eq!(learn(&mut switch, 1, T0).len(), 1);
    assert_eq!(learn(&mut switch, 1, T0).len(), 0);
    switch.arbitrate(2, "", 2);
    switch.effects.clear();
    let again = learn(&mut switch, 1, T0);
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].0, 2);
}

#[test]
fn disabling_a_digest_stops_it() {
    let mut switch = Switch::ready(DeviceOptions::default());
    enable_digest(&mut switch, 1000, 0);
    assert_eq!(learn(&mut switch, 1, T0), []);
    let entry = v1::DigestEntry { digest_id: DIGEST, config: None };
    let entity = Some(v1::Entity { entity: Some(Kind::DigestEntry(entry)) });
    let delete = v1::Update { r#type: UpdateType::Delete as i32, entity };
    assert_eq!(switch.write(vec![delete]), Ok(vec![Code::Ok]));
    assert_eq!(switch.device.deadline(), None);
    switch.device.tick(later(1000), &mut switch.effects);
    assert_eq!(digests(&mut switch), []);
}

#[test]
fn invalid_acknowledgements_are_answered() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.arbitrate(2, "", 0);
    switch.effects.clear();
    let ack = |digest_id| v1::DigestListAck { digest_id, list_id: 1 };
    let cases = [(2, DIGEST, Code::PermissionDenied), (1, DIGEST + 1, Code::InvalidArgument)];
    for (stream, digest_id, code) in cases {
        switch.message(stream, Request::DigestAck(ack(digest_id)));
        let sent = switch.sent();
        let [(to, Response::Error(error))] = sent.as_slice() else { panic!("{sent:?}") };
        assert_eq!((*to, error.canonical_code), (stream, code as i32));
        let details = v1::DigestListAckError { digest_list_ack: Some(ack(digest_id)) };
        assert_eq!(error.details, Some(Details::DigestListAck(details)));
    }
    // Acknowledging a list that was forgotten long ago is not a mistake.
    switch.message(1, Request::DigestAck(ack(DIGEST)));
    assert_eq!(switch.sent(), []);
}

#[test]
fn an_idle_entry_is_reported_to_the_primary_repeatedly() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.arbitrate(2, "", 0);
    let mut entity = host(TABLE, 1, 1);
    if let Some(Kind::TableEntry(entry)) = &mut entity.entity {
        entry.idle_timeout_ns = 5000;
    }
    assert_eq!(switch.write(vec![insert(entity)]), Ok(vec![Code::Ok]));
    switch.effects.clear();

    assert_eq!(switch.device.deadline(), Some(later(5000)));
    switch.device.tick(later(4999), &mut switch.effects);
    assert_eq!(switch.sent(), []);
    for due in [5000, 10_000] {
        switch.device.tick(later(due), &mut switch.effects);
        let sent = switch.sent();
        let [(1, Response::IdleTimeoutNotification(told))] = sent.as_slice() else {
            panic!("{sent:?}");
        };
        assert_eq!(told.timestamp, i64::try_from(later(due).0).expect("small"));
        assert_eq!(told.table_entry.len(), 1);
        assert_eq!(told.table_entry[0].table_id, TABLE);
        assert_eq!(told.table_entry[0].idle_timeout_ns, 5000);
        assert_eq!(switch.device.deadline(), Some(later(due + 5000)));
    }
}

#[test]
fn without_a_primary_no_controller_is_notified() {
    let mut switch = Switch::ready(DeviceOptions::default());
    enable_digest(&mut switch, 0, 0);
    switch.device.stream_closed(StreamId(1), &mut switch.effects);
    switch.effects.clear();
    assert_eq!(learn(&mut switch, 1, T0), []);
}
