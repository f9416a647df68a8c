// The switch for XDP.

#include "xdp_model.p4"
header E {
    bit<48> d;
    bit<48> s;
    bit<16> t;
}
struct H {
    E e;
}
parser Prs(packet_in p, out H h) {
    state start {
        p.extract(h.e);
        transition accept;
    }
}
control Sw(inout H h, in xdp_input i, out xdp_output o) {
    apply {
        o.output_port = i.input_port;
        o.output_action = xdp_action.XDP_TX;
        h.e.t = csum_replace2(h.e.t, 1, 2);
        bit<32> x = BPF_KTIME_GET_NS();
    }
}
control Dp(in H h, packet_out p) {
    apply {
        p.emit(h.e);
    }
}
xdp(Prs(), Sw(), Dp()) main;
