//! Tests of the translation of BMv2 JSON: a valid program is translated to a valid v1model program,
//! and invalid JSON is refused.

use p4lang::bmv2::{Bmv2Error, load_bmv2_json};

/// A program with every kind of element: a stack, a union, a varbit, a lookahead, a value set, a
/// checksum, jumps, saturation, a direct counter and meter, entries, and tables that the compiler
/// generated.
const FEATURES: &str = include_str!("bmv2/features.json");

#[test]
fn every_kind_of_element() {
    let program = load_bmv2_json(FEATURES).expect("the program is read");
    program.validate().expect("it keeps the promises of the IR");
    insta::assert_snapshot!(program.to_text());
}

/// Replaces one text in `FEATURES` with another, and returns the error, or `accepted`.
fn changed(from: &str, to: &str) -> String {
    assert!(FEATURES.contains(from), "`{from}` is not in the program");
    match load_bmv2_json(&FEATURES.replacen(from, to, 1)) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn contradictions_are_named() {
    insta::assert_snapshot!(changed("\"header_type\": \"ip_t\"", "\"header_type\": \"ip_x\""), @"BMv2 JSON, header `ip`: there is no header type `ip_x`");
    insta::assert_snapshot!(changed("\"init_state\": \"start\"", "\"init_state\": \"begin\""), @"BMv2 JSON, parser state `opt`: there is no state `begin`");
    insta::assert_snapshot!(changed("\"op\": \"mark_to_drop\"", "\"op\": \"teleport\""), @"BMv2 JSON, action `ingress.drop`: the primitive `teleport` with 1 parameters is not supported");
    insta::assert_snapshot!(changed("\"algo\": \"csum16\"", "\"algo\": \"csum17\""), @"BMv2 JSON, checksum `cksum`: the hash algorithm `csum17` is not known");
    insta::assert_snapshot!(changed("\"features60\": \"node_5\"", "\"features60\": \"node_3\""), @"BMv2 JSON, pipeline `ingress`: its nodes form a cycle");
    insta::assert_snapshot!(changed("\"op\": \"_jump_if_zero\"", "\"op\": \"_jump\""), @"BMv2 JSON, action \
         `ingress.classify`: a jump has no target");
}

#[test]
fn other_texts_are_refused() {
    // p4c writes header types, a parser and pipelines for every program, and simple_switch requires
    // the pipelines `ingress` and `egress`. JSON with none of the three is not a program.
    let refusal = |text| load_bmv2_json(text).expect_err("no program").to_string();
    insta::assert_snapshot!(refusal("{}"), @"not BMv2 JSON: it has neither `header_types` nor `parsers` nor `pipelines`; give the file that p4c-bm2-ss writes, or the program's source");
    assert_eq!(refusal(r#"{"target": "bmv2", "table_entries": []}"#), refusal("{}"));
    let empty =
        r#"{"pipelines": [{"name": "ingress", "id": 0, "init_table": null, "tables": []}]}"#;
    let empty = load_bmv2_json(empty).expect("an empty program passes packets through");
    empty.validate().expect("it is valid");
    assert!(matches!(load_bmv2_json("[1]"), Err(Bmv2Error::Json(_))));
    assert!(matches!(
        load_bmv2_json(r#"{"__meta__": {"version": [3, 0]}}"#),
        Err(Bmv2Error::Version { major: 3, minor: 0 })
    ));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(load_bmv2_json(&deep), Err(Bmv2Error::Depth { .. })));
}

/// The pipelines of psa_switch and pna_nic differ from those of simple_switch.
#[test]
fn programs_for_other_targets_are_refused() {
    let text =
        r#"{"pipelines": [{"name": "main_control", "id": 0, "init_table": null, "tables": []}]}"#;
    let error = load_bmv2_json(text).expect_err("pipelines of pna_nic").to_string();
    insta::assert_snapshot!(error, @"BMv2 JSON, pipeline `main_control`: it is neither `ingress` nor `egress`, which \
         are those of v1model: compile the program's source instead");
}

/// Logs a header, and a struct that is represented as a list, as BMv2's
/// `tests/testdata/log_msg.json` does.
#[test]
fn headers_and_structs_are_logged() {
    let text = r#"{
      "header_types": [{"name": "h_t", "id": 0, "fields": [["x", 4, false], ["y", 4, false]]}],
      "headers": [
        {"name": "h", "id": 0, "header_type": "h_t", "metadata": false},
        {"name": "m", "id": 1, "header_type": "h_t", "metadata": true}
      ],
      "actions": [{"name": "a", "id": 0, "runtime_data": [], "primitives": [
        {"op": "log_msg", "parameters": [
          {"type": "string", "value": "h = {} m = {} s = {}"},
          {"type": "parameters_vector", "value": [
            {"type": "header", "value": "h"},
            {"type": "header", "value": "m"},
            [{"type": "hexstr", "value": "0x03"}, {"type": "header", "value": "h"},
             {"type": "bool", "value": false}]
          ]}
        ]}
      ]}]
    }"#;
    let program = load_bmv2_json(text).expect("the program is read");
    program.validate().expect("it keeps the promises of the IR");
    let text = program.to_text();
    let line = text.lines().find(|line| line.contains("log_msg")).expect("the action logs");
    insta::assert_snapshot!(line.trim(), @r#"extern log_msg<tuple_6>("h = {} m = {} s = {}", (tuple_6){hdr.h, (tuple_4){meta.m.x, meta.m.y}, (tuple_5){2w3, hdr.h, (bit<1>)false}})"#);
}

/// The program has a stack of unions, indices computed from the packet, and expressions over both.
#[test]
fn stacks_of_unions_and_computed_indices() {
    let text = r#"{
      "__meta__": {"version": [2, 23]},
      "header_types": [
        {"name": "a_t", "id": 0, "fields": [["x", 8, false]]},
        {"name": "b_t", "id": 1, "fields": [["y", 16, false]]}
      ],
      "headers": [
        {"name": "i", "id": 0, "header_type": "a_t", "metadata": false},
        {"name": "u[0].a", "id": 1, "header_type": "a_t", "metadata": false},
        {"name": "u[0].b", "id": 2, "header_type": "b_t", "metadata": false},
        {"name": "u[1].a", "id": 3, "header_type": "a_t", "metadata": false},
        {"name": "u[1].b", "id": 4, "header_type": "b_t", "metadata": false},
        {"name": "s[0]", "id": 5, "header_type": "b_t", "metadata": false},
        {"name": "s[1]", "id": 6, "header_type": "b_t", "metadata": false}
      ],
      "header_stacks": [{"name": "s", "id": 0, "header_type": "b_t", "header_ids": [5, 6]}],
      "header_union_types": [{"name": "U", "id": 0, "headers": [["a", "a_t"], ["b", "b_t"]]}],
      "header_unions": [
        {"name": "u[0]", "id": 0, "union_type": "U", "header_ids": [1, 2]},
        {"name": "u[1]", "id": 1, "union_type": "U", "header_ids": [3, 4]}
      ],
      "header_union_stacks": [
        {"name": "u", "id": 0, "union_type": "U", "header_union_ids": [0, 1]}
      ],
      "register_arrays": [{"name": "r", "id": 0, "size": 4, "bitwidth": 12}],
      "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [
        {"name": "start", "id": 0, "parser_ops": [
            {"op": "extract", "parameters": [{"type": "regular", "value": "i"}]},
            {"op": "extract", "parameters": [{"type": "union_stack", "value": ["u", "b"]}]},
            {"op": "shift", "parameters": [2]},
            {"op": "primitive", "parameters": [{"op": "assign_header", "parameters": [
              {"type": "header", "value": "s[0]"}, {"type": "header", "value": "u[0].b"}]}]}
          ],
          "transition_key": [{"type": "union_stack_field", "value": ["u", "b", "y"]}],
          "transitions": [{"type": "default", "value": null, "mask": null, "next_state": null}]}
      ]}],
      "deparsers": [{"name": "deparser", "id": 0, "order": ["i"]}],
      "actions": [{"name": "act", "id": 0, "runtime_data": [], "primitives": [
        {"op": "assign", "parameters": [
          {"type": "expression", "value": {"type": "expression", "value": {"op": "access_field",
            "left": {"type": "expression", "value": {"op": "access_union_header",
              "left": {"type": "expression", "value": {"op": "dereference_union_stack",
                "left": {"type": "header_union_stack", "value": "u"},
                "right": {"type": "field", "value": ["i", "x"]}}},
              "right": 1}},
            "right": 0}}},
          {"type": "expression", "value": {"type": "expression", "value": {"op": "two_comp_mod",
            "left": {"type": "expression", "value": {"op": "-",
              "left": {"type": "register", "value": ["r", {"type": "hexstr", "value": "0x3"}]},
              "right": {"type": "expression", "value": {"op": "last_stack_index", "left": null,
                "right": {"type": "header_stack", "value": "s"}}}}},
            "right": {"type": "hexstr", "value": "0x8"}}}}]},
        {"op": "assign_union_stack", "parameters": [
          {"type": "header_union_stack", "value": "u"}, {"type": "header_union_stack", "value": "u"}]},
        {"op": "pop", "parameters": [{"type": "header_stack", "value": "s"}, {"type": "hexstr", "value": "0x1"}]}
      ]}],
      "pipelines": [{"name": "ingress", "id": 0, "init_table": "c", "tables": [],
        "conditionals": [{"name": "c", "id": 0, "expression": {"type": "expression", "value": {"op": "or",
          "left": {"type": "expression", "value": {"op": "==",
            "left": {"type": "header", "value": "s[0]"}, "right": {"type": "header", "value": "u[1].b"}}},
          "right": {"type": "expression", "value": {"op": "<",
            "left": {"type": "hexstr", "value": "-0x1"}, "right": {"type": "field", "value": ["i", "x"]}}}}},
          "true_next": "call", "false_next": null}],
        "action_calls": [{"name": "call", "id": 0, "action_id": 0, "next_node": null}]}]
    }"#;
    let program = load_bmv2_json(text).expect("the program is read");
    program.validate().expect("it keeps the promises of the IR");
    let text = program.to_text();
    let start = text.find("\naction act").expect("there is the action");
    insta::assert_snapshot!(&text[start + 1..]);
}

