// The program of the evaluation of in-table updates, for v1model.
//
// A packet names an entry and a new value for it; the entry takes that value, and the packet goes
// back to where it came from with the old one. Keys and values have four bytes. Which storage
// design the table uses, and how a packet changes its entry, can be chosen when it is compiled, or
// where it runs:
//
//     planimeter compile -D STORE='"static"' -D SYNCED=true entry_update.p4
//     planimeter compile -D IMPL='"t4p4s"' -D UPDATE='"change"' entry_update.p4
//     planimeter bench --storage static/locked entry_update.p4
//     planimeter bench --method all entry_update.p4
//
// With -D READ, packets read the entry that they name and leave it as it is. With -D DIGEST, they
// read it too, and ask the controller for the new value by a digest; the value 0 asks for none.
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
