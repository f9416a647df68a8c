//! Tests of `planimeter dut` against `planimeter switch`, both as a user runs them.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use p4runtime::client::{Client, ClientOptions};
use p4runtime::proto::v1::{self, entity::Entity as Kind};
use packetio::namespace::Namespace;
use rustix::process::{Pid, Signal, kill_process};

use crate::browser;
use crate::command::{planimeter, stderr, stdout};
use crate::document;
use crate::switch::Switch;

/// Starts a router.
fn router() -> Switch {
    Switch::of(Command::new(env!("CARGO_BIN_EXE_planimeter")), "programs/router.p4", &[])
}

#[test]
fn a_switch_is_measured_and_the_report_has_all_tests() {
    let switch = router();
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let place = run.to_string_lossy();
    let words = [&switch.1, "--quick", "--quiet", "--batch", "10", "--entries", "2k", "-o", &place];
    let output = planimeter("dut", &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = document::result(&run);
    assert_eq!(result["kind"], "dut");
    let ids: Vec<&str> = result["sections"]
        .as_array()
        .expect("sections")
        .iter()
        .filter_map(|section| section["id"].as_str())
        .collect();
    assert_eq!(ids, ["updates", "reads", "capacity", "roles"]);
    let rows = result["sections"][0]["tables"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 6);
    for row in rows {
        assert!(row[3]["value"].as_f64().expect("a rate") > 0.0, "{row}");
        assert_eq!(row[6]["value"], 0.0, "nothing is refused: {row}");
    }
    // This host cannot observe why answers to reads are delayed, and no packets were sent.
    let reads = &result["sections"][1];
    let connection = reads["tables"].as_array().expect("tables").iter();
    let connection = connection.filter(|table| table["caption"] == "Connection to the switch");
    for row in connection.flat_map(|table| table["rows"].as_array().expect("rows")) {
        assert!(row[2]["value"].as_f64().is_some_and(|looks| looks > 0.0), "{row}");
        assert!((4..9).all(|column| row[column].is_null()), "{row}");
    }
    let texts = reads["text"].to_string();
    assert!(texts.contains("was not measured: that needs --port"), "{texts}");
    // The table is declared with 1,024 entries.
    let text = stdout(&output);
    assert!(text.contains("capacity: 1024 entries, then ResourceExhausted"), "{text}");
    browser::check(&run);
}

#[test]
fn updates_are_compared_by_table_occupancy_and_atomicity() {
    let command = Command::new(env!("CARGO_BIN_EXE_planimeter"));
    let switch = Switch::of(command, "crates/dut/tests/kinds.p4", &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let place = run.to_string_lossy();
    let words = [&switch.1, "--plan", "updates", "--quick", "--quiet", "-o", &place];
    let varied = ["--batch=10", "--entries=1k", "--table=narrow", "--table=each-kind"];
    let more = ["--occupancy=0,80", "--atomicity=continue-on-error,rollback-on-error"];
    let output = planimeter("dut", &[&words[..], &varied, &more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = document::result(&run);
    let tables = result["sections"][0]["tables"].as_array().expect("tables");
    let column = |table: usize, column: usize| -> Vec<&serde_json::Value> {
        let rows = tables[table]["rows"].as_array().expect("rows");
        rows.iter().step_by(3).map(|row| &row[column]).collect()
    };
    assert_eq!(tables.len(), 5);
    // No network lies between, so it limits nothing.
    assert_eq!(tables[4]["caption"], "Connection to the switch");
    let is_here = |address: &&serde_json::Value| **address == "an address of this host";
    assert!(column(4, 1).iter().all(is_here), "{:?}", tables[4]);
    for row in tables[0]["rows"].as_array().expect("rows") {
        let limit = row[7].as_str().expect("words");
        assert!(["Planimeter", "latency", "switch"].contains(&limit), "{row}");
    }
    let before: Vec<Option<f64>> = column(1, 2).iter().map(|cell| cell["value"].as_f64()).collect();
    assert_eq!(before, [Some(0.0), Some(800.0)]);
    assert_eq!(column(2, 1), ["continue-on-error", "rollback-on-error"]);
    assert_eq!(column(3, 2), ["exact", "lpm", "ternary", "range"]);
    assert_eq!(column(3, 1), ["I.narrow", "I.prefixes", "I.masks", "I.kinds"]);
    browser::check(&run);
}

/// The program of the switch has an object of each kind that requirements need, so all of them are
/// tried.
#[test]
fn the_switch_meets_every_requirement_of_the_specification() {
    let Some(namespace) = network() else { return };
    let command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    let ports = ["-i", "1@s1", "-i", "2@s2"];
    let switch = Switch::of(command, "crates/judge/tests/everything.p4", &ports);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let mut command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    command.args(["dut", &switch.1, "--conformance", "--commit", "--quiet"]);
    command.args(["--port", "1@h1", "--port", "2@h2", "-o"]).arg(&run);
    let output = command.output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let result = document::result(&run);
    let rows = result["sections"][0]["tables"][1]["rows"].as_array().expect("rows");
    assert!(rows.len() > 100, "{}", rows.len());
    for row in rows {
        assert_eq!(row[4], "met", "{row}");
    }
    let junit = std::fs::read_to_string(run.join("junit.xml")).expect("a file");
    assert!(junit.contains("failures=\"0\" skipped=\"0\""), "{junit}");
    let exchanges = std::fs::read_to_string(run.join("exchanges.txt")).expect("a file");
    assert!(exchanges.contains("-> device_id"), "{exchanges}");
    // The table with all requirements is only on the page of the report.
    assert!(!stdout(&output).contains("duplicate-election-id"), "{}", stdout(&output));
    browser::check(&run);
}

/// A switch that started without a pipeline runs the one that is pushed.
#[test]
fn a_pipeline_is_pushed_before_it_is_judged() {
    let switch = Switch::of(Command::new(env!("CARGO_BIN_EXE_planimeter")), "--no-p4", &[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("run").to_string_lossy().into_owned();
    let conformance = [&switch.1, "--conformance", "-q", "-o", &place];
    let without = planimeter("dut", &conformance);
    assert_eq!(without.status.code(), Some(2), "{}", stderr(&without));
    assert!(stderr(&without).contains("runs no pipeline"), "{}", stderr(&without));
    let program = root.join("programs/router.p4").to_string_lossy().into_owned();
    let output = planimeter("dut", &[&conformance[..], &["--commit", "--push", &program]].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let result = document::result(Path::new(&place));
    let rows = result["sections"][0]["tables"][1]["rows"].as_array().expect("rows");
    let verdict = |id: &str| {
        let row = rows.iter().find(|row| row[1] == id).expect("the requirement");
        (row[4].clone(), row[5].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(verdict("commit-clears-the-tables").0, "met");
    let (packet_in, why) = verdict("packet-in-metadata");
    assert_eq!(packet_in, "not applicable", "{why}");
    assert!(why.contains("--port"), "{why}");
}

#[test]
fn random_requests_show_no_fault_and_sequences_are_repeated() {
    let switch = router();
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let run = place("run");
    let words = [&switch.1, "--fuzz", "--requests", "200", "--seed", "3", "-q", "-o", &run];
    let output = planimeter("dut", &words);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("No fault: in 200 requests"), "{}", stdout(&output));
    let result = document::result(Path::new(&run));
    let rows = result["sections"][0]["tables"][0]["rows"].as_array().expect("rows");
    for name in ["entry", "default entry", "counter cell", "direct counter", "clone session"] {
        let article = if name.starts_with('e') { "an" } else { "a" };
        let what = format!("modification of {article} {name}");
        let row = rows.iter().find(|row| row[0] == what.as_str()).expect("the modifications");
        assert!(row[1]["value"].as_f64().expect("a count") > 0.0, "none was accepted: {row}");
    }
    browser::check(Path::new(&run));
    // The table 0 does not exist, so the update is refused.
    let sequence = place("sequence.jsonl");
    let line = r#"{"updates": ["type: INSERT entity { table_entry { priority: 1 } }"]}"#;
    std::fs::write(&sequence, line).expect("a file");
    let repeated = planimeter("dut", &[&switch.1, "--replay", &sequence, "-o", &place("again")]);
    assert_eq!(repeated.status.code(), Some(0), "{}", stderr(&repeated));
    assert!(stdout(&repeated).contains("0 updates were accepted and 1 refused"));
}

/// The program constrains entries and arguments. Near misses are refused, and counted in the
/// report.
#[test]
fn random_requests_break_each_part_of_a_constraint() {
    let program = "crates/judge/tests/constrained.p4";
    let switch = Switch::of(Command::new(env!("CARGO_BIN_EXE_planimeter")), program, &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let place = run.to_string_lossy().into_owned();
    let words = [&switch.1, "--fuzz", "--requests", "400", "-q", "-o", &place];
    let output = planimeter("dut", &words);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let result = document::result(&run);
    let rows = result["sections"][1]["tables"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 12, "{rows:?}");
    let count = |row: &serde_json::Value| row[2]["value"].as_f64().expect("a count");
    assert!(rows.iter().filter(|row| count(row) > 0.0).count() > 10, "{rows:?}");
    let sequence = folder.path().join("sequence.jsonl");
    let line =
        r#"{"updates": ["type: MODIFY entity { table_entry { table_id: 1 } }"], "packets": [{}]}"#;
    std::fs::write(&sequence, line).expect("a file");
    let wrong = planimeter("dut", &[&switch.1, "--replay", &sequence.to_string_lossy()]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("line 1: a packet has no `packet_out`"), "{}", stderr(&wrong));
}

#[test]
fn packets_between_random_requests_show_no_fault() {
    let Some(namespace) = network() else { return };
    let command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    let ports = ["-i", "1@s1", "-i", "2@s2"];
    let switch = Switch::of(command, "crates/judge/tests/everything.p4", &ports);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let mut command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    command.args(["dut", &switch.1, "--fuzz", "--requests", "300", "--quiet", "--json"]);
    command.args(["--port", "1@h1", "--port", "2@h2", "-o"]).arg(&run);
    let output = command.output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("packets in between"), "{text}");
    assert!(!text.contains("packets on port"), "all could be sent: {text}");
}

/// The program has 31 tables, most of which have strings, constraints or references.
#[test]
fn random_requests_reach_the_tables_of_a_large_program() {
    for checks in [&[][..], &["--check-references"]] {
        let command = Command::new(env!("CARGO_BIN_EXE_planimeter"));
        let switch = Switch::of(command, "programs/middleblock.p4", checks);
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let run = place("fuzz");
        let words = [&switch.1, "--fuzz", "--requests", "600", "--seed", "5", "-q", "-o", &run];
        let output = planimeter("dut", &words);
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        let text = stdout(&output);
        for reason in ["translated", "refers_to", "no number", "refuses an entry"] {
            assert!(!text.contains(reason), "{reason}: {text}");
        }
        let run = place("conformance");
        let output = planimeter("dut", &[&switch.1, "--conformance", "-q", "-o", &run]);
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        let result = document::result(Path::new(&run));
        let rows = result["sections"][0]["tables"][1]["rows"].as_array().expect("rows");
        let met = rows.iter().filter(|row| row[4] == "met").count();
        assert!(met > 60, "{met} requirements were tried");
    }
}

#[test]
fn what_cannot_be_measured_says_why() {
    let nobody = planimeter("dut", &["127.0.0.1:1", "--quick"]);
    assert_eq!(nobody.status.code(), Some(3), "{}", stderr(&nobody));
    let switch = router();
    let device = planimeter("dut", &[&switch.1, "--device-id", "7"]);
    assert_eq!(device.status.code(), Some(2), "{}", stderr(&device));
    assert!(stderr(&device).contains("no device 7"), "{}", stderr(&device));
    let table = planimeter("dut", &[&switch.1, "--table", "other"]);
    assert_eq!(table.status.code(), Some(2), "{}", stderr(&table));
    assert!(stderr(&table).contains("no table `other`"), "{}", stderr(&table));
}

/// Returns a namespace in which the interfaces `s1` to `s3` of a switch are connected to `h1` to
/// `h3`; `None` without root.
fn network() -> Option<Namespace> {
    if !rustix::process::geteuid().is_root() {
        let required = std::env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "network namespaces need root");
        // The test harness would hide the output of `eprintln!` when a test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: network namespaces need root");
        return None;
    }
    let namespace = Namespace::new().expect("a namespace");
    for port in 1..=3 {
        let [switch, host] = [format!("s{port}"), format!("h{port}")];
        namespace.link(&switch, &namespace, &host, 1500).expect("a link");
    }
    Some(namespace)
}

/// Returns the command that measures effects on packets in a namespace.
fn effects(namespace: &Namespace, switch: &Switch, program: &str, run: &Path) -> Command {
    with_packets(namespace, switch, "effects", program, run)
}

/// Returns the command that makes a test with packets in a namespace.
fn with_packets(
    namespace: &Namespace,
    switch: &Switch,
    test: &str,
    program: &str,
    run: &Path,
) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    command.current_dir(root).args(["dut", &switch.1, "--plan", test, "--quiet"]);
    command.args(["--program", &format!("programs/{program}"), "--probes", "10k", "--rules", "4"]);
    for port in ["1@h1", "2@h2", "3@h3"] {
        command.args(["--port", port]);
    }
    command.arg("-o").arg(run);
    command
}

#[test]
fn packets_show_when_a_switch_obeys() {
    let Some(namespace) = network() else { return };
    for program in ["l2.p4", "router.p4"] {
        let ports = ["-i", "1@s1", "-i", "2@s2", "-i", "3@s3"];
        let command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
        let switch = Switch::of(command, &format!("programs/{program}"), &ports);
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().join("run");
        // A request is also made atomic in the data plane.
        let (atomicity, kinds) = match program {
            "l2.p4" => ("--atomicity=continue-on-error,dataplane-atomic", 9),
            _ => ("--atomicity=continue-on-error", 6),
        };
        let mut command = effects(&namespace, &switch, program, &run);
        let output = command.args(["--quick", atomicity]).output().expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{program}: {}", stderr(&output));
        let result = document::result(&run);
        let section = &result["sections"][0];
        assert_eq!(section["id"], "effects");
        let rows = |table: usize| section["tables"][table]["rows"].as_array().expect("rows");
        // One rule, and four, are inserted, modified and deleted.
        assert_eq!(rows(0).len(), kinds, "{program}: {}", stdout(&output));
        for row in rows(2).iter().skip(6) {
            assert!(row[0].as_str().expect("a name").ends_with(", dataplane-atomic"), "{row}");
            assert_eq!(row[2]["value"], 0.0, "nothing is visible in part: {row}");
        }
        for (times, outcomes) in rows(0).iter().zip(rows(1)) {
            assert_eq!(times[1]["value"], 10.0, "{program}: {times}");
            for column in [2, 4, 5] {
                assert!(times[column]["value"].as_f64().expect("a time") > 0.0, "{times}");
            }
            for (column, name) in [(2, "old"), (3, "new")] {
                let count = outcomes[column]["value"].as_f64().expect("a count");
                assert!(count > 0.0, "{program}, {name}: {outcomes}");
            }
            for column in 4..=7 {
                assert_eq!(outcomes[column]["value"], 0.0, "{program}: {outcomes}");
            }
        }
    }
}

#[test]
fn packets_pass_beside_updates_of_several_controllers_reads_and_a_full_table() {
    let Some(namespace) = network() else { return };
    let ports = ["-i", "1@s1", "-i", "2@s2", "-i", "3@s3"];
    let command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    let switch = Switch::of(command, "programs/l2.p4", &ports);
    let before = state(&namespace, &switch);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let tests = "updates,reads,capacity";
    let mut command = with_packets(&namespace, &switch, tests, "l2.p4", &run);
    command.args(["--quick", "--controllers", "2", "--batch", "10", "--entries", "3k"]);
    let output = command.output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let result = document::result(&run);
    let rows = |section: usize, caption: &str| -> Vec<serde_json::Value> {
        let tables = result["sections"][section]["tables"].as_array().expect("tables");
        let table = tables.iter().find(|table| table["caption"] == caption);
        let table = table.unwrap_or_else(|| panic!("{caption}: {}", stdout(&output)));
        table["rows"].as_array().expect("rows").clone()
    };
    let controllers = rows(0, "Updates by controllers");
    let counts: Vec<Option<f64>> = controllers.iter().map(|row| row[1]["value"].as_f64()).collect();
    assert_eq!(counts.iter().filter(|count| **count == Some(2.0)).count(), 3, "{counts:?}");
    assert_eq!(rows(0, "Updates beside packets").len(), 6);
    let sections = result["sections"].as_array().expect("sections");
    let place = |id: &str| sections.iter().position(|one| one["id"] == id).expect("the section");
    let capacity = place("capacity");
    let tables = [
        (0, "Packets beside updates", 4),
        (place("reads"), "Packets beside reads", 2),
        (capacity, "Packets by occupancy", 8),
    ];
    for (section, caption, count) in tables {
        let rows = rows(section, caption);
        assert_eq!(rows.len(), count, "{caption}");
        for row in rows {
            assert!(row[2]["value"].as_f64().is_some_and(|sent| sent > 0.0), "{caption}: {row}");
        }
    }
    assert_eq!(rows(capacity, "Updates by occupancy of the full table").len(), 4);
    let figures = rows(capacity, "Capacity");
    let memory = figures.iter().find(|row| row[0] == "memory of the switch, full");
    let memory = memory.expect("the switch is a process of this host");
    assert!(memory[1]["value"].as_f64().is_some_and(|bytes| bytes > 1e6), "{memory}");
    assert_eq!(state(&namespace, &switch), before);
    browser::check(&run);
}

#[test]
fn packets_show_what_the_commit_of_a_pipeline_costs() {
    let Some(namespace) = network() else { return };
    let ports = ["-i", "1@s1", "-i", "2@s2", "-i", "3@s3"];
    let command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    let switch = Switch::of(command, "programs/l2.p4", &ports);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let mut command = with_packets(&namespace, &switch, "pipeline", "l2.p4", &run);
    let output = command.arg("--quick").output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = document::result(&run);
    let section = &result["sections"][0];
    assert_eq!(section["id"], "pipeline");
    let rows = |table: usize| section["tables"][table]["rows"].as_array().expect("rows");
    for (row, (action, share)) in
        rows(0).iter().zip([("VERIFY_AND_COMMIT", 0.0), ("RECONCILE_AND_COMMIT", 1.0)])
    {
        assert_eq!((&row[0], row[1]["value"].as_f64()), (&action.into(), Some(3.0)));
        assert!(row[2]["value"].as_f64().expect("a time") > 0.0, "{row}");
        let [before, kept] = [3, 4].map(|column| row[column]["value"].as_f64().expect("a count"));
        assert!(before > 0.0 && kept == share * before, "{row}");
    }
    for row in rows(1) {
        assert!(row[1]["value"].as_f64().expect("a packet is forwarded") > 0.0, "{row}");
    }
    // The switch is in the state from before the measurement: it runs its program, without entries.
    let again = folder.path().join("again");
    let output = effects(&namespace, &switch, "l2.p4", &again).arg("--quick").output();
    let output = output.expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stdout(&output).contains("entries before the measurement"), "{}", stdout(&output));
}

#[test]
fn the_counter_of_an_entry_is_neither_wrong_nor_ahead_of_its_packets() {
    let Some(namespace) = network() else { return };
    let ports = ["-i", "1@s1", "-i", "2@s2", "-i", "3@s3"];
    let command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    let switch = Switch::of(command, "programs/l2.p4", &ports);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let mut command = with_packets(&namespace, &switch, "reads", "l2.p4", &run);
    let output = command.arg("--quick").output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = document::result(&run);
    let section = &result["sections"][1];
    assert_eq!(section["id"], "counter");
    let rows = section["tables"][0]["rows"].as_array().expect("rows");
    let value = |row: usize| rows[row][1]["value"].as_f64().expect("a value");
    assert_eq!((value(0), value(6)), (50.0, 0.0), "{rows:?}");
    let [sent, arrived, counted] = [7, 8, 9].map(value);
    assert!(arrived > 0.0 && arrived <= counted && counted <= sent, "{rows:?}");
}

#[test]
fn an_interrupted_measurement_with_packets_leaves_no_entry() {
    let Some(namespace) = network() else { return };
    let ports = ["-i", "1@s1", "-i", "2@s2", "-i", "3@s3"];
    let switch =
        Switch::of(namespace.command(env!("CARGO_BIN_EXE_planimeter")), "programs/l2.p4", &ports);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let mut command = effects(&namespace, &switch, "l2.p4", &run);
    let child = command.args(["--changes", "100000"]).stdout(Stdio::null()).spawn();
    let mut child = child.expect("the command runs");
    std::thread::sleep(Duration::from_secs(3));
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let again = folder.path().join("again");
    let output = namespace
        .command(env!("CARGO_BIN_EXE_planimeter"))
        .args(["dut", &switch.1, "--plan", "reads", "--quick", "--quiet", "-o"])
        .arg(&again)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(!text.contains("entries before the measurement"), "{text}");
}

/// Returns the command that makes one test with two ports in a namespace.
fn with_two_ports(namespace: &Namespace, switch: &Switch, test: &str, program: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    command.current_dir(root).args(["dut", &switch.1, "--plan", test, "--quiet"]);
    command.args(["--program", program, "--port", "1@h1", "--port", "2@h2"]);
    command
}

/// Returns all default entries and digests that a switch has, and the number of other entries.
fn state(namespace: &Namespace, switch: &Switch) -> (Vec<v1::Entity>, usize) {
    let of_table = v1::TableEntry::default();
    let default = v1::TableEntry { is_default_action: true, ..Default::default() };
    let digest = v1::DigestEntry::default();
    let wanted = [Kind::TableEntry(of_table), Kind::TableEntry(default), Kind::DigestEntry(digest)];
    let wanted = wanted.map(|entity| v1::Entity { entity: Some(entity) });
    let address = &switch.1;
    let read = async move || {
        let options = ClientOptions::default();
        let mut client = Client::connect(address, 0, &options).await.expect("the switch runs");
        let mut found = Vec::new();
        for one in wanted {
            found.extend(client.read(vec![one]).await.expect("it can be read"));
        }
        found
    };
    let found = namespace.run(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(read())
    });
    let found = found.expect("the namespace can be entered");
    let is_entry = |entity: &v1::Entity| matches!(&entity.entity, Some(Kind::TableEntry(entry)) if !entry.is_default_action);
    let (entries, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_entry);
    (others, entries.len())
}

#[test]
fn the_slow_path_over_p4runtime_is_measured_and_exported() {
    let Some(namespace) = network() else { return };
    // The CPU port of PSA has a number of its own.
    for (program, cpu_port) in
        [("programs/l2.p4", "255"), ("crates/dut/tests/psa_controller.p4", "4294967293")]
    {
        measure_slow_path(&namespace, program, cpu_port);
    }
}

fn measure_slow_path(namespace: &Namespace, program: &str, cpu_port: &str) {
    let more = ["-i", "1@s1", "-i", "2@s2", "--cpu-port", cpu_port];
    let switch = Switch::of(namespace.command(env!("CARGO_BIN_EXE_planimeter")), program, &more);
    let before = state(namespace, &switch);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let mut command = with_two_ports(namespace, &switch, "slow-path", program);
    let output = command
        .args(["--quick", "--cpu-port", cpu_port])
        .arg("-o")
        .arg(&run)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(state(namespace, &switch), before);
    let result = document::result(&run);
    let section = &result["sections"][0];
    assert_eq!(section["id"], "slow-path");
    let rows = |table: usize| section["tables"][table]["rows"].as_array().expect("rows");
    let lengths = [0, 1, 2, 3].map(|table| rows(table).len());
    assert_eq!(lengths, [2, 6, 1, 3], "{}", stdout(&output));
    for rates in rows(0) {
        assert!(rates[2]["value"].as_f64().expect("a rate") > 0.0, "{rates}");
    }
    assert_eq!(rows(3)[1][0], "the response to the Write request");
    for reaction in rows(3) {
        assert!(reaction[3]["value"].as_f64().expect("a count") > 0.0, "{reaction}");
    }
    for (direction, loads) in ["packet-in", "packet-out"].into_iter().zip(rows(1).chunks(3)) {
        let result = run.join("result.json");
        let result = result.to_string_lossy();
        let words = ["export", "--slow-path", &result, "--direction", direction];
        let exported = planimeter("device", &words);
        // A busy machine may lose packets at every load.
        match loads.iter().any(|load| load[7]["value"] == 0.0) {
            true => {
                let server = stdout(&exported);
                assert!(server.contains(&format!("{direction}s/s of 128 B")), "{server}");
            }
            false => assert_eq!(exported.status.code(), Some(2), "{}", stderr(&exported)),
        }
    }
    browser::check(&run);
}

#[test]
fn an_interrupted_slow_path_leaves_the_default_entry_as_it_was() {
    let Some(namespace) = network() else { return };
    let (ports, program) = (["-i", "1@s1", "-i", "2@s2"], "programs/l2.p4");
    let switch = Switch::of(namespace.command(env!("CARGO_BIN_EXE_planimeter")), program, &ports);
    let before = state(&namespace, &switch);
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = with_two_ports(&namespace, &switch, "slow-path", program);
    command.args(["--time", "60s", "-o"]).arg(folder.path().join("run"));
    let mut child = command.stdout(Stdio::null()).spawn().expect("the command runs");
    // The measurement has begun when the default entry is another one.
    while state(&namespace, &switch) == before {
        assert!(child.try_wait().expect("a process").is_none(), "it has ended too early");
        std::thread::sleep(Duration::from_millis(50));
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(state(&namespace, &switch), before);
}

#[test]
fn digests_are_measured_and_their_configuration_is_deleted() {
    let Some(namespace) = network() else { return };
    let (ports, program) = (["-i", "1@s1", "-i", "2@s2"], "programs/learning_switch.p4");
    let switch = Switch::of(namespace.command(env!("CARGO_BIN_EXE_planimeter")), program, &ports);
    let before = state(&namespace, &switch);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let mut command = with_two_ports(&namespace, &switch, "digests", program);
    let output = command.arg("--quick").arg("-o").arg(&run).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(state(&namespace, &switch), before);
    let result = document::result(&run);
    let section = &result["sections"][0];
    assert_eq!(section["id"], "digests");
    let rows = |table: usize| section["tables"][table]["rows"].as_array().expect("rows");
    assert_eq!(rows(0).len(), 3);
    for row in rows(0) {
        assert_eq!(row[6]["value"], 192.0, "three rounds of 64 packets: {row}");
        for column in [7, 8, 11] {
            assert_eq!(row[column]["value"], 0.0, "{}", stdout(&output));
        }
    }
    for row in &rows(1)[2..] {
        assert_eq!(row[1]["value"], 0.0, "{}", stdout(&output));
    }
    browser::check(&run);
}

#[test]
fn what_a_program_does_not_show_cannot_be_the_only_test() {
    let switch = router();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (test, program, why) in [
        ("digests", "l2.p4", "has no digest"),
        ("slow-path", "learning_switch.p4", "has no header packet_in"),
    ] {
        let program = root.join("programs").join(program).to_string_lossy().into_owned();
        let words = [&switch.1, "--plan", test, "--program", &program, "--port", "1@lo"];
        let output = planimeter("dut", &words);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
}

/// Returns the command that makes tests of meters and groups in a namespace.
fn with_meters_and_groups(
    namespace: &Namespace,
    switch: &Switch,
    program: &str,
    run: &Path,
) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    command.current_dir(root).args(["dut", &switch.1, "--plan", "meters,groups", "--quick"]);
    command.args(["--program", program, "--port", "1@h1", "--port", "2@h2", "--port", "3@h3"]);
    command.arg("-o").arg(run);
    command
}

/// The bounds of rates hold whatever the delays are, so that a busy machine does not accuse the
/// switch.
#[test]
fn packets_show_the_rates_of_meters_of_both_units() {
    const PROGRAM: &str = "crates/dut/tests/meters.p4";
    let Some(namespace) = network() else { return };
    let ports = ["-i", "1@s1", "-i", "2@s2", "-i", "3@s3"];
    let command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    let switch = Switch::of(command, PROGRAM, &ports);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let output = with_meters_and_groups(&namespace, &switch, PROGRAM, &run).output();
    let output = output.expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let result = document::result(&run);
    let section = &result["sections"][0];
    assert_eq!(section["id"], "meters");
    let rows = section["tables"][0]["rows"].as_array().expect("rows");
    let named: Vec<[&str; 3]> = rows
        .iter()
        .map(|row| [0, 1, 2].map(|column| row[column].as_str().expect("a text")))
        .collect();
    // The red packets of one meter are dropped by a table, and those of the other differ from
    // yellow ones, too.
    let [cell, rest @ ..] = named.as_slice() else { panic!("{named:?}") };
    assert!(cell[0].starts_with("MeterIngress.by_cell["), "{named:?}");
    assert_eq!(cell[1..], ["peak", "packets"]);
    let levels: Vec<&str> = rest.iter().map(|row| row[1]).collect();
    assert_eq!(levels, ["committed", "peak", "committed, beside peak"]);
    for row in rows {
        let [configured, low, high] = [3, 4, 5].map(|column| row[column]["value"].as_f64());
        let configured = configured.expect("a rate");
        assert!(low.is_none_or(|low| low <= configured), "{row}");
        assert!(high.is_none_or(|high| high >= configured), "{row}");
    }
    let text = stdout(&output);
    assert!(!text.contains("instead of"), "{text}");
    assert!(text.contains("groups: The program has no action selector."), "{text}");
    browser::check(&run);
}

#[test]
fn random_flows_show_the_weights_of_a_group() {
    const PROGRAM: &str = "programs/load_balancer.p4";
    let Some(namespace) = network() else { return };
    let ports = ["-i", "1@s1", "-i", "2@s2", "-i", "3@s3"];
    let command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    let switch = Switch::of(command, PROGRAM, &ports);
    let folder = tempfile::tempdir().expect("a folder");
    // The second run finds the switch as it was before the first one.
    for name in ["run", "again"] {
        let run = folder.path().join(name);
        let output = with_meters_and_groups(&namespace, &switch, PROGRAM, &run).output();
        let output = output.expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        let result = document::result(&run);
        let section = &result["sections"][0];
        assert_eq!(section["id"], "groups");
        let rows = section["tables"][0]["rows"].as_array().expect("rows");
        let shares = rows.iter().map(|row| {
            let [expected, low, high] = [3, 5, 6].map(|column| row[column]["value"].as_f64());
            (expected.expect("a share"), low.expect("a bound"), high.expect("a bound"))
        });
        let shares: Vec<(f64, f64, f64)> = shares.collect();
        assert_eq!(shares.len(), 3, "{}", stdout(&output));
        for ((expected, low, high), weight) in shares.into_iter().zip([1.0, 2.0, 3.0]) {
            assert!((expected - weight / 6.0).abs() < 1e-9, "{expected}");
            assert!(low <= expected && expected <= high, "{}", stdout(&output));
        }
        let flows = &section["tables"][1]["rows"][0];
        assert_eq!((&flows[1]["value"], &flows[2]["value"]), (&1000.0.into(), &0.0.into()));
        let text = stdout(&output);
        assert!(text.contains("meters: The program has no meter."), "{text}");
        assert!(!text.contains("entries before the measurement"), "{text}");
    }
}

#[test]
fn an_interrupted_test_of_groups_leaves_no_group() {
    const PROGRAM: &str = "programs/load_balancer.p4";
    let Some(namespace) = network() else { return };
    let ports = ["-i", "1@s1", "-i", "2@s2", "-i", "3@s3"];
    let command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    let switch = Switch::of(command, PROGRAM, &ports);
    let folder = tempfile::tempdir().expect("a folder");
    let mut command =
        with_meters_and_groups(&namespace, &switch, PROGRAM, &folder.path().join("run"));
    // At this rate the test takes more than half a minute.
    let child = command.args(["--probes", "50"]).stdout(Stdio::null()).spawn();
    let mut child = child.expect("the command runs");
    std::thread::sleep(Duration::from_secs(4));
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    // An entry, a group or a member that was left in the switch would make the next measurement
    // fail.
    let again = folder.path().join("again");
    let output = with_meters_and_groups(&namespace, &switch, PROGRAM, &again).output();
    let text = stdout(&output.expect("the command runs"));
    assert!(text.contains("percentage points at most"), "{text}");
    assert!(!text.contains("it was not changed"), "{text}");
}

/// Writes a runtime.json with routes of `programs/router.p4` to three ports in turn, and returns
/// its path.
fn routes(folder: &Path, count: usize) -> String {
    let neighbour = r#"{"table": "neighbours", "match": {"meta.next_hop": "10.9.9.1"},
        "action_name": "to_neighbour", "action_params": {"destination": "02:00:00:00:00:09"}}"#;
    let route = |number: usize| {
        format!(
            r#"{{"table": "routes", "match": {{"headers.ipv4.destination": ["10.{}.{}.0", 24]}},
                "action_name": "via", "action_params": {{"next_hop": "10.9.9.1", "port": {}}}}}"#,
            number / 256,
            number % 256,
            2 + number % 2
        )
    };
    let all: Vec<String> =
        std::iter::once(neighbour.to_owned()).chain((0..count).map(route)).collect();
    let path = folder.join("routes.json");
    let text = format!(r#"{{"target": "bmv2", "table_entries": [{}]}}"#, all.join(","));
    std::fs::write(&path, text).expect("it is written");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_switch_is_measured_with_the_entries_of_a_file() {
    let switch = router();
    let folder = tempfile::tempdir().expect("a folder");
    let file = routes(folder.path(), 100);
    let run = folder.path().join("run");
    let place = run.to_string_lossy();
    let plan = "updates,reads,capacity,roles,sustained";
    let words = [&switch.1, "--quick", "--quiet", "--plan", plan, "--entries", &file, "-o", &place];
    let output = planimeter("dut", &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Lines are wrapped where the name of the file demands it.
    let text = stdout(&output).split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(text.contains("the 100 entries are those of"), "{text}");
    assert!(text.contains("such as entries of other tables: 1."), "{text}");
    assert!(text.contains("capacity: at least 100 entries"), "{text}");
    let result = document::result(&run);
    let rows = result["sections"][0]["tables"][0]["rows"].as_array().expect("rows");
    // No request has more updates than there are entries.
    let batches: Vec<f64> = rows.iter().filter_map(|row| row[1]["value"].as_f64()).collect();
    assert!(batches.contains(&10.0) && batches.iter().all(|batch| *batch <= 100.0), "{batches:?}");
    for row in rows {
        assert!(row[3]["value"].as_f64().expect("a rate") > 0.0, "{row}");
        assert_eq!(row[6]["value"], 0.0, "nothing is refused: {row}");
    }
    browser::check(&run);
    // The switch is in the state from before the measurement.
    let again = folder.path().join("again").to_string_lossy().into_owned();
    let output =
        planimeter("dut", &[&switch.1, "--plan", "reads", "--quick", "--quiet", "-o", &again]);
    assert!(!stdout(&output).contains("entries before the measurement"), "{}", stdout(&output));
}

#[test]
fn a_file_of_entries_that_cannot_be_used_says_why() {
    let switch = router();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        path.to_string_lossy().into_owned()
    };
    let good = std::fs::read_to_string(routes(folder.path(), 3)).expect("it is there");
    let cases = [
        (file("a.json", &good.replace("routes", "paths")), "there is no table 'paths'"),
        (
            file("b.json", &good.replace("10.0.2.0", "10.0.1.0")),
            "update 4: it has the key of update 3",
        ),
        (
            file("c.txtpb", "updates { type: DELETE entity { table_entry { table_id: 1 } } }"),
            "update 1: its type is DELETE",
        ),
        (
            file("d.txtpb", "updates { type: INSERT entity { table_entry { table_id: 1 } } }"),
            "no table with the id 1",
        ),
        (file("e.txtpb", "updates { typ: INSERT }"), "line 1, column"),
        (file("f.txt", "priority=1,ip actions=drop\n"), "no WriteRequest"),
        (folder.path().join("none").to_string_lossy().into_owned(), "No such file"),
    ];
    for (file, why) in &cases {
        let output =
            planimeter("dut", &[&switch.1, "--plan", "reads", "--quiet", "--entries", file]);
        assert_eq!(output.status.code(), Some(2), "{file}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{file}: {}", stderr(&output));
    }
    let flows = file("flows.txt", "reg0=1 actions=2\n");
    let output = planimeter("dut", &["--openflow", "127.0.0.1:0", "--quiet", "--entries", &flows]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("line 1: the condition `reg0=1`"), "{}", stderr(&output));
}

#[test]
fn packets_show_the_entries_of_a_file() {
    let Some(namespace) = network() else { return };
    let ports = ["-i", "1@s1", "-i", "2@s2", "-i", "3@s3"];
    let command = namespace.command(env!("CARGO_BIN_EXE_planimeter"));
    let switch = Switch::of(command, "programs/router.p4", &ports);
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let file = routes(folder.path(), 20);
    let mut command = effects(&namespace, &switch, "router.p4", &run);
    let output = command.args(["--quick", "--entries", &file]).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = document::result(&run);
    let tables = &result["sections"][0]["tables"];
    let rows = |table: usize| tables[table]["rows"].as_array().expect("rows");
    // One rule, and four, are inserted, modified and deleted.
    assert_eq!(rows(0).len(), 6, "{}", stdout(&output));
    for (times, outcomes) in rows(0).iter().zip(rows(1)) {
        assert_eq!(times[1]["value"], 10.0, "{times}");
        assert!(outcomes[3]["value"].as_f64().expect("a count") > 0.0, "{outcomes}");
        for column in 4..=7 {
            assert_eq!(outcomes[column]["value"], 0.0, "{outcomes}");
        }
    }
}

#[test]
fn packets_need_a_program_and_ports() {
    let switch = router();
    let output = planimeter("dut", &[&switch.1, "--plan", "effects"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--program FILE --port"), "{}", stderr(&output));
}

#[test]
fn an_openflow_switch_needs_an_address_that_is_free_and_two_ports_for_packets() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("its address").to_string();
    for (words, why) in [
        (&["--openflow", &taken, "--quiet"][..], "cannot listen on"),
        (&["--openflow", "127.0.0.1:0", "--plan", "effects"], "two ports"),
        (&["--openflow", "127.0.0.1:0", "--port", "1@lo"], "two ports"),
        (&["--openflow", "127.0.0.1:0", "127.0.0.1:9559"], "cannot be used with"),
        (&["127.0.0.1:9559", "--match", "udp"], "cannot be used with"),
        (&["--quick"], "HOST:PORT"),
    ] {
        let output = planimeter("dut", words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{words:?}: {}", stderr(&output));
    }
}
