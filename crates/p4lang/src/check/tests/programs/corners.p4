#include <core.p4>
#include <v1model.p4>
header H { bit<8> a; bit<16> b; } header G { bit<32> x; int<32> y; }
header_union U { H h; G g; }
typedef H[3] HS; typedef U[2] US;
enum Suits { A, B, C }
struct list_like { bit<8> a; bit<8> b; }
enum bit<8> E { X = 1, Y = 2 }
struct In { bit<8> p; tuple<bit<8>, tuple<bool, bit<4>>> t; }
struct HD { H h; HS hs; US us; U u; G g; }
struct M { In i; bit<32> v; bool f; bit<1> o; error e; Suits s; bit<8>  idx; H loc; list_like ll; }

const Suits cs = Suits.B; const error ce = error.NoMatch; const H ch = { 1, 2 }; const H ci = {#}; const In cin = { 1, { 2, { true, 3 } } };
const bit<8> deep = cin.t[0] + (bit<8>) cin.t[1][1]; const bool eq = ch == { 1, 2 }; const bit<8> fromh = ch.a;
const tuple<bit<8>, bit<8>> tt = { 1, ... }; const bool ne = Suits.A != Suits.B; const int i1 = 5 / 2 + 7 % 3 - (1 << 3) | 4 & 6 ^ 1;
const bit<8> ter = (3 > 2 && !false) ? 8w1 : 2; const int<8> neg = -(8s5); const bit<16> cat = 8w1 ++ E.X; const bit<8> en = (bit<8>) E.Y; const E en2 = (E) 8w2;
bit<8> first(in HD h) { return h.hs[0].a; } In mk(in bit<8> x) { return { x, { x, { true, 1 } } }; } list_like both(in bit<8> x) { return { b = x, a = 1 }; }
bit<8> nested(in bit<8> x) { if (x == 0) { return 0; } else { bit<8> y = x; { y = y + 1; } return y; } }
void outs(out list_like l, inout H h, in M m) { l = both(m.idx); h.a = l.a; }
T pick<T>(in bool c, in T a, in T b) { if (c) return a; return b; }
action top_action(inout bit<8> x, in bit<8> y) { x = y; }
parser P(packet_in pk, out HD hdr, inout M m, inout standard_metadata_t sm) {
  bit<8> n = 3; H tmp; bit<32> len = pk.length(); const bit<8> k = 2; value_set<bit<8>>(2) vs;
  state start { pk.extract(tmp); hdr.h = tmp; n = n + k; pk.extract(hdr.us.next.h); pk.extract(hdr.us[1].g); m.i = mk(n); m.idx = first(hdr);
    H look = pk.lookahead<H>(); bit<8> b8 = pk.lookahead<bit<8>>(); tuple<bit<4>, bit<4>> t2 = pk.lookahead<tuple<bit<4>, bit<4>>>();
    transition select(m.i.t[1][1], (bit<1>) m.f, hdr.us.lastIndex, n[3:0]) { (1, 0, 0, 1): loop; (_, 1, 0..5, 4w3 &&& 4w1): accept; default: fin; } }
  state loop { pk.extract(hdr.hs.next); transition select(hdr.hs.last.b ++ hdr.hs.last.a) { 0x0 &&& 0xff: loop; 24w7: fin; default: reject; } }
  state fin { if (hdr.hs[0].isValid()) { n = 0; } else if (n == 1) { n = 2; } transition accept; }
}
control Sub(inout bit<8> x, out bit<8> y)(bit<8> k, Suits s) { bit<8> w = x; const bit<8> kk = k + 1; apply { y = w + kk; if (s == Suits.A) { y = 0; } x = y; } }
control I(inout HD hdr, inout M m, inout standard_metadata_t sm) {
  bit<8> init = hdr.h.a + 1; list_like ll; Sub(3, Suits.B) s1; Sub(k = 4, s = cs) s2; @name("my.reg") register<bit<8>>(16) r;
  action act(bit<8> d, bool fl) { m.f = fl; init = d; ll.a = d; r.write((bit<32>) d, init); if (fl) { return; } top_action(init, d); }
  action both_dirs(in bit<8> a, inout H h, out bit<8> o, bit<8> cp) { o = a + cp; h.a = o; }
  table t { key = { hdr.h.isValid() ? 1w1 : 1w0 : exact @name("v"); m.s: exact; m.e: exact; m.i.t[0]: ternary @name("tt"); hdr.hs[1].a: exact; init: exact; ll.b & 3: ternary; }
    actions = { act; both_dirs(init, hdr.h, ll.b); NoAction; } default_action = both_dirs(init, hdr.h, ll.b, 7);
    const entries = { (1, Suits.A, error.NoMatch, 1 &&& 3, 0, 8w5, 2): act(1, true); (0, cs, ce, _, 1, E.X, _): both_dirs(init, hdr.h, ll.b, 3); } }
  apply {
    bit<8> a; bit<8> b = 1; H h2; list_like l2 = { 1, 2 }; In i2 = cin; tuple<bit<8>, bool> tup = { b, true }; bit<8> z = mk(3).p; z = both(z).a + mk(z).t[0];
    s1.apply(b, a); s2.apply(x = a, y = b); outs(ll, h2, m); a = pick(m.f, a, b); l2 = pick(true, ll, { 1, 2 } == ll ? ll : l2); h2 = pick(m.f, hdr.h, h2);
    if (t.apply().hit && a == 1 || !(b > 2)) { a = tup[0]; tup = { 3, false }; } both_dirs(a, hdr.h, b, 3); act(d = 1, fl = false);
    hdr.hs[m.idx].a = 1; hdr.hs[a].setInvalid(); a = hdr.hs[hdr.h.a].a; if (hdr.hs[m.idx].isValid() == true) { hdr.u.g.y = -5; }
    m.v = (bit<32>) hdr.g.y; hdr.g.y = (int<32>) m.v; m.v[7:0] = a; m.v[15:8] = m.v[7:0]; a[3:0] = a[7:4]; m.v = m.v << a | 1; m.v = (m.v & 0xff) << 2 ^ ~m.v; m.o = (bit<1>) (a == b);
    m.v = 32w5 |-| m.v; hdr.g.y = hdr.g.y >> 2; m.v = (bit<32>)(bit<8>) m.v; m.f = (bool) m.o; m.f = m.o == 1 ? true : m.f; hdr.h = { 5, 6 }; hdr.h = { b = 1, a = 2 }; hdr.h = ch; hdr.u.h = {#};
    i2 = { t = { 1, { false, 2 } }, p = 3 }; i2.t = { 1, { true, 2 } }; i2.t[1] = { true, 5 }; a = i2.t[1][1] ++ 4w0; m.e = error.NoError; m.s = Suits.C;
    random(a, 0, 9); hash(a, HashAlgorithm.identity, 8w0, { hdr.h, m.i.p, 3w1 }, 8w4); top_action(a, a + 1); m.v = hdr.hs.size + 1; a = (bit<8>) hdr.hs.size;
    ; {} { ; } if (m.f) ; else { } switch (a) { 0: 1: { a = 2; } E.Y: { a = 4; } default: { a = 3; } } for (int<8> q = 0; q < 3; q = q + 1) { a = a + 1; } for (bit<8> q in 0 .. 3) { a += q; }
    const bit<8> local = 5; const tuple<bit<8>, bit<8>> lt = { local, 2 }; a = lt[0]; const Suits ss = Suits.A; if (m.s == ss) { exit; } return;
  }
}
control V(inout HD hdr, inout M m) { apply { } }
control E2(inout HD hdr, inout M m, inout standard_metadata_t sm) { apply { } }
control D(packet_out pk, in HD hdr) { apply { pk.emit({ hdr.h, hdr.hs }); pk.emit(hdr.hs[0]); pk.emit(hdr.us); } }
V1Switch<HD, M>(p = P(), vr = V(), ig = I(), eg = E2(), ck = V(), dep = D()) main;
