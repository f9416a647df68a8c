// A program with an object of each kind that requirements need.

#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 255;
// The first EtherType for local experiments (IEEE 802).
const bit<16> EXPERIMENT = 0x88b5;

@controller_header("packet_in")
header packet_in_t {
    bit<9> port;
    bit<7> padding;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> port;
    bit<7> padding;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> length;
    bit<16> id;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
    @field_list(1) bit<16> class;
}

struct learned_t {
    bit<48> src;
    bit<9> port;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(4) types;
    state start {
        transition select(std.ingress_port) {
            CPU_PORT: from_controller;
            default: ethernet;
        }
    }
    state from_controller {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
            types: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    counter(8, CounterType.packets_and_bytes) ports;
    meter(8, MeterType.bytes) rates;
    register<bit<32>>(8) seen;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<32>>(MeterType.bytes) limits;
    @max_group_size(8) action_selector(HashAlgorithm.crc16, 32w64, 32w16) choices;
    bit<32> colour = 0;

    action drop() {
        mark_to_drop(std);
    }
    action forward(bit<9> port) {
        std.egress_spec = port;
    }
    action counted(bit<9> port) {
        hits.count();
        std.egress_spec = port;
    }
    action limited(bit<9> port) {
        limits.read(colour);
        std.egress_spec = port;
    }
    action classify(bit<16> class) {
        meta.class = class;
    }

    table exact_match {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; drop; @tableonly classify; @defaultonly NoAction; }
        default_action = NoAction();
        support_timeout = true;
        size = 1024;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { counted; forward; drop; }
        default_action = drop();
        counters = hits;
        size = 1024;
    }
    table filters {
        key = { hdr.ipv4.src: ternary; hdr.ipv4.protocol: optional; hdr.ipv4.length: range; }
        actions = { limited; forward; drop; }
        const default_action = drop();
        meters = limits;
        size = 1024;
    }
    table fixed {
        key = { hdr.ipv4.tos: exact; }
        actions = { classify; NoAction; }
        const default_action = NoAction();
        const entries = {
            0x10: classify(1);
            0x20: classify(2);
        }
    }
    table always {
        actions = { classify; NoAction; }
        default_action = NoAction();
    }
    table balanced {
        key = { hdr.ipv4.dst: exact; hdr.ipv4.src: selector; }
        actions = { forward; NoAction; }
        implementation = choices;
        size = 1024;
    }

    apply {
        ports.count((bit<32>) std.ingress_port);
        rates.execute_meter((bit<32>) std.ingress_port, colour);
        seen.write((bit<32>) std.ingress_port, colour);
        digest<learned_t>(1, { hdr.ethernet.src, std.ingress_port });
        exact_match.apply();
        if (hdr.ipv4.isValid()) {
            routes.apply();
            filters.apply();
            fixed.apply();
            balanced.apply();
        }
        always.apply();
        if (hdr.packet_out.isValid()) {
            std.egress_spec = hdr.packet_out.port;
        } else if (hdr.ethernet.type == EXPERIMENT) {
            hdr.packet_in.setValid();
            hdr.packet_in.port = std.ingress_port;
            std.egress_spec = CPU_PORT;
        }
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(Parse(), Verify(), MyIngress(), MyEgress(), Compute(), Deparse()) main;
