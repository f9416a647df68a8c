//! Tests of `runtime.json` files, whose names are resolved with a small P4Info.

use super::*;
use p4runtime::p4info::text;
use p4runtime::proto::v1::field_match::FieldMatchType;

const P4INFO: &str = r#"
tables {
  preamble { id: 33574068 name: "MyIngress.ipv4_lpm" alias: "ipv4_lpm" }
  match_fields { id: 1 name: "hdr.ipv4.dstAddr" bitwidth: 32 match_type: LPM }
  match_fields { id: 2 name: "hdr.ipv4.tos" bitwidth: 8 match_type: TERNARY }
  action_refs { id: 16799317 }
  size: 1024
}
actions {
  preamble { id: 16799317 name: "MyIngress.ipv4_forward" alias: "ipv4_forward" }
  params { id: 1 name: "dstAddr" bitwidth: 48 }
  params { id: 2 name: "port" bitwidth: 9 }
}
"#;

fn updates(json: &str) -> Result<Vec<Update>, String> {
    updates_of(P4INFO, json)
}

fn updates_of(p4info: &str, json: &str) -> Result<Vec<Update>, String> {
    let p4info = text::parse(p4info).expect("it is right");
    let parsed = RuntimeJson::parse(json).map_err(|error| error.to_string())?;
    parsed.updates(&p4info).map_err(|error| error.to_string())
}

fn entry(json: &str) -> Result<TableEntry, String> {
    let updates = updates(&format!("{{\"target\": \"bmv2\", \"table_entries\": [{json}]}}"))?;
    match updates.first().and_then(|update| update.entity.as_ref()?.entity.as_ref()) {
        Some(Kind::TableEntry(entry)) => Ok(entry.clone()),
        other => panic!("{other:?}"),
    }
}

/// A parameter without a width is a string, also if the text looks like an address.
#[test]
fn strings_stay_as_they_are() {
    let p4info = P4INFO.replace("name: \"port\" bitwidth: 9", "name: \"port\"");
    for (written, text) in
        [("\"Ethernet0\"", "Ethernet0"), ("\"10.0.0.1\"", "10.0.0.1"), ("12", "12")]
    {
        let json = format!(
            r#"{{"target": "bmv2", "table_entries": [{{"table": "ipv4_lpm",
            "action_name": "ipv4_forward", "priority": 1,
            "action_params": {{"dstAddr": 1, "port": {written}}}}}]}}"#
        );
        let updates = updates_of(&p4info, &json).expect("it is right");
        let found = format!("{:?}", updates[0]);
        assert!(found.contains(&format!("param_id: 2, value: b\"{text}\"")), "{found}");
    }
}

#[test]
fn an_entry_by_name_becomes_one_by_number() {
    let found = entry(
        r#"{"table": "MyIngress.ipv4_lpm",
            "match": {"hdr.ipv4.dstAddr": ["10.0.1.1", 32], "hdr.ipv4.tos": [4, "0xfc"]},
            "action_name": "MyIngress.ipv4_forward", "priority": 3,
            "action_params": {"dstAddr": "08:00:00:00:01:11", "port": 1}}"#,
    );
    let found = found.expect("it is right");
    assert_eq!((found.table_id, found.priority, found.is_default_action), (33574068, 3, false));
    let lpm = v1::field_match::Lpm { value: vec![10, 0, 1, 1].into(), prefix_len: 32 };
    let ternary = v1::field_match::Ternary { value: vec![4].into(), mask: vec![0xfc].into() };
    let matches = [FieldMatchType::Lpm(lpm), FieldMatchType::Ternary(ternary)];
    let fields: Vec<_> =
        found.r#match.iter().filter_map(|field| field.field_match_type.clone()).collect();
    assert_eq!(fields, matches);
    let Some(v1::table_action::Type::Action(call)) = found.action.and_then(|action| action.r#type)
    else {
        panic!("it has an action")
    };
    let params: Vec<_> =
        call.params.iter().map(|param| (param.param_id, param.value.to_vec())).collect();
    assert_eq!(call.action_id, 16799317);
    assert_eq!(params, [(1, vec![8, 0, 0, 0, 1, 0x11]), (2, vec![1])]);
}

