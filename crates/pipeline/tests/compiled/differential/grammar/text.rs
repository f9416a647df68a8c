//! The text that all generated programs have, and the fields that they may use.

/// The transitions of the first state, and the other states.
pub(super) const ALL_STATES: [&str; 2] = [
    "(0, _): accept; (1, 0 .. 9): stack; (1, _): options; (2 &&& 0xe, _): either; (4, _): wide; (5, _): ahead;
            (_, 7): reject; (6, _): values; (7, _): skip; default: accept;",
    "state values { transition select(h.a.c) { known: wide; _: stack; } }
    state wide { b.extract(h.w); transition select(h.w.a) { 0: accept; 1 .. 77: options; _: either; } }
    state either { transition select(h.a.l) { 1: one; 2: two; default: accept; } }
    state one { b.extract(h.u.a); transition accept; }
    state two { b.extract(h.u.b); transition accept; }
    state ahead { m.w = b.lookahead<bit<128>>(); h.w = b.lookahead<W>(); m.k = (bit<32>) b.lookahead<bit<13>>();
        transition accept; }",
];

pub(super) const PLAIN_STATES: [&str; 2] = [
    "(0, _): accept; (1, 0 .. 9): stack; (1, _): options; (4, _): wide; (5, _): ahead; (_, 7): reject; (7, _): skip;
            default: accept;",
    "state wide { b.extract(h.w); transition select(h.w.p) { 0: accept; 1 .. 77: options; _: stack; } }
    state ahead { h.w = b.lookahead<W>(); m.k = (bit<32>) b.lookahead<bit<13>>(); transition accept; }",
];

pub(super) const SIMPLE_STATES: [&str; 2] = [
    "(0, _): accept; (1, _): options; (4, _): wide; (_, 7): reject; (7, _): kept; default: accept;",
    "state wide { b.extract(h.w); transition select(h.w.p) { 0: accept; 1 .. 77: options; default: kept; } }
    state kept { b.extract(h.kept); transition accept; }",
];

pub(super) const FIXED_STATES: [&str; 2] = [
    "(0, _): accept; (4, _): wide; (_, 7): reject; (7, _): kept; default: accept;",
    "state wide { b.extract(h.w); transition accept; }
    state kept { b.extract(h.kept); transition accept; }",
];

pub(super) const DECLARATIONS: &str = "header A { bit<4> v; bit<4> l; int<8> s; bit<16> c; bit<48> d; bit<64> q; }
header W { bit<128> a; bit<96> b; bit<7> x; bit<65> y; int<72> z; bit<8> p; }
header O { bit<8> n; varbit<64> o; }
header One { bit<8> a; }
header Two { bit<16> b; }
header_union U { One a; Two b; }
header S { bit<8> t; bit<8> w; }
struct N { bit<24> i; bool j; }
struct H { A a; W w; O o; U u; S[3] s; A kept; W wide; O other; }
struct M { bit<9> x; int<16> y; bool z; bit<64> q; bit<128> w; @field_list(1) bit<32> k; @field_list(1, 2) N n;
    bit<80> v; bit<8> color; bit<16> csum;
    @field_list(0, 1, 2) bit<2> rounds; }
struct Message { bit<48> d; bit<128> w; S s; bit<9> x; }
bit<16> mixed(in bit<16> a, inout bit<128> b, out bit<9> c) {
    b = b + 1; c = (bit<9>) a; if (a == 3) { return 7; } b[40:30] = 11w5; return a * 3; }
W widened(in W w, in bit<7> x) { W made = w; made.setValid(); made.x = x; return made; }
control Inner(inout S s, inout bit<128> w, out bit<8> t) {
    action bump(inout bit<128> y, in bit<8> by) { y = y + (bit<128>) by; if (y[0:0] == 1) { exit; } }
    apply { if (s.t == 3) { t = 1; return; } bump(w, s.w); t = s.t ++ 1w1 == 9w7 ? 8w1 : 8w2; } }
";

pub(super) const EMITS: &str = "b.emit(h.a); b.emit(h.w); b.emit(h.o); b.emit(h.u); b.emit(h.s); b.emit(h.kept); b.emit(h.wide);
    b.emit(h.other);";

pub(super) const SIMPLE_EMITS: &str = "b.emit(h.a); b.emit(h.w); b.emit(h.o); b.emit(h.kept);";

/// The fields of simple programs.
pub(super) const SIMPLE_FIELDS: [(&str, u32, bool); 14] = [
    ("h.a.v", 4, false),
    ("h.a.l", 4, false),
    ("h.a.s", 8, true),
    ("h.a.c", 16, false),
    ("h.a.d", 48, false),
    ("h.a.q", 64, false),
    ("h.w.x", 7, false),
    ("h.w.p", 8, false),
    ("h.kept.q", 64, false),
    ("m.x", 9, false),
    ("m.y", 16, true),
    ("m.q", 64, false),
    ("m.k", 32, false),
    ("m.color", 8, false),
];

/// The position in [`SIMPLE_FIELDS`] of the first field that is not in a header.
pub(super) const FIRST_OF_METADATA: u32 = 9;

/// The names, widths and signs of the fields that all blocks can read and write.
pub(super) const FIELDS: [(&str, u32, bool); 29] = [
    ("h.a.v", 4, false),
    ("h.a.l", 4, false),
    ("h.a.s", 8, true),
    ("h.a.c", 16, false),
    ("h.a.d", 48, false),
    ("h.a.q", 64, false),
    ("h.w.a", 128, false),
    ("h.w.b", 96, false),
    ("h.w.x", 7, false),
    ("h.w.y", 65, false),
    ("h.w.z", 72, true),
    ("h.w.p", 8, false),
    ("h.o.n", 8, false),
    ("h.u.a.a", 8, false),
    ("h.u.b.b", 16, false),
    ("h.s[0].t", 8, false),
    ("h.s[1].w", 8, false),
    ("h.s[2].t", 8, false),
    ("h.kept.q", 64, false),
    ("h.wide.y", 65, false),
    ("m.x", 9, false),
    ("m.y", 16, true),
    ("m.q", 64, false),
    ("m.w", 128, false),
    ("m.k", 32, false),
    ("m.n.i", 24, false),
    ("m.v", 80, false),
    ("m.color", 8, false),
    ("m.csum", 16, false),
];
