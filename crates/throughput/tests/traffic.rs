//! Tests of traffic that is generated from the programs of the repository, and of runs with it.

use ir::Program;
use ir::{EntryStore, Replicas, TableStorage};
use p4lang::compile_text;
use p4lang::preprocess::{DiskFiles, MemoryFiles, Options};
use pipeline::Path as Way;
use std::path::Path;
use std::time::Duration;
use tables::Wait;
use throughput::ports::{Io, run_on};
use throughput::run::{Contender, Figures, Settings, run, run_beside, run_methods};
use throughput::traffic::{TrafficError, Wanted, Workload};
use throughput::{UpdateMethod, Variant};

const SEED: u64 = 1;

fn program(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(name);
    let compiled =
        p4lang::compile_file(&path, &Options::default(), &DiskFiles).expect("it is there");
    compiled.program.expect("it compiles")
}

fn workload(name: &str, flows: usize) -> Workload {
    let wanted = Wanted { flows, packet_size: 84, seed: SEED };
    Workload::from_program(program(name), wanted, &mut |_, _| true).expect("there is traffic")
}

#[test]
fn packets_leave_and_hit_entries_of_every_table_on_their_way() {
    for (name, tables) in [
        ("entry_update.p4", &[("UpdateIngress.values", 100)][..]),
        ("l2.p4", &[("L2Ingress.l2", 100)]),
        ("tunnel.p4", &[("TunnelIngress.tunnels", 100)]),
        (
            "router.p4",
            // The routes' entries name 64 different next hops. Their packets leave by one port.
            // Packets whose next hop is still unknown leave by another, to the controller.
            &[
                ("RouterEgress.interfaces", 2),
                ("RouterIngress.neighbours", 64),
                ("RouterIngress.routes", 100),
            ],
        ),
    ] {
        let workload = workload(name, 100);
        let found: Vec<(&str, usize)> = workload.entries_by_table().into_iter().collect();
        assert_eq!(found, tables, "{name}, {:?}", workload.notes());
        assert_eq!(workload.leaving(), 100, "{name}");
    }
}

#[test]
fn packets_of_most_programs_leave() {
    for name in [
        "firewall.p4",
        "heavy_hitter.p4",
        "learning_switch.p4",
        "load_balancer.p4",
        "nic_switch.p4",
        "psa_mirror.p4",
    ] {
        assert_eq!(workload(name, 100).leaving(), 100, "{name}");
    }
}

/// A lookahead reads bits that no header includes, and on which no case of a `select` depends.
#[test]
fn packets_are_as_long_as_the_parser_looks_ahead() {
    let text = "#include <v1model.p4>
        header h_t { bit<112> all; } struct H { h_t h; } struct M { bit<256> next; }
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
            state start {
                p.extract(h.h);
                m.next = p.lookahead<bit<256>>();
                transition select(m.next[255:248]) { 1: accept; }
            }
        }
        control V(inout H h, inout M m) { apply { } }
        control I(inout H h, inout M m, inout standard_metadata_t s) {
            apply { if (s.parser_error == error.NoError) { s.egress_spec = 1; } else { mark_to_drop(s); } }
        }
        control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
        control D(packet_out p, in H h) { apply { p.emit(h); } }
        V1Switch(P(), V(), I(), E(), V(), D()) main;";
    let compiled = compile_text("lookahead.p4", text, &Options::default(), &DiskFiles);
    let program = compiled.program.expect("it compiles");
    let wanted = Wanted { flows: 10, packet_size: 14, seed: SEED };
    let workload =
        Workload::from_program(program, wanted, &mut |_, _| true).expect("there is traffic");
    assert_eq!(workload.leaving(), 10);
}

fn settings(paths: &[Way]) -> Settings {
    Settings {
        paths: paths.to_vec(),
        cores: vec![1, 2],
        repetitions: 2,
        time: Duration::from_millis(5),
        warm_up: Duration::ZERO,
        load: 0.5,
        skew: 0.0,
        any_core: false,
        by_wall_clock: false,
        seed: SEED,
    }
}

