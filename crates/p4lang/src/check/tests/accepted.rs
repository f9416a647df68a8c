//! Tests that unusual but valid programs are accepted.

use super::{PRELUDE, accepts, control, parser, program, statements};

#[test]
fn a_program_with_all_constructs_is_accepted() {
    accepts(include_str!("programs/everything.p4"));
}

#[test]
fn edge_cases_of_values_and_tables_are_accepted() {
    accepts(include_str!("programs/corners.p4"));
}

#[test]
fn a_program_like_those_of_tutorials_is_accepted() {
    accepts(include_str!("programs/telemetry.p4"));
}

#[test]
fn subparsers_and_nested_controls() {
    accepts(include_str!("programs/nested.p4"));
}

#[test]
fn a_program_for_psa_is_accepted() {
    accepts(include_str!("programs/psa.p4"));
}

#[test]
fn architectures_without_a_program_are_accepted() {
    for name in crate::arch::names() {
        accepts(&format!("#include <{name}>\n"));
    }
    accepts("#define V1MODEL_VERSION 20200408\n#include <v1model.p4>\n");
    accepts(PRELUDE);
}

#[test]
fn functions_are_chosen_by_number_and_names_of_arguments() {
    let overloads = "extern bit<8> f(in bit<8> a); extern bit<8> f(in bit<8> a, in bit<8> b);\n\
                     extern bit<8> g(in bit<8> a); extern bit<8> g(in bit<16> b);";
    accepts(&program(&format!(
        "{overloads} control X(inout bit<8> v) {{ apply {{ v = f(v); v = f(v, v); v = g(a = v); v = g(b = 16w1); }} }}"
    )));
}

#[test]
fn type_parameters_are_inferred() {
    accepts(&program(
        "T id<T>(in T x) { return x; }\n\
         U second<T, U>(in T x, in U y) { return y; }\n\
         control X(inout bit<8> v, inout bool q) { apply {\n\
         v = id(v); v = id<bit<8>>(3); q = id(q); v = second(q, v); v = second<_, bit<8>>(q, 3); v = id(id(v)); } }",
    ));
}

#[test]
fn generic_structs_and_headers_are_accepted() {
    accepts(&program(
        "header GH<T> { T f; } struct P2<A, B> { A a; B b; } typedef P2<bit<8>, bool> PB; struct Q<T> { T b; }\n\
         control X(inout GH<bit<16>> h, inout Q<PB> p) { apply {\n\
         h.f = 5; p.b.b = true; p = { { 2, false } }; p.b = { a = 3, b = true }; h.setInvalid();\n\
         PB local = (PB) { 1, true }; p.b = local; } }",
    ));
}

#[test]
fn defaults_and_optional_parameters() {
    accepts(&program(
        "bit<8> f(in bit<8> x, in bit<8> y = 3) { return x + y; }\n\
         extern bit<8> o(in bit<8> x, @optional in bit<8> y);\n\
         control X(inout bit<8> v) { apply { v = f(v); v = f(v, 2); v = f(y = 1, x = v); v = o(v); v = o(y = v, x = v); } }",
    ));
}

#[test]
fn constructor_parameters_are_known_without_value() {
    accepts(&program(
        "control X(inout bit<8> v)(bit<8> k, bit<32> size, bool wide, string label) {\n\
         register<bit<8>>(size) r; const bit<8> twice = k * 2;\n\
         action a(bit<8> x) { v = x + twice; } table t { key = { v: exact; } actions = { a; } default_action = a(k); size = 12; }\n\
         apply { if (wide) { t.apply(); } r.write(0, k); log_msg(label); } }\n\
         control Y(inout bit<8> v) { X(1, 16, true, \"x\") x; apply { x.apply(v); } }",
    ));
}

#[test]
fn controls_and_parsers_as_constructor_arguments() {
    accepts(&program(
        "control Step(inout bit<8> v); control Inc(inout bit<8> v) { apply { v = v + 1; } }\n\
         control Twice(inout bit<8> v)(Step s) { apply { s.apply(v); s.apply(v); } }\n\
         control X(inout bit<8> v) { Twice(Inc()) t; apply { t.apply(v); } }",
    ));
}

