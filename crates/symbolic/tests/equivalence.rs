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
fn copies_to_different_groups_or_sessions_are_told_apart() {
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
        let Equivalence::Different(difference) = found else { panic!("{}: {found:?}", copy(1)) };
        assert_ne!(difference.first.outputs, difference.second.outputs, "{}", copy(1));
        let found = compare(&copy(1), &copy(1));
        assert!(matches!(found, Equivalence::Equal { .. }), "{}: {found:?}", copy(1));
    }
}

#[test]
fn values_that_both_programs_leave_undefined_are_no_difference() {
    let last = "if (h.b.isValid()) { h.a.value = m.m; }";
    let program = compiled(&PROGRAM.replace(last, "bit<16> unset; h.a.value = unset;"));
    let verdict = ir::with_large_stack(move || equivalent(&program, &program, &Options::default()));
    let verdict = verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(verdict, Equivalence::Equal { .. }), "{verdict:?}");
}

#[test]
fn programs_that_recompute_checksums_are_equal_to_themselves() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    for name in ["router.p4", "vrf.p4", "load_balancer.p4"] {
        let text = std::fs::read_to_string(folder.join(name)).expect("a program");
        let program = compiled(&text);
        let verdict =
            ir::with_large_stack(move || equivalent(&program, &program, &Options::default()));
        let verdict = verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
        assert!(matches!(verdict, Equivalence::Equal { .. }), "{name}: {verdict:?}");
    }
}

/// An undefined value that only one of the programs has is not the one of its egress.
#[test]
fn values_of_a_later_block_are_shared_whatever_an_earlier_block_leaves_undefined() {
    let unset = PROGRAM.replace(
        "control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }",
        "control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply {
            h.a.setInvalid(); h.a.setValid(); h.a.kind = 0; h.a.ttl = 0; } }",
    );
    let first = compiled(&unset);
    let again = unset.replace("h.b.setValid();", "h.b.setInvalid(); h.b.setValid();");
    assert_ne!(unset, again);
    let second = compiled(&again);
    let verdict = ir::with_large_stack(move || equivalent(&first, &second, &Options::default()));
    let verdict = verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(verdict, Equivalence::Equal { .. }), "{verdict:?}");
}

