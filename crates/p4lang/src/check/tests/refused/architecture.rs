//! Tests of rules about whole programs: `main`, and the extern objects that an architecture
//! attaches to tables.

use super::super::{accepts, does_not_warn, program, refuses, warns};

#[test]
fn main_is_a_package_whose_parts_fit() {
    let parts = "
parser P(packet_in p, out Headers hdr, inout Meta m, inout standard_metadata_t sm) { state start { transition accept; } }
control VC(inout Headers hdr, inout Meta m) { apply {} }
control I(inout Headers hdr, inout Meta m, inout standard_metadata_t sm) { apply {} }
control Wrong(inout Headers hdr, inout H m, inout standard_metadata_t sm) { apply {} }
control Directed(inout Headers hdr, in Meta m, inout standard_metadata_t sm) { apply {} }
control D(packet_out p, in Headers hdr) { apply {} }
";
    let main = |arguments: &str| program(&format!("{parts} V1Switch({arguments}) main;"));
    accepts(&main("P(), VC(), I(), I(), VC(), D()"));
    refuses(&main("P(), VC(), Wrong(), I(), VC(), D()"), "type-mismatch");
    refuses(&main("P(), VC(), Directed(), I(), VC(), D()"), "type-mismatch");
    refuses(&main("P(), VC(), I(), I(), VC()"), "arguments");
    refuses(&main("P(), VC(), I(), I(), D(), VC()"), "type-mismatch");
    refuses(&main("VC(), VC(), I(), I(), VC(), D()"), "type-mismatch");
    refuses(&program("const bit<8> main = 1;"), "no-main");
    warns(&program(parts), "no-main");
}

/// Returns a v1model program with the given body of the ingress control and of the checksum
/// verification control.
pub(in crate::check::tests) fn switch(ingress: &str, verify: &str) -> String {
    program(&format!(
        "parser Pa(packet_in p, out Headers hdr, inout Meta m, inout standard_metadata_t sm) {{ state start {{ transition accept; }} }}\n\
         control VC(inout Headers hdr, inout Meta m) {{ apply {{ {verify} }} }}\n\
         control UC(inout Headers hdr, inout Meta m) {{ apply {{ }} }}\n\
         control I(inout Headers hdr, inout Meta m, inout standard_metadata_t sm) {{\n{ingress}\n}}\n\
         control E(inout Headers hdr, inout Meta m, inout standard_metadata_t sm) {{ apply {{ }} }}\n\
         control D(packet_out p, in Headers hdr) {{ apply {{ }} }}\n\
         V1Switch(Pa(), VC(), I(), E(), UC(), D()) main;"
    ))
}

#[test]
fn tables_attach_externs_of_permitted_types() {
    let table = |name: &str, key: &str, property: &str| {
        format!("table {name} {{ key = {{ {key} }} actions = {{ NoAction; }} {property} }}")
    };
    let one = |object: &str, property: &str| {
        switch(
            &format!("{object} x; {} apply {{ t.apply(); }}", table("t", "m.m: exact;", property)),
            "",
        )
    };
    let counter = "direct_counter(CounterType.packets)";
    accepts(&one(counter, "counters = x;"));
    accepts(&one(counter, "counters = direct_counter(CounterType.bytes);"));
    accepts(&one("action_profile(4)", "implementation = x;"));
    refuses(&one(counter, "counters = { x, x };"), "type-mismatch");
    refuses(&one("counter(1, CounterType.packets)", "counters = x;"), "type-mismatch");
    refuses(&one(counter, "meters = x;"), "type-mismatch");
    refuses(&one(counter, "implementation = x;"), "type-mismatch");
    let two = |object: &str, property: &str, keys: [&str; 2]| {
        let (t, u) = (table("t", keys[0], property), table("u", keys[1], property));
        switch(&format!("{object} x; {t} {u} apply {{ t.apply(); u.apply(); }}"), "")
    };
    refuses(&two(counter, "counters = x;", ["m.m: exact;"; 2]), "attached-twice");
    let selector = "action_selector(HashAlgorithm.crc16, 8, 8)";
    let keys = ["m.m: exact; m.w: selector;", "m.s.x: lpm; m.w: selector;"];
    accepts(&two(selector, "implementation = x;", keys));
    let keys = ["m.m: exact; m.w: selector;", "m.m: exact; m.m: selector;"];
    refuses(&two(selector, "implementation = x;", keys), "selector");
    refuses(&two(counter, "", ["m.m: lpm; m.w: lpm;", ""]), "match-kind");
    let psa = include_str!("../programs/psa.p4");
    let two = psa.replace("h.e.d: exact; im.ingress_port: ternary;", "h.e.d: lpm; h.e.s: lpm;");
    refuses(&two, "match-kind");
}

