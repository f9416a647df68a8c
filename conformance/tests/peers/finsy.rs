//! Tests finsy against emulated P4Runtime switches.

use std::time::Duration;

use crate::interrupted::assert_answered;
use conformance::{OneTrial, Peer, Running, Serving, repository};
use probe::outcome::RunResult;

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn finsy_answers_one_switch() {
    let Some((mut controller, result)) = learning_switches(1, 1, 40) else { return };
    assert_learned(&mut controller, &result, 1, 40);
}

#[test]
fn finsy_answers_16_switches_with_a_port_each() {
    let Some((mut controller, result)) = learning_switches(16, 1, 4) else { return };
    assert_learned(&mut controller, &result, 16, 4);
}

#[test]
fn finsy_answers_64_switches_behind_two_ports() {
    let Some((mut controller, result)) = learning_switches(64, 32, 2) else { return };
    assert_learned(&mut controller, &result, 64, 2);
}

#[test]
fn every_kind_of_entity_is_read_back() {
    let Some(mut command) = Peer::Finsy.command() else { return };
    let serving = Serving::start(1, 1, 20);
    let (device, address) = &serving.switches[0];
    command.arg(repository().join("conformance/scripts/finsy_entities.py")).args([address, device]);
    let mut peer = Running::start(command).expect("the interpreter starts");
    peer.wait_for("done {", TIMEOUT);
    serving.run.wait_until_answered(20, TIMEOUT);
    let result = serving.run.interrupt();
    let counts = result.trial().counts;
    assert_eq!((counts.sent, counts.answered, counts.lost), (20, 20, 0), "{counts:?}");
    assert_eq!((counts.duplicated, counts.unmatched), (0, 0), "{counts:?}");
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

/// Runs the example with `packets` packet-ins of each switch within a second.
fn learning_switches(switches: u32, per_port: u32, packets: u32) -> Option<(Running, RunResult)> {
    let mut command = Peer::Finsy.command()?;
    let serving = Serving::start(switches, per_port, packets);
    command.arg(repository().join("examples/finsy/learning_switch.py")).arg(serving.list_file());
    let controller = Running::start(command).expect("the interpreter starts");
    serving.run.wait_until_answered(u64::from(switches * packets), TIMEOUT);
    Some((controller, serving.run.interrupt()))
}

/// Checks that the controller answered all packet-ins, and installed at least one rule for each
/// switch on average.
fn assert_learned(controller: &mut Running, result: &RunResult, switches: u32, packets: u32) {
    let counts = assert_answered(controller, result, switches, packets);
    assert!(counts.rules_installed >= u64::from(switches), "{}", controller.output());
}
