// A firewall that keeps its connections in a table, for PNA.
//
// Only hosts inside may open connections. Packets from outside must belong to such a connection.
// The first packet from inside adds an entry (add_on_miss), and each further packet of the
// connection restarts the timer of the entry. An entry is deleted when its timer expires.

#include <core.p4>
#include <pna.p4>

typedef bit<48> mac_t;

// The first port outside. Ports with lower numbers are inside.
const PortIdUint_t FIRST_OUTSIDE = 8;
const PortId_t UPLINK = (PortId_t) 8;
const ExpireTimeProfileId_t CONNECTION_TIME = (ExpireTimeProfileId_t) 1;

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<72> before_protocol;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

// The first fields of TCP and UDP, which both protocols share.
header ports_t {
    bit<16> source;
    bit<16> destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct metadata_t {
    bool outward;
    bit<32> inside_address;
    bit<32> outside_address;
    bit<16> inside_port;
    bit<16> outside_port;
}

struct connection_t {
    PortId_t inside;
}

parser FirewallParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    in pna_main_parser_input_metadata_t istd)
{
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.protocol) {
            6: ports;
            17: ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(headers.ports);
        transition accept;
    }
}

control FirewallControl(
    inout headers_t headers,
    inout metadata_t meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd)
{
    action open(PortId_t inside) {
        restart_expire_timer();
        if (meta.outward) {
            send_to_port(UPLINK);
        } else {
            send_to_port(inside);
        }
    }

    action first() {
        if (meta.outward) {
            add_entry(
                action_name = "open",
                action_params = (connection_t) { inside = istd.input_port },
                expire_time_profile_id = CONNECTION_TIME);
            send_to_port(UPLINK);
        } else {
            drop_packet();
        }
    }

    table connections {
        key = {
            meta.inside_address: exact;
            meta.outside_address: exact;
            headers.ipv4.protocol: exact;
            meta.inside_port: exact;
            meta.outside_port: exact;
        }
        actions = { @tableonly open; @defaultonly first; }
        const default_action = first();
        add_on_miss = true;
        pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;
        size = 65536;
    }

    apply {
        if (!headers.ports.isValid()) {
            drop_packet();
        } else {
            meta.outward = (PortIdUint_t) istd.input_port < FIRST_OUTSIDE;
            if (meta.outward) {
                meta.inside_address = headers.ipv4.source;
                meta.outside_address = headers.ipv4.destination;
                meta.inside_port = headers.ports.source;
                meta.outside_port = headers.ports.destination;
            } else {
                meta.inside_address = headers.ipv4.destination;
                meta.outside_address = headers.ipv4.source;
                meta.inside_port = headers.ports.destination;
                meta.outside_port = headers.ports.source;
            }
            connections.apply();
        }
    }
}

control FirewallDeparser(
    packet_out packet,
    in headers_t headers,
    in metadata_t meta,
    in pna_main_output_metadata_t ostd)
{
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.ports);
    }
}

PNA_NIC(FirewallParser(), FirewallControl(), FirewallDeparser()) main;
