//! Programs that break one rule each.

use super::{control, parser, program, refuses, statements, warns};

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
    refuses(&program("void f(in bit<8> x) {} void f(in bit<8> x) {}"), "duplicate");
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
fn widths_are_constants_in_range() {
    refuses(&program("const int<0> c = 0;"), "bad-width");
    refuses(&program("const bit<(0-1)> c = 0;"), "bad-width");
    refuses(&program("const bit<100000> c = 0;"), "bad-width");
    refuses(&statements("bit<(v)> x;"), "not-constant");
    refuses(&program("const bit<(true)> c = 0;"), "type-mismatch");
    refuses(&program("struct X { H[(0-1)] h; }"), "bad-width");
}

#[test]
fn composite_types_hold_what_they_may() {
    refuses(&program("header X { H h; }"), "type-not-allowed");
    refuses(&program("header X { H[2] h; }"), "type-not-allowed");
    refuses(&program("header X { error e; }"), "type-not-allowed");
    refuses(&program("header X { Suits s; }"), "type-not-allowed");
    refuses(&program("header X { varbit<8> a; varbit<8> b; }"), "type-not-allowed");
    refuses(&program("struct Y { H h; } header X { Y y; }"), "type-not-allowed");
    refuses(&program("header_union X { bit<8> a; }"), "type-not-allowed");
    refuses(&program("struct X { packet_in p; }"), "type-not-allowed");
    refuses(&program("struct X { packet_in[2] p; }"), "type-not-allowed");
    refuses(&program("header X { bit<8>[4] b; }"), "type-not-allowed");
    refuses(&program("type S X;"), "type-not-allowed");
    refuses(&program("struct X { X x; }"), "recursion");
    refuses(&program("typedef tuple<packet_in> X;"), "type-not-allowed");
}

#[test]
fn enums_have_values_exactly_if_they_have_a_representation() {
    refuses(&program("enum X { A = 1 }"), "enum-value");
    refuses(&program("enum bit<8> X { A }"), "enum-value");
    refuses(&program("enum bit<8> X { A = 256 }"), "out-of-range");
    refuses(&program("enum bit<8> X { A = -1 }"), "out-of-range");
    refuses(&program("enum bool X { A = true }"), "type-not-allowed");
    refuses(&program("enum int X { A = 1 }"), "type-not-allowed");
    refuses(&statements("m.e = 1;"), "type-mismatch");
    refuses(&statements("m.su = 1;"), "type-mismatch");
}

#[test]
fn generic_types_get_all_their_arguments() {
    refuses(&statements("G x;"), "type-arguments");
    refuses(&statements("G<bit<8>, bit<8>> x;"), "type-arguments");
    refuses(&statements("S<bit<8>> x;"), "type-arguments");
    refuses(&control("register(4) r;", ""), "type-arguments");
    refuses(&program("void f<T>() {} control C() { apply { f(); } }"), "type-arguments");
}

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
fn nothing_is_converted_but_constants_and_represented_members() {
    for text in [
        "v = w;",
        "w = v;",
        "n = v;",
        "v = q;",
        "q = v;",
        "q = 1;",
        "v = true;",
        "m.p = true;",
        "m.p = 9w5;",
        "m.p = sm.egress_spec;",
        "sm.egress_spec = m.p;",
        "m.er = 1;",
        "m.s = hdr.h;",
        "hdr.h = m.s;",
        "w = m.e;",
        "v = \"a\";",
        "v = { 1 };",
        "m.g = { { 1, 2 }, 2 };",
        "m.s = { true, 1 };",
        "v = {#};",
        "m.s = {#};",
    ] {
        refuses(&statements(text), "type-mismatch");
    }
    refuses(&statements("m.s = { 1 };"), "wrong-count");
    refuses(&statements("m.s = { 1, 2, 3 };"), "wrong-count");
    refuses(&statements("m.s = { x = 1 };"), "missing-field");
    refuses(&statements("m.s = { x = 1, z = 2, ... };"), "no-such-field");
    refuses(&statements("m.s = { x = 1, x = 2, y = 2 };"), "duplicate");
    warns(&statements("v = 256;"), "overflow");
    warns(&statements("v = 8w256;"), "overflow");
    warns(&statements("v = v << 8;"), "overflow");
}

