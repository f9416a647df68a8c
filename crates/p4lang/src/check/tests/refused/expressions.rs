//! Tests of rules about expressions: operators, slices, l-values and constants.

use super::super::{accepts, control, diagnostics_of, parser, program, refuses, statements, warns};
use crate::diagnostic::Severity;

#[test]
fn both_sides_of_an_operator_fit() {
    for text in [
        "v = v + w;",
        "v = v & w;",
        "v = v |+| w;",
        "q = v < w;",
        "v = v + n;",
        "q = q + q;",
        "q = q < q;",
        "q = q && v;",
        "q = !v;",
        "v = ~q;",
        "q = -q;",
        "q = v == w;",
        "q = m.p == 5;",
        "q = m.su == v;",
        "q = hdr.h == hdr.v;",
        "v = v / n;",
        "v = v ++ 3;",
        "q = m.su < m.su;",
        "v = ~5;",
        "v = v << q;",
        "v = v << n;",
        "v = v << -1;",
        "n = n / 2;",
        "n = n % 2;",
        "v = v / (0 - 1);",
        "v = 3 |+| 4;",
    ] {
        refuses(&statements(text), "bad-operand");
    }
    refuses(&statements("v = v / 0;"), "division-by-zero");
    refuses(&program("const int c = 5 % 0;"), "division-by-zero");
    refuses(&statements("w = 1 << v;"), "no-width");
    refuses(&statements("v = q ? 1 : 2;"), "no-width");
    refuses(&statements("v = q ? v : w;"), "type-mismatch");
    refuses(&statements("v = v ? v : v;"), "type-mismatch");
    refuses(&statements("q = { 1, 2 } == { x = 1 };"), "type-mismatch");
}

#[test]
fn slices_and_indices_stay_inside() {
    refuses(&statements("v = w[16:9];"), "out-of-range");
    refuses(&statements("v[3:0] = w[0:3];"), "out-of-range");
    refuses(&statements("v = w[8:(0-1)];"), "out-of-range");
    let (_, shown) = diagnostics_of(&statements("v = w[8:(0-1)];"), Severity::Error);
    assert!(shown.contains("a value with 16 bits has no bit -1"), "{shown}");
    refuses(&statements("v = w[v:0];"), "not-constant");
    refuses(&statements("v = w[v+:v];"), "not-constant");
    refuses(&statements("v = w[9+:8];"), "out-of-range");
    refuses(&statements("q = q[0:0];"), "type-mismatch");
    accepts(&statements("v = 5[3:0] ++ 4w0; w = (0-1)[15:0]; static_assert((0-3)[3:1] == 6);"));
    refuses(&statements("w = 5[5000:0];"), "bad-width");
    refuses(&statements("hdr.hs[4].a = 1;"), "out-of-range");
    refuses(&statements("hdr.hs[q].a = 1;"), "type-mismatch");
    refuses(&statements("hdr.h[0].a = 1;"), "type-mismatch");
    refuses(&statements("tuple<bit<8>, bit<8>> t = { 1, 2 }; v = t[2];"), "out-of-range");
    refuses(&statements("tuple<bit<8>, bit<8>> t = { 1, 2 }; v = t[v];"), "not-constant");
}

#[test]
fn only_places_are_assigned() {
    refuses(&statements("ro = 1;"), "not-a-place");
    refuses(&statements("5 = v;"), "syntax");
    refuses(&program("const bit<8> c = 1; control X() { apply { c = 2; } }"), "not-a-place");
    refuses(&control("action a(bit<8> x) { x = 1; }", ""), "not-a-place");
    refuses(&control("action a(in bit<8> x) { x = 1; }", ""), "not-a-place");
    refuses(&program("control X(in H h) { apply { h.setValid(); } }"), "not-a-place");
    refuses(&program("control X(in Headers h) { apply { h.hs.push_front(1); } }"), "not-a-place");
    refuses(
        &program("void f(out bit<8> x) { x = 1; } control X() { apply { f(3); } }"),
        "not-a-place",
    );
    refuses(&statements("hdr.hs.size = 1;"), "not-a-place");
    refuses(&statements("q += 1;"), "bad-operand");
}

#[test]
fn constants_are_known_at_compile_time() {
    refuses(&statements("const bit<8> c = v;"), "not-constant");
    refuses(&control("register<bit<32>>((bit<32>) m.w) r;", ""), "not-constant");
    refuses(&statements("hdr.hs.push_front(v);"), "not-constant");
    refuses(&program("enum bit<8> X { A = true }"), "not-constant");
    refuses(&control("table t { actions = { NoAction; } size = m.m; }", ""), "not-constant");
    refuses(&program("bit<8> f(in bit<8> x = y) { return x; }"), "undeclared-name");
}

