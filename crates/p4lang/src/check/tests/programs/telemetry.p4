#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
// tutorial-like
const bit<16> TYPE_IPV4 = 0x800;
const bit<8>  UDP_PROTOCOL = 0x11;
#define MAX_HOPS 9
typedef bit<9>  egressSpec_t;
typedef bit<48> macAddr_t;
typedef bit<32> ip4Addr_t;
typedef bit<32> switchID_t;
enum bit<16> EtherType { VLAN = 0x8100, QINQ = 0x9100, MPLS = 0x8847, IPV4 = 0x0800, IPV6 = 0x86dd }
header ethernet_t { macAddr_t dstAddr; macAddr_t srcAddr; EtherType etherType; }
header ipv4_t { bit<4> version; bit<4> ihl; bit<8> diffserv; bit<16> totalLen; bit<16> identification; bit<3> flags; bit<13> fragOffset; bit<8> ttl; bit<8> protocol; bit<16> hdrChecksum; ip4Addr_t srcAddr; ip4Addr_t dstAddr; }
header ipv4_option_t { bit<1> copyFlag; bit<2> optClass; bit<5> option; bit<8> optionLength; }
header mri_t { bit<16> count; }
header switch_t { switchID_t swid; bit<32> qdepth; }
header tcp_opt_t { varbit<320> o; }
struct ingress_metadata_t { bit<16> count; }
struct parser_metadata_t { bit<16> remaining; }
struct metadata { ingress_metadata_t ingress_metadata; parser_metadata_t parser_metadata; @field_list(1, 2) bit<32> fl; bit<1> is_multicast; bit<8> n; }
struct headers { ethernet_t ethernet; ipv4_t ipv4; ipv4_option_t ipv4_option; mri_t mri; switch_t[MAX_HOPS] swtraces; tcp_opt_t o; }
error { IPHeaderTooShort }
parser MyParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    state start { transition parse_ethernet; }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.etherType) { EtherType.IPV4: parse_ipv4; 0x1234: accept; default: accept; }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.ihl >= 5, error.IPHeaderTooShort);
        transition select(hdr.ipv4.ihl) { 5 : accept; default : parse_ipv4_option; }
    }
    state parse_ipv4_option { packet.extract(hdr.ipv4_option); transition select(hdr.ipv4_option.option) { 31: parse_mri; default: accept; } }
    state parse_mri { packet.extract(hdr.mri); meta.parser_metadata.remaining = hdr.mri.count; transition select(meta.parser_metadata.remaining) { 0 : accept; default: parse_swtrace; } }
    state parse_swtrace { packet.extract(hdr.swtraces.next); meta.parser_metadata.remaining = meta.parser_metadata.remaining - 1;
        packet.extract(hdr.o, (bit<32>)(((bit<16>)hdr.ipv4.ihl - 5) * 32));
        transition select(meta.parser_metadata.remaining) { 0 : accept; default: parse_swtrace; } }
}
control MyVerifyChecksum(inout headers hdr, inout metadata meta) { apply { } }
control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    counter<bit<9>>(512, CounterType.packets_and_bytes) cnt;
    register<bit<48>, bit<32>>(1024) last;
    meter<bit<9>>(512, MeterType.bytes) m;
    action drop() { mark_to_drop(standard_metadata); }
    action ipv4_forward(macAddr_t dstAddr, egressSpec_t port) {
        standard_metadata.egress_spec = port; hdr.ethernet.srcAddr = hdr.ethernet.dstAddr; hdr.ethernet.dstAddr = dstAddr; hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        cnt.count(standard_metadata.ingress_port);
    }
    action ecmp(bit<16> base, bit<32> n) { hash(meta.ingress_metadata.count, HashAlgorithm.crc16, base, { hdr.ipv4.srcAddr, hdr.ipv4.dstAddr, hdr.ipv4.protocol }, n); }
    action add(switchID_t swid) {
        hdr.mri.count = hdr.mri.count + 1; hdr.swtraces.push_front(1); hdr.swtraces[0].setValid();
        hdr.swtraces[0].swid = swid; hdr.swtraces[0].qdepth = (bit<32>)standard_metadata.deq_qdepth;
        hdr.ipv4.ihl = hdr.ipv4.ihl + 2; hdr.ipv4.totalLen = hdr.ipv4.totalLen + 8;
    }
    @name("ipv4 lpm") @pkg("x") table ipv4_lpm {
        key = { hdr.ipv4.dstAddr: lpm; hdr.ipv4.isValid(): exact; standard_metadata.parser_error: exact; hdr.ethernet.etherType: ternary; meta.is_multicast: optional; }
        actions = { ipv4_forward; drop; ecmp; NoAction; @defaultonly add; }
        size = 1024; default_action = NoAction(); support_timeout = true;
        const entries = { (0x0a000000 &&& 0xff000000, true, error.NoError, EtherType.IPV4, _): ipv4_forward(0x1, 2);
          (_, false, error.NoMatch, 0x800 &&& 0xff00, 1): drop(); }
    }
    table t2 { key = { hdr.ipv4.ttl: range; } actions = { drop; NoAction; } const default_action = NoAction; entries = { 0..1: drop; 250..255 : NoAction(); } }
    apply {
        bit<48> ts; bit<48> d = 0;
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 0) {
            switch (ipv4_lpm.apply().action_run) { drop: { return; } ipv4_forward: ecmp: { t2.apply(); } default: { drop(); } }
            last.read(ts, (bit<32>) standard_metadata.ingress_port); d = standard_metadata.ingress_global_timestamp - ts; last.write((bit<32>)standard_metadata.ingress_port, standard_metadata.ingress_global_timestamp);
            if (d < 48w1000000) { standard_metadata.mcast_grp = 1; clone_preserving_field_list(CloneType.I2E, 100, 1); }
            m.execute_meter(standard_metadata.ingress_port, meta.n);
        }
        if (standard_metadata.instance_type == 0 || standard_metadata.egress_port == 511) exit;
        digest<ingress_metadata_t>(1, meta.ingress_metadata); resubmit_preserving_field_list(2); truncate((bit<32>) 100);
        hdr.ipv4 = { 4, 5, 0, 20, 0, 0, 0, 64, UDP_PROTOCOL, 0, 0, 0 }; hdr.ethernet = { dstAddr = 1, srcAddr = 2, etherType = EtherType.IPV4 };
        log_msg("d = {} t = {}", {d, ts}); assert(hdr.ipv4.isValid()); assert(true);
    }
}
control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) { apply { if (standard_metadata.egress_port == standard_metadata.ingress_port) mark_to_drop(standard_metadata); } }
control MyComputeChecksum(inout headers hdr, inout metadata meta) {
    apply { update_checksum(hdr.ipv4.isValid(), { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.totalLen, hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragOffset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.srcAddr, hdr.ipv4.dstAddr }, hdr.ipv4.hdrChecksum, HashAlgorithm.csum16); } }
control MyDeparser(packet_out packet, in headers hdr) { apply { packet.emit(hdr.ethernet); packet.emit(hdr.swtraces); packet.emit(hdr); } }
V1Switch(MyParser(), MyVerifyChecksum(), MyIngress(), MyEgress(), MyComputeChecksum(), MyDeparser()) main;
