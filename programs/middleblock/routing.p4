// Routing: the admission of packets, the lookup of a next hop or group, and the resolution of the
// next hop to an egress port and MAC addresses.

control routing_admission(in headers_t headers, inout metadata_t meta) {
    action admit_to_l3() {
        meta.is_admitted = true;
    }

    // The MAC addresses of the switch. Packets to one of them are routed.
    @entry_restriction("
        // Packets to groups are admitted without an entry.
        dst_mac::mask == mac('ff:ff:ff:ff:ff:ff') -> dst_mac::value != mac('ff:ff:ff:ff:ff:ff');
    ")
    table l3_admit {
        key = {
            headers.ethernet.dst_mac: ternary @name("dst_mac") @id(1) @format(MAC_ADDRESS);
            meta.ingress_port: optional @name("in_port") @id(2);
        }
        actions = { admit_to_l3; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 64;
    }

    apply {
        l3_admit.apply();
    }
}

control routing_lookup(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    // Routes refer to the VRFs of this table, which has no effect on packets.
    @entry_restriction("
        // Packets without a VRF have this one, so it always exists.
        vrf_id != 0;
    ")
    table vrf {
        key = { meta.vrf_id: exact @name("vrf_id") @id(1); }
        actions = { NoAction; }
        const default_action = NoAction;
        size = 64;
    }

    action drop_route() {
        meta.is_dropped = true;
    }

    // A copy goes to the controllers, and the packet itself is dropped.
    action trap_route(@id(1) queue_id_t queue) {
        meta.is_dropped = true;
        meta.is_copied = true;
        meta.queue = queue;
    }

    action set_nexthop(@id(1) @refers_to(nexthop, nexthop_id) nexthop_id_t nexthop_id) {
        meta.has_nexthop = true;
        meta.nexthop_id = nexthop_id;
    }

    action set_nexthop_and_metadata(
        @id(1) @refers_to(nexthop, nexthop_id) nexthop_id_t nexthop_id,
        @id(2) route_metadata_t route_metadata)
    {
        meta.has_nexthop = true;
        meta.nexthop_id = nexthop_id;
        meta.route_metadata = route_metadata;
    }

    action set_wcmp_group(
        @id(1) @refers_to(wcmp_group, wcmp_group_id) wcmp_group_id_t wcmp_group_id)
    {
        meta.has_group = true;
        meta.wcmp_group_id = wcmp_group_id;
    }

    @entry_restriction("vrf_id != 0;")
    table ipv4 {
        key = {
            meta.vrf_id: exact @name("vrf_id") @id(1) @refers_to(vrf, vrf_id);
            headers.ipv4.dst_ip: lpm @name("dst_ip") @id(2) @format(IPV4_ADDRESS);
        }
        actions = {
            drop_route;
            trap_route;
            set_nexthop;
            set_nexthop_and_metadata;
            set_wcmp_group;
        }
        const default_action = drop_route;
        size = 65536;
    }

    @entry_restriction("vrf_id != 0;")
    table ipv6 {
        key = {
            meta.vrf_id: exact @name("vrf_id") @id(1) @refers_to(vrf, vrf_id);
            headers.ipv6.dst_ip: lpm @name("dst_ipv6") @id(2) @format(IPV6_ADDRESS);
        }
        actions = {
            drop_route;
            trap_route;
            set_nexthop;
            set_nexthop_and_metadata;
            set_wcmp_group;
        }
        const default_action = drop_route;
        size = 65536;
    }

    @action_restriction("
        // Group 0 would be none.
        multicast_group_id != 0;
    ")
    action set_multicast_group(
        @id(1) @refers_to(builtin::multicast_group_table, multicast_group_id)
        multicast_group_id_t multicast_group_id)
    {
        meta.multicast_group_id = multicast_group_id;
    }

    @entry_restriction("
        vrf_id != 0;
        // 224.0.0.0/4
        dst_ip >= ipv4('224.0.0.0');
        dst_ip < ipv4('240.0.0.0');
    ")
    table ipv4_multicast {
        key = {
            meta.vrf_id: exact @name("vrf_id") @id(1) @refers_to(vrf, vrf_id);
            headers.ipv4.dst_ip: exact @name("dst_ip") @id(2) @format(IPV4_ADDRESS);
        }
        actions = { set_multicast_group; @defaultonly drop_route; }
        const default_action = drop_route;
        size = 1600;
    }

    @entry_restriction("
        vrf_id != 0;
        // ff00::/8
        dst_ipv6 >= ipv6('ff00::');
    ")
    table ipv6_multicast {
        key = {
            meta.vrf_id: exact @name("vrf_id") @id(1) @refers_to(vrf, vrf_id);
            headers.ipv6.dst_ip: exact @name("dst_ipv6") @id(2) @format(IPV6_ADDRESS);
        }
        actions = { set_multicast_group; @defaultonly drop_route; }
        const default_action = drop_route;
        size = 1600;
    }

    apply {
        vrf.apply();
        if (headers.ipv4.isValid()) {
            if (standard.checksum_error == 1 || headers.ipv4.ihl != 5) {
                // The checksum is wrong, or the packet has options, so it is not routed.
                meta.is_dropped = true;
            } else if (headers.ipv4.src_ip[31:28] == 0xe || headers.ipv4.src_ip[31:24] == 127
                || headers.ipv4.dst_ip[31:24] == 127) {
                // The source is a multicast address, or source or destination is a loopback address.
                meta.is_dropped = true;
            } else if (headers.ipv4.dst_ip[31:28] == 0xe) {
                if (headers.ethernet.dst_mac[40:40] == 1) {
                    ipv4_multicast.apply();
                }
            } else if (meta.is_admitted) {
                ipv4.apply();
            }
        } else if (headers.ipv6.isValid()) {
            if (headers.ipv6.src_ip[127:120] == 0xff || headers.ipv6.src_ip == 1
                || headers.ipv6.dst_ip == 1) {
                meta.is_dropped = true;
            } else if (headers.ipv6.dst_ip[127:120] == 0xff) {
                if (headers.ethernet.dst_mac[40:40] == 1) {
                    ipv6_multicast.apply();
                }
            } else if (meta.is_admitted) {
                ipv6.apply();
            }
        }
    }
}

// Follows the route to a port: group, next hop, tunnel, neighbour, router interface.
control routing_resolution(
    in headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    bool is_sent = false;

    // Members are chosen by the low bits of flow_hash.
    @max_group_size(512)
    action_selector(HashAlgorithm.identity, 32w49152, 32w16) wcmp_selector;

    action set_member_nexthop(@id(1) @refers_to(nexthop, nexthop_id) nexthop_id_t nexthop_id) {
        meta.has_nexthop = true;
        meta.nexthop_id = nexthop_id;
    }

    @oneshot()
    table wcmp_group {
        key = {
            meta.wcmp_group_id: exact @name("wcmp_group_id") @id(1);
            meta.flow_hash: selector;
        }
        actions = { set_member_nexthop; @defaultonly NoAction; }
        const default_action = NoAction;
        implementation = wcmp_selector;
        size = 3968;
    }

    action set_ip_nexthop(
        @id(1)
        @refers_to(router_interface, router_interface_id)
        @refers_to(neighbor, router_interface_id)
        router_interface_id_t router_interface_id,
        @id(2) @format(IPV6_ADDRESS) @refers_to(neighbor, neighbor_id)
        ipv6_t neighbor_id)
    {
        meta.has_interface = true;
        meta.router_interface_id = router_interface_id;
        meta.neighbor_id = neighbor_id;
    }

    action set_tunnel_nexthop(@id(1) @refers_to(tunnel, tunnel_id) tunnel_id_t tunnel_id) {
        meta.has_tunnel = true;
        meta.tunnel_id = tunnel_id;
    }

    table nexthop {
        key = { meta.nexthop_id: exact @name("nexthop_id") @id(1); }
        actions = { set_ip_nexthop; set_tunnel_nexthop; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 1024;
    }

    // The neighbour of a tunnel is the other end of the tunnel.
    action encapsulate(
        @id(1) @format(IPV6_ADDRESS) ipv6_t src_ip,
        @id(2) @format(IPV6_ADDRESS) @refers_to(neighbor, neighbor_id) ipv6_t dst_ip,
        @id(3)
        @refers_to(router_interface, router_interface_id)
        @refers_to(neighbor, router_interface_id)
        router_interface_id_t router_interface_id)
    {
        meta.encapsulates = true;
        meta.tunnel_src_ip = src_ip;
        meta.tunnel_dst_ip = dst_ip;
        meta.has_interface = true;
        meta.router_interface_id = router_interface_id;
        meta.neighbor_id = dst_ip;
    }

    table tunnel {
        key = { meta.tunnel_id: exact @name("tunnel_id") @id(1); }
        actions = { encapsulate; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 512;
    }

    action set_dst_mac(@id(1) @format(MAC_ADDRESS) mac_t dst_mac) {
        meta.dst_mac = dst_mac;
    }

    // A neighbour is identified by an IPv6 address, often the link-local one of its MAC address.
    @entry_restriction("
        neighbor_id != 0;
    ")
    table neighbor {
        key = {
            meta.router_interface_id: exact @name("router_interface_id") @id(1)
                @refers_to(router_interface, router_interface_id);
            meta.neighbor_id: exact @name("neighbor_id") @id(2) @format(IPV6_ADDRESS);
        }
        actions = { set_dst_mac; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 1024;
    }

    action set_port_and_src_mac(
        @id(1) port_id_t port,
        @id(2) @format(MAC_ADDRESS) mac_t src_mac)
    {
        is_sent = true;
        standard.egress_spec = (PortId_t) port;
        meta.target_egress_port = port;
        meta.src_mac = src_mac;
    }

    @action_restriction("
        vlan_id != 0;
        vlan_id != 4095;
    ")
    action set_port_src_mac_and_vlan(
        @id(1) port_id_t port,
        @id(2) @format(MAC_ADDRESS) mac_t src_mac,
        @id(3) vlan_id_t vlan_id)
    {
        is_sent = true;
        standard.egress_spec = (PortId_t) port;
        meta.target_egress_port = port;
        meta.src_mac = src_mac;
        meta.egress_vlan_id = vlan_id;
    }

    table router_interface {
        key = { meta.router_interface_id: exact @name("router_interface_id") @id(1); }
        actions = { set_port_and_src_mac; set_port_src_mac_and_vlan; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 256;
    }

    apply {
        if (meta.has_group) {
            if (headers.ipv4.isValid()) {
                hash(meta.flow_hash, HashAlgorithm.crc32, 32w0,
                    { headers.ipv4.src_ip, headers.ipv4.dst_ip, meta.ip_protocol, meta.l4_src_port,
                      meta.l4_dst_port },
                    32w0x10000);
            } else {
                hash(meta.flow_hash, HashAlgorithm.crc32, 32w0,
                    { headers.ipv6.src_ip, headers.ipv6.dst_ip, headers.ipv6.flow_label,
                      meta.ip_protocol, meta.l4_src_port, meta.l4_dst_port },
                    32w0x10000);
            }
            wcmp_group.apply();
        }
        if (meta.has_nexthop) {
            nexthop.apply();
            if (meta.has_tunnel) {
                tunnel.apply();
            }
            // A packet whose TTL or hop limit expires at this switch is not forwarded.
            if (meta.has_interface && meta.ttl > 1) {
                if (neighbor.apply().hit) {
                    router_interface.apply();
                }
            }
        }
        if (meta.multicast_group_id != 0 && meta.ttl > 1) {
            is_sent = true;
            standard.mcast_grp = meta.multicast_group_id;
        }
        if (meta.is_dropped || !is_sent) {
            mark_to_drop(standard);
        }
    }
}
