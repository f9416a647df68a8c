//! Tests of `planimeter bound` as a user runs it.

use std::path::Path;
use std::process::Output;

use crate::browser;
use crate::command::{planimeter, stderr, stdout};

fn bound(arguments: &[&str]) -> Output {
    planimeter("bound", arguments)
}

#[test]
fn every_example_has_bounds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/networks");
    let mut files = 0;
    for entry in std::fs::read_dir(root).expect("the examples") {
        let path = entry.expect("an entry").path();
        let output = bound(&[&path.to_string_lossy()]);
        assert_eq!(output.status.code(), Some(0), "{path:?}: {}", stderr(&output));
        files += 1;
    }
    assert!(files >= 4, "the examples have moved");
}

#[test]
fn numbers_are_those_of_the_literature() {
    let file = "examples/networks/two-hops.toml";
    for (arguments, delay) in [
        (["-a", "sfa", "-m", "arbitrary", "--flow-of-interest", "lowest-priority"], "277/7"),
        (["-a", "sfa", "-m", "arbitrary", "--flow-of-interest", "interferes"], "302/7"),
        // The values are those of the documentation for DNC's GLOBAL_FIFO.
        (["-a", "sfa", "-m", "fifo", "--flow-of-interest", "interferes"], "9271/336"),
        (["-a", "sfa", "-m", "fifo", "--cross-traffic", "aggregate-pboo"], "379/14"),
        // The values are those of the SFA of panco and Saihu, which assume FIFO servers, as in the
        // file.
        (
            ["-a", "sfa", "--arrival-bound", "segregated-pboo", "--flow-of-interest", "interferes"],
            "9271/336",
        ),
        (["-a", "pmoo", "-m", "arbitrary", "--threads", "1"], "242/7"),
        (["-a", "tfa", "-m", "arbitrary", "--threads", "2"], "136"),
    ] {
        let mut all = vec![file, "--json", "--flow", "f0"];
        all.extend(arguments);
        let output = bound(&all);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert_eq!(json["flows"][0]["bounds"][0]["delay"]["exact"], delay, "{arguments:?}");
    }
}

#[test]
fn conventions_have_flags_and_are_named() {
    let file = "examples/networks/rejoining.toml";
    for (arguments, delay, proven) in [
        (["--flow-of-interest", "lowest-priority"], "653/64", false),
        (["--arrival-bound", "aggregate-pmoo"], "81/8", false),
        (["--flow-of-interest", "lowest-priority-where-proven"], "175/16", true),
        (["--flow-of-interest", "interferes"], "175/16", true),
    ] {
        let mut all = vec![file, "--json", "--flow", "f0", "-a", "sfa", "--cap-bursts"];
        all.extend(arguments);
        let output = bound(&all);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let found = &json["flows"][0]["bounds"][0];
        assert_eq!(found["delay"]["exact"], delay, "{arguments:?}");
        assert_eq!(found["delay-by"]["proven"], proven, "{arguments:?}");
        assert_eq!(found["delay-by"]["capped-bursts"], true);
    }
    let output = bound(&[file, "--flow", "f0", "-a", "sfa"]);
    assert!(stdout(&output).contains("no traffic leaves the path"), "{}", stdout(&output));
}

#[test]
fn wrong_input_fails_with_one_line_and_status_2() {
    let scratch = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let negative = file("negative.toml", "[[server]]\nname = \"a\"\nservice = { rate = -1 }\n");
    let missing = file(
        "missing.toml",
        "[[server]]\nname = \"a\"\nservice = { rate = 1 }\n\
         [[flow]]\nname = \"f\"\npath = [\"b\"]\narrival = { rate = 1 }\n",
    );
    let broken = file("broken.json", "{\"server\": [");
    let program = file("wrong.mppg", "f := ratency(1)");
    let other = file("network.yaml", "");
    let ring = "examples/networks/ring.json";
    for (arguments, named) in [
        (vec![negative.as_str()], "server[0].service.rate '-1' is negative"),
        (vec![&missing], "visits server 'b', which is not in the network"),
        (vec![&broken], "broken.json: line 1"),
        (vec![&program], "wrong.mppg"),
        (vec![&other], "the file name has an unknown ending"),
        (vec!["no-such-file.toml"], "cannot read no-such-file.toml"),
        (vec![ring, "--flow", "f9"], "no flow is named 'f9'; there are f0, f1, f2"),
        (vec![ring, "--analysis", "sink-tree"], "does not support cyclic dependencies"),
    ] {
        let output = bound(&arguments);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(named), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{arguments:?}: {error}");
    }
}

