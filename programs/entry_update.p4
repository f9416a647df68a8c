// The program with which in-table updates are evaluated, for v1model.
//
// A packet contains the key of an entry and a new value. The entry gets the new value, and the
// packet returns to its ingress port with the old value. Keys and values have four bytes. The
// storage design of the table, and the method by which a packet changes its entry, are chosen when
// the program is compiled or when it runs:
//
//     planimeter compile -D STORE='"static"' -D SYNCED=true entry_update.p4
//     planimeter compile -D IMPL='"t4p4s"' -D UPDATE='"change"' entry_update.p4
//     planimeter bench --storage static/locked entry_update.p4
//     planimeter bench --method all entry_update.p4
//
// With -D READ, packets read their entry and do not change it. With -D DIGEST, they also send a
// digest that requests the new value from the controller, unless this value is 0.
//
// Manuel Simon et al., High-Performance Match-Action Table Updates from within Programmable
// Software Data Planes, ANCS 2021, section 4.

#include <core.p4>
#include <v1model.p4>

#ifndef SYNCED
#define SYNCED false
#endif
#ifndef IMPL
#define IMPL "dpdk"
#endif
#ifndef UPDATE
#define UPDATE "pointer"
#endif
#ifndef ENTRIES
#define ENTRIES 1048576
#endif

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header update_t {
    bit<32> entry;
    bit<32> value;
}

struct headers_t {
    ethernet_t ethernet;
    update_t update;
}

struct metadata_t { }

#ifdef DIGEST
const bit<32> CHANGE_RECEIVER = 1;

struct change_t {
    bit<32> entry;
    bit<32> value;
}
#endif

parser UpdateParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    state start {
        packet.extract(headers.ethernet);
        packet.extract(headers.update);
        transition accept;
    }
}

control UpdateIngress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
#if defined(READ) || defined(DIGEST)
    action exchange(bit<32> value) {
        headers.update.value = value;
    }
#else
    action exchange(@__ref bit<32> value) {
        bit<32> old = value;
        value = headers.update.value;
        headers.update.value = old;
    }
#endif

    action unknown() {
        mark_to_drop(standard);
        exit;
    }

#ifdef STORE
    @tableconfig(store = STORE, impl = IMPL, update = UPDATE, synced = SYNCED)
#else
    @tableconfig(impl = IMPL, update = UPDATE, synced = SYNCED)
#endif
    table values {
        key = { headers.update.entry: exact; }
        actions = { @tableonly exchange; @defaultonly unknown; }
        const default_action = unknown();
        size = ENTRIES;
    }

    apply {
#ifdef DIGEST
        bit<32> wanted = headers.update.value;
        values.apply();
        if (wanted != 0) {
            digest<change_t>(CHANGE_RECEIVER, { headers.update.entry, wanted });
        }
#else
        values.apply();
#endif
        bit<48> sender = headers.ethernet.source;
        headers.ethernet.source = headers.ethernet.destination;
        headers.ethernet.destination = sender;
        standard.egress_spec = standard.ingress_port;
    }
}

control UpdateEgress(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply { }
}

control UpdateDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.update);
    }
}

control NoVerification(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control NoUpdate(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

V1Switch(
    UpdateParser(),
    NoVerification(),
    UpdateIngress(),
    UpdateEgress(),
    NoUpdate(),
    UpdateDeparser()) main;
