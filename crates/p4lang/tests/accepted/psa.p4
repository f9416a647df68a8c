// PSA with all of its externs.

#include <core.p4>
#include <bmv2/psa.p4>
struct M2 {
    bit<8> x;
    bit<8> y;
}
header e_t {
    bit<48> d;
    bit<48> s;
    bit<16> t;
}
struct H {
    e_t e;
}
struct M {
    bit<32> a;
    PSA_MeterColor_t c;
}
struct E {}
error { X }
parser ip(packet_in b, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in E r, in E rc) {
    state start {
        b.extract(h.e);
        transition select(i.packet_path) {
            PSA_PacketPath_t.RESUBMIT: accept;
            PSA_PacketPath_t.NORMAL: accept;
            default: reject;
        }
    }
}
parser ep(packet_in b, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in E n, in E c, in E c2) {
    state start {
        transition accept;
    }
}
control ig(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
    Counter<bit<32>, PortId_t>(10, PSA_CounterType_t.BYTES) c;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) dc;
    Meter<bit<8>>(3, PSA_MeterType_t.BYTES) me;
    ActionProfile(3) ap;
    Register<M2, bit<8>>(5) rs;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) hh;
    Checksum<bit<16>>(PSA_HashAlgorithm_t.ONES_COMPLEMENT16) ck;
    action f(PortId_t p) {
        send_to_port(o, p);
        dc.count();
    }
    action mc(MulticastGroup_t g) {
        multicast(o, g);
    }
    action dr() {
        ingress_drop(o);
    }
    table t {
        key = {
            h.e.d : exact;
            i.ingress_port : ternary;
            o.drop : exact;
        }
        actions = {
            f;
            mc;
            dr;
            NoAction;
            ingress_drop(o);
        }
        psa_direct_counter = dc;
        psa_implementation = ap;
        psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL;
        psa_empty_group_action = NoAction();
    }
    apply {
        t.apply();
        c.count(i.ingress_port);
        m.c = me.execute(3, PSA_MeterColor_t.GREEN);
        m.c = me.execute(index = 3);
        M2 z = rs.read(1);
        z.x = 3;
        rs.write(1, z);
        rs.write(2, { 1, 2 });
        h.e.t = hh.get_hash(16w0, h.e, 16w5);
        ck.clear();
        ck.update(h.e);
        ck.update({ h.e.d });
        h.e.t = ck.get();
        o.clone = true;
        o.clone_session_id = (CloneSessionId_t) 5;
        o.class_of_service = (ClassOfService_t) (ClassOfServiceUint_t) 3;
        if (i.parser_error != error.NoError) dr();
        if (o.egress_port == PSA_PORT_CPU) {} if (i.ingress_port == (PortId_t) 5) {}
    }
}
control eg(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {
    apply {
        egress_drop(o);
    }
}
control id(packet_out b, out E c, out E r, out E n, inout H h, in M m, in psa_ingress_output_metadata_t i) {
    InternetChecksum() ic;
    apply {
        if (psa_clone_i2e(i)) { }
        ic.set_state(h.e.t);
        b.emit(h);
    }
}
control ed(packet_out b, out E c, out E r, inout H h, in M m, in psa_egress_output_metadata_t i, in psa_egress_deparser_input_metadata_t d) {
    apply {
        if (psa_recirculate(i, d)) {}
        b.emit(h.e);
    }
}
IngressPipeline(ip(), ig(), id()) ipp;
EgressPipeline(ep(), eg(), ed()) epp;
PSA_Switch(ipp, PacketReplicationEngine(), epp, BufferingQueueingEngine()) main;
