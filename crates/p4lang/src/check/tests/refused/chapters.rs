//! Tests of the violations that the chapters of the language specification mention. Each line is
//! inserted alone into a valid program, which must then be refused. The other modules test the
//! kinds of the errors.

use super::super::{Severity, accepts, control, diagnostics_of, parser, program};

/// Checks that `program` is refused with each of the cases, and accepted with `nothing` in their
/// place.
fn refused<T: Copy + std::fmt::Debug>(cases: &[T], nothing: T, program: impl Fn(T) -> String) {
    accepts(&program(nothing));
    for case in cases {
        let (errors, _) = diagnostics_of(&program(*case), Severity::Error);
        assert!(!errors.is_empty(), "accepted: {case:?}");
    }
}

const STATEMENTS: &[&str] = &[
    "v = w;",
    "v = v + w;",
    "v = v + n;",
    "v = (int<8>) w;",
    "v << n;",
    "v = v << n;",
    "q = v < n;",
    "v = 1 << v;",
    "v = ~1;",
    "v = v << -1;",
    "v = -1 >> v;",
    "v = 5 / -1;",
    "v = v / 0;",
    "v = v[3:4];",
    "v = v[8:0][7:0];",
    "m.e = F8.A;",
    "m.e = E8.A + 1;",
    "v = Clubs;",
    "q = m.su < Suits.Hearts;",
    "m.su = (Suits) 1;",
    "if (v) {}",
    "q = v ? true : false;",
    "v = q ? 1 : 2;",
    "v = q ? 1 : true;",
    "S s = { x = 1 };",
    "S s = { x = 1, x = 2, y = 3 };",
    "S s = { ..., x = 1 };",
    "S s = { 1 };",
    "m.s = { 1, 2, 3 };",
    "hdr.h == { 1 };",
    "hdr.u = { 1, 2 };",
    "hdr.u.setValid();",
    "hdr.hs.next.a = 1;",
    "v = hdr.hs.last.a;",
    "v = hdr.hs[4].a;",
    "hdr.hs.push_front(v);",
    "hdr.hs.push_front(-1);",
    "m.arr.push_front(1);",
    "v = m.arr[4];",
    "m.arr = { 1, 2 };",
    "ro = 1;",
    "ro[0:0] = 1;",
    "(v + 1) = 2;",
    "v + 1;",
    "3 = v;",
    "switch (v) { 1: {} w: {} }",
    "switch (m.s) { default: {} }",
    "break;",
    "continue;",
    "return 1;",
    "bit<8> v2 = v2;",
    "verify(q, error.NoError);",
    "int x = 1;",
    "string s;",
    "match_kind k;",
    "void x;",
    "for (bit<16> i in 8w1 .. 8w3) {}",
    "for (bit<8> i in v) {}",
    "for (bit<8> i = 0; i; i = i + 1) {}",
    "E8 x = 1;",
    "Port p = 3w1;",
    "m.p = m.p + 1;",
    "m.p = v;",
    "q = m.p == 9w1;",
    "error e = NoError;",
    "q = error.NoError < error.NoMatch;",
    "tuple<bit<8>, bit<8>> t = { 1 };",
    "tuple<bit<8>> t = { 1 }; v = t[1];",
    r#"q = "a" == 1;"#,
    "m.s.z = 1;",
    "m.nothing = 1;",
    "hdr.h.isValid;",
    "hdr.h.setValid(1);",
    "hdr.h.setValid().x = 1;",
    "v.apply();",
    "C.apply(hdr, m, ro, sm);",
];

