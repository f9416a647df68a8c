//! Tests of `planimeter device contract`, from a program and a model to the bounds of a network.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::command::{planimeter, stderr, stdout};

const ROUTER: &str = "programs/router.p4";
/// The delay of the baseline in picoseconds.
const BASELINE: i64 = 10_000_000;

/// Returns the cost of a part in picoseconds.
fn cost(part: &str) -> i64 {
    match part {
        "table lpm 32" => 5_000_000,
        "table exact 32" => 3_000_000,
        _ => 100_000,
    }
}

fn measurement(delay: i64) -> Value {
    json!({
        "profile": {
            "samples": 0, "effective_samples": 0, "blocks": 0,
            "counts": {
                "sent": 0, "received": 0, "lost": 0, "reordered": 0, "duplicated": 0,
                "unmatched": 0, "clock_steps": 0,
            },
            "levels": [{ "level": "maximum", "value": delay, "low": null, "high": null }],
            "tail": [], "head": [], "beyond_maximum": null,
        },
        "loss_free_rate": null,
    })
}

/// Writes the model of a pipeline in memory, in which each part is a function with its [`cost`].
fn write_model(file: &Path, baseline: i64, parts: &[&str]) {
    let function = |part: &&str| {
        json!({
            "function": { "name": part, "dimension": "primitive", "consists_of": [part] },
            "measurement": measurement(baseline + cost(part)),
            "shift": null,
        })
    };
    let model = json!({
        "schema": "planimeter.device-model/1",
        "device": { "name": "pipeline", "driver": "memory", "details": { "path": "interpreter" } },
        "source": { "kind": "campaign", "created": "2026-12-01T00:00:00Z" },
        "clock": { "source": "cycle_counter", "tick": 0 },
        "confidence": 0.99,
        "line_rate": null,
        "baseline": [{ "name": "forward", "dimension": "action" }],
        "settings": [{
            "setting": { "packet_bytes": 84, "rules": 16 },
            "f0": measurement(baseline),
            "functions": parts.iter().map(function).collect::<Vec<_>>(),
        }],
    });
    fs::write(file, model.to_string()).expect("a model");
}

/// Runs the verb on the router. Returns the exit status and both outputs.
fn contract(model: &Path, run: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let (model, run) = (model.to_string_lossy(), run.to_string_lossy());
    let arguments = ["contract", ROUTER, "--model", &model, "--quiet", "-o", &run];
    let output = planimeter("device", &[&arguments[..], more].concat());
    (output.status.code(), stdout(&output), stderr(&output))
}

/// Returns the rows of a table of the report.
fn rows(run: &Path, table: usize) -> Vec<Value> {
    let text = fs::read_to_string(run.join("result.json")).expect("a result");
    let result: Value = serde_json::from_str(&text).expect("JSON");
    result["sections"][0]["tables"][table]["rows"].as_array().expect("rows").clone()
}

#[test]
fn contracts_of_a_router_bound_its_packets_and_label_bounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    // A model without functions has no contract, and names what it lacks.
    write_model(&at("empty.json"), BASELINE, &[]);
    let none = ["--classes", "0"];
    let (code, out, err) = contract(&at("empty.json"), &at("refused"), &none);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("is not exported"), "{out}");
    assert!(!at("refused").join("contract.toml").exists());
    let allowed = ["--classes", "0", "--allow-unmeasured"];
    let (code, out, err) = contract(&at("empty.json"), &at("allowed"), &allowed);
    assert_eq!(code, Some(0), "{out}{err}");
    let text = fs::read_to_string(at("allowed").join("contract.toml")).expect("servers");
    let label = text.lines().find_map(|line| line.strip_prefix("rests-on = ")).expect("a label");
    assert!(label.contains("empirical") && label.contains("84 B, 16 rules"), "{label}");
    let (_, parts) = label.split_once("without the cost of ").expect("parts");
    let parts: Vec<&str> = parts.trim_end_matches('"').split(", ").collect();
    assert!(parts.contains(&"table lpm 32") && parts.contains(&"compute subtract 8"), "{parts:?}");

    // A model of all parts makes complete contracts, which no closest packet exceeds.
    write_model(&at("model.json"), BASELINE, &parts);
    let (code, out, err) = contract(&at("model.json"), &at("run"), &["--classes", "4"]);
    assert_eq!(code, Some(0), "{out}{err}");
    let figures = rows(&at("run"), 0);
    assert_eq!(figures.len(), 5, "{out}");
    for row in &figures {
        let seconds = |column: usize| row[column]["value"].as_f64().expect("a time");
        assert!(seconds(4) <= seconds(1) + 1e-15, "{row}");
        assert!(seconds(1) <= figures[0][1]["value"].as_f64().expect("a time"), "{row}");
    }
    // The delay is that of the baseline and of each function of the slowest path.
    let labels = rows(&at("run"), 1);
    let functions = labels[0][4].as_str().expect("functions").split(", ");
    let sum = BASELINE + functions.map(cost).sum::<i64>();
    let delay = figures[0][1]["value"].as_f64().expect("a time");
    assert!((delay - sum as f64 * 1e-12).abs() < 1e-15, "{delay} instead of {sum} ps");
    // The closest packet passes both costly tables, by entries or by default actions, and its
    // script is a test of the program.
    let script = at("run").join("witness-switch.stf");
    let text = fs::read_to_string(&script).expect("a script");
    for table in ["routes", "neighbours"] {
        assert!(text.contains(&format!(" RouterIngress.{table} ")), "{text}");
    }
    let replayed = planimeter("stf", &[ROUTER, &script.to_string_lossy()]);
    assert_eq!(replayed.status.code(), Some(0), "{}", stderr(&replayed));

    // A network with the server carries its label.
    let servers = fs::read_to_string(at("run").join("contract.toml")).expect("servers");
    let flow = "\n[[flow]]\nname = \"f\"\npath = [\"switch\"]\n\
                arrival = { token-bucket = { burst = 80, rate = \"1Mbps\" } }\n";
    fs::write(at("network.toml"), servers + flow).expect("a network");
    let bound = planimeter("bound", &[&*at("network.toml").to_string_lossy(), "--json"]);
    assert_eq!(bound.status.code(), Some(0), "{}", stderr(&bound));
    let result: Value = serde_json::from_str(&stdout(&bound)).expect("JSON");
    let note = result["file-notes"][0].as_str().expect("a note");
    for word in ["flow 'f' rest on server 'switch'", "composed; deterministic", "16 rules"] {
        assert!(note.contains(word), "{note}");
    }
}

