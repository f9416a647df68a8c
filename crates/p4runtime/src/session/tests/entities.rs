//! Tests of `Write` and `Read`: permissions, the atomicity of batches, and the limits and splitting
//! of answers.

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
fn a_former_primary_may_not_write() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.arbitrate(2, "", 2);
    let update = || vec![insert(host(TABLE, 1, 1))];
    assert_eq!(switch.write_as("", 1, update()), Err(Code::PermissionDenied));
    assert_eq!(switch.write_as("", 2, update()), Ok(vec![Code::Ok]));
    switch.device.stream_closed(StreamId(2), &mut switch.effects);
    assert_eq!(switch.write_as("", 2, update()), Err(Code::PermissionDenied));
}

#[test]
fn roles_with_the_same_election_id_are_distinct() {
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
fn an_atomic_batch_is_all_or_nothing() {
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
    let error = switch.answer(elsewhere).expect_err("no such device");
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
    let (responses, outcomes) = switch.answer(request).expect("read");
    let failed: Vec<_> = outcomes.iter().map(Result::is_err).collect();
    assert_eq!(failed, [false, true, false]);
    let found: usize = responses.iter().map(|one| one.entities.len()).sum();
    assert_eq!(found, 2);
}

#[test]
fn an_answer_without_entities_is_one_empty_message() {
    let switch = Switch::ready(DeviceOptions::default());
    let read = |entities| {
        let request = v1::ReadRequest { device_id: DEVICE, entities, ..Default::default() };
        switch.answer(request).expect("read").0
    };
    assert_eq!(read(vec![table(TABLE)]), [v1::ReadResponse::default()]);
    assert_eq!(read(Vec::new()), [v1::ReadResponse::default()]);
    assert_eq!(read(vec![v1::Entity::default()]), [], "the status says what is wrong");
}

/// Returns the insertion of an entry of the first table with metadata of this size.
fn large(number: u32, bytes: usize) -> v1::Update {
    let mut entity = host(TABLE, 0, 1);
    if let Some(Kind::TableEntry(entry)) = &mut entity.entity {
        let value = Bytes::copy_from_slice(&(number + 1).to_be_bytes());
        let exact = v1::field_match::Exact { value };
        entry.r#match[0].field_match_type = Some(v1::field_match::FieldMatchType::Exact(exact));
        entry.metadata = vec![7; bytes].into();
    }
    insert(entity)
}

fn asking_for(entities: Vec<v1::Entity>) -> v1::ReadRequest {
    v1::ReadRequest { device_id: DEVICE, entities, ..Default::default() }
}

#[test]
fn a_read_returns_the_state_at_its_beginning() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.write((0..10_000).map(|number| large(number, 100)).collect()).expect("written");
    let before = switch.read("", vec![table(TABLE)]).expect("read");
    let mut answer = switch.device.read(asking_for(vec![table(TABLE)]), T0).expect("read");
    let ReadStep::Message(first) = answer.step() else { panic!("a full message") };
    let first = first.decode().expect("it was encoded");
    let last = before.last().expect("entries").clone();
    let delete = v1::Update { r#type: UpdateType::Delete as i32, entity: Some(last.clone()) };
    switch.write(vec![delete, large(10_000, 100)]).expect("written");
    let (rest, _) = answer.into_whole();
    let found: Vec<_> =
        std::iter::once(first).chain(rest).flat_map(|message| message.entities).collect();
    assert!(found == before, "in order, and each once");
    let now = switch.read("", vec![table(TABLE)]).expect("read");
    assert_eq!((now.len(), now.contains(&last)), (10_000, false));
}

#[test]
fn a_read_is_limited_as_a_whole() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.write((0..128).map(|number| large(number, 1 << 16)).collect()).expect("written");
    let (mut received, mut answer) =
        (0, switch.device.read(asking_for(vec![table(TABLE); 40]), T0).expect("read"));
    let outcomes = loop {
        match answer.step() {
            ReadStep::Message(message) => received += message.bytes().len() as u64,
            ReadStep::Busy => {}
            ReadStep::End(outcomes) => break outcomes,
        }
    };
    assert!(received > MAX_READ_BYTES / 2 && received < MAX_READ_BYTES + (1 << 20), "{received}");
    let refused = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    let codes: Vec<_> = refused.map(EntityError::code).collect();
    assert!(codes.len() < 10 && codes.len() > 5, "{codes:?}");
    assert!(codes.iter().all(|code| *code == Code::ResourceExhausted), "{codes:?}");
}

/// The metadata that controllers attach to entities are limited, and only the update that exceeds
/// the limit is refused.
#[test]
fn metadata_are_limited() {
    let options = DeviceOptions { metadata: 1024, ..DeviceOptions::default() };
    let mut switch = Switch::ready(options);
    let outcomes = switch.write(vec![large(1, 1024), large(2, 1025), large(3, 0)]).expect("tried");
    assert_eq!(outcomes, [Code::Ok, Code::ResourceExhausted, Code::Ok]);
}

#[test]
fn a_large_answer_is_split() {
    let mut switch = Switch::ready(DeviceOptions::default());
    let entry = |number| large(number, 100);
    let outcomes = switch.write((0..10_000).map(entry).collect()).expect("written");
    assert!(outcomes.iter().all(|code| *code == Code::Ok));

    let request =
        v1::ReadRequest { device_id: DEVICE, entities: vec![table(0)], ..Default::default() };
    let responses = switch.answer(request).expect("read").0;
    let sizes: Vec<_> = responses.iter().map(prost::Message::encoded_len).collect();
    assert!(sizes.len() > 3 && sizes.iter().all(|size| *size < 512 * 1024), "{sizes:?}");
    assert!(responses[0].encoded_len() > 128 * 1024);
    assert_eq!(responses.iter().map(|one| one.entities.len()).sum::<usize>(), 10_000);
}
