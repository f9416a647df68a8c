// The termination of tunnels: IPv4 or IPv6 in IPv4 or IPv6, with or without GRE.

control tunnel_termination(inout headers_t headers, inout metadata_t meta) {
    bool is_terminated = false;

    action decapsulate() {
        is_terminated = true;
    }

    @entry_restriction("
        // A tunnel has an address here.
        dst_ip::mask != 0;
    ")
    table ipv4_tunnel_termination {
        key = {
            headers.ipv4.src_ip: ternary @name("src_ip") @id(1) @format(IPV4_ADDRESS);
            headers.ipv4.dst_ip: ternary @name("dst_ip") @id(2) @format(IPV4_ADDRESS);
        }
        actions = { decapsulate; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 128;
    }

    @entry_restriction("
        dst_ipv6::mask != 0;
    ")
    table ipv6_tunnel_termination {
        key = {
            headers.ipv6.src_ip: ternary @name("src_ipv6") @id(1) @format(IPV6_ADDRESS);
            headers.ipv6.dst_ip: ternary @name("dst_ipv6") @id(2) @format(IPV6_ADDRESS);
        }
        actions = { decapsulate; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 128;
    }

    apply {
        if (headers.inner_ipv4.isValid() || headers.inner_ipv6.isValid()) {
            if (headers.ipv4.isValid()) {
                ipv4_tunnel_termination.apply();
            } else {
                ipv6_tunnel_termination.apply();
            }
            if (is_terminated) {
                headers.gre.setInvalid();
                if (headers.inner_ipv4.isValid()) {
                    headers.ethernet.ether_type = TYPE_IPV4;
                    headers.ipv4 = headers.inner_ipv4;
                    headers.ipv6.setInvalid();
                    headers.inner_ipv4.setInvalid();
                    meta.dscp = headers.ipv4.dscp;
                    meta.ecn = headers.ipv4.ecn;
                    meta.ttl = headers.ipv4.ttl;
                    meta.ip_protocol = headers.ipv4.protocol;
                } else {
                    headers.ethernet.ether_type = TYPE_IPV6;
                    headers.ipv6 = headers.inner_ipv6;
                    headers.ipv4.setInvalid();
                    headers.inner_ipv6.setInvalid();
                    meta.dscp = headers.ipv6.dscp;
                    meta.ecn = headers.ipv6.ecn;
                    meta.ttl = headers.ipv6.hop_limit;
                    meta.ip_protocol = headers.ipv6.next_header;
                }
            }
        }
    }
}
