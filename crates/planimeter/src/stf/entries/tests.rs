//! Tests that installing entries from files has the same effect as the equivalent statements of a
//! script.

use std::time::Duration;

use p4lang::compile_text;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::Switch;
use stf::{Options as RunOptions, run};

use super::*;
use crate::translated;

/// The P4 source of a program with a key of each match kind, a multicast group and a clone session.
const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
struct headers { ethernet_t ethernet; }
struct meta {}
parser P(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { b.extract(h.ethernet); transition accept; }
}
control V(inout headers h, inout meta m) { apply {} }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action forward(bit<9> port, bit<48> source) { s.egress_spec = port; h.ethernet.source = source; }
    action flood(bit<16> group) { s.mcast_grp = group; }
    table t {
        key = {
            h.ethernet.destination: lpm;
            h.ethernet.type: ternary;
            s.ingress_port: range;
        }
        actions = { drop; forward; flood; NoAction; }
        default_action = NoAction();
    }
    table u { key = { h.ethernet.type: exact; } actions = { drop; NoAction; } default_action = NoAction(); }
    apply { t.apply(); u.apply(); }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply {} }
control C(inout headers h, inout meta m) { apply {} }
control D(packet_out b, in headers h) { apply { b.emit(h.ethernet); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

const ENTRIES: &str = r#"{
    "target": "bmv2",
    "table_entries": [
        { "table": "I.t", "default_action": true, "action_name": "I.flood", "action_params": { "group": 5 } },
        { "table": "I.t", "priority": 10,
          "match": { "h.ethernet.destination": ["08:00:00:00:01:00", 40], "s.ingress_port": [1, 3] },
          "action_name": "I.forward", "action_params": { "port": 4, "source": "08:00:00:00:00:09" } },
        { "table": "I.u", "match": { "h.ethernet.type": 2048 }, "action_name": "I.drop", "action_params": {} }
    ],
    "multicast_group_entries": [
        { "multicast_group_id": 5, "replicas": [ { "egress_port": 7, "instance": 1 }, { "egress_port": 8, "instance": 1 } ] }
    ]
}"#;

#[test]
fn a_file_of_the_tutorials_installs_its_entries() {
    let compiled = compile_text("p.p4", PROGRAM, &Options::default(), &MemoryFiles::default());
    let program = compiled.program.expect("a program");
    let p4info = p4lang::p4info::generate(&program).expect("a P4Info");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s1-runtime.json");
    std::fs::write(&path, ENTRIES).expect("a file");
    let strings = Strings::new(p4info, translated::of(&program).expect("types")).expect("strings");
    let script = read(&path, &strings).expect("a script").script;
    let mut switch = Switch::new(program).expect("a switch");
    let options = RunOptions { strict: true, ..RunOptions::default() };
    let report = run(&mut switch, &script, options).expect("it fits the program");
    assert!(report.failures.is_empty() && report.notes.is_empty(), "{:?}", report.notes);
    let mut send = |port: u32, destination: [u8; 6], kind: [u8; 2]| {
        let packet = [&destination[..], &[2, 0, 0, 0, 0, 1], &kind].concat();
        let outputs = switch.process(port, &packet, Duration::from_secs(9)).expect("it runs");
        let ports: Vec<u32> = outputs.iter().map(|output| output.port).collect();
        (ports, outputs.first().map(|output| output.packet[6..12].to_vec()))
    };
    let near = [8, 0, 0, 0, 1, 0x77];
    assert_eq!(send(2, near, [0x12, 0x34]), (vec![4], Some(vec![8, 0, 0, 0, 0, 9])));
    let (flooded, _) = send(9, near, [0x12, 0x34]);
    assert_eq!(flooded, [7, 8], "a port beyond the range takes the default");
    assert_eq!(send(2, near, [8, 0]).0, Vec::<u32>::new(), "dropped by the second table");
}

/// Strings of translated types in entries get the numbers that the program states, or else those
/// that a switch would assign.
#[test]
fn strings_of_translated_types_have_numbers() {
    let source = include_str!("../../../../../programs/vrf.p4");
    let program = crate::program::embedded("vrf.p4", source).expect("a program");
    let entries = r#"{ "table_entries": [
        { "table": "vrf_of", "priority": 1, "match": { "port": "1" },
          "action_name": "set_vrf", "action_params": { "vrf": "default" } },
        { "table": "routes", "match": { "vrf": "vrf-80", "dst": ["10.0.0.0", 8] },
          "action_name": "set_nexthop", "action_params": { "nexthop": "elsewhere" } },
        { "table": "routes", "match": { "vrf": "default", "dst": ["10.0.0.0", 8] },
          "action_name": "set_nexthop", "action_params": { "nexthop": "to-b" } },
        { "table": "nexthops", "match": { "nexthop": "to-b" }, "action_name": "forward",
          "action_params": { "port": "2", "src": "02:00:00:00:00:f2", "dst": "02:00:00:00:00:b2" } }
    ] }"#;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("vrf-runtime.json");
    let script_of = |entries: &str| {
        std::fs::write(&path, entries).expect("a file");
        let p4info = p4lang::p4info::generate(&program).expect("a P4Info");
        let strings = Strings::new(p4info, translated::of(&program).expect("types"));
        read(&path, &strings.expect("strings")).map(|entries| entries.script)
    };
    let statement = |text: &str| Script::parse(text).expect("a script").statements[0].kind.clone();
    let kinds: Vec<_> =
        script_of(entries).expect("a script").statements.into_iter().map(|one| one.kind).collect();
    // "default" is 1 by the program, "vrf-80" gets the least free number, and ports their own.
    let expected = [
        "add ingress.vrf_of 1 port:0x01 src:0x0&&&0x0 ingress.set_vrf(vrf:0x01)",
        "add ingress.routes vrf:0x02 dst:0x0a000000/8 ingress.set_nexthop(nexthop:0x00)",
        "add ingress.routes vrf:0x01 dst:0x0a000000/8 ingress.set_nexthop(nexthop:0x01)",
        "add ingress.nexthops nexthop:0x01 \
         ingress.forward(port:0x02, src:0x0200000000f2, dst:0x0200000000b2)",
    ];
    assert_eq!(kinds, expected.map(statement));
    let error = script_of(&entries.replace("\"port\": \"1\"", "\"port\": \"600\""));
    let error = error.expect_err("ports have nine bits").to_string();
    assert!(error.contains("entry 1: the port 600 needs more than the 9 bits"), "{error}");
}

