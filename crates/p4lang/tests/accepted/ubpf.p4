// The pipeline for user-space BPF.

#include <core.p4>
#define UBPF_MODEL_VERSION 20200515
#include <ubpf_model.p4>
header E {
    bit<48> d;
    bit<48> s;
    bit<16> t;
}
struct H {
    E e;
}
struct M {
    bit<32> a;
}
parser prs(packet_in p, out H h, inout M m, inout standard_metadata s) {
    state start {
        p.extract(h.e);
        transition accept;
    }
}
control pipe(inout H h, inout M m, inout standard_metadata s) {
    Register<bit<32>, bit<32>>(10) r;
    action a() {
        mark_to_drop();
        mark_to_pass();
    }
    table t {
        key = {
            h.e.d : exact;
        }
        actions = {
            a;
            NoAction;
        }
        default_action = NoAction;
    }
    apply {
        t.apply();
        m.a = r.read(5);
        r.write(m.a, 3);
        hash(m.a, HashAlgorithm.lookup3, { m.a, m.a });
        h.e.t = csum_replace2(h.e.t, 1, 2);
        h.e.t = csum_replace4(h.e.t, 1, 2);
        bit<48> ts = ubpf_time_get_ns();
        truncate(64);
        s.output_action = ubpf_action.REDIRECT;
        s.output_port = s.input_port;
    }
}
@deparser control dep(packet_out p, in H h) {
    apply {
        p.emit(h.e);
    }
}
ubpf(prs(), pipe(), dep()) main;
