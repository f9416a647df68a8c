// The access control lists after routing. They forward, drop, count and redirect packets, copy them
// to the controllers, mirror them, and set their priority.

control ingress_lists(
    in headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    direct_counter(CounterType.packets_and_bytes) ingress_counter;
    direct_counter(CounterType.packets_and_bytes) security_counter;
    direct_counter(CounterType.packets_and_bytes) counting_counter;
    direct_counter(CounterType.packets_and_bytes) qos_counter;
    direct_counter(CounterType.packets_and_bytes) redirect_counter;
    direct_meter<bit<2>>(MeterType.bytes) ingress_meter;

    // No copy is made beyond the rate of the entry's meter. The packet itself is forwarded.
    action acl_copy(@id(1) queue_id_t queue) {
        ingress_counter.count();
        ingress_meter.read(meta.color);
        meta.is_copied = meta.color != RED;
        meta.queue = queue;
    }

    action acl_trap(@id(1) queue_id_t queue) {
        ingress_counter.count();
        ingress_meter.read(meta.color);
        meta.is_copied = meta.color != RED;
        meta.queue = queue;
        meta.is_dropped = true;
    }

    // Packets beyond the rate of the entry's meter are dropped.
    action acl_forward() {
        ingress_counter.count();
        ingress_meter.read(meta.color);
        if (meta.color == RED) {
            meta.is_dropped = true;
        }
    }

    action acl_mirror(
        @id(1) @refers_to(mirror_session, mirror_session_id) mirror_session_id_t mirror_session_id)
    {
        ingress_counter.count();
        ingress_meter.read(meta.color);
        meta.is_mirrored = true;
        meta.mirror_session_id = mirror_session_id;
    }

    action acl_drop() {
        ingress_counter.count();
        ingress_meter.read(meta.color);
        meta.is_dropped = true;
    }

    @entry_restriction("
        // Each address only of packets that have it.
        src_ip::mask != 0 -> is_ipv4 == 1;
        dst_ip::mask != 0 -> is_ipv4 == 1;
        src_ipv6::mask != 0 -> is_ipv6 == 1;
        dst_ipv6::mask != 0 -> is_ipv6 == 1;
        // Fields of IP only of packets of IP.
        ttl::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        dscp::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        ecn::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        ip_protocol::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        // Ports only of TCP and UDP, and types only of ICMP.
        l4_src_port::mask != 0 -> (ip_protocol == 6 || ip_protocol == 17);
        l4_dst_port::mask != 0 -> (ip_protocol == 6 || ip_protocol == 17);
        icmp_type::mask != 0 -> (ip_protocol == 1 || ip_protocol == 58);
        arp_target_ip::mask != 0 -> ether_type == 0x0806;
        // The types of IP are what is_ipv4 and is_ipv6 are for.
        ether_type != 0x0800;
        ether_type != 0x86dd;
        // Packets that are not of IP are matched by their type, if at all.
        is_ip::mask != 0 -> is_ip == 1;
        is_ipv4::mask != 0 -> is_ipv4 == 1;
        is_ipv6::mask != 0 -> is_ipv6 == 1;
        !(is_ipv4 == 1 && is_ipv6 == 1);
    ")
    table acl_ingress {
        key = {
            (headers.ipv4.isValid() || headers.ipv6.isValid()): optional @name("is_ip") @id(1);
            headers.ipv4.isValid(): optional @name("is_ipv4") @id(2);
            headers.ipv6.isValid(): optional @name("is_ipv6") @id(3);
            headers.ethernet.ether_type: ternary @name("ether_type") @id(4) @format(HEX_STRING);
            headers.ethernet.src_mac: ternary @name("src_mac") @id(5) @format(MAC_ADDRESS);
            headers.ethernet.dst_mac: ternary @name("dst_mac") @id(6) @format(MAC_ADDRESS);
            headers.ipv4.src_ip: ternary @name("src_ip") @id(7) @format(IPV4_ADDRESS);
            headers.ipv4.dst_ip: ternary @name("dst_ip") @id(8) @format(IPV4_ADDRESS);
            headers.ipv6.src_ip[127:64]: ternary @name("src_ipv6") @id(9);
            headers.ipv6.dst_ip[127:64]: ternary @name("dst_ipv6") @id(10);
            meta.ttl: ternary @name("ttl") @id(11);
            meta.dscp: ternary @name("dscp") @id(12);
            meta.ecn: ternary @name("ecn") @id(13);
            meta.ip_protocol: ternary @name("ip_protocol") @id(14);
            headers.icmp.type: ternary @name("icmp_type") @id(15);
            meta.l4_src_port: ternary @name("l4_src_port") @id(16);
            meta.l4_dst_port: ternary @name("l4_dst_port") @id(17);
            headers.arp.target_ip: ternary @name("arp_target_ip") @id(18) @format(IPV4_ADDRESS);
            meta.ingress_port: optional @name("in_port") @id(19);
            meta.acl_metadata: ternary @name("acl_metadata") @id(20);
            meta.route_metadata: ternary @name("route_metadata") @id(21);
        }
        actions = { acl_copy; acl_trap; acl_forward; acl_mirror; acl_drop; @defaultonly NoAction; }
        const default_action = NoAction;
        counters = ingress_counter;
        meters = ingress_meter;
        size = 512;
    }

    action acl_permit() {
        security_counter.count();
    }

    action acl_deny() {
        security_counter.count();
        meta.is_dropped = true;
    }

    @entry_restriction("
        // Each address only of packets that have it.
        src_ip::mask != 0 -> is_ipv4 == 1;
        dst_ip::mask != 0 -> is_ipv4 == 1;
        src_ipv6::mask != 0 -> is_ipv6 == 1;
        dst_ipv6::mask != 0 -> is_ipv6 == 1;
        // Fields of IP only of packets of IP.
        ip_protocol::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        // Ports only of TCP and UDP, and types only of ICMP.
        l4_src_port::mask != 0 -> (ip_protocol == 6 || ip_protocol == 17);
        l4_dst_port::mask != 0 -> (ip_protocol == 6 || ip_protocol == 17);
        icmp_type::mask != 0 -> (ip_protocol == 1 || ip_protocol == 58);
        // The types of IP are what is_ipv4 and is_ipv6 are for.
        ether_type != 0x0800;
        ether_type != 0x86dd;
        // Packets that are not of IP are matched by their type, if at all.
        is_ip::mask != 0 -> is_ip == 1;
        is_ipv4::mask != 0 -> is_ipv4 == 1;
        is_ipv6::mask != 0 -> is_ipv6 == 1;
        !(is_ipv4 == 1 && is_ipv6 == 1);
    ")
    table acl_security {
        key = {
            (headers.ipv4.isValid() || headers.ipv6.isValid()): optional @name("is_ip") @id(1);
            headers.ipv4.isValid(): optional @name("is_ipv4") @id(2);
            headers.ipv6.isValid(): optional @name("is_ipv6") @id(3);
            headers.ethernet.ether_type: ternary @name("ether_type") @id(4) @format(HEX_STRING);
            headers.ethernet.src_mac: ternary @name("src_mac") @id(5) @format(MAC_ADDRESS);
            headers.ethernet.dst_mac: ternary @name("dst_mac") @id(6) @format(MAC_ADDRESS);
            headers.ipv4.src_ip: ternary @name("src_ip") @id(7) @format(IPV4_ADDRESS);
            headers.ipv4.dst_ip: ternary @name("dst_ip") @id(8) @format(IPV4_ADDRESS);
            headers.ipv6.src_ip[127:64]: ternary @name("src_ipv6") @id(9);
            headers.ipv6.dst_ip[127:64]: ternary @name("dst_ipv6") @id(10);
            meta.ip_protocol: ternary @name("ip_protocol") @id(11);
            headers.icmp.type: ternary @name("icmp_type") @id(12);
            meta.l4_src_port: ternary @name("l4_src_port") @id(13);
            meta.l4_dst_port: ternary @name("l4_dst_port") @id(14);
            meta.ingress_port: optional @name("in_port") @id(15);
            meta.vlan_id: ternary @name("vlan_id") @id(16);
            meta.acl_metadata: ternary @name("acl_metadata") @id(17);
        }
        actions = { acl_permit; acl_deny; @defaultonly NoAction; }
        const default_action = NoAction;
        counters = security_counter;
        size = 256;
    }

    action acl_count() {
        counting_counter.count();
    }

    @entry_restriction("
        // Each address only of packets that have it.
        src_ip::mask != 0 -> is_ipv4 == 1;
        dst_ip::mask != 0 -> is_ipv4 == 1;
        src_ipv6::mask != 0 -> is_ipv6 == 1;
        dst_ipv6::mask != 0 -> is_ipv6 == 1;
        // Fields of IP only of packets of IP.
        dscp::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        ecn::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        ip_protocol::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        // Ports only of TCP and UDP.
        l4_src_port::mask != 0 -> (ip_protocol == 6 || ip_protocol == 17);
        l4_dst_port::mask != 0 -> (ip_protocol == 6 || ip_protocol == 17);
        // Packets that are not of IP are matched by their type, if at all.
        is_ip::mask != 0 -> is_ip == 1;
        is_ipv4::mask != 0 -> is_ipv4 == 1;
        is_ipv6::mask != 0 -> is_ipv6 == 1;
        !(is_ipv4 == 1 && is_ipv6 == 1);
    ")
    table acl_counting {
        key = {
            (headers.ipv4.isValid() || headers.ipv6.isValid()): optional @name("is_ip") @id(1);
            headers.ipv4.isValid(): optional @name("is_ipv4") @id(2);
            headers.ipv6.isValid(): optional @name("is_ipv6") @id(3);
            headers.ipv4.src_ip: ternary @name("src_ip") @id(4) @format(IPV4_ADDRESS);
            headers.ipv4.dst_ip: ternary @name("dst_ip") @id(5) @format(IPV4_ADDRESS);
            headers.ipv6.src_ip[127:64]: ternary @name("src_ipv6") @id(6);
            headers.ipv6.dst_ip[127:64]: ternary @name("dst_ipv6") @id(7);
            meta.dscp: ternary @name("dscp") @id(8);
            meta.ecn: ternary @name("ecn") @id(9);
            meta.ip_protocol: ternary @name("ip_protocol") @id(10);
            meta.l4_src_port: ternary @name("l4_src_port") @id(11);
            meta.l4_dst_port: ternary @name("l4_dst_port") @id(12);
            meta.ingress_port: optional @name("in_port") @id(13);
            meta.route_metadata: ternary @name("route_metadata") @id(14);
        }
        actions = { acl_count; @defaultonly NoAction; }
        const default_action = NoAction;
        counters = counting_counter;
        size = 256;
    }

    action set_queue(@id(1) queue_id_t queue) {
        qos_counter.count();
        meta.queue = queue;
#ifdef QUEUES
        standard.priority = ((bit<6>) queue)[2:0];
#endif
    }

    @entry_restriction("
        // Each address only of packets that have it.
        src_ip::mask != 0 -> is_ipv4 == 1;
        dst_ip::mask != 0 -> is_ipv4 == 1;
        src_ipv6::mask != 0 -> is_ipv6 == 1;
        dst_ipv6::mask != 0 -> is_ipv6 == 1;
        // Fields of IP only of packets of IP.
        ttl::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        dscp::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        ip_protocol::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        // Ports only of TCP and UDP, and types only of ICMP.
        l4_src_port::mask != 0 -> (ip_protocol == 6 || ip_protocol == 17);
        l4_dst_port::mask != 0 -> (ip_protocol == 6 || ip_protocol == 17);
        icmp_type::mask != 0 -> (ip_protocol == 1 || ip_protocol == 58);
        // The types of IP are what is_ipv4 and is_ipv6 are for.
        ether_type != 0x0800;
        ether_type != 0x86dd;
        // Packets that are not of IP are matched by their type, if at all.
        is_ip::mask != 0 -> is_ip == 1;
        is_ipv4::mask != 0 -> is_ipv4 == 1;
        is_ipv6::mask != 0 -> is_ipv6 == 1;
        !(is_ipv4 == 1 && is_ipv6 == 1);
    ")
    table acl_qos {
        key = {
            (headers.ipv4.isValid() || headers.ipv6.isValid()): optional @name("is_ip") @id(1);
            headers.ipv4.isValid(): optional @name("is_ipv4") @id(2);
            headers.ipv6.isValid(): optional @name("is_ipv6") @id(3);
            headers.ethernet.ether_type: ternary @name("ether_type") @id(4) @format(HEX_STRING);
            headers.ethernet.dst_mac: ternary @name("dst_mac") @id(5) @format(MAC_ADDRESS);
            headers.ipv4.src_ip: ternary @name("src_ip") @id(6) @format(IPV4_ADDRESS);
            headers.ipv4.dst_ip: ternary @name("dst_ip") @id(7) @format(IPV4_ADDRESS);
            headers.ipv6.src_ip[127:64]: ternary @name("src_ipv6") @id(8);
            headers.ipv6.dst_ip[127:64]: ternary @name("dst_ipv6") @id(9);
            meta.ttl: ternary @name("ttl") @id(10);
            meta.dscp: ternary @name("dscp") @id(11);
            meta.ip_protocol: ternary @name("ip_protocol") @id(12);
            headers.icmp.type: ternary @name("icmp_type") @id(13);
            meta.l4_src_port: ternary @name("l4_src_port") @id(14);
            meta.l4_dst_port: ternary @name("l4_dst_port") @id(15);
            meta.ingress_port: optional @name("in_port") @id(16);
            meta.acl_metadata: ternary @name("acl_metadata") @id(17);
        }
        actions = { set_queue; @defaultonly NoAction; }
        const default_action = NoAction;
        counters = qos_counter;
        size = 256;
    }

    action redirect_to_nexthop(@id(1) @refers_to(nexthop, nexthop_id) nexthop_id_t nexthop_id) {
        redirect_counter.count();
        meta.has_group = false;
        meta.has_nexthop = true;
        meta.nexthop_id = nexthop_id;
        meta.multicast_group_id = 0;
    }

    @action_restriction("
        // Group 0 would be none.
        multicast_group_id != 0;
    ")
    action redirect_to_multicast_group(
        @id(1) @refers_to(builtin::multicast_group_table, multicast_group_id)
        multicast_group_id_t multicast_group_id)
    {
        redirect_counter.count();
        meta.has_group = false;
        meta.has_nexthop = false;
        meta.multicast_group_id = multicast_group_id;
    }

    @entry_restriction("
        // Each address only of packets that have it.
        src_ip::mask != 0 -> is_ipv4 == 1;
        dst_ip::mask != 0 -> is_ipv4 == 1;
        src_ipv6::mask != 0 -> is_ipv6 == 1;
        dst_ipv6::mask != 0 -> is_ipv6 == 1;
        // Fields of IP only of packets of IP.
        dscp::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        ip_protocol::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        // Ports only of TCP and UDP.
        l4_dst_port::mask != 0 -> (ip_protocol == 6 || ip_protocol == 17);
        // The types of IP are what is_ipv4 and is_ipv6 are for.
        ether_type != 0x0800;
        ether_type != 0x86dd;
        // Packets that are not of IP are matched by their type, if at all.
        is_ip::mask != 0 -> is_ip == 1;
        is_ipv4::mask != 0 -> is_ipv4 == 1;
        is_ipv6::mask != 0 -> is_ipv6 == 1;
        !(is_ipv4 == 1 && is_ipv6 == 1);
    ")
    table acl_redirect {
        key = {
            (headers.ipv4.isValid() || headers.ipv6.isValid()): optional @name("is_ip") @id(1);
            headers.ipv4.isValid(): optional @name("is_ipv4") @id(2);
            headers.ipv6.isValid(): optional @name("is_ipv6") @id(3);
            headers.ethernet.ether_type: ternary @name("ether_type") @id(4) @format(HEX_STRING);
            headers.ethernet.src_mac: ternary @name("src_mac") @id(5) @format(MAC_ADDRESS);
            headers.ethernet.dst_mac: ternary @name("dst_mac") @id(6) @format(MAC_ADDRESS);
            headers.ipv4.src_ip: ternary @name("src_ip") @id(7) @format(IPV4_ADDRESS);
            headers.ipv4.dst_ip: ternary @name("dst_ip") @id(8) @format(IPV4_ADDRESS);
            headers.ipv6.src_ip[127:64]: ternary @name("src_ipv6") @id(9);
            headers.ipv6.dst_ip[127:64]: ternary @name("dst_ipv6") @id(10);
            meta.dscp: ternary @name("dscp") @id(11);
            meta.ip_protocol: ternary @name("ip_protocol") @id(12);
            meta.l4_dst_port: ternary @name("l4_dst_port") @id(13);
            meta.ingress_port: optional @name("in_port") @id(14);
            meta.vlan_id: ternary @name("vlan_id") @id(15);
            meta.acl_metadata: ternary @name("acl_metadata") @id(16);
            meta.route_metadata: ternary @name("route_metadata") @id(17);
        }
        actions = { redirect_to_nexthop; redirect_to_multicast_group; @defaultonly NoAction; }
        const default_action = NoAction;
        counters = redirect_counter;
        size = 256;
    }

    apply {
        acl_ingress.apply();
        acl_security.apply();
        acl_counting.apply();
        acl_qos.apply();
        acl_redirect.apply();
    }
}
