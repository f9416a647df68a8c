//! Tests of the commands of simple_switch_CLI.

use crate::support::{Memory, error, run, run_json, schema_of, silent};
use ctl::{CommandError, SIMPLE_SWITCH, Session};
use std::collections::BTreeSet;

/// The commands that BMv2's documentation lists (docs/runtime_CLI.md), and those that
/// tools/runtime_CLI.py has besides. Each has a line in the order of a session, and the beginning
/// of its result. A command that cannot be done over P4Runtime has `refused` instead.
const COMMANDS: [(&str, &str); 85] = [
    ("show_tables", "MyIngress."),
    ("show_actions", ""),
    ("show_pvs", "Parse.types: 16 bits, 1 fields"),
    ("show_ports", "port 1: up"),
    ("table_info routes", "MyIngress.routes: key hdr.ipv4.dst lpm (32 bits)"),
    ("table_show_actions routes", ""),
    ("table_set_default always classify 7", ""),
    ("table_reset_default always", ""),
    ("table_add routes counted 10.0.1.1/32 => 2", "entry 0 of routes was added"),
    ("table_modify routes forward 0 3", ""),
    ("table_num_entries routes", "routes: 1 entries"),
    ("table_dump routes", "table add routes hdr.ipv4.dst=10.0.1.1/32 forward port=3"),
    ("table_dump_entry routes 0", "table add routes hdr.ipv4.dst=10.0.1.1/32 forward port=3"),
    ("table_dump_entry_from_key routes 10.0.1.1/32", "table add routes hdr.ipv4.dst=10.0.1.1/32"),
    ("counter_write hits 0 5 600", ""),
    ("counter_read hits 0", "routes hdr.ipv4.dst=10.0.1.1/32: 5 packets, 600 bytes"),
    ("counter_reset hits", ""),
    ("table_delete routes 0", ""),
    ("table_add exact_match forward 08:00:00:00:01:11 => 1", "entry 0 of exact_match was added"),
    ("table_set_timeout exact_match 0 1500", ""),
    ("table_delete_match exact_match 08:00:00:00:01:11", ""),
    ("table_clear routes", ""),
    ("act_prof_create_member choices forward 1", "member 0 of choices was created"),
    ("table_indirect_create_member balanced forward 2", "member 1 of choices was created"),
    ("act_prof_modify_member choices forward 1 3", ""),
    ("table_indirect_modify_member balanced forward 1 4", ""),
    ("act_prof_create_group choices", "group 0 of choices was created"),
    ("table_indirect_create_group balanced", "group 1 of choices was created"),
    ("act_prof_add_member_to_group choices 0 0", ""),
    ("table_indirect_add_member_to_group balanced 1 0", ""),
    ("act_prof_dump choices", "member add choices 1 forward port=1  # number 0"),
    ("act_prof_dump_member choices 1", "member add choices 2 forward port=4"),
    ("table_dump_member balanced 0", "member add choices 1 forward port=1"),
    ("act_prof_dump_group choices 0", "group add choices 1 1 2  # number 0"),
    ("table_dump_group balanced 1", "group add choices 2  # number 1"),
    ("table_indirect_add balanced 10.0.0.1 => 1", "entry 0 of balanced was added"),
    ("table_indirect_add_with_group balanced 10.0.0.2 => 0", "entry 1 of balanced was added"),
    ("table_indirect_delete balanced 1", ""),
    ("table_indirect_delete balanced 0", ""),
    ("act_prof_remove_member_from_group choices 0 0", ""),
    ("table_indirect_remove_member_from_group balanced 1 0", ""),
    ("act_prof_delete_group choices 0", ""),
    ("table_indirect_delete_group balanced 1", ""),
    ("act_prof_delete_member choices 0", ""),
    ("table_indirect_delete_member balanced 1", ""),
    ("table_indirect_set_default balanced 0", "refused"),
    ("table_indirect_set_default_with_group balanced 0", "refused"),
    ("table_indirect_reset_default balanced", "refused"),
    ("counter_write ports 1 2 3", ""),
    ("counter_read ports 1", "ports[1]: 2 packets, 3 bytes"),
    ("meter_set_rates rates 1 0.000001:5 0.5:6", ""),
    ("meter_get_rates rates 1", "rates[1]: committed 1:5, peak 500000:6"),
    ("meter_array_set_rates rates 1:2 2:3", ""),
    ("register_write seen 1 77", ""),
    ("register_read seen 1", "seen[1] = 77"),
    ("register_reset seen", ""),
    ("mc_mgrp_create 1", ""),
    ("mc_node_create 5 1 2", "node 0 was created"),
    ("mc_node_associate 1 0", ""),
    ("mc_node_update 0 2 3", ""),
    ("mc_dump", "multicast add 1 2:5 3:5  # nodes 0"),
    ("mirroring_add 7 2", ""),
    ("mirroring_add_mc 7 1", "session 7 has the 2 copies"),
    ("mirroring_get 7", "clone add 7 2:5 3:5"),
    ("mirroring_delete 7", ""),
    ("mc_node_dissociate 1 0", ""),
    ("mc_node_destroy 0", ""),
    ("mc_mgrp_destroy 1", ""),
    ("mc_set_lag_membership 0 1 2", ""),
    ("pvs_add types 0x88b5", ""),
    ("pvs_get types", "value-set write types 34997"),
    ("pvs_remove types 0x88b5", ""),
    ("pvs_clear types", ""),
    ("set_queue_rate 100 1", ""),
    ("set_queue_depth 10 1", ""),
    ("load_new_config_file next.json", ""),
    ("swap_configs", ""),
    ("reset_state", ""),
    ("port_add veth0 1", "refused"),
    ("port_remove 1", "refused"),
    ("get_time_elapsed", "5000"),
    ("get_time_since_epoch", "1700000000123456"),
    ("switch_info", "a switch 1.0, device 3, up for 0.005 s, port 255 for controllers, 2 workers"),
    ("serialize_state state.txt", "state.txt has"),
    (
        "write_config_to_file config.json",
        "config.json has the configuration of the pipeline, 9 bytes",
    ),
];

