// The changes that egress makes to a packet.

control rewrites(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    action set_multicast_src_mac(@id(1) @format(MAC_ADDRESS) mac_t src_mac) {
        meta.src_mac = src_mac;
        meta.egress_vlan_id = NO_VLAN;
    }

    @action_restriction("
        vlan_id != 0;
        vlan_id != 4095;
    ")
    action set_multicast_src_mac_and_vlan(
        @id(1) @format(MAC_ADDRESS) mac_t src_mac,
        @id(2) vlan_id_t vlan_id)
    {
        meta.src_mac = src_mac;
        meta.egress_vlan_id = vlan_id;
    }

    // The router interface of a replica of a multicast group.
    table multicast_rif {
        key = {
            meta.egress_port: exact @name("multicast_replica_port") @id(1);
            standard.egress_rid: exact @name("multicast_replica_instance") @id(2);
        }
        actions = {
            set_multicast_src_mac;
            set_multicast_src_mac_and_vlan;
            @defaultonly NoAction;
        }
        const default_action = NoAction;
        size = 110;
    }

    action decrement_ttl() {
        if (headers.ipv4.isValid()) {
            headers.ipv4.ttl = headers.ipv4.ttl - 1;
        } else {
            headers.ipv6.hop_limit = headers.ipv6.hop_limit - 1;
        }
    }

    apply {
        if (meta.multicast_group_id != 0) {
            if (multicast_rif.apply().hit) {
                // The destination address remains that of the multicast group.
                headers.ethernet.src_mac = meta.src_mac;
                decrement_ttl();
            } else {
                mark_to_drop(standard);
            }
        } else if (meta.has_interface) {
            headers.ethernet.src_mac = meta.src_mac;
            headers.ethernet.dst_mac = meta.dst_mac;
            decrement_ttl();
        }
        if (meta.encapsulates) {
            headers.tunnel_gre.setValid();
            headers.tunnel_gre.flags = 0;
            headers.tunnel_gre.version = 0;
            headers.tunnel_gre.protocol = headers.ethernet.ether_type;
            headers.tunnel_ipv6.setValid();
            headers.tunnel_ipv6.version = 6;
            headers.tunnel_ipv6.dscp = meta.dscp;
            headers.tunnel_ipv6.ecn = meta.ecn;
            headers.tunnel_ipv6.flow_label = 0;
            if (headers.ipv4.isValid()) {
                headers.tunnel_ipv6.payload_length = headers.ipv4.total_length + 4;
            } else {
                headers.tunnel_ipv6.payload_length = headers.ipv6.payload_length + 44;
            }
            headers.tunnel_ipv6.next_header = PROTOCOL_GRE;
            headers.tunnel_ipv6.hop_limit = 64;
            headers.tunnel_ipv6.src_ip = meta.tunnel_src_ip;
            headers.tunnel_ipv6.dst_ip = meta.tunnel_dst_ip;
            headers.ethernet.ether_type = TYPE_IPV6;
        }
        if (meta.egress_vlan_id != NO_VLAN) {
            headers.vlan.setValid();
            headers.vlan.priority = 0;
            headers.vlan.drop_eligible = 0;
            headers.vlan.vlan_id = meta.egress_vlan_id;
            headers.vlan.ether_type = headers.ethernet.ether_type;
            headers.ethernet.ether_type = TYPE_VLAN;
        }
    }
}

// Loopback ports: packets that such a port transmits are recirculated instead of leaving the switch.
control loopback(inout metadata_t meta, in standard_metadata_t standard) {
    action send_back() {
        meta.loopback_port = meta.egress_port;
        recirculate_preserving_field_list(KEPT_BY_LOOPBACK);
    }

    table port_loopback {
        key = { meta.egress_port: exact @name("out_port") @id(1); }
        actions = { send_back; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 64;
    }

    apply {
        port_loopback.apply();
    }
}