#[test]
fn a_packet_that_breaks_its_contract_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let measured = ["--classes", "1", "--allow-unmeasured", "--measure", "--packets", "50"];
    // No packet takes a picosecond, and none takes ten seconds.
    write_model(&at("fast.json"), 1, &[]);
    let (code, out, err) = contract(&at("fast.json"), &at("fast"), &measured);
    if err.contains("no cycle counter") {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "SKIPPED: --measure needs a cycle counter");
        return;
    }
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(err.contains("the contract of switch is broken"), "{err}");
    let capture = fs::read(at("fast").join("broken-switch.pcap")).expect("a capture");
    let script = fs::read_to_string(at("fast").join("witness-switch.stf")).expect("a script");
    let packet = script.lines().find_map(|line| line.strip_prefix("packet ")).expect("a packet");
    let digits = packet.split(' ').nth(1).expect("digits");
    let kept: String = capture[40..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(kept, digits);
    assert_eq!(kept.len(), 160, "a packet of 84 bytes with its check sequence");

    write_model(&at("slow.json"), 10_000_000_000_000, &[]);
    let (code, out, err) = contract(&at("slow.json"), &at("slow"), &measured);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(!at("slow").join("broken-switch.pcap").exists());

    // A model of another device says nothing about the pipeline in memory.
    let published = Path::new("examples/device/zodiac-fx.json");
    let (code, _, err) = contract(published, &at("published"), &measured);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("--measure runs the program in memory"), "{err}");
}

/// A program with one table of two actions, so that there are two classes of packets.
const SWITCHING: &str = r"
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }
struct headers { ethernet_t ethernet; }
struct metadata { }
parser P(packet_in packet, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { packet.extract(h.ethernet); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action forward(bit<9> port) { s.egress_spec = port; }
    action discard() { mark_to_drop(s); }
    table hosts {
        key = { h.ethernet.dst: exact; }
        actions = { forward; discard; }
        default_action = discard();
    }
    apply { hosts.apply(); }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out packet, in headers h) { apply { packet.emit(h.ethernet); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

#[test]
fn fewer_classes_than_asked_for_are_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    write_model(Path::new(&at("model.json")), BASELINE, &[]);
    fs::write(at("switching.p4"), SWITCHING).expect("a program");
    let notes = |classes: &str| {
        let (program, model, run) = (at("switching.p4"), at("model.json"), at(classes));
        let arguments = ["contract", &program, "--model", &model, "--quiet", "-o", &run];
        let more = ["--allow-unmeasured", "--classes", classes];
        let output = planimeter("device", &[&arguments[..], &more].concat());
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        assert_eq!(rows(Path::new(&run), 0).len(), 3, "{}", stdout(&output));
        let text = fs::read_to_string(Path::new(&run).join("result.json")).expect("a result");
        let result: Value = serde_json::from_str(&text).expect("JSON");
        result["notes"].to_string()
    };
    let text = notes("7");
    assert!(
        text.contains("2 of at most 7 classes of packets have a contract of their own"),
        "{text}"
    );
    assert!(text.contains("because no packet takes another one"), "{text}");
    assert!(!notes("2").contains("classes of packets have a contract"), "two of two were found");
}