/// Cases with locals of a control, and statements.
const CONTROLS: &[(&str, &str)] = &[
    ("table t { key = { m.m: exact; } actions = { NoAction; } actions = { NoAction; } }", ""),
    ("action a() {} table t { key = { m.m: exact; } default_action = a; actions = { a; } }", ""),
    ("action a(in bit<8> x) {} table t { actions = { a; } }", ""),
    ("action a(bit<8> x) {} table t { actions = { a(1); } }", ""),
    ("action a() {} table t { actions = { a; a; } }", ""),
    ("action a() {} table t { actions = { NoAction; } default_action = a; }", ""),
    ("action a(bit<8> x) {} table t { actions = { a; } default_action = a; }", ""),
    ("action a(bit<8> x) {} table t { actions = { a; } default_action = a(m.m); }", ""),
    ("table t { key = { m.m: fuzzy; } actions = { NoAction; } }", ""),
    ("table t { key = { m.m + 1: exact; } actions = { NoAction; } }", ""),
    ("table t { key = { m.m: exact; } actions = { NoAction; } size = 3; size = 4; }", ""),
    (
        "table t { key = { m.m: exact; } actions = { NoAction; } const entries = { (1, 2): NoAction; } }",
        "",
    ),
    (
        "table t { key = { m.m: exact; } actions = { NoAction; } const entries = { true: NoAction; } }",
        "",
    ),
    (
        "table t { key = { m.m: exact; } actions = { @defaultonly NoAction; } const entries = { 1: NoAction; } }",
        "",
    ),
    (
        "table t { key = { m.m: exact; } actions = { @tableonly NoAction; } default_action = NoAction; }",
        "",
    ),
    (
        "table t { key = { m.m: ternary; } actions = { NoAction; } const entries = { priority=1: 1: NoAction; } }",
        "",
    ),
    (
        "table t { key = { m.m: ternary; } actions = { NoAction; } entries = { 1: NoAction; priority=3: 2: NoAction; } }",
        "",
    ),
    ("table t { actions = { NoAction; } const entries = { _: NoAction; } }", ""),
    ("table t { key = { m.m: exact; } actions = { NoAction; } } action a() { t.apply(); }", ""),
    ("table t { key = { m.s: exact; } actions = { NoAction; } }", "t.apply();"),
    ("table t { key = { hdr.v.options: exact; } actions = { NoAction; } }", "t.apply();"),
    ("table t { actions = { NoAction; } }", "if (t.apply().action_run == 1) {}"),
    ("table t { actions = { NoAction; } }", "bool h = t.apply();"),
    ("table t { actions = { NoAction; } }", "switch (t.apply().action_run) { other: {} }"),
    (
        "table t { actions = { NoAction; } }",
        "switch (t.apply().action_run) { NoAction: {} NoAction: {} }",
    ),
    ("action a(bit<8> x, in bit<8> y) {}", ""),
    ("action a(packet_in p) {}", ""),
    ("action a(int x) {}", ""),
    ("void f() {}", ""),
    ("C() c;", ""),
    ("counter(4, CounterType.packets) c; action a() { counter(4, CounterType.packets) d; }", ""),
];

/// Cases with locals of a parser, and states.
const PARSERS: &[(&str, &str)] = &[
    ("", "state begin { transition accept; }"),
    ("", "state start { transition nowhere; }"),
    ("", "state start { transition accept; } state start { transition accept; }"),
    ("", "state accept { }"),
    ("", "state start { } state reject {}"),
    ("bit<4> t;", "state start { t = 1; transition t; } state t { transition accept; }"),
    ("", "state start { return; }"),
    ("", "state start { exit; }"),
    ("", "state start { switch (m.m) { default: {} } transition accept; }"),
    ("", "state start { p.extract(m.m); transition accept; }"),
    ("", "state start { p.extract(hdr.v); transition accept; }"),
    ("", "state start { p.extract(hdr.h, 8); transition accept; }"),
    ("", "state start { bit<8> x = p.lookahead<V>().n; transition accept; }"),
    ("", "state start { transition select(m.s) { default: accept; } }"),
    ("", "state start { transition select(m.m) { true: accept; } }"),
    ("", "state start { transition select(m.m, m.w) { 1: accept; } }"),
    ("value_set<bit<8>>(4) vs;", "state start { transition select(m.w) { vs: accept; } }"),
    ("", "state start { hdr.hs.push_front(1); transition accept; }"),
];

