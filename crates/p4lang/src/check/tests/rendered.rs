//! Tests of the text of diagnostics, by snapshots.

use super::refused::architecture::switch;
use super::{control, diagnostics_of, parser, program, statements};
use crate::diagnostic::Severity;

fn shown(text: &str) -> String {
    // Leave out the prelude, whose line numbers change whenever a line is added to it.
    diagnostics_of(text, Severity::Error).1
}

#[test]
fn several_errors_of_one_program() {
    insta::assert_snapshot!(shown(&statements(
        "v = w;\nhdr.h.c = 1;\nm.s = { 1 };\nmm.m = 1;\nro = 2;\nv = w[16:9];\nif (v) { }"
    )));
}

#[test]
fn a_wrong_argument_shows_its_parameter() {
    insta::assert_snapshot!(shown(
        "#include <core.p4>\n#include <v1model.p4>\nstruct M { }\nstruct H { }\n\
         parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }\n\
         control I(inout H h, in M m, inout standard_metadata_t s) { apply { } }\n\
         control V(inout H h, inout M m) { apply { } }\n\
         control D(packet_out p, in H h) { apply { } }\n\
         V1Switch(P(), V(), I(), I(), V(), D()) main;\n"
    ));
}

#[test]
fn an_unknown_state_lists_those_there_are() {
    insta::assert_snapshot!(shown(&parser(
        "",
        "state start { transition nxt; } state next { transition accept; }"
    )));
}

#[test]
fn a_reference_says_what_to_write() {
    insta::assert_snapshot!(shown(
        "#include <core.p4>\ncontrol C(inout bit<8> k) {\naction count(@__ref bit<32> n) { n = n + 1; }\n\
         @tableconfig(store=\"static\")\ntable t { key = { k: exact; } actions = { count; NoAction; } }\napply { t.apply(); }\n}\n"
    ));
}

#[test]
fn a_type_argument_that_does_not_fit_names_the_field() {
    insta::assert_snapshot!(shown(&program("header GH<T> { T f; }\nstruct X { GH<error> h; }")));
}

#[test]
fn properties_of_tables_that_do_not_fit() {
    insta::assert_snapshot!(shown(&control(
        "table t {\ndefault_action = NoAction;\nkey = { m.m: ternary; }\nactions = { NoAction; .NoAction; }\n\
         entries = { priority = 0: 1: NoAction; }\n}\n\
         @name(\"t\")\ntable u { actions = { NoAction; } }",
        ""
    )));
}

#[test]
fn what_a_switch_refuses() {
    let tables = "direct_counter(CounterType.packets) once;\n\
         register<bit<8>>(8) wrong;\n\
         table t { key = { m.m: lpm; m.w: lpm; } actions = { NoAction; } counters = once; }\n\
         table u { key = { m.m: exact; } actions = { NoAction; } counters = once; meters = wrong; }\n\
         apply { t.apply(); u.apply(); }";
    insta::assert_snapshot!(shown(&switch(tables, "if (hdr.h.isValid()) { }")));
}

#[test]
fn methods_that_call_each_other() {
    insta::assert_snapshot!(shown(&program(
        "extern X { X(); abstract void f(); abstract void g(); }\n\
         X() x = {\nvoid f() { this.g(); }\nvoid g() { this.f(); }\n};"
    )));
}
