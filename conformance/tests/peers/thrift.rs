//! Tests that clients of BMv2's Thrift interface are referred to P4Runtime.

use std::time::Duration;

use conformance::{Lab, Peer, Running, SwitchProcess, repository};

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn the_first_call_of_a_thrift_client_is_answered_with_a_reference_to_p4runtime() {
    let (Some(client), Some(lab)) = (Peer::Thrift.command(), Lab::new()) else { return };
    lab.cable(("s", "s1"), ("s", "h1"));
    // These are the arguments of p4-utils.
    let switch = SwitchProcess::start(
        &lab,
        &[(1, "s1")],
        &["--thrift-port", "9090", "--nanolog", "ipc:///tmp/bm-1-log.ipc", "--no-p4"],
    );
    let mut command = lab.within("s", &client);
    command.arg(repository().join("conformance/scripts/thrift_call.py"));
    command.args(["127.0.0.1", "9090"]);
    let mut running = Running::start(command).expect("ip runs");
    running.wait_for("\ndone", TIMEOUT);
    let said = switch.output();
    assert!(said.contains("standard:bm_get_config was not carried out"), "{said}");
}
