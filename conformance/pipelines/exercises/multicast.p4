// Packets that match no entry are flooded: they leave by all ports but the ingress port.

#include "common.p4"

struct headers { ethernet_t ethernet; }
struct metadata { }

parser ExerciseParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control NoVerification(inout headers hdr, inout metadata meta) { apply { } }

control ExerciseIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }
    action multicast() { standard.mcast_grp = 1; }
    action to_station(port_t port) { standard.egress_spec = port; }
    table stations {
        key = { hdr.ethernet.destination: exact; }
        actions = { multicast; to_station; drop; }
        size = 1024;
        default_action = multicast;
    }
    apply {
        if (hdr.ethernet.isValid()) {
            stations.apply();
        }
    }
}

control ExerciseEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }
    apply {
        if (standard.egress_port == standard.ingress_port) {
            drop();
        }
    }
}

control Update(inout headers hdr, inout metadata meta) { apply { } }
control ExerciseDeparser(packet_out packet, in headers hdr) { apply { packet.emit(hdr.ethernet); } }

V1Switch(ExerciseParser(), NoVerification(), ExerciseIngress(), ExerciseEgress(), Update(), ExerciseDeparser()) main;
