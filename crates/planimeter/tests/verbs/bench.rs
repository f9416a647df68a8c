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

#[test]
fn tables_that_others_guard_have_packets_that_were_solved_for() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verbs/guarded.p4");
    let measured = |more: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().join("run");
        let to = run.to_string_lossy();
        let arguments = [program, "--entries", "2^6", "-o", &to];
        let output = bench(&[&SHORT[..], &arguments, more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let result = fs::read_to_string(run.join("result.json")).expect("a result");
        let result: Value = serde_json::from_str(&result).expect("JSON");
        let schema = serde_json::from_str(report::throughput::SCHEMA).expect("the schema is JSON");
        let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
        assert!(validator.is_valid(&result), "{result}");
        let words: Vec<String> = stdout(&output).split_whitespace().map(str::to_owned).collect();
        (words.join(" "), result["points"][0].clone())
    };
    let (text, point) = measured(&[]);
    let solved = serde_json::json!([{"table": "I.second", "flows": 32}]);
    assert_eq!(point["solved_tables"], solved, "{text}");
    let unhit = point["unhit_tables"].as_array().expect("tables");
    assert_eq!((unhit.len(), unhit[0]["table"].as_str()), (1, Some("I.never")));
    for words in ["were solved for", "I.second (32 flows)", "no packet hits", "table I.never:"] {
        assert!(text.to_lowercase().contains(&words.to_lowercase()), "{words}: {text}");
    }
    for case in point["cases"].as_array().expect("cases") {
        assert_eq!(case["checked"], case["processed"], "{case}");
        assert_eq!((case["wrong"].as_u64(), case["errors"].as_u64()), (Some(0), Some(0)), "{case}");
    }
    let (_, point) = measured(&["--solve", "0s"]);
    assert_eq!(point["solved_tables"], serde_json::json!([]));
    assert_eq!(point["unhit_tables"].as_array().map(Vec::len), Some(2));
}

/// The scenarios of the example, with fewer routes, packets and entries of lists.
fn small_scenarios() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bench/middleblock.toml");
    let text = fs::read_to_string(path).expect("the example");
    let small =
        text.replace("repeat = 10_000", "repeat = 40").replace("repeat = 250", "repeat = 3");
    assert_ne!(small, text);
    small
}

