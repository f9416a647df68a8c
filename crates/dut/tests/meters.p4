// A switch with two meters, for v1model: a direct meter of bytes, which marks yellow packets and
// drops red ones, and an indirect meter of packets, whose red packets a table may drop.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    bit<2> bytes_colour;
    bit<2> packets_colour;
}

parser MeterParser(
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

control NoVerification(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control MeterIngress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    direct_meter<bit<2>>(MeterType.bytes) by_entry;
    meter(32w32, MeterType.packets) by_cell;

    action drop() {
        mark_to_drop(standard);
    }

    action forward(bit<9> port, bit<32> cell) {
        standard.egress_spec = port;
        by_entry.read(meta.bytes_colour);
        by_cell.execute_meter(cell, meta.packets_colour);
    }

    table addresses {
        key = { headers.ethernet.destination: exact; }
        actions = { forward; drop; }
        default_action = drop();
        meters = by_entry;
        size = 64;
    }

    table colours {
        key = { meta.packets_colour: exact; }
        actions = { drop; NoAction; }
        default_action = NoAction();
        size = 4;
    }

    apply {
        addresses.apply();
        if (meta.bytes_colour == 1) {
            headers.ethernet.source = 0x02_00_00_00_00_59;
        } else if (meta.bytes_colour == 2) {
            drop();
        }
        colours.apply();
    }
}

control MeterEgress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply { }
}

control NoUpdate(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control MeterDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

V1Switch(
    MeterParser(),
    NoVerification(),
    MeterIngress(),
    MeterEgress(),
    NoUpdate(),
    MeterDeparser()) main;
