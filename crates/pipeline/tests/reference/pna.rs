//! Tests of PNA: the destinations of packets, and tables that packets write. User-defined packages
//! are tested too.

use super::support::{add_exact, load, outputs, outputs_at, packet};
use pipeline::{CloneSession, Event, Replica, Switch};
use std::time::Duration;

fn pna(locals: &str, apply: &str) -> Switch {
    load(&format!(
        "#include <core.p4>
        #include <pna.p4>
        header R {{ bit<8> a; bit<8> b; bit<8> c; }} struct H {{ R r; }} struct M {{ bit<8> x; }}
        struct Parameters {{ bit<8> value; }}
        parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
            state start {{ p.extract(h.r); transition accept; }} }}
        control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{
            {locals} apply {{ {apply} }} }}
        control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) {{ apply {{ p.emit(h); }} }}
        PNA_NIC(P(), C(), D()) main;"
    ))
}

#[test]
fn the_last_destination_counts() {
    let mut switch = pna(
        "",
        "if (h.r.a == 1) { send_to_port((PortId_t)4); } if (h.r.b == 1) { drop_packet(); }",
    );
    assert_eq!(outputs(&mut switch, 0, &[1, 0, 0, 9]), [(4, vec![1, 0, 0, 9])]);
    assert_eq!(outputs(&mut switch, 0, &[1, 1, 0]), []);
    assert_eq!(outputs(&mut switch, 0, &[0, 0, 0]), [], "sent nowhere");
}

#[test]
fn a_mirror_is_a_copy_of_the_packet_that_leaves() {
    let mut switch = pna("", "h.r.b = 7; mirror_packet((MirrorSlotId_t)1, (MirrorSessionId_t)5);");
    let replicas = vec![Replica { port: 9, instance: 0 }];
    switch.set_clone_session(5, Some(CloneSession { replicas, ..CloneSession::default() }));
    assert_eq!(outputs(&mut switch, 0, &[1, 0, 0]), [(9, vec![1, 7, 0])]);
}

#[test]
fn ports_belong_to_the_network_or_to_the_host() {
    let apply = "send_to_port((PortId_t)1); h.r.b = SelectByDirection(is_net_port(i.input_port), h.r.a, h.r.c);
        h.r.a = is_host_port(i.input_port) ? 8w1 : 0;";
    let mut switch = pna("", apply);
    switch.set_host_port(3, true);
    assert_eq!(packet(&mut switch, 2, &[5, 0, 6]), [0, 5, 6]);
    assert_eq!(packet(&mut switch, 3, &[5, 0, 6]), [1, 6, 6]);
    switch.reset().expect("loads as before");
    assert_eq!(packet(&mut switch, 3, &[5, 0, 6]), [1, 6, 6]);
}

const LEARNING: &str = "action hit(bit<8> value) { h.r.b = value; }
    action refresh(bit<8> value) { h.r.b = value; restart_expire_timer(); }
    action longer(bit<8> value) { h.r.b = value; set_entry_expire_time((ExpireTimeProfileId_t)2); }
    action miss() { AddEntryErrorStatus_t failed = add_entry(ACTION, { h.r.c }, (ExpireTimeProfileId_t)1); h.r.b = 100 + (bit<8>)failed; }
    table t { key = { h.r.a: exact; } actions = { hit; refresh; longer; @defaultonly miss; }
        default_action = miss(); add_on_miss = true; size = 2; pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE; }";

fn learning(action: &str) -> Switch {
    let locals = LEARNING.replace("ACTION", &format!("\"{action}\""));
    let switch = pna(&locals, "send_to_port((PortId_t)1); t.apply();");
    switch.set_expire_time_profile(1, Some(Duration::from_secs(10)));
    switch.set_expire_time_profile(2, Some(Duration::from_secs(100)));
    switch
}

fn at(switch: &mut Switch, key: u8, value: u8, seconds: u64) -> u8 {
    outputs_at(switch, 0, &[key, 0, value], Duration::from_secs(seconds))[0].1[1]
}

#[test]
fn a_miss_adds_the_entry_for_the_next_packet() {
    let mut switch = learning("hit");
    assert_eq!(at(&mut switch, 1, 11, 0), 100);
    assert_eq!(at(&mut switch, 1, 12, 1), 11);
    assert_eq!(at(&mut switch, 2, 22, 1), 100);
    assert_eq!(at(&mut switch, 3, 33, 1), 101, "the table is full");
    let mut trace: Vec<Event> = Vec::new();
    let mut switch = learning("hit");
    switch.process_traced(0, &[1, 0, 5], Duration::ZERO, &mut trace).expect("processed");
    assert!(trace.iter().any(|event| matches!(event, Event::Added { .. })));
}

#[test]
fn a_hit_alone_does_not_restart_the_timer() {
    let mut switch = learning("hit");
    at(&mut switch, 1, 11, 0);
    assert_eq!(at(&mut switch, 1, 12, 9), 11);
    assert_eq!(at(&mut switch, 1, 12, 10), 100, "expired, so added again");
    assert_eq!(at(&mut switch, 1, 0, 11), 12);
    let gone = switch.expire(Duration::from_secs(20));
    assert_eq!(gone.len(), 1);
    assert!(gone[0].deleted);
}