/// Commands that are refused and that `COMMANDS` does not have.
const REFUSED: [&str; 3] = [
    "set_crc16_parameters c 0x8005 0 0 true true",
    "set_crc32_parameters c 0x8005 0 0 true true",
    "shell ls",
];

/// Every command of BMv2's documentation is understood, or refused with a reason.
#[test]
fn every_documented_command_is_understood_or_refused_with_a_reason() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let mut tried = BTreeSet::new();
    for (line, expected) in COMMANDS.into_iter().chain(REFUSED.map(|line| (line, "refused"))) {
        tried.insert(line.split(' ').next().expect("a word"));
        if expected == "refused" {
            let found = error(&mut session, line);
            let CommandError::Impossible { command, reason } = &found else {
                panic!("{line}: {found}");
            };
            assert!(line.starts_with(command) && reason.len() > 30, "{found}");
        } else {
            let found = run(&mut session, line);
            assert!(found.starts_with(expected) && !found.starts_with("error"), "{line}: {found}");
            assert!(!expected.is_empty() || !found.contains("error"), "{line}: {found}");
        }
    }
    let known: BTreeSet<&str> = SIMPLE_SWITCH.iter().map(|command| command.name).collect();
    assert_eq!(tried, known);
}

/// The smallest priority wins in BMv2, the largest in P4Runtime.
#[test]
fn priorities_keep_their_order() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let session = &mut session;
    assert_eq!(
        run(session, "table_add filters drop 10.0.0.0&&&0xff000000 0&&&0 0->65535 => 0"),
        "entry 0 of filters was added"
    );
    assert_eq!(
        run(session, "table_add filters forward 1.2.3.4&&&0xffffffff 6&&&255 80->443 => 1 20"),
        "entry 1 of filters was added"
    );
    assert_eq!(
        run(session, "table_dump_entry filters 0"),
        "table add filters hdr.ipv4.src=10.0.0.0&&&255.0.0.0 drop --priority 2147483647  # entry 0"
    );
    assert_eq!(
        run(session, "table_dump_entry filters 1"),
        "table add filters hdr.ipv4.src=1.2.3.4 hdr.ipv4.protocol=6 hdr.ipv4.length=80..443 forward port=1 \
         --priority 2147483627  # entry 1"
    );
    silent(session, &["table_delete_match filters 1.2.3.4&&&0xffffffff 6&&&255 80->443 20"]);
    assert_eq!(run(session, "table_num_entries filters"), "filters: 1 entries");
    let missing =
        error(session, "table_add filters drop 1.2.3.4&&&0 0&&&0 0->65535 =>").to_string();
    assert!(missing.contains("a priority, which this table needs"), "{missing}");
    let large =
        error(session, "table_add filters drop 0&&&0 0&&&0 0->65535 => 2147483647").to_string();
    assert!(large.contains("is not a priority from 0 to 2147483646"), "{large}");
}