const PROGRAMS: &[&str] = &[
    "control A() { apply {} } A() a;",
    "parser A() { state start {} } A() a;",
    "control A(inout bit<8> x)(in bit<8> y) { apply {} }",
    "bit<8> f(in bit<8> x) { if (x == 1) { return 1; } }",
    "void f() { return 1; }",
    "bit<8> f() { return; }",
    "void f() { exit; }",
    "bit<8> f(in bit<8> x) { return f(x); }",
    "header X { H h; }",
    "header X { error e; }",
    "header X { Suits s; }",
    "header X { tuple<bit<8>> t; }",
    "header X { int i; }",
    "header_union X { bit<8> b; }",
    "header_union X { S s; }",
    "struct X { int i; }",
    "struct X { string s; }",
    "struct X { list<bit<8>> l; }",
    "struct X { packet_in p; }",
    "struct X { void v; }",
    "type S X;",
    "type error X;",
    "type varbit<8> X;",
    "type Suits X;",
    "type H[3] X;",
    "type tuple<bit<8>> X;",
    "typedef string X;",
    "typedef void X;",
    "typedef G X;",
    "struct X { bit<8> a; bit<8> a; }",
    "enum X { A, A }",
    "error { A, A }",
    "match_kind { exact }",
    "enum bit<8> X { A = 256 }",
    "enum X { A = 1 }",
    "enum bit<8> X { A }",
    "enum bool X { A = 1 }",
    "enum int X { A = 1 }",
    "enum S X { A = 1 }",
    "const bit<8> x = y;",
    "const bit<8> x = 1; const bit<8> x = 2;",
    "bit<8> x;",
    "const H[0-1] x = {};",
    "const bit<(0-1)> x = 1;",
    "const int<0> x = 0;",
    "extern X { void X(); }",
    "extern X { X<T>(T t); }",
    "extern X { X(in bit<8> y); }",
    "extern X { X(); abstract void f(); } X() x;",
    "extern X { X(); abstract void f(in bit<8> a); } X() x = { void f() {} };",
    "extern X { X(); abstract void f(in bit<8> a); } X() x = { void f(inout bit<8> a) {} };",
    "extern X { X(); abstract void f(); abstract void f(in bit<8> a); }",
    "extern void f(in string s);",
    "extern void f(in int i);",
    "extern void f(out bit<8> x = 1);",
    "extern void f(in bit<8> x, in bit<8> x);",
    "extern void f(in bit<8> x); control A() { apply { f(x = 1, 2); } }",
    "extern void f(in bit<8> x); control A() { apply { f(y = 1); } }",
    "extern void f(out bit<8> x); control A() { apply { f(1); } }",
    "extern void f(in bit<8> x); control A() { apply { f(_); } }",
    "package Q(in bit<8> x);",
    "control Q(Q q);",
    "control A(V1Switch<H, H> p) { apply {} }",
    "@a(1) @a[2] const bit<8> x = 1;",
    "@a[1] @a[2] const bit<8> x = 1;",
    "@a[k=1, k=2] const bit<8> x = 1;",
    "@a[k=1, 2] const bit<8> x = 1;",
    "@a[{1}] const bit<8> x = 1;",
    "@a[8w1] const bit<8> x = 1;",
    "@name const bit<8> x = 1;",
    "@hidden(1) const bit<8> x = 1;",
    "@deprecated extern X { X(); }",
    "@noWarn const bit<8> x = 1;",
    "struct X { @match(nothing) bit<8> x; }",
    "const bool x = static_assert(false);",
    "control A(inout bit<8> x) { apply { static_assert(x == 1); } }",
    "control X() { apply {} } parser Y(packet_in p) { X() x; state start { transition accept; } }",
    "parser Y(packet_in p) { state start { transition accept; } } control X() { Y() y; apply {} }",
    "control X()(bit<8> k) { apply {} } control Y() { apply { X.apply(); } }",
    "struct X { bit<8> _; }",
    "extern X { X(); void f(); } control A() { X() x; apply { X y = x; } }",
    "extern X { X(); } X() x; X() z; control A() { apply { bool b = x == z; } }",
    "packet_in() pk;",
    "header X { bit<8> a; } const X x = { a = 1, b = 2 };",
    "const tuple<bit<8>, bit<8>> t = { 1 };",
];

#[test]
fn errors_in_statements_are_refused() {
    let locals = "bit<8> v = 1; bit<16> w = 2; bool q = true; int<8> n = 1;";
    refused(STATEMENTS, ";", |statement| control(locals, statement));
}

#[test]
fn errors_in_controls_are_refused() {
    refused(CONTROLS, ("", ""), |(locals, apply)| control(locals, apply));
}

#[test]
fn errors_in_parsers_are_refused() {
    let nothing = ("", "state start { transition accept; }");
    refused(PARSERS, nothing, |(locals, states)| parser(locals, states));
}

#[test]
fn errors_in_programs_are_refused() {
    refused(PROGRAMS, "", program);
}
