// The access control lists before routing, which choose the VLAN and the VRF of a packet.

control pre_ingress_lists(in headers_t headers, inout metadata_t meta) {
    direct_counter(CounterType.packets_and_bytes) vlan_counter;
    direct_counter(CounterType.packets_and_bytes) metadata_counter;
    direct_counter(CounterType.packets_and_bytes) vrf_counter;

    @action_restriction("
        vlan_id != 0;
        vlan_id != 4095;
    ")
    action set_vlan(@id(1) vlan_id_t vlan_id) {
        meta.vlan_id = vlan_id;
        vlan_counter.count();
    }

    @entry_restriction("
        // Packets that have a tag keep its VLAN.
        is_tagged::mask != 0;
        is_tagged::value == 0;
        // The type of ICMP is a field of ICMP.
        icmp_type::mask != 0 -> (ether_type == 0x0800 || ether_type == 0x86dd);
    ")
    table acl_pre_ingress_vlan {
        key = {
            meta.ingress_port: optional @name("in_port") @id(1);
            (bit<1>) meta.is_tagged: ternary @name("is_tagged") @id(2);
            headers.ethernet.ether_type: ternary @name("ether_type") @id(3);
            headers.icmp.type: ternary @name("icmp_type") @id(4);
        }
        actions = { set_vlan; @defaultonly NoAction; }
        const default_action = NoAction;
        counters = vlan_counter;
        size = 64;
    }

    action set_acl_metadata(@id(1) route_metadata_t acl_metadata) {
        meta.acl_metadata = acl_metadata;
        metadata_counter.count();
    }

    @entry_restriction("
        icmp_type::mask != 0 -> (ether_type == 0x0800 || ether_type == 0x86dd);
    ")
    table acl_pre_ingress_metadata {
        key = {
            headers.ethernet.ether_type: ternary @name("ether_type") @id(1);
            meta.vlan_id: ternary @name("vlan_id") @id(2);
            headers.icmp.type: ternary @name("icmp_type") @id(3);
        }
        actions = { set_acl_metadata; @defaultonly NoAction; }
        const default_action = NoAction;
        counters = metadata_counter;
        size = 64;
    }

    action set_vrf(@id(1) @refers_to(vrf, vrf_id) vrf_id_t vrf_id) {
        meta.vrf_id = vrf_id;
        vrf_counter.count();
    }

    @entry_restriction("
        // Addresses only of packets that have them.
        dst_ip::mask != 0 -> is_ipv4 == 1;
        src_ip::mask != 0 -> is_ipv4 == 1;
        dst_ipv6::mask != 0 -> is_ipv6 == 1;
        dscp::mask != 0 -> (is_ip == 1 || is_ipv4 == 1 || is_ipv6 == 1);
        // A packet has one of the two.
        is_ipv4::mask != 0 -> is_ipv4 == 1;
        is_ipv6::mask != 0 -> is_ipv6 == 1;
        is_ip::mask != 0 -> is_ip == 1;
        !(is_ipv4 == 1 && is_ipv6 == 1);
    ")
    table acl_pre_ingress {
        key = {
            meta.ingress_port: optional @name("in_port") @id(1);
            (headers.ipv4.isValid() || headers.ipv6.isValid()): optional @name("is_ip") @id(2);
            headers.ipv4.isValid(): optional @name("is_ipv4") @id(3);
            headers.ipv6.isValid(): optional @name("is_ipv6") @id(4);
            headers.ethernet.src_mac: ternary @name("src_mac") @id(5) @format(MAC_ADDRESS);
            headers.ethernet.dst_mac: ternary @name("dst_mac") @id(6) @format(MAC_ADDRESS);
            headers.ipv4.src_ip: ternary @name("src_ip") @id(7) @format(IPV4_ADDRESS);
            headers.ipv4.dst_ip: ternary @name("dst_ip") @id(8) @format(IPV4_ADDRESS);
            headers.ipv6.dst_ip[127:64]: ternary @name("dst_ipv6") @id(9);
            meta.dscp: ternary @name("dscp") @id(10);
            meta.vlan_id: ternary @name("vlan_id") @id(11);
        }
        actions = { set_vrf; @defaultonly NoAction; }
        const default_action = NoAction;
        counters = vrf_counter;
        size = 256;
    }

    apply {
        if (!meta.is_tagged) {
            acl_pre_ingress_vlan.apply();
        }
        acl_pre_ingress_metadata.apply();
        acl_pre_ingress.apply();
    }
}
