#include <core.p4>
#include <v1model.p4>
const int W = 8;
const bit<(W)> a1 = 5;
const bit<(W*2)> a2 = 16w0xFFFF;
const bit<(1<<3)> a3 = 3;
const int<8> n1 = -1;
const bit<8> ones = 255;
const int big = 1 << 100;
const bit<32> folded = (bit<32>)(big >> 90);
const bool b1 = 3 < 4 && big != 5;
const bit<16> cc = 8w1 ++ 8w2;
const string text = "a" ++ "b";
const tuple<bit<8>, bool> tp = { 5, true };
const bit<8> tp0 = tp[0];
const bit<32> sl = 32w0xdeadbeef[31:0];
const bit<4> sl2 = a2[W-1:W-4];
type bit<9> PortN_t;
typedef bit<9> PortT_t;
const PortN_t pn = (PortN_t) 5;
const PortT_t pt = 5;
enum bit<8> E8 { A = 1, B = 2 }
#define X 3
enum Suits { Clubs, Hearts }
header H { bit<8> a; bit<16> b; int<8> c; bool d; bit<7> pad; }
header V { bit<8> len; varbit<320> opts; }
struct S { bit<8> x; bit<16> y; }
struct T2 { S s; H h; tuple<bit<8>, bit<8>> t; }
header_union U { H h; V v; }
struct G<T> { T f; bit<8> g; }
header GH<T> { T f; }
const S cs = { 1, 2 };
const S cs2 = { y = 2, x = 1 };
const S cs3 = { x = 1, ... };
const S cs4 = { 1, ... };
const S cs5 = ...;
const bit<16> csy = cs.y;
struct headers { H h; H[4] hs; U u; U[2] us; V v; GH<bit<32>> gh; }
struct meta { bit<8> m; S s; T2 t; E8 e; Suits su; error er; G<bit<8>> g; PortN_t p; bool flag; int<16> sg; varbit<32> vb; bit<0> z; }
bit<8> maxf(in bit<8> l, in bit<8> r) { return l > r ? l : r; }
T ident<T>(in T x) { return x; }
bit<8> over(in bit<8> x) { return x; }
bit<8> over(in bit<8> x, in bit<8> y) { return x + y; }
void proc(inout bit<8> x, out bit<8> y) { y = x; x = x + 1; return; }
parser P(packet_in pk, out headers hdr, inout meta m, inout standard_metadata_t sm) {
  bit<8> cnt = 0;
  value_set<bit<8>>(4) pvs;
  state start {
    pk.extract(hdr.h);
    transition select(hdr.h.a, hdr.h.b) {
      (1, 2): s_one;
      (3 &&& 0xf, _): s_one;
      (4..6, 5): s2;
      (8w7, default): s2;
      default: accept;
    }
  }
  state s_one {
    pk.extract(hdr.hs.next);
    m.m = hdr.hs.last.a;
    m.m = pk.lookahead<bit<8>>();
    bit<32> li = hdr.hs.lastIndex;
    verify(hdr.h.isValid(), error.NoMatch);
    transition select(hdr.hs.last.a) {
      pvs: s2;
      1: s_one;
      E8.A: s_one;
    }
  }
  state s2 {
    pk.extract(hdr.v, (bit<32>)(hdr.v.len));
    pk.extract<H>(_);
    pk.advance(32);
    if (hdr.h.a == 1) { m.m = 4; } else m.m = 5;
    transition select(m.flag, m.e) {
      (true, E8.B): accept;
      (_, _): reject;
    }
  }
}
control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
  bit<8> loc;
  action nop() {}
  action a(inout bit<8> q, bit<8> z) { q = z; }
  direct_meter<bit<8>>(MeterType.bytes) dm;
  action b(bit<9> port) { sm.egress_spec = port; loc[3:0] = port[3:0]; dm.read(m.m); }
  action c(PortN_t port, E8 e, bool f, Suits s) { }
  register<bit<32>>(1024) reg;
  counter(10, CounterType.packets) cnt;
  direct_counter(CounterType.bytes) dc;
  meter(16, MeterType.bytes) mt;
  action_selector(HashAlgorithm.crc16, 32w64, 32w14) as1;
  table t {
    key = { hdr.h.a : exact; hdr.h.b : lpm; m.m : ternary @name("mm"); hdr.h.isValid() : exact; sm.egress_spec : range; m.e: exact; m.p: optional; hdr.h.b & 0xff: exact; hdr.hs[1].a: exact; hdr.h.b[3:0]: exact;
         hdr.h.a + 1 : exact @name("foo"); }
    actions = { a(loc); b; @defaultonly nop; c(); NoAction; }
    size = 1024;
    default_action = nop();
    counters = dc;
    meters = dm;
  }
  table t2 {
    key = { hdr.h.a : exact; hdr.h.b : ternary; sm.egress_spec: range; }
    actions = { b; nop; a(loc); }
    const default_action = b(3);
    const entries = {
      (1, 2, 5..7) : b(1);
      (2, 2 &&& 3, _) : nop;
      (3, _, 4) : nop() @priority(3);
      (8w4, default, 9w3): a(loc, 4);
    }
    implementation = action_profile(32);
  }
  table t3 { key = { hdr.h.b: lpm; } actions = { nop; } const entries = { 0x0a00 &&& 0xff00: nop; 0: nop; _ : nop; } }
  table t4 { actions = { nop; } default_action = nop; }
  table t5 { key = {m.s.x: selector; m.m: exact;} actions = { nop; } implementation = as1; support_timeout = true; entries = { const priority = 4 : (_, 3): nop; priority = 5 : (1, 4) : nop; } largest_priority_wins = false; }
  apply {
    bit<8> v = 1;
    bit<32> w32 = 5;
    v = v + 1; v = 1 + v; v = v |+| 3; v = v << 2; v = v << w32; v = v >> 8w1; w32 = w32 << v;
    v = ~v; v = -v; v = +v; m.sg = -m.sg;
    bool q = v == 1; q = 1 == v; q = m.e == E8.A; q = m.e == 1; q = m.su == Suits.Clubs; q = m.er == error.NoMatch;
    q = hdr.h == hdr.hs[0]; q = m.s == { 1, 2 }; q = { 1, 2 } == m.s; q = hdr.h == {#}; q = m.s == (S) { x = 1, y = 2 };
    q = m.s == cs; q = hdr.u == hdr.us[0]; q = m.z == 0; q = hdr.hs == hdr.hs;
    v = q ? 1 : v; v = q ? v : 2; m.s = q ? cs : m.s;
    w32 = (bit<32>) v ++ 0w0; w32 = v ++ 8w0 ++ (bit<16>)v; w32[7:0] = v; v = w32[15:8];
    int<8> iv = (int<8>) v; iv = (int<8>)(bit<8>) 200; v = (bit<8>) iv; q = (bool) v[0:0]; bit<1> ob = (bit<1>) q;
    m.p = (PortN_t) sm.egress_spec; sm.egress_spec = (bit<9>) m.p; q = m.p == pn;
    v = m.e; m.e = (E8) v; m.e = E8.B; v = E8.A + 1; v = m.e ++ 0w0;
    m.s = { 1, 2 }; m.s = { y = 1, x = 2 }; m.t = { { 1, 2 }, { 1, 2, 3, true, 4 }, { 5, 6 } }; hdr.h = { 1, 2, -3, false, 0 };
    hdr.h = {#}; hdr.h.setValid(); hdr.h.setInvalid(); hdr.hs.push_front(1); hdr.hs.pop_front(2); w32 = hdr.hs.size;
    hdr.hs[v].a = 3; hdr.hs[1] = hdr.hs[2]; v = hdr.hs[w32].a; hdr.u.h.setValid(); q = hdr.u.isValid(); q = hdr.us[0].v.isValid();
    m.g = { f = 3, g = 4 }; m.g = { 3, 4 }; hdr.gh.f = 5; 
    tuple<bit<8>, bool> tv = { v, true }; v = tv[0]; q = tv[1]; tv = tp; tv[0] = 5;
    v = maxf(v, 3); v = maxf(r = 1, l = v); v = ident(v); v = ident<bit<8>>(3); v = over(v); v = over(v, 2); proc(v, v); proc(m.s.x, hdr.h.a);
    reg.read(w32, 3); reg.read(w32, (bit<32>)v); reg.write(0, w32 + 1); cnt.count(5); mt.execute_meter(1, v); mt.execute_meter<bit<8>>(1, v);
    random(v, 0, 255); random<bit<8>>(v, 8w0, 8w255); hash(sm.egress_spec, HashAlgorithm.crc16, 9w0, { hdr.h.a, hdr.h.b, 16w5 }, 9w100);
    hash(w32, HashAlgorithm.crc32, 32w0, { v }, 32w10);
    digest<S>(1, m.s); digest(1, { v, w32 }); digest<S>(1, { 1, 2 }); mark_to_drop(sm); truncate(64); log_msg("x"); log_msg("x {}", { v, w32 });
    clone(CloneType.I2E, 5); clone_preserving_field_list(CloneType.I2E, 5, 1); resubmit_preserving_field_list(1); recirculate<bit<1>>(0); 
    assert(v == 1); assume(q);
    if (t.apply().hit) { v = 1; } else if (t2.apply().miss) v = 3; else { v = 4; }
    if (!t3.apply().hit) t4.apply();
    switch (t5.apply().action_run) { nop: { v = 1; } default: { v = 2; } }
    switch (t2.apply().action_run) { b: nop: { v = 1; } a: { v = 2; } }
    switch (v) { 1: 2: { v = 5; } 8w3: {} default: {} }
    switch (m.e) { E8.A: {} E8.B: { } }
    switch (m.su) { Suits.Clubs: {} default: {} }
    a(v, 3); nop(); b(5); b(port = 9w5);
    w32 = S.minSizeInBits(); v = hdr.h.minSizeInBytes(); w32 = (bit<32>) hdr.v.maxSizeInBytes();
    { bit<8> inner = 2; v = inner; }
    const bit<8> localc = 3; v = localc;
    q = q && (v < 3) || !(v >= 2);
    v += 1; v <<= 2; v |= 3; v &= w32[7:0];
    for (bit<8> i = 0; i < 10; i = i + 1) { if (i == 3) continue; v = v + i; break; }
    for (bit<8> i in 1..5) { v = v + i; }
    for (H hh in hdr.hs) { v = v + hh.a; }
    v = w32[7+:8]; m.vb = m.vb;
    if (q) { return; } exit;
  }
}
control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply {} }
control VC(inout headers hdr, inout meta m) { apply { verify_checksum(hdr.h.isValid(), { hdr.h.a, hdr.h.b }, hdr.h.b, HashAlgorithm.csum16); } }
control CC(inout headers hdr, inout meta m) { apply { update_checksum(true, { hdr.h.a, 8w0 }, hdr.h.b, HashAlgorithm.csum16); } }
control D(packet_out pk, in headers hdr) { apply { pk.emit(hdr.h); pk.emit(hdr); pk.emit(hdr.hs); pk.emit({ hdr.h, hdr.v }); pk.emit(hdr.u); } }
V1Switch(P(), VC(), I(), E(), CC(), D()) main;
