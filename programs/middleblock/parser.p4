// The parser, the deparser and the checksums.

parser packet_parser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    state start {
        transition select((bit<PORT_WIDTH>) standard.ingress_port) {
            CONTROLLER_PORT: of_controller;
            default: ethernet;
        }
    }

    state of_controller {
        packet.extract(headers.packet_out);
        transition ethernet;
    }

    state ethernet {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            TYPE_VLAN: vlan;
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            TYPE_ARP: arp;
            default: accept;
        }
    }

    state vlan {
        packet.extract(headers.vlan);
        transition select(headers.vlan.ether_type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            TYPE_ARP: arp;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        meta.dscp = headers.ipv4.dscp;
        meta.ecn = headers.ipv4.ecn;
        meta.ttl = headers.ipv4.ttl;
        meta.ip_protocol = headers.ipv4.protocol;
        // A header is parsed only if IPv4 has no options and the packet is not a later fragment.
        transition select(headers.ipv4.ihl, headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (5, 0, PROTOCOL_IPV4): inner_ipv4;
            (5, 0, PROTOCOL_IPV6): inner_ipv6;
            (5, 0, PROTOCOL_GRE): gre;
            (5, 0, PROTOCOL_TCP): tcp;
            (5, 0, PROTOCOL_UDP): udp;
            (5, 0, PROTOCOL_ICMP): icmp;
            default: accept;
        }
    }

    state ipv6 {
        packet.extract(headers.ipv6);
        meta.dscp = headers.ipv6.dscp;
        meta.ecn = headers.ipv6.ecn;
        meta.ttl = headers.ipv6.hop_limit;
        meta.ip_protocol = headers.ipv6.next_header;
        transition select(headers.ipv6.next_header) {
            PROTOCOL_IPV4: inner_ipv4;
            PROTOCOL_IPV6: inner_ipv6;
            PROTOCOL_GRE: gre;
            PROTOCOL_TCP: tcp;
            PROTOCOL_UDP: udp;
            PROTOCOL_ICMPV6: icmp;
            default: accept;
        }
    }

    state gre {
        packet.extract(headers.gre);
        transition select(headers.gre.flags, headers.gre.protocol) {
            (0, TYPE_IPV4): inner_ipv4;
            (0, TYPE_IPV6): inner_ipv6;
            default: accept;
        }
    }

    state inner_ipv4 {
        packet.extract(headers.inner_ipv4);
        transition select(
            headers.inner_ipv4.ihl,
            headers.inner_ipv4.fragment_offset,
            headers.inner_ipv4.protocol)
        {
            (5, 0, PROTOCOL_TCP): tcp;
            (5, 0, PROTOCOL_UDP): udp;
            (5, 0, PROTOCOL_ICMP): icmp;
            default: accept;
        }
    }

    state inner_ipv6 {
        packet.extract(headers.inner_ipv6);
        transition select(headers.inner_ipv6.next_header) {
            PROTOCOL_TCP: tcp;
            PROTOCOL_UDP: udp;
            PROTOCOL_ICMPV6: icmp;
            default: accept;
        }
    }

    state tcp {
        packet.extract(headers.tcp);
        meta.l4_src_port = headers.tcp.src_port;
        meta.l4_dst_port = headers.tcp.dst_port;
        transition accept;
    }

    state udp {
        packet.extract(headers.udp);
        meta.l4_src_port = headers.udp.src_port;
        meta.l4_dst_port = headers.udp.dst_port;
        transition accept;
    }

    state icmp {
        packet.extract(headers.icmp);
        transition accept;
    }

    state arp {
        packet.extract(headers.arp);
        transition accept;
    }
}

#define IPV4_FIELDS \
    { \
        headers.ipv4.version, \
        headers.ipv4.ihl, \
        headers.ipv4.dscp, \
        headers.ipv4.ecn, \
        headers.ipv4.total_length, \
        headers.ipv4.identification, \
        headers.ipv4.flags, \
        headers.ipv4.fragment_offset, \
        headers.ipv4.ttl, \
        headers.ipv4.protocol, \
        headers.ipv4.src_ip, \
        headers.ipv4.dst_ip \
    }

control verify_checksums(inout headers_t headers, inout metadata_t meta) {
    apply {
        verify_checksum(
            headers.ipv4.isValid() && headers.ipv4.ihl == 5,
            IPV4_FIELDS,
            headers.ipv4.checksum,
            HashAlgorithm.csum16);
    }
}

control update_checksums(inout headers_t headers, inout metadata_t meta) {
    apply {
        update_checksum(
            headers.ipv4.isValid() && headers.ipv4.ihl == 5,
            IPV4_FIELDS,
            headers.ipv4.checksum,
            HashAlgorithm.csum16);
    }
}

control packet_deparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.packet_in);
        packet.emit(headers.mirror_ethernet);
        packet.emit(headers.mirror_vlan);
        packet.emit(headers.mirror_ipv6);
        packet.emit(headers.mirror_udp);
        packet.emit(headers.mirror_message);
        packet.emit(headers.ethernet);
        packet.emit(headers.vlan);
        packet.emit(headers.tunnel_ipv6);
        packet.emit(headers.tunnel_gre);
        packet.emit(headers.ipv4);
        packet.emit(headers.ipv6);
        packet.emit(headers.gre);
        packet.emit(headers.inner_ipv4);
        packet.emit(headers.inner_ipv6);
        packet.emit(headers.arp);
        packet.emit(headers.icmp);
        packet.emit(headers.tcp);
        packet.emit(headers.udp);
    }
}
