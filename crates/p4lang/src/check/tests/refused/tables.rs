//! Tests of rules about tables: keys, actions, entries and priorities.

use super::super::{accepts, control, does_not_warn, program, refuses, warns};

#[test]
fn keys_are_scalars_with_names() {
    let key = |text: &str| {
        control(&format!("table t {{ key = {{ {text} }} actions = {{ NoAction; }} }}"), "")
    };
    refuses(&key("m.s: exact;"), "type-mismatch");
    refuses(&key("hdr.h: exact;"), "type-mismatch");
    refuses(&key("5: exact;"), "type-mismatch");
    refuses(&key("m.m + 1: exact;"), "key-name");
    refuses(&key("(bit<16>) m.m: exact;"), "key-name");
    refuses(&key("hdr.hs[(bit<4>) m.m].a: exact;"), "key-name");
    refuses(&key("m.m[0+:4]: exact;"), "key-name");
    warns(&key("8w5: exact;"), "constant-key");
}

#[test]
fn tables_name_their_actions() {
    let actions = "action a() {} action b(bit<8> x) {} action d(inout bit<8> y, bit<8> x) { y = x; } bit<8> loc = 1;";
    let table = |text: &str| control(&format!("{actions} table t {{ {text} }}"), "");
    refuses(&table("key = { m.m: exact; }"), "no-actions");
    refuses(&table("actions = { c; }"), "undeclared-name");
    refuses(&table("actions = { loc; }"), "not-an-action");
    refuses(&table("actions = { b(1); }"), "arguments");
    refuses(&table("actions = { d; }"), "arguments");
    refuses(&table("actions = { d(5); }"), "not-a-place");
    refuses(&table("actions = { a; } default_action = b(1);"), "not-listed");
    refuses(&table("actions = { b; } default_action = b;"), "arguments");
    refuses(&table("actions = { b; } default_action = b(m.m);"), "not-constant");
    refuses(&table("actions = { b; } default_action = b(true);"), "type-mismatch");
    refuses(&table("actions = { b; } default_action = b(1, 2);"), "arguments");
    refuses(&table("actions = { d(loc); } default_action = d(m.m, 1);"), "arguments");
    refuses(&table("actions = { @tableonly a; } default_action = a;"), "not-listed");
    refuses(&table("actions = { a; } default_action = 5;"), "not-an-action");
    warns(&table("actions = { a; } colour = 5;"), "unknown-property");
}

#[test]
fn entries_fit_their_keys() {
    let entries = |keys: &str, entries: &str| {
        control(
            &format!(
                "action a() {{}} action b(bit<8> x) {{}}\n\
                 table t {{ key = {{ {keys} }} actions = {{ a; b; @defaultonly NoAction; }} const entries = {{ {entries} }} }}"
            ),
            "",
        )
    };
    refuses(&entries("m.m: exact;", "(1, 2): a;"), "wrong-count");
    refuses(&entries("m.m: exact; m.w: exact;", "1: a;"), "wrong-count");
    refuses(&entries("m.m: exact;", "16w1: a;"), "type-mismatch");
    refuses(&entries("m.m: exact;", "true: a;"), "type-mismatch");
    refuses(&entries("m.m: exact;", "m.m: a;"), "not-constant");
    refuses(&entries("m.m: exact;", "1 &&& 3: a;"), "match-kind");
    refuses(&entries("m.m: exact;", "1..3: a;"), "match-kind");
    warns(&entries("m.m: exact;", "_: a;"), "match-kind");
    for (keys, equal) in [
        ("m.m: exact;", "1: a; 2: b(1); 0x1: b(2);"),
        ("m.m: ternary;", "0x11 &&& 0x0f: a; 0x21 &&& 0x0f: b(2);"),
        ("m.m: range; m.w: exact;", "(1 .. 4, 2): a; (1 .. 2 + 2, 2): a;"),
        ("m.m: optional;", "_: a; default: b(1);"),
    ] {
        warns(&entries(keys, equal), "entries");
    }
    does_not_warn(
        &entries("m.m: ternary;", "1 &&& 0x0f: a; 1: b(2); 1 &&& 0x1f: a; _: a;"),
        "entries",
    );
    let sized = |size: u32| {
        control(
            &format!(
                "action a() {{}} table t {{ key = {{ m.m: exact; }} actions = {{ a; }} size = {size};
                 const entries = {{ 1: a; 2: a; 3: a; }} }}"
            ),
            "",
        )
    };
    warns(&sized(2), "entries");
    does_not_warn(&sized(3), "entries");
    // The size 0 means that none is specified.
    does_not_warn(&sized(0), "entries");
    accepts(&entries("m.m: ternary; m.w: exact;", "(1, 2): a; _: a;"));
    refuses(&entries("m.m: lpm;", "1 &&& 3: a;"), "match-kind");
    refuses(&entries("m.m: ternary;", "1..3: a;"), "match-kind");
    refuses(&entries("m.m: range;", "1 &&& 3: a;"), "match-kind");
    refuses(&entries("m.m: optional;", "1 &&& 3: a;"), "match-kind");
    refuses(&entries("m.m: exact;", "1: b;"), "arguments");
    refuses(&entries("m.m: exact;", "1: b(m.m);"), "not-constant");
    refuses(&entries("m.m: exact;", "1: NoAction;"), "not-listed");
    refuses(&entries("m.m: exact;", "1: b(true);"), "type-mismatch");
    refuses(
        &control("table t { actions = { NoAction; } const entries = { 1: NoAction; } }", ""),
        "no-key",
    );
}

