//! Tests of files of simple_switch_CLI commands where a switch begins with them: `cli_input` of
//! topologies, `stf --entries` and `switch --runtime-json`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::command::{planimeter, stderr, stdout};
use crate::ctl::done;
use crate::switch::Switch;

const TUNNEL: &str = "examples/mininet/tunnel";
const EVERYTHING: &str = "crates/judge/tests/everything.p4";

/// The entries of s1-runtime.json as commands, with changes that leave no trace.
const COMMANDS: &str = "\
# the entrances of s1
table_add TunnelIngress.entrances TunnelIngress.enter 10.0.2.0/24 => 702 2
table_add entrances enter 10.0.3.0/24 => 703 2

table_add tunnels leave 701 => 02:00:00:00:01:01 1
table_add tunnels forward 702 => 1
table_modify tunnels forward 1 2
table_add tunnels forward 703 => 3
table_add tunnels forward 799 => 3
table_delete tunnels 3
";

/// Copies the topology of the tunnel to a folder, where s1 has `cli_input` instead of
/// `runtime_json`. Returns the path of the topology.
fn topology(folder: &Path, commands: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(TUNNEL);
    for switch in ["s2", "s3"] {
        let name = format!("{switch}-runtime.json");
        fs::copy(source.join(&name), folder.join(&name)).expect("a copy");
    }
    let text = fs::read_to_string(source.join("topology.json")).expect("a topology");
    let changed =
        text.replace("\"runtime_json\": \"s1-runtime.json\"", "\"cli_input\": \"s1-commands.txt\"");
    assert_ne!(changed, text);
    let path = folder.join("topology.json");
    fs::write(&path, changed).expect("a file");
    fs::write(folder.join("s1-commands.txt"), commands).expect("a file");
    path
}

fn run(topology: &Path, more: &[&str]) -> Output {
    let (topology, script) = (topology.display().to_string(), format!("{TUNNEL}/topology.stf"));
    let mut all = vec!["--topology", &topology, "programs/tunnel.p4", &script];
    all.extend(more);
    planimeter("stf", &all)
}

#[test]
fn a_switch_with_commands_is_like_one_with_a_runtime_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected = run(Path::new(&format!("{TUNNEL}/topology.json")), &[]);
    assert_eq!(expected.status.code(), Some(0), "{}", stderr(&expected));
    let path = topology(folder.path(), COMMANDS);
    for more in [&[][..], &["--path", "compiled"]] {
        let found = run(&path, more);
        assert_eq!(found.status.code(), Some(0), "{}{}", stdout(&found), stderr(&found));
        assert_eq!(stdout(&found), stdout(&expected));
    }
    // Without one of the entries, packets are missing.
    let fewer = COMMANDS.replace("table_add entrances enter 10.0.3.0/24 => 703 2\n", "");
    let found = run(&topology(folder.path(), &fewer), &[]);
    assert_eq!(found.status.code(), Some(1), "{}", stdout(&found));
}

/// Queues that the commands set are those of the switch, and the topology replaces those of a port.
#[test]
fn commands_set_queues_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands = format!("{COMMANDS}set_queue_rate 1000 2\nset_queue_depth 7 2\n");
    let path = topology(folder.path(), &commands);
    let found = stdout(&run(&path, &[]));
    // 1000 packets per second: the packets of the script come no faster.
    assert!(found.contains("queue 0 of s1-p2: 2 packets"), "{found}");
    assert!(!found.contains(" in 9ms"), "{found}");
    let found = stdout(&run(&path, &["--queue", "s1 port=2 rate=100pps"]));
    assert!(found.contains(" in 9ms"), "{found}");
}

#[test]
fn wrong_commands_are_named_by_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for (line, reason) in [
        ("table_add nowhere enter 10.0.2.0/24 => 702 2", "there is no table 'nowhere'"),
        ("table_add entrances enter 10.0.2.0/24 => 702", "usage: table_add"),
        ("table_add entrances enter 10.0.2.0/24 => 702 2", "the device refuses"),
        ("shell ls", "commands of the system are left"),
        ("show_ports", "it needs a switch that runs"),
    ] {
        let path = topology(folder.path(), &format!("{COMMANDS}{line}\n"));
        let found = run(&path, &[]);
        let text = stderr(&found);
        assert_eq!(found.status.code(), Some(2), "{line}: {text}");
        assert!(text.contains("s1-commands.txt:11: "), "{line}: {text}");
        assert!(text.contains(reason), "{line}: {text}");
    }
}

