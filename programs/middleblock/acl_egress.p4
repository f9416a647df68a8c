// The access control lists of egress ports.

control egress_lists(in headers_t headers, in metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) egress_counter;
    direct_counter(CounterType.packets_and_bytes) dhcp_counter;

    action egress_forward() {
        egress_counter.count();
    }

    action egress_drop() {
        egress_counter.count();
        mark_to_drop(standard);
    }

    @entry_restriction("
        ip_protocol::mask != 0 -> (ether_type == 0x0800 || ether_type == 0x86dd);
        l4_dst_port::low != 0 || l4_dst_port::high != 0xffff ->
            (ip_protocol == 6 || ip_protocol == 17);
        dst_mac::mask != 0 -> dst_mac::mask == mac('ff:ff:ff:ff:ff:ff');
    ")
    table acl_egress {
        key = {
            headers.ethernet.ether_type: ternary @name("ether_type") @id(1) @format(HEX_STRING);
            meta.ip_protocol: ternary @name("ip_protocol") @id(2);
            meta.l4_dst_port: range @name("l4_dst_port") @id(3);
            headers.ethernet.dst_mac: ternary @name("dst_mac") @id(4) @format(MAC_ADDRESS);
            meta.egress_port: optional @name("out_port") @id(5);
        }
        actions = { egress_forward; egress_drop; @defaultonly NoAction; }
        const default_action = NoAction;
        counters = egress_counter;
        size = 256;
    }

    action dhcp_forward() {
        dhcp_counter.count();
    }

    action dhcp_drop() {
        dhcp_counter.count();
        mark_to_drop(standard);
    }

    @entry_restriction("
        // The ports of DHCP, for IPv4 or IPv6.
        ip_protocol == 17;
        ether_type == 0x0800 && l4_dst_port::low >= 67 && l4_dst_port::high <= 68
            || ether_type == 0x86dd && l4_dst_port::low >= 546 && l4_dst_port::high <= 547;
    ")
    table acl_dhcp {
        key = {
            headers.ethernet.ether_type: ternary @name("ether_type") @id(1) @format(HEX_STRING);
            meta.ip_protocol: ternary @name("ip_protocol") @id(2);
            meta.l4_dst_port: range @name("l4_dst_port") @id(3);
            meta.egress_port: optional @name("out_port") @id(4);
        }
        actions = { dhcp_forward; dhcp_drop; @defaultonly NoAction; }
        const default_action = NoAction;
        counters = dhcp_counter;
        size = 256;
    }

    apply {
        acl_egress.apply();
        acl_dhcp.apply();
    }
}