/// The words of the checksums have the same values and other operations.
#[test]
fn checksums_of_rewritten_words_are_equal() {
    let with = |word: fn(u8, u8) -> String| {
        let fields: String = (0..8).map(|number| format!("bit<16> w{number}; ")).collect();
        let words: Vec<String> = (0..4).map(|number| word(2 * number, 2 * number + 1)).collect();
        let checksum = format!(
            "update_checksum(h.b.isValid(), {{ {} }}, h.b.tag, HashAlgorithm.csum16);",
            words.join(", ")
        );
        let text = PROGRAM
            .replace(
                "header b_t { bit<16> tag; }",
                &format!("header b_t {{ {fields} bit<16> tag; }}"),
            )
            .replace(
                "control U(inout headers_t h, inout meta_t m) { apply { } }",
                &format!(
                    "control U(inout headers_t h, inout meta_t m) {{ apply {{ {checksum} }} }}"
                ),
            );
        assert!(text.contains("update_checksum") && text.contains("w7"), "{text}");
        compiled(&text)
    };
    let first = with(|left, right| format!("h.b.w{left} - h.b.w{right}"));
    let second = with(|left, right| format!("~(~h.b.w{left} + h.b.w{right})"));
    let third = with(|left, right| format!("~(~h.b.w{right} + h.b.w{left})"));
    let compare = |other: &Program| {
        let verdict = ir::with_large_stack(|| equivalent(&first, other, &Options::default()));
        verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
    };
    let found = compare(&second);
    assert!(matches!(found, Equivalence::Equal { .. }), "{found:?}");
    let found = compare(&third);
    assert!(matches!(found, Equivalence::Different(_)), "{found:?}");
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
        let Equivalence::Equal { layouts, .. } = verdict else {
            panic!("{replaced:?}: {verdict:?}")
        };
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

/// The solver first finds that the tags differ, of which the second one is undefined.
#[test]
fn differences_are_found_beside_undefined_bits() {
    let found = difference(&[(
        "h.b.setValid(); h.b.tag = tag; s.egress_spec = 3;",
        "h.b.setInvalid(); h.b.setValid(); s.egress_spec = h.a.value == 0xbeef ? 9w4 : 9w3;",
    )]);
    assert_ne!(found.first.outputs, found.second.outputs);
    assert_eq!(found.first.packet.get(4..8), Some("beef"), "{}", found.first.packet);
}

/// A group has several members, of which a hash of the selector keys decides.
#[test]
fn members_that_are_selected_in_other_ways_are_not_called_equal() {
    let with = |algorithm: &str, selector: &str| {
        let selectors = format!("action_selector(HashAlgorithm.{algorithm}, 32w16, 32w8) members;");
        let text = PROGRAM
            .replace("table acl {", &format!("{selectors}\n    table acl {{"))
            .replace("h.a.value: ternary; h.a.kind: exact;", selector)
            .replace("default_action = drop();", "implementation = members;");
        assert!(text.contains(selector) && text.contains("implementation"), "{text}");
        compiled(&text)
    };
    let of_kind = "h.a.value: exact; h.a.kind: selector;";
    let others = [
        ("crc16", of_kind, None),
        ("crc16", "h.a.value: exact; h.a.ttl: selector;", Some("action selectors")),
        ("crc32", of_kind, Some("another action profile")),
    ];
    for (algorithm, selector, reason) in others {
        let (first, second) = (with("crc16", of_kind), with(algorithm, selector));
        let found = ir::with_large_stack(move || equivalent(&first, &second, &Options::default()));
        let found = found.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
        match (&found, reason) {
            (Equivalence::Equal { .. }, None) => {}
            (Equivalence::Undecided(found), Some(reason)) if found.contains(reason) => {}
            _ => panic!("{algorithm}, {selector}: {found:?}"),
        }
    }
}

/// Each of two packets may select another member of the same group, in both programs alike.
#[test]
fn members_that_are_selected_in_the_same_way_are_compared_in_sequences() {
    let with = |change: (&str, &str)| {
        let text = PROGRAM
            .replace(
                "table acl {",
                "action_selector(HashAlgorithm.crc16, 32w16, 32w8) members;
                 table acl {",
            )
            .replace(
                "h.a.value: ternary; h.a.kind: exact;",
                "h.a.value: exact; h.a.kind: selector;",
            )
            .replace("default_action = drop();", "implementation = members;")
            .replace(change.0, change.1);
        assert!(text.contains("implementation"), "{text}");
        compiled(&text)
    };
    let first = with(("h.a.ttl - 1", "h.a.ttl - 1"));
    let options = Options { packets: 2, ..Options::default() };
    let compare = |other: &Program| {
        let verdict = ir::with_large_stack(|| equivalent(&first, other, &options));
        verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
    };
    let found = compare(&with(("h.a.ttl - 1", "h.a.ttl + 255")));
    assert!(matches!(found, Equivalence::Equal { .. }), "{found:?}");
    let found = compare(&with(("h.a.ttl - 1", "h.a.ttl - 2")));
    assert!(matches!(found, Equivalence::Different(_)), "{found:?}");
}

/// Two lookups of one entry may run the actions of different members of its group.
#[test]
fn members_that_one_program_selects_in_two_ways_are_not_called_equal() {
    let with = |apply: &str| {
        let declared = "action keep(bit<16> value) { m.m = value; }
            action_selector(HashAlgorithm.crc16, 32w16, 32w8) members;
            table acl {";
        let text = PROGRAM
            .replace("table acl {", declared)
            .replace("h.a.value: ternary; h.a.kind: exact;", "h.a.value: exact; h.a.ttl: selector;")
            .replace("actions = { send; mark; drop; }", "actions = { keep; }")
            .replace("default_action = drop();", "implementation = members;")
            .replace("acl.apply();", apply);
        compiled(&text)
    };
    let first = with(
        "acl.apply();
         bit<16> before = m.m;
         h.a.ttl = h.a.ttl - 1;
         acl.apply();
         h.a.ttl = h.a.ttl + 1;
         if (m.m != before) { s.egress_spec = 5; }
         m.m = h.a.value + h.a.value;",
    );
    let second = with("");
    let found = ir::with_large_stack(move || equivalent(&first, &second, &Options::default()));
    let found = found.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
    let Equivalence::Undecided(reason) = &found else { panic!("{found:?}") };
    assert!(reason.contains("action selectors"), "{reason}");
}

/// Tests that a number which a switch computes or draws differs from others, even if its value is
/// unknown.
#[test]
fn numbers_that_are_not_known_are_not_called_equal() {
    let payload = |data: &str| {
        let checksum = format!(
            "control U(inout headers_t h, inout meta_t m) {{ apply {{ update_checksum_with_payload(
                h.b.isValid(), {{ {data} }}, h.b.tag, HashAlgorithm.csum16); }} }}"
        );
        PROGRAM.replace("control U(inout headers_t h, inout meta_t m) { apply { } }", &checksum)
    };
    let random = |most: u16| {
        PROGRAM.replace("h.b.tag = tag;", &format!("random(h.b.tag, 16w0, 16w{most});"))
    };
    let unset =
        PROGRAM.replace("h.b.setValid(); h.b.tag = tag;", "h.b.setInvalid(); h.b.setValid();");
    for [first, second] in
        [[payload("h.a.kind"), payload("h.a.ttl")], [random(9), random(99)], [unset, random(9)]]
    {
        assert!(first != PROGRAM && second != PROGRAM);
        let (left, right) = (compiled(&first), compiled(&second));
        let found = ir::with_large_stack(move || equivalent(&left, &right, &Options::default()));
        let found = found.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
        assert!(matches!(found, Equivalence::Undecided(_)), "{second}\n{found:?}");
    }
}

