//! Tests of plain values: what is read as which match, and what is refused. The property compares
//! masks and prefixes with arithmetic on machine words.

use super::*;
use crate::schema::MatchFieldId;
use proptest::prelude::*;
use std::num::NonZeroU32;

fn kind(bits: u32) -> ValueType {
    NonZeroU32::new(bits).map_or(ValueType::Text, ValueType::Bits)
}

fn field(kind_of_match: MatchKind, bits: u32) -> MatchField {
    let name = "f".to_owned();
    MatchField {
        id: MatchFieldId(1),
        name,
        kind: kind_of_match,
        value: kind(bits),
        translated: None,
    }
}

fn number(number: u64) -> Plain<'static> {
    Plain::number(number)
}

fn one(text: &str) -> PlainMatch<'_> {
    PlainMatch::One(Plain::text(text))
}

fn parsed(kind: MatchKind, bits: u32, plain: &PlainMatch<'_>) -> Option<Matching> {
    matching(&field(kind, bits), plain).expect("it fits")
}

fn problem(kind: MatchKind, bits: u32, plain: &PlainMatch<'_>) -> String {
    matching(&field(kind, bits), plain).expect_err("it does not fit").to_string()
}

#[test]
fn a_match_may_be_one_text_or_its_parts() {
    for (kind, bits, text, parts) in [
        (MatchKind::Lpm, 32, "10.1.2.3/8", (Plain::text("10.0.0.0"), number(8))),
        (MatchKind::Lpm, 128, "2001:db8::/32", (Plain::text("2001:db8::"), number(32))),
        (MatchKind::Ternary, 16, "0x1234&&&0xff00", (number(0x1200), number(0xff00))),
        (MatchKind::Ternary, 32, "10.9.9.9/8", (Plain::text("10.0.0.0"), number(0xff00_0000))),
        (MatchKind::Range, 16, "80..443", (number(80), number(443))),
        (MatchKind::Range, 16, "80->443", (Plain::text("80"), Plain::text("443"))),
    ] {
        let pair = PlainMatch::Pair(parts.0, parts.1);
        let expected = parsed(kind.clone(), bits, &one(text));
        assert!(expected.is_some(), "{text}");
        assert_eq!(parsed(kind, bits, &pair), expected, "{text}");
    }
}

#[test]
fn a_match_of_everything_is_left_out() {
    for (kind, text) in [
        (MatchKind::Lpm, "0/0"),
        (MatchKind::Ternary, "7&&&0"),
        (MatchKind::Range, "0..65535"),
        (MatchKind::Optional, "*"),
    ] {
        assert_eq!(parsed(kind.clone(), 16, &one(text)), None, "{text}");
        assert_eq!(parsed(kind, 16, &PlainMatch::Any), None);
    }
    assert_eq!(
        problem(MatchKind::Exact, 16, &PlainMatch::Any),
        "'*' is not a value of f: an exact field needs a value"
    );
}

#[test]
fn what_does_not_fit_is_refused_with_the_reason() {
    let long = "1".repeat(5000);
    for (bits, text, problem) in [
        (32, "10.0.0.256", "it is neither a number, such as 10 or 0x0a, nor an address"),
        (32, "router", "it is neither a number, such as 10 or 0x0a, nor an address"),
        (32, "", "it is neither a number, such as 10 or 0x0a, nor an address"),
        (32, &long, "it is neither a number, such as 10 or 0x0a, nor an address"),
        (9, "512", "the value needs 10 bits, the type has 9"),
        (
            128,
            "10.0.0.1",
            "the address has 32 bits, the type has 128; a number may be shorter than the type",
        ),
        (
            9,
            "0:0:0:0:0:1",
            "the address has 48 bits, the type has 9; a number may be shorter than the type",
        ),
        (0, "", "the byte string is empty; zero is written as one byte of zero"),
    ] {
        let error = value("f", kind(bits), &Plain::text(text)).expect_err(text);
        assert_eq!(error.problem, problem, "{text}");
        assert_eq!((error.name.as_str(), error.value), ("f", format!("'{text}'")));
    }
    let error = value("f", kind(8), &Plain::Bool(true)).expect_err("it is too narrow");
    assert_eq!(
        error.to_string(),
        "true is not a value of f: a truth value has 1 bit, the type has 8"
    );
    let pair = PlainMatch::Pair(Plain::text("10.0.0.0"), number(33));
    assert_eq!(
        problem(MatchKind::Lpm, 32, &pair),
        "('10.0.0.0', 33) is not a value of f: the length of a prefix is 0 to 32"
    );
    let pair = PlainMatch::Pair(number(443), number(80));
    assert_eq!(
        problem(MatchKind::Range, 16, &pair),
        "(443, 80) is not a value of f: its low end is above its high end"
    );
    assert_eq!(
        problem(MatchKind::Exact, 16, &PlainMatch::Pair(number(1), number(2))),
        "(1, 2) is not a value of f: the field takes one value"
    );
    // The value of a prefix without bits must be one of the field all the same.
    assert!(matching(&field(MatchKind::Lpm, 32), &one("10.0.0/0")).is_err());
}

#[test]
fn a_string_stays_as_it_is() {
    for text in ["Ethernet0", "10.0.0.1", "0x10"] {
        let found = value("f", kind(0), &Plain::text(text)).expect("any text is one");
        assert_eq!(found.bytes(), text.as_bytes());
    }
    let found = value("f", kind(0), &number(12)).expect("digits are a text");
    assert_eq!(found.bytes(), b"12");
}

proptest! {
    #[test]
    fn matches_are_those_of_arithmetic(value: u64, other: u64, bits in 1_u32..65) {
        let cut = |number: u64| number >> (64 - bits);
        let (value, other) = (cut(value), cut(other));
        let of = |number: u64| Value::number(bits, number.into()).expect("it is cut");
        let pair = PlainMatch::Pair(number(value), number(other));
        let ternary = (other != 0).then(|| Matching::Ternary { value: of(value & other), mask: of(other) });
        prop_assert_eq!(parsed(MatchKind::Ternary, bits, &pair), ternary);
        let length = other % u64::from(bits + 1);
        let mask = u64::MAX.checked_shl(bits - u32::try_from(length).expect("it is small")).unwrap_or(0);
        let lpm = (length != 0).then(|| Matching::Lpm {
            value: of(value & mask),
            prefix_len: u32::try_from(length).expect("it is small"),
        });
        let pair = PlainMatch::Pair(number(value), number(length));
        prop_assert_eq!(parsed(MatchKind::Lpm, bits, &pair), lpm);
    }
}
