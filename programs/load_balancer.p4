// Spreads the connections to one address over several servers, for v1model.
//
// An action selector chooses the server by a hash of the connection, so that all packets of a
// connection go to one server. Packets of the servers get the shared address as their source.

#include <core.p4>
#include <v1model.p4>

typedef bit<9> port_t;
typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> ether_type;
}

header ipv4_header_t {
    bit<4> version;
    bit<4> header_length;
    bit<8> traffic_class;
    bit<16> total_length;
    bit<16> identification;
    bit<16> fragments;
    bit<8> time_to_live;
    bit<8> protocol;
    bit<16> checksum;
    ipv4_t source;
    ipv4_t destination;
}

header udp_t {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_header_t ipv4;
    udp_t udp;
}

struct metadata_t { }

parser BalancerParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.header_length, headers.ipv4.protocol) {
            (5, 17): udp;
            default: accept;
        }
    }

    state udp {
        packet.extract(headers.udp);
        transition accept;
    }
}

control NoVerification(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control BalancerIngress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    @max_group_size(64)
    action_selector(HashAlgorithm.crc16, 32w256, 32w16) servers;

    action to_server(ipv4_t address, mac_t destination, port_t port) {
        headers.ipv4.destination = address;
        headers.ethernet.destination = destination;
        // The sender's checksum covers the replaced address, so the packet leaves without a checksum.
        headers.udp.checksum = 0;
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table services {
        key = {
            headers.ipv4.destination: exact;
            headers.udp.destination: exact;
            headers.ipv4.source: selector;
            headers.udp.source: selector;
            headers.ipv4.protocol: selector;
        }
        actions = { to_server; drop; }
        implementation = servers;
        size = 256;
    }

    action from_server(ipv4_t address, mac_t destination, port_t port) {
        headers.ipv4.source = address;
        headers.ethernet.destination = destination;
        headers.udp.checksum = 0;
        standard.egress_spec = port;
    }

    table answers {
        key = {
            headers.ipv4.source: ternary;
            headers.udp.source: exact;
        }
        actions = { from_server; drop; }
        default_action = drop();
        size = 256;
    }

    apply {
        if (!headers.udp.isValid()) {
            drop();
        } else if (!services.apply().hit) {
            answers.apply();
        }
    }
}

control BalancerEgress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply { }
}

control BalancerUpdate(inout headers_t headers, inout metadata_t meta) {
    apply {
        update_checksum(
            headers.ipv4.isValid(),
            {
                headers.ipv4.version,
                headers.ipv4.header_length,
                headers.ipv4.traffic_class,
                headers.ipv4.total_length,
                headers.ipv4.identification,
                headers.ipv4.fragments,
                headers.ipv4.time_to_live,
                headers.ipv4.protocol,
                headers.ipv4.source,
                headers.ipv4.destination
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16);
    }
}

control BalancerDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.udp);
    }
}

V1Switch(
    BalancerParser(),
    NoVerification(),
    BalancerIngress(),
    BalancerEgress(),
    BalancerUpdate(),
    BalancerDeparser()) main;
