//! Tests of the bound on the memory of a decoded request: it is never too low, malicious requests
//! are refused, and realistic ones stay far below the limit.

use bytes::BytesMut;
use proptest::prelude::*;
use prost::{
    Message as _,
    encoding::{encode_key, encode_varint},
};
use tonic::Code;

use super::{shape::size_of_message, *};
use crate::{
    p4info::text,
    proto::{self, config},
};

/// The size of the largest request that a server accepts.
const REQUEST: usize = 64 << 20;

/// Returns a message of `length` bytes that is filled with empty elements of the field at `path`.
fn empties(path: &[u32], length: usize) -> Bytes {
    let (&number, outer) = path.split_last().expect("a field");
    let mut element = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut element);
    encode_varint(0, &mut element);
    let mut bytes = BytesMut::from(&*element.repeat(length / element.len()));
    for &number in outer.iter().rev() {
        let inner = bytes.split();
        encode_key(number, WireType::LengthDelimited, &mut bytes);
        encode_varint(inner.len() as u64, &mut bytes);
        bytes.extend_from_slice(&inner);
    }
    bytes.freeze()
}

/// Returns the ratio of a message's memory to its encoded length.
fn multiple<M: Request>(message: &impl Message) -> usize {
    let message = message.encode_to_vec();
    check::<M>(&message, REQUEST).expect("what controllers send");
    let (shapes, root) = Shapes::of(M::NAME).expect("known");
    memory(shapes, root, &message, usize::MAX).expect("no limit") / message.len()
}

fn refused<M: Request>(message: &[u8]) {
    let status = check::<M>(message, REQUEST).expect_err("too large");
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("of memory"), "{}", status.message());
}

#[test]
fn requests_of_empty_elements_are_refused() {
    for length in [200_000, 1 << 20, REQUEST - 100] {
        // The fields are updates, entities, and tables of a P4Info.
        refused::<v1::WriteRequest>(&empties(&[4], length));
        refused::<v1::ReadRequest>(&empties(&[2], length));
        refused::<v1::SetForwardingPipelineConfigRequest>(&empties(&[5, 1, 2], length));
    }
    // The fields are matches of one entry, metadata of one packet-out, annotations of one table,
    // and named types.
    refused::<v1::WriteRequest>(&empties(&[4, 2, 2, 2], REQUEST - 100));
    refused::<v1::StreamMessageRequest>(&empties(&[2, 2], REQUEST - 100));
    refused::<v1::SetForwardingPipelineConfigRequest>(&empties(&[5, 1, 2, 1, 4], REQUEST - 100));
    refused::<v1::SetForwardingPipelineConfigRequest>(&empties(&[5, 1, 200, 1], REQUEST - 100));
}

#[test]
fn packed_numbers_are_counted() {
    let (shapes, root) = Shapes::of("p4.v1.SetForwardingPipelineConfigRequest").expect("known");
    let mut numbers = BytesMut::new();
    for (number, length) in [(5, 1_012), (1, 1_009), (2, 1_006), (7, 1_003)] {
        encode_key(number, WireType::LengthDelimited, &mut numbers);
        encode_varint(length, &mut numbers);
    }
    numbers.extend_from_slice(&[1; 1_003]);
    let decoded = v1::SetForwardingPipelineConfigRequest::decode(&*numbers).expect("valid");
    let tables = decoded.config.and_then(|config| config.p4info).expect("a P4Info").tables;
    assert_eq!(tables[0].direct_resource_ids.len(), 1_003);
    let taken = 4 * size_of::<config::Table>() + 1_024 * 4;
    let memory = memory(shapes, root, &numbers, usize::MAX).expect("no limit");
    assert!(memory >= taken && memory < 5 * taken, "{memory} bytes for {taken}");
}

#[test]
fn sizes_are_those_of_the_types_or_a_little_more() {
    let pool = proto::pool().expect("readable");
    let mut seen = 0;
    macro_rules! compare {
        ($($name:literal $type:ty)*) => {$(
            let described = pool.get_message_by_name($name).expect($name);
            let (bound, size) = (size_of_message(&described, 0), size_of::<$type>());
            assert!(size <= bound, "{}: {size} > {bound}", $name);
            assert!(bound <= 2 * size, "{}: {bound} > 2 * {size}", $name);
            seen += 1;
        )*};
    }
    compare! {
        "p4.v1.Update" v1::Update
        "p4.v1.Entity" v1::Entity
        "p4.v1.TableEntry" v1::TableEntry
        "p4.v1.FieldMatch" v1::FieldMatch
        "p4.v1.Action.Param" v1::action::Param
        "p4.v1.ActionProfileAction" v1::ActionProfileAction
        "p4.v1.ActionProfileGroup" v1::ActionProfileGroup
        "p4.v1.Replica" v1::Replica
        "p4.v1.P4Data" v1::P4Data
        "p4.v1.PacketMetadata" v1::PacketMetadata
        "p4.v1.WriteRequest" v1::WriteRequest
        "p4.v1.StreamMessageRequest" v1::StreamMessageRequest
        "p4.config.v1.P4Info" config::P4Info
        "p4.config.v1.Table" config::Table
        "p4.config.v1.MatchField" config::MatchField
        "p4.config.v1.ActionRef" config::ActionRef
        "p4.config.v1.Action" config::Action
        "p4.config.v1.ActionProfile" config::ActionProfile
        "p4.config.v1.Extern" config::Extern
        "p4.config.v1.Digest" config::Digest
        "p4.config.v1.P4DataTypeSpec" config::P4DataTypeSpec
        "p4.config.v1.KeyValuePair" config::KeyValuePair
        "google.protobuf.Any" prost_types::Any
    }
    assert_eq!(seen, 23);
}