#[test]
fn architectures_of_the_program_itself_are_accepted() {
    accepts(
        "#include <core.p4>\n\
         parser Prs<H>(packet_in p, out H h); control Pipe<H, M>(inout H h, inout M m); control Dep<H>(packet_out p, in H h);\n\
         extern Thing<T> { Thing(T initial); T get(in T x); abstract T map(in T x); }\n\
         package Top<H, M>(Prs<H> p, Pipe<H, M> i, @optional Pipe<H, M> e, Dep<H> d, bit<8> k = 3);\n\
         header E { bit<8> x; } struct Hs { E e; } struct Ms { bit<4> q; }\n\
         parser P(packet_in p, out Hs h) { state start { p.extract(h.e); transition accept; } }\n\
         control C(inout Hs h, inout Ms m) {\n\
           Thing<bit<8>>(5) t = { bit<8> map(in bit<8> x) { return x + 1; } };\n\
           Thing(8w5) u = { bit<8> map(in bit<8> x) { return x; } };\n\
           apply { h.e.x = t.get(h.e.x); h.e.x = u.map(1); } }\n\
         control D(packet_out p, in Hs h) { apply { p.emit(h.e); } }\n\
         Top(p = P(), i = C(), d = D()) main;",
    );
    // The parameters of the package have the types that its type argument determines.
    accepts(
        "#include <core.p4>\ncontrol G<T>(in T x); package Top<T>(G<T> g); control C(in bit<8> x) { apply {} } Top<bit<8>>(C()) main;",
    );
}

#[test]
fn comparisons_of_everything_comparable() {
    accepts(&statements(
        "q = m.s == m.s; q = hdr.h != hdr.h; q = hdr.hs == hdr.hs; q = hdr.u == hdr.u; q = m.er == error.NoError;\n\
         q = m.su != Suits.Clubs; q = m.e == 3; q = 3 == m.e; q = m.e == E8.A; q = m.e == v; q = m.p == m.p; q = q == true;\n\
         q = m.s == { 1, 2 }; q = m.s == { y = 1, x = 2 }; q = m.g == { 1, 2 }; q = hdr.h == {#}; q = m.s == { 1, ... };\n\
         q = m.e < E8.B; q = n < -1; q = 1 < v; q = (bit<8>) m.e == v; q = 5 == 6; q = { 1, true } == { 2, false };",
    ));
}

#[test]
fn shifts_take_any_unsigned_amount() {
    accepts(&statements(
        "v = v << 1; v = v << w; v = v >> 8w2; n = n >> 1; v = v << 8s1; l = 1 << 3; v = v << m.e; l <<= v; l = 32w1 << 31; v = 1 << (1 + 1);",
    ));
}

#[test]
fn members_of_a_represented_enum_are_bits() {
    accepts(&statements(
        "v = m.e; v = E8.A; v = m.e + 1; v = m.e | v; w = m.e ++ E8.B; v = m.e & 8w3; m.e = (E8) 3; m.e = (E8) v; v = -m.e; v = m.e[7:0]; v = q ? m.e : E8.A;\n\
         hdr.hs[m.e].a = 1; m.s = { E8.A, 1 }; m.s.x = E8.B;",
    ));
}

#[test]
fn integers_are_converted_to_the_expected_type() {
    accepts(&statements(
        "m.p = 5; v = 1; n = -128; m.s = { 1, 2 }; v = 1 + 2 * 3; w = 0xffff; v = (1 << 4) - 1; v = q ? 1 : v; m.g = { f = 1, g = 2 };\n\
         tuple<bit<8>, int<8>> t = { 1, 2 }; v = t[0]; v = v + 5 - 3; v = 3 |+| v; q = 3 == v; v = v & 0xf; v[3:0] = 5; l = (bit<32>) 5; v = 10 / 3; v = v / 3; v = 5 % 3;",
    ));
}

