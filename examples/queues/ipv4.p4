// The parts that ecn.p4, codel.p4, pie.p4 and fair.p4 share: IPv4 headers with their ECN codepoint
// (RFC 3168), their checksum, and the output port. The last byte of the destination address is the
// port, so that the programs need no table entries.
#include <core.p4>
#include <v1model.p4>

// The ECN codepoints: a sender that understands marks sets ECT(0) or ECT(1), and a switch sets CE.
const bit<2> NOT_ECT = 0;
const bit<2> CE = 3;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> length;
    bit<16> identification;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t { }

parser Ipv4Parser(packet_in packet, out headers_t headers, inout metadata_t metadata,
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
        transition accept;
    }
}

control Ipv4Verify(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

// Sends a packet to the port that its destination names, and drops all others.
control ToPort(in headers_t headers, inout standard_metadata_t standard) {
    apply {
        if (headers.ipv4.isValid()) {
            standard.egress_spec = (bit<9>) headers.ipv4.destination[7:0];
        } else {
            mark_to_drop(standard);
        }
    }
}

control Ipv4Update(inout headers_t headers, inout metadata_t metadata) {
    apply {
        update_checksum(
            headers.ipv4.isValid(),
            {
                headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.dscp, headers.ipv4.ecn,
                headers.ipv4.length, headers.ipv4.identification, headers.ipv4.fragment,
                headers.ipv4.ttl, headers.ipv4.protocol, headers.ipv4.source,
                headers.ipv4.destination
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16);
    }
}

control Ipv4Deparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
    }
}