#[test]
fn an_entry_is_added_on_a_miss_only() {
    let table = |property: &str, default: &str, name: &str| {
        format!(
            "#include <core.p4>\n#include <pna.p4>\n\
             control C(inout bit<8> k) {{\n\
             action hit(bit<8> x) {{}} action miss() {{ add_entry(\"{name}\", (bit<8>) k, (ExpireTimeProfileId_t) 0); }}\n\
             table t {{ key = {{ k: exact; }} actions = {{ hit; miss; @defaultonly NoAction; }} {property} default_action = {default}; }}\n\
             apply {{ t.apply(); }} }}\n"
        )
    };
    accepts(&table("add_on_miss = true;", "miss", "hit"));
    refuses(&table("", "miss", "hit"), "add-on-miss");
    refuses(&table("add_on_miss = true;", "NoAction", "hit"), "add-on-miss");
    refuses(&table("add_on_miss = true;", "miss", "other"), "add-on-miss");
    refuses(&table("add_on_miss = true;", "miss", "miss"), "add-on-miss");
    let wide = table("add_on_miss = true;", "miss", "hit").replace("(bit<8>) k,", "(bit<16>) k,");
    refuses(&wide, "add-on-miss");
    let two = table("add_on_miss = true;", "miss", "hit").replace("(bit<8>) k,", "{ k, k },");
    refuses(&two, "add-on-miss");
    let named = table("add_on_miss = true;", "miss", "hit").replace(
        "add_entry(\"hit\", (bit<8>) k, (ExpireTimeProfileId_t) 0)",
        "add_entry(expire_time_profile_id = 0, action_params = { x = k }, action_name = \"hit\")",
    );
    accepts(&named);
}

#[test]
fn priorities_are_for_initial_entries_that_may_overlap() {
    let table = |kind: &str, entries: &str| {
        control(
            &format!("table t {{ key = {{ m.m: {kind}; }} actions = {{ NoAction; }} {entries} }}"),
            "",
        )
    };
    accepts(&table("ternary", "entries = { priority = 3: 1: NoAction; 2: NoAction; }"));
    refuses(&table("ternary", "const entries = { priority = 3: 1: NoAction; }"), "priority");
    refuses(&table("exact", "entries = { priority = 3: 1: NoAction; }"), "priority");
    refuses(&table("lpm", "entries = { priority = 3: 1: NoAction; }"), "priority");
    refuses(&table("ternary", "entries = { 1: NoAction; priority = 3: 2: NoAction; }"), "priority");
    accepts(&table("ternary", "entries = { priority = 2: 1: NoAction; 2: NoAction; }"));
    refuses(
        &table("ternary", "entries = { priority = 1: 1: NoAction; 2: NoAction; }"),
        "out-of-range",
    );
    accepts(&table(
        "ternary",
        "largest_priority_wins = false; entries = { priority = 0: 1: NoAction; 2: NoAction; }",
    ));
}

#[test]
fn actions_of_a_table_differ_in_name() {
    let table = |list: &str| {
        program(&format!(
            "action a() {{}} control X() {{ action a() {{}} table t {{ actions = {{ {list} }} }} apply {{ t.apply(); }} }}"
        ))
    };
    refuses(&table("a; a;"), "duplicate");
    refuses(&table("a; .a;"), "duplicate");
}

#[test]
fn properties_that_name_actions_follow_the_list_of_actions() {
    let table = |properties: &str| control(&format!("table t {{ {properties} }}"), "t.apply();");
    let (key, actions) = ("key = { m.m: exact; }", "actions = { NoAction; }");
    let entries = "const entries = { 1: NoAction; }";
    accepts(&table(&format!("{actions} default_action = NoAction; {key} {entries}")));
    refuses(&table(&format!("default_action = NoAction; {actions}")), "order");
    refuses(&table(&format!("{key} {entries} {actions}")), "order");
    refuses(&table(&format!("{actions} {entries} {key}")), "order");
}

