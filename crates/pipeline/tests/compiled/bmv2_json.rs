//! Tests of programs in BMv2 JSON. All blocks of such a program have their headers and metadata in
//! the same variables.

use crate::both::Both;
use ir::bits::Bits;
use pipeline::{ActionCall, CloneSession, EntryAction, FieldMatch, Replica, TableEntry, Value};
use std::time::Duration;

const FEATURES: &str = include_str!("../../../p4lang/tests/bmv2/features.json");
const FORWARD: &str = include_str!("../../../../conformance/pipelines/forward.json");

fn both(json: &str) -> Both {
    Both::new(&p4lang::bmv2::load_bmv2_json(json).expect("the program is read"))
}

/// Returns a packet of Ethernet and the short header of the programs. `rest` follows the header.
fn routed(protocol: u8, destination: u8, rest: &[u8]) -> Vec<u8> {
    let ethernet = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0];
    let header = [0x40, protocol, 0, 0, destination, 0, 0, 1];
    [&ethernet[..], &header, rest].concat()
}

#[test]
fn a_program_with_all_features_of_the_format_has_the_same_outputs() {
    let mut both = both(FEATURES);
    both.each(|switch| {
        let table = switch.table_named("ingress.route").expect("it is there");
        let action = switch.action_named(table, "ingress.forward").expect("it is there");
        let arguments = [Bits::unsigned(9, 2), Bits::unsigned(48, 7)].map(Value::Bits);
        let value = Bits::unsigned(32, 0x0a00_0000);
        let entry = TableEntry {
            matches: vec![FieldMatch::Lpm { value, prefix_length: 8 }],
            priority: 0,
            action: EntryAction::Action(ActionCall { action, arguments: arguments.into() }),
            idle_timeout: None,
        };
        switch.add_entry(table, entry.clone(), Duration::ZERO).expect("room");
    });
    let packets = [
        routed(6, 10, &[]),
        routed(6, 11, &[]),
        // This packet has a varbit field of three bytes.
        routed(17, 10, &[3, 0x11, 0x22, 0x33, 0x99]),
        // This packet is too short for its varbit field.
        routed(17, 10, &[3, 0x11]),
    ];
    let left: Vec<usize> = packets
        .iter()
        .map(|packet| both.packet(1, packet).map_or(0, |outputs| outputs.len()))
        .collect();
    assert_eq!(left[..3], [1, 0, 1]);
    let numbered = packets.iter().cycle().take(100).map(|packet| (1, packet.clone()));
    assert!(both.batch(&numbered.collect::<Vec<_>>()) >= 50);
    both.random_packets(1, 2_000, 64);
}

#[test]
fn a_program_with_one_table_has_the_same_outputs() {
    let mut both = both(FORWARD);
    both.random_packets(2, 2_000, 64);
    let packets: Vec<_> = (0..64).map(|number| (number % 4, vec![number as u8; 20])).collect();
    both.batch(&packets);
}

