// v1model from version 20200408 on.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
typedef bit<5> Ix;
struct H {}
struct M {
    bit<8> a;
    PortId_t p;
    bit<2> c;
}
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start {
        m.p = s.ingress_port;
        transition accept;
    }
}
control I(inout H h, inout M m, inout standard_metadata_t s) {
    register<bit<8>, Ix>(32) r;
    counter<Ix>(32, CounterType.packets) c;
    meter<bit<8>>(32w4, MeterType.bytes) me;
    apply {
        r.read(m.a, 3);
        r.write((Ix) m.a[4:0], m.a);
        c.count(m.a[4:0]);
        me.execute_meter<bit<2>>(m.a, m.c);
        me.execute_meter(m.a, m.c);
        s.egress_spec = m.p;
        static_assert(__v1model_version == 20200408);
        static_assert(__v1model_version >= 20180101, "x");
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control C(inout H h, inout M m) { apply {} }
control D(packet_out b, in H h) { apply {} }
V1Switch(P(), C(), I(), E(), C(), D()) main;