#[test]
fn every_packet_of_a_program_that_writes_its_table_is_checked() {
    let workload = workload("entry_update.p4", 500);
    let settings = settings(&[Way::Interpreter, Way::Compiled]);
    let findings = run(&workload, &settings, &mut |_, _, _| true).expect("it runs");
    assert_eq!(findings.cases.len(), 4);
    for case in &findings.cases {
        assert_eq!(case.refused, None, "{case:?}");
        let counts = case.counts;
        assert!(counts.processed > 0, "{case:?}");
        assert_eq!((counts.left, counts.checked), (counts.processed, counts.processed));
        assert_eq!((counts.wrong, counts.errors), (0, 0), "{case:?}");
        assert_eq!(case.comparison.difference, None);
        let times = case.latency.as_ref().map(|latency| latency.times.repetitions().len());
        assert_eq!((case.rates.len(), times), (2, (case.cores == 1).then_some(2)));
        assert_eq!(case.one_by_one, None);
        if let Some(stages) = case.stages {
            assert!((case.cores, case.path) == (1, Way::Compiled), "{case:?}");
            assert!(stages.parser > 0.0 && stages.after_parser > 0.0 && stages.around > 0.0);
        }
        let tables = case.table_access.as_ref();
        let is_measured = (case.cores, case.path) == (1, Way::Compiled) && case.stages.is_some();
        assert_eq!(tables.map(|tables| tables.with.len()), is_measured.then_some(2), "{case:?}");
        if let Some(tables) = tables {
            assert!(tables.with.iter().chain(&tables.without).all(|cycles| *cycles > 0.0));
            assert!(tables.share().is_some_and(|share| share.mean < 1.0), "{tables:?}");
        }
    }
}

/// Checks that workers with their own replicas of entries find the values that earlier packets of
/// the same flow wrote.
#[test]
fn in_sharded_tables_every_flow_finds_what_it_left() {
    let mut program = program("entry_update.p4");
    program.tables[0].storage.replicas = ir::Replicas::Sharded;
    let wanted = Wanted { flows: 500, packet_size: 84, seed: SEED };
    let workload = Workload::from_program(program, wanted, &mut |_, _| true).expect("traffic");
    let findings = run(&workload, &settings(&[Way::Compiled]), &mut |_, _, _| true);
    for case in &findings.expect("it runs").cases {
        let counts = case.counts;
        assert!(counts.processed > 0, "{case:?}");
        assert_eq!((counts.left, counts.checked), (counts.processed, counts.processed));
        assert_eq!((counts.wrong, counts.errors, counts.divided), (0, 0, 0), "{case:?}");
    }
}

/// Checks the paper's three update methods with the same packets. Each packet must leave with the
/// value that the previous packet of its flow wrote, and every change must become visible.
#[test]
fn entries_are_changed_by_pointer_change_and_digest() {
    let workload = workload("entry_update.p4", 200);
    let mut settings = settings(&[Way::Interpreter, Way::Compiled]);
    settings.repetitions = 1;
    let findings = run_methods(&workload, &UpdateMethod::ALL, &settings, &mut |_, _, _| true);
    let findings = findings.expect("it runs");
    assert_eq!(findings.cases.len(), 12);
    for case in &findings.cases {
        let counts = case.counts;
        assert!(counts.processed > 0, "{case:?}");
        assert_eq!((counts.left, counts.checked), (counts.processed, counts.processed));
        assert_eq!((counts.wrong, counts.errors, counts.unwritten), (0, 0, 0), "{case:?}");
        let seen = case.seen.as_ref().map(|seen| !seen.is_empty());
        assert_eq!(seen, (case.cores == 1).then_some(true), "{case:?}");
    }
}

