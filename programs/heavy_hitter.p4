// Counts the packets of each flow in the flow's own table entry, for PNA.
//
// The first packet of a flow adds the entry, and every further packet increments its counter
// (@__ref). Packets of flows with more packets than the control plane allows leave by another port.

#include <core.p4>
#include <pna.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<72> before_protocol;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
    bit<32> packets;
    bit<32> most;
}

struct flow_t {
    bit<32> packets;
}

parser HitterParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    in pna_main_parser_input_metadata_t istd)
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
        transition accept;
    }
}

control HitterControl(
    inout headers_t headers,
    inout metadata_t meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd)
{
    action count(@__ref bit<32> packets) {
        packets = packets |+| 1;
        meta.packets = packets;
    }

    action first() {
        meta.packets = 1;
        add_entry(
            action_name = "count",
            action_params = (flow_t) { packets = 1 },
            expire_time_profile_id = (ExpireTimeProfileId_t) 0);
    }

    @tableconfig(store = "dynamic", impl = "dpdk", synced = true)
    table flows {
        key = {
            headers.ipv4.source: exact;
            headers.ipv4.destination: exact;
            headers.ipv4.protocol: exact;
        }
        actions = { @tableonly count; @defaultonly first; }
        const default_action = first();
        add_on_miss = true;
        size = 65536;
    }

    action allow(bit<32> most) {
        meta.most = most;
    }

    table allowance {
        actions = { allow; }
        default_action = allow(1000);
    }

    action to(PortId_t normal, PortId_t heavy) {
        if (meta.packets > meta.most) {
            send_to_port(heavy);
        } else {
            send_to_port(normal);
        }
    }

    action drop() {
        drop_packet();
    }

    table ports {
        key = { istd.input_port: exact; }
        actions = { to; drop; }
        default_action = drop();
        size = 64;
    }

    apply {
        if (headers.ipv4.isValid()) {
            flows.apply();
            allowance.apply();
            ports.apply();
        } else {
            drop();
        }
    }
}

control HitterDeparser(
    packet_out packet,
    in headers_t headers,
    in metadata_t meta,
    in pna_main_output_metadata_t ostd)
{
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
    }
}

PNA_NIC(HitterParser(), HitterControl(), HitterDeparser()) main;