#[test]
fn selectors_and_their_keys_belong_together() {
    let table = |key: &str, implementation: &str| {
        switch(
            &format!(
                "action_selector(HashAlgorithm.crc16, 8, 8) s; action_profile(8) p;\n\
                 table t {{ key = {{ {key} }} actions = {{ NoAction; }} {implementation} }} apply {{ t.apply(); }}"
            ),
            "",
        )
    };
    let with_key = "m.m: exact; m.w: selector;";
    does_not_warn(&table(with_key, "implementation = s;"), "selector");
    does_not_warn(&table("m.m: exact;", "implementation = p;"), "selector");
    does_not_warn(&table("m.m: exact;", ""), "selector");
    warns(&table("m.m: exact;", "implementation = s;"), "selector");
    warns(&table(with_key, "implementation = p;"), "selector");
    warns(&table(with_key, ""), "selector");
}

#[test]
fn match_kinds_are_those_of_the_architecture() {
    let table = |kind: &str| {
        let ingress = format!(
            "table t {{ key = {{ m.m: {kind}; }} actions = {{ NoAction; }} }} apply {{ t.apply(); }}"
        );
        switch(&ingress, "").replace("parser Pa(", "match_kind { near }\nparser Pa(")
    };
    does_not_warn(&table("range"), "match-kind");
    warns(&table("near"), "match-kind");
}

#[test]
fn a_switch_of_the_program_itself_has_no_checksum_controls() {
    accepts(
        "#include <core.p4>\nstruct H { } struct M { bit<8> x; }\n\
         parser Parser<H, M>(packet_in b, out H h, inout M m); control Update<H, M>(inout H h, inout M m);\n\
         package V1Switch<H, M>(Parser<H, M> p, Update<H, M> only);\n\
         parser P(packet_in b, out H h, inout M m) { state start { transition accept; } }\n\
         control C(inout H h, inout M m) { apply { if (m.x == 1) { m.x = 2; } } }\n\
         V1Switch(P(), C()) main;\n",
    );
}

#[test]
fn a_direct_meter_is_read_into_one_place() {
    let with = |actions: &str, listed: &str| {
        let table = format!(
            "table t {{ key = {{ m.w: exact; }} actions = {{ {listed} NoAction; }} meters = dm; }}"
        );
        let meter = "direct_meter<bit<8>>(MeterType.bytes) dm;";
        switch(&format!("{meter} {actions} {table} apply {{ t.apply(); }}"), "")
    };
    let two =
        "action a() { dm.read(m.m); } action b(bit<9> p) { dm.read(m.m); sm.egress_spec = p; }";
    accepts(&with(two, "a; b;"));
    refuses(&with("", ""), "meter");
    warns(&with(&two.replacen("m.m", "hdr.h.a", 1), "a; b;"), "meter");
}

#[test]
fn checksum_controls_have_no_branches() {
    let call = "verify_checksum(hdr.h.isValid(), { hdr.h.a }, hdr.h.b, HashAlgorithm.csum16);";
    accepts(&switch("apply {}", call));
    accepts(&switch("apply {}", &format!("{{ {call} return; }}")));
    refuses(&switch("apply {}", &format!("if (hdr.h.isValid()) {{ {call} }}")), "misplaced");
    // The arguments of the package may be named, in any order.
    let named = |ingress: &str, verify: &str| {
        switch(ingress, verify).replace(
            "V1Switch(Pa(), VC(), I(), E(), UC(), D())",
            "V1Switch(p = Pa(), ig = I(), vr = VC(), eg = E(), ck = UC(), dep = D())",
        )
    };
    accepts(&named("apply { if (hdr.h.isValid()) { } }", call));
    refuses(&named("apply {}", &format!("if (hdr.h.isValid()) {{ {call} }}")), "misplaced");
}
