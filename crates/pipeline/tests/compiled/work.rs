//! Tests of the limit on the work that a packet may cause. The interpreter and each way of machine
//! code stop at the same statement, whatever the limit is.

use crate::both::psa_of_ingress;
use crate::differential::state;
use crate::program::{V1model, compile};
use ir::ValueSetId;
use ir::bits::Bits;
use pipeline::{
    EntryAction, FieldMatch, Group, GroupMember, Output, Replica, RunError, Switch, TableEntry, Way,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A program whose packet causes much work.
struct Case {
    name: &'static str,
    text: String,
    prepare: fn(&Switch),
    packet: Vec<u8>,
    /// Roughly the fewest units of work that the packet takes.
    least: u64,
}

type Outcome = (Vec<Result<Vec<Output>, RunError>>, Vec<String>);

/// Processes the packet of a case twice, and returns the outcomes and the state of the switch.
fn run(case: &Case, switch: &mut Switch, way: Way) -> Outcome {
    switch.reset().expect("it was loaded once");
    switch.choose_way(Some(way));
    (case.prepare)(switch);
    let mut outcomes = Vec::new();
    for port in 0..2 {
        let mut outcome = switch.process(port, &case.packet, Duration::from_secs(1));
        // Bursts do not report how often a packet was copied.
        for output in outcome.iter_mut().flatten() {
            output.generation = 0;
        }
        outcomes.push(outcome);
    }
    (outcomes, state::observed(switch))
}

const LARGE: &str = "header N { bit<8> n; bit<8> more; } header B { bit<512> v; }
    struct H { N n; N[6] list; B[64] one; B[64] other; } struct M { @field_list(1) bit<32> round; bit<16> sum; }";

fn v1model(program: &V1model<'_>) -> String {
    program.text()
}

fn cases() -> Vec<Case> {
    let nothing: fn(&Switch) = |_| {};
    let large = V1model {
        declarations: LARGE,
        parser: "state start { b.extract(h.n); transition accept; }",
        ..V1model::default()
    };
    let case = |name, program: &V1model<'_>, prepare, packet: &[u8], least| Case {
        name,
        text: v1model(program),
        prepare,
        packet: packet.to_vec(),
        least,
    };
    vec![
        case(
            "copies of a large stack in a loop",
            &V1model {
                ingress: "register<bit<32>, bit<32>>(8) r; apply { s.egress_spec = 1;
                    for (bit<32> i = 0; i < 64; i = i + 1) { r.write(i & 7, i); h.one = h.other; } }",
                ..large
            },
            nothing,
            &[1, 2, 3],
            64 * 64 * 5 / 4,
        ),
        case(
            "copies of a large stack at each recirculation",
            &V1model {
                ingress: "register<bit<32>, bit<32>>(8) r; apply { s.egress_spec = 1; m.round = m.round + 1;
                    r.write(m.round & 7, m.round); h.one = h.other; }",
                egress: "apply { if (m.round < 20) { recirculate_preserving_field_list(1); } }",
                ..large
            },
            nothing,
            &[1, 2, 3],
            20 * 64 * 5 / 4,
        ),
        case(
            "a parser that goes round",
            &V1model {
                parser: "state start { b.extract(h.n); transition select(h.n.more) { 1: start; default: accept; } }",
                ingress: "register<bit<32>, bit<32>>(8) r; apply { s.egress_spec = 1; r.write(1, 5); }",
                ..large
            },
            nothing,
            &[7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 7, 0],
            16,
        ),
        case(
            "a parser that fills a stack",
            &V1model {
                parser: "state start { b.extract(h.list.next);
                    transition select(h.list.last.more) { 1: start; default: accept; } }",
                ingress: "register<bit<32>, bit<32>>(8) r; apply { s.egress_spec = 1; r.write(1, 5);
                    if (h.list[2].isValid()) { s.mcast_grp = 4; } }",
                ..large
            },
            |switch| {
                let replicas = [1, 2, 3].map(|port| Replica { port, instance: 1 });
                switch.set_multicast_group(4, replicas.to_vec());
            },
            &[7, 1, 7, 1, 7, 1, 7, 0],
            8,
        ),
        case(
            "large state for thousands of ports",
            &V1model {
                ingress: "register<bit<32>, bit<32>>(8) r; apply { s.mcast_grp = 9; r.write(2, 1); }",
                egress: "register<bit<32>, bit<32>>(8) left; apply { bit<32> before; left.read(before, 0);
                    left.write(0, before + 1); }",
                ..large
            },
            |switch| {
                let replicas = (0..2000).map(|number| Replica { port: number % 9, instance: 1 });
                switch.set_multicast_group(9, replicas.collect());
            },
            &[1; 200],
            2000 * 64,
        ),
        case(
            "members of a value set",
            &V1model {
                parser: "value_set<bit<8>>(5000) set; state start { b.extract(h.n);
                    transition select(h.n.n) { set: again; default: accept; } }
                    state again { b.extract(h.list.next); transition accept; }",
                ingress: "apply { s.egress_spec = 1; m.round = m.round + 1; }",
                egress: "apply { if (m.round < 5) { recirculate_preserving_field_list(1); } }",
                ..large
            },
            |switch| {
                let member = |number| vec![FieldMatch::Exact(Bits::unsigned(8, number))];
                let members: Vec<_> = (0..200).map(member).collect();
                switch.set_value_set(ValueSetId(0), &members).expect("there is room");
            },
            &[77, 2, 3, 4],
            5 * 5000,
        ),
        case(
            "checksums over long payloads",
            &V1model {
                verify: "apply { verify_checksum_with_payload(true, { h.n }, m.sum, HashAlgorithm.crc16); }",
                ingress: "apply { s.egress_spec = 1; m.round = m.round + 1; }",
                egress: "apply { if (m.round < 9) { recirculate_preserving_field_list(1); } }",
                compute: "apply { update_checksum_with_payload(true, { h.n }, m.sum, HashAlgorithm.crc16); }",
                ..large
            },
            nothing,
            &[5; 9000],
            9 * 2 * 4096,
        ),
        case(
            "searches in a loop",
            &V1model {
                ingress: "register<bit<32>, bit<32>>(8) r; table t { key = { h.n.n: ternary; } actions = { NoAction; } size = 65536; }
                    apply { s.egress_spec = 1;
                    for (bit<32> i = 0; i < 5; i = i + 1) { r.write(i, i); t.apply(); } }",
                ..large
            },
            nothing,
            &[1, 2, 3],
            5 * 8192,
        ),
        case(
            "members of a group in a loop",
            &V1model {
                ingress: "register<bit<32>, bit<32>>(8) r; action to(bit<9> port) { s.egress_spec = port; }
                    action_selector(HashAlgorithm.crc32, 32768, 16) groups;
                    table t { key = { h.n.n: exact; h.n.more: selector; } actions = { to; NoAction; }
                        implementation = groups; }
                    apply { s.egress_spec = 1;
                    for (bit<32> i = 0; i < 5; i = i + 1) { r.write(i, i); t.apply(); } }",
                ..large
            },
            put_group,
            &[1, 2, 3],
            5 * 4096,
        ),
        case(
            "functions that call one another twice",
            &V1model {
                declarations: &doubling(),
                parser: large.parser,
                ingress: "apply { s.egress_spec = 1; h.n.n = f17(h.n.n); }",
                ..large
            },
            nothing,
            &[1, 2, 3],
            1 << 17,
        ),
        Case {
            name: "PSA: copies for a group",
            text: psa_of_ingress(
                "header R { bit<8> n; }",
                "Register<bit<32>, bit<32>>(8) r; apply { r.write(0, 9); o.drop = false;
                    o.multicast_group = (MulticastGroup_t)9; }",
            ),
            prepare: |switch| {
                let replicas = (0..50).map(|number| Replica { port: number, instance: 1 });
                switch.set_multicast_group(9, replicas.collect());
            },
            packet: vec![1; 1600],
            least: 50 * 100,
        },
        Case {
            name: "PSA: a packet that is sent through ingress again",
            text: psa_of_ingress(
                "header R { bit<8> n; }",
                "Register<bit<8>, bit<32>>(8) r; apply { bit<8> before = r.read(0); r.write(0, before + 1);
                    o.drop = false; if ((before & 31) < 30) { o.resubmit = true; } }",
            ),
            prepare: nothing,
            packet: vec![1; 160],
            least: 30 * 10,
        },
    ]
}

