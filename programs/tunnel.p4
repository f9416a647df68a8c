// A tunnel over an Ethernet fabric, for PSA.
//
// The first switch adds a tunnel header to IPv4 packets, with a number that stands for the last
// switch. Switches in between forward by this number alone, and the last switch removes the header.
// The header makes frames six bytes longer.

#include <core.p4>
#include <psa.p4>

typedef bit<48> mac_t;

const bit<16> ETHER_TYPE_IPV4 = 0x0800;
const bit<16> ETHER_TYPE_TUNNEL = 0x88b5;

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> ether_type;
}

header tunnel_t {
    bit<16> inner_type;
    bit<32> far_end;
}

header ipv4_t {
    bit<64> before_addresses;
    bit<8> time_to_live;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    ethernet_t ethernet;
    tunnel_t tunnel;
    ipv4_t ipv4;
}

struct metadata_t { }
struct empty_t { }

parser TunnelParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    in psa_ingress_parser_input_metadata_t istd,
    in empty_t resubmitted,
    in empty_t recirculated)
{
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_TUNNEL: tunnel;
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state tunnel {
        packet.extract(headers.tunnel);
        transition select(headers.tunnel.inner_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition accept;
    }
}

control TunnelIngress(
    inout headers_t headers,
    inout metadata_t meta,
    in psa_ingress_input_metadata_t istd,
    inout psa_ingress_output_metadata_t ostd)
{
    DirectCounter<bit<64>>(PSA_CounterType_t.PACKETS_AND_BYTES) per_tunnel;

    action drop() {
        ingress_drop(ostd);
    }

    action enter(bit<32> far_end, PortId_t port) {
        headers.tunnel.setValid();
        headers.tunnel.inner_type = headers.ethernet.ether_type;
        headers.tunnel.far_end = far_end;
        headers.ethernet.ether_type = ETHER_TYPE_TUNNEL;
        send_to_port(ostd, port);
    }

    table entrances {
        key = { headers.ipv4.destination: lpm; }
        actions = { enter; drop; }
        default_action = drop();
        size = 1024;
    }

    action forward(PortId_t port) {
        per_tunnel.count();
        send_to_port(ostd, port);
    }

    action leave(mac_t destination, PortId_t port) {
        per_tunnel.count();
        headers.ethernet.destination = destination;
        headers.ethernet.ether_type = headers.tunnel.inner_type;
        headers.tunnel.setInvalid();
        send_to_port(ostd, port);
    }

    table tunnels {
        key = { headers.tunnel.far_end: exact; }
        actions = { forward; leave; drop; }
        default_action = drop();
        psa_direct_counter = per_tunnel;
        size = 4096;
    }

    apply {
        if (headers.tunnel.isValid()) {
            tunnels.apply();
        } else if (headers.ipv4.isValid()) {
            entrances.apply();
        } else {
            drop();
        }
    }
}

control TunnelIngressDeparser(
    packet_out packet,
    out empty_t cloned,
    out empty_t resubmitted,
    out empty_t normal,
    inout headers_t headers,
    in metadata_t meta,
    in psa_ingress_output_metadata_t istd)
{
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.tunnel);
        packet.emit(headers.ipv4);
    }
}

parser TunnelEgressParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    in psa_egress_parser_input_metadata_t istd,
    in empty_t normal,
    in empty_t cloned_in_ingress,
    in empty_t cloned_in_egress)
{
    state start {
        transition accept;
    }
}

control TunnelEgress(
    inout headers_t headers,
    inout metadata_t meta,
    in psa_egress_input_metadata_t istd,
    inout psa_egress_output_metadata_t ostd)
{
    apply { }
}

control TunnelEgressDeparser(
    packet_out packet,
    out empty_t cloned,
    out empty_t recirculated,
    inout headers_t headers,
    in metadata_t meta,
    in psa_egress_output_metadata_t istd,
    in psa_egress_deparser_input_metadata_t edstd)
{
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.tunnel);
        packet.emit(headers.ipv4);
    }
}

IngressPipeline(TunnelParser(), TunnelIngress(), TunnelIngressDeparser()) ingress;

EgressPipeline(TunnelEgressParser(), TunnelEgress(), TunnelEgressDeparser()) egress;

PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