/// Checks that programs take turns in one run, in the given order, and that a change between two
/// replicas waits for the requested time.
#[test]
fn programs_are_measured_beside_each_other() {
    let (writing, reading) = (workload("entry_update.p4", 100), workload("l2.p4", 100));
    let storage = |replicas, update, synchronised| {
        let store = Some(EntryStore::Dynamic);
        Variant::Storage(TableStorage { store, replicas, update, synchronised })
    };
    let quiescent = Contender {
        workload: &writing,
        variant: storage(Replicas::Two, UpdateMethod::Change, false),
        cores: 1,
        idle_workers: 0,
        wait: Wait::Quiescent,
        is_compared: false,
    };
    let locked = storage(Replicas::One, UpdateMethod::Pointer, true);
    let contenders = [
        quiescent,
        Contender { wait: Wait::PAPER, is_compared: true, ..quiescent },
        Contender { variant: locked, idle_workers: 1, ..quiescent },
        Contender { variant: locked, cores: 2, ..quiescent },
        Contender { workload: &reading, variant: Variant::AsWritten, ..quiescent },
    ];
    let settings = Settings { by_wall_clock: true, ..settings(&[]) };
    let figures = Figures::RatesAndLatencies;
    let found = run_beside(&contenders, figures, &settings, &mut |_, _, _| true).expect("it runs");
    let cores: Vec<usize> = found.cases.iter().map(|case| case.cores).collect();
    assert_eq!(cores, [1, 1, 1, 2, 1]);
    for (case, contender) in found.cases.iter().zip(contenders) {
        assert_eq!((case.refused.as_ref(), case.rates.len()), (None, 2), "{case:?}");
        assert_eq!((case.counts.wrong, case.counts.errors), (0, 0), "{case:?}");
        assert_eq!(case.counts.left, case.counts.processed, "{case:?}");
        assert_eq!(case.comparison.compared > 0, !contender.is_compared, "{case:?}");
        assert_eq!(case.latency.is_some(), case.cores == 1, "{case:?}");
    }
    // A wait of 200 us allows 5,000 changes per second at most.
    assert!(found.cases[1].rates.iter().all(|rate| *rate < 5e3), "{:?}", found.cases[1].rates);
    assert!(found.cases[0].rates.iter().all(|rate| *rate > 5e3), "{:?}", found.cases[0].rates);
}

/// Checks that the time until a change is visible is measured on flows with an entry of their own,
/// although other flows share one.
#[test]
fn changes_are_seen_where_some_flows_share_an_entry() {
    let mut packets =
        workload("entry_update.p4", 20).packets().iter().map(<[u8]>::to_vec).collect::<Vec<_>>();
    packets.push(packets[7].clone());
    let program = program("entry_update.p4");
    let workload = Workload::from_packets(program, packets, &mut |_, _| true).expect("traffic");
    let methods = [UpdateMethod::Pointer, UpdateMethod::Change];
    let settings = Settings { repetitions: 1, cores: vec![1], ..settings(&[Way::Compiled]) };
    let findings = run_methods(&workload, &methods, &settings, &mut |_, _, _| true);
    for case in &findings.expect("it runs").cases {
        assert!(case.seen.as_ref().is_some_and(|seen| !seen.is_empty()), "{case:?}");
    }
}

/// Checks that packets that pass through captures and sockets leave as the interpreter says.
#[test]
fn packets_go_through_ports_and_come_back_right() {
    let workload = workload("entry_update.p4", 100);
    let settings = settings(&[Way::Interpreter, Way::Compiled]);
    for io in [Io::Pcap, Io::Veth, Io::Xdp, Io::Dpdk] {
        let findings = match run_on(io, &workload, &settings, &mut |_, _, _| true) {
            Ok(findings) => findings,
            Err(TrafficError::Ports(error)) if io != Io::Pcap => {
                eprintln!("SKIPPED: {}: {error}", io.name());
                continue;
            }
            Err(error) => panic!("{}: {error}", io.name()),
        };
        assert_eq!((findings.io, findings.cases.len(), findings.copied.len()), (io, 2, 2));
        for case in &findings.cases {
            let counts = case.counts;
            let name = io.name();
            assert!(counts.left > 0 && counts.left <= counts.processed, "{name}: {counts:?}");
            assert_eq!((counts.checked, counts.wrong, counts.errors), (counts.left, 0, 0));
            assert_eq!((case.rates.len(), case.cores), (2, 1));
            assert!(case.rates.iter().all(|rate| *rate > 0.0), "{name}: {:?}", case.rates);
        }
    }
}

