// A program whose first header ends within a byte, which machine code cannot parse.

#include <core.p4>
#include <v1model.p4>

header flag_t { bit<1> flag; }
header rest_t { bit<15> rest; }
struct headers_t { flag_t flag; rest_t rest; }
struct metadata_t { }

parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { p.extract(h.flag); p.extract(h.rest); transition accept; }
}
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply { s.egress_spec = 1; }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control V(inout headers_t h, inout metadata_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.flag); p.emit(h.rest); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