#[test]
fn references_need_one_replica() {
    let table = |configuration: &str| {
        control(
            &format!(
                "action a(@__ref bit<8> x) {{ x = x + 1; }}\n\
                 {configuration} table t {{ key = {{ m.m: exact; }} actions = {{ a; NoAction; }} }}"
            ),
            "t.apply();",
        )
    };
    accepts(&table(""));
    accepts(&table("@tableconfig(store=\"static\", impl=\"dpdk\", synced=true)"));
    refuses(&table("@tableconfig(impl=\"t4p4s\")"), "reference");
    refuses(&table("@tableconfig(store=\"static\")"), "reference");
    accepts(&table("@tableconfig(impl=\"t4p4s\", update=\"change\")"));
    accepts(&table("@tableconfig(impl=\"t4p4s\", update=\"digest\")"));
    accepts(&table("@tableconfig(impl=\"dpdk\", update=\"digest\")"));
    refuses(&table("@tableconfig(impl=\"t4p4s\", update=\"pointer\")"), "reference");
    refuses(&table("@tableconfig(impl=\"dpdk\", update=\"change\", synced=true)"), "annotation");
    refuses(&table("@tableconfig(impl=\"sharded\", update=\"digest\")"), "annotation");
    refuses(&table("@tableconfig(impl=\"dpdk\", update=\"later\")"), "annotation");
    refuses(&table("@tableconfig(impl=\"other\")"), "annotation");
    refuses(&table("@tableconfig(colour=\"dpdk\", impl=\"dpdk\")"), "annotation");
    refuses(&program("void f(@__ref in bit<8> x) {}"), "reference");
    refuses(&control("action a(@__ref in bit<8> x) {}", ""), "reference");
}

/// p4-spec pull request 1239 proposes `rmw` as a direction. It is not a keyword of the language
/// yet.
#[test]
fn rmw_is_another_spelling_of_references() {
    let table = |configuration: &str, parameter: &str| {
        control(
            &format!(
                "action a({parameter} x) {{ x = x + 1; }}\n\
                 {configuration} table t {{ key = {{ m.m: exact; }} actions = {{ a; NoAction; }} }}"
            ),
            "t.apply();",
        )
    };
    accepts(&table("", "rmw bit<8>"));
    refuses(&table("@tableconfig(impl=\"t4p4s\")", "rmw bit<8>"), "reference");
    refuses(&program("void f(rmw bit<8> x) {}"), "reference");
    accepts(&program("typedef bit<8> rmw; void f(in rmw x, rmw y, in bit<8> rmw) {}"));
}

#[test]
fn the_implicit_no_action_has_no_parameters_and_no_body() {
    let table = |action: &str| {
        format!(
            "{action} control X() {{ action a() {{}} table t {{ actions = {{ a; }} }} apply {{ t.apply(); }} }}"
        )
    };
    accepts(&table("action NoAction() {}"));
    refuses(&table(""), "undeclared-name");
    refuses(&table("action NoAction(bit<8> x) {}"), "undeclared-name");
    refuses(&table("action NoAction() { return; }"), "undeclared-name");
}

#[test]
fn tables_are_not_applied_in_arguments_of_actions() {
    let table = |argument: &str| {
        let locals = format!(
            "table u {{ actions = {{ NoAction; }} }} action a(in bool b) {{}}
            table t {{ actions = {{ a({argument}); NoAction; }} default_action = NoAction; }}"
        );
        control(&locals, "")
    };
    accepts(&table("m.m == 1"));
    refuses(&table("u.apply().hit"), "misplaced");
    refuses(&table("u.apply().hit && m.m == 1"), "misplaced");
}

#[test]
fn arguments_of_a_default_action_are_those_of_the_list() {
    let table = |list: &str, default: &str| {
        let locals = format!(
            "action a(in S s) {{}}
            table t {{ actions = {{ a({list}); }} default_action = a({default}); }}"
        );
        control(&locals, "")
    };
    for same in [
        "{ x = 1, y = m.w }",
        "{ x = 2, ... }",
        "{ 1, m.w }",
        "(S) { m.w[0+:8], 2 }",
        "...",
        "m.flag ? m.s : (S) { 1, 2 }",
    ] {
        accepts(&table(same, same));
        refuses(&table(same, "m.s"), "arguments");
    }
    refuses(&table("{ x = 1, y = m.w }", "{ x = 1, y = m.s.y }"), "arguments");
    refuses(&table("{ x = 1, y = 2 }", "{ x = 1, ... }"), "arguments");
}

#[test]
fn entries_can_match() {
    let with = |set: &str| {
        control(
            &format!(
                "table t {{ key = {{ m.m : range; }} actions = {{ NoAction; }} const entries = {{ {set} : NoAction; }} }}"
            ),
            "t.apply();",
        )
    };
    accepts(&with("3 .. 3"));
    refuses(&with("4 .. 3"), "match-kind");
    refuses(
        &control("table t { actions = { NoAction; } priority_delta = 0; }", ""),
        "out-of-range",
    );
}
