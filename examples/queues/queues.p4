// The class selector of an IPv4 packet (RFC 2474) chooses the queue of the output port, and the
// packet leaves by the other of two ports.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<3> class_selector; bit<5> rest;
    bit<16> length; bit<16> identification; bit<16> fragment; bit<8> ttl; bit<8> protocol;
    bit<16> checksum; bit<32> source; bit<32> destination;
}
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; }
struct metadata_t { }

parser QueuesParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
                    inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 { packet.extract(headers.ipv4); transition accept; }
}
control QueuesVerify(inout headers_t headers, inout metadata_t metadata) { apply { } }
control QueuesIngress(inout headers_t headers, inout metadata_t metadata,
                      inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 3 - standard.ingress_port;
        if (headers.ipv4.isValid()) { standard.priority = headers.ipv4.class_selector; }
    }
}
control QueuesEgress(inout headers_t headers, inout metadata_t metadata,
                     inout standard_metadata_t standard) { apply { } }
control QueuesUpdate(inout headers_t headers, inout metadata_t metadata) { apply { } }
control QueuesDeparser(packet_out packet, in headers_t headers) { apply { packet.emit(headers); } }

V1Switch(QueuesParser(), QueuesVerify(), QueuesIngress(), QueuesEgress(), QueuesUpdate(),
         QueuesDeparser()) main;
