//! Runs PTF, the packet test framework of p4lang, unchanged against a running switch.

use std::time::Duration;

use conformance::{Lab, Peer, Running, SwitchProcess, repository};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn tests_of_a_router_pass() {
    let (Some(python), Some(lab)) = (Peer::Ptf.command(), Lab::new()) else { return };
    for number in [1, 2] {
        lab.cable(("s", &format!("s{number}")), ("s", &format!("h{number}")));
    }
    let file = |name: &str| {
        let path = repository().join(name).canonicalize().expect("it is there");
        path.to_string_lossy().into_owned()
    };
    let _switch = SwitchProcess::start(
        &lab,
        &[(1, "s1"), (2, "s2")],
        &[
            "--p4",
            &file("programs/router.p4"),
            "--runtime-json",
            &file("conformance/pipelines/router-runtime.json"),
        ],
    );
    let scratch = TempDir::new().expect("a folder");
    let mut command = lab.within("s", &python);
    // The script is in the folder of the interpreter.
    let interpreter = python.get_args().last().expect("the program that is run");
    command.arg(std::path::Path::new(interpreter).with_file_name("ptf"));
    command.args(["--test-dir", &file("conformance/ptf"), "-i", "1@h1", "-i", "2@h2"]);
    command.args(["--relax", "--log-dir"]).arg(scratch.path().join("logs"));
    command.current_dir(scratch.path());
    let mut running = Running::start(command).expect("ip runs");
    running.wait_for("Ran 3 tests", TIMEOUT);
    running.wait_for("\nOK", TIMEOUT);
}
