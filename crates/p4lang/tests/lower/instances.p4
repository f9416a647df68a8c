#include <core.p4>
#include <v1model.p4>
header H { bit<8> a; bit<8> b; bit<16> c; }
header_union U { H x; H y; }
header GH<T> { T v; bit<8> w; }
struct headers { H h; U[3] us; GH<bit<24>> gh; H[2] st; }
struct Inner { bit<8> p; H hd; }
struct meta { bit<8> x; Inner inn; bit<16> y; bit<4> z;}
enum bit<16> Ether { IP = 0x800, ARP = 0x806 }
struct VS { @match(ternary) bit<8> f1; @match(range) bit<8> f2; bit<8> f3; }

control Gen(inout bit<8> v, in bit<8> d) { apply { v = d; } }
control WithReg(inout bit<8> v)(register<bit<8>> r, int n) { apply { r.read(v, 32w0); v = v + (bit<8>) n; r.write(n, v); } }
control TakesCounter(in bit<8> v, counter c) { apply { c.count((bit<32>) v); } }
control Outer(inout bit<8> v) {
  register<bit<8>>(4) reg;
  WithReg(reg, 5) w1;
  WithReg(n = 6, r = reg) w2;
  apply { w1.apply(v); w2.apply(v = v); Gen.apply(v, 8w4); }
}
bit<8> over(in bit<8> a) { return a; }
bit<8> over(in bit<8> a, in bit<8> b) { return a + b; }
bit<16> cfn(in bit<8> a) { if (a == 3) { return 16w1; } else if (a == 4) { return 16w2; } return 16w3; }
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {
    value_set<VS>(8) vs;
    bit<8> n = 2;
    state start {
        p.extract(h.h);
        n = n - 1;
        transition select(h.h.a, h.h.b, h.h.a) { vs: us; (3, 4, 5): us; _: cnt; }
    }
    state us { p.extract(h.us.next.x); transition select(h.us.last.x.a) { 0 : us; default: cnt; } }
    state cnt { transition select(n == 0) { true: accept; false: eth; } }
    state eth { transition select(h.h.c) { Ether.IP: accept; Ether.ARP &&& 0xffff: start; (bit<16>) Ether.ARP .. 0xffff: reject; } }
}
control VC(inout headers h, inout meta m) { apply { verify_checksum(true, {h.h.a, h.h.b}, h.h.c, HashAlgorithm.csum16); } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
  Outer() outer;
  counter(256, CounterType.bytes) ctr;
  TakesCounter() tc;
  action a(bit<8> d, Ether e) { m.x = d; m.y = e; }
  action b(out bit<16> r) { r = 4; }
  table t { key = { cfn(m.x) : exact @name("k"); h.us[0].x.isValid() : exact; (bit<4>) m.x : exact @name("k3"); }
    actions = { a; b(h.h.c); }
    size = 4;
    entries = { (1, true, 2) : a(1, Ether.IP); (2, false, 3) : b(h.h.c); }
  }
  apply {
    outer.apply(m.x);
    tc.apply(m.x, ctr);
    t.apply();
    m = { x = 1, ... };
    m.inn = { 1, {#} };
    m = { ... };
    Inner loc = { p = 4, hd = { 1, 2, 3 } };
    m.inn = loc;
    h.gh = { 5, 6 };
    bit<8> r = over(1, over(2));
    r = over(b = 1, a = r);
    if (loc == m.inn) { r = 1; }
    if (h.h == { 1, 2, 3 }) { r = 2; }
    for (H e in h.st) { r = r + e.a; }
    bit<8> q = r > 3 ? over(r) : h.st[0].a;
    switch (h.h.c) { 1: { return; } 2: 3: { r = 5; } }
    h.st[1] = h.st[0];
    h.us[1].y = h.h;
    m.y = (bit<16>)(int<16>)(int<8>) r;
    m.z = (bit<4>) (r |-| 3);
    bool flag = r < 5 && !(q >= 6) || (m.z != 4 && (h.h.c & 0xf) == 2);
    if (flag) exit;
    m.x = ((h.h.a ++ h.h.b) ++ h.h.c)[23:16];
    const int K = 4 * 2;
  }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control K(inout headers h, inout meta m) { apply { } }
control Dep(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(P(), VC(), I(), E(), K(), Dep()) main;
