//! Tests of `planimeter bench` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::browser;
use crate::command::{planimeter, stderr, stdout};
use serde_json::Value;

fn bench(arguments: &[&str]) -> Output {
    planimeter("bench", arguments)
}

/// Flags that make a run short enough for a test. Its figures are meaningless.
const SHORT: [&str; 5] = ["--time", "2ms", "--repetitions", "2", "--quiet"];

#[test]
fn the_program_of_the_paper_runs_on_both_paths_and_every_packet_is_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let path = run.to_string_lossy();
    let output = bench(&[&SHORT[..], &["--entries", "2^6,100", "-o", &path]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    // A phrase may be broken into two lines, depending on the length of the figures before it.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = "times that of the";
    for word in ["interpreter", "compiled", "UpdateIngress.values", "copying alone", "100 %", found]
    {
        assert!(words.contains(word), "{word}: {text}");
    }
    // The output is as wide as the terminal that the environment announces.
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let result = fs::read_to_string(run.join("result.json")).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let schema = serde_json::from_str(report::throughput::SCHEMA).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    let errors: Vec<String> =
        validator.iter_errors(&result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert!(jsonschema::meta::is_valid(&schema));
    let cases = result["points"]
        .as_array()
        .expect("points")
        .iter()
        .flat_map(|point| point["cases"].as_array().expect("cases").clone());
    let cases: Vec<Value> = cases.collect();
    assert_eq!(cases.len(), 4);
    for case in cases {
        assert_eq!(case["checked"], case["processed"], "{case}");
        assert_eq!((case["wrong"].as_u64(), case["errors"].as_u64()), (Some(0), Some(0)), "{case}");
        let repetitions = case["latency"]["repetitions"].as_array().map(Vec::len);
        let rates = case["rates"].as_array().expect("rates").len();
        assert_eq!(repetitions, (case["cores"] == 1).then_some(rates), "{case}");
    }
    for file in ["report.html", "cases.csv", "histograms/case-001_latency.hlog"] {
        assert!(run.join(file).is_file(), "{file}");
    }
    browser::check(&run);
}

#[test]
fn a_missed_threshold_fails_with_status_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let path = path.to_string_lossy();
    let some = ["--entries", "16", "--path", "interpreter", "-t", "rate > 100G", "-o", &path];
    let output = bench(&[&SHORT[..], &some].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("threshold rate > 100G does not hold"), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.path().join("run/report.html")).expect("a page");
    let missed = page.find("threshold rate &gt; 100G does not hold").expect("the news");
    assert!(
        missed < page.find("<table").expect("a table") && !page.contains("class=\"card good\"")
    );
    let text = stdout(&output);
    let missed = text.find("FAIL  threshold rate > 100G").expect("the news");
    assert!(missed < text.find("ns/packet").expect("a table"), "{text}");
}

#[test]
fn wrong_input_fails_with_one_line_of_advice() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = root.join("README.md");
    let readme = readme.to_string_lossy();
    for (arguments, words) in [
        (&["--entries", "0"][..], "'0' for '--entries"),
        (&["--cores", "4000"], "--cores 4000"),
        (&["--path", "fast"], "interpreter, compiled or all"),
        (&["--threshold", "speed > 3"], "there is no metric \"speed\""),
        (&["nowhere.p4"], "nowhere.p4"),
        (&["--traffic", "nowhere.pcap"], "nowhere.pcap"),
        (&["--traffic", &readme], "README.md"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run");
        let path = path.to_string_lossy();
        let output = bench(&[&SHORT[..], arguments, &["-o", &path]].concat());
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}
