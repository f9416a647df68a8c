// Link monitoring: every switch counts the bytes that leave by each port. A probe of EtherType
// 0x88b6 brings its own route, a port for each switch, and at each port takes along the count and
// the times between which the bytes left. Bytes divided by that time are the load of the link.
//
// Other packets go to the port that the last byte of their destination address names.
#include <core.p4>
#include <v1model.p4>

const bit<16> PROBE = 0x88b6; // IEEE 802: for local experiments
const bit<32> PORTS = 512;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header probe_t {
    bit<8> steps;
    bit<8> records;
}

// A port by which the probe leaves the next switch.
header step_t {
    bit<8> port;
}

header record_t {
    bit<8> switch_number;
    bit<8> port;
    bit<32> bytes;
    bit<48> since; // us
    bit<48> until;
}

struct headers_t {
    ethernet_t ethernet;
    probe_t probe;
    step_t[8] steps;
    record_t[8] records;
}

struct metadata_t {
    bit<8> remaining;
}

parser MonitorParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
                     inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.type) {
            PROBE: probe;
            default: accept;
        }
    }
    state probe {
        packet.extract(headers.probe);
        metadata.remaining = headers.probe.steps;
        transition steps;
    }
    state steps {
        transition select(metadata.remaining) {
            0: before_records;
            default: step;
        }
    }
    state step {
        packet.extract(headers.steps.next);
        metadata.remaining = metadata.remaining - 1;
        transition steps;
    }
    state before_records {
        metadata.remaining = headers.probe.records;
        transition records;
    }
    state records {
        transition select(metadata.remaining) {
            0: accept;
            default: record;
        }
    }
    state record {
        packet.extract(headers.records.next);
        metadata.remaining = metadata.remaining - 1;
        transition records;
    }
}

control MonitorVerify(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control MonitorIngress(inout headers_t headers, inout metadata_t metadata,
                       inout standard_metadata_t standard) {
    apply {
        if (!headers.probe.isValid()) {
            standard.egress_spec = (bit<9>) headers.ethernet.destination[7:0];
        } else if (headers.probe.steps > 0) {
            standard.egress_spec = (bit<9>) headers.steps[0].port;
            headers.steps.pop_front(1);
            headers.probe.steps = headers.probe.steps - 1;
        } else {
            mark_to_drop(standard);
        }
    }
}

control MonitorEgress(inout headers_t headers, inout metadata_t metadata,
                      inout standard_metadata_t standard) {
    register<bit<32>>(PORTS) bytes;
    register<bit<48>>(PORTS) since;

    action record(bit<8> switch_number) {
        headers.probe.records = headers.probe.records + 1;
        headers.records.push_front(1);
        headers.records[0].setValid();
        headers.records[0].switch_number = switch_number;
        headers.records[0].port = (bit<8>) standard.egress_port;
    }

    table identity {
        actions = { record; }
        default_action = record(0);
    }

    apply {
        bit<32> port = (bit<32>) standard.egress_port;
        bit<32> count;
        bytes.read(count, port);
        if (headers.probe.isValid() && headers.probe.records < 8) {
            identity.apply();
            headers.records[0].bytes = count;
            since.read(headers.records[0].since, port);
            headers.records[0].until = standard.egress_global_timestamp;
            since.write(port, standard.egress_global_timestamp);
            bytes.write(port, 0);
        } else {
            bytes.write(port, count + standard.packet_length);
        }
    }
}

control MonitorUpdate(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control MonitorDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.probe);
        packet.emit(headers.steps);
        packet.emit(headers.records);
    }
}

V1Switch(MonitorParser(), MonitorVerify(), MonitorIngress(), MonitorEgress(), MonitorUpdate(),
         MonitorDeparser()) main;
