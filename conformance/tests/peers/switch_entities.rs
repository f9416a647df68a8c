//! Tests of a forwarding switch with P4Runtime clients of other authors: the effect of everything
//! that they write is observed on packets, read back and deleted.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use conformance::{ADDRESS, Lab, Peer, Running, SwitchProcess, binary, repository};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The line that the switch logs about the sample interval that finsy's script requests.
const RAISED: &str = "[W] device 1: a gNMI client asked for samples every 10µs and gets them every 1ms, which is the \
                      shortest interval";

#[test]
fn finsy_sees_the_effect_of_every_kind_of_entity() {
    let (Some(client), Some(bench)) = (Peer::Finsy.command(), Bench::new("")) else { return };
    bench.drive(&client, "finsy_effects.py", &[], &[RAISED]);
}

#[test]
fn finsy_sees_the_same_with_a_compiled_program_on_xdp_ports() {
    let (Some(client), Some(mut bench)) = (Peer::Finsy.command(), Bench::new("xdp:")) else {
        return;
    };
    bench.program = bench.compile("--ir", "everything.json");
    bench.drive(&client, "finsy_effects.py", &[], &[RAISED]);
}

#[test]
fn p4runtime_shell_sees_the_effect_of_every_kind_of_entity_that_it_knows() {
    let (Some(client), Some(bench)) = (Peer::P4RuntimeShell.command(), Bench::new("")) else {
        return;
    };
    let json = [pipelines().join("forward.p4info.txtpb"), pipelines().join("forward.json")];
    bench.drive(&client, "p4runtime_shell_effects.py", &json, &[]);
}

/// A switch with ports 1 to 4, whose other ends are `h1` to `h4` in its namespace.
struct Bench {
    lab: Lab,
    switch: SwitchProcess,
    scratch: TempDir,
    program: PathBuf,
}

impl Bench {
    /// Creates the bench with ports of one kind, which is the prefix of an interface.
    fn new(kind: &str) -> Option<Self> {
        let lab = Lab::new()?;
        for number in 1..=4 {
            lab.cable(("s", &format!("s{number}")), ("s", &format!("h{number}")));
        }
        let near: Vec<String> = (1..=4).map(|number| format!("{kind}s{number}")).collect();
        let ports: Vec<(u32, &str)> = (1..).zip(near.iter().map(String::as_str)).collect();
        let switch = SwitchProcess::start(&lab, &ports, &["--no-p4", "--log-level", "warn"]);
        let scratch = TempDir::new().expect("a folder");
        Some(Self { lab, switch, scratch, program: pipelines().join("everything.p4") })
    }

    /// Compiles the program, and returns the path of one of the outputs.
    fn compile(&self, what: &str, file: &str) -> PathBuf {
        let file = self.scratch.path().join(file);
        let mut command = Command::new(binary());
        command.arg("compile").arg(what).arg(&file).arg(pipelines().join("everything.p4"));
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        file
    }

    /// Runs a script to its end, and asserts that the switch logs exactly these lines.
    fn drive(mut self, client: &Command, script: &str, more: &[PathBuf], logged: &[&str]) {
        let p4info = self.compile("--p4info", "everything.p4info.txtpb");
        let mut command = self.lab.within("s", client);
        command.arg(repository().join("conformance/scripts").join(script)).args([ADDRESS, "1"]);
        command.arg(p4info).arg(&self.program).args(more).args(["h1", "h2", "h3", "h4"]);
        let mut peer = Running::start(command).expect("ip runs");
        peer.wait_for("\ndone", TIMEOUT);
        assert!(self.switch.is_running(), "{}", self.switch.output());
        let output = self.switch.output();
        let lines: Vec<&str> = output.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(lines, logged);
    }
}

fn pipelines() -> PathBuf {
    repository().join("conformance/pipelines")
}
