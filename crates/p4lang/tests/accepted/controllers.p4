// What programs for P4Runtime and its tools are annotated with.

#include <core.p4>
#include <v1model.p4>
@id(1) @p4runtime_translation("", string) type bit<9> port_id_t;
@p4runtime_translation("x.y/z", 32) type bit<10> vrf_t;
@p4runtime_translation_mappings({ {"", 0}, {"a", 1}, }) type bit<12> map_t;
@controller_header("packet_in") header pin_t {
    @id(1) port_id_t ingress_port;
    @padding bit<7> pad;
}
@controller_header("packet_out") header pout_t {
    @id(1) bit<9> egress_port;
    @id(2) bit<1> submit;
    @padding bit<6> pad;
}
enum bit<2> MC { GREEN = 0, YELLOW = 1, RED = 2 }
header eth_t {
    bit<48> dst;
    bit<48> src;
    bit<16> t;
}
struct H {
    pin_t pin;
    pout_t pout;
    eth_t eth;
}
struct M {
    @field_list(1) bit<8> a;
    @field_list(1, 2) bit<16> b;
    vrf_t vrf;
    bool admit;
    bit<9> port;
}
parser p(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start {
        transition select(s.ingress_port) {
            255: po;
            _: eth;
        }
    }
    state po {
        b.extract(h.pout);
        transition eth;
    }
    state eth {
        b.extract(h.eth);
        transition accept;
    }
}
@brief("x") @description("y
z") @sai_acl(INGRESS) control acl(in H h, inout M m, inout standard_metadata_t s) {
    @id(0x01000001) @sai_action(SAI_PACKET_ACTION_FORWARD) action fwd(@sai_action_param(QOS) @id(1) @format(IPV4_ADDRESS) bit<32> q, @id(2) port_id_t p, @refers_to(nexthop_table, nexthop_id) vrf_t nh) {
        s.egress_spec = (bit<9>) p;
        m.vrf = nh;
    }
    @id(0x01000002) @proto_package("x") action drop() {
        mark_to_drop(s);
    }
    direct_counter(CounterType.packets_and_bytes) cnt;
    direct_meter<bit<2>>(MeterType.bytes) mtr;
    @mode(single_rate_two_color) direct_meter<MC>(MeterType.bytes) m2;
    action a3() {
        mtr.read(m.a[1:0]);
    }
    @p4runtime_role("sdn_controller") @id(0x02000001) @sai_acl(INGRESS) @sai_acl_priority(5)  @entry_restriction("
   // comment
   ::priority > 5;
   dst::mask != 0 -> (is_eth == 1 || dst == mac('02:00:00:00:00:01'));
   t12::low == 0 || adm == 1;  // \"quoted\"
 ") @action_restriction("fwd::q != 0;")  @nonessential_for_upgrade @reinstall_during_upgrade @max_group_size(256) @weight_proto_id(1) @oneshot() @selector(x) @unsupported  table t {
        key = {
            h.eth.dst : ternary @id(1) @name("dst") @sai_field(SAI_ACL_DST) @format(MAC_ADDRESS);
            h.eth.isValid() : optional @id(2) @name("is_eth") @composite_field(@sai_field(A, B), @sai_udf(base=C, offset=2));
            m.vrf : exact @id(3) @refers_to(vrf_table , vrf_id);
            h.eth.t[11:0] : range @id(4) @name("t12");
            (bit<1>) m.admit : exact @name("adm");
        }
        actions = {
            @proto_id(1) fwd;
            @proto_id(2) @weight_proto_id(3) drop;
            @defaultonly a3;
            @defaultonly NoAction;
        }
        const default_action = NoAction;
        meters = mtr;
        counters = cnt;
        size = 128;
    }
    @max_group_size(256) action_selector(HashAlgorithm.identity, 32w1024, 32w14) sel;
    apply { if (t.apply().hit) { } }
}
control ig(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        acl.apply(h, m, s);
        clone_preserving_field_list(CloneType.I2E, 5, 1);
        resubmit_preserving_field_list(2);
        log_msg("x {}", { h.eth.t });
        log_msg("y");
        assert(m.a == 3 || true);
        assume(h.eth.isValid());
        digest<M>(1, m);
        digest(1, { m.a, h.eth.src });
        truncate(64);
        hash(m.b, HashAlgorithm.crc16, (bit<16>) 0, { h.eth.dst, m.b }, (bit<16>) 100);
        hash(m.b, HashAlgorithm.crc32, 16w0, { h.eth }, 32w5);
        random(m.b, 0, 100);
        random<bit<16>>(m.b, 1, 5);
    }
}
control eg(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        recirculate_preserving_field_list(1);
        clone(CloneType.E2E, (bit<32>) m.b);
        s.egress_rid = 3;
        if (s.instance_type == 1) {
            mark_to_drop(s);
        }
    }
}
control vc(inout H h, inout M m) {
    apply {
        verify_checksum(h.eth.isValid(), { h.eth.dst, h.eth.src }, h.eth.t, HashAlgorithm.csum16);
        verify_checksum_with_payload(true, { h.eth.dst }, h.eth.t, HashAlgorithm.csum16);
    }
}
control cc(inout H h, inout M m) {
    apply {
        update_checksum(true, { h.eth.dst, 16w3, 8w0 }, h.eth.t, HashAlgorithm.csum16);
        update_checksum_with_payload<tuple<bit<48>>, bit<16>>(h.eth.isValid() && m.a == 3, { h.eth.dst }, h.eth.t, HashAlgorithm.csum16);
    }
}
control de(packet_out o, in H h) {
    apply {
        o.emit(h);
    }
}
@pkginfo(name="x.p4", version="1") @platform_property(multicast_group_table_size=5) V1Switch(p(), vc(), ig(), eg(), cc(), de()) main;
