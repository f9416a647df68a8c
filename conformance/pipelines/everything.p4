// A program with every kind of entity, each of which has a visible effect on packets.
//
// The header of a packet selects a part of the program and its arguments. Most packets leave by
// the port in the matching entry, with the result of the part in the field `result`. Packets that
// match no entry go to the controller.

#include <core.p4>
#include <v1model.p4>

typedef bit<9> port_t;

const port_t CPU_PORT = 255;
const port_t RESULT_PORT = 2;
const bit<32> PACKET_IS_CLONE = 1;

enum bit<8> Part {
    Exact = 1,
    Prefix = 2,
    Ternary = 3,
    Range = 4,
    Optional = 5,
    Group = 6,
    Profile = 7,
    Counter = 8,
    Meter = 9,
    Register = 10,
    Multicast = 11,
    Clone = 12,
    Digest = 13,
    Aged = 14,
    Fixed = 15
}

@controller_header("packet_in")
header packet_in_t {
    port_t ingress_port;
    bit<7> padding;
}

@controller_header("packet_out")
header packet_out_t {
    port_t egress_port;
    bit<7> padding;
}

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header probe_t {
    Part part;
    bit<32> key;
    bit<16> small;
    bit<32> result;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t ethernet;
    probe_t probe;
}

struct metadata_t { }

struct seen_t {
    bit<32> key;
    port_t port;
}

parser EverythingParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    // The types of the packets that have a probe header.
    value_set<bit<16>>(4) types;

    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: from_controller;
            default: ethernet;
        }
    }

    state from_controller {
        packet.extract(headers.packet_out);
        transition ethernet;
    }

    state ethernet {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            types: probe;
            default: accept;
        }
    }

    state probe {
        packet.extract(headers.probe);
        transition accept;
    }
}

control NoVerification(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control EverythingIngress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    direct_counter(CounterType.packets_and_bytes) exact_counter;
    direct_meter<bit<32>>(MeterType.packets) exact_meter;
    counter(4, CounterType.packets_and_bytes) hits;
    meter(4, MeterType.packets) police;
    register<bit<32>>(4) words;
    action_selector(HashAlgorithm.crc32, 32w16, 32w16) next_hops;
    action_profile(8) shared_actions;

    action forward(port_t port) {
        standard.egress_spec = port;
    }

    action answer(port_t port, bit<32> value) {
        standard.egress_spec = port;
        headers.probe.result = value;
    }

    action drop() {
        mark_to_drop(standard);
    }

    action ask() {
        standard.egress_spec = CPU_PORT;
        headers.packet_in.setValid();
        headers.packet_in.ingress_port = standard.ingress_port;
        headers.packet_in.padding = 0;
    }

    action counted(port_t port) {
        exact_counter.count();
        exact_meter.read(headers.probe.result);
        standard.egress_spec = port;
    }

    table exact_table {
        key = { headers.probe.key: exact @name("key"); }
        actions = { counted; @defaultonly ask; }
        const default_action = ask();
        counters = exact_counter;
        meters = exact_meter;
        size = 4;
    }

    table prefix_table {
        key = { headers.probe.key: lpm @name("key"); }
        actions = { answer; drop; ask; }
        default_action = ask();
        size = 64;
    }

    table ternary_table {
        key = {
            headers.probe.key: ternary @name("key");
            headers.probe.small: ternary @name("small");
        }
        actions = { answer; drop; }
        default_action = drop();
        size = 64;
    }

    table range_table {
        key = { headers.probe.small: range @name("small"); }
        actions = { answer; drop; }
        default_action = drop();
        size = 64;
    }

    table optional_table {
        key = {
            headers.probe.key: optional @name("key");
            headers.probe.small: exact @name("small");
        }
        actions = { answer; drop; }
        default_action = drop();
        size = 64;
    }

    table group_table {
        key = {
            headers.probe.key: exact @name("key");
            headers.probe.small: selector;
        }
        actions = { answer; drop; }
        implementation = next_hops;
        size = 16;
    }

    table profile_table {
        key = { headers.probe.key: exact @name("key"); }
        actions = { answer; drop; }
        implementation = shared_actions;
        size = 16;
    }

    table aged_table {
        key = { headers.probe.key: exact @name("key"); }
        actions = { forward; drop; }
        default_action = drop();
        support_timeout = true;
        size = 16;
    }

    table fixed_table {
        key = { headers.probe.key: exact @name("key"); }
        actions = { answer; drop; }
        const entries = { 1: answer(3, 15); }
        default_action = drop();
    }

    apply {
        if (headers.packet_out.isValid()) {
            standard.egress_spec = headers.packet_out.egress_port;
            headers.packet_out.setInvalid();
        } else if (!headers.probe.isValid()) {
            drop();
        } else {
            bit<32> index = headers.probe.key;
            standard.egress_spec = RESULT_PORT;
            switch (headers.probe.part) {
                Part.Exact: { exact_table.apply(); }
                Part.Prefix: { prefix_table.apply(); }
                Part.Ternary: { ternary_table.apply(); }
                Part.Range: { range_table.apply(); }
                Part.Optional: { optional_table.apply(); }
                Part.Group: { group_table.apply(); }
                Part.Profile: { profile_table.apply(); }
                Part.Counter: { hits.count(index); }
                Part.Meter: { police.execute_meter(index, headers.probe.result); }
                Part.Register: {
                    bit<32> word;
                    words.read(word, index);
                    words.write(index, word + 1);
                    headers.probe.result = word;
                }
                Part.Multicast: { standard.mcast_grp = (bit<16>) index; }
                Part.Clone: { clone(CloneType.I2E, index); }
                Part.Digest: { digest<seen_t>(1, { headers.probe.key, standard.ingress_port }); }
                Part.Aged: { aged_table.apply(); }
                Part.Fixed: { fixed_table.apply(); }
                default: { ask(); }
            }
        }
    }
}

control EverythingEgress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply {
        // The result identifies a copy by the instance of its replica.
        if (headers.probe.isValid() && standard.instance_type == PACKET_IS_CLONE) {
            headers.probe.result = 0xc1000000 + (bit<32>) standard.egress_rid;
        } else if (headers.probe.isValid() && headers.probe.part == Part.Multicast) {
            headers.probe.result = (bit<32>) standard.egress_rid;
        }
    }
}

control NoUpdate(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control EverythingDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.packet_in);
        packet.emit(headers.ethernet);
        packet.emit(headers.probe);
    }
}

@pkginfo(name = "everything", version = "1", organization = "Planimeter")
V1Switch(
    EverythingParser(),
    NoVerification(),
    EverythingIngress(),
    EverythingEgress(),
    NoUpdate(),
    EverythingDeparser()) main;
