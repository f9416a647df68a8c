//! Pairs of programs that differ in one thing, which a comparison finds, and pairs that are equal
//! although they are written differently, which it proves.

use super::compiled;
use super::equivalence::passes;
use ir::Program;
use symbolic::equivalence::{Difference, Equivalence, equivalent};
use symbolic::search::Options;

const PROGRAM: &str = "#include <core.p4>
#include <v1model.p4>
header a_t { bit<8> x; bit<8> y; }
header b_t { bit<16> z; }
header s_t { bit<8> v; }
header o_t { varbit<24> data; }
struct headers_t { a_t a; b_t b; s_t[2] s; o_t o; }
struct meta_t { @field_list(1) bit<8> kept; @field_list(2) bit<8> other; }
parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.a); transition PARSE; }
    STATES
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action send(bit<9> port) { s.egress_spec = port; }
    OBJECTS
    apply {
        if (s.parser_error != error.NoError) {
            mark_to_drop(s);
            exit;
        }
        s.egress_spec = 1;
        INGRESS
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { EGRESS } }
control U(inout headers_t h, inout meta_t m) { apply { CHECKSUM } }
control D(packet_out packet, in headers_t h) {
    apply { packet.emit(h.a); packet.emit(h.b); packet.emit(h.s); packet.emit(h.o); }
}
V1Switch(P(), V(), I(), E(), U(), D()) main;
";

/// The parts of a program with their texts. Other parts are empty.
type Parts<'t> = &'t [(&'t str, &'t str)];

fn program(parts: Parts<'_>) -> Program {
    let mut text = PROGRAM.to_owned();
    for (part, replacement) in parts {
        assert!(text.contains(part), "{part}");
        text = text.replace(part, replacement);
    }
    for (part, replacement) in [
        ("PARSE;", "accept;"),
        ("STATES", ""),
        ("OBJECTS", ""),
        ("INGRESS", ""),
        ("EGRESS", ""),
        ("CHECKSUM", ""),
    ] {
        text = text.replace(part, replacement);
    }
    compiled(&text)
}

/// Checks that the first two programs are proved equal, and that a test tells the first one and the
/// third one apart.
fn check(first: Parts<'_>, rewritten: Parts<'_>, different: Parts<'_>) {
    let [left, same, other] = [first, rewritten, different].map(program);
    let compare = |second: &Program| {
        let verdict = ir::with_large_stack(|| equivalent(&left, second, &Options::default()));
        verdict.expect("a thread").unwrap_or_else(|error| panic!("{first:?}: {error}"))
    };
    let found = compare(&same);
    assert!(matches!(found, Equivalence::Equal { .. }), "{first:?}\n{rewritten:?}\n{found:?}");
    let found = compare(&other);
    let Equivalence::Different(difference) = found else {
        panic!("{first:?}\n{different:?}\n{found:?}");
    };
    let Difference { first: of_left, second: of_other } = *difference;
    assert!(passes(&left, &of_left), "{first:?}\n{}", of_left.stf());
    assert!(passes(&other, &of_other), "{different:?}\n{}", of_other.stf());
    assert!(!passes(&other, &of_left), "{different:?}\n{}", of_left.stf());
    assert!(!passes(&left, &of_other), "{first:?}\n{}", of_other.stf());
}

/// Checks programs that differ in the statements of ingress.
fn check_ingress([first, rewritten, different]: [&str; 3]) {
    check(&[("INGRESS", first)], &[("INGRESS", rewritten)], &[("INGRESS", different)]);
}

