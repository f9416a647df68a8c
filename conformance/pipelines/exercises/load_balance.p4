// Connections to one address are spread over two hosts by a hash.

#include "common.p4"

struct headers {
    ethernet_t ethernet;
    ipv4_t ipv4;
    tcp_t tcp;
}

struct metadata {
    bit<14> chosen;
}

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
    action drop() {
        mark_to_drop(standard);
    }
    action choose(bit<16> first, bit<32> count) {
        hash(meta.chosen, HashAlgorithm.crc16, first,
            { hdr.ipv4.source, hdr.ipv4.destination, hdr.ipv4.protocol, hdr.tcp.source_port, hdr.tcp.destination_port },
            count);
    }
    action to_server(mac_t station, ipv4_address_t address, port_t port) {
        hdr.ethernet.destination = station;
        hdr.ipv4.destination = address;
        standard.egress_spec = port;
        hdr.ipv4.time_to_live = hdr.ipv4.time_to_live - 1;
    }
    table services {
        key = { hdr.ipv4.destination: lpm; }
        actions = { drop; choose; }
        size = 1024;
    }
    table servers {
        key = { meta.chosen: exact; }
        actions = { drop; to_server; }
        size = 2;
    }
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.time_to_live > 0) {
            services.apply();
            servers.apply();
        }
    }
}

control ExerciseEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action from_station(mac_t station) {
        hdr.ethernet.source = station;
    }
    action drop() {
        mark_to_drop(standard);
    }
    table from_port {
        key = { standard.egress_port: exact; }
        actions = { from_station; drop; }
        size = 256;
    }
    apply {
        from_port.apply();
    }
}

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