/// The program has action selectors, entries of every match kind, and a table in which some actions
/// end the pipeline.
#[test]
fn selectors_and_entries_are_read() {
    let text = r#"{
      "__meta__": {"version": [2, 18]},
      "header_types": [
        {"name": "m_t", "id": 0, "fields": [["k", 12, false], ["mcast_grp", 16, false]]},
        {"name": "h_t", "id": 1, "fields": [["x", 8, false], ["y", 8, false]]}
      ],
      "headers": [
        {"name": "intrinsic_metadata", "id": 0, "header_type": "m_t", "metadata": true},
        {"name": "h", "id": 1, "header_type": "h_t", "metadata": false}
      ],
      "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [
        {"name": "start", "id": 0, "parser_ops": [], "transition_key": [], "transitions": [
          {"value": "default", "mask": null, "next_state": null}]}]}],
      "actions": [
        {"name": "go", "id": 0, "runtime_data": [{"name": "group", "bitwidth": 16}], "primitives": [
          {"op": "modify_field", "parameters": [
            {"type": "field", "value": ["intrinsic_metadata", "mcast_grp"]},
            {"type": "runtime_data", "value": 0}]}]},
        {"name": "NoAction", "id": 1, "runtime_data": [], "primitives": []}
      ],
      "pipelines": [{"name": "ingress", "id": 0, "init_table": "all", "tables": [
        {"name": "all", "id": 0, "match_type": "range", "type": "simple", "max_size": 8,
         "key": [
           {"match_type": "valid", "target": "h", "mask": null},
           {"match_type": "lpm", "target": ["h", "x"], "mask": null},
           {"match_type": "range", "target": ["h", "y"], "mask": null},
           {"match_type": "optional", "target": ["intrinsic_metadata", "k"], "mask": null}],
         "actions": ["go", "NoAction"], "action_ids": [0, 1],
         "next_tables": {"go": "wcmp", "NoAction": null}, "base_default_next": null,
         "default_entry": {"action_id": 1, "action_const": false, "action_data": []},
         "entries": [
           {"priority": 5, "match_key": [
              {"match_type": "valid", "key": true},
              {"match_type": "lpm", "key": "0xff", "prefix_length": 4},
              {"match_type": "range", "start": "0x01", "end": "0x0f"},
              {"match_type": "optional", "key": "0x123", "mask": "0xfff"}],
            "action_entry": {"action_id": 0, "action_data": ["0x7"]}},
           {"priority": 9, "match_key": [
              {"match_type": "valid", "key": false},
              {"match_type": "lpm", "key": "0x00", "prefix_length": 0},
              {"match_type": "range", "start": "0x00", "end": "0xff"},
              {"match_type": "optional", "key": "0x000", "mask": "0x000"}],
            "action_entry": {"action_id": 1, "action_data": []}}]},
        {"name": "wcmp", "id": 1, "match_type": "exact", "type": "indirect_ws", "max_size": 16,
         "action_profile": "selector", "support_timeout": true,
         "key": [{"match_type": "exact", "target": ["h", "x"], "mask": null}],
         "actions": ["go"], "next_tables": {"go": null}, "base_default_next": null}
       ],
       "action_profiles": [{"name": "selector", "id": 0, "max_size": 32, "selector": {
         "algo": "crc32", "input": [{"type": "field", "value": ["h", "y"]}]}}],
       "conditionals": []}]
    }"#;
    let program = load_bmv2_json(text).expect("the program is read");
    program.validate().expect("it keeps the promises of the IR");
    let text = program.to_text();
    let section = |from: &str, to: &str| {
        let start = text.find(from).expect("the section starts");
        let end = text.find(to).expect("the section ends");
        text[start..end].to_owned()
    };
    insta::assert_snapshot!(format!(
        "{}{}",
        section("extern action_selector", "parser parser"),
        section("control ingress", "control egress")
    ));
}
