//! What verbs print fits a terminal of 80 columns, lines of other people's programs and commands to paste apart.

use std::process::{Command, Output};

/// Runs the command in the root of the repository, as in a terminal of 80 columns.
fn narrow(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_planimeter"))
        .args(arguments)
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("the command")
}

fn fits(arguments: &[&str]) {
    let output = narrow(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.trim().is_empty(), "{arguments:?} says nothing");
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{arguments:?}:\n{}", wide.join("\n"));
}

#[test]
fn bounds() {
    for network in ["two-hops", "priorities", "ethernet", "measured-devices"] {
        let file = format!("examples/networks/{network}.toml");
        fits(&["bound", &file]);
    }
    fits(&["bound", "examples/networks/two-hops.toml", "--analysis", "all", "--derivation"]);
    fits(&["bound", "examples/networks/ethernet.toml", "--vary", "video.rate=0..100Mbps:4"]);
    fits(&["bound", "examples/networks/interleaved-tandem.toml", "--vary", "flow.rate=0..1:2"]);
}

#[test]
fn predictions_and_scripts() {
    fits(&["tables", "--predict", "programs/entry_update.p4"]);
    fits(&["tables", "--predict", "programs/router.p4"]);
    let model = "examples/device/zodiac-fx.json";
    fits(&["device", "predict", model, "--match", "five-tuple", "--action", "set-nw-src"]);
    fits(&["stf", "programs/router.p4"]);
    fits(&["stf", "--coverage", "programs/firewall.p4"]);
    fits(&["stf", "--topology", "examples/mininet/tunnel/topology.json", "programs/tunnel.p4"]);
    fits(&["reproduce", "--list"]);
}

#[test]
fn measurements_and_their_comparison() {
    let scratch = tempfile::tempdir().expect("a folder");
    let run = |name: &str| scratch.path().join(name).display().to_string();
    for name in ["one", "other"] {
        let folder = run(name);
        let program = "programs/entry_update.p4";
        fits(&[
            "bench",
            program,
            "--entries",
            "2^4",
            "--time",
            "5ms",
            "--repetitions",
            "2",
            "-o",
            &folder,
        ]);
    }
    fits(&["compare", &run("one"), &run("other")]);
    let folder = run("bounds");
    fits(&["bound", "examples/networks/two-hops.toml", "--output", &folder]);
    fits(&["compare", &folder, &folder]);
}

#[test]
fn manuals() {
    for verb in [
        "probe",
        "controller",
        "switch",
        "compile",
        "stf",
        "bench",
        "tables",
        "device",
        "bound",
        "compare",
        "reproduce",
        "demo",
        "report",
        "manual",
    ] {
        fits(&[verb, "--help"]);
        fits(&[verb, "-h"]);
    }
    fits(&["--help"]);
}
