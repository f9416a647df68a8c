#include <core.p4>
match_kind { range, optional }
struct Empty {}
header EH {}
struct Nest { bit<4> a; bit<4> b; }
enum bit<8> Se { x = 1, y = 2 }
header SH { bool f; bit<7> g; Nest n; Se e; }
struct string_holder { bit<8> z; }
struct Deep { SH h; SH[2] s; tuple<> t; Empty em; error er; string_holder sh; }
extern T ext<T>(in T x);
extern void opt(in bit<8> a, @optional in bit<8> b, @optional out bit<8> c);
extern void msg(string s);
extern E2 { E2(@optional bit<8> x); @synchronous(go) void go(); bit<8> val(); }
T id<T>(in T x) { return x; }
T twice<T>(in T x) { return id<T>(id(x)); }
bit<16> pair<A, B>(in A a, in B b) { return (bit<16>) 1; }
void vret(inout bit<8> x) { if (x == 3) return; x = 4; return; }
bit<8> rec2(in bit<8> x) { bit<8> r = x; for (bit<8> i = 0, bit<8> j = 1; i < 3; i = i + 1, j = j + 1) { if (i == 2) { return j; } r = r + j; } return r; }
parser p(packet_in b, out Deep d) {
  state start { transition s1; }
  @name("named") state s1 { b.extract(d.s.next); transition select(d.s.last.e, d.s.lastIndex) { (Se.x, 0) : s1; (Se.y, _) : s2; (_, 1 .. 2) : accept; } }
  state s2 { d.s[0].n.a = d.s.last.n.b; verify(d.s.last.f, error.HeaderTooShort); transition select(d.s[1].f, d.s[0].n.a ++ d.s[0].n.b) { (true, 5) : accept; (false, 0x10 &&& 0xf0) : reject; } } }
control c(inout Deep d) {
  E2() e2; E2(3) e3;
  bit<8> v = 1;
  @name("act") action a1(@name("pp") bit<8> x, bit<4> y) { v = x; d.h.n = { y, 3 }; }
  action a2() { vret(v); e2.go(); }
  table t { key = { d.h.e : ternary; d.h.f : exact; d.h.n.a : lpm; v : range; e3.val() : optional @name("ev"); }
    actions = { a1; @tableonly a2; @defaultonly NoAction; }
    const default_action = NoAction;
    entries = { const (Se.x, true, 4w8 &&& 4w8, 1 .. 3, _) : a1(y = 2, x = 1); (Se.y &&& 8w0xf, false, _, _, 5) : a2() @priority(3); } }
  apply {
    v = twice(v); v = twice<bit<8>>(8w4); bit<16> pr = pair(v, d.h.f); pr = pair<bit<8>, bool>(1, true);
    v = ext(v); d.h.e = ext(Se.x); d.h.n = ext<Nest>({ 1, 2 });
    opt(1); opt(1, 2); opt(a = 1, c = v); 
    msg("hello");
    d.em = {}; d.t = {};
    d.h.setValid(); if (d.h.f && !d.h.isValid() || d.s[1].isValid()) { v = rec2(v); }
    switch (v) { 1 : { v = 2; } default : { v = 3; } }
    @unlikely if (v == 2) { exit; }
    { bit<8> v = 5; d.sh.z = v; }
    switch (t.apply().action_run) { a2 : { v = 1; } NoAction : default : { v = 9; } }
    bit<8> tern = v == 1 ? (v == 2 ? 8w3 : 8w4) : v == 3 ? 8w5 : 8w6;
    tern = tern[7:7] == 1 ? -tern : +tern;
    d.h.n.a[1:0] = 2w3; d.h.n.a[3:2] = d.h.n.b[1:0];
    for (bit<4> i in 0 .. 15) { tern = tern + (bit<8>) i; }
    for (Nest n in (list<Nest>) { {1, 2}, {3, 4} }) { d.h.n = n; }
  } 
}
parser pp(packet_in b, out Deep s); control cc(inout Deep s);
package top(pp p, cc c); top(p(), c()) main;
