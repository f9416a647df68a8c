//! Tests of the text form of values: how text is parsed, how values are formatted, and that
//! formatted values can be parsed.

use super::*;
use entities::schema::{MatchFieldId, MatchKind};
use entities::{BitsType, DataType};
use p4runtime::proto::v1::p4_data::Data as Message;
use proptest::prelude::*;
use std::num::NonZeroU32;

fn field(kind: MatchKind, bits: u32) -> MatchField {
    let value = NonZeroU32::new(bits).map_or(ValueType::Text, ValueType::Bits);
    MatchField { id: MatchFieldId(1), name: "f".to_owned(), kind, value, translated: None }
}

fn shown(field: &MatchField, text: &str) -> String {
    let form = Form::of(field.value, &field.name, field.kind == MatchKind::Lpm, &[]);
    match parse_match(field, text) {
        Ok(Some(found)) => show_match(form, field.value.bits(), &found),
        Ok(None) => ANY.to_owned(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn matches_are_read_in_the_forms_of_people_and_of_simple_switch_cli() {
    for (kind, bits, text, expected) in [
        (MatchKind::Exact, 32, "0x0a000001", "167772161"),
        (MatchKind::Exact, 48, "8:0:0:0:1:11", "08:00:00:00:01:11"),
        (MatchKind::Exact, 128, "2001:DB8::1", "2001:db8::1"),
        (MatchKind::Exact, 1, "true", "1"),
        (MatchKind::Exact, 0, "Ethernet1/1", "Ethernet1/1"),
        (
            MatchKind::Exact,
            9,
            "512",
            "error: '512' is not a value of f: the value needs 10 bits, the type has 9",
        ),
        (
            MatchKind::Exact,
            9,
            "*",
            "error: '*' is not a value of f: it is neither a number, such as 10 or 0x0a, nor an address",
        ),
        (MatchKind::Lpm, 32, "10.0.1.1/32", "10.0.1.1/32"),
        (MatchKind::Lpm, 32, "10.1.2.3/9", "10.0.0.0/9"),
        (MatchKind::Lpm, 32, "10.0.0.1", "10.0.0.1/32"),
        (MatchKind::Lpm, 32, "0/0", "*"),
        (
            MatchKind::Lpm,
            32,
            "10.0.0.0/33",
            "error: '10.0.0.0/33' is not a value of f: the length of a prefix is 0 to 32",
        ),
        (MatchKind::Lpm, 9, "0x1ff/1", "256/1"),
        (MatchKind::Ternary, 16, "0x0806", "2054"),
        (MatchKind::Ternary, 16, "0x1234&&&0xff00", "0x1200&&&0xff00"),
        (MatchKind::Ternary, 16, "0&&&0", "*"),
        (MatchKind::Ternary, 9, "0/1", "0x0&&&0x100"),
        (MatchKind::Range, 16, "80->443", "80..443"),
        (MatchKind::Range, 16, "80..443", "80..443"),
        (MatchKind::Range, 16, "80", "80..80"),
        (MatchKind::Range, 16, "0->65535", "*"),
        (MatchKind::Range, 9, "0..0x1ff", "*"),
        (
            MatchKind::Range,
            16,
            "443..80",
            "error: '443..80' is not a value of f: its low end is above its high end",
        ),
        (MatchKind::Optional, 8, "0&&&0", "*"),
        (MatchKind::Optional, 8, "6&&&255", "6"),
        (
            MatchKind::Optional,
            8,
            "6&&&15",
            "error: '6&&&15' is not a value of f: an optional field has no mask but all bits or none",
        ),
        (MatchKind::Optional, 0, "eth0", "eth0"),
    ] {
        assert_eq!(shown(&field(kind.clone(), bits), text), expected, "{kind:?} {bits} {text}");
    }
}

#[test]
fn the_form_of_a_value_follows_its_annotation_width_and_name() {
    let bits = |bits| NonZeroU32::new(bits).map_or(ValueType::Text, ValueType::Bits);
    let form = |width, name: &str| Form::of(bits(width), name, false, &[]);
    assert_eq!(form(32, "meta.next_hop"), Form::Ipv4);
    assert_eq!(form(32, "hdr.ipv4.dstAddr"), Form::Ipv4);
    assert_eq!(form(32, "meta.description"), Form::Decimal);
    assert_eq!(form(32, "hdr.ipv4.sequence"), Form::Decimal);
    assert_eq!((form(48, "x"), form(128, "x")), (Form::Ethernet, Form::Ipv6));
    assert_eq!((form(96, "x"), form(0, "x")), (Form::Hexadecimal, Form::Text));
    let hexadecimal = ["@format(HEX_STR)".to_owned()];
    assert_eq!(Form::of(bits(48), "x", false, &hexadecimal), Form::Hexadecimal);
    let ipv4 = ["@format(IPV4_ADDRESS)".to_owned()];
    assert_eq!(Form::of(bits(32), "x", false, &ipv4), Form::Ipv4);
}

#[test]
fn data_of_each_type_is_read_and_shown() {
    let members: std::sync::Arc<[String]> = ["A".to_owned(), "B".to_owned()].into();
    let pair = DataType::Struct([DataType::Bool, DataType::Bits(BitsType::Signed(8))].into());
    let nested = DataType::Tuple([DataType::Bits(BitsType::Unsigned(16)), pair].into());
    for (of, text, expected) in [
        (DataType::Bits(BitsType::Unsigned(16)), "0x10", "16"),
        (DataType::Bits(BitsType::Signed(8)), "-128", "-128"),
        (DataType::Bits(BitsType::Signed(8)), "127", "127"),
        (DataType::Enum(members), "B", "B"),
        (nested, "{7, {true, -1}}", "{7, {true, -1}}"),
    ] {
        let data = parse_data("r", &of, text).expect(text);
        assert_eq!(show_data("r", &of, &data), expected);
    }
    assert!(parse_data("r", &DataType::Bits(BitsType::Signed(8)), "128").is_err());
    assert!(parse_data("r", &DataType::Tuple([DataType::Bool].into()), "{1, 0}").is_err());
    let negative =
        parse_data("r", &DataType::Bits(BitsType::Signed(16)), "-2").expect("it is right");
    assert_eq!(negative.data, Some(Message::Bitstring(Bytes::from_static(&[0xfe]))));
}

proptest! {
    /// A match that is formatted as text and then parsed is unchanged.
    #[test]
    fn matches_that_are_shown_are_read_back(
        value: u64, mask: u64, bits in 1_u32..65, which in 0_usize..5,
    ) {
        let kinds = [
            MatchKind::Exact, MatchKind::Lpm, MatchKind::Ternary, MatchKind::Range, MatchKind::Optional,
        ];
        let field = field(kinds[which].clone(), bits);
        let cut = |number: u64| number >> (64 - bits);
        let (value, mask) = (cut(value), cut(mask));
        let text = match which {
            1 => format!("{value}/{}", mask % u64::from(bits + 1)),
            2 => format!("{value}&&&{mask}"),
            3 => format!("{}..{}", value.min(mask), value.max(mask)),
            _ => value.to_string(),
        };
        let once = parse_match(&field, &text).expect("it is right");
        let form = Form::of(field.value, "f", which == 1, &[]);
        let again = once.as_ref().map_or(ANY.to_owned(), |one| show_match(form, Some(bits), one));
        if which != 0 || again != ANY {
            prop_assert_eq!(parse_match(&field, &again).expect("it is shown"), once);
        }
    }
}