#[test]
fn stacks_unions_and_validity() {
    accepts(&statements(
        "hdr.hs[0] = hdr.h; hdr.hs[v].b = 1; hdr.hs[1].setValid(); q = hdr.hs[w].isValid(); l = hdr.hs.size; hdr.hs.push_front(1); hdr.hs.pop_front(4);\n\
         hdr.u.h = hdr.h; hdr.u.h.setValid(); q = hdr.u.isValid(); q = hdr.u.v.isValid(); hdr.h = {#}; hdr.h = (H) {#}; hdr.u = (U) {#}; hdr.hs = { hdr.h, ... }; hdr.hs = { {1, 2}, {#}, hdr.h, { a = 1, b = 2 } };",
    ));
}

#[test]
fn parsers_use_everything() {
    accepts(&parser(
        "bit<8> n = 0; value_set<tuple<bit<8>, bit<16>>>(4) pair; value_set<S>(2) fields; value_set<E8>(1) es; const bit<8> k = 3;",
        "state start { p.extract(hdr.hs.next); n = n + 1; m.m = p.lookahead<bit<8>>(); H x = p.lookahead<H>(); m.s = p.lookahead<S>();\n\
           { bit<8> inner = 1; n = inner; } if (n == 3) { m.m = 1; } else { m.m = 2; } hdr.hs.next.a = 1;\n\
           transition select(hdr.hs.last.a, hdr.hs.last.b) { pair: next; fields: next; (k, 5): next; (1..3, _): next; (_, 3 &&& 7): next; (k + 1, default): next; _: next; } }\n\
         state next { p.extract(hdr.v, (bit<32>) (hdr.v.n << 3)); p.advance(8); l0(); l = p.length(); transition select(m.e) { es: accept; E8.A: accept; 5: reject; default: last; } }\n\
         state last { transition select(m.flag, m.su, m.w[3:0]) { (true, Suits.Clubs, 3): accept; default: next2; } }\n\
         state next2 { hdr.h.setValid(); verify(ro != 0, error.NoMatch); p.extract<H>(_); bit<32> i = hdr.hs.lastIndex; transition accept; }",
    ).replace("l0(); l = p.length();", "bit<32> l = p.length();"));
}

#[test]
fn tables_use_everything() {
    accepts(&control(
        "action a() {} action b(bit<8> x, Port p) { m.m = x; m.p = p; } action d(inout bit<8> y, in bit<16> z, bit<8> x) { y = x; }\n\
         bit<8> loc = 1; direct_counter(CounterType.packets) dc; action_profile(16) ap;\n\
         table t { key = { hdr.h.a: exact @name(\"x\"); hdr.hs[0].b: lpm; m.p: optional; m.flag: exact; m.er: exact; m.su: exact; m.w[7:4]: range; hdr.h.isValid(): exact; hdr.h.b & 0xff: ternary; }\n\
           actions = { a; b; d(loc, m.w); @defaultonly NoAction; } const default_action = d(loc, m.w, 3); size = 4 * 256; counters = dc; }\n\
         table u { key = { m.m: exact; m.w: lpm; m.m: ternary @name(\"again\"); m.w: range @name(\"r\"); m.e: exact; m.p: exact; }\n\
           actions = { a; b(p = (Port) 3); d(loc, 5); } default_action = a;\n\
           entries = { priority = 9: (1, 0xff00 &&& 0xff00, 3 &&& 1, 1..5, E8.A, (Port) 1): a; const priority = 5: (2, 3, _, default, 3, 2): d(loc, 5, 8w9) @id(3); } }\n\
         table v { actions = { a; b; } default_action = b(1, (Port) 2); implementation = ap; }\n\
         table w { key = {} actions = { b; } default_action = b(p = (Port) 1, x = 2); }".replace("b(p = (Port) 3); ", "b; ").as_str(),
        "t.apply(); if (u.apply().hit && v.apply().miss) { m.m = 1; }\n\
         switch (w.apply().action_run) { b: { m.m = 2; } default: {} } b(3, (Port) 1); d(loc, 1, m.m);",
    ));
}

