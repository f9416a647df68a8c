//! Tests that output fits a terminal of 80 columns, except lines of users' programs and commands to
//! copy.

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
    assert!(!text.contains('…'), "{arguments:?} cuts words: {text}");
}

#[test]
fn bounds_fit_the_terminal() {
    for network in [
        "two-hops",
        "priorities",
        "ethernet",
        "measured-devices",
        "credit-based",
        "gates",
        "gates-and-credit",
        "weights",
    ] {
        let file = format!("examples/networks/{network}.toml");
        fits(&["bound", &file]);
    }
    fits(&["bound", "examples/networks/two-hops.toml", "--analysis", "all", "--derivation"]);
    fits(&["bound", "examples/networks/ethernet.toml", "--vary", "video.rate=0..100Mbps:4"]);
    fits(&["bound", "examples/networks/interleaved-tandem.toml", "--vary", "flow.rate=0..1:2"]);
}

#[test]
fn predictions_and_scripts_fit_the_terminal() {
    fits(&["tables", "--predict", "programs/entry_update.p4"]);
    fits(&["tables", "--predict", "programs/router.p4"]);
    let model = "examples/device/zodiac-fx.json";
    fits(&["device", "predict", model, "--match", "five-tuple", "--action", "set-nw-src"]);
    fits(&["stf", "programs/router.p4"]);
    fits(&["stf", "--coverage", "programs/firewall.p4"]);
    let topology = "examples/mininet/tunnel/topology.json";
    fits(&["stf", "--topology", topology, "--coverage", "programs/tunnel.p4"]);
    fits(&["reproduce", "--list"]);
}

#[test]
fn explained_programs_fit_the_terminal() {
    for program in ["router", "load_balancer", "psa_mirror", "syn_flood", "tunnel", "firewall"] {
        fits(&["compile", &format!("programs/{program}.p4"), "--explain"]);
    }
}

#[test]
fn results_of_devices_fit_the_terminal() {
    let scratch = tempfile::tempdir().expect("a folder");
    let place = |name: &str| scratch.path().join(name).display().to_string();
    let plan = "device.kind = \"memory\"\n[functions]\nmatches = [\"port\", \"five-tuple\"]\n\
                actions = [\"output\", \"set-nw-src\"]\n[campaign]\nrepetitions = 3\npackets = 30\n\
                warm-up = 10\nseed = 1\n";
    std::fs::write(scratch.path().join("plan.toml"), plan).expect("written");
    fits(&["device", "measure", &place("plan.toml"), "-o", &place("run"), "-q"]);
    fits(&["device", "verify", &place("run"), "-o", &place("verified")]);
}

#[test]
fn probes_of_one_point_and_of_several() {
    let controller = Controller::start();
    let scratch = tempfile::tempdir().expect("a folder");
    for (name, more) in
        [("point", &["-r", "50"][..]), ("sweep", &["--plan", "sweep", "--sweep-rates", "20,40"])]
    {
        let folder = scratch.path().join(name).display().to_string();
        let mut arguments =
            vec!["probe", "-q", "-c", &controller.address, "-n", "2", "-o", &folder];
        arguments.extend(["--warm-up", "0s", "--duration", "200ms", "--settle", "50ms"]);
        arguments.extend(["--repetitions", "2"]);
        arguments.extend(more);
        fits(&arguments);
    }
}

/// A reference controller, which ends with the test.
struct Controller {
    child: std::process::Child,
    address: String,
}

impl Controller {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_planimeter"))
            .args(["controller", "--listen", "127.0.0.1:0"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a controller");
        let output = child.stdout.take().expect("its output");
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
        let line = lines.next().expect("a line").expect("text");
        let (_, rest) = line.split_once("listening on ").expect("where it listens");
        let address = rest.split([' ', ',']).next().expect("an address").to_owned();
        // Its later output is read and discarded, so that it never blocks.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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

/// Checks the help of every verb that `planimeter --help` lists.
#[test]
fn help_fits_the_terminal() {
    fits(&["--help"]);
    let help = narrow(&["--help"]).stdout;
    let help = String::from_utf8_lossy(&help).into_owned();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs: Vec<&str> = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() >= 14, "{verbs:?}");
    for verb in verbs {
        fits(&[verb, "--help"]);
        fits(&[verb, "-h"]);
    }
}
