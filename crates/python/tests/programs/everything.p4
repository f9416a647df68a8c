// A program with an object of each kind that a switch in process has, for its tests.

#include <core.p4>
#include <v1model.p4>

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> _pad;
}

header request_t {
    bit<8> kind;
    bit<8> key;
    bit<16> number;
    bit<32> source;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    request_t request;
}

struct metadata_t {
    bit<8> known;
    bit<2> color;
}

struct seen_t {
    bit<32> source;
    bit<9> port;
}

parser TestParser(
    packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s)
{
    value_set<bit<8>>(4) known_kinds;

    state start {
        transition select(s.ingress_port) {
            255: from_controller;
            default: request;
        }
    }
    state from_controller {
        packet.extract(h.packet_out);
        transition request;
    }
    state request {
        packet.extract(h.request);
        transition select(h.request.kind) {
            known_kinds: known;
            default: accept;
        }
    }
    state known {
        m.known = 1;
        transition accept;
    }
}

control TestIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    counter(4, CounterType.packets_and_bytes) kinds;
    direct_counter(CounterType.packets) hits;
    register<bit<32>>(8) last;
    register<int<16>>(4) signed_values;
    meter(4, MeterType.packets) limits;
    action_selector(HashAlgorithm.crc16, 32w64, 32w8) servers;

    action drop() {
        mark_to_drop(s);
    }
    action forward(bit<9> port) {
        s.egress_spec = port;
    }
    action flood(bit<16> group) {
        s.mcast_grp = group;
    }
    action mirror(bit<9> port) {
        s.egress_spec = port;
        clone(CloneType.I2E, 7);
    }

    table acl {
        key = {
            h.request.source: ternary;
            h.request.number: range;
            h.request.key: optional;
        }
        actions = { forward; flood; mirror; drop; }
        default_action = drop();
        counters = hits;
        size = 4;
    }

    table balanced {
        key = {
            h.request.key: exact;
            h.request.number: selector;
        }
        actions = { forward; drop; }
        implementation = servers;
        support_timeout = true;
    }

    apply {
        if (h.packet_out.isValid()) {
            s.egress_spec = h.packet_out.egress_port;
            h.packet_out.setInvalid();
        } else if (m.known == 1) {
            s.egress_spec = 9;
        } else if (h.request.kind == 1) {
            kinds.count(1);
            acl.apply();
        } else if (h.request.kind == 2) {
            balanced.apply();
        } else if (h.request.kind == 3) {
            last.write((bit<32>) h.request.key, h.request.source);
            limits.execute_meter((bit<32>) h.request.key, m.color);
            s.egress_spec = 1 + (bit<9>) m.color;
        } else if (h.request.kind == 4) {
            digest<seen_t>(1, { h.request.source, s.ingress_port });
            drop();
        } else if (h.request.kind == 5) {
            h.packet_in.setValid();
            h.packet_in.ingress_port = s.ingress_port;
            h.packet_in.reason = 3;
            s.egress_spec = 255;
        } else {
            assert(h.request.kind != 6);
            drop();
        }
    }
}

control TestEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply { }
}

control Nothing(inout headers_t h, inout metadata_t m) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t h) {
    apply {
        packet.emit(h.packet_in);
        packet.emit(h.request);
    }
}

V1Switch(TestParser(), Nothing(), TestIngress(), TestEgress(), Nothing(), TestDeparser()) main;
