// Port knocking, for PNA: a host that knocks at three ports in order may use SSH.
//
// The entry of a host stores how many knocks were correct. The knocks themselves write it (@__ref).
// The first correct knock adds the entry, and a wrong knock resets it.

#include <core.p4>
#include <pna.p4>

const bit<16> FIRST_KNOCK = 7000;
const bit<16> SECOND_KNOCK = 8000;
const bit<16> THIRD_KNOCK = 9000;
const bit<16> SSH = 22;

const bit<8> CLOSED = 0;
const bit<8> OPEN = 3;

const PortId_t SERVER = (PortId_t) 9;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<72> before_protocol;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

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
    bit<8> stage;
}

struct knocker_t {
    bit<8> stage;
}

parser KnockParser(
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

// The stage that follows a knock at `port`.
bit<8> after_knock(in bit<8> stage, in bit<16> port) {
    if (port == FIRST_KNOCK) {
        return 1;
    }
    if (port == SECOND_KNOCK && stage == 1) {
        return 2;
    }
    if (port == THIRD_KNOCK && stage == 2) {
        return OPEN;
    }
    return CLOSED;
}

control KnockControl(
    inout headers_t headers,
    inout metadata_t meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd)
{
    action known(@__ref bit<8> stage) {
        // Knocks are UDP packets. TCP packets only use the stage that the knocks have reached.
        if (headers.ipv4.protocol == 17) {
            stage = after_knock(stage, headers.ports.destination);
        }
        meta.stage = stage;
    }

    action unknown() {
        meta.stage = CLOSED;
        if (headers.ipv4.protocol == 17 && headers.ports.destination == FIRST_KNOCK) {
            add_entry(
                action_name = "known",
                action_params = (knocker_t) { stage = 1 },
                expire_time_profile_id = (ExpireTimeProfileId_t) 0);
        }
    }

    @tableconfig(store = "static", impl = "dpdk", synced = true)
    table knockers {
        key = { headers.ipv4.source: exact; }
        actions = { @tableonly known; @defaultonly unknown; }
        const default_action = unknown();
        add_on_miss = true;
        size = 1024;
    }

    apply {
        drop_packet();
        if (headers.ports.isValid()) {
            knockers.apply();
            if (headers.ipv4.protocol == 6
                && (headers.ports.destination != SSH || meta.stage == OPEN))
            {
                send_to_port(SERVER);
            }
        }
    }
}

control KnockDeparser(
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

PNA_NIC(KnockParser(), KnockControl(), KnockDeparser()) main;
