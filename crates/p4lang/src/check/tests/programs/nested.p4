#include <core.p4>
#include <v1model.p4>
struct M { bit<8> x; } header H { bit<8> a; } struct HD { H h; H g; }
error { Mine, Other }
parser Sub(packet_in p, out H h)(bit<8> k) {
  state start { p.extract(h); verify(h.a == k, error.Mine); transition accept; }
}
parser Sub2(packet_in p, out H h) { state start { p.extract(h); transition accept; } }
parser P(packet_in pk, out HD hdr, inout M m, inout standard_metadata_t sm) {
  Sub(8w3) sub;
  state start { sub.apply(pk, hdr.h); transition next; }
  state next { Sub2.apply(pk, hdr.g); transition accept; }
}
control Inner(inout H h, in bit<8> v)(bit<8> k, bool flag) {
  action set(bit<8> z) { h.a = z + k; }
  table t { key = { h.a : exact; } actions = { set; } size = 10; const default_action = set(k); }
  apply { if (flag) { t.apply(); } else { h.a = v; } }
}
control Plain(inout H h) { apply { h.a = 1; } }
extern bit<8> ext<T>(in T x, @optional in bit<8> y);
control I(inout HD hdr, inout M m, inout standard_metadata_t sm) {
  Inner(3, true) i1; Inner(k = 4, flag = false) i2; Plain() pl;
  apply { i1.apply(hdr.h, 3); i2.apply(h = hdr.g, v = m.x); pl.apply(hdr.h); Plain.apply(hdr.g); m.x = ext(hdr.h); m.x = ext(m, 3); m.x = ext(x = m); }
}
control E(inout HD hdr, inout M m, inout standard_metadata_t sm) { apply {} }
control VC(inout HD hdr, inout M m) { apply {} }
control D(packet_out pk, in HD hdr) { apply { pk.emit(hdr); } }
V1Switch<HD, M>(P(), VC(), I(), E(), VC(), D()) main;
