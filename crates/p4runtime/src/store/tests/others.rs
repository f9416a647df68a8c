//! Tests of packet replication, value sets, digests and externs.

use super::*;
use crate::proto::v1::packet_replication_engine_entry::Type as Engine;
use crate::proto::v1::replica::PortKind;

const INVALID: Result<(), Code> = Err(Code::InvalidArgument);
const TYPES: u32 = 0x0300_0001;
const LEARN: u32 = 0x1700_0001;

fn replica(port: &[u8], instance: u32) -> v1::Replica {
    v1::Replica { port_kind: Some(PortKind::Port(bytes(port))), instance, backup_replicas: vec![] }
}

fn old_replica(port: u32, instance: u32) -> v1::Replica {
    v1::Replica { port_kind: Some(PortKind::EgressPort(port)), instance, backup_replicas: vec![] }
}

fn multicast(id: u32, replicas: Vec<v1::Replica>) -> v1::PacketReplicationEngineEntry {
    let group = v1::MulticastGroupEntry { multicast_group_id: id, replicas, metadata: bytes(b"m") };
    v1::PacketReplicationEngineEntry { r#type: Some(Engine::MulticastGroupEntry(group)) }
}

fn clone_session(
    id: u32,
    replicas: Vec<v1::Replica>,
    length: i32,
) -> v1::PacketReplicationEngineEntry {
    let session = v1::CloneSessionEntry {
        session_id: id,
        replicas,
        class_of_service: 2,
        packet_length_bytes: length,
    };
    v1::PacketReplicationEngineEntry { r#type: Some(Engine::CloneSessionEntry(session)) }
}

#[test]
fn multicast_groups_are_written_and_read() {
    let mut switch = Switch::new();
    assert_eq!(switch.insert(multicast(0, vec![])), INVALID);
    assert_eq!(switch.modify(multicast(1, vec![])), Err(Code::NotFound));
    assert_eq!(switch.delete(multicast(1, vec![])), Err(Code::NotFound));
    assert_eq!(switch.insert(multicast(1, vec![replica(b"\0\x05", 1), old_replica(5, 2)])), Ok(()));
    assert_eq!(switch.insert(multicast(1, vec![])), Err(Code::AlreadyExists));
    let read = multicast(1, vec![replica(b"\x05", 1), old_replica(5, 2)]);
    assert_eq!(
        switch.read(multicast(0, vec![])),
        Ok(vec![read.clone().into()]),
        "each port in its form"
    );
    assert_eq!(switch.insert(multicast(9, vec![])), Ok(()));
    assert_eq!(switch.read(multicast(1, vec![])), Ok(vec![read.into()]));
    assert_eq!(switch.read(clone_session(0, vec![], 0)), Ok(vec![]));
    assert_eq!(switch.modify(multicast(9, vec![replica(b"\x01", 0)])), Ok(()));
    assert_eq!(switch.delete(multicast(9, vec![replica(b"", 0)])), Ok(()));
    assert_eq!(switch.read(multicast(0, vec![])).unwrap().len(), 1);
}

#[test]
fn replicas_of_a_multicast_group_differ() {
    let mut switch = Switch::new();
    let refused =
        |switch: &mut Switch, replicas| assert_eq!(switch.insert(multicast(1, replicas)), INVALID);
    refused(&mut switch, vec![replica(b"\x05", 1), replica(b"\0\x05", 1)]);
    refused(&mut switch, vec![replica(b"\x05", 1), old_replica(5, 1)]);
    let backed = |port: &[u8], instance| v1::Replica {
        backup_replicas: vec![v1::BackupReplica { port: bytes(port), instance }],
        ..replica(b"\x05", 1)
    };
    refused(&mut switch, vec![backed(b"\x05", 2)]);
    refused(&mut switch, vec![backed(b"\x06", 2), replica(b"\x06", 2)]);
    assert_eq!(switch.insert(multicast(1, vec![replica(b"", 1)])), Err(Code::OutOfRange));
    assert_eq!(switch.insert(multicast(1, vec![backed(b"", 1)])), Err(Code::OutOfRange));
    let unset = v1::Replica::default();
    refused(&mut switch, vec![unset.clone(), old_replica(0, 0)]);
    assert_eq!(switch.insert(multicast(1, vec![backed(b"\x06", 2), unset])), Ok(()));
}

#[test]
fn clone_sessions_are_written_and_read() {
    let mut switch = Switch::new();
    let session = clone_session(100, vec![replica(b"\xff\xff\xff\xfd", 1)], 4096);
    assert_eq!(switch.insert(session.clone()), Ok(()));
    assert_eq!(switch.insert(session.clone()), Err(Code::AlreadyExists));
    assert_eq!(switch.insert(clone_session(0, vec![], 0)), INVALID);
    assert_eq!(switch.modify(clone_session(100, vec![], -1)), INVALID);
    assert_eq!(switch.read(clone_session(0, vec![], 0)), Ok(vec![session.clone().into()]));
    assert_eq!(switch.read(clone_session(7, vec![], 0)), Ok(vec![]));
    assert_eq!(switch.delete(session.clone()), Ok(()));
    assert_eq!(switch.delete(session), Err(Code::NotFound));
    assert_eq!(switch.insert(v1::PacketReplicationEngineEntry::default()), INVALID);
}

fn value_set(members: &[Vec<v1::FieldMatch>]) -> v1::ValueSetEntry {
    let members = members.iter().map(|fields| v1::ValueSetMember { r#match: fields.clone() });
    v1::ValueSetEntry { value_set_id: TYPES, members: members.collect() }
}

#[test]
fn value_sets_are_replaced_and_read() {
    let mut switch = Switch::new();
    let all = v1::ValueSetEntry::default();
    assert_eq!(switch.read(all.clone()), Ok(vec![value_set(&[]).into()]), "empty at first");
    let first = vec![exact(1, b"\x22\xf3")];
    let second = vec![exact(1, b"\x89\x3b"), ternary(2, b"\x01", b"\x01")];
    let set = value_set(&[first.clone(), second.clone()]);
    assert_eq!(switch.modify(set.clone()), Ok(()));
    assert_eq!(switch.read(all.clone()), Ok(vec![set.clone().into()]));
    assert_eq!(switch.read(value_set(&[])), Ok(vec![set.clone().into()]));
    assert_eq!(switch.insert(set.clone()), INVALID);
    assert_eq!(switch.delete(set), INVALID);
    let third = vec![exact(1, b"\x01")];
    assert_eq!(
        switch.modify(value_set(&[first.clone(), second, third])),
        Err(Code::ResourceExhausted)
    );
    let padded = vec![exact(1, b"\0\x22\xf3")];
    assert_eq!(switch.modify(value_set(&[first, padded])), Err(Code::AlreadyExists));
    assert_eq!(switch.modify(value_set(&[vec![]])), INVALID, "exact field missing");
    assert_eq!(switch.modify(value_set(&[])), Ok(()));
    assert_eq!(switch.read(all), Ok(vec![value_set(&[]).into()]));
    let unknown = v1::ValueSetEntry { value_set_id: 77, members: vec![] };
    assert_eq!(switch.modify(unknown.clone()), INVALID);
    assert_eq!(switch.read(unknown), Err(Code::InvalidArgument));
}

#[test]
fn digests_are_enabled_and_read() {
    let mut switch = Switch::new();
    let config =
        v1::digest_entry::Config { max_timeout_ns: 5, max_list_size: 6, ack_timeout_ns: 7 };
    let digest = v1::DigestEntry { digest_id: LEARN, config: Some(config) };
    let all = v1::DigestEntry::default();
    assert_eq!(switch.read(all), Ok(vec![]));
    assert_eq!(switch.modify(digest), Err(Code::NotFound));
    assert_eq!(switch.delete(digest), Err(Code::NotFound));
    assert_eq!(switch.insert(digest), Ok(()));
    assert_eq!(switch.insert(digest), Err(Code::AlreadyExists));
    assert_eq!(switch.read(all), Ok(vec![digest.into()]));
    let changed = v1::DigestEntry { config: None, ..digest };
    assert_eq!(switch.modify(changed), Ok(()));
    assert_eq!(switch.read(digest), Ok(vec![changed.into()]));
    let negative = v1::digest_entry::Config { max_timeout_ns: -1, ..config };
    assert_eq!(switch.modify(v1::DigestEntry { config: Some(negative), ..digest }), INVALID);
    assert_eq!(switch.delete(v1::DigestEntry { config: Some(negative), ..digest }), Ok(()));
    let unknown = v1::DigestEntry { digest_id: 77, config: None };
    assert_eq!(switch.insert(unknown), INVALID);
    assert_eq!(switch.read(unknown), Err(Code::InvalidArgument));
}

#[test]
fn externs_are_unimplemented_or_unknown() {
    let mut switch = Switch::new();
    let known = v1::ExternEntry { extern_type_id: 0x81, extern_id: 0x8100_0001, entry: None };
    assert_eq!(switch.insert(known.clone()), Err(Code::Unimplemented));
    assert_eq!(switch.read(known.clone()), Err(Code::Unimplemented));
    assert_eq!(switch.insert(v1::ExternEntry { extern_type_id: 0x82, ..known.clone() }), INVALID);
    assert_eq!(switch.insert(v1::ExternEntry { extern_id: 7, ..known }), INVALID);
    assert_eq!(switch.read(v1::ExternEntry::default()), Ok(vec![]));
    let of_type = |extern_type_id| v1::ExternEntry { extern_type_id, extern_id: 0, entry: None };
    assert_eq!(switch.read(of_type(0x81)), Err(Code::Unimplemented));
    assert_eq!(switch.read(of_type(0x82)), Err(Code::InvalidArgument));
}