/// Numbers of entries are those of the session. One that it does not know is refused, because it
/// might be another entry.
#[test]
fn unknown_numbers_of_entries_are_refused() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    silent(&mut session, &["table add routes 10.0.0.0/8 drop", "table add routes 11.0.0.0/8 drop"]);
    let unknown = error(&mut session, "table_delete routes 0").to_string();
    assert!(
        unknown.contains("`table_dump routes` numbers the entries that are there"),
        "{unknown}"
    );
    let dumped = run_json(&mut session, "table_dump routes");
    assert!(dumped.contains(r#""handle":0"#) && dumped.contains(r#""handle":1"#), "{dumped}");
    assert_eq!(
        run(&mut session, "table_add routes drop 12.0.0.0/8 =>"),
        "entry 2 of routes was added"
    );
    silent(&mut session, &["table_delete routes 1", "table_delete routes 0"]);
    assert!(run(&mut session, "table_dump routes").contains("12.0.0.0/8"));
    // A number stays with its entry, and is not given away again.
    assert_eq!(
        run(&mut session, "table_add routes drop 13.0.0.0/8 =>"),
        "entry 3 of routes was added"
    );
    let gone = error(&mut session, "table_delete routes 1").to_string();
    assert!(gone.contains("NotFound"), "{gone}");
}

/// BMv2 numbers the entries that a program declares first.
#[test]
fn entries_of_the_program_are_numbered_first() {
    let source = include_str!("../../../judge/tests/everything.p4").replace(
        "default_action = drop();\n        counters = hits;",
        "default_action = drop();\n        counters = hits;\n        entries = { 0x0a000000 &&& 0xff000000: drop(); }",
    );
    let mut device = Memory::of(schema_of(&source));
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    // The device in memory has no program, so this entry stands for that of the program.
    silent(&mut session, &["table add routes 10.0.0.0/8 drop"]);
    assert_eq!(
        run(&mut session, "table_add routes drop 11.0.0.0/8 =>"),
        "entry 1 of routes was added"
    );
}

#[test]
fn multicast_nodes_keep_the_copies_of_others() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let session = &mut session;
    silent(session, &["mc_mgrp_create 1113"]);
    assert_eq!(run(session, "mc_node_create 5 0 3"), "node 0 was created");
    assert_eq!(run(session, "mc_node_create 10 7 |"), "node 1 was created");
    silent(session, &["mc_node_associate 1113 0", "mc_node_associate 1113 1"]);
    assert_eq!(run(session, "mc_dump"), "multicast add 1113 0:5 3:5 7:10  # nodes 0, 1");
    let twice = error(session, "mc_node_associate 1113 1").to_string();
    assert!(twice.contains("node 1 belongs to group 1113"), "{twice}");
    silent(session, &["mc_node_update 1 7 8", "mc_node_dissociate 1113 0"]);
    assert_eq!(run(session, "mc_dump"), "multicast add 1113 7:10 8:10  # nodes 1");
    silent(session, &["mc_node_destroy 1"]);
    assert_eq!(run(session, "mc_dump"), "multicast add 1113");
    for (line, problem) in [
        ("mc_node_associate 9 0", "there is no multicast group 9; `mc_mgrp_create 9` makes it"),
        ("mc_node_destroy 1", "there is no node 1"),
        ("mc_node_create 1 2 | 0 |", "'|' is not the number of a link aggregation group"),
        ("mc_set_lag_membership 0 1 1", "port 1 is named twice"),
        ("mc_mgrp_create 0", "P4Runtime has no multicast group 0"),
        ("mirroring_add 0 1", "P4Runtime has no clone session 0"),
        ("mirroring_get 5", "there is no clone session 5"),
        ("mirroring_add_mc 5 9", "there is no multicast group 9"),
    ] {
        let found = error(session, line).to_string();
        assert!(found.contains(problem), "{line}: {found}");
    }
}

