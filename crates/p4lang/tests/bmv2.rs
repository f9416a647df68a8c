//! BMv2 JSON becomes a valid v1model program; what contradicts the format is refused.

use p4lang::bmv2::{Bmv2Error, load_bmv2_json};

/// One program with all kinds of elements: stack, union, varbit, lookahead, value set, checksum,
/// jumps, saturation, direct counter and meter, entries, synthesised tables.
const FEATURES: &str = include_str!("bmv2/features.json");

#[test]
fn every_kind_of_element() {
    let program = load_bmv2_json(FEATURES).expect("the program is read");
    program.validate().expect("it keeps the promises of the IR");
    insta::assert_snapshot!(program.to_text());
}

/// `FEATURES` with one text put in the place of another.
fn changed(from: &str, to: &str) -> String {
    assert!(FEATURES.contains(from), "`{from}` is not in the program");
    match load_bmv2_json(&FEATURES.replacen(from, to, 1)) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn contradictions_are_named() {
    insta::assert_snapshot!(changed("\"header_type\": \"ip_t\"", "\"header_type\": \"ip_x\""), @"BMv2 JSON, header `ip`: there is no header type `ip_x`");
    insta::assert_snapshot!(changed("\"init_state\": \"start\"", "\"init_state\": \"begin\""), @"BMv2 JSON, parser state `opt`: there is no state `begin`");
    insta::assert_snapshot!(changed("\"op\": \"mark_to_drop\"", "\"op\": \"teleport\""), @"BMv2 JSON, action `ingress.drop`: the primitive `teleport` with 1 parameters is not supported");
    insta::assert_snapshot!(changed("\"algo\": \"csum16\"", "\"algo\": \"csum17\""), @"BMv2 JSON, checksum `cksum`: the hash algorithm `csum17` is not known");
    insta::assert_snapshot!(changed("\"features60\": \"node_5\"", "\"features60\": \"node_3\""), @"BMv2 JSON, pipeline `ingress`: its nodes form a cycle");
    insta::assert_snapshot!(changed("\"op\": \"_jump_if_zero\"", "\"op\": \"_jump\""), @"BMv2 JSON, action `ingress.classify`: a jump without a target");
}

#[test]
fn other_texts_are_refused() {
    let empty = load_bmv2_json("{}").expect("an empty program passes packets through");
    empty.validate().expect("it is valid");
    assert!(matches!(load_bmv2_json("[1]"), Err(Bmv2Error::Json(_))));
    assert!(matches!(
        load_bmv2_json(r#"{"__meta__": {"version": [3, 0]}}"#),
        Err(Bmv2Error::Version { major: 3, minor: 0 })
    ));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(load_bmv2_json(&deep), Err(Bmv2Error::Depth { .. })));
}
