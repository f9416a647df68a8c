// Tables of every match kind, for tests of the maker of entries.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct H { ethernet_t ethernet; }
struct M { bit<9> vrf; bit<3> class; }

parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { b.extract(h.ethernet); transition accept; }
}
control V(inout H h, inout M m) { apply {} }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control C(inout H h, inout M m) { apply {} }
control D(packet_out b, in H h) { apply { b.emit(h.ethernet); } }

control I(inout H h, inout M m, inout standard_metadata_t s) {
    action forward(bit<9> port) { s.egress_spec = port; }
    action classify(bit<3> class, bit<9> vrf) { m.class = class; m.vrf = vrf; }
    table kinds {
        key = {
            h.ethernet.dst: lpm;
            h.ethernet.src: ternary;
            h.ethernet.type: range;
            m.class: optional;
            m.vrf: exact;
        }
        actions = { forward; NoAction; }
        size = 65536;
    }
    table narrow {
        key = { m.vrf: exact; m.class: exact; }
        actions = { classify; NoAction; }
        size = 4096;
    }
    table fixed {
        key = { m.vrf: exact; }
        actions = { forward; }
        const entries = { 1: forward(1); }
    }
    direct_counter(CounterType.packets) uses;
    table prefixes {
        key = { h.ethernet.dst: lpm; m.class: exact; }
        actions = { forward; NoAction; }
        size = 2048;
        counters = uses;
    }
    table masks {
        key = { h.ethernet.src: ternary; m.vrf: exact; }
        actions = { forward; NoAction; }
        size = 512;
    }
    table idle {
        key = { h.ethernet.dst: exact; }
        actions = { forward; NoAction; }
        size = 1024;
        support_timeout = true;
    }
    apply { kinds.apply(); narrow.apply(); fixed.apply(); prefixes.apply(); masks.apply(); idle.apply(); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