#[test]
fn timers_are_restarted_by_calls() {
    let mut switch = learning("refresh");
    at(&mut switch, 1, 11, 0);
    let results = [9, 18, 27, 37].map(|seconds| at(&mut switch, 1, 5, seconds));
    assert_eq!(results, [11, 11, 11, 100]);
    let mut switch = learning("longer");
    at(&mut switch, 1, 11, 0);
    let results = [9, 108, 208].map(|seconds| at(&mut switch, 1, 5, seconds));
    assert_eq!(results, [11, 11, 100]);
}

#[test]
fn update_expire_info_restarts_the_timer_and_sets_its_time() {
    let locals = "action hit() { update_expire_info(h.r.b[0:0] == 1, h.r.b[1:1] == 1, (ExpireTimeProfileId_t)2); h.r.c = 1; }
        table t { key = { h.r.a: exact; } actions = { hit; NoAction; } pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE; }";
    let run = |flags: u8, seconds: u64| {
        let mut switch = pna(locals, "send_to_port((PortId_t)1); t.apply();");
        switch.set_expire_time_profile(2, Some(Duration::from_secs(100)));
        let table = switch.table_named("t").expect("table");
        add_exact(&mut switch, "t", 1, "hit", &[]);
        let (_, entry) = switch.entries(table).expect("table").next().expect("entry");
        let mut entry = entry.clone();
        entry.idle_timeout = Some(Duration::from_secs(10));
        switch.modify_entry(table, entry, Duration::ZERO).expect("entry");
        outputs_at(&mut switch, 0, &[1, flags, 0], Duration::from_secs(9));
        outputs_at(&mut switch, 0, &[1, 0, 0], Duration::from_secs(seconds))[0].1[2]
    };
    assert_eq!(
        [run(0, 10), run(1, 18), run(1, 19), run(2, 10), run(3, 108), run(3, 109)],
        [0, 1, 0, 0, 1, 0]
    );
}

/// Externs of DPDK: a counter whose length is an argument, and an accelerator that the switch does
/// not have.
#[test]
fn counters_of_dpdk_take_a_length_and_accelerators_are_absent() {
    let mut switch = load(
        "#include <core.p4>
        #include <dpdk/pna.p4>
        header R { bit<8> a; bit<8> b; } struct H { R r; } struct M { bit<8> x; }
        parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {
            state start { p.extract(h.r); transition accept; } }
        control Pre(in H h, inout M m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) { apply {} }
        control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
            Counter<bit<32>, bit<8>>(2, PNA_CounterType_t.PACKETS_AND_BYTES) c;
            ipsec_accelerator() accelerator;
            apply {
                ipsec_status status; accelerator.enable(); accelerator.set_sa_index(32w7);
                c.count(8w1, 32w1000);
                h.r.a = accelerator.from_ipsec(status) ? 8w1 : 2;
                h.r.b = status == ipsec_status.IPSEC_SUCCESS ? 8w3 : 4;
                send_to_port((PortId_t)1);
            } }
        control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) { apply { p.emit(h.r); } }
        PNA_NIC(P(), Pre(), C(), D()) main;",
    );
    assert_eq!(outputs(&mut switch, 0, &[0, 0]), [(1, vec![2, 3])]);
    let counter = switch.extern_named("c").expect("counter");
    let value = switch.counter(counter, 1).expect("value");
    assert_eq!((value.packets, value.bytes), (1, 1000));
}

#[test]
fn user_defined_packages_run_their_blocks_in_order() {
    let declarations = "#include <core.p4>
        header R { bit<8> a; bit<8> b; } struct H { R r; }
        parser P(packet_in p, out H h) { state start { p.extract(h.r); transition accept; } }";
    let mut switch = load(&format!(
        "{declarations} control F(inout H h, out bool accept_) {{ apply {{ accept_ = h.r.a != 0; }} }}
        parser Pt<X>(packet_in p, out X h); control Ft<X>(inout X h, out bool accept_);
        package Filter<X>(Pt<X> p, Ft<X> f); Filter(P(), F()) main;"
    ));
    assert_eq!(outputs(&mut switch, 3, &[1, 2, 3]), [(3, vec![1, 2, 3])]);
    assert_eq!(outputs(&mut switch, 3, &[0, 2, 3]), []);
    assert_eq!(outputs(&mut switch, 3, &[1]), [], "the parser rejects");
    let mut switch = load(&format!(
        "{declarations} control C(inout H h) {{ apply {{ h.r.b = h.r.a + 1; }} }}
        control D(packet_out p, in H h) {{ apply {{ p.emit(h.r); }} }}
        parser Pt<X>(packet_in p, out X h); control Ct<X>(inout X h); control Dt<X>(packet_out p, in X h);
        package Line<X>(Pt<X> p, Ct<X> c, Dt<X> d); Line(P(), C(), D()) main;"
    ));
    assert_eq!(outputs(&mut switch, 3, &[4, 0, 9]), [(3, vec![4, 5, 9])]);
}
