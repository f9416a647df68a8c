// A program with constraints on entries and on arguments, for tables of all kinds.

#include <core.p4>
#include <v1model.p4>

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
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
    @field_list(1) bit<16> class;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
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
    @max_group_size(8) action_selector(HashAlgorithm.crc16, 32w64, 32w16) choices;

    action drop() {
        mark_to_drop(std);
    }
    @action_restriction("port != 0; port < 256")
    action forward(bit<9> port) {
        std.egress_spec = port;
    }
    @action_restriction("class >= 7 && class < other")
    action classify(bit<16> class, bit<16> other) {
        meta.class = class | other;
    }

    @entry_restriction("
        // An address belongs to IPv4.
        dst::mask != 0 -> type == 0x0800;
        protocol::mask == 0 || type == 0x0800;
        length::low >= 46 && length::high <= 1500;
        ::priority < 1000
    ")
    table filters {
        key = {
            hdr.ethernet.type: ternary @name("type");
            hdr.ipv4.dst: ternary @name("dst");
            hdr.ipv4.protocol: optional @name("protocol");
            hdr.ipv4.length: range @name("length");
        }
        actions = { forward; classify; drop; }
        default_action = drop();
        size = 1024;
    }
    @entry_restriction("addr::prefix_length >= 8; tos != 3")
    table routes {
        key = { hdr.ipv4.dst: lpm @name("addr"); hdr.ipv4.tos: exact @name("tos"); }
        actions = { forward; drop; }
        default_action = drop();
        size = 1024;
    }
    @entry_restriction("src != 0")
    table balanced {
        key = { hdr.ipv4.src: exact @name("src"); hdr.ipv4.dst: selector; }
        actions = { forward; }
        implementation = choices;
        size = 1024;
    }

    apply {
        filters.apply();
        if (hdr.ipv4.isValid()) {
            routes.apply();
            balanced.apply();
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
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(Parse(), Verify(), MyIngress(), MyEgress(), Compute(), Deparse()) main;
