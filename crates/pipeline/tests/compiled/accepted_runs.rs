//! Tests that every program that `compile` accepts can be run, whatever its expressions are made
//! of.
//!
//! Each program has one construct in one place: numbers without a width, and parts and methods of
//! what calls return, in operators, statements, keys, arguments of actions, and parsers. A program
//! that cannot be run is refused, and the message names the place.

use crate::both::{Both, V1model};
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};

const DECLARATIONS: &str = "
    header R { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
    header Ee { bit<8> v; }
    header_union U { Ee e; R r; }
    struct S { bit<8> u; bit<16> v; }
    struct N { S s; Ee e; Ee[2] st; tuple<bit<8>, bool> t; }
    enum bit<8> Se { one = 1, two = 2 }
    enum Pe { one, two }
    struct H { R r; Ee[4] e; U u; }
    struct M { bit<8> kind; S s; N n; Se se; Pe pe; error er; bit<8>[3] arr; bool q; int<8> i8; }
    const int K = 5;
    const bit<8> B = 7;
    const S CS = { 1, 2 };
    const Ee CE = { 4 };
    const Ee CI = {#};
    const tuple<int, bit<8>> CT = { 3, 4 };
    const Ee[2] CST = { { 1 }, { 2 } };
    R head(in bit<8> x) { R r = { x, 2, 3, 4 }; return r; }
    R none() { R r; r.setInvalid(); return r; }
    S record(in bit<8> x) { return { x, 300 }; }
    Ee[4] stack(in bit<8> x) { Ee[4] e; e[1].setValid(); e[1].v = x; return e; }
    U union(in bit<8> x) { U u; u.e.setValid(); u.e.v = x; return u; }
    N nested(in bit<8> x) { N n; n.s = { x, 1 }; n.e.setValid(); n.e.v = x; n.st[1].setValid(); n.st[1].v = x; n.t = { x, true }; return n; }
    tuple<bit<8>, bool> pair(in bit<8> x) { return { x, x == 3 }; }
    bit<8>[3] array(in bit<8> x) { bit<8>[3] a = { 1, x, 3 }; return a; }
    bool truth(in bit<8> x) { return x == 3; }
    bit<8> bits(in bit<8> x) { return x + 1; }
    int<8> signed(in bit<8> x) { return (int<8>) x; }
    Se member(in bit<8> x) { if (x == 3) { return Se.one; } return Se.two; }
    Pe plain(in bit<8> x) { if (x == 3) { return Pe.two; } return Pe.one; }
    error fault(in bit<8> x) { if (x == 3) { return error.NoMatch; } return error.NoError; }
    T same<T>(in T x) { return x; }
    T pick<T>(in bool q, in T x, in T y) { if (q) { return x; } return y; }
";

/// The place in a program at which a text stands.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The statements of ingress.
    Apply,
    /// A key of a table, with its match kind.
    Key,
    /// The action of a table, with arguments.
    Action,
    /// The text after `select(`, up to the state of a case.
    Select,
    /// The statements of a parser state.
    State,
}

/// A case that runs: the place of a text, its declarations (those after `@@` are in ingress), the
/// text, and the first four bytes of the packet that leaves for 3, 0, 0, 0.
type Runs = (Place, &'static str, &'static str, [u8; 4]);

/// A case that is refused: like [`Runs`], but with the kind of the error.
type Refused = (Place, &'static str, &'static str, &'static str);

const RUNS: [Runs; 239] = [
    (
        Place::Apply,
        "bit<8> f(int n) { if (n < 3) { return 1; } return 2; }",
        "h.r.b = f(2);",
        [3, 1, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { if (n == 2) { return 1; } return 2; }",
        "h.r.b = f(2);",
        [3, 1, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { if (n + 1 > 2 && n != 4) { return 1; } return 2; }",
        "h.r.b = f(2);",
        [3, 1, 0, 0],
    ),
    (Place::Apply, "bit<8> f(int n) { return n > 1 ? 8w3 : 4; }", "h.r.b = f(2);", [3, 3, 0, 0]),
    (Place::Apply, "bit<8> f(int n) { return (bit<8>) n; }", "h.r.b = f(2);", [3, 2, 0, 0]),
    (Place::Apply, "bit<8> f(int n) { return (bit<8>) (n + 1); }", "h.r.b = f(2);", [3, 3, 0, 0]),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { return x + n; }",
        "h.r.b = f(2, v);",
        [3, 5, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { return x << n; }",
        "h.r.b = f(2, v);",
        [3, 12, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { return x >> (n - 1); }",
        "h.r.b = f(2, v);",
        [3, 1, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { return (bit<8>) (n << 2); }",
        "h.r.b = f(2, v);",
        [3, 8, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { return n[7:0]; }",
        "h.r.b = f(2, v);",
        [3, 2, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { return n[3:0] ++ x[3:0]; }",
        "h.r.b = f(2, v);",
        [3, 35, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { return -n; }",
        "h.r.b = f(2, v);",
        [3, 254, 0, 0],
    ),
    (Place::Apply, "bit<8> f(int n, in bit<8> x) { return +n; }", "h.r.b = f(2, v);", [3, 2, 0, 0]),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { if (x == n) { return 9; } return 0; }",
        "h.r.b = f(3, v);",
        [3, 9, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { if (n >= x) { return 9; } return 0; }",
        "h.r.b = f(3, v);",
        [3, 9, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { bit<8> r = n; r = r + n; return r; }",
        "h.r.b = f(3);",
        [3, 6, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { const int k = 4; bit<8> r = k; return r; }",
        "h.r.b = f(3);",
        [3, 4, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> g(int n) { return n; } bit<8> f(int n) { return g(n + 1); }",
        "h.r.b = f(3);",
        [3, 4, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> g(int n) { return n; } bit<8> f(int n) { return g(n) + g(n * 2); }",
        "h.r.b = f(3);",
        [3, 9, 0, 0],
    ),
    (Place::Apply, "bit<8> f(int n = 6) { return n; }", "h.r.b = f();", [3, 6, 0, 0]),
    (
        Place::Apply,
        "bit<8> f(int n) { switch (n) { 1: { return 5; } 3: { return 6; } default: { return 7; } } return 0; }",
        "h.r.b = f(3);",
        [3, 6, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { switch (x) { 3: { return n; } default: { return 7; } } return 0; }",
        "h.r.b = f(9, v);",
        [3, 9, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { bit<8> r = 0; for (bit<8> i in 1 .. 3) { r = r + n + i; } return r; }",
        "h.r.b = f(3);",
        [3, 15, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { bit<8> r = 0; for (bit<8> i = 0; i < n; i = i + 1) { r = r + 1; } return r; }",
        "h.r.b = f(3);",
        [3, 3, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { return x * n + (x |+| n); }",
        "h.r.b = f(3, v);",
        [3, 15, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { return x & n | n ^ x; }",
        "h.r.b = f(3, v);",
        [3, 3, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bit<8> x) { return x / 2 + 7 % 4; }",
        "h.r.b = f(3, v);",
        [3, 4, 0, 0],
    ),
    (Place::Apply, "bit<8> f(int n) { return n / 2 + n % 2; }", "h.r.b = f(7);", [3, 4, 0, 0]),
    (Place::Apply, "bit<8> f(int n) { return (bit<8>) (n / 2); }", "h.r.b = f(7);", [3, 3, 0, 0]),
    (
        Place::Apply,
        "bit<8> f(int n) { S x = { n, n }; return x.u; }",
        "h.r.b = f(7);",
        [3, 7, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { bit<8>[3] x = { 1, 2, 3 }; return x[n]; }",
        "h.r.b = f(2);",
        [3, 3, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, inout Ee[4] e) { e[n].setValid(); e[n].v = 5; return e[n].v; }",
        "h.r.b = f(2, h.e);",
        [3, 5, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n, inout Ee[4] e) { e[n - 1].setValid(); e[n - 1].v = 5; return e[n - 1].v; }",
        "h.r.b = f(2, h.e);",
        [3, 5, 0, 0],
    ),
    (Place::Apply, "bit<8> f(string t, int n) { return n; }", "h.r.b = f(\"x\", 2);", [3, 2, 0, 0]),
    (
        Place::Apply,
        "bit<8> f(int n) { int<8> x = n; return (bit<8>) x; }",
        "h.r.b = f(-2);",
        [3, 254, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { return (bit<8>) (int<8>) n; }",
        "h.r.b = f(-2);",
        [3, 254, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { bool q = n == 2; if (q) { return 1; } return 0; }",
        "h.r.b = f(2);",
        [3, 1, 0, 0],
    ),
    (Place::Apply, "bool f(int n) { return n == 2; }", "if (f(2)) { h.r.b = 1; }", [3, 1, 0, 0]),
    (
        Place::Apply,
        "bool f(int n) { return !(n == 2) || n < 0; }",
        "if (f(2)) { h.r.b = 1; }",
        [3, 0, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { return Se.one == n ? 8w1 : 8w2; }",
        "h.r.b = f(1);",
        [3, 1, 0, 0],
    ),
    (Place::Apply, "bit<8> f<T>(in T x, int n) { return n; }", "h.r.b = f(v, 3);", [3, 3, 0, 0]),
    (Place::Apply, "T f<T>(in T x) { return x; }", "h.r.b = f<bit<8>>(3);", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = same(8w3); h.r.c = same(v) + 1;", [3, 3, 4, 0]),
    (Place::Apply, "", "h.r.b = (bit<8>) same(w);", [3, 1, 0, 0]),
    (Place::Apply, "", "if (K == 5) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (K < v) { h.r.b = 1; } else { h.r.b = 2; }", [3, 2, 0, 0]),
    (Place::Apply, "", "h.r.b = (bit<8>) (int) v;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = v + (int) 3w2;", [3, 5, 0, 0]),
    (Place::Apply, "", "h.r.b = (int) v;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = v << (int) 8w2;", [3, 12, 0, 0]),
    (Place::Apply, "", "h.r.b = (bit<8>) ((int) B + 1);", [3, 8, 0, 0]),
    (Place::Apply, "", "h.r.b = (bit<8>) ((int) m.i8);", [3, 0, 0, 0]),
    (Place::Apply, "", "if (head(v).isValid()) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (none().isValid()) { h.r.b = 1; } else { h.r.b = 2; }", [3, 2, 0, 0]),
    (Place::Apply, "", "h.r.b = head(v).b + head(v).a;", [3, 5, 0, 0]),
    (Place::Apply, "", "h.r.b = head(v).b[3:0] ++ head(v).a[3:0];", [3, 35, 0, 0]),
    (Place::Apply, "", "if (stack(v)[1].isValid()) { h.r.b = stack(v)[1].v; }", [3, 3, 0, 0]),
    (Place::Apply, "", "if (!stack(v)[0].isValid()) { h.r.b = 6; }", [3, 6, 0, 0]),
    (Place::Apply, "", "if (stack(v)[w].isValid()) { h.r.b = stack(v)[w].v; }", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = (bit<8>) stack(v).size;", [3, 4, 0, 0]),
    (Place::Apply, "", "if (union(v).isValid()) { h.r.b = union(v).e.v; }", [3, 3, 0, 0]),
    (Place::Apply, "", "if (union(v).e.isValid()) { h.r.b = 5; }", [3, 5, 0, 0]),
    (Place::Apply, "", "if (!union(v).r.isValid()) { h.r.b = 5; }", [3, 5, 0, 0]),
    (Place::Apply, "", "h.r.b = record(v).u; h.r.c = record(v).v[7:0];", [3, 3, 44, 0]),
    (Place::Apply, "", "h.r.b = record(v).v[15:8];", [3, 1, 0, 0]),
    (
        Place::Apply,
        "",
        "h.r.b = nested(v).s.u + nested(v).e.v + nested(v).st[1].v + nested(v).t[0];",
        [3, 12, 0, 0],
    ),
    (Place::Apply, "", "if (nested(v).e.isValid()) { h.r.b = 1; }", [3, 1, 0, 0]),
    (
        Place::Apply,
        "",
        "if (nested(v).st[0].isValid()) { h.r.b = 1; } else { h.r.b = 2; }",
        [3, 2, 0, 0],
    ),
    (Place::Apply, "", "if (nested(v).t[1]) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "h.r.b = pair(v)[0]; if (pair(v)[1]) { h.r.c = 1; }", [3, 3, 1, 0]),
    (Place::Apply, "", "h.r.b = array(v)[1]; h.r.c = array(v)[w];", [3, 3, 3, 0]),
    (Place::Apply, "", "h.r.b = bits(v)[3:0] ++ 4w1;", [3, 65, 0, 0]),
    (Place::Apply, "", "h.r.b = bits(v)[w[2:0] +: 4] ++ 4w1;", [3, 33, 0, 0]),
    (Place::Apply, "", "h.r.b = bits(v) << bits(1);", [3, 16, 0, 0]),
    (Place::Apply, "", "h.r.b = -bits(v); h.r.c = ~bits(v);", [3, 252, 251, 0]),
    (Place::Apply, "", "h.r.b = (bit<8>) signed(v);", [3, 3, 0, 0]),
    (
        Place::Apply,
        "",
        "if (truth(v) && truth(bits(v))) { h.r.b = 1; } else if (truth(v) || truth(3)) { h.r.b = 2; }",
        [3, 2, 0, 0],
    ),
    (Place::Apply, "", "h.r.b = truth(v) ? bits(v) : bits(2);", [3, 4, 0, 0]),
    (Place::Apply, "", "if (member(v) == Se.one) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "h.r.b = member(v); h.r.c = (bit<8>) member(4);", [3, 1, 2, 0]),
    (Place::Apply, "", "h.r.b = (bit<8>) member(v) + 1;", [3, 2, 0, 0]),
    (Place::Apply, "", "if (plain(v) == Pe.two) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (fault(v) == error.NoMatch) { h.r.b = 1; }", [3, 1, 0, 0]),
    (
        Place::Apply,
        "",
        "switch (member(v)) { Se.one: { h.r.b = 1; } Se.two: { h.r.b = 2; } }",
        [3, 1, 0, 0],
    ),
    (
        Place::Apply,
        "",
        "switch (plain(v)) { Pe.one: { h.r.b = 1; } Pe.two: { h.r.b = 2; } }",
        [3, 2, 0, 0],
    ),
    (
        Place::Apply,
        "",
        "switch (fault(v)) { error.NoMatch: { h.r.b = 1; } default: { h.r.b = 2; } }",
        [3, 1, 0, 0],
    ),
    (
        Place::Apply,
        "",
        "switch (bits(v)) { 4: { h.r.b = 1; } default: { h.r.b = 2; } }",
        [3, 1, 0, 0],
    ),
    (Place::Apply, "", "if (head(v) == head(v)) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (head(v) == none()) { h.r.b = 1; } else { h.r.b = 2; }", [3, 2, 0, 0]),
    (Place::Apply, "", "if (record(v) == record(v)) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (record(v) == { 3, 300 }) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (pair(v) == { 3, true }) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (stack(v) == stack(v)) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (array(v) == array(v)) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (union(v) == union(v)) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "h.e = stack(v); h.r.b = h.e[1].v;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.u = union(v); h.r.b = h.u.e.v;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r = head(v);", [3, 2, 3, 4]),
    (Place::Apply, "", "m.n = nested(v); h.r.b = m.n.e.v;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = CS.u + CE.v + CT[1] + CST[1].v;", [3, 11, 0, 0]),
    (Place::Apply, "", "if (CE.isValid()) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (CI.isValid()) { h.r.b = 1; } else { h.r.b = 2; }", [3, 2, 0, 0]),
    (Place::Apply, "", "if (CST[0].isValid()) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "h.r.b = CT[0];", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = CST[w].v;", [3, 2, 0, 0]),
    (Place::Apply, "", "h.r.b = pick(truth(v), bits(v), bits(1));", [3, 4, 0, 0]),
    (Place::Apply, "", "h.r.b = pick(truth(v), 8w5, 6);", [3, 5, 0, 0]),
    (Place::Apply, "", "h.r.b = (R) head(v) == head(v) ? 8w1 : 8w2;", [3, 1, 0, 0]),
    (Place::Apply, "", "h.r.b = ((R) { 1, 2, 3, 4 }).b;", [3, 2, 0, 0]),
    (Place::Apply, "", "if (((R) { 1, 2, 3, 4 }).isValid()) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "h.r.b = ((S) { 1, 2 }).u;", [3, 1, 0, 0]),
    (Place::Apply, "", "h.r.b = ((S) { u = bits(v), v = 2 }).u;", [3, 4, 0, 0]),
    (
        Place::Apply,
        "",
        "if (((Ee) {#}).isValid()) { h.r.b = 1; } else { h.r.b = 2; }",
        [3, 2, 0, 0],
    ),
    (
        Place::Apply,
        "bit<8> f(int n) { return n; }",
        "h.r.b = f(K) + f(K + 1) + f(K);",
        [3, 16, 0, 0],
    ),
    (
        Place::Apply,
        "control Sub(inout bit<8> x)(int n) { apply { if (n > 3 && n + 1 == 5) { x = n; } switch (n) { 4: { x = x + 1; } default: {} } } }@@Sub(4) d;",
        "d.apply(h.r.b);",
        [3, 5, 0, 0],
    ),
    (
        Place::Apply,
        "control Sub(inout bit<8> x)(bit<8> n, bool q) { apply { if (q) { x = n + 1; } } }@@Sub(4, true) d;",
        "d.apply(h.r.b);",
        [3, 5, 0, 0],
    ),
    (
        Place::Apply,
        "control Sub(inout bit<8> x)(S n) { apply { x = n.u; if (n == { 1, 2 }) { x = x + 1; } } }@@Sub({ 1, 2 }) d;",
        "d.apply(h.r.b);",
        [3, 2, 0, 0],
    ),
    (
        Place::Apply,
        "control Sub(inout bit<8> x)(Ee n) { apply { x = n.v; if (n.isValid()) { x = x + 1; } } }@@Sub({ 1 }) d;",
        "d.apply(h.r.b);",
        [3, 2, 0, 0],
    ),
    (
        Place::Apply,
        "control Sub(inout bit<8> x)(Se n, Pe p, error e) { apply { x = n; if (p == Pe.two && e == error.NoMatch) { x = x + 5; } } }@@Sub(Se.two, Pe.two, error.NoMatch) d;",
        "d.apply(h.r.b);",
        [3, 7, 0, 0],
    ),
    (
        Place::Apply,
        "control Sub(inout bit<8> x)(tuple<int, bit<8>> n) { apply { x = n[0] + n[1]; if (n[0] == 1) { x = x + 1; } } }@@Sub({ 1, 2 }) d;",
        "d.apply(h.r.b);",
        [3, 4, 0, 0],
    ),
    (Place::Apply, "", "log_msg(\"{}\", { head(v) });", [3, 0, 0, 0]),
    (Place::Apply, "action act(in bit<8> x, bit<8> y) { }", "act(v, 3); h.r.b = 1;", [3, 1, 0, 0]),
    (Place::Apply, "", "h.r.b = (v == 3 ? head(v) : none()).a;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = (truth(v) ? record(v) : record(4)).u;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = (truth(v) ? CS : record(4)).u;", [3, 1, 0, 0]),
    (Place::Apply, "", "h.r.b = (v == 3 ? stack(v) : h.e)[1].v;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = (v == 3 ? pair(v) : { 4, false })[0];", [3, 3, 0, 0]),
    (Place::Apply, "", "if ((v == 3 ? union(v) : h.u).isValid()) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "S t = v == 3 ? record(v) : CS; h.r.b = t.u;", [3, 3, 0, 0]),
    (
        Place::Apply,
        "",
        "R t = v == 3 ? head(v) : {#}; h.r.b = t.a; if (t.isValid()) { h.r.c = 1; }",
        [3, 3, 1, 0],
    ),
    (
        Place::Apply,
        "",
        "bit<8>[3] t = { v, 2, v }; h.r.b = t[2]; t[1] = 9; h.r.c = t[1];",
        [3, 3, 9, 0],
    ),
    (Place::Apply, "", "tuple<bit<8>, S> t = { v, record(v) }; h.r.b = t[1].u;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = { v, 2 }[0];", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = (bit<8>) (v ++ 8w1)[11:4];", [3, 48, 0, 0]),
    (Place::Apply, "", "h.r.b = (w + 1)[7:0];", [3, 2, 0, 0]),
    (Place::Apply, "", "h.r.b = (-v)[3:0] ++ 4w0;", [3, 208, 0, 0]),
    (Place::Apply, "", "m.i8 = (int<8>) v >> 1; h.r.b = (bit<8>) m.i8;", [3, 1, 0, 0]),
    (Place::Apply, "", "h.r.b = (bit<8>) (bit<1>) truth(v);", [3, 1, 0, 0]),
    (Place::Apply, "", "m.q = (bool) 1w1; if (m.q) { h.r.b = 1; }", [3, 1, 0, 0]),
    (Place::Apply, "", "m.se = (Se) bits(v); h.r.b = m.se;", [3, 4, 0, 0]),
    (Place::Apply, "", "m.se = (Se) 7; h.r.b = (bit<8>) m.se;", [3, 7, 0, 0]),
    (Place::Apply, "", "m.er = fault(v); if (m.er != error.NoError) { h.r.b = 1; }", [3, 1, 0, 0]),
    (
        Place::Apply,
        "",
        "h.r.b = (bit<8>) h.minSizeInBits() + (bit<8>) head(v).maxSizeInBytes();",
        // The union has the size of its larger header.
        [3, 100, 0, 0],
    ),
    (Place::Apply, "", "h.r.b = (bit<8>) Ee.minSizeInBytes();", [3, 1, 0, 0]),
    (
        Place::Apply,
        "",
        "h.e[0] = { v }; h.e[1] = h.e[0]; h.e.push_front(1); h.r.b = h.e[1].v;",
        [3, 3, 0, 0],
    ),
    (
        Place::Apply,
        "",
        "h.e[same(w)].setValid(); h.e[same(w)].v = 9; h.r.b = h.e[1].v;",
        [3, 9, 0, 0],
    ),
    (Place::Apply, "", "h.r = { 1, v, 3, 4 };", [1, 3, 3, 4]),
    (Place::Apply, "", "h.r = (R) { a = 1, b = v, c = 3, d = 4 };", [1, 3, 3, 4]),
    (Place::Apply, "", "h.u.e = { v }; h.r.b = h.u.e.v;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.u.e = CE; h.r.b = h.u.e.v;", [3, 4, 0, 0]),
    (Place::Apply, "", "h.r.setInvalid(); h.r = { ... };", [0, 0, 0, 0]),
    (Place::Apply, "", "m = { ... }; h.r.b = m.s.u + 2;", [3, 2, 0, 0]),
    (Place::Apply, "", "m.s = { u = v, ... }; h.r.b = m.s.u;", [3, 3, 0, 0]),
    (Place::Apply, "", "m.n = { ... }; if (!m.n.e.isValid()) { h.r.b = 2; }", [3, 2, 0, 0]),
    (
        Place::Apply,
        "const S[2] T = { { 1, 2 }, { 3, 4 } };",
        "h.r.b = T[1].u + T[w].u;",
        [3, 6, 0, 0],
    ),
    (
        Place::Apply,
        "const tuple<S, Ee> T = { { 1, 2 }, { 3 } };",
        "h.r.b = T[0].u + T[1].v;",
        [3, 4, 0, 0],
    ),
    (Place::Apply, "const list<S> T = { { 1, 2 }, { 3, 4 } };", "h.r.b = 1;", [3, 1, 0, 0]),
    (
        Place::Apply,
        "const N T = { { 1, 2 }, { 3 }, { { 4 }, { 5 } }, { 6, true } };",
        "h.r.b = T.s.u + T.e.v + T.st[1].v + T.t[0];",
        [3, 15, 0, 0],
    ),
    (Place::Apply, "", "for (bit<8> i in 1 .. 3) { h.r.b = h.r.b + i; }", [3, 6, 0, 0]),
    (Place::Apply, "", "for (bit<8> i in 1 .. v) { h.r.b = h.r.b + i; }", [3, 6, 0, 0]),
    (
        Place::Apply,
        "",
        "for (Ee x in stack(v)) { if (x.isValid()) { h.r.b = x.v; } }",
        [3, 3, 0, 0],
    ),
    (Place::Apply, "", "for (bit<8> x in array(v)) { h.r.b = h.r.b + x; }", [3, 7, 0, 0]),
    (
        Place::Apply,
        "",
        "for (bit<8> x in (list<bit<8>>) { 1, 2, 3 }) { h.r.b = h.r.b + x; }",
        [3, 6, 0, 0],
    ),
    (
        Place::Apply,
        "",
        "for (bit<8> i = 0, bit<8> j = 5; i < j; i = i + 1, j = j - 1) { h.r.b = i; }",
        [3, 2, 0, 0],
    ),
    (
        Place::Apply,
        "void f(in S s, inout bit<8> x) { x = s.u; }",
        "f({ v, 2 }, h.r.b);",
        [3, 3, 0, 0],
    ),
    (Place::Apply, "void f(in S s, inout bit<8> x) { x = s.u; }", "f(CS, h.r.b);", [3, 1, 0, 0]),
    (
        Place::Apply,
        "void f(in R s, inout bit<8> x) { if (s.isValid()) { x = s.a; } }",
        "f({#}, h.r.b);",
        [3, 0, 0, 0],
    ),
    (
        Place::Apply,
        "void f(in Ee[2] s, inout bit<8> x) { x = s[1].v; }",
        "f(CST, h.r.b);",
        [3, 2, 0, 0],
    ),
    (
        Place::Apply,
        "void f(in tuple<bit<8>, bool> s, inout bit<8> x) { x = s[0]; }",
        "f({ v, true }, h.r.b);",
        [3, 3, 0, 0],
    ),
    (
        Place::Apply,
        "void f(in error e, inout bit<8> x) { if (e == error.NoMatch) { x = 1; } }",
        "f(error.NoMatch, h.r.b);",
        [3, 1, 0, 0],
    ),
    (
        Place::Apply,
        "void f(in Pe e, inout bit<8> x) { if (e == Pe.two) { x = 1; } }",
        "f(Pe.two, h.r.b);",
        [3, 1, 0, 0],
    ),
    (Place::Apply, "void f(in Se e, inout bit<8> x) { x = e; }", "f(Se.two, h.r.b);", [3, 2, 0, 0]),
    (
        Place::Apply,
        "void f(in bool e, inout bit<8> x) { x = (bit<8>) (bit<1>) e; }",
        "f(K > 3, h.r.b);",
        [3, 1, 0, 0],
    ),
    (
        Place::Apply,
        "void f<T>(in T e, inout bit<8> x) { x = 1; }",
        "f(CT[1], h.r.b); f(Pe.one, h.r.b); f(record(v), h.r.b); f({ v, true }, h.r.b);",
        [3, 1, 0, 0],
    ),
    (
        Place::Apply,
        "void f<T>(in T e, inout bit<8> x) { T t = e; if (t == e) { x = 1; } }",
        "f(stack(v), h.r.b);",
        [3, 1, 0, 0],
    ),
    (Place::Key, "", "stack(h.r.a)[1].isValid(): exact @name(\"k\")", [3, 2, 0, 0]),
    (Place::Key, "", "head(h.r.a).a: exact @name(\"k\")", [3, 2, 0, 0]),
    (Place::Key, "", "(bit<8>) (int) h.r.a: exact @name(\"k\")", [3, 2, 0, 0]),
    (Place::Key, "", "record(h.r.a).u: ternary @name(\"k\")", [3, 2, 0, 0]),
    (Place::Key, "", "pair(h.r.a)[1]: exact @name(\"k\")", [3, 2, 0, 0]),
    (Place::Key, "", "plain(h.r.a): exact @name(\"k\")", [3, 2, 0, 0]),
    (Place::Key, "", "fault(h.r.a): exact @name(\"k\")", [3, 2, 0, 0]),
    (Place::Key, "", "h.r.a == 3: exact @name(\"k\")", [3, 2, 0, 0]),
    (Place::Key, "", "CE.isValid(): exact @name(\"k\")", [3, 2, 0, 0]),
    (Place::Key, "", "h.r.a ++ 8w1: lpm @name(\"k\")", [3, 2, 0, 0]),
    (
        Place::Key,
        "",
        "h.r.a[3:0]: exact; h.e[1].v: optional; bits(h.r.a): range @name(\"l\")",
        [3, 2, 0, 0],
    ),
    (Place::Action, "", "hit(bits(v), h.r.b)", [3, 4, 0, 0]),
    (Place::Action, "", "hit(head(v).a, h.r.b)", [3, 3, 0, 0]),
    (Place::Action, "", "hit(stack(v)[1].v, h.r.b)", [3, 3, 0, 0]),
    (Place::Action, "", "hit(K, h.r.b)", [3, 5, 0, 0]),
    (Place::Action, "", "hit(y = h.r.b, x = record(v).u)", [3, 3, 0, 0]),
    (Place::Action, "", "hit(truth(v) ? 8w4 : 5, h.r.b)", [3, 4, 0, 0]),
    (Place::Action, "", "hit((bit<8>) (int) v, h.r.b)", [3, 3, 0, 0]),
    (Place::Select, "", "v) { 3: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "bits(v)) { 4: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "head(v).a) { 3: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "head(v).isValid()) { true: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "stack(v)[1].isValid()) { true: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "stack(v)[w].v) { 3: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "truth(v), v) { (true, 3): hit;", [3, 3, 0, 0]),
    (Place::Select, "", "member(v)) { Se.one: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "plain(v)) { Pe.two: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "record(v).v) { 300: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "pair(v)[1]) { true: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "union(v).isValid()) { true: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "CE.isValid()) { true: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "v) { 1 .. K: hit;", [3, 3, 0, 0]),
    (Place::Select, "", "v) { K - 2 &&& 0xff: hit;", [3, 3, 0, 0]),
    (
        Place::Select,
        "bit<8> f(int n, in bit<8> x) { if (n > 2) { return x; } return 0; }",
        "f(3, v)) { 3: hit;",
        [3, 3, 0, 0],
    ),
    (Place::State, "", "if (head(v).isValid()) { h.r.b = 1; }", [3, 3, 0, 0]),
    (Place::State, "", "b.advance((bit<32>) stack(v)[1].v - 3);", [3, 2, 0, 0]),
    (Place::State, "", "verify(head(v).isValid() && K > 3, error.NoMatch);", [3, 2, 0, 0]),
    (Place::State, "", "verify(!stack(v)[0].isValid(), fault(v));", [3, 2, 0, 0]),
    (Place::State, "", "h.e.next.setValid(); h.e.next.v = v; h.r.b = h.e.last.v;", [3, 2, 0, 0]),
    (Place::State, "", "h.r.b = (bit<8>) b.lookahead<bit<8>>();", [3, 7, 0, 0]),
    (Place::State, "", "h.r.b = b.lookahead<Ee>().v;", [3, 7, 0, 0]),
    (Place::State, "", "if (b.lookahead<Ee>().isValid()) { h.r.b = 3; }", [3, 5, 0, 0]),
    (Place::State, "", "h.r.b = b.lookahead<tuple<bit<4>, bit<4>>>()[0] ++ 4w1;", [3, 3, 0, 0]),
    (Place::State, "", "h.r.b = (bit<8>) b.length();", [3, 8, 0, 0]),
    (
        Place::Apply,
        "",
        "bit<8> x; hash(x, HashAlgorithm.crc16, 8w0, { v, head(v).a }, 8w255); h.r.b = 1;",
        [3, 1, 0, 0],
    ),
    (
        Place::Apply,
        "",
        "bit<8> x; hash(x, HashAlgorithm.crc16, 8w0, { v, head(v) }, 8w255); h.r.b = 1;",
        [3, 1, 0, 0],
    ),
    (Place::Apply, "", "bit<8> x; random(x, 3, 3); h.r.b = x;", [3, 3, 0, 0]),
    (Place::Apply, "", "random(h.r.b, bits(2), head(v).a);", [3, 3, 0, 0]),
    (Place::Apply, "", "digest<S>(1, record(v));", [3, 0, 0, 0]),
    (Place::Apply, "", "digest<S>(1, { v, 2 });", [3, 0, 0, 0]),
    (Place::Apply, "", "digest<tuple<bit<8>, bit<8>>>(1, { v, 2 });", [3, 0, 0, 0]),
    (Place::Apply, "", "digest(1, { v, bits(v) });", [3, 0, 0, 0]),
    (Place::Apply, "", "assert(head(v).isValid()); assume(K > 3);", [3, 0, 0, 0]),
    (Place::Apply, "", "log_msg(\"{}\", { head(v).a });", [3, 0, 0, 0]),
    (Place::Apply, "", "truncate((bit<32>) K);", [3, 0, 0, 0]),
    (Place::Apply, "", "clone(CloneType.I2E, (bit<32>) K); h.r.b = 1;", [3, 1, 0, 0]),
    (Place::Apply, "", "exit;", [3, 0, 0, 0]),
    (Place::Apply, "", "return;", [3, 0, 0, 0]),
    (Place::Apply, "", "if (K > 3) { h.r.b = 1; } else { h.r.b = 2; }", [3, 1, 0, 0]),
    (Place::Apply, "", "if (K < 3) { return; }", [3, 0, 0, 0]),
    (Place::Apply, "", "h.r.b = K > 3 ? head(v).a : 9;", [3, 3, 0, 0]),
    (Place::Apply, "", "h.r.b = (K > 3 && truth(v)) ? 8w1 : 2;", [3, 1, 0, 0]),
    (Place::Apply, "", "bool q = K > 3 || truth(v); if (q) { h.r.b = 1; }", [3, 1, 0, 0]),
];

const REFUSED: [Refused; 40] = [
    (
        Place::Apply,
        "bit<8> f(int n) { bit<8> r = 0; for (int i in 1 .. 3) { r = r + 1; } return r; }",
        "h.r.b = f(3);",
        "type-not-allowed",
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bool q) { return q ? n : 2; }",
        "h.r.b = f(3, true);",
        "no-width",
    ),
    (
        Place::Apply,
        "bit<8> f(int n, in bool q) { return (bit<8>) (q ? n : 2); }",
        "h.r.b = f(3, true);",
        "no-width",
    ),
    (Place::Apply, "", "h.r.b = (bit<8>) ((int) v + 1);", "not-constant"),
    (Place::Apply, "", "bit<8> x = (int) v + 1; h.r.b = x;", "not-constant"),
    (Place::Apply, "", "if ((int) v == 3) { h.r.b = 1; }", "not-constant"),
    (Place::Apply, "", "if ((int) v < 5) { h.r.b = 1; }", "not-constant"),
    (Place::Apply, "", "h.r.b = (bit<8>) (-(int) v);", "not-constant"),
    (Place::Apply, "", "h.r.b = ((int) v)[7:0];", "not-constant"),
    (Place::Apply, "", "h.r.b = v << (int) v;", "not-constant"),
    (Place::Apply, "", "h.r.b = (bit<8>) ((int) Se.two + 1);", "bad-cast"),
    (Place::Apply, "", "h.r.b = (bit<8>) ((int) m.se + 1);", "bad-cast"),
    (
        Place::Apply,
        "",
        "switch ((int) v) { 3: { h.r.b = 1; } default: { h.r.b = 2; } }",
        "not-constant",
    ),
    (Place::Apply, "", "h.r.b = (bit<8>) stack(v).lastIndex;", "misplaced"),
    (Place::Apply, "", "h.r.b = ((tuple<bit<8>, bit<8>>) { bits(v), 2 })[0];", "bad-cast"),
    (Place::Apply, "bit<8> f(int n) { return n; }", "h.r.b = f((int) v);", "not-constant"),
    (
        Place::Apply,
        "control Sub(inout bit<8> x, int n) { apply { x = n; } }@@Sub() d;",
        "d.apply(h.r.b, 4);",
        "type-not-allowed",
    ),
    (
        Place::Apply,
        "control Sub(inout bit<8> x, int n) { apply { if (n > 3) { x = n; } } }@@Sub() d;",
        "d.apply(h.r.b, 4);",
        "type-not-allowed",
    ),
    (
        Place::Apply,
        "control Sub(inout bit<8> x)(list<bit<8>> n) { apply { x = n[1]; } }@@Sub({ 1, 2 }) d;",
        "d.apply(h.r.b);",
        "type-mismatch",
    ),
    (
        Place::Apply,
        "tuple<int, bit<8>> f() { return { 1, 2 }; }",
        "h.r.b = f()[1];",
        "type-not-allowed",
    ),
    (
        Place::Apply,
        "tuple<int, bit<8>> f(int n) { return { n, 2 }; }",
        "h.r.b = f(3)[0];",
        "type-not-allowed",
    ),
    (Place::Apply, "int f(int n) { return n; }", "h.r.b = f(3);", "type-not-allowed"),
    (
        Place::Apply,
        "int f(int n) { return n + 1; }",
        "if (f(3) == 4) { h.r.b = 1; }",
        "type-not-allowed",
    ),
    (Place::Apply, "string f(string n) { return n; }", "log_msg(f(\"x\"));", "not-constant"),
    (Place::Apply, "", "log_msg(\"{} {}\", { v, K });", "no-width"),
    (Place::Apply, "const bit<8> X = same(8w3);", "h.r.b = X;", "not-constant"),
    (
        Place::Apply,
        "",
        "bit<8>[3] t = array(v); if (t == { 1, 3, 3 }) { h.r.b = 1; }",
        "bad-operand",
    ),
    (
        Place::Apply,
        "",
        "h.r.b[3:0] = bits(v)[3:0]; h.r.b[7:4] = 4w2 + (bit<4>) truth(v);",
        "bad-cast",
    ),
    (
        Place::Apply,
        "const bool T = K > 3 && CE.isValid();",
        "if (T) { h.r.b = 1; }",
        "not-constant",
    ),
    (Place::Key, "", "(int) h.r.a: exact @name(\"k\")", "type-mismatch"),
    (Place::Key, "", "K: exact @name(\"k\")", "type-mismatch"),
    (Place::Action, "", "hit((int) v + 1, h.r.b)", "not-constant"),
    (Place::Select, "", "(int) v) { 3: hit;", "type-mismatch"),
    (Place::Select, "", "(int) v + 1) { 4: hit;", "type-mismatch"),
    (Place::Select, "", "K) { 5: hit;", "type-mismatch"),
    (Place::Select, "", "K + 1, v) { (6, _): hit;", "type-mismatch"),
    (Place::Select, "", "{ v, K }) { { 3, 5 }: hit;", "type-mismatch"),
    (Place::Select, "", "v, K) { (3, 5): hit;", "type-mismatch"),
    (Place::Select, "", "fault(v)) { error.NoMatch: hit;", "type-mismatch"),
    (
        Place::Apply,
        "",
        "bit<8> x; hash(x, HashAlgorithm.crc16, K, { v }, 9w256); h.r.b = 1;",
        "no-width",
    ),
];

fn program(place: Place, declarations: &str, text: &str) -> String {
    let (declarations, locals) = declarations.split_once("@@").unwrap_or((declarations, ""));
    let mut locals = locals.to_owned();
    let mut states =
        "state start { b.extract(h.r); m.kind = b.lookahead<bit<8>>(); transition accept; }"
            .to_owned();
    let mut statements = "h.r.b = h.r.b + 2;".to_owned();
    let start = "state start { b.extract(h.r); bit<8> v = h.r.a; bit<32> w = 1;";
    match place {
        Place::Apply => statements = format!("bit<8> v = h.r.a; bit<32> w = 1; {text}"),
        Place::Key => {
            locals += &format!(
                "action hit() {{ h.r.b = 1; }}
                table t {{ key = {{ {text}; }} actions = {{ hit; NoAction; }} default_action = NoAction(); }}"
            );
            statements.insert_str(0, "t.apply(); ");
        }
        Place::Action => {
            locals += &format!(
                "bit<8> v = 3; action hit(in bit<8> x, inout bit<8> y) {{ y = x; }}
                table t {{ actions = {{ {text}; }} default_action = {text}; }}"
            );
            statements = "t.apply();".to_owned();
        }
        Place::Select => {
            states = format!(
                "{start} transition select({text} default: accept; }} }}
                state hit {{ h.r.b = 1; transition accept; }}"
            );
        }
        Place::State => states = format!("{start} {text} transition accept; }}"),
    }
    V1model {
        declarations: &format!("{DECLARATIONS} {declarations}"),
        parser: &states,
        ingress: &format!("{locals} apply {{ s.egress_spec = 1; {statements} }}"),
        deparser: "apply { b.emit(h.r); }",
        ..V1model::default()
    }
    .text()
}

/// Compiles a program and runs a packet for each case. The fifth byte of the packet, which counts
/// from 5, selects the case.
fn runs(source: &str, cases: &[&Runs]) {
    let compiled = p4lang::compile_text("t.p4", source, &Options::default(), &MemoryFiles::new());
    let messages = compiled.messages(Style::Plain);
    let program = compiled.program.unwrap_or_else(|| panic!("{messages}\n{source}"));
    let mut both = Both::new(&program);
    for (number, (place, declarations, text, expected)) in (5..).zip(cases) {
        let context = format!("{place:?}: {declarations} {text}");
        let packet = vec![3, 0, 0, 0, number, 0x21];
        let outputs = both.packet(0, &packet).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(outputs[0].packet.get(..4), Some(&expected[..]), "{context}");
        assert_eq!(both.batch(&[(0, packet.clone()), (0, packet)]), 2, "{context}");
    }
}

#[test]
fn a_program_that_is_accepted_runs() {
    // Cases without declarations share a program, which is faster. Each of them runs for its own
    // packets.
    let (alone, together): (Vec<&Runs>, Vec<&Runs>) =
        RUNS.iter().partition(|(place, declarations, ..)| {
            !matches!(place, Place::Apply) || !declarations.is_empty()
        });
    for case in &alone {
        let (place, declarations, text, _) = case;
        runs(&program(*place, declarations, text), &[*case]);
    }
    for cases in together.chunks(25) {
        let statements: Vec<String> = (5..)
            .zip(cases)
            .map(|(number, (.., text, _))| format!("if (m.kind == {number}) {{ {text} }} else"))
            .collect();
        runs(&program(Place::Apply, "", &format!("{} {{ }}", statements.join(" "))), cases);
    }
    assert!(alone.len() > 80 && together.len() > 120, "{} {}", alone.len(), together.len());
}

#[test]
fn a_program_that_cannot_run_is_refused_with_its_place() {
    for (place, declarations, text, kind) in REFUSED {
        let source = program(place, declarations, text);
        let compiled =
            p4lang::compile_text("t.p4", &source, &Options::default(), &MemoryFiles::new());
        let messages = compiled.messages(Style::Plain);
        assert!(compiled.program.is_none(), "{place:?}: {declarations} {text}");
        let first = messages.lines().find(|line| line.contains("error[")).expect("an error");
        assert!(first.contains(&format!("error[{kind}]")), "{place:?}: {text}\n{messages}");
        let line = first.split(':').nth(1).and_then(|line| line.parse::<usize>().ok());
        assert!(line.is_some_and(|line| line > 3), "{place:?}: {text}\n{messages}");
    }
}
