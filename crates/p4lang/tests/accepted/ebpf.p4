// The packet filter for eBPF.

#include <core.p4>
#include <ebpf_model.p4>
#include "ebpf_model.p4"
header E {
    bit<48> d;
    bit<48> s;
    bit<16> t;
}
struct H {
    E e;
}
parser prs(packet_in p, out H h) {
    state start {
        p.extract(h.e);
        transition select(h.e.t) {
            16w0x800: accept;
            default: reject;
        }
    }
}
control pipe(inout H h, out bool pass) {
    CounterArray(32w10, true) c;
    action rej(bit<32> x) {
        pass = false;
        c.increment(x);
        c.add(x, 5);
    }
    table t {
        key = {
            h.e.d : exact;
        }
        actions = {
            rej;
            NoAction;
        }
        implementation = hash_table(1024);
        const default_action = NoAction;
    }
    table t2 {
        key = {
            h.e.t : lpm;
        }
        actions = {
            rej;
        }
        default_action = rej(0);
        implementation = array_table(32w2);
    }
    apply {
        pass = true;
        if (!h.e.isValid()) {
            pass = false;
            return;
        }
        t.apply();
        if (t2.apply().hit) pass = false;
    }
}
ebpfFilter(prs(), pipe()) main;
