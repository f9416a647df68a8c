//! Tests of packets that are only tried: they leave the switch as it is, and see their own changes.

use super::support::{V1model, add_exact, call, exact, load, outputs, outputs_at};
use pipeline::{
    AtQueues, Checkpoint, CloneSession, EntryAction, Event, FieldMatch, Group, GroupMember,
    MeterConfig, Replica, RunError, Selection, Switch, TableEntry, Trace,
};
use std::time::Duration;

const HEADERS: &str = "header R { bit<8> a; bit<8> b; bit<8> c; } struct H { R r; }
    struct M { bit<8> x; }";
const PARSER: &str = "state start { b.extract(h.r); transition accept; }";

fn program(ingress: &str) -> Switch {
    V1model { declarations: HEADERS, parser: PARSER, ingress, ..V1model::default() }.load()
}

/// Tries a packet at a time, and returns the ports and packets that would have left.
fn tried_at(switch: &mut Switch, bytes: &[u8], now: Duration) -> Vec<(u32, Vec<u8>)> {
    let mut events: Vec<Event> = Vec::new();
    let outputs = switch.try_process(1, bytes, now, AtQueues::Wait, &mut events).expect("runs");
    assert!(!events.is_empty());
    outputs.into_iter().map(|output| (output.port, output.packet)).collect()
}

fn tried(switch: &mut Switch, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    tried_at(switch, bytes, Duration::ZERO)
}

#[test]
fn registers_counters_digests_and_random_numbers_stay() {
    let ingress =
        "register<bit<8>, bit<32>>(2) r; counter<bit<32>>(2, CounterType.packets_and_bytes) c;
        direct_counter(CounterType.packets) d;
        action set(bit<9> port) { s.egress_spec = port; }
        table t { key = { h.r.a: exact; } actions = { set; } counters = d; }
        apply { bit<8> old; r.read(old, 1); r.write(1, old + 1); r.read(old, 1); h.r.b = old;
            c.count(1); t.apply(); random(h.r.c, 8w0, 8w255); digest<M>(1, m); }";
    let mut switch = program(ingress);
    add_exact(&mut switch, "t", 7, "set", &[3]);
    let mut twin = program(ingress);
    add_exact(&mut twin, "t", 7, "set", &[3]);
    for _ in 0..3 {
        let of_trial = tried(&mut switch, &[7, 0, 0, 9]);
        assert_eq!(of_trial, tried(&mut switch, &[7, 0, 0, 9]), "tried again");
        assert_eq!(of_trial, outputs(&mut twin, 1, &[7, 0, 0, 9]), "the twin runs");
        assert_eq!(of_trial, outputs(&mut switch, 1, &[7, 0, 0, 9]), "and so does the switch");
    }
    let [counter, register] = ["c", "r"].map(|name| switch.extern_named(name).expect("there"));
    assert_eq!(switch.counter(counter, 1).expect("element").packets, 3);
    assert_eq!(switch.register(register, 1), twin.register(register, 1));
    assert_eq!(switch.take_digests().len(), 3);
}

#[test]
fn meters_keep_their_tokens() {
    let ingress =
        "meter<bit<32>>(2, MeterType.packets) m; direct_meter<bit<8>>(MeterType.packets) d;
        action set(bit<9> port) { s.egress_spec = port; d.read(h.r.c); }
        table t { key = { h.r.a: exact; } actions = { set; } meters = d; }
        apply { m.execute_meter<bit<8>>(1, h.r.b); t.apply(); }";
    let config =
        MeterConfig::TwoRate { committed_rate: 1, committed_burst: 1, peak_rate: 2, peak_burst: 2 };
    let mut switch = program(ingress);
    add_exact(&mut switch, "t", 7, "set", &[3]);
    let id = switch.extern_named("m").expect("there");
    switch.configure_meter(id, 1, Some(config), Duration::ZERO).expect("set");
    for _ in 0..4 {
        assert_eq!(
            tried(&mut switch, &[7, 0, 0]),
            [(3, vec![7, 0, 0])],
            "green as long as it is full"
        );
    }
    let colours: Vec<u8> = (0..3).map(|_| outputs(&mut switch, 1, &[7, 0, 0])[0].1[1]).collect();
    assert_eq!(colours, [0, 1, 2]);
    assert_eq!(tried(&mut switch, &[7, 0, 0])[0].1[1], 2);
}

