//! Tests p4runtime-shell against emulated P4Runtime switches.

use std::time::Duration;

use conformance::{OneTrial, Peer, Running, Serving, repository};
use probe::outcome::{Counts, RunResult};

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn every_kind_of_entity_is_read_back() {
    let Some((peer, result)) = run("conformance/scripts/p4runtime_shell_entities.py", "done {")
    else {
        return;
    };
    let counts = assert_answered(&result);
    let output = peer.output();
    let said = output.lines().find_map(|line| line.strip_prefix("done ")).expect("its tally");
    let said: serde_json::Value = serde_json::from_str(said).expect("JSON");
    for (what, seen) in [
        ("installed", counts.rules_installed),
        ("removed", counts.rules_removed),
        ("refused", counts.rules_refused),
    ] {
        assert_eq!(said[what].as_u64(), Some(seen), "{what}: {said} {counts:?}");
        assert!(seen > 5, "{what}: {said}");
    }
}

#[test]
fn the_example_reads_its_rule_and_answers() {
    let Some((_peer, result)) = run("examples/p4runtime-shell/rules_and_packets.py", "set_egress")
    else {
        return;
    };
    assert_answered(&result);
}

/// Runs a script against one switch, until it has printed a text and every packet-in is answered.
fn run(script: &str, awaited: &str) -> Option<(Running, RunResult)> {
    let mut command = Peer::P4RuntimeShell.command()?;
    let serving = Serving::start(1, 1, 20);
    let (device, address) = &serving.switches[0];
    command.arg(repository().join(script)).args([address, device]);
    let mut peer = Running::start(command).expect("the interpreter starts");
    peer.wait_for(awaited, TIMEOUT);
    serving.run.wait_until_answered(20, TIMEOUT);
    Some((peer, serving.run.interrupt()))
}

fn assert_answered(result: &RunResult) -> Counts {
    let trial = result.trial();
    assert_eq!(trial.handshake.ready, 1);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered, counts.lost), (20, 20, 0), "{counts:?}");
    assert_eq!((counts.duplicated, counts.unmatched, counts.malformed), (0, 0, 0), "{counts:?}");
    counts
}
