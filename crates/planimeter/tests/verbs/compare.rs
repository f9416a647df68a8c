//! Tests of `planimeter compare` as a user runs it, on bounds, which take no time to compute.

use crate::browser;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn planimeter(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_planimeter"))
        .args(arguments)
        .env("COLUMNS", "80")
        .current_dir(folder)
        .output()
        .expect("planimeter runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes the bounds of an example network, and of the same network with a burst twice as large.
fn runs() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/networks/two-hops.toml");
    let network = fs::read_to_string(example).expect("an example");
    let slower = network.replacen("burst = ", "burst = 2", 1);
    assert_ne!(network, slower, "the example has a burst");
    for (name, text) in [("before", network), ("after", slower)] {
        let file = root.path().join(name).with_extension("toml");
        fs::write(&file, text).expect("written");
        let file = file.display().to_string();
        let output =
            planimeter(&["bound", &file, "--output", name, "--no-simulation"], root.path());
        assert!(output.status.success(), "{}", text_of(&output));
    }
    let path = root.path().to_owned();
    (root, path)
}

/// Runs the Python code of the documentation, in a directory with the run that it reads.
#[test]
fn the_notebook_of_the_documentation_reads_a_run() {
    let peers = std::env::var_os("PLANIMETER_PEERS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/.peers"),
        PathBuf::from,
    );
    let python = peers.join("pandas/bin/python");
    if !python.is_file() {
        let required = std::env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "there is no pandas: conformance/install.sh pandas");
        eprintln!(
            "SKIPPED: there is no pandas, so the notebook was not run; conformance/install.sh pandas"
        );
        return;
    }
    let (_root, folder) = runs();
    let output = planimeter(&["compare", "before", "after", "-o", "runs/compare"], &folder);
    assert!(output.status.success(), "{}", text_of(&output));
    let page = include_str!("../../../../docs/compare.md");
    let snippet = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    let output = Command::new(python)
        .args(["-c", snippet.expect("a block of Python")])
        .current_dir(&folder)
        .output()
        .expect("Python runs");
    let printed = text_of(&output);
    assert!(output.status.success(), "{printed}");
    for word in ["flow f0", "backlog", "before ['after']", "series"] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
}

fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn a_gate_passes_or_fails_and_leaves_a_report() {
    let (_root, folder) = runs();
    let gate = |condition: &str, output: &str| {
        let arguments = ["compare", "after", "--baseline", "before", "-t", condition, "-o", output];
        planimeter(&arguments, &folder)
    };
    let missed = gate("delay <= +1%", "missed");
    let printed = text_of(&missed);
    assert_eq!(missed.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("FAIL")
            && printed.contains("higher")
            && printed.contains("after against before"),
        "{printed}"
    );
    for line in printed.lines() {
        assert!(line.chars().count() <= 80 || line.starts_with("Report: "), "{line}");
    }
    let kept = gate("delay < +10000%", "kept");
    assert_eq!(kept.status.code(), Some(0), "{}", text_of(&kept));
    for file in ["report.html", "result.json", "differences.csv"] {
        assert!(folder.join("missed").join(file).is_file(), "{file}");
    }
    browser::check(&folder.join("missed"));
    let json = fs::read_to_string(folder.join("missed/result.json")).expect("there");
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let schema = serde_json::from_str(report::compare::SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&value), "{json}");
    assert_eq!(value["conditions"][0]["held"], false);
}

#[test]
fn incomparable_results_fail_with_the_reason_and_status_2() {
    let (_root, folder) = runs();
    let file = |name: &str| folder.join(name).join("result.json");
    let changed = fs::read_to_string(file("after"))
        .expect("there")
        .replace("\"capped-bursts\": false", "\"capped-bursts\": true");
    fs::create_dir(folder.join("capped")).expect("made");
    fs::write(file("capped"), changed).expect("written");
    fs::write(folder.join("nothing.json"), "{}").expect("written");
    for (arguments, reason) in [
        (vec!["before", "capped"], "capped-bursts is false in before and true in capped"),
        (vec!["before", "nothing.json"], "its schema is"),
        (vec!["before"], "one result cannot be compared"),
        (vec!["before", "absent"], "absent does not exist"),
        (vec!["before", "after", "-t", "delay < +10"], "in percent"),
        (
            vec!["before", "after", "-t", "speed < +10%"],
            "there is no metric \"speed\"; known metrics are delay, backlog",
        ),
    ] {
        let output = planimeter(&[vec!["compare"], arguments].concat(), &folder);
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains(reason) && printed.lines().count() == 1, "{reason}: {printed}");
    }
    let despite =
        ["compare", "before", "capped", "--despite", "configuration", "-o", "all-the-same"];
    let output = planimeter(&despite, &folder);
    assert!(output.status.success(), "{}", text_of(&output));
    assert!(text(&output.stdout).contains("capped-bursts is false in before"));
}
