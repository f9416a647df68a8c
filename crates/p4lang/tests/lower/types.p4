#include <core.p4>
match_kind { fancy }
enum Col { r, g, b }
enum int<8> Sgn { neg = -1, pos = 1 }
typedef bit<8> B8;
type bit<8> N8;
type N8 N8b;
header H { bit<8> a; varbit<16> v; bit<8> b; }
header H2 { bit<8> a; int<8> s; N8 n; Sgn e; }
header_union U { H2 x; H2 y; }
struct In { H2 h; bit<8> k; }
struct S { In i; H hv; U[2] us; tuple<bit<8>, tuple<bit<4>, bool>> t; Col c; error e; N8b nn; }
struct GG<T, R> { T a; R b; }
struct PP<T, R> { T a; R b; }
extern Ext<T> { Ext(T v, @optional bit<8> w); T m(in T x, @optional in bit<8> y); void n<R>(out R r); void o(inout T t); }
extern void ef<T>(in T t, out bit<8> o);
extern bit<8> eg(in bit<8> x = 4);
const tuple<bit<8>, bool> CT = { 3, true };
const Col CC = Col.b;
const error CE = error.NoMatch;
In mk(in bit<8> v) { return { {v, 8s1, (N8) 3, Sgn.neg}, v }; }
tuple<bit<8>, bit<8>> two(in bit<8> v) { return { v, v + 1 }; }
void nothing(in bit<8> v) { }
H2 hdr(in bit<8> v) { H2 h; h.setValid(); h.a = v; return h; }
parser q(packet_in b, inout S s)(bit<8> lim) { value_set<tuple<bit<8>, bit<8>>>(2) vs; Ext<bit<8>>(8w1) ex;
  state start { if (s.i.k == lim) { s.i.k = ex.m(s.i.k); } else { s.i.k = 1; } 
    { bit<8> z = 3; s.i.k = z; }
    b.extract(s.us.next.x); transition select(s.i.k, s.us.last.x.a) { vs : accept; ({1,2}) : reject; (_, 3 &&& 3) : start; } } }
parser p(packet_in b, out S s) { q(3) q1; q(4) q2;
   state start { q1.apply(b, s); b.extract(s.hv, 32w8); q2.apply(b, s); transition select(b.lookahead<H2>().a) { default : nxt; } }
   state nxt { bit<16> l = (bit<16>) b.length(); b.advance((bit<32>) l); transition accept; } }
control inner(inout bit<8> x);
control one(inout bit<8> x)(bit<8> v) { apply { x = v; } }
control outer(inout bit<8> x)(inner i) { apply { i.apply(x); } }
control c(inout S s) {
  Ext<bit<8>>(1, 2) e1;
  Ext<bit<16>>(w = 3, v = 4) e2;
  outer(one(5)) o;
  bit<8> loc = 3;
  action a0() {}
  action a1(in bit<8> x, out bit<8> y, N8 z, Col col, error er, bool bb, In st) { y = x + (bit<8>) z; s.c = col; }
  table empty { actions = { a0; } }
  table noact { key = { s.c : exact; s.e : exact; s.i.h.e : exact; s.i.h.isValid() : exact; s.nn : exact; } actions = { a0; } const default_action = a0; }
  table args { key = { s.i.k : fancy @name("kk"); s.t[0] : exact @name("t0"); s.us[1].x.a : exact; (s.i.k == 1) : exact @name("bb"); } actions = { a1(loc, s.i.k); a0; }
     default_action = a1(loc, s.i.k, (N8) 3, Col.g, error.NoMatch, true, { { 1, 2, (N8) 3, Sgn.pos }, 4 }); prop = 3; str = "x"; }
  apply {
    s.i = mk(3);
    s.i.k = mk(4).k;
    s.i.h.a = two(5)[1];
    s.t = { 3, { 4, false } };
    s.t[1] = { 5, true };
    s.i.k = (bit<8>) s.t[1][0];
    if (s.t[1][1]) { nothing(3); }
    bool eq = s.t == { 3, { 4, false } };
    tuple<bit<8>, bool> ct = CT;
    s.i.k = CT[0];
    s.c = CC; s.e = CE;
    if (s.c != Col.r && s.e == error.NoMatch) { s.i.h = hdr(3); }
    GG<bit<8>, PP<bool, H2>> gg = { 3, { true, { 1, 2, (N8) 3, Sgn.neg } } };
    gg.b.b = s.i.h;
    gg = { b = gg.b, a = 4 };
    s.i.k = e1.m(s.i.k, 5) + e1.m(6);
    e1.n(loc); bit<4> r4; e2.n(r4);
    e1.o(s.i.k);
    ef({ 8w1, loc }, loc);
    ef(s.i, loc);
    ef<bit<4>>(3, _);
    loc = eg() + eg(5) + eg(x = 6);
    mk(3);
    o.apply(loc);
    empty.apply(); noact.apply(); args.apply();
    if (empty.apply().hit || noact.apply().miss) { loc = 0; }
    Sgn sg = Sgn.neg; int<8> iv = sg; s.i.h.s = sg; 
    s.nn = (N8b)(N8) loc; 
    s.hv.v = s.hv.v;
    s.us[1].x = s.i.h; s.us[0] = s.us[1]; 
    s.us.push_front(1);
    eq = s.hv == s.hv;
    bit<8> sel = eq ? (loc > 3 ? 8w1 : loc) : 8w2;
    switch (s.c) { Col.r : { loc = 1; } Col.g : Col.b : { loc = 2; } }
    a1(1, loc, (N8) 1, Col.r, error.NoError, false, s.i);
    bit<8> con = (8w1 ++ 8w2)[11:4];
    const bit<8> LC = 8w3 + 1; con = LC;
    int<8> sh = s.i.h.s >> 2; sh = sh |+| 8s100;
    con = (bit<8>) (int<8>) con; con = (bit<8>)(bit<4>) con; 
    con[7:4] = con[3:0];
    bit<32> len = 5; len = len / 2; len = len % 3;
    static_assert(1 == 1, "x");
  }
}
parser pp(packet_in b, out S s); control cc(inout S s);
package top(pp p, cc c); top(p(), c()) main;
