use crate::diagnostic::Style;
use crate::parse_text;
use crate::preprocess::{MemoryFiles, Options};

/// The messages of a program.
fn messages(text: &str) -> String {
    let parsed = parse_text("test.p4", text, &Options::default(), &MemoryFiles::new());
    parsed.diagnostics.render(&parsed.sources, Style::Plain)
}

#[track_caller]
fn accepts(text: &str) {
    assert_eq!(messages(text), "", "in {text}");
}

/// In an `apply` block, after some declarations.
pub(crate) fn around_statement(text: &str) -> String {
    format!(
        "struct S {{ bit<8> f; }} typedef bit<8> T; extern E<X> {{ E(); void m<Y>(in Y y); }} control C(inout S s);\n\
         control c(inout S s, in bit<8> a, in bit<8> b) {{ table t {{ actions = {{}} }} apply {{\n{text}\n}} }}"
    )
}

pub(crate) const PROGRAMS: &[&str] = &[
    "",
    ";;",
    "const bit<8> a = 8w3;",
    "const int a = -3 + 4 * (2 - 1);",
    "error { A, B }",
    "match_kind { exact, range, }",
    "enum E { A, B, }",
    "enum bit<8> E { A = 1, B = 2 }",
    "typedef bit<8> T; type T U; const U u = (U)(T)3;",
    "typedef struct S { bit<8> f; } T; const T t = { 3 };",
    "header H { bit<8> a; varbit<32> b; @name(\"x\") bit<(1 + 2)> c; }",
    "header H {} header_union U { H a; H b; } struct S { H[4] stack; U u; tuple<bit<8>, bool> t; }",
    "struct S<T> { T t; } struct P { S<bit<8>> s; S<S<bit<8>>>[3] n; }",
    "extern E { E(); E(bit<8> a, int b = 3); void m(); abstract bit<8> f<T>(in T t); }",
    "extern E<T> { E(T t); T get(); } extern void f<T, U>(in T t, out U u); extern E;",
    "extern T f<T>(in T t); T g<T>(in T t) { return t; }",
    "action a(inout bit<8> x, bit<8> y) { x = y; }",
    "parser P<H>(in H h, out bit<8> o = 3); control C<H>(inout H h); package Q<H>(P<H> p, C<H> c);",
    "control c(inout bit<8> x)(bit<8> y) { bit<8> z = y; apply { x = z; } }",
    "parser p(in bit<8> x) { const int k = 3; bit<8> v; value_set<bit<8>>(4) vs; state start { v = x; transition \
         select(x, v) { (1, 2): a; (_, default): accept; (3 &&& 1, 2 .. 3): reject; (vs, _): a; } } \
         state a { transition select(x) { 1: accept; 2 &&& 3: accept; 1..4: a; (bit<8>)3: a; (5): a; (1 &&& 2): a; \
         default: reject; } } state b { } state d { transition accept; } }",
    "bit<8> f(in bit<8> x) { if (x == 3) return 1; else { return 2; } }",
    "extern E { E(bit<8> a); abstract bit<8> m(in bit<8> b); } E(3) e = { bit<8> m(in bit<8> b) { return b; } \
         E(4) inner; };",
    "control c() { apply {} } package P(c x); P(c()) main;",
    "list<bit<8>> f(in list<bit<8>> list) { return list; }",
    "struct key { bit<8> apply; bit<8> state; bit<8> type; bit<8> priority; bit<8> entries; bit<8> actions; }",
    "struct S { list<tuple<bit<8>, S2<int<4>, bool>>> l; }",
];

#[test]
fn declarations() {
    for text in PROGRAMS {
        accepts(text);
    }
}

pub(crate) fn around_table(properties: &str) -> String {
    format!(
        "control c(inout bit<8> k) {{ action a(bit<8> x) {{}} table t {{ {} }} apply {{}} }}",
        properties
    )
}

pub(crate) const TABLES: &[&str] = &[
    "key = { k: exact; k & 3: ternary @name(\"masked\"); } actions = { a; @defaultonly NoAction; a(3); .a; }",
    "actions = { a; } default_action = a(3); size = 1024;",
    "actions = {} const default_action = .a(x = 3); @hidden implementation = Profile<bit<8>>(32);",
    "const entries = { 1: a(1); (1, 2): a(2) @name(\"e\"); (_, 3 &&& 4): .a; 1 .. 2: a(4); default: a(3); }",
    "entries = { const priority = 3: (1, 2): a(1); priority = (1 + 2): 4: a(2); 5: a(3); }",
    "key = {} actions = { a; } my_own = \"text\"; const other = { a, 3 };",
];

