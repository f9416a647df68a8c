// A data-centre switch in the manner of SAI P4, the programs against which switches that run SONiC
// are tested: virtual routing tables (VRFs), admission to routing, IPv4 and IPv6 routes, weighted
// groups (WCMP), next hops, neighbours, router interfaces, tunnels, multicast, VLANs, access
// control lists and mirroring. The text and the layout of packets are this project's own.
//
// Controllers use strings for ports and for most identifiers, and the switch uses numbers.
// Constraints (@entry_restriction) and references (@refers_to) state which entries are valid.
//
// Ports have nine bits. With -D PORT_WIDTH=32 they have 32, and v1model's PortId_t is itself a
// type of strings, so that replicas and watched ports are strings as well. With -D QUEUES the queue
// of a packet is its priority in the switch.

#include <core.p4>
#include "middleblock/ports.p4"
#include "middleblock/types.p4"
#include "middleblock/headers.p4"
#include "middleblock/parser.p4"
#include "middleblock/vlan.p4"
#include "middleblock/tunnel.p4"
#include "middleblock/routing.p4"
#include "middleblock/acl_pre_ingress.p4"
#include "middleblock/acl_ingress.p4"
#include "middleblock/acl_egress.p4"
#include "middleblock/mirroring.p4"
#include "middleblock/rewrites.p4"

control ingress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply {
        // A packet that a loopback port sent counts as received at that port.
        if (standard.instance_type == RECIRCULATED) {
            meta.ingress_port = meta.loopback_port;
        } else {
            meta.ingress_port = (port_id_t) standard.ingress_port;
        }

        if (headers.packet_out.isValid() && headers.packet_out.is_routed == 0) {
            standard.egress_spec = (PortId_t) headers.packet_out.egress_port;
            headers.packet_out.setInvalid();
        } else {
            headers.packet_out.setInvalid();
            vlan_untagging.apply(headers, meta);
            pre_ingress_lists.apply(headers, meta);
            vlan_checks.apply(meta);
            tunnel_termination.apply(headers, meta);
            routing_admission.apply(headers, meta);
            routing_lookup.apply(headers, meta, standard);
            ingress_lists.apply(headers, meta, standard);
            routing_resolution.apply(headers, meta, standard);
            mirroring.apply(meta, standard);
        }
    }
}

control egress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply {
        meta.egress_port = (port_id_t) standard.egress_port;
        if (standard.instance_type == INGRESS_CLONE) {
            copies.apply(headers, meta, standard);
        } else {
            rewrites.apply(headers, meta, standard);
            egress_lists.apply(headers, meta, standard);
            loopback.apply(meta, standard);
        }
    }
}

V1Switch(
    packet_parser(),
    verify_checksums(),
    ingress(),
    egress(),
    update_checksums(),
    packet_deparser()) main;
