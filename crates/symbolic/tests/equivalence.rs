//! Equivalence of two programs: rewritten programs are equal, and planted differences are found.

use ir::Program;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options as Preprocessor};
use symbolic::equivalence::{Difference, Equivalence, equivalent};
use symbolic::search::Options;

const PROGRAM: &str = r"
#include <core.p4>
#include <v1model.p4>
header a_t { bit<8> kind; bit<8> ttl; bit<16> value; }
header b_t { bit<16> tag; }
struct headers_t { a_t a; b_t b; }
struct meta_t { bit<16> m; }
parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.a);
        transition select(h.a.kind) { 1: tagged; 2 .. 9: accept; default: reject; }
    }
    state tagged { packet.extract(h.b); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action send(bit<9> port) { s.egress_spec = port; }
    action mark(bit<16> tag) { h.b.setValid(); h.b.tag = tag; s.egress_spec = 3; }
    action drop() { mark_to_drop(s); }
    table acl {
        key = { h.a.value: ternary; h.a.kind: exact; }
        actions = { send; mark; drop; }
        default_action = drop();
    }
    apply {
        if (s.parser_error != error.NoError || h.a.ttl < 2) { drop(); exit; }
        h.a.ttl = h.a.ttl - 1;
        m.m = h.a.value + h.a.value;
        acl.apply();
        if (h.b.isValid()) { h.a.value = m.m; }
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control U(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out packet, in headers_t h) { apply { packet.emit(h.a); packet.emit(h.b); } }
V1Switch(P(), V(), I(), E(), U(), D()) main;
";

fn compiled(text: &str) -> Program {
    let compiled =
        p4lang::compile_text("test.p4", text, &Preprocessor::default(), &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    compiled.program.unwrap_or_else(|| panic!("{messages}\n{text}"))
}

/// Compares the program with another in which texts are replaced.
fn compared(replaced: &[(&str, &str)]) -> Equivalence {
    let mut other = PROGRAM.to_owned();
    for (from, to) in replaced {
        assert!(other.contains(from), "{from}");
        other = other.replace(from, to);
    }
    let (first, second) = (compiled(PROGRAM), compiled(&other));
    let verdict = ir::with_large_stack(move || equivalent(&first, &second, &Options::default()));
    verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn copies_to_different_groups_or_sessions_are_not_called_equal() {
    let action = "mark_to_drop(s); }";
    let to = |copy: &str| compiled(&PROGRAM.replace(action, copy));
    let compare = |first: &str, second: &str| {
        let (first, second) = (to(first), to(second));
        let verdict =
            ir::with_large_stack(move || equivalent(&first, &second, &Options::default()));
        verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
    };
    let group = |number: u8| format!("s.mcast_grp = {number}; }}");
    let session = |number: u8| format!("clone(CloneType.I2E, {number}); mark_to_drop(s); }}");
    for copy in [&group as &dyn Fn(u8) -> String, &session] {
        let found = compare(&copy(1), &copy(2));
        assert!(matches!(found, Equivalence::Undecided(_)), "{}: {found:?}", copy(1));
        let found = compare(&copy(1), &copy(1));
        assert!(matches!(found, Equivalence::Equal { .. }), "{}: {found:?}", copy(1));
    }
}

fn difference(replaced: &[(&str, &str)]) -> Difference {
    match compared(replaced) {
        Equivalence::Different(difference) => *difference,
        other => panic!("{replaced:?}: {other:?}"),
    }
}

#[test]
fn rewritten_programs_are_equal() {
    let rewritten: [&[(&str, &str)]; 7] = [
        &[],
        // A parser that rejects a packet without an error leaves it to ingress in v1model.
        &[("2 .. 9: accept;", "2 .. 8: accept;")],
        &[("h.a.value + h.a.value", "h.a.value << 1"), ("h.a.ttl - 1", "h.a.ttl + 255")],
        &[("2 .. 9: accept;", "2 .. 5: accept; 6: accept; 7 .. 9: accept;")],
        &[("h.a.ttl < 2", "!(h.a.ttl > 1)")],
        // The assignment of the field is exchanged with the table, which does not read it.
        &[
            ("        h.a.ttl = h.a.ttl - 1;\n", ""),
            ("        acl.apply();\n", "        acl.apply();\n        h.a.ttl = h.a.ttl - 1;\n"),
        ],
        &[(
            "h.b.setValid(); h.b.tag = tag;",
            "h.b.setValid(); h.b.tag = ~tag; h.b.tag = ~h.b.tag;",
        )],
    ];
    for replaced in rewritten {
        let verdict = compared(replaced);
        let Equivalence::Equal { layouts } = verdict else { panic!("{replaced:?}: {verdict:?}") };
        assert!(layouts >= 4, "{replaced:?}: only {layouts} layouts");
    }
}

#[test]
fn planted_differences_are_found() {
    let planted: [&[(&str, &str)]; 8] = [
        &[("h.a.ttl < 2", "h.a.ttl <= 2")],
        &[("2 .. 9: accept;", "2 .. 8: accept; 9: tagged;")],
        &[("h.a.ttl - 1", "h.a.ttl - 2")],
        &[("s.egress_spec = 3;", "s.egress_spec = 4;")],
        &[("h.b.setValid(); ", "")],
        &[("packet.emit(h.a); packet.emit(h.b);", "packet.emit(h.b); packet.emit(h.a);")],
        &[("default_action = drop();", "const default_action = send(1);")],
        // Only one of 65,536 values tells these apart.
        &[("h.a.value = m.m;", "if (h.a.value != 0xbeef) { h.a.value = m.m; }")],
    ];
    for replaced in planted {
        let Difference { first, second } = difference(replaced);
        assert_eq!((&first.packet, first.port), (&second.packet, second.port));
        assert_ne!(first.outputs, second.outputs, "{replaced:?}");
        assert_eq!((&first.entries, &first.defaults), (&second.entries, &second.defaults));
    }
    let rare = difference(&[("h.a.value = m.m;", "if (h.a.value != 0xbeef) { h.a.value = m.m; }")]);
    assert_eq!(rare.first.packet.get(4..8), Some("beef"), "{}", rare.first.packet);
}

#[test]
fn bits_that_are_undefined_in_one_program_are_no_difference() {
    // A tag that was not assigned may be any tag, so no packet shows the difference.
    let verdict =
        compared(&[("h.b.setValid(); h.b.tag = tag;", "h.b.setInvalid(); h.b.setValid();")]);
    assert!(matches!(verdict, Equivalence::Undecided(_)), "{verdict:?}");
}

#[test]
fn tables_that_cannot_be_paired_are_named() {
    let verdict = compared(&[("h.a.kind: exact; }", "h.a.ttl: exact; h.a.kind: exact; }")]);
    let Equivalence::Undecided(reason) = verdict else { panic!("{verdict:?}") };
    assert!(reason.contains("I.acl has other keys"), "{reason}");
}
