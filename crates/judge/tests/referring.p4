// A program whose tables refer to each other, with keys and parameters that controllers write as
// strings or as numbers of another width.

#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("", string)
@p4runtime_translation_mappings({ {"", 0} })
type bit<10> domain_t;

@p4runtime_translation("", string)
type bit<10> hop_t;

@p4runtime_translation("", 32)
type bit<9> port_t;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    domain_t domain;
    hop_t hop;
    port_t port;
    bit<16> neighbor;
    bit<16> group;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    @max_group_size(4) action_selector(HashAlgorithm.crc16, 32w64, 32w16) choices;

    action drop() {
        mark_to_drop(std);
    }

    // Domains have no effect.
    @entry_restriction("domain != 0")
    table domains {
        key = { meta.domain: exact @name("domain"); }
        actions = { NoAction; }
        const default_action = NoAction;
        size = 64;
    }

    action leave(port_t port) {
        std.egress_spec = (bit<9>) port;
    }

    table interfaces {
        key = { meta.port: exact @name("interface"); }
        actions = { leave; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 64;
    }

    action rewrite(bit<48> address) {
        hdr.ethernet.dst = address;
    }

    @entry_restriction("neighbor != 0")
    table neighbors {
        key = {
            meta.port: exact @name("interface") @refers_to(interfaces, interface);
            meta.neighbor: exact @name("neighbor");
        }
        actions = { rewrite; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 64;
    }

    action to_neighbor(
        @refers_to(interfaces, interface) @refers_to(neighbors, interface) port_t interface,
        @refers_to(neighbors, neighbor) bit<16> neighbor)
    {
        meta.port = interface;
        meta.neighbor = neighbor;
    }

    table hops {
        key = { meta.hop: exact @name("hop"); }
        actions = { to_neighbor; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 64;
    }

    action to_hop(@refers_to(hops, hop) hop_t hop) {
        meta.hop = hop;
    }

    @action_restriction("group != 0")
    action to_group(
        @refers_to(builtin::multicast_group_table, multicast_group_id) bit<16> group)
    {
        std.mcast_grp = group;
    }

    @entry_restriction("domain != 0")
    table routes {
        key = {
            meta.domain: exact @name("domain") @refers_to(domains, domain);
            hdr.ethernet.dst: lpm @name("dst");
        }
        actions = { to_hop; to_group; drop; }
        const default_action = drop;
        size = 64;
    }

    table filters {
        key = {
            meta.hop: optional @name("hop") @refers_to(hops, hop);
            hdr.ethernet.type: ternary @name("type");
        }
        actions = { drop; NoAction; }
        const default_action = NoAction;
        size = 64;
    }

    table balanced {
        key = {
            meta.group: exact @name("group");
            hdr.ethernet.src: selector;
        }
        actions = { to_hop; @defaultonly NoAction; }
        const default_action = NoAction;
        implementation = choices;
        size = 64;
    }

    apply {
        domains.apply();
        routes.apply();
        balanced.apply();
        hops.apply();
        filters.apply();
        if (neighbors.apply().hit) {
            interfaces.apply();
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
    }
}

V1Switch(Parse(), Verify(), MyIngress(), MyEgress(), Compute(), Deparse()) main;