/// Measures the scenarios of a file, and returns the output and `result.json`, which is valid.
fn measured(program: &str, file: &str, more: &[&str]) -> (String, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, run) = (folder.path().join("scenarios.toml"), folder.path().join("run"));
    fs::write(&path, file).expect("a file");
    let [path, to] = [&path, &run].map(|path| path.to_string_lossy().into_owned());
    let arguments = [program, "--scenarios", &path, "-o", &to];
    let output = bench(&[&SHORT[..], &arguments, more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = fs::read_to_string(run.join("result.json")).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let schema = serde_json::from_str(report::throughput::SCHEMA).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    assert!(validator.is_valid(&result), "{result}");
    for file in ["report.html", "cases.csv"] {
        let text = fs::read_to_string(run.join(file)).expect("a file");
        assert!(text.contains("scenario"), "{file}: {text}");
    }
    (stdout(&output), result)
}

#[test]
fn scenarios_have_the_entries_of_their_parts() {
    let (text, result) =
        measured("programs/middleblock.p4", &small_scenarios(), &["--path", "interpreter"]);
    let names = ["L3", "selector of 16", "selector and mirror", "all outcomes"];
    for name in names {
        let row = |line: &str| line.starts_with("interpreter") && line.contains(name);
        assert_eq!(text.lines().filter(|line| row(line)).count(), 1, "{name}: {text}");
    }
    let points = result["points"].as_array().expect("points");
    assert_eq!(points.len(), names.len());
    for (point, name) in points.iter().zip(names) {
        assert_eq!((point["scenario"].as_str(), point["leaving"].as_u64()), (Some(name), Some(40)));
        let entries = point["entries"].as_array().expect("entries");
        let of = |table: &str| {
            let found = |one: &&Value| one["table"].as_str().expect("a name").ends_with(table);
            entries.iter().find(found).map_or(0, |one| one["entries"].as_u64().expect("a number"))
        };
        let is_mirrored = name.contains("mirror");
        assert_eq!((of(".ipv4"), of(".nexthop"), of(".acl_security")), (40, 100, 3), "{name}");
        assert_eq!(of(".acl_ingress"), if is_mirrored { 4 } else { 3 }, "{name}");
        let case = &point["cases"][0];
        assert_eq!(case["checked"], case["processed"], "{case}");
        assert_eq!((case["wrong"].as_u64(), case["errors"].as_u64()), (Some(0), Some(0)));
        // A mirrored packet leaves twice. A tree has the outputs that the packet has.
        let times = if is_mirrored { 2 } else { 1 };
        let processed = case["processed"].as_u64().expect("a number");
        assert_eq!(case["left"].as_u64(), Some(times * processed), "{case}");
    }
}

#[test]
fn scenarios_are_compared_on_both_paths() {
    let file = r#"
        packet_bytes = 60
        [part.hosts]
        repeat = 5
        script = "add l2 10 eth_dst:0x00000000000{n} set_egress_port(port:{n + 2})"
        [part.some]
        repeat = 4
        script = "packet 1 00000000000{n} 0200000000aa 88b5"
        [part.unknown]
        script = "packet 1 0000000000ff 0200000000aa 88b5"
        [[scenario]]
        name = "known"
        parts = ["hosts", "some"]
        [[scenario]]
        name = "one unknown"
        parts = ["hosts", "some", "unknown"]
    "#;
    let (text, result) = measured("programs/l2.p4", file, &[]);
    assert!(text.contains("scenario one unknown packets of 4 of 5 flows leave"), "{text}");
    let points = result["points"].as_array().expect("points");
    let leaving: Vec<_> = points.iter().map(|point| point["leaving"].as_u64()).collect();
    assert_eq!(leaving, [Some(4), Some(4)]);
    for point in points {
        assert_eq!(point["packet_bytes"].as_f64(), Some(60.0));
        let cases = point["cases"].as_array().expect("cases");
        let paths: Vec<_> = cases.iter().map(|case| case["path"].as_str()).collect();
        assert_eq!(paths, [Some("interpreter"), Some("compiled")]);
        for case in cases {
            assert_eq!(case["checked"], case["processed"], "{case}");
            assert_eq!((case["wrong"].as_u64(), case["errors"].as_u64()), (Some(0), Some(0)));
        }
    }
}

/// Strings have numbers in scenarios too: the same on all paths, and none that the script itself
/// uses.
#[test]
fn scenarios_have_strings_of_translated_types() {
    let file = r#"
        packet_bytes = 60
        [part.vrf]
        script = "add vrf_of 1 port:\"Ethernet0\" set_vrf(vrf:\"vrf-80\")"
        [part.hosts]
        repeat = 6
        script = """
        add routes vrf:"vrf-80" dst:10.0.0.{n}/32 set_nexthop(nexthop:"next-{n}")
        add nexthops nexthop:"next-{n}" forward(port:"Ethernet{4 * n + 4}", src:0xf2, dst:0xb{n})
        packet "Ethernet0" 0000000000ee 0000000000ff 0800 4500002a 12340000 4011 0000 0a000101 0a00000{n}
        """
        [part.taken]
        script = "add nexthops nexthop:0 forward(port:0, src:1, dst:1)"
        [[scenario]]
        name = "strings"
        parts = ["vrf", "hosts", "taken"]
    "#;
    let (_, result) = measured("programs/vrf.p4", file, &[]);
    let point = &result["points"][0];
    assert_eq!(point["leaving"].as_u64(), Some(6));
    let entries = point["entries"].as_array().expect("entries");
    let nexthops = entries.iter().find(|one| one["table"].as_str() == Some("ingress.nexthops"));
    assert_eq!(nexthops.expect("entries")["entries"].as_u64(), Some(7), "{entries:?}");
    let cases = point["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 2);
    for case in cases {
        assert_eq!(case["checked"], case["processed"], "{case}");
        assert_eq!((case["wrong"].as_u64(), case["errors"].as_u64()), (Some(0), Some(0)));
    }
    let wrong = file.replace("port:\\\"Ethernet0\\\"", "src:\\\"Ethernet0\\\"");
    assert_ne!(wrong, file);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scenarios.toml");
    fs::write(&path, wrong).expect("a file");
    let output = bench(&["programs/vrf.p4", "--scenarios", &path.to_string_lossy(), "--quiet"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "part `vrf`, line 1: the key src takes no string";
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
}

#[test]
fn a_scenario_that_does_not_fit_the_program_is_named_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("scenarios.toml");
    let small = small_scenarios();
    for (from, to, expected) in [
        ("add ipv4 vrf_id", "add ipv5 vrf_id", "part `routes`, line 1, n = 0: no table ipv5"),
        ("l4_dst_port:{n + 1000}", "l4_dst_port:{n + 65535}", "part `lists`, line 1, n = 1: key"),
        ("\"routes\",", "\"roads\",", "there is no part `roads`"),
        ("packet_bytes", "bytes", "unknown field `bytes`"),
    ] {
        fs::write(&file, small.replace(from, to)).expect("a file");
        let file = file.to_string_lossy();
        let output = bench(&["programs/middleblock.p4", "--scenarios", &file, "--quiet"]);
        assert_eq!(output.status.code(), Some(2), "{to}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{to}: {}", stderr(&output));
    }
}

#[test]
fn the_costliest_packets_are_measured_beside_their_prediction() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let path = run.to_string_lossy();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/l2.p4");
    let program = program.to_string_lossy();
    let some = ["--worst", "--path", "interpreter", "--packet-size", "64", "-o", &path];
    let output = bench(&[&[&*program][..], &SHORT[..], &some].concat());
    let words = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    if words.contains("no cycle counter") {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "SKIPPED: --worst needs a cycle counter");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(words.contains("the path that is predicted to cost most"), "{words}");
    let is_told = "every other predicted path is predicted to cost less";
    assert!(words.contains(is_told) || words.contains("the data do not tell"), "{words}");
    assert!(words.contains("time-stamp counter") && words.contains("Fitted costs"), "{words}");
    // The scripts are tests of the program, whose packets have the length.
    let script = run.join("worst-interpreter-64-1.stf");
    let text = fs::read_to_string(&script).expect("a script");
    let packet = text.lines().find_map(|line| line.strip_prefix("packet ")).expect("a packet");
    let digits = packet.split(' ').nth(1).expect("digits");
    assert_eq!(digits.len(), 128, "{text}");
    let script = script.to_string_lossy();
    let replayed = planimeter("stf", &[&*program, &*script]);
    assert_eq!(replayed.status.code(), Some(0), "{}", stderr(&replayed));
}
