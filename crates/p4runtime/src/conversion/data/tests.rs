//! Tests of data types and the canonical forms of their values.

use super::*;
use crate::p4info::{Resolver, text};
use crate::proto::v1::p4_data::Data;

const TYPES: &str = r#"
    structs { key: "pair" value {
      members { name: "a" type_spec { bitstring { bit { bitwidth: 9 } } } }
      members { name: "b" type_spec { serializable_enum { name: "kind" } } }
    } }
    structs { key: "loop" value {
      members { name: "again" type_spec { tuple { members { struct { name: "loop" } } } } }
    } }
    headers { key: "h" value {
      members { name: "v" type_spec { bit { bitwidth: 4 } } }
      members { name: "s" type_spec { int { bitwidth: 12 } } }
    } }
    header_unions { key: "u" value { members { name: "one" header { name: "h" } } } }
    enums { key: "color" value { members { name: "red" } members { name: "green" } } }
    error { members: "NoError" members: "Other" }
    serializable_enums { key: "kind" value { underlying_type { bitwidth: 8 } } }
    new_types { key: "port_t" value { translated_type { uri: "x" sdn_bitwidth: 32 } } }
    new_types { key: "name_t" value { translated_type { uri: "x" sdn_string {} } } }
    new_types { key: "again_t" value { original_type { new_type { name: "again_t" } } } }
"#;

fn resolve(spec: &str) -> Result<DataType, String> {
    let info = format!("type_info {{ {TYPES} }} digests {{ type_spec {{ {spec} }} }}");
    let info = text::parse(&info).unwrap();
    Resolver::new(info.type_info.as_ref()).resolve(info.digests[0].type_spec.as_ref())
}

fn canonical(spec: &str, given: Data) -> Result<Data, i32> {
    let resolved = resolve(spec).unwrap();
    let value =
        data(&resolved, &v1::P4Data { data: Some(given) }).map_err(|error| error.code() as i32)?;
    let written = message(&value);
    assert_eq!(super::data(&resolved, &written).unwrap(), value, "canonical twice");
    Ok(written.data.unwrap())
}

fn bits(bytes: &'static [u8]) -> v1::P4Data {
    v1::P4Data { data: Some(Data::Bitstring(Bytes::from_static(bytes))) }
}

const INVALID: i32 = 3;
const OUT_OF_RANGE: i32 = 11;

#[test]
fn every_type_starts_as_a_value_of_itself() {
    for spec in [
        "bitstring { bit { bitwidth: 9 } }",
        "bitstring { int { bitwidth: 9 } }",
        "bitstring { varbit { max_bitwidth: 9 } }",
        "bool {}",
        "tuple { members { bool {} } members { error {} } }",
        "struct { name: 'pair' }",
        "header { name: 'h' }",
        "header_union { name: 'u' }",
        "header_stack { header { name: 'h' } size: 3 }",
        "header_union_stack { header_union { name: 'u' } size: 2 }",
        "enum { name: 'color' }",
        "error {}",
        "serializable_enum { name: 'kind' }",
        "new_type { name: 'port_t' }",
        "new_type { name: 'name_t' }",
    ] {
        let resolved = resolve(spec).unwrap();
        let initial = resolved.initial();
        assert_eq!(data(&resolved, &message(&initial)).unwrap(), initial, "{spec}");
    }
}

#[test]
fn unresolved_and_cyclic_names_are_refused() {
    for (spec, error) in [
        ("struct { name: 'none' }", "type_info has no struct 'none'"),
        ("header { name: 'none' }", "type_info has no header 'none'"),
        ("struct { name: 'loop' }", "type 'loop' contains itself"),
        ("new_type { name: 'again_t' }", "types are nested more than 32 deep"),
        ("bitstring {}", "the type is unset"),
        ("bitstring { bit { bitwidth: -1 } }", "a width of -1 bits is not possible"),
        (
            "header_stack { header { name: 'h' } size: -1 }",
            "a stack of -1 elements is not possible",
        ),
        (
            "header_stack { header { name: 'h' } size: 2000000000 }",
            "a value of the header stack of 2000000000 has more than 4096 scalars",
        ),
    ] {
        assert_eq!(resolve(spec).unwrap_err(), error);
    }
}

#[test]
fn doubling_structs_are_refused_before_they_grow() {
    let mut types = String::from("structs { key: 's0' value {} }");
    for level in 1..30 {
        let member = format!("members {{ type_spec {{ struct {{ name: 's{}' }} }} }}", level - 1);
        types += &format!("structs {{ key: 's{level}' value {{ {member} {member} }} }}");
    }
    let info =
        format!("type_info {{ {types} }} digests {{ type_spec {{ struct {{ name: 's29' }} }} }}");
    let info = text::parse(&info).unwrap();
    let error = Resolver::new(info.type_info.as_ref())
        .resolve(info.digests[0].type_spec.as_ref())
        .unwrap_err();
    assert!(error.contains("more than 4096 scalars"), "{error}");
}