#[test]
fn functions_return_on_all_paths() {
    accepts(&program(
        "bit<8> f(in bit<8> x) { if (x == 1) { return 1; } else if (x == 2) return 2; else { { return 3; } } }\n\
         bit<8> g(in bit<8> x) { switch (x) { 1: 2: { return 1; } default: { return 2; } } }\n\
         void h(in bit<8> x) { if (x == 0) return; } bit<8> k(in bit<8> x) { const bit<8> c = 3; bit<8> y = x + c; return y; }\n\
         tuple<bit<8>, bool> t(in bit<8> x) { return { x, true }; } S s(in bit<8> x) { return { x, 1 }; } S r() { return { y = 1, x = 2 }; }",
    ));
}

#[test]
fn names_may_repeat_where_scopes_differ() {
    accepts(&control(
        "action a(bit<8> x) { bit<8> y = x; m.m = y; } action b(bit<8> x) { bit<8> y = x; m.m = y; } table a2 { actions = { a; } default_action = a(1); }",
        "bit<8> y = 1; { bit<8> z = y; m.m = z; } { bit<8> z = 2; m.m = z; } a2.apply(); b(1); if (y == 1) { bit<8> z = 1; m.m = z; }",
    ));
    accepts(&program(
        "const bit<8> top = 1; control X(inout bit<8> v) { const bit<8> top = 2; apply { v = top + .top; } }",
    ));
}

#[test]
fn strings_and_lists_are_accepted_as_arguments() {
    accepts(&program(
        "extern E { E(list<tuple<bit<8>, bit<8>>> data); void run(); } extern void note(string s); struct Pair { bit<8> a; bit<8> b; }\n\
         extern E2 { E2(list<Pair> data); }\n\
         control X() { E((list<tuple<bit<8>, bit<8>>>) { { 1, 2 }, { 3, 4 } }) e; E2((list<Pair>) { { 1, 2 }, { a = 3, b = 4 } }) e2; apply { note(\"x\" ++ \"y\"); e.run(); } }",
    ));
}

#[test]
fn sizes_of_types_and_values() {
    accepts(&program(
        "const int a = H.minSizeInBits(); const bit<32> b = V.maxSizeInBytes(); const bool c = static_assert(a == 24 && b == 41 && V.minSizeInBytes() == 1);\n\
         control X(in Headers h) { apply { bit<32> s = h.h.minSizeInBits(); s = h.hs.maxSizeInBytes(); } }",
    ));
}

#[test]
fn a_default_may_be_an_instance_for_a_generic_parameter() {
    accepts(
        "struct E {} control nothing(inout E h) { apply {} } control C<H>(inout H h);\n\
         package P<H, G>(@optional C<H> first, C<G> second = nothing()); P() main;",
    );
}

#[test]
fn an_error_may_be_declared_after_its_use() {
    accepts(
        "control X(inout bit<8> v) { apply { if (error.Late == error.NoError) { v = 1; } } }\n\
         error { NoError, Late }",
    );
}

#[test]
fn names_in_annotations_may_be_concatenated() {
    accepts(&program(
        "control X(inout bit<8> v) { @name(\"a\" ++ \".b\") action a() {}\n\
         @noWarn(\"un\" ++ \"used\") bit<8> w; apply { a(); v = 1; } }",
    ));
}

#[test]
fn a_choice_that_is_made_at_compile_time_is_one_value() {
    // p4c folds constants before it looks at types.
    accepts(&program(
        "const bool YES = true; const bit<8> a = true ? 1 : 2; const bit<8> b = 3 > 4 ? 1 : 2; const bit<4> c = YES ? 1 : 16;",
    ));
    accepts(&statements("v = 1 == 1 ? 5 : 6; v = false ? 16w1 : v; v = true ? v : 16w2;"));
}

