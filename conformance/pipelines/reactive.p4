// A pipeline like those that reactive controllers such as ONOS push: one wide ternary table with
// counters, weighted next hops behind it, a meter for each source, counters for each port, and
// packets to and from the controller.

#include <core.p4>
#include <v1model.p4>

typedef bit<9> port_t;
typedef bit<48> mac_t;

const port_t CPU_PORT = 255;
const bit<32> MAX_PORTS = 511;

@controller_header("packet_in")
header packet_in_t {
    port_t ingress_port;
    bit<7> _padding;
}

@controller_header("packet_out")
header packet_out_t {
    port_t egress_port;
    bit<7> _padding;
}

header ethernet_t {
    mac_t dst_addr;
    mac_t src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> dscp_ecn;
    bit<16> length;
    bit<16> identification;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

header l4_t {
    bit<16> src_port;
    bit<16> dst_port;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t ethernet;
    ipv4_t ipv4;
    l4_t l4;
}

struct metadata_t {
    bit<16> next_hop_id;
    bit<2> meter_tag;
}

parser ReactiveParser(
    packet_in packet,
    out headers_t hdr,
    inout metadata_t local_metadata,
    inout standard_metadata_t standard_metadata)
{
    state start {
        transition select(standard_metadata.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            6: parse_l4;
            17: parse_l4;
            default: accept;
        }
    }

    state parse_l4 {
        packet.extract(hdr.l4);
        transition accept;
    }
}

control NoVerification(inout headers_t hdr, inout metadata_t local_metadata) {
    apply { }
}

control ReactiveIngress(
    inout headers_t hdr,
    inout metadata_t local_metadata,
    inout standard_metadata_t standard_metadata)
{
    direct_counter(CounterType.packets_and_bytes) table0_counter;
    direct_counter(CounterType.packets_and_bytes) wcmp_table_counter;
    direct_meter<bit<2>>(MeterType.bytes) host_meter;
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) wcmp_selector;
    counter(MAX_PORTS, CounterType.packets_and_bytes) ingress_port_counter;

    action set_egress_port(port_t port) {
        standard_metadata.egress_spec = port;
    }

    action send_to_cpu() {
        standard_metadata.egress_spec = CPU_PORT;
    }

    action set_next_hop_id(bit<16> next_hop_id) {
        local_metadata.next_hop_id = next_hop_id;
    }

    action set_multicast_group(bit<16> group) {
        standard_metadata.mcast_grp = group;
    }

    action clone_to_cpu(bit<32> session) {
        clone(CloneType.I2E, session);
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table table0 {
        key = {
            standard_metadata.ingress_port: ternary;
            hdr.ethernet.src_addr: ternary;
            hdr.ethernet.dst_addr: ternary;
            hdr.ethernet.ether_type: ternary;
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            hdr.ipv4.protocol: ternary;
            hdr.l4.src_port: ternary;
            hdr.l4.dst_port: ternary;
        }
        actions = {
            set_egress_port;
            send_to_cpu;
            set_next_hop_id;
            set_multicast_group;
            clone_to_cpu;
            drop;
        }
        const default_action = drop();
        counters = table0_counter;
        size = 1024;
    }

    action meter_by_source() {
        host_meter.read(local_metadata.meter_tag);
    }

    table host_meter_table {
        key = { hdr.ethernet.src_addr: lpm; }
        actions = { meter_by_source; NoAction; }
        meters = host_meter;
        default_action = NoAction();
        size = 64;
    }

    table wcmp_table {
        key = {
            local_metadata.next_hop_id: exact;
            hdr.ipv4.src_addr: selector;
            hdr.ipv4.dst_addr: selector;
            hdr.ipv4.protocol: selector;
            hdr.l4.src_port: selector;
            hdr.l4.dst_port: selector;
        }
        actions = { set_egress_port; }
        implementation = wcmp_selector;
        counters = wcmp_table_counter;
        size = 1024;
    }

    apply {
        if (hdr.packet_out.isValid()) {
            standard_metadata.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else {
            ingress_port_counter.count((bit<32>) standard_metadata.ingress_port);
            table0.apply();
            host_meter_table.apply();
            if (local_metadata.meter_tag == 2) {
                drop();
            }
            wcmp_table.apply();
        }
    }
}

control ReactiveEgress(
    inout headers_t hdr,
    inout metadata_t local_metadata,
    inout standard_metadata_t standard_metadata)
{
    counter(MAX_PORTS, CounterType.packets_and_bytes) egress_port_counter;

    apply {
        if (standard_metadata.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard_metadata.ingress_port;
        } else {
            egress_port_counter.count((bit<32>) standard_metadata.egress_port);
        }
    }
}

control NoUpdate(inout headers_t hdr, inout metadata_t local_metadata) {
    apply { }
}

control ReactiveDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.l4);
    }
}

@pkginfo(name = "reactive", version = "1", organization = "Planimeter")
V1Switch(
    ReactiveParser(),
    NoVerification(),
    ReactiveIngress(),
    ReactiveEgress(),
    NoUpdate(),
    ReactiveDeparser()) main;
