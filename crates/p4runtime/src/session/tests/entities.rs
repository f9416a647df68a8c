use prost::Message as _;
use v1::write_request::Atomicity;

use super::*;

#[test]
fn the_checks_of_a_write_have_an_order() {
    let mut switch = Switch::new(DeviceOptions::default());
    let request = |device_id, role: &str, election_id| v1::WriteRequest {
        device_id,
        role: role.to_owned(),
        election_id,
        updates: vec![insert(host(TABLE, 1, 1))],
        ..Default::default()
    };
    let refused = |switch: &mut Switch, request| switch.write_request(&request).expect_err("no");

    assert_eq!(refused(&mut switch, request(DEVICE + 1, "x", None)), Code::NotFound);
    assert_eq!(refused(&mut switch, request(DEVICE, "x", id(1))), Code::NotFound);
    assert_eq!(refused(&mut switch, request(DEVICE, "", id(1))), Code::PermissionDenied);
    switch.arbitrate(1, "", 5);
    assert_eq!(refused(&mut switch, request(DEVICE, "", None)), Code::PermissionDenied);
    assert_eq!(refused(&mut switch, request(DEVICE, "", id(4))), Code::PermissionDenied);
    assert_eq!(refused(&mut switch, request(DEVICE, "", id(6))), Code::PermissionDenied);
    assert_eq!(refused(&mut switch, request(DEVICE, "", id(5))), Code::FailedPrecondition);
}

#[test]
fn who_was_primary_may_not_write_any_more() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.arbitrate(2, "", 2);
    let update = || vec![insert(host(TABLE, 1, 1))];
    assert_eq!(switch.write_as("", 1, update()), Err(Code::PermissionDenied));
    assert_eq!(switch.write_as("", 2, update()), Ok(vec![Code::Ok]));
    switch.device.stream_closed(StreamId(2), &mut switch.effects);
    assert_eq!(switch.write_as("", 2, update()), Err(Code::PermissionDenied));
}

#[test]
fn roles_with_the_same_election_id_are_told_apart() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.arbitrate(2, "a", 1);
    switch.arbitrate(2, "a", 3);
    let update = |address| vec![insert(host(TABLE, address, 1))];
    assert_eq!(switch.write_as("a", 3, update(1)), Ok(vec![Code::Ok]));
    assert_eq!(switch.write_as("a", 1, update(2)), Err(Code::PermissionDenied));
    assert_eq!(switch.write_as("", 1, update(2)), Ok(vec![Code::Ok]));
    assert_eq!(switch.write_as("", 3, update(3)), Err(Code::PermissionDenied));
}

#[test]
fn each_update_has_its_outcome_in_the_order_of_the_batch() {
    let mut switch = Switch::ready(DeviceOptions::default());
    let updates =
        || vec![insert(host(TABLE, 1, 1)), insert(host(TABLE, 1, 2)), insert(host(TABLE, 2, 1))];
    let expected = vec![Code::Ok, Code::AlreadyExists, Code::Ok];
    assert_eq!(switch.write(updates()), Ok(expected));
    assert_eq!(switch.write(vec![]), Ok(vec![]));
}

#[test]
fn all_or_nothing_where_it_is_asked_for() {
    for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        let mut switch = Switch::ready(DeviceOptions::default());
        let request = v1::WriteRequest {
            device_id: DEVICE,
            election_id: id(1),
            updates: vec![insert(host(TABLE, 1, 1)), insert(host(TABLE, 1, 2))],
            atomicity: atomicity as i32,
            ..Default::default()
        };
        let outcome = switch.write_request(&request);
        assert_eq!(outcome, Ok(vec![Code::Aborted, Code::AlreadyExists]));
        assert_eq!(switch.read("", vec![table(0)]), Ok(vec![]));
    }
}

#[test]
fn an_undefined_atomicity_is_refused() {
    let mut switch = Switch::ready(DeviceOptions::default());
    let request = v1::WriteRequest {
        device_id: DEVICE,
        election_id: id(1),
        updates: vec![insert(host(TABLE, 1, 1))],
        atomicity: 9,
        ..Default::default()
    };
    assert_eq!(switch.write_request(&request), Err(Code::InvalidArgument));
}

#[test]
fn a_read_needs_a_device_and_a_pipeline_but_no_primary() {
    let switch = Switch::new(DeviceOptions::default());
    assert_eq!(switch.read("", vec![table(0)]), Err(Code::FailedPrecondition));
    let elsewhere = v1::ReadRequest { device_id: DEVICE + 1, ..Default::default() };
    let error = switch.device.read(&elsewhere, T0).expect_err("no such device");
    assert_eq!(error.code(), Code::NotFound);

    let mut switch = Switch::ready(DeviceOptions::default());
    switch.write(vec![insert(host(TABLE, 1, 1))]).expect("written");
    switch.device.stream_closed(StreamId(1), &mut switch.effects);
    assert_eq!(switch.read("", vec![table(TABLE)]), Ok(vec![host(TABLE, 1, 1)]));
}

#[test]
fn a_failed_request_of_a_batch_leaves_the_others_alone() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.write(vec![insert(host(TABLE, 1, 1))]).expect("written");
    let request = v1::ReadRequest {
        device_id: DEVICE,
        entities: vec![table(TABLE), v1::Entity::default(), table(TABLE)],
        ..Default::default()
    };
    let outcome = switch.device.read(&request, T0).expect("read");
    let failed: Vec<_> = outcome.outcomes.iter().map(Result::is_err).collect();
    assert_eq!(failed, [false, true, false]);
    let found: usize = outcome.responses.iter().map(|one| one.entities.len()).sum();
    assert_eq!(found, 2);
}

#[test]
fn an_answer_without_entities_is_one_empty_message() {
    let switch = Switch::ready(DeviceOptions::default());
    let read = |entities| {
        let request = v1::ReadRequest { device_id: DEVICE, entities, ..Default::default() };
        switch.device.read(&request, T0).expect("read").responses
    };
    assert_eq!(read(vec![table(TABLE)]), [v1::ReadResponse::default()]);
    assert_eq!(read(Vec::new()), [v1::ReadResponse::default()]);
    assert_eq!(read(vec![v1::Entity::default()]), [], "the status says what is wrong");
}

#[test]
fn a_large_answer_is_split() {
    let mut switch = Switch::ready(DeviceOptions::default());
    let entry = |number: u32| {
        let mut entity = host(TABLE, 0, 1);
        if let Some(Kind::TableEntry(entry)) = &mut entity.entity {
            let value = Bytes::copy_from_slice(&(number + 1).to_be_bytes());
            let exact = v1::field_match::Exact { value };
            entry.r#match[0].field_match_type = Some(v1::field_match::FieldMatchType::Exact(exact));
            entry.metadata = vec![7; 100].into();
        }
        insert(entity)
    };
    let outcomes = switch.write((0..10_000).map(entry).collect()).expect("written");
    assert!(outcomes.iter().all(|code| *code == Code::Ok));

    let request =
        v1::ReadRequest { device_id: DEVICE, entities: vec![table(0)], ..Default::default() };
    let responses = switch.device.read(&request, T0).expect("read").responses;
    let sizes: Vec<_> = responses.iter().map(prost::Message::encoded_len).collect();
    assert!(sizes.len() > 3 && sizes.iter().all(|size| *size < 512 * 1024), "{sizes:?}");
    assert!(responses[0].encoded_len() > 128 * 1024);
    assert_eq!(responses.iter().map(|one| one.entities.len()).sum::<usize>(), 10_000);
}