#[test]
fn keys_may_stand_in_braces() {
    accepts(&control(
        "table t { key = { m.m : exact; } actions = { NoAction; } const entries = { { 1 } : NoAction; 2 : NoAction; } }\n\
         table u { key = { m.m : exact; m.w : lpm; } actions = { NoAction; } const entries = { { 1, 2 } : NoAction; } }",
        "t.apply(); u.apply();",
    ));
    accepts(&parser("", "state start { transition select(m.m) { { 1 }: accept; (2): reject; } }"));
}

#[test]
fn switches_look_at_what_can_be_compared() {
    accepts(&statements(
        "switch (q) { true: { v = 1; } false: { v = 2; } } switch (m.p) { (Port) 3: { v = 1; } default: {} }",
    ));
}

#[test]
fn a_constant_may_be_all_keys_at_once() {
    let states = "state start { transition select(m.m, m.s.x) { pair: accept; both: reject; (1, 2): accept; } }";
    accepts(&parser(
        "const tuple<bit<8>, bit<8>> pair = { 1, 2 }; const G<bit<8>> both = { 3, 4 };",
        states,
    ));
}

#[test]
fn unknown_match_kinds_permit_every_key_set() {
    let text = |main: &str| {
        format!(
            "#include <core.p4>\nmatch_kind {{ range }} struct M {{ bit<8> m; }} control C(inout M m) {{\n\
             table t {{ key = {{ m.m : exact; }} actions = {{ NoAction; }} const entries = {{ 1 &&& 3 : NoAction; 5 .. 9 : NoAction; }} }}\n\
             apply {{ t.apply(); }} }}\ncontrol CT(inout M m); package Box(CT c); {main}"
        )
    };
    super::warns(&text("Box(C()) main;"), "match-kind");
    super::refuses(&text(""), "match-kind");
}

#[test]
fn omitted_blocks_need_no_type_arguments() {
    accepts(&program(
        "control CT<T>(inout T t); package PK<T, U>(@optional CT<T> a, @optional CT<U> b, bit<8> n);\n\
         control X(inout bit<8> x) { apply {} }\n\
         PK<_, _>(n = 3) none; PK(b = X(), n = 1) one; PK<bit<8>, _>(X(), _, 3) first; PK<_, bit<8>>(_, X(), 5) main;",
    ));
}

#[test]
fn generic_parsers_and_controls_may_have_bodies() {
    let text = "control Store<T>(inout T x)(T value) { apply { T copy = value; x = copy; } }
        parser Skip<H>(packet_in p, out H h) { state start { p.extract(h); transition accept; } }
        control Nothing<M>(inout M m) { apply {} }
        control Outer(inout bit<8> x) { Store(8w3) store; apply { store.apply(x); } }
        control Block(inout bit<8> x);
        package Top(Block first, Block second = Nothing<bit<8>>());
        Top(Outer()) main;";
    super::warns(&format!("#include <core.p4>\n{text}"), "generic-body");
}

#[test]
fn a_slice_of_no_bits_is_a_value() {
    accepts("bit<0> none(in bit<8> x) { return x[2+:0]; } const bit<0> NONE = 8w3[0+:0];");
    super::refuses("void f(inout bit<8> x) { x[2+:0] = 0; }", "not-a-place");
}

#[test]
fn shifts_go_by_values_of_new_types() {
    accepts(&statements("w = w << m.p; w = 16w1 >> m.p; w <<= m.p;"));
    super::refuses(&statements("m.p = m.p << 1;"), "bad-operand");
}

#[test]
fn arguments_of_core_may_be_named() {
    accepts(&parser(
        "",
        "state start { p.extract(variableFieldSizeInBits = 8, variableSizeHeader = hdr.v); p.advance(sizeInBits = 8);
            verify(toSignal = error.NoMatch, check = hdr.v.n == 1); transition accept; }",
    ));
    accepts(&program("const bool c = static_assert(message = \"no\", check = 1 < 2);"));
    super::refuses(
        &program("const bool c = static_assert(message = \"no\", check = 1 > 2);"),
        "static-assert",
    );
}
