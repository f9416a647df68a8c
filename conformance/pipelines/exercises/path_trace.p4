// Every switch on the path writes its id and the length of its queue into an IPv4 option. Packets
// that met a long queue are marked as having experienced congestion (ECN).

#include "common.p4"

const bit<5> OPTION_TRACE = 31;
const bit<19> ECN_THRESHOLD = 10;
#define MAX_HOPS 9

header option_t {
    bit<1> copied;
    bit<2> option_class;
    bit<5> option;
    bit<8> length;
}

header trace_t {
    bit<16> count;
}

header visit_t {
    bit<32> switch_id;
    bit<32> qdepth;
}

struct progress_t {
    bit<16> remaining;
}

struct metadata {
    progress_t progress;
}

struct headers {
    ethernet_t ethernet;
    ipv4_t ipv4;
    option_t option_header;
    trace_t trace;
    visit_t[MAX_HOPS] visits;
}

error { NoRoomForHeader }

parser ExerciseParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.header_length >= 5, error.NoRoomForHeader);
        transition select(hdr.ipv4.header_length) {
            5: accept;
            default: parse_option;
        }
    }
    state parse_option {
        packet.extract(hdr.option_header);
        transition select(hdr.option_header.option) {
            OPTION_TRACE: parse_trace;
            default: accept;
        }
    }
    state parse_trace {
        packet.extract(hdr.trace);
        meta.progress.remaining = hdr.trace.count;
        transition select(meta.progress.remaining) {
            0: accept;
            default: parse_visit;
        }
    }
    state parse_visit {
        packet.extract(hdr.visits.next);
        meta.progress.remaining = meta.progress.remaining - 1;
        transition select(meta.progress.remaining) {
            0: accept;
            default: parse_visit;
        }
    }
}

control NoVerification(inout headers hdr, inout metadata meta) { apply { } }

control ExerciseIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    IPV4_FORWARDING
    apply {
        if (hdr.ipv4.isValid()) {
            routes.apply();
        }
    }
}

control ExerciseEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action add_visit(bit<32> switch_id) {
        hdr.trace.count = hdr.trace.count + 1;
        hdr.visits.push_front(1);
        hdr.visits[0].setValid();
        hdr.visits[0].switch_id = switch_id;
        hdr.visits[0].qdepth = (bit<32>) standard.deq_qdepth;
        hdr.ipv4.header_length = hdr.ipv4.header_length + 2;
        hdr.option_header.length = hdr.option_header.length + 8;
        hdr.ipv4.total_length = hdr.ipv4.total_length + 8;
    }
    table identity {
        actions = { add_visit; NoAction; }
        default_action = NoAction();
    }
    apply {
        if (hdr.trace.isValid()) {
            identity.apply();
        }
        if (hdr.ipv4.isValid() && (hdr.ipv4.ecn == 1 || hdr.ipv4.ecn == 2)) {
            if (standard.enq_qdepth >= ECN_THRESHOLD) {
                hdr.ipv4.ecn = 3;
            }
        }
    }
}

control Update(inout headers hdr, inout metadata meta) {
    apply { IPV4_CHECKSUM(hdr.ipv4); }
}

control ExerciseDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.option_header);
        packet.emit(hdr.trace);
        packet.emit(hdr.visits);
    }
}

V1Switch(ExerciseParser(), NoVerification(), ExerciseIngress(), ExerciseEgress(), Update(), ExerciseDeparser()) main;