#[test]
fn short_requests_need_no_check() {
    let (shapes, _) = Shapes::of("p4.v1.ReadRequest").expect("known");
    // The worst case is a field that starts a list with an element of two bytes.
    let most = shapes.all_fields().map(|field| field.first().max(2 * field.held(1))).max();
    let most = most.expect("fields");
    assert!(SHORT / 2 * most <= ALWAYS, "{most} bytes for two");
}

fn delete(table: u32, key: u32) -> v1::Update {
    let value = Bytes::copy_from_slice(&key.to_be_bytes());
    let exact = v1::field_match::FieldMatchType::Exact(v1::field_match::Exact { value });
    let entry = v1::TableEntry {
        table_id: table,
        r#match: vec![v1::FieldMatch { field_id: 1, field_match_type: Some(exact) }],
        ..Default::default()
    };
    let entity = v1::entity::Entity::TableEntry(entry);
    v1::Update { r#type: 3, entity: Some(v1::Entity { entity: Some(entity) }) }
}

#[test]
fn realistic_messages_are_far_below_the_limits() {
    // Deletions are the shortest updates.
    let updates: Vec<_> = (0..100_000).map(|key| delete(0x0200_0001, key)).collect();
    let write = v1::WriteRequest { updates, ..Default::default() };
    let of_updates = multiple::<v1::WriteRequest>(&write);

    let wildcard = v1::TableEntry { table_id: 0x0200_0001, ..Default::default() };
    let entity = v1::Entity { entity: Some(v1::entity::Entity::TableEntry(wildcard)) };
    let read = v1::ReadRequest { entities: vec![entity; 20_000], ..Default::default() };
    let of_entities = multiple::<v1::ReadRequest>(&read);

    // The P4Info of a real fabric is a tenth of this size.
    let one = text::parse(include_str!("../../tests/data/everything.p4info.txtpb"));
    let one = one.expect("valid").encode_to_vec();
    let many = one.repeat(2_000_000 / one.len());
    let p4info = Some(config::P4Info::decode(&*many).expect("merged"));
    let config = v1::ForwardingPipelineConfig { p4info, ..Default::default() };
    let push =
        v1::SetForwardingPipelineConfigRequest { config: Some(config), ..Default::default() };
    let of_objects = multiple::<v1::SetForwardingPipelineConfigRequest>(&push);

    let metadata = |id| v1::PacketMetadata { metadata_id: id, value: Bytes::from_static(&[1, 2]) };
    let packet = v1::PacketOut {
        payload: Bytes::from(vec![0; 9_000]),
        metadata: (1..=8).map(metadata).collect(),
    };
    let update = Some(v1::stream_message_request::Update::Packet(packet));
    let of_packets = multiple::<v1::StreamMessageRequest>(&v1::StreamMessageRequest { update });
    let multiples = [of_updates, of_entities, of_objects, of_packets];
    let least = [64, 128, 32, 4];
    assert!(multiples.iter().zip(least).all(|(of, least)| *of < least), "{multiples:?}");
}

#[test]
fn fields_after_a_malformed_field_are_not_counted() {
    let mut message = BytesMut::from(&[0x22, 5, 1][..]);
    message.extend_from_slice(&empties(&[4], 100_000));
    // The update has five bytes, and its field number 0 is invalid.
    check::<v1::WriteRequest>(&message, REQUEST).expect("for prost to refuse");
    let status = decode::<v1::WriteRequest>(message.freeze(), REQUEST).expect_err("malformed");
    assert_eq!(status.code(), Code::Internal);
    assert!(status.message().starts_with("The message is malformed: "), "{status:?}");
}

/// Generates fields that are mostly well formed and partly those of the protos.
fn fields() -> impl Strategy<Value = Vec<u8>> {
    let number = 1_u32..14;
    let leaf = prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 0..6),
        (number.clone(), any::<u64>()).prop_map(|(number, value)| {
            let mut bytes = Vec::new();
            encode_key(number, WireType::Varint, &mut bytes);
            encode_varint(value, &mut bytes);
            bytes
        }),
    ];
    leaf.prop_recursive(8, 64, 6, move |inner| {
        let field = (number.clone(), inner, any::<bool>()).prop_map(|(number, held, group)| {
            let mut bytes = Vec::new();
            if group && number > 10 {
                encode_key(number, WireType::StartGroup, &mut bytes);
                bytes.extend_from_slice(&held);
                encode_key(number, WireType::EndGroup, &mut bytes);
            } else {
                encode_key(number, WireType::LengthDelimited, &mut bytes);
                encode_varint(held.len() as u64, &mut bytes);
                bytes.extend_from_slice(&held);
            }
            bytes
        });
        prop::collection::vec(field, 0..6).prop_map(|fields| fields.concat())
    })
}

fn walked<M: Request>(message: &[u8]) -> Result<(), TestCaseError> {
    let (shapes, root) = Shapes::of(M::NAME).expect("known");
    let mut walk = Walk { shapes, limit: usize::MAX, memory: 0 };
    let whole = walk.message(shapes.get(root), message, DEPTH).is_ok();
    if M::decode(message).is_ok() {
        prop_assert!(whole, "{} was decoded", M::NAME);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn decoded_messages_are_counted_completely(message in fields()) {
        walked::<v1::WriteRequest>(&message)?;
        walked::<v1::ReadRequest>(&message)?;
        walked::<v1::SetForwardingPipelineConfigRequest>(&message)?;
        walked::<v1::StreamMessageRequest>(&message)?;
    }
}