#[test]
fn arithmetic() {
    for statements in [
        // The carry is part of a wider sum.
        [
            "bit<16> w = (bit<16>) h.a.x + 16w200; h.a.y = w[15:8];",
            "bit<16> w = 16w200 + (bit<16>) h.a.x; h.a.y = (bit<8>) (w >> 8);",
            "bit<16> w = (bit<16>) (h.a.x + 8w200); h.a.y = w[15:8];",
        ],
        // Signed numbers are compared.
        [
            "if ((int<8>) h.a.x < (int<8>) h.a.y) { s.egress_spec = 2; }",
            "if ((h.a.x ^ 0x80) < (h.a.y ^ 0x80)) { s.egress_spec = 2; }",
            "if (h.a.x < h.a.y) { s.egress_spec = 2; }",
        ],
        // A cast extends the sign.
        [
            "int<16> w = (int<16>) (int<8>) h.a.x; h.a.y = ((bit<16>) w)[15:8];",
            "h.a.y = h.a.x >= 128 ? 8w0xff : 8w0;",
            "int<16> w = (int<16>) (bit<16>) h.a.x; h.a.y = ((bit<16>) w)[15:8];",
        ],
        [
            "h.a.y = h.a.x |+| 8w200;",
            "h.a.y = h.a.x > 55 ? 8w255 : h.a.x + 200;",
            "h.a.y = h.a.x + 200;",
        ],
        [
            "h.a.y = h.a.x |-| 8w200;",
            "h.a.y = h.a.x < 200 ? 8w0 : h.a.x - 200;",
            "h.a.y = h.a.x < 199 ? 8w0 : h.a.x - 200;",
        ],
        [
            "h.a.y = h.a.x << h.a.y;",
            "h.a.y = h.a.y >= 8 ? 8w0 : h.a.x << h.a.y;",
            "h.a.y = h.a.x << (h.a.y & 7);",
        ],
        [
            "h.a.y = (bit<8>) ((int<8>) h.a.x >> h.a.y);",
            "h.a.y = h.a.y > 7 ? (h.a.x >= 128 ? 8w0xff : 8w0) : (bit<8>) ((int<8>) h.a.x >> h.a.y);",
            "h.a.y = h.a.x >> h.a.y;",
        ],
        [
            "h.a.y[3:0] = h.a.x[7:4];",
            "h.a.y = (h.a.y & 0xf0) | (h.a.x >> 4);",
            "h.a.y[4:1] = h.a.x[7:4];",
        ],
    ] {
        check_ingress(statements);
    }
}

#[test]
fn ways_through_ingress() {
    let objects = "action leave() { exit; }
        action stop() { leave(); s.egress_spec = 2; }
        action back() { return; }
        action skip() { back(); s.egress_spec = 2; }";
    let with = |ingress: &'static str| [("OBJECTS", objects), ("INGRESS", ingress)];
    check(
        &with("if (h.a.x == 1) { stop(); } h.a.y = 1;"),
        &with("if (h.a.x == 1) { exit; } h.a.y = 1;"),
        &with("if (h.a.x == 1) { skip(); } h.a.y = 1;"),
    );
    check(
        &with("if (h.a.x == 1) { skip(); } h.a.y = 1;"),
        &with("h.a.y = 1; if (h.a.x == 1) { s.egress_spec = 2; }"),
        &with("if (h.a.x == 1) { return; } h.a.y = 1;"),
    );
    // A variable that was not assigned is not read.
    check_ingress([
        "bit<8> u; if (h.a.x == 1) { u = 5; h.a.y = u; }",
        "if (h.a.x == 1) { h.a.y = 5; }",
        "bit<8> u; if (h.a.x == 1) { u = 6; h.a.y = u; }",
    ]);
}

/// Returns the parts of a program that looks up a table.
fn table<'t>(objects: &'t str, ingress: &'t str) -> [(&'t str, &'t str); 2] {
    [("OBJECTS", objects), ("INGRESS", ingress)]
}

fn with_entries(kind: &str, entries: &str) -> String {
    format!(
        "table t {{
            key = {{ h.a.x: {kind}; }}
            actions = {{ send; NoAction; }}
            const default_action = NoAction();
            const entries = {{ {entries} }}
        }}"
    )
}

#[test]
fn entries_in_the_source() {
    for (kind, [first, rewritten, different]) in [
        // The first of several ternary entries wins, so that the second one never does.
        (
            "ternary",
            [
                "0x10 &&& 0xf0: send(2); 0x11: send(3); _: send(4);",
                "0x10 &&& 0xf0: send(2); _: send(4);",
                "0x11: send(3); 0x10 &&& 0xf0: send(2); _: send(4);",
            ],
        ),
        (
            "ternary",
            [
                "0x10 &&& 0xf0: send(2);",
                "0x10 &&& 0xf8: send(2); 0x18 &&& 0xf8: send(2);",
                "0x10 &&& 0xf8: send(2);",
            ],
        ),
        // The longest prefix wins, wherever it is.
        (
            "lpm",
            [
                "0x00 &&& 0x00: send(2); 0x80 &&& 0x80: send(3);",
                "0x80 &&& 0x80: send(3); _: send(2);",
                "0x80 &&& 0x80: send(3);",
            ],
        ),
        ("range", ["3 .. 9: send(2);", "3 .. 5: send(2); 6 .. 9: send(2);", "3 .. 8: send(2);"]),
        ("range", ["3 .. 9: send(2);", "4 .. 9: send(2); 3 .. 3: send(2);", "4 .. 9: send(2);"]),
        (
            "exact",
            ["7: send(2); 9: send(3);", "9: send(3); 7: send(2);", "7: send(3); 9: send(2);"],
        ),
    ] {
        let [first, rewritten, different] =
            [first, rewritten, different].map(|entries| with_entries(kind, entries));
        check(
            &table(&first, "t.apply();"),
            &table(&rewritten, "t.apply();"),
            &table(&different, "t.apply();"),
        );
    }
}

