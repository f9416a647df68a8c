//! Tests of the metadata of packet-ins and packet-outs, for headers with different fields, widths
//! and translated types.

use proptest::{prelude::*, test_runner::RngSeed};

use super::*;

/// A header: its name, and the id, name and width of each field. A width of 0 stands for the type
/// `port_t`.
type Header<'a> = (&'a str, &'a [(u32, &'a str, i32)]);

fn p4info(headers: &[Header<'_>], port_type: Option<config::P4NewTypeSpec>) -> config::P4Info {
    let metadata =
        |(id, name, bitwidth): &(u32, &str, i32)| config::controller_packet_metadata::Metadata {
            id: *id,
            name: (*name).to_owned(),
            bitwidth: *bitwidth,
            type_name: (*bitwidth == 0).then(|| config::P4NamedType { name: "port_t".to_owned() }),
            ..Default::default()
        };
    let header = |(name, fields): &Header<'_>| config::ControllerPacketMetadata {
        preamble: Some(config::Preamble { name: (*name).to_owned(), ..Default::default() }),
        metadata: fields.iter().map(metadata).collect(),
    };
    config::P4Info {
        controller_packet_metadata: headers.iter().map(header).collect(),
        type_info: port_type.map(|spec| config::P4TypeInfo {
            new_types: [("port_t".to_owned(), spec)].into(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn translated(sdn_type: config::p4_new_type_translation::SdnType) -> config::P4NewTypeSpec {
    config::P4NewTypeSpec {
        representation: Some(config::p4_new_type_spec::Representation::TranslatedType(
            config::P4NewTypeTranslation { sdn_type: Some(sdn_type), ..Default::default() },
        )),
        ..Default::default()
    }
}

/// Returns the headers of ONOS's `basic` pipeline.
fn basic() -> config::P4Info {
    p4info(
        &[
            ("packet_in", &[(1, "ingress_port", 9), (2, "_padding", 7)]),
            ("packet_out", &[(1, "egress_port", 9), (2, "_padding", 7)]),
        ],
        None,
    )
}

fn list(fields: &[(u32, &[u8])]) -> Vec<v1::PacketMetadata> {
    let one = |(metadata_id, value): &(u32, &[u8])| v1::PacketMetadata {
        metadata_id: *metadata_id,
        value: Bytes::copy_from_slice(value),
    };
    fields.iter().map(one).collect()
}

#[test]
fn packet_in_of_a_nine_bit_port() {
    let layout = PacketInLayout::from_p4info(&basic(), ByteString::Canonical).expect("header");
    assert_eq!(layout.metadata(0), list(&[(1, &[0]), (2, &[0])]));
    assert_eq!(layout.metadata(5), list(&[(1, &[5]), (2, &[0])]));
    assert_eq!(layout.metadata(255), list(&[(1, &[255]), (2, &[0])]));
    assert_eq!(layout.metadata(256), list(&[(1, &[1, 0]), (2, &[0])]));
    assert_eq!(layout.metadata(511), list(&[(1, &[1, 255]), (2, &[0])]));
    let full = PacketInLayout::from_p4info(&basic(), ByteString::FullWidth).expect("header");
    assert_eq!(full.metadata(5), list(&[(1, &[0, 5]), (2, &[0])]));
    assert_eq!(layout.read_ingress_port(&full.metadata(5)), Some(5));
}

#[test]
fn fields_are_found_by_name_whatever_their_order_and_id() {
    let header: Header<'_> =
        ("packet_in", &[(7, "_pad", 7), (9, "reason", 16), (3, "ingress_port", 32)]);
    let layout =
        PacketInLayout::from_p4info(&p4info(&[header], None), ByteString::Canonical).expect("one");
    let expected = list(&[(7, &[0]), (9, &[0]), (3, &[1, 0, 0, 1])]);
    assert_eq!(layout.metadata(0x0100_0001), expected);
    let padding: Vec<_> = layout.0.fields.iter().map(Field::is_padding).collect();
    assert_eq!(padding, [true, false, false]);
}

#[test]
fn a_header_without_port_field_stays_all_zero() {
    let header: Header<'_> = ("packet_in", &[(1, "reason", 12)]);
    let layout =
        PacketInLayout::from_p4info(&p4info(&[header], None), ByteString::FullWidth).expect("one");
    assert_eq!(layout.metadata(5), list(&[(1, &[0, 0])]));
    assert!(layout.ingress_port().is_none());
}

#[test]
fn a_program_without_controller_headers_has_no_layout() {
    let none = p4info(&[], None);
    assert!(PacketInLayout::from_p4info(&none, ByteString::Canonical).is_none());
    assert!(PacketOutLayout::from_p4info(&none, ByteString::Canonical).is_none());
}

#[test]
fn translated_types_have_the_width_or_text_of_the_controller() {
    use config::p4_new_type_translation::{SdnString, SdnType};

    let headers: &[Header<'_>] = &[
        ("packet_in", &[(1, "ingress_port", 0), (2, "unused_pad", 7)]),
        ("packet_out", &[(1, "egress_port", 0)]),
    ];
    let wide = p4info(headers, Some(translated(SdnType::SdnBitwidth(32))));
    let layout = PacketInLayout::from_p4info(&wide, ByteString::FullWidth).expect("header");
    assert_eq!(layout.metadata(5), list(&[(1, &[0, 0, 0, 5]), (2, &[0])]));

    let text = p4info(headers, Some(translated(SdnType::SdnString(SdnString {}))));
    let layout = PacketInLayout::from_p4info(&text, ByteString::Canonical).expect("header");
    assert_eq!(layout.metadata(513), list(&[(1, b"513"), (2, &[0])]));
    let out = PacketOutLayout::from_p4info(&text, ByteString::Canonical).expect("header");
    assert_eq!(out.read_egress_port(&list(&[(1, b"42")])), Some(42));
    assert_eq!(out.read_egress_port(&list(&[(1, b"Ethernet0")])), None);
    assert_eq!(out.check(&list(&[(1, b"Ethernet0")]), MissingMetadata::Refuse), Ok(()));
}

#[test]
fn packet_out_takes_either_form_and_no_padding() {
    let layout = PacketOutLayout::from_p4info(&basic(), ByteString::Canonical).expect("header");
    let accepted: [&[(u32, &[u8])]; 4] =
        [&[(1, &[5])], &[(1, &[0, 5])], &[(1, &[0, 0, 5]), (2, &[0])], &[(2, &[0]), (1, &[5])]];
    for fields in accepted {
        let metadata = list(fields);
        assert_eq!(layout.check(&metadata, MissingMetadata::AcceptPadding), Ok(()));
        assert_eq!(layout.read_egress_port(&metadata), Some(5));
    }
    assert_eq!(layout.metadata(300), list(&[(1, &[1, 44]), (2, &[0])]));
}

#[test]
fn packet_out_that_does_not_fit_is_refused() {
    let layout = PacketOutLayout::from_p4info(&basic(), ByteString::Canonical).expect("header");
    let egress = || "egress_port".to_owned();
    let cases = [
        (list(&[(1, &[5]), (7, &[0])]), MetadataError::Unknown { id: 7 }),
        (list(&[(1, &[5]), (1, &[5])]), MetadataError::Repeated { id: 1 }),
        (list(&[(1, &[])]), MetadataError::Empty { id: 1, name: egress() }),
        (list(&[(1, &[2, 0])]), MetadataError::TooWide { id: 1, name: egress(), bits: 9 }),
        (list(&[(2, &[0])]), MetadataError::Missing { id: 1, name: egress() }),
    ];
    for (metadata, error) in cases {
        assert_eq!(layout.check(&metadata, MissingMetadata::AcceptPadding), Err(error));
    }
    let unpadded = list(&[(1, &[5])]);
    let missing = MetadataError::Missing { id: 2, name: "_padding".to_owned() };
    assert_eq!(layout.check(&unpadded, MissingMetadata::Refuse), Err(missing));
}

#[test]
fn a_port_of_more_than_32_bits_is_no_port() {
    let header: Header<'_> = ("packet_out", &[(1, "egress_port", 48)]);
    let info = p4info(&[header], None);
    let layout = PacketOutLayout::from_p4info(&info, ByteString::FullWidth).expect("header");
    assert_eq!(layout.metadata(1), list(&[(1, &[0, 0, 0, 0, 0, 1])]));
    assert_eq!(layout.read_egress_port(&list(&[(1, &[0, 0, 0, 0, 0, 9])])), Some(9));
    let wide = list(&[(1, &[1, 0, 0, 0, 0, 0])]);
    assert_eq!(layout.check(&wide, MissingMetadata::Refuse), Ok(()));
    assert_eq!(layout.read_egress_port(&wide), None);
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(0x9559),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn written_metadata_is_read_back(port: u32, full: bool, bits in 32..80_i32) {
        let form = if full { ByteString::FullWidth } else { ByteString::Canonical };
        let fields = [(1, "ingress_port", bits), (2, "egress_port", bits)];
        let info = p4info(&[("packet_in", &fields), ("packet_out", &fields)], None);
        let into = PacketInLayout::from_p4info(&info, form).expect("header");
        let out = PacketOutLayout::from_p4info(&info, form).expect("header");
        prop_assert_eq!(into.read_ingress_port(&into.metadata(port)), Some(port));
        let metadata = out.metadata(port);
        prop_assert_eq!(out.read_egress_port(&metadata), Some(port));
        prop_assert_eq!(out.check(&metadata, MissingMetadata::Refuse), Ok(()));
        let width = metadata[1].value.len();
        let needed = port.to_be_bytes().iter().skip_while(|byte| **byte == 0).count().max(1);
        prop_assert_eq!(width, if full { bits.unsigned_abs().div_ceil(8) as usize } else { needed });
    }
}
