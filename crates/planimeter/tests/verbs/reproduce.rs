//! Tests of `planimeter reproduce` as a user runs it.

use std::fs;
use std::path::Path;

use crate::browser;
use crate::command::{planimeter, stderr, stdout};
use crate::document;
use serde_json::Value;

fn reproduce(figures: &str) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let words = [figures, "--quick", "--quiet", "-o", &run.to_string_lossy()];
    let output = planimeter("reproduce", &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = document::result(&run);
    for section in result["sections"].as_array().expect("sections") {
        for link in section["links"].as_array().expect("links") {
            assert!(run.join(link.as_str().expect("a place")).is_file(), "{link}");
        }
        let id = section["id"].as_str().expect("an id");
        assert!(run.join(format!("data/{id}-table-1.csv")).is_file(), "{id}");
    }
    browser::check(&run);
    (result, stdout(&output))
}

/// Returns a row of the table of published and measured values.
fn row<'v>(result: &'v Value, section: usize, what: &str) -> &'v Value {
    let rows = result["sections"][section]["tables"][0]["rows"].as_array().expect("rows");
    rows.iter().find(|row| row[0] == what).unwrap_or_else(|| panic!("{what}: {rows:?}"))
}

/// Returns a claim by its short name.
fn claim<'v>(result: &'v Value, id: &str) -> &'v Value {
    let claims = result["claims"].as_array().expect("claims");
    claims.iter().find(|claim| claim["id"] == id).unwrap_or_else(|| panic!("{id}: {claims:?}"))
}

#[test]
fn the_equations_are_computed_and_agree() {
    let (result, text) = reproduce("tables-equations");
    let found = row(&result, 0, "dynamic, parameters of 9 B");
    assert_eq!(found[1]["value"], 196_608.0);
    assert_eq!(found[2]["value"], 196_608.0);
    let claim = claim(&result, "T11");
    assert_eq!(
        (&claim["verdict"], &claim["decided_by"]),
        (&"reproduced".into(), &"computation".into())
    );
    assert_eq!(claim["section"], "tables-equations");
    // All claims of the paper are there, and those that this run does not measure say so.
    let claims = result["claims"].as_array().expect("claims");
    assert_eq!(claims.len(), 13);
    let other = self::claim(&result, "T8");
    assert_eq!(other["verdict"], "not told");
    let reason = other["reason"].as_str().expect("a reason");
    assert!(reason.contains("`planimeter reproduce tables-fig-6` measures it"), "{reason}");
    assert!(text.contains("13 claims: 1 reproduced, 12 not told."), "{text}");
}

#[test]
fn update_methods_stand_beside_table_1_and_fig_2() {
    let (result, _) = reproduce("tables-table-1,tables-fig-2");
    let ids: Vec<&str> = result["sections"]
        .as_array()
        .expect("sections")
        .iter()
        .filter_map(|section| section["id"].as_str())
        .collect();
    assert_eq!(ids, ["tables-table-1", "tables-fig-2"]);
    let change = row(&result, 0, "change, wait of 200 us: throughput");
    assert_eq!(change[1]["value"], 3390.0);
    // Each update waits for at least 200 us, by any clock.
    let rate = change[2]["value"].as_f64().expect("a rate");
    assert!(rate > 0.0 && rate < 5000.0, "{rate}");
    let waits = claim(&result, "T3");
    assert_eq!(waits["parts"][0]["measured"]["rounds"], 10, "{waits}");
    assert_ne!(waits["verdict"], "not reproduced", "{waits}");
    assert_eq!(waits["decided_by"], "packets in memory", "{waits}");
    let digest = row(&result, 0, "digest, as t4p4s had it: throughput");
    assert!(digest[2].as_str().expect("a reason").starts_with("not measured: "), "{digest}");
    assert!(row(&result, 1, "write over read")[2]["value"].as_f64().expect("a ratio") > 0.0);
    let round_trip = claim(&result, "T6");
    match rustix::process::geteuid().is_root() {
        // The controller answers after the packet has left, and packets meet the change after that.
        true => {
            let delay = &round_trip["parts"][0]["measured"];
            assert_eq!(delay["rounds"], 3, "{round_trip}");
            assert!(delay["value"].as_f64().expect("a ratio") > 0.0, "{round_trip}");
            let median = row(&result, 0, "pointer: latency, median");
            let switch = median[3]["value"].as_f64().expect("a latency");
            assert!(switch > 0.0 && switch < 1.0, "{median}");
        }
        false => {
            eprintln!("SKIPPED: updates of planimeter switch on veth need root.");
            let reason = round_trip["reason"].as_str().expect("a reason");
            assert!(reason.contains("planimeter switch on veth was not measured"), "{reason}");
        }
    }
}