#[test]
fn a_default_entry_is_modified() {
    let json = r#"{"table_entries": [{"table": "ipv4_lpm", "default_action": true,
        "action_name": "ipv4_forward", "action_params": {"dstAddr": [1], "port": 511}}]}"#;
    let updates = updates(json).expect("it is right");
    assert_eq!(
        updates.iter().map(|update| update.r#type).collect::<Vec<_>>(),
        [Type::Modify as i32]
    );
}

#[test]
fn groups_and_sessions_have_their_replicas() {
    let json = r#"{
        "multicast_group_entries": [{"multicast_group_id": 1, "replicas":
            [{"egress_port": 1, "instance": 1}, {"egress_port": 2, "instance": 1}]}],
        "clone_session_entries": [{"clone_session_id": 5, "replicas": [{"egress_port": 3}]}]}"#;
    let updates = updates(json).expect("it is right");
    let kinds: Vec<_> =
        updates.iter().filter_map(|update| update.entity.as_ref()?.entity.clone()).collect();
    let [Kind::PacketReplicationEngineEntry(group), Kind::PacketReplicationEngineEntry(session)] =
        kinds.as_slice()
    else {
        panic!("{kinds:?}")
    };
    let Some(Replication::MulticastGroupEntry(group)) = &group.r#type else { panic!("{group:?}") };
    assert_eq!((group.multicast_group_id, group.replicas.len()), (1, 2));
    let Some(Replication::CloneSessionEntry(session)) = &session.r#type else {
        panic!("{session:?}")
    };
    assert_eq!((session.session_id, session.replicas.len()), (5, 1));
}

#[test]
fn another_file_of_the_tutorials_is_distinguished_from_one_without_entries() {
    let refused = RuntimeJson::parse(r#"{"hosts": {}, "switches": {}, "links": []}"#);
    let error = refused.expect_err("a topology").to_string();
    assert!(error.contains("topology.json"), "{error}");
    assert!(RuntimeJson::parse(r#"{"target": "bmv2", "table_entries": []}"#).is_ok());
}

#[test]
fn entries_that_do_not_fit_are_refused_with_their_place() {
    let refused = |json: &str| entry(json).expect_err("it is wrong");
    let call = r#""action_name": "ipv4_forward", "action_params": {"dstAddr": 1, "port": 1}"#;
    assert_eq!(
        refused(&format!(r#"{{"table": "acl", {call}}}"#)),
        "entry 1: there is no table 'acl'; there are ipv4_lpm"
    );
    assert_eq!(
        refused(
            r#"{"table": "ipv4_lpm", "action_name": "ipv4_forward", "action_params": {"port": 512}}"#
        ),
        "entry 1: 512 is not a value of port: the value needs 10 bits, the type has 9"
    );
    let of = |value: &str| {
        refused(&format!(
            r#"{{"table": "ipv4_lpm", "match": {{"hdr.ipv4.dstAddr": {value}}}, {call}}}"#
        ))
    };
    let field = "is not a value of hdr.ipv4.dstAddr:";
    // An address with a typing error is not the value of its letters.
    for wrong in ["10.0.1", "10.0.1.300", "1O.0.0.1", "abcd"] {
        assert_eq!(
            of(&format!(r#"["{wrong}", 32]"#)),
            format!(
                "entry 1: ('{wrong}', 32) {field} it is neither a number, such as 10 or 0x0a, nor an address"
            )
        );
    }
    assert_eq!(
        of(r#"["10.0.1.1", 33]"#),
        format!("entry 1: ('10.0.1.1', 33) {field} the length of a prefix is 0 to 32")
    );
    assert_eq!(
        of("[1, 2, 3]"),
        "entry 1: [1,2,3] is not a value of hdr.ipv4.dstAddr: expected a value, or a list of two"
    );
    assert_eq!(
        of("-1"),
        format!("entry 1: -1 {field} expected a whole number below 2^64; a larger one is a text")
    );
    assert_eq!(
        updates(r#"{"target": "tofino"}"#).expect_err("it is wrong"),
        "it is for target 'tofino'; only bmv2 is supported"
    );
}
