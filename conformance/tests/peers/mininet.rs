//! Tests of Mininet networks in the format of the p4lang tutorials, with Planimeter's switch.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use conformance::{Lab, Peer, Running, binary, repository};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

/// An exercise of the tutorials.
struct Exercise<'a> {
    folder: &'a Path,
    /// The arguments that its makefile would pass.
    arguments: &'a [&'a str],
}

#[test]
fn hosts_of_the_example_reach_each_other() {
    let scratch = TempDir::new().expect("a folder");
    let folder = examples().join("router");
    let program = examples().join("../../programs/router.p4");
    let recordings = scratch.path().to_str().expect("a plain path");
    let program = program.to_str().expect("a plain path");
    let arguments = ["--p4", program, "--pcap-dir", recordings];
    if !(Exercise { folder: &folder, arguments: &arguments }).passes() {
        return;
    }
    let recorded = scratch.path().join("s2-eth1_in.pcap");
    assert!(recorded.metadata().is_ok_and(|file| file.len() > 200), "{}", recorded.display());
}

/// The exercise has four hosts behind four switches, and files that a makefile compiled before.
#[test]
fn hosts_of_a_pod_reach_each_other_with_a_precompiled_program() {
    let scratch = TempDir::new().expect("a folder");
    for file in fs::read_dir(examples().join("pod")).expect("it is there").flatten() {
        fs::copy(file.path(), scratch.path().join(file.file_name())).expect("room for a copy");
    }
    fs::create_dir(scratch.path().join("build")).expect("room for a folder");
    let mut compile = Command::new(binary().canonicalize().expect("it is there"));
    compile.current_dir(scratch.path()).args(["compile", "forward.p4"]);
    compile.args(["--p4info", "build/forward.p4.p4info.txtpb", "--ir", "build/forward.json"]);
    assert!(compile.status().expect("it runs").success());
    Exercise { folder: scratch.path(), arguments: &[] }.passes();
}

/// The switches form a triangle. Pings cross it in tunnels, from h1 to h3 by a detour.
#[test]
fn hosts_reach_each_other_through_tunnels() {
    let program = examples().join("../../programs/tunnel.p4");
    let program = program.to_str().expect("a plain path");
    Exercise { folder: &examples().join("tunnel"), arguments: &["--p4", program] }.passes();
}

fn examples() -> PathBuf {
    repository().join("examples/mininet").canonicalize().expect("it is there")
}

impl Exercise<'_> {
    /// Runs the exercise until all hosts have reached each other. Returns `false`, with a message,
    /// if Mininet is not installed.
    fn passes(&self) -> bool {
        let (Some(python), Some(lab)) = (Peer::Mininet.command(), Lab::new()) else { return false };
        let logs = TempDir::new().expect("a folder");
        // A namespace of the lab takes the place of the machine's own.
        let mut command = lab.within("s", &python);
        command.arg(examples().join("run_exercise.py")).args(["--topo", "topology.json", "--test"]);
        command.args(self.arguments).arg("--log-dir").arg(logs.path());
        command.current_dir(self.folder);
        command.env("PLANIMETER", binary().canonicalize().expect("it is there"));
        let mut running = Running::start(command).expect("ip runs");
        running.wait_for("lost ", TIMEOUT);
        assert!(running.output().contains("lost 0.0 %"), "{}", running.output());
        running.wait_for_end(TIMEOUT);
        true
    }
}
