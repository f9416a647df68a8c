#include <core.p4>
extern Reg<T> { Reg(T init); T get(); void put(in T v); }
extern bit<8> comp<T>(in T a, in list<tuple<bit<8>, bit<8>>> l);
header H { bit<8> a; }
struct S { H h; bit<8> m; }
bit<8> use(Reg<bit<8>> r, in bit<8> x) { r.put(x); return r.get(); }
control inner(inout bit<8> x)(Reg<bit<8>> r) { action a(bit<8> d) { x = d + use(r, x); } table t { key = { x : exact; } actions = { a; } default_action = a(4); } apply { t.apply(); } }
control takes(inout bit<8> x, Reg<bit<8>> r) { apply { x = r.get(); } }
parser p(packet_in b, out S s) { 
   state start { b.extract(s.h); transition select(s.h.a) { 0 : a; default: nope; } }
   state a { s.m = 1; transition accept; } 
   state nope { transition reject; } }
control c(inout S s) {
  Reg<bit<8>>(8w5) r1;
  Reg<bit<8>>(8w6) r2;
  inner(r1) i1;
  takes() t1;
  takes() t2;
  apply { i1.apply(s.m); t1.apply(s.m, r1); t2.apply(s.m, r2); s.m = use(r2, s.m); if (s.m == 1) { exit; } else if (s.m == 2) { return; } s.m = 3; }
}
parser pp(packet_in b, out S s);
control cc(inout S s);
package top(pp p, cc c);
top(p(), c()) main;
