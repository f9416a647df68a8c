// PNA for the traffic control of Linux.

#include <core.p4>
#include <tc/pna.p4>
header e_t {
    @tc_type("macaddr") bit<48> d;
    bit<48> s;
    bit<16> t;
}
struct H {
    e_t e;
}
struct M {
    bit<32> a;
}
parser mp(packet_in b, out H h, inout M m, in pna_main_parser_input_metadata_t i) {
    state start {
        b.extract(h.e);
        transition accept;
    }
}
control mc(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o, tc_skb_metadata sk) {
    action a(@tc_type("dev") PortId_t p) {
        send_to_port(p);
    }
    action d() {
        drop_packet();
    }
    @tc_acl("CRUD") table t {
        key = {
            h.e.d : exact @tc_type("macaddr") @name("dd");
        }
        actions = {
            a;
            d;
        }
        default_action = d;
    }
    apply {
        t.apply();
    }
}
control md(packet_out b, inout H h, in M m, in pna_main_output_metadata_t o, tc_skb_metadata sk) {
    apply {
        sk.set_mark(3);
        b.emit(h.e);
    }
}
PNA_NIC(mp(), mc(), md()) main;