#[test]
fn methods_of_change_are_refused_where_packets_write_no_entry() {
    let router = workload("router.p4", 20);
    let digest = [UpdateMethod::Digest];
    let refused = run_methods(&router, &digest, &settings(&[Way::Compiled]), &mut |_, _, _| true);
    assert!(refused.is_err_and(|error| error.to_string().contains("@__ref")));
}

/// Checks that a counter is exact with the methods pointer and change. With digest, packets that
/// meet an entry whose message is in flight continue from the old value, so later counts are
/// overwritten.
#[test]
fn a_digest_that_comes_late_overwrites_and_is_counted() {
    let text = "#include <core.p4>\n#include <v1model.p4>\n
        header K { bit<32> entry; bit<32> seen; }
        struct H { K k; }
        struct M { }
        parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
            state start { b.extract(h.k); transition accept; } }
        control I(inout H h, inout M m, inout standard_metadata_t s) {
            action count(@__ref bit<32> packets) { packets = packets + 1; h.k.seen = packets; }
            table counted { key = { h.k.entry: exact; } actions = { count; NoAction; }
                default_action = NoAction(); }
            apply { counted.apply(); s.egress_spec = s.ingress_port; }
        }
        control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
        control C(inout H h, inout M m) { apply { } }
        control D(packet_out b, in H h) { apply { b.emit(h.k); } }
        V1Switch(P(), C(), I(), E(), C(), D()) main;";
    let files = p4lang::preprocess::MemoryFiles::default();
    let compiled = p4lang::compile_text("count.p4", text, &Options::default(), &files);
    let wanted = Wanted { flows: 4, packet_size: 64, seed: SEED };
    let program = compiled.program.expect("it compiles");
    let workload =
        Workload::from_program(program, wanted, &mut |_, _| true).expect("there is traffic");
    let settings = Settings { repetitions: 1, cores: vec![1], ..settings(&[Way::Compiled]) };
    let findings = run_methods(&workload, &UpdateMethod::ALL, &settings, &mut |_, _, _| true);
    for case in &findings.expect("it runs").cases {
        let counts = case.counts;
        let lost = counts.overwritten > 0;
        // A burst has far more packets than the table has entries, so many messages of one burst
        // begin from the same value.
        assert_eq!(lost, case.method == UpdateMethod::Digest, "{case:?}");
        assert_eq!((counts.unwritten, counts.errors), (0, 0), "{case:?}");
    }
}

#[test]
fn flows_are_drawn_by_zipfs_law() {
    let workload = workload("entry_update.p4", 500);
    let mut settings = settings(&[Way::Compiled]);
    settings.skew = 1.2;
    let findings = run(&workload, &settings, &mut |_, _, _| true).expect("it runs");
    for case in &findings.cases {
        let counts = case.counts;
        assert_eq!((counts.left, counts.checked), (counts.processed, counts.processed));
        assert_eq!((counts.wrong, counts.errors), (0, 0), "{case:?}");
    }
}

#[test]
fn a_run_stops_when_its_observer_says_so() {
    let workload = workload("l2.p4", 100);
    let findings = run(&workload, &settings(&[Way::Interpreter]), &mut |stage, done, _| {
        stage != throughput::run::Stage::Measuring || done == 0
    });
    let findings = findings.expect("one repetition was measured");
    assert!(findings.interrupted);
    assert_eq!(findings.cases.iter().map(|case| case.rates.len()).sum::<usize>(), 1);
}

