// Source routing: the sender of a packet chooses the port by which each switch forwards it.

#include "common.p4"

const bit<16> TYPE_SOURCE_ROUTE = 0x1234;

header hop_t {
    bit<1> is_last;
    bit<15> port;
}

struct headers {
    ethernet_t ethernet;
    hop_t[9] route;
    ipv4_t ipv4;
}

struct metadata { }

parser ExerciseParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_SOURCE_ROUTE: parse_route;
            default: accept;
        }
    }
    state parse_route {
        packet.extract(hdr.route.next);
        transition select(hdr.route.last.is_last) {
            1: parse_ipv4;
            default: parse_route;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control NoVerification(inout headers hdr, inout metadata meta) { apply { } }

control ExerciseIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }
    action forward() {
        standard.egress_spec = (port_t) hdr.route[0].port;
        hdr.route.pop_front(1);
    }
    apply {
        if (!hdr.route[0].isValid()) {
            drop();
        } else {
            bool arrives = hdr.route[0].is_last == 1;
            forward();
            if (arrives) {
                hdr.ethernet.ether_type = TYPE_IPV4;
            }
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.time_to_live = hdr.ipv4.time_to_live - 1;
            }
        }
    }
}

control ExerciseEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) { apply { } }

control Update(inout headers hdr, inout metadata meta) {
    apply { IPV4_CHECKSUM(hdr.ipv4); }
}

control ExerciseDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.route);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(ExerciseParser(), NoVerification(), ExerciseIngress(), ExerciseEgress(), Update(), ExerciseDeparser()) main;