/// A truncated packet is compared up to its last byte, and with packets that are as long.
#[test]
fn truncated_packets_are_compared() {
    let egress = "control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { \
                  apply { } }";
    let with = |body: &str| {
        assert!(PROGRAM.contains(egress));
        let body = format!("apply {{ {body} }} }}");
        compiled(&PROGRAM.replace(egress, &egress.replace("apply { } }", &body)))
    };
    let compare = |first: &str, second: &str| {
        let (first, second) = (with(first), with(second));
        let verdict =
            ir::with_large_stack(move || equivalent(&first, &second, &Options::default()));
        verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
    };
    let equal = [
        ("truncate(32w9);", "truncate(32w9);"),
        ("truncate(32w3);", "truncate(32w2 + 32w1);"),
        // The last byte is cut off, so that its value makes no difference.
        ("truncate(32w3);", "truncate(32w3); h.a.value[7:0] = 1;"),
        // No packet is that long.
        ("truncate(32w2000);", ""),
    ];
    for (first, second) in equal {
        let found = compare(first, second);
        assert!(matches!(found, Equivalence::Equal { .. }), "{first} {second}: {found:?}");
    }
    let different = [
        ("truncate(32w9);", "truncate(32w10);"),
        ("truncate(32w9);", ""),
        ("", "truncate(32w3);"),
        ("truncate(32w4);", "truncate(32w4); h.a.value[7:0] = 1;"),
    ];
    for (first, second) in different {
        let Equivalence::Different(found) = compare(first, second) else {
            panic!("{first} {second}");
        };
        assert_ne!(found.first.outputs, found.second.outputs, "{first} {second}");
    }
}

#[test]
fn tables_that_cannot_be_paired_are_named() {
    let verdict = compared(&[("h.a.kind: exact; }", "h.a.ttl: exact; h.a.kind: exact; }")]);
    let Equivalence::Undecided(reason) = verdict else { panic!("{verdict:?}") };
    assert!(reason.contains("I.acl has other keys"), "{reason}");
}
