// For p4tc, the traffic control of Linux: forwards IPv4 packets by their destination network, with counters and a policy.
//
// Annotations that begin with tc_ define for p4tc's control plane how keys are printed and who may change which objects. A
// switch ignores them. `tc/pna.p4` is PNA for that target.

#include <core.p4>
#include <tc/pna.p4>

header ethernet_t {
    @tc_type("macaddr") bit<48> destination;
    @tc_type("macaddr") bit<48> source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> diffserv;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    @tc_type("ipv4") bit<32> source;
    @tc_type("ipv4") bit<32> destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {}

parser TcParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    in pna_main_parser_input_metadata_t istd)
{
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            0x0800: ipv4;
            default: reject;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition accept;
    }
}

control TcControl(
    inout headers_t headers,
    inout metadata_t meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd)
{
    DirectCounter<bit<32>>(PNA_CounterType_t.PACKETS_AND_BYTES) per_network;
    Counter<bit<32>, bit<8>>(256, PNA_CounterType_t.PACKETS) per_protocol;

    action drop() {
        drop_packet();
    }

    action forward(
        @tc_type("macaddr") bit<48> destination,
        @tc_type("macaddr") bit<48> source,
        @tc_type("dev") PortId_t port)
    {
        per_network.count();
        headers.ethernet.destination = destination;
        headers.ethernet.source = source;
        headers.ipv4.ttl = headers.ipv4.ttl - 1;
        send_to_port(port);
    }

    @tc_acl("CRUD:RX") table networks {
        key = { headers.ipv4.destination: lpm @tc_type("ipv4"); }
        actions = { forward; drop; }
        const default_action = drop();
        pna_direct_counter = per_network;
        size = 1024;
    }

    @tc_acl("R:RX") table policy {
        key = { headers.ipv4.protocol: exact; }
        actions = { @tableonly drop; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = { 2: drop(); }
    }

    apply {
        per_protocol.count(headers.ipv4.protocol);
        if (headers.ipv4.ttl < 2 || policy.apply().hit) {
            drop_packet();
        } else {
            networks.apply();
        }
    }
}

control TcDeparser(
    packet_out packet,
    inout headers_t headers,
    in metadata_t meta,
    in pna_main_output_metadata_t ostd)
{
    InternetChecksum() sum;

    apply {
        sum.clear();
        sum.add({
            headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.diffserv, headers.ipv4.total_length,
            headers.ipv4.identification, headers.ipv4.flags, headers.ipv4.fragment_offset,
            headers.ipv4.ttl, headers.ipv4.protocol, headers.ipv4.source, headers.ipv4.destination });
        headers.ipv4.checksum = sum.get();
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
    }
}

PNA_NIC(TcParser(), TcControl(), TcDeparser()) main;
