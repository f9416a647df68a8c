//! Tests of rules about parsers: states, `select`, `extract` and `emit`.

use super::super::{accepts, parser, program, refuses, warns};

#[test]
fn parsers_start_and_end() {
    refuses(&parser("", "state begin { transition accept; }"), "no-start");
    refuses(&parser("", "state start { transition next; }"), "undeclared-name");
    refuses(
        &parser("", "state start { transition other; } state other { transition start; }"),
        "no-accept",
    );
    refuses(
        &parser("", "state start { transition select(m.m) { 1: start; _: start; } }"),
        "no-accept",
    );
    accepts(&parser("", "state start { transition select(m.m) { 1: start; } }"));
    accepts(&parser("", "state start { transition select(m.m) { } }"));
    refuses(&parser("", "state start { transition accept; } state accept { }"), "reserved-name");
    refuses(&parser("", "state start { transition accept; } state reject { }"), "reserved-name");
    warns(&parser("", "state start { }"), "transition");
    warns(
        &parser("", "state start { transition accept; } state lost { transition accept; }"),
        "unreachable",
    );
}

#[test]
fn select_looks_at_data_and_key_sets_fit() {
    let select = |text: &str| {
        parser("value_set<bit<8>>(4) vs;", &format!("state start {{ transition select{text} }}"))
    };
    refuses(&select("(m.s) { default: accept; }"), "type-mismatch");
    refuses(&select("(5) { default: accept; }"), "type-mismatch");
    refuses(&select("(m.er) { error.NoMatch: accept; }"), "type-mismatch");
    refuses(&select("(m.p) { 5: accept; }"), "type-mismatch");
    refuses(&select("(m.m) { (1, 2): accept; }"), "wrong-count");
    refuses(&select("(m.m, m.w) { 1: accept; }"), "wrong-count");
    refuses(&select("(m.m) { true: accept; }"), "type-mismatch");
    refuses(&select("(m.m) { 16w1: accept; }"), "type-mismatch");
    refuses(&select("(m.w) { vs: accept; }"), "type-mismatch");
    refuses(&select("(m.m) { 16w1 &&& 16w3: accept; }"), "type-mismatch");
    refuses(&select("(m.m) { 8w1 &&& 16w3: accept; }"), "bad-operand");
    refuses(&select("(m.flag) { true &&& false: accept; }"), "bad-operand");
    warns(&select("(m.m) { default: accept; 1: reject; }"), "unreachable");
    refuses(
        &parser("value_set<error>(4) vs;", "state start { transition accept; }"),
        "type-not-allowed",
    );
}

#[test]
fn a_value_set_has_the_fields_of_structs_in_structs() {
    let with = |keys: &str| {
        let types = "struct Outer { bit<8> a; S s; } parser P(";
        parser(
            "value_set<Outer>(4) vs;",
            &format!("state start {{ transition select({keys}) {{ vs: accept; }} }}"),
        )
        .replace("parser P(", types)
    };
    accepts(&with("m.m, m.m, m.w"));
    refuses(&with("m.m, m.m"), "wrong-count");
    refuses(&with("m.m, m.w, m.w"), "wrong-count");
}

#[test]
fn packets_are_read_and_written_in_headers() {
    refuses(&parser("", "state start { p.extract(m.s); transition accept; }"), "type-mismatch");
    refuses(&parser("", "state start { p.extract(hdr.v); transition accept; }"), "arguments");
    refuses(&parser("", "state start { p.extract(hdr.h, 32); transition accept; }"), "arguments");
    refuses(
        &parser("", "state start { V x = p.lookahead<V>(); transition accept; }"),
        "type-not-allowed",
    );
    refuses(
        &parser("", "state start { m.m = p.lookahead(); transition accept; }"),
        "type-arguments",
    );
    refuses(
        &program("control X(packet_out p, in Meta m) { apply { p.emit(m.m); } }"),
        "type-mismatch",
    );
    refuses(
        &program("control X(packet_out p, in Meta m) { apply { p.emit(m.s); } }"),
        "type-mismatch",
    );
}

#[test]
fn packets_are_taken_apart_in_parsers_only() {
    let with = |call: &str| {
        program(&format!("control X(packet_in p, inout Headers h) {{ apply {{ {call} }} }}"))
    };
    refuses(&with("p.extract(h.h);"), "misplaced");
    refuses(&with("p.advance(8);"), "misplaced");
    accepts(&with("h.h.a = (bit<8>) p.length();"));
    let two = "header X { varbit<8> a; varbit<8> b; }";
    refuses(
        &program(&format!(
            "{two} parser P(packet_in p, out X x) {{ state start {{ p.extract(x, 8); transition accept; }} }}"
        )),
        "arguments",
    );
}