/// Returns a program that keeps metadata from one pass to the next. It has the given primitives of
/// the first pass in ingress and in egress, and the given elements in the field lists 1 and 300.
fn keeping(ingress: &str, egress: &str, list: &str) -> String {
    let field =
        |header: &str, name: &str| format!(r#"{{"type":"field","value":["{header}","{name}"]}}"#);
    let number = |value: u32| format!(r#"{{"type":"hexstr","value":"0x{value:x}"}}"#);
    let assign = |to: &str, from: &str| format!(r#"{{"op":"assign","parameters":[{to},{from}]}}"#);
    let operation = |op: &str, left: &str, right: &str| {
        format!(r#"{{"type":"expression","value":{{"op":"{op}","left":{left},"right":{right}}}}}"#)
    };
    let stamp = field("intrinsic_metadata", "ingress_global_timestamp");
    let show = [
        assign(&field("h", "a"), &field("meta", "kept")),
        assign(&field("h", "b"), &field("meta", "lost")),
        assign(&field("h", "c"), &field("standard_metadata", "ingress_port")),
        assign(&field("h", "d"), &operation("^", &field("meta", "stamp"), &stamp)),
    ]
    .join(",");
    let set = [
        assign(&field("meta", "kept"), &number(5)),
        assign(&field("meta", "lost"), &number(6)),
        assign(&field("meta", "stamp"), &stamp),
    ]
    .join(",");
    let fresh = operation(
        "and",
        &operation("==", &field("standard_metadata", "instance_type"), &number(0)),
        &operation("==", &field("h", "kind"), &number(0)),
    );
    let forward = assign(&field("standard_metadata", "egress_spec"), &number(2));
    let mark = assign(&field("h", "kind"), &number(1));
    let is_cloned = ingress.contains("clone") || egress.contains("clone");
    let pipeline = |name: &str, id: u32, first: u32, others: u32| {
        format!(
            r#"{{"name":"{name}","id":{id},"init_table":"{name}_if","tables":[],
 "conditionals":[{{"name":"{name}_if","id":{id},"expression":{fresh},"true_next":"{name}_first","false_next":"{name}_others"}}],
 "action_calls":[{{"name":"{name}_first","id":{first},"action_id":{first},"next_node":"{name}_others"}},
  {{"name":"{name}_others","id":{others},"action_id":{others},"next_node":null}}]}}"#
        )
    };
    let actions: Vec<String> = [
        format!("{set},{ingress}"),
        format!("{forward},{show}"),
        if egress.is_empty() { String::new() } else { format!("{set},{egress}{mark}") },
        // Copies go through egress only.
        if is_cloned { show } else { String::new() },
    ]
    .iter()
    .zip(0..)
    .map(|(primitives, id)| {
        let primitives = primitives.trim_end_matches(',');
        format!(r#"{{"name":"act{id}","id":{id},"runtime_data":[],"primitives":[{primitives}]}}"#)
    })
    .collect();
    format!(
        r#"{{"__meta__":{{"version":[2,7]}},
"header_types":[{{"name":"h_t","id":0,"fields":[["kind",8],["a",8],["b",8],["c",8],["d",8]]}},
 {{"name":"standard_metadata_t","id":1,"fields":[["ingress_port",9],["packet_length",32],["egress_spec",9],["egress_port",9],
  ["instance_type",32],["clone_spec",32]]}},
 {{"name":"intrinsic_metadata_t","id":2,"fields":[["ingress_global_timestamp",48]]}},
 {{"name":"meta_t","id":3,"fields":[["kept",8],["lost",8],["stamp",48]]}}],
"headers":[{{"name":"h","id":0,"header_type":"h_t","metadata":false}},
 {{"name":"standard_metadata","id":1,"header_type":"standard_metadata_t","metadata":true}},
 {{"name":"intrinsic_metadata","id":2,"header_type":"intrinsic_metadata_t","metadata":true}},
 {{"name":"meta","id":3,"header_type":"meta_t","metadata":true}}],
"field_lists":[{{"id":1,"name":"none","elements":[]}},{{"id":300,"name":"list","elements":[{list}]}},
 {{"id":44,"name":"other","elements":[{{"type":"field","value":["meta","lost"]}}]}}],
"parsers":[{{"name":"parser","id":0,"init_state":"start","parse_states":[{{"name":"start","id":0,
 "parser_ops":[{{"op":"extract","parameters":[{{"type":"regular","value":"h"}}]}}],
 "transition_key":[],"transitions":[{{"type":"default","value":null,"mask":null,"next_state":null}}]}}]}}],
"deparsers":[{{"name":"deparser","id":0,"order":["h"]}}],
"actions":[{}],
"pipelines":[{},{}]}}"#,
        actions.join(","),
        pipeline("ingress", 0, 0, 1),
        pipeline("egress", 1, 2, 3),
    )
}

/// Tests that a field list keeps standard metadata like user metadata.
#[test]
fn field_lists_keep_standard_metadata() {
    let user =
        r#"{"type":"field","value":["meta","kept"]},{"type":"field","value":["meta","stamp"]}"#;
    let port = r#"{"type":"field","value":["standard_metadata","ingress_port"]}"#;
    let stamp = r#"{"type":"field","value":["intrinsic_metadata","ingress_global_timestamp"]}"#;
    let list = r#"{"type":"hexstr","value":"0x12c"}"#;
    let session = r#"{"type":"hexstr","value":"0x9"}"#;
    let operation =
        |op: &str, parameters: &str| format!(r#"{{"op":"{op}","parameters":[{parameters}]}},"#);
    let cloned = format!("{session},{list}");
    // The original of a clone leaves too, through port 2.
    for (ingress, egress, out) in [
        (operation("resubmit", list), String::new(), 2),
        (String::new(), operation("recirculate", list), 2),
        (operation("clone_ingress_pkt_to_egress", &cloned), String::new(), 7),
        (String::new(), operation("clone_egress_pkt_to_egress", &cloned), 7),
    ] {
        for (elements, keeps_port, keeps_stamp) in [
            (user.to_owned(), false, false),
            (format!("{user},{port}"), true, false),
            (format!("{stamp},{user}"), false, true),
            (format!("{port},{user},{stamp}"), true, true),
        ] {
            let json = keeping(&ingress, &egress, &elements);
            let mut both = both(&json);
            both.each(|switch| {
                let replicas = vec![Replica { port: 7, instance: 0 }];
                let session = CloneSession { replicas, ..CloneSession::default() };
                switch.set_clone_session(9, Some(session));
            });
            let outputs = both.packet(4, &[0; 5]).expect("no error");
            let found = outputs.iter().find(|output| output.port == out).expect("a packet");
            let context = format!("{ingress}{egress} {elements}");
            assert_eq!(found.packet[1..3], [5, 0], "{context}");
            assert_eq!(found.packet[3], if keeps_port { 4 } else { 0 }, "{context}");
            assert_eq!(found.packet[4] == 0, keeps_stamp, "{context}");
            assert!(both.batch(&vec![(4, vec![0; 5]); 3]) >= 3);
        }
    }
}
