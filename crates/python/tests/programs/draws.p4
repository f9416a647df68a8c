// A program that draws a random number for each packet.

#include <core.p4>
#include <v1model.p4>

header number_t { bit<32> value; }
struct headers_t { number_t number; }
struct metadata_t { }

parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { p.extract(h.number); transition accept; }
}
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        random(h.number.value, 0, 1000000);
        s.egress_spec = 1;
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control V(inout headers_t h, inout metadata_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.number); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
