// Every kind of table and array.
#include <core.p4>
#include <v1model.p4>
header h_t { bit<32> a; bit<16> b; bit<8> c; bit<8> d; }
struct headers_t { h_t h; }
struct meta_t { bit<2> color; }
struct seen_t { bit<32> a; bit<16> b; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) kinds;
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.c) { kinds: accept; default: accept; }
    }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.packets) colors;
    counter(8, CounterType.packets_and_bytes) counted;
    meter(4, MeterType.bytes) metered;
    register<bit<20>>(16) remembered;
    register<int<12>>(4) signs;
    action_profile(4) shared_actions;
    action_selector(HashAlgorithm.crc16, 12, 16) chosen;
    action forward(bit<9> port) { sm.egress_spec = port; }
    action rewrite(bit<8> value, bit<16> other) { hdr.h.c = value; hdr.h.b = other; }
    action hit(bit<9> port) { hits.count(); sm.egress_spec = port; }
    action color() { colors.read(meta.color); }
    action refuse() { mark_to_drop(sm); }
    action refuse_acl() { mark_to_drop(sm); }
    table exact_match {
        key = { hdr.h.a: exact; hdr.h.b: exact; }
        actions = { hit; @defaultonly NoAction; }
        default_action = NoAction();
        size = 5;
        counters = hits;
        support_timeout = true;
    }
    table routes {
        key = { hdr.h.a: lpm; }
        actions = { forward; rewrite; refuse; }
        default_action = refuse();
        size = 8;
    }
    table acl {
        key = { hdr.h.a: ternary; hdr.h.b: range; hdr.h.c: optional; }
        actions = { color; @tableonly refuse_acl; NoAction; }
        default_action = NoAction();
        size = 6;
        meters = colors;
    }
    table fixed {
        key = { hdr.h.c: exact; }
        actions = { forward; refuse; }
        const default_action = refuse();
    }
    table by_member {
        key = { hdr.h.c: exact; }
        actions = { forward; rewrite; }
        implementation = shared_actions;
        size = 8;
    }
    table by_group {
        key = { hdr.h.d: exact; hdr.h.b: selector; }
        actions = { forward; rewrite; }
        implementation = chosen;
        size = 8;
    }
    apply {
        if (exact_match.apply().hit) {
            bit<20> before;
            remembered.read(before, 1);
            remembered.write(1, before + 3);
            counted.count(2);
            digest<seen_t>(1, { hdr.h.a, hdr.h.b });
        } else {
            routes.apply();
            acl.apply();
            fixed.apply();
            by_member.apply();
            by_group.apply();
        }
        int<12> sign;
        signs.read(sign, 0);
        bit<8> color;
        metered.execute_meter(0, color);
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control U(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), U(), D()) main;
