// Protects a server from SYN floods, for PNA: hosts must prove that they exist before they connect.
//
// A SYN of an unknown host is answered with a SYN-ACK whose sequence number is a cookie: a hash of
// addresses, ports and a secret. The switch stores nothing for this SYN. A host that acknowledges
// the cookie gets an entry in the table and a reset. Its next attempt to connect is forwarded. This
// is the authentication of Dominik Scholz et al., SYN Flood Defense in Programmable Data Planes,
// EuroP4 2020.

#include <core.p4>
#include <pna.p4>

#ifndef SECRET
#define SECRET 0x706c616e
#endif

const PortId_t SERVER = (PortId_t) 9;

const bit<8> RST = 0x04;
const bit<8> SYN = 0x02;
const bit<8> ACK = 0x10;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<16> version_to_class;
    bit<16> total_length;
    bit<32> fragments;
    bit<8> time_to_live;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header tcp_t {
    bit<16> source;
    bit<16> destination;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<4> data_offset;
    bit<4> reserved;
    bit<8> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header tcp_options_t {
    varbit<320> options;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    tcp_t tcp;
    tcp_options_t options;
}

struct metadata_t {
    bool known;
    bool answered;
}

struct known_t { }

parser SynParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    in pna_main_parser_input_metadata_t istd)
{
    state start {
        meta.answered = false;
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.version_to_class[15:8], headers.ipv4.protocol) {
            (0x45, 6): tcp;
            default: accept;
        }
    }

    state tcp {
        packet.extract(headers.tcp);
        transition select(headers.tcp.data_offset) {
            0 .. 4: reject;
            5: accept;
            default: options;
        }
    }

    state options {
        packet.extract(headers.options, (bit<32>) (headers.tcp.data_offset - 5) * 32);
        transition accept;
    }
}

control SynControl(
    inout headers_t headers,
    inout metadata_t meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd)
{
    Hash<bit<32>>(PNA_HashAlgorithm_t.CRC32) hash;
    InternetChecksum() ipv4_checksum;
    InternetChecksum() tcp_checksum;

    // Turns the packet into an answer to its sender, with the given TCP flags and numbers.
    action answer(in bit<8> flags, in bit<32> sequence, in bit<32> acknowledgement) {
        bit<48> ethernet_source = headers.ethernet.source;
        headers.ethernet.source = headers.ethernet.destination;
        headers.ethernet.destination = ethernet_source;
        bit<32> ipv4_source = headers.ipv4.source;
        headers.ipv4.source = headers.ipv4.destination;
        headers.ipv4.destination = ipv4_source;
        bit<16> tcp_source = headers.tcp.source;
        headers.tcp.source = headers.tcp.destination;
        headers.tcp.destination = tcp_source;

        headers.ipv4.total_length = 40;
        headers.ipv4.time_to_live = 64;
        headers.options.setInvalid();
        headers.tcp.data_offset = 5;
        headers.tcp.flags = flags;
        headers.tcp.sequence = sequence;
        headers.tcp.acknowledgement = acknowledgement;
        headers.tcp.urgent = 0;
        meta.answered = true;
    }

    action send(PortId_t port) {
        send_to_port(port);
    }

    action known() {
        meta.known = true;
    }

    action unknown() {
        meta.known = false;
        bit<32> cookie = hash.get_hash({
            headers.ipv4.source,
            headers.ipv4.destination,
            headers.tcp.source,
            headers.tcp.destination,
            (bit<32>) SECRET
        });
        if ((headers.tcp.flags & (SYN | ACK | RST)) == SYN) {
            answer(SYN | ACK, cookie, headers.tcp.sequence + 1);
        } else if ((headers.tcp.flags & (SYN | ACK | RST)) == ACK
            && headers.tcp.acknowledgement == cookie + 1)
        {
            add_entry(
                action_name = "known",
                action_params = (known_t) { },
                expire_time_profile_id = (ExpireTimeProfileId_t) 0);
            answer(RST, headers.tcp.acknowledgement, 0);
        }
    }

    table hosts {
        key = { headers.ipv4.source: exact; }
        actions = { @tableonly known; @defaultonly unknown; }
        const default_action = unknown();
        add_on_miss = true;
        size = 65536;
    }

    apply {
        drop_packet();
        if (headers.tcp.isValid()) {
            hosts.apply();
            if (meta.known) {
                send(SERVER);
            } else if (meta.answered) {
                ipv4_checksum.clear();
                ipv4_checksum.add({
                    headers.ipv4.version_to_class,
                    headers.ipv4.total_length,
                    headers.ipv4.fragments,
                    headers.ipv4.time_to_live,
                    headers.ipv4.protocol,
                    headers.ipv4.source,
                    headers.ipv4.destination
                });
                headers.ipv4.checksum = ipv4_checksum.get();
                tcp_checksum.clear();
                tcp_checksum.add({
                    headers.ipv4.source,
                    headers.ipv4.destination,
                    8w0,
                    headers.ipv4.protocol,
                    16w20,
                    headers.tcp.source,
                    headers.tcp.destination,
                    headers.tcp.sequence,
                    headers.tcp.acknowledgement,
                    headers.tcp.data_offset,
                    headers.tcp.reserved,
                    headers.tcp.flags,
                    headers.tcp.window,
                    headers.tcp.urgent
                });
                headers.tcp.checksum = tcp_checksum.get();
                send(istd.input_port);
            }
        }
    }
}

control SynDeparser(
    packet_out packet,
    in headers_t headers,
    in metadata_t meta,
    in pna_main_output_metadata_t ostd)
{
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.tcp);
        packet.emit(headers.options);
    }
}

PNA_NIC(SynParser(), SynControl(), SynDeparser()) main;