/// Checks flows that share an entry: the output of each depends on which flow came last, so these
/// two are not checked, and the others are.
#[test]
fn flows_that_write_one_entry_are_not_checked_and_the_others_are() {
    let packet = |entry: u32, value: u32| {
        let mut bytes = vec![2; 14];
        bytes.extend(entry.to_be_bytes());
        bytes.extend(value.to_be_bytes());
        bytes
    };
    let packets = vec![packet(1, 10), packet(1, 11), packet(2, 12)];
    let program = program("entry_update.p4");
    let workload = Workload::from_packets(program, packets, &mut |_, _| true).expect("traffic");
    assert_eq!(workload.entries_by_table()["UpdateIngress.values"], 2);
    let mut settings = settings(&[Way::Interpreter, Way::Compiled]);
    settings.cores = vec![1];
    let findings = run(&workload, &settings, &mut |_, _, _| true).expect("it runs");
    for case in &findings.cases {
        let counts = case.counts;
        assert!(counts.checked > 0 && counts.checked < counts.processed / 2, "{counts:?}");
        assert_eq!((counts.wrong, counts.left), (0, counts.processed), "{counts:?}");
    }
}

/// Returns a program with one header and one table, and the given statements in ingress and egress.
fn small(ingress: &str, egress: &str) -> Program {
    let source = format!(
        "#include <v1model.p4>
        header h_t {{ bit<32> a; bit<32> b; }}
        struct H {{ h_t h; }} struct M {{ @field_list(0) bit<32> r; }}
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
            state start {{ p.extract(h.h); transition accept; }}
        }}
        control V(inout H h, inout M m) {{ apply {{ }} }}
        control I(inout H h, inout M m, inout standard_metadata_t s) {{
            action go(bit<9> port) {{ s.egress_spec = port; }}
            table t {{ key = {{ h.h.a: exact; }} actions = {{ go; }} size = 1024; }}
            apply {{ t.apply(); {ingress} }}
        }}
        control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {egress} }} }}
        control C(inout H h, inout M m) {{ apply {{ }} }}
        control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
        V1Switch(P(), V(), I(), E(), C(), D()) main;"
    );
    let compiled = compile_text("small.p4", &source, &Options::default(), &MemoryFiles::default());
    compiled.program.expect("it compiles")
}

#[test]
fn packets_that_never_end_are_named_with_their_budget() {
    let odd = "if (h.h.a[0:0] == 1) { recirculate_preserving_field_list(0); }";
    for (ingress, egress, budget) in [
        ("", "recirculate_preserving_field_list(0);", "more than 1024 passes"),
        ("", odd, "more than 1024 passes"),
        ("resubmit_preserving_field_list(0);", "", "more than 1024 passes"),
        (
            "for (bit<32> i = 0; i < 5; i = i) { h.h.b = h.h.b + 1; }",
            "",
            "more than 4194304 units of work",
        ),
    ] {
        let wanted = Wanted { flows: 64, packet_size: 84, seed: SEED };
        let made = Workload::from_program(small(ingress, egress), wanted, &mut |_, _| true);
        let error = made.expect_err("no rate").to_string();
        let first = error.strip_prefix("packets ").and_then(|rest| rest.split(',').next());
        let first: usize = first.expect("a packet").parse().expect("its number");
        assert!(error.contains(budget) && error.contains("never end"), "{error}");
        assert!(error.contains("of 64") && error.contains("--traffic"), "{error}");
        // All packets are endless, except the even ones of the second program.
        assert!(first == 0 || egress == odd, "{error}");
        assert!(error.contains(&format!("Packet {first} is ")), "{error}");
    }
}

