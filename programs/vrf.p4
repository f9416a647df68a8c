// A router with virtual routing tables whose control plane uses strings: the names of ports, of virtual routing tables
// (VRFs) and of next hops. The switch assigns each name a number, which is all that tables and packets contain.
//
// A packet gets a VRF by its ingress port and its MAC address, a next hop by the longest prefix of its address in this
// VRF, and a port and MAC addresses by its next hop. Packets without a route go to the controller.

#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("", string)
type bit<9> port_id_t;

// The empty string is the VRF of packets to which no entry of the table vrf_of assigns a VRF.
@p4runtime_translation("", string)
@p4runtime_translation_mappings({ {"", 0}, {"default", 1} })
type bit<10> vrf_id_t;

@p4runtime_translation("", string)
type bit<12> nexthop_id_t;

const bit<16> IPV4 = 0x0800;
const bit<9> CPU_PORT = 255;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> length;
    bit<16> identification;
    bit<16> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

@controller_header("packet_in")
header packet_in_t {
    port_id_t ingress_port;
    bit<7>    pad;
    vrf_id_t  vrf;
    bit<6>    reason;
}

@controller_header("packet_out")
header packet_out_t {
    port_id_t egress_port;
    bit<7>    pad;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    ipv4_t       ipv4;
}

struct meta_t {
    port_id_t    port;
    vrf_id_t     vrf;
    nexthop_id_t nexthop;
}

parser packet_parser(packet_in packet, out headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    state start {
        meta.port = (port_id_t) standard.ingress_port;
        meta.vrf = (vrf_id_t) 0;
        meta.nexthop = (nexthop_id_t) 0;
        transition select(standard.ingress_port) {
            CPU_PORT: of_controller;
            default: ethernet;
        }
    }
    state of_controller {
        packet.extract(headers.packet_out);
        transition accept;
    }
    state ethernet {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.type) {
            IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(headers.ipv4);
        transition accept;
    }
}

control verify_checksums(inout headers_t headers, inout meta_t meta) {
    apply { }
}

control ingress(inout headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    action set_vrf(vrf_id_t vrf) {
        meta.vrf = vrf;
    }
    table vrf_of {
        key = {
            meta.port: optional @name("port");
            headers.ethernet.src: ternary @name("src");
        }
        actions = { set_vrf; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 256;
    }

    action set_nexthop(nexthop_id_t nexthop) {
        meta.nexthop = nexthop;
    }
    action drop() {
        mark_to_drop(standard);
    }
    table routes {
        key = {
            meta.vrf: exact @name("vrf");
            headers.ipv4.dst: lpm @name("dst");
        }
        actions = { set_nexthop; drop; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 4096;
    }

    action forward(port_id_t port, bit<48> src, bit<48> dst) {
        standard.egress_spec = (bit<9>) port;
        headers.ethernet.src = src;
        headers.ethernet.dst = dst;
        headers.ipv4.ttl = headers.ipv4.ttl - 1;
    }
    table nexthops {
        key = { meta.nexthop: exact @name("nexthop"); }
        actions = { forward; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 1024;
    }

    apply {
        if (headers.packet_out.isValid()) {
            standard.egress_spec = (bit<9>) headers.packet_out.egress_port;
            headers.packet_out.setInvalid();
        } else if (headers.ipv4.isValid() && headers.ipv4.ttl > 1) {
            vrf_of.apply();
            // A switch may give any next hop the number 0, so the number alone does not say that there is a route.
            switch (routes.apply().action_run) {
                set_nexthop: {
                    nexthops.apply();
                }
                drop: { }
                default: {
                    standard.egress_spec = CPU_PORT;
                    headers.packet_in.setValid();
                    headers.packet_in.ingress_port = meta.port;
                    headers.packet_in.vrf = meta.vrf;
                    headers.packet_in.reason = 1;
                }
            }
        } else {
            mark_to_drop(standard);
        }
    }
}

control egress(inout headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    apply { }
}

control update_checksums(inout headers_t headers, inout meta_t meta) {
    apply {
        update_checksum(headers.ipv4.isValid(),
            { headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.tos, headers.ipv4.length,
              headers.ipv4.identification, headers.ipv4.fragment, headers.ipv4.ttl, headers.ipv4.protocol,
              headers.ipv4.src, headers.ipv4.dst },
            headers.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control packet_deparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.packet_in);
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
    }
}

V1Switch(packet_parser(), verify_checksums(), ingress(), egress(), update_checksums(), packet_deparser()) main;
