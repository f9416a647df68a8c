//! Tests of work that several processes share: their common result must equal that of one process.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::command::{planimeter, stderr, stdout};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Starts a rank of a verb, restricted to `core` if given.
fn rank(rank: usize, of: usize, meet: &str, core: Option<usize>, words: &[&str]) -> Child {
    let program = env!("CARGO_BIN_EXE_planimeter");
    let mut command = match core {
        None => Command::new(program),
        Some(core) => {
            let mut taskset = Command::new("taskset");
            taskset.args(["--cpu-list", &core.to_string(), program]);
            taskset
        }
    };
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("COLUMNS", "200")
        .env("PLANIMETER_RANK", rank.to_string())
        .env("PLANIMETER_RANKS", of.to_string())
        .env("PLANIMETER_MEET", meet)
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("the command runs")
}

fn meeting_place() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

/// Runs all ranks to their end, and returns the output of the first. The others must print nothing.
fn ranks(of: usize, cores: &[usize], words: &[&str]) -> Output {
    let meet = meeting_place();
    let start = |number| rank(number, of, &meet, cores.get(number).copied(), words);
    let all: Vec<Child> = (0..of).map(start).collect();
    let mut ended = all.into_iter().map(|child| child.wait_with_output().expect("it ended"));
    let first = ended.next().expect("a first rank");
    for other in ended {
        assert_eq!(other.status.code(), Some(0), "{}", stderr(&other));
        assert_eq!(stdout(&other), "");
    }
    first
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

fn check(schema: &str, result: &Value) {
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    let errors: Vec<String> =
        validator.iter_errors(result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// Returns the items that each rank worked on, according to the result.
fn did(result: &Value) -> Vec<Vec<String>> {
    let shares = result["shares"].as_array().expect("shares");
    let words = |share: &Value| -> Vec<String> {
        let did = share["did"].as_array().expect("a list").iter();
        did.filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    shares.iter().map(words).collect()
}

const NETWORK: &str = "examples/networks/two-hops.toml";

#[test]
fn bounds_of_flows_and_of_many_networks_are_those_of_one_process() {
    for (words, schema) in [
        (&["--analysis", "all", "--derivation"][..], report::bounds::SCHEMA),
        (&["--vary", "f0.rate=0..3:6"], report::bounds::SWEEP_SCHEMA),
    ] {
        let words = [&["bound", NETWORK, "--json"], words].concat();
        let (alone, shared) = (planimeter(words[0], &words[1..]), ranks(4, &[], &words));
        let (alone, shared) = (json(&alone), json(&shared));
        check(schema, &shared);
        for field in ["flows", "points", "servers", "unbounded", "contradictions"] {
            assert_eq!(alone[field], shared[field], "{field}");
        }
        let did = did(&shared);
        assert_eq!(did.len(), 4);
        assert!(did[1].len() + did[2].len() + did[3].len() > 0, "{did:?}");
        assert!(alone.get("shares").is_none() && shared.get("completion").is_none());
    }
}

/// Two processes on one core would disturb each other's measurement.
#[test]
fn ranks_that_share_cores_leave_the_measuring_to_the_first() {
    let words = [
        "tables",
        "--storage",
        "static",
        "--sync",
        "optimistic",
        "--cores",
        "1",
        "--size",
        "2^4,2^6",
    ];
    let words =
        [&words[..], &["--time", "1ms", "--repetitions", "2", "--quiet", "--json"]].concat();
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run").to_string_lossy().into_owned();
    let shared = json(&ranks(4, &[0, 0, 0, 0], &[&words[..], &["-o", &run]].concat()));
    check(report::designs::SCHEMA, &shared);
    let sizes: Vec<Value> = cases(&shared).into_iter().map(|[_, _, size, _]| size).collect();
    assert_eq!(sizes, [16, 64]);
    let did = did(&shared);
    assert_eq!(did.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0, 0, 0]);
    let remark = shared["shares"][3]["remark"].as_str().expect("a remark");
    assert!(remark.contains("core 0 is used by rank 0"), "{remark}");
    let page = std::fs::read_to_string(Path::new(&run).join("report.html")).expect("a page");
    assert!(page.contains("rank 3 on"), "the page says who did what");
}

/// Returns the identity of each case, without its measurements.
fn cases(result: &Value) -> Vec<[Value; 4]> {
    let cases = result["cases"].as_array().expect("cases").iter();
    cases
        .map(|case| {
            ["storage", "synchronisation", "size", "cores"].map(|field| case[field].clone())
        })
        .collect()
}

/// Returns whether two ranks can measure at the same time, which needs two cores and taskset.
fn two_cores() -> bool {
    let taskset = |core: &str| Command::new("taskset").args(["--cpu-list", core, "true"]).status();
    let found = ["0", "1"].iter().all(|core| taskset(core).is_ok_and(|status| status.success()));
    if !found {
        eprintln!("SKIPPED: two ranks that measure at once take cores 0 and 1, and taskset");
    }
    found
}

#[test]
fn sweeps_of_tables_and_programs_are_shared_by_ranks_with_cores_of_their_own() {
    if !two_cores() {
        return;
    }
    let tables = ["tables", "--storage", "static,inline", "--sync", "optimistic", "--cores", "1"];
    let tables = [&tables[..], &["--size", "2^2,2^4,2^6"]].concat();
    let bench = vec!["bench", "--entries", "2^3,2^5,2^6", "--cores", "1", "--path", "compiled"];
    for (words, schema) in [(tables, report::designs::SCHEMA), (bench, report::throughput::SCHEMA)]
    {
        let short = ["--time", "2ms", "--repetitions", "2", "--quiet", "--json", "-o"];
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let (one, two) = (at("one"), at("two"));
        let alone = json(&planimeter(words[0], &[&words[1..], &short, &[&one]].concat()));
        let shared = json(&ranks(2, &[0, 1], &[&words[..], &short, &[&two]].concat()));
        check(schema, &shared);
        assert_eq!(shared["completion"], "complete");
        if words[0] == "tables" {
            assert_eq!(cases(&alone), cases(&shared));
        } else {
            let flows = |result: &Value| -> Vec<Value> {
                let points = result["points"].as_array().expect("points").iter();
                points.map(|point| point["flows"].clone()).collect()
            };
            assert_eq!(flows(&alone), flows(&shared));
            for point in shared["points"].as_array().expect("points") {
                let case = &point["cases"][0];
                assert_eq!(
                    (&case["checked"], &case["wrong"]),
                    (&case["processed"], &Value::from(0))
                );
                assert!(case["latency"]["samples"].as_u64().is_some_and(|samples| samples > 0));
            }
        }
        let did = did(&shared);
        assert_eq!(did.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1], "{did:?}");
        assert!(!Path::new(&two).join("1").exists() && Path::new(&two).join("cases.csv").is_file());
    }
}

/// The results of another rank arrive with all of their files.
#[test]
fn figures_of_papers_are_shared_and_come_back_into_one_run_directory() {
    if !two_cores() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let place = run.to_string_lossy();
    let words =
        ["reproduce", "tables-equations,tables-table-1", "--quick", "--quiet", "-o", &place];
    let output = ranks(2, &[0, 1], &words);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.contains("Shared work") && text.contains("rank 1"), "{text}");
    let result = std::fs::read_to_string(run.join("result.json")).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    check(report::page::document::json::SCHEMA, &result);
    assert_eq!(did(&result).iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(result["partial"], Value::Null);
    let sections = result["sections"].as_array().expect("sections");
    assert_eq!(sections.len(), 2);
    for link in sections.iter().flat_map(|section| section["links"].as_array().expect("links")) {
        assert!(run.join(link.as_str().expect("a place")).is_file(), "{link}");
    }
    assert!(run.join("update-methods/result.json").is_file(), "the files of rank 1");
}

/// Returns the processor time of a process in seconds.
fn busy(process: &Child) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap_or_default();
    let behind_name = text.rsplit(')').next().unwrap_or_default();
    let ticks = behind_name.split_whitespace().nth(11).and_then(|field| field.parse::<f64>().ok());
    ticks.unwrap_or(0.0) / 100.0
}

#[test]
fn a_rank_that_dies_is_named_with_its_missing_items() {
    // The sweep is long enough that every rank is found at work.
    let words = ["bound", NETWORK, "--json", "--vary", "f0.rate=0..3:600"];
    let meet = meeting_place();
    let mut all: Vec<Child> = (0..4).map(|number| rank(number, 4, &meet, None, &words)).collect();
    let started = Instant::now();
    while busy(&all[2]) < 0.2 {
        assert!(started.elapsed() < Duration::from_secs(60), "rank 2 does not work");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&all[2]), Signal::KILL).expect("it was there");
    all[2].wait().expect("it ended");
    let first = all.remove(0).wait_with_output().expect("it ended");
    for mut other in all {
        other.wait().expect("it ended");
    }
    assert_eq!(first.status.code(), Some(1), "{}", stderr(&first));
    let result: Value = serde_json::from_str(&stdout(&first)).expect("JSON");
    check(report::bounds::SWEEP_SCHEMA, &result);
    assert_eq!(result["completion"], "partial");
    let lost = &result["shares"][2];
    assert!(lost["remark"].as_str().is_some_and(|remark| remark.contains("it was lost")), "{lost}");
    let missing = lost["missing"].as_array().expect("a list").len();
    let points = result["points"].as_array().expect("points").len();
    assert!(missing > 0 && points > 400, "{missing} of 601 are missing, {points} are there");
    assert_eq!(missing + points, 601);
}
