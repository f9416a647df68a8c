// Forwards IPv4 packets by the longest prefix, for v1model, like a first exercise of the p4lang tutorials.

#include <core.p4>
#include <v1model.p4>

const bit<16> ETHER_TYPE_IPV4 = 0x0800;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> header_length;
    bit<8> type_of_service;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> time_to_live;
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

parser ForwardParser(
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
        packet.extract(headers.ipv4);
        transition accept;
    }
}

control ForwardVerify(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control ForwardIngress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    action drop() {
        mark_to_drop(standard);
    }

    action forward(bit<48> destination, bit<9> port) {
        standard.egress_spec = port;
        headers.ethernet.source = headers.ethernet.destination;
        headers.ethernet.destination = destination;
        headers.ipv4.time_to_live = headers.ipv4.time_to_live - 1;
    }

    table routes {
        key = { headers.ipv4.destination: lpm; }
        actions = { forward; drop; NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    apply {
        if (headers.ipv4.isValid() && headers.ipv4.time_to_live > 1) {
            routes.apply();
        } else {
            drop();
        }
    }
}

control ForwardEgress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply { }
}

control ForwardCompute(inout headers_t headers, inout metadata_t meta) {
    apply {
        update_checksum(
            headers.ipv4.isValid(),
            {
                headers.ipv4.version, headers.ipv4.header_length, headers.ipv4.type_of_service,
                headers.ipv4.total_length, headers.ipv4.identification, headers.ipv4.flags,
                headers.ipv4.fragment_offset, headers.ipv4.time_to_live, headers.ipv4.protocol,
                headers.ipv4.source, headers.ipv4.destination
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16);
    }
}

control ForwardDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
    }
}

V1Switch(
    ForwardParser(), ForwardVerify(), ForwardIngress(), ForwardEgress(), ForwardCompute(), ForwardDeparser()
) main;