#[test]
fn tables() {
    for properties in TABLES {
        accepts(&around_table(properties));
    }
}

pub(crate) const STATEMENTS: &[&str] = &[
    ";",
    "bit<8> x; bit<8> y = 3; const bit<8> z = 4; S q = { 3 }; T w = { f = 3 };",
    "x = 3; x.y = z; x[3].y[4:0] = 5; x[4+:2] = 1; this.x = 3; .x = 4;",
    "x += 1; x -= 1; x *= 1; x /= 1; x %= 1; x |+|= 1; x |-|= 1; x <<= 1; x >>= 1; x &= 1; x |= 1; x ^= 1;",
    "f(); f(1, x, _); f(a = 1, b = _); x.m<bit<8>>(y); f<T, S>(x); t.apply();",
    "C.apply(s); E<bit<8>>() e; E<bit<8>>() g; T[3] st; S(3) inst;",
    "if (a > b) x = 1; if (a < b) { } else if (x) ; else { y = 2; }",
    "switch (t.apply().action_run) { a: b: { x = 1; } default: { } }",
    "switch (a) { 1: { } 2: 3: { } a + b: { } (bit<8>)4: { } default: { } } switch (a) { }",
    "return; exit; { { } @atomic { x = 1; } }",
    "for (bit<8> i = 0; i < 3; i = i + 1) { break; continue; } for (;true;) ; for (x = 1, f(); x < 3; x += 1, f()) {}",
    "for (bit<8> i in 1 .. 3) { } @unroll for (S q in stack) x = q.f; for (T i in { 1, 2 }) { }",
    "unknown_t v; unknown_t<bit<8>> v2; unknown_t[3] v3; unknown_t(3) v4; unknown_t<bit<8>>(4) v5;",
    "@name(\"x\") bit<8> x; @pragma something else 3\n x = 1;",
    "@noWarn[\"a\", 3] x = 1; @kv[a = 1, b = \"c\",] x = 1; @empty[] x = 2; @a @b() @c((1)(2), {) x = 3;",
    "tuple<bit<8>, bool> tt = { 1, true }; error e = error.NoError; string st;",
];

#[test]
fn statements() {
    for text in STATEMENTS {
        accepts(&around_statement(text));
    }
}

pub(crate) const EXPRESSIONS: &[&str] = &[
    "1 + 2 * 3 - 4 / 5 % 6",
    "a ++ b ++ 4w3 |+| 3 |-| 2",
    "a & b | ~a ^ b << 2 >> 3",
    "!(a == b) && a != b || a <= b && a >= b",
    "a < b",
    "a > b",
    "a >> 1 > b",
    "(a) - 1",
    "(T) - 1",
    "(T) (S) a",
    "(bit<8>) a.b[3:0]",
    "(tuple<T, S>) { 1, 2 }",
    "(S) { f = 1, ... }",
    "a > 3 ? 1 : b ? 2 : 3",
    "a < b ? c : d",
    "{}",
    "{ 1, { 2, 3 }, \"s\", }",
    "{ ... }",
    "{ 1, ... }",
    "{#}",
    "(H) {#}",
    "...",
    "f<T>(a)",
    "f<bit<8>>(a) >> 2",
    "p.lookahead<bit<8>>()",
    "p.lookahead<S>().f",
    "t.apply().hit",
    "E<bit<8>>(3)",
    "T.x",
    "error.NoMatch",
    ".x + .f(3)",
    "a[3]",
    "a[7:4][1:0]",
    "a[b+:4]",
    "a < b && f<T>(c) > d",
    "f<_, void>(1)",
    "x.push_front(1)",
    "S.minSizeInBits()",
    "true ? false : this.x",
    "(unknown) a",
    "unknown<T>(a)",
    "(a < b) == (b > a)",
];

#[test]
fn expressions() {
    for text in EXPRESSIONS {
        accepts(&around_statement(&format!("x = {text};")));
    }
}