/// Inserts an entry with a group of 300 members of unequal weights.
fn put_group(switch: &Switch) {
    let table = switch.table_named("t").expect("a table");
    let groups = switch.extern_named("groups").expect("a selector");
    let to = switch.action_named(table, "to").expect("an action");
    let members = (0..300).map(|member| {
        let port = Bits::unsigned(9, u128::from(member % 4));
        let call = switch.action_call(to, &[port]).expect("an argument");
        switch.add_member(groups, member, call).expect("there is room");
        GroupMember { member, weight: 1 + member % 3, watch_port: None }
    });
    let group = Group { members: members.collect(), max_size: 0 };
    switch.add_group(groups, 1, group).expect("its members are there");
    let matches = vec![FieldMatch::Exact(Bits::unsigned(8, 1)), FieldMatch::Any];
    let action = EntryAction::Group(1);
    let entry = TableEntry { matches, priority: 0, action, idle_timeout: None };
    switch.add_entry(table, entry, Duration::ZERO).expect("there is room");
}

/// Returns functions that each call the previous one twice, so that a call of the last one runs the
/// first one 2^17 times.
fn doubling() -> String {
    let calls = (1..18).map(|number| {
        let before = number - 1;
        format!("bit<8> f{number}(in bit<8> x) {{ bit<8> y = f{before}(x); return f{before}(y) + 1; }}\n")
    });
    format!("{LARGE} bit<8> f0(in bit<8> x) {{ return x + 1; }}\n{}", calls.collect::<String>())
}

