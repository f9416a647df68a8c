//! Tests that a switch with `--state` restores every batch that it had answered, and no part of any
//! other batch, after `kill -9` during writes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use conformance::{ADDRESS, Lab, Peer, Running, SwitchProcess, binary, repository};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);
/// The number of entries of a batch.
const BATCH: u64 = 100;

#[test]
fn answered_batches_are_restored_after_a_kill() {
    let (Some(client), Some(lab)) = (Peer::P4RuntimeShell.command(), Lab::new()) else { return };
    let scratch = TempDir::new().expect("a folder");
    let [state, p4info, program] =
        ["state", "p4info.txtpb", "program.p4"].map(|name| scratch.path().join(name));
    // The program is pushed as one file, with room for more entries than the test writes.
    let folder = repository().join("conformance/pipelines/exercises");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("it is there");
    let whole = read("multicast.p4").replace("#include \"common.p4\"", &read("common.p4"));
    let whole = whole.replace("size = 1024;", "size = 1000000;");
    fs::write(&program, whole).expect("a file");
    let mut compile = Command::new(binary());
    compile.args(["compile", "--p4info"]).arg(&p4info).arg(&program);
    assert!(compile.status().expect("it starts").success());
    let start = || {
        let state = state.to_string_lossy();
        SwitchProcess::start(&lab, &[], &["--no-p4", "--state", &state, "--log-level", "warn"])
    };
    let run = |mode: &str, more: &[&Path]| {
        let mut command = lab.within("s", &client);
        command.arg(repository().join("conformance/scripts/p4runtime_kill.py"));
        command.args([mode, ADDRESS]).arg(&p4info).args(more);
        Running::start(command).expect("ip runs")
    };

    let switch = start();
    let mut writer = run("write", &[&program]);
    writer.wait_for("written 500\n", TIMEOUT);
    // Dropping the switch sends SIGKILL, whatever it is doing.
    drop(switch);
    let ended = conformance::poll(TIMEOUT, || writer.try_wait().is_some());
    assert!(ended, "it goes on writing: {}", writer.output());
    let last = |said: &str, word: &str| -> u64 {
        let mut numbers =
            said.lines().filter_map(|line| line.strip_prefix(word)?.trim().parse().ok());
        numbers.next_back().expect("a number")
    };
    let answered = last(&writer.output(), "written");

    let _switch = start();
    let mut reader = run("count", &[]);
    reader.wait_for("\ndone", TIMEOUT);
    let found = last(&reader.output(), "found");
    assert_eq!(found % BATCH, 0, "a batch is there in part");
    // The answer to the last batch may have been on its way.
    assert!((answered..=answered + BATCH).contains(&found), "{found} of {answered}");
}