/// A cell of an array starts as the first member of an enum, whose name may be long.
#[test]
fn long_names_count_by_their_size() {
    let name = "n".repeat(1000);
    let member = "members { enum { name: 'e' } }";
    let spec = |count: usize| {
        let types = format!(
            "type_info {{ enums {{ key: 'e' value {{ members {{ name: '{name}' }} }} }} }}"
        );
        let tuple = format!("tuple {{ {} }}", member.repeat(count));
        let info = format!("{types} digests {{ type_spec {{ {tuple} }} }}");
        let info = text::parse(&info).unwrap();
        Resolver::new(info.type_info.as_ref()).resolve(info.digests[0].type_spec.as_ref())
    };
    assert!(spec(10).is_ok());
    assert!(spec(100).unwrap_err().contains("more than 4096 scalars"));
}

#[test]
fn members_are_made_canonical_one_by_one() {
    let kind = |bytes| v1::P4Data { data: Some(Data::EnumValue(Bytes::from_static(bytes))) };
    let pair = |first, second| Data::Struct(v1::P4StructLike { members: vec![first, second] });
    let spec = "struct { name: 'pair' }";
    assert_eq!(
        canonical(spec, pair(bits(b"\0\x05"), kind(b"\0\0"))),
        Ok(pair(bits(b"\x05"), kind(b"\0")))
    );
    assert_eq!(canonical(spec, pair(bits(b"\x02\x00"), kind(b"\0"))), Err(OUT_OF_RANGE));
    assert_eq!(canonical(spec, pair(kind(b"\0"), bits(b"\x05"))), Err(INVALID));
    assert_eq!(canonical(spec, Data::Struct(v1::P4StructLike::default())), Err(INVALID));
    assert_eq!(canonical(spec, Data::Tuple(v1::P4StructLike::default())), Err(INVALID));
}

#[test]
fn headers_are_valid_with_all_fields_or_invalid_with_none() {
    let header = |is_valid, fields: &[&'static [u8]]| v1::P4Header {
        is_valid,
        bitstrings: fields.iter().map(|field| Bytes::from_static(field)).collect(),
    };
    let spec = "header { name: 'h' }";
    let signed = Data::Header(header(true, &[b"\x04", b"\xff\xff"]));
    assert_eq!(canonical(spec, signed), Ok(Data::Header(header(true, &[b"\x04", b"\xff"]))));
    assert_eq!(canonical(spec, Data::Header(header(true, &[b"\x04"]))), Err(INVALID));
    assert_eq!(canonical(spec, Data::Header(header(false, &[b"\x04", b"\x01"]))), Err(INVALID));

    let union = |name: &str, valid_header| {
        Data::HeaderUnion(v1::P4HeaderUnion { valid_header_name: name.to_owned(), valid_header })
    };
    let spec = "header_union { name: 'u' }";
    let valid = header(true, &[b"\x04", b"\x01"]);
    assert!(canonical(spec, union("one", Some(valid.clone()))).is_ok());
    assert_eq!(canonical(spec, union("two", Some(valid.clone()))), Err(INVALID));
    assert_eq!(canonical(spec, union("", Some(valid))), Err(INVALID));
    assert_eq!(canonical(spec, union("one", None)), Err(INVALID));
    assert_eq!(canonical(spec, union("one", Some(header(false, &[])))), Err(INVALID));

    let spec = "header_stack { header { name: 'h' } size: 1 }";
    let stack = |entries| Data::HeaderStack(v1::P4HeaderStack { entries });
    assert!(canonical(spec, stack(vec![header(false, &[])])).is_ok());
    assert_eq!(canonical(spec, stack(vec![])), Err(INVALID));
}

#[test]
fn the_width_of_a_varbit_is_checked() {
    let varbit = |bytes, bitwidth| {
        Data::Varbit(v1::P4Varbit { bitstring: Bytes::from_static(bytes), bitwidth })
    };
    let spec = "bitstring { varbit { max_bitwidth: 12 } }";
    assert_eq!(canonical(spec, varbit(b"\0\x05", 12)), Ok(varbit(b"\x05", 12)));
    assert_eq!(canonical(spec, varbit(b"", 0)), Ok(varbit(b"", 0)));
    assert_eq!(canonical(spec, varbit(b"", 1)), Err(OUT_OF_RANGE));
    assert_eq!(canonical(spec, varbit(b"\x05", 2)), Err(OUT_OF_RANGE));
    assert_eq!(canonical(spec, varbit(b"\x05", 13)), Err(OUT_OF_RANGE));
    assert_eq!(canonical(spec, varbit(b"\x05", -1)), Err(OUT_OF_RANGE));
}

#[test]
fn enums_know_their_members() {
    assert!(canonical("enum { name: 'color' }", Data::Enum("green".into())).is_ok());
    assert_eq!(canonical("enum { name: 'color' }", Data::Enum("blue".into())), Err(INVALID));
    assert!(canonical("error {}", Data::Error("Other".into())).is_ok());
    assert_eq!(canonical("error {}", Data::Error(String::new())), Err(INVALID));
    assert_eq!(
        canonical("new_type { name: 'name_t' }", Data::Bitstring(Bytes::new())),
        Err(OUT_OF_RANGE)
    );
}