#[test]
fn work_of_every_kind_stops_at_the_same_statement_on_every_way() {
    for case in cases() {
        let program = compile(&case.text);
        let (mut ended, mut stopped, mut ways) = (0, 0, 0);
        // The limits are from one unit to more than enough, most of them close to the end of the
        // packet.
        let powers = [0, 3, 6, 9, 12, 15, 18, 21, 23].into_iter().map(|power| 1_u64 << power);
        let close = (4..16).step_by(3).map(|eighths| case.least * eighths / 4 + 1);
        for units in powers.chain(close) {
            let units = u32::try_from(units).expect("less than eight million");
            let load = || {
                let mut switch =
                    Switch::with_seed(program.clone(), 7).expect("a program that runs");
                switch.set_packet_work(units);
                switch
            };
            let expected = run(&case, &mut load(), Way::Interpreter);
            let mut code = load();
            code.compile().unwrap_or_else(|error| panic!("{}: {error}", case.name));
            for way in code.ways().into_iter().skip(1) {
                ways += 1;
                let found = run(&case, &mut code, way);
                assert_eq!(found, expected, "{}, {units} units, {way}", case.name);
            }
            for outcome in &expected.0 {
                match outcome {
                    Ok(_) => ended += 1,
                    Err(error) => {
                        assert_eq!(*error, RunError::WorkLimit(units.into()), "{}", case.name);
                        stopped += 1;
                    }
                }
            }
            assert!(
                u64::from(units) >= case.least || expected.0[0].is_err(),
                "{}: {units} units suffice",
                case.name
            );
        }
        assert!(ended > 0 && stopped > 0 && ways > 0, "{}: {ended}, {stopped}, {ways}", case.name);
    }
}

/// The program would copy 19 gigabytes.
#[test]
fn machine_code_does_not_copy_large_values_without_end() {
    let program = V1model {
        declarations: "header B { bit<2048> v; } struct H { B[256] one; B[256] other; } struct M {}",
        ingress: "apply { for (bit<32> i = 0; i < 300000; i = i + 1) { h.one = h.other; } }",
        deparser: "apply { b.emit(h.one[0]); }",
        ..V1model::default()
    };
    let mut switch = Switch::new(compile(&program.text())).expect("a program that runs");
    switch.compile().expect("a program that can be compiled");
    let outcome = switch.process(0, &[0; 60], Duration::ZERO);
    assert_eq!(outcome, Err(RunError::WorkLimit(1 << 22)));
}

/// A packet that may run for minutes ends when its worker is asked to stop: at the next charge on
/// the interpreter, and within a slice of 65,536 units in machine code.
#[test]
fn a_packet_ends_when_its_worker_is_stopped() {
    let program = V1model {
        declarations: LARGE,
        parser: "state start { b.extract(h.n); transition accept; }",
        ingress: "apply { s.egress_spec = 1; for (; h.n.n == 1;) { h.n.more = h.n.more + 1; } }",
        ..V1model::default()
    };
    let mut switch = Switch::new(compile(&program.text())).expect("a program that runs");
    switch.set_packet_work(u32::MAX / 2);
    switch.compile().expect("a program that can be compiled");
    let stop = Arc::new(AtomicBool::new(false));
    switch.end_with(Arc::clone(&stop));
    for way in switch.ways() {
        switch.choose_way(Some(way));
        stop.store(false, Ordering::Relaxed);
        let ends = switch.process(0, &[2, 0], Duration::ZERO).map(|outputs| outputs.len());
        assert_eq!(ends, Ok(1), "{way}");
        let outcome = std::thread::scope(|scope| {
            let worker = scope.spawn(|| switch.process(0, &[1, 0], Duration::ZERO));
            std::thread::sleep(Duration::from_millis(20));
            stop.store(true, Ordering::Relaxed);
            worker.join().expect("no panic")
        });
        assert_eq!(outcome, Err(RunError::Stopped), "{way}");
        // Later packets end too, even one that would cause little work.
        let outcome = switch.process(0, &[2, 0], Duration::ZERO);
        assert_eq!(outcome, Err(RunError::Stopped), "{way}");
    }
}
