// The pipeline for user-space BPF before it had metadata.

#define UBPF_MODEL_VERSION 20190101
#include <ubpf_model.p4>
struct H {}
struct M {
    bit<32> a;
}
parser p(packet_in b, out H h, inout M m) {
    state start {
        transition accept;
    }
}
control c(inout H h, inout M m) {
    apply {
        hash(m.a, HashAlgorithm.lookup3, { m.a });
    }
}
control d(packet_out b, in H h) { apply {} }
ubpf(p(), c(), d()) main;
