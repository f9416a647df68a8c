// Multi-hop route inspection, in the format of the p4lang exercise MRI: an IPv4 packet with option 31
// collects the number of each switch that it passes and the depth of the queue there, the last
// switch first. The option has four bytes (its number, its length and the count of records), and
// each record has eight.
//
// The length of the header, that of the packet and the checksum follow. The checksum is corrected by
// what was added (RFC 1624), since it covers the records too. The last byte of the destination
// address is the output port, and the control plane gives each switch its number.
#include <core.p4>
#include <v1model.p4>

const bit<5> INSPECTION = 31;
// An IPv4 header has at most 60 bytes, which leaves room for four records.
const bit<16> MOST_VISITS = 4;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> service;
    bit<16> length;
    bit<16> identification;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header option_t {
    bit<1> copied;
    bit<2> class;
    bit<5> number;
    bit<8> length;
}

header inspection_t {
    bit<16> count;
}

header visit_t {
    bit<32> switch_number;
    bit<32> depth;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    option_t option;
    inspection_t inspection;
    visit_t[4] visits;
}

struct metadata_t {
    bit<16> remaining;
}

parser MriParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
                 inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.type) {
            0x0800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.ihl) {
            5: accept;
            default: option;
        }
    }
    state option {
        packet.extract(headers.option);
        transition select(headers.option.number) {
            INSPECTION: inspection;
            default: accept;
        }
    }
    state inspection {
        packet.extract(headers.inspection);
        metadata.remaining = headers.inspection.count;
        transition select(metadata.remaining) {
            0: accept;
            default: visit;
        }
    }
    state visit {
        packet.extract(headers.visits.next);
        metadata.remaining = metadata.remaining - 1;
        transition select(metadata.remaining) {
            0: accept;
            default: visit;
        }
    }
}

control MriVerify(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control MriIngress(inout headers_t headers, inout metadata_t metadata,
                   inout standard_metadata_t standard) {
    apply {
        if (headers.ipv4.isValid()) {
            standard.egress_spec = (bit<9>) headers.ipv4.destination[7:0];
        } else {
            mark_to_drop(standard);
        }
    }
}

control MriEgress(inout headers_t headers, inout metadata_t metadata,
                  inout standard_metadata_t standard) {
    action visit(bit<32> switch_number) {
        bit<32> depth = (bit<32>) standard.deq_qdepth;
        headers.visits.push_front(1);
        headers.visits[0].setValid();
        headers.visits[0].switch_number = switch_number;
        headers.visits[0].depth = depth;
        headers.inspection.count = headers.inspection.count + 1;
        headers.option.length = headers.option.length + 8;
        headers.ipv4.length = headers.ipv4.length + 8;
        // Two words more.
        headers.ipv4.ihl = headers.ipv4.ihl + 2;
        // The sum grows by 0x200 for the header's length, by 8 for each other length, by 1 for the
        // count, and by the record.
        bit<32> sum = (bit<32>) ~headers.ipv4.checksum + 0x200 + 8 + 8 + 1;
        sum = sum + (switch_number >> 16) + (switch_number & 0xffff);
        sum = sum + (depth >> 16) + (depth & 0xffff);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        headers.ipv4.checksum = ~(bit<16>) sum;
    }

    table identity {
        actions = { visit; }
        default_action = visit(0);
    }

    apply {
        if (headers.inspection.isValid() && headers.inspection.count < MOST_VISITS) {
            identity.apply();
        }
    }
}

control MriUpdate(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control MriDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.option);
        packet.emit(headers.inspection);
        packet.emit(headers.visits);
    }
}

V1Switch(MriParser(), MriVerify(), MriIngress(), MriEgress(), MriUpdate(), MriDeparser()) main;