fn with_default(default: &str, is_counted: bool) -> String {
    let (counter, property) = if is_counted {
        ("direct_counter(CounterType.packets) seen;", "counters = seen;")
    } else {
        ("", "")
    };
    format!(
        "{counter}
        table t {{
            key = {{ h.a.x: exact; }}
            actions = {{ send; NoAction; }}
            {default};
            {property}
        }}"
    )
}

#[test]
fn outcomes_of_tables() {
    // Arguments of a default action. Direct counters have no effect on packets.
    let [plain, counted, other] = [
        with_default("const default_action = send(5)", false),
        with_default("const default_action = send(2 + 3)", true),
        with_default("const default_action = send(6)", false),
    ];
    let apply = "t.apply();";
    check(&table(&plain, apply), &table(&counted, apply), &table(&other, apply));
    // An entry may have the action of a miss.
    let objects = with_default("const default_action = NoAction()", false);
    check(
        &table(&objects, "if (t.apply().hit) { h.a.y = 1; }"),
        &table(&objects, "if (!t.apply().miss) { h.a.y = 1; }"),
        &table(&objects, "switch (t.apply().action_run) { send: { h.a.y = 1; } default: { } }"),
    );
    check(
        &table(
            &objects,
            "switch (t.apply().action_run) { send: { h.a.y = 1; } default: { h.a.y = 2; } }",
        ),
        &table(
            &objects,
            "h.a.y = 2; switch (t.apply().action_run) { send: { h.a.y = 1; } NoAction: { } }",
        ),
        &table(&objects, "if (t.apply().hit) { h.a.y = 1; } else { h.a.y = 2; }"),
    );
}

#[test]
fn parsers() {
    let more = "state more { packet.extract(h.b); transition accept; }";
    // The header is dropped, so that which packets have it matters.
    let with = |parse: &'static str| {
        [("PARSE;", parse), ("STATES", more), ("INGRESS", "h.b.setInvalid();")]
    };
    for [first, rewritten, different] in [
        [
            "select(h.a.x) { 0x10 &&& 0xf0: more; default: accept; }",
            "select(h.a.x) { 0x10 .. 0x1f: more; default: accept; }",
            "select(h.a.x) { 0x10 &&& 0xf8: more; default: accept; }",
        ],
        [
            "select(packet.lookahead<bit<8>>()) { 1: more; default: accept; }",
            "select(packet.lookahead<bit<8>>() ^ 8w0xff) { 0xfe: more; default: accept; }",
            "select((bit<8>) (packet.lookahead<bit<16>>() >> 8)) { 1: more; default: accept; }",
        ],
    ] {
        check(&with(first), &with(rewritten), &with(different));
    }
    let validity = |condition: &'static str| {
        [
            ("PARSE;", "select(h.a.x) { 1: more; default: accept; }"),
            ("STATES", more),
            ("INGRESS", condition),
        ]
    };
    check(
        &validity("if (h.b.isValid()) { h.a.y = 1; }"),
        &validity("if (h.a.x == 1) { h.a.y = 1; }"),
        &validity("h.b.setValid(); if (h.b.isValid()) { h.a.y = 1; }"),
    );
}

/// Returns the parts of a program that parses one or two elements of a stack.
fn stacked(states: &str) -> [(&str, &str); 3] {
    [
        ("PARSE;", "select(h.a.x) { 0: one; default: two; }"),
        ("STATES", states),
        ("INGRESS", "h.b.setInvalid();"),
    ]
}

