// What p4c makes of P4_14 programs looks like this.

#include <core.p4>
#include <v1model.p4>
/* old style */ header ethernet_t {
    bit<48> dstAddr;
    bit<48> srcAddr;
    bit<16> etherType;
}
header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> diffserv;
    bit<16> totalLen;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragOffset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> hdrChecksum;
    bit<32> srcAddr;
    bit<32> dstAddr;
    @length((bit<32>)(((bit<32>)ihl * 4 - 20) * 8)) varbit<320> options;
}
@name("ingress_metadata_t") struct ingress_metadata_t {
    @name("vrf") bit<12> vrf;
    bit<16> bd;
    bit<16> nexthop_index;
}
struct metadata {
    @name(".ingress_metadata") ingress_metadata_t ingress_metadata;
}
struct headers {
    @name(".ethernet") ethernet_t ethernet;
    @name(".ipv4") ipv4_t ipv4;
    @name(".stack") ethernet_t[3] st;
}
parser ParserImpl(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    @name(".parse_ethernet") state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.etherType) {
            16w0x800: parse_ipv4;
            16w0x9100 &&& 16w0xf000: parse_ipv4;
            default: accept;
        }
    }
    @header_ordering("a", "b") @name(".parse_ipv4") state parse_ipv4 {
        bit<160> tmp_hdr = packet.lookahead<bit<160>>();
        packet.extract(hdr.ipv4, (bit<32>)(((bit<32>)tmp_hdr[155:152] * 4 - 20) * 8));
        transition accept;
    }
    @name(".start") state start {
        transition parse_ethernet;
    }
}
@name(".act_global") action act_global() { }
@name("ingress_ctl") control sub(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    @name(".on_hit2") action on_hit2() {}
    apply {
        on_hit2();
    }
}
control egress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) { apply { } }
control ingress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    @name(".on_miss") action on_miss() { }
    @name(".set_vrf") action set_vrf(bit<12> vrf) {
        meta.ingress_metadata.vrf = vrf;
    }
    @name("cnt1") counter(32w10, CounterType.packets) cnt1;
    @name("my_meter") meter(32w10, MeterType.bytes) my_meter;
    @name(".r") register<bit<48>>(32w65536) r;
    @pragma foo 1
    @name(".bd") table bd {
        actions = {
            set_vrf;
            @defaultonly NoAction;
        }
        key = {
            meta.ingress_metadata.bd: exact @name("ingress_metadata.bd") ;
            hdr.ipv4.dstAddr: lpm @name("ipv4.dstAddr");
            hdr.ipv4.isValid(): exact @name("ipv4.$valid$");
            hdr.st[0].dstAddr: ternary @name("stack[0].dstAddr");
        }
        size = 65536;
        default_action = NoAction();
        @name("cnt") counters = direct_counter(CounterType.packets);
    }
    @name("sub") sub() sub_0;
    apply {
        if (hdr.ipv4.isValid()) {
            bd.apply();
            switch (bd.apply().action_run) {
                set_vrf: { }
                default: {
                    sub_0.apply(hdr, meta, standard_metadata);
                }
            }
        }
        bit<48> t;
        r.read(t, (bit<32>)3);
        r.write((bit<32>)3, (bit<48>)t);
        my_meter.execute_meter((bit<32>)3, meta.ingress_metadata.bd);
        cnt1.count((bit<32>)3);
        act_global();
        digest<ingress_metadata_t>((bit<32>)1024, meta.ingress_metadata);
        clone3<tuple<standard_metadata_t, metadata>>(CloneType.I2E, (bit<32>)32w250, { standard_metadata, meta });
        resubmit<tuple<>>({ });
        recirculate<tuple<bit<12>>>({ meta.ingress_metadata.vrf });
        random<bit<16>>(meta.ingress_metadata.bd, (bit<16>)0, 16w7);
        hash<bit<16>, bit<16>, tuple<bit<32>>, bit<32>>(meta.ingress_metadata.bd, HashAlgorithm.crc16, (bit<16>)0, { hdr.ipv4.srcAddr }, (bit<32>)65536);
        hdr.st.push_front(1);
        hdr.st[0].setValid();
        mark_to_drop();
    }
}
control DeparserImpl(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit<ipv4_t>(hdr.ipv4);
        packet.emit(hdr.st);
    }
}
control verifyChecksum(inout headers hdr, inout metadata meta) { apply { } }
control computeChecksum(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum<tuple<bit<4>, bit<4>, varbit<320>>, bit<16>>(true, { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.options }, hdr.ipv4.hdrChecksum, HashAlgorithm.csum16);
    }
}
V1Switch<headers, metadata>(ParserImpl(), verifyChecksum(), ingress(), egress(), computeChecksum(), DeparserImpl()) main;
