//! Tests of traffic for tables that packets along the parser's paths do not hit.

use ir::{Program, TableId};
use p4lang::compile_text;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::{Detail, Event, Path, Switch, Trace};
use std::collections::BTreeMap;
use std::time::Duration;
use throughput::run::{Settings, run};
use throughput::traffic::{Reach, TrafficError, Wanted, Workload};

const WANTED: Wanted = Wanted { flows: 64, packet_size: 84, seed: 1 };
const ALL: Reach<'static> = Reach { only: None, time: Duration::from_secs(600) };

/// Returns a program in which packets reach the table `second` if the table `first` has run the
/// action `mark`, and if the field `b` of the packet equals the constant that the entry of `first`
/// has given. `condition` is one more condition.
fn guarded(condition: &str) -> Program {
    compiled(&source(condition))
}

fn source(condition: &str) -> String {
    format!(
        "#include <v1model.p4>
        header h_t {{ bit<32> a; bit<32> b; bit<32> c; }}
        struct H {{ h_t h; }} struct M {{ bit<32> mark; }}
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
            state start {{ p.extract(h.h); transition accept; }}
        }}
        control V(inout H h, inout M m) {{ apply {{ }} }}
        control I(inout H h, inout M m, inout standard_metadata_t s) {{
            action go(bit<9> port) {{ s.egress_spec = port; }}
            action mark(bit<32> value) {{ m.mark = value; }}
            table first {{ key = {{ h.h.a: exact; }} actions = {{ go; mark; }} size = 1024; }}
            table second {{ key = {{ h.h.c: exact; }} actions = {{ go; }} size = 1024; }}
            apply {{
                if (first.apply().hit && m.mark != 0 && m.mark == h.h.b {condition}) {{
                    second.apply();
                }}
            }}
        }}
        control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
        control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    )
}

fn compiled(text: &str) -> Program {
    let compiled = compile_text("guarded.p4", text, &Options::default(), &MemoryFiles::default());
    let messages = compiled.messages(p4lang::diagnostic::Style::Plain);
    compiled.program.unwrap_or_else(|| panic!("{messages}"))
}

fn reaching(program: Program, wanted: Wanted, reach: Reach<'_>) -> Workload {
    let made = Workload::reaching(program, wanted, reach, &mut |_, _| true);
    made.expect("there is traffic")
}

/// The tables that a packet hits.
struct Hits(Vec<TableId>);

impl Trace for Hits {
    fn event(&mut self, _: Event) {}

    fn lookup(&mut self, table: TableId, _: &[ir::bits::Bits], hit: bool) {
        if hit {
            self.0.push(table);
        }
    }

    fn detail(&self) -> Detail {
        Detail::Nothing
    }
}

/// Returns the number of flows whose packets hit each table, on a switch that was made here from
/// what the workload says of itself.
fn hits(workload: &Workload) -> BTreeMap<String, usize> {
    let mut switch = Switch::new(workload.program().clone()).expect("it loads");
    workload.add_members(&switch).expect("its members are accepted");
    for (table, entry) in workload.entries() {
        switch.add_entry(table, entry.clone(), Duration::ZERO).expect("it is accepted");
    }
    let mut found = BTreeMap::new();
    for packet in workload.packets().iter() {
        let mut hits = Hits(Vec::new());
        let port = workload.port();
        switch.process_traced(port, packet, Duration::ZERO, &mut hits).expect("it is processed");
        for table in hits.0 {
            *found.entry(workload.program().tables[table.index()].name.clone()).or_default() += 1;
        }
    }
    found
}

#[test]
fn a_guarded_table_is_hit_by_packets_that_are_solved_for() {
    let walked = Workload::from_program(guarded(""), WANTED, &mut |_, _| true);
    let walked = walked.expect("there is traffic");
    assert_eq!(hits(&walked).get("I.second"), None, "the table needs no solver");

    let workload = reaching(guarded(""), WANTED, ALL);
    let solved = workload.solved_tables();
    assert_eq!(solved.len(), 1, "{:?}", workload.notes());
    assert_eq!((solved[0].table.as_str(), solved[0].flows), ("I.second", 32));
    assert!(workload.unhit_tables().is_empty(), "{:?}", workload.notes());
    let hits = hits(&workload);
    assert_eq!((hits["I.first"], hits["I.second"]), (64, 32));
    // The packets still leave, and those that were solved for differ.
    assert_eq!((workload.packets().len(), workload.leaving()), (64, 64));
    let packets: std::collections::BTreeSet<&[u8]> = workload.packets().iter().collect();
    assert_eq!(packets.len(), 64);
    let lengths: std::collections::BTreeSet<usize> =
        workload.packets().iter().map(<[u8]>::len).collect();
    assert_eq!(lengths, walked.packets().iter().map(<[u8]>::len).collect());
    let note = workload.notes().iter().find(|note| note.contains("were solved for"));
    assert!(note.is_some_and(|note| note.contains("I.second (32 flows)")), "{note:?}");
}

