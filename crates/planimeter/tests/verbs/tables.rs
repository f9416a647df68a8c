//! Tests of `planimeter tables` as a user runs it.

use std::process::Output;

use crate::browser;
use crate::command::{planimeter, stderr, stdout};

fn tables(arguments: &[&str]) -> Output {
    planimeter("tables", arguments)
}

/// An error is one line with advice, and the status is 2.
#[test]
fn wrong_input_fails_with_one_line_of_advice() {
    let small = ["--storage", "inline", "--sync", "optimistic", "--cores", "1"];
    for (arguments, words) in [
        (&["--size", "0"][..], "size 0 holds no entry"),
        (&["--size", "2^40"], "larger than 268435456"),
        (&["--size", "many"], "'many' for '--size"),
        (&["--key-bits", "0"], "0 bits does not distinguish entries"),
        (&["--key-bits", "5000"], "wider than 4096"),
        (&["--parameter-bytes", "4097"], "more than 4096 (one page)"),
        (&["--size", "2^28", "--parameter-bytes", "4096"], "do not fit a cache line"),
        (&["--size", "2^20", "--key-bits", "8"], "only 256 such keys"),
        (&["--lock", "on", "--sync", "sharded"], "a shard has one worker"),
        (&["--cores", "0"], "'0' for '--cores"),
        (&["--cores", "4000"], "--cores 4000"),
        (&["--fill", "150"], "'150' for '--fill"),
        (&["--batch", "513"], "1 to 512"),
        (&["--time", "1ns"], "--time"),
        (&["--threshold", "speed > 3"], "there is no metric \"speed\""),
        (&["--storage", "fast"], "original, dynamic, static, inline or all"),
    ] {
        // The last value of a flag wins or is added, so the fault is among the values in both
        // cases.
        let mut all: Vec<&str> = Vec::new();
        for pair in small.chunks(2).filter(|pair| !arguments.contains(&pair[0])) {
            all.extend(pair);
        }
        all.extend(arguments);
        // Even if the run would start, it must end before it writes anything.
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run");
        let path = path.to_string_lossy();
        all.extend(["-o", &path, "--quiet"]);
        let output = tables(&all);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}

/// Every combination is either measured or listed with a reason.
#[test]
fn unsupported_designs_are_listed_with_the_reason() {
    let output = tables(&["--full", "--size", "16", "--cores", "1", "--list"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let refused = text.lines().filter(|line| line.starts_with("not offered: ")).count();
    assert!(refused >= 5, "{text}");
    assert!(text.contains("sharded/locked/pointer: a shard has one worker"), "{text}");
    assert!(text.contains("original/double-buffer, 200 us/unlocked/change"), "{text}");
}

#[test]
fn a_program_determines_tables_and_their_requirements() {
    let output = tables(&["programs/entry_update.p4", "--list", "--cores", "1"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.contains("inline/optimistic/unlocked/pointer"), "{text}");
    assert!(text.contains("reference parameter"), "{text}");
}

/// A short run from start to end, with wide keys, a page of parameters, thresholds and files.
#[test]
fn a_run_leaves_a_directory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let output = tables(&[
        "--storage",
        "inline,static",
        "--sync",
        "optimistic",
        "--size",
        "4,16",
        "--cores",
        "1",
        "--key-bits",
        "128",
        "--parameter-bytes",
        "4,32",
        "--time",
        "1ms",
        "--repetitions",
        "2",
        "--seed",
        "5",
        "-t",
        "lost == 0",
        "-t",
        "rate > 100G",
        "-o",
        &path.to_string_lossy(),
    ]);
    let (text, error) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "the second threshold cannot hold: {error}");
    assert_eq!(error.matches("threshold rate > 100G does not hold").count(), 8, "{error}");
    assert!(!error.contains("lost == 0"), "{error}");
    assert!(
        text.contains("seed 5") && text.contains("keys of 128 bits, parameters of 32 B"),
        "{text}"
    );
    for name in ["result.json", "report.html", "cases.csv", "histograms/case-001_single.hgrm"] {
        let length = std::fs::metadata(path.join(name)).map(|file| file.len());
        assert!(length.is_ok_and(|length| length > 100), "{name}");
    }
    browser::check(&path);
    let again = tables(&["--size", "4", "-o", &path.to_string_lossy()]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("is not empty"), "{}", stderr(&again));
}

/// Table 1 of the paper: each update method, its ratio to updates in place, and the intervals for
/// `compare`.
#[test]
fn update_methods_are_compared_with_their_costs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run").display().to_string();
    let output = tables(&[
        "--storage",
        "original",
        "--sync",
        "optimistic,double-buffer:quiescent",
        "--update",
        "all",
        "--size",
        "64",
        "--cores",
        "1",
        "--time",
        "20ms",
        "--repetitions",
        "3",
        "-o",
        &path,
    ]);
    let (text, error) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{error}");
    let (_, gains) = text.split_once("Pointer against change and digest").expect("a section");
    for method in ["change optimistic", "change double-buffer", "digest optimistic"] {
        let row = gains.lines().find(|line| line.trim_start().starts_with(method)).expect(method);
        // The ratio of rates has an interval, unless the interval is too wide for its column.
        // Digests may take so long that a turn has too few samples for a median.
        let ratio = row.split_whitespace().nth(3).and_then(|ratio| ratio.parse().ok());
        assert!(ratio.is_some_and(|ratio: f64| ratio > 0.0), "{row}");
    }
    // The ratios are 1.73 M/s over 4.1 k/s, and 65.3 us over 26.5 us.
    let digest = gains.lines().find(|line| line.contains("digest")).expect("a row");
    assert!(digest.contains(" 422 ") && digest.ends_with(" 2.5"), "{digest}");
    let run = folder.path().join("run");
    let page = std::fs::read_to_string(run.join("report.html")).expect("a report");
    assert!(page.contains("Gain of writing in place"));
    browser::check(&run);
    let result = std::fs::read_to_string(run.join("result.json")).expect("a result");
    let recorded = report::results::read("run", &result).expect("a result");
    let medians = recorded.figures.iter().filter(|figure| figure.metric == "p50");
    assert_eq!(medians.clone().count(), 5);
    for median in medians.filter(|median| !median.place.starts_with("digest")) {
        assert_eq!(median.repetitions(), Some(3), "{median:?}");
    }
}

/// No update is lost with locks. The number that is lost without them depends on the machine.
#[test]
fn lost_updates_are_counted() {
    let output = tables(&["--lost-updates", "20k", "--storage", "inline,dynamic", "--seed", "3"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let locked: Vec<&str> = text
        .lines()
        .filter(|line| line.split_whitespace().nth(1) == Some("on"))
        .filter_map(|line| line.split_whitespace().nth(3))
        .collect();
    assert_eq!(locked, ["0", "0"], "{text}");
    let question = ["--lost-updates", "20k", "--storage", "inline,dynamic", "--seed", "3"];
    let output = tables(&[&question[..], &["--json"]].concat());
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let rows = result["sections"][0]["tables"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4, "{result}");
    for row in rows {
        assert_eq!(row[2]["value"], 20_000.0, "{row}");
        let lost = row[3]["value"].as_f64().expect("a number");
        assert!(row[1] == "off" || lost == 0.0, "{row}");
        assert_eq!(row[4]["value"], lost / 20_000.0, "{row}");
    }
    let wrong = tables(&["--lost-updates", "5G"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("more than an entry can count"), "{}", stderr(&wrong));
}

#[test]
fn a_prediction_needs_no_measurement() {
    let question = [
        "--predict",
        "--key-bits",
        "32",
        "--parameter-bytes",
        "9",
        "--size",
        "1M",
        "--cache",
        "15M",
    ];
    let output = tables(&question);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for entries in ["178,734", "196,608", "491,520"] {
        assert!(text.contains(entries), "{text}");
    }
    let json = stdout(&tables(&[&question[..], &["--json"]].concat()));
    let result: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let rows = result["sections"][0]["tables"][0]["rows"].as_array().expect("rows");
    // The number of entries that fit is the last column.
    let fit: Vec<f64> =
        rows.iter().map(|row| row[3]["value"].as_f64().expect("a number")).collect();
    for entries in [178_734.0, 196_608.0, 491_520.0] {
        assert!(fit.contains(&entries), "{json}");
    }
    let incomplete = tables(&["--predict", "--key-bits", "32"]);
    assert_eq!(incomplete.status.code(), Some(2));
    assert!(stderr(&incomplete).contains("--parameter-bytes"), "{}", stderr(&incomplete));
}
