// In-band telemetry: a packet of EtherType 0x88b5 collects a record at each switch that it passes,
// with the depth of its queue and the time that it waited there. The last hop is the first record.
// Who receives the packet sees which switch delayed it.
//
// All packets go from port 1 or 3 to port 2. The control plane gives each switch its number.
#include <core.p4>
#include <v1model.p4>

const bit<16> TELEMETRY = 0x88b5; // IEEE 802: for local experiments
const bit<8> MOST_HOPS = 8;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header telemetry_t {
    bit<8> hops;
}

header hop_t {
    bit<8> switch_number;
    bit<24> depth;
    bit<32> delay; // us
}

struct headers_t {
    ethernet_t ethernet;
    telemetry_t telemetry;
    hop_t[8] hops;
}

struct metadata_t {
    bit<8> remaining;
}

parser TelemetryParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
                       inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.type) {
            TELEMETRY: telemetry;
            default: accept;
        }
    }
    state telemetry {
        packet.extract(headers.telemetry);
        metadata.remaining = headers.telemetry.hops;
        transition select(metadata.remaining) {
            0: accept;
            default: hop;
        }
    }
    state hop {
        packet.extract(headers.hops.next);
        metadata.remaining = metadata.remaining - 1;
        transition select(metadata.remaining) {
            0: accept;
            default: hop;
        }
    }
}

control TelemetryVerify(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control TelemetryIngress(inout headers_t headers, inout metadata_t metadata,
                         inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 2;
    }
}

control TelemetryEgress(inout headers_t headers, inout metadata_t metadata,
                        inout standard_metadata_t standard) {
    action record(bit<8> switch_number) {
        headers.telemetry.hops = headers.telemetry.hops + 1;
        headers.hops.push_front(1);
        headers.hops[0].setValid();
        headers.hops[0].switch_number = switch_number;
        headers.hops[0].depth = (bit<24>) standard.enq_qdepth;
        headers.hops[0].delay = standard.deq_timedelta;
    }

    table identity {
        actions = { record; }
        default_action = record(0);
    }

    apply {
        if (headers.telemetry.isValid() && headers.telemetry.hops < MOST_HOPS) {
            identity.apply();
        }
    }
}

control TelemetryUpdate(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control TelemetryDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.telemetry);
        packet.emit(headers.hops);
    }
}

V1Switch(TelemetryParser(), TelemetryVerify(), TelemetryIngress(), TelemetryEgress(),
         TelemetryUpdate(), TelemetryDeparser()) main;