#[test]
fn overload_fails_with_status_1_and_drawings_are_files() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("over.toml");
    std::fs::write(
        &path,
        "[[server]]\nname = \"a\"\nservice = { rate = 1 }\n\
         [[flow]]\nname = \"f/g\"\npath = [\"a\"]\narrival = { rate = 2 }\n",
    )
    .expect("a file");
    let folder = scratch.path().join("drawings");
    let output = bound(&[&path.to_string_lossy(), "--plot", &folder.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("server 'a' is overloaded, at 200.0 %"));
    assert!(folder.join("000-f_g.svg").is_file());
    std::fs::write(
        &path,
        "[[server]]\nname = \"a\"\nservice = { rate = 3 }\n\
         [[flow]]\nname = \"f\"\npath = [\"a\"]\narrival = { rate = 3.001 }\n",
    )
    .expect("a file");
    let output = bound(&[&path.to_string_lossy()]);
    assert!(stdout(&output).contains("server 'a' is overloaded, at 100.03 %"));
    let program = scratch.path().join("false.mppg");
    std::fs::write(&program, "assert(1 = 2)\n").expect("a file");
    assert_eq!(bound(&[&program.to_string_lossy()]).status.code(), Some(1));
}

#[test]
fn flows_without_a_bound_fail_with_the_reason_and_status_1() {
    let scratch = tempfile::tempdir().expect("a folder");
    let server = |name: &str, rate: u32| {
        format!(
            "[[server]]\nname = \"{name}\"\nservice = {{ rate-latency = {{ rate = {rate}, latency = 1 }} }}\n"
        )
    };
    let flow = |name: &str, path: &str, rate: u32| {
        format!(
            "[[flow]]\nname = \"{name}\"\npath = [{path}]\narrival = {{ token-bucket = {{ burst = 5, rate = {rate} }} }}\n"
        )
    };
    // Each server has a load of 80 %, but a delay adds 1.2 times its effect on bursts to that
    // delay.
    let ring: String = ["a", "b", "c", "d"].iter().map(|name| server(name, 10)).collect();
    for (text, arguments, reason) in [
        // The requested flow itself passes no overloaded server.
        (
            format!(
                "{}{}{}{}",
                server("a", 10),
                server("b", 10),
                flow("f", "\"a\", \"b\"", 9).replace("rate = 9", "rate = 11"),
                flow("g", "\"b\"", 1)
            ),
            vec!["-f", "g"],
            "flow 'g' has no bound: 'a', 'b' are overloaded",
        ),
        (
            format!("{}{}{}", server("a", 10), flow("f", "\"a\"", 5), flow("g", "\"a\"", 5)),
            vec!["-a", "tfa", "-m", "arbitrary"],
            "flows 'f', 'g' have no bound: 'a' is exactly full",
        ),
        (
            format!(
                "{ring}{}{}{}{}",
                flow("f", "\"a\", \"b\", \"c\", \"d\"", 2),
                flow("g", "\"b\", \"c\", \"d\", \"a\"", 2),
                flow("h", "\"c\", \"d\", \"a\", \"b\"", 2),
                flow("i", "\"d\", \"a\", \"b\", \"c\"", 2)
            ),
            vec!["-a", "tfa++"],
            "flows 'f', 'g', 'h', 'i' have no bound: the servers a -> b -> c -> d -> a feed each other",
        ),
    ] {
        let path = scratch.path().join("network.toml");
        std::fs::write(&path, text).expect("a file");
        let path = path.to_string_lossy();
        let mut all = vec![&*path];
        all.extend(&arguments);
        let output = bound(&all);
        let words: Vec<String> = stdout(&output).split_whitespace().map(str::to_owned).collect();
        assert!(words.join(" ").contains(reason), "{reason}: {}", stdout(&output));
        assert_eq!(output.status.code(), Some(1), "{reason}");
        all.push("--allow-unbounded");
        assert_eq!(bound(&all).status.code(), Some(0), "{reason}");
        all.push("--json");
        let json: serde_json::Value = serde_json::from_str(&stdout(&bound(&all))).expect("JSON");
        let sentence = json["unbounded"][0].as_str().expect("a sentence");
        assert!(sentence.starts_with(reason), "{sentence}");
    }
}