#[test]
fn only_some_casts_exist() {
    for text in [
        "n = (int<8>) w;",
        "q = (bool) v;",
        "v = (bit<8>) q;",
        "v = (bit<8>) m.su;",
        "m.su = (Suits) v;",
        "m.s = (S) hdr.h;",
        "v = (bit<8>) m.er;",
        "m.e = (E8) w;",
        "w = (bit<16>) m.p;",
        "q = (bool) 2;",
        "hdr.h = (H) hdr.hs[0];",
    ] {
        refuses(&statements(text), "bad-cast");
    }
    refuses(&statements("m.s = (S) { 1, 2, 3 };"), "wrong-count");
}

#[test]
fn slices_and_indices_stay_inside() {
    refuses(&statements("v = w[16:9];"), "out-of-range");
    refuses(&statements("v[3:0] = w[0:3];"), "out-of-range");
    refuses(&statements("v = w[8:(0-1)];"), "out-of-range");
    refuses(&statements("v = w[v:0];"), "not-constant");
    refuses(&statements("v = w[v+:v];"), "not-constant");
    refuses(&statements("v = w[9+:8];"), "out-of-range");
    refuses(&statements("q = q[0:0];"), "type-mismatch");
    refuses(&statements("v = 5[3:0] ++ 4w0;"), "type-mismatch");
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
fn what_is_written_back_has_the_same_type() {
    let function = "void f(inout bit<8> x) { x = 1; } ";
    refuses(
        &program(&format!("{function} control X(inout bit<16> w) {{ apply {{ f(w); }} }}")),
        "type-mismatch",
    );
    refuses(
        &program(&format!("{function} control X(inout E8 e) {{ apply {{ f(e); }} }}")),
        "type-mismatch",
    );
}

#[test]
fn arguments_meet_parameters() {
    let with = |call: &str| {
        program(&format!(
            "bit<8> f(in bit<8> x, in bit<8> y) {{ return x + y; }} control X(inout bit<8> v) {{ apply {{ {call} }} }}"
        ))
    };
    refuses(&with("v = f(v);"), "arguments");
    refuses(&with("v = f(v, v, v);"), "arguments");
    refuses(&with("v = f(x = v, z = v);"), "arguments");
    refuses(&with("v = f(x = v, x = v);"), "arguments");
    refuses(&with("v = f(x = v, v);"), "arguments");
    refuses(&with("v = f(v, _);"), "arguments");
    refuses(&with("v = f(v, true);"), "type-mismatch");
    refuses(&with("f = 1;"), "not-a-place");
    refuses(&with("v();"), "not-callable");
    refuses(&with("v.f();"), "no-such-field");
    refuses(
        &program("extern void e(bit<8> x); control X(in bit<8> v) { apply { e(v); } }"),
        "not-constant",
    );
    refuses(
        &program(
            "extern void e(in bit<8> x); extern void e(in bit<8> y); control X() { apply { e(1); } }",
        ),
        "ambiguous",
    );
    refuses(
        &program(
            "extern void e(in bit<8> x); extern void e(in bit<8> y, in bit<8> z); control X() { apply { e(); } }",
        ),
        "arguments",
    );
    refuses(&statements("random(v, 0, w);"), "type-mismatch");
    refuses(&statements("hash(v, HashAlgorithm.crc16, 0, { w });"), "arguments");
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
fn variables_hold_data() {
    refuses(&statements("int x = 1;"), "type-not-allowed");
    refuses(&statements("string x;"), "type-not-allowed");
    refuses(&statements("packet_in x;"), "type-not-allowed");
    refuses(&program("bit<8> x;"), "syntax");
    refuses(&program("const packet_in x = 1;"), "type-not-allowed");
}

#[test]
fn parameters_have_types_and_directions_that_fit() {
    refuses(&program("extern void f(in packet_in p);"), "type-not-allowed");
    refuses(&program("extern void f(in string s);"), "type-not-allowed");
    refuses(&program("extern void f(in int i);"), "type-not-allowed");
    refuses(&control("action a(packet_in p) {}", ""), "type-not-allowed");
    refuses(&control("action a(int i) {}", ""), "type-not-allowed");
    refuses(&control("action a(bit<8> x, in bit<8> y) {}", ""), "parameter-order");
    refuses(&program("control X()(in bit<8> k) { apply {} }"), "direction");
    refuses(&program("package Q(in bit<8> k);"), "direction");
    refuses(&program("control X(V1Switch<H, H> p);"), "type-not-allowed");
    refuses(&program("extern void f(out bit<8> x = 1);"), "direction");
}

#[test]
fn statements_stand_where_they_may() {
    refuses(&parser("", "state start { return; transition accept; }"), "syntax");
    refuses(&program("void f() { exit; }"), "misplaced");
    refuses(&statements("break;"), "misplaced");
    refuses(&statements("continue;"), "misplaced");
    refuses(&statements("return 1;"), "return");
    refuses(&program("void f() { return 1; }"), "return");
    refuses(&program("bit<8> f() { return; }"), "return");
    refuses(&program("bit<8> f() { return true; }"), "type-mismatch");
    refuses(&program("bit<8> f(in bool b) { if (b) { return 1; } }"), "missing-return");
    refuses(&program("bit<8> f(in bool b) { }"), "missing-return");
    refuses(&statements("if (v) { }"), "type-mismatch");
    refuses(&statements("verify(q, error.NoMatch);"), "misplaced");
    refuses(&statements("register<bit<8>>(3) r;"), "misplaced");
    refuses(&control("action a() { register<bit<8>>(3) r; }", ""), "misplaced");
    refuses(&statements("v = this.v;"), "misplaced");
}

#[test]
fn switches_have_labels_that_fit() {
    refuses(&statements("switch (q) { true: {} }"), "type-mismatch");
    refuses(&statements("switch (v) { 1: {} 1: {} }"), "duplicate");
    refuses(&statements("switch (v) { default: {} default: {} }"), "duplicate");
    refuses(&statements("switch (v) { 16w1: {} }"), "type-mismatch");
    refuses(&statements("switch (v) { v: {} }"), "not-constant");
    refuses(&statements("switch (m.su) { E8.A: {} }"), "type-mismatch");
    let table = "action a() {} action b() {} table t { actions = { a; } default_action = a; }";
    refuses(&control(table, "switch (t.apply().action_run) { b: {} }"), "undeclared-name");
    refuses(&control(table, "switch (t.apply().action_run) { a: {} a: {} }"), "duplicate");
    refuses(&control(table, "if (t.apply().action_run == a) {}"), "misplaced");
    refuses(&control(table, "bool h = t.apply().hits;"), "no-such-field");
    refuses(&control(table, "t.apply(1);"), "arguments");
    refuses(&control(table, "if (t.apply()) {}"), "type-mismatch");
}

#[test]
fn nothing_calls_itself() {
    refuses(&program("bit<8> f(in bit<8> x) { return f(x); }"), "recursion");
    refuses(&control("action a() { a(); }", ""), "recursion");
    refuses(&program("control X() { X() x; apply { x.apply(); } }"), "recursion");
    refuses(&program("control X() { apply { X.apply(); } }"), "recursion");
    refuses(
        &program("parser X() { X() x; state start { x.apply(); transition accept; } }"),
        "recursion",
    );
}

#[test]
fn code_is_called_where_it_may_run() {
    let table = "table t { actions = { NoAction; } } ";
    refuses(&control(&format!("{table} action a() {{ t.apply(); }}"), ""), "misplaced");
    refuses(
        &program(
            "control X() { apply {} } parser Y() { X() x; state start { transition accept; } }",
        ),
        "misplaced",
    );
    refuses(
        &program(
            "parser Y() { state start { transition accept; } } control X() { Y() y; apply { } }",
        ),
        "misplaced",
    );
    refuses(&program("action a() {} void f() { a(); }"), "misplaced");
    refuses(
        &program("action a() {} parser X() { state start { a(); transition accept; } }"),
        "misplaced",
    );
    refuses(&program("control X() { apply {} } X() x;"), "misplaced");
    refuses(
        &program(
            "control X() { apply {} } control Y() { X() x; action a() { x.apply(); } apply { } }",
        ),
        "misplaced",
    );
    refuses(&statements("hdr.hs.next.a = 1;"), "misplaced");
    refuses(&statements("v = hdr.hs.last.a;"), "misplaced");
    refuses(&statements("l = hdr.hs.lastIndex;"), "misplaced");
    refuses(&parser("", "state start { hdr.hs.push_front(1); transition accept; }"), "misplaced");
}

#[test]
fn parsers_start_and_end() {
    refuses(&parser("", "state begin { transition accept; }"), "no-start");
    refuses(&parser("", "state start { transition next; }"), "undeclared-name");
    refuses(
        &parser("", "state start { transition other; } state other { transition start; }"),
        "no-accept",
    );
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
fn keys_are_scalars_with_names() {
    let key = |text: &str| {
        control(&format!("table t {{ key = {{ {text} }} actions = {{ NoAction; }} }}"), "")
    };
    refuses(&key("m.s: exact;"), "type-mismatch");
    refuses(&key("hdr.h: exact;"), "type-mismatch");
    refuses(&key("5: exact;"), "type-mismatch");
    refuses(&key("m.m + 1: exact;"), "key-name");
    refuses(&key("(bit<16>) m.m: exact;"), "key-name");
    refuses(&key("hdr.hs[(bit<4>) m.m].a: exact;"), "key-name");
    refuses(&key("m.m[0+:4]: exact;"), "key-name");
    warns(&key("8w5: exact;"), "constant-key");
}

#[test]
fn tables_name_their_actions() {
    let actions = "action a() {} action b(bit<8> x) {} action d(inout bit<8> y, bit<8> x) { y = x; } bit<8> loc = 1;";
    let table = |text: &str| control(&format!("{actions} table t {{ {text} }}"), "");
    refuses(&table("key = { m.m: exact; }"), "no-actions");
    refuses(&table("actions = { c; }"), "undeclared-name");
    refuses(&table("actions = { loc; }"), "not-an-action");
    refuses(&table("actions = { b(1); }"), "arguments");
    refuses(&table("actions = { d; }"), "arguments");
    refuses(&table("actions = { d(5); }"), "not-a-place");
    refuses(&table("actions = { a; } default_action = b(1);"), "not-listed");
    refuses(&table("actions = { b; } default_action = b;"), "arguments");
    refuses(&table("actions = { b; } default_action = b(m.m);"), "not-constant");
    refuses(&table("actions = { b; } default_action = b(true);"), "type-mismatch");
    refuses(&table("actions = { b; } default_action = b(1, 2);"), "arguments");
    refuses(&table("actions = { d(loc); } default_action = d(m.m, 1);"), "arguments");
    refuses(&table("actions = { @tableonly a; } default_action = a;"), "not-listed");
    refuses(&table("actions = { a; } default_action = 5;"), "not-an-action");
    warns(&table("actions = { a; } colour = 5;"), "unknown-property");
}

#[test]
fn entries_fit_their_keys() {
    let entries = |keys: &str, entries: &str| {
        control(
            &format!(
                "action a() {{}} action b(bit<8> x) {{}}\n\
                 table t {{ key = {{ {keys} }} actions = {{ a; b; @defaultonly NoAction; }} const entries = {{ {entries} }} }}"
            ),
            "",
        )
    };
    refuses(&entries("m.m: exact;", "(1, 2): a;"), "wrong-count");
    refuses(&entries("m.m: exact; m.w: exact;", "1: a;"), "wrong-count");
    refuses(&entries("m.m: exact;", "16w1: a;"), "type-mismatch");
    refuses(&entries("m.m: exact;", "true: a;"), "type-mismatch");
    refuses(&entries("m.m: exact;", "m.m: a;"), "not-constant");
    refuses(&entries("m.m: exact;", "1 &&& 3: a;"), "match-kind");
    refuses(&entries("m.m: exact;", "1..3: a;"), "match-kind");
    warns(&entries("m.m: exact;", "_: a;"), "match-kind");
    super::accepts(&entries("m.m: ternary; m.w: exact;", "(1, 2): a; _: a;"));
    refuses(&entries("m.m: lpm;", "1 &&& 3: a;"), "match-kind");
    refuses(&entries("m.m: ternary;", "1..3: a;"), "match-kind");
    refuses(&entries("m.m: range;", "1 &&& 3: a;"), "match-kind");
    refuses(&entries("m.m: optional;", "1 &&& 3: a;"), "match-kind");
    refuses(&entries("m.m: exact;", "1: b;"), "arguments");
    refuses(&entries("m.m: exact;", "1: b(m.m);"), "not-constant");
    refuses(&entries("m.m: exact;", "1: NoAction;"), "not-listed");
    refuses(&entries("m.m: exact;", "1: b(true);"), "type-mismatch");
    refuses(
        &control("table t { actions = { NoAction; } const entries = { 1: NoAction; } }", ""),
        "no-key",
    );
}

#[test]
fn constructors_get_what_they_take() {
    refuses(&control("counter(10) c;", ""), "arguments");
    refuses(&control("counter(10, 11) c;", ""), "type-mismatch");
    refuses(&control("S(1) s;", ""), "not-callable");
    refuses(&control("packet_in() s;", ""), "not-callable");
    refuses(&control("Ingress<H, H>() s;", ""), "not-callable");
    refuses(
        &program("control X()(bit<8> k) { apply {} } control Y() { X() x; apply { x.apply(); } }"),
        "arguments",
    );
}

#[test]
fn abstract_methods_are_implemented() {
    let instance = |block: &str| {
        program(&format!(
            "extern Virtual {{ Virtual(); abstract bit<8> f(in bit<8> x); void run(); }}\n\
             control X() {{ Virtual() v{block}; apply {{ v.run(); }} }}"
        ))
    };
    refuses(&instance(""), "abstract-method");
    refuses(&instance(" = { void g() {} }"), "abstract-method");
    refuses(&instance(" = { bit<16> f(in bit<8> x) { return 1; } }"), "abstract-method");
    refuses(&instance(" = { bit<8> f(in bit<16> x) { return 1; } }"), "abstract-method");
    super::accepts(&instance(" = { bit<8> f(in bit<8> x) { return x + 1; } }"));
    refuses(&control("counter(1, CounterType.packets) c = { void f() {} };", ""), "misplaced");
    refuses(
        &program(
            "extern Virtual { Virtual(); abstract bit<8> f(in bit<8> x); }\n\
             control Y()(Virtual v) { apply {} } control X() { Y(Virtual()) y; apply { y.apply(); } }",
        ),
        "abstract-method",
    );
}

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
    super::accepts(&main("P(), VC(), I(), I(), VC(), D()"));
    refuses(&main("P(), VC(), Wrong(), I(), VC(), D()"), "type-mismatch");
    refuses(&main("P(), VC(), Directed(), I(), VC(), D()"), "type-mismatch");
    refuses(&main("P(), VC(), I(), I(), VC()"), "arguments");
    refuses(&main("P(), VC(), I(), I(), D(), VC()"), "type-mismatch");
    refuses(&main("VC(), VC(), I(), I(), VC(), D()"), "type-mismatch");
    refuses(&program("const bit<8> main = 1;"), "no-main");
    warns(&program(parts), "no-main");
}

#[test]
fn annotations_hold_constants() {
    refuses(&program("@a[1, { 2 }] const bit<8> c = 1;"), "annotation");
    refuses(&program("@a[k = 8w1] const bit<8> c = 1;"), "annotation");
    refuses(&program("@a[k = 1, k = 2] const bit<8> c = 1;"), "duplicate");
    refuses(&program("@a[1] @a[2] const bit<8> c = 1;"), "duplicate");
    refuses(&program("@a[1] @a(2) const bit<8> c = 1;"), "duplicate");
    refuses(&program("@a(1) @a[2] const bit<8> c = 1;"), "duplicate");
    super::accepts(&program("@a(1) @a(2) const bit<8> c = 1;"));
    refuses(&program("@name(1) const bit<8> c = 1;"), "annotation");
    warns(&statements("mark_to_drop();"), "deprecated");
}

#[test]
fn references_need_one_replica() {
    let table = |configuration: &str| {
        control(
            &format!(
                "action a(@__ref bit<8> x) {{ x = x + 1; }}\n\
                 {configuration} table t {{ key = {{ m.m: exact; }} actions = {{ a; NoAction; }} }}"
            ),
            "t.apply();",
        )
    };
    super::accepts(&table(""));
    super::accepts(&table("@tableconfig(store=\"static\", impl=\"dpdk\", synced=true)"));
    refuses(&table("@tableconfig(impl=\"t4p4s\")"), "reference");
    refuses(&table("@tableconfig(store=\"static\")"), "reference");
    refuses(&table("@tableconfig(impl=\"other\")"), "annotation");
    refuses(&table("@tableconfig(colour=\"dpdk\", impl=\"dpdk\")"), "annotation");
    refuses(&program("void f(@__ref in bit<8> x) {}"), "reference");
    refuses(&control("action a(@__ref in bit<8> x) {}", ""), "reference");
}

#[test]
fn type_arguments_have_widths() {
    refuses(&statements("hash(v, HashAlgorithm.crc16, 0, { w }, 10);"), "no-width");
    refuses(&statements("digest(1, { v, 5 });"), "no-width");
    refuses(
        &program("T f<T>(in T x) { return x; } control X(inout bit<8> v) { apply { v = f(3); } }"),
        "no-width",
    );
}

#[test]
fn only_types_of_parsers_and_controls_are_generic() {
    refuses(&program("control X<T>(in T x) { apply {} }"), "type-not-allowed");
    refuses(
        &program("parser X<T>(in T x) { state start { transition accept; } }"),
        "type-not-allowed",
    );
    refuses(&program("struct X { string s; }"), "type-not-allowed");
    refuses(&program("struct X { int s; }"), "type-not-allowed");
    refuses(&program("extern void f(@optional in bit<8> x = 3);"), "annotation");
    refuses(
        &program("extern void f(in bit<8> x); void f(in bit<8> x, in bit<8> y) {}"),
        "duplicate",
    );
}

#[test]
fn the_control_plane_knows_everything_by_its_own_name() {
    refuses(&control("@name(\"x\") action a() {} @name(\"x\") action b() {}", ""), "duplicate");
    refuses(
        &control(
            "table t { key = { m.m: exact @name(\"k\"); m.w: exact @name(\"k\"); } actions = { NoAction; } }",
            "",
        ),
        "duplicate",
    );
    refuses(
        &program(
            "@name(\"C.x\") action b() {} control C() { @name(\"x\") action a() {} apply {} }",
        ),
        "duplicate",
    );
    super::accepts(&control(
        "@name(\"x\") action a() {} @name(\"x\") table t { actions = { a; NoAction; } }",
        "",
    ));
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
        let (warnings, shown) = super::diagnostics_of(text, crate::diagnostic::Severity::Warning);
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
fn an_extern_is_no_argument_of_itself() {
    super::accepts(&statements("G<G<bit<8>>> x = { { 1, 2 }, 3 }; v = x.f.g;"));
    refuses(
        &program("extern E<T> { E(); } control X() { E<E<bit<8>>>() e; apply {} }"),
        "recursion",
    );
}

#[test]
fn static_assertions_hold() {
    super::accepts(&program("const bool c = static_assert(1 + 1 == 2, \"sum\");"));
    refuses(&program("const bool c = static_assert(1 + 1 == 3, \"sum\");"), "static-assert");
}

#[test]
fn what_is_never_used_is_said() {
    warns(&control("action a() {}", ""), "unused");
    warns(&control("table t { actions = { NoAction; } }", ""), "unused");
}

#[test]
fn an_entry_is_added_on_a_miss_only() {
    let table = |property: &str, default: &str, name: &str| {
        format!(
            "#include <core.p4>\n#include <pna.p4>\n\
             control C(inout bit<8> k) {{\n\
             action hit(bit<8> x) {{}} action miss() {{ add_entry(\"{name}\", (bit<8>) k, (ExpireTimeProfileId_t) 0); }}\n\
             table t {{ key = {{ k: exact; }} actions = {{ hit; miss; @defaultonly NoAction; }} {property} default_action = {default}; }}\n\
             apply {{ t.apply(); }} }}\n"
        )
    };
    super::accepts(&table("add_on_miss = true;", "miss", "hit"));
    refuses(&table("", "miss", "hit"), "add-on-miss");
    refuses(&table("add_on_miss = true;", "NoAction", "hit"), "add-on-miss");
    refuses(&table("add_on_miss = true;", "miss", "other"), "add-on-miss");
    refuses(&table("add_on_miss = true;", "miss", "miss"), "add-on-miss");
    let wide = table("add_on_miss = true;", "miss", "hit").replace("(bit<8>) k,", "(bit<16>) k,");
    refuses(&wide, "add-on-miss");
    let two = table("add_on_miss = true;", "miss", "hit").replace("(bit<8>) k,", "{ k, k },");
    refuses(&two, "add-on-miss");
    let named = table("add_on_miss = true;", "miss", "hit").replace(
        "add_entry(\"hit\", (bit<8>) k, (ExpireTimeProfileId_t) 0)",
        "add_entry(expire_time_profile_id = 0, action_params = { x = k }, action_name = \"hit\")",
    );
    super::accepts(&named);
}

#[test]
fn priorities_are_for_initial_entries_that_may_overlap() {
    let table = |kind: &str, entries: &str| {
        control(
            &format!("table t {{ key = {{ m.m: {kind}; }} actions = {{ NoAction; }} {entries} }}"),
            "",
        )
    };
    super::accepts(&table("ternary", "entries = { priority = 3: 1: NoAction; 2: NoAction; }"));
    refuses(&table("ternary", "const entries = { priority = 3: 1: NoAction; }"), "priority");
    refuses(&table("exact", "entries = { priority = 3: 1: NoAction; }"), "priority");
    refuses(&table("lpm", "entries = { priority = 3: 1: NoAction; }"), "priority");
    refuses(&table("ternary", "entries = { 1: NoAction; priority = 3: 2: NoAction; }"), "priority");
    super::accepts(&table("ternary", "entries = { priority = 2: 1: NoAction; 2: NoAction; }"));
    refuses(
        &table("ternary", "entries = { priority = 1: 1: NoAction; 2: NoAction; }"),
        "out-of-range",
    );
    super::accepts(&table(
        "ternary",
        "largest_priority_wins = false; entries = { priority = 0: 1: NoAction; 2: NoAction; }",
    ));
}

#[test]
fn methods_return_what_exists_at_run_time() {
    refuses(&program("extern X { X(); void X(in bit<8> a); }"), "return");
    refuses(&program("extern X { X(); int f(); }"), "type-not-allowed");
    refuses(&program("extern X { X(); string f(); }"), "type-not-allowed");
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
fn branches_are_statements() {
    refuses(&statements("if (q) bit<8> x;"), "syntax");
    refuses(&statements("if (q) v = 1; else const bit<8> c = 1;"), "syntax");
    super::accepts(&statements("if (q) { bit<8> x; } else if (v == 1) ; else hdr.h.setInvalid();"));
}

#[test]
fn builtin_methods_have_no_type_arguments() {
    refuses(&statements("q = hdr.h.isValid<bit<8>>();"), "type-arguments");
    refuses(&statements("v <<= -1;"), "bad-operand");
    refuses(&statements("v >>= 0 - 2;"), "bad-operand");
}

#[test]
fn type_arguments_make_types_that_are_allowed() {
    let with = |argument: &str| {
        program(&format!(
            "header GH<T> {{ T f; }} struct GS<T> {{ GH<T> h; }} struct X {{ GS<{argument}> g; }}"
        ))
    };
    for good in ["bit<8>", "E8", "bool", "S", "Port", "varbit<8>"] {
        super::accepts(&with(good));
    }
    for bad in ["error", "H", "Suits", "string", "H[2]", "tuple<bit<8>>", "packet_in", "void"] {
        refuses(&with(bad), "type-not-allowed");
    }
    let union = "header_union GU<T> { H h; T v; }";
    super::accepts(&program(&format!("{union} struct X {{ GU<V> g; }}")));
    refuses(&program(&format!("{union} struct X {{ GU<bit<8>> g; }}")), "type-not-allowed");
}

#[test]
fn arrays_of_other_things_than_headers_are_no_stacks() {
    super::accepts(&statements(
        "S[2] a; a[1].x = 3; v = a[v].x; bit<8>[2] b = {1, 2}; for (bit<8> x in b) { v = v + x; }",
    ));
    super::accepts(&statements("bit<8> a[2][3]; a[1][2] = 1; H b[2]; b[0] = hdr.hs[1];"));
    super::accepts(&program(
        "struct X { bit<8> a[4]; } control C(inout X x) { apply { x.a[3] = x.a[0]; } }",
    ));
    refuses(&statements("bit<8> a[2][3]; a[2][1] = 1;"), "out-of-range");
    refuses(&statements("bit<8>[4] a; a.push_front(1);"), "no-such-field");
    refuses(
        &parser("bit<8>[4] a;", "state start { a.next = 1; transition accept; }"),
        "no-such-field",
    );
}

#[test]
fn actions_of_a_table_differ_in_name() {
    let table = |list: &str| {
        program(&format!(
            "action a() {{}} control X() {{ action a() {{}} table t {{ actions = {{ {list} }} }} apply {{ t.apply(); }} }}"
        ))
    };
    refuses(&table("a; a;"), "duplicate");
    refuses(&table("a; .a;"), "duplicate");
}

#[test]
fn what_names_actions_stands_behind_them() {
    let table = |properties: &str| control(&format!("table t {{ {properties} }}"), "t.apply();");
    let (key, actions) = ("key = { m.m: exact; }", "actions = { NoAction; }");
    let entries = "const entries = { 1: NoAction; }";
    super::accepts(&table(&format!("{actions} default_action = NoAction; {key} {entries}")));
    refuses(&table(&format!("default_action = NoAction; {actions}")), "order");
    refuses(&table(&format!("{key} {entries} {actions}")), "order");
    refuses(&table(&format!("{actions} {entries} {key}")), "order");
}

#[test]
fn given_names_clash_with_own_names() {
    let two = |one: &str, other: &str| control(&format!("{one} {other}"), "");
    let table = |name: &str| format!("table {name} {{ actions = {{ NoAction; }} }}");
    super::accepts(&two(&format!("@name(\"x\") {}", table("t")), &table("u")));
    super::accepts(&two("@name(\"u\") action t() {}", &table("u")));
    refuses(&two(&format!("@name(\"u\") {}", table("t")), &table("u")), "duplicate");
    refuses(&two("@name(\"u\") action t() {}", "action u() {}"), "duplicate");
    refuses(
        &(program("action top() {} control X() { @name(\".top\") action a() {} apply {} }")),
        "duplicate",
    );
}

#[test]
fn match_annotations_and_constructors_take_what_they_take() {
    let annotated = |argument: &str| program(&format!("struct X {{ @match{argument} bit<8> f; }}"));
    super::accepts(&annotated("(ternary)"));
    refuses(&annotated("(5)"), "annotation");
    refuses(&annotated("(exact, lpm)"), "annotation");
    refuses(&annotated(""), "annotation");
    refuses(&control("counter(_, CounterType.packets) c;", ""), "arguments");
}

/// A program for v1model with this ingress control and this control for checksums.
pub(super) fn switch(ingress: &str, verify: &str) -> String {
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
fn tables_of_a_switch_attach_what_fits() {
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
    super::accepts(&one(counter, "counters = x;"));
    super::accepts(&one(counter, "counters = direct_counter(CounterType.bytes);"));
    super::accepts(&one("action_profile(4)", "implementation = x;"));
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
    super::accepts(&two(selector, "implementation = x;", keys));
    let keys = ["m.m: exact; m.w: selector;", "m.m: exact; m.m: selector;"];
    refuses(&two(selector, "implementation = x;", keys), "selector");
    refuses(&two(counter, "", ["m.m: lpm; m.w: lpm;", ""]), "match-kind");
}

#[test]
fn checksum_controls_have_no_branches() {
    let call = "verify_checksum(hdr.h.isValid(), { hdr.h.a }, hdr.h.b, HashAlgorithm.csum16);";
    super::accepts(&switch("apply {}", call));
    super::accepts(&switch("apply {}", &format!("{{ {call} return; }}")));
    refuses(&switch("apply {}", &format!("if (hdr.h.isValid()) {{ {call} }}")), "misplaced");
}

#[test]
fn implementations_do_not_call_themselves() {
    let instance = |f: &str, g: &str| {
        program(&format!(
            "extern X {{ X(); abstract bit<8> f(in bit<8> x); abstract bit<8> g(in bit<8> x); }}\n\
             X() x = {{ bit<8> f(in bit<8> x) {{ return {f}; }} bit<8> g(in bit<8> x) {{ return {g}; }} }};"
        ))
    };
    super::accepts(&instance("this.g(x)", "x + 1"));
    refuses(&instance("this.f(x)", "x"), "recursion");
    refuses(&instance("this.g(x)", "this.f(x)"), "recursion");
}

#[test]
fn new_types_are_cast_by_one_step() {
    let cast = |body: &str| {
        program(&format!(
            "type bit<8> One; type One Two; type bit<8> Other; \
             control X(inout One a, inout Two b, inout Other c) {{ apply {{ {body} }} }}"
        ))
    };
    super::accepts(&cast("a = (One)b; b = (Two)a; a = (One)8w1;"));
    refuses(&cast("c = (Other)a;"), "bad-cast");
    refuses(&cast("b = (Two)8w1;"), "bad-cast");
}

#[test]
fn controls_are_no_arguments_of_functions() {
    refuses(
        &program("void f() {} extern void g<T>(in T x); control X() { apply { g(f()); } }"),
        "type-mismatch",
    );
    refuses(
        &program(
            "control K() { apply {} } extern void f<T>(in T x); control X() { K() k; apply { f(k); } }",
        ),
        "type-mismatch",
    );
}

#[test]
fn what_is_left_open_must_be_told_by_something() {
    refuses(&control("register<_>(8) r;", ""), "type-arguments");
    super::accepts(&program(
        "control CT<T>(inout T x); package PKG<T>(CT<T> c); control X(inout bit<8> x) { apply {} } PKG<_>(X()) main;",
    ));
}

#[test]
fn lists_are_constants() {
    super::accepts(&program("const list<bit<8>> k = { 1, 2 };"));
    refuses(&statements("list<bit<8>> k = { 1, 2 };"), "type-not-allowed");
}

#[test]
fn locals_that_nothing_sets_are_warned_of() {
    warns(&control("bit<8> u;", "m.m = u;"), "uninitialized");
    warns(&parser("bit<8> u;", "state start { m.m = u; transition accept; }"), "uninitialized");
    let quiet = |text: &str| {
        let (warnings, shown) = super::diagnostics_of(text, crate::diagnostic::Severity::Warning);
        assert!(warnings.iter().all(|(kind, _)| *kind != "uninitialized"), "{shown}");
    };
    quiet(&control("bit<8> u; action a() { u = 1; }", "a(); m.m = u;"));
    quiet(&control("bit<8> u; register<bit<8>>(1) r;", "r.read(u, 0); m.m = u;"));
    quiet(&control("H h;", "m.m = h.a;"));
    quiet(&parser("H h;", "state start { p.extract(h); m.m = h.a; transition accept; }"));
}
