// Headers and metadata.

// A packet that a switch sends to a controller.
@controller_header("packet_in")
header packet_in_t {
    @id(1) port_id_t ingress_port;
    // The port by which the packet leaves, or 0.
    @id(2) port_id_t target_egress_port;
    @id(3) queue_id_t queue;
#if PORT_WIDTH == 32
    @id(4) @padding bit<2> pad;
#endif
}

// A packet that a controller sends by a port, or as if it had arrived at the controllers' port.
@controller_header("packet_out")
header packet_out_t {
    @id(1) port_id_t egress_port;
    @id(2) bit<1> is_routed;
#if PORT_WIDTH == 32
    @id(3) @padding bit<7> pad;
#else
    @id(3) @padding bit<6> pad;
#endif
}

header ethernet_t {
    mac_t dst_mac;
    mac_t src_mac;
    bit<16> ether_type;
}

header vlan_t {
    bit<3> priority;
    bit<1> drop_eligible;
    vlan_id_t vlan_id;
    bit<16> ether_type;
}

header ipv4_header_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    ipv4_t src_ip;
    ipv4_t dst_ip;
}

header ipv6_header_t {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow_label;
    bit<16> payload_length;
    bit<8> next_header;
    bit<8> hop_limit;
    ipv6_t src_ip;
    ipv6_t dst_ip;
}

// Generic routing encapsulation without options (RFC 2784).
header gre_t {
    bit<13> flags;
    bit<3> version;
    bit<16> protocol;
}

header tcp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<4> data_offset;
    bit<4> reserved;
    bit<8> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header icmp_t {
    bit<8> type;
    bit<8> code;
    bit<16> checksum;
}

header arp_t {
    bit<16> hardware;
    bit<16> protocol;
    bit<8> hardware_length;
    bit<8> protocol_length;
    bit<16> operation;
    mac_t sender_mac;
    ipv4_t sender_ip;
    mac_t target_mac;
    ipv4_t target_ip;
}

// The header of a message that carries a mirrored packet, with the fields of an IPFIX message
// (RFC 7011, section 3.1).
header mirror_message_t {
    bit<16> version;
    bit<16> length;
    bit<32> export_time;
    bit<32> sequence;
    bit<32> domain;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;

    // The headers of the message that carries a mirrored packet.
    ethernet_t mirror_ethernet;
    vlan_t mirror_vlan;
    ipv6_header_t mirror_ipv6;
    udp_t mirror_udp;
    mirror_message_t mirror_message;

    ethernet_t ethernet;
    vlan_t vlan;

    // The headers of a tunnel that begins at this switch.
    ipv6_header_t tunnel_ipv6;
    gre_t tunnel_gre;

    ipv4_header_t ipv4;
    ipv6_header_t ipv6;
    gre_t gre;
    ipv4_header_t inner_ipv4;
    ipv6_header_t inner_ipv6;
    arp_t arp;
    icmp_t icmp;
    tcp_t tcp;
    udp_t udp;
}

// All fields are zero, or false, when a packet arrives.
struct metadata_t {
    // The fields that copies of a packet keep: ports, queue, and the message for a mirrored packet.
    @field_list(KEPT_BY_COPIES) port_id_t ingress_port;
    @field_list(KEPT_BY_COPIES) port_id_t target_egress_port;
    @field_list(KEPT_BY_COPIES) queue_id_t queue;
    @field_list(KEPT_BY_COPIES) mac_t mirror_src_mac;
    @field_list(KEPT_BY_COPIES) mac_t mirror_dst_mac;
    @field_list(KEPT_BY_COPIES) vlan_id_t mirror_vlan_id;
    @field_list(KEPT_BY_COPIES) ipv6_t mirror_src_ip;
    @field_list(KEPT_BY_COPIES) ipv6_t mirror_dst_ip;
    @field_list(KEPT_BY_COPIES) bit<16> mirror_src_port;
    @field_list(KEPT_BY_COPIES) bit<16> mirror_dst_port;
    @field_list(KEPT_BY_LOOPBACK) port_id_t loopback_port;

    port_id_t egress_port;
    vlan_id_t vlan_id;
    bool is_tagged;
    bool checks_vlan;

    // The fields of IPv4 or IPv6, and of TCP or UDP, for keys of tables.
    bit<6> dscp;
    bit<2> ecn;
    bit<8> ttl;
    bit<8> ip_protocol;
    bit<16> l4_src_port;
    bit<16> l4_dst_port;

    vrf_id_t vrf_id;
    route_metadata_t acl_metadata;
    route_metadata_t route_metadata;
    bool is_admitted;
    bool is_dropped;

    // The routing decisions that were made so far for the packet.
    bool has_group;
    bool has_nexthop;
    bool has_tunnel;
    bool has_neighbor;
    bool has_interface;
    wcmp_group_id_t wcmp_group_id;
    bit<16> flow_hash;
    nexthop_id_t nexthop_id;
    tunnel_id_t tunnel_id;
    router_interface_id_t router_interface_id;
    ipv6_t neighbor_id;
    multicast_group_id_t multicast_group_id;

    // The values that egress writes into the packet.
    mac_t src_mac;
    mac_t dst_mac;
    vlan_id_t egress_vlan_id;
    bool encapsulates;
    ipv6_t tunnel_src_ip;
    ipv6_t tunnel_dst_ip;

    bit<2> color;
    bool is_copied;
    bool is_mirrored;
    mirror_session_id_t mirror_session_id;
    port_id_t mirror_port;
    clone_session_id_t clone_session_id;
}