/// The ports of replicas may be numbers, or strings if the program translates its ports.
#[test]
fn replicas_have_ports_with_strings() {
    let source = include_str!("../../../../../programs/vrf.p4");
    let program = crate::program::embedded("vrf.p4", source).expect("a program");
    let entries = r#"{ "table_entries": [
        { "table": "nexthops", "match": { "nexthop": "to-b" }, "action_name": "forward",
          "action_params": { "port": "Eth \"4\"", "src": 1, "dst": 2 } } ],
      "clone_session_entries": [ { "clone_session_id": 3, "replicas": [
        { "egress_port": "Eth \"4\"" } ] }, { "clone_session_id": 4, "replicas": [
        { "egress_port": "7" } ] } ] }"#;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runtime.json");
    std::fs::write(&path, entries).expect("a file");
    let p4info = p4lang::p4info::generate(&program).expect("a P4Info");
    let types = translated::of(&program).expect("types");
    let strings = Strings::new(p4info, std::sync::Arc::clone(&types)).expect("strings");
    let script = read(&path, &strings).expect("a script").script;
    let mut switch = Switch::new(program).expect("a switch");
    switch.set_translated(types);
    let options = RunOptions { strict: true, ..RunOptions::default() };
    run(&mut switch, &script, options).expect("it fits the program");
    let port = |session| switch.clone_session(session).expect("a session").replicas[0].port;
    // The string of the parameter is the first one, so its number is the least.
    assert_eq!((port(3), port(4)), (0, 7));
}