#[test]
fn an_entry_that_the_packet_writes_stays_and_is_written_for_the_packet_itself() {
    // The packet is recirculated once, so that it finds what its first pass has written.
    let ingress = "action bump(@__ref bit<8> value) { value = value + 1; h.r.b = value; }
        table t { key = { h.r.a: exact; } actions = { bump; } }
        apply { t.apply(); s.egress_spec = 2; }";
    let egress = "apply { if (h.r.c == 0) { h.r.c = 1; recirculate_preserving_field_list(1); } }";
    let load = || {
        let program = V1model {
            declarations: HEADERS,
            parser: PARSER,
            ingress,
            egress,
            ..V1model::default()
        };
        let mut switch = program.load();
        add_exact(&mut switch, "t", 7, "bump", &[10]);
        switch
    };
    let mut switch = load();
    for _ in 0..3 {
        assert_eq!(tried(&mut switch, &[7, 0, 0]), [(2, vec![7, 12, 1])]);
    }
    assert_eq!(outputs(&mut switch, 1, &[7, 0, 0]), [(2, vec![7, 12, 1])]);
    assert_eq!(tried(&mut switch, &[7, 0, 0]), [(2, vec![7, 14, 1])]);
    // Machine code has the entry in its own form.
    let mut compiled = load();
    compiled.compile().expect("compiles");
    assert_eq!(tried(&mut compiled, &[7, 0, 0]), [(2, vec![7, 12, 1])]);
    assert_eq!(outputs(&mut compiled, 1, &[7, 0, 0]), [(2, vec![7, 12, 1])]);
    assert_eq!(tried(&mut compiled, &[7, 0, 0]), [(2, vec![7, 14, 1])]);
}

#[test]
fn clones_are_tried_too() {
    let mut switch = program("apply { s.egress_spec = 2; clone(CloneType.I2E, 5); }");
    let replicas = vec![Replica { port: 8, instance: 0 }, Replica { port: 9, instance: 1 }];
    switch.set_clone_session(5, Some(CloneSession { replicas, ..CloneSession::default() }));
    let expected = outputs(&mut switch, 1, &[1, 2, 3]);
    assert_eq!(expected.len(), 3);
    assert_eq!(tried(&mut switch, &[1, 2, 3]), expected);
}

/// Returns a program for DPDK that adds an entry on a miss. Packets whose first byte is at least
/// 100 are recirculated.
fn learning() -> Switch {
    let switch = load(
        "#include <core.p4>
        #include <dpdk/pna.p4>
        header R { bit<8> a; bit<8> b; bit<8> c; } struct H { R r; } struct M { bit<8> x; }
        struct Parameters { bit<8> value; }
        parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {
            state start { p.extract(h.r); transition accept; } }
        control Pre(in H h, inout M m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) { apply { } }
        control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
            action hit(bit<8> value) { h.r.b = value; }
            action miss() {
                Parameters parameters = { h.r.c };
                add_entry(\"hit\", parameters, (ExpireTimeProfileId_t)1); h.r.b = 100; }
            table t { key = { h.r.a: exact; } actions = { hit; @defaultonly miss; } default_action = miss();
                add_on_miss = true; size = 2; pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE; }
            apply { send_to_port((PortId_t)1); t.apply();
                if (h.r.a >= 100 && h.r.c != 0) { h.r.c = 0; recirculate(); } } }
        control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) { apply { p.emit(h); } }
        PNA_NIC(P(), Pre(), C(), D()) main;",
    );
    switch.set_expire_time_profile(1, Some(Duration::from_secs(10)));
    switch
}

#[test]
fn no_entry_is_added_and_no_timer_restarted() {
    let mut switch = learning();
    assert_eq!(tried(&mut switch, &[1, 0, 5])[0].1[1], 100);
    assert_eq!(tried(&mut switch, &[1, 0, 5])[0].1[1], 100, "the entry was not added");
    assert_eq!(outputs(&mut switch, 1, &[1, 0, 5])[0].1[1], 100);
    assert_eq!(tried(&mut switch, &[1, 0, 6])[0].1[1], 5);
    // A hit would restart no timer here, but an entry that was only tried must not live longer.
    let late = Duration::from_secs(11);
    assert_eq!(tried_at(&mut switch, &[1, 0, 6], late)[0].1[1], 100, "it has timed out");
    assert_eq!(outputs_at(&mut switch, 1, &[1, 0, 7], late)[0].1[1], 100);
}

/// A packet that looks up the entry that it has added itself cannot be followed. That must be said,
/// and must not look like a miss.
#[test]
fn a_lookup_of_an_entry_that_was_only_tried_is_an_error() {
    let mut switch = learning();
    let mut events: Vec<Event> = Vec::new();
    let error = switch.try_process(1, &[100, 0, 5], Duration::ZERO, AtQueues::Wait, &mut events);
    assert!(matches!(&error, Err(RunError::NotTried { table }) if table == "C.t"), "{error:?}");
    assert_eq!(outputs(&mut switch, 1, &[100, 0, 5]), [(1, vec![100, 5, 0])]);
}