/// The interpreter and machine code treat the packets that the solver found in the same way.
#[test]
fn solved_packets_leave_the_interpreter_and_machine_code_alike() {
    let workload = reaching(guarded(""), WANTED, ALL);
    let settings = Settings {
        paths: vec![Path::Interpreter, Path::Compiled],
        cores: vec![1],
        repetitions: 1,
        time: Duration::from_millis(5),
        warm_up: Duration::ZERO,
        load: 0.5,
        skew: 0.0,
        any_core: false,
        by_wall_clock: false,
        seed: 1,
    };
    let findings = run(&workload, &settings, &mut |_, _, _| true).expect("it runs");
    assert_eq!(findings.cases.len(), 2);
    for case in &findings.cases {
        let counts = case.counts;
        assert_eq!(case.refused, None, "{case:?}");
        assert!(counts.processed > 0, "{case:?}");
        assert_eq!((counts.left, counts.checked), (counts.processed, counts.processed));
        assert_eq!((counts.wrong, counts.errors), (0, 0), "{case:?}");
        assert_eq!(case.comparison.difference, None);
    }
}

#[test]
fn a_table_that_no_packet_hits_is_named_with_the_reason() {
    let workload = reaching(guarded("&& h.h.b != m.mark"), WANTED, ALL);
    assert!(workload.solved_tables().is_empty(), "{:?}", workload.notes());
    let unhit = workload.unhit_tables();
    assert_eq!((unhit.len(), unhit[0].table.as_str()), (1, "I.second"));
    let reason = "no packet that arrives by port 1 does, whatever entries tables have, if nothing \
                  else is configured";
    assert_eq!(unhit[0].reason, reason);
    let note = format!("no packet hits an entry of table I.second: {reason}");
    assert!(workload.notes().contains(&note), "{:?}", workload.notes());
    assert_eq!(workload.leaving(), 64);
}

/// All packets arrive by one port, so a table behind another one is out of reach.
#[test]
fn a_packet_that_would_need_another_port_is_not_made() {
    let at_port = |port: u32| {
        let program = guarded(&format!("&& s.ingress_port == {port}"));
        reaching(program, WANTED, ALL).solved_tables().len()
    };
    assert_eq!((at_port(1), at_port(2)), (1, 0));
}

#[test]
fn entries_that_were_solved_for_satisfy_constraints() {
    use pipeline::FieldMatch;

    let plain = "table second { key = { h.h.c: exact; }";
    let constrained = "@entry_restriction(\"h.h.c::mask == 255 && ::priority > 100\")
        table second { key = { h.h.c: ternary; }";
    let text = source("").replace(plain, constrained);
    assert!(text.contains(constrained));
    let workload = reaching(compiled(&text), WANTED, ALL);
    assert_eq!(hits(&workload)["I.second"], 32, "{:?}", workload.notes());
    let second = workload.program().tables.iter().position(|table| table.name == "I.second");
    let second = TableId(second.expect("the table") as u32);
    let entries: Vec<_> = workload.entries().filter(|(table, _)| *table == second).collect();
    assert!(!entries.is_empty());
    for (_, entry) in entries {
        let Some(FieldMatch::Ternary { mask, .. }) = entry.matches.first() else {
            panic!("{entry:?}")
        };
        assert_eq!(mask.low_u64(), 255, "{entry:?}");
        assert!(entry.priority > 100, "{entry:?}");
    }
}

/// The table `first` has no key but the port, which is the same for all packets. The entry with
/// which they leave contradicts any that would lead to `second`.
#[test]
fn entries_that_contradict_those_of_other_packets_are_not_added() {
    let text = "#include <v1model.p4>
        header h_t { bit<32> a; }
        struct H { h_t h; } struct M { bit<1> mark; }
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
            state start { p.extract(h.h); transition accept; }
        }
        control V(inout H h, inout M m) { apply { } }
        control I(inout H h, inout M m, inout standard_metadata_t s) {
            action go(bit<9> port) { s.egress_spec = port; }
            action mark() { m.mark = 1; mark_to_drop(s); }
            table first { key = { s.ingress_port: exact; } actions = { go; mark; } }
            table second { key = { h.h.a: exact; } actions = { NoAction; } }
            apply { first.apply(); if (m.mark == 1) { second.apply(); } }
        }
        control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
        control D(packet_out p, in H h) { apply { p.emit(h); } }
        V1Switch(P(), V(), I(), E(), V(), D()) main;";
    let workload = reaching(compiled(text), Wanted { flows: 8, ..WANTED }, ALL);
    assert!(workload.solved_tables().is_empty(), "{:?}", workload.notes());
    let unhit = workload.unhit_tables();
    assert_eq!((unhit.len(), unhit[0].table.as_str()), (1, "I.second"));
    assert!(unhit[0].reason.contains("contradict"), "{unhit:?}");
    assert_eq!((workload.leaving(), hits(&workload)["I.first"]), (8, 8));
}

