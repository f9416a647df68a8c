//! Tests of `planimeter device`, from input files to the exit status.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::browser;
use crate::command::{planimeter, stderr, stdout};

/// Writes delays of a device with two functions, separately and combined. Their combination takes
/// `more` in addition.
fn measured(folder: &Path, more: u32) {
    let mut sources = String::from(
        "device = \"two functions\"\npacket-bytes = 64\nrules = 1\ntick-ns = 1\n\
         baseline = { match = \"port\", action = \"output\" }\n",
    );
    for (name, functions, delay) in [
        ("f0", "", 50_000),
        ("match", "match = \"five-tuple\"\n", 53_000),
        ("action", "action = \"set-nw-src\"\n", 59_000),
        ("both", "match = \"five-tuple\"\naction = \"set-nw-src\"\n", 62_000 + more),
    ] {
        let files: Vec<String> = (0..3).map(|block| format!("{name}{block}.csv")).collect();
        for file in &files {
            let delays =
                (0..500).map(|packet| format!("{packet},{}\n", delay + packet * 7919 % 5000));
            std::fs::write(folder.join(file), delays.collect::<String>()).expect("a file");
        }
        write!(sources, "\n[[cell]]\n{functions}delays = {files:?}\n").expect("text");
    }
    std::fs::write(folder.join("sources.toml"), sources).expect("a file");
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let place = |argument: &&str| match argument.strip_prefix('@') {
        Some(name) => folder.join(name).display().to_string(),
        None => (*argument).to_owned(),
    };
    let arguments: Vec<String> = arguments.iter().map(place).collect();
    let output = planimeter("device", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn a_campaign_becomes_a_model_that_is_verified_and_predicts() {
    let folder = tempfile::tempdir().expect("a folder");
    measured(folder.path(), 0);
    let run = |arguments: &[&str]| run(folder.path(), arguments);
    let (code, out, err) = run(&["import", "@sources.toml", "-o", "@run"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("five-tuple + set-nw-src both2.csv: 500 of 500 packets, 0 lost"), "{out}");
    let verify = [
        "verify",
        "@run",
        "-o",
        "@verified",
        "-t",
        "worst-error(median) < 0.01 %",
        "-t",
        "refuted(median) < 1",
    ];
    let (code, out, err) = run(&verify);
    assert_eq!(code, Some(0), "{out}{err}");
    for file in ["report.html", "result.json", "cells.csv", "model.json"] {
        assert!(folder.path().join("verified").join(file).exists(), "{file}");
    }
    browser::check(&folder.path().join("verified"));
    let (code, out, err) = run(&[
        "predict",
        "@verified/model.json",
        "--match",
        "five-tuple",
        "--action",
        "set-nw-src",
    ]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("confidence 97 %") && out.contains("Union bound"), "{out}");
    // Delays alone determine no rate.
    let export = ["export", "@verified/model.json", "--match", "five-tuple"];
    let (code, out, err) = run(&export);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("[[server]]") && err.contains("the server is a burst delay"),
        "{out}{err}"
    );
    let (code, _, err) = run(&[&export[..], &["--semantics", "pipelined"]].concat());
    assert_eq!(code, Some(2));
    assert!(err.contains("there is no such curve"), "{err}");
    let (code, _, err) = run(&["predict", "@verified/model.json", "--action", "strip-vlan"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("no measurement of 'strip-vlan'"), "{err}");
}

/// A source file's omissions have defaults that are reported, and a file of delays in its place is
/// recognised.
#[test]
fn values_that_sources_omit_are_derived_from_the_delays() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("f0.csv"), "delay_us\n50.5\n50.75\n51.5\n").expect("a file");
    let sources = "device = \"d\"\npacket-bytes = 64\nbaseline = { match = \"port\" }\n\
                   [[cell]]\ndelays = [\"f0.csv\"]\nunit = \"us\"\n";
    std::fs::write(folder.path().join("sources.toml"), sources).expect("a file");
    let (code, out, err) = run(folder.path(), &["import", "@sources.toml", "-o", "@run"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("the least difference between delays, 250"), "{err}");
    // The packets have no numbers, so losses cannot be detected.
    assert!(out.contains("f0.csv: 3 delays; median 50.8 µs") && !out.contains("lost"), "{out}");
    // The heading of the column may also state the unit, which must not contradict the source file.
    let file = folder.path().join("sources.toml");
    std::fs::write(&file, sources.replace("unit = \"us\"\n", "")).expect("a file");
    let (code, out, err) = run(folder.path(), &["import", "@sources.toml", "-o", "@headed"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("median 50.8 µs"), "{out}");
    std::fs::write(&file, sources.replace("\"us\"", "\"ms\"")).expect("a file");
    let (code, _, err) = run(folder.path(), &["import", "@sources.toml", "-o", "@doubtful"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("f0.csv: its head names us, and the cell has unit = \"ms\""), "{err}");
    // A campaign is not a result, and a source file is not a model.
    let campaign = folder.path().join("run").display().to_string();
    let compared = planimeter("compare", &[&campaign, &campaign]);
    assert_eq!(compared.status.code(), Some(2));
    assert!(
        stderr(&compared).contains("is a campaign, which has no result yet"),
        "{}",
        stderr(&compared)
    );
    let (code, _, err) = run(folder.path(), &["predict", "@sources.toml", "--match", "port"]);
    assert_eq!((code, err.lines().count()), (Some(2), 1), "{err}");
    assert!(err.contains("is not a model of a device"), "{err}");
    let (code, _, err) = run(folder.path(), &["measure", "@run/campaign.json"]);
    assert_eq!((code, err.lines().count()), (Some(2), 1), "{err}");
    assert!(err.contains("is not a plan"), "{err}");
    let (code, _, err) = run(folder.path(), &["import", "@f0.csv", "-o", "@other"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("which measurement is in which files") && err.lines().count() == 1,
        "{err}"
    );
}

#[test]
fn a_device_whose_functions_depend_on_each_other_fails_its_threshold() {
    let folder = tempfile::tempdir().expect("a folder");
    measured(folder.path(), 4_000);
    let run = |arguments: &[&str]| run(folder.path(), arguments);
    assert_eq!(run(&["import", "@sources.toml", "-o", "@run"]).0, Some(0));
    let (code, out, err) = run(&["verify", "@run", "-o", "@verified", "-t", "refuted(median) < 1"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.contains("Measure next  five-tuple + set-nw-src"), "{out}");
    assert_eq!(run(&["verify", "@run", "-o", "@again", "-t", "nonsense"]).0, Some(2));
}

/// Returns a capture with timestamps in nanoseconds (magic number a1b23c4d).
fn pcap(packets: impl Iterator<Item = (u32, [u8; 121])>) -> Vec<u8> {
    let mut file = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0]);
    for (nanoseconds, packet) in packets {
        for field in [1, nanoseconds, packet.len() as u32, packet.len() as u32] {
            file.extend(field.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// Ten packets arrive at the same time at a node of 1 Gbit/s that adds 300 ns. A packet has 125
/// bytes with its check sequence, which take a microsecond.
#[test]
fn captures_become_a_server_that_bounds_their_delays() {
    let folder = tempfile::tempdir().expect("a folder");
    let packet = |number: u8| [number; 121];
    let before = pcap((0..10).map(|number| (50, packet(number))));
    let after =
        pcap((0..10).map(|number| (50 + 1000 * (u32::from(number) + 1) + 300, packet(number))));
    std::fs::write(folder.path().join("in.pcap"), before).expect("written");
    std::fs::write(folder.path().join("out.pcap"), after).expect("written");
    let curve = ["curve", "@in.pcap", "@out.pcap"];
    let (status, out, _) = run(folder.path(), &[&curve[..], &["--rate", "1Gbps"]].concat());
    assert_eq!(status, Some(0), "{out}");
    assert!(
        out.contains("10 of 10 packets, 0 lost") && out.contains("longest delay 10.3 µs"),
        "{out}"
    );
    let row: Vec<&str> = out.lines().last().unwrap_or_default().split_whitespace().collect();
    assert_eq!(row.join(" "), "1000.000 Mbps 300 ns 300 ns 1250 B 10.3 µs", "{out}");
    let (_, out, _) = run(folder.path(), &[&curve[..], &["--rate", "1Gbps", "--json"]].concat());
    let result: Value = serde_json::from_str(&out).expect("JSON");
    let curves = table(&result, "Service and arrival curves");
    for (name, unit, expected) in [
        ("R (bits)", "per second", 1e9),
        ("T minimum", "seconds", 300e-9),
        ("T maximum", "seconds", 300e-9),
        ("burst", "bytes", 1250.0),
        ("delay bound", "seconds", 10.3e-6),
    ] {
        let found = column(curves, name)[0];
        let value = found["value"].as_f64().expect("a number");
        assert!(found["unit"] == unit && (value / expected - 1.0).abs() < 1e-9, "{name}: {found}");
    }
    assert_eq!(column(table(&result, "Packets"), "received")[0]["value"], 10.0);
    let (status, _, err) = run(folder.path(), &curve);
    assert!(status == Some(2) && err.contains("with --rate"), "{status:?} {err}");

    let named = [&curve[..], &["--rate", "1Gbps", "--name", "node"]].concat();
    let (_, server, _) = run(folder.path(), &named);
    let network = format!(
        "{server}\n[[flow]]\nname = \"queue\"\npath = [\"node\"]\n\
         arrival = {{ token-bucket = {{ burst = \"1250 B\", rate = \"1 Mbps\" }} }}\nmaximum-packet = \"125 B\"\n"
    );
    std::fs::write(folder.path().join("network.toml"), network).expect("written");
    let output = planimeter("bound", &[&folder.path().join("network.toml").display().to_string()]);
    let out = stdout(&output);
    assert!(output.status.success(), "{out}{}", stderr(&output));
    assert!(out.contains("10.3"), "the bound is what the last packet took:\n{out}");
}

/// A program with two branches that exclude each other, so that its most expensive path is taken
/// by no packet.
const BRANCHES: &str = "#include <core.p4>
#include <v1model.p4>
header t { bit<8> x; }
struct H { t a; } struct M { bit<8> x; bit<16> y; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.a); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply { if (h.a.x > 100) { m.x = 1; } if (h.a.x < 50) { m.y = 2; } s.egress_spec = 1; }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

/// Returns the table of a prediction with a caption.
fn table<'a>(result: &'a Value, caption: &str) -> &'a Value {
    let tables = result["sections"][0]["tables"].as_array().expect("tables");
    tables.iter().find(|table| table["caption"] == caption).expect("a table")
}

/// Returns the cells of a column.
fn column<'a>(table: &'a Value, name: &str) -> Vec<&'a Value> {
    let columns = table["columns"].as_array().expect("columns");
    let at = columns.iter().position(|column| column == name).expect("a column");
    table["rows"].as_array().expect("rows").iter().map(|row| &row[at]).collect()
}

#[test]
fn the_worst_path_of_a_program_is_one_that_a_packet_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/device/zodiac-fx.json");
    let text = std::fs::read_to_string(example).expect("the example");
    let mut model: Value = serde_json::from_str(&text).expect("JSON");
    for (at, function) in
        model["settings"][0]["functions"].as_array_mut().expect("functions").iter_mut().enumerate()
    {
        let parts = match at {
            0 => vec!["assign 8"],
            1 => vec!["assign 16"],
            _ => Vec::new(),
        };
        function["function"]["consists_of"] = parts.into();
    }
    std::fs::write(folder.path().join("model.json"), model.to_string()).expect("a file");
    std::fs::write(folder.path().join("ways.p4"), BRANCHES).expect("a file");
    let predict = ["predict", "@model.json", "--program", "@ways.p4"];
    let run = |more: &[&str]| run(folder.path(), &[&predict[..], more].concat());
    let (code, out, err) = run(&["--json", "--output", "@left"]);
    assert_eq!(code, Some(0), "{err}");
    let result: Value = serde_json::from_str(&out).expect("JSON");
    let left = std::fs::read_to_string(folder.path().join("left/result.json")).expect("a result");
    assert_eq!(serde_json::from_str::<Value>(&left).expect("JSON")["sections"], result["sections"]);
    let paths = table(&result, "Paths");
    let decisions = column(paths, "decisions");
    let packets = column(paths, "feasibility");
    let says_both = |cell: &Value| !cell.as_str().expect("text").contains("if not");
    for (decisions, packets) in decisions.iter().copied().zip(packets) {
        let expected = if says_both(decisions) { "infeasible" } else { "feasible" };
        assert_eq!(packets, expected, "{decisions}");
    }
    // Both functions cost something, so that the path with both would be the slowest.
    assert_eq!((decisions.len(), says_both(decisions[0])), (4, true), "{decisions:?}");
    let worst = result["findings"][0].as_str().expect("a finding");
    assert!(worst.starts_with("Worst path: path 2, feasible"), "{worst}");
    // The packets that were found pass as tests.
    let place = |name: &str| folder.path().join(name).display().to_string();
    assert!(!folder.path().join("left/path-1.stf").exists());
    for number in 2..=4 {
        let script = place(&format!("left/path-{number}.stf"));
        let ran = planimeter("stf", &[&place("ways.p4"), &script]);
        assert!(ran.status.success(), "{}{}", stdout(&ran), stderr(&ran));
    }
    let (code, out, _) = run(&[]);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("1 path is proved infeasible") && out.contains("path 2: feasible"),
        "{out}"
    );
    let (_, out, _) = run(&["--witnesses", "0"]);
    assert!(out.contains("may contain paths that no packet takes"), "{out}");
}

#[test]
fn predictions_as_json_have_the_figures_of_the_text() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/device/zodiac-fx.json");
    let model = model.display().to_string();
    let predict = ["predict", model.as_str(), "--match", "five-tuple", "--action", "set-nw-src"];
    let text = stdout(&planimeter("device", &predict));
    let json = stdout(&planimeter("device", &[&predict[..], &["--json"]].concat()));
    let result: Value = serde_json::from_str(&json).expect("JSON");
    let schema = serde_json::from_str(report::page::document::json::SCHEMA).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    if let Err(error) = validator.validate(&result) {
        panic!("{error} at {}", error.instance_path());
    }
    let delays = table(&result, "Delays");
    for (level, delay) in column(delays, "level").iter().zip(column(delays, "delay")) {
        assert_eq!(delay["unit"], "seconds");
        let level = level.as_str().expect("text");
        let line = text.lines().find(|line| line.trim_start().starts_with(level)).expect("a line");
        let shown: f64 =
            line.split_whitespace().nth(1).expect("a figure").parse().expect("a number");
        let exact = delay["value"].as_f64().expect("a number") * 1e6;
        assert!((shown - exact).abs() < 1e-3 * exact, "{line}: {exact}");
    }
}
