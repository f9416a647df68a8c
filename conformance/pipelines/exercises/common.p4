// The headers and macros that the programs of this folder share.

#include <core.p4>
#include <v1model.p4>

typedef bit<9> port_t;
typedef bit<48> mac_t;
typedef bit<32> ipv4_address_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> header_length;
    bit<6> diffserv;
    bit<2> ecn;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> time_to_live;
    bit<8> protocol;
    bit<16> checksum;
    ipv4_address_t source;
    ipv4_address_t destination;
}

header tcp_t {
    bit<16> source_port;
    bit<16> destination_port;
    bit<32> sequence;
    bit<32> acknowledged;
    bit<4> data_offset;
    bit<4> res;
    bit<8> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

// Updates the header checksum of IPv4, for headers without options.
#define IPV4_CHECKSUM(ipv4) \
    update_checksum(ipv4.isValid(), \
        { ipv4.version, ipv4.header_length, ipv4.diffserv, ipv4.ecn, ipv4.total_length, ipv4.identification, ipv4.flags, \
          ipv4.fragment_offset, ipv4.time_to_live, ipv4.protocol, ipv4.source, ipv4.destination }, \
        ipv4.checksum, HashAlgorithm.csum16)

// The actions and the table that forward a packet by its IPv4 destination.
#define IPV4_FORWARDING \
    action drop() { \
        mark_to_drop(standard); \
    } \
    action forward_to(mac_t destination, port_t port) { \
        standard.egress_spec = port; \
        hdr.ethernet.source = hdr.ethernet.destination; \
        hdr.ethernet.destination = destination; \
        hdr.ipv4.time_to_live = hdr.ipv4.time_to_live - 1; \
    } \
    table routes { \
        key = { hdr.ipv4.destination: lpm; } \
        actions = { forward_to; drop; NoAction; } \
        size = 1024; \
        default_action = drop(); \
    }
