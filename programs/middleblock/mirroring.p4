// Copies of packets: for the controllers, and as messages to a collector (mirroring).
//
// A packet has one clone session in v1model, whose replicas are the copies of the packet. The
// replica with instance 1 is the copy for the controllers, and any other one is the mirrored packet.

// Chooses the clone session of a packet that is copied.
control mirroring(inout metadata_t meta, inout standard_metadata_t standard) {
    action mirror_as_message(
        @id(1) port_id_t port,
        @id(2) @format(MAC_ADDRESS) mac_t src_mac,
        @id(3) @format(MAC_ADDRESS) mac_t dst_mac,
        @id(4) vlan_id_t vlan_id,
        @id(5) @format(IPV6_ADDRESS) ipv6_t src_ip,
        @id(6) @format(IPV6_ADDRESS) ipv6_t dst_ip,
        @id(7) bit<16> src_port,
        @id(8) bit<16> dst_port)
    {
        meta.mirror_port = port;
        meta.mirror_src_mac = src_mac;
        meta.mirror_dst_mac = dst_mac;
        meta.mirror_vlan_id = vlan_id;
        meta.mirror_src_ip = src_ip;
        meta.mirror_dst_ip = dst_ip;
        meta.mirror_src_port = src_port;
        meta.mirror_dst_port = dst_port;
    }

    table mirror_session {
        key = { meta.mirror_session_id: exact @name("mirror_session_id") @id(1); }
        actions = { mirror_as_message; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 4;
    }

    action set_mirror_clone_session(
        @id(1) @refers_to(builtin::clone_session_table, clone_session_id)
        clone_session_id_t clone_session_id)
    {
        meta.clone_session_id = clone_session_id;
    }

    // The clone session that sends to a port, for packets that are only mirrored.
    table mirror_port {
        key = { meta.mirror_port: exact @name("mirror_port") @id(1); }
        actions = { set_mirror_clone_session; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 255;
    }

    action set_clone_session(
        @id(1) @refers_to(builtin::clone_session_table, clone_session_id)
        clone_session_id_t clone_session_id)
    {
        meta.clone_session_id = clone_session_id;
    }

    // The clone session of packets that are copied for the controllers.
    @entry_restriction("
        is_copied == 1;
        // The port is that of a mirrored packet.
        is_mirrored == 1 -> mirror_port::mask != 0;
        is_mirrored == 0 -> mirror_port::mask == 0;
    ")
    table ingress_clone {
        key = {
            (bit<1>) meta.is_copied: exact @name("is_copied") @id(1);
            (bit<1>) meta.is_mirrored: exact @name("is_mirrored") @id(2);
            meta.mirror_port: optional @name("mirror_port") @id(3);
        }
        actions = { set_clone_session; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 256;
    }

    apply {
        if (meta.is_mirrored) {
            mirror_session.apply();
        }
        if (meta.is_copied) {
            ingress_clone.apply();
        } else if (meta.is_mirrored) {
            mirror_port.apply();
        }
        if (meta.clone_session_id != 0) {
            clone_preserving_field_list(
                CloneType.I2E, (bit<32>) meta.clone_session_id, KEPT_BY_COPIES);
        }
    }
}

// Completes a copy of a packet at its egress port.
control copies(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply {
        headers.packet_out.setInvalid();
        if (standard.egress_rid == CONTROLLER_COPY) {
            headers.packet_in.setValid();
            headers.packet_in.ingress_port = meta.ingress_port;
            headers.packet_in.target_egress_port = meta.target_egress_port;
            headers.packet_in.queue = meta.queue;
        } else {
            bit<16> message_length = (bit<16>) standard.packet_length + 16;
            headers.mirror_ethernet.setValid();
            headers.mirror_ethernet.dst_mac = meta.mirror_dst_mac;
            headers.mirror_ethernet.src_mac = meta.mirror_src_mac;
            headers.mirror_ethernet.ether_type = TYPE_IPV6;
            if (meta.mirror_vlan_id != NO_VLAN) {
                headers.mirror_ethernet.ether_type = TYPE_VLAN;
                headers.mirror_vlan.setValid();
                headers.mirror_vlan.priority = 0;
                headers.mirror_vlan.drop_eligible = 0;
                headers.mirror_vlan.vlan_id = meta.mirror_vlan_id;
                headers.mirror_vlan.ether_type = TYPE_IPV6;
            }
            headers.mirror_ipv6.setValid();
            headers.mirror_ipv6.version = 6;
            headers.mirror_ipv6.dscp = 0;
            headers.mirror_ipv6.ecn = 0;
            headers.mirror_ipv6.flow_label = 0;
            headers.mirror_ipv6.payload_length = message_length + 8;
            headers.mirror_ipv6.next_header = PROTOCOL_UDP;
            headers.mirror_ipv6.hop_limit = 16;
            headers.mirror_ipv6.src_ip = meta.mirror_src_ip;
            headers.mirror_ipv6.dst_ip = meta.mirror_dst_ip;
            // The UDP header has no checksum, which RFC 6935 allows for tunnels.
            headers.mirror_udp.setValid();
            headers.mirror_udp.src_port = meta.mirror_src_port;
            headers.mirror_udp.dst_port = meta.mirror_dst_port;
            headers.mirror_udp.length = message_length + 8;
            headers.mirror_udp.checksum = 0;
            headers.mirror_message.setValid();
            headers.mirror_message.version = 10;
            headers.mirror_message.length = message_length;
            headers.mirror_message.export_time = 0;
            headers.mirror_message.sequence = 0;
            headers.mirror_message.domain = 0;
        }
    }
}