/// Checks that random outputs are not counted as wrong, even if they often agree, and that all
/// other outputs are still checked.
#[test]
fn flows_that_draw_random_numbers_are_not_held_against_another_draw() {
    let draw = "bit<32> x; random(x, 0, 1); if (x == 1) { h.h.b = 7; }";
    let some = format!("if (h.h.a[0:0] == 1) {{ {draw} }}");
    for (ingress, draws) in [(draw, 64), (some.as_str(), 1)] {
        let wanted = Wanted { flows: 64, packet_size: 84, seed: SEED };
        let workload = Workload::from_program(small(ingress, ""), wanted, &mut |_, _| true);
        let workload = workload.expect("traffic");
        let settings = Settings { cores: vec![1], ..settings(&[Way::Interpreter, Way::Compiled]) };
        let findings = run(&workload, &settings, &mut |_, _, _| true).expect("it runs");
        assert!(findings.random_flows >= draws, "{}", findings.random_flows);
        for case in &findings.cases {
            assert_eq!(case.counts.wrong, 0, "{case:?}");
            assert_eq!(case.counts.checked == 0, findings.random_flows == 64, "{case:?}");
            assert_eq!(case.comparison.difference, None);
        }
    }
}

/// The P4Runtime form of the generated entries would be accepted: they satisfy the constraints, and
/// still match the packets. Without the constraints, the same program gets entries that break them.
#[test]
fn entries_satisfy_the_constraints_of_their_tables_and_actions() {
    use pipeline::FieldMatch;

    let text = include_str!("../../../programs/router.p4");
    let routes = text.find("table routes").expect("the table of routes");
    let restricted = |constraint: &str, action: &str| {
        let annotation = format!("@entry_restriction(\"{constraint}\")\n");
        let text = format!("{}{annotation}{}", &text[..routes], &text[routes..]);
        let text = text.replace("action via", &format!("{action} action via"));
        let options = Options::default();
        let compiled = compile_text("router.p4", &text, &options, &MemoryFiles::new());
        let messages = compiled.messages(p4lang::diagnostic::Style::Plain);
        compiled.program.unwrap_or_else(|| panic!("{messages}"))
    };
    let lengths = |program: Program| {
        let name = "RouterIngress.routes";
        let wanted = Wanted { flows: 50, packet_size: 84, seed: SEED };
        let position = program.tables.iter().position(|table| table.name == name);
        let table = ir::TableId(position.expect("the table") as u32);
        let workload =
            Workload::from_program(program, wanted, &mut |_, _| true).expect("there is traffic");
        assert_eq!(workload.leaving(), 50, "{:?}", workload.notes());
        let entries = workload.entries().filter(|(of, _)| *of == table);
        let lengths = entries.map(|(_, entry)| match entry.matches.first() {
            Some(FieldMatch::Lpm { prefix_length, .. }) => *prefix_length,
            other => panic!("no route: {other:?}"),
        });
        let lengths: Vec<u32> = lengths.collect();
        assert!(!lengths.is_empty());
        lengths
    };
    let key = program("router.p4")
        .tables
        .iter()
        .find(|table| table.name == "RouterIngress.routes")
        .and_then(|table| table.keys.first().map(|key| key.name.clone()))
        .expect("a key");
    assert!(lengths(restricted("true", "")).iter().all(|length| *length == 24));
    let wanted =
        restricted(&format!("{key}::prefix_length >= 29 && {key}::prefix_length != 32"), "");
    assert!(lengths(wanted).iter().all(|length| (29..32).contains(length)));

    let wanted = Wanted { flows: 10, packet_size: 84, seed: SEED };
    let impossible = Workload::from_program(restricted("false", ""), wanted, &mut |_, _| true);
    let impossible = impossible.expect("there are packets");
    let note = "no entries can be generated for table RouterIngress.routes: \
                no entry for a packet satisfies the constraint `false`";
    assert!(impossible.notes().iter().any(|one| one == note), "{:?}", impossible.notes());
}
