#include <core.p4>
type bit<8> N8;
enum bit<4> E { a = 1, b = 2 }
struct S { N8 n; E e; bool k; tuple<bit<8>, bit<4>> t; }
header H { bit<8> x; bit<8> y; }
struct T { S s; H h; }
const S CS = { (N8) 3, E.b, 1 < 2, { 8w4, 4w5 } };
const T CT = { CS, { 1, 2 } };
const bit<8> W = (bit<8>) CS.n + 1;
const H CH = { 1, 2 };
extern Ex { Ex(S s, list<H> l, string t, int i, @optional bit<8> o); void go(in S s); }
const bit<8> MASK = 0xf0;
const int ONE = 1;
struct M { S s; H h; bit<8> r; T t; H[2] st; }
control inner(inout M m)(S s, bit<8> w, bool b) { apply { m.s = s; m.r = s.t[0] + w; if (b) { m.s.k = false; } if (s.k) { m.r = 4; } } }
control c(inout M m) {
  Ex(CS, {{1, 2}, {3, 4}}, "xy", 1 << 70) ex;
  Ex(s = { (N8) 3, E.a, false, { 4, 5 } }, l = { CH }, t = "q", i = -5) ex2;
  inner({ (N8) 9, E.a, true, { 6, 7 } }, W + 1, true) i1;
  inner(CS, 5, !CS.k) i2;
  action a(S s, H h) { m.s = s; m.h = h; }
  table t { actions = { a; } default_action = a(CS, CH); }
  table named { key = { m.r & MASK : exact; m.st[ONE].x : exact; m.r[ONE + 2:ONE] : exact; m.st[0].y : exact; } actions = { a; } default_action = a(CS, CH); }
  apply { named.apply(); ex.go(CS); ex2.go({ (N8) 1, E.b, true, { 1, 2 }}); i1.apply(m); i2.apply(m); t.apply(); m.t = CT; m.h = CT.h; m.r = CT.h.y; m.h = CH; m.s = CT.s; m.r = W; m.st[0] = CH; m.r = CS.t[0]; m.s.e = CS.e; m.st = { {1, 2}, {3, 4} };}
}
control cc(inout M m); package top(cc c, S s); top(c(), { (N8) 3, E.a, false, { 4, 5 } }) main;