#[test]
fn no_bound_is_printed_below_its_value() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("small.toml");
    // The delay is that of 12,276 bits at 100 Mbit/s: 0.00012276 s.
    std::fs::write(
        &path,
        "[[server]]\nname = \"a\"\nservice = { rate = \"100Mbps\" }\n\
         [[flow]]\nname = \"f\"\npath = [\"a\"]\narrival = { token-bucket = { burst = 12276, rate = 1 } }\n",
    )
    .expect("a file");
    let output = bound(&[&path.to_string_lossy()]);
    assert!(stdout(&output).contains(" 0.00012276 "), "{}", stdout(&output));
}

#[test]
fn staircases_without_a_common_period_have_bounds_that_say_so() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("stairs.toml");
    let flow = |name: &str, length: u32| {
        format!(
            "[[flow]]\nname = \"{name}\"\npath = [\"a\"]\narrival = {{ staircase = {{ height = 100, length = {length} }} }}\n"
        )
    };
    let text = format!(
        "time-unit = \"us\"\n[[server]]\nname = \"a\"\nservice = {{ rate = \"1Mbps\" }}\n{}{}",
        flow("f", 999_983),
        flow("g", 1_000_003)
    );
    std::fs::write(&path, text).expect("a file");
    let output = bound(&[&path.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Notes are wrapped, so whitespace is normalised.
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("least concave"), "{text}");
    let output = bound(&[&path.to_string_lossy(), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(json["flows"][0]["bounds"][0]["delay-by"]["outlined"], true);
}

#[test]
fn a_quantity_varies_into_a_table_csv_json_and_a_run_directory() {
    let file = "examples/networks/two-hops.toml";
    let vary = ["--vary", "f0.rate=0..5:5", "-a", "sfa", "-m", "arbitrary", "--flow", "f0"];
    let with = |more: &[&str]| {
        let mut all = vec![file];
        all.extend(vary);
        all.extend(more);
        bound(&all)
    };
    let output = with(&["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let schema = serde_json::from_str(report::bounds::SWEEP_SCHEMA).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let faults: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let points = json["points"].as_array().expect("points");
    let values: Vec<&str> =
        points.iter().filter_map(|point| point["value"]["exact"].as_str()).collect();
    assert_eq!(values, ["0", "1", "2", "3", "4", "5"]);
    // Each point must equal the result for a file with that number.
    let scratch = tempfile::tempdir().expect("a folder");
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file))
            .expect("the example");
    for (value, point) in values.iter().zip(points) {
        let path = scratch.path().join("one.toml");
        let one = text.replacen("rate = 2.5", &format!("rate = {value}"), 1);
        std::fs::write(&path, one).expect("a file");
        let output = bound(&[
            &path.to_string_lossy(),
            "--json",
            "-a",
            "sfa",
            "-m",
            "arbitrary",
            "--flow",
            "f0",
            "--allow-unbounded",
        ]);
        let alone: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let found = &point["flows"][0]["bounds"][0]["delay"];
        assert_eq!(*found, alone["flows"][0]["bounds"][0]["delay"], "at {value}");
    }
    // The rate of 5 and the 2.5 of the other flow exceed the 6 of the second server.
    assert_eq!(points[5]["flows"][0]["bounds"][0]["delay"]["exact"], "+inf");
    assert_eq!(points[5]["unbounded"].as_array().map(Vec::len), Some(1));

    let table = stdout(&with(&[]));
    assert!(table.contains("f0.rate") && table.contains("From 4 to 5: flow 'f0'"), "{table}");
    let csv = stdout(&with(&["--csv"]));
    assert_eq!(csv.lines().count(), 7, "{csv}");
    assert!(csv.starts_with("f0.rate,flow,analysis,by,delay_s"), "{csv}");

    let run = scratch.path().join("run");
    let output = with(&["-o", &run.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(run.join("sweep.csv")).expect("a file"), csv);
    let report = std::fs::read_to_string(run.join("report.html")).expect("a report");
    assert!(report.contains("Bounds of delay") && report.contains("Bounds of backlog"));
    assert!(run.join("figures").read_dir().expect("figures").count() >= 6);
    assert!(run.join("result.json").is_file());
    browser::check(&run);
}

#[test]
fn a_quantity_that_cannot_vary_is_named() {
    let file = "examples/networks/priorities.toml";
    for (vary, named) in [
        ("video=1..2:3", "is not of the form PART.QUANTITY=FROM..TO:STEPS"),
        ("audio.rate=1..2:3", "has no flow, server or port 'audio'; there are alarms, control"),
        ("video.rate=1..2Mbps:3", "say which: video.rate[0] to video.rate[1]"),
    ] {
        let output = bound(&[file, "--vary", vary]);
        assert_eq!(output.status.code(), Some(2), "{vary}");
        assert!(stderr(&output).contains(named), "{vary}: {}", stderr(&output));
    }
    // No value of the range has a bound, so the sweep is not across the limit of stability.
    let output = bound(&["examples/networks/two-hops.toml", "--vary", "f0.rate=7..9:2"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

#[test]
fn priorities_have_bounds_of_their_own_at_each_server() {
    let output = bound(&["examples/networks/ethernet.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    for server in json["servers"].as_array().expect("servers") {
        let classes = server["classes"].as_array().expect("classes");
        assert_eq!(classes.len(), 4);
        let delays: Vec<f64> =
            classes.iter().filter_map(|class| class["delay"]["value"].as_f64()).collect();
        assert!(delays.is_sorted(), "the more urgent, the sooner: {delays:?}");
        // The highest class waits 5 us for one maximal frame in transmission, and then for its own
        // frame.
        if server["name"] == "access to core, 1 Gbit/s" {
            assert_eq!(classes[0]["delay"]["exact"], "2247/125000000", "{classes:?}");
        }
    }
    let text = stdout(&bound(&["examples/networks/ethernet.toml"]));
    assert!(text.contains("  priority 3"), "{text}");
}

#[test]
fn ports_have_a_server_for_each_queue() {
    for (file, scheduler, queue, classes) in [
        ("credit-based", "credit-based", "bridge 1/1", &[1][..]),
        ("gates", "gated", "bridge/1,2", &[1, 2]),
        ("gates-and-credit", "gated", "bridge/1", &[1]),
        ("weights", "interleaved-weighted-round-robin", "rounds/0", &[0]),
    ] {
        let output = bound(&[&format!("examples/networks/{file}.toml"), "--json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let servers = json["servers"].as_array().expect("servers");
        let found = servers.iter().find(|server| server["name"] == queue).expect("the queue");
        assert_eq!(found["port"]["scheduler"], scheduler);
        assert_eq!(found["port"]["classes"], serde_json::json!(classes));
        for flow in json["flows"].as_array().expect("flows") {
            assert!(flow["run"]["delay"]["value"].as_f64() > Some(0.0), "{flow}");
        }
    }
    let file = "examples/networks/weights.toml";
    let text = stdout(&bound(&[file, "--flow", "voice", "--derivation"]));
    assert!(
        text.contains("deficits/0: deficit-round-robin port of rate 1000000000 gives"),
        "{text}"
    );
    // Accounting for the other classes' arrivals increases no delay, and decreases some.
    let delays = |more: &[&str]| -> Vec<f64> {
        let output = bound(&[&[file, "--json", "--no-simulation"], more].concat());
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert_eq!(json["arrival-aware"], !more.is_empty());
        let flows = json["flows"].as_array().expect("flows").iter();
        flows.filter_map(|flow| flow["bounds"][0]["delay"]["value"].as_f64()).collect()
    };
    let (plain, aware) = (delays(&[]), delays(&["--arrival-aware"]));
    assert_eq!(plain.len(), aware.len());
    assert!(plain.iter().zip(&aware).all(|(plain, aware)| aware <= plain), "{plain:?} {aware:?}");
    assert!(plain != aware, "{plain:?}");
    let text = stdout(&bound(&[file, "--arrival-aware", "--no-simulation"]));
    assert!(text.contains("turns counted with what other classes send"), "{text}");
    let output = bound(&[file, "--vary", "deficits.quantum[0]=1538..6152:2", "--csv"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Writes a network of two flows, with `own` in the table of the first, and returns its path.
fn with_limit(folder: &Path, own: &str) -> String {
    let path = folder.join("limit.toml");
    let text = format!(
        "time-unit = \"ms\"\n[[server]]\nname = \"a\"\nservice = {{ rate-latency = {{ rate = \"1Mbps\", latency = 1 }} }}\n\
         [[flow]]\nname = \"f\"\npath = [\"a\"]\narrival = {{ token-bucket = {{ burst = \"2kb\", rate = \"100kbps\" }} }}\n{own}\n\
         [[flow]]\nname = \"g\"\npath = [\"a\"]\npriority = 1\narrival = {{ token-bucket = {{ burst = \"2kb\", rate = \"100kbps\" }} }}\n"
    );
    std::fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_missed_maximum_delay_comes_first_and_fails_with_status_1() {
    let scratch = tempfile::tempdir().expect("a folder");
    // All bursts arrive together after the latency: 5 ms.
    for (limit, status, word) in [("5", 0, "met"), ("\"4999us\"", 1, "missed")] {
        let file = with_limit(scratch.path(), &format!("maximum-delay = {limit}"));
        let output = bound(&[&file]);
        let (text, error) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(status), "{error}");
        assert!(text.contains(word), "{text}");
        let message = "flow 'f' may exceed its maximum delay of 4.999 ms: its delay bound is 5 ms; a simulated run takes 5 ms";
        assert_eq!(error.contains(message), status == 1, "{error}");
        let first = text.lines().nth(2).unwrap_or_default();
        assert_eq!(first.starts_with("FAIL: 1 of 1 maximum delay missed."), status == 1, "{text}");
        assert_eq!(text.contains("the maximum delay of one flow is met"), status == 0, "{text}");
        let json: serde_json::Value =
            serde_json::from_str(&stdout(&bound(&[&file, "--json"]))).expect("JSON");
        assert_eq!(json["flows"][0]["maximum-delay"]["met"], status == 0);
        assert_eq!(json["flows"][0]["maximum-delay"]["missed-in-a-run"], status == 1);
        assert!(json["flows"][1]["maximum-delay"].is_null());
        assert_eq!(json["missed"].as_array().map(Vec::len), Some(status as usize));
    }
    // The limit applies to the class of the other flow.
    let class = "[[class]]\npriority = 1\nmaximum-delay = 4\n";
    let output = bound(&[&with_limit(scratch.path(), class)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("flow 'g' may exceed its maximum delay of 4 ms"));
}

#[test]
fn missed_thresholds_fail_with_status_1() {
    let scratch = tempfile::tempdir().expect("a folder");
    let file = with_limit(scratch.path(), "");
    for (threshold, named) in [
        ("delay <= 5ms", None),
        ("delay < 5ms", Some("threshold delay < 5ms does not hold for flow 'g': it is 5.00 ms")),
        ("load < 0.2", Some("threshold load < 0.2 does not hold for server 'a': it is 20")),
        ("load <= 20%", None),
        // The buffer holds 4 kbit and the arrivals within the latency: 525 B.
        ("buffer <= 525B", None),
        ("buffer < 525B", Some("threshold buffer < 525B does not hold for server 'a'")),
        ("backlog < 100B", Some("threshold backlog < 100B does not hold for flow")),
    ] {
        let output = bound(&[&file, "-t", threshold]);
        let (text, error) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(i32::from(named.is_some())), "{threshold}: {error}");
        assert!(text.contains(if named.is_some() { "FAIL" } else { "pass" }), "{text}");
        if let Some(named) = named {
            assert!(error.contains(named), "{error}");
        }
        let json: serde_json::Value =
            serde_json::from_str(&stdout(&bound(&[&file, "-t", threshold, "--json"])))
                .expect("JSON");
        assert_eq!(json["thresholds"][0]["held"], named.is_none(), "{threshold}");
    }
    let output = bound(&[&file, "-t", "delay < 5"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    // An infinite bound is below no limit.
    let over = file.replace("limit.toml", "over.toml");
    let text =
        std::fs::read_to_string(&file).expect("the file").replace("\"1Mbps\"", "\"150kbps\"");
    std::fs::write(&over, text).expect("a file");
    let output = bound(&[&over, "-t", "delay < 100s", "--allow-unbounded"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("it is infinite"), "{}", stderr(&output));
}