/// Returns the parts of a program that removes the header with a variable length.
fn dropping(states: &str) -> [(&str, &str); 3] {
    [("PARSE;", "more;"), ("STATES", states), ("INGRESS", "h.o.setInvalid();")]
}

#[test]
fn stacks_and_variable_lengths() {
    let one = "state one { packet.extract(h.s.next); transition accept; }
        state more { packet.extract(h.b); transition accept; }";
    let stack = |subject: &str| {
        format!(
            "{one} state two {{ packet.extract(h.s.next); packet.extract(h.s.next);
             transition select({subject}) {{ 1: more; default: accept; }} }}"
        )
    };
    let [last, second, first] = ["h.s.last.v", "h.s[1].v", "h.s[0].v"].map(stack);
    check(&stacked(&last), &stacked(&second), &stacked(&first));
    // An element that was pushed is invalid.
    let pushed = |ingress: &'static str| {
        [
            ("PARSE;", "select(h.a.x) { 0: one; default: accept; }"),
            ("STATES", one),
            ("INGRESS", ingress),
        ]
    };
    check(
        &pushed("h.s.push_front(1);"),
        &pushed("h.s[1] = h.s[0]; h.s[0].setInvalid();"),
        &pushed("h.s.pop_front(1);"),
    );
    let [first, same, other] =
        ["(bit<32>) (h.a.x & 3) * 8", "((bit<32>) h.a.x & 32w3) << 3", "(bit<32>) (h.a.x & 1) * 8"]
            .map(|length| {
                format!("state more {{ packet.extract(h.o, {length}); transition accept; }}")
            });
    check(&dropping(&first), &dropping(&same), &dropping(&other));
}

#[test]
fn after_ingress() {
    let egress = |statements: &'static str| [("EGRESS", statements)];
    check(
        &egress("if (h.a.x == 7) { mark_to_drop(s); }"),
        &egress("if (!(h.a.x != 7)) { mark_to_drop(s); }"),
        &egress("if (h.a.x == 8) { mark_to_drop(s); }"),
    );
    let replicas =
        |statements: &'static str| [("INGRESS", "s.mcast_grp = 3;"), ("EGRESS", statements)];
    check(
        &replicas("if (s.egress_rid == 2) { h.a.y = 1; }"),
        &replicas("if ((s.egress_rid ^ 16w2) == 0) { h.a.y = 1; }"),
        &replicas("if (s.egress_rid == 3) { h.a.y = 1; }"),
    );
    let checksum = |data: &'static str| {
        [
            ("PARSE;", "more;"),
            ("STATES", "state more { packet.extract(h.b); transition accept; }"),
            ("CHECKSUM", data),
        ]
    };
    check(
        &checksum("update_checksum(true, { h.a.x, h.a.y }, h.b.z, HashAlgorithm.csum16);"),
        &checksum("update_checksum(true, { h.a.x ++ h.a.y }, h.b.z, HashAlgorithm.csum16);"),
        &checksum("update_checksum(true, { h.a.y, h.a.x }, h.b.z, HashAlgorithm.csum16);"),
    );
}

/// Metadata in the field list are preserved, and others are not.
#[test]
fn further_passes() {
    let resubmits = "if (s.instance_type == 0 && h.a.x == 1) {
            m.kept = h.a.y;
            resubmit_preserving_field_list(1);
        } else if (s.instance_type == 6) {
            h.a.y = m.kept + 1;
        }";
    check_ingress([
        resubmits,
        resubmits.replace("m.kept + 1", "h.a.y + 1").as_str(),
        resubmits.replace("list(1)", "list(2)").as_str(),
    ]);
    let again = "if (s.instance_type == 4) { h.a.y = m.kept + 1; }";
    // The instance type of a packet in egress does not say that it was recirculated.
    let recirculates = "if (h.a.x == 1) {
            h.a.x = 2;
            m.kept = h.a.y;
            recirculate_preserving_field_list(1);
        }";
    let other = recirculates.replace("list(1)", "list(2)");
    check(
        &[("INGRESS", again), ("EGRESS", recirculates)],
        &[
            ("INGRESS", "if (s.instance_type == 4) { h.a.y = h.a.y + 1; }"),
            ("EGRESS", recirculates),
        ],
        &[("INGRESS", again), ("EGRESS", other.as_str())],
    );
}
