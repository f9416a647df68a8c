// Ethernet forwarding by rules that a controller installs, for v1model.
//
// A packet that matches no rule goes to the controller, once the controller has made send_to_cpu
// the default action. A packet-out goes to one port or, with FLOOD_PORT, to the ports of
// FLOOD_GROUP. No packet leaves by its ingress port, so that the controller can flood without a
// group for each port.
//
// Compile for BMv2:
//
//     p4c --target bmv2 --arch v1model --std p4-16 --p4runtime-files l2.p4info.txtpb l2.p4
//
// Check the program and write only its P4Info:
//
//     planimeter compile --p4info l2.p4info.txtpb l2.p4

#include <core.p4>
#include <v1model.p4>

typedef bit<9> port_t;
typedef bit<48> mac_t;

// simple_switch_grpc --cpu-port 255
const port_t CPU_PORT = 255;
const port_t FLOOD_PORT = 508;
const bit<16> FLOOD_GROUP = 1;

@controller_header("packet_in")
@id(0x04000001)
header packet_in_t {
    @id(1) port_t ingress_port;
    @id(2) bit<7> _pad;
}

@controller_header("packet_out")
@id(0x04000002)
header packet_out_t {
    @id(1) port_t egress_port;
    // The ingress port of the packet when the switch sent it to the controller.
    @id(2) port_t ingress_port;
    @id(3) bit<6> _pad;
}

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> ether_type;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
}

struct metadata_t {
    port_t arrived_by;
}

parser L2Parser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: from_controller;
            default: ethernet;
        }
    }

    state from_controller {
        packet.extract(headers.packet_out);
        transition ethernet;
    }

    state ethernet {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control L2Ingress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    @id(0x13000001)
    direct_counter(CounterType.packets_and_bytes) l2_counter;

    @id(0x01000001)
    action set_egress_port(@id(1) port_t port) {
        standard.egress_spec = port;
    }

    @id(0x01000002)
    action send_to_cpu() {
        standard.egress_spec = CPU_PORT;
        headers.packet_in.setValid();
        headers.packet_in.ingress_port = standard.ingress_port;
        headers.packet_in._pad = 0;
    }

    @id(0x01000003)
    action drop() {
        mark_to_drop(standard);
    }

    @id(0x02000001)
    table l2 {
        key = {
            standard.ingress_port: ternary @id(1) @name("in_port");
            headers.ethernet.source: ternary @id(2) @name("eth_src");
            headers.ethernet.destination: ternary @id(3) @name("eth_dst");
            headers.ethernet.ether_type: ternary @id(4) @name("eth_type");
        }
        actions = {
            set_egress_port;
            send_to_cpu;
            drop;
        }
        default_action = drop();
        counters = l2_counter;
        size = 65536;
        support_timeout = true;
    }

    apply {
        if (headers.packet_out.isValid()) {
            meta.arrived_by = headers.packet_out.ingress_port;
            if (headers.packet_out.egress_port == FLOOD_PORT) {
                standard.mcast_grp = FLOOD_GROUP;
            } else {
                standard.egress_spec = headers.packet_out.egress_port;
            }
            headers.packet_out.setInvalid();
        } else {
            meta.arrived_by = standard.ingress_port;
            l2.apply();
        }
    }
}

control L2Egress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply {
        if (standard.egress_port == meta.arrived_by) {
            mark_to_drop(standard);
        }
    }
}

control L2Deparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.packet_in);
        packet.emit(headers.ethernet);
    }
}

control NoVerification(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control NoUpdate(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

@pkginfo(name="l2", version="1", organization="Planimeter")
@brief("Ethernet forwarding by rules that a controller installs")
V1Switch(L2Parser(), NoVerification(), L2Ingress(), L2Egress(), NoUpdate(), L2Deparser()) main;