/// A packet that is tried passes queues only if the caller wants that, and enters none.
#[test]
fn queues_of_ports_are_passed_on_request() {
    let mut switch = program("apply { s.egress_spec = 3; h.r.b = 5; }");
    switch.set_port_queues([(3, 1)].into());
    let mut leave = |at_queues| {
        let mut events: Vec<Event> = Vec::new();
        let tried = switch.try_process(1, &[7, 0, 0], Duration::ZERO, at_queues, &mut events);
        let tried = tried.expect("runs").into_iter().map(|output| (output.port, output.packet));
        assert!(switch.take_waiting().is_empty());
        tried.collect::<Vec<_>>()
    };
    assert_eq!(leave(AtQueues::Wait), []);
    assert_eq!(leave(AtQueues::Pass), [(3, vec![7, 5, 0])]);
    assert_eq!(leave(AtQueues::Wait), []);
    assert_eq!(outputs(&mut switch, 1, &[7, 0, 0]), []);
    assert_eq!(switch.take_waiting().len(), 1);
}

/// A trace that takes a member of each group, and keeps the last checkpoint.
struct Taking {
    member: usize,
    checkpoint: Option<Checkpoint>,
}

impl Trace for Taking {
    fn event(&mut self, _: Event) {}

    fn choose(&mut self, _: &Selection<'_>) -> usize {
        self.member
    }

    fn wants_checkpoints(&self) -> bool {
        true
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) {
        self.checkpoint = Some(checkpoint);
    }
}

/// A packet that continues from a checkpoint has the changes and the random numbers that it had
/// there, and the outputs of a packet that takes the other member from the start.
#[test]
fn a_packet_continues_from_a_checkpoint() {
    let ingress = "register<bit<8>, bit<32>>(2) r;
        action_selector(HashAlgorithm.crc16, 64, 14) members;
        action set(bit<9> port) { s.egress_spec = port; }
        table t { key = { h.r.a: exact; h.r.b: selector; } actions = { set; }
            implementation = members; }
        apply { bit<8> old; r.read(old, 1); r.write(1, old + 9); random(h.r.c, 8w0, 8w255);
            if (h.r.a > 2) { h.r.b = 1; t.apply(); h.r.b = h.r.b + 1; }
            r.read(old, 1); h.r.b = h.r.b + old; }";
    let spread = || {
        let mut switch = program(ingress);
        let (table, selector) = (switch.table_named("t"), switch.extern_named("members"));
        let (table, selector) = (table.expect("a table"), selector.expect("a selector"));
        let mut group = Group::default();
        for member in 0..3 {
            let action = call(&switch, "t", "set", &[u128::from(member) + 4]);
            switch.add_member(selector, member, action).expect("room");
            group.members.push(GroupMember { member, weight: 1, watch_port: None });
        }
        switch.add_group(selector, 1, group).expect("room");
        let matches = vec![exact(7), FieldMatch::Any];
        let action = EntryAction::Group(1);
        let entry = TableEntry { matches, priority: 0, action, idle_timeout: None };
        switch.add_entry(table, entry, Duration::ZERO).expect("room");
        // The random numbers and the register are not as they were at first.
        outputs(&mut switch, 1, &[1, 0, 0]);
        switch
    };
    let (now, wait) = (Duration::ZERO, AtQueues::Wait);
    let mut switch = spread();
    let mut first = first_of(0);
    let outputs = switch.try_process(1, &[7, 0, 0], now, wait, &mut first).expect("runs");
    assert_eq!((outputs[0].port, outputs[0].packet[1]), (4, 2 + 18));
    let checkpoint = first.checkpoint.expect("a checkpoint");
    for member in [2, 1, 0] {
        let taking = || first_of(member);
        let again = switch.try_again(&checkpoint, now, wait, &mut taking()).expect("runs");
        let whole = switch.try_process(1, &[7, 0, 0], now, wait, &mut taking()).expect("runs");
        assert_eq!(again, whole);
        assert_eq!(again[0].packet, outputs[0].packet, "only the port differs");
    }
    let refused = spread().try_again(&checkpoint, now, wait, &mut first_of(0));
    assert!(matches!(refused, Err(RunError::Internal(_))), "{refused:?}");
}

fn first_of(member: usize) -> Taking {
    Taking { member, checkpoint: None }
}
