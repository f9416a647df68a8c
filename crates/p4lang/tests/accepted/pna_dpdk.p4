// PNA 0.5 with what the DPDK target adds.

#include <core.p4>
#include <dpdk/pna.p4>
header e_t {
    bit<48> d;
    bit<48> s;
    bit<16> t;
}
struct H {
    e_t e;
    e_t[2] st;
}
struct M {
    bit<32> a;
    bit<8> b;
    ExpireTimeProfileId_t p;
    bool f;
}
struct P {
    bit<32> param;
}
control pre(in H h, inout M m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {
    apply {
        if (i.direction == PNA_Direction_t.NET_TO_HOST && i.pass == (PassNumber_t) 0) {
            o.decrypt = false;
        }
    }
}
parser mp(packet_in b, out H h, inout M m, in pna_main_parser_input_metadata_t i) {
    state start {
        b.extract(h.e);
        transition select(h.e.t) {
            0x800: accept;
        }
    }
}
control mc(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    Counter<bit<64>, bit<10>>(1024, PNA_CounterType_t.PACKETS_AND_BYTES) c;
    DirectCounter<bit<32>>(PNA_CounterType_t.PACKETS) dc;
    Meter<bit<32>>(32w3, PNA_MeterType_t.BYTES) me;
    DirectMeter(PNA_MeterType_t.PACKETS) dm;
    Register<bit<32>, bit<8>>(256) r;
    Register<bit<32>, bit<8>>(256, 5) r5;
    Hash<bit<32>>(PNA_HashAlgorithm_t.TOEPLITZ) hs;
    Random<bit<16>>(1, 100) rn;
    ActionSelector(PNA_HashAlgorithm_t.CRC32, 32w1024, 32w16) as;
    ActionProfile(5) ap;
    Digest<M>() dg;
    InternetChecksum() ic;
    ipsec_accelerator() ips;
    PNA_MeterColor_t col = PNA_MeterColor_t.RED;
    action next(PortId_t p) {
        send_to_port(p);
        restart_expire_timer();
        dc.count(32w100);
    }
    action add(bit<32> param) {
        m.a = param;
        set_entry_expire_time(m.p);
    }
    action miss() {
        m.f = add_entry(action_name = "add", action_params = (P) { param = 5 }, expire_time_profile_id = m.p);
    }
    action miss2() {
        P pp;
        pp.param = 3;
        add_entry<P>("add", pp, (ExpireTimeProfileId_t) 1);
        add_entry("add", { param = 32w3 }, m.p);
    }
    table t {
        key = {
            SelectByDirection(i.direction, h.e.d, h.e.s) : exact @name("ds");
        }
        actions = {
            @tableonly add;
            @defaultonly miss;
        }
        add_on_miss = true;
        const default_action = miss;
        pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;
    }
    table t2 {
        key = {
            h.e.d : ternary;
            m.a : selector;
        }
        actions = {
            next;
            NoAction;
        }
        pna_implementation = as;
        pna_direct_counter = dc;
        size = 10;
    }
    table t3 {
        key = {
            h.e.d : lpm;
        }
        actions = {
            next;
        }
        pna_implementation = ap;
        idle_timeout_with_auto_delete = true;
        default_idle_timeout_for_data_plane_added_entries = 1;
    }
    apply {
        c.count(3, 32w5);
        c.count(3);
        col = me.dpdk_execute(m.a, PNA_MeterColor_t.GREEN, 32w5);
        col = me.dpdk_execute(m.a, 32w5);
        col = dm.dpdk_execute(32w3);
        m.a = r.read(3);
        r5.write(3, m.a);
        m.a = hs.get_hash(32w0, { h.e.d, m.a }, 32w5);
        m.a = hs.get_hash(h.e);
        m.a = (bit<32>) rn.read();
        dg.pack(m);
        ic.add({h.e.d});
        ic.clear();
        ic.subtract(h.e);
        h.e.t = ic.get();
        ips.set_sa_index<bit<32>>(m.a);
        ips.enable();
        ipsec_status st;
        m.f = ips.from_ipsec(st);
        recirculate();
        mirror_packet((MirrorSlotId_t) 3, (MirrorSessionId_t) 16w4);
        FlowId_t f = allocate_flow_id();
        drop_packet();
        t.apply();
        t2.apply();
        t3.apply();
        if (st == ipsec_status.IPSEC_SUCCESS) {}
    }
}
control md(packet_out b, in H h, in M m, in pna_main_output_metadata_t o) {
    apply {
        b.emit(h.e);
    }
}
PNA_NIC(mp(), pre(), mc(), md()) main;
