//! Tests of rules about types: widths, members, type arguments, conversions and casts.

use super::super::{accepts, control, parser, program, refuses, statements, warns};

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
fn composite_types_contain_only_permitted_types() {
    refuses(&program("header X { H h; }"), "type-not-allowed");
    refuses(&program("header X { H[2] h; }"), "type-not-allowed");
    refuses(&program("header X { error e; }"), "type-not-allowed");
    refuses(&program("header X { Suits s; }"), "type-not-allowed");
    refuses(&program("struct Y { H h; } header X { Y y; }"), "type-not-allowed");
    refuses(&program("header_union X { bit<8> a; }"), "type-not-allowed");
    refuses(&program("struct X { packet_in p; }"), "type-not-allowed");
    refuses(&program("struct X { packet_in[2] p; }"), "type-not-allowed");
    accepts(&program("header X { bit<8>[4] b; S[2] s; bit<4>[2][3] c; }"));
    refuses(&program("header X { varbit<8>[4] b; }"), "type-not-allowed");
    refuses(&program("header X { Suits[4] b; }"), "type-not-allowed");
    refuses(&program("struct X { H[2][3] h; }"), "type-not-allowed");
    refuses(&program("typedef string X;"), "type-not-allowed");
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
    refuses(&program("enum bit<8> X { A = X.B, B = 1 }"), "not-constant");
    refuses(&program("enum bit<8> X { A = X.A }"), "not-constant");
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
    let nested = |argument: &str| {
        program(&format!(
            "extern Reg<T> {{ Reg(T x); }} extern Keep {{ Keep(Reg<bit<8>> r); }} extern Any<T> {{ Any(Reg<T> r); }} {argument}"
        ))
    };
    accepts(&nested("Keep(Reg(5)) k; Any(Reg(8w5)) a;"));
    refuses(&nested("Any(Reg(5)) a;"), "no-width");
    refuses(&nested("Keep(Reg(16w5)) k;"), "type-mismatch");
    accepts(&nested("Keep(Reg<_>(5)) k;"));
    let empty = "extern Bag<T> { Bag(); } extern Hold<T> { Hold(Bag<T> b); }";
    accepts(&program(&format!("{empty} Hold<bit<8>>(Bag<_>()) h; Hold<bit<8>>(Bag()) i;")));
    refuses(&program(&format!("{empty} Hold(Bag<_>()) h;")), "type-arguments");
}

#[test]
fn only_constants_and_serializable_members_are_converted() {
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
        "hdr.h = (H) m.s;",
    ] {
        refuses(&statements(text), "bad-cast");
    }
    refuses(&statements("m.s = (S) { 1, 2, 3 };"), "wrong-count");
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
fn type_arguments_have_widths() {
    refuses(&statements("hash(v, HashAlgorithm.crc16, 0, { w }, 10);"), "no-width");
    refuses(&statements("digest(1, { v, 5 });"), "no-width");
    refuses(
        &program("T f<T>(in T x) { return x; } control X(inout bit<8> v) { apply { v = f(3); } }"),
        "no-width",
    );
}

#[test]
fn type_arguments_make_types_that_are_allowed() {
    let with = |argument: &str| {
        program(&format!(
            "header GH<T> {{ T f; }} struct GS<T> {{ GH<T> h; }} struct X {{ GS<{argument}> g; }}"
        ))
    };
    for good in ["bit<8>", "E8", "bool", "S", "Port", "varbit<8>"] {
        accepts(&with(good));
    }
    for bad in ["error", "H", "Suits", "string", "H[2]", "tuple<bit<8>>", "packet_in", "void"] {
        refuses(&with(bad), "type-not-allowed");
    }
    let union = "header_union GU<T> { H h; T v; }";
    accepts(&program(&format!("{union} struct X {{ GU<V> g; }}")));
    refuses(&program(&format!("{union} struct X {{ GU<bit<8>> g; }}")), "type-not-allowed");
}

#[test]
fn arrays_of_other_things_than_headers_are_no_stacks() {
    accepts(&statements(
        "S[2] a; a[1].x = 3; v = a[v].x; bit<8>[2] b = {1, 2}; for (bit<8> x in b) { v = v + x; }",
    ));
    accepts(&statements("bit<8> a[2][3]; a[1][2] = 1; H b[2]; b[0] = hdr.hs[1];"));
    accepts(&program(
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
fn new_types_are_cast_by_one_step() {
    let cast = |body: &str| {
        program(&format!(
            "type bit<8> One; type One Two; type bit<8> Other; \
             control X(inout One a, inout Two b, inout Other c) {{ apply {{ {body} }} }}"
        ))
    };
    accepts(&cast("a = (One)b; b = (Two)a; a = (One)8w1;"));
    refuses(&cast("c = (Other)a;"), "bad-cast");
    refuses(&cast("b = (Two)8w1;"), "bad-cast");
}

#[test]
fn open_type_arguments_must_be_inferred() {
    refuses(&control("register<_>(8) r;", ""), "type-arguments");
    accepts(&program(
        "control CT<T>(inout T x); package PKG<T>(CT<T> c); control X(inout bit<8> x) { apply {} } PKG<_>(X()) main;",
    ));
}

#[test]
fn fields_overloads_and_optional_parameters_follow_their_rules() {
    refuses(&program("struct X { string s; }"), "type-not-allowed");
    refuses(&program("struct X { int s; }"), "type-not-allowed");
    refuses(&program("extern void f(@optional in bit<8> x = 3);"), "annotation");
    refuses(
        &program("extern void f(in bit<8> x); void f(in bit<8> x, in bit<8> y) {}"),
        "duplicate",
    );
}

#[test]
fn lists_are_constants() {
    accepts(&program("const list<bit<8>> k = { 1, 2 };"));
    refuses(&statements("list<bit<8>> k = { 1, 2 };"), "type-not-allowed");
}

#[test]
fn lists_are_not_cast_to_tuples() {
    accepts(&statements("tuple<bit<8>, bit<8>> t = { 1, 2 }; m.s = (S) { 1, 2 };"));
    refuses(&statements("tuple<bit<8>, bit<8>> t = (tuple<bit<8>, bit<8>>) { 1, 2 };"), "bad-cast");
}

#[test]
fn packages_do_not_contain_themselves() {
    refuses("package P(P p);", "recursion");
    refuses("package P<T>(T t, P<T> p);", "recursion");
    accepts("package P<T>(T t); package Q(P<bit<8>> p);");
}