/// A link aggregation group takes one copy, by the first of its ports that is up: the others are
/// backups of the first. A change of its ports changes the groups that it belongs to.
#[test]
fn link_aggregation_groups_take_one_copy_with_backups() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let session = &mut session;
    silent(session, &["mc_set_lag_membership 1 4 5 6", "mc_mgrp_create 7"]);
    assert_eq!(run(session, "mc_node_create 3 2 | 1 9"), "node 0 was created");
    silent(session, &["mc_node_associate 7 0"]);
    // Group 9 has no ports yet, and takes no copy.
    assert_eq!(run(session, "mc_dump"), "multicast add 7 2:3 4:3,5:3,6:3  # nodes 0");
    silent(session, &["mc_set_lag_membership 9 8", "mc_set_lag_membership 1 5 4"]);
    assert_eq!(run(session, "mc_dump"), "multicast add 7 2:3 5:3,4:3 8:3  # nodes 0");
    assert_eq!(
        run_json(session, "multicast dump 7"),
        r#"{"group":7,"kind":"multicast","replicas":[{"instance":3,"port":"2"},{"backups":[{"instance":3,"port":"4"}],"instance":3,"port":"5"},{"instance":3,"port":"8"}]}"#
    );
    // What is shown can be written.
    silent(session, &["multicast delete 7", "multicast add 7 2:3 5:3,4:3,9"]);
    assert_eq!(run(session, "multicast dump"), "multicast add 7 2:3 5:3,4:3,9");
    for wrong in ["5,", ",5", "5:x", "5,6:"] {
        let found = error(session, &format!("multicast modify 7 {wrong}")).to_string();
        assert!(found.contains("with backups behind commas"), "{wrong}: {found}");
    }
}

/// The state and the configuration are written to files of the user, and the state can be restored.
#[test]
fn state_and_configuration_are_written_to_files() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    silent(&mut session, &["table add routes 10.0.0.0/8 counted 2", "mirroring_add 5 7"]);
    let dumped = run(&mut session, "dump");
    let lines = dumped.lines().count();
    assert_eq!(
        run(&mut session, "serialize_state s.txt"),
        format!("s.txt has {lines} lines of commands, which `--file s.txt` runs")
    );
    run(&mut session, "write_config_to_file c.json");
    drop(session);
    assert_eq!(device.files["s.txt"], dumped + "\n");
    assert_eq!(device.files["c.json"], "a program");
    // A dry run writes no file.
    device.files.clear();
    let mut session = Session::new(&mut device, true).expect("it has a pipeline");
    let request = run(&mut session, "write_config_to_file c.json");
    assert_eq!(request, "GetForwardingPipelineConfig ALL");
    assert!(run(&mut session, "serialize_state s.txt").contains("p4.v1.ReadRequest"));
    drop(session);
    assert!(device.files.is_empty());
}

/// A mirroring session is replaced, as BMv2 does it.
#[test]
fn mirroring_sessions_are_replaced() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    silent(&mut session, &["mirroring_add 5 7", "mirroring_add 5 8"]);
    assert_eq!(run(&mut session, "mirroring_get 5"), "clone add 5 8");
}

/// A file of the p4lang tutorials, with its comments and blank lines.
#[test]
fn a_file_of_commands_is_run_line_by_line() {
    let file = "# basic forwarding\n\ntable_set_default routes drop\n\
                table_add routes counted 10.0.1.1/32 => 1\n\
                table_add MyIngress.routes MyIngress.forward 10.0.2.0/24 => 2   # to s2\n\
                mirroring_add 100 3\nregister_write MyIngress.seen 0 0x10\n";
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    for line in file.lines() {
        let found = run(&mut session, line);
        assert!(!found.contains("error"), "{line}: {found}");
    }
    assert_eq!(run(&mut session, "table count routes"), "routes: 2 entries");
    assert_eq!(run(&mut session, "clone dump"), "clone add 100 3");
}
