// An IPv4 router, for v1model: longest prefix match, next hops, TTL and header checksum.
//
// Packets with a wrong checksum are dropped and counted. A packet whose TTL expires at this router
// goes to the controller, which answers with ICMP.

#include <core.p4>
#include <v1model.p4>

typedef bit<9> port_t;
typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

const bit<16> ETHER_TYPE_IPV4 = 0x0800;
const port_t CPU_PORT = 255;

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
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> time_to_live;
    bit<8> protocol;
    bit<16> checksum;
    ipv4_t source;
    ipv4_t destination;
    varbit<320> options;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_header_t ipv4;
}

struct metadata_t {
    ipv4_t next_hop;
}

error {
    BadIpv4Header
}

parser RouterParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        bit<8> first = packet.lookahead<bit<8>>();
        verify(first[7:4] == 4 && first[3:0] >= 5, error.BadIpv4Header);
        packet.extract(headers.ipv4, (bit<32>) (first[3:0] - 5) * 32);
        transition accept;
    }
}

control RouterVerification(inout headers_t headers, inout metadata_t meta) {
    apply {
        verify_checksum(
            headers.ipv4.isValid(),
            {
                headers.ipv4.version,
                headers.ipv4.header_length,
                headers.ipv4.traffic_class,
                headers.ipv4.total_length,
                headers.ipv4.identification,
                headers.ipv4.flags,
                headers.ipv4.fragment_offset,
                headers.ipv4.time_to_live,
                headers.ipv4.protocol,
                headers.ipv4.source,
                headers.ipv4.destination,
                headers.ipv4.options
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16);
    }
}

control RouterIngress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    counter(3, CounterType.packets) dropped;
    direct_counter(CounterType.packets_and_bytes) per_route;

    action drop() {
        mark_to_drop(standard);
    }

    action to_controller() {
        standard.egress_spec = CPU_PORT;
    }

    action via(ipv4_t next_hop, port_t port) {
        meta.next_hop = next_hop;
        standard.egress_spec = port;
        per_route.count();
    }

    action connected(port_t port) {
        meta.next_hop = headers.ipv4.destination;
        standard.egress_spec = port;
        per_route.count();
    }

    table routes {
        key = { headers.ipv4.destination: lpm; }
        actions = { via; connected; to_controller; drop; }
        default_action = drop();
        counters = per_route;
        size = 1024;
    }

    action to_neighbour(mac_t destination) {
        headers.ethernet.destination = destination;
        headers.ipv4.time_to_live = headers.ipv4.time_to_live - 1;
    }

    table neighbours {
        key = { meta.next_hop: exact; }
        actions = { to_neighbour; to_controller; }
        default_action = to_controller();
        size = 1024;
    }

    apply {
        if (!headers.ipv4.isValid() || standard.parser_error != error.NoError) {
            dropped.count(0);
            drop();
        } else if (standard.checksum_error == 1) {
            dropped.count(1);
            drop();
        } else if (headers.ipv4.time_to_live <= 1) {
            dropped.count(2);
            to_controller();
        } else {
            switch (routes.apply().action_run) {
                via:
                connected: {
                    neighbours.apply();
                }
            }
        }
    }
}

control RouterEgress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    action from_interface(mac_t source) {
        headers.ethernet.source = source;
    }

    table interfaces {
        key = { standard.egress_port: exact; }
        actions = { from_interface; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    apply {
        interfaces.apply();
    }
}

control RouterUpdate(inout headers_t headers, inout metadata_t meta) {
    apply {
        update_checksum(
            headers.ipv4.isValid(),
            {
                headers.ipv4.version,
                headers.ipv4.header_length,
                headers.ipv4.traffic_class,
                headers.ipv4.total_length,
                headers.ipv4.identification,
                headers.ipv4.flags,
                headers.ipv4.fragment_offset,
                headers.ipv4.time_to_live,
                headers.ipv4.protocol,
                headers.ipv4.source,
                headers.ipv4.destination,
                headers.ipv4.options
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
    }
}

V1Switch(
    RouterParser(),
    RouterVerification(),
    RouterIngress(),
    RouterEgress(),
    RouterUpdate(),
    RouterDeparser()) main;
