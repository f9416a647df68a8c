//! Tests of packets that ingress clones: one clone to one port, which machine code completes
//! without the driver, and all other clones. Egress of the clone and of the packet may request
//! further copies and passes, and a register shows the order in which packets pass.

use crate::both::{Both, V1model, compile};
use pipeline::{CloneSession, Replica};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const DECLARATIONS: &str = "
    header R { bit<8> kind; bit<8> session; bit<8> port; bit<8> seen; bit<32> length; bit<16> rid; bit<8> kept; bit<8> lost; }
    header More { bit<32> number; }
    struct H { R r; More more; }
    struct N { bit<8> a; bit<16> b; }
    struct M { @field_list(1, 2) bit<8> kept; bit<8> lost; @field_list(1) N n; @field_list(1, 2) bit<2> rounds; bit<128> wide; }";

const INGRESS: &str = "
    counter<bit<32>>(4, CounterType.packets_and_bytes) counted;
    apply {
        m.rounds = m.rounds + 1;
        m.kept = h.r.kind; m.lost = 7; m.n = { h.r.port, 99 };
        s.egress_spec = (bit<9>) h.r.port;
        counted.count(0);
        if (h.r.session != 0) { clone_preserving_field_list(CloneType.I2E, (bit<32>) h.r.session, 1); }
        if (h.r.session == 9) { clone(CloneType.I2E, 5); }
        if (h.r.kind[0:0] == 1) { h.more.setValid(); h.more.number = 0x01020304; }
        if (h.r.kind[1:1] == 1) { truncate(15); }
        if (h.r.kind[2:2] == 1) { mark_to_drop(s); }
        if (h.r.kind[7:5] == 7 && m.rounds < 3) { resubmit_preserving_field_list(2); }
        if (h.r.kind[7:5] == 6) { s.mcast_grp = 4; }
    }";

const EGRESS: &str = "
    register<bit<8>, bit<32>>(1) order; counter<bit<32>>(4, CounterType.packets_and_bytes) counted;
    apply {
        bit<8> seen; order.read(seen, 0); order.write(0, seen + 1);
        h.r.seen = seen; h.r.length = s.packet_length; h.r.rid = s.egress_rid; h.r.kept = m.kept ^ m.n.a; h.r.lost = m.lost;
        counted.count((bit<32>) s.instance_type);
        if (h.r.kind[3:3] == 1 && s.instance_type == 1 && m.rounds < 3) { recirculate_preserving_field_list(2); }
        if (h.r.kind[4:4] == 1 && s.instance_type == 0 && m.rounds < 3) { recirculate_preserving_field_list(1); }
        if (h.r.kind[6:5] == 1 && s.instance_type < 2) { clone_preserving_field_list(CloneType.E2E, 6, 2); }
        if (h.r.kind[6:5] == 2 && s.instance_type == 1) { mark_to_drop(s); }
        if (h.r.session == 6 && s.instance_type == 0) { truncate(9); }
    }";

fn prepared(work: Option<u32>) -> Both {
    let program = V1model {
        declarations: DECLARATIONS,
        parser: "state start { b.extract(h.r); transition select(h.r.port) { 3: more; default: accept; } }
            state more { b.extract(h.more); transition accept; }",
        ingress: INGRESS,
        egress: EGRESS,
        ..V1model::default()
    };
    let mut both = Both::prepared(&compile(&program.text()), |switch| {
        work.into_iter().for_each(|units| switch.set_packet_work(units));
    });
    both.each(|switch| {
        let replica = |port| Replica { port, instance: port as u16 + 10 };
        let session = |ports: &[u32]| CloneSession {
            replicas: ports.iter().map(|port| replica(*port)).collect(),
            ..CloneSession::default()
        };
        switch
            .set_clone_session(5, Some(CloneSession { packet_length: Some(13), ..session(&[2]) }));
        switch.set_clone_session(6, Some(session(&[1])));
        switch.set_clone_session(7, Some(session(&[1, 2])));
        switch
            .set_clone_session(8, Some(CloneSession { multicast_group: Some(4), ..session(&[0]) }));
        switch.set_multicast_group(4, vec![replica(1), replica(3)]);
    });
    both
}

#[test]
fn clones_have_the_order_and_the_contents_that_the_interpreter_gives_them() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    // With a limit, some packets end before all of their copies have left. One pass always fits.
    for work in [None, Some(1500), Some(1000)] {
        let mut both = prepared(work);
        assert_eq!((both.one_by_one(), both.interpreted()), (None, Vec::new()));
        let mut left = 0;
        for round in 0..12 {
            let packets: Vec<(u32, Vec<u8>)> = (0..30)
                .map(|_| {
                    let session = [0, 5, 6, 7, 8, 9, 10][random.random_range(0..7)];
                    let mut packet = vec![random.random(), session, random.random_range(0..5)];
                    packet.resize(random.random_range(1..40), 0x44);
                    (random.random_range(0..3), packet)
                })
                .collect();
            if round % 2 == 0 {
                left += both.batch(&packets);
                continue;
            }
            for (port, packet) in &packets {
                left += both.packet(*port, packet).map_or(0, |outputs| outputs.len());
            }
        }
        for (name, index) in
            [("I.counted", 0), ("E.counted", 0), ("E.counted", 1), ("E.counted", 2)]
        {
            let id = both.interpreted.extern_named(name).expect("a counter");
            let expected = both.interpreted.counter(id, index).expect("a count");
            assert_eq!(both.compiled.counter(id, index).expect("a count"), expected, "{name}");
        }
        assert!(left > 300 || work.is_some(), "{left} packets left");
    }
}