#[test]
fn tables_actions_and_types_are_no_values() {
    let table = "table t { actions = { NoAction; } }";
    refuses(&control(table, "log_msg(\"x\", t);"), "type-mismatch");
    refuses(&control(table, "log_msg(\"x\", { NoAction });"), "type-mismatch");
    refuses(&statements("log_msg(\"x\", S);"), "type-mismatch");
    refuses(&statements("v = S;"), "type-mismatch");
    refuses(&control("action a() {}", "m.m = a;"), "type-mismatch");
}

#[test]
fn action_data_is_not_known_at_compile_time() {
    refuses(&control("action a(bit<8> x) { const bit<8> c = x + 1; }", ""), "not-constant");
    refuses(&program("control X(bit<8> k) { const bit<8> c = k; apply {} }"), "not-constant");
}

#[test]
fn values_are_set_before_they_are_read() {
    let uninitialized = |text: &str| warns(&statements(text), "uninitialized");
    uninitialized("bit<8> x; v = x;");
    uninitialized("bit<8> x; if (q) { x = 1; } v = x;");
    uninitialized("bit<8> x; switch (v) { 1: { x = 1; } } v = x;");
    uninitialized("bit<8> x; for (bit<8> i in 1..2) { x = i; } v = x;");
    uninitialized("bit<8> x; x += 1; v = x;");
    warns(&program("void f(in bool b, out bit<8> x) { if (b) { x = 1; } }"), "uninitialized");
    warns(
        &program("void f(in bool b, out bit<8> x) { if (b) { return; } x = 1; }"),
        "uninitialized",
    );
    warns(&program("control X(out bit<8> x) { apply { } }"), "uninitialized");
    let silent = |text: &str| {
        let (warnings, shown) = diagnostics_of(text, crate::diagnostic::Severity::Warning);
        assert!(warnings.iter().all(|(kind, _)| *kind != "uninitialized"), "{shown}\n{text}");
    };
    silent(&statements("bit<8> x; if (q) { x = 1; } else { x = 2; } v = x;"));
    silent(&statements("bit<8> x; if (q) { x = 1; } else { exit; } v = x;"));
    silent(&statements("bit<8> x; switch (v) { 1: { x = 1; } default: { x = 2; } } v = x;"));
    silent(&statements("bit<8> x; random(x, 0, 3); v = x; H h; h = hdr.h; S s; s.x = 1; v = s.x;"));
    silent(&program("void f(in bool b, out bit<8> x) { if (b) { x = 1; return; } x = 2; }"));
    silent(&program(
        "control X(out bit<8> x) { action a() { x = 1; } table t { actions = { a; } default_action = a; } apply { t.apply(); } }",
    ));
}

#[test]
fn unassigned_locals_are_warned_of() {
    warns(&control("bit<8> u;", "m.m = u;"), "uninitialized");
    warns(&parser("bit<8> u;", "state start { m.m = u; transition accept; }"), "uninitialized");
    let quiet = |text: &str| {
        let (warnings, shown) = diagnostics_of(text, crate::diagnostic::Severity::Warning);
        assert!(warnings.iter().all(|(kind, _)| *kind != "uninitialized"), "{shown}");
    };
    quiet(&control("bit<8> u; action a() { u = 1; }", "a(); m.m = u;"));
    quiet(&control("bit<8> u; register<bit<8>>(1) r;", "r.read(u, 0); m.m = u;"));
    quiet(&control("H h;", "m.m = h.a;"));
    quiet(&parser("H h;", "state start { p.extract(h); m.m = h.a; transition accept; }"));
}

#[test]
fn division_of_values_from_the_packet_is_refused() {
    let with = |apply: &str| super::architecture::switch(&format!("apply {{ {apply} }}"), "");
    refuses(&with("m.m = m.m / 3;"), "division");
    refuses(&with("m.w = (bit<16>) (m.m % hdr.h.a);"), "division");
    refuses(&with("m.m /= 10;"), "division");
    accepts(&with("m.m = m.m / 4; m.m = 8w9 / 3; m.w %= 16;"));
    for maybe_known in [
        "m.m = 12; m.m = m.m / 3;",
        "m.m = m.m / 3; m.m = 1;",
        "bit<8> x = m.m / 3;",
        "if (m.flag) { m.m = m.m / 3; }",
        "m.m = (m.m / 3) * 0;",
    ] {
        warns(&with(maybe_known), "division");
    }
}

#[test]
fn stacks_are_compared_with_stacks() {
    accepts(&statements("q = hdr.hs == hdr.hs; q = hdr.h == { 1, 2 };"));
    refuses(&statements("q = hdr.hs == { hdr.h, hdr.h, hdr.h, hdr.h };"), "bad-operand");
}