#[test]
fn exhibits_are_listed_and_others_are_refused() {
    let output = planimeter("reproduce", &["--list"]);
    let text = stdout(&output);
    for name in ["controller-fig-4", "controller-table-1", "tables-equations", "device-fig-7"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let output = planimeter("reproduce", &["fig-4"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no figure `fig-4`"), "{}", stderr(&output));
    let output = planimeter("reproduce", &[]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("reproduce --list` has the names"), "{}", stderr(&output));
}

#[test]
fn a_resumed_run_repeats_only_what_is_not_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let place = run.to_string_lossy();
    let exhibit = "tables-equations";
    let first = planimeter("reproduce", &[exhibit, "--quick", "--quiet", "-o", &place]);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));

    // A record that was changed shows that it is used.
    let record = run.join("complete/equations.json");
    let text = fs::read_to_string(&record).expect("a record");
    let changed = text.replacen("196608", "196609", 1);
    assert_ne!(changed, text);
    fs::write(&record, changed).expect("room");
    let resumed = |quick: &[&str]| {
        planimeter("reproduce", &[&[exhibit, "--quiet", "--resume", &place], quick].concat())
    };
    let entries = || {
        let result = document::result(&run);
        row(&result, 0, "dynamic, parameters of 9 B")[2]["value"].as_f64()
    };
    let second = resumed(&["--quick"]);
    assert_eq!(second.status.code(), Some(0), "{}", stderr(&second));
    assert_eq!(entries(), Some(196_609.0));

    // Without its record the experiment is not complete.
    fs::remove_file(&record).expect("a record");
    let third = resumed(&["--quick"]);
    assert_eq!(third.status.code(), Some(0), "{}", stderr(&third));
    assert_eq!(entries(), Some(196_608.0));

    let full = resumed(&[]);
    assert_eq!(full.status.code(), Some(2), "{}", stderr(&full));
    assert!(stderr(&full).contains("it was started with --quick"), "{}", stderr(&full));
}

/// An experiment with controllers consists of several measurements. Those that are complete are not
/// repeated, even if the experiment is not.
#[test]
fn a_resumed_experiment_keeps_the_measurements_that_are_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let place = run.to_string_lossy();
    let words = ["controller-fig-7", "--quick", "--quiet"];
    let first = planimeter("reproduce", &[&words[..], &["-o", &place]].concat());
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(fs::read_to_string(run.join("claims.md")).expect("claims").contains("| **C10** "));

    // The experiment looks as if it had been interrupted during the second measurement.
    fs::remove_file(run.join("complete/over-time.json")).expect("a record");
    let file = |name: &str| run.join(name).join("result.json");
    let read = |name: &str| fs::read_to_string(file(name)).expect("a result");
    let interrupted = "\"state\": \"partial\",\n    \"reason\": \"interrupted\"";
    let second = read("over-time-50").replacen("\"state\": \"complete\"", interrupted, 1);
    assert!(second.contains("interrupted"), "{second}");
    fs::write(file("over-time-50"), second).expect("room");
    let (kept, model) = (read("over-time-10"), read("model-p4runtime-50-50"));
    let resumed = planimeter("reproduce", &[&words[..], &["--resume", &place]].concat());
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert_eq!(read("over-time-10"), kept);
    assert_eq!(read("model-p4runtime-50-50"), model);
    assert!(!read("over-time-50").contains("interrupted"), "it was not measured again");
    let result = document::result(&run);
    let outstanding = row(&result, 0, "10/s per switch: outstanding per switch");
    assert!(
        outstanding[2].as_str().is_some_and(|text| text.starts_with("at most ")),
        "{outstanding}"
    );
}

/// The commands in the report are valid. They are parsed and not run.
#[test]
fn every_command_beside_a_figure_is_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("published");
    let mut checked = 0;
    for file in ["controller.toml", "tables.toml"] {
        let text = fs::read_to_string(folder.join(file)).expect("the file");
        let commands =
            text.lines().filter_map(|line| line.strip_prefix("commands = [\"planimeter "));
        for command in commands.filter_map(|line| line.strip_suffix("\"]")) {
            let mut words = command.split_whitespace();
            let verb = words.next().expect("a verb");
            let mut words: Vec<&str> = words.collect();
            if verb == "probe" {
                words.push("--print-config");
            } else if !words.contains(&"--predict") {
                words.push("--list");
            }
            let output = planimeter(verb, &words);
            // The command requests two cores, which not every machine has.
            let cores = stderr(&output).contains("--cores 2: this process may use 1");
            assert!(output.status.success() || cores, "{command}: {}", stderr(&output));
            checked += 1;
        }
    }
    assert_eq!(checked, 11, "the files have another form");
}