#[test]
fn equal_arguments_lead_to_equal_traffic_and_other_seeds_to_other() {
    let made = |seed| {
        let workload = reaching(guarded(""), Wanted { seed, ..WANTED }, ALL);
        let packets: Vec<Vec<u8>> = workload.packets().iter().map(<[u8]>::to_vec).collect();
        let entries: Vec<_> =
            workload.entries().map(|(table, entry)| (table, entry.clone())).collect();
        (packets, entries)
    };
    let (packets, entries) = made(1);
    assert_eq!((packets.clone(), entries), made(1));
    let (others, _) = made(2);
    let solved = |packets: &[Vec<u8>]| packets[32..].to_vec();
    assert_ne!(solved(&packets), solved(&others));
}

#[test]
fn without_time_nothing_is_solved_for_and_the_table_is_named() {
    let none = Reach { time: Duration::ZERO, ..ALL };
    let workload = reaching(guarded(""), WANTED, none);
    assert!(workload.solved_tables().is_empty(), "{:?}", workload.notes());
    assert_eq!(workload.unhit_tables().len(), 1);
    let soon = Reach { time: Duration::from_nanos(1), ..ALL };
    let workload = reaching(guarded(""), WANTED, soon);
    let unhit = workload.unhit_tables();
    assert!(unhit[0].reason.contains("0.000000001 s"), "{unhit:?}");
    let other = Reach { only: Some("first"), ..ALL };
    assert!(reaching(guarded(""), WANTED, other).solved_tables().is_empty());
}

/// The flows and entries of programs whose tables all have packets remain as they were, also where
/// packets themselves add the entries that they find.
#[test]
fn traffic_that_hits_all_tables_remains_as_it_is() {
    for name in ["entry_update.p4", "l2.p4", "firewall.p4"] {
        let path = format!("{}/../../programs/{name}", env!("CARGO_MANIFEST_DIR"));
        let program = || {
            let text = std::fs::read_to_string(&path).expect("the program");
            compiled(&text)
        };
        let walked = Workload::from_program(program(), WANTED, &mut |_, _| true);
        let walked = walked.expect("there is traffic");
        let workload = reaching(program(), WANTED, ALL);
        assert!(workload.solved_tables().is_empty(), "{name}: {:?}", workload.notes());
        assert_eq!(workload.notes(), walked.notes(), "{name}");
        assert!(workload.packets().iter().eq(walked.packets().iter()), "{name}");
        assert!(workload.entries().eq(walked.entries()), "{name}");
    }
}

#[test]
fn a_single_flow_remains_as_it_is() {
    let workload = reaching(guarded(""), Wanted { flows: 1, ..WANTED }, ALL);
    assert_eq!((workload.packets().len(), workload.leaving()), (1, 1));
    assert_eq!((workload.solved_tables().len(), workload.unhit_tables().len()), (0, 1));
}

#[test]
fn generation_stops_when_its_observer_says_so() {
    let mut calls = 0;
    let made = Workload::reaching(guarded(""), WANTED, ALL, &mut |_, _| {
        calls += 1;
        calls < 4
    });
    assert!(matches!(made, Err(TrafficError::Interrupted)));
}
