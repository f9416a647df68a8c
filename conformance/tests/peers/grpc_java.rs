//! Tests grpc-java over Netty against emulated P4Runtime switches.

use std::fs;
use std::time::Duration;

use conformance::{OneTrial, Running, Serving, java, repository};
use probe::outcome::Counts;
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn grpc_java_answers_64_switches_over_one_connection() {
    if let Some(counts) = run("answer", 64, 2) {
        assert_eq!(counts.rules_refused, 0, "{counts:?}");
    }
}

#[test]
fn an_error_ends_only_its_own_call() {
    // The peer reports that it is ready only if every call ended as expected. Its Writes count only
    // if they fall into the measure window, which depends on its speed.
    run("faults", 1, 20);
}

/// Makes the peer answer `packets` packet-ins of each switch, and then ends the run.
fn run(mode: &str, switches: u32, packets: u32) -> Option<Counts> {
    let scratch = TempDir::new().expect("a folder");
    let mut command = java("GrpcJava", scratch.path())?;
    let descriptors = scratch.path().join("descriptors");
    fs::write(&descriptors, p4runtime::proto::DESCRIPTORS).expect("a file");
    let serving = Serving::start(switches, switches, packets);
    command.args([mode, &serving.switches[0].1, &switches.to_string()]).arg(descriptors);
    command.arg(repository().join("programs/l2.p4info.txtpb"));
    let mut peer = Running::start(command).expect("the interpreter starts");
    peer.wait_for("ready", TIMEOUT);
    serving.run.wait_until_answered(u64::from(switches * packets), TIMEOUT);
    let result = serving.run.interrupt();
    // Streams end with a status that states the reason.
    peer.wait_for("ended UNAVAILABLE", TIMEOUT);
    let counts = result.trial().counts;
    assert_eq!(result.trial().handshake.ready, switches);
    assert_eq!(counts.sent, u64::from(switches * packets), "{counts:?}");
    assert_eq!((counts.answered, counts.lost), (counts.sent, 0), "{counts:?}");
    assert_eq!((counts.duplicated, counts.unmatched), (0, 0), "{counts:?}");
    assert_eq!((counts.disconnects, counts.malformed), (0, 0), "{counts:?}");
    Some(counts)
}
