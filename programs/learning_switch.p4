// An Ethernet switch that learns the ports of stations, for v1model.
//
// The program sends a digest to the controller for every station that is unknown or has moved. The
// controller answers with one entry in `sources` and one in `destinations`.
// Frames to unknown stations go to the multicast group of all ports. No frame leaves by its ingress
// port.

#include <core.p4>
#include <v1model.p4>

typedef bit<9> port_t;
typedef bit<48> mac_t;

const bit<16> FLOOD_GROUP = 1;
const bit<32> LEARN_RECEIVER = 1;

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    port_t known_port;
}

struct learn_t {
    mac_t station;
    port_t port;
}

parser SwitchParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control SwitchIngress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    action at_port(port_t port) {
        meta.known_port = port;
    }

    table sources {
        key = { headers.ethernet.source: exact; }
        actions = { at_port; NoAction; }
        default_action = NoAction();
        size = 4096;
        support_timeout = true;
    }

    action forward(port_t port) {
        standard.egress_spec = port;
    }

    action flood() {
        standard.mcast_grp = FLOOD_GROUP;
    }

    table destinations {
        key = { headers.ethernet.destination: exact; }
        actions = { forward; flood; }
        default_action = flood();
        size = 4096;
    }

    apply {
        bool known = sources.apply().hit;
        if (!known || meta.known_port != standard.ingress_port) {
            digest<learn_t>(LEARN_RECEIVER, { headers.ethernet.source, standard.ingress_port });
        }
        destinations.apply();
    }
}

control SwitchEgress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply {
        if (standard.egress_port == standard.ingress_port) {
            mark_to_drop(standard);
        }
    }
}

control SwitchDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

control NoVerification(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control NoUpdate(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

V1Switch(
    SwitchParser(),
    NoVerification(),
    SwitchIngress(),
    SwitchEgress(),
    NoUpdate(),
    SwitchDeparser()) main;
