// A firewall: only hosts inside may open connections, which a Bloom filter in two registers stores.

#include "common.p4"

#define FILTER_ENTRIES 4096
#define FILTER_WIDTH 1

struct headers {
    ethernet_t ethernet;
    ipv4_t ipv4;
    tcp_t tcp;
}

struct metadata { }

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
        transition select(hdr.ipv4.protocol) {
            PROTOCOL_TCP: parse_tcp;
            default: accept;
        }
    }
    state parse_tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }
}

control NoVerification(inout headers hdr, inout metadata meta) { apply { } }

control ExerciseIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    register<bit<FILTER_WIDTH>>(FILTER_ENTRIES) seen_by_crc16;
    register<bit<FILTER_WIDTH>>(FILTER_ENTRIES) seen_by_crc32;
    bit<32> at_crc16;
    bit<32> at_crc32;
    bit<FILTER_WIDTH> known_by_crc16;
    bit<FILTER_WIDTH> known_by_crc32;
    bit<1> side;

    IPV4_FORWARDING

    action locate(ipv4_address_t one, ipv4_address_t other, bit<16> port1, bit<16> port2) {
        hash(at_crc16, HashAlgorithm.crc16, (bit<32>) 0, { one, other, port1, port2, hdr.ipv4.protocol },
            (bit<32>) FILTER_ENTRIES);
        hash(at_crc32, HashAlgorithm.crc32, (bit<32>) 0, { one, other, port1, port2, hdr.ipv4.protocol },
            (bit<32>) FILTER_ENTRIES);
    }
    action set_side(bit<1> dir) {
        side = dir;
    }
    table sides {
        key = {
            standard.ingress_port: exact;
            standard.egress_spec: exact;
        }
        actions = { set_side; NoAction; }
        size = 1024;
        default_action = NoAction();
    }
    apply {
        if (hdr.ipv4.isValid()) {
            routes.apply();
            if (hdr.tcp.isValid()) {
                side = 0;
                if (sides.apply().hit) {
                    if (side == 0) {
                        locate(hdr.ipv4.source, hdr.ipv4.destination, hdr.tcp.source_port, hdr.tcp.destination_port);
                        if (hdr.tcp.flags & 2 == 2) {
                            seen_by_crc16.write(at_crc16, 1);
                            seen_by_crc32.write(at_crc32, 1);
                        }
                    } else {
                        locate(hdr.ipv4.destination, hdr.ipv4.source, hdr.tcp.destination_port, hdr.tcp.source_port);
                        seen_by_crc16.read(known_by_crc16, at_crc16);
                        seen_by_crc32.read(known_by_crc32, at_crc32);
                        if (known_by_crc16 != 1 || known_by_crc32 != 1) {
                            drop();
                        }
                    }
                }
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
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
    }
}

V1Switch(ExerciseParser(), NoVerification(), ExerciseIngress(), ExerciseEgress(), Update(), ExerciseDeparser()) main;
