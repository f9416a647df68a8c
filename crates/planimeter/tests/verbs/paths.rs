//! Tests of `planimeter probe --paths` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::browser;
use crate::command::{planimeter, stderr, stdout};
use serde_json::Value;

/// Flags that make a run short enough for a test. Its figures are meaningless.
const SHORT: [&str; 18] = [
    "-q",
    "-p",
    "p4runtime",
    "-n",
    "1",
    "-r",
    "100",
    "--repetitions",
    "2",
    "--settle",
    "50ms",
    "--warm-up",
    "0s",
    "--duration",
    "200ms",
    "--connect-timeout",
    "10s",
    "--paths",
];

fn probe(folder: &Path, paths: &str) -> Output {
    let file = folder.join("paths.toml");
    fs::write(&file, paths).expect("written");
    let (file, run) = (file.to_string_lossy(), folder.join("run"));
    let (run, port) = (run.to_string_lossy(), free_port());
    planimeter("probe", &[&SHORT[..], &[&file, "-o", &run, "--first-port", &port]].concat())
}

/// Returns the port at which the search for free ports starts, so that tests do not collide.
fn free_port() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("its address").port().to_string()
}

/// A paths file in which the test replaces `{marker}`.
const PATHS: &str = r#"
title = "the reference controller"

[[path]]
variant = "original"
name = "P1"
answers-after = "gRPC"
prepare = "touch '{marker}'"
start = "exec {planimeter} controller --devices {devices} --answer-after grpc --read-pipeline-per-packet"

[[path]]
variant = "original"
name = "P2"
answers-after = "decoding"
start = "exec {planimeter} controller --devices {devices} --answer-after decoding --read-pipeline-per-packet"
"#;

#[test]
fn each_path_is_measured_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let marker = folder.path().join("prepared");
    let output = probe(folder.path(), &PATHS.replace("{marker}", &marker.to_string_lossy()));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(marker.is_file(), "the command before the path was run");
    let text = stdout(&output);
    for word in ["P1: after gRPC", "P2: after decoding", "original", "Received rate"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let run = folder.path().join("run");
    let result = fs::read_to_string(run.join("result.json")).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let schema = serde_json::from_str(report::page::document::json::SCHEMA).expect("JSON");
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    let errors: Vec<String> =
        validator.iter_errors(&result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let rates = &result["sections"][0]["tables"][0]["rows"][0];
    for column in [1, 2] {
        // At 100 packet-ins per second, all are answered on either path, however busy the machine
        // is, although late.
        assert!(rates[column]["value"].as_f64().expect("a rate") > 0.0, "{rates}");
    }
    for file in ["report.html", "config.toml", "paths.toml", "data/paths-table-1.csv"] {
        assert!(run.join(file).is_file(), "{file}");
    }
    browser::check(&run);
    for path in ["1-original-P1", "2-original-P2"] {
        let own = fs::read_to_string(run.join(path).join("result.json")).expect("a result");
        let own: Value = serde_json::from_str(&own).expect("JSON");
        let trials = own["points"][0]["trials"].as_array().expect("trials");
        assert_eq!(trials.len(), 2);
        assert!(trials.iter().all(|trial| trial["counts"]["answered"].as_u64() > Some(0)), "{own}");
        let log = fs::read_to_string(run.join(path).join("controller.log")).expect("a log");
        assert!(log.contains("dialling"), "{log}");
    }
}

#[test]
fn a_controller_that_does_not_run_is_named_with_its_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = r#"
title = "nothing"
[[path]]
name = "P1"
answers-after = "gRPC"
start = "exit 7"
[[path]]
name = "P2"
answers-after = "decoding"
start = "exit 7"
"#;
    let file = folder.path().join("paths.toml");
    fs::write(&file, paths).expect("written");
    let (file, run) = (file.to_string_lossy(), folder.path().join("run"));
    let run = run.to_string_lossy();
    let mut arguments = SHORT.to_vec();
    arguments[16] = "300ms";
    let (last, port) = (["-o", &run, "--first-port"], free_port());
    let output = planimeter("probe", &[&arguments[..], &[&file], &last, &[&port]].concat());
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("path P1: its controller ended with exit status: 7"), "{error}");
    assert!(error.contains("controller.log"), "{error}");
}

#[test]
fn paths_before_one_that_fails_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = r#"
title = "the reference controller"
[[path]]
name = "P1"
answers-after = "gRPC"
start = "exec {planimeter} controller --devices {devices} --answer-after grpc --read-pipeline-per-packet"
[[path]]
name = "P2"
answers-after = "decoding"
prepare = "exit 7"
"#;
    let output = probe(folder.path(), paths);
    let (text, error) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("path P2: "), "{error}");
    assert!(text.contains("P1: after gRPC"), "{text}");
    let run = folder.path().join("run");
    let result = fs::read_to_string(run.join("result.json")).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let rates = &result["sections"][0]["tables"][0]["rows"][0];
    assert!(rates[1]["value"].as_f64().expect("a rate") > 0.0, "{rates}");
    let partial = result["partial"].as_str().expect("a reason");
    assert!(partial.starts_with("path P2: "), "{partial}");
}

#[test]
fn an_invalid_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = probe(folder.path(), "title = \"\"\npath = []\n");
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("paths.toml: name two paths or more"), "{error}");
}
