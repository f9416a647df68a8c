//! Tests with programs like those of the p4lang tutorials, on two switches with three hosts. The
//! packets that leave must be the expected ones, both interpreted and compiled.
//!
//! The programs were written for these tests. Forwarding and tunnels of the tutorials' networks are
//! in `mininet.rs`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use conformance::{Lab, Running, SwitchProcess, repository};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn the_sender_chooses_the_route() {
    exercise("source_routing");
}

#[test]
fn packets_record_the_switches_that_forwarded_them() {
    exercise("path_trace");
}

#[test]
fn a_calculator_answers() {
    exercise("calculator");
}

#[test]
fn connections_are_spread_by_a_hash() {
    exercise("load_balance");
}

#[test]
fn packets_to_an_unknown_host_are_flooded() {
    exercise("multicast");
}

#[test]
fn a_bloom_filter_remembers_connections() {
    exercise("firewall");
}

#[test]
fn probes_collect_the_load_of_links() {
    exercise("link_monitor");
}

/// Runs `NAME.p4` interpreted and compiled, each with the part of the script of the same name.
fn exercise(name: &str) {
    for path in ["interpreter", "compiled"] {
        let Some(lab) = Lab::new() else { return };
        for (near, far) in [("s1", "h1"), ("s2", "h2"), ("s3", "h3"), ("x1", "x2")] {
            lab.cable(("s", near), ("s", far));
        }
        let scratch = TempDir::new().expect("a folder");
        let devices = scratch.path().join("devices.toml");
        let both = device(name, 1, &["1@s1", "2@x1", "3@s3"]) + &device(name, 2, &["1@s2", "2@x2"]);
        fs::write(&devices, both).expect("it can be written");
        let arguments = ["--devices", &devices.to_string_lossy(), "--path", path];
        let mut switch = SwitchProcess::start(&lab, &[], &arguments);
        let mut command = lab.within("s", &Command::new("python3"));
        command.arg(repository().join("conformance/scripts/exercises.py")).arg(name);
        let mut hosts = Running::start({
            command.args(["h1", "h2", "h3"]);
            command
        })
        .expect("ip runs");
        hosts.wait_for("done", TIMEOUT);
        assert!(switch.is_running(), "{path}: {}", switch.output());
    }
}

/// Returns a device in the format of `--devices`, with its entries if there are any.
fn device(name: &str, id: u32, ports: &[&str]) -> String {
    let folder = repository().join("conformance/pipelines/exercises");
    let program: PathBuf = folder.join(format!("{name}.p4")).canonicalize().expect("it is there");
    let entries = folder.join(format!("{name}-{id}.json"));
    let entries = entries.canonicalize().map(|file| format!("runtime-json = {file:?}\n"));
    let entries = entries.unwrap_or_default();
    format!("[[device]]\nid = {id}\np4 = {program:?}\n{entries}ports = {ports:?}\n")
}
