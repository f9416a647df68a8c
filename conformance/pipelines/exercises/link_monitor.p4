// Probes take a path of ports that their sender chose. At each switch, they collect the traffic of the
// port by which they leave, and the time of the previous probe.

#include "common.p4"

const bit<16> TYPE_PROBE = 0x812;
#define MAX_HOPS 10
#define MAX_PORTS 8

header probe_t {
    bit<8> hops;
}

header station_report_t {
    bit<1> is_last;
    bit<7> switch_id;
    bit<8> port;
    bit<32> byte_count;
    bit<48> last_time;
    bit<48> this_time;
}

header leg_t {
    bit<8> egress_spec;
}

struct progress_t {
    bit<8> remaining;
}

struct metadata {
    bit<8> egress_spec;
    progress_t progress;
}

struct headers {
    ethernet_t ethernet;
    ipv4_t ipv4;
    probe_t probe;
    station_report_t[MAX_HOPS] reports;
    leg_t[MAX_HOPS] legs;
}

parser ExerciseParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            TYPE_PROBE: parse_probe;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
    state parse_probe {
        packet.extract(hdr.probe);
        meta.progress.remaining = hdr.probe.hops + 1;
        transition select(hdr.probe.hops) {
            0: parse_leg;
            default: parse_report;
        }
    }
    state parse_report {
        packet.extract(hdr.reports.next);
        transition select(hdr.reports.last.is_last) {
            1: parse_leg;
            default: parse_report;
        }
    }
    state parse_leg {
        packet.extract(hdr.legs.next);
        meta.progress.remaining = meta.progress.remaining - 1;
        meta.egress_spec = hdr.legs.last.egress_spec;
        transition select(meta.progress.remaining) {
            0: accept;
            default: parse_leg;
        }
    }
}

control NoVerification(inout headers hdr, inout metadata meta) { apply { } }

control ExerciseIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    IPV4_FORWARDING
    apply {
        if (hdr.ipv4.isValid()) {
            routes.apply();
        } else if (hdr.probe.isValid()) {
            standard.egress_spec = (port_t) meta.egress_spec;
            hdr.probe.hops = hdr.probe.hops + 1;
        }
    }
}

control ExerciseEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    register<bit<32>>(MAX_PORTS) bytes_since;
    register<bit<48>>(MAX_PORTS) last_probe;

    action set_identity(bit<7> switch_id) {
        hdr.reports[0].switch_id = switch_id;
    }
    table switch_id {
        actions = { set_identity; NoAction; }
        default_action = NoAction();
    }
    apply {
        bit<32> byte_count;
        bit<32> remaining_bytes;
        bit<48> last_time;
        bit<48> this_time = standard.egress_global_timestamp;
        bytes_since.read(byte_count, (bit<32>) standard.egress_port);
        byte_count = byte_count + standard.packet_length;
        remaining_bytes = (hdr.probe.isValid()) ? 0 : byte_count;
        bytes_since.write((bit<32>) standard.egress_port, remaining_bytes);
        if (hdr.probe.isValid()) {
            hdr.reports.push_front(1);
            hdr.reports[0].setValid();
            if (hdr.probe.hops == 1) {
                hdr.reports[0].is_last = 1;
            } else {
                hdr.reports[0].is_last = 0;
            }
            switch_id.apply();
            hdr.reports[0].port = (bit<8>) standard.egress_port;
            hdr.reports[0].byte_count = byte_count;
            last_probe.read(last_time, (bit<32>) standard.egress_port);
            last_probe.write((bit<32>) standard.egress_port, this_time);
            hdr.reports[0].last_time = last_time;
            hdr.reports[0].this_time = this_time;
        }
    }
}

control Update(inout headers hdr, inout metadata meta) {
    apply { IPV4_CHECKSUM(hdr.ipv4); }
}

control ExerciseDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.probe);
        packet.emit(hdr.reports);
        packet.emit(hdr.legs);
    }
}

V1Switch(ExerciseParser(), NoVerification(), ExerciseIngress(), ExerciseEgress(), Update(), ExerciseDeparser()) main;