/// Arrays, action profiles and clone sessions, in a script for a single switch.
#[test]
fn commands_write_all_that_a_script_can() {
    let folder = tempfile::tempdir().expect("a folder");
    let (commands, script) = (folder.path().join("commands.txt"), folder.path().join("read.stf"));
    let text = "\
act_prof_create_member choices forward 1
act_prof_create_member choices forward 3
act_prof_create_group choices
act_prof_add_member_to_group choices 1 0
table_indirect_add_with_group balanced 10.0.0.1 => 0
table_indirect_add balanced 10.0.0.2 => 0
register_write seen 2 42
counter_write ports 1 5 600
meter_set_rates rates 3 0.001:1500 0.0025:3000
mirroring_add 9 2
";
    fs::write(&commands, text).expect("a file");
    let read = "register_read seen 2\nregister_read seen 1\ncounter_read ports 1\nmeter_get_rates rates 3\n\
                mirroring_get 9\n\
                packet 1 080000000122080000000111 0800 4500001400000000400000000a0000090a000001\nexpect 3\n\
                packet 1 080000000122080000000111 0800 4500001400000000400000000a0000090a000002\nexpect 1\n";
    fs::write(&script, read).expect("a file");
    let paths = [commands.display().to_string(), script.display().to_string()];
    let output = planimeter("stf", &["--entries", &paths[0], EVERYTHING, &paths[1]]);
    let found = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{found}{}", stderr(&output));
    for value in ["seen[2] = 0x2a", "seen[1] = 0x0", "5 packets", "600 bytes", "peak_rate: 2500"] {
        assert!(found.contains(value), "{value}: {found}");
    }
    for (line, reason) in [
        ("pvs_add types 0x88b5", "value sets are not set by files of entries"),
        ("digest enable learned_t", "digests are not enabled"),
        ("set_queue_rate 100 1", "ports have queues only in a network"),
    ] {
        fs::write(&commands, line).expect("a file");
        let output = planimeter("stf", &["--entries", &paths[0], EVERYTHING, &paths[1]]);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(stderr(&output).contains(reason), "{line}: {}", stderr(&output));
    }
}

/// A switch that starts with a file of commands has the entries, registers and queues of it.
#[test]
fn a_switch_starts_with_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands = folder.path().join("commands.txt");
    let text = "table_set_default always classify 7\ntable_add routes counted 10.0.0.0/8 => 2\n\
                register_write seen 2 42\nmc_mgrp_create 5\nmc_node_create 1 1 2\nmc_node_associate 5 0\n\
                set_queue_rate 100 2\n";
    fs::write(&commands, text).expect("a file");
    let port = |number: u32| {
        format!("{number}@pcap:,{}", folder.path().join(format!("{number}.pcap")).display())
    };
    let (one, two, file) = (port(1), port(2), commands.display().to_string());
    let command = Command::new(env!("CARGO_BIN_EXE_planimeter"));
    let more = ["-i", one.as_str(), "-i", two.as_str(), "--runtime-json", file.as_str()];
    let switch = Switch::of(command, EVERYTHING, &more);
    let state = done(&switch, "dump");
    for line in [
        "table set-default always classify class=7",
        "table add routes hdr.ipv4.dst=10.0.0.0/8 counted port=2",
        "multicast add 5 1:1 2:1",
    ] {
        assert!(state.contains(line), "{line}: {state}");
    }
    assert_eq!(done(&switch, "register read seen 2"), "seen[2] = 42\n");
    let queues = done(&switch, "queue dump");
    assert!(queues.contains("port=2") && queues.contains("rate=100pps"), "{queues}");
    drop(switch);
    let output = planimeter("switch", &["--no-p4", "--runtime-json", &file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("need a program; give it with --p4"), "{}", stderr(&output));
}
