//! Tests of rules about names, which must be declared before use, declared once, and not hidden.

use super::super::{accepts, control, parser, program, refuses, statements, warns};

#[test]
fn names_are_declared_before_they_are_used() {
    refuses(&statements("z = 1;"), "undeclared-name");
    refuses(
        &statements("log_msg(\"x\", z); random(z, 0, 1); digest(1, { z, v });"),
        "undeclared-name",
    );
    refuses(&statements("v = vv;"), "undeclared-name");
    refuses(&program("const Later c = 1; typedef bit<8> Later;"), "undeclared-name");
    refuses(&program("struct X { Missing m; }"), "undeclared-name");
    refuses(&statements("v = m.none;"), "no-such-field");
    refuses(&statements("q = m.er == error.None;"), "no-such-field");
    refuses(&statements("q = m.su == Suits.Spades;"), "no-such-field");
    refuses(&program("const bit<8> c = 1; const c d = 1;"), "not-a-type");
    refuses(
        &control("table t { key = { m.m: fuzzy; } actions = { NoAction; } }", ""),
        "undeclared-name",
    );
    refuses(&statements("hdr.h.isvalid();"), "no-such-field");
    refuses(&control("register<bit<8>>(4) r;", "r.reed(m.m, 0);"), "no-such-field");
}

#[test]
fn a_name_is_declared_once() {
    refuses(&statements("bit<8> x; bit<8> x;"), "duplicate");
    refuses(&program("const bit<8> c = 1; const bit<8> c = 2;"), "duplicate");
    refuses(&program("struct X { bit<8> a; bit<8> a; }"), "duplicate");
    refuses(&program("enum X { A, A }"), "duplicate");
    refuses(&program("error { NoMatch }"), "duplicate");
    refuses(&program("match_kind { exact }"), "duplicate");
    refuses(&program("extern void f(in bit<8> x); extern void f(in bit<8> x);"), "duplicate");
    refuses(&program("extern X { X(); void f(in bit<8> x); void f(in bit<16> x); }"), "duplicate");
    refuses(&program("extern X { X(bit<8> n); X(bit<16> n); }"), "duplicate");
    accepts(&program(
        "extern X { X(bit<8> n); X(bit<8> m); void f(in bit<8> x); void f(in bit<8> y); void f(); }",
    ));
    let twice = "void f(in bit<8> x) {} void f(in bit<8> x) {}";
    warns(&program(twice), "duplicate");
    refuses(&program(&format!("{twice} void g() {{ f(8w1); }}")), "ambiguous");
    let by_type = "void f(in bit<8> x) {} void f(in bit<16> x) {}";
    accepts(&program(&format!("{by_type} void g() {{ f(8w1); f(16w1); }}")));
    refuses(&program(&format!("{by_type} void g() {{ f(1); }}")), "ambiguous");
    refuses(&program("void f(in bit<8> x, in bit<8> x) {}"), "duplicate");
    refuses(&control("action a() {} action a() {}", ""), "duplicate");
    refuses(
        &parser("", "state start { transition accept; } state start { transition accept; }"),
        "duplicate",
    );
    refuses(&control("table t { actions = { NoAction; } size = 1; size = 2; }", ""), "duplicate");
    refuses(&control("action a() {} table t { actions = { a; a; } }", ""), "duplicate");
}

#[test]
fn parameters_are_not_hidden_by_locals() {
    refuses(&statements("bit<8> ro;"), "shadowing");
    refuses(&control("action a(bit<8> x) { bit<8> x = 1; }", ""), "shadowing");
    warns(&control("bit<8> m = 1;", "m = 2;"), "shadowing");
    warns(&statements("{ bit<8> v = 2; v = 3; }"), "shadowing");
}

#[test]
fn states_and_locals_have_different_names() {
    refuses(
        &parser(
            "bit<8> next;",
            "state start { transition next; } state next { transition accept; }",
        ),
        "duplicate",
    );
}

#[test]
fn unused_declarations_are_warned_of() {
    warns(&control("action a() {}", ""), "unused");
    warns(&control("table t { actions = { NoAction; } }", ""), "unused");
}

#[test]
fn declarations_do_not_refer_to_themselves() {
    refuses(&program("const bit<8> x = x + 1;"), "undeclared-name");
    // Until its declaration ends, a name refers to that of an outer scope (P4_16 §6.9).
    accepts(&program(
        "const bit<8> x = 1; control C() { apply { const bit<8> y = x; bit<8> x = x + 1; } }",
    ));
    let with = |call: &str| {
        program(&format!(
            "extern W {{ W(); void g(); abstract void f(); }} W() v = {{ void f() {{ {call} }} }};"
        ))
    };
    accepts(&with("this.g();"));
    refuses(&with("v.g();"), "recursion");
}
