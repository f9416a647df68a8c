// The embedded switch of a NIC, for PNA, which learns MAC addresses without a controller.
//
// Both lookups use one table: first with the source address, then with the destination. An unknown
// source is added as an entry (add_on_miss). A source that has moved changes its entry in place,
// since the port in an entry is a reference (@__ref). Frames to unknown destinations go to the host.

#include <core.p4>
#include <pna.p4>

typedef bit<48> mac_t;

const PortId_t HOST_PORT = (PortId_t) 0;

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    mac_t station;
    bool learning;
    bool found;
    PortId_t port;
}

struct station_t {
    PortId_t port;
}

parser NicParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    in pna_main_parser_input_metadata_t istd)
{
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control NicControl(
    inout headers_t headers,
    inout metadata_t meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd)
{
    action at_port(@__ref PortId_t port) {
        if (meta.learning) {
            port = istd.input_port;
        }
        meta.found = true;
        meta.port = port;
    }

    action unknown() {
        meta.found = false;
        if (meta.learning) {
            add_entry(
                action_name = "at_port",
                action_params = (station_t) { port = istd.input_port },
                expire_time_profile_id = (ExpireTimeProfileId_t) 0);
        }
    }

    @tableconfig(store = "dynamic", impl = "dpdk", synced = true)
    table stations {
        key = { meta.station: exact; }
        actions = { @tableonly at_port; @defaultonly unknown; }
        const default_action = unknown();
        add_on_miss = true;
        size = 4096;
    }

    action send(PortId_t port) {
        send_to_port(port);
    }

    apply {
        meta.learning = true;
        meta.station = headers.ethernet.source;
        stations.apply();

        meta.learning = false;
        meta.station = headers.ethernet.destination;
        stations.apply();

        if (!meta.found) {
            send(HOST_PORT);
        } else if (meta.port == istd.input_port) {
            drop_packet();
        } else {
            send(meta.port);
        }
    }
}

control NicDeparser(
    packet_out packet,
    in headers_t headers,
    in metadata_t meta,
    in pna_main_output_metadata_t ostd)
{
    apply {
        packet.emit(headers.ethernet);
    }
}

PNA_NIC(NicParser(), NicControl(), NicDeparser()) main;
